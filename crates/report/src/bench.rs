//! The report of a bench, and its series.

use octavo_database::{RestoreMethod, StoragePath};
use octavo_experiment::{
    audit::{AuditFinding, Figure, Standing},
    bench::{BenchResult, KindFindings},
    drive::{ArrivalProcess, Load},
    latency::Percentiles,
    machine,
};

use crate::{
    document::{Block, Cell, Document, Section, Table, Tone},
    number::{bytes, count, counted, joules, number, percent, percent_fine, plain, seconds, time},
    sentence::{deviation, disturbed, stall, storage_path, why},
    table::ms,
};

/// The run second by second as comma-separated values: a line of names, then
/// one line a second, warm-up included. Times are in seconds, latencies in
/// microseconds, sizes in bytes; `waiting` is empty in a closed loop.
pub fn bench_csv(result: &BenchResult) -> String {
    let mut text = String::from(
        "at_s,length_s,measured,transactions,counted,p50_us,p99_us,max_us,retries,failed,waiting,\
         buffer_misses,read_bytes,written_bytes\n",
    );
    for second in &result.seconds {
        let sample = &second.sample;
        let waiting = second
            .backlog
            .map_or_else(String::new, |waiting| waiting.to_string());
        text.push_str(&format!(
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{waiting},{},{},{}\n",
            sample.at.as_secs_f64(),
            sample.length.as_secs_f64(),
            u8::from(sample.measured),
            sample.transactions,
            sample.counted,
            second.p50_us,
            second.p99_us,
            second.max_us,
            second.retries,
            second.failed,
            sample.buffer_misses,
            sample.read_bytes.get(),
            sample.written_bytes.get(),
        ));
    }
    text
}

/// The report of a bench.
pub fn bench(result: &BenchResult) -> Document {
    let subject = &result.subject;
    let mut document = Document::new(format!("{} on {}", result.workload, subject.database));
    document.origin = format!(
        "Measured by Octavo {}, started {}.",
        result.octavo, result.started_at
    );
    for section in [answer, latency, load, work, audit, conditions] {
        document.push(section(result));
    }
    document
}

fn answer(result: &BenchResult) -> Section {
    let latency = &result.latency_us;
    let stability = &result.stability;
    let mut section = Section::new("answer", "Answer");
    let saturated = if result.saturated {
        " SATURATED: the requested load was not reached."
    } else {
        ""
    };
    section.push(Block::Decision {
        what: format!("{}{saturated}", throughput(result)),
        why: String::new(),
    });
    let mut values = vec![
        (
            "latency",
            format!("p50 {}, p99 {}", us(latency.p50_us), us(latency.p99_us)),
        ),
        ("errors", count(result.failed)),
        ("throughput", why(result.steadiness.label)),
        ("longest gap", stall(stability.longest_stall_s)),
    ];
    if let Some(variation) = stability.variation {
        let window = seconds(stability.window_s);
        values.insert(
            3,
            (
                "variation",
                format!("{} (windows of {window})", percent(variation)),
            ),
        );
    }
    values.extend(subject(result));
    section.push(Block::Values(named(values)));
    if let Some(server) = &result.subject.server {
        section.paragraph(format!(
            "{server} is yours: its own settings, memory and storage hold, its memory may have \
             held any of the data, and its counts include all that it did meanwhile."
        ));
    }
    section.push(Block::Warnings(warnings(result)));
    section
}

fn named(values: Vec<(&str, String)>) -> Vec<(String, String)> {
    let named = |(name, value): (&str, String)| (name.to_owned(), value);
    values.into_iter().map(named).collect()
}

fn us(microseconds: u64) -> String {
    time(microseconds as f64)
}

/// The sentence that people came for.
fn throughput(result: &BenchResult) -> String {
    let name = &result.counted_name;
    let all = number(result.transactions_per_second);
    if result.counted != result.transactions {
        let short = if name == "new orders" { " (NOPM)" } else { "" };
        return format!(
            "{} {name} per minute{short}, {all} transactions of all kinds per second.",
            number(result.counted_per_second * 60.0),
        );
    }
    format!("{} {name} per second.", number(result.counted_per_second))
}

/// What was measured and how long.
fn subject(result: &BenchResult) -> Vec<(&'static str, String)> {
    let subject = &result.subject;
    let mut setup = vec![format!("{} {}", subject.database, subject.version)];
    setup.extend(subject.page_size.map(|size| format!("{size} pages")));
    setup.extend(subject.memory.map(|memory| format!("{memory} of memory")));
    setup.extend(subject.size.map(|size| format!("{size} of data")));
    let cut = match result.steadiness.cut_s {
        0.0 => String::new(),
        cut => format!(" and {} that were still warm-up", seconds(cut)),
    };
    vec![
        ("database", setup.join(", ")),
        ("workload", format!("{} ({})", result.workload, result.data)),
        ("clients", result.clients.to_string()),
        ("measured", seconds(result.measured_s)),
        ("warm-up", format!("{}{cut}", seconds(result.warm_up_s))),
    ]
}

fn warnings(result: &BenchResult) -> Vec<String> {
    let mut warnings: Vec<String> = result.deviations.iter().map(deviation).collect();
    if result.interrupted {
        warnings.push(format!("Interrupted after {}.", seconds(result.measured_s)));
    }
    if !result.steadiness.label.is_comparable() {
        warnings.push(format!(
            "Not steady ({}), so figures will differ in the next run.",
            why(result.steadiness.label)
        ));
    }
    if result.subject.storage_path == Some(StoragePath::PageCache) {
        warnings.push(
            "Reads came through the page cache without a limit (see the conditions), so figures \
             may show RAM, not your disk."
                .into(),
        );
    }
    if !result.buffer_filled {
        warnings
            .push("The warm-up ended before the cache was full. Use a longer --warm-up.".into());
    }
    if let Some(backlog) = result.backlog.filter(|_| result.saturated) {
        warnings.push(format!(
            "Saturated: {} waited at the start and {} at the end. Latencies are those of the \
             queue, which grows with the run. Use a lower --rate or more --clients.",
            count(backlog.begin),
            count(backlog.end)
        ));
    }
    let is_failed = |finding: &&AuditFinding| finding.standing == Standing::Fail;
    let failed = result.audit.iter().filter(is_failed);
    let failed: Vec<&str> = failed.map(|finding| finding.name.as_str()).collect();
    if !failed.is_empty() {
        warnings.push(format!(
            "The generated load is not as specified: {}.",
            failed.join("; ")
        ));
    }
    // Processor time is counted in hundredths of a second.
    if result.measured_s >= 1.0 {
        let mut machine = result.machine;
        if result.subject.server.is_some() {
            // A server on this machine is none of the other programs that
            // disturb, and the two cannot be told apart.
            (machine.others, machine.io_pressure) = (0.0, None);
        }
        warnings.extend(machine::disturbances([&machine]).iter().map(disturbed));
    }
    warnings
}

/// A row of the latencies.
struct Row<'a> {
    name: &'a str,
    committed: u64,
    rolled_back: u64,
    latency: &'a Percentiles,
    limit: Cell,
}

fn latency(result: &BenchResult) -> Section {
    let mut section = Section::new("latency", "Latency");
    let mut rows: Vec<Row<'_>> = result
        .kinds
        .iter()
        .map(|kind| Row {
            name: &kind.name,
            committed: kind.committed,
            rolled_back: kind.rolled_back,
            latency: &kind.latency_us,
            limit: match kind.response_time {
                None => "".into(),
                Some(limit) if limit.kept => format!("{} s met", plain(limit.limit_s)).into(),
                Some(limit) => Cell::toned(format!("{} s FAIL", plain(limit.limit_s)), Tone::Bad),
            },
        })
        .collect();
    if rows.len() > 1 {
        rows.push(Row {
            name: "all",
            committed: result.kinds.iter().map(|kind| kind.committed).sum(),
            rolled_back: result.kinds.iter().map(|kind| kind.rolled_back).sum(),
            latency: &result.latency_us,
            limit: "".into(),
        });
    }
    let caption = match result.load {
        Load::Closed { terminals } if terminals > result.clients => {
            "ms from submission, closed loop, waiting for a connection included"
        }
        Load::Closed { .. } => "ms from submission, closed loop",
        Load::Open { .. } => "ms from the scheduled arrival, open loop",
        Load::Paced { .. } => "ms from the operator's submission, paced",
    };
    let mut table = Table::of(caption, &rows)
        .label("kind", |row| row.name)
        .figure("committed", |row| count(row.committed))
        .figure("rolled back", |row| count(row.rolled_back))
        .figure(("mean", 7), |row| number(row.latency.mean_us / 1e3))
        .figure("p50", |row| ms(row.latency.p50_us))
        .figure(("p90", 6), |row| ms(row.latency.p90_us))
        .figure(("p95", 9), |row| ms(row.latency.p95_us))
        .figure("p99", |row| ms(row.latency.p99_us))
        .figure(("p99.9", 8), |row| ms(row.latency.p999_us))
        .figure("max", |row| ms(row.latency.max_us));
    if result.kinds.iter().any(|kind| kind.response_time.is_some()) {
        table = table.words("90% within", |row| row.limit.clone());
    }
    section.push(Block::Table(table.build()));
    let trouble =
        |kind: &&KindFindings| kind.retries + kind.gave_up + kind.timed_out + kind.lost > 0;
    let troubled: Vec<&KindFindings> = result.kinds.iter().filter(trouble).collect();
    let table = Table::of("Conflicts and errors", &troubled)
        .label("kind", |kind| kind.name.clone())
        .figure("retries", |kind| count(kind.retries))
        .figure("deadlocks", |kind| count(kind.conflicts.deadlocks))
        .figure("serialization", |kind| {
            count(kind.conflicts.serialisation_failures)
        })
        .figure("lock timeouts", |kind| count(kind.conflicts.lock_timeouts))
        .figure("given up", |kind| count(kind.gave_up))
        .figure("timed out", |kind| count(kind.timed_out))
        .figure("connection lost", |kind| count(kind.lost));
    section.push(Block::Table(table.build()));
    section
}

fn load(result: &BenchResult) -> Section {
    let mut section = Section::new("load", "Load");
    let clients = counted(result.clients, "connection");
    let (load, means) = match result.load {
        Load::Closed { terminals } if terminals > result.clients => (
            "closed loop",
            format!("{terminals} terminals share {clients}, first come, first served"),
        ),
        Load::Closed { .. } => (
            "closed loop",
            format!("{clients}, each starts a transaction when its last one ends"),
        ),
        Load::Open { rate, arrivals } => (
            "open loop",
            format!(
                "{} arrivals per second ({}), {clients}",
                plain(rate.get()),
                match arrivals {
                    ArrivalProcess::Constant => "equal distances",
                    ArrivalProcess::Poisson => "Poisson",
                }
            ),
        ),
        Load::Paced { terminals } => (
            "paced",
            format!("{terminals} terminals with keying and think times share {clients}"),
        ),
    };
    let mut values = vec![(load, means)];
    if let Load::Paced { terminals } = result.load
        && result.counted_name == "new orders"
    {
        // 12.86 is what the specification's times allow with its minimal mix.
        let said = if result.counted < 100 {
            "too few new orders to tell (12.86 possible)".into()
        } else {
            let each = result.counted_per_second * 600.0 / f64::from(terminals);
            format!("{} (12.86 possible with the minimum mix)", number(each))
        };
        values.push(("NOPM a warehouse", said));
    }
    if let Some(late) = &result.late_us {
        let (p50, p99, max) = (us(late.p50_us), us(late.p99_us), us(late.max_us));
        values.push(("start delay", format!("p50 {p50}, p99 {p99}, max {max}")));
    }
    if let Some(backlog) = &result.backlog {
        let (begin, end) = (count(backlog.begin), count(backlog.end));
        values.push(("waiting", format!("{begin} at the start, {end} at the end")));
        if let Load::Open { .. } = result.load {
            values.push(("arrivals", count(backlog.offered)));
        }
    }
    values.push((
        "driver",
        format!(
            "{} of CPU per transaction, {} transactions per second on a no-op database",
            time(result.driver.cpu_us_per_transaction),
            number(result.driver.transactions_per_second),
        ),
    ));
    // SQLite and the database that answers at once are part of the client.
    let is_server = !["sqlite", "noop"].contains(&result.subject.database.as_str());
    let cpu = result.machine.client_cpu_s.filter(|_| is_server);
    if let Some(seconds) = cpu.filter(|_| result.transactions > 0) {
        values.push((
            "client",
            format!(
                "{} of CPU per transaction, protocol and wake-ups included",
                time(seconds * 1e6 / result.transactions as f64)
            ),
        ));
    }
    section.push(Block::Values(named(values)));
    section
}

fn work(result: &BenchResult) -> Section {
    let mut section = Section::new("work", "Work per transaction");
    let transactions = result.transactions.max(1) as f64;
    let per = |amount: u64| number(amount as f64 / transactions);
    let bytes = |amount: u64| bytes(amount as f64 / transactions);
    let counters = &result.counters;
    let Some(hit_ratio) = counters.hit_ratio() else {
        return section;
    };
    let mut values = vec![
        ("cache hit rate", percent_fine(hit_ratio)),
        ("cache misses", per(counters.buffer_misses)),
        ("read", bytes(counters.read_bytes.get())),
        (
            "written",
            format!("{} (data and log)", bytes(counters.written_bytes().get())),
        ),
        ("fsyncs", per(counters.syncs)),
    ];
    if let Some(device) = &result.device {
        let words = |count: u64, amount: u64| format!("{} of {}", per(count), bytes(amount));
        let (reads, writes) = (
            words(device.reads, device.read_bytes.get()),
            words(device.writes, device.written_bytes.get()),
        );
        values.push((
            "device reads",
            format!("{reads} in all, other programs included"),
        ));
        values.push((
            "device writes",
            format!("{writes} in all, other programs included"),
        ));
    }
    let energy = result.device.as_ref().and_then(|device| device.energy);
    if let Some(energy) = energy.filter(|_| result.transactions > 0) {
        values.push((
            "device energy",
            format!(
                "{} ({} idle), busy {} of the time; calculated from its power",
                joules(energy.joules / transactions),
                joules(energy.idle_joules / transactions),
                percent_fine(energy.busy()),
            ),
        ));
    }
    section.push(Block::Values(named(values)));
    if result.data_fits {
        section.paragraph("All data fits into the cache, so only writes show the disk.");
    }
    section
}

fn audit(result: &BenchResult) -> Section {
    let mut section = Section::new("audit", "Generated load");
    let table = Table::of("Warm-up included", &result.audit)
        .label("generated", |finding| finding.name.clone())
        .figure(("draws", 9), |finding| count(finding.draws))
        .words("found", |finding| match finding.found {
            Figure::Share { share, .. } => percent_fine(share),
            Figure::ChiSquare { statistic, .. } => format!("chi-square {}", number(statistic)),
        })
        .words("specified", |finding| match finding.found {
            Figure::Share {
                wanted,
                at_most: true,
                ..
            } => format!("at most {}", percent_fine(wanted)),
            Figure::Share { wanted, .. } => percent_fine(wanted),
            Figure::ChiSquare {
                degrees_of_freedom,
                p_value,
                ..
            } => format!("{degrees_of_freedom} degrees of freedom, p {p_value:.3}"),
        })
        .words("result", |finding| match finding.standing {
            Standing::Pass => "pass".into(),
            Standing::Fail => Cell::toned("FAIL", Tone::Bad),
            Standing::TooFew => "too few to tell".into(),
        });
    section.push(Block::Table(table.build()));
    if !result.checks.is_empty() {
        let places: u64 = result.checks.iter().map(|check| check.checked).sum();
        // A violation would have failed the run.
        section.paragraph(format!(
            "Consistency after the run: all {} hold at {}.",
            counted(result.checks.len(), "condition"),
            counted(places, "place")
        ));
    }
    section
}

fn conditions(result: &BenchResult) -> Section {
    let mut section = Section::new("conditions", "Conditions");
    let mut all = vec![
        ("mix", result.mix.clone()),
        ("random seed", result.seed.to_string()),
        (
            "retries",
            format!(
                "up to {} after a conflict, with the same inputs; none after timeouts and lost \
                 connections",
                result.retries
            ),
        ),
    ];
    all.extend(result.subject.restored_by.map(|method| {
        let shared = match method {
            RestoreMethod::Reflink => " (shared blocks)",
            RestoreMethod::Copy => "",
        };
        ("data", format!("a fresh copy of the loaded rows{shared}"))
    }));
    let path = result.subject.storage_path;
    all.extend(path.map(|path| ("file access", storage_path(path).to_owned())));
    let mut all = named(all);
    all.extend(result.subject.conditions.iter().cloned());
    section.push(Block::Values(all));
    section
}

#[cfg(test)]
mod tests {
    use octavo_experiment::drive::Backlog;
    use octavo_units::Rate;
    use octavo_workload::Deviation;

    use super::*;
    use crate::{fixture::bench as result, json};

    #[test]
    fn what_a_client_of_a_server_costs_is_told() {
        let mut result = result();
        result.machine.client_cpu_s = Some(0.5);
        result.transactions = 1000;
        assert!(!words(&result).contains("wake-ups"));
        result.subject.database = "mariadb".into();
        let told = words(&result);
        assert!(
            told.contains("client 500 µs of CPU per transaction"),
            "{told}"
        );
    }

    /// All on one line, so that line breaks do not matter.
    fn words(result: &BenchResult) -> String {
        let text = bench(result).terminal(100, false);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for width in [40, 60, 80, 100, 200] {
            let text = bench(&result()).terminal(width, false);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
        }
    }

    #[test]
    fn the_counts_are_those_that_were_run() {
        let result = result();
        let text = words(&result);
        // 100 decks of 23 cards, each client's own.
        for row in ["Payment 2,000 0", "Stock-Level 200 0", "Delivery 200 0"] {
            assert!(text.contains(row), "{text}");
        }
        assert!(text.contains("(NOPM), "), "{text}");
        assert!(text.contains("errors 0 "), "{text}");
        assert!(!text.contains("! "), "{text}");
        assert!(!text.contains("FAIL"), "{text}");
    }

    #[test]
    fn what_went_wrong_is_said() {
        let mut result = result();
        result.failed = 7;
        result.kinds[0].gave_up = 7;
        result.kinds[0].retries = 21;
        result.kinds[0].conflicts.deadlocks = 28;
        result.kinds[1].response_time.as_mut().unwrap().kept = false;
        result.interrupted = true;
        (result.machine.others, result.measured_s) = (0.5, 30.0);
        result.audit[0].standing = Standing::Fail;
        result.deviations = vec![Deviation::MixBelowMinimum];
        let text = words(&result);
        for said in [
            "errors 7 ",
            "New-Order 21 28 0 0 7 0 0",
            "5 s FAIL",
            "! Interrupted after",
            "! Other programs used up to 50% of the CPU. Find them",
            "not as specified: New-Order among transactions",
            "! The mix is not TPC-C's",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
    }

    #[test]
    fn a_server_of_the_user_is_said_to_be_one() {
        let mut result = result();
        result.subject.server = Some("postgres://anna@db:5432/shop".into());
        result.subject.size = Some(octavo_units::ByteCount::mib(150));
        // Whatever the machine did while this was measured.
        result.machine = Default::default();
        (result.machine.others, result.measured_s) = (0.9, 30.0);
        let setting = "innodb_flush_log_at_trx_commit".to_owned();
        result.subject.conditions = vec![(setting, "2".into())];
        let text = words(&result);
        assert!(text.contains("innodb_flush_log_at_trx_commit 2"), "{text}");
        assert!(
            text.contains("postgres://anna@db:5432/shop is yours"),
            "{text}"
        );
        for never in ["! ", "page cache", "of memory", "a fresh copy", "device"] {
            assert!(!text.contains(never), "{never} in {text}");
        }
    }

    #[test]
    fn every_loop_says_what_waited() {
        let mut result = result();
        let backlog = Backlog {
            begin: 3,
            end: 4000,
            offered: 9000,
            bound: 900,
        };
        result.load = Load::Open {
            rate: Rate::per_second(900.0).unwrap(),
            arrivals: ArrivalProcess::Poisson,
        };
        result.late_us = Some(result.latency_us);
        result.backlog = Some(backlog);
        result.saturated = true;
        let text = words(&result);
        for said in [
            "SATURATED",
            "900 arrivals per second (Poisson)",
            "scheduled arrival",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        result.load = Load::Paced { terminals: 20 };
        let text = words(&result);
        for said in [
            "20 terminals with keying",
            "waiting 3 at the start, 4,000 at the end",
            "NOPM a warehouse",
            "paced",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        result.load = Load::Closed { terminals: 20 };
        (result.backlog, result.saturated) = (None, false);
        let text = words(&result);
        for said in ["waiting for a connection included", "20 terminals share"] {
            assert!(text.contains(said), "{said} in {text}");
        }
    }

    #[test]
    fn a_series_has_a_line_a_second_and_json_everything() {
        let result = result();
        let csv = bench_csv(&result);
        assert_eq!(csv.lines().count(), 1 + result.seconds.len());
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 14), "{csv}");
        let value: serde_json::Value = serde_json::from_str(&json(&result)).unwrap();
        assert_eq!(value["transactions"], 4600);
        assert_eq!(
            value["kinds"][1]["latency_us"]["p50_us"],
            result.kinds[1].latency_us.p50_us
        );
    }
}
