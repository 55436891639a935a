//! The version of a library, as it writes it into each database's options.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

use octavo_units::PageSize;

use super::{
    library::Library,
    store::{Format, Purpose, Store},
};

/// Before the version in the file of options (RocksDB's `options/options_parser.cc`).
const KEY: &str = "rocksdb_version=";

/// What was found of each library.
static KNOWN: LazyLock<Mutex<BTreeMap<PathBuf, String>>> = LazyLock::new(Mutex::default);

/// The version of a library: its C interface has no call for it, so a small database is made in a
/// directory for temporary files, and removed. Unknown where that cannot be done.
pub(super) fn of(library: &'static Library) -> String {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) = known.get(&library.path) {
        return version.clone();
    }
    let version = tried(library);
    let version = version.unwrap_or_else(|| "of an unknown version".into());
    known.insert(library.path.clone(), version.clone());
    version
}

fn tried(library: &'static Library) -> Option<String> {
    let directory = tempfile::tempdir().ok()?;
    let path = directory.path().join("version");
    let plain = Format {
        compression: 0,
        bloom_bits: 0,
    };
    let purpose = Purpose::Fill(plain, PageSize::kib(4));
    drop(Store::open(library, &path, purpose, &[]).ok()?);
    written_in(&path)
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
