//! The report of a bench, and its series.

use octavo_database::{Registry, RestoreMethod, StoragePath};
use octavo_driver::{ArrivalProcess, Load, Percentiles, Sample, steady::Outage};
use octavo_experiment::{
    audit::{Agreement, AuditFinding, Figure},
    bench::{BenchResult, BesideBaseline, Doubt},
    compare::Difference,
    condition::{Condition, Holds},
    machine,
    statistics::Decision,
};
use octavo_workload::connection::Conflict;

use crate::{
    chart,
    document::{Block, Cell, Document, Section, Table, Tone},
    naming,
    number::{
        bytes, change_interval, count, counted, join, joules, moment, number, percent,
        percent_fine, plain, seconds, share_of_change, time,
    },
    outcome::{Case, Outcome},
    ramp,
    sentence::{covered, deviation, disturbed, of_own, of_own_workload, stall, storage_path, why},
    table::ms,
    trouble::{errors, troubles},
};

/// The run second by second as comma-separated values: a line of names, then
/// one line a second, warm-up included. Times are in seconds, latencies in
/// microseconds, sizes in bytes; `waiting` is empty in a closed loop. Lines that
/// are `measured` or `cut` add up to the failures of the run, and `outage_s` to
/// its outages.
pub fn bench_csv(result: &BenchResult) -> String {
    let mut text = String::from(
        "at_s,length_s,measured,transactions,counted,p50_us,p99_us,max_us,retries,failed,waiting,\
         buffer_misses,read_bytes,written_bytes,cut,outage_s\n",
    );
    for sample in &result.figures.load.series {
        let waiting = sample
            .backlog
            .map_or_else(String::new, |waiting| waiting.to_string());
        text.push_str(&format!(
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{waiting},{},{},{},{},{:.3}\n",
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
            u8::from(sample.cut),
            outage_s(sample, &result.figures.load.outages),
        ));
    }
    text
}

/// How much of a second lies in outages, s.
fn outage_s(sample: &Sample, outages: &[Outage]) -> f64 {
    let end_s = sample.at.as_secs_f64();
    let begin_s = end_s - sample.length.as_secs_f64();
    let shared = |outage: &Outage| {
        let outage_end_s = outage.begin_s + outage.length_s;
        (end_s.min(outage_end_s) - begin_s.max(outage.begin_s)).max(0.0)
    };
    // An empty sum is -0.
    outages.iter().map(shared).fold(0.0, |all, one| all + one)
}

/// The report of a bench.
pub fn bench(result: &BenchResult) -> Document {
    let sections = [
        answer,
        by_second,
        ramp::section,
        latency,
        load,
        work,
        audit,
        conditions,
    ];
    Document {
        origin: origin(result),
        ..Document::new(
            format!(
                "{} on {}",
                naming::workload(&result.workload),
                result.subject.database
            ),
            sections.map(|section| section(result)),
        )
    }
}

/// What was measured, and when.
fn origin(result: &BenchResult) -> String {
    let begun = moment(&result.started_at.to_string());
    format!("Octavo bench · begun {begun}")
}

/// The unit of throughput, and how many of it a transaction each second makes.
fn rate(result: &BenchResult) -> (String, f64) {
    let (load, name) = (&result.figures.load, &result.counted_name);
    let (unit, per) = naming::counted_by(name, load.counted() == load.transactions());
    (format!("{name} per {unit}"), per)
}

fn by_second(result: &BenchResult) -> Section {
    let mut section = Section::new("seconds", "By second");
    let (unit, per) = rate(result);
    let figures = chart::seconds(result, &unit, per);
    section.extend(figures.into_iter().map(Block::Figure));
    section
}

fn answer(result: &BenchResult) -> Section {
    let load = &result.figures.load;
    let latency = &load.counts.percentiles();
    let stability = &load.stability;
    let mut section = Section::new("answer", "Answer");
    let saturated = if result.saturated() {
        " SATURATED: the requested load was not reached."
    } else {
        ""
    };
    section.push(Block::Decision {
        what: match result.ramp.as_ref().and_then(|of| {
            let rate = ramp::Rate::new(&result.counted_name, of);
            ramp::answer(&rate, of, Some("--ramp"))
        }) {
            Some(answer) => answer,
            None => format!("{}{saturated}", throughput(result)),
        },
        why: String::new(),
    });
    section.extend(result.beside.as_ref().map(beside));
    let is_ramp = result.ramp.is_some();
    let mut values = vec![
        (
            "latency",
            match load.transactions() {
                0 => "none".into(),
                _ => format!("p50 {}, p99 {}", us(latency.p50_us), us(latency.p99_us)),
            },
        ),
        ("errors", errors(result)),
        ("throughput", why(load.steadiness.label)),
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
    if is_ramp {
        // Of all steps together these say nothing.
        values.retain(|(name, _)| *name == "errors");
    }
    values.extend(subject(result));
    section.values(values);
    if let Some(server) = &result.subject.server {
        section.paragraph(format!(
            "{server} is yours: its own settings, memory and storage hold, its memory may have \
             held any of the data, and its counts include all that it did meanwhile."
        ));
    }
    section.push(Block::Warnings(warnings(result)));
    section
}

/// What the run is beside an earlier one.
fn beside(of: &BesideBaseline) -> Block {
    let size = share_of_change((of.ratio.estimate - 1.0).abs());
    let what = match of.decision {
        Decision::Better => format!("{size} FASTER THAN THE BASELINE"),
        Decision::Worse => format!("{size} SLOWER THAN THE BASELINE"),
        Decision::Equivalent => "AS FAST AS THE BASELINE".into(),
        Decision::Open => "BESIDE THE BASELINE: NOT DECIDED".into(),
    };
    let begin = match (of.decision, of.doubt) {
        (_, Some(doubt)) => format!("{}: ", naming::capital(doubted(doubt))),
        (Decision::Equivalent, _) => format!("Within {}: ", percent(of.margin)),
        _ => String::new(),
    };
    Block::Decision {
        what,
        why: format!(
            "{begin}{}. The interval covers noise within both runs, not changes of the machine between \
             them; octavo ab covers both.",
            change_interval(&of.ratio)
        ),
    }
}

fn doubted(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::NotSteady => "one of the two runs was not steady",
        Doubt::Disturbed => "other programs or machines disturbed one of the two runs",
        Doubt::Warned => "a warning of the store may change what it says",
    }
}

/// What came out of a condition on a run beside its baseline.
pub fn bench_case(condition: &Condition, result: &BenchResult) -> Case {
    let beside = result.beside.as_ref();
    let ratio = beside.map(|of| of.ratio);
    let undecided = format!("whether this run is {condition} than the baseline is not decided");
    let interval = ratio.as_ref().map(change_interval).unwrap_or_default();
    Case {
        name: format!("{} beside the baseline", naming::workload(&result.workload)),
        ratio,
        outcome: match ratio.map(|ratio| condition.holds(&ratio)) {
            Some(_) if let Some(doubt) = beside.and_then(|of| of.doubt) => {
                Outcome::Open(format!("{undecided}: {}", doubted(doubt)))
            }
            Some(Holds::Yes) => Outcome::Yes(format!(
                "this run is {condition} than the baseline ({interval})"
            )),
            Some(Holds::No) => Outcome::No,
            Some(Holds::Open) => Outcome::Open(format!("{undecided}: {interval}")),
            None => Outcome::Open(format!("{undecided}: they cannot be compared")),
        },
    }
}

/// Below this many cache misses per transaction, the cache holds all data in use.
const FEW_MISSES: f64 = 0.01;

fn watts(watts: f64) -> String {
    format!("{} W", number(watts))
}

fn us(microseconds: u64) -> String {
    time(microseconds as f64)
}

/// The main result: throughput, in one sentence.
fn throughput(result: &BenchResult) -> String {
    let (load, name) = (&result.figures.load, &result.counted_name);
    let are_all_counted = load.counted() == load.transactions();
    let (unit, per) = naming::counted_by(name, are_all_counted);
    let counted = number(result.counted_per_second() * per);
    if are_all_counted {
        return format!("{counted} {name} per {unit}.");
    }
    let all = number(result.transactions_per_second());
    let short = if name == "new orders" { " (NOPM)" } else { "" };
    format!("{counted} {name} per {unit}{short}, {all} transactions of all kinds per second.")
}

/// What was measured and how long.
fn subject(result: &BenchResult) -> Vec<(&'static str, String)> {
    let load = &result.figures.load;
    let subject = &result.subject;
    let mut setup = vec![naming::with_version(&subject.database, &subject.version)];
    setup.extend(subject.page_size.map(|size| format!("{size} pages")));
    setup.extend(subject.memory.map(|memory| format!("{memory} of memory")));
    setup.extend(subject.size.map(|size| format!("{size} of data")));
    let cut = match load.steadiness.cut_s {
        0.0 => String::new(),
        cut => format!(" and {} that were still warm-up", seconds(cut)),
    };
    vec![
        ("database", setup.join(", ")),
        (
            "workload",
            match &result.own {
                Some(own) => format!("your statements on {}", own.copy.title()),
                None => result.data.of_workload(&naming::workload(&result.workload)),
            },
        ),
        (
            "clients",
            match result.load {
                Load::Ramp(ramp) => ramp.clients.to_string(),
                _ => result.clients.to_string(),
            },
        ),
        ("measured", seconds(load.measured.as_secs_f64())),
        (
            "warm-up",
            format!("{}{cut}", seconds(load.warm_up.as_secs_f64())),
        ),
    ]
}

/// A warning names serialization failures from one in this many transactions on.
const SERIALIZATION_PART: u64 = 20;

fn warnings(result: &BenchResult) -> Vec<String> {
    let load = &result.figures.load;
    let mut warnings = troubles(result);
    warnings.extend(result.own_caveats().iter().filter_map(of_own));
    warnings.extend(result.deviations.iter().map(deviation));
    if load.interrupted {
        warnings.push(format!(
            "Interrupted after {}.",
            seconds(load.measured.as_secs_f64())
        ));
    }
    if !load.steadiness.label.is_comparable() {
        warnings.push("Not steady, so figures will differ in the next run.".into());
    }
    if result.figures.storage_path == Some(StoragePath::PageCache) {
        warnings.push(
            "The page cache had no limit, or went beyond it (see the conditions), so figures may \
             show RAM, not your disk."
                .into(),
        );
    }
    // Where all data fits, the cache need never be full.
    if !load.buffer_filled && !result.data_fits {
        warnings.push(
            "The warm-up ended before the cache was full. Use a longer --warm-up-time.".into(),
        );
    }
    if let Some(backlog) = load.backlog.filter(|_| result.saturated()) {
        warnings.push(format!(
            "Saturated: {} waited at the start and {} at the end. Latencies are those of the \
             queue, which grows with the run. Use a lower --rate or more --clients.",
            count(backlog.begin),
            count(backlog.end)
        ));
    }
    let kinds = result.kinds();
    let failures = kinds.iter();
    let refused: u64 = failures
        .map(|kind| kind.conflicts(Conflict::Serialisation))
        .sum();
    let transactions = load.transactions();
    if refused > 0 && refused >= transactions / SERIALIZATION_PART {
        warnings.push(format!(
            "{} serialization failures in {} transactions, each of which did work that was thrown \
             away. The isolation level (see the conditions) limits these figures. Use more data, or \
             --isolation read-committed where the database has it.",
            count(refused),
            count(transactions)
        ));
    }
    let is_failed = |finding: &&AuditFinding| finding.agreement == Agreement::Fail;
    let failed = result.audit.iter().filter(is_failed);
    let failed = join(failed.map(|finding| &finding.name), "; ");
    if !failed.is_empty() {
        warnings.push(format!("The generated load is not as specified: {failed}."));
    }
    // Processor time is counted in hundredths of a second.
    if load.measured.as_secs_f64() >= 1.0 {
        let path = result.figures.storage_path;
        let mut machine = result.figures.machine.apart_from_limit(path);
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
struct LatencyRow<'a> {
    name: &'a str,
    committed: u64,
    rolled_back: u64,
    latency: Percentiles,
    limit: Cell,
}

fn latency(result: &BenchResult) -> Section {
    let mut section = Section::new("latency", "Latency");
    let mut rows: Vec<LatencyRow<'_>> = result
        .kinds()
        .iter()
        .map(|kind| LatencyRow {
            name: &kind.name,
            committed: kind.committed(),
            rolled_back: kind.rolled_back(),
            latency: kind.latencies.percentiles(),
            limit: match kind.response_time() {
                None => "".into(),
                Some(limit) if limit.kept => format!("{} s met", plain(limit.limit_s)).into(),
                Some(limit) => Cell::toned(format!("{} s FAIL", plain(limit.limit_s)), Tone::Bad),
            },
        })
        .collect();
    if rows.len() > 1 {
        rows.push(LatencyRow {
            name: "all",
            committed: result.kinds().iter().map(|kind| kind.committed()).sum(),
            rolled_back: result.kinds().iter().map(|kind| kind.rolled_back()).sum(),
            latency: result.figures.load.counts.percentiles(),
            limit: "".into(),
        });
    }
    let caption = match result.load {
        Load::Closed { terminals } if terminals > result.clients => {
            "ms from submission, closed loop, waiting for a connection included"
        }
        Load::Closed { .. } | Load::Ramp(_) => "ms from submission, closed loop",
        Load::Open { .. } => "ms from the scheduled arrival, open loop",
        Load::Paced { .. } => "ms from the operator's submission, paced",
        Load::Recorded { .. } => "ms from when it was due, without recorded think times",
    };
    let mut table = Table::with_rows(caption, &rows)
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
    if result
        .kinds()
        .iter()
        .any(|kind| kind.response_time().is_some())
    {
        table = table.words("90% within", |row| row.limit.clone());
    }
    section.push(Block::Table(table.build()));
    let mut troubled = result.kinds();
    troubled.retain(|kind| kind.retries() + kind.failed() > 0);
    let table = Table::with_rows("Conflicts and errors", &troubled)
        .label("kind", |kind| kind.name.clone())
        .figure("retries", |kind| count(kind.retries()))
        .figure("deadlocks", |kind| {
            count(kind.conflicts(Conflict::Deadlock))
        })
        .figure("serialization", |kind| {
            count(kind.conflicts(Conflict::Serialisation))
        })
        .figure("lock timeouts", |kind| {
            count(kind.conflicts(Conflict::LockTimeout))
        })
        .figure("given up", |kind| count(kind.gave_up()))
        .figure("timed out", |kind| count(kind.timed_out()))
        .figure("connection lost", |kind| count(kind.lost()));
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
        Load::Ramp(ramp) => (
            "ramp",
            format!(
                "{} connections, {} a step, each starts a transaction when its last one ends",
                ramp.clients,
                seconds(ramp.step.as_secs_f64())
            ),
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
        Load::Recorded { pace } => ("paced", format!("{pace}, {clients}")),
    };
    let mut values = vec![(load, means)];
    if let Load::Paced { terminals } = result.load
        && result.counted_name == "new orders"
    {
        // 12.86 is what the specification's times allow with its minimal mix.
        let said = if result.figures.load.counted() < 100 {
            "too few new orders to tell (12.86 possible)".into()
        } else {
            let each = result.counted_per_second() * 600.0 / f64::from(terminals);
            format!("{} (12.86 possible with the minimum mix)", number(each))
        };
        values.push(("NOPM a warehouse", said));
    }
    if let Some(late) = result.late() {
        let (p50, p99, max) = (us(late.p50_us), us(late.p99_us), us(late.max_us));
        values.push(("start delay", format!("p50 {p50}, p99 {p99}, max {max}")));
    }
    if let Some(backlog) = &result.figures.load.backlog {
        let (begin, end) = (count(backlog.begin), count(backlog.end));
        values.push(("waiting", format!("{begin} at the start, {end} at the end")));
        if let Load::Open { .. } = result.load {
            values.push(("arrivals", count(backlog.offered)));
        }
    }
    values.push((
        "driver",
        format!(
            "{} of CPU per transaction, {} transactions per second on a no-op database ({})",
            time(result.driver.cpu_us_per_transaction),
            number(result.driver.transactions_per_second),
            if result.driver.cached {
                format!("cached {}", result.driver.measured_at.strftime("%F %R UTC"))
            } else {
                "measured before this run".into()
            },
        ),
    ));
    // A database that is no server is part of the client.
    let kind = Registry::standard().find(&result.subject.database);
    let is_server = kind.is_ok_and(|kind| kind.is_server);
    let cpu = result.figures.machine.client_cpu_s.filter(|_| is_server);
    if let Some(seconds) = cpu.filter(|_| result.figures.load.transactions() > 0) {
        values.push((
            "client",
            format!(
                "{} of CPU per transaction, protocol and wake-ups included",
                time(seconds * 1e6 / result.figures.load.transactions() as f64)
            ),
        ));
    }
    section.values(values);
    section
}

fn work(result: &BenchResult) -> Section {
    let load = &result.figures.load;
    let mut section = Section::new("work", "Work per transaction");
    let transactions = load.transactions().max(1) as f64;
    let per = |amount: u64| number(amount as f64 / transactions);
    let bytes = |amount: u64| bytes(amount as f64 / transactions);
    let requests = |count: u64, amount: u64| format!("{} of {}", per(count), bytes(amount));
    let counters = &load.counters;
    let Some(hit_ratio) = counters.hit_ratio() else {
        return section;
    };
    let mut values = vec![
        ("cache hit rate", percent_fine(hit_ratio)),
        ("cache misses", per(counters.buffer_misses)),
        ("reads", requests(counters.reads, counters.read_bytes.get())),
        (
            "written",
            format!("{} (data and log)", bytes(counters.written_bytes().get())),
        ),
        ("fsyncs", per(counters.syncs)),
    ];
    if let Some(device) = &result.figures.device {
        for (name, count, amount) in [
            ("device reads", device.reads, device.read_bytes),
            ("device writes", device.writes, device.written_bytes),
        ] {
            let all = requests(count, amount.get());
            values.push((name, format!("{all} in all, other programs included")));
        }
    }
    let device = result.figures.device.as_ref();
    let energy = device.and_then(|device| device.energy);
    if let Some(energy) = energy.filter(|_| load.transactions() > 0) {
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
    let energy = result.figures.machine.energy;
    if let Some(energy) = energy.filter(|_| load.transactions() > 0) {
        values.push((
            "machine energy",
            format!(
                "{}, {} in the mean: {}, which counted it (RAPL), without disks, fans and \
                 supplies",
                joules(energy.joules / transactions),
                watts(energy.joules / energy.elapsed_s),
                covered(energy.covers),
            ),
        ));
    }
    section.values(values);
    if result.data_fits {
        let misses = counters.buffer_misses as f64 / transactions;
        // Nothing is read first more than once.
        let subject = &result.subject;
        let is_first = match (subject.page_size, subject.size) {
            (Some(page), Some(size)) => counters.buffer_misses <= size.get() / page.bytes().get(),
            _ => true,
        };
        section.paragraph(match (misses < FEW_MISSES, is_first) {
            (true, _) => "All data fits into the cache, so only writes show the disk.",
            (false, true) => {
                "All data fits into the cache, but not all of it was there yet: the misses are \
                 first reads."
            }
            (false, false) => {
                "All data fits into the memory, but pages were read more than once: each client \
                 has a part of the cache."
            }
        });
    }
    section
}

fn audit(result: &BenchResult) -> Section {
    let mut section = Section::new("audit", "Generated load");
    let table = Table::with_rows("Warm-up included", &result.audit)
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
        .words("result", |finding| match finding.agreement {
            Agreement::Pass => "pass".into(),
            Agreement::Fail => Cell::toned("FAIL", Tone::Bad),
            Agreement::TooFew => "too few to tell".into(),
        });
    section.push(Block::Table(table.build()));
    if !result.figures.checks.is_empty() {
        let places: u64 = result
            .figures
            .checks
            .iter()
            .map(|check| check.checked)
            .sum();
        // A violation would have failed the run.
        section.paragraph(format!(
            "Consistency after the run: all {} hold at {}.",
            counted(result.figures.checks.len(), "condition"),
            counted(places, "place")
        ));
    }
    section
}

fn conditions(result: &BenchResult) -> Section {
    let mut section = Section::new("conditions", "Conditions");
    let mut all = match &result.own {
        Some(own) => of_own_workload(own).to_vec(),
        None => vec![("mix", result.mix.clone())],
    };
    all.extend([
        ("random seed", result.seed.to_string()),
        (
            "retries",
            format!(
                "up to {} after a conflict, with the same inputs; none after timeouts and lost \
                 connections",
                result.retries
            ),
        ),
    ]);
    all.extend(result.figures.restored_by.map(|method| {
        let shared = match method {
            RestoreMethod::Reflink => " (shared blocks)",
            RestoreMethod::Copy => "",
        };
        ("rows", format!("a fresh copy of the loaded rows{shared}"))
    }));
    let path = result.figures.storage_path;
    all.extend(path.map(|path| ("file access", storage_path(path).to_owned())));
    let differences = result.beside.iter().flat_map(|of| &of.differences);
    let differences: Vec<&Difference> = differences.collect();
    let table = Table::with_rows("Not as in the baseline", &differences)
        .label("condition", |of| of.name.clone())
        .prose("baseline", |of| of.first.clone())
        .prose("this run", |of| of.second.clone());
    section.push(Block::Table(table.build()));
    let measured = result.figures.conditions.iter().cloned();
    let all = all
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    section.values(all.chain(measured));
    section
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_driver::{Backlog, KindCounts};
    use octavo_units::{Rate, Seed};
    use octavo_workload::{Deviation, Tpcc, Workload};

    use octavo_experiment::statistics::Interval;

    use super::*;
    use crate::{
        bench_json,
        fixture::{self, bench as result},
    };

    #[test]
    fn client_cpu_of_a_server_is_printed() {
        let mut result = result();
        let transactions = result.figures.load.transactions();
        result.figures.machine.client_cpu_s = Some(transactions as f64 * 500e-6);
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
        fixture::words(&bench(result).terminal(100, false))
    }

    #[test]
    fn a_run_beside_a_baseline_says_what_is_decided() {
        let mut result = result();
        let mut told = |ratio: f64, decision, doubt| {
            result.beside = Some(BesideBaseline {
                baseline: "main.json".into(),
                per_second: Interval {
                    estimate: 100.0,
                    low: 99.0,
                    high: 101.0,
                    batches: 20,
                },
                ratio: Interval {
                    estimate: ratio,
                    low: ratio / 1.02,
                    high: ratio * 1.02,
                    batches: 20,
                },
                decision,
                doubt,
                margin: 0.03,
                differences: vec![Difference {
                    name: "page size".into(),
                    first: "4 KiB".into(),
                    second: "8 KiB".into(),
                }],
            });
            let case = bench_case(&"slower > 5%".parse().unwrap(), &result);
            (words(&result), case.outcome)
        };
        let (text, outcome) = told(0.9, Decision::Worse, None);
        assert!(text.contains("10% SLOWER THAN THE BASELINE"), "{text}");
        assert!(matches!(outcome, Outcome::Yes(_)), "{outcome:?}");
        let (text, outcome) = told(1.2, Decision::Better, None);
        assert!(text.contains("20% FASTER THAN THE BASELINE"), "{text}");
        assert_eq!(outcome, Outcome::No);
        let (text, _) = told(1.0, Decision::Equivalent, None);
        assert!(
            text.contains("AS FAST AS THE BASELINE: Within 3%"),
            "{text}"
        );
        let (text, outcome) = told(0.96, Decision::Open, None);
        assert!(text.contains("NOT DECIDED"), "{text}");
        assert!(matches!(outcome, Outcome::Open(_)), "{outcome:?}");
        for (ratio, doubt, said) in [
            (0.5, Doubt::NotSteady, "was not steady"),
            (1.5, Doubt::Disturbed, "disturbed one"),
        ] {
            let (text, outcome) = told(ratio, Decision::Open, Some(doubt));
            assert!(text.contains(said), "{text}");
            assert!(matches!(outcome, Outcome::Open(_)), "{outcome:?}");
        }
        let long = fixture::words(&bench(&result).verbose(100, false));
        assert!(long.contains("page size 4 KiB 8 KiB"), "{long}");
    }

    #[test]
    fn driver_cost_says_where_it_comes_from() {
        let mut result = result();
        assert!(words(&result).contains("no-op database (measured before this run)"));
        result.driver.cached = true;
        result.driver.measured_at = "2026-11-25T22:10:59Z".parse().unwrap();
        let told = words(&result);
        assert!(
            told.contains("database (cached 2026-11-25 22:10 UTC)"),
            "{told}"
        );
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
    fn failures_are_printed_as_warnings() {
        let mut result = result();
        let transactions = Tpcc::new(2, Seed::new(1)).unwrap().transactions();
        let kinds = &mut result.figures.load.counts.kinds;
        // 28 deadlocks, 7 of them the last that was allowed.
        let outcomes = [990, 10, 28, 0, 0, 7, 0, 0];
        kinds[0] =
            KindCounts::with_outcomes(&transactions[0], outcomes, kinds[0].latencies.clone());
        kinds[1].latencies.clear();
        kinds[1].latencies.record(6e6);
        result.figures.load.interrupted = true;
        result.figures.machine.others = 0.5;
        result.figures.load.measured = Duration::from_secs(30);
        result.audit[0].agreement = Agreement::Fail;
        result.deviations = vec![Deviation::MixBelowMinimum];
        let text = words(&result);
        for said in [
            "errors 7 ",
            "New-Order 21 28 0 0 7 0 0",
            "5 s FAIL",
            "! Interrupted after",
            "! Other programs used up to 50% of the CPU, so figures",
            "not as specified: New-Order among transactions",
            "! The mix is not TPC-C's",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
    }

    #[test]
    fn many_serialization_failures_are_a_warning() {
        let mut result = result();
        let transactions = Tpcc::new(2, Seed::new(1)).unwrap().transactions();
        let all = result.figures.load.transactions();
        let mut text = |failures: u64| {
            let kinds = &mut result.figures.load.counts.kinds;
            let [committed, rolled_back] = [kinds[0].committed(), kinds[0].rolled_back()];
            let outcomes = [committed, rolled_back, 0, failures, 0, 0, 0, 0];
            kinds[0] =
                KindCounts::with_outcomes(&transactions[0], outcomes, kinds[0].latencies.clone());
            words(&result)
        };
        assert!(!text(all / 20 - 1).contains("! "));
        let told = text(all / 20);
        let warning = format!(
            "! {} serialization failures in {} transactions",
            count(all / 20),
            count(all)
        );
        assert!(told.contains(&warning), "{told}");
        assert!(told.contains("--isolation read-committed"), "{told}");
    }

    #[test]
    fn external_server_is_marked() {
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
        result.figures.load.backlog = Some(backlog);
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
        result.figures.load.backlog = None;
        let text = words(&result);
        for said in ["waiting for a connection included", "20 terminals share"] {
            assert!(text.contains(said), "{said} in {text}");
        }
    }

    #[test]
    fn a_series_has_a_line_a_second_and_json_everything() {
        let result = result();
        let csv = bench_csv(&result);
        assert_eq!(csv.lines().count(), 1 + result.figures.load.series.len());
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 16), "{csv}");
        let value: serde_json::Value = serde_json::from_str(&bench_json(&result)).unwrap();
        assert_eq!(value["transactions"], 4600);
        assert_eq!(
            value["kinds"][1]["latency_us"]["p50_us"],
            result.kinds()[1].latencies.percentiles().p50_us
        );
    }
}
