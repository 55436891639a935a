//! Digests in `pg_stat_statements`
//! (<https://www.postgresql.org/docs/current/pgstatstatements.html>), and what they say of tables.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use octavo_recording::digest::{Catalog, Class, Column, Digest, Expression, Style, Table};
use octavo_script::words;
use serde::Deserialize;

use super::{
    original::{Original, Refusal, SCHEMAS},
    recording::DIALECT,
    sample::hashed,
    setup::names,
};
use crate::{
    Result,
    own::digested::{Digests, FoundDigests, ROWS, Wanted, order},
};

/// The schema of the extension, where the database has it.
const SCHEMA: &str = "\
    SELECT json_build_array((SELECT quote_ident(n.nspname) FROM pg_extension AS e \
      JOIN pg_namespace AS n ON n.oid = e.extnamespace \
      WHERE e.extname = 'pg_stat_statements'))";

/// Columns have other names before version 1.8, and all statements count as a client's before 1.9.
const QUESTION: &str = "\
    SELECT coalesce(json_agg(json_build_object('text', t.query, 'role', t.userid::bigint, \
        'calls', t.calls, 'milliseconds', t.milliseconds, 'rows', t.rows)), '[]') FROM \
      (SELECT s.query, s.userid, sum(s.calls) AS calls, sum(s.rows) AS rows, \
          sum(coalesce(j ->> 'total_exec_time', j ->> 'total_time')::float8) AS milliseconds \
        FROM SCHEMA.pg_stat_statements AS s, LATERAL to_jsonb(s) AS j \
        WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND coalesce((j ->> 'toplevel')::boolean, true) AND s.query IS NOT NULL \
        GROUP BY s.query, s.userid) AS t";

/// What names mean to the roles that ran statements. The path of a role is that of its sessions in
/// this database, unless they set another one; what the server's own settings say is not known where
/// the account has a path of its own, and is then taken to be PostgreSQL's default. Relations count
/// whose name another schema has too.
const PATHS: &str = "\
    SELECT json_build_object( \
      'schemas', (SELECT SCHEMAS), \
      'roles', (SELECT coalesce(json_agg(json_build_object('number', r.oid::bigint, \
          'name', r.rolname, 'path', coalesce( \
            (SELECT substr(of, 13) FROM pg_db_role_setting AS s, unnest(s.setconfig) AS of \
              WHERE s.setrole IN (0, r.oid) AND s.setdatabase IN (0, d.oid) \
              AND left(of, 12) = 'search_path=' \
              ORDER BY s.setrole = 0, s.setdatabase = 0 LIMIT 1), \
            (SELECT CASE WHEN EXISTS (SELECT FROM pg_db_role_setting AS s, \
                  unnest(s.setconfig) AS of WHERE left(of, 12) = 'search_path=' \
                  AND s.setrole = (SELECT oid FROM pg_roles WHERE rolname = session_user) \
                  AND s.setdatabase IN (0, d.oid)) \
                THEN boot_val ELSE reset_val END \
              FROM pg_settings WHERE name = 'search_path')))), '[]') \
        FROM pg_roles AS r, pg_database AS d WHERE d.datname = current_database() \
        AND r.oid IN (SELECT userid FROM EXTENSION.pg_stat_statements WHERE dbid = d.oid)), \
      'twice', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT c.relname AS name, \
          json_agg(n.nspname) AS schemas FROM pg_class AS c \
          JOIN pg_namespace AS n ON n.oid = c.relnamespace \
          WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' \
          AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
          GROUP BY c.relname HAVING count(*) > 1) AS t))";

/// See [`PATHS`].
#[derive(Deserialize)]
struct Paths {
    /// Those of the account's path.
    schemas: Vec<String>,
    roles: Vec<Role>,
    twice: Vec<Twice>,
}

#[derive(Deserialize)]
struct Role {
    number: u32,
    name: String,
    path: String,
}

/// A name that several schemas have.
#[derive(Deserialize)]
struct Twice {
    name: String,
    schemas: Vec<String>,
}

/// What stands before the text of a digest whose names mean other tables than the account's: no
/// statement begins with it, so that it is left out, and the lists of digests show it.
const OTHER_PATH: &str = "OTHER_SEARCH_PATH";

/// What such a digest begins with. All others are left out anyway.
const NAMING: [&str; 6] = ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"];

/// What a digest's text is for who may not read it.
const HIDDEN: &str = "<insufficient privilege>";

#[derive(Deserialize)]
struct Counted {
    text: String,
    /// Who ran it.
    role: u32,
    calls: f64,
    milliseconds: f64,
    rows: f64,
}

/// Tables with their columns, their unique keys and where foreign keys begin. `indnkeyatts` came
/// with version 11. A table is visible if the first schema of the account's path with something of
/// that name is the table's.
const TABLES: &str = "\
    SELECT coalesce(json_agg(t), '[]') FROM (SELECT n.nspname AS schema, c.relname AS name, \
      format('%I.%I', n.nspname, c.relname) AS sql, \
      coalesce(n.nspname = (SELECT v.nspname \
        FROM unnest(SCHEMAS) WITH ORDINALITY AS s(name, place) \
        JOIN pg_namespace AS v ON v.nspname = s.name \
        JOIN pg_class AS r ON r.relnamespace = v.oid AND r.relname = c.relname \
        ORDER BY s.place LIMIT 1), false) AS is_visible, \
      (SELECT coalesce(json_agg(json_build_object('number', a.attnum, 'name', a.attname, \
          'sql', quote_ident(a.attname), 'kind', coalesce(b.typname, y.typname), \
          'is_array', coalesce(b.typcategory, y.typcategory) = 'A', \
          'length', CASE WHEN a.atttypmod > 4 AND y.typname IN ('varchar', 'bpchar') \
            THEN a.atttypmod - 4 END) ORDER BY a.attnum), '[]') \
        FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid \
        LEFT JOIN pg_type AS b ON b.oid = y.typbasetype \
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns, \
      (SELECT coalesce(json_agg((SELECT json_agg(k.number ORDER BY k.place) \
          FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place) \
          WHERE k.place <= coalesce((to_jsonb(i) ->> 'indnkeyatts')::int, i.indnatts)) \
          ORDER BY i.indisprimary DESC, i.indexrelid), '[]') \
        FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique) AS keys, \
      EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisexclusion) \
        AS is_exclusive, \
      (SELECT coalesce(json_agg(DISTINCT k), '[]') FROM pg_constraint AS o, \
          unnest(o.conkey) AS k WHERE o.conrelid = c.oid AND o.contype = 'f') AS foreign \
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
      WHERE (c.relkind IN ('r', 'p') OR c.relkind = 'm' AND c.relispopulated) \
      AND c.relpersistence <> 't' \
      AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')) AS t";

#[derive(Deserialize)]
struct FoundTable {
    schema: String,
    name: String,
    sql: String,
    is_visible: bool,
    columns: Vec<FoundColumn>,
    /// Numbers of columns; 0 is an expression.
    keys: Vec<Vec<i32>>,
    is_exclusive: bool,
    foreign: Vec<i32>,
}

#[derive(Deserialize)]
struct FoundColumn {
    number: i32,
    name: String,
    sql: String,
    kind: String,
    is_array: bool,
    length: Option<u32>,
}

/// Reads what the server counted of the database.
pub(super) fn read(original: &Original) -> Result<FoundDigests> {
    let (schema,): (Option<String>,) = original.ask(SCHEMA)?;
    let Some(schema) = schema else {
        return Ok(FoundDigests::None(
            "pg_stat_statements is not in the database (CREATE EXTENSION pg_stat_statements)"
                .into(),
        ));
    };
    let counted: Vec<Counted> = match original.try_ask(&QUESTION.replace("SCHEMA", &schema))? {
        Ok(counted) => counted,
        Err(refusal) => {
            let is_ascii = original.setup().encoding() == "SQL_ASCII";
            return Ok(FoundDigests::None(reason(&refusal, is_ascii)));
        }
    };
    let paths = PATHS.replace("SCHEMAS", &format!("to_json({SCHEMAS})"));
    let paths: Paths = original.ask(&paths.replace("EXTENSION", &schema))?;
    let tables: Vec<FoundTable> = original.ask(&TABLES.replace("SCHEMAS", SCHEMAS))?;
    let digests = merged(counted, &paths).into_iter().map(|of| Digest {
        most: None,
        text: of.text,
        calls: of.calls.max(0.0) as u64,
        took: Duration::try_from_secs_f64(of.milliseconds / 1000.0).unwrap_or_default(),
        rows: of.rows.max(0.0) as u64,
    });
    Ok(FoundDigests::Usable(Digests {
        digests: digests.collect(),
        lost: 0,
        catalog: Catalog {
            tables: tables.into_iter().map(table).collect(),
        },
        dialect: &DIALECT,
        style: Style::Numbered,
        hidden: Some(HIDDEN),
        query,
        around: |_| None,
    }))
}

/// Why nothing was counted, as half a sentence. The view converts the texts of all databases to the
/// encoding of this one. One without an encoding may have others that are not UTF-8.
fn reason(refusal: &Refusal, is_ascii: bool) -> String {
    match refusal.code.as_deref() {
        Some("42501") => "pg_stat_statements cannot be read by your account".into(),
        Some("22021" | "22P05") if !is_ascii => {
            "a statement of another database cannot be written in this one's encoding \
             (pg_stat_statements_reset there)"
                .into()
        }
        _ if refusal.reason.contains("shared_preload_libraries") => {
            "pg_stat_statements is not in shared_preload_libraries".into()
        }
        _ => format!("pg_stat_statements cannot be read: {}", refusal.reason),
    }
}

/// What different users ran is one digest, unless it means other tables.
fn merged(counted: Vec<Counted>, paths: &Paths) -> Vec<Counted> {
    let others: HashMap<u32, Vec<&str>> = paths
        .roles
        .iter()
        .map(|role| (role.number, others(role, paths)))
        .collect();
    let mut all: BTreeMap<String, Counted> = BTreeMap::new();
    for mut of in counted {
        let mut names = others.get(&of.role).into_iter().flatten();
        if names.any(|name| is_named(&of.text, name)) {
            of.text = format!("{OTHER_PATH} {}", of.text);
        }
        match all.get_mut(&of.text) {
            Some(before) => {
                before.calls += of.calls;
                before.milliseconds += of.milliseconds;
                before.rows += of.rows;
            }
            None => {
                all.insert(of.text.clone(), of);
            }
        }
    }
    all.into_values().collect()
}

/// The names that mean something else to a role than to the account.
fn others<'p>(role: &Role, paths: &'p Paths) -> Vec<&'p str> {
    let path = names(&role.path).into_iter();
    let path: Vec<String> = path
        .map(|name| match name.as_str() {
            "$user" => role.name.clone(),
            _ => name,
        })
        .collect();
    let first = |path: &[String], of: &Twice| {
        let found = path.iter().find(|schema| of.schemas.contains(schema));
        found.cloned()
    };
    // What only one of them finds is refused, or was.
    let differs = |of: &&Twice| match (first(&path, of), first(&paths.schemas, of)) {
        (Some(theirs), Some(ours)) => theirs != ours,
        _ => false,
    };
    let differing = paths.twice.iter().filter(differs);
    differing.map(|of| of.name.as_str()).collect()
}

/// Whether a text has a name, without a schema before it. A column of that name counts as well.
fn is_named(text: &str, name: &str) -> bool {
    let first = words(text).into_iter().next().unwrap_or_default();
    if !NAMING.contains(&first.as_str()) {
        return false;
    }
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_part = |of: char| of.is_alphanumeric() || matches!(of, '_' | '$');
    text.match_indices(&name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        !behind.starts_with(is_part)
            && !before.ends_with(is_part)
            && !before.trim_end_matches(['"', ' ']).ends_with('.')
    })
}

fn table(found: FoundTable) -> Table {
    let place = |number: &i32| found.columns.iter().position(|of| of.number == *number);
    // A key of an expression is not known.
    let keys: Vec<Option<Vec<usize>>> = found
        .keys
        .iter()
        .map(|key| key.iter().map(place).collect())
        .collect();
    Table {
        has_other_keys: found.is_exclusive || keys.contains(&None),
        keys: keys.into_iter().flatten().collect(),
        columns: found
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                sql: column.sql.clone(),
                class: class(column),
                is_foreign: found.foreign.contains(&column.number),
            })
            .collect(),
        schema: found.schema,
        name: found.name,
        sql: found.sql,
        is_visible: found.is_visible,
    }
}

fn class(column: &FoundColumn) -> Class {
    if column.is_array {
        return Class::Array;
    }
    match column.kind.as_str() {
        "int2" | "int4" | "int8" => Class::Integer,
        "numeric" | "float4" | "float8" => Class::Number,
        "text" | "varchar" | "bpchar" | "citext" => Class::Text(column.length.unwrap_or(u32::MAX)),
        "uuid" => Class::Uuid,
        "bytea" => Class::Bytes,
        _ => Class::Other,
    }
}

/// A hash of a key puts rows into the same order with every page size, and its neighbors apart.
fn query(table: &Table, wanted: &Wanted) -> String {
    let mut columns: Vec<String> = wanted
        .columns
        .iter()
        .map(|(column, expression)| {
            let name = &table.columns[*column].sql;
            match expression {
                Expression::Value => format!("{name}::text"),
                Expression::Lower => format!("lower({name}::text)"),
                Expression::Upper => format!("upper({name}::text)"),
                Expression::Element => format!("({name})[1]::text"),
            }
        })
        .collect();
    let drawn = columns.len();
    for column in &wanted.largest {
        let name = &table.columns[*column].sql;
        columns.push(match table.columns[*column].class {
            Class::Integer => format!("(SELECT max({name}) FROM {})::text", table.sql),
            _ => "NULL::text".into(),
        });
    }
    if columns.is_empty() {
        columns.push("NULL::text".into());
    }
    let order = order(table, wanted).join("::text, ");
    let order = match order.as_str() {
        "" => String::new(),
        order => format!(
            " ORDER BY {}",
            hashed(&format!("concat_ws('|', {order}::text)"))
        ),
    };
    let ties = (1..=drawn).map(|place| format!(", {place}"));
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

    fn counted(text: &str, role: u32) -> Counted {
        Counted {
            text: text.into(),
            role,
            calls: 2.0,
            milliseconds: 1.0,
            rows: 3.0,
        }
    }

    #[test]
    fn statements_of_another_path_are_kept_apart() {
        let paths: Paths = serde_json::from_str(
            r#"{"schemas": ["pg_catalog", "public"], "roles": [
                {"number": 1, "name": "anna", "path": "\"$user\", public"},
                {"number": 2, "name": "ben", "path": "\"$user\", public"},
                {"number": 3, "name": "cleo", "path": "\"Of Anna\", anna"}],
                "twice": [{"name": "orders", "schemas": ["public", "anna"]},
                    {"name": "lines", "schemas": ["b", "anna"]}]}"#,
        )
        .unwrap();
        let others = paths.roles.iter().map(|role| others(role, &paths));
        let others: Vec<_> = others.collect();
        assert_eq!(others, [vec!["orders"], vec![], vec!["orders"]]);
        let text = "SELECT FROM orders";
        let one = "SELECT FROM customers";
        let all = [counted(text, 1), counted(text, 2), counted(text, 9)];
        let all = all.into_iter().chain([counted(one, 1), counted(one, 2)]);
        let merged = merged(all.collect(), &paths);
        let merged: Vec<_> = merged.iter().map(|of| (&*of.text, of.calls)).collect();
        assert_eq!(
            merged,
            [
                ("OTHER_SEARCH_PATH SELECT FROM orders", 2.0),
                (one, 4.0),
                (text, 4.0)
            ]
        );
    }

    #[test]
    fn names_are_found_without_a_schema() {
        for (text, is) in [
            ("SELECT * FROM orders WHERE a = $1", true),
            ("SELECT * FROM \"Orders\"", true),
            ("select 1 from a,Orders", true),
            ("SELECT * FROM anna.orders", false),
            ("SELECT * FROM \"a\" . \"orders\"", false),
            ("SELECT * FROM old_orders, orders2", false),
            ("COPY orders TO STDOUT", false),
        ] {
            assert_eq!(is_named(text, "orders"), is, "{text}");
        }
    }

    #[test]
    fn reasons_follow_the_code() {
        let reason = |code: Option<&str>, text: &str, is_ascii| {
            let refusal = Refusal {
                code: code.map(Into::into),
                reason: text.into(),
            };
            reason(&refusal, is_ascii)
        };
        let denied = reason(Some("42501"), "keine Berechtigung", false);
        assert!(denied.ends_with("by your account"), "{denied}");
        let odd = reason(Some("22P05"), "no equivalent", false);
        assert!(odd.starts_with("a statement of another"), "{odd}");
        let bytes = reason(Some("22021"), "invalid byte sequence", true);
        assert!(bytes.ends_with("invalid byte sequence"), "{bytes}");
        let load = "pg_stat_statements must be loaded via shared_preload_libraries";
        assert!(reason(Some("55000"), load, false).contains("is not in"));
    }
}
