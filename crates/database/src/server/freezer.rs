//! Holding all processes of a server still, such that none stays so for ever
//! when Octavo dies meanwhile.
//!
//! A process that is stopped or frozen takes no signal but `SIGKILL`, not even
//! the one that it gets when Octavo dies. So a shell waits at the end of a pipe
//! whose other end only Octavo has, and lets the processes go on when that
//! closes; then they find their signal.

use std::{
    fs,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{cgroup, descendants};

/// How long processes may take to stand still: they may wait for a device.
const LIMIT: Duration = Duration::from_secs(10);

/// Between two looks whether they do.
const PAUSE: Duration = Duration::from_micros(200);

/// What the shell does: the last line that it was given, once there are no more.
/// The file of the group is its first argument.
const SCRIPT: &str = "trap '' HUP INT TERM; order=:; while read -r line; do order=$line; done; \
                      eval \"$order\"";

/// How processes are held.
#[derive(Debug)]
pub(super) enum Means {
    /// By their control group's freezer, of version 2: the directory.
    Group(PathBuf),
    /// By `SIGSTOP` to this process and all that it started: sessions of
    /// PostgreSQL have process groups of their own, which no one signal
    /// reaches.
    Signals(i32),
}

impl Means {
    /// Holds all of them; returns once they stand still. Tells the shell what it
    /// is to do, and adds to `stopped` each process before it is stopped.
    fn hold(
        &self,
        stopped: &mut Vec<i32>,
        tell: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Group(path) => {
                tell("echo 0 >\"$1\"")?;
                fs::write(path.join("cgroup.freeze"), "1")?;
                until(|| {
                    let events = fs::read_to_string(path.join("cgroup.events"))?;
                    Ok(cgroup::number(&events, "frozen") == Some(1))
                })
            }
            Self::Signals(ancestor) => {
                let mut before: Vec<i32> = Vec::new();
                until(|| {
                    let all = descendants::with(*ancestor);
                    if all != before {
                        stopped.extend(all.iter().copied().filter(|pid| !before.contains(pid)));
                        let pids: Vec<String> = stopped.iter().map(i32::to_string).collect();
                        tell(&format!("kill -CONT {}", pids.join(" ")))?;
                    }
                    let mut still = all == before;
                    for pid in &all {
                        if !descendants::is_still(*pid) {
                            still = false;
                            signal(*pid, Signal::STOP);
                        }
                    }
                    // Until a look that began when all stood still finds no
                    // more: one could have been started during an earlier one.
                    before = all;
                    Ok(still)
                })
            }
        }
    }

    fn let_go(&self, stopped: &[i32]) -> io::Result<()> {
        match self {
            Self::Group(path) => fs::write(path.join("cgroup.freeze"), "0"),
            // Not who is below the ancestor now: if that was killed, nobody is.
            Self::Signals(_) => {
                stopped.iter().for_each(|&pid| signal(pid, Signal::CONT));
                Ok(())
            }
        }
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // Gone by itself otherwise.
        let _gone = kill_process(pid, signal);
    }
}

fn until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let since = Instant::now();
    while !done()? {
        if since.elapsed() >= LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("its processes did not stand still in {} s", LIMIT.as_secs()),
            ));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// A server's processes, held or not. Dropping it does not let them go.
#[derive(Debug)]
pub(super) struct Freezer {
    means: Means,
    held: bool,
    /// Those that were stopped by signals.
    stopped: Vec<i32>,
    /// From the first time on that they are held.
    keeper: Option<Keeper>,
}

impl Freezer {
    pub(super) fn new(means: Means) -> Self {
        Self {
            means,
            held: false,
            stopped: Vec::new(),
            keeper: None,
        }
    }

    /// Holds all processes still, unless they are. After an error they go on.
    pub(super) fn freeze(&mut self) -> io::Result<()> {
        if self.held {
            return Ok(());
        }
        let keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::start(&self.means)?,
        };
        let keeper = self.keeper.insert(keeper);
        self.held = true;
        let held = self
            .means
            .hold(&mut self.stopped, &mut |order| keeper.tell(order));
        if held.is_err() {
            let _told_already = self.thaw();
        }
        held
    }

    /// Lets them go on, if they are held.
    pub(super) fn thaw(&mut self) -> io::Result<()> {
        if self.held {
            self.means.let_go(&self.stopped)?;
            self.forget();
        }
        Ok(())
    }

    /// They go on or are gone.
    pub(super) fn forget(&mut self) {
        self.held = false;
        self.stopped.clear();
        if let Some(keeper) = &mut self.keeper
            && keeper.tell(":").is_err()
        {
            // Somebody ended it: the next time has another one.
            self.keeper = None;
        }
    }
}

/// The shell that outlives Octavo where it has to.
#[derive(Debug)]
struct Keeper {
    shell: Child,
    /// Absent once closed.
    orders: Option<ChildStdin>,
}

impl Keeper {
    fn start(means: &Means) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "octavo-keeper"]);
        if let Means::Group(path) = means {
            command.arg(path.join("cgroup.freeze"));
        }
        let mut shell = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Signals of the terminal, and of who ends Octavo's group, pass it.
            .process_group(0)
            .spawn()?;
        let orders = shell.stdin.take();
        Ok(Self { shell, orders })
    }

    fn tell(&mut self, order: &str) -> io::Result<()> {
        match &mut self.orders {
            Some(orders) => orders.write_all(format!("{order}\n").as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Else it would do what it was told last.
        let _gone = self.tell(":");
        self.orders = None;
        let _ended = self.shell.wait();
    }
}

#[cfg(test)]
mod tests;
