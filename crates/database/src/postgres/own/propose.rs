//! What a guess of statements needs to know of a database's tables.

use serde::Deserialize;

use super::original::Original;
use crate::{
    Result,
    own::guess::{DIGITS_MIN, Guess, Table, guess, has_room},
};

/// A table whose primary key is one whole number.
#[derive(Clone, Debug, Deserialize)]
struct Found {
    /// In SQL, as all names.
    name: String,
    key: String,
    /// What numbers rows that are inserted without a key.
    sequence: Option<Sequence>,
    /// All other columns that can be set.
    columns: Vec<Column>,
    /// The first columns of other indexes that find equal values, those with the most values first.
    indexed: Vec<String>,
    /// Columns that have to stay as they are: those of any index or foreign key, and those that an
    /// index or a computed column reads.
    bound: Vec<String>,
    /// Whether another index is unique, for some of the rows too.
    is_unique: bool,
    /// Whether constraints, triggers and rules say what rows may be. Of the tables below another one it
    /// is not known.
    is_guarded: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Column {
    name: String,
    kind: String,
    /// Of a number with a precision: how many digits it may have before its point.
    digits: Option<i32>,
}

/// A sequence that has a key's type, and gives nothing but a number.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Sequence {
    oid: u32,
    step: i64,
    /// The highest number that sequence and key can have.
    highest: i64,
}

/// The lowest and the highest key, and the last number that the key's sequence gave.
type Ends = (Option<i64>, Option<i64>, Option<i64>);

/// `attgenerated` came with version 12. What an expression reads stands in its tree as `:varattno`, with
/// 0 for the whole row.
const QUESTION: &str = "\
    SELECT coalesce(json_agg(t), '[]') FROM (SELECT \
      format('%I.%I', n.nspname, c.relname) AS name, quote_ident(k.attname) AS key, \
      (SELECT json_build_object('oid', q.seqrelid::bigint, 'step', q.seqincrement, \
          'highest', least(q.seqmax, CASE k.atttypid WHEN 'int2'::regtype THEN 32767 \
            WHEN 'int4'::regtype THEN 2147483647 ELSE q.seqmax END)) \
        FROM pg_sequence AS q WHERE q.seqincrement > 0 AND q.seqrelid IN ( \
          SELECT d.objid FROM pg_depend AS d WHERE k.attidentity <> '' \
            AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass \
            AND d.refobjid = c.oid AND d.refobjsubid = k.attnum AND d.deptype = 'i' \
          UNION ALL SELECT d.refobjid FROM pg_attrdef AS e \
            JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid \
            WHERE e.adrelid = c.oid AND e.adnum = k.attnum \
            AND d.refclassid = 'pg_class'::regclass \
            AND pg_get_expr(e.adbin, e.adrelid) ~ '^nextval[(]''[^'']+''::regclass[)]$') LIMIT 1) \
        AS sequence, \
      (SELECT coalesce(json_agg(json_build_object('name', quote_ident(a.attname), \
          'kind', y.typname, 'digits', CASE WHEN y.typname = 'numeric' AND a.atttypmod >= 4 THEN \
            ((a.atttypmod - 4) >> 16 & 65535) - ((((a.atttypmod - 4) & 2047) # 1024) - 1024) END) \
          ORDER BY a.attnum), '[]') \
        FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid \
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
        AND coalesce(to_jsonb(a) ->> 'attgenerated', '') = '' AND a.attidentity <> 'a' \
        AND a.attnum <> k.attnum) AS columns, \
      (SELECT coalesce(json_agg(f.name ORDER BY f.found DESC, f.name), '[]') FROM \
        (SELECT DISTINCT quote_ident(a.attname) AS name, CASE WHEN s.n_distinct < 0 \
            THEN -s.n_distinct * greatest(c.reltuples, 1) ELSE coalesce(s.n_distinct, 0) END AS found \
          FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid \
          JOIN pg_am AS m ON m.oid = x.relam AND m.amname IN ('btree', 'hash') \
          JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
          LEFT JOIN pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname \
            AND s.attname = a.attname AND NOT s.inherited \
          WHERE i.indrelid = c.oid AND NOT i.indisprimary AND i.indpred IS NULL) AS f) AS indexed, \
      (SELECT coalesce(json_agg(quote_ident(a.attname)), '[]') \
        FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND ( \
          EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid \
            AND (a.attnum = ANY (i.indkey) OR concat(i.indexprs, i.indpred) \
              ~ concat(':varattno (0|', a.attnum, ') '))) \
          OR EXISTS (SELECT FROM pg_attrdef AS e WHERE e.adrelid = c.oid \
            AND e.adbin::text ~ concat(':varattno (0|', a.attnum, ') ')) \
          OR EXISTS (SELECT FROM pg_constraint AS o WHERE o.conrelid = c.oid AND o.contype = 'f' \
            AND a.attnum = ANY (o.conkey)))) AS bound, \
      EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND NOT i.indisprimary \
        AND (i.indisunique OR i.indisexclusion)) AS is_unique, \
      EXISTS (SELECT FROM pg_constraint AS o WHERE o.conrelid = c.oid AND o.contype = 'c') \
        OR EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal) \
        OR c.relkind = 'p' OR c.relhassubclass OR c.relhasrules AS is_guarded \
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
      JOIN pg_index AS p ON p.indrelid = c.oid AND p.indisprimary AND p.indnatts = 1 \
      JOIN pg_attribute AS k ON k.attrelid = c.oid AND k.attnum = p.indkey[0] \
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition \
      AND k.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) \
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
      ORDER BY c.reltuples DESC, 1 LIMIT 100) AS t";

/// Tables that have rows, or that nobody has counted.
const ALL: &str = "\
    SELECT coalesce(json_agg(format('%I.%I', n.nspname, c.relname) \
        ORDER BY c.reltuples DESC, c.relname), '[]') \
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.reltuples <> 0 \
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')";

/// See [`guess`].
pub(super) fn propose(original: &Original) -> Result<Option<Guess>> {
    let found: Vec<Found> = original.ask(QUESTION)?;
    // Names that would not stay whole in a script's lines.
    let is_plain = |of: &Found| {
        let columns = of.columns.iter().map(|column| &column.name);
        let mut names = columns.chain([&of.name, &of.key]);
        names.all(|name| !name.contains(char::is_control))
    };
    let found: Vec<Found> = found.into_iter().filter(is_plain).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let ends: Vec<String> = found
        .iter()
        .map(|of| {
            let Found { name, key, .. } = of;
            // A sequence is asked within the snapshot of its rows, so that it is never behind one.
            let last = of
                .sequence
                .map_or("NULL::bigint".into(), |Sequence { oid, .. }| {
                    format!(
                        "CASE WHEN has_sequence_privilege({oid}, 'SELECT,USAGE') \
                     THEN pg_sequence_last_value({oid}) END"
                    )
                });
            format!("(SELECT json_build_array(min({key}), max({key}), {last}) FROM {name})")
        })
        .collect();
    // It names a table of the server's own, so that digests do not take it for a program's.
    let question = format!(
        "SELECT json_build_array({}) FROM pg_catalog.pg_am WHERE amname = 'btree'",
        ends.join(", ")
    );
    let ends: Vec<Ends> = original.ask(&question)?;
    let tables = found.into_iter().zip(ends);
    let tables = tables.filter_map(|(of, ends)| Some(table(of, (ends.0?, ends.1?), ends.2)));
    let all = original.ask(ALL)?;
    Ok(guess(original.name(), tables.collect(), all))
}

fn table(of: Found, (first, last): (i64, i64), given: Option<i64>) -> Table {
    let is_free = |column: &&Column| !of.bound.contains(&column.name);
    let changes = of.columns.iter().filter(is_free);
    let change = changes.filter_map(change).next();
    let columns: Vec<String> = of
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    // Rows that were imported with their keys leave the sequence behind.
    let is_numbered = of.sequence.zip(given).is_some_and(|(sequence, given)| {
        given >= last && has_room(given, sequence.step.unsigned_abs(), sequence.highest)
    });
    let can_insert = is_numbered && !of.is_unique && !of.is_guarded && !columns.is_empty();
    Table {
        name: of.name,
        key: of.key,
        own_key: Vec::new(),
        first,
        last,
        indexed: of.indexed,
        change: change.filter(|_| !of.is_guarded),
        limits_updates: false,
        inserted: can_insert.then_some(columns),
    }
}

/// What an update sets a column to: as long as it was, and in the range of its type.
fn change(column: &Column) -> Option<String> {
    let c = &column.name;
    Some(match column.kind.as_str() {
        "int2" | "int4" | "int8" | "numeric" | "float4" | "float8"
            if column.digits.is_none_or(|digits| digits >= DIGITS_MIN) =>
        {
            format!("{c} = CASE WHEN {c} > 100 THEN {c} - :step ELSE {c} + :step END")
        }
        "text" | "varchar" | "bpchar" => format!("{c} = chr(96 + :step) || substr({c}, 2)"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
