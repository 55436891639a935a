//! A process of Octavo's own in which one database works.

use std::{
    env,
    ffi::OsStr,
    path::Path,
    process::{ChildStdin, ChildStdout},
    time::Duration,
};

use rustix::process::Signal;

use super::process::{Launch, Server};
use crate::{Result, files::named};

/// How long it may take to end once nobody talks to it any more.
const END_MAX: Duration = Duration::from_secs(60);

/// Where it says what went wrong, in the directory of its database.
const LOG: &str = "octavo.log";

/// A process that runs a database whose threads nobody else can hold still. Dropping it kills it.
pub struct HostProcess {
    server: Server,
}

impl HostProcess {
    /// Starts a program that reads what the caller writes, and whose output the caller reads. It works
    /// where this process does, on the processors that the calling thread may use, says in a file of
    /// `directory` what goes wrong, and never outlives this process.
    ///
    /// # Errors
    /// [`crate::DatabaseError::Program`] for what cannot be started; [`crate::DatabaseError::File`] for
    /// its log, and where this process works in a directory that is gone.
    pub fn start(
        program: &Path,
        argument: &OsStr,
        directory: &Path,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        let here = env::current_dir().map_err(named("enter", Path::new(".")))?;
        let (server, input, output) = Server::launch_piped(&Launch {
            program,
            arguments: vec![argument.to_owned()],
            directory: &here,
            log: &directory.join(LOG),
            account: None,
            group: None,
            on_death: Signal::KILL,
            input: None,
            // A library may need what is preloaded, or be tuned by it: all as in the user's own program.
            environment: env::vars_os().collect(),
        })?;
        Ok((Self { server }, input, output))
    }

    /// Holds all its threads still, unless it has ended.
    ///
    /// # Errors
    /// When they do not stand still.
    pub fn freeze(&self) -> Result<()> {
        self.server.freeze()
    }

    /// Lets it go on, if it is held.
    ///
    /// # Errors
    /// When it cannot be let go.
    pub fn thaw(&self) -> Result<()> {
        self.server.thaw()
    }

    /// How it ended, with its last words; `None` while it runs.
    pub fn death(&self) -> Option<String> {
        let status = self.server.ended()?;
        let words = self.server.last_words();
        Some(match words.is_empty() {
            true => status.to_string(),
            false => format!("{status}: {words}"),
        })
    }

    /// Ends it, held or not, whatever it does.
    pub fn kill(&self) {
        self.server.kill();
    }

    /// Waits until it has ended by itself, and kills it if it does not.
    ///
    /// # Errors
    /// When it did not end, or ended badly.
    pub fn ended(&self) -> Result<()> {
        match self.server.ends_within(END_MAX) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.server.failure("stop a database", status.to_string())),
            None => {
                self.server.kill();
                let seconds = END_MAX.as_secs();
                let what = format!("it had not ended after {seconds} s and was killed");
                Err(self.server.failure("stop a database", what))
            }
        }
    }
}
