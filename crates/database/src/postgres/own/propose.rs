//! What a guess of statements needs to know of a database's tables.

use serde::Deserialize;

use super::original::Original;
use crate::{
    Result,
    own::guess::{Guess, Table, guess},
};

/// A table whose primary key is one whole number.
#[derive(Clone, Debug, Deserialize)]
struct Found {
    /// In SQL, as all names.
    name: String,
    key: String,
    /// Whether an insert may leave the key out.
    is_numbered: bool,
    /// All other columns that can be set, with their types.
    columns: Vec<(String, String)>,
    /// The first columns of other indexes that find equal values, those with the most values first.
    indexed: Vec<String>,
    /// Columns of any index.
    in_indexes: Vec<String>,
    /// Whether another index is unique.
    is_unique: bool,
    /// Whether constraints and triggers say what rows may be.
    is_guarded: bool,
}

/// `attgenerated` came with version 12.
const QUESTION: &str = "\
    SELECT coalesce(json_agg(t), '[]') FROM (SELECT \
      format('%I.%I', n.nspname, c.relname) AS name, quote_ident(k.attname) AS key, \
      k.attidentity <> '' OR k.atthasdef AS is_numbered, \
      (SELECT coalesce(json_agg(json_build_array(quote_ident(a.attname), y.typname) \
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
      (SELECT coalesce(json_agg(DISTINCT quote_ident(a.attname)), '[]') \
        FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = c.oid \
        AND a.attnum = ANY (i.indkey) WHERE i.indrelid = c.oid) AS in_indexes, \
      EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND NOT i.indisprimary \
        AND (i.indisunique OR i.indisexclusion)) AS is_unique, \
      EXISTS (SELECT FROM pg_constraint AS o WHERE o.conrelid = c.oid AND o.contype = 'c') \
        OR EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal) \
        AS is_guarded \
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
        let columns = of.columns.iter().map(|(name, _)| name);
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
            format!("(SELECT json_build_array(min({key}), max({key})) FROM {name})")
        })
        .collect();
    let question = format!("SELECT json_build_array({})", ends.join(", "));
    let ends: Vec<(Option<i64>, Option<i64>)> = original.ask(&question)?;
    let tables = found.into_iter().zip(ends);
    let tables = tables.filter_map(|(of, ends)| Some(table(of, (ends.0?, ends.1?))));
    let all = original.ask(ALL)?;
    Ok(guess(original.name(), tables.collect(), all))
}

fn table(of: Found, (first, last): (i64, i64)) -> Table {
    let is_free = |(name, _): &&(String, String)| !of.in_indexes.contains(name);
    let changes = of.columns.iter().filter(is_free);
    let change = changes.filter_map(|(name, kind)| change(name, kind)).next();
    let columns: Vec<String> = of.columns.iter().map(|(name, _)| name.clone()).collect();
    let can_insert = of.is_numbered && !of.is_unique && !of.is_guarded && !columns.is_empty();
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

/// What an update sets a column of a type to: as long as it was, and in the range of every type.
fn change(c: &str, kind: &str) -> Option<String> {
    Some(match kind {
        "int2" | "int4" | "int8" | "numeric" | "float4" | "float8" => {
            format!("{c} = CASE WHEN {c} > 100 THEN {c} - :step ELSE {c} + :step END")
        }
        "text" | "varchar" | "bpchar" => format!("{c} = chr(96 + :step) || substr({c}, 2)"),
        _ => return None,
    })
}
