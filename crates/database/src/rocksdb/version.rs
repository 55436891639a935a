//! The version of a library, and the one that wrote a database.

use std::{fs, path::Path};

use super::library::Library;

/// Before the version in the file of options (RocksDB's `options/options_parser.cc`).
const KEY: &str = "rocksdb_version=";

/// The version of a library: as it tells it, or else as the name of its file does, such as
/// `librocksdb.so.7.8.3`. No database is opened for it: threads that RocksDB starts stay for good, and would
/// not see what is mounted later.
pub(super) fn of(library: &Library) -> String {
    let in_name = || {
        let name = library.path.file_name()?.to_str()?;
        let (_, version) = name.split_once(".so.")?;
        Some(version.to_owned())
    };
    let version = library.told_version().or_else(in_name);
    version.unwrap_or_else(|| "of an unknown version".into())
}

/// The version that wrote a database's options.
pub(super) fn written_in(directory: &Path) -> Option<String> {
    let entries = fs::read_dir(directory).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let number = |name: &str| name.strip_prefix("OPTIONS-")?.parse::<u64>().ok();
    let latest = names
        .filter_map(|name| Some((number(&name)?, name)))
        .max()?;
    let text = fs::read_to_string(directory.join(latest.1)).ok()?;
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.trim().strip_prefix(KEY))?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_options_have_the_version() {
        let scratch = crate::scratch::directory();
        let directory = scratch.path();
        assert_eq!(written_in(directory), None);
        for (name, text) in [
            ("OPTIONS-000007", "[Version]\n  rocksdb_version=6.29.3\n"),
            (
                "OPTIONS-000012",
                "# x\n[Version]\n  rocksdb_version=7.8.3\n",
            ),
            ("LOG", "rocksdb_version=1.0.0\n"),
        ] {
            fs::write(directory.join(name), text).unwrap();
        }
        assert_eq!(written_in(directory).unwrap(), "7.8.3");
    }
}
