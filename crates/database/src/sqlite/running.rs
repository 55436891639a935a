//! A started SQLite database.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use octavo_workload::{Connection, ConnectionError, Workload, connection::Statement};

use super::{
    OsCache, Sqlite,
    connection::{ClientConnection, Turns},
    failure::sort,
    session::Session,
    shares::MemoryShares,
    tally::Tally,
    vfs::DirectVfs,
};
use crate::{Counters, Result, Running, Settings, StoragePath, files};

/// What is said of memory with [`OsCache::Whole`]: reports look for it.
const WHOLE_BESIDES: &str = "; the OS holds all of the file besides";

/// The kernel holds a file as a whole if it has this share of its bytes. It takes some back though
/// memory is free (Linux 6.18, ext4: a folio of 2 MiB and single pages, 1.4% of 140 MiB); what is read
/// of these comes back. Chosen.
const WHOLE: f64 = 0.95;

pub(crate) struct RunningSqlite {
    database: PathBuf,
    settings: Settings,
    shares: MemoryShares,
    sqlite: Sqlite,
    /// The statements, to prepare them for each connection.
    watch_references: bool,
    statements: &'static [Statement],
    wal_autocheckpoint: i64,
    writer: Arc<Turns>,
    vfs: Arc<DirectVfs>,
    tally: Arc<Tally>,
    /// Whether nobody waits for statements any longer.
    stop: Arc<AtomicBool>,
}

impl RunningSqlite {
    pub(crate) fn start(
        sqlite: Sqlite,
        database: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Self> {
        let tally = Arc::<Tally>::default();
        if sqlite.os_cache == OsCache::Whole {
            files::read_whole(database).map_err(files::named("read", database))?;
        }
        let vfs = DirectVfs::register(database, sqlite.os_cache, Arc::clone(&tally))
            .map_err(files::named("open", database))?;
        let shares = MemoryShares::divide(settings.memory, settings.clients);
        let statements = workload.statements();
        let mut tables = workload.tables().iter();
        let watch_references = tables.any(|table| !table.references.is_empty());
        let session = Session::measured(
            database,
            &vfs,
            &tally,
            shares.writer,
            sqlite.journal_mode,
            watch_references,
            statements,
        )?;
        let stop = Arc::<AtomicBool>::default();
        let session = session.limited(Arc::clone(&stop));
        let (page_size, wal_autocheckpoint) = Self::examine(&session, database)?;
        if page_size != i64::from(settings.page_size.get()) {
            let reason = format!("the copy has pages of {page_size} bytes");
            return Err(super::KIND.refuse("page size", settings.page_size, reason));
        }
        let users = usize::try_from(settings.clients).unwrap_or(usize::MAX);
        Ok(Self {
            database: database.to_owned(),
            settings: settings.clone(),
            shares,
            sqlite,
            watch_references,
            statements,
            wal_autocheckpoint,
            writer: Arc::new(Turns::new(session, users)),
            vfs,
            tally,
            stop,
        })
    }

    fn examine(session: &Session, database: &Path) -> Result<(i64, i64), ConnectionError> {
        let pragma = |name: &str| {
            let sql = format!("PRAGMA {name}");
            session
                .connection()
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .map_err(|failure| sort(failure, || format!("examine {}", database.display())))
        };
        Ok((pragma("page_size")?, pragma("wal_autocheckpoint")?))
    }
}

impl Running for RunningSqlite {
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>> {
        assert!(
            client < self.settings.clients,
            "client {client} is too many"
        );
        let reader = if self.settings.clients > 1 {
            let session = Session::measured(
                &self.database,
                &self.vfs,
                &self.tally,
                self.shares.reader,
                self.sqlite.journal_mode,
                self.watch_references,
                self.statements,
            )?;
            Some(session.limited(Arc::clone(&self.stop)))
        } else {
            None
        };
        let writer = Arc::clone(&self.writer);
        Ok(Box::new(ClientConnection::new(writer, reader)))
    }

    fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn counters(&self) -> Counters {
        self.tally.counters()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        let wal = self.sqlite.journal_mode == super::JournalMode::Wal;
        let mut conditions = vec![
            ("version", rusqlite::version().to_owned()),
            (
                "memory",
                format!(
                    "{}{}",
                    match self.settings.clients {
                        0 | 1 => "all in one buffer (cache_size)",
                        _ => "7/8 in the buffer of the writer, 1/8 in those of the readers",
                    },
                    match self.sqlite.os_cache {
                        OsCache::None => "",
                        OsCache::Whole => WHOLE_BESIDES,
                    }
                ),
            ),
            ("journal_mode", self.sqlite.journal_mode.name().to_owned()),
            ("synchronous", "full".to_owned()),
            ("locking_mode", "normal".to_owned()),
            ("temp_store", "memory".to_owned()),
            ("mmap_size", "0".to_owned()),
            (
                "foreign_keys",
                if self.watch_references { "on" } else { "off" }.to_owned(),
            ),
            ("isolation", "serializable (SQLite)".to_owned()),
            (
                "torn_page_protection",
                if wal {
                    "write-ahead log with frame checksums"
                } else {
                    "rollback journal"
                }
                .to_owned(),
            ),
            (
                "writers",
                "one connection shared by all clients, first come, first served".to_owned(),
            ),
        ];
        if self.vfs.is_direct() {
            conditions.push((
                "page_writes",
                "through the page cache, which forgets them when they are flushed; those below the \
                 file system's block directly"
                    .into(),
            ));
        }
        conditions.push((
            "overflow_pages",
            match self.vfs.is_direct() {
                true => "in the cache, as others",
                false => {
                    "read past the cache where the log has none of it; neither hits nor misses"
                }
            }
            .into(),
        ));
        if wal {
            conditions.push((
                "wal_autocheckpoint",
                format!("{} pages", self.wal_autocheckpoint),
            ));
            conditions.push((
                "log_reads",
                match self.vfs.is_direct() {
                    true => {
                        "checkpoints from memory, as from the page cache; sessions from the device"
                    }
                    false => "from the page cache",
                }
                .into(),
            ));
        } else {
            conditions.push((
                "journal_writes",
                "through the page cache, flushed at each commit".into(),
            ));
        }
        conditions
    }

    fn storage_path(&self) -> StoragePath {
        if self.vfs.is_direct() {
            return StoragePath::Direct;
        }
        let is_whole = self.sqlite.os_cache == OsCache::Whole
            && self.vfs.resident().is_ok_and(|share| share >= WHOLE);
        match is_whole {
            true => StoragePath::Resident,
            false => StoragePath::PageCache,
        }
    }

    fn flush(&self) -> Result<()> {
        let written = self.vfs.write_back();
        written.map_err(files::named("write back", &self.database))
    }

    fn stop(self: Box<Self>) -> Result<()> {
        match self.writer.retire() {
            Some(mut session) if Arc::strong_count(&self.writer) == 1 => Ok(session.checkpoint()?),
            _ => Err(ConnectionError::other(
                format!("stop {}", self.database.display()),
                "a client's connection is still open; drop it before",
            )
            .into()),
        }
    }
}
