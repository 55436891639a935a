//! The databases that are modeled.

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    engine::{Engine, EngineError},
    in_place::InPlaceKind,
    innodb::{self, Innodb},
    pages::ObjectPages,
    postgres::{self, Postgres, PostgresSettings},
    sqlite::{self, Sqlite},
};

/// A database that is modeled, with the settings that decide what it does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model {
    /// SQLite with a write-ahead log, its several clients as Octavo measures them.
    Sqlite,
    /// PostgreSQL 15.
    Postgres(PostgresSettings),
    /// MariaDB 10.11 with InnoDB, as Octavo starts it: every commit flushed, direct I/O,
    /// the doublewrite on.
    Innodb {
        /// Whether changed pages beside one that is written are written with it, as
        /// `innodb_flush_neighbors=1` has it on storage of which the kernel says that it
        /// rotates, many virtual disks among them.
        writes_neighbors: bool,
    },
    /// A database with heaps whose rows are changed where they are.
    InPlace(InPlaceKind),
}

impl Model {
    /// The database after loading, with an empty buffer.
    pub(crate) fn open(
        &self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
        clients: u32,
    ) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match self {
            Self::Sqlite => Box::new(Sqlite::new(workload, page_size, memory, clients)?),
            Self::Postgres(settings) => {
                Box::new(Postgres::new(workload, settings, page_size, memory)?)
            }
            Self::Innodb { writes_neighbors } => {
                let innodb = Innodb::new(workload, page_size, memory, *writes_neighbors)?;
                Box::new(innodb)
            }
            Self::InPlace(kind) => Box::new(kind.open(workload, page_size, memory)?),
        })
    }

    /// How many pages each table and index has after loading.
    pub fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        match self {
            Self::Sqlite => sqlite::sizes(workload, page_size),
            Self::Postgres(_) => postgres::sizes(workload, page_size),
            Self::Innodb { .. } => innodb::sizes(workload, page_size),
            Self::InPlace(kind) => kind.sizes(workload, page_size),
        }
    }
}
