//! RocksDB, whose library is found on the machine: files of sorted rows in levels, merged by threads of
//! its own.

mod blocks;
mod client;
mod configured;
mod failure;
mod kind;
mod library;
mod load;
mod running;
mod statistics;
mod store;
mod trees;
mod usage;
mod version;

use std::{path::Path, sync::Arc};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    Database, DatabaseKind, Derive, Inspection, Isolation, LoadReport, Progress, RestoreMethod,
    Result, Running, Settings,
    at_rest::AtRest,
    files,
    keyed::{self, Layout, Plans, Session, session::numbers},
    server::tree,
};
use client::Client;
use configured::RocksDb;
use library::Library;
use store::{Handle, Memory, Purpose, Store};

pub use kind::KIND;

/// The directory of a database in those that it is given, which may have other files.
const DATABASE: &str = "rocksdb";

/// The least block cache, in blocks: those that a search of some trees holds at a time. Chosen.
const BLOCKS_MIN: u64 = 16;

/// The least memory: write buffers of a quarter of it have room for some hundred rows. Chosen.
const MEMORY_MIN: ByteCount = ByteCount::mib(1);

impl RocksDb {
    fn library(&self) -> Result<&'static Library> {
        Library::find(self.library.as_deref())
    }
}

impl Database for RocksDb {
    fn kind(&self) -> &'static DatabaseKind {
        &KIND
    }

    fn version(&self) -> String {
        match self.library() {
            Ok(library) => version::of(library),
            Err(_) => "not installed".into(),
        }
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        KIND.check(settings)?;
        if let Some(isolation) = settings.isolation
            && isolation != Isolation::RepeatableRead
        {
            let reason = "its transactions read snapshots: repeatable read";
            return Err(KIND.refuse("isolation", isolation, reason));
        }
        let cache = Memory::of(settings.memory).cache.get();
        let least = BLOCKS_MIN * u64::from(settings.page_size.get());
        if cache < least || settings.memory < MEMORY_MIN {
            let least = ByteCount::new((least * 4).div_ceil(3)).max(MEMORY_MIN);
            let reason = format!("with blocks of {} it needs {least}", settings.page_size);
            return Err(KIND.refuse("memory", settings.memory, reason));
        }
        Ok(())
    }

    fn accept_workload(&self, workload: &dyn Workload) -> Result<()> {
        keyed::accept_workload(&KIND, workload)?;
        let layout = Layout::new(workload);
        let is_unknown = |name: &str| !layout.trees().iter().any(|tree| tree == name);
        let mut names = self.format.block_sizes.iter().map(|(name, _)| name);
        match names.find(|name| is_unknown(name)) {
            None => Ok(()),
            Some(unknown) => {
                let reason = format!("the families are {}", layout.trees().join(", "));
                Err(KIND.refuse(kind::BLOCK_SIZES, unknown, reason))
            }
        }
    }

    fn estimate(&self, workload: &dyn Workload, _: PageSize) -> ByteCount {
        let trees = trees::of_filters(workload, self.format.bloom_bits.into());
        let bytes = trees.iter().map(|tree| tree.entries as f64 * tree.entry);
        ByteCount::new(bytes.sum::<f64>() as u64)
    }

    fn find_programs(&self) -> Result<()> {
        self.library().map(|_| ())
    }

    fn holds(&self, memory: ByteCount) -> ByteCount {
        Memory::of(memory).cache
    }

    fn logs(&self) -> ByteCount {
        LOGS
    }

    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let format = (&self.format, page_size);
        let path = snapshot.join(DATABASE);
        load::load(self.library()?, &path, format, workload, progress)
    }

    fn derivation(&self, _: &dyn Workload) -> Option<&dyn Derive> {
        Some(self)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        tree::restore(snapshot, run, None)
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        self.accept(settings)?;
        let (library, path) = (self.library()?, run.join(DATABASE));
        check_is_database(&path)?;
        let running =
            running::RunningRocksDb::start(library, &path, &self.format, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let layout = Arc::new(Layout::new(workload));
        let plans = Arc::new(Plans::new(workload, &layout)?);
        let path = directory.join(DATABASE);
        check_is_database(&path)?;
        let store = Store::open(self.library()?, &path, Purpose::Inspect, layout.trees())?;
        let mut client = Client::new(Handle::new(Arc::new(store), false));
        let numbers = numbers(&mut client, &layout)?;
        let session = Session::new(client, layout, plans, numbers);
        let forget = move || {
            // What stays in the page cache is the log, of some megabytes.
            let _stays = tree::forget(&path);
        };
        Ok(Box::new(AtRest::new(session, Some(Box::new(forget)))))
    }
}

/// Refuses a directory without a database: RocksDB would leave its log there.
fn check_is_database(path: &Path) -> Result<()> {
    files::check_is_file(&path.join("CURRENT"))
}

impl Derive for RocksDb {
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let format = (&self.format, page_size);
        let (from, to) = (from.join(DATABASE), to.join(DATABASE));
        load::derive(self.library()?, &from, &to, format, progress)
    }
}

/// Room for logs, and for files that are being merged.
const LOGS: ByteCount = ByteCount::mib(512);
