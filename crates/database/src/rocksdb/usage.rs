//! What this process had storage read.

use std::fs;

/// Bytes that this process has read: `rchar` of proc_pid_io(5). All but some messages are direct reads of
/// files. (`read_bytes` there has nothing of files of an emulated device, which another process reads.)
/// Zero where the kernel does not count them.
pub(super) fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut lines = text.lines();
    let read = lines.find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    read.unwrap_or_default()
}
