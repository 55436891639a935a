//! Key-value workloads that a user describes: tables, and what is done with them.

mod declared;
mod error;
mod operation;
mod reserved;
mod spread;
mod table;

use std::sync::{Arc, LazyLock, OnceLock};

use octavo_units::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Mix;

pub use crate::keys::Distribution;
pub(crate) use declared::{Declared, KEY, TableStatement, VALUE};
pub use error::ShapeError;
pub use operation::Operation;
pub use spread::{Spread, SpreadError};
pub use table::{KeyOrder, ShapeTable};

/// Tables of keys and values, and the operations of transactions on them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "ShapeParts", rename_all = "kebab-case")]
pub struct Shape {
    /// Operations of a transaction.
    operations: u32,
    /// In the order of the file.
    tables: Vec<ShapeTable>,
    #[serde(skip)]
    #[schemars(skip)]
    declared: OnceLock<Declared>,
}

/// A shape as a store has it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct ShapeParts {
    operations: u32,
    tables: Vec<ShapeTable>,
}

impl TryFrom<ShapeParts> for Shape {
    type Error = ShapeError;

    fn try_from(parts: ShapeParts) -> Result<Self, ShapeError> {
        Self::new(parts.operations, parts.tables)
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        (self.operations, &self.tables) == (other.operations, &other.tables)
    }
}

impl Shape {
    /// The most operations of a transaction. Chosen.
    pub const OPERATIONS_MAX: u32 = 10_000;

    /// The most tables. Chosen.
    pub const TABLES_MAX: usize = 64;

    /// Of tables, with this many operations in a transaction.
    ///
    /// # Errors
    /// At the first table and key whose value is not possible.
    pub fn new(operations: u32, tables: Vec<ShapeTable>) -> Result<Self, ShapeError> {
        if !(1..=Self::OPERATIONS_MAX).contains(&operations) {
            let max = Self::OPERATIONS_MAX;
            let reason = format!("operations must be 1 to {max}, not {operations}");
            return Err(ShapeError::of_all("operations", reason));
        }
        if !(1..=Self::TABLES_MAX).contains(&tables.len()) {
            let max = Self::TABLES_MAX;
            let reason = format!("there must be 1 to {max} tables, not {}", tables.len());
            return Err(ShapeError::of_all("tables", reason));
        }
        for (position, table) in tables.iter().enumerate() {
            table.check()?;
            if tables[..position].iter().any(|of| of.name == table.name) {
                let reason = "this table is there twice".to_owned();
                return Err(ShapeError::of(&table.name, ShapeError::NAME, reason));
            }
        }
        let weights = tables
            .iter()
            .flat_map(|table| Operation::ALL.map(|of| u64::from(table.weight(of))));
        let sum: u64 = weights.sum();
        if !(1..=u64::from(Mix::SUM_MAX)).contains(&sum) {
            let reason = format!(
                "the weights of get, get-absent, put, insert, delete and range of all tables must \
                 sum to 1 to {}, not {sum}",
                Mix::SUM_MAX
            );
            return Err(ShapeError::of_all("tables", reason));
        }
        Ok(Self {
            operations,
            tables,
            declared: OnceLock::new(),
        })
    }

    /// What runs when nobody names a shape: tables as those of a program that keeps the state of a
    /// blockchain, of 100,000 keys in all.
    pub fn standard() -> &'static Arc<Self> {
        static STANDARD: LazyLock<Arc<Shape>> = LazyLock::new(|| {
            let spread = |least, most| Spread::new(least, most).unwrap_or(Spread::always(least));
            let distribution = |name: &str| name.parse().unwrap_or(Distribution::Uniform);
            let tables = vec![
                ShapeTable {
                    distribution: distribution("zipfian"),
                    get: 40,
                    get_absent: 5,
                    put: 15,
                    ..ShapeTable::new("accounts", 50_000, 20, Spread::always(32))
                },
                ShapeTable {
                    order: KeyOrder::Sequential,
                    distribution: distribution("latest"),
                    range_length: spread(10, 100),
                    insert: 12,
                    delete: 8,
                    range: 15,
                    ..ShapeTable::new("history", 45_000, 28, spread(20, 200))
                },
                ShapeTable {
                    get: 5,
                    ..ShapeTable::new("code", 5_000, 32, spread(100, 4000))
                },
            ];
            Arc::new(Shape::new(1, tables).expect("the standard shape is possible"))
        });
        &STANDARD
    }

    /// Operations of a transaction.
    pub fn operations(&self) -> u32 {
        self.operations
    }

    /// The tables.
    pub fn tables(&self) -> &[ShapeTable] {
        &self.tables
    }

    /// Keys that a range reads in the mean, of the first table with ranges; 1 without any.
    pub(crate) fn range_length(&self) -> u32 {
        let mut ranges = self.tables.iter().filter(|table| table.range > 0);
        ranges.next().map_or(1, |table| table.range_length.mean())
    }

    /// Keys that are loaded, of all tables.
    pub fn keys(&self) -> u64 {
        self.tables.iter().map(|table| table.keys).sum()
    }

    /// The same with tables that are loaded in seconds: each has all of its keys, or as many as its share of
    /// 100 MB holds, and not fewer than twice what its longest range reads. Chosen.
    ///
    /// # Errors
    /// None of a shape that is possible.
    pub(crate) fn trial(&self) -> Result<Self, ShapeError> {
        const TRIAL_BYTES: u64 = 100_000_000;
        let share = TRIAL_BYTES / self.tables.len() as u64;
        let tables = self.tables.iter().map(|table| {
            let row = u64::from(table.key_bytes + table.value_bytes.mean());
            let wanted = (share / row).max(2 * u64::from(table.range_length.most()));
            ShapeTable {
                keys: table.keys.min(wanted),
                ..table.clone()
            }
        });
        Self::new(self.operations, tables.collect())
    }

    /// The name of the parameter of rows that is [`Self::keys`].
    pub const KEYS: &str = "keys";

    /// The name of the parameter of rows that is [`Self::fingerprint`].
    pub const FINGERPRINT: &str = "shape";

    /// The parameters of its rows, with as many keys as it says.
    pub fn rows(&self) -> [(&'static str, u64); 2] {
        [
            (Self::KEYS, self.keys()),
            (Self::FINGERPRINT, self.fingerprint()),
        ]
    }

    /// What tells the rows of one shape from those of another. It does not depend on what is done
    /// with them.
    pub fn fingerprint(&self) -> u64 {
        let tables = self.tables.iter();
        let seed = tables.fold(Seed::new(0), |seed, table| table.fingerprint(seed));
        // Fewer bits, so that whoever reads JSON with double precision has the same number.
        seed.get() >> 16
    }

    /// What databases are told of it.
    pub(crate) fn declared(&self) -> &Declared {
        self.declared.get_or_init(|| Declared::new(&self.tables))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ShapeTable {
        ShapeTable {
            get: 1,
            ..ShapeTable::new("accounts", 1000, 20, Spread::always(32))
        }
    }

    fn refusal(table: ShapeTable) -> String {
        Shape::new(1, vec![table]).unwrap_err().to_string()
    }

    #[test]
    fn refusals_name_the_table_and_what_is_possible() {
        for (table, words) in [
            (
                ShapeTable {
                    name: "Accounts".into(),
                    ..table()
                },
                "table Accounts: a table's name is up to 40 lower-case letters",
            ),
            (
                ShapeTable {
                    name: "order".into(),
                    ..table()
                },
                "'order' is a word of SQL: choose another name, such as order_table",
            ),
            (
                ShapeTable {
                    key_bytes: 3,
                    ..table()
                },
                "key-bytes must be 4 to 255, not 3",
            ),
            (
                ShapeTable {
                    key_bytes: 256,
                    ..table()
                },
                "key-bytes must be 4 to 255, not 256",
            ),
            (
                ShapeTable {
                    key_bytes: 4,
                    keys: 300_000,
                    ..table()
                },
                "keys must be 1 to 262144 with key-bytes = 4, not 300000",
            ),
            (
                ShapeTable { keys: 0, ..table() },
                "keys must be 1 to 1000000000",
            ),
            (
                ShapeTable {
                    value_bytes: Spread::always(0),
                    ..table()
                },
                "value-bytes must be 1 to 60000, not 0",
            ),
            (
                ShapeTable {
                    range_length: Spread::always(0),
                    ..table()
                },
                "range-length must be 1 to 100000, not 0",
            ),
            (
                ShapeTable {
                    delete: 3,
                    insert: 2,
                    ..table()
                },
                "delete = 3 is more than insert = 2: the table would shrink",
            ),
            (
                ShapeTable { get: 0, ..table() },
                "must sum to 1 to 10000, not 0",
            ),
            (
                ShapeTable {
                    get: 10_001,
                    ..table()
                },
                "must sum to 1 to 10000, not 10001",
            ),
        ] {
            let found = refusal(table);
            assert!(found.contains(words), "{found}");
        }
        assert!(Shape::new(0, vec![table()]).is_err());
        assert!(Shape::new(1, Vec::new()).is_err());
        let twice = Shape::new(1, vec![table(), table()]).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "table accounts: this table is there twice"
        );
    }

    #[test]
    fn a_shape_is_stored_and_checked_again() {
        let shape = Shape::standard();
        let stored = serde_json::to_string(&**shape).unwrap();
        let read: Shape = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, **shape);
        assert_eq!(read.fingerprint(), shape.fingerprint());
        let changed = stored.replace("\"key-bytes\":20", "\"key-bytes\":2000");
        let error = serde_json::from_str::<Shape>(&changed).unwrap_err();
        assert!(error.to_string().contains("must be 4 to 255"), "{error}");
    }

    #[test]
    fn a_fingerprint_is_of_rows_alone() {
        let of = |table| Shape::new(1, vec![table]).unwrap().fingerprint();
        let own = of(table());
        assert_eq!(of(ShapeTable { put: 7, ..table() }), own);
        for other in [
            ShapeTable {
                name: "other_accounts".into(),
                ..table()
            },
            ShapeTable {
                keys: 1001,
                ..table()
            },
            ShapeTable {
                key_bytes: 21,
                ..table()
            },
            ShapeTable {
                value_bytes: Spread::always(33),
                ..table()
            },
            ShapeTable {
                order: KeyOrder::Sequential,
                ..table()
            },
        ] {
            assert_ne!(of(other.clone()), own, "{other:?}");
        }
    }
}
