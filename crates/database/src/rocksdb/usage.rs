//! What this process had storage read.

use std::fs;

/// Bytes that this process has had storage read past the page cache and into it: `read_bytes` of
/// proc_pid_io(5). Zero where the kernel does not count them.
pub(super) fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let mut lines = text.lines();
    let read = lines.find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    read.unwrap_or_default()
}
