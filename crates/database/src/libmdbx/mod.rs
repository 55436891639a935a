//! libmdbx, linked into the program: a copy-on-write tree in a file that is mapped into memory. Its
//! only cache is the page cache.

mod bus_error;
mod client;
mod configured;
mod environment;
mod failure;
mod kind;
mod load;
mod running;
mod usage;

use std::{fs::File, path::Path, sync::Arc};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, schema::Table};

use crate::{
    Database, DatabaseKind, Derive, Inspection, Isolation, LoadReport, Progress, RestoreMethod,
    Result, Running, Settings,
    at_rest::AtRest,
    estimate, files,
    keyed::{self, Layout, Plans, Session, session::numbers},
};
use client::{Client, Tally};
use configured::Libmdbx;
use environment::{Environment, Purpose, lock_of};

pub use kind::KIND;

/// The file of a database in its directory.
const FILE: &str = "database.mdbx";

/// The least memory, in pages: below, a commit's pages are dropped while it still needs them.
const PAGES_MIN: u64 = 64;

/// The most clients: what libmdbx has room for in its table of readers (`MDBX_READERS_LIMIT`), less one.
const CLIENTS_MAX: u32 = 32_766;

impl Database for Libmdbx {
    fn kind(&self) -> &'static DatabaseKind {
        &KIND
    }

    fn version(&self) -> String {
        environment::version()
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        KIND.check(settings)?;
        if let Some(isolation) = settings.isolation
            && isolation != Isolation::Serializable
        {
            let reason = "libmdbx's transactions are serializable";
            return Err(KIND.refuse("isolation", isolation, reason));
        }
        if settings.clients > CLIENTS_MAX {
            let reason = format!("libmdbx has room for {CLIENTS_MAX}");
            return Err(KIND.refuse("clients", settings.clients, reason));
        }
        let least = PAGES_MIN * u64::from(settings.page_size.get());
        if settings.memory.get() < least {
            let reason = format!(
                "with {} a page it needs at least {} KiB",
                settings.page_size,
                least >> 10
            );
            return Err(KIND.refuse("memory", settings.memory, reason));
        }
        Ok(())
    }

    fn accept_workload(&self, workload: &dyn Workload) -> Result<()> {
        keyed::accept_workload(&KIND, workload)
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        let bytes = |table: &Table, rows| bytes_of_rows(table, rows, page_size);
        ByteCount::new(estimate::sum_of_tables(workload, bytes))
    }

    /// The file, its lock and the file again for flushes of meta pages.
    fn files_a_session(&self) -> u64 {
        3
    }

    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        load::load(&snapshot.join(FILE), page_size, workload, progress)
    }

    fn derivation(&self, _: &dyn Workload) -> Option<&dyn Derive> {
        Some(self)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        let file = run.join(FILE);
        files::remove(&lock_of(&file))?;
        let method = files::copy(&snapshot.join(FILE), &file)?;
        files::flush_directory(run)?;
        Ok(method)
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        self.accept(settings)?;
        let file = run.join(FILE);
        files::check_is_file(&file)?;
        let running = running::RunningLibmdbx::start(&file, self.readahead, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let file = directory.join(FILE);
        files::check_is_file(&file)?;
        let layout = Arc::new(Layout::new(workload));
        let plans = Arc::new(Plans::new(workload, &layout)?);
        let environment = Environment::open(&file, Purpose::Inspect, layout.trees())?;
        // Nobody asks what it counts.
        let tally = Arc::new(Tally::new(KIND.page_sizes.default));
        let mut client = Client::new(&Arc::new(environment), layout.trees().len(), &tally)?;
        let numbers = numbers(&mut client, &layout)?;
        let session = Session::new(client, layout, plans, numbers);
        let forget = move || {
            if let Ok(file) = File::open(&file) {
                files::forget(&file);
            }
        };
        Ok(Box::new(AtRest::new(session, Some(Box::new(forget)))))
    }
}

impl Derive for Libmdbx {
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        load::derive(&from.join(FILE), &to.join(FILE), page_size, progress)
    }
}

/// About how many bytes the pages of rows and index entries take, of trees that were filled in the
/// order of their keys.
fn bytes_of_rows(table: &Table, rows: u64, page_size: PageSize) -> u64 {
    let row = keyed::bytes_of_row(table) + NODE;
    let mut bytes = pages_of(rows, row, page_size);
    for index in table.indexes {
        let entry = keyed::bytes_of_entry(table, index) + NODE;
        bytes += pages_of(rows, entry, page_size);
    }
    bytes
}

/// The header of a node and its place in the page.
const NODE: u64 = 10;

/// A key on a branch page: some numbers, or a text.
const BRANCH_KEY: u64 = 16;

/// The header of a page.
const PAGE_HEADER: u64 = 20;

fn pages_of(rows: u64, node: u64, page_size: PageSize) -> u64 {
    let page = u64::from(page_size.get());
    let usable = page - PAGE_HEADER;
    let leaf = match node > usable / 2 {
        // On pages of its own, with a short node that leads there.
        true => rows * (node + PAGE_HEADER).div_ceil(page) + rows.div_ceil(usable / (4 * NODE)),
        false => rows.div_ceil(usable / node),
    };
    (leaf + leaf.div_ceil(usable / (NODE + BRANCH_KEY))) * page
}
