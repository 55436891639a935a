//! What a guess of statements needs to know of a file's tables.

use rusqlite::Connection;

use super::source::{Source, quoted};
use crate::{
    Result,
    own::guess::{Guess, Table, guess, has_room},
};

/// See [`guess`].
pub(super) fn propose(source: &Source) -> Result<Option<Guess>> {
    let connection = source.connection();
    let found = tables(connection).map_err(|failure| source.refusal(&failure))?;
    let all = with_rows(connection).map_err(|failure| source.refusal(&failure))?;
    Ok(guess(&source.name(), found, all))
}

/// All tables that have rows, in SQL. Of virtual ones only their module knows, which is not asked.
fn with_rows(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name, type = 'virtual' FROM pragma_table_list WHERE schema = 'main' \
         AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )?;
    let tables = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let mut with_rows = Vec::new();
    for table in tables {
        let (name, is_virtual): (_, bool) = table?;
        let table = quoted(&name);
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
        if is_virtual || connection.query_row(&sql, [], |row| row.get(0))? {
            with_rows.push(table);
        }
    }
    Ok(with_rows)
}

/// Tables whose rows have numbers.
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
    // A partial index finds no row by a value alone.
    let mut statement = connection.prepare(
        "SELECT x.seqno, x.name, i.origin = 'pk' FROM pragma_index_list(?1) AS i, \
         pragma_index_xinfo(i.name) AS x WHERE x.key = 1 AND i.partial = 0",
    )?;
    let indexed: Vec<(u32, Option<String>, bool)> = statement
        .query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // Partial ones too, and those of expressions.
    let has_unique: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE \"unique\")",
        [name],
        |row| row.get(0),
    )?;
    let own_key = indexed.iter().filter(|(.., is_key)| *is_key);
    let own_key = own_key.filter_map(|(_, own, _)| own.as_deref().map(quoted));
    // What checks, types and triggers make of other values is not known.
    let (has_trigger, is_strict, computes, sql): (bool, bool, bool, String) = connection
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1), \
         EXISTS (SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND name = ?1 AND strict), \
         EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden IN (2, 3)), \
         (SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1)",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
    let is_free = !has_trigger && !is_strict && !may_have_check(&sql);
    let others = columns.iter().filter(|(_, is_number)| !is_number);
    let others: Vec<&String> = others.map(|(own, _)| own).collect();
    let can_insert = !has_unique && is_free && !others.is_empty() && has_room(last, 1, i64::MAX);
    let is_plain = |own: &&&String| {
        !(computes && may_be_read(&sql, own) || changes_index(connection, &table, &key, own))
    };
    let plain = others.iter().find(is_plain).map(|own| quoted(own));
    // The primary key's own is read by its key.
    let firsts = indexed
        .iter()
        .filter(|(position, _, is_key)| *position == 0 && !is_key);
    let firsts = firsts.filter_map(|(_, own, _)| own.as_deref().map(quoted));
    let mut firsts: Vec<(u32, String)> = firsts
        .map(|column| {
            Ok((
                values(connection, &table, &key, (first, last), &column)?,
                column,
            ))
        })
        .collect::<rusqlite::Result<_>>()?;
    firsts.sort_by_key(|(values, _)| std::cmp::Reverse(*values));
    Ok(Some(Table {
        name: table,
        key,
        first,
        last,
        own_key: own_key.collect(),
        indexed: firsts.into_iter().map(|(_, column)| column).collect(),
        change: plain.filter(|_| is_free).map(|c| change(&c)),
        limits_updates: false,
        inserted: can_insert.then(|| others.into_iter().map(|own| quoted(own)).collect()),
    }))
}

/// How many values a column has in some rows that are spread over the table.
fn values(
    connection: &Connection,
    table: &str,
    key: &str,
    (first, last): (i64, i64),
    column: &str,
) -> rusqlite::Result<u32> {
    const ROWS: i64 = 64;
    let step = (last - first) / ROWS;
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         SELECT count(DISTINCT (SELECT {column} FROM {table} WHERE {key} >= ?1 + i * ?2
            ORDER BY {key} LIMIT 1)) FROM n"
    );
    connection.query_row(&sql, [first, step], |row| row.get(0))
}

/// Whether an update of a column changes an index: one that has it, or that reads it in an expression,
/// in its WHERE, or by a generated column. SQLite opens those that it would change, and no others.
fn changes_index(connection: &Connection, table: &str, key: &str, column: &str) -> bool {
    let column = quoted(column);
    let explain = format!("EXPLAIN UPDATE {table} SET {column} = NULL WHERE {key} = 1");
    let opened = || -> rusqlite::Result<usize> {
        let mut statement = connection.prepare(&explain)?;
        let operations = statement.query_map([], |row| row.get::<_, String>(1))?;
        let operations: Vec<String> = operations.collect::<rusqlite::Result<_>>()?;
        let is_opened = |operation: &&String| *operation == "OpenWrite";
        Ok(operations.iter().filter(is_opened).count())
    };
    // What cannot be explained cannot be run. The table itself is one.
    opened() != Ok(1)
}

/// Whether a column of this name may be read by another one of the same table, whose text this is. It
/// stands there once itself. A name with a quote is written with two.
fn may_be_read(sql: &str, column: &str) -> bool {
    let (sql, column) = (sql.to_lowercase(), column.to_lowercase());
    column.contains(['"', '`', ']']) || sql.matches(&column).count() > 1
}

/// Whether the word CHECK stands in a table's text with a bracket behind it.
fn may_have_check(sql: &str) -> bool {
    const CHECK: &str = "check";
    let sql = sql.to_ascii_lowercase();
    sql.match_indices(CHECK).any(|(at, _)| {
        let is_of_name = |last: char| last.is_alphanumeric() || "_\"`[".contains(last);
        let before = sql[..at].chars().next_back();
        let behind = sql[at + CHECK.len()..].trim_start();
        !before.is_some_and(is_of_name) && behind.starts_with(['(', '/', '-'])
    })
}

/// What an update sets. SQLite writes nothing where a row stays as it is.
fn change(c: &str) -> String {
    format!(
        "{c} = CASE typeof({c})\n    \
         WHEN 'text' THEN char(96 + :step) || substr({c}, 2)\n    \
         WHEN 'blob' THEN CAST(char(96 + :step) || substr({c}, 2) AS BLOB)\n    \
         WHEN 'null' THEN NULL ELSE {c} + 13 - :step END"
    )
}

#[cfg(test)]
mod tests {
    use octavo_script::{Definitions, Script};

    use super::*;

    fn proposed(schema: &str) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema).unwrap();
        let found = tables(&connection).unwrap();
        let all = with_rows(&connection).unwrap();
        let text = guess("my.db", found, all)?.script;
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
        let left_out = text.lines().nth(1).unwrap();
        assert_eq!(
            left_out,
            "-- Left out: \"far\", \"packed\", \"shadow\", \"texts\", \"two lines\", \
             updates of \"a \"\"b\", updates of \"checked\", inserts into \"checked\", \
             inserts into \"keyed\", deletes."
        );
        let text = text.replace(left_out, "");
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
    fn names_that_only_look_like_checks_forbid_nothing() {
        for (columns, is_free) in [
            ("district TEXT, checked_at TEXT", true),
            ("a TEXT REFERENCES t(id) ON DELETE RESTRICT", true),
            ("\"check\" TEXT, [my check] TEXT", true),
            ("a TEXT CHECK (a > '')", false),
            ("a TEXT check(a > '')", false),
            ("a TEXT CHECK /* why */ (a > '')", false),
        ] {
            let schema = format!(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, {columns}); INSERT INTO t(id) VALUES (1);"
            );
            let text = proposed(&schema).unwrap();
            assert_eq!(text.contains("UPDATE"), is_free, "{columns}");
            assert_eq!(text.contains("INSERT"), is_free, "{columns}");
        }
        let strict = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT) STRICT; \
                      INSERT INTO t VALUES (1, 'a');";
        assert!(!proposed(strict).unwrap().contains("UPDATE"));
    }

    /// Runs what is guessed for a table of 100 rows as often as may be.
    fn run(schema: &str) -> String {
        let connection = Connection::open_in_memory().unwrap();
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)";
        connection
            .execute_batch(&schema.replace("ROWS", rows))
            .unwrap();
        let found = tables(&connection).unwrap();
        let text = guess("my.db", found, Vec::new()).unwrap().script;
        let script = Script::parse("guess", &text, &Definitions::default()).unwrap();
        for statement in script.statements() {
            let sql = crate::own::numbered(&statement.parts, '?');
            let mut prepared = connection.prepare(&sql).unwrap();
            for number in 1..=100 {
                for place in 1..=prepared.parameter_count() {
                    // A step is 25 at most.
                    let value = if place == 1 && sql.starts_with("UPDATE") {
                        number % 25 + 1
                    } else {
                        number
                    };
                    prepared.raw_bind_parameter(place, value).unwrap();
                }
                let mut rows = prepared.raw_query();
                loop {
                    match rows.next() {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(error) => panic!("{schema}: {sql}: {error}"),
                    }
                }
            }
        }
        text
    }

    #[test]
    fn nothing_breaks_a_unique_index() {
        for (schema, updates, inserts) in [
            // What is unique for some rows.
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, email TEXT, deleted_at TEXT, body TEXT);
                 CREATE UNIQUE INDEX u ON t(email) WHERE deleted_at IS NULL;
                 ROWS INSERT INTO t SELECT i, 'n' || i, NULL, 'x' FROM n;",
                "SET \"body\"",
                false,
            ),
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
                 CREATE UNIQUE INDEX u ON t(a) WHERE b = 'ax';
                 ROWS INSERT INTO t SELECT i, i, iif(i % 2, 'ax', 'bx') FROM n;",
                "",
                false,
            ),
            // Expressions.
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, email TEXT, body TEXT);
                 CREATE UNIQUE INDEX u ON t(lower(email));
                 ROWS INSERT INTO t SELECT i, char(64 + i % 26) || (i / 26), 'x' FROM n;",
                "SET \"body\"",
                false,
            ),
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER);
                 CREATE UNIQUE INDEX u ON t(abs(a));
                 ROWS INSERT INTO t SELECT i, i FROM n;",
                "",
                false,
            ),
            // Computed columns, one by another.
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b AS (a * 2) UNIQUE, c INTEGER);
                 ROWS INSERT INTO t SELECT i, i, i FROM n;",
                "",
                false,
            ),
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, one INTEGER, two AS (one * 2),
                     three AS (two + 1) STORED, rest INTEGER);
                 CREATE UNIQUE INDEX u ON t(three);
                 ROWS INSERT INTO t SELECT i, i, i FROM n;",
                "SET \"rest\"",
                false,
            ),
            // What expressions cannot read.
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, doc TEXT, n AS (json_extract(doc, '$.n')));
                 ROWS INSERT INTO t SELECT i, '{}' FROM n;",
                "",
                true,
            ),
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, doc TEXT);
                 CREATE INDEX u ON t(json_extract(doc, '$.n'));
                 ROWS INSERT INTO t SELECT i, '{}' FROM n;",
                "",
                true,
            ),
            // Rows that may be like others.
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
                 CREATE INDEX u ON t(a) WHERE b > 'a';
                 ROWS INSERT INTO t SELECT i, i, 'x' FROM n;",
                "",
                true,
            ),
            (
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER);
                 INSERT INTO t VALUES (9223372036854775807, 1);",
                "SET \"a\"",
                false,
            ),
        ] {
            let text = run(schema);
            assert_eq!(text.contains("INSERT INTO"), inserts, "{schema}: {text}");
            match updates {
                "" => assert!(!text.contains("UPDATE"), "{schema}: {text}"),
                set => assert!(text.contains(set), "{schema}: {text}"),
            }
        }
    }

    #[test]
    fn of_indexes_the_one_with_the_most_values_is_followed() {
        let text = proposed(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, never TEXT, body TEXT);
             CREATE INDEX a ON t(never); CREATE INDEX b ON t(kind); CREATE INDEX c ON t(name);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO t SELECT i, i % 5, 'n' || i, NULL, 'x' FROM n;",
        )
        .unwrap();
        assert!(text.contains("WHERE \"name\" =\n"), "{text}");
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
