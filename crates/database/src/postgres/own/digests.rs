//! Digests in `pg_stat_statements`
//! (<https://www.postgresql.org/docs/current/pgstatstatements.html>), and what they say of tables.

use std::time::Duration;

use octavo_recording::digest::{Catalog, Class, Column, Digest, Expression, Style, Table};
use serde::Deserialize;

use super::{original::Original, recording::DIALECT};
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
/// What different users ran is one digest.
const QUESTION: &str = "\
    SELECT coalesce(json_agg(json_build_object('text', t.query, 'calls', t.calls, \
        'milliseconds', t.milliseconds, 'rows', t.rows)), '[]') FROM \
      (SELECT s.query, sum(s.calls) AS calls, sum(s.rows) AS rows, \
          sum(coalesce(j ->> 'total_exec_time', j ->> 'total_time')::float8) AS milliseconds \
        FROM SCHEMA.pg_stat_statements AS s, LATERAL to_jsonb(s) AS j \
        WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND coalesce((j ->> 'toplevel')::boolean, true) AND s.query IS NOT NULL \
        GROUP BY s.query) AS t";

/// What a digest's text is for who may not read it.
const HIDDEN: &str = "<insufficient privilege>";

#[derive(Deserialize)]
struct Counted {
    text: String,
    calls: f64,
    milliseconds: f64,
    rows: f64,
}

/// Tables with their columns, their unique keys and where foreign keys begin. `indnkeyatts` came
/// with version 11.
const TABLES: &str = "\
    SELECT coalesce(json_agg(t), '[]') FROM (SELECT n.nspname AS schema, c.relname AS name, \
      format('%I.%I', n.nspname, c.relname) AS sql, pg_table_is_visible(c.oid) AS is_visible, \
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
      WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' \
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
    let counted: Vec<Counted> = match original.ask(&QUESTION.replace("SCHEMA", &schema)) {
        Ok(counted) => counted,
        Err(error) => {
            let said = error.to_string();
            let reason = match said.contains("shared_preload_libraries") {
                true => "pg_stat_statements is not in shared_preload_libraries",
                false => "pg_stat_statements cannot be read by your account",
            };
            return Ok(FoundDigests::None(reason.into()));
        }
    };
    let tables: Vec<FoundTable> = original.ask(TABLES)?;
    let digests = counted.into_iter().map(|of| Digest {
        text: of.text,
        calls: of.calls.max(0.0) as u64,
        took: Duration::try_from_secs_f64(of.milliseconds / 1000.0).unwrap_or_default(),
        rows: of.rows.max(0.0) as u64,
    });
    Ok(FoundDigests::Usable(Digests {
        digests: digests.collect(),
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
        order => format!(" ORDER BY md5(concat_ws('|', {order}::text))"),
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
