//! What a guess of statements needs to know of a database's tables.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{original::Original, restore::quoted};
use crate::{
    Result,
    own::guess::{DIGITS_MIN, Guess, Table, guess, has_room},
};

#[derive(Clone, Debug, Deserialize)]
struct Column {
    table: String,
    name: String,
    kind: String,
    /// Its type as it was written.
    written: String,
    /// Characters that a text may have.
    length: Option<u64>,
    /// Of a number, all and those behind its point. A float that was given none has no scale.
    precision: Option<i32>,
    scale: Option<i32>,
    /// Such as `auto_increment`, or that it is generated.
    extra: String,
    /// What a generated one is computed by.
    expression: Option<String>,
}

impl Column {
    /// The highest whole number that it can have.
    fn highest(&self) -> i64 {
        let is_unsigned = self.written.to_ascii_lowercase().contains("unsigned");
        let bits = match self.kind.as_str() {
            "tinyint" => 7,
            "smallint" => 15,
            "mediumint" => 23,
            "int" => 31,
            _ => return i64::MAX,
        };
        (1 << (bits + u32::from(is_unsigned))) - 1
    }

    /// Whether it is computed by another one. Names stand in quotes there, by the SQL mode.
    fn reads(&self, other: &str) -> bool {
        let expression = self.expression.as_ref().map(|text| text.to_lowercase());
        let name = quoted(&other.to_lowercase());
        let in_quotes = format!("\"{}\"", other.to_lowercase().replace('"', "\"\""));
        expression.is_some_and(|text| text.contains(&name) || text.contains(&in_quotes))
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Indexed {
    table: String,
    index: String,
    /// Such as `BTREE`, and `HASH` for a unique one of texts of any length.
    kind: String,
    /// None for an expression.
    column: Option<String>,
    /// Its place in the index, from 1.
    place: u64,
    is_unique: u8,
    /// How many values the index has up to this column, by the server's statistics.
    values: u64,
}

/// How a table numbers its rows.
#[derive(Clone, Debug, Deserialize)]
struct Numbering {
    table: String,
    /// The next number, of tables that have one.
    next: Option<u64>,
    /// Such as that it is partitioned.
    options: Option<String>,
}

const COLUMNS: &str = "SELECT JSON_OBJECT('table', c.TABLE_NAME, 'name', c.COLUMN_NAME, \
    'kind', c.DATA_TYPE, 'written', c.COLUMN_TYPE, 'length', c.CHARACTER_MAXIMUM_LENGTH, \
    'precision', c.NUMERIC_PRECISION, 'scale', c.NUMERIC_SCALE, 'extra', c.EXTRA, \
    'expression', c.GENERATION_EXPRESSION) FROM information_schema.COLUMNS AS c \
    JOIN information_schema.TABLES AS t USING (TABLE_SCHEMA, TABLE_NAME) \
    WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' \
    ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION";

const INDEXES: &str = "SELECT JSON_OBJECT('table', TABLE_NAME, 'index', INDEX_NAME, \
    'kind', INDEX_TYPE, \
    'column', COLUMN_NAME, 'place', SEQ_IN_INDEX, 'is_unique', 1 - NON_UNIQUE, \
    'values', coalesce(CARDINALITY, 0)) \
    FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
    ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";

const NUMBERINGS: &str = "SELECT JSON_OBJECT('table', TABLE_NAME, 'next', AUTO_INCREMENT, \
    'options', CREATE_OPTIONS) FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'";

/// Tables whose constraints and triggers say what rows may be.
const GUARDED: &str = "SELECT JSON_QUOTE(EVENT_OBJECT_TABLE) FROM information_schema.TRIGGERS \
    WHERE TRIGGER_SCHEMA = DATABASE() \
    UNION SELECT JSON_QUOTE(TABLE_NAME) FROM information_schema.TABLE_CONSTRAINTS \
    WHERE TABLE_SCHEMA = DATABASE() AND CONSTRAINT_TYPE = 'CHECK'";

/// Tables that have rows, by the server's statistics.
const ALL: &str = "SELECT JSON_QUOTE(TABLE_NAME) FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_ROWS > 0 \
    ORDER BY TABLE_ROWS DESC, TABLE_NAME";

/// See [`guess`].
pub(super) fn propose(original: &Original) -> Result<Option<Guess>> {
    let columns: Vec<Column> = original.ask(COLUMNS)?;
    let indexes: Vec<Indexed> = original.ask(INDEXES)?;
    let guarded: Vec<String> = original.ask(GUARDED)?;
    let numberings: Vec<Numbering> = original.ask(NUMBERINGS)?;
    let mut by_table: BTreeMap<&str, Vec<&Column>> = BTreeMap::new();
    for column in &columns {
        by_table.entry(&column.table).or_default().push(column);
    }
    let mut tables = Vec::new();
    for (name, columns) in by_table {
        let own: Vec<&Indexed> = indexes.iter().filter(|of| of.table == name).collect();
        let Some(key) = number(&columns, &own) else {
            continue;
        };
        if !is_plain(name) || !is_plain(&key.name) {
            continue;
        }
        let (table, column) = (quoted(name), quoted(&key.name));
        let ends: Vec<(Option<i64>, Option<i64>)> = original.ask(&format!(
            "SELECT JSON_ARRAY(MIN({column}), MAX({column})) FROM {table} \
             HAVING MAX({column}) < 9000000000000000000 AND {NO_PROGRAMS}"
        ))?;
        let Some((Some(first), Some(last))) = ends.into_iter().next() else {
            continue;
        };
        let is_guarded = guarded.iter().any(|other| other == name);
        let numbering = numberings.iter().find(|of| of.table == name);
        let numbers = numbering.is_some_and(|of| of.goes_on(key, last));
        let rights = Rights {
            is_guarded,
            numbers,
        };
        tables.push(table_of(key, &columns, &own, rights, (first, last)));
    }
    let all: Vec<String> = original.ask(ALL)?;
    let all = all.iter().map(|name| quoted(name)).collect();
    Ok(guess(original.name(), tables, all))
}

/// Whether a name can stand in a script: it would not stay whole there with a line's end.
fn is_plain(name: &str) -> bool {
    !name.contains(char::is_control)
}

/// The primary key, if it is one whole number.
fn number<'c>(columns: &[&'c Column], indexes: &[&Indexed]) -> Option<&'c Column> {
    let is_key = |of: &&&Indexed| of.index == "PRIMARY" && of.kind == "BTREE";
    let mut primary = indexes.iter().filter(is_key);
    let (Some(only), None) = (primary.next(), primary.next()) else {
        return None;
    };
    let is_key = |column: &&&Column| only.column.as_ref() == Some(&column.name);
    let key = columns.iter().find(is_key)?;
    let whole = ["tinyint", "smallint", "mediumint", "int", "bigint"];
    whole.contains(&key.kind.as_str()).then_some(*key)
}

impl Numbering {
    /// Whether a key whose highest number this is gets further ones. No partition may have them.
    fn goes_on(&self, key: &Column, last: i64) -> bool {
        let options = self.options.as_deref().unwrap_or_default();
        let next = self.next.and_then(|next| i64::try_from(next).ok());
        let is_numbered = key.extra.to_ascii_lowercase().contains("auto_increment");
        is_numbered
            && !options.contains("partitioned")
            && next.is_some_and(|next| has_room(next.max(last), 1, key.highest()))
    }
}

/// True. It names a table of the server's own, so that digests do not take a question for a
/// program's.
const NO_PROGRAMS: &str = "EXISTS (SELECT 1 FROM information_schema.ENGINES)";

/// What may be done to a table.
#[derive(Clone, Copy, Debug)]
struct Rights {
    /// Whether constraints and triggers say what rows may be.
    is_guarded: bool,
    /// Whether it numbers rows that are added.
    numbers: bool,
}

fn table_of(
    key: &Column,
    columns: &[&Column],
    indexes: &[&Indexed],
    Rights {
        is_guarded,
        numbers,
    }: Rights,
    (first, last): (i64, i64),
) -> Table {
    let is_set = |column: &&&Column| {
        let extra = column.extra.to_ascii_uppercase();
        column.name != key.name && !extra.contains("GENERATED") && !extra.contains("ON UPDATE")
    };
    let others: Vec<&&Column> = columns.iter().filter(is_set).collect();
    // What the expression of an index reads is not told.
    let may_be_in_index = |name: &str| {
        let mut names = indexes.iter().map(|of| of.column.as_deref());
        names.any(|own| own.is_none_or(|own| own == name))
    };
    let is_read = |name: &str| columns.iter().any(|column| column.reads(name));
    let changes = others
        .iter()
        .filter(|column| !may_be_in_index(&column.name) && !is_read(&column.name))
        .filter(|column| is_plain(&column.name));
    let change = changes.filter_map(|column| change(column)).next();
    let secondary = indexes.iter().filter(|of| of.index != "PRIMARY");
    let is_unique = secondary.clone().any(|of| of.is_unique == 1);
    let firsts = secondary.filter(|of| of.place == 1 && of.kind == "BTREE");
    let mut firsts: Vec<&&Indexed> = firsts.collect();
    firsts.sort_by_key(|of| std::cmp::Reverse(of.values));
    let are_plain = others.iter().all(|column| is_plain(&column.name));
    let can_insert = numbers && !is_unique && !is_guarded && !others.is_empty() && are_plain;
    Table {
        name: quoted(&key.table),
        key: quoted(&key.name),
        own_key: Vec::new(),
        first,
        last,
        indexed: firsts
            .iter()
            .filter_map(|of| of.column.as_deref())
            .filter(|name| is_plain(name))
            .map(quoted)
            .collect(),
        change: change.filter(|_| !is_guarded),
        limits_updates: true,
        inserted: can_insert.then(|| others.iter().map(|column| quoted(&column.name)).collect()),
    }
}

/// What an update sets a column to: as long as it was, and in the range of its type.
fn change(column: &Column) -> Option<String> {
    let c = quoted(&column.name);
    let has_range = || {
        let digits = column.precision.zip(column.scale);
        digits.is_none_or(|(all, behind)| all.saturating_sub(behind) >= DIGITS_MIN)
    };
    Some(match column.kind.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float"
        | "double"
            if has_range() =>
        {
            format!("{c} = CASE WHEN {c} > 100 THEN {c} - :step ELSE {c} + :step END")
        }
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext"
            if column.length != Some(0) =>
        {
            format!("{c} = CONCAT(CHAR(96 + :step USING ascii), SUBSTR({c}, 2))")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
