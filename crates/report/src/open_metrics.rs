//! What is under way, as OpenMetrics text, for monitoring that asks for it
//! (<https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>, version 1.0).
//!
//! Counters begin at 0 with the command. Times are in seconds, sizes in bytes. docs/metrics.md
//! lists all of them.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use octavo_driver::Sample;
use octavo_experiment::{lockstep::Judgement, plan::Plan, statistics::Interval};

/// What its text is, as HTTP says it.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Figures of a command while it works.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    seconds: Seconds,
    /// Time spent, and what all of it is to take.
    time: Option<(Duration, Duration)>,
    standings: Option<Standings>,
}

/// What the seconds of a bench came to so far.
#[derive(Clone, Debug, Default)]
struct Seconds {
    transactions: u64,
    counted: u64,
    failed: u64,
    retries: u64,
    buffer_misses: u64,
    read_bytes: u64,
    written_bytes: u64,
    last: Option<Sample>,
}

/// How the cells of a plan stand.
#[derive(Clone, Debug)]
struct Standings {
    passes: usize,
    cells: Vec<Standing>,
}

#[derive(Clone, Debug)]
struct Standing {
    /// Names and values.
    labels: Vec<(&'static str, String)>,
    /// Counted transactions per second.
    throughput: Option<Interval>,
    ratio: Option<Interval>,
    is_measured: bool,
}

impl Metrics {
    /// Adds a second of a bench.
    pub fn second(&mut self, sample: &Sample) {
        let own = &mut self.seconds;
        for (sum, more) in [
            (&mut own.transactions, sample.transactions),
            (&mut own.counted, sample.counted),
            (&mut own.failed, sample.failed),
            (&mut own.retries, sample.retries),
            (&mut own.buffer_misses, sample.buffer_misses),
            (&mut own.read_bytes, sample.read_bytes.get()),
            (&mut own.written_bytes, sample.written_bytes.get()),
        ] {
            *sum = sum.saturating_add(more);
        }
        own.last = Some(*sample);
    }

    /// The time that was spent, and that everything is to take, which is the time spent where that
    /// is not known.
    pub fn time(&mut self, spent: Duration, expected: Duration) {
        self.time = Some((spent, expected));
    }

    /// How the cells of a plan stand.
    pub fn standings(&mut self, plan: &Plan, judgement: &Judgement) {
        let cells = plan.cells();
        let groups = plan.groups();
        let standings = groups
            .iter()
            .zip(&judgement.groups)
            .flat_map(|(group, of)| {
                group
                    .cells
                    .iter()
                    .zip(&of.candidates)
                    .map(|(&number, candidate)| {
                        let cell = &cells[number];
                        let per_second = |per_minute: Interval| Interval {
                            estimate: per_minute.estimate / 60.0,
                            low: per_minute.low / 60.0,
                            high: per_minute.high / 60.0,
                            ..per_minute
                        };
                        Standing {
                            labels: vec![
                                ("cell", plan.cell_name(cell)),
                                ("database", cell.database.name.clone()),
                                ("page_size_bytes", cell.page_size.get().to_string()),
                                ("memory_bytes", cell.memory.get().to_string()),
                            ],
                            throughput: candidate.throughput.map(per_second),
                            ratio: candidate.ratio,
                            is_measured: candidate.left.is_none() && !of.finished,
                        }
                    })
            });
        self.standings = Some(Standings {
            passes: judgement.passes,
            cells: standings.collect(),
        });
    }

    /// As OpenMetrics has it.
    pub fn text(&self, version: &str) -> String {
        let mut text = Text::default();
        text.family("octavo_build", "info", "The program.");
        text.line("octavo_build_info", &[("version", version)], 1.0);
        self.seconds.write(&mut text);
        if let Some((spent, expected)) = self.time {
            text.gauge("octavo_spent_seconds", "Time spent.", spent.as_secs_f64());
            if expected != spent {
                let what = "Time that everything is to take.";
                text.gauge("octavo_expected_seconds", what, expected.as_secs_f64());
            }
        }
        if let Some(standings) = &self.standings {
            standings.write(&mut text);
        }
        text.0 + "# EOF\n"
    }
}

impl Seconds {
    fn write(&self, text: &mut Text) {
        let Some(last) = &self.last else {
            return;
        };
        for (name, what, value) in [
            (
                "octavo_transactions",
                "Transactions that ended.",
                self.transactions,
            ),
            (
                "octavo_counted_transactions",
                "Those that the throughput is of.",
                self.counted,
            ),
            (
                "octavo_failed_transactions",
                "Transactions that failed.",
                self.failed,
            ),
            ("octavo_retries", "Retries after conflicts.", self.retries),
            (
                "octavo_buffer_misses",
                "Pages that had to be read.",
                self.buffer_misses,
            ),
            (
                "octavo_read_bytes",
                "Bytes that the database read.",
                self.read_bytes,
            ),
            (
                "octavo_written_bytes",
                "Bytes that it wrote.",
                self.written_bytes,
            ),
        ] {
            text.family(name, "counter", what);
            text.line(&format!("{name}_total"), &[], value as f64);
        }
        let name = "octavo_response_time_seconds";
        text.family(
            name,
            "gauge",
            "Of the last second; quantile 1 is the longest.",
        );
        for (quantile, us) in [
            ("0.5", last.p50_us),
            ("0.99", last.p99_us),
            ("1", last.max_us),
        ] {
            text.line(name, &[("quantile", quantile)], us as f64 / 1e6);
        }
        let what = "1 in the measured part, 0 before.";
        text.gauge("octavo_measured", what, f64::from(u8::from(last.measured)));
        if let Some(backlog) = last.backlog {
            let what = "Transactions that are due and did not begin.";
            text.gauge("octavo_backlog_transactions", what, backlog as f64);
        }
    }
}

impl Standings {
    fn write(&self, text: &mut Text) {
        text.gauge("octavo_passes", "Passes so far.", self.passes as f64);
        let intervals = |of: fn(&Standing) -> Option<Interval>| {
            self.cells
                .iter()
                .filter_map(move |cell| Some((cell, of(cell)?)))
        };
        let mut family = |name: &str, what: &str, of: fn(&Standing) -> Option<Interval>| {
            text.family(name, "gauge", what);
            for (cell, interval) in intervals(of) {
                for (bound, value) in [
                    ("low", interval.low),
                    ("estimate", interval.estimate),
                    ("high", interval.high),
                ] {
                    let labels = cell
                        .labels
                        .iter()
                        .map(|(name, value)| (*name, value.as_str()));
                    let labels: Vec<_> = labels.chain([("bound", bound)]).collect();
                    text.line(name, &labels, value);
                }
            }
        };
        let what = "Counted transactions per second of a cell, and its 95% interval.";
        family("octavo_cell_throughput", what, |cell| cell.throughput);
        let what = "Throughput over the reference's, and its 95% interval.";
        family("octavo_cell_ratio", what, |cell| cell.ratio);
        let name = "octavo_cell_measured";
        text.family(
            name,
            "gauge",
            "1 while a cell is measured, 0 when it is decided.",
        );
        for cell in &self.cells {
            let labels = cell
                .labels
                .iter()
                .map(|(name, value)| (*name, value.as_str()));
            text.line(
                name,
                &labels.collect::<Vec<_>>(),
                f64::from(u8::from(cell.is_measured)),
            );
        }
    }
}

/// Lines of OpenMetrics.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Begins the lines of one name.
    fn family(&mut self, name: &str, kind: &str, what: &str) {
        let _never_fails = write!(self.0, "# TYPE {name} {kind}\n# HELP {name} {what}\n");
    }

    /// A family of one gauge without labels.
    fn gauge(&mut self, name: &str, what: &str, value: f64) {
        self.family(name, "gauge", what);
        self.line(name, &[], value);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let labels = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels = match labels.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => none,
            some => format!("{{{some}}}"),
        };
        let value = match value {
            value if value == f64::INFINITY => "+Inf".to_owned(),
            value => value.to_string(),
        };
        let _never_fails = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// A label's value: a backslash stands before backslashes and quotes, and a line break is `\n`.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use octavo_units::ByteCount;

    use super::*;
    use crate::fixture;

    #[test]
    fn seconds_add_up_and_the_last_one_has_the_times() {
        let mut metrics = Metrics::default();
        assert_eq!(metrics.text("1.2").matches("octavo_").count(), 3);
        for (p99_us, measured) in [(900, false), (1500, true)] {
            metrics.second(&Sample {
                transactions: 100,
                counted: 40,
                read_bytes: ByteCount::kib(4),
                p99_us,
                measured,
                ..Sample::default()
            });
        }
        let text = metrics.text("1.2");
        for line in [
            "octavo_build_info{version=\"1.2\"} 1",
            "# TYPE octavo_transactions counter",
            "octavo_transactions_total 200",
            "octavo_counted_transactions_total 80",
            "octavo_read_bytes_total 8192",
            "octavo_response_time_seconds{quantile=\"0.99\"} 0.0015",
            "octavo_measured 1",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
        assert!(text.ends_with("\n# EOF\n"));
        // A closed loop has none.
        assert!(!text.contains("backlog") && !text.contains("_expected_"));
    }

    #[test]
    fn cells_have_names_and_intervals() {
        let findings = fixture::one_memory();
        let found = &findings.groups[0].cells;
        let candidates = found
            .iter()
            .map(|cell| octavo_experiment::lockstep::Candidate {
                throughput: cell.throughput,
                ratio: cell.ratio,
                ..Default::default()
            });
        let judgement = Judgement {
            passes: 40,
            measured: Duration::from_secs(9),
            screened: Vec::new(),
            groups: vec![octavo_experiment::lockstep::GroupJudgement {
                candidates: candidates.collect(),
                finished: false,
                young: None,
            }],
            levels: octavo_experiment::lockstep::Levels::default(),
        };
        let mut metrics = Metrics::default();
        metrics.standings(&findings.plan, &judgement);
        let text = metrics.text("1.2");
        let per_second = found[0].throughput.unwrap().estimate / 60.0;
        let line = format!(
            "octavo_cell_throughput{{bound=\"estimate\",cell=\"2 KiB pages\",database=\"sqlite\",\
             memory_bytes=\"33554432\",page_size_bytes=\"2048\"}} {per_second}"
        );
        assert!(text.contains(&line), "{line} in {text}");
        assert!(text.contains("octavo_passes 40\n"));
        assert!(text.contains("octavo_cell_measured{cell=\"8 KiB pages\""));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
