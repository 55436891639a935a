//! Processes that an Octavo which was killed has left behind.
//!
//! The kernel ends what Octavo started itself when Octavo dies, and a control group has all
//! of a server. What a tool has started, such as the server that `mariadb-install-db` runs,
//! is in neither: it is known by a variable of its environment, which it has inherited.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    cgroup::Owner,
    descendants,
    memory::{is_gone, this_process},
};

/// The variable that says who started a process.
const VARIABLE: &str = "OCTAVO_OWNER";

/// How long a killed process may take to go: it may wait for a device.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// The variable and its value for what this process starts.
pub(super) fn mark() -> Option<(&'static str, String)> {
    Some((VARIABLE, this_process()?.group_name(0)))
}

/// Kills all processes whose Octavo is gone, and waits until they are.
pub(crate) fn end() {
    let Some(this) = this_process() else {
        return;
    };
    let since = Instant::now();
    // Again while they start more.
    loop {
        let found = orphans(this);
        if found.is_empty() || since.elapsed() >= LIMIT {
            return;
        }
        for pid in found.into_iter().filter_map(Pid::from_raw) {
            // Gone by itself otherwise.
            let _gone = kill_process(pid, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
}

fn orphans(this: Owner) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| {
            pid != this.pid
                && descendants::runs(pid)
                && owner(pid).is_some_and(|owner| is_gone(owner, this))
        })
        .collect()
}

/// Who started a process; `None` for other users' and other programs'.
fn owner(pid: i32) -> Option<Owner> {
    owner_in(&fs::read(format!("/proc/{pid}/environ")).ok()?)
}

fn owner_in(environment: &[u8]) -> Option<Owner> {
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|of| of.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="));
    Owner::of_group(str::from_utf8(value?).ok()?.as_ref())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeping(owner: Option<&str>) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600; :"]);
        if let Some(owner) = owner {
            command.env(VARIABLE, owner);
        }
        command.spawn().unwrap()
    }

    #[test]
    fn only_what_a_dead_octavo_left_is_ended() {
        let this = this_process().unwrap();
        let dead = Owner {
            start: this.start + 1,
            ..this
        };
        let elsewhere = Owner {
            namespace: this.namespace + 1,
            ..dead
        };
        let mut left = sleeping(Some(&dead.group_name(0)));
        let others = [None, Some(this), Some(elsewhere)]
            .map(|owner| sleeping(owner.map(|owner| owner.group_name(0)).as_deref()));
        let below = || descendants::find(left.id() as i32);
        while below().is_empty() {
            thread::sleep(PAUSE);
        }
        let below = below();
        end();
        assert!(left.try_wait().unwrap().is_some(), "the shell is there");
        assert!(!below.iter().any(|&pid| descendants::runs(pid)));
        for mut other in others {
            assert_eq!(other.try_wait().unwrap(), None, "it is another's");
            for pid in descendants::find(other.id() as i32) {
                let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn only_the_variable_itself_names_an_owner() {
        let owner = Owner {
            namespace: 1,
            pid: 2,
            start: 3,
        };
        let found = |text: &str| owner_in(text.as_bytes());
        assert_eq!(found("A=b\0OCTAVO_OWNER=octavo-1-2-3-0\0"), Some(owner));
        for other in [
            "",
            "OCTAVO_OWNER=",
            "OCTAVO_OWNERS=octavo-1-2-3-0",
            "X=OCTAVO_OWNER=octavo-1-2-3-0",
            "OCTAVO_OWNER=/x/octavo-1-2-3",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
