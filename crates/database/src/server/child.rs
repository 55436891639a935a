//! A process that a server of ours has started.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::descendants;

/// Between two looks at a process that was woken.
const LOOK: Duration = Duration::from_micros(50);

/// A process and the server that started it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    server: i32,
    pid: i32,
}

impl Child {
    pub(crate) fn new(server: i32, pid: i32) -> Self {
        Self { server, pid }
    }

    /// Sends it a signal that wakes it, and waits until it sleeps again, for no longer than
    /// `limit`. Nothing happens to one that is gone: its number may be another's by then.
    pub(crate) fn wake(&self, signal: Signal, limit: Duration) {
        let is_ours = descendants::stat(self.pid).is_some_and(|stat| stat.parent == self.server);
        let Some(pid) = Pid::from_raw(self.pid).filter(|_| is_ours) else {
            return;
        };
        let before = sleeps(self.pid);
        if kill_process(pid, signal).is_err() {
            return;
        }
        let since = Instant::now();
        while before.is_some() && sleeps(self.pid) == before && since.elapsed() < limit {
            thread::sleep(LOOK);
        }
    }
}

/// How often a process has fallen asleep so far: `voluntary_ctxt_switches` of
/// proc_pid_status(5).
fn sleeps(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt as _,
        process::{self, Command, Stdio},
    };

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn only_a_child_of_the_server_is_woken() {
        let mut sleep = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = sleep.id() as i32;
        Child::new(1, pid).wake(Signal::KILL, Duration::ZERO);
        assert_eq!(sleep.try_wait().unwrap(), None, "it is another's");
        Child::new(process::id() as i32, pid).wake(Signal::KILL, Duration::ZERO);
        assert_eq!(sleep.wait().unwrap().signal(), Some(9));
        // Nobody has its number, or somebody else.
        Child::new(process::id() as i32, pid).wake(Signal::KILL, LIMIT);
    }

    #[test]
    fn it_is_waited_for_until_it_sleeps_again() {
        // It waits for lines that do not come.
        let script = "trap 'echo woken >> \"$0\"' USR1; echo ready >> \"$0\"; \
                      while :; do read -r _line; done";
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).arg(&log).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        while !log.exists() {
            thread::sleep(LOOK);
        }
        let child = Child::new(process::id() as i32, shell.id() as i32);
        for _ in 0..3 {
            child.wake(Signal::USR1, LIMIT);
        }
        let _all_of_it = kill_process(Pid::from_child(&shell), Signal::KILL);
        shell.wait().unwrap();
        let woken = fs::read_to_string(&log).unwrap();
        assert!(
            woken.lines().filter(|line| *line == "woken").count() >= 2,
            "{woken}"
        );
    }
}
