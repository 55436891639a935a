//! Making a data directory, and the server that works in it.

use std::{fs, io, os::unix::net::UnixStream, path::PathBuf, time::Duration};

use octavo_units::PageSize;
use octavo_workload::ConnectionError;
use rustix::{net::sockopt::socket_peercred, process::Signal};

use super::{
    Flavour,
    arguments::{self, Purpose, REST_REDO},
    layout::{Layout, PID_FILE, SOCKET},
    programs::Programs,
    session::Session,
};
use crate::{
    DatabaseError, Result,
    files::{self, named},
    server::{
        account::Account,
        process::{Launch, Server, run_tool},
        socket,
        start::wait_until_ready,
    },
    wire::Stream,
};

/// The account of statements on a copy of the user's own database, which may do nothing outside of
/// that: what others wrote into its triggers and routines runs with these rights.
pub(super) const OWNER: &str = "octavo_owner";

/// How long a server may take until it answers. It takes tenths of a second,
/// and longer where it has to recover or to make a large log.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);

/// How long a login may take.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);

/// How long making a data directory may take: a second, or ten of MySQL's.
const INITIALISE_LIMIT: Duration = Duration::from_secs(300);

/// How long a server may take to stop. A slow shutdown purges all that was
/// loaded.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(120);

/// Makes a data directory with this page size in an empty directory.
pub(crate) fn initialise(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    account: Option<&Account>,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<()> {
    if layout.data.exists() {
        return Err(named("create", &layout.data)(
            io::ErrorKind::AlreadyExists.into(),
        ));
    }
    if let Some(account) = account {
        account.check_reach(&layout.data)?;
    }
    Layout::make(&layout.data, account)?;
    Layout::make(&layout.temporary, account)?;
    let mut all = arguments::common(programs, layout);
    all.push(format!("--innodb-page-size={}", page_size.get()).into());
    let program = match &programs.install {
        Some(install) => {
            for argument in [
                "--skip-test-db",
                "--skip-name-resolve",
                "--auth-root-authentication-method=normal",
            ] {
                all.push(argument.into());
            }
            all.push(format!("--innodb-log-file-size={}", REST_REDO.get()).into());
            install
        }
        None => {
            all.insert(1, "--initialize-insecure".into());
            &programs.server
        }
    };
    let launch = Launch {
        program,
        arguments: all,
        directory: &layout.data,
        log: &layout.log,
        account,
        group: None,
        on_death: Signal::KILL,
        input: None,
        environment: Vec::new(),
    };
    run_tool("make a data directory", &launch, INITIALISE_LIMIT, stopped)?;
    fs::write(&layout.page_size, format!("{}\n", page_size.get()))
        .map_err(named("write", &layout.page_size))
}

/// A server that runs. Dropping it kills it.
pub(crate) struct Instance {
    server: Server,
    data: PathBuf,
    superuser: String,
}

impl Instance {
    /// Starts the server on its directory and waits until it answers; returns
    /// it with the first session.
    ///
    /// Fails with [`DatabaseError::Program`] and the server's last words when
    /// it does not start, and when another server works in the directory.
    pub(crate) fn start(
        programs: &Programs,
        layout: &Layout,
        page_size: PageSize,
        purpose: &Purpose,
        account: Option<&Account>,
    ) -> Result<(Self, Session)> {
        layout.check()?;
        if let Some(account) = account {
            account.check_reach(&layout.data)?;
        }
        Layout::make(&layout.temporary, account)?;
        Self::refuse_another(programs, layout)?;
        let superuser = layout.superuser()?;
        let server = Server::launch(&Launch {
            program: &programs.server,
            arguments: arguments::of_server(programs, layout, page_size, purpose),
            directory: &layout.data,
            log: &layout.log,
            account,
            group: None,
            on_death: Signal::KILL,
            input: None,
            environment: Vec::new(),
        })?;
        let session = wait_until_ready(&server, START_LIMIT, &mut || {
            let stream = socket::connect(&layout.data, SOCKET).ok()?;
            if peer(&stream) != Some(server.pid()) {
                // Not ours: ours waits for the other one's locks.
                return None;
            }
            match Session::open(Stream::Unix(stream), &superuser, "", None, &[], LOGIN_LIMIT) {
                // It is still starting or stopping again: its end tells why.
                Err(ConnectionError::Lost(_)) => None,
                answer => Some(answer),
            }
        })??;
        let data = layout.data.clone();
        let instance = Self {
            server,
            data,
            superuser,
        };
        Ok((instance, session))
    }

    /// A socket that someone listens at is another server's; one that nobody
    /// listens at was left by a server that was killed.
    fn refuse_another(programs: &Programs, layout: &Layout) -> Result<()> {
        if let Ok(stream) = socket::connect(&layout.data, SOCKET) {
            let other = peer(&stream).map_or(String::new(), |pid| format!(" (process {pid})"));
            return Err(DatabaseError::Program {
                action: "start the server",
                program: programs.server.clone(),
                reason: format!(
                    "another server{other} works in {}; stop it first",
                    layout.data.display()
                ),
            });
        }
        for name in [SOCKET.to_owned(), format!("{SOCKET}.lock"), PID_FILE.into()] {
            files::remove(&layout.data.join(name))?;
        }
        Ok(())
    }

    /// Opens another session, which may do everything.
    pub(crate) fn session(&self, database: Option<&str>, setup: &[String]) -> Result<Session> {
        self.session_as(&self.superuser, database, setup)
    }

    /// Opens a session of statements, with what `own` says where the data is a copy of the user's own.
    pub(super) fn statement_session(
        &self,
        database: &str,
        mut setup: Vec<String>,
        own: Vec<String>,
    ) -> Result<Session> {
        if own.is_empty() {
            return self.session(Some(database), &setup);
        }
        setup.extend(own);
        self.owner_session(database, &setup)
    }

    /// Opens a session of the user's statements on a copy of their database.
    pub(super) fn owner_session(&self, database: &str, setup: &[String]) -> Result<Session> {
        self.session_as(OWNER, Some(database), setup)
    }

    fn session_as(&self, user: &str, database: Option<&str>, setup: &[String]) -> Result<Session> {
        let stream = socket::connect(&self.data, SOCKET)
            .map_err(|error| ConnectionError::Lost(Box::new(error)))?;
        let stream = Stream::Unix(stream);
        Ok(Session::open(
            stream,
            user,
            "",
            database,
            setup,
            LOGIN_LIMIT,
        )?)
    }

    /// How it ended and its last words; `None` while it runs.
    pub(crate) fn death(&self) -> Option<String> {
        let status = self.server.ended()?;
        let words = self.server.last_words();
        Some(match words.is_empty() {
            true => format!("the server ended ({status})"),
            false => format!("the server ended ({status}); its last words:\n{words}"),
        })
    }

    /// The server's process.
    pub(crate) fn process(&self) -> &Server {
        &self.server
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        self.server.kill();
    }

    /// Stops it cleanly.
    ///
    /// Fails with [`DatabaseError::Program`] and its last words when it had to
    /// be killed or did not end well.
    pub(crate) fn stop(self) -> Result<()> {
        let was_there = self.server.ended().is_none();
        let status = self.server.stop(Signal::TERM, STOP_LIMIT)?;
        if was_there && status.success() {
            return Ok(());
        }
        let what = match was_there {
            true => format!("it ended badly ({status})"),
            false => format!("it had ended before ({status})"),
        };
        Err(self.server.failure("stop the server", what))
    }
}

/// The process that listens at the other end of a Unix socket.
fn peer(stream: &UnixStream) -> Option<i32> {
    let credentials = socket_peercred(stream).ok()?;
    Some(credentials.pid.as_raw_nonzero().get())
}

/// The statements that make a session as workloads want it: texts are refused
/// rather than cut, and times are in UTC.
pub(crate) fn session_setup(flavour: Flavour, isolation: &str, limit: Duration) -> Vec<String> {
    // MariaDB counts in seconds; MySQL in milliseconds, of queries alone.
    let limit = match flavour {
        Flavour::Mariadb => format!("max_statement_time={}", limit.as_secs()),
        Flavour::Mysql => format!("max_execution_time={}", limit.as_millis()),
    };
    vec![
        format!(
            "SET SESSION sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', \
             time_zone='+00:00', {limit}"
        ),
        format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
    ]
}
