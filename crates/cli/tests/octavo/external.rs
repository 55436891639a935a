//! `octavo bench --url` against private servers that play the user's.

use std::{
    ffi::OsStr,
    fs,
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::{complaint, octavo};

const PASSWORD: &str = "pass-s3cret";

/// For a server to start.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that is ended with the test.
pub(crate) struct UsersServer {
    pub(crate) url: String,
    server: Child,
    start: Command,
    pub(crate) directory: TempDir,
}

/// The user and group to run as: servers refuse root.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let nobody = accounts.lines().find(|line| line.starts_with("nobody:"));
    let mut ids = nobody.unwrap().split(':').skip(2);
    let mut id = || ids.next().unwrap().parse().unwrap();
    Some((id(), id()))
}

fn command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some((user, group)) = account() {
        command.uid(user).gid(group);
    }
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A directory of the server's account, whose parents everybody may pass.
fn directory() -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix("octavo-served-")
        .tempdir()
        .unwrap();
    if let Some((user, group)) = account() {
        chown(directory.path(), Some(user), Some(group)).unwrap();
    }
    directory
}

/// Where PostgreSQL's programs of the newest version are.
fn postgres_programs() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = installed.filter_map(|entry| {
        let path = entry.ok()?.path();
        let version: u32 = path.file_name()?.to_str()?.parse().ok()?;
        Some((version, path.join("bin")))
    });
    versions
        .max()
        .expect("PostgreSQL is needed by this test: ./test installs it")
        .1
}

impl UsersServer {
    pub(crate) fn postgres() -> Self {
        let directory = directory();
        let (data, password) = (
            directory.path().join("data"),
            directory.path().join("password"),
        );
        fs::write(&password, PASSWORD).unwrap();
        let programs = postgres_programs();
        let made = command(programs.join("initdb"), directory.path())
            .args([
                "--no-sync",
                "--encoding=UTF8",
                "--no-locale",
                "--username=anna",
            ])
            .args(["--auth=scram-sha-256", "--pwfile"])
            .args([&password, Path::new("-D"), &data])
            .status()
            .unwrap();
        assert!(made.success());
        let port = free_port();
        let mut start = command(programs.join("postgres"), directory.path());
        start
            .arg("-D")
            .arg(&data)
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "unix_socket_directories=.", "-c"])
            .arg(format!("port={port}"));
        Self {
            url: format!("postgres://anna:{PASSWORD}@127.0.0.1:{port}/postgres"),
            server: start.spawn().unwrap(),
            start,
            directory,
        }
        .ready()
    }

    pub(crate) fn mariadb() -> Self {
        Self::mariadb_with("")
    }

    /// One that logs all statements, which takes time, in general.log and slow.log.
    pub(crate) fn mariadb_with_logs() -> Self {
        Self::mariadb_with(
            "SET GLOBAL general_log_file = 'general.log';\n\
             SET GLOBAL general_log = ON;\n\
             SET GLOBAL slow_query_log_file = 'slow.log';\n\
             SET GLOBAL long_query_time = 0;\n\
             SET GLOBAL slow_query_log = ON;\n",
        )
    }

    /// One that counts statements.
    pub(crate) fn mariadb_with_digests() -> Self {
        Self::mariadb_with("GRANT SELECT ON performance_schema.* TO anna@'127.0.0.1';\n")
    }

    fn mariadb_with(logs: &str) -> Self {
        let counts = match logs.contains("performance_schema") {
            true => "ON",
            false => "OFF",
        };
        let directory = directory();
        let data = directory.path().join("data");
        let made = command("mariadb-install-db", directory.path())
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .arg("--skip-test-db")
            .arg(format!("--datadir={}", data.display()))
            // A server that starts removes the temporary tables of all that share it.
            .arg(format!("--tmpdir={}", directory.path().display()))
            .status()
            .unwrap();
        assert!(made.success());
        let start = directory.path().join("start.sql");
        // At each start.
        let sql = format!(
            "CREATE USER IF NOT EXISTS anna@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n\
             CREATE USER IF NOT EXISTS anna@localhost IDENTIFIED BY '{PASSWORD}';\n\
             GRANT ALL ON octavo.* TO anna@'127.0.0.1';\n\
             GRANT ALL ON octavo.* TO anna@localhost;\n{logs}"
        );
        fs::write(&start, sql).unwrap();
        let port = free_port();
        let program = ["/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd"]
            .into_iter()
            .find(|program| Path::new(program).exists())
            .unwrap_or("mariadbd");
        let mut server = command(program, directory.path());
        server
            .args(["--no-defaults", "--bind-address=127.0.0.1"])
            .args(["--socket=s.sock", "--pid-file=server.pid"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", directory.path().display()))
            .arg(format!("--init-file={}", start.display()))
            .arg(format!("--performance-schema={counts}"))
            .arg(format!("--port={port}"));
        Self {
            url: format!("mysql://anna:{PASSWORD}@127.0.0.1:{port}"),
            server: server.spawn().unwrap(),
            start: server,
            directory,
        }
        .ready()
    }

    /// What a file of the server's data directory has, such as a log.
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.directory.path().join("data").join(name);
        String::from_utf8(fs::read(path).unwrap()).unwrap()
    }

    /// Runs statements of a client, and waits until each of the logs has the last one: the slow
    /// log gets a statement after its client has the answer.
    pub(crate) fn logged(&self, logs: &[&str], sql: &str) {
        let last = sql.trim_end_matches(';').rsplit(';').next().unwrap().trim();
        let times = |name: &str| self.file(name).matches(last).count();
        let before: Vec<usize> = logs.iter().map(|name| times(name)).collect();
        self.rows(sql);
        let since = Instant::now();
        while logs
            .iter()
            .zip(&before)
            .any(|(name, before)| times(name) <= *before)
        {
            assert!(since.elapsed() < LIMIT, "not in each of {logs:?}: {last}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Once it lets us in.
    fn ready(self) -> Self {
        let since = Instant::now();
        loop {
            let output = self.bench(&["--remove"]);
            if output.status.success() {
                return self;
            }
            assert!(since.elapsed() < LIMIT, "{}", complaint(&output));
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops it, as its service would, and starts it again after a pause.
    pub(crate) fn restart_after(&mut self, pause: Duration) {
        let server = Pid::from_raw(self.server.id().cast_signed()).unwrap();
        // PostgreSQL's fast stop; MariaDB has no other one.
        let signal = match self.url.starts_with("postgres") {
            true => Signal::INT,
            false => Signal::TERM,
        };
        kill_process(server, signal).unwrap();
        self.server.wait().unwrap();
        thread::sleep(pause);
        self.server = self.start.spawn().unwrap();
    }

    /// What the server's own client prints, a line a row; nothing where it cannot
    /// connect.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        let port = self.url.split(':').next_back().unwrap();
        let port = port.split('/').next().unwrap();
        let mut client = match self.url.starts_with("postgres") {
            true => {
                let mut psql = Command::new(postgres_programs().join("psql"));
                psql.env("PGPASSWORD", PASSWORD)
                    .args(["-XAtq", "-h", "127.0.0.1", "-U", "anna", "-p", port])
                    .args(["-d", "postgres", "-c", sql]);
                psql
            }
            false => {
                let mut mariadb = Command::new("mariadb");
                mariadb
                    .args(["--no-defaults", "-N", "-h127.0.0.1", "-uanna"])
                    .args([format!("-p{PASSWORD}"), format!("-P{port}")])
                    .args(["-e", sql]);
                mariadb
            }
        };
        let output = client.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// A bench, which never shows the password.
    #[track_caller]
    fn bench(&self, arguments: &[&str]) -> Output {
        let output = octavo()
            .current_dir(self.directory.path())
            .args(["bench", "--url", &self.url])
            .args(arguments)
            .output()
            .unwrap();
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains("s3cret"), "{text}");
        }
        output
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.bench(&[&["--json", "--transactions=60"], arguments].concat());
        assert!(output.status.success(), "{}", complaint(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// One line on standard error with these words, and the exit code.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], code: i32, named: &[&str]) {
        expect_refusal(&self.bench(arguments), code, named);
    }

    #[track_caller]
    fn removes(&self, words: &str) {
        let output = self.bench(&["--remove"]);
        assert!(output.status.success(), "{}", complaint(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with(words), "{text}");
    }

    /// All that holds for both kinds of servers.
    fn is_driven(&self, database: &str) {
        let rows = |result: &Value| {
            let conditions = result["conditions"].as_array().unwrap().clone();
            let rows = conditions.iter().find(|pair| pair[0] == "rows").unwrap();
            rows[1].as_str().unwrap().to_owned()
        };
        let data = ["--workload=pgbench", "--scale=1", "--seed=7"];
        let first = self.json(&data);
        assert_eq!(first["subject"]["database"], database);
        assert_eq!(first["transactions"], 60);
        assert!(first["subject"]["memory"].is_null() && first["device"].is_null());
        assert_eq!(rows(&first), "as loaded");
        // What is there is used, its seed too; kinds of which some conditions
        // do not hold afterwards are remembered.
        let second = self.json(&["--workload=pgbench-simple-update", "--clients=2"]);
        assert_eq!(
            (&second["seed"], &second["data"]),
            (&7.into(), &first["data"])
        );
        assert_eq!(rows(&second), "as one earlier bench left them");
        assert_eq!(rows(&self.json(&[])), "as 2 earlier benches left them");
        let output = self.bench(&["--transactions=60"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("is yours"), "{text}");
        assert!(!text.contains("page cache"), "{text}");

        for other in [&["--scale=2"][..], &["--seed=8"], &["--workload=ycsb-a"]] {
            self.refuses(other, 2, &["--reload", "--remove", "pgbench, scale: 1"]);
        }
        for setting in ["--memory=1GiB", "--page-size=4K", "--redo=1GiB"] {
            let flag = setting.split('=').next().unwrap();
            self.refuses(&[setting], 2, &[flag, "--url"]);
        }
        // Keys that were inserted cannot be inserted again.
        let ycsb = ["--workload=ycsb-d", "--records=1000"];
        self.json(&[&ycsb[..], &["--reload"]].concat());
        self.refuses(&ycsb, 2, &["inserted", "--reload"]);
        self.json(&["--workload=ycsb-b"]);
        let again = self.json(&[&ycsb[..], &["--reload"]].concat());
        assert_eq!(rows(&again), "as loaded");
        self.json(&["--workload=tpcc", "--warehouses=1", "--reload"]);
        self.json(&["--clients=2"]);

        self.removes("Removed octavo");
        self.removes("Nothing to remove");
    }

    /// The same URL with something else in it.
    fn with(&self, from: &str, to: &str) -> String {
        let url = self.url.replace(from, to);
        assert_ne!(url, self.url);
        url
    }
}

impl Drop for UsersServer {
    fn drop(&mut self) {
        // Its directory goes with it, but not its shared memory.
        if let Some(server) = Pid::from_raw(self.server.id().cast_signed()) {
            let _ended = kill_process(server, Signal::QUIT);
        }
        let _ended = self.server.wait();
    }
}

#[track_caller]
fn expect_refusal(output: &Output, code: i32, named: &[&str]) {
    let complaint = complaint(output);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(!complaint.contains("s3cret"), "{complaint}");
    for word in named {
        assert!(complaint.contains(word), "{word} in: {complaint}");
    }
}

#[track_caller]
fn refused_url(url: &str, code: i32, named: &[&str]) {
    let output = octavo().args(["bench", "--url", url]).output().unwrap();
    assert!(output.stdout.is_empty());
    expect_refusal(&output, code, named);
}

#[test]
fn a_postgres_is_driven() {
    let server = UsersServer::postgres();
    server.is_driven("postgres");

    refused_url(&server.with("pass-s3cret", "no-s3cret"), 1, &["28P01"]);
    refused_url(&server.with("/postgres", "/missing"), 1, &["missing"]);
    refused_url(
        &server
            .with("postgres://", "mysql://")
            .replace("/postgres", ""),
        1,
        &["no MySQL or MariaDB server"],
    );

    // A schema of somebody else is left alone.
    let port = server.url.rsplit([':', '/']).nth(1).unwrap().to_owned();
    let psql = |sql: &str| {
        let output = Command::new(postgres_programs().join("psql"))
            .env("PGPASSWORD", PASSWORD)
            .args(["-XAtq", "-h", "127.0.0.1", "-U", "anna", "-p", &port])
            .args(["-c", sql, "postgres"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    psql("CREATE SCHEMA octavo; CREATE TABLE octavo.usertable AS SELECT 7 AS a");
    for flags in [&[][..], &["--reload"], &["--remove"]] {
        server.refuses(flags, 2, &["not marked as Octavo's"]);
    }
    assert_eq!(psql("SELECT a FROM octavo.usertable"), "7\n");
}

#[test]
fn a_mariadb_is_driven() {
    let server = UsersServer::mariadb();
    server.is_driven("mariadb");
    refused_url(&server.with("pass-s3cret", "no-s3cret"), 1, &["1045"]);
    let other = server.with("mysql://", "postgres://");
    refused_url(&other, 1, &["no PostgreSQL server"]);
}

#[test]
fn urls_that_are_none_are_refused_without_their_password() {
    for (url, named) in [
        ("anna:s3cret@db/shop", "no ://"),
        ("http://anna:s3cret@db/shop", "neither postgres nor mysql"),
        ("postgres://anna:s3cret/shop", "no user"),
        ("postgres://anna:s3cret@db:x/shop", "port"),
        ("postgres://anna@db/shop?password=s3cret", "host, socket"),
        ("mysql://anna:s3cret@db/shop", "leave the name out"),
    ] {
        refused_url(url, 2, &[named]);
    }
    let port = free_port();
    for protocol in ["postgres", "mysql"] {
        refused_url(
            &format!("{protocol}://anna:s3cret@127.0.0.1:{port}/"),
            1,
            &["connect to", "refused"],
        );
    }
    let output = octavo().args(["bench", "--remove"]).output().unwrap();
    expect_refusal(&output, 2, &["--url"]);
}
