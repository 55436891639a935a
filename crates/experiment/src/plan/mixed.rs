//! Page sizes of tables and indexes of their own.

use std::fmt;

use octavo_database::PageSizesByName;
use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Page sizes of some tables and indexes, and one of all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MixedSizes {
    /// Of all that have none of their own.
    pub others: PageSize,
    /// Of these, by what the database calls them, such as `stock=4K,item=16K`.
    pub own: PageSizesByName,
}

/// As in "stock 4 KiB, others 16 KiB".
impl fmt::Display for MixedSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, size) in self.own.iter() {
            write!(f, "{name} {size}, ")?;
        }
        write!(f, "others {}", self.others)
    }
}
