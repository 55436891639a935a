//! An earlier result that a bench is set against: the JSON of another bench, or a store.

use std::{path::Path, time::Duration};

use octavo_storage::text::{self, TextError};
use serde::Deserialize;

use super::result::{BenchResult, BesideBaseline, TestedSystem};
use crate::{
    compare::Difference,
    directory::STORE,
    findings::{CellFindings, Findings},
    plan::Level,
    record::Source,
    statistics::{Estimate, Interval, decision},
    store::{Store, StoreError},
};

/// How much a run scatters is told by so many parts of it, by fewer where one of them has nothing.
/// Chosen.
const PARTS: [u32; 3] = [20, 10, 5];

/// The shortest run that is compared. Chosen.
const SHORTEST: Duration = Duration::from_secs(4);

/// Ratios within this share of 1 make no difference, as in experiments by default.
const MARGIN: f64 = 0.03;

/// An earlier result.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Where it is.
    name: String,
    counted_name: String,
    /// Counted commits a second.
    per_second: Interval,
    /// Its conditions, by name.
    conditions: Vec<(String, String)>,
}

/// Why a result is no baseline.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It cannot be read.
    #[error(transparent)]
    Text(#[from] TextError),
    /// … as a store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is something else.
    #[error("{0} is neither what octavo bench --json printed nor an octavo.db: {1}")]
    Foreign(String, String),
    /// It says nothing of how throughput scatters.
    #[error("{0} has too few seconds to be compared with: make it with a longer --duration")]
    TooShort(String),
    /// It has no cell like the run.
    #[error("{store} has no measured cell with {wanted}; it has {has}")]
    NoCell {
        /// Where it is.
        store: String,
        /// What would be like the run.
        wanted: String,
        /// What there is.
        has: String,
    },
    /// It is of another workload.
    #[error("{0} is of {1}, and this run of {2}: throughputs of these are not compared")]
    OtherWorkload(String, String, String),
}

/// What is read of a bench's JSON.
#[derive(Deserialize)]
struct EarlierBench {
    octavo: String,
    counted_name: String,
    workload: String,
    mix: String,
    clients: u32,
    data: serde_json::Value,
    load: serde_json::Value,
    subject: TestedSystem,
    seconds: Vec<EarlierSecond>,
    conditions: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct EarlierSecond {
    measured: bool,
    length: Duration,
    counted: u64,
}

impl Baseline {
    /// The result at `path`, for a run of that workload: what `octavo bench --json` printed, or a
    /// store or its directory.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub fn read(path: &Path, wanted: &WantedCell<'_>) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Self::of_store(&path.join(STORE), name, wanted);
        }
        match text::read(path, text::MADE_MAX) {
            Ok(text) => Self::of_bench(&text, name, wanted),
            // A store's first bytes are no text.
            Err(TextError::NotText { .. } | TextError::TooLong { .. }) => {
                Self::of_store(path, name, wanted)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn of_bench(text: &str, name: String, wanted: &WantedCell<'_>) -> Result<Self, BaselineError> {
        // An empty or short store is text, too.
        let found: EarlierBench = serde_json::from_str(text)
            .map_err(|error| BaselineError::Foreign(name.clone(), error.to_string()))?;
        if found.workload != wanted.workload {
            let (was, is) = (found.workload, wanted.workload.to_owned());
            return Err(BaselineError::OtherWorkload(name, was, is));
        }
        let measured = found.seconds.iter().filter(|second| second.measured);
        let seconds = measured.map(|second| (second.counted, second.length));
        let Some(per_second) = per_second(seconds) else {
            return Err(BaselineError::TooShort(name));
        };
        let mut conditions = of_run(
            &found.octavo,
            &found.subject,
            found.clients,
            [&found.data, &found.load],
            &found.mix,
        );
        conditions.extend(found.conditions);
        Ok(Self {
            name,
            counted_name: found.counted_name,
            per_second,
            conditions,
        })
    }

    fn of_store(path: &Path, name: String, wanted: &WantedCell<'_>) -> Result<Self, BaselineError> {
        let findings = Findings::read(&Store::open(path)?)?;
        let foreign = |why: &str| BaselineError::Foreign(name.clone(), why.to_owned());
        let findings = findings.ok_or_else(|| foreign("it holds no plan yet"))?;
        let plan = &findings.plan;
        if findings.source != Source::Measured {
            return Err(foreign("it was predicted, not measured"));
        }
        if plan.workload.to_string() != wanted.workload {
            let (was, is) = (plan.workload.to_string(), wanted.workload.to_owned());
            return Err(BaselineError::OtherWorkload(name, was, is));
        }
        let all: Vec<&CellFindings> = findings.groups.iter().flat_map(|of| &of.cells).collect();
        let is_like = |of: &&&CellFindings| {
            let cell = &of.cell;
            cell.database.name == wanted.system.database
                && Some(cell.page_size) == wanted.system.page_size
                && Some(cell.memory) == wanted.system.memory
                && cell.clients == wanted.clients
        };
        let measured = all.iter().filter(is_like);
        let mut like = measured.filter_map(|of| Some((of, of.throughput?)));
        let Some((cell, per_minute)) = like.next() else {
            let has: Vec<String> = all.iter().map(|of| plan.cell_name(&of.cell)).collect();
            return Err(BaselineError::NoCell {
                store: name,
                wanted: wanted.words(),
                has: has.join("; "),
            });
        };
        let cell = &cell.cell;
        let part = |end: f64| end / 60.0;
        let mut conditions = vec![
            ("octavo".to_owned(), findings.octavo.clone()),
            ("database".into(), cell.database.name.clone()),
            ("database version".into(), cell.database.version.clone()),
            ("page size".into(), cell.page_size.to_string()),
            ("memory in all".into(), cell.memory.to_string()),
            ("clients".into(), cell.clients.to_string()),
            ("measured".into(), "in turns with other cells".into()),
        ];
        let rows = serde_json::to_value(cell.data).unwrap_or_default();
        conditions.push(("rows".into(), rows.to_string()));
        conditions.extend(findings.database.iter().cloned());
        Ok(Self {
            name,
            counted_name: findings.counted_name.clone(),
            per_second: Interval {
                estimate: part(per_minute.estimate),
                low: part(per_minute.low),
                high: part(per_minute.high),
                ..per_minute
            },
            conditions,
        })
    }

    /// Sets a run against it.
    ///
    /// # Errors
    /// Where the run is too short, or counts something else: a sentence.
    pub fn beside(self, result: &BenchResult) -> Result<BesideBaseline, String> {
        let load = &result.figures.load;
        let measured = load.series.iter().filter(|second| second.measured);
        let own = per_second(measured.map(|second| (second.counted, second.length)));
        let own = own.ok_or("the run has too few seconds in which transactions ended")?;
        if self.counted_name != result.counted_name {
            let (first, second) = (&self.counted_name, &result.counted_name);
            return Err(format!("the baseline counts {first}, and the run {second}"));
        }
        let ratio = own.over(&self.per_second);
        Ok(BesideBaseline {
            differences: differences(&self.conditions, &conditions(result)),
            baseline: self.name,
            per_second: self.per_second,
            ratio,
            decision: decision(&ratio, MARGIN),
            margin: MARGIN,
        })
    }
}

/// What a run is of, which a baseline has to be like.
#[derive(Clone, Copy, Debug)]
pub struct WantedCell<'a> {
    /// The workload's short name.
    pub workload: &'a str,
    /// The database and its settings.
    pub system: &'a TestedSystem,
    /// Sessions.
    pub clients: u32,
}

impl WantedCell<'_> {
    fn words(&self) -> String {
        let mut words = vec![self.system.database.clone()];
        words.extend(self.system.page_size.map(|size| format!("{size} pages")));
        words.extend(
            self.system
                .memory
                .map(|memory| format!("{memory} of memory")),
        );
        words.push(Level::Clients(self.clients).with_noun());
        words.join(", ")
    }
}

/// The conditions of a bench; its rows and how transactions came as its JSON has them.
fn of_run(
    octavo: &str,
    system: &TestedSystem,
    clients: u32,
    [data, load]: [&serde_json::Value; 2],
    mix: &str,
) -> Vec<(String, String)> {
    let shown = |value: Option<String>| value.unwrap_or_default();
    [
        ("octavo", octavo.to_owned()),
        ("database", system.database.clone()),
        ("database version", system.version.clone()),
        (
            "page size",
            shown(system.page_size.map(|of| of.to_string())),
        ),
        (
            "memory in all",
            shown(system.memory.map(|of| of.to_string())),
        ),
        ("data", shown(system.size.map(|of| of.to_string()))),
        ("rows", data.to_string()),
        ("clients", clients.to_string()),
        ("load", load.to_string()),
        ("mix", mix.to_owned()),
        ("measured", "in one run".into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn conditions(result: &BenchResult) -> Vec<(String, String)> {
    let json = |value: Result<serde_json::Value, serde_json::Error>| value.unwrap_or_default();
    let mut all = of_run(
        &result.octavo,
        &result.subject,
        result.clients,
        [
            &json(serde_json::to_value(result.data)),
            &json(serde_json::to_value(result.load)),
        ],
        &result.mix,
    );
    all.extend(result.figures.conditions.iter().cloned());
    all
}

/// What both tell, and tell otherwise.
fn differences(first: &[(String, String)], second: &[(String, String)]) -> Vec<Difference> {
    let mut all: Vec<Difference> = Vec::new();
    for (name, value) in first {
        let other = second.iter().find(|(other, _)| other == name);
        if let Some((_, other)) = other.filter(|(_, other)| other != value)
            && all.iter().all(|known| known.name != *name)
        {
            all.push(Difference {
                name: name.clone(),
                first: value.clone(),
                second: other.clone(),
            });
        }
    }
    all
}

/// The rate over all seconds, with an interval from how parts of about equal length scatter; `None`
/// of fewer than four seconds, or where nothing was counted in one of the fewest parts.
fn per_second(seconds: impl Iterator<Item = (u64, Duration)>) -> Option<Interval> {
    let seconds: Vec<(u64, Duration)> = seconds.collect();
    let all = sum(&seconds);
    if all.1 < SHORTEST {
        return None;
    }
    let logs = |count: u32| -> Option<Vec<f64>> {
        let parts = parts(&seconds, (all.1 / count).max(Duration::from_secs(1)));
        let logs: Vec<f64> = parts.iter().map(|part| log_rate(*part)).collect();
        logs.iter().all(|log| log.is_finite()).then_some(logs)
    };
    // Where a part has nothing, as in a stall, longer ones tell.
    let logs = PARTS.into_iter().find_map(logs)?;
    let estimate = Estimate::from_batches(&logs, &logs, 0.0)?;
    let half = estimate.half_width(0.05);
    Some(Interval::of_logs(log_rate(all), half, logs.len()))
}

/// Neighbors together until they are so long; what is left over is in the last one.
fn parts(seconds: &[(u64, Duration)], length: Duration) -> Vec<(u64, Duration)> {
    let mut parts: Vec<(u64, Duration)> = Vec::new();
    let mut open = (0, Duration::ZERO);
    for (counted, took) in seconds {
        open = (open.0 + counted, open.1 + *took);
        // Seconds are a little longer or shorter than that.
        if open.1 >= length.mul_f64(0.95) {
            parts.push(std::mem::take(&mut open));
        }
    }
    match parts.last_mut() {
        Some(last) => *last = (last.0 + open.0, last.1 + open.1),
        None => parts.push(open),
    }
    parts
}

fn sum(seconds: &[(u64, Duration)]) -> (u64, Duration) {
    let counted = seconds.iter().map(|(counted, _)| counted).sum();
    (counted, seconds.iter().map(|(_, length)| length).sum())
}

fn log_rate((counted, length): (u64, Duration)) -> f64 {
    (counted as f64 / length.as_secs_f64()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(rates: impl IntoIterator<Item = u64>) -> impl Iterator<Item = (u64, Duration)> {
        rates.into_iter().map(|rate| (rate, Duration::from_secs(1)))
    }

    #[test]
    fn a_rate_has_an_interval_of_its_seconds() {
        let found = per_second(seconds((0..60).map(|at| 1000 + at % 2 * 20))).unwrap();
        assert!((found.estimate - 1010.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.batches, 20);
        // Three alternating seconds a part: 1006.7 or 1013.3.
        assert!(found.low > 1007.0 && found.high < 1013.0, "{found:?}");
        assert!(per_second(seconds([1000; 3])).is_none());
        assert!(per_second(seconds([1000, 0, 1000, 1000])).is_none());
        // A last second that is short, and one in which nothing ended.
        let short = [(1000, 1.0), (990, 1.0), (1010, 1.0), (1000, 1.0), (0, 0.01)];
        let short = short.map(|(counted, s)| (counted, Duration::from_secs_f64(s)));
        assert_eq!(per_second(short.into_iter()).unwrap().batches, 4);
        let stalled = (0..40).map(|at| if at == 7 { 0 } else { 1000 });
        assert_eq!(per_second(seconds(stalled)).unwrap().batches, 20);
        let stalled = (0..20).map(|at| if at == 7 { 0 } else { 1000 });
        assert_eq!(per_second(seconds(stalled)).unwrap().batches, 10);
        let wild = per_second(seconds([500, 1000, 500, 1000, 900])).unwrap();
        assert!(wild.low < 500.0 && wild.high > 1000.0, "{wild:?}");
    }

    #[test]
    fn differences_are_what_both_tell_otherwise() {
        let list = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter()
                .map(|(a, b)| ((*a).into(), (*b).into()))
                .collect()
        };
        let found = differences(
            &list(&[("a", "1"), ("b", "2"), ("only", "3"), ("a", "1")]),
            &list(&[("b", "4"), ("a", "1"), ("new", "5")]),
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].second.as_str()),
            ("b", "4")
        );
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.json");
        let system = TestedSystem {
            database: "sqlite".into(),
            version: String::new(),
            server: None,
            page_size: None,
            memory: None,
            size: None,
        };
        let wanted = WantedCell {
            workload: "pgbench",
            system: &system,
            clients: 1,
        };
        for (text, said) in [
            ("", "EOF"),
            ("{}", "missing field"),
            ("[1]", "invalid type"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Baseline::read(&path, &wanted).unwrap_err().to_string();
            assert!(
                error.contains("neither what") && error.contains(said),
                "{error}"
            );
        }
        std::fs::write(&path, [0xff, 0x00]).unwrap();
        assert!(matches!(
            Baseline::read(&path, &wanted).unwrap_err(),
            BaselineError::Store(_)
        ));
    }
}
