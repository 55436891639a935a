//! libmdbx's calls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use octavo_workload::Result;

use super::environment::{self, Environment, Handle};
use crate::mapped::{Counted, Library, Operations, Purpose, Words};

/// libmdbx as a [`Library`].
pub(crate) enum Libmdbx {}

impl Library for Libmdbx {
    type Environment = Environment;
    type Trees = Handle;

    const FILE: &'static str = "database.mdbx";

    /// What it has room for in its table of readers (`MDBX_READERS_LIMIT`), less one.
    const CLIENTS_MAX: u32 = 32_766;

    const PAGE_HEADER: u64 = 20;

    const WORDS: Words = Words {
        sync: "durable: data and then a meta page are flushed at each commit",
        map: "for reading alone; changed pages are written by system calls",
        page: "docs/libmdbx.md",
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

    fn operations(environment: &Environment, counted: &Counted) -> Operations {
        // What cannot be asked now stays as it was.
        let own = environment.operations().unwrap_or_default();
        Operations {
            // The record in the meta page is written so that it is flushed at once, which libmdbx does not
            // count.
            syncs: own.syncs + counted.commits,
            ..own
        }
    }

    fn trees(environment: &Arc<Environment>) -> Result<Handle> {
        Handle::new(Arc::clone(environment))
    }
}
