//! What the user's own statements found: nothing, or not the same in all cells.

use std::collections::{BTreeMap, BTreeSet};

use octavo_workload::{
    Audit,
    user::{Own, OwnDigests, OwnRecording},
};

use crate::{
    caveats::{Caveat, MissedStatement},
    plan::Plan,
};

/// Runs of a statement that say what it finds. Chosen.
const STATEMENT_RUNS_MIN: u64 = 20;

/// A statement that finds a row in one of so many runs, or in fewer, is as good as one that never does:
/// the first ones may have deleted what the others were after. Chosen.
const FINDS_HARDLY: u64 = 1000;

/// The share of a statement's runs that may find no row of a sample without a word. Chosen: on all
/// rows some find none too.
const EMPTY_TOLERATED: f64 = 0.2;

/// Up to this share the rows a run of one statement may differ between cells with the same
/// transactions: clients come in another order. Chosen.
const ROWS_TOLERATED: f64 = 0.05;

/// … and up to so many standard deviations where cells did not run it as often: then clients drew
/// other values, too. Chosen.
const DEVIATIONS_TOLERATED: f64 = 3.0;

/// What a recording is sent more than once in a run without a word. Chosen.
const AGAIN_TOLERATED: f64 = 1.1;

/// The part of a recording that is taken for all of it. Chosen.
const BEGINNING_TOLERATED: f64 = 0.9;

/// What is to be said of the user's own rows and statements, and of what these found in each cell.
pub(crate) fn of_own(own: &Own, statements: &BTreeMap<usize, Audit>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if own.is_guess {
        caveats.push(Caveat::Guessed {
            of: own.copy.name.clone(),
            without: own.guess_without.clone(),
            without_digests: own.without_digests.clone(),
        });
    }
    caveats.extend(
        own.digests
            .iter()
            .flat_map(|digests| of_digests(digests, statements)),
    );
    if !own.unlike.is_empty() {
        caveats.push(Caveat::CopyUnlike {
            how: own.unlike.clone(),
        });
    }
    if !own.uneven.is_empty() {
        caveats.push(Caveat::SampledUnevenly {
            tables: own.uneven.clone(),
        });
    }
    let recording = own.recording.iter();
    caveats.extend(recording.flat_map(|recording| of_recording(recording, statements)));
    if own.recording.is_none() && own.digests.is_none() {
        caveats.extend(rare_script(own, statements));
        caveats.extend(nothing_sent(statements));
    }
    caveats.extend(found_nothing(statements));
    if own.copy.sample.is_some() {
        caveats.extend(missed_sample(statements));
    }
    caveats
}

/// Fewer runs of a script than this say little of what it costs. Chosen.
const SCRIPT_RUNS_MIN: u64 = 10;

/// The script that ran least in some cell, if that is too seldom.
fn rare_script(own: &Own, statements: &BTreeMap<usize, Audit>) -> Option<Caveat> {
    let least = own.scripts.iter().filter(|script| script.weight > 0);
    let least = least.filter_map(|script| {
        let name = format!("{} among transactions", script.name);
        let lines = statements.values().flat_map(|audit| &audit.lines);
        let runs = lines
            .filter(|line| line.name == name)
            .map(|line| line.count);
        Some((runs.min()?, script))
    });
    let (runs, script) = least.min_by_key(|(runs, _)| *runs)?;
    (runs < SCRIPT_RUNS_MIN).then(|| Caveat::RareScript {
        script: script.name.clone(),
        runs,
    })
}

/// That no statement ran in any cell, though transactions did.
fn nothing_sent(statements: &BTreeMap<usize, Audit>) -> Option<Caveat> {
    let all = || statements.values();
    let has_run = all()
        .flat_map(|audit| &audit.lines)
        .any(|line| line.total > 0);
    let mut counts = all().flat_map(|audit| &audit.statements);
    // Old stores do not have it.
    let is_known = all().any(|audit| !audit.statements.is_empty());
    (has_run && is_known && counts.all(|of| of.runs + of.failed == 0))
        .then_some(Caveat::NothingSent)
}

/// Statements that hardly ever found a row in any cell.
fn found_nothing(statements: &BTreeMap<usize, Audit>) -> Option<Caveat> {
    let mut all = Audit::default();
    for audit in statements.values() {
        all.merge(audit);
    }
    // What is not after rows has no name.
    let ran = all.statements.iter();
    let ran: Vec<_> = ran
        .filter(|of| !of.name.is_empty() && of.runs >= STATEMENT_RUNS_MIN)
        .collect();
    let nothing = ran.iter().filter(|of| {
        let found = of.runs.saturating_sub(of.empty);
        found <= of.runs / FINDS_HARDLY
    });
    let nothing: Vec<String> = nothing.map(|of| of.name.clone()).collect();
    (!nothing.is_empty()).then_some(Caveat::FoundNothing {
        statements: nothing,
        of: ran.len(),
    })
}

/// Statements that found a row in some runs, and none in too many.
fn missed_sample(statements: &BTreeMap<usize, Audit>) -> Option<Caveat> {
    let mut all = Audit::default();
    for audit in statements.values() {
        all.merge(audit);
    }
    let missed = all.statements.into_iter().filter_map(|of| {
        let share = of.empty as f64 / of.runs.max(1) as f64;
        let is_told = !of.name.is_empty()
            && of.runs >= STATEMENT_RUNS_MIN
            && of.empty < of.runs
            && share > EMPTY_TOLERATED;
        let name = of.name;
        is_told.then_some(MissedStatement { name, share })
    });
    let mut missed: Vec<MissedStatement> = missed.collect();
    missed.sort_by(|one, other| other.share.total_cmp(&one.share));
    (!missed.is_empty()).then_some(Caveat::SampleMissed { statements: missed })
}

/// The statement whose rows differ most between cells that are compared and ran the same
/// transactions, if that is too much.
pub(super) fn found_other(plan: &Plan, statements: &BTreeMap<usize, Audit>) -> Option<Caveat> {
    let transactions = |audit: &Audit| audit.lines.first().map(|line| line.total);
    let mut worst: Option<(f64, Caveat)> = None;
    for group in plan.groups() {
        let audits = group.cells.iter().filter_map(|cell| statements.get(cell));
        let audits: Vec<&Audit> = audits.collect();
        let Some(most) = audits.iter().filter_map(|audit| transactions(audit)).max() else {
            continue;
        };
        let alike = audits
            .iter()
            .filter(|audit| transactions(audit) == Some(most));
        let alike: Vec<&&Audit> = alike.collect();
        let names = alike.iter().flat_map(|audit| &audit.statements);
        let names: BTreeSet<&String> = names.map(|of| &of.name).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            // How often it ran is what clients drew: it says nothing of what it finds.
            let count = |audit: &&&Audit| {
                let found = audit.statements.iter().find(|of| of.name == *name)?;
                let (runs, rows) = (found.runs as f64, found.rows as f64);
                (found.runs >= STATEMENT_RUNS_MIN).then_some((runs, rows))
            };
            let counts: Vec<(f64, f64)> = alike.iter().filter_map(count).collect();
            let rate = |&(runs, rows): &(f64, f64)| rows / runs;
            let by_rate =
                |one: &&(f64, f64), other: &&(f64, f64)| rate(one).total_cmp(&rate(other));
            let (Some(least), Some(greatest)) =
                (counts.iter().min_by(by_rate), counts.iter().max_by(by_rate))
            else {
                continue;
            };
            let apart = 1.0 - rate(least) / rate(greatest);
            let tolerated = ROWS_TOLERATED.max(chance(*least, *greatest));
            let is_worst = worst.as_ref().is_none_or(|(most, _)| apart > *most);
            if apart > tolerated && is_worst {
                let caveat = Caveat::FoundOther {
                    statement: name.clone(),
                    least: rate(least),
                    most: rate(greatest),
                };
                worst = Some((apart, caveat));
            }
        }
    }
    worst.map(|(_, caveat)| caveat)
}

/// By which share the rows a run of two cells, each with its runs and rows, may differ by chance:
/// not at all where both ran the statement as often, since then they drew the same. Else the rows
/// of a run are taken to vary by as much as they are, whether these are few or many.
fn chance(one: (f64, f64), other: (f64, f64)) -> f64 {
    if one.0 == other.0 {
        return 0.0;
    }
    let variance = |(runs, rows): (f64, f64)| 1.0 / runs + 1.0 / rows.max(1.0);
    DEVIATIONS_TOLERATED * (variance(one) + variance(other)).sqrt()
}

/// How many runs failed, of how many, and the statement that failed most often.
fn failures(all: &Audit) -> Option<(u64, u64, String)> {
    let failed: u64 = all.statements.iter().map(|of| of.failed).sum();
    let most = all.statements.iter().max_by_key(|of| of.failed)?;
    let of = all.statements.iter().map(|of| of.runs + of.failed).sum();
    (failed > 0).then(|| (failed, of, most.name.clone()))
}

/// Warnings of digests: what they are, and how many failed.
fn of_digests(digests: &OwnDigests, statements: &BTreeMap<usize, Audit>) -> Vec<Caveat> {
    let mut caveats = vec![Caveat::Digested {
        digests: digests.digests,
        calls: digests.calls,
        of_calls: digests.of_calls,
        time: digests.time,
        ends: digests.ends,
        left: digests.left.clone(),
    }];
    let mut all = Audit::default();
    for audit in statements.values() {
        all.merge(audit);
    }
    if let Some((failed, of, most)) = failures(&all) {
        caveats.push(Caveat::DigestsFailed { failed, of, most });
    }
    caveats
}

/// Warnings of a recording: statements left out or failed, repeats, and parts that were not sent.
fn of_recording(recording: &OwnRecording, statements: &BTreeMap<usize, Audit>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if recording.statements < recording.recorded {
        caveats.push(Caveat::RecordedInPart {
            statements: recording.statements,
            recorded: recording.recorded,
            time: recording.time,
            left: recording.left.clone(),
        });
    }
    let mut all = Audit::default();
    for audit in statements.values() {
        all.merge(audit);
    }
    if let Some((failed, of, most)) = failures(&all) {
        caveats.push(Caveat::RecordedFailed { failed, of, most });
    }
    let rounds = all.rounds;
    if let Some(rounds) = rounds.filter(|rounds| rounds.most > AGAIN_TOLERATED) {
        caveats.push(Caveat::RecordedAgain {
            rounds: rounds.most,
        });
    }
    // The cell that went on for longest, in its longest sitting.
    if let Some(rounds) = rounds.filter(|rounds| rounds.most < BEGINNING_TOLERATED) {
        caveats.push(Caveat::RecordedBeginning { share: rounds.most });
    }
    caveats
}

#[cfg(test)]
mod tests {
    use octavo_units::{ByteCount, PageSize};
    use octavo_workload::{
        AuditLine, AuditRule, StatementCount,
        user::{CopyOf, OwnScript},
    };

    use super::*;
    use crate::plan::tests::plan;

    /// What a cell's runs counted: transactions, and of each statement runs, rows and empty runs.
    fn audit(transactions: u64, statements: &[(&str, u64, u64, u64)]) -> Audit {
        let line = AuditLine {
            name: "mix.sql among transactions".into(),
            count: transactions,
            total: transactions,
            wanted: 1.0,
            rule: AuditRule::Independent,
        };
        let count = |&(name, runs, rows, empty): &(&str, u64, u64, u64)| StatementCount {
            name: name.into(),
            runs,
            rows,
            empty,
            failed: 0,
        };
        Audit {
            lines: vec![line],
            statements: statements.iter().map(count).collect(),
            ..Audit::default()
        }
    }

    #[test]
    fn a_script_that_hardly_ran_is_told() {
        let script = |name: &str, weight| OwnScript {
            name: name.into(),
            weight,
            fingerprint: 0,
        };
        let copy = CopyOf::whole("my.db", ByteCount::mib(1), PageSize::kib(4), "my.db");
        let own = Own::new(copy, vec![script("mix.sql", 99), script("never.sql", 0)]);
        let ran = |runs: [u64; 2]| {
            let cells = runs.into_iter().map(|runs| audit(runs, &[]));
            rare_script(&own, &cells.enumerate().collect())
        };
        assert_eq!(ran([10, 400]), None);
        let wanted = Caveat::RareScript {
            script: "mix.sql".into(),
            runs: 9,
        };
        assert_eq!(ran([400, 9]), Some(wanted));
    }

    #[test]
    fn scripts_that_send_nothing_are_told() {
        let told = |cells: [&[(&str, u64, u64, u64)]; 2]| {
            let cells = cells.into_iter().map(|cell| audit(100, cell)).enumerate();
            nothing_sent(&cells.collect())
        };
        let never = [("", 0, 0, 0), ("a, line 2", 0, 0, 0)];
        assert_eq!(told([&never, &never]), Some(Caveat::NothingSent));
        // One that is not after rows, in one cell.
        assert_eq!(told([&never, &[("", 1, 0, 1)]]), None);
        // Of old stores nobody knows.
        assert_eq!(told([&[], &[]]), None);
    }

    #[test]
    fn statements_that_never_find_a_row_are_told() {
        let statements = [
            ("a, line 1", 100, 0, 100),
            ("a, line 2", 100, 1, 99),
            ("a, line 3", 5, 0, 5),
            ("", 100, 0, 100),
        ];
        let cells = BTreeMap::from([(0, audit(100, &statements))]);
        assert_eq!(
            found_nothing(&cells),
            Some(Caveat::FoundNothing {
                statements: vec!["a, line 1".into()],
                of: 2,
            })
        );
        // In another cell it found one.
        let other = audit(100, &[("a, line 1", 100, 1, 99)]);
        let cells = BTreeMap::from([(0, audit(100, &statements)), (1, other)]);
        assert_eq!(found_nothing(&cells), None);
        // The first of thousands emptied the table.
        let emptied = |found: u64| {
            let runs = ("a, line 1", 2_000, 500, 2_000 - found);
            found_nothing(&BTreeMap::from([(0, audit(2_000, &[runs]))])).is_some()
        };
        assert_eq!([2, 3].map(emptied), [true, false]);
    }

    #[test]
    fn statements_that_often_miss_a_sample_are_told() {
        let statements = [
            ("a, line 1", 100, 33, 67),
            ("a, line 2", 100, 85, 15),
            ("a, line 3", 5, 1, 4),
            ("a, line 4", 100, 0, 100),
            ("a, line 5", 100, 10, 90),
            ("", 100, 1, 99),
        ];
        let cells = BTreeMap::from([(0, audit(100, &statements))]);
        let missed = |name: &str, share| MissedStatement {
            name: name.into(),
            share,
        };
        let statements = vec![missed("a, line 5", 0.9), missed("a, line 1", 0.67)];
        let wanted = Some(Caveat::SampleMissed { statements });
        assert_eq!(missed_sample(&cells), wanted);
        assert_eq!(missed_sample(&BTreeMap::new()), None);
    }

    #[test]
    fn cells_that_did_not_do_the_same_are_told() {
        let plan = plan();
        assert!(plan.groups()[0].cells.len() >= 2);
        let cells = |first: &[(&str, u64, u64, u64)], second: Audit| {
            BTreeMap::from([(0, audit(1000, first)), (1, second)])
        };
        let first = [("a, line 1", 1000, 5000, 0), ("a, line 2", 1000, 1000, 0)];
        let same = audit(
            1000,
            &[("a, line 1", 1000, 5100, 0), ("a, line 2", 1000, 960, 40)],
        );
        assert_eq!(found_other(&plan, &cells(&first, same)), None);
        let other = audit(
            1000,
            &[("a, line 1", 1000, 5600, 0), ("a, line 2", 500, 500, 0)],
        );
        assert_eq!(
            found_other(&plan, &cells(&first, other)),
            Some(Caveat::FoundOther {
                statement: "a, line 1".into(),
                least: 5.0,
                most: 5.6,
            })
        );
        // Clients drew the branch of a statement less often, and other values in it.
        let drawn = audit(
            1000,
            &[("a, line 1", 910, 4750, 0), ("a, line 2", 900, 830, 70)],
        );
        assert_eq!(found_other(&plan, &cells(&first, drawn)), None);
        let other = audit(1000, &[("a, line 1", 910, 3000, 0)]);
        assert!(found_other(&plan, &cells(&first, other)).is_some());
        // One that left early had other transactions.
        let early = audit(500, &[("a, line 1", 500, 100, 0)]);
        assert_eq!(found_other(&plan, &cells(&first, early)), None);
    }
}
