//! What can vary from cell to cell, and its values in words.

use std::fmt;

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{mixed::MixedSizes, storage::Storage};

/// What can vary from cell to cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// The database and its options.
    Database,
    /// The width of the rows.
    Rows,
    /// Where the data lies.
    Storage,
    /// The CPUs that may be used.
    Cpus,
    /// Sessions at the same time.
    Clients,
    /// The memory that may hold data.
    Memory,
    /// The page size.
    PageSize,
    /// Nothing: equal cells under several names.
    Copy,
}

impl Factor {
    /// All of them, what takes longest to change first.
    pub const ALL: [Self; 8] = [
        Self::Database,
        Self::Rows,
        Self::Storage,
        Self::Cpus,
        Self::Clients,
        Self::Memory,
        Self::PageSize,
        Self::Copy,
    ];

    /// What it is called in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Rows => "row width",
            Self::Storage => "storage",
            Self::Cpus => "CPUs",
            Self::Clients => "clients",
            Self::Memory => "memory",
            Self::PageSize => "page size",
            Self::Copy => "copy",
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.noun())
    }
}

/// The value of a factor in a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A database with its options, all of them or those in which it differs
    /// from others.
    Database(String),
    /// Bytes of a row; `None` where the specification says how wide rows are.
    Rows(Option<ByteCount>),
    /// Where the data lies.
    Storage(Storage),
    /// CPUs; `None` for all.
    Cpus(Option<u32>),
    /// Sessions.
    Clients(u32),
    /// Memory.
    Memory(ByteCount),
    /// A page size.
    PageSize(PageSize),
    /// Page sizes of tables and indexes.
    MixedSizes(MixedSizes),
    /// Which copy, from 1.
    Copy(u32),
}

impl fmt::Display for Level {
    /// The value alone: page sizes in bytes, memory with its unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(name) => f.pad(name),
            Self::Storage(storage) => f.pad(&storage.name()),
            Self::Rows(None) => f.pad("the specification's"),
            Self::Rows(Some(bytes)) => f.pad(&bytes.to_string()),
            Self::Cpus(None) => f.pad("all"),
            Self::Cpus(Some(count)) | Self::Clients(count) | Self::Copy(count) => {
                f.pad(&count.to_string())
            }
            Self::Memory(memory) => f.pad(&memory.to_string()),
            Self::PageSize(size) => f.pad(&size.get().to_string()),
            Self::MixedSizes(_) => f.pad("mixed"),
        }
    }
}

impl Level {
    /// The value with its noun, as after "with": `32 MiB of memory`,
    /// `8 clients`, `8 KiB pages`.
    pub fn with_noun(&self) -> String {
        match self {
            Self::Database(name) => name.clone(),
            Self::Rows(None) => "rows as specified".into(),
            Self::Rows(Some(bytes)) => format!("rows of {bytes}"),
            Self::Storage(Storage::Own) => "the working directory".into(),
            Self::Storage(storage) if storage.file_system().is_some() => {
                format!("file system {}", storage.name())
            }
            Self::Storage(storage) => format!("storage {storage}"),
            Self::Cpus(None) => "all CPUs".into(),
            Self::Cpus(Some(1)) => "1 CPU".into(),
            Self::Cpus(Some(count)) => format!("{count} CPUs"),
            Self::Clients(1) => "1 client".into(),
            Self::Clients(count) => format!("{count} clients"),
            Self::Memory(memory) => format!("{memory} of memory"),
            Self::PageSize(size) => format!("{size} pages"),
            Self::MixedSizes(sizes) => format!("mixed pages ({sizes})"),
            Self::Copy(copy) => format!("copy {copy}"),
        }
    }
}
