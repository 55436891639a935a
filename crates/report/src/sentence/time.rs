//! Where a transaction's time goes, and what other page sizes change about it.

use octavo_driver::KindCounts;
use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings, TransactionTime},
    plan::Level,
    statistics::Decision,
    verdict::Verdict,
    waits::{Bound, Resource, WaitTimes},
};

use super::method::left_early;
use crate::{
    naming,
    number::{is_bounded, join, list, percent, time, whole_percents},
};

/// Share of transactions that commit above which the others are not worth a word.
const ALL_COMMITTED: f64 = 0.99;

/// Differences below this share of the reference's time explain nothing.
const MATTERS: f64 = 0.03;

/// The sentence adds the whole difference where unnamed parts are more than this share of it.
const LEFT_OUT: f64 = 0.25;

/// Parts of a transaction's time as a sentence names them, in microseconds, where they are
/// known. Those of models are known to the last; measured waits for others are in the rest.
fn parts(of: &TransactionTime) -> Vec<(&'static str, Option<f64>)> {
    let both = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    let waits = |part: fn(&WaitTimes) -> f64| of.waits.as_ref().map(part);
    // What flushes data files is no writing of them.
    let sync_us = of.checkpoint_sync_us;
    let data_writes = of.checkpoint_us.map(|all| all - sync_us.unwrap_or(0.0));
    let writes = both(of.log_write_us, data_writes);
    let mut parts = vec![
        ("reads", both(of.read_us, waits(|of| of.page_us))),
        ("writes", both(writes, waits(|of| of.write_us))),
        ("fsync", both(of.log_sync_us, sync_us)),
    ];
    match of.waits {
        None => {
            let rest = both(of.cpu_us, Some(of.other_us)).map(|us| us.max(0.0));
            parts.push(("CPU and other", rest));
        }
        Some(waits) => parts.extend([
            ("CPU", of.cpu_us),
            ("waiting for a CPU", Some(waits.processor_us)),
            ("waiting for the log", Some(waits.log_us)),
            ("waiting for other writers", Some(waits.rows_us)),
            ("waiting for a latch", Some(waits.latch_us)),
            ("other", Some(of.other_us)),
        ]),
    }
    parts
}

/// What most of a predicted transaction's time is for, as the end of a sentence.
fn bound(of: &Bound) -> String {
    let busy = percent(of.busy.unwrap_or_default());
    match of.resource {
        Resource::Processors => format!("the processors, which are {busy} busy"),
        Resource::Latch => {
            format!("work that one transaction does at a time, which fills {busy} of the time")
        }
        Resource::Reads => {
            format!("reads, and the device has requests under way {busy} of the time")
        }
        Resource::Writes => {
            format!("writing pages, and the device has requests under way {busy} of the time")
        }
        Resource::Log => format!("the log, which is written and flushed {busy} of the time"),
        Resource::Rows => match &of.table {
            Some(table) => format!("rows of {table} that others change"),
            None => "the database, which one transaction changes at a time".to_owned(),
        },
    }
}

/// The same in a table: `processors 98%`.
pub(crate) fn bound_word(of: &Bound) -> String {
    let name = match of.resource {
        Resource::Processors => "processors",
        Resource::Latch => "latch",
        Resource::Reads => "reads",
        Resource::Writes => "writes",
        Resource::Log => "log",
        Resource::Rows => of.table.as_deref().map_or("writers", |table| table),
    };
    match of.busy {
        Some(busy) => format!("{name} {}", percent(busy)),
        None => name.to_owned(),
    }
}

/// How much of the processor's time is within requests, and not told as CPU.
pub(crate) fn cpu_in_requests(findings: &Findings) -> Option<String> {
    let cells = naming::cells(findings).filter_map(|cell| Some(cell.time?.cpu_in_requests));
    let most = cells.fold(0.0, f64::max);
    (percent(most) != "0%").then(|| {
        format!(
            "CPU leaves out what requests were timed with: up to {} of a cell's processor time.",
            percent(most)
        )
    })
}

/// Why some are faster and others slower, in the group shown first; empty
/// where the times are not known.
pub(crate) fn why(findings: &Findings) -> Option<String> {
    let group = *naming::groups(findings).first()?;
    if matches!(group.verdict, Verdict::Cold { .. }) {
        return None;
    }
    let reference = naming::reference_cell(group)?;
    // Of one batch nobody knows how far its time is from others'.
    reference.throughput.filter(is_bounded)?;
    let own = reference.time.filter(is_told)?;
    let known = parts(&own).into_iter();
    let known: Vec<(&str, f64)> = known
        .filter_map(|(name, us)| Some((name, us? / own.total_us)))
        .collect();
    let shares: Vec<f64> = known.iter().map(|(_, share)| *share).collect();
    let shares = known.iter().zip(whole_percents(&shares));
    // What rounds to nothing is no reason.
    let shares = shares.filter(|(_, percent)| *percent > 0);
    let shares = shares.map(|((name, _), percent)| format!("{percent}% {name}"));
    let with = naming::with(&group.name, "");
    // Throughput counts those alone that committed.
    let sum = |of: fn(&KindCounts) -> u64| reference.kinds.iter().map(of).sum::<u64>();
    let committed = sum(KindCounts::committed);
    let executed = committed + sum(KindCounts::rolled_back) + sum(KindCounts::failed);
    let is_own = findings.plan.own.is_some();
    let transaction = match is_own && (committed as f64) < ALL_COMMITTED * executed as f64 {
        true => "a transaction, committed or not,",
        false => "a transaction",
    };
    let begin = match group.name.is_empty() {
        true => naming::capital(transaction),
        false => format!("{}{transaction}", with.replace(": ", ", ")),
    };
    let name = naming::reference_in_full(findings, group);
    let mut said = format!(
        "Why: {}{} of {name} takes {} at its throughput: {}.",
        begin[..1].to_lowercase(),
        &begin[1..],
        time(own.total_us),
        join(shares, ", ")
    );
    if let Some(of) = &reference.bound {
        let amount = match (of.is_saturated, of.share > 0.5) {
            (true, _) => "The limit is",
            (false, true) => "Most of it is for",
            (false, false) => "The largest part is for",
        };
        said += &format!(" {amount} {}.", bound(of));
    }
    for cell in compared(findings, group) {
        let level = naming::own_level(findings, cell);
        let time = cell.time;
        if let Some(change) = time.and_then(|time| change(&time, &own, is_plural(&level))) {
            said += &format!(" {} {change}.", naming::capital(&level.with_noun()));
        }
    }
    Some(said)
}

/// Whether the database tells how long its reads and writes take: MySQL and
/// MariaDB do not.
fn is_told(time: &TransactionTime) -> bool {
    time.parts()[..4].iter().flatten().sum::<f64>() > 0.0
}

/// Whether it is too close to the reference to call.
fn is_even(cell: &CellFindings) -> bool {
    cell.decision == Some(Decision::Open) && cell.likely.is_none()
}

/// The fastest and the slowest of the others that differ.
fn compared<'a>(findings: &Findings, group: &'a GroupFindings) -> Vec<&'a CellFindings> {
    let ratio = |cell: &&CellFindings| cell.ratio.map_or(f64::NAN, |ratio| ratio.estimate);
    let mut others: Vec<&CellFindings> = group
        .cells
        .iter()
        // Of what may be as fast, parts that were timed once say nothing.
        .filter(|cell| !cell.reference && cell.ratio.is_some() && !is_even(cell))
        // Times are means over all runs: those of other sittings are not beside the reference's.
        .filter(|cell| !findings.is_over_hosts() || cell.by_sitting.len() >= findings.sittings)
        .collect();
    others.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    if let Verdict::Use { level, .. } = &group.verdict {
        let is_winner = |cell: &&CellFindings| naming::own_level(findings, cell) == *level;
        if !others.iter().any(is_winner) {
            return Vec::new();
        }
        others.sort_by_key(|cell| !is_winner(cell));
    }
    match others.as_slice() {
        [] => Vec::new(),
        [one] => vec![one],
        [first, .., last] => vec![first, last],
    }
}

/// Whether a level with its noun is many: "2 KiB pages save", "journal mode delete saves".
fn is_plural(level: &Level) -> bool {
    match level {
        Level::PageSize(_) | Level::MixedSizes(_) | Level::Rows(_) | Level::Cpus(None) => true,
        Level::Cpus(Some(count)) | Level::Clients(count) => *count != 1,
        Level::Database(_) | Level::Storage(_) | Level::Memory(_) | Level::Copy(_) => false,
    }
}

/// `save 0.160 ms of reads and add 0.060 ms of writes`.
fn change(own: &TransactionTime, reference: &TransactionTime, are_many: bool) -> Option<String> {
    let changes = parts(own).into_iter().zip(parts(reference));
    let changes: Vec<(&str, f64)> = changes
        .filter_map(|((name, own), (_, reference))| Some((name, own? - reference?)))
        .filter(|(_, change)| change.abs() >= MATTERS * reference.total_us)
        .collect();
    let of = |verb: &str, sign: f64| {
        let amounts = changes
            .iter()
            .filter(|(_, change)| change * sign > 0.0)
            .map(|(name, change)| format!("{} of {name}", time(change.abs())));
        let amounts = list(amounts, "and");
        (!amounts.is_empty()).then(|| format!("{verb} {amounts}"))
    };
    let said = join(
        match are_many {
            true => [of("save", -1.0), of("add", 1.0)],
            false => [of("saves", -1.0), of("adds", 1.0)],
        }
        .into_iter()
        .flatten(),
        " and ",
    );
    let all = own.total_us - reference.total_us;
    let named: f64 = changes.iter().map(|(_, change)| change).sum();
    // Small parts are left out, which may be much of all.
    let rest = match (all - named).abs() > LEFT_OUT * all.abs() {
        true => format!("; with all else {} {}", time(all.abs()), sign(all)),
        false => String::new(),
    };
    (!said.is_empty()).then_some(said + &rest)
}

fn sign(change: f64) -> &'static str {
    if change > 0.0 { "more" } else { "less" }
}

/// What the slowest transactions wait for, a sentence a group.
pub(crate) fn tails(findings: &Findings) -> Vec<String> {
    let groups = naming::groups(findings).into_iter();
    groups.filter_map(|group| tail(findings, group)).collect()
}

fn tail(findings: &Findings, group: &GroupFindings) -> Option<String> {
    // What left early met other minutes.
    let stayed = |cell: &&CellFindings| cell.tail.is_some() && !left_early(cell);
    let cells: Vec<&CellFindings> = group.cells.iter().filter(stayed).collect();
    let tails: Vec<_> = cells.iter().filter_map(|cell| cell.tail).collect();
    let low = tails.iter().map(|tail| tail.p99_us).min()? as f64;
    let high = tails.iter().map(|tail| tail.p99_us).max()? as f64;
    let why = match tails.iter().all(|tail| tail.is_checkpoints()) {
        true => ", during checkpoints",
        false => "",
    };
    let levels = match cells.len() == group.cells.len() {
        true => format!("every {}", findings.plan.compare.noun()),
        false => {
            let levels = cells.iter().map(|cell| naming::own_level(findings, cell));
            naming::levels(&levels.collect::<Vec<_>>(), "and")
        }
    };
    let (low, high) = (time(low), time(high));
    let range = match low == high {
        true if group.cells.len() == 1 => low,
        true => format!("{low} with {levels}"),
        false => format!("{low} to {high} over {levels}"),
    };
    Some(naming::with(&group.name, &format!("p99 is {range}{why}.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn reason_names_what_is_saved_and_added() {
        let of = |read_us, log_write_us| TransactionTime {
            total_us: read_us + log_write_us + 300.0,
            read_us: Some(read_us),
            log_write_us: Some(log_write_us),
            log_sync_us: Some(100.0),
            checkpoint_us: Some(40.0),
            checkpoint_sync_us: Some(40.0),
            cpu_us: Some(150.0),
            cpu_in_requests: 0.0,
            waits: None,
            other_us: 50.0,
        };
        let reference = of(700.0, 500.0);
        assert_eq!(
            change(&of(540.0, 560.0), &reference, true).as_deref(),
            Some("save 160 µs of reads and add 60.0 µs of writes")
        );
        assert_eq!(
            change(&of(540.0, 560.0), &reference, false).as_deref(),
            Some("saves 160 µs of reads and adds 60.0 µs of writes")
        );
        assert_eq!(change(&of(690.0, 510.0), &reference, true), None);
        // Flushes of data files are flushes.
        let named: Vec<_> = parts(&reference).into_iter().take(3).collect();
        let wanted = [("reads", 700.0), ("writes", 500.0), ("fsync", 140.0)];
        assert_eq!(named, wanted.map(|(name, us)| (name, Some(us))));
    }

    #[test]
    fn a_predicted_reason_names_waits_and_what_bounds_it() {
        let mut findings = fixture::one_memory();
        for cell in &mut findings.groups[0].cells {
            let time = cell.time.as_mut().unwrap();
            let of = |share: f64| share * time.total_us;
            *time = TransactionTime {
                read_us: Some(of(0.1)),
                log_write_us: Some(of(0.01)),
                log_sync_us: Some(of(0.02)),
                checkpoint_us: Some(0.0),
                checkpoint_sync_us: Some(0.0),
                cpu_us: Some(of(0.2)),
                waits: Some(WaitTimes {
                    processor_us: of(0.5),
                    page_us: of(0.05),
                    log_us: of(0.03),
                    rows_us: of(0.08),
                    ..WaitTimes::default()
                }),
                other_us: of(0.01),
                ..*time
            };
            cell.bound = Some(Bound {
                resource: Resource::Processors,
                share: 0.7,
                is_saturated: true,
                busy: Some(0.98),
                table: None,
            });
        }
        let said = why(&findings).unwrap();
        let shares = "15% reads, 1% writes, 2% fsync, 20% CPU, 50% waiting for a CPU, 3% waiting \
                      for the log, 8% waiting for other writers, 1% other. The limit is the \
                      processors, which are 98% busy.";
        assert!(said.contains(shares), "{said}");
        let rows = Bound {
            resource: Resource::Rows,
            share: 0.4,
            is_saturated: false,
            busy: None,
            table: Some("warehouse".into()),
        };
        assert_eq!(bound(&rows), "rows of warehouse that others change");
        assert_eq!(bound_word(&rows), "warehouse");
        findings.groups[0]
            .cells
            .iter_mut()
            .for_each(|cell| cell.bound = Some(rows.clone()));
        let said = why(&findings).unwrap();
        assert!(
            said.contains("The largest part is for rows of warehouse"),
            "{said}"
        );
    }

    #[test]
    fn reason_is_left_out_where_times_are_not_known() {
        let mut findings = fixture::findings();
        let said = why(&findings).unwrap();
        assert!(
            said.starts_with(
                "Why: with 32 MiB of memory, a transaction of the default 4 KiB takes"
            ),
            "{said}"
        );
        let mut untimed = fixture::findings();
        fixture::times_nothing(&mut untimed);
        assert_eq!(why(&untimed), None);
        for cell in findings.groups.iter_mut().flat_map(|of| &mut of.cells) {
            cell.time = None;
        }
        assert_eq!(why(&findings), None);
    }

    #[test]
    fn equal_tails_are_one_figure() {
        let mut findings = fixture::one_memory();
        for tail in findings.groups[0]
            .cells
            .iter_mut()
            .filter_map(|of| of.tail.as_mut())
        {
            (tail.p99_us, tail.checkpoints) = (10_700, None);
        }
        for cell in &mut findings.groups[0].cells {
            cell.passes_missed = 0;
        }
        assert_eq!(tails(&findings), ["P99 is 10.7 ms with every page size."]);
        let tail = findings.groups[0].cells[0].tail.as_mut().unwrap();
        tail.p99_us = 9_100;
        assert_eq!(
            tails(&findings),
            ["P99 is 9.10 ms to 10.7 ms over every page size."]
        );
        // What left early met other minutes.
        findings.groups[0].cells[4].passes_missed = 40;
        findings.groups[0].cells[4].passes = 48;
        assert_eq!(
            tails(&findings),
            ["P99 is 9.10 ms to 10.7 ms over 2 KiB, 4 KiB, 8 KiB and 16 KiB."]
        );
        let early = crate::sentence::all_passes(&findings, "Latencies").unwrap();
        assert!(
            early.contains("64 KiB took part in fewer: their figures are of other minutes"),
            "{early}"
        );
        // Of the tables, one alone has times that are scaled.
        let scaled = crate::sentence::all_passes_but_time(&findings).unwrap();
        assert!(scaled.contains("times are scaled"), "{scaled}");
        let page = crate::findings::document(&findings).html();
        assert_eq!(page.matches("times are scaled").count(), 1);
        // A pass after a cell's decision is left out of that cell alone.
        findings.screened = Default::default();
        for cell in &mut findings.groups[0].cells {
            cell.passes = findings.passes;
            cell.passes_counted = findings.passes;
        }
        let all = |findings: &Findings| crate::sentence::all_passes(findings, "Latencies");
        assert_eq!(all(&findings), None);
        findings.groups[0].cells[4].passes_counted -= 1;
        let said = all(&findings).unwrap();
        assert!(said.contains("are of all passes"), "{said}");
        findings.groups[0].cells.retain(|cell| cell.reference);
        assert_eq!(tails(&findings), ["P99 is 10.7 ms."]);
    }
}
