//! A server for tests: a cluster in a directory of its own, gone when the
//! tests end, however they end.

use std::{
    env, fs,
    io::Write,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use octavo_workload::ConnectionError;

use super::Session;
use crate::wire::Stream;

/// For a server to start, and for logins.
const LIMIT: Duration = Duration::from_secs(60);

/// Who may log in how. The roles are made by [`TestServer::start`].
const HBA: &str = "\
local all octavo_md5 md5
local all octavo_scram scram-sha-256
local all octavo_plain password
local all all trust
host all all 127.0.0.1/32 scram-sha-256
";

/// Starts the server, waits until the test's process is gone or says so, and
/// removes everything.
const KEEPER: &str = r#"
trap "" INT TERM HUP
"$1/postgres" -D "$2/data" >"$2/log" 2>&1 &
server=$!
read -r _
kill -QUIT $server
wait $server
rm -rf "$2"
"#;

/// A running server.
pub(crate) struct TestServer {
    directory: PathBuf,
    port: u16,
    keeper: Child,
    /// The keeper's reason to wait.
    leash: Option<ChildStdin>,
}

/// The server that all tests of a process share.
pub(crate) fn shared() -> &'static TestServer {
    static SHARED: OnceLock<TestServer> = OnceLock::new();
    SHARED.get_or_init(TestServer::start)
}

/// The directory of the newest server programs.
pub(crate) fn programs() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<(u32, PathBuf)> = installed
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .collect();
    versions.sort();
    let on_path = env::var_os("PATH").unwrap_or_default();
    versions
        .into_iter()
        .rev()
        .map(|(_, path)| path)
        .chain(env::split_paths(&on_path))
        .find(|path| path.join("postgres").exists() && path.join("initdb").exists())
        .expect("PostgreSQL's server is not installed: run ./test, which installs it")
}

/// The user and group to run as: PostgreSQL refuses root.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").expect("read /etc/passwd");
    let nobody = accounts
        .lines()
        .find(|line| line.starts_with("nobody:"))
        .expect("there is a user nobody");
    let mut ids = nobody.split(':').skip(2).map(|id| id.parse().unwrap());
    Some((ids.next().unwrap(), ids.next().unwrap()))
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = account() {
        command.uid(user).gid(group);
    }
    command
}

impl TestServer {
    /// A server of its own, for a test that harms it.
    pub(crate) fn start() -> Self {
        // Others of this process must not be given the same port.
        static STARTING: Mutex<()> = Mutex::new(());
        let _one_by_one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);

        // Not below the target directory, which a user nobody may not enter;
        // and a socket's path has at most 107 bytes.
        let directory = tempfile::Builder::new()
            .prefix("octavo-postgres-")
            .tempdir()
            .unwrap()
            .keep();
        if let Some((user, group)) = account() {
            chown(&directory, Some(user), Some(group)).unwrap();
        }
        let data = directory.join("data");
        let made = command(&programs().join("initdb"))
            .current_dir(&directory)
            .args(["--no-sync", "--encoding=UTF8", "--locale=C", "-U", "octavo"])
            .arg("-D")
            .arg(&data)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let port = free_port();
        fs::write(data.join("pg_hba.conf"), HBA).unwrap();
        let mut settings = fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap();
        write!(
            settings,
            "\nport={port}\nlisten_addresses='127.0.0.1'\n\
             unix_socket_directories='{}'\nfsync=off\ndeadlock_timeout=100ms\n\
             shared_buffers=256MB\nmax_wal_size=2GB\nautovacuum=off\n",
            directory.display()
        )
        .unwrap();

        let mut keeper = command(Path::new("/bin/sh"))
            .current_dir(&directory)
            .args(["-c", KEEPER, "keeper"])
            .arg(programs())
            .arg(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let leash = keeper.stdin.take();
        let server = Self {
            directory,
            port,
            keeper,
            leash,
        };
        let started = Instant::now();
        let mut session = loop {
            match server.try_session(&[]) {
                Ok(session) => break session,
                Err(error) if started.elapsed() > LIMIT => {
                    let log = fs::read_to_string(server.directory.join("log"));
                    panic!("{error}: {}", log.unwrap_or_default());
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        session
            .simple(
                "CREATE ROLE octavo_plain LOGIN PASSWORD 'plain'; \
                 SET password_encryption = 'md5'; \
                 CREATE ROLE octavo_md5 LOGIN PASSWORD 'md5 word'; \
                 SET password_encryption = 'scram-sha-256'; \
                 CREATE ROLE octavo_scram LOGIN PASSWORD 'scram wörd'",
            )
            .unwrap();
        server
    }

    /// The directory of the server's socket.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The server's port, which is also in the name of its socket.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A stream through the server's socket.
    pub(crate) fn stream(&self) -> std::io::Result<Stream> {
        Stream::unix(&self.directory.join(format!(".s.PGSQL.{}", self.port)))
    }

    /// A session of the owner of everything.
    pub(crate) fn try_session(
        &self,
        options: &[(&str, String)],
    ) -> Result<Session, ConnectionError> {
        let stream = self
            .stream()
            .map_err(|error| ConnectionError::Lost(Box::new(error)))?;
        Session::open(stream, "octavo", None, "postgres", options, LIMIT)
    }

    /// As [`TestServer::try_session`], with the options that tests want.
    pub(crate) fn session(&self) -> Session {
        let options = [("timezone", "UTC".to_owned())];
        self.try_session(&options).unwrap()
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        drop(self.leash.take());
        let _gone = self.keeper.wait();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
