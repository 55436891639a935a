//! This process and those that it started: a server that is measured is part
//! of the measurement, not somebody else.

use std::{fs, path::Path};

use octavo_storage::procfs::ProcessStat;

use super::source::{sum, text};

/// What a process and its descendants have used since they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessUse {
    /// Clock ticks of this process alone.
    pub(super) process_ticks: u64,
    /// Clock ticks of all of them, those that have ended included.
    pub(super) family_ticks: u64,
    /// Bytes that they had storage read and write; without those of processes
    /// that have ended. `None` where the kernel does not tell.
    pub(super) io_bytes: Option<u64>,
}

/// Of this process, from the `proc` of a directory.
pub(super) fn process_use(root: &Path) -> Option<ProcessUse> {
    let (process_ticks, family_ticks) = ticks(&text(root, "proc/self/stat")?)?;
    let mut all = ProcessUse {
        process_ticks,
        family_ticks,
        io_bytes: io_bytes(root, "self"),
    };
    let mut next = children(root, "self");
    while let Some(process) = next.pop() {
        // One that ends meanwhile is found in its parent's ticks the next
        // time.
        if let Some((_, family_ticks)) =
            text(root, &format!("proc/{process}/stat")).and_then(|stat| ticks(&stat))
        {
            all.family_ticks += family_ticks;
        }
        if let (Some(all), Some(bytes)) = (&mut all.io_bytes, io_bytes(root, &process)) {
            *all += bytes;
        }
        next.extend(children(root, &process));
    }
    Some(all)
}

/// The ticks of a process, and with those of its children that have ended, from
/// proc_pid_stat(5): utime, stime, cutime and cstime are fields 14 to 17.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let stat = ProcessStat::parse(stat)?;
    let field = |number: usize| stat.field(number)?.parse::<u64>().ok();
    let own = field(14)? + field(15)?;
    Some((own, own + field(16)? + field(17)?))
}

fn io_bytes(root: &Path, process: &str) -> Option<u64> {
    let table = text(root, &format!("proc/{process}/io"))?;
    sum(&table, ["read_bytes: ", "write_bytes: "])
}

/// The children of all threads of a process (proc_pid_task(5)).
fn children(root: &Path, process: &str) -> Vec<String> {
    let Ok(threads) = fs::read_dir(root.join(format!("proc/{process}/task"))) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| {
            let list: Vec<String> = list.split_whitespace().map(str::to_owned).collect();
            list
        })
        .collect()
}

/// In what /proc counts CPU time.
pub(super) fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_theirs_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = |times: &str| format!("1 (a) b (c)) S 1 1 1 0 -1 4194304 90 0 0 0 {times} 20 0");
        assert_eq!(process_use(root.path()), None);
        write("proc/self/stat", &stat("10 5 100 1"));
        write("proc/self/io", "rchar: 9\nread_bytes: 10\nwrite_bytes: 5\n");
        write("proc/self/task/1/children", "");
        write("proc/self/task/2/children", "7 8 ");
        write("proc/7/stat", &stat("1000 0 0 0"));
        write("proc/7/io", "read_bytes: 100\nwrite_bytes: 0\n");
        write("proc/7/task/7/children", "9");
        write("proc/9/stat", &stat("10000 0 20000 0"));
        // 8 has ended since the list was read.
        let used = process_use(root.path()).unwrap();
        assert_eq!(used.process_ticks, 15);
        assert_eq!(used.family_ticks, 116 + 1000 + 30_000);
        assert_eq!(used.io_bytes, Some(115));
    }

    #[test]
    fn a_child_of_this_process_is_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let found = children(Path::new("/"), "self");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id().to_string()), "{found:?}");
    }

    #[test]
    fn odd_lines_are_no_ticks() {
        assert_eq!(ticks(""), None);
        assert_eq!(ticks("1 (x) S"), None);
    }
}
