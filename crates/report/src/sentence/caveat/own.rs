//! Warnings about the user's own rows and statements.

use octavo_experiment::{
    caveats::{Caveat, MissedStatement},
    findings::Findings,
};
use octavo_workload::user::{LeftOut, SampledTable};

use crate::{
    naming,
    number::{count, counted, list, number, percent, percent_fine},
};

/// Cells, tables or statements that a sentence names; of more it says how many.
pub(super) const NAMED_MAX: usize = 6;

/// The words of what is to be said of the user's own rows and statements; `None` of all else.
pub(crate) fn of_own(caveat: &Caveat) -> Option<String> {
    Some(match caveat {
        Caveat::Guessed {
            of,
            without,
            without_digests,
        } => format!(
            "The statements are a guess from the schema of {of}{}, and your program's may choose \
             another page size. {}Print them with --show-script, edit them, and give them with --script.",
            of_without(without),
            without_digests
                .as_ref()
                .map_or_else(String::new, |why| format!("Digests were not used: {why}. "))
        ),
        Caveat::Digested {
            calls,
            of_calls,
            time,
            ends,
            left,
            ..
        } => {
            let part = match left.is_empty() {
                true => String::new(),
                false => format!(
                    " {} can be sent. Left out: {}.",
                    digested_part(*calls, *of_calls, *time),
                    left_out(left)
                ),
            };
            let ends = match ends {
                0 => String::new(),
                ends => format!(" ({} that begin or end them are left out)", count(*ends)),
            };
            format!(
                "The statements are digests, which have no order, sessions, transactions{ends} or values. \
                 Each was sent alone. Values were drawn evenly from those in its columns, so rows that \
                 your program uses more than others are not known, and another page size may be the best \
                 for it. Give a --recording to be sure.{part}"
            )
        }
        Caveat::DigestsFailed { failed, of, most } => format!(
            "{} of {} digests failed on the copy (most often {most}), as drawn values may not fit \
             together. List them with --show-script --digests.",
            count(*failed),
            count(*of)
        ),
        Caveat::CopyUnlike { how } => format!(
            "The copy is not as your database in everything, and what is best may differ: {}.",
            how.join("; ")
        ),
        Caveat::SampledUnevenly { tables } => uneven(tables),
        Caveat::RareScript { script, runs } => {
            let ran = match runs {
                0 => "never ran".to_owned(),
                1 => "ran once".to_owned(),
                runs => format!("ran {} times", count(*runs)),
            };
            format!(
                "{script} {ran} with one of the page sizes, so what it costs is hardly in the \
                 comparison, however much that is. Use a larger --budget, or measure {script} alone."
            )
        }
        Caveat::NothingSent => "No statement of your scripts was sent: no \\if that has one ever held. What is \
                                compared here is no work of the database's. Look at what the script draws."
            .into(),
        Caveat::FoundNothing { statements, of } => {
            let (they, them) = match statements.len() {
                1 => ("This statement", "it"),
                _ => ("These statements", "them"),
            };
            let whole = statements.len().to_string() + " of " + &of.to_string();
            format!(
                "{they} ({whole}) found or changed no row, or hardly ever: {}. Your program's may, and cost \
                 more. Look at {them}, and at what the script draws.",
                list(statements, "and")
            )
        }
        Caveat::SampleMissed { statements } => missed(statements),
        Caveat::RecordedInPart {
            statements,
            recorded,
            time,
            left,
        } => {
            let share = recorded_part(*statements, *recorded, *time);
            let share = naming::capital(&share);
            format!("{share} can be sent again. Left out: {}.", left_out(left))
        }
        Caveat::RecordedFailed { failed, of, most } => format!(
            "{} of {} recorded statements failed on the copy, and their transactions were rolled back \
             (most often {most}). They may need rows of the time when the recording began \
             (--copy-of a backup of it), or rights outside of your tables, which a copy gives to nobody; have \
             been sent before; or have failed then too.",
            count(*failed),
            count(*of)
        ),
        Caveat::RecordedAgain { rounds } => format!(
            "The recording was sent up to {} times in a row. From the second time on, its reads may \
             find their rows in the cache, and its changes may change nothing or fail. Give a longer \
             recording.",
            number(*rounds)
        ),
        Caveat::PaceNotKept {
            page_size,
            late_p50_ms,
            late_max_ms,
        } => format!(
            "Saturated with {page_size} pages: sessions did not keep the pace of the recording, and \
             transactions began late (p50 {} ms, max {} ms). Response times are those of a queue, \
             which grows with the run. Use a lower --pace, such as 0.5x.",
            number(*late_p50_ms),
            number(*late_max_ms)
        ),
        Caveat::RecordedBeginning { share } => format!(
            "Only the first {} of the recording was sent, and the rest may give another answer. Give \
             more time (--budget, --passes), or a part of the recording that stands for all.",
            percent(*share)
        ),
        _ => return None,
    })
}

/// What a guess leaves out, of much the beginning.
fn of_without(without: &[String]) -> String {
    let mut named: Vec<String> = without.iter().take(NAMED_MAX).cloned().collect();
    if without.len() > NAMED_MAX {
        named.push(format!("{} more", without.len() - NAMED_MAX));
    }
    match named.is_empty() {
        true => String::new(),
        false => format!(" without {}", list(&named, "and")),
    }
}

/// Tables of a sample that have far more or fewer rows than were asked for.
fn uneven(tables: &[SampledTable]) -> String {
    /// More names are not read.
    const MOST: usize = 5;
    let told = tables.iter().take(MOST);
    let told = told.map(|SampledTable { table, kept, of }| {
        format!("{table} has {} of {} rows", count(*kept), count(*of))
    });
    let mut told: Vec<String> = told.collect();
    if let Some(more @ 1..) = tables.len().checked_sub(MOST) {
        told.push(format!("{} as well", counted(more as u64, "other table")));
    }
    format!(
        "Foreign keys gave tables another share of rows than you asked for, so they use memory otherwise \
         than on all rows: {}.",
        told.join("; ")
    )
}

/// Statements that often found no row of a sample.
fn missed(statements: &[MissedStatement]) -> String {
    let told = statements.iter().take(NAMED_MAX);
    let told = told.map(|MissedStatement { name, share }| format!("{} of {name}", percent(*share)));
    let mut told: Vec<String> = told.collect();
    if let Some(more @ 1..) = statements.len().checked_sub(NAMED_MAX) {
        told.push(format!(
            "many of {}",
            counted(more as u64, "other statement")
        ));
    }
    format!(
        "Runs found or changed no row: {}. The rows may not be in the sample, and such runs cost less than \
         your program's. Draw keys that were copied (WHERE id >= :id ORDER BY id LIMIT 1), or give a \
         larger --sample.",
        told.join("; ")
    )
}

/// Behind a recording's name, where not all of it runs: ", 97% of its statements". Behind digests:
/// ", 84% of its statements, 91% of their time".
pub(crate) fn part_of_recording(findings: &Findings) -> String {
    let own = findings.plan.own.as_ref();
    if let Some(digests) = own.and_then(|own| own.digests.as_ref())
        && digests.calls < digests.of_calls
    {
        let share = recorded_share(digests.calls, digests.of_calls);
        let time = digests.time.map_or_else(String::new, |time| {
            format!(", {} of their time", not_all(time))
        });
        return format!(", {share} of its statements{time}");
    }
    let recording = own.and_then(|own| own.recording.as_ref());
    match recording.filter(|recording| recording.statements < recording.recorded) {
        Some(recording) => {
            let share = recorded_share(recording.statements, recording.recorded);
            format!(", {share} of its statements")
        }
        None => String::new(),
    }
}

fn recorded_share(statements: u64, recorded: u64) -> String {
    not_all(statements as f64 / recorded.max(1) as f64)
}

/// A share that is written as all of it only if it is.
fn not_all(share: f64) -> String {
    match (0.9995..1.0).contains(&share) {
        true => "over 99.9%".into(),
        false => percent_fine(share).replace(".0%", "%"),
    }
}

/// "97% of the recorded statements (16,103 of 16,535), with 71% of their time,".
pub(in crate::sentence) fn recorded_part(
    statements: u64,
    recorded: u64,
    time: Option<f64>,
) -> String {
    let share = recorded_share(statements, recorded);
    let time = time.map_or_else(String::new, |time| {
        format!(", with {} of their time,", not_all(time))
    });
    format!(
        "{share} of the recorded statements ({} of {}){time}",
        count(statements),
        count(recorded)
    )
}

/// "97% of the statements that your server has counted (16,103 of 16,535), with 71% of their time,".
pub(in crate::sentence) fn digested_part(calls: u64, of_calls: u64, time: Option<f64>) -> String {
    let share = recorded_share(calls, of_calls);
    let time = time.map_or_else(String::new, |time| {
        format!(", with {} of their time,", not_all(time))
    });
    format!(
        "{share} of the statements that your server has counted ({} of {}){time}",
        count(calls),
        count(of_calls)
    )
}

/// Statements by reason, unusual and frequent ones first: "12 VACUUM, 5 SET and 3 others".
fn left_out(left: &[LeftOut]) -> String {
    /// Reasons that are named.
    const NAMED: usize = 4;
    let mut left: Vec<&LeftOut> = left.iter().collect();
    // What is no usual word of SQL says more.
    let is_word = |of: &LeftOut| {
        of.reason
            .starts_with(|first: char| first.is_ascii_uppercase())
    };
    left.sort_by_key(|of| (is_word(of), std::cmp::Reverse(of.statements)));
    let (named, others) = left.split_at(left.len().min(NAMED));
    let mut parts: Vec<String> = named
        .iter()
        .map(|of| format!("{} {}", count(of.statements), of.reason))
        .collect();
    let others: u64 = others.iter().map(|of| of.statements).sum();
    if others > 0 {
        parts.push(format!("{} others", count(others)));
    }
    list(&parts, "and")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_miss_a_sample_are_named() {
        let statement = |line: u64| MissedStatement {
            name: format!("pr.sql, line {line}"),
            share: 0.67,
        };
        let said = |statements: u64| {
            let statements = (1..=statements).map(statement).collect();
            of_own(&Caveat::SampleMissed { statements }).unwrap()
        };
        assert!(
            said(1).starts_with("Runs found or changed no row: 67% of pr.sql, line 1. "),
            "{}",
            said(1)
        );
        assert!(
            said(8).contains("; many of 2 other statements."),
            "{}",
            said(8)
        );
    }

    #[test]
    fn tables_of_uneven_samples_are_named() {
        let table = |place: u64| SampledTable {
            table: format!("table_{place}"),
            kept: place,
            of: 20_000,
        };
        let said = |tables: u64| {
            let tables = (0..tables).map(table).collect();
            of_own(&Caveat::SampledUnevenly { tables }).unwrap()
        };
        assert!(
            said(2).ends_with(": table_0 has 0 of 20,000 rows; table_1 has 1 of 20,000 rows."),
            "{}",
            said(2)
        );
        assert!(
            said(7).ends_with("; 2 other tables as well."),
            "{}",
            said(7)
        );
    }
}
