//! A digest as a statement, with what each of its values is drawn from.

use std::{collections::BTreeMap, ops::Range};

use octavo_script::{PARAMETERS_MAX, Part, words};

use super::{
    catalog::{Catalog, Class},
    compared::{By, Named, PartOf, Role, is_type},
    counted::Digest,
    insert::{Insert, insert, lengthen, parts},
    lexed::{Item, LIST, Style, lex, may_be_cut},
    tables::references,
};
use crate::{dialect::Dialect, gathering::SENT, left::Left};

/// A statement with values to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its SQL.
    pub parts: Vec<Part>,
    /// What each of its parameters is drawn from.
    pub draws: Vec<Draw>,
    /// The rows that it draws from, each anew in each run.
    pub rows: Vec<Row>,
}

/// A row that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The position of its table in the catalog.
    pub table: usize,
    /// Whether it is compared with, so that none of its values may be NULL.
    pub is_found: bool,
}

/// What a value of a column is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expression {
    /// As it is.
    Value,
    /// A text in small letters.
    Lower,
    /// A text in capitals.
    Upper,
    /// The first element of an array.
    Element,
}

/// What the value of a parameter is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// A column of a row.
    Column {
        /// The position of the row among [`Planned::rows`].
        row: usize,
        /// The position of the column in its table.
        column: usize,
        /// What of it.
        expression: Expression,
    },
    /// The next higher value than that of the row, so that a range has an end near its beginning.
    Next {
        /// As above.
        row: usize,
        /// As above.
        column: usize,
        /// As above.
        expression: Expression,
    },
    /// An array of so many values of a column, each of another row.
    Several {
        /// The position of the table in the catalog.
        table: usize,
        /// The position of the column in it.
        column: usize,
        /// How many.
        count: usize,
    },
    /// A value that no row has.
    New {
        /// The position of the table in the catalog.
        table: usize,
        /// The position of the column in it.
        column: usize,
    },
    /// A small number, another one each time.
    Amount,
    /// This number.
    Whole(i64),
    /// This word.
    Word(&'static str),
}

/// The most rows that LIMIT is given. Chosen.
const LIMIT_MAX: u64 = 10_000;

/// The fewest characters of a text that can be made new: as many hexadecimal digits as a number has.
const NEW_TEXT_MIN: u32 = 16;

/// A row's purpose in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// It is found, by all that is compared with its table.
    Found(usize),
    /// The same, the second or a later time: `a = $1 OR a = $2` asks for two.
    Again(usize, usize),
    /// It is inserted.
    Inserted(usize),
    /// It says what a table's rows are changed to.
    Set(usize),
    /// It is the value of one parameter alone.
    Alone(usize),
}

/// Makes a statement of a digest.
///
/// # Errors
/// Why it cannot be sent.
pub fn plan(
    digest: &Digest,
    dialect: &Dialect,
    style: Style,
    catalog: &Catalog,
) -> Result<Planned, Left> {
    let mut items = lex(&digest.text, dialect, style)?;
    let is_cut = digest.most.is_some_and(|most| may_be_cut(&items, most));
    let mut parameters = 0;
    let first = words(&digest.text).into_iter().next().unwrap_or_default();
    let is_bracketed = items.first().is_some_and(|item| item.is_sign(b'('));
    if !SENT.contains(&first.as_str()) && !is_bracketed {
        return Err(Left::of_word(&first));
    }
    let is_of_session = |item: &Item| item.is_one_of(dialect.session_functions);
    if items.iter().any(is_of_session) {
        return Err(Left::SessionLock);
    }
    match style {
        Style::Marked => tidy(&mut items),
        Style::Numbered => parameters = name_fields(&mut items),
    }
    let most = |parameters: usize| match parameters <= PARAMETERS_MAX {
        true => Ok(parameters),
        false => Err(Left::ManyValues),
    };
    // What follows looks around each value.
    most(parameters)?;
    let references = references(&mut items, catalog, style)?;
    // A tool's is one although it is cut.
    if is_cut {
        return Err(Left::NoEnd);
    }
    if style == Style::Marked {
        parameters = most(lengthen(&mut items, catalog)?)?;
    }
    // Lengthening moves what stands behind.
    let references = match style {
        Style::Marked => super::tables::references(&mut items, catalog, style)?,
        Style::Numbered => references,
    };
    let named = Named {
        items: &items,
        references: &references,
        catalog,
        style,
    };
    let mut planning = Planning {
        digest,
        catalog,
        named: &named,
        draws: vec![None; parameters],
        ends: BTreeMap::new(),
        purposes: Vec::new(),
        equal: BTreeMap::new(),
        rows: Vec::new(),
    };
    let inserted = insert(&items, catalog, style);
    if let Some(inserted) = &inserted {
        planning.insert(inserted)?;
    }
    for (at, item) in items.iter().enumerate() {
        if let Item::Parameter(position) = item
            && planning.draws[*position].is_none()
        {
            let role = named.role(at);
            if let Some(role) = role {
                planning.role(*position, role, inserted.as_ref())?;
            }
        }
    }
    planning.join_ends();
    let is_readable = |draw: &Draw| match *draw {
        Draw::Column { row, column, .. } | Draw::Next { row, column, .. } => {
            let table = &catalog.tables[planning.rows[row].table];
            table.columns[column].class != Class::Unreadable
        }
        Draw::Several { table, column, .. } | Draw::New { table, column } => {
            catalog.tables[table].columns[column].class != Class::Unreadable
        }
        Draw::Amount | Draw::Whole(_) | Draw::Word(_) => true,
    };
    let draws = planning.draws.into_iter().collect::<Option<Vec<Draw>>>();
    let draws = draws.filter(|draws| draws.iter().all(is_readable));
    Ok(Planned {
        parts: written(&items, style),
        draws: draws.ok_or(Left::NoColumn)?,
        rows: planning.rows,
    })
}

/// A field of a date is counted as a value, and cannot be a parameter: all are as long to find.
/// Numbers the parameters anew, as they stand, and answers how many there are.
fn name_fields(items: &mut [Item]) -> usize {
    for at in 2..items.len() {
        let is_field = items[at - 1].is_sign(b'(')
            && items[at - 2].is("EXTRACT")
            && items.get(at + 1).is_some_and(|next| next.is("FROM"));
        if is_field && matches!(items[at], Item::Parameter(_)) {
            items[at] = Item::Word("year".into());
        }
    }
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for item in items {
        if let Item::Parameter(position) = item {
            let next = places.len();
            *position = *places.entry(*position).or_insert(next);
        }
    }
    places.len()
}

/// What of a digest of MySQL's or MariaDB's is no SQL.
fn tidy(items: &mut Vec<Item>) {
    for item in items.iter_mut() {
        // The token's name in place of the unit's.
        if let Item::Word(word) = item
            && let Some(unit) = word.strip_prefix("SQL_TSI_")
        {
            *item = Item::Word(unit.to_owned());
        }
    }
    // The sign of a number is its own item.
    const BEFORE_VALUES: [&str; 15] = [
        "AND", "BETWEEN", "BY", "ELSE", "IN", "LIKE", "LIMIT", "OFFSET", "OR", "RETURN", "SELECT",
        "THEN", "WHEN", "WHERE", "INTERVAL",
    ];
    let mut at = 1;
    while at + 1 < items.len() {
        let is_sign = matches!(&items[at], Item::Operator(sign) if sign == "-" || sign == "+");
        let before = &items[at - 1];
        let is_unary = matches!(before, Item::Operator(_) | Item::Sign(b'(' | b','))
            || before.is_one_of(&BEFORE_VALUES);
        if is_sign && is_unary && matches!(items[at + 1], Item::Parameter(_)) {
            items.remove(at);
        } else {
            at += 1;
        }
    }
}

struct Planning<'p> {
    digest: &'p Digest,
    catalog: &'p Catalog,
    named: &'p Named<'p>,
    draws: Vec<Option<Draw>>,
    /// The parameters that end a range of a row's column, and those that begin one.
    ends: BTreeMap<(usize, usize), (Vec<usize>, bool)>,
    purposes: Vec<Purpose>,
    rows: Vec<Row>,
    /// How many values the columns of references are equal to.
    equal: BTreeMap<(usize, usize), usize>,
}

impl Planning<'_> {
    /// The row of a purpose.
    fn row(&mut self, purpose: Purpose, table: usize) -> usize {
        let known = self.purposes.iter().position(|of| *of == purpose);
        known.unwrap_or_else(|| {
            self.purposes.push(purpose);
            let is_found = matches!(
                purpose,
                Purpose::Found(_) | Purpose::Again(..) | Purpose::Alone(_)
            );
            self.rows.push(Row { table, is_found });
            self.rows.len() - 1
        })
    }

    fn table_of(&self, reference: usize) -> usize {
        self.named.references[reference].table
    }

    fn role(
        &mut self,
        parameter: usize,
        role: Role,
        inserted: Option<&Insert>,
    ) -> Result<(), Left> {
        let draw = match role {
            Role::Compared { of, part, by } => {
                let table = self.table_of(of.reference);
                let purpose = match by {
                    By::Other => Purpose::Alone(parameter),
                    By::Equality => {
                        let before = self.equal.entry((of.reference, of.column)).or_default();
                        *before += 1;
                        match *before {
                            1 => Purpose::Found(of.reference),
                            again => Purpose::Again(of.reference, again),
                        }
                    }
                    By::Least | By::Most => Purpose::Found(of.reference),
                };
                let row = self.row(purpose, table);
                let expression = expression(part);
                if matches!(by, By::Least | By::Most) {
                    let ends = self.ends.entry((row, of.column)).or_default();
                    match by {
                        By::Most => ends.0.push(parameter),
                        _ => ends.1 = true,
                    }
                }
                Draw::Column {
                    row,
                    column: of.column,
                    expression,
                }
            }
            Role::AnyOf(of) => Draw::Several {
                table: self.table_of(of.reference),
                column: of.column,
                count: LIST,
            },
            Role::Set(of) => {
                let table = self.table_of(of.reference);
                let conflict = inserted.is_some_and(|inserted| inserted.takes_conflicts);
                let is_key = self.catalog.tables[table]
                    .keys
                    .iter()
                    .any(|key| key.contains(&of.column));
                if is_key {
                    if conflict || !self.can_be_new(table, of.column) {
                        return Err(Left::NewKey);
                    }
                    Draw::New {
                        table,
                        column: of.column,
                    }
                } else {
                    Draw::Column {
                        row: self.row(Purpose::Set(of.reference), table),
                        column: of.column,
                        expression: Expression::Value,
                    }
                }
            }
            Role::Amount => Draw::Amount,
            Role::Limit => {
                let rows = self.digest.rows.div_ceil(self.digest.calls.max(1));
                let rows = rows.clamp(1, LIMIT_MAX);
                Draw::Whole(i64::try_from(rows).unwrap_or(1))
            }
            Role::Whole(number) => Draw::Whole(number),
            Role::Word(word) => Draw::Word(word),
        };
        self.draws[parameter] = Some(draw);
        Ok(())
    }

    /// A range with both ends reaches to the next value.
    fn join_ends(&mut self) {
        for (ends, has_begin) in self.ends.values() {
            for end in ends.iter().filter(|_| *has_begin) {
                if let Some(Draw::Column {
                    row,
                    column,
                    expression,
                }) = self.draws[*end]
                {
                    self.draws[*end] = Some(Draw::Next {
                        row,
                        column,
                        expression,
                    });
                }
            }
        }
    }

    /// Rows that are inserted are like others, but for their keys.
    fn insert(&mut self, inserted: &Insert) -> Result<(), Left> {
        let items = self.named.items;
        let mut rows: Vec<(Vec<usize>, Vec<Range<usize>>)> = Vec::new();
        if items[inserted.values].is("SET") {
            let end = (inserted.values..items.len())
                .find(|at| items[*at].is("ON"))
                .unwrap_or(items.len());
            let table = &self.catalog.tables[inserted.table];
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            for part in parts(items, inserted.values + 1..end) {
                // Nothing stands behind a comma where the server cut the text.
                let name = items.get(part.start).ok_or(Left::NoEnd)?;
                let name = name.name(self.named.style);
                let column = name.and_then(|name| table.column(&name));
                columns.push(column.ok_or(Left::NoColumn)?);
                values.push((part.start + 2).min(part.end)..part.end);
            }
            rows.push((columns, values));
        } else {
            for values in inserted.rows(items) {
                rows.push((inserted.columns.clone(), values));
            }
        }
        for (number, (columns, values)) in rows.into_iter().enumerate() {
            self.insert_row(inserted, number, &columns, &values)?;
        }
        Ok(())
    }

    fn insert_row(
        &mut self,
        inserted: &Insert,
        number: usize,
        columns: &[usize],
        values: &[Range<usize>],
    ) -> Result<(), Left> {
        let items = self.named.items;
        let table = &self.catalog.tables[inserted.table];
        // The columns whose values are parameters.
        let mut given: BTreeMap<usize, usize> = BTreeMap::new();
        for (column, value) in columns.iter().zip(values) {
            if let Some(parameter) = alone(items, value) {
                given.insert(*column, parameter);
            }
        }
        let mut new: Vec<usize> = Vec::new();
        if !inserted.takes_conflicts {
            if table.has_other_keys {
                return Err(Left::NewKey);
            }
            for key in &table.keys {
                // What the server numbers or calculates differs by itself.
                if !key.iter().all(|column| given.contains_key(column))
                    || key.iter().any(|column| new.contains(column))
                {
                    continue;
                }
                let mut candidates = key.iter().rev();
                let column = candidates.find(|column| self.can_be_new(inserted.table, **column));
                new.push(*column.ok_or(Left::NewKey)?);
            }
        }
        for (column, parameter) in given {
            let draw = match new.contains(&column) {
                true => Draw::New {
                    table: inserted.table,
                    column,
                },
                false => Draw::Column {
                    row: self.row(Purpose::Inserted(number), inserted.table),
                    column,
                    expression: Expression::Value,
                },
            };
            if self.draws[parameter].is_none() {
                self.draws[parameter] = Some(draw);
            }
        }
        Ok(())
    }

    /// Whether values can be made that no row has.
    fn can_be_new(&self, table: usize, column: usize) -> bool {
        let column = &self.catalog.tables[table].columns[column];
        let is_possible = match column.class {
            Class::Integer | Class::Uuid => true,
            Class::Text(length) => length >= NEW_TEXT_MIN,
            _ => false,
        };
        is_possible && !column.is_foreign
    }
}

fn expression(part: PartOf) -> Expression {
    match part {
        PartOf::Value => Expression::Value,
        PartOf::Lower => Expression::Lower,
        PartOf::Upper => Expression::Upper,
        PartOf::Element => Expression::Element,
    }
}

/// The parameter that is all of a value, but for casts.
fn alone(items: &[Item], value: &Range<usize>) -> Option<usize> {
    let own = &items[value.clone()];
    let own = match own {
        [cast, open, rest @ ..] if cast.is("CAST") && open.is_sign(b'(') => rest,
        own => own,
    };
    match own {
        [Item::Parameter(parameter)] => Some(*parameter),
        [Item::Parameter(parameter), Item::Operator(cast), ..] if cast == "::" => Some(*parameter),
        [Item::Parameter(parameter), next, ..] if next.is("AS") => Some(*parameter),
        [kind @ Item::Word(_), Item::Parameter(parameter)] if is_type(kind) => Some(*parameter),
        _ => None,
    }
}

/// The statement's text.
fn written(items: &[Item], style: Style) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while at < items.len() {
        let item = &items[at];
        let is_call =
            item.is_sign(b'(') && at > 0 && matches!(items[at - 1], Item::Word(_) | Item::Name(_));
        // A function of MySQL's needs its bracket beside it, and a variable its sign.
        let is_variable =
            at > 0 && matches!(&items[at - 1], Item::Operator(sign) if sign.starts_with('@'));
        if at > 0 && !((is_call || is_variable) && style == Style::Marked) {
            text.push(' ');
        }
        let next = items.get(at + 1);
        match (item, next) {
            (kind @ Item::Word(name), Some(Item::Parameter(position)))
                if style == Style::Numbered && is_type(kind) =>
            {
                text.push_str("CAST(");
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(Part::Parameter(*position));
                text = format!(" AS {name})");
                at += 1;
            }
            (Item::Parameter(position), _) => {
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(Part::Parameter(*position));
            }
            (Item::Word(word) | Item::Name(word) | Item::Operator(word) | Item::Other(word), _) => {
                text.push_str(word);
            }
            (Item::Sign(sign), _) => text.push(char::from(*sign)),
        }
        at += 1;
    }
    parts.push(Part::Text(text));
    parts.retain(|part| *part != Part::Text(String::new()));
    parts
}
