//! The version of a library.

use super::library::Library;

/// The version as the library tells it, or else as the name of its file does, such as `librocksdb.so.7.8.3`.
/// No database is opened for it: threads that RocksDB starts stay for good, and would not see what is mounted
/// later.
pub(super) fn of(library: &Library) -> String {
    let in_name = || {
        let name = library.path.file_name()?.to_str()?;
        let (_, version) = name.split_once(".so.")?;
        Some(version.to_owned())
    };
    let version = library.told_version().or_else(in_name);
    version.unwrap_or_else(|| "of an unknown version".into())
}
