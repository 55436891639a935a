//! Digests as the statements of a workload.

use std::sync::{Arc, Mutex};

use octavo_recording::digest::{Draw, Expression};

use super::{
    Prepared, Runs,
    digests::{DigestKind, Drawn, DrawnCall, DrawnDigest, Place, Source, ValueSource},
    statement::{OwnCall, verb},
    with_check,
};
use crate::{connection::Statement, transaction::TransactionKind};

impl Prepared {
    /// Of digests, with where their values come from.
    ///
    /// # Panics
    /// When a digest draws from what no source has.
    pub fn digests(
        digests: Vec<DrawnDigest>,
        sources: Vec<ValueSource>,
        check: Option<&'static str>,
    ) -> Self {
        let mut statements = with_check(check);
        let first_source = statements.len();
        let source_of = |table: usize| {
            let place = sources.iter().position(|source| source.table == table);
            place.expect("each table has a source")
        };
        let column_of = |source: usize, column: usize, expression: Expression| {
            let mut columns = sources[source].columns.iter();
            let place = columns.position(|of| (of.0, of.1) == (column, expression));
            place.expect("a source has the columns that are drawn")
        };
        let mut calls = Vec::new();
        let mut of_kinds: [Vec<(usize, u64)>; DigestKind::NAMES.len()] = Default::default();
        for (number, digest) in digests.iter().enumerate() {
            let mut rows: Vec<(usize, Vec<usize>)> = digest
                .rows
                .iter()
                .map(|row| (source_of(row.table), Vec::new()))
                .collect();
            let place = |draw: &Draw| match *draw {
                Draw::Column {
                    row,
                    column,
                    expression,
                } => Place::Column {
                    row,
                    column: column_of(rows[row].0, column, expression),
                },
                Draw::Next {
                    row,
                    column,
                    expression,
                } => Place::Next {
                    row,
                    column: column_of(rows[row].0, column, expression),
                },
                Draw::Several {
                    table,
                    column,
                    count,
                } => {
                    let source = source_of(table);
                    Place::Several {
                        source,
                        column: column_of(source, column, Expression::Value),
                        count,
                    }
                }
                Draw::New { table, column } => {
                    let source = source_of(table);
                    let mut largest = sources[source].largest.iter();
                    let place = largest.position(|of| of.0 == column);
                    Place::New {
                        source,
                        largest: place.expect("a source has the columns that are made"),
                    }
                }
                Draw::Amount => Place::Amount,
                Draw::Whole(number) => Place::Whole(number),
                Draw::Word(word) => Place::Word(word),
            };
            let values: Vec<Place> = digest.draws.iter().map(place).collect();
            for value in &values {
                if let Place::Column { row, column } | Place::Next { row, column } = *value
                    && digest.rows[row].is_found
                {
                    rows[row].1.push(column);
                }
            }
            let call = OwnCall {
                counted: Some(digest.name.clone()),
                ..OwnCall::new("", &digest.statement)
            };
            calls.push(DrawnCall { call, values, rows });
            let kind = match verb(&digest.statement.sql).as_str() {
                "SELECT" | "VALUES" | "TABLE" => DigestKind::Reads,
                _ => DigestKind::Writes,
            };
            let of_kind = &mut of_kinds[kind as usize];
            let before = of_kind.last().map_or(0, |(_, sum)| *sum);
            of_kind.push((number, before.saturating_add(digest.calls)));
        }
        let held = sources.iter().map(|source| Source {
            columns: source.columns.iter().map(|of| of.2).collect(),
            largest: source.largest.iter().map(|of| of.1).collect(),
        });
        let held = held.collect();
        statements.extend(
            sources
                .into_iter()
                .map(|of| Statement::of_user(of.statement)),
        );
        let first_statement = statements.len();
        statements.extend(digests.into_iter().map(|digest| Statement {
            // The values of most programs stood in their texts, for all that is known.
            is_planned_by_values: true,
            ..Statement::of_user(digest.statement)
        }));
        Self {
            runs: Runs::Digests(Arc::new(Drawn {
                calls,
                of_kinds,
                sources: held,
                first_source,
                first_statement,
                values: Mutex::new(None),
            })),
            statements: Vec::leak(statements),
            kinds: &const {
                [
                    TransactionKind::plain(DigestKind::NAMES[0]),
                    TransactionKind::plain(DigestKind::NAMES[1]),
                ]
            },
            has_check: check.is_some(),
            trace: None,
            needs_one_client: false,
        }
    }

    /// How often the digests of each kind ran; zeros for what is none.
    pub fn digest_kinds(&self) -> [u64; DigestKind::NAMES.len()] {
        match &self.runs {
            Runs::Digests(drawn) => drawn
                .of_kinds
                .each_ref()
                .map(|of_kind| of_kind.last().map_or(0, |(_, sum)| *sum)),
            Runs::Scripts(_) | Runs::Recorded(_) => [0; DigestKind::NAMES.len()],
        }
    }
}
