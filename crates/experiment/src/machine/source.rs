//! Files of /proc and /sys as text, and how values of them are written.

use std::{fs, path::Path};

use octavo_units::ByteCount;

/// A name and a value.
pub(super) type Fact = (&'static str, String);

pub(super) fn kib(count: u64) -> ByteCount {
    ByteCount::new(count.saturating_mul(1024))
}

/// `1 socket`, `2 sockets`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A file's text without blanks around; `None` when there is none. Bytes that
/// are no text are replaced: files of /sys hold what firmware wrote.
pub(super) fn text(root: &Path, path: &str) -> Option<String> {
    let bytes = fs::read(root.join(path)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The values of a field of /proc/cpuinfo, one a CPU.
pub(super) fn cpuinfo<'a>(info: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    info.lines().filter_map(move |line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == name).then(|| value.trim())
    })
}

/// The sum of two values of a table with a name before each.
pub(super) fn sum(table: &str, names: [&str; 2]) -> Option<u64> {
    let value = |name: &str| -> Option<u64> {
        table
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some(value(names[0])?.saturating_add(value(names[1])?))
}
