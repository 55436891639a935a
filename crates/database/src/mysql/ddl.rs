//! Tables and their indexes in MySQL's words.
//!
//! Texts are in latin1, one byte a character: the rows of workloads are plain
//! letters, and a row of 60,000 of them fits in the 65,535 bytes that a row may
//! have (<https://mariadb.com/kb/en/innodb-limitations/>).

use octavo_workload::schema::{Column, ColumnKind, Table};

use crate::ddl;

/// The database that holds the tables.
pub(crate) const DATABASE: &str = "octavo";

/// Bytes of a row's columns that VARCHARs may fill; the rest is for lengths,
/// NULL bits and numbers.
const ROW_BYTES_MAX: u64 = 64_000;

/// Bytes that a TEXT holds.
const TEXT_MAX: u32 = 65_535;

/// Makes the database.
pub(crate) fn create_database() -> String {
    format!("CREATE DATABASE {DATABASE} CHARACTER SET latin1 COLLATE latin1_bin")
}

/// Whether tables that have no key in their workload get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeylessTables {
    /// InnoDB numbers their rows by itself, unseen.
    AsTheyAre,
    /// They have [`ROW_NUMBER`] as their key: the server takes no table
    /// without one.
    Numbered,
}

/// The key of tables that have none in their workload, whose statements all
/// name their columns.
pub(crate) const ROW_NUMBER: &str = "octavo_row";

/// Makes a table with its key, without further indexes.
pub(crate) fn create_table(table: &Table, keyless: KeylessTables) -> String {
    let large = as_large_texts(table);
    let type_of = |column: &Column| match column.kind {
        ColumnKind::Char(length) | ColumnKind::Varchar(length)
            if large.contains(&column.name) && length > TEXT_MAX =>
        {
            "MEDIUMTEXT".into()
        }
        _ if large.contains(&column.name) => "TEXT".into(),
        ColumnKind::Integer => "BIGINT".into(),
        ColumnKind::Integer32 => "INT".into(),
        ColumnKind::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        ColumnKind::Char(length @ 0..=255) => format!("CHAR({length})"),
        ColumnKind::Char(length) | ColumnKind::Varchar(length) => format!("VARCHAR({length})"),
        ColumnKind::Timestamp => "DATETIME(6)".into(),
        ColumnKind::Any => "TEXT".into(),
    };
    let mut sql = ddl::create_table(table, type_of, true);
    if table.primary_key.is_empty() && keyless == KeylessTables::Numbered {
        let end = sql.pop();
        debug_assert_eq!(end, Some(')'));
        sql += &format!(", {ROW_NUMBER} BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY)");
    }
    sql + " ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET latin1 COLLATE latin1_bin"
}

/// Begins to load a table; what `FORMAT` says goes behind.
pub(crate) fn load(table: &Table, format: &str) -> String {
    format!(
        "LOAD DATA LOCAL INFILE 'octavo' INTO TABLE {} {format} ({})",
        table.name,
        ddl::columns(table)
    )
}

/// The columns that cannot be VARCHARs because the row would be too long: the
/// widest ones outside of keys and indexes, until the others fit.
fn as_large_texts(table: &Table) -> Vec<&'static str> {
    let is_in_index = |name: &str| {
        let mut keys = table.indexes.iter().flat_map(|index| index.columns);
        table.primary_key.contains(&name) || keys.any(|column| *column == name)
    };
    let mut bytes = 0;
    let mut texts = Vec::new();
    for column in table.columns.iter() {
        let length = match column.kind {
            ColumnKind::Char(length) | ColumnKind::Varchar(length) => u64::from(length) + 2,
            _ => 8,
        };
        bytes += length;
        if length > 256 && !is_in_index(column.name) {
            texts.push((length, column.name));
        }
    }
    texts.sort_by_key(|&(length, _)| std::cmp::Reverse(length));
    let mut large = Vec::new();
    for (length, name) in texts {
        if bytes <= ROW_BYTES_MAX {
            break;
        }
        // A TEXT counts with a length and a pointer.
        bytes = bytes - length + 12;
        large.push(name);
    }
    large
}

#[cfg(test)]
mod tests {
    use super::*;
    use octavo_workload::schema::Index;

    fn table(columns: &[(&'static str, ColumnKind)]) -> Table {
        let column = |&(name, kind): &(&'static str, ColumnKind)| Column {
            name,
            kind,
            nullable: name == "c",
        };
        Table {
            name: "t",
            columns: columns.iter().map(column).collect(),
            primary_key: &["k"],
            indexes: &[Index {
                name: "t_i",
                columns: &["c", "k"],
            }],
            references: &[],
            checks: &[],
            row_bytes_mean: 0,
        }
    }

    #[test]
    fn kinds_have_types() {
        let (precision, scale) = (12, 2);
        let table = table(&[
            ("k", ColumnKind::Integer),
            ("a", ColumnKind::Integer32),
            ("b", ColumnKind::Decimal { precision, scale }),
            ("c", ColumnKind::Char(255)),
            ("d", ColumnKind::Char(256)),
            ("value", ColumnKind::Timestamp),
        ]);
        assert_eq!(
            create_table(&table, KeylessTables::AsTheyAre),
            "CREATE TABLE t (k BIGINT NOT NULL, a INT NOT NULL, \
             b DECIMAL(12,2) NOT NULL, c CHAR(255), d VARCHAR(256) NOT NULL, \
             value DATETIME(6) NOT NULL, PRIMARY KEY (k)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC \
             DEFAULT CHARACTER SET latin1 COLLATE latin1_bin"
        );
    }

    #[test]
    fn only_tables_without_a_key_are_numbered() {
        use KeylessTables::{AsTheyAre, Numbered};
        let mut table = table(&[("k", ColumnKind::Integer), ("c", ColumnKind::Integer)]);
        assert_eq!(
            create_table(&table, Numbered),
            create_table(&table, AsTheyAre)
        );
        table.primary_key = &[];
        assert!(!create_table(&table, AsTheyAre).contains("KEY"));
        let sql = create_table(&table, Numbered);
        assert!(
            sql.starts_with(
                "CREATE TABLE t (k BIGINT NOT NULL, c BIGINT, \
                 octavo_row BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE"
            ),
            "{sql}"
        );
    }

    #[test]
    fn rows_that_are_too_long_have_texts() {
        let fields: Vec<_> = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"]
            .map(|name| (name, ColumnKind::Varchar(6000)))
            .into();
        // YCSB's longest rows fit.
        let create_table = |table: &Table| create_table(table, KeylessTables::AsTheyAre);
        assert!(!create_table(&table(&fields)).contains("TEXT"));
        let mut more = fields;
        more.push(("g", ColumnKind::Varchar(9000)));
        let sql = create_table(&table(&more));
        assert_eq!(sql.matches("TEXT").count(), 1, "{sql}");
        assert!(sql.contains("g TEXT"), "{sql}");
    }
}
