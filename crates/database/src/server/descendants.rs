//! Processes that a program has started, and theirs.
//!
//! PostgreSQL puts each of its processes into a session of its own, so that a
//! signal to the server's process group reaches one of them only.

use std::{fs, time::Duration};

use octavo_storage::procfs;
use rustix::param::clock_ticks_per_second;

/// The facts of a line of `/proc/PID/stat` (proc_pid_stat(5)) that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    /// Whether it ended and waits to be reaped.
    pub(super) zombie: bool,
    /// Whether it was stopped by a signal.
    stopped: bool,
    /// The process that started it.
    pub(super) parent: i32,
    /// Clock ticks on a CPU in user mode: its own, and those of what it started
    /// and has waited for.
    user_ticks: u64,
    /// When it was started, in clock ticks since the system's start.
    pub(super) start: u64,
}

/// Reads what `/proc` tells of a process; `None` when there is no such.
pub(super) fn stat(pid: i32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(line: &str) -> Option<ProcessStat> {
    let stat = procfs::ProcessStat::parse(line)?;
    let ticks = |number: usize| stat.field(number)?.parse::<u64>().ok();
    Some(ProcessStat {
        zombie: matches!(stat.field(3), Some("Z" | "X")),
        stopped: matches!(stat.field(3), Some("T" | "t")),
        parent: stat.field(4)?.parse().ok()?,
        user_ticks: ticks(14)?.saturating_add(ticks(16)?),
        start: stat.field(22)?.parse().ok()?,
    })
}

/// Whether a process has not ended: one that waits to be reaped has, and has given
/// its memory back.
pub(super) fn runs(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| !stat.zombie)
}

/// Whether all threads of a process are stopped, or it is gone.
pub(super) fn is_still(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().all(|thread| {
        fs::read_to_string(thread.path().join("stat"))
            .ok()
            .and_then(|line| parse_stat(&line))
            .is_none_or(|stat| stat.stopped || stat.zombie)
    })
}

/// The time that `ancestor` and all that it started, also what has ended since,
/// were on a CPU in user mode: to the clock tick of each, 10 ms as a rule.
pub(crate) fn user_time(ancestor: i32) -> Duration {
    // Each before what it started: one that ends meanwhile is missed for once,
    // and not counted twice, in its parent's time as well as its own.
    let all = told_by_kernel(ancestor).unwrap_or_else(|| with(ancestor));
    let all = all.into_iter();
    let ticks: u64 = all.filter_map(stat).map(|stat| stat.user_ticks).sum();
    let second = clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / second))
}

/// A process and all below it, each before what it started, as far as the kernel tells children
/// (`/proc/PID/task/TID/children`, proc_pid_task(5)). Looking at all processes of the machine takes
/// milliseconds. One that ends meanwhile may hide another, so nobody is ended by this.
fn told_by_kernel(ancestor: i32) -> Option<Vec<i32>> {
    let mut all = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = all.get(next) {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let children = match fs::read_to_string(thread.path().join("children")) {
                Ok(children) => children,
                // One that has just ended.
                Err(_) if parent != ancestor => continue,
                Err(_) => return None,
            };
            for child in children.split_whitespace().flat_map(str::parse) {
                if !all.contains(&child) {
                    all.push(child);
                }
            }
        }
    }
    Some(all)
}

/// A process and all below it, each before what it started.
pub(super) fn with(ancestor: i32) -> Vec<i32> {
    let mut all = vec![ancestor];
    all.extend(find(ancestor));
    all
}

/// All processes below `ancestor`, without it, each before what it started.
pub(super) fn find(ancestor: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let parents: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    let mut below = Vec::new();
    let mut next = vec![ancestor];
    while let Some(parent) = next.pop() {
        for &(pid, _) in parents.iter().filter(|(_, of)| *of == parent) {
            // Numbers that are used again while this reads could make a ring.
            if pid != ancestor && !below.contains(&pid) {
                below.push(pid);
                next.push(pid);
            }
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_with_brackets_is_passed() {
        let line = "812 (a) b (c)) S 7 812 812 0 -1 4194560 1 0 0 0 5 6 31 7 20 0 1 0 5566 1 1";
        let expected = ProcessStat {
            zombie: false,
            stopped: false,
            parent: 7,
            user_ticks: 5 + 31,
            start: 5566,
        };
        assert_eq!(parse_stat(line), Some(expected));
        assert!(
            parse_stat("9 (x) Z 7 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 5566 1")
                .unwrap()
                .zombie
        );
        assert_eq!(parse_stat("812 (cut) S 7"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn children_of_children_are_found() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 60; :' & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = shell.id() as i32;
        let mut below = find(pid);
        for _ in 0..1000 {
            if below.len() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            below = find(pid);
        }
        assert_eq!(below.len(), 2);
        if let Some(told) = told_by_kernel(pid) {
            assert_eq!(told, [&[pid], &below[..]].concat());
        }
        for pid in below {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert!(stat(pid).is_none());
    }
}
