//! How a database is run.

use std::fmt;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::connection::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a database is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The page size of the copy.
    pub page_size: PageSize,
    /// All memory that may hold data: the database's own buffer, since the
    /// page cache is kept out.
    pub memory: ByteCount,
    /// Sessions that work at the same time.
    pub clients: u32,
    /// How transactions are kept apart; `None` for the database's default.
    pub isolation: Option<Isolation>,
}

/// How transactions are kept apart, by the names of the SQL standard. What a
/// database makes of a name is its own; its conditions say so.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Isolation {
    /// The level of a transaction that asks for more than this one.
    pub(crate) fn raised(self, access: Access) -> Option<Self> {
        let asked = match access {
            Access::Read | Access::Write => Self::ReadCommitted,
            Access::WriteRepeatable => Self::RepeatableRead,
            Access::WriteSerializable => Self::Serializable,
        };
        (asked > self).then_some(asked)
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        })
    }
}
