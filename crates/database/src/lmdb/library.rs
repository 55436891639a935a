//! LMDB's calls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use octavo_workload::Result;

use super::environment::{self, Environment, Handle};
use crate::mapped::{Counted, Library, Operations, Purpose, Words};

/// LMDB as a [`Library`].
pub(crate) enum Lmdb {}

impl Library for Lmdb {
    type Environment = Environment;
    type Trees = Handle;

    const FILE: &'static str = "database.mdb";

    /// Its table of readers has as many places as are asked for; more threads than these are nobody's.
    const CLIENTS_MAX: u32 = 32_766;

    /// `PAGEHDRSZ` of mdb.c: the number of the page and that of its transaction, 8 bytes each, and four numbers of 2.
    const PAGE_HEADER: u64 = 24;

    const WORDS: Words = Words {
        sync: "durable: data and then a meta page are flushed at each commit",
        map: "for reading alone; changed pages are written by system calls",
        page: "docs/lmdb.md",
    };

    fn version() -> String {
        environment::version()
    }

    fn lock_of(file: &Path) -> PathBuf {
        environment::lock_of(file)
    }

    fn open(path: &Path, purpose: Purpose, trees: &[String]) -> Result<Environment> {
        Environment::open(path, purpose, trees)
    }

    fn discover(path: &Path) -> Result<(Environment, Vec<String>)> {
        Environment::discover(path)
    }

    fn page_size(environment: &Environment) -> Result<u32> {
        environment.page_size()
    }

    fn flush(environment: &Environment) -> Result<()> {
        environment.flush()
    }

    /// LMDB counts neither. A commit that wrote flushes the data (fdatasync(2)), and writes its record in a meta
    /// page through a file that is flushed by each write (`O_DSYNC`).
    fn operations(_: &Environment, counted: &Counted) -> Operations {
        Operations {
            writes: counted.write_calls,
            syncs: 2 * counted.commits,
        }
    }

    fn trees(environment: &Arc<Environment>) -> Result<Handle> {
        Ok(Handle::new(Arc::clone(environment)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of files that were loaded with keys of 16 bytes: values of 2,030 bytes had a page each of 4 KiB, those
    /// of 2,000 half of one.
    #[test]
    fn what_is_more_than_half_a_page_is_on_its_own() {
        assert!(!Lmdb::is_long(16 + 2_010, 4096));
        assert!(Lmdb::is_long(16 + 2_011, 4096));
        assert!(Lmdb::is_long(16 + 2_030, 4096) && !Lmdb::is_long(16 + 2_030, 8192));
    }
}
