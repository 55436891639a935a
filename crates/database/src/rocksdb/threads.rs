//! What RocksDB's threads in this process have used.

use std::{fs, time::Duration};

/// What the names of its threads begin with (`ThreadPoolImpl` in RocksDB's `util/threadpool_imp.cc`).
const NAME: &str = "rocksdb:";

/// A tick of proc_pid_stat(5), of which Linux tells programs 100 a second.
const TICK: Duration = Duration::from_millis(10);

/// Time of its threads on a processor in user mode.
pub(super) fn user_time() -> Duration {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let ticks = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        ticks_of(&stat)
    });
    ticks.map(|ticks| TICK * ticks).sum()
}

/// Field 14, `utime`, if the thread is RocksDB's.
fn ticks_of(stat: &str) -> Option<u32> {
    // The name, in parentheses, may have blanks.
    let (before, fields) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    match name.starts_with(NAME) {
        true => fields.split_whitespace().nth(11)?.parse().ok(),
        false => None,
    }
}

/// Bytes that this process has had storage read past the page cache and into it: `read_bytes` of
/// proc_pid_io(5). Zero where the kernel does not count them.
pub(super) fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut lines = text.lines();
    let read = lines.find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    read.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_names() {
        let stat = |name: &str| format!("7 ({name}) S 1 2 3 4 5 6 7 8 9 10 42 12 0");
        assert_eq!(ticks_of(&stat("rocksdb:low0")), Some(42));
        assert_eq!(ticks_of(&stat("octavo")), None);
        assert_eq!(ticks_of("rocksdb:"), None);
    }
}
