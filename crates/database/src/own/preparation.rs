//! Statements in a database's words.

use std::collections::BTreeMap;

use octavo_recording::digest::Class;
use octavo_recording::{FORMS_MAX, Left, digest::Expression};
use octavo_script::Part;
use octavo_workload::user::{DrawnDigest, LeftOut, OwnDigests, Prepared, ValueSource};

use super::{
    Describe, OwnError, Refused, Runnable, Shown, Statements,
    digested::{Digests, Wanted, is_end},
    prepare_recorded, prepare_scripts, without_values,
};

/// Statements as `describe` puts them into a database's words, with what that `check`s its data
/// by.
pub(crate) fn prepare(
    statements: Statements<'_>,
    check: Option<&'static str>,
    describe: &mut Describe<'_>,
) -> Result<Runnable, OwnError> {
    Ok(match statements {
        Statements::Scripts(scripts) => prepare_scripts(scripts, check, describe)?.into(),
        Statements::Recorded(recording, files) => {
            prepare_recorded(recording, files, check, describe)?.into()
        }
        Statements::Digests(digests) => prepare_digests(&digests, check, describe)?,
    })
}

/// Puts digests into a database's words.
///
/// # Errors
/// [`OwnError::NoDigest`] where none can run.
fn prepare_digests(
    digests: &Digests,
    check: Option<&'static str>,
    describe: &mut Describe<'_>,
) -> Result<Runnable, OwnError> {
    let mut told = OwnDigests {
        digests: 0,
        of: 0,
        calls: 0,
        of_calls: 0,
        time: None,
        ends: 0,
        left: Vec::new(),
    };
    let mut left: BTreeMap<Left, u64> = BTreeMap::new();
    let mut first_refusal = None;
    let mut drawn: Vec<DrawnDigest> = Vec::new();
    let mut wanted: BTreeMap<usize, Wanted> = BTreeMap::new();
    let (mut took, mut took_all) = (0.0, 0.0);
    for (number, digest) in digests.sorted().into_iter().enumerate() {
        if is_end(&digest.text) {
            told.ends += digest.calls;
            continue;
        }
        told.of += 1;
        told.of_calls += digest.calls;
        took_all += digest.took.as_secs_f64();
        let result = digests
            .plan(digest)
            .and_then(|planned| match drawn.len() < FORMS_MAX {
                true => Ok(planned),
                false => Err(Left::Rare),
            });
        let planned = match result {
            Ok(planned) => planned,
            Err(reason) => {
                *left.entry(reason).or_default() += digest.calls;
                continue;
            }
        };
        let shown = Shown {
            parts: &digests.parts(&planned),
            parameters: planned.draws.len(),
            line: number + 1,
            is_alone: true,
            wants_columns: false,
        };
        match describe(&shown) {
            Ok((statement, _)) => {
                for (table, of) in digests.wanted(&planned) {
                    wanted.entry(table).or_default().add(&of);
                }
                told.digests += 1;
                told.calls += digest.calls;
                took += digest.took.as_secs_f64();
                drawn.push(DrawnDigest {
                    statement,
                    name: format!("digest {}", number + 1),
                    draws: planned.draws,
                    rows: planned.rows,
                    calls: digest.calls,
                });
            }
            Err(Refused::Statement { message, .. }) => {
                first_refusal.get_or_insert_with(|| without_values(&message));
                *left.entry(Left::Refused).or_default() += digest.calls;
            }
            Err(Refused::Database(error)) => return Err(error.into()),
        }
    }
    told.time = (took_all > 0.0).then(|| took / took_all);
    told.left = left
        .iter()
        .map(|(reason, calls)| LeftOut {
            reason: reason.to_string(),
            statements: *calls,
        })
        .collect();
    if told.calls == 0 {
        let left = left.iter().map(|(why, calls)| format!("{calls} {why}"));
        let left: Vec<String> = left.collect();
        let reason = match left.is_empty() {
            true => "there is none".into(),
            false => format!("there are {}", left.join(", ")),
        };
        return Err(OwnError::NoDigest {
            reason: first_refusal.unwrap_or(reason),
        });
    }
    let mut sources = Vec::new();
    for (table, of) in &wanted {
        sources.push(source(digests, *table, of, describe)?);
    }
    Ok(Runnable {
        prepared: Prepared::digests(drawn, sources, check),
        digests: Some(told),
    })
}

/// The query for the values of a table.
fn source(
    digests: &Digests,
    table: usize,
    wanted: &Wanted,
    describe: &mut Describe<'_>,
) -> Result<ValueSource, OwnError> {
    let of = &digests.catalog.tables[table];
    let parts = [Part::Text((digests.query)(of, wanted))];
    let shown = Shown {
        parts: &parts,
        parameters: 0,
        line: 1,
        is_alone: true,
        wants_columns: true,
    };
    let (statement, _) = describe(&shown).map_err(|refused| match refused {
        Refused::Statement { message, .. } => OwnError::NoDigest {
            reason: without_values(&message),
        },
        Refused::Database(error) => error.into(),
    })?;
    let class = |column: usize| of.columns[column].class;
    Ok(ValueSource {
        table,
        statement,
        columns: wanted
            .columns
            .iter()
            .map(|(column, expression)| {
                // An element is of another type, which is not known.
                let class = match expression {
                    Expression::Value => class(*column),
                    _ => Class::Other,
                };
                (*column, *expression, class)
            })
            .collect(),
        largest: wanted.largest.iter().map(|of| (*of, class(*of))).collect(),
    })
}
