//! What a bench found, for a terminal, for programs and as a series.

use octavo_database::StoragePath;
use octavo_experiment::{
    audit::{AuditFinding, Figure, Standing},
    bench::{BenchResult, KindFindings},
    drive::{ArrivalProcess, Load},
};

use crate::{
    number::{count, number, percent, percent_fine, seconds, time},
    page::Page,
    table::Table,
};

/// The result as indented JSON.
///
/// # Panics
/// Never: every part of a result has a JSON form.
pub fn bench_json(result: &BenchResult) -> String {
    serde_json::to_string_pretty(result).expect("a result has a JSON form")
}

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

/// The result as text of at most `width` columns; with `colour`, ANSI escape
/// sequences mark headings, warnings and failed comparisons. Ends with a line
/// break.
pub fn bench(result: &BenchResult, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.answer(&answer(result));
    page.prose("", &conditions(result));
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
    page.table(&latencies(result), &[4, 8]);
    if result.kinds.iter().any(|kind| trouble(kind) > 0) {
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
        number(result.transactions_per_second)
    );
    if result.counted != result.transactions {
        text = format!(
            "{} {} a minute ({}{text} of all kinds)",
            number(result.counted_per_second * 60.0),
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
            number(result.counted_per_second),
            result.counted_name
        );
    }
    let latency = &result.latency_us;
    text.push_str(&format!(
        ", {} in the middle and {} at 99 %, {}.",
        time(latency.p50_us as f64),
        time(latency.p99_us as f64),
        match result.failed {
            0 => "no errors".to_owned(),
            1 => "1 error".to_owned(),
            failed => format!("{} errors", count(failed)),
        }
    ));
    if result.saturated {
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
    parts.push(format!(
        "measured for {} after {} of warm-up",
        seconds(result.measured_s),
        seconds(result.warm_up_s)
    ));
    format!("{}.", parts.join(", "))
}

fn warnings(result: &BenchResult) -> Vec<String> {
    let mut warnings = result.remarks.clone();
    if result.interrupted {
        warnings.push(format!(
            "interrupted after {}, before the end",
            seconds(result.measured_s)
        ));
    }
    if result.subject.storage_path == Some(StoragePath::PageCache) {
        warnings.push(
            "the file system refuses direct I/O: reads come through the kernel's page cache, so \
             these figures may show memory, not storage"
                .into(),
        );
    }
    if !result.buffer_filled {
        warnings
            .push("the warm-up ended before the buffer was full: give a longer --warm-up".into());
    }
    if let Some(backlog) = result.backlog.filter(|_| result.saturated) {
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
    if result.machine.others > 0.1 {
        warnings.push(format!(
            "other programs took {} of the machine's processors meanwhile",
            percent(result.machine.others)
        ));
    }
    warnings
}

fn latencies(result: &BenchResult) -> Table {
    let ms = |microseconds: u64| number(microseconds as f64 / 1e3);
    let row = |name: &str, committed: u64, rolled_back: u64, latency: &_, limit: String| {
        let octavo_experiment::latency::Percentiles {
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
        .kinds
        .iter()
        .map(|kind| {
            let limit = kind.response_time.map_or_else(String::new, |response| {
                let standing = if response.kept { "kept" } else { "FAIL" };
                format!("{} s {standing}", number(response.limit_s))
            });
            row(
                &kind.name,
                kind.committed,
                kind.rolled_back,
                &kind.latency_us,
                limit,
            )
        })
        .collect();
    if rows.len() > 1 {
        let sum = |of: fn(&KindFindings) -> u64| result.kinds.iter().map(of).sum();
        rows.push(row(
            "all",
            sum(|kind| kind.committed),
            sum(|kind| kind.rolled_back),
            &result.latency_us,
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
    if result.kinds.iter().all(|kind| kind.response_time.is_none()) {
        table.header.pop();
        for row in &mut table.rows {
            row.pop();
        }
    }
    table
}

fn trouble(kind: &KindFindings) -> u64 {
    kind.retries + kind.gave_up + kind.timed_out + kind.lost
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
            .kinds
            .iter()
            .filter(|kind| trouble(kind) > 0)
            .map(|kind| {
                [
                    kind.name.clone(),
                    count(kind.retries),
                    count(kind.conflicts.deadlocks),
                    count(kind.conflicts.serialisation_failures),
                    count(kind.conflicts.lock_timeouts),
                    count(kind.gave_up),
                    count(kind.timed_out),
                    count(kind.lost),
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
        "new orders" => format!(
            " {} NOPM a warehouse, of 12.86 that the times allow with the specification's \
             smallest shares of the other kinds.",
            number(result.counted_per_second * 600.0 / f64::from(terminals))
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
    if let Some(late) = &result.late_us {
        sentences.push(format!(
            "Transactions began {} later than they were due in the middle, {} at 99 %, {} at most.",
            time(late.p50_us as f64),
            time(late.p99_us as f64),
            time(late.max_us as f64)
        ));
    }
    if let Some(backlog) = &result.backlog {
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
    sentences
}

fn work(result: &BenchResult) -> Vec<String> {
    let transactions = result.transactions.max(1) as f64;
    let per = |amount: u64| number(amount as f64 / transactions);
    let bytes = |amount: u64| crate::number::bytes(amount as f64 / transactions);
    let counters = &result.counters;
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
    if let Some(device) = &result.device {
        sentences.push(format!(
            "The device counted {} reads of {} and {} writes of {}, those of other programs \
             included.",
            per(device.reads),
            bytes(device.read_bytes.get()),
            per(device.writes),
            bytes(device.written_bytes.get()),
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
    if result.checks.is_empty() {
        return Vec::new();
    }
    let places: u64 = result.checks.iter().map(|check| check.checked).sum();
    // A violation would have failed the run.
    vec![format!(
        "All {} conditions hold after the run, at {} places.",
        result.checks.len(),
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
    if let Some(method) = result.subject.restored_by {
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
    if let Some(path) = result.subject.storage_path {
        let words = match path {
            StoragePath::Direct => "direct I/O",
            StoragePath::PageCache => "through the page cache",
            StoragePath::None => "none",
        };
        all.push(("storage".to_owned(), words.to_owned()));
    }
    all.extend(result.subject.conditions.iter().cloned());
    all
}
