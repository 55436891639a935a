//! A script for a database whose user has none: a guess from its schema.
//!
//! Most requests of most programs read one row by its key; some follow an index, read rows that
//! lie beside each other, change a row, or add one. Shares are chosen, and so is that a table's
//! share grows with the square root of its rows.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::source::{Source, quoted};
use crate::Result;

/// What is done, with its share in percent.
const OPERATIONS: [(Operation, u32); 5] = [
    (Operation::ReadKey, 55),
    (Operation::ReadIndex, 15),
    (Operation::ReadRange, 10),
    (Operation::Update, 12),
    (Operation::Insert, 8),
];

/// Tables that are used at most, those with the most rows.
const TABLES_MAX: usize = 6;

/// Rows of a range, and of an index, at most.
const ROWS: u32 = 50;

#[derive(Clone, Copy, Debug)]
enum Operation {
    ReadKey,
    ReadIndex,
    ReadRange,
    Update,
    Insert,
}

impl Operation {
    fn about(self) -> &'static str {
        match self {
            Self::ReadKey => "Read a row by its key.",
            Self::ReadIndex => "Follow an index.",
            Self::ReadRange => "Read rows beside each other.",
            Self::Update => "Change a row.",
            Self::Insert => "Add a row like another one.",
        }
    }
}

/// What a script needs to know of a table.
#[derive(Debug)]
struct Table {
    /// Its name in SQL.
    name: String,
    /// The column that numbers its rows, in SQL.
    key: String,
    /// The primary key's columns where it is another one.
    own_key: Vec<String>,
    first: i64,
    last: i64,
    /// The first columns of its indexes.
    indexed: Vec<String>,
    /// A column that no index has.
    plain: Option<String>,
    /// What an insert sets; none where another row's values would not be unique.
    inserted: Option<Vec<String>>,
}

impl Table {
    /// What is done to it, unless that is not possible.
    fn statements(&self, operation: Operation) -> Option<String> {
        let Self { name, key, .. } = self;
        let draw = format!("\\set key random({}, {})\n", self.first, self.last);
        let row = format!("{key} >= :key ORDER BY {key} LIMIT 1");
        let sql = match operation {
            Operation::ReadKey if self.own_key.is_empty() => {
                format!("SELECT * FROM {name} WHERE {row};\n")
            }
            Operation::ReadKey => {
                let columns = self.own_key.join(", ");
                format!(
                    "SELECT * FROM {name} WHERE ({columns}) =\n  (SELECT {columns} FROM {name} WHERE {row});\n"
                )
            }
            Operation::ReadIndex => {
                let column = self.indexed.first()?;
                format!(
                    "SELECT * FROM {name} WHERE {column} =\n  (SELECT {column} FROM {name} WHERE {row}) \
                     LIMIT {ROWS};\n"
                )
            }
            Operation::ReadRange => {
                format!("SELECT * FROM {name} WHERE {key} >= :key ORDER BY {key} LIMIT {ROWS};\n")
            }
            // SQLite writes nothing where a row stays as it is.
            Operation::Update => {
                let c = self.plain.as_ref()?;
                format!(
                    "\\set step random(1, 25)\n\
                     UPDATE {name} SET {c} = CASE typeof({c})\n    \
                     WHEN 'text' THEN char(96 + :step) || substr({c}, 2)\n    \
                     WHEN 'blob' THEN CAST(char(96 + :step) || substr({c}, 2) AS BLOB)\n    \
                     WHEN 'null' THEN NULL ELSE {c} + 13 - :step END\n  \
                     WHERE {key} = (SELECT {key} FROM {name} WHERE {row});\n"
                )
            }
            Operation::Insert => {
                let columns = self.inserted.as_ref()?.join(", ");
                format!(
                    "INSERT INTO {name}({columns})\n  SELECT {columns} FROM {name} WHERE {row};\n"
                )
            }
        };
        Some(draw + &sql)
    }

    fn weight(&self) -> f64 {
        (self.last.abs_diff(self.first) as f64 + 1.0).sqrt()
    }
}

/// Statements with their table's weight.
type Weighted = (f64, String);

/// A script for the database, in pgbench's language; `None` where it has no table that rows can
/// be drawn from.
pub(super) fn propose(source: &Source) -> Result<Option<String>> {
    let found = tables(source.connection()).map_err(|failure| source.refusal(&failure))?;
    Ok(script(&source.name(), &found))
}

fn script(name: &str, tables: &[Table]) -> Option<String> {
    let mut parts: Vec<(u32, Operation, Vec<Weighted>)> = Vec::new();
    for (operation, share) in OPERATIONS {
        let of_tables: Vec<Weighted> = tables
            .iter()
            .filter_map(|table| Some((table.weight(), table.statements(operation)?)))
            .collect();
        if !of_tables.is_empty() {
            parts.push((share, operation, of_tables));
        }
    }
    let all: u32 = parts.iter().map(|(share, ..)| share).sum();
    if all == 0 {
        return None;
    }
    let mut text = format!(
        "-- A guess from the schema of {}: edit what your program does otherwise.\n\
         \\set what random(1, {all})\n",
        name.replace(['\n', '\r'], " ")
    );
    let mut end = 0;
    for (share, operation, of_tables) in &parts {
        let word = if end == 0 { "if" } else { "elif" };
        end += share;
        let _ = writeln!(text, "\\{word} :what <= {end}\n  -- {}", operation.about());
        choose(&mut text, of_tables);
    }
    text.push_str("\\endif\n");
    Some(text)
}

/// One of several tables, by their weights in thousandths.
fn choose(text: &mut String, of_tables: &[Weighted]) {
    let indented = |text: &mut String, lines: &str, depth: usize| {
        for line in lines.lines() {
            let _ = writeln!(text, "{:depth$}{line}", "");
        }
    };
    if let [(_, only)] = of_tables {
        return indented(text, only, 2);
    }
    let sum: f64 = of_tables.iter().map(|(weight, _)| weight).sum();
    text.push_str("  \\set table random(1, 1000)\n");
    let mut below = 0.0;
    for (place, (weight, statements)) in of_tables.iter().enumerate() {
        below += weight;
        let end = (below / sum * 1000.0).round();
        match place {
            0 => writeln!(text, "  \\if :table <= {end}"),
            _ if place + 1 < of_tables.len() => writeln!(text, "  \\elif :table <= {end}"),
            _ => writeln!(text, "  \\else"),
        }
        .unwrap_or_default();
        indented(text, statements, 4);
    }
    text.push_str("  \\endif\n");
}

/// Tables whose rows have numbers, those with the most rows first.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement = connection.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0 \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let names: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut found = Vec::new();
    for name in names {
        found.extend(table(connection, &name)?);
    }
    found.sort_by(|one: &Table, other| other.weight().total_cmp(&one.weight()));
    found.truncate(TABLES_MAX);
    Ok(found)
}

/// A table, if it has rows.
fn table(connection: &Connection, name: &str) -> rusqlite::Result<Option<Table>> {
    // What is hidden or generated cannot be set.
    let mut statement = connection.prepare(
        "SELECT name, upper(type) = 'INTEGER' AND pk = 1
            AND (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) = 1
         FROM pragma_table_xinfo(?1) WHERE hidden = 0",
    )?;
    let columns: Vec<(String, bool)> = statement
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let number = columns.iter().find(|(_, is_number)| *is_number);
    let is_taken = |word: &str| {
        columns
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(word))
    };
    let hidden = ["rowid", "_rowid_", "oid"]
        .into_iter()
        .find(|word| !is_taken(word));
    let Some(key) = number
        .map(|(own, _)| quoted(own))
        .or_else(|| hidden.map(str::to_owned))
    else {
        return Ok(None);
    };
    let table = quoted(name);
    let sql = format!("SELECT (SELECT min({key}) FROM {table}), (SELECT max({key}) FROM {table})");
    let ends: (Option<i64>, Option<i64>) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = ends else {
        return Ok(None);
    };
    // What `random` cannot draw, and names that would not stay whole in a script's lines.
    let names = columns.iter().map(|(own, _)| own.as_str()).chain([name]);
    if last
        .checked_sub(first)
        .is_none_or(|range| range == i64::MAX)
        || names.into_iter().any(|own| own.contains(char::is_control))
    {
        return Ok(None);
    }
    let mut statement = connection.prepare(
        "SELECT i.\"unique\", x.seqno, x.name, i.origin = 'pk' FROM pragma_index_list(?1) AS i, \
         pragma_index_xinfo(i.name) AS x WHERE x.key = 1 AND i.partial = 0",
    )?;
    let indexed: Vec<(bool, u32, Option<String>, bool)> = statement
        .query_map([name], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let has_unique = indexed.iter().any(|(is_unique, ..)| *is_unique);
    let is_indexed = |column: &str| {
        let mut names = indexed.iter().map(|(_, _, own, _)| own.as_deref());
        names.any(|own| own == Some(column))
    };
    let own_key = indexed.iter().filter(|(.., is_key)| *is_key);
    let own_key = own_key.filter_map(|(_, _, own, _)| own.as_deref().map(quoted));
    // What checks and triggers make of other values is not known.
    let is_free: bool = connection.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name = ?1 AND \
         (type = 'trigger' OR type = 'table' AND (sql LIKE '%check%' OR sql LIKE '%strict%')))",
        [name],
        |row| row.get(0),
    )?;
    let others = columns.iter().filter(|(_, is_number)| !is_number);
    let others: Vec<&String> = others.map(|(own, _)| own).collect();
    let plain = others
        .iter()
        .find(|own| !is_indexed(own))
        .map(|own| quoted(own));
    // The primary key's own is read by its key.
    let firsts = indexed
        .iter()
        .filter(|(_, position, _, is_key)| *position == 0 && !is_key);
    Ok(Some(Table {
        name: table,
        key,
        first,
        last,
        own_key: own_key.collect(),
        indexed: firsts
            .filter_map(|(_, _, own, _)| own.as_deref().map(quoted))
            .collect(),
        plain: plain.filter(|_| is_free),
        inserted: (!has_unique && is_free && !others.is_empty())
            .then(|| others.into_iter().map(|own| quoted(own)).collect()),
    }))
}

#[cfg(test)]
mod tests {
    use octavo_script::{Definitions, Script};

    use super::*;

    fn proposed(schema: &str) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema).unwrap();
        let found = tables(&connection).unwrap();
        let text = script("my.db", &found)?;
        // Each statement is one of this database.
        let script = Script::parse("guess", &text, &Definitions::default()).unwrap();
        for statement in script.statements() {
            let sql = crate::own::numbered(&statement.parts, '?');
            connection
                .prepare(&sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        Some(text)
    }

    #[test]
    fn tables_of_all_kinds_are_used_as_they_can_be() {
        let text = proposed(
            "CREATE TABLE \"a \"\"b\"(id INTEGER PRIMARY KEY, \"x y\" TEXT, z, g AS (z + 1));
             CREATE INDEX i ON \"a \"\"b\"(\"x y\", z);
             INSERT INTO \"a \"\"b\" VALUES (-5, 'x', 1), (400, 'y', 2);
             CREATE TABLE keyed(name TEXT PRIMARY KEY, value);
             INSERT INTO keyed VALUES ('a', 1);
             CREATE TABLE shadow(rowid TEXT, _rowid_ TEXT, oid TEXT);
             INSERT INTO shadow VALUES (1, 2, 3);
             CREATE TABLE packed(a PRIMARY KEY, b) WITHOUT ROWID;
             INSERT INTO packed VALUES (1, 2);
             CREATE TABLE none(a);
             CREATE TABLE checked(a CHECK (a > 0), b);
             INSERT INTO checked VALUES (1, 2);
             CREATE TABLE far(id INTEGER PRIMARY KEY);
             INSERT INTO far VALUES (-9223372036854775807), (9223372036854775807);
             CREATE TABLE \"two\nlines\"(a); INSERT INTO \"two\nlines\" VALUES (1);
             CREATE VIRTUAL TABLE texts USING fts5(body);",
        )
        .unwrap();
        for part in [
            "\\set key random(-5, 400)",
            "INSERT INTO \"a \"\"b\"(\"x y\", \"z\")",
            "WHERE \"x y\" =\n",
            "WHERE (\"name\") =\n",
            "UPDATE \"keyed\" SET \"value\" = CASE typeof(\"value\")",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for part in [
            "\"shadow\"",
            "\"packed\"",
            "\"none\"",
            "INTO \"keyed\"",
            "\"g\"",
            "UPDATE \"checked\"",
            "\"far\"",
            "lines",
        ] {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_database_without_rows_gets_none() {
        assert_eq!(
            proposed("CREATE TABLE a(b); CREATE VIEW c AS SELECT 1"),
            None
        );
        let only = proposed("CREATE TABLE a(b); INSERT INTO a VALUES (1)").unwrap();
        assert!(!only.contains("\\set table"), "{only}");
    }
}
