//! Tables as every database sees them. The DDL of one database is made from
//! these by its adapter.

use std::borrow::Cow;

/// The position of a [`Table`] in [`crate::Workload::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

/// A table of a workload.
#[derive(Clone, Debug)]
pub struct Table {
    /// The table's name in every database.
    pub name: &'static str,
    /// The columns in the order of the rows.
    pub columns: Cow<'static, [Column]>,
    /// Names of the key's columns; empty when the table has no key.
    pub primary_key: &'static [&'static str],
    /// Further indexes.
    pub indexes: &'static [Index],
    /// Foreign keys.
    pub references: &'static [ForeignKey],
    /// Check constraints in SQL.
    pub checks: &'static [&'static str],
    /// Approximate bytes of values in a row, for planning space.
    pub row_bytes_mean: u32,
}

impl Table {
    /// Foreign keys for which InnoDB creates an index: neither the primary key nor an index
    /// begins with their columns.
    pub fn foreign_keys_without_index(&self) -> impl Iterator<Item = &'static ForeignKey> {
        let begins = |key: &[&str], columns: &[&str]| key.starts_with(columns);
        self.references.iter().filter(move |reference| {
            let mut keys = self.indexes.iter().map(|index| index.columns);
            !begins(self.primary_key, reference.columns)
                && !keys.any(|key| begins(key, reference.columns))
        })
    }

    /// The kinds of its columns, in order.
    pub fn kinds(&self) -> Vec<ColumnKind> {
        self.columns.iter().map(|column| column.kind).collect()
    }
}

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The column's name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether it may be NULL.
    pub nullable: bool,
}

impl Column {
    /// A column that is never NULL.
    pub const fn new(name: &'static str, kind: ColumnKind) -> Self {
        Self {
            name,
            kind,
            nullable: false,
        }
    }

    /// A column that may be NULL.
    pub const fn nullable(name: &'static str, kind: ColumnKind) -> Self {
        Self {
            name,
            kind,
            nullable: true,
        }
    }
}

/// A secondary index of a [`Table`].
#[derive(Debug)]
pub struct Index {
    /// The index's name, unique within the workload.
    pub name: &'static str,
    /// The indexed columns' names.
    pub columns: &'static [&'static str],
}

/// Columns of a [`Table`] that hold the primary key of a row of another table, or NULL.
#[derive(Debug)]
pub struct ForeignKey {
    /// The columns' names, in the order of the other table's key.
    pub columns: &'static [&'static str],
    /// The other table's name.
    pub table: &'static str,
}

/// Tables as a specification lists them. One is written as
///
/// `name(row_bytes_mean) key [columns] index name [columns] references [columns] table
/// check "condition" { column: KIND, ... }`
///
/// without `key` where there is none, and with any number of indexes, references and
/// checks. `nullable` stands behind the name of a column that may be NULL.
macro_rules! tables {
    (@column) => { $crate::schema::Column::new };
    (@column nullable) => { $crate::schema::Column::nullable };
    ($(
        $table:ident($row_bytes_mean:expr) $(key [$($key:ident),*])?
        $(index $index:ident [$($indexed:ident),*])*
        $(references [$($referring:ident),*] $referred:ident)*
        $(check $check:literal)* {
            $($column:ident $($nullable:ident)?: $kind:expr),* $(,)?
        }
    )*) => {
        [$($crate::schema::Table {
            name: stringify!($table),
            columns: vec![$(
                $crate::schema::tables!(@column $($nullable)?)(stringify!($column), $kind)
            ),*]
            .into(),
            primary_key: &[$($(stringify!($key)),*)?],
            indexes: &[$($crate::schema::Index {
                name: stringify!($index),
                columns: &[$(stringify!($indexed)),*],
            }),*],
            references: &[$($crate::schema::ForeignKey {
                columns: &[$(stringify!($referring)),*],
                table: stringify!($referred),
            }),*],
            checks: &[$($check),*],
            row_bytes_mean: $row_bytes_mean,
        }),*]
    };
}
pub(crate) use tables;

/// What a column or a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A signed whole number of up to 64 bits.
    Integer,
    /// A signed whole number of up to 32 bits, where a database has a smaller
    /// type for it.
    Integer32,
    /// An exact decimal number.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// Text of exactly this many characters.
    Char(u32),
    /// Text of up to this many characters.
    Varchar(u32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
    /// Whatever a value is: of the user's own statements, whose kinds only the database knows.
    /// No table of Octavo's has such a column.
    Any,
}
