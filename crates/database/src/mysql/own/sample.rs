//! A sample of the user's rows. These servers show one state to one session alone, so that all rows
//! are selected in it, those of whole tables too, as texts of the INSERTs that they become.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env::temp_dir,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::{BufWriter, Write as _},
    ops::ControlFlow,
    path::Path,
};

use octavo_units::{ByteCount, Seed};
use octavo_workload::user::{CopyOf, Copying, Share};
use serde::{Deserialize, de::DeserializeOwned};
use tempfile::TempDir;

use super::{
    original::Original,
    restore::{Dump, quoted},
};
use crate::{
    DatabaseError, Own, Progress, Result,
    files::named,
    own::{
        sample::{
            ALIAS, Full, Of, Pair, Reference, Required, Sampling, Size, Table, WHOLE_BYTES_MAX,
            WHOLE_MAX,
        },
        told_if_lost,
    },
    server::piped::Piped,
};

/// What ends an answer. No row begins so, and no line of JSON.
const END: &str = "end of the answer";

/// A system table that is never empty. Of a question that names one, [`digests`](super::digests) know
/// that no program asks it.
const SYSTEM_TABLE: &str = "information_schema.ENGINES LIMIT 1";

/// A row that the server cannot write as a text.
const TOO_LONG: &str = "too long";

/// Bytes of rows after which an INSERT ends. Chosen: what the makers' program has is as large.
const INSERT_BYTES: usize = 1 << 20;

/// Tables, by their names.
const TABLES: &str = "\
    SELECT JSON_OBJECT('name', TABLE_NAME, \
      'bytes', CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) AS UNSIGNED)) \
    FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
    AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME";

/// Columns that are not computed, in their order.
const COLUMNS: &str = "\
    SELECT JSON_OBJECT('table', TABLE_NAME, 'name', COLUMN_NAME, 'kind', DATA_TYPE, \
      'is_nullable', IS_NULLABLE = 'YES') \
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
    AND EXTRA NOT LIKE '%VIRTUAL GENERATED%' AND EXTRA NOT LIKE '%STORED GENERATED%' \
    ORDER BY TABLE_NAME, ORDINAL_POSITION";

/// How many columns of each table an account may see.
const SEEN: &str = "\
    SELECT JSON_OBJECT('name', TABLE_NAME, 'columns', CAST(COUNT(*) AS UNSIGNED)) \
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() GROUP BY TABLE_NAME";

/// Columns of unique indexes, in their order.
const KEYS: &str = "\
    SELECT JSON_OBJECT('table', TABLE_NAME, 'name', INDEX_NAME, 'column', COLUMN_NAME, \
      'is_whole', SUB_PART IS NULL) \
    FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 \
    ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX";

/// Columns of foreign keys within the database, in their order.
const REFERENCES: &str = "\
    SELECT JSON_OBJECT('name', CONSTRAINT_NAME, 'child', TABLE_NAME, \
      'parent', REFERENCED_TABLE_NAME, 'child_column', COLUMN_NAME, \
      'parent_column', REFERENCED_COLUMN_NAME) \
    FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() \
    AND REFERENCED_TABLE_SCHEMA = DATABASE() \
    ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION";

#[derive(Debug, Deserialize)]
struct FoundTable {
    name: String,
    bytes: u64,
}

#[derive(Debug, Deserialize)]
struct SeenColumns {
    name: String,
    columns: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Column {
    table: String,
    name: String,
    kind: String,
    #[serde(deserialize_with = "flag")]
    is_nullable: bool,
}

#[derive(Debug, Deserialize)]
struct FoundKey {
    table: String,
    name: String,
    /// None for an expression.
    column: Option<String>,
    #[serde(deserialize_with = "flag")]
    is_whole: bool,
}

#[derive(Debug, Deserialize)]
struct FoundPair {
    name: String,
    child: String,
    parent: String,
    child_column: String,
    parent_column: String,
}

/// MariaDB writes 0 and 1, MySQL `false` and `true`.
fn flag<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Word(bool),
        Number(u8),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Word(word) => word,
        Flag::Number(number) => number != 0,
    })
}

impl Column {
    /// Its value as it is written in SQL, which may be NULL.
    fn literal(&self, alias: &str) -> String {
        let name = format!("{alias}.{}", quoted(&self.name));
        match self.kind.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double"
            | "year" => name,
            // As a text it has six digits, as a double all. Not + 0, which loses the sign of -0.
            "float" => format!("{name} * 1E0"),
            // What was no label of it reads as an empty one, which it may have as well.
            "enum" => format!("IF({name} + 0 = 0, 0, {})", of_text(&name)),
            "bit" => format!("{name} + 0"),
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob"
            | "geometry" | "point" | "linestring" | "polygon" | "multipoint"
            | "multilinestring" | "multipolygon" | "geometrycollection" | "geomcollection"
            | "vector" => format!("CONCAT('X''', HEX({name}), '''')"),
            _ => of_text(&name),
        }
    }
}

/// A row's first bracket, read once from a system table: servers keep the beginning of a digest alone.
fn bracket() -> String {
    format!("(SELECT '(' FROM {SYSTEM_TABLE})")
}

/// A question with one answer, asked once beside a system table. As a condition this would change how
/// the server finds rows.
fn with_system_table(question: &str) -> String {
    format!("SELECT ({question}) FROM {SYSTEM_TABLE}")
}

/// A text as it is written in SQL. Digits are read alike with all SQL modes and encodings.
fn of_text(name: &str) -> String {
    format!("CONCAT('_utf8mb4 X''', HEX(CONVERT({name} USING utf8mb4)), '''')")
}

/// A table with the columns that select its rows.
#[derive(Debug)]
struct Selected {
    name: String,
    columns: Vec<Column>,
    /// Those that tell a row from all others; none has its name where there are none.
    key: Vec<Column>,
}

impl Selected {
    /// A row's values as they stand behind VALUES.
    fn values(&self) -> String {
        let columns = self.columns.iter();
        let values = columns.map(|column| match column.is_nullable {
            true => format!(
                "IF(t.{} IS NULL, 'NULL', {})",
                quoted(&column.name),
                column.literal("t")
            ),
            false => column.literal("t"),
        });
        let values: Vec<String> = values.collect();
        // What is longer than a packet is NULL.
        format!(
            "COALESCE(CONCAT({}, {}, ')'), '{TOO_LONG}')",
            bracket(),
            values.join(", ',', ")
        )
    }

    fn key_of(&self, alias: &str) -> String {
        let columns = self.key.iter();
        let columns: Vec<String> = columns.map(|column| column.literal(alias)).collect();
        format!("CONCAT({}, {}, ')')", bracket(), columns.join(", ',', "))
    }

    /// The condition that a row has one of these keys.
    fn has_key(&self, alias: &str, keys: &[Box<str>]) -> String {
        let columns = self.key.iter();
        let columns = columns.map(|column| format!("{alias}.{}", quoted(&column.name)));
        let columns: Vec<String> = columns.collect();
        format!("({}) IN ({})", columns.join(", "), keys.join(", "))
    }
}

/// Looks at a database, and at what a copy of it would have.
pub(super) fn examine(
    original: &Original,
    source: &OsStr,
    copying: &Copying,
    stopped: &dyn Fn() -> bool,
) -> Result<Own> {
    original.examine(source)?.copied(copying, |share| {
        let directory =
            TempDir::with_prefix("octavo-").map_err(named("create a directory in", &temp_dir()))?;
        let of = (share, copying.seed);
        Snapshot::open(original, of, directory.path(), None, stopped)
            .and_then(Snapshot::size)
            .map_err(told_if_lost)
    })
}

/// Where the schema is dumped alone, or of a sample triggers and routines.
const BEHIND: &str = "behind";

/// Dumps the rows that a copy has.
pub(super) fn dump(
    original: &Original,
    dump: &Dump,
    copy: &CopyOf,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let file = dump.file();
    let progress = RefCell::new(progress);
    let stopped = || {
        let written = fs::metadata(&file).map_or(0, |status| status.len());
        (progress.borrow_mut())(written) == ControlFlow::Break(())
    };
    match copy.sample {
        None => {
            // Of the schema it is soon known whether all of it has to be looked through.
            let schema = dump.beside(BEHIND)?;
            original.run(&schema, &["--no-data", "--skip-triggers"], None, &stopped)?;
            let has_options = schema.blank_options()?;
            schema.remove()?;
            original.run(dump, &["--routines", "--triggers"], copy.rate, &stopped)?;
            if has_options {
                dump.blank_options()?;
            }
        }
        Some(sample) => {
            let of = (sample.share, sample.seed);
            let snapshot = Snapshot::open(original, of, dump.directory(), copy.rate, &stopped)?;
            original.run(dump, &["--no-data", "--skip-triggers"], None, &stopped)?;
            dump.blank_options()?;
            snapshot.append_rows(&file)?;
            // Triggers come last, because rows that are loaded would set them off.
            let behind = dump.beside(BEHIND)?;
            let of_schema = ["--no-data", "--no-create-info", "--routines", "--triggers"];
            original.run(&behind, &of_schema, None, &stopped)?;
            behind.append_to(dump)?;
        }
    }
    dump.note(&original.setup())
}

/// One state of the user's database, open to be read.
pub(super) struct Snapshot<'s> {
    client: Piped<'s>,
    original: &'s Original,
    sampling: Sampling,
    tables: Vec<Selected>,
    child_of: Vec<usize>,
    parent_of: Vec<usize>,
}

impl<'s> Snapshot<'s> {
    /// Opens it, with a log in a directory, and decides how each table is sampled.
    pub(super) fn open(
        original: &'s Original,
        (share, seed): (Share, Seed),
        directory: &Path,
        rate: Option<ByteCount>,
        stopped: &'s dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut client = original.client(directory, rate, stopped)?;
        client.send(
            "SET time_zone = '+00:00', sql_mode = '', sql_quote_show_create = 1;\n\
             SET lock_wait_timeout = 30, net_write_timeout = 86400, wait_timeout = 86400;\n\
             /*M!100101 SET max_statement_time = 0 */;\n\
             SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;\n\
             START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;\n",
        )?;
        let found: Vec<FoundTable> = all(&mut client, original, TABLES)?;
        let columns: Vec<Column> = all(&mut client, original, COLUMNS)?;
        let keys: Vec<FoundKey> = all(&mut client, original, KEYS)?;
        let pairs: Vec<FoundPair> = all(&mut client, original, REFERENCES)?;
        refuse_partly_seen(&mut client, original, &found, &pairs)?;
        let mut by_table: BTreeMap<&str, Vec<&Column>> = BTreeMap::new();
        for column in &columns {
            by_table.entry(&column.table).or_default().push(column);
        }
        let mut tables = Vec::new();
        let mut described = Vec::new();
        for FoundTable { name, bytes } in found {
            let columns = by_table.get(name.as_str()).into_iter().flatten();
            let columns: Vec<Column> = columns.map(|column| Column::clone(column)).collect();
            let key = key(&name, &columns, &keys);
            let from = quoted(&name);
            let few = format!(
                "SELECT COUNT(*) <= {WHOLE_MAX} FROM \
                 (SELECT 1 FROM {from} LIMIT {}) AS first",
                WHOLE_MAX + 1
            );
            // Rows that nothing tells from others cannot be required one by one.
            let mut is_whole = columns.is_empty()
                || key.is_empty() && pairs.iter().any(|pair| pair.parent == name);
            let is_small = bytes <= WHOLE_BYTES_MAX;
            query(&mut client, &with_system_table(&few), &mut |line| {
                is_whole |= is_small && line == "1";
                Ok(())
            })?;
            let drawn_by = if key.is_empty() { &columns } else { &key };
            let drawn_by = drawn_by
                .iter()
                .map(|column| column.literal(ALIAS))
                .collect();
            described.push(Table {
                numbered: key.is_empty().then(|| numbered(&name, &columns, &pairs)),
                name: name.clone(),
                from,
                bytes,
                is_whole,
                drawn_by,
                key: key.iter().map(|column| quoted(&column.name)).collect(),
            });
            tables.push(Selected { name, columns, key });
        }
        let references = references(&tables, &pairs);
        let child_of = references.iter().map(|reference| reference.child).collect();
        let parent_of = references.iter().map(|reference| reference.parent);
        let parent_of = parent_of.collect();
        let mut sampling = Sampling::new(described, references, share, seed, hashed);
        sampling.count(&mut |sql| {
            let numbers: Vec<u64> = all(&mut client, original, &with_system_table(sql))?;
            let number = numbers.into_iter().next();
            number.ok_or_else(|| original.refuse("does not say how many rows a table has".into()))
        })?;
        Ok(Self {
            client,
            original,
            sampling,
            tables,
            child_of,
            parent_of,
        })
    }

    /// How large the sample is.
    pub(super) fn size(mut self) -> Result<Size> {
        let required = self.required()?;
        self.client.finish()?;
        Ok(self.sampling.size(&required))
    }

    /// Writes the rows behind a schema.
    pub(super) fn append_rows(mut self, path: &Path) -> Result<()> {
        let required = self.required()?;
        let failed = |error| named("write", path)(error);
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let header = "SET NAMES utf8mb4; SET TIME_ZONE = '+00:00'; SET FOREIGN_KEY_CHECKS = 0; \
            SET UNIQUE_CHECKS = 0; SET SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO';\n";
        file.write_all(header.as_bytes()).map_err(failed)?;
        for (place, table) in self.tables.iter().enumerate() {
            if table.columns.is_empty() {
                continue;
            }
            let columns = table.columns.iter().map(|column| quoted(&column.name));
            let columns: Vec<String> = columns.collect();
            let insert = format!(
                "INSERT INTO {} ({}) VALUES\n",
                quoted(&table.name),
                columns.join(", ")
            );
            // In the order of the key, in which B-trees grow without halves of pages left empty.
            let order = table.key.iter().map(|column| quoted(&column.name));
            let order: Vec<String> = order.map(|name| format!("t.{name}")).collect();
            let order = match order.is_empty() {
                true => String::new(),
                false => format!(" ORDER BY {}", order.join(", ")),
            };
            let mut conditions = vec![self.sampling.kept(place, "t")];
            let keys = required.batches(place);
            conditions.extend(keys.map(|keys| table.has_key("t", &keys)));
            for condition in conditions {
                let select = format!(
                    "SELECT {} FROM {} AS t WHERE {condition}{order}",
                    table.values(),
                    self.sampling.from(place)
                );
                ask(&mut self.client, &select)?;
                let mut bytes = 0;
                self.client.parts_until(END, &mut |begins, part| {
                    let is_row = part.starts_with(b"(");
                    if begins && !is_row {
                        return Err(self.original.refuse(format!(
                            "has a row in {} that is longer than max_allowed_packet as a text: give \
                             the server a larger one, or leave --sample out",
                            table.name
                        )));
                    }
                    let before = match begins {
                        true if bytes == 0 => insert.as_str(),
                        true if bytes > INSERT_BYTES => {
                            bytes = 0;
                            ";\n"
                        }
                        true => ",\n",
                        false => "",
                    };
                    file.write_all(before.as_bytes()).map_err(failed)?;
                    if before == ";\n" {
                        file.write_all(insert.as_bytes()).map_err(failed)?;
                    }
                    bytes += part.len();
                    file.write_all(part).map_err(failed)
                })?;
                if bytes > 0 {
                    file.write_all(b";\n").map_err(failed)?;
                }
            }
            // Required rows came between those that were there. Rows with a history cannot be
            // rebuilt unless it may change.
            if required.has(place) {
                let rebuild = format!(
                    "/*M!100303 SET system_versioning_alter_history = KEEP */;\n\
                     ALTER TABLE {} FORCE;\n",
                    quoted(&table.name)
                );
                file.write_all(rebuild.as_bytes()).map_err(failed)?;
            }
        }
        file.flush().map_err(failed)?;
        self.client.finish()
    }

    /// The keys of rows that foreign keys require beside those that are kept anyway.
    fn required(&mut self) -> Result<Required> {
        let Self {
            client,
            original,
            sampling,
            tables,
            child_of,
            parent_of,
        } = self;
        sampling.close(&mut |reference, of: Of<'_>, found| {
            let (child, parent) = (&tables[child_of[reference]], &tables[parent_of[reference]]);
            let required =
                sampling.required(reference, of, &|alias, keys| child.has_key(alias, keys));
            let sql = format!("SELECT {} FROM {required}", parent.key_of("p"));
            query(client, &sql, &mut |key| {
                found(key).map_err(|Full| original.refuse(Full::REASON.into()))
            })
        })
    }
}

/// Refuses what an account sees a part of: rows would come without columns, or without the parents
/// that they refer to.
fn refuse_partly_seen(
    client: &mut Piped<'_>,
    original: &Original,
    tables: &[FoundTable],
    pairs: &[FoundPair],
) -> Result<()> {
    const REMEDY: &str = "grant it SELECT on the whole database, or leave --sample out";
    for FoundPair { child, parent, .. } in pairs {
        if !tables.iter().any(|table| table.name == *parent) {
            return Err(original.refuse(format!(
                "has a foreign key from {child} to {parent}, which is not there or which your \
                 account may not see: {REMEDY}"
            )));
        }
    }
    for SeenColumns { name, columns } in all::<SeenColumns>(client, original, SEEN)? {
        if !tables.iter().any(|table| table.name == name) {
            continue;
        }
        // A column's line begins with its name.
        let mut lines = 0;
        query(
            client,
            &format!("SHOW CREATE TABLE {}", quoted(&name)),
            &mut |line| {
                lines += u64::from(line.starts_with("  `"));
                Ok(())
            },
        )?;
        if columns < lines {
            return Err(original.refuse(format!(
                "has {lines} columns in {name}, and your account may see {columns}: {REMEDY}"
            )));
        }
    }
    Ok(())
}

/// SQL for a text's hash in hexadecimal digits. Since 9.6 MySQL has no `MD5` without a component
/// (<https://dev.mysql.com/doc/refman/9.6/en/legacy-hashing-component.html>).
pub(super) fn hashed(text: &str) -> String {
    format!("SHA2({text}, 256)")
}

/// A table whose rows have a number among those that are alike, and what is hashed of it then. It does
/// not matter which of them has which.
fn numbered(name: &str, columns: &[Column], pairs: &[FoundPair]) -> (String, Vec<String>) {
    /// No column is likely to have this name.
    const NUMBER: &str = "`octavo number`";
    // Those that are copied, and those that refer. `*` would leave invisible ones out.
    let referring = pairs.iter().filter(|pair| pair.child == name);
    let names = columns.iter().map(|column| &column.name);
    let names: BTreeSet<&String> = names
        .chain(referring.map(|pair| &pair.child_column))
        .collect();
    let names: Vec<String> = names
        .iter()
        .map(|own| format!("n.{}", quoted(own)))
        .collect();
    let columns = columns.iter();
    let columns = columns.map(|column| format!("COALESCE({}, 'NULL')", column.literal("n")));
    let columns: Vec<String> = columns.collect();
    let hash = hashed(&format!("CONCAT_WS(':', {})", columns.join(", ")));
    let from = format!(
        "(SELECT {}, {hash} AS `octavo hash`, \
         ROW_NUMBER() OVER (PARTITION BY {hash}) AS {NUMBER} FROM {} AS n)",
        names.join(", "),
        quoted(name)
    );
    (
        from,
        vec![
            format!("{ALIAS}.`octavo hash`"),
            format!("{ALIAS}.{NUMBER}"),
        ],
    )
}

/// The columns of a table's primary key, or else of a unique one without NULL.
fn key(table: &str, columns: &[Column], keys: &[FoundKey]) -> Vec<Column> {
    let mut names: Vec<&str> = Vec::new();
    let of_table = || keys.iter().filter(|key| key.table == table);
    for key in of_table() {
        if !names.contains(&key.name.as_str()) {
            names.push(&key.name);
        }
    }
    let found = names.into_iter().find_map(|name| {
        let parts = of_table().filter(|key| key.name == name);
        let parts = parts.map(|key| {
            let column = columns
                .iter()
                .find(|column| Some(&column.name) == key.column.as_ref())?;
            (key.is_whole && !column.is_nullable).then(|| column.clone())
        });
        parts.collect::<Option<Vec<Column>>>()
    });
    found.unwrap_or_default()
}

/// Foreign keys whose columns stand in lines after each other.
fn references(tables: &[Selected], pairs: &[FoundPair]) -> Vec<Reference> {
    let place = |name: &str| tables.iter().position(|table| table.name == name);
    let mut found: Vec<Reference> = Vec::new();
    let mut last = None;
    for pair in pairs {
        let (Some(child), Some(parent)) = (place(&pair.child), place(&pair.parent)) else {
            continue;
        };
        let name = (pair.child.as_str(), pair.name.as_str());
        if last.replace(name) != Some(name) {
            found.push(Reference {
                child,
                parent,
                columns: Vec::new(),
                is_required: true,
                // None was where FOREIGN_KEY_CHECKS was off.
                is_checked: false,
            });
        }
        let Some(reference) = found.last_mut() else {
            continue;
        };
        let mut columns = tables[child].columns.iter();
        // What is computed may be NULL, as far as is known.
        let column = columns.find(|column| column.name == pair.child_column);
        reference.is_required &= column.is_some_and(|column| !column.is_nullable);
        reference.columns.push(Pair {
            child: quoted(&pair.child_column),
            parent: quoted(&pair.parent_column),
            equals: "=".into(),
        });
    }
    found
}

/// Asks, and lets go of the tables at the end of the answer: until then nobody may change their
/// columns. A snapshot stays as it is when its transaction goes back to a savepoint.
fn ask(client: &mut Piped<'_>, sql: &str) -> Result<()> {
    client.send(&format!(
        "SAVEPOINT octavo;\n{sql};\nROLLBACK TO SAVEPOINT octavo;\nSELECT '{END}' FROM {SYSTEM_TABLE};\n"
    ))
}

/// The lines of an answer.
fn query(
    client: &mut Piped<'_>,
    sql: &str,
    each: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    ask(client, sql)?;
    client.lines_until(END, each)
}

/// An answer with a line of JSON a row.
fn all<T: DeserializeOwned>(
    client: &mut Piped<'_>,
    original: &Original,
    sql: &str,
) -> Result<Vec<T>> {
    let mut rows = Vec::new();
    query(client, sql, &mut |line| {
        let row = serde_json::from_str(line).map_err(|error| -> DatabaseError {
            original.refuse(format!("answers what is not understood: {error}"))
        })?;
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

#[cfg(test)]
pub(super) mod tests;
