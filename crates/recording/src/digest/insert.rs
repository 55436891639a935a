//! The rows that a digest inserts.

use std::ops::Range;

use super::{
    catalog::Catalog,
    lexed::{Item, LIST, Style, closing},
};
use crate::left::Left;

/// What an INSERT inserts.
#[derive(Debug)]
pub(crate) struct Insert {
    /// The position of the table in the catalog.
    pub(crate) table: usize,
    /// The position of each column.
    pub(crate) columns: Vec<usize>,
    /// Where the values begin: a bracket, or the word SET.
    pub(crate) values: usize,
    /// Whether rows that are there already are no error.
    pub(crate) takes_conflicts: bool,
}

/// What a statement inserts, where it says which columns its values are of.
pub(crate) fn insert(items: &[Item], catalog: &Catalog, style: Style) -> Option<Insert> {
    let first = items
        .iter()
        .position(|item| item.is_one_of(&["INSERT", "REPLACE"]))?;
    // Another statement, which calls a function of that name.
    if first > 0 && !items[0].is("WITH") {
        return None;
    }
    let mut at = first + 1;
    while items
        .get(at)?
        .is_one_of(&["INTO", "IGNORE", "LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED"])
    {
        at += 1;
    }
    let mut parts = vec![items.get(at)?.name(style)?];
    at += 1;
    while items.get(at)?.is_sign(b'.') {
        parts.push(items.get(at + 1)?.name(style)?);
        at += 2;
    }
    let schema = parts.iter().rev().nth(1).map(String::as_str);
    let table = catalog.table(schema, parts.last()?)?;
    if items.get(at)?.is("AS") {
        at += 2;
    }
    let of = &catalog.tables[table];
    let mut columns: Vec<usize> = (0..of.columns.len()).collect();
    if items.get(at)?.is_sign(b'(') {
        let end = closing(items, at)?;
        let names = items[at + 1..end].iter().filter(|item| !item.is_sign(b','));
        columns = names
            .map(|item| of.column(&item.name(style)?))
            .collect::<Option<_>>()?;
        at = end + 1;
    }
    if items.get(at)?.is("OVERRIDING") {
        at += 3;
    }
    let values = match items.get(at)? {
        item if item.is_one_of(&["VALUES", "VALUE"]) => at + 1,
        item if item.is("SET") => {
            columns = Vec::new();
            at
        }
        _ => return None,
    };
    // It was cut.
    items.get(values)?;
    let takes_conflicts = items[first].is("REPLACE")
        || items[first..values].iter().any(|item| item.is("IGNORE"))
        || items[values..]
            .windows(2)
            .any(|pair| pair[0].is("ON") && pair[1].is_one_of(&["CONFLICT", "DUPLICATE"]));
    Some(Insert {
        table,
        columns,
        values,
        takes_conflicts,
    })
}

impl Insert {
    /// The values of each row: where each one stands.
    pub(crate) fn rows(&self, items: &[Item]) -> Vec<Vec<Range<usize>>> {
        let mut rows = Vec::new();
        let mut at = self.values;
        while items.get(at).is_some_and(|item| item.is_sign(b'(')) {
            let Some(end) = closing(items, at) else { break };
            rows.push(parts(items, at + 1..end));
            at = end + 1;
            if items.get(at).is_some_and(|item| item.is_sign(b',')) {
                at += 1;
            }
        }
        rows
    }
}

/// The parts of a list with commas between them.
pub(crate) fn parts(items: &[Item], range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut begin = range.start;
    for at in range.clone() {
        match items[at] {
            Item::Sign(b'(' | b'[') => depth += 1,
            Item::Sign(b')' | b']') => depth = depth.saturating_sub(1),
            Item::Sign(b',') if depth == 0 => {
                parts.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(begin..range.end);
    parts
}

/// Puts parameters in the places of values that a server has counted as one, and numbers them.
/// Answers how many there are.
///
/// # Errors
/// [`Left::Shortened`] where nobody knows how many values there were.
pub(crate) fn lengthen(items: &mut Vec<Item>, catalog: &Catalog) -> Result<usize, Left> {
    const STYLE: Style = Style::Marked;
    let inserted =
        insert(items, catalog, STYLE).map(|insert| (insert.values, insert.columns.len()));
    let mut out: Vec<Item> = Vec::with_capacity(items.len() + 8);
    let is_dots =
        |at: usize| (at..at + 3).all(|at| items.get(at).is_some_and(|item| item.is_sign(b'.')));
    let mut at = 0;
    while at < items.len() {
        if !is_dots(at) {
            out.push(items[at].clone());
            at += 1;
            continue;
        }
        let is_whole = out.last().is_some_and(|item| item.is_sign(b'('));
        let open = super::lexed::opening(&out, out.len());
        let before = open.and_then(|open| out.get(open.checked_sub(1)?));
        let of_insert = inserted.filter(|(values, _)| open == Some(*values));
        let wanted = if let Some((_, columns)) = of_insert {
            // The others of its row are there: this row may have one such gap.
            let end = closing_of_rest(items, at + 3).ok_or(Left::Shortened)?;
            let behind = parts(items, at + 3..end).len() - 1;
            let open = open.unwrap_or_default();
            let ahead = match is_whole {
                true => 0,
                // What is before the comma, a parameter of the gap itself among them.
                false => super::lexed::commas(&out, open, out.len()),
            };
            columns
                .checked_sub(ahead + behind)
                .filter(|wanted| *wanted > 0)
        } else if before.is_some_and(|item| item.is("IN")) && is_whole {
            Some(LIST)
        } else if is_whole
            && before.is_some_and(|item| item.is_sign(b'(') || matches!(item, Item::Operator(_)))
        {
            tuple_before(&out, open)
        } else if limit_before(&out) || before.is_some_and(|item| item.is_one_of(&ARGUMENTS)) {
            Some(1)
        } else {
            None
        };
        for position in 0..wanted.ok_or(Left::Shortened)? {
            if position > 0 {
                out.push(Item::Sign(b','));
            }
            out.push(Item::Parameter(0));
        }
        at += 3;
    }
    let mut number = 0;
    for at in 0..out.len() {
        let is_column = at > 0 && out[at - 1].is("BY");
        if let Item::Parameter(position) = &mut out[at] {
            if is_column {
                // A column by its number, which servers do not keep.
                out[at] = Item::Other("1".into());
                continue;
            }
            *position = number;
            number += 1;
        }
    }
    *items = out;
    Ok(number)
}

/// Functions that a second value of theirs changes nothing of what they read.
const ARGUMENTS: [&str; 6] = ["LEFT", "RIGHT", "ROUND", "SUBSTR", "SUBSTRING", "TRUNCATE"];

/// The bracket that ends what `at` stands directly within.
fn closing_of_rest(items: &[Item], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (position, item) in items.iter().enumerate().skip(at) {
        match item {
            Item::Sign(b'(' | b'[') => depth += 1,
            Item::Sign(b')' | b']') if depth == 0 => return Some(position),
            Item::Sign(b')' | b']') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether the last items are of LIMIT.
fn limit_before(items: &[Item]) -> bool {
    matches!(items, [.., limit, Item::Parameter(_), comma] if limit.is("LIMIT") && comma.is_sign(b','))
}

/// How many columns the row has that a row of values from `open` on is compared with.
fn tuple_before(items: &[Item], open: Option<usize>) -> Option<usize> {
    let mut at = open?.checked_sub(1)?;
    // `( a , b ) IN ( ( ... ) )`
    if items[at].is_sign(b'(') {
        at = at.checked_sub(1)?;
        if !items[at].is("IN") {
            return None;
        }
    }
    at = at.checked_sub(1)?;
    if items[at].is("NOT") {
        at = at.checked_sub(1)?;
    }
    if !items[at].is_sign(b')') {
        return None;
    }
    let begin = super::lexed::opening(items, at)?;
    Some(super::lexed::commas(items, begin, at) + 1)
}
