//! What a bench found, for a terminal, for programs and as a series.

use octavo_database::StoragePath;
use octavo_driver::{ArrivalProcess, KindCounts, Load};
use octavo_experiment::{
    audit::{AuditFinding, Figure, Standing},
    bench::BenchResult,
    machine,
};
use octavo_workload::connection::Conflict;

use crate::{
    number::{count, joules, number, percent, percent_fine, seconds, time},
    page::Page,
    sentence::{stall, why},
    table::Table,
};

/// The result as indented JSON.
///
/// # Panics
/// Never: every part of a result has a JSON form.
pub fn bench_json(result: &BenchResult) -> String {
    let mut value = serde_json::to_value(result).expect("a result has a JSON form");
    value["transactions_per_second"] = result.transactions_per_second().into();
    value["counted_per_second"] = result.counted_per_second().into();
    value["saturated"] = result.saturated().into();
    value["late_us"] = serde_json::to_value(result.late()).expect("it has a JSON form");
    serde_json::to_string_pretty(&value).expect("a value has a JSON form")
}

/// The run second by second as comma-separated values: a line of names, then
/// one line a second, warm-up included. Times are in seconds, latencies in
/// microseconds, sizes in bytes; `waiting` is empty in a closed loop.
pub fn bench_csv(result: &BenchResult) -> String {
    let mut text = String::from(
        "at_s,length_s,measured,transactions,counted,p50_us,p99_us,max_us,retries,failed,waiting,\
         buffer_misses,read_bytes,written_bytes\n",
    );
    for sample in &result.figures.load.series {
        let waiting = sample
            .backlog
            .map_or_else(String::new, |waiting| waiting.to_string());
        text.push_str(&format!(
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{waiting},{},{},{}\n",
            sample.at.as_secs_f64(),
            sample.length.as_secs_f64(),
            u8::from(sample.measured),
            sample.transactions,
            sample.counted,
            sample.p50_us,
            sample.p99_us,
            sample.max_us,
            sample.retries,
            sample.failed,
            sample.buffer_misses,
            sample.read_bytes.get(),
            sample.written_bytes.get(),
        ));
    }
    text
}

/// The result as text of at most `width` columns; with `colour`, ANSI escape
/// sequences mark headings, warnings and failed comparisons. Ends with a line
/// break.
pub fn bench(result: &BenchResult, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.answer(&answer(result));
    page.prose("", &conditions(result));
    page.prose("", &evenness(result));
    page.blank();
    page.warnings(&warnings(result));
    page.heading(&format!(
        "Latency in ms {}",
        match result.load {
            Load::Closed { terminals } if terminals > result.clients =>
                "from submission, closed loop, the wait for a connection included",
            Load::Closed { .. } => "from submission, closed loop",
            Load::Open { .. } => "from the scheduled arrival, open loop",
            Load::Paced { .. } => "from the operator's submission, paced",
        }
    ));
    page.table(&latencies(result), &[6, 8, 3, 5]);
    if result.kinds().iter().any(|kind| trouble(kind) > 0) {
        page.heading("What did not go smoothly");
        page.table(&troubles(result), &[]);
    }
    page.sentences("Load", &load(result));
    page.sentences("Work per transaction", &work(result));
    page.heading("Self-audit: the load that was run, warm-up included, against the specified one");
    page.table(&audit(&result.audit), &[1]);
    page.sentences("Consistency", &checks(result));
    page.heading("Conditions");
    for (name, value) in all_conditions(result) {
        page.entry(&name, &value);
    }
    page.finish()
}

/// The sentence that people came for.
fn answer(result: &BenchResult) -> String {
    let mut text = format!(
        "{} transactions a second",
        number(result.transactions_per_second())
    );
    if result.figures.load.counted() != result.figures.load.transactions() {
        text = format!(
            "{} {} a minute ({}{text} of all kinds)",
            number(result.counted_per_second() * 60.0),
            result.counted_name,
            if result.counted_name == "new orders" {
                "NOPM; "
            } else {
                ""
            },
        );
    } else if result.counted_name != "transactions" {
        text = format!(
            "{} {} a second",
            number(result.counted_per_second()),
            result.counted_name
        );
    }
    let latency = &result.figures.load.counts.percentiles();
    text.push_str(&format!(
        ", {} in the middle and {} at 99 %, {}.",
        time(latency.p50_us as f64),
        time(latency.p99_us as f64),
        match result.figures.load.counts.failed() {
            0 => "no errors".to_owned(),
            1 => "1 error".to_owned(),
            failed => format!("{} errors", count(failed)),
        }
    ));
    if result.saturated() {
        text.push_str(" SATURATED: the wanted load was not reached.");
    }
    text
}

/// What the answer holds for, in a sentence.
fn conditions(result: &BenchResult) -> String {
    let subject = &result.subject;
    let mut parts = vec![format!("{} {}", subject.database, subject.version)];
    if let Some(page_size) = subject.page_size {
        parts.push(format!("{page_size} pages"));
    }
    if let Some(memory) = subject.memory {
        parts.push(format!("{memory} of memory"));
    }
    if let Some(size) = subject.size {
        parts.push(format!("{size} of data"));
    }
    parts.push(format!("{} ({})", result.workload, result.data));
    parts.push(match result.clients {
        1 => "1 client".into(),
        clients => format!("{clients} clients"),
    });
    let cut = match result.figures.load.steadiness.cut_s {
        0.0 => String::new(),
        cut => format!(" and {} that were still warm-up", seconds(cut)),
    };
    parts.push(format!(
        "measured for {} after {} of warm-up{cut}",
        seconds(result.figures.load.measured.as_secs_f64()),
        seconds(result.figures.load.warm_up.as_secs_f64())
    ));
    let mut text = format!("{}.", parts.join(", "));
    if let Some(server) = &subject.server {
        text.push_str(&format!(
            " The server, {server}, is yours: its own settings, memory and storage hold, and what \
             of the data its memory held is not known. The database's counts are of all that it \
             did meanwhile."
        ));
    }
    text
}

/// How even throughput was.
fn evenness(result: &BenchResult) -> String {
    let stability = &result.figures.load.stability;
    let variation = stability.variation.map_or_else(String::new, |variation| {
        format!(
            "; it varied by {} over windows of {}",
            percent(variation),
            seconds(stability.window_s)
        )
    });
    format!(
        "Throughput: {}{variation}; the longest time without a commit was {}.",
        why(result.figures.load.steadiness.label),
        stall(stability.longest_stall_s)
    )
}

fn warnings(result: &BenchResult) -> Vec<String> {
    let mut warnings = result.remarks.clone();
    if result.figures.load.interrupted {
        warnings.push(format!(
            "interrupted after {}, before the end",
            seconds(result.figures.load.measured.as_secs_f64())
        ));
    }
    if !result.figures.load.steadiness.label.is_comparable() {
        warnings.push(format!(
            "not steady ({}): no figure of this run can be expected again",
            why(result.figures.load.steadiness.label)
        ));
    }
    if result.figures.storage_path == Some(StoragePath::PageCache) {
        warnings.push(
            "reads come through the kernel's page cache without a limit (the conditions say why), \
             so these figures may show memory, not storage"
                .into(),
        );
    }
    if !result.figures.load.buffer_filled {
        warnings
            .push("the warm-up ended before the buffer was full: give a longer --warm-up".into());
    }
    if let Some(backlog) = result.figures.load.backlog.filter(|_| result.saturated()) {
        warnings.push(format!(
            "saturated: {} waited when measuring began and {} when it ended: latencies are those \
             of the line, which grows with the length of the run; the database could not follow",
            count(backlog.begin),
            count(backlog.end)
        ));
    }
    let failed: Vec<&str> = result
        .audit
        .iter()
        .filter(|finding| finding.standing == Standing::Fail)
        .map(|finding| finding.name.as_str())
        .collect();
    if !failed.is_empty() {
        warnings.push(format!(
            "the generated load is not the specified one: {}",
            failed.join("; ")
        ));
    }
    // Processor time is counted in hundredths of a second.
    if result.figures.load.measured.as_secs_f64() >= 1.0 {
        let mut machine = result.figures.machine;
        if result.subject.server.is_some() {
            // A server on this machine is none of the other programs that
            // disturb, and the two cannot be told apart.
            (machine.others, machine.io_pressure) = (0.0, None);
        }
        warnings.extend(machine::troubles([&machine]));
    }
    warnings
}

fn latencies(result: &BenchResult) -> Table {
    let ms = |microseconds: u64| number(microseconds as f64 / 1e3);
    let row = |name: &str, committed: u64, rolled_back: u64, latency: &_, limit: String| {
        let octavo_driver::Percentiles {
            mean_us,
            p50_us,
            p90_us,
            p95_us,
            p99_us,
            p999_us,
            max_us,
        } = *latency;
        [
            name.to_owned(),
            count(committed),
            count(rolled_back),
            number(mean_us / 1e3),
            ms(p50_us),
            ms(p90_us),
            ms(p95_us),
            ms(p99_us),
            ms(p999_us),
            ms(max_us),
            limit,
        ]
    };
    let mut rows: Vec<_> = result
        .kinds()
        .iter()
        .map(|kind| {
            let limit = kind.response_time().map_or_else(String::new, |response| {
                let standing = if response.kept { "kept" } else { "FAIL" };
                format!("{} s {standing}", response.limit_s)
            });
            row(
                &kind.name,
                kind.committed(),
                kind.rolled_back(),
                &kind.latencies.percentiles(),
                limit,
            )
        })
        .collect();
    if rows.len() > 1 {
        let sum = |of: fn(&KindCounts) -> u64| result.kinds().into_iter().map(of).sum();
        rows.push(row(
            "all",
            sum(KindCounts::committed),
            sum(KindCounts::rolled_back),
            &result.figures.load.counts.percentiles(),
            String::new(),
        ));
    }
    let mut table = Table::new(
        [
            "kind",
            "committed",
            "rolled back",
            "mean",
            "p50",
            "p90",
            "p95",
            "p99",
            "p99.9",
            "max",
            "90 % within",
        ],
        rows,
    );
    if result
        .kinds()
        .iter()
        .all(|kind| kind.response_time().is_none())
    {
        table.header.pop();
        for row in &mut table.rows {
            row.pop();
        }
    }
    table
}

fn trouble(kind: &KindCounts) -> u64 {
    kind.retries() + kind.gave_up() + kind.timed_out() + kind.lost()
}

fn troubles(result: &BenchResult) -> Table {
    Table::new(
        [
            "kind",
            "retries",
            "deadlocks",
            "serialisation",
            "lock timeouts",
            "given up",
            "timed out",
            "connection lost",
        ],
        result
            .kinds()
            .iter()
            .filter(|kind| trouble(kind) > 0)
            .map(|kind| {
                [
                    kind.name.to_string(),
                    count(kind.retries()),
                    count(kind.conflicts(Conflict::Deadlock)),
                    count(kind.conflicts(Conflict::Serialisation)),
                    count(kind.conflicts(Conflict::LockTimeout)),
                    count(kind.gave_up()),
                    count(kind.timed_out()),
                    count(kind.lost()),
                ]
            }),
    )
}

fn load(result: &BenchResult) -> Vec<String> {
    let clients = result.clients;
    let connections = match clients {
        1 => "one connection".to_owned(),
        _ => format!("{clients} connections"),
    };
    let pace = |terminals: u32| match result.counted_name.as_str() {
        // 12.86 is what the specification's times allow with its minimal mix.
        "new orders" if result.figures.load.counted() < 100 => {
            " Too few new orders to compare with the 12.86 NOPM a warehouse that the times allow."
                .to_owned()
        }
        "new orders" => format!(
            " {} NOPM a warehouse, of 12.86 that the times allow with the specification's \
             smallest shares of the other kinds.",
            number(result.counted_per_second() * 600.0 / f64::from(terminals))
        ),
        _ => String::new(),
    };
    let mut sentences = vec![match result.load {
        Load::Closed { terminals } if terminals > clients => format!(
            "Closed loop: {terminals} terminals share {connections}, first come, first served."
        ),
        Load::Closed { .. } => format!(
            "Closed loop: each of {connections} begins a transaction when its last one has ended."
        ),
        Load::Open { rate, arrivals } => format!(
            "Open loop: {} arrivals a second ({}) for {connections}.",
            number(rate.get()),
            match arrivals {
                ArrivalProcess::Constant => "in equal distances",
                ArrivalProcess::Poisson => "Poisson",
            }
        ),
        Load::Paced { terminals } => format!(
            "Paced: {terminals} terminals with the specification's keying and think times share \
             {connections}.{}",
            pace(terminals)
        ),
    }];
    if let Some(late) = result.late() {
        sentences.push(format!(
            "Transactions began {} later than they were due in the middle, {} at 99 %, {} at most.",
            time(late.p50_us as f64),
            time(late.p99_us as f64),
            time(late.max_us as f64)
        ));
    }
    if let Some(backlog) = &result.figures.load.backlog {
        sentences.push(match result.load {
            Load::Paced { .. } => format!(
                "{} terminals stood in line when measuring began, {} when it ended.",
                count(backlog.begin),
                count(backlog.end)
            ),
            _ => format!(
                "{} arrivals were due; {} waited when measuring began, {} when it ended.",
                count(backlog.offered),
                count(backlog.begin),
                count(backlog.end)
            ),
        });
    }
    sentences.push(format!(
        "The driver itself costs {} of processor time a transaction ({} a second against a \
         database that answers at once), mostly outside of the latencies.",
        time(result.driver.cpu_us_per_transaction),
        number(result.driver.transactions_per_second),
    ));
    // SQLite and the database that answers at once are part of the client.
    let is_server = !["sqlite", "noop"].contains(&result.subject.database.as_str());
    let cpu = result.figures.machine.client_cpu_s.filter(|_| is_server);
    if let Some(seconds) = cpu.filter(|_| result.figures.load.transactions() > 0) {
        sentences.push(format!(
            "With its part of the server's protocol, and being woken for answers, the client took \
             {} of processor time a transaction.",
            time(seconds * 1e6 / result.figures.load.transactions() as f64)
        ));
    }
    sentences
}

fn work(result: &BenchResult) -> Vec<String> {
    let transactions = result.figures.load.transactions().max(1) as f64;
    let per = |amount: u64| number(amount as f64 / transactions);
    let bytes = |amount: u64| crate::number::bytes(amount as f64 / transactions);
    let counters = &result.figures.load.counters;
    let Some(hit_ratio) = counters.hit_ratio() else {
        return Vec::new();
    };
    let mut sentences = vec![format!(
        "{} misses of the buffer (hits {}), {} read, {} written (data and log), {} flushes.",
        per(counters.buffer_misses),
        percent_fine(hit_ratio),
        bytes(counters.read_bytes.get()),
        bytes(counters.written_bytes().get()),
        per(counters.syncs),
    )];
    if result.data_fits {
        sentences.push(
            "All data fits into the buffer: what is read is read once, and the storage is seen \
             by writes alone."
                .into(),
        );
    }
    if let Some(device) = &result.figures.device {
        sentences.push(format!(
            "The device counted {} reads of {} and {} writes of {}, those of other programs \
             included.",
            per(device.reads),
            bytes(device.read_bytes.get()),
            per(device.writes),
            bytes(device.written_bytes.get()),
        ));
    }
    let energy = result
        .figures
        .device
        .as_ref()
        .and_then(|device| device.energy);
    if let Some(energy) = energy.filter(|_| result.figures.load.transactions() > 0) {
        sentences.push(format!(
            "The device alone took {}, of which {} idle: calculated from what it draws at rest and \
             at work, and that it was busy {} of the time.",
            joules(energy.joules / transactions),
            joules(energy.idle_joules / transactions),
            percent_fine(energy.busy()),
        ));
    }
    sentences
}

fn audit(findings: &[AuditFinding]) -> Table {
    Table::new(
        ["generated", "draws", "found", "wanted", ""],
        findings.iter().map(|finding| {
            let (found, wanted) = match finding.found {
                Figure::Share {
                    share,
                    wanted,
                    at_most,
                } => (
                    percent_fine(share),
                    if at_most {
                        format!("{} at most", percent_fine(wanted))
                    } else {
                        percent_fine(wanted)
                    },
                ),
                Figure::ChiSquare {
                    statistic,
                    degrees_of_freedom,
                    p_value,
                } => (
                    format!("chi-square {}", number(statistic)),
                    format!("{degrees_of_freedom} degrees of freedom, p {p_value:.3}"),
                ),
            };
            [
                finding.name.clone(),
                count(finding.draws),
                found,
                wanted,
                match finding.standing {
                    Standing::Pass => "pass",
                    Standing::Fail => "FAIL",
                    Standing::TooFew => "too few to tell",
                }
                .into(),
            ]
        }),
    )
}

fn checks(result: &BenchResult) -> Vec<String> {
    if result.figures.checks.is_empty() {
        return Vec::new();
    }
    let places: u64 = result
        .figures
        .checks
        .iter()
        .map(|check| check.checked)
        .sum();
    // A violation would have failed the run.
    vec![format!(
        "All {} conditions hold after the run, at {} places.",
        result.figures.checks.len(),
        count(places)
    )]
}

fn all_conditions(result: &BenchResult) -> Vec<(String, String)> {
    let mut all = vec![
        ("workload".to_owned(), result.workload.clone()),
        ("mix".to_owned(), result.mix.clone()),
        ("seed".to_owned(), result.seed.to_string()),
        (
            "errors".to_owned(),
            format!(
                "up to {} retries after a conflict, with the same inputs; timeouts and lost \
                 connections are counted, not repeated",
                result.retries
            ),
        ),
    ];
    if let Some(method) = result.figures.restored_by {
        all.push((
            "data".to_owned(),
            match method {
                octavo_database::RestoreMethod::Reflink => {
                    "a fresh copy of the loaded rows (shared extents)"
                }
                octavo_database::RestoreMethod::Copy => "a fresh copy of the loaded rows",
            }
            .to_owned(),
        ));
    }
    if let Some(path) = result.figures.storage_path {
        let words = match path {
            StoragePath::Direct => "direct I/O",
            StoragePath::Limited => {
                "through the page cache, under one memory limit with the buffer"
            }
            StoragePath::PageCache => "through the page cache",
            StoragePath::None => "none",
        };
        all.push(("storage".to_owned(), words.to_owned()));
    }
    all.extend(result.figures.conditions.iter().cloned());
    all
}

#[cfg(test)]
mod tests {
    use std::{sync::OnceLock, time::Duration};

    use octavo_driver::Backlog;
    use octavo_experiment::{
        bench::{BenchSettings, Target, bench as run},
        observer::Observer,
        plan::RunLength,
    };
    use octavo_units::{Rate, Seed};
    use octavo_workload::{Tpcc, Workload};

    use super::*;

    struct Quiet;

    impl Observer for Quiet {
        fn progress(&self, _: &str, _: Duration, _: Duration) {}
        fn note(&self, _: &str) {}
        fn interrupted(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_a_client_of_a_server_costs_is_told() {
        let mut result = result();
        let transactions = result.figures.load.transactions();
        result.figures.machine.client_cpu_s = Some(transactions as f64 * 500e-6);
        assert!(!load(&result).join(" ").contains("woken"));
        result.subject.database = "mariadb".into();
        let told = load(&result).join(" ");
        assert!(told.contains("the client took 500 us of"), "{told}");
    }

    /// TPC-C against the database that answers at once.
    fn result() -> BenchResult {
        static RESULT: OnceLock<BenchResult> = OnceLock::new();
        let measure = || {
            let workload = Tpcc::new(2, Seed::new(1)).unwrap();
            let settings = BenchSettings {
                target: Target::Noop,
                workload: &workload,
                seed: Seed::new(1),
                clients: 2,
                load: Load::Closed { terminals: 2 },
                retries: 3,
                isolation: None,
                length: RunLength::Transactions {
                    // Whole decks.
                    warm_up: 23,
                    measured: 2300,
                },
                hdr_log: None,
                octavo_version: "0",
            };
            run(settings, &Quiet).unwrap().result
        };
        RESULT.get_or_init(measure).clone()
    }

    /// All on one line, so that line breaks do not matter.
    fn words(result: &BenchResult) -> String {
        let text = bench(result, 100, false);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for width in [40, 60, 80, 100, 200] {
            let text = bench(&result(), width, false);
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
        for row in ["Payment 2 000 0", "Stock-Level 200 0", "Delivery 200 0"] {
            assert!(text.contains(row), "{text}");
        }
        assert!(text.contains("(NOPM; "), "{text}");
        assert!(text.contains("no errors"), "{text}");
        assert!(!text.contains("WARNING"), "{text}");
        assert!(!text.contains("FAIL"), "{text}");
    }

    #[test]
    fn what_went_wrong_is_said() {
        let mut result = result();
        let transactions = Tpcc::new(2, Seed::new(1)).unwrap().transactions();
        let kinds = &mut result.figures.load.counts.kinds;
        // 28 deadlocks, 7 of them the last that was allowed.
        let outcomes = [990, 10, 28, 0, 0, 7, 0, 0];
        kinds[0] = KindCounts::of(&transactions[0], outcomes, kinds[0].latencies.clone());
        kinds[1].latencies.clear();
        kinds[1].latencies.record(6e6);
        result.figures.load.interrupted = true;
        result.figures.machine.others = 0.5;
        result.figures.load.measured = Duration::from_secs(30);
        result.audit[0].standing = Standing::Fail;
        result.remarks = vec!["beware".into()];
        let text = words(&result);
        for said in [
            "7 errors",
            "New-Order 21 28 0 0 7 0 0",
            "5 s FAIL",
            "WARNING: interrupted after",
            "other programs used more than 10 % of the CPU in the run (up to 50 %)",
            "not the specified one: New-Order among transactions",
            "WARNING: beware",
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
        result.figures.machine = Default::default();
        result.figures.machine.others = 0.9;
        result.figures.load.measured = Duration::from_secs(30);
        let setting = "innodb_flush_log_at_trx_commit".to_owned();
        result.figures.conditions = vec![(setting, "2".into())];
        let text = words(&result);
        assert!(text.contains("innodb_flush_log_at_trx_commit 2"), "{text}");
        assert!(
            text.contains("The server, postgres://anna@db:5432/shop, is yours"),
            "{text}"
        );
        for never in [
            "WARNING",
            "page cache",
            "of memory",
            "a fresh copy",
            "device",
        ] {
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
        result.figures.load.backlog = Some(backlog);
        let text = words(&result);
        for said in [
            "SATURATED",
            "900 arrivals a second (Poisson)",
            "scheduled arrival",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        result.load = Load::Paced { terminals: 20 };
        let text = words(&result);
        for said in ["20 terminals", "stood in line", "NOPM a warehouse", "paced"] {
            assert!(text.contains(said), "{said} in {text}");
        }
        result.load = Load::Closed { terminals: 20 };
        result.figures.load.backlog = None;
        let text = words(&result);
        for said in ["the wait for a connection included", "20 terminals share"] {
            assert!(text.contains(said), "{said} in {text}");
        }
    }

    #[test]
    fn a_series_has_a_line_a_second_and_json_everything() {
        let result = result();
        let csv = bench_csv(&result);
        assert_eq!(csv.lines().count(), 1 + result.figures.load.series.len());
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 14), "{csv}");
        let value: serde_json::Value = serde_json::from_str(&bench_json(&result)).unwrap();
        assert_eq!(value["transactions"], 4600);
        assert_eq!(
            value["kinds"][1]["latency_us"]["p50_us"],
            result.kinds()[1].latencies.percentiles().p50_us
        );
    }
}
