//! Statements in a database's words.

use std::collections::BTreeMap;

use octavo_recording::{
    FORMS_MAX, Left,
    digest::{Class, Expression, Planned},
};
use octavo_script::Part;
use octavo_workload::user::{
    DrawnDigest, LeftOut, OwnDigests, OwnStatement, Prepared, ValueSource,
};

use super::{
    Describe, OwnError, Refused, Runnable, Shown, Statements,
    digested::{Digests, Wanted, is_end, is_program_s},
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
        of_calls: digests.lost,
        time: None,
        ends: 0,
        left: Vec::new(),
    };
    let mut left: BTreeMap<Left, u64> = BTreeMap::new();
    let mut first_refusal = None;
    let mut drawn: Vec<DrawnDigest> = Vec::new();
    let mut asked: BTreeMap<usize, Question> = BTreeMap::new();
    let (mut took, mut took_all) = (0.0, 0.0);
    for (number, digest) in digests.sorted().into_iter().enumerate() {
        if is_end(&digest.text) {
            told.ends += digest.calls;
            continue;
        }
        if !is_program_s(&digest.text) {
            continue;
        }
        let planned = digests.plan(digest);
        if planned == Err(Left::Tool) {
            continue;
        }
        told.of += 1;
        told.of_calls += digest.calls;
        took_all += digest.took.as_secs_f64();
        let result = planned.and_then(|planned| match drawn.len() < FORMS_MAX {
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
        let described = describe(&shown).and_then(|(statement, _)| {
            let more = questions(digests, &planned, &asked, describe)?;
            Ok((statement, more))
        });
        match described {
            Ok((statement, more)) => {
                asked.extend(more);
                told.digests += 1;
                told.calls += digest.calls;
                took += digest.took.as_secs_f64();
                drawn.push(DrawnDigest {
                    statement,
                    name: digest.name(),
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
    if digests.lost > 0 {
        told.left.push(LeftOut {
            reason: "that your server had no room to count apart (of all databases)".into(),
            statements: digests.lost,
        });
    }
    if told.calls == 0 {
        let left = told.left.iter();
        let left = left.map(|of| format!("{} {}", of.statements, of.reason));
        let left: Vec<String> = left.collect();
        let reason = match left.is_empty() {
            true => "there is none".into(),
            false => format!("there are {}", left.join(", ")),
        };
        return Err(OwnError::NoDigest {
            reason: first_refusal.unwrap_or(reason),
        });
    }
    let sources = asked.into_iter();
    let sources = sources.map(|(table, question)| source(digests, table, question));
    let sources: Vec<ValueSource> = sources.collect();
    Ok(Runnable {
        prepared: Prepared::digests(drawn, sources, check),
        digests: Some(told),
    })
}

/// What is asked for the values of a table.
struct Question {
    wanted: Wanted,
    statement: OwnStatement,
}

/// The questions for the values of a digest that differ from those `asked` so far: each asks for all
/// of a table that other digests want as well. Tried with each digest, because what a database does
/// not answer would leave the others without values too.
fn questions(
    digests: &Digests,
    planned: &Planned,
    asked: &BTreeMap<usize, Question>,
    describe: &mut Describe<'_>,
) -> Result<Vec<(usize, Question)>, Refused> {
    let mut questions = Vec::new();
    for (table, mut wanted) in digests.wanted(planned) {
        if let Some(Question { wanted: known, .. }) = asked.get(&table) {
            let is_asked = wanted.columns.is_subset(&known.columns)
                && wanted.largest.is_subset(&known.largest);
            if is_asked {
                continue;
            }
            wanted.add(known);
        }
        let parts = [Part::Text((digests.query)(
            &digests.catalog.tables[table],
            &wanted,
        ))];
        let shown = Shown {
            parts: &parts,
            parameters: 0,
            line: 1,
            is_alone: true,
            wants_columns: true,
        };
        let (statement, _) = describe(&shown)?;
        questions.push((table, Question { wanted, statement }));
    }
    Ok(questions)
}

/// The values of a table.
fn source(digests: &Digests, table: usize, question: Question) -> ValueSource {
    let Question { wanted, statement } = question;
    let of = &digests.catalog.tables[table];
    let class = |column: usize| of.columns[column].class;
    ValueSource {
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
    }
}
