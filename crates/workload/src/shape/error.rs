//! Why a shape was refused.

/// What is wrong with a shape, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", of_table(.table.as_deref()))]
pub struct ShapeError {
    /// The table's name; `None` of what is of no table.
    pub table: Option<String>,
    /// The key in its section; [`Self::NAME`] for the table itself.
    pub key: &'static str,
    /// What is wrong and what is possible.
    pub reason: String,
}

fn of_table(table: Option<&str>) -> String {
    table.map_or_else(String::new, |table| format!("table {table}: "))
}

impl ShapeError {
    /// Stands for the name of a table.
    pub const NAME: &str = "name";

    pub(super) fn of(table: &str, key: &'static str, reason: String) -> Self {
        Self {
            table: Some(table.to_owned()),
            key,
            reason,
        }
    }

    pub(crate) fn of_all(key: &'static str, reason: impl Into<String>) -> Self {
        Self {
            table: None,
            key,
            reason: reason.into(),
        }
    }
}
