//! Stores whose file is mapped into memory: a copy-on-write tree, whose only cache is the page cache. What their
//! libraries of C do differently is a [`Library`].

mod client;
mod counted;
mod fatal_signal;
mod library;
mod load;
mod running;
mod turn;
mod usage;

use std::{fs::File, marker::PhantomData, path::Path, sync::Arc};

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

pub(crate) use counted::{CommitTimes, Counted};
pub(crate) use library::{Library, Operations, Purpose, READAHEAD, Trees, Words, Writer};
pub(crate) use turn::Turn;

/// The least memory, in pages: below, a commit's pages are dropped while it still needs them.
const PAGES_MIN: u64 = 64;

/// Such a store as a database under test: commits are durable, and the page cache is all memory that holds
/// data.
pub(crate) struct Mapped<L> {
    kind: &'static DatabaseKind,
    /// Whether the kernel reads neighbours of a page along.
    readahead: bool,
    library: PhantomData<L>,
}

impl<L: Library> Mapped<L> {
    pub(crate) fn new(kind: &'static DatabaseKind, readahead: bool) -> Self {
        Self {
            kind,
            readahead,
            library: PhantomData,
        }
    }
}

impl<L: Library> Database for Mapped<L> {
    fn kind(&self) -> &'static DatabaseKind {
        self.kind
    }

    fn version(&self) -> String {
        L::version()
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        let (kind, title) = (self.kind, self.kind.title);
        kind.check(settings)?;
        if let Some(isolation) = settings.isolation
            && isolation != Isolation::Serializable
        {
            let reason = format!("{title}'s transactions are serializable");
            return Err(kind.refuse("isolation", isolation, reason));
        }
        if settings.clients > L::CLIENTS_MAX {
            let reason = format!("{title} has room for {}", L::CLIENTS_MAX);
            return Err(kind.refuse("clients", settings.clients, reason));
        }
        let least = PAGES_MIN * u64::from(settings.page_size.get());
        if settings.memory.get() < least {
            let reason = format!(
                "with {} a page it needs at least {} KiB",
                settings.page_size,
                least >> 10
            );
            return Err(kind.refuse("memory", settings.memory, reason));
        }
        Ok(())
    }

    fn accept_workload(&self, workload: &dyn Workload) -> Result<()> {
        keyed::accept_workload(self.kind, workload)
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        let bytes = |table: &Table, rows| bytes_of_rows::<L>(table, rows, page_size);
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
        load::load::<L>(&snapshot.join(L::FILE), page_size, workload, progress)
    }

    fn derivation(&self, _: &dyn Workload) -> Option<&dyn Derive> {
        Some(self)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        let file = run.join(L::FILE);
        files::remove(&L::lock_of(&file))?;
        let method = files::copy(&snapshot.join(L::FILE), &file)?;
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
        let file = run.join(L::FILE);
        files::check_is_file(&file)?;
        let running = running::RunningMapped::<L>::start(
            self.kind,
            &file,
            self.readahead,
            settings,
            workload,
        )?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let file = directory.join(L::FILE);
        files::check_is_file(&file)?;
        let layout = Arc::new(Layout::new(workload));
        let plans = Arc::new(Plans::new(workload, &layout)?);
        fatal_signal::explain();
        let environment = L::open(&file, Purpose::Inspect, layout.trees())?;
        // Nobody asks what it counts.
        let tally = Arc::new(Tally::new(self.kind.page_sizes.default));
        let mut client = Client::<L>::new(&Arc::new(environment), layout.trees().len(), &tally)?;
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

impl<L: Library> Derive for Mapped<L> {
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        load::derive::<L>(&from.join(L::FILE), &to.join(L::FILE), page_size, progress)
    }
}

/// About how many bytes the pages of rows and index entries take, of trees that were filled in the
/// order of their keys.
fn bytes_of_rows<L: Library>(table: &Table, rows: u64, page_size: PageSize) -> u64 {
    let row = keyed::bytes_of_row(table) + NODE;
    let mut bytes = pages_of::<L>(rows, row, page_size);
    for index in table.indexes {
        let entry = keyed::bytes_of_entry(table, index) + NODE;
        bytes += pages_of::<L>(rows, entry, page_size);
    }
    bytes
}

/// The header of a node and its place in the page, in LMDB and in what was made from it.
const NODE: u64 = 10;

/// A key on a branch page: some numbers, or a text.
const BRANCH_KEY: u64 = 16;

fn pages_of<L: Library>(rows: u64, node: u64, page_size: PageSize) -> u64 {
    let page = u64::from(page_size.get());
    let usable = page - L::PAGE_HEADER;
    let leaf = match node > usable / 2 {
        // On pages of its own, with a short node that leads there.
        true => rows * (node + L::PAGE_HEADER).div_ceil(page) + rows.div_ceil(usable / (4 * NODE)),
        false => rows.div_ceil(usable / node),
    };
    (leaf + leaf.div_ceil(usable / (NODE + BRANCH_KEY))) * page
}
