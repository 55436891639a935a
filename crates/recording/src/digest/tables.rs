//! The tables that a digest names, and what its columns' names mean.

use super::{
    catalog::Catalog,
    lexed::{Item, Style, closing, opening},
};
use crate::left::Left;

/// A table where a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Its position in the catalog.
    pub(crate) table: usize,
    /// What its columns may be prefixed with.
    pub(crate) name: String,
    /// The bracket that it stands in, if any.
    pub(crate) within: Option<usize>,
}

/// A column of a table that a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnOf {
    /// The position of the reference.
    pub(crate) reference: usize,
    /// The position of the column in its table.
    pub(crate) column: usize,
}

/// Words that are no alias behind a table's name.
const NO_ALIAS: [&str; 39] = [
    "AS",
    "CROSS",
    "EXCEPT",
    "FETCH",
    "FOR",
    "FORCE",
    "FULL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "INNER",
    "INTERSECT",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIMIT",
    "LOCK",
    "NATURAL",
    "OFFSET",
    "ON",
    "ORDER",
    "OVERRIDING",
    "PARTITION",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SET",
    "STRAIGHT_JOIN",
    "TABLESAMPLE",
    "UNION",
    "USE",
    "USING",
    "VALUE",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "DEFAULT",
];

/// Functions whose arguments have a FROM.
const WITH_FROM: [&str; 5] = ["EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"];

/// Words that end a list of tables.
const BEHIND_TABLES: [&str; 12] = [
    "WHERE",
    "GROUP",
    "ORDER",
    "LIMIT",
    "HAVING",
    "RETURNING",
    "UNION",
    "SET",
    "VALUES",
    "SELECT",
    "WINDOW",
    "FETCH",
];

/// Schemas of servers' own.
const SYSTEM: [&str; 5] = [
    "pg_catalog",
    "information_schema",
    "performance_schema",
    "mysql",
    "sys",
];

/// The tables that a statement names. Names of tables become as the catalog writes them, because
/// a server may have changed their case.
///
/// # Errors
/// [`Left::Tool`] where one is the server's own, and for what dumps a table.
pub(crate) fn references(
    items: &mut [Item],
    catalog: &Catalog,
    style: Style,
) -> Result<Vec<Reference>, Left> {
    let is_of_system = |item: &Item| matches!(item, Item::Word(word) if word.to_ascii_lowercase().starts_with("pg_stat"));
    // mariadb-dump and mysqldump read whole tables so, in a comment that digests do not keep.
    let is_dumped = items.get(1).is_some_and(|item| item.is("SQL_NO_CACHE"))
        && !items.iter().any(|item| item.is("WHERE"));
    if is_dumped || items.iter().any(is_of_system) {
        return Err(Left::Tool);
    }
    let common = common_names(items, style);
    let mut found = Vec::new();
    // The brackets within which a comma is followed by another table.
    let mut lists: Vec<Option<usize>> = Vec::new();
    // The brackets that are open, up to `seen`.
    let (mut open, mut seen) = (Vec::new(), 0);
    let mut at = 0;
    while at < items.len() {
        while seen < at {
            match items[seen] {
                Item::Sign(b'(' | b'[') => open.push(seen),
                Item::Sign(b')' | b']') => {
                    open.pop();
                }
                _ => {}
            }
            seen += 1;
        }
        let within = open.last().copied();
        let begins = begins_tables(items, at, within);
        let goes_on = items[at].is_sign(b',') && lists.last() == Some(&within);
        if begins {
            lists.retain(|list| *list != within);
            lists.push(within);
        } else if items[at].is_one_of(&BEHIND_TABLES) || items[at].is_sign(b')') {
            lists.retain(|list| *list != within);
        }
        at += 1;
        if !begins && !goes_on {
            continue;
        }
        while items
            .get(at)
            .is_some_and(|item| item.is_one_of(&["ONLY", "LATERAL", "IGNORE", "LOW_PRIORITY"]))
        {
            at += 1;
        }
        let Some(named) = named(items, at, style) else {
            continue;
        };
        let schema = named.parts.iter().rev().nth(1).map(String::as_str);
        let Some(name) = named.parts.last() else {
            continue;
        };
        let is_system = |name: &str| SYSTEM.iter().any(|of| of.eq_ignore_ascii_case(name));
        if schema.is_some_and(is_system) || name.starts_with("pg_") {
            return Err(Left::Tool);
        }
        let is_common = schema.is_none() && common.contains(name);
        let table = catalog.table(schema, name).filter(|_| !is_common);
        if let Some(table) = table {
            let mut alias = named.end;
            if items.get(alias).is_some_and(|item| item.is("AS")) {
                alias += 1;
            }
            let alias = items
                .get(alias)
                .filter(|item| !item.is_one_of(&NO_ALIAS))
                .and_then(|item| item.name(style));
            found.push(Reference {
                table,
                name: alias.unwrap_or_else(|| name.clone()),
                within,
            });
            let known = &catalog.tables[table].name;
            if style == Style::Marked && known != name {
                items[named.end - 1] = Item::Name(format!("`{}`", known.replace('`', "``")));
            }
        }
        at = named.end;
    }
    // Of no table: what programs that dump ask of the server itself.
    let is_catalog =
        |item: &Item| matches!(item, Item::Word(word) if word.eq_ignore_ascii_case("pg_catalog"));
    match found.is_empty() && items.iter().any(is_catalog) {
        true => Err(Left::Tool),
        false => Ok(found),
    }
}

/// Whether tables follow.
fn begins_tables(items: &[Item], at: usize, within: Option<usize>) -> bool {
    let before = at.checked_sub(1).map(|before| &items[before]);
    let is_behind = |words: &[&str]| before.is_some_and(|before| before.is_one_of(words));
    let function = within.and_then(|open| items.get(open.checked_sub(1)?));
    match &items[at] {
        item if item.is("FROM") => {
            !is_behind(&["DISTINCT"])
                && !function.is_some_and(|function| function.is_one_of(&WITH_FROM))
        }
        item if item.is("USING") => items.get(at + 1).is_some_and(|next| !next.is_sign(b'(')),
        item if item.is("UPDATE") => !is_behind(&["FOR", "KEY", "DO"]),
        item => item.is_one_of(&["JOIN", "STRAIGHT_JOIN", "INTO"]),
    }
}

struct Named {
    parts: Vec<String>,
    /// Behind its last part.
    end: usize,
}

/// A name with what stands before its points.
fn named(items: &[Item], at: usize, style: Style) -> Option<Named> {
    let mut parts = vec![items.get(at)?.name(style)?];
    let mut end = at + 1;
    while items.get(end).is_some_and(|item| item.is_sign(b'.')) {
        parts.push(items.get(end + 1)?.name(style)?);
        end += 2;
    }
    // A function that gives rows.
    let is_function = items.get(end).is_some_and(|item| item.is_sign(b'('))
        && !items[at.checked_sub(1)?].is("INTO");
    (!is_function).then_some(Named { parts, end })
}

/// The names that WITH gives.
fn common_names(items: &[Item], style: Style) -> Vec<String> {
    let mut names = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if !item.is("AS") || at == 0 {
            continue;
        }
        let mut next = at + 1;
        while items
            .get(next)
            .is_some_and(|item| item.is_one_of(&["NOT", "MATERIALIZED"]))
        {
            next += 1;
        }
        let has_query = items.get(next).is_some_and(|item| item.is_sign(b'('))
            && items.get(next + 1).is_some_and(|item| {
                item.is_one_of(&["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "VALUES"])
            });
        if !has_query {
            continue;
        }
        // Its columns may be named.
        let mut name = at - 1;
        if items[name].is_sign(b')') {
            let open = (0..name)
                .rev()
                .find(|open| items[*open].is_sign(b'(') && closing(items, *open) == Some(name));
            let Some(before) = open.and_then(|open| open.checked_sub(1)) else {
                continue;
            };
            name = before;
        }
        names.extend(items[name].name(style));
    }
    names
}

/// What a column's name means at a place: that of the nearest table that has it.
pub(crate) fn resolve(
    parts: &[String],
    at: usize,
    items: &[Item],
    references: &[Reference],
    catalog: &Catalog,
) -> Option<ColumnOf> {
    let (column, prefix) = parts.split_last()?;
    let of = |position: usize| {
        let reference = &references[position];
        let is_meant = prefix
            .last()
            .is_none_or(|prefix| reference.name.eq_ignore_ascii_case(prefix));
        let column = catalog.tables[reference.table].column(column)?;
        is_meant.then_some(ColumnOf {
            reference: position,
            column,
        })
    };
    let mut place = at;
    loop {
        let within = opening(items, place);
        let near = (0..references.len()).filter(|of| references[*of].within == within);
        if let Some(found) = near.into_iter().find_map(of) {
            return Some(found);
        }
        match within {
            Some(open) => place = open,
            None => break,
        }
    }
    // A column of a query in FROM or WITH has the name that its table gave it.
    let mut all = (0..references.len()).filter_map(|position| {
        let column = catalog.tables[references[position].table].column(column)?;
        Some(ColumnOf {
            reference: position,
            column,
        })
    });
    let first = all.next()?;
    let is_other =
        |other: &ColumnOf| references[other.reference].table != references[first.reference].table;
    (!all.any(|other| is_other(&other))).then_some(first)
}
