//! Programs that Octavo starts and that never outlive it.

#![expect(
    unsafe_code,
    reason = "what runs between fork and exec is for the caller to keep free of locks"
)]

use std::{
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt, fchown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{self, Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    process::{
        Pid, Signal, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
        setsid,
    },
    thread::{
        sched_getaffinity, sched_setaffinity, set_thread_gid, set_thread_groups, set_thread_uid,
    },
};

use super::{
    account::Account,
    descendants,
    freezer::{Freezer, Means},
    memory::{self, MemoryGroup},
    orphans, spawner,
};
use octavo_workload::ConnectionError;

use crate::{DatabaseError, Result, files::named};

/// Lines of a log that an error shows.
const WORDS_LINES: usize = 6;

/// Characters of a log that an error shows at most.
const WORDS_CHARACTERS: usize = 2000;

/// How long a killed program may take to go: it may wait for a device.
const KILLED_LIMIT: Duration = Duration::from_secs(10);

/// Done before the first start.
static SWEPT: Once = Once::new();

/// A program to start.
///
/// Its environment has `PATH`, `HOME` (the
/// directory), a plain locale, UTC and the Octavo that started it only. It runs on the
/// processors that the
/// calling thread may use, in a session of its own: Ctrl-C at the terminal
/// does not reach it before Octavo has decided what to do.
pub(crate) struct Launch<'a> {
    /// The program's path.
    pub(crate) program: &'a Path,
    /// Its arguments, without its name.
    pub(crate) arguments: Vec<OsString>,
    /// Where it works.
    pub(crate) directory: &'a Path,
    /// Where its output is appended; made for the account alone to read.
    pub(crate) log: &'a Path,
    /// The user that it runs as; `None` for the one that Octavo runs as.
    pub(crate) account: Option<&'a Account>,
    /// The group whose limit of memory holds for it.
    pub(crate) group: Option<&'a MemoryGroup>,
    /// What the kernel sends it when Octavo dies.
    pub(crate) on_death: Signal,
    /// What it reads as its standard input; nothing without one.
    pub(crate) input: Option<&'a Path>,
    /// What its environment has besides.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Launch<'_> {
    /// Opens the log and returns it with its length.
    fn open_log(&self) -> Result<(File, u64)> {
        let open = || {
            let log = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                // The directory may be another user's, who could have put a
                // link to somebody's file there.
                .custom_flags(libc::O_NOFOLLOW)
                .open(self.log)?;
            let about = log.metadata()?;
            if !about.is_file() || about.nlink() != 1 {
                return Err(io::Error::other("it is not a file of its own: remove it"));
            }
            if let Some(account) = self.account {
                fchown(&log, Some(account.uid), Some(account.gid))?;
            }
            let length = about.len();
            Ok((log, length))
        };
        open().map_err(named("open", self.log))
    }

    fn command(&self, log: File) -> io::Result<Command> {
        let mut command = Command::new(self.program);
        let path = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin:/usr/sbin:/sbin".into());
        command
            .args(&self.arguments)
            .current_dir(self.directory)
            .stdin(match self.input {
                Some(path) => File::open(path)?.into(),
                None => Stdio::null(),
            })
            .stdout(log.try_clone()?)
            .stderr(log)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.directory)
            .envs([("LANG", "C"), ("LC_ALL", "C"), ("TZ", "UTC")])
            .envs(orphans::mark())
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        let procs = self.group.map(MemoryGroup::procs_file).transpose()?;
        let ids = self.account.map(Account::ids);
        // The thread that starts the program may use other processors than the
        // caller. More processors than the type holds: leave them as they are.
        let processors = sched_getaffinity(None).ok();
        let parent = Pid::from_raw(process::id() as i32);
        let on_death = self.on_death;
        // SAFETY: the closure makes system calls alone. It takes no lock and no
        // memory, which another thread may have held when the process forked.
        unsafe {
            command.pre_exec(move || {
                // The group first: kernels differ in whose rights they ask for.
                if let Some(procs) = &procs {
                    rustix::io::write(procs, b"0")?;
                }
                if let Some((uid, gid)) = ids {
                    // Of the one thread that a forked process has.
                    set_thread_groups(&[])?;
                    set_thread_gid(gid)?;
                    set_thread_uid(uid)?;
                }
                setsid()?;
                if let Some(processors) = &processors {
                    sched_setaffinity(None, processors)?;
                }
                // After the change of user, which takes it back (prctl(2)).
                set_parent_process_death_signal(Some(on_death))?;
                // Octavo may have died in between.
                if getppid() != parent {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            });
        }
        Ok(command)
    }
}

/// A program that was started. Dropping it kills it and all that it started.
pub(crate) struct Server {
    program: PathBuf,
    log: PathBuf,
    /// Where in the log its own output begins.
    log_start: u64,
    pid: Pid,
    child: Mutex<Child>,
    freezer: Mutex<Freezer>,
}

impl Server {
    /// Starts a program. The first start ends what a killed Octavo left.
    pub(crate) fn launch(launch: &Launch<'_>) -> Result<Self> {
        Self::start(launch, |_| ())
    }

    /// Starts a program that reads what the caller writes and whose output the caller reads. Its
    /// log has what it says of errors.
    pub(crate) fn launch_piped(launch: &Launch<'_>) -> Result<(Self, ChildStdin, ChildStdout)> {
        let server = Self::start(launch, |command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        })?;
        let mut child = server.child();
        let pipes = child.stdin.take().zip(child.stdout.take());
        drop(child);
        let (input, output) = pipes.expect("a process has the pipes that it was started with");
        Ok((server, input, output))
    }

    fn start(launch: &Launch<'_>, adjust: impl FnOnce(&mut Command)) -> Result<Self> {
        SWEPT.call_once(|| {
            orphans::end();
            memory::sweep();
        });
        // Else its absence would be told as the program's.
        fs::metadata(launch.directory).map_err(named("enter", launch.directory))?;
        if launch.group.is_some() {
            // Pages are charged to whom reads them first. In the group, a program of
            // 9 MB would take turns with the data in a few MiB of page cache, and
            // each miss of its code reads ahead. A program that cannot be read
            // cannot be started, which is reported below.
            let read = |mut program| io::copy(&mut program, &mut io::sink());
            let _read = File::open(launch.program).and_then(read);
        }
        let (log, log_start) = launch.open_log()?;
        let child = launch
            .command(log)
            .and_then(|mut command| {
                adjust(&mut command);
                spawner::spawn(command)
            })
            .map_err(|error| DatabaseError::Program {
                action: "start a process",
                program: launch.program.to_owned(),
                reason: error.to_string(),
            })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("a process has a positive number");
        let means = launch
            .group
            .and_then(MemoryGroup::freezer)
            .unwrap_or(Means::Signals(pid.as_raw_nonzero().get()));
        Ok(Self {
            program: launch.program.to_owned(),
            log: launch.log.to_owned(),
            log_start,
            pid,
            child: Mutex::new(child),
            freezer: Mutex::new(Freezer::new(means)),
        })
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Holds it and all that it started still, unless it has ended.
    pub(crate) fn freeze(&self) -> Result<()> {
        if self.ended().is_some() {
            return Ok(());
        }
        self.freezer()
            .freeze()
            .map_err(|error| self.failure("hold the server still", error.to_string()))
    }

    /// Lets it go on, if it is held.
    pub(crate) fn thaw(&self) -> Result<()> {
        self.freezer()
            .thaw()
            .map_err(|error| self.failure("let the server go on", error.to_string()))
    }

    /// Sends it a signal, unless it has ended. One that is held is let go.
    pub(crate) fn signal(&self, signal: Signal) {
        // One that cannot be let go does not end, which is reported later.
        let _stays = self.thaw();
        let mut child = self.child();
        // Not reaped while the lock is held, so the number is still its own.
        if let Ok(None) = child.try_wait() {
            // It ends by itself: nothing is lost.
            let _ended = kill_process(self.pid, signal);
        }
    }

    /// Sends it `signal` and waits until it has ended, and returns how it did.
    ///
    /// Once `limit` has passed it is killed, and the error says so.
    pub(crate) fn stop(&self, signal: Signal, limit: Duration) -> Result<ExitStatus> {
        self.signal(signal);
        if let Some(status) = self.wait(limit, &mut || false) {
            return Ok(status);
        }
        self.kill();
        Err(self.failure(
            "stop",
            format!(
                "it had not ended {} s after {} and was killed",
                limit.as_secs_f64(),
                name_of(signal)
            ),
        ))
    }

    /// Kills it and everything that it started, held or not.
    pub(crate) fn kill(&self) {
        let mut child = self.child();
        if !matches!(child.try_wait(), Ok(None)) {
            // Somebody else killed it: what it left held finds that out.
            let _stays = self.thaw();
            return;
        }
        // It starts nothing more while its descendants are looked up. What
        // has gone meanwhile needs no signal.
        let _gone = kill_process(self.pid, Signal::STOP);
        let below = descendants::find(self.pid());
        let _gone = kill_process_group(self.pid, Signal::KILL);
        let _gone = kill_process(self.pid, Signal::KILL);
        for pid in below.iter().copied().filter_map(Pid::from_raw) {
            let _gone = kill_process(pid, Signal::KILL);
        }
        // What it started has given its shared memory back when it is gone, and
        // whoever killed it frees what lies around then.
        let since = Instant::now();
        let mut is_left = || {
            matches!(child.try_wait(), Ok(None)) || below.iter().any(|&pid| descendants::runs(pid))
        };
        while is_left() && since.elapsed() < KILLED_LIMIT {
            thread::sleep(Duration::from_millis(1));
        }
        self.freezer().forget();
    }

    /// Kills what it started and left behind when it ended, and waits until that
    /// is gone. Its number is not given to another program as long as its group
    /// has members, and as a rule not soon after.
    fn kill_orphans(&self) {
        let since = Instant::now();
        while kill_process_group(self.pid, Signal::KILL).is_ok() && since.elapsed() < KILLED_LIMIT {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The last lines that it wrote, at most 2,000 characters; empty when it
    /// wrote nothing.
    pub(crate) fn last_words(&self) -> String {
        // Without a log there are no words.
        last_lines(&tail_of(&self.log, self.log_start).unwrap_or_default())
    }

    /// An error of the program that ends with its last words; that the storage
    /// is full, when these say so.
    pub(crate) fn failure(&self, action: &'static str, what: String) -> DatabaseError {
        if self.is_out_of_space() {
            let what = format!("{action} with {}: {what}", self.program.display());
            return ConnectionError::Full(what.into()).into();
        }
        let words = self.last_words();
        DatabaseError::Program {
            action,
            program: self.program.clone(),
            reason: if words.is_empty() {
                what
            } else {
                format!("{what}: {words}")
            },
        }
    }

    /// The error of a lost session as that of a full storage, where the server's log has that reason:
    /// the client sees only that the session is gone. Other errors stay as they are.
    pub(crate) fn or_out_of_space(&self, error: DatabaseError) -> DatabaseError {
        match error {
            DatabaseError::Connection(ConnectionError::Lost(lost)) if self.is_out_of_space() => {
                ConnectionError::Full(lost).into()
            }
            error => error,
        }
    }

    /// Whether its last words say so, or it had no room for any.
    fn is_out_of_space(&self) -> bool {
        // A log that cannot be read has no words.
        let tail = tail_of(&self.log, self.log_start).unwrap_or_default();
        tells_of_no_space(&tail) || (tail.is_empty() && has_no_room(&self.log))
    }

    /// How it ended, if it does within `limit`.
    pub(crate) fn ends_within(&self, limit: Duration) -> Option<ExitStatus> {
        self.wait(limit, &mut || false)
    }

    /// Waits for its end, until `limit` has passed or `stopped` says so.
    fn wait(&self, limit: Duration, stopped: &mut dyn FnMut() -> bool) -> Option<ExitStatus> {
        let since = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if stopped() || since.elapsed() >= limit {
                return None;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    fn freezer(&self) -> MutexGuard<'_, Freezer> {
        self.freezer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program to its end. It is killed when `stopped` says so, which ends
/// in [`DatabaseError::Stopped`], and when `limit` has passed. A program that
/// fails gives [`DatabaseError::Program`] with the last lines of its log.
pub(crate) fn run_tool(
    action: &'static str,
    launch: &Launch<'_>,
    limit: Duration,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let tool = Server::launch(launch)?;
    let mut asked_to_stop = false;
    let ended = tool.wait(limit, &mut || {
        asked_to_stop = asked_to_stop || stopped();
        asked_to_stop
    });
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            tool.kill_orphans();
            Err(tool.failure(action, status.to_string()))
        }
        None => {
            tool.kill();
            if asked_to_stop {
                return Err(DatabaseError::Stopped);
            }
            Err(tool.failure(
                action,
                format!(
                    "it had not ended after {} s and was killed",
                    limit.as_secs_f64()
                ),
            ))
        }
    }
}

fn name_of(signal: Signal) -> &'static str {
    match signal {
        Signal::TERM => "SIGTERM",
        Signal::INT => "SIGINT",
        Signal::QUIT => "SIGQUIT",
        Signal::KILL => "SIGKILL",
        _ => "the signal to stop",
    }
}

/// Whether a program wrote that there is no space, in the system's words or by
/// its number (ENOSPC).
fn tells_of_no_space(log: &str) -> bool {
    log.contains("No space left on device")
        || log.contains("failed with error 28")
        || log.contains("errno: 28")
}

/// Whether not even a log fits where it is.
fn has_no_room(log: &Path) -> bool {
    const LEAST: u64 = 64 << 10;
    rustix::fs::statvfs(log).is_ok_and(|of| of.f_bavail.saturating_mul(of.f_frsize) < LEAST)
}

/// The end of a log from `start` on.
fn tail_of(log: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    // A character has four bytes at most.
    let tail = length.saturating_sub(4 * WORDS_CHARACTERS as u64);
    file.seek(SeekFrom::Start(tail.max(start)))?;
    let mut bytes = Vec::new();
    file.take(4 * WORDS_CHARACTERS as u64)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines that are not empty, without what would move a cursor, and without statements that
/// pg_dump repeats: they have all columns of a table.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.contains("ommand was: "))
        .collect();
    let words = lines[lines.len().saturating_sub(WORDS_LINES)..].join("\n");
    let excess = words.chars().count().saturating_sub(WORDS_CHARACTERS);
    words
        .chars()
        .skip(excess)
        .map(|character| match character {
            '\n' | '\t' => character,
            _ if character.is_control() => char::REPLACEMENT_CHARACTER,
            _ => character,
        })
        .collect()
}

#[cfg(test)]
mod tests;
