//! What /proc says of mounts and processes.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

/// One mount, of a line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The number of the file system's device, as `major:minor`.
    pub device: String,
    /// What of the file system is mounted; `/` for all of it.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of the mount.
    pub options: String,
    /// Type of the file system, like `ext4`.
    pub file_system: String,
    /// What is mounted, like `/dev/sda1`; anything where no device is.
    pub source: PathBuf,
    /// Options of the file system.
    pub own_options: String,
}

/// All mounts of a table, in its order. Lines that are not mounts are passed
/// over.
pub fn mounts(table: &[u8]) -> impl Iterator<Item = Mount> {
    table.split(|byte| *byte == b'\n').filter_map(mount)
}

/// `id parent major:minor root point options optional* - type source super`
fn mount(line: &[u8]) -> Option<Mount> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let mut fields = line.split(|byte| *byte == b' ');
    let device = text(fields.nth(2)?);
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let options = text(fields.next()?);
    fields.find(|field| *field == b"-")?;
    Some(Mount {
        device,
        root,
        point,
        options,
        file_system: text(fields.next()?),
        source: unescape(fields.next()?),
        own_options: text(fields.next()?),
    })
}

/// Replaces `\040` and the like, which stand for blanks.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// A line of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug)]
pub struct ProcessStat<'a> {
    after_name: &'a str,
}

impl<'a> ProcessStat<'a> {
    /// `None` of a line without a program's name.
    pub fn parse(line: &'a str) -> Option<Self> {
        // The second field, the name, may itself have brackets and spaces.
        let (_, after_name) = line.rsplit_once(')')?;
        Some(Self { after_name })
    }

    /// A field by its number, from 3, the state, on.
    pub fn field(&self, number: usize) -> Option<&'a str> {
        let index = number.checked_sub(3)?;
        self.after_name.split_ascii_whitespace().nth(index)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn escaped_paths_and_optional_fields_are_read() {
        let table =
            b"27 22 0:25 /a\\040b /c\\134d rw,nosuid shared:9 master:1 - cgroup none rw,memory\n\
            1 2 - cgroup\nnonsense\n";
        let found: Vec<Mount> = mounts(table).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].root, Path::new("/a b"));
        assert_eq!(found[0].point, Path::new("/c\\d"));
        assert_eq!(found[0].options, "rw,nosuid");
        assert_eq!(
            (&*found[0].file_system, &*found[0].own_options),
            ("cgroup", "rw,memory")
        );
    }

    #[test]
    fn a_name_with_brackets_is_passed() {
        let stat = ProcessStat::parse("812 (a) b (c)) S 7 812").unwrap();
        assert_eq!((stat.field(3), stat.field(4)), (Some("S"), Some("7")));
        assert_eq!((stat.field(2), stat.field(6)), (None, None));
        assert!(ProcessStat::parse("").is_none());
    }
}
