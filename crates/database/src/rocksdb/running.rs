//! A started RocksDB.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use octavo_units::ByteCount;
use octavo_workload::{Connection, ConnectionError, Workload};

use super::{
    client::Client,
    library::Library,
    statistics,
    store::{Format, Handle, Memory, Purpose, Store},
    usage, version,
};
use crate::{
    Counters, Result, Running, Settings, StoragePath, TreeCounters,
    keyed::{
        Layout, Plans, Session, TreeId,
        session::{Numbers, numbers},
    },
};

pub(super) struct RunningRocksDb {
    store: Arc<Store>,
    path: PathBuf,
    version: String,
    clients: u32,
    layout: Arc<Layout>,
    plans: Arc<Plans>,
    numbers: Numbers,
    /// What this process had had storage read before.
    read_before: u64,
    /// What was told last.
    told: Mutex<Counters>,
}

impl RunningRocksDb {
    pub(super) fn start(
        library: &'static Library,
        path: &Path,
        format: &Format,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Self> {
        let layout = Arc::new(Layout::new(workload));
        let plans = Arc::new(Plans::new(workload, &layout)?);
        let memory = Memory::of(settings.memory);
        let purpose = Purpose::Run(format, settings.page_size, memory);
        let store = Arc::new(Store::open(library, path, purpose, layout.trees())?);
        let mut first = Client::new(Handle::new(Arc::clone(&store), true));
        let numbers = numbers(&mut first, &layout)?;
        Ok(Self {
            store,
            path: path.to_owned(),
            version: version::of(library),
            clients: settings.clients,
            layout,
            plans,
            numbers,
            read_before: usage::bytes_read(),
            told: Mutex::default(),
        })
    }
}

impl Running for RunningRocksDb {
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>> {
        assert!(client < self.clients, "client {client} is too many");
        let engine = Client::new(Handle::new(Arc::clone(&self.store), true));
        Ok(Box::new(Session::new(
            engine,
            Arc::clone(&self.layout),
            Arc::clone(&self.plans),
            Arc::clone(&self.numbers),
        )))
    }

    /// Bytes that are read are the process's, which has no other database: all of them are direct.
    /// Threads that merge files work beside the clients, so their processor time is in no
    /// transaction's.
    fn counters(&self) -> Counters {
        let read = usage::bytes_read().saturating_sub(self.read_before);
        let now = Counters {
            read_bytes: ByteCount::new(read),
            ..statistics::counters(&self.store.statistics())
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told = told.max(now);
        *told
    }

    fn tree_counters(&self) -> Vec<TreeCounters> {
        let names = self.layout.trees().iter().enumerate();
        names
            .map(|(tree, name)| self.store.blocks(TreeId(tree)).counters(name))
            .collect()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        vec![
            ("version", self.version.clone()),
            (
                "memory",
                "three quarters block cache, with blocks of indexes and filters; a quarter write \
                 buffers. Merging takes more (docs/rocksdb.md)"
                    .into(),
            ),
            ("sync", "durable: the log is flushed at each commit".into()),
            (
                "io",
                "direct for files of rows, page cache for the log".into(),
            ),
            (
                "isolation",
                "snapshots; of two that write a row, the second is retried".into(),
            ),
            (
                "compaction",
                "by level, with dynamic level sizes; begins with one level a tree".into(),
            ),
            (
                "rows",
                "a column family for each table and index (docs/rocksdb.md)".into(),
            ),
            ("unchecked", "foreign keys and conditions of columns".into()),
        ]
    }

    fn storage_path(&self) -> StoragePath {
        StoragePath::Direct
    }

    fn stop(self: Box<Self>) -> Result<()> {
        let Self { store, path, .. } = *self;
        match Arc::into_inner(store) {
            Some(store) => {
                drop(store);
                Ok(())
            }
            None => Err(ConnectionError::other(
                format!("stop {}", path.display()),
                "a client's connection is still open; drop it before",
            )
            .into()),
        }
    }
}
