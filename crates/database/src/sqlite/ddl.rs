//! SQLite's tables and indexes for a workload's.

use std::fmt::Write;

use octavo_workload::schema::{Column, ColumnKind, Table};

use crate::ddl;

/// Tables with a larger mean row keep the rowid. Without it rows live in the
/// key's b-tree, where inner pages hold whole rows; SQLite advises it for rows
/// below about a 20th of a page (<https://www.sqlite.org/withoutrowid.html>),
/// and 200 bytes is that of its default page. The choice must not depend on
/// the page size of the snapshot, or page sizes would be compared on different
/// schemas.
const WITHOUT_ROWID_BYTES_MAX: u32 = 200;

/// The statement that creates `table`.
///
/// Decimals and times are whole numbers: the unscaled digits and microseconds.
pub(crate) fn create_table(table: &Table) -> String {
    let type_of = |column: &Column| match column.kind {
        ColumnKind::Char(_) | ColumnKind::Varchar(_) => "TEXT",
        _ => "INTEGER",
    };
    // With a single INTEGER column the key is the rowid itself.
    let mut sql = ddl::create_table(table, type_of, true);
    // A reference without columns is to the other table's key.
    for reference in table.references {
        sql.truncate(sql.len() - 1);
        let columns = reference.columns.join(", ");
        let other = reference.table;
        let _infallible = write!(sql, ", FOREIGN KEY ({columns}) REFERENCES {other})");
    }
    if is_clustered(table) {
        sql.push_str(" WITHOUT ROWID");
    }
    sql
}

/// The statement that inserts one row with all columns, parameters `?1` and
/// on.
pub(crate) fn insert(table: &Table) -> String {
    let parameters: Vec<String> = (1..=table.columns.len())
        .map(|position| format!("?{position}"))
        .collect();
    format!(
        "INSERT INTO {} VALUES ({})",
        table.name,
        parameters.join(", ")
    )
}

/// Whether the rows live in the key's b-tree, other than by the rowid.
pub(crate) fn is_clustered(table: &Table) -> bool {
    !table.primary_key.is_empty()
        && !has_integer_key(table)
        && table.row_bytes_mean <= WITHOUT_ROWID_BYTES_MAX
}

/// Whether the key is the rowid.
pub(crate) fn has_integer_key(table: &Table) -> bool {
    match table.primary_key {
        [name] => table
            .columns
            .iter()
            .any(|column| column.name == *name && is_integer(column.kind)),
        _ => false,
    }
}

fn is_integer(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Integer | ColumnKind::Integer32)
}

#[cfg(test)]
mod tests {
    use octavo_workload::schema::Index;

    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            name: "a",
            kind: ColumnKind::Integer,
            nullable: false,
        },
        Column {
            name: "b",
            kind: ColumnKind::Decimal {
                precision: 12,
                scale: 2,
            },
            nullable: true,
        },
        Column {
            name: "c",
            kind: ColumnKind::Varchar(20),
            nullable: false,
        },
    ];

    const fn table(primary_key: &'static [&'static str], row_bytes_mean: u32) -> Table {
        Table {
            name: "t",
            columns: std::borrow::Cow::Borrowed(COLUMNS),
            primary_key,
            indexes: &[Index {
                name: "t_c",
                columns: &["c", "a"],
            }],
            references: &[],
            checks: &[],
            row_bytes_mean,
        }
    }

    #[test]
    fn small_rows_with_a_composite_key_are_clustered() {
        let columns = "a INTEGER NOT NULL, b INTEGER, c TEXT NOT NULL";
        for (key, bytes, wanted) in [
            (&["a", "c"][..], 200, ", PRIMARY KEY (a, c)) WITHOUT ROWID"),
            (&["a", "c"][..], 201, ", PRIMARY KEY (a, c))"),
            (&["c"][..], 30, ", PRIMARY KEY (c)) WITHOUT ROWID"),
            (&["a"][..], 30, ", PRIMARY KEY (a))"),
            (&[][..], 30, ")"),
        ] {
            assert_eq!(
                create_table(&table(key, bytes)),
                format!("CREATE TABLE t ({columns}{wanted}")
            );
        }
    }

    #[test]
    fn other_statements_name_every_column() {
        let table = table(&[], 30);
        assert_eq!(insert(&table), "INSERT INTO t VALUES (?1, ?2, ?3)");
        assert_eq!(ddl::select(&table), "SELECT a, b, c FROM t");
        assert_eq!(
            ddl::create_index(&table, &table.indexes[0]),
            "CREATE INDEX t_c ON t (c, a)"
        );
    }
}
