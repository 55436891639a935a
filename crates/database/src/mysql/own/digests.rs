//! Digests in `performance_schema`
//! (<https://dev.mysql.com/doc/refman/8.4/en/performance-schema-statement-digests.html>), and what
//! they say of tables.

use std::{collections::BTreeMap, time::Duration};

use octavo_recording::digest::{Catalog, Class, Column, Digest, Expression, Style, Table};
use serde::Deserialize;

use super::{original::Original, recording::dialect_of, restore::quoted, sample::hashed};
use crate::{
    Result,
    own::digested::{Digests, FoundDigests, ROWS, Wanted, order},
};

/// It names a table, so that the server counts it among questions of its own tables.
const IS_ON: &str = "SELECT @@performance_schema FROM information_schema.ENGINES LIMIT 1";

/// Times are in picoseconds.
const QUESTION: &str = "SELECT JSON_OBJECT('text', DIGEST_TEXT, 'calls', COUNT_STAR, \
    'picoseconds', SUM_TIMER_WAIT, 'rows', GREATEST(SUM_ROWS_SENT, SUM_ROWS_AFFECTED), \
    'most', LEAST(@@max_digest_length, @@performance_schema_max_digest_length)) \
    FROM performance_schema.events_statements_summary_by_digest \
    WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT IS NOT NULL";

/// Runs of statements that came when `performance_schema_digests_size` was reached: one row has those
/// of all databases.
const LOST: &str = "SELECT CAST(COALESCE(SUM(COUNT_STAR), 0) AS UNSIGNED) \
    FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NULL";

#[derive(Deserialize)]
struct Counted {
    text: String,
    calls: u64,
    picoseconds: u64,
    rows: u64,
    most: u64,
}

const COLUMNS: &str = "SELECT JSON_OBJECT('table', c.TABLE_NAME, 'name', c.COLUMN_NAME, \
    'kind', c.DATA_TYPE, 'length', c.CHARACTER_MAXIMUM_LENGTH, 'extra', c.EXTRA) \
    FROM information_schema.COLUMNS AS c \
    JOIN information_schema.TABLES AS t USING (TABLE_SCHEMA, TABLE_NAME) \
    WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') \
    ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION";

#[derive(Deserialize)]
struct FoundColumn {
    table: String,
    name: String,
    kind: String,
    length: Option<u64>,
    extra: String,
}

/// Columns that foreign keys are of.
const FOREIGN: &str = "SELECT JSON_ARRAY(TABLE_NAME, COLUMN_NAME) \
    FROM information_schema.KEY_COLUMN_USAGE \
    WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL";

/// The primary key first. MySQL has parts that are expressions, without a name.
const KEYS: &str = "SELECT JSON_OBJECT('table', TABLE_NAME, 'key', INDEX_NAME, \
    'column', COLUMN_NAME) FROM information_schema.STATISTICS \
    WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 \
    ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX";

#[derive(Deserialize)]
struct FoundKey {
    table: String,
    key: String,
    column: Option<String>,
}

/// Reads what the server counted of the database.
pub(super) fn read(original: &Original) -> Result<FoundDigests> {
    let is_on: Vec<u8> = original.ask(IS_ON)?;
    if is_on != [1] {
        return Ok(FoundDigests::None(
            "performance_schema is off (performance_schema = ON in the server's settings)".into(),
        ));
    }
    let counted: Vec<Counted> = match original.ask(QUESTION) {
        Ok(counted) => counted,
        Err(_) => {
            let reason = "performance_schema cannot be read by your account";
            return Ok(FoundDigests::None(reason.into()));
        }
    };
    let lost: Vec<u64> = original.ask(LOST)?;
    let columns: Vec<FoundColumn> = original.ask(COLUMNS)?;
    let foreign: Vec<(String, String)> = original.ask(FOREIGN)?;
    let keys: Vec<FoundKey> = original.ask(KEYS)?;
    Ok(FoundDigests::Usable(Digests {
        digests: digests(counted),
        lost: lost.into_iter().sum(),
        catalog: Catalog {
            tables: tables(original.name(), columns, &foreign, keys),
        },
        dialect: dialect_of(original.sql_mode()),
        style: Style::Marked,
        hidden: None,
        query,
        around: |class| (class == Class::Bytes).then_some(("UNHEX(", ")")),
    }))
}

/// MySQL 9 counts what is prepared under texts of its own (found with 9.7.4): `PREPARE SELECT ...`,
/// `EXECUTE SELECT ...` and `DEALLOCATE PREPARE ...`. The second is that statement, and the others run
/// none.
fn digests(counted: Vec<Counted>) -> Vec<Digest> {
    const EXECUTE: &str = "EXECUTE ";
    const STATEMENTS: [&str; 6] = [
        "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE ", "WITH ",
    ];
    let mut by_text: BTreeMap<String, Digest> = BTreeMap::new();
    for mut of in counted {
        if ["PREPARE ", "DEALLOCATE "]
            .iter()
            .any(|word| of.text.starts_with(word))
        {
            continue;
        }
        let mut most = usize::try_from(of.most).unwrap_or(usize::MAX);
        let prepared = of.text.strip_prefix(EXECUTE);
        let is_known = |rest: &&str| STATEMENTS.iter().any(|word| rest.starts_with(word));
        if let Some(prepared) = prepared.filter(is_known) {
            of.text = prepared.to_owned();
            most = most.saturating_sub(EXECUTE.len());
        }
        let digest = by_text.entry(of.text).or_insert_with_key(|text| Digest {
            text: text.clone(),
            calls: 0,
            took: Duration::ZERO,
            rows: 0,
            most: Some(most),
        });
        digest.calls += of.calls;
        digest.took += Duration::from_nanos(of.picoseconds / 1000);
        digest.rows += of.rows;
        digest.most = digest.most.min(Some(most));
    }
    by_text.into_values().collect()
}

fn tables(
    database: &str,
    columns: Vec<FoundColumn>,
    foreign: &[(String, String)],
    keys: Vec<FoundKey>,
) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for column in columns {
        if tables.last().is_none_or(|table| table.name != column.table) {
            tables.push(Table {
                schema: database.to_owned(),
                sql: quoted(&column.table),
                name: column.table.clone(),
                is_visible: true,
                ..Table::default()
            });
        }
        // Rows are inserted without it.
        let is_hidden = column.extra.to_ascii_uppercase().contains("INVISIBLE");
        if let Some(table) = tables.last_mut().filter(|_| !is_hidden) {
            table.columns.push(Column {
                sql: quoted(&column.name),
                class: class(&column),
                is_foreign: foreign
                    .iter()
                    .any(|(table, name)| (table, name) == (&column.table, &column.name)),
                name: column.name,
            });
        }
    }
    let mut by_key: BTreeMap<(String, bool, String), Vec<Option<String>>> = BTreeMap::new();
    for FoundKey { table, key, column } in keys {
        let place = (table, key != "PRIMARY", key);
        by_key.entry(place).or_default().push(column);
    }
    for ((name, ..), columns) in by_key {
        let Some(table) = tables.iter_mut().find(|table| table.name == name) else {
            continue;
        };
        let places: Option<Vec<usize>> = columns
            .into_iter()
            .map(|column| {
                let column = column?;
                table.columns.iter().position(|of| of.name == column)
            })
            .collect();
        match places {
            Some(places) => table.keys.push(places),
            None => table.has_other_keys = true,
        }
    }
    tables
}

fn class(column: &FoundColumn) -> Class {
    match column.kind.to_ascii_lowercase().as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "bit" => Class::Integer,
        "decimal" | "float" | "double" => Class::Number,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            let length = column.length.unwrap_or_default();
            Class::Text(u32::try_from(length).unwrap_or(u32::MAX))
        }
        "uuid" => Class::Uuid,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Class::Bytes,
        // CAST makes no texts of these.
        "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
        | "multipolygon" | "geometrycollection" | "geomcollection" | "vector" => Class::Unreadable,
        _ => Class::Other,
    }
}

/// A hash of a key puts rows into the same order with every page size, and its neighbors apart.
fn query(table: &Table, wanted: &Wanted) -> String {
    let mut columns: Vec<String> = wanted
        .columns
        .iter()
        .map(|(column, expression)| {
            let of = &table.columns[*column];
            let value = match of.class {
                Class::Bytes => format!("HEX({})", of.sql),
                // As a text alone, bits would be bytes.
                Class::Integer => format!("CAST({} + 0 AS CHAR)", of.sql),
                _ => format!("CAST({} AS CHAR)", of.sql),
            };
            match expression {
                Expression::Lower => format!("LOWER({value})"),
                Expression::Upper => format!("UPPER({value})"),
                Expression::Value | Expression::Element => value,
            }
        })
        .collect();
    let drawn = columns.len();
    for column in &wanted.largest {
        let of = &table.columns[*column];
        columns.push(match of.class {
            // Added to the column itself, it would keep the server from an index.
            Class::Integer => format!(
                "(SELECT CAST(MAX({}) + 0 AS CHAR) FROM {})",
                of.sql, table.sql
            ),
            _ => "NULL".into(),
        });
    }
    if columns.is_empty() {
        columns.push("NULL".into());
    }
    // Columns need names of their own to be ordered by.
    let columns: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| format!("{column} AS c{place}"))
        .collect();
    let order = order(table, wanted).join(", ");
    let order = match order.as_str() {
        "" => String::new(),
        order => format!(" ORDER BY {}", hashed(&format!("CONCAT_WS('|', {order})"))),
    };
    let ties = (0..drawn).map(|place| format!(", c{place}"));
    let ties = match order.is_empty() {
        true => String::new(),
        false => ties.collect(),
    };
    format!(
        "SELECT {} FROM {}{order}{ties} LIMIT {ROWS}",
        columns.join(", "),
        table.sql
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_prepared_is_the_statement() {
        let counted = |text: &str, calls| Counted {
            text: text.into(),
            calls,
            picoseconds: 3_000_000,
            rows: 2,
            most: 1024,
        };
        let found = digests(vec![
            counted("SELECT `a` FROM `t` WHERE `id` = ?", 5),
            counted("EXECUTE SELECT `a` FROM `t` WHERE `id` = ?", 7),
            counted("PREPARE SELECT `a` FROM `t` WHERE `id` = ?", 7),
            counted("DEALLOCATE PREPARE SELECT `a` FROM `t` WHERE `id` = ?", 7),
            counted("EXECUTE `s1` USING @k", 3),
        ]);
        let told: Vec<(&str, u64)> = found
            .iter()
            .map(|of| (of.text.as_str(), of.calls))
            .collect();
        assert_eq!(
            told,
            [
                ("EXECUTE `s1` USING @k", 3),
                ("SELECT `a` FROM `t` WHERE `id` = ?", 12)
            ]
        );
        let of = &found[1];
        assert_eq!(
            (of.took, of.rows, of.most),
            (Duration::from_micros(6), 4, Some(1016))
        );
    }
}
