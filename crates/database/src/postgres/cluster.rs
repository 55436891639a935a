//! A cluster: the directory that one server owns, and starting that server.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_units::PageSize;
use octavo_workload::{ConnectionError, Workload};
use rustix::process::Signal;

use super::{refusal::refuse, session::Session, shared_memory};
use crate::{
    RestoreMethod, Result, files,
    server::{
        account::Account,
        memory::MemoryGroup,
        process::{Launch, Server, run_tool},
        socket, start, tree,
    },
    wire::Stream,
};

/// The cluster below the directory of a snapshot or a run.
const CLUSTER: &str = "cluster";

/// What the server and its tools say, beside the cluster.
const LOG: &str = "server.log";

/// The bytes of a page, beside the cluster: its programs are needed to ask the
/// cluster itself.
const PAGE_BYTES: &str = "page-bytes";

/// The superuser.
pub(super) const USER: &str = "octavo";

/// Who a session is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Octavo, which may do everything.
    Superuser,
    /// The owner of a copy of the user's database, who may do nothing outside of it: what others
    /// wrote into its functions, triggers and constraints runs with these rights.
    Owner,
}

impl Role {
    /// Of the statements of a workload.
    pub(super) fn of(workload: &dyn Workload) -> Self {
        match workload.copy_of() {
            Some(_) => Self::Owner,
            None => Self::Superuser,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Superuser => USER,
            Self::Owner => "octavo_owner",
        }
    }
}

/// The database that initdb leaves for use.
pub(super) const DATABASE: &str = "postgres";

/// The name of a socket follows from a port, also where nobody listens on it.
const SOCKET: &str = ".s.PGSQL.5432";

/// How long a server may take to start; one that died has its log to replay.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How long a server may take to stop: it writes out its buffer.
const STOP_LIMIT: Duration = Duration::from_secs(300);

/// How long a server may take to end without writing anything.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How long initdb may take.
const INITDB_LIMIT: Duration = Duration::from_secs(300);

/// How long one connection may take to be made.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A cluster and the programs of its page size.
pub(super) struct Cluster {
    /// Directory of the snapshot or run.
    directory: PathBuf,
    programs: PathBuf,
    account: Option<Account>,
}

impl Cluster {
    /// The cluster in the directory of a snapshot or a run, made or not.
    pub(super) fn new(directory: &Path, programs: PathBuf) -> Result<Self> {
        let account = Account::of_servers()?;
        if let Some(account) = &account {
            account.check_reach(&path_of(directory))?;
        }
        // Servers work in the cluster's directory.
        let directory = std::path::absolute(directory).map_err(files::named("find", directory))?;
        Ok(Self {
            directory,
            programs,
            account,
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        path_of(&self.directory)
    }

    /// The user that the server runs as, when that is another than ours.
    pub(super) fn user(&self) -> Option<&str> {
        self.account.as_ref().map(|account| account.name.as_str())
    }

    /// Makes an empty cluster, which must not be there yet.
    pub(super) fn create(
        &self,
        page_size: PageSize,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let path = self.path();
        fs::create_dir(&path).map_err(files::named("create", &path))?;
        if let Some(account) = &self.account {
            account.own(&path)?;
        }
        let initdb = self.programs.join("initdb");
        // The locale C has the order of bytes, as every other database here;
        // whoever may reach the directory may connect, which is the server's
        // user alone.
        let arguments = [
            "--no-sync",
            // What a server of it that was killed leaves is found by its files.
            "--no-clean",
            "--no-locale",
            "--encoding=UTF8",
            "--auth=trust",
        ]
        .map(OsString::from)
        .into_iter()
        .chain([
            format!("--username={USER}").into(),
            "--pgdata".into(),
            path.clone().into(),
        ])
        .collect();
        let log = self.directory.join(LOG);
        let made = run_tool(
            "make a cluster",
            &self.launch(&initdb, arguments, &path, &log, None),
            INITDB_LIMIT,
            stopped,
        );
        if made.is_err() {
            shared_memory::free_below(&path);
        }
        made?;
        let note = self.directory.join(PAGE_BYTES);
        fs::write(&note, format!("{}\n", page_size.get())).map_err(files::named("write", &note))
    }

    fn launch<'l>(
        &'l self,
        program: &'l Path,
        arguments: Vec<OsString>,
        directory: &'l Path,
        log: &'l Path,
        group: Option<&'l MemoryGroup>,
    ) -> Launch<'l> {
        Launch {
            program,
            arguments,
            directory,
            log,
            account: self.account.as_ref(),
            group,
            // Immediate shutdown: the server ends its processes and frees its
            // shared memory, and writes nothing.
            on_death: Signal::QUIT,
            input: None,
            environment: Vec::new(),
        }
    }

    /// Starts the server with parameters besides those that all have, and
    /// waits until it answers.
    pub(super) fn start(
        self,
        parameters: &[(&str, String)],
        group: Option<&MemoryGroup>,
    ) -> Result<Started> {
        let path = self.path();
        let program = self.programs.join("postgres");
        let mut arguments: Vec<OsString> = vec!["-D".into(), path.clone().into()];
        let always = [
            // No port is taken; the socket lies in the cluster's directory.
            ("listen_addresses", String::new()),
            ("unix_socket_directories", ".".into()),
            ("unix_socket_permissions", "0700".into()),
            ("port", "5432".into()),
            ("logging_collector", "off".into()),
            ("log_destination", "stderr".into()),
            ("jit", "off".into()),
            // Not in /dev/shm, where it would stay when a server is killed.
            ("dynamic_shared_memory_type", "mmap".into()),
        ];
        for (name, value) in always.iter().chain(parameters) {
            arguments.push("-c".into());
            arguments.push(format!("{name}={value}").into());
        }
        let log = self.directory.join(LOG);
        let server = Server::launch(&self.launch(&program, arguments, &path, &log, group))?;
        drop(answer_of(&server, &path)??);
        Ok(Started {
            cluster: self,
            server,
        })
    }
}

/// What a server says to a login once it does not start or recover any more.
fn answer_of(server: &Server, cluster: &Path) -> Result<Result<Session, ConnectionError>> {
    start::wait_until_ready(server, START_LIMIT, &mut || match connect(
        cluster,
        Role::Superuser,
        DATABASE,
        &[],
    ) {
        // It refuses until then, and before there is no socket.
        Err(ConnectionError::Lost(_)) => None,
        answer => Some(answer),
    })
}

/// The cluster below the directory of a snapshot or a run.
fn path_of(directory: &Path) -> PathBuf {
    directory.join(CLUSTER)
}

/// The page size of the cluster in the directory of a snapshot or a run.
pub(super) fn page_size_of(directory: &Path) -> Result<PageSize> {
    let note = directory.join(PAGE_BYTES);
    let text = fs::read_to_string(&note).map_err(files::named("read", &note))?;
    text.trim()
        .parse::<u32>()
        .ok()
        .and_then(|bytes| PageSize::new(bytes).ok())
        .ok_or_else(|| {
            refuse(
                "page size",
                text.trim(),
                format!("{} does not hold one: load again", note.display()),
            )
        })
}

/// Makes `run` a fresh copy of `snapshot`.
pub(super) fn restore(snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
    let account = Account::of_servers()?;
    shared_memory::free_below(run);
    files::remove(&run.join(LOG))?;
    let (from, to) = (snapshot.join(PAGE_BYTES), run.join(PAGE_BYTES));
    fs::copy(&from, &to).map_err(files::named("copy the snapshot to", &to))?;
    tree::restore(&path_of(snapshot), &path_of(run), account.as_ref())
}

fn connect(
    cluster: &Path,
    role: Role,
    database: &str,
    options: &[(&str, String)],
) -> Result<Session, ConnectionError> {
    let stream =
        socket::connect(cluster, SOCKET).map_err(|error| ConnectionError::Lost(Box::new(error)))?;
    Session::open(
        Stream::Unix(stream),
        role.name(),
        None,
        database,
        &with_always(options),
        CONNECT_LIMIT,
    )
}

/// The parameters of a session with those that all have.
pub(super) fn with_always<'o>(options: &[(&'o str, String)]) -> Vec<(&'o str, String)> {
    let mut all = vec![
        ("application_name", "octavo".to_owned()),
        ("client_encoding", "UTF8".into()),
        ("timezone", "UTC".into()),
    ];
    all.extend_from_slice(options);
    all
}

/// A server that runs on a cluster.
pub(super) struct Started {
    cluster: Cluster,
    server: Server,
}

impl Started {
    /// Opens a session of the superuser with parameters of its own.
    pub(super) fn connect(&self, options: &[(&str, String)]) -> Result<Session> {
        self.connect_as(Role::Superuser, options)
    }

    /// Opens one for what the server itself has: along the search path of a copy of the user's
    /// database it would run functions and operators of others with a superuser's rights.
    pub(super) fn connect_beside(&self) -> Result<Session> {
        self.connect(&[("search_path", "pg_catalog".into())])
    }

    pub(super) fn connect_as(&self, role: Role, options: &[(&str, String)]) -> Result<Session> {
        Ok(connect(&self.cluster.path(), role, DATABASE, options)?)
    }

    /// Opens a session in the database that others are made of.
    pub(super) fn connect_to_template(&self) -> Result<Session> {
        Ok(connect(
            &self.cluster.path(),
            Role::Superuser,
            "template1",
            &[],
        )?)
    }

    /// How the server ended, and what it said last; `None` while it runs.
    pub(super) fn death(&self) -> Option<String> {
        let status = self.server.ended()?;
        Some(format!("{status}: {}", self.server.last_words()))
    }

    /// The server and all its processes.
    pub(super) fn process(&self) -> &Server {
        &self.server
    }

    /// Where its files are.
    pub(super) fn path(&self) -> PathBuf {
        self.cluster.path()
    }

    pub(super) fn last_words(&self) -> String {
        self.server.last_words()
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.cluster.user()
    }

    /// Has the server end at once, without writing anything.
    pub(super) fn end(&self) {
        self.server.signal(Signal::QUIT);
    }

    /// Stops the server: its buffer is written out, sessions are ended. Its
    /// files leave the page cache.
    pub(super) fn stop(self) -> Result<()> {
        // One that cannot be let go does not end, which is reported below.
        let _stays = self.server.thaw();
        // One that begins again because a process of it was killed, and is to
        // end meanwhile, may wait for ever (PostgreSQL 15.18: its checkpointer
        // stays, and nothing is written about it).
        let _any_answer = answer_of(&self.server, &self.path());
        // Fast shutdown.
        let status = self.server.stop(Signal::INT, STOP_LIMIT)?;
        if !status.success() {
            return Err(self.server.failure("stop the server", status.to_string()));
        }
        let path = self.path();
        // The server may have been one that does not flush.
        tree::sync(&path)?;
        tree::forget(&path)
    }
}

impl Drop for Started {
    /// Ends a server that was not stopped, so that it frees its shared memory.
    fn drop(&mut self) {
        if self.server.ended().is_none() {
            // What is dropped like this is thrown away.
            let _ended = self.server.stop(Signal::QUIT, END_LIMIT);
        }
        // Where it was killed.
        shared_memory::free_below(&self.path());
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        os::unix::fs::{MetadataExt, PermissionsExt},
        time::Instant,
    };

    use rustix::process::{Pid, kill_process};

    use super::{super::programs::installed, *};

    #[test]
    fn a_server_that_begins_again_is_stopped_soon() {
        let Some((_, programs)) = installed() else {
            eprintln!("skipped: PostgreSQL is not installed");
            return;
        };
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let cluster = || Cluster::new(place.path(), programs.clone()).unwrap();
        let page_size = PageSize::new(8192).unwrap();
        cluster().create(page_size, &mut || false).unwrap();
        for _ in 0..5 {
            let started = cluster().start(&[], None).unwrap();
            let mut session = started.connect(&[]).unwrap();
            let own = session.one("SELECT pg_backend_pid()").unwrap().unwrap();
            let own = Pid::from_raw(own.parse().unwrap()).unwrap();
            kill_process(own, Signal::KILL).unwrap();
            // Until it has noticed.
            while started.connect(&[]).is_ok() {}
            let began = Instant::now();
            started.stop().unwrap();
            assert!(began.elapsed() < STOP_LIMIT / 2);
        }
    }

    #[test]
    fn a_cluster_that_is_not_finished_leaves_no_shared_memory() {
        let Some((_, programs)) = installed() else {
            eprintln!("skipped: PostgreSQL is not installed");
            return;
        };
        // Looks after the first at which a server of initdb has its memory.
        for looks in [0, 3, 10, 30] {
            let place = tempfile::tempdir().unwrap();
            fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
            let cluster = Cluster::new(place.path(), programs.clone()).unwrap();
            let path = cluster.path();
            // The key follows from the directory's inode (`sysv_shmem.c`): the last one that was
            // seen, since it is gone at the end. 0 is what other programs have that need none.
            let inode = Cell::new(None);
            let has_memory = || {
                let seen = fs::metadata(&path).map(|about| about.ino());
                inode.set(seen.ok().or(inode.get()));
                let mut keys = shared_memory::segments().into_iter();
                keys.any(|(key, ..)| inode.get().is_some_and(|inode| key as u32 == inode as u32))
            };
            let mut seen = 0;
            let page_size = PageSize::new(8192).unwrap();
            let made = cluster.create(page_size, &mut || {
                seen += u32::from(seen > 0 || has_memory());
                seen > looks
            });
            assert!(seen > 0, "a server of initdb has memory");
            assert!(!has_memory(), "{looks}: {made:?}");
        }
    }
}
