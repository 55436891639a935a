//! The rows that the statements touch.

use std::{collections::HashMap, sync::Arc};

use super::{contents::Contents, key::KeyId};
use crate::{
    connection::{StatementId, Value},
    shape::TableStatement,
    touch::{Hits, Place, RowModel},
};

/// Where keys are in their order.
pub(super) struct TouchedRows {
    contents: Arc<Contents>,
    tables: Vec<TouchedTable>,
    key: String,
    value: String,
}

struct TouchedTable {
    /// The places of all initial keys, in order.
    places: Vec<u64>,
    /// The places of later keys behind each initial one.
    later: HashMap<u64, Vec<u64>>,
}

impl TouchedTable {
    /// Where a key is; it is there, or inserted with that.
    fn row(&mut self, place: u64) -> Place {
        match self.places.binary_search(&place) {
            Ok(initial) => Place::initial(initial as u64),
            Err(above) => {
                let initial = (above as u64).saturating_sub(1);
                let later = self.later.entry(initial).or_default();
                let position = later.iter().position(|other| *other == place);
                let position = position.unwrap_or_else(|| {
                    later.push(place);
                    later.len() - 1
                });
                Place::behind(initial, position as u64)
            }
        }
    }

    /// The initial row where one would be that is not there.
    fn beside(&self, place: u64) -> Place {
        let above = self.places.partition_point(|initial| *initial < place);
        Place::initial((above as u64).saturating_sub(1))
    }
}

impl TouchedRows {
    pub(super) fn new(contents: Arc<Contents>) -> Self {
        let tables = contents.tables.iter().map(|table| {
            let all = (0..table.keys).map(|number| table.form.place(KeyId::of(number)));
            let mut places: Vec<u64> = all.collect();
            places.sort_unstable();
            TouchedTable {
                places,
                later: HashMap::new(),
            }
        });
        Self {
            tables: tables.collect(),
            contents,
            key: String::new(),
            value: String::new(),
        }
    }

    /// Answers with a row's value.
    fn value(&mut self, table: usize, number: u64) {
        self.value.clear();
        let version = self.contents.first_version(table, number);
        self.contents.push(&mut self.value, table, number, version);
    }
}

impl RowModel for TouchedRows {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let (table, statement) = TableStatement::named(statement);
        let text = |position: usize| match parameters.get(position) {
            Some(Value::Text(text)) => *text,
            _ => "",
        };
        let key = match statement {
            TableStatement::Put => text(1),
            _ => text(0),
        };
        let form = self.contents.tables[table].form;
        let id = form.read(key, &mut self.key).unwrap_or(KeyId::of(0));
        let place = form.place(id);
        let of = &mut self.tables[table];
        let Some(number) = id.number() else {
            // The page where it would be is read all the same.
            hits.rows(of.beside(place), 1);
            return 0;
        };
        match statement {
            TableStatement::Get => {
                hits.rows(of.row(place), 1);
                self.value(table, number);
                hits.answer(&[Value::Text(&self.value)])
            }
            TableStatement::Find => {
                hits.rows(of.row(place), 1);
                hits.answer(&[Value::Text(key)])
            }
            TableStatement::Put | TableStatement::Insert | TableStatement::Delete => {
                hits.row(of.row(place))
            }
            TableStatement::Range => {
                let first = of.row(place);
                let wanted = match parameters.get(1) {
                    Some(Value::Integer(rows)) => rows.unsigned_abs(),
                    _ => 0,
                };
                let left = (of.places.len() as u64).saturating_sub(first.initial);
                let rows = wanted.min(left.max(1));
                hits.rows(first, rows);
                let begin = usize::try_from(first.initial).unwrap_or(usize::MAX);
                for row in 0..rows {
                    // What the first row has to be is the key that was asked for.
                    let next = usize::try_from(row)
                        .ok()
                        .and_then(|row| begin.checked_add(row));
                    let next = next.and_then(|next| self.tables[table].places.get(next));
                    let shown = match (row, next) {
                        (0, _) | (_, None) => place,
                        (_, Some(next)) => *next,
                    };
                    self.key.clear();
                    form.push_place(&mut self.key, shown);
                    self.value(table, form.at(shown).number().unwrap_or(number));
                    hits.answer(&[Value::Text(&self.key), Value::Text(&self.value)]);
                }
                rows
            }
        }
    }
}
