//! An earlier result that a bench is set against: the JSON of another bench, or a store.

use std::{path::Path, time::Duration};

use octavo_driver::{Load, steady::Label};
use octavo_storage::text::{self, TextError};
use octavo_units::Seed;
use octavo_workload::{DataSpec, Workload};
use serde::Deserialize;

use super::result::{BenchResult, BesideBaseline, Doubt, TestedSystem};
use crate::{
    caveats::{Caveat, Severity},
    compare::Difference,
    directory::STORE,
    findings::{CellFindings, Findings},
    machine::{MachineUse, disturbances},
    plan::{Cell, Level, MARGIN, Storage},
    record::Source,
    statistics::{Decision, Estimate, Interval, decision},
    store::{Store, StoreError},
};

/// Parts that a run is split into for its interval; fewer where a part has no commits. Chosen.
const PARTS: [u32; 3] = [20, 10, 5];

/// The shortest run that is compared. Chosen.
const SHORTEST: Duration = Duration::from_secs(2);

/// An earlier result, which may be of anything.
#[derive(Debug)]
pub struct Baseline {
    /// Where it is.
    name: String,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Bench(Box<EarlierBench>),
    Store(Box<Findings>),
}

/// An earlier result that is like a run.
#[derive(Clone, Debug)]
pub struct Comparable {
    name: String,
    counted_name: String,
    /// Counted commits a second.
    per_second: Interval,
    doubt: Option<Doubt>,
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
    /// Its throughput is not what the database could.
    #[error("{0} {1}, so its throughput is not what the database could reach")]
    NotClosed(String, &'static str),
    /// It says nothing of how throughput scatters.
    #[error(
        "{0} must have at least 2 s of measured time, and commits in each fifth of it: repeat it with a \
         longer --duration"
    )]
    TooShort(String),
    /// It has no cell like the run, or several.
    #[error("{store} has {count} measured cells with {wanted}, where one is needed; it has {has}")]
    Cells {
        /// Where it is.
        store: String,
        /// How many are like the run.
        count: usize,
        /// What is like the run.
        wanted: String,
        /// What there is.
        has: String,
    },
    /// It is of other statements or rows of the user's own, or of built-in ones.
    #[error("{0} measured other statements or other rows of yours: name a result of the same")]
    OtherStatements(String),
    /// It was not measured.
    #[error("{0} was predicted, not measured: name measured results")]
    Predicted(String),
    /// It is of another workload.
    #[error("{0} measured {1}, and this run measures {2}: name a result of the same workload")]
    OtherWorkload(String, String, String),
}

/// What is read of a bench's JSON.
#[derive(Debug, Deserialize)]
struct EarlierBench {
    octavo: String,
    counted_name: String,
    workload: String,
    mix: String,
    seed: Seed,
    clients: u32,
    data: DataSpec,
    load: serde_json::Value,
    own: Option<serde_json::Value>,
    subject: TestedSystem,
    seconds: Vec<EarlierSecond>,
    steadiness: EarlierSteadiness,
    machine: MachineUse,
    conditions: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
struct EarlierSteadiness {
    label: Label,
}

#[derive(Debug, Deserialize)]
struct EarlierSecond {
    measured: bool,
    length: Duration,
    counted: u64,
}

/// What a run is of, which a baseline has to be like.
#[derive(Clone, Copy)]
pub struct WantedCell<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
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

/// What a cell is like, in words.
fn words_of(cell: &Cell) -> String {
    format!(
        "{}, {} pages, {} of memory, {}",
        cell.database,
        cell.page_size,
        cell.memory,
        Level::Clients(cell.clients).with_noun()
    )
}

impl Baseline {
    /// The result at `path`: what `octavo bench --json` printed, or a store or its directory.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        let found = if path.is_dir() {
            of_store(&path.join(STORE), &name)?
        } else {
            match text::read(path, text::MADE_MAX) {
                Ok(text) => of_bench(&text, &name)?,
                // A store's first bytes are no text.
                Err(TextError::NotText { .. } | TextError::TooLong { .. }) => {
                    of_store(path, &name)?
                }
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Self { name, found })
    }

    /// The part of it that is comparable with a run.
    ///
    /// # Errors
    /// Where nothing is, or several cells are: see [`BaselineError`].
    pub fn like(self, wanted: &WantedCell<'_>) -> Result<Comparable, BaselineError> {
        let (was, own) = match &self.found {
            Found::Bench(found) => (found.workload.clone(), found.own.clone()),
            Found::Store(findings) => {
                let plan = &findings.plan;
                (plan.workload.to_string(), plan.own.as_ref().map(to_value))
            }
        };
        let is = wanted.workload.name().to_owned();
        let statements = |own: Option<serde_json::Value>| {
            own.map(|own| (own["copy"]["name"].clone(), own["scripts"].clone()))
        };
        let (theirs, ours) = (
            statements(own),
            statements(wanted.workload.own().map(to_value)),
        );
        if theirs != ours {
            return Err(BaselineError::OtherStatements(self.name));
        }
        if theirs.is_none() && was != is {
            return Err(BaselineError::OtherWorkload(self.name, was, is));
        }
        match self.found {
            Found::Bench(found) => of_earlier(*found, self.name),
            Found::Store(findings) => of_cell(&findings, self.name, wanted),
        }
    }
}

fn of_bench(text: &str, name: &str) -> Result<Found, BaselineError> {
    // An empty or short store is text, too.
    let found: EarlierBench = serde_json::from_str(text)
        .map_err(|error| BaselineError::Foreign(name.to_owned(), error.to_string()))?;
    let why = match found.load["loop"].as_str() {
        Some("closed") => return Ok(Found::Bench(Box::new(found))),
        Some("ramp") => "is a ramp of clients",
        _ => "has arrivals at times of their own",
    };
    Err(BaselineError::NotClosed(name.to_owned(), why))
}

fn of_store(path: &Path, name: &str) -> Result<Found, BaselineError> {
    let findings = Findings::read(&Store::open(path)?)?;
    let foreign = |why: &str| BaselineError::Foreign(name.to_owned(), why.to_owned());
    let findings = findings.ok_or_else(|| foreign("it holds no plan yet"))?;
    let why = match (findings.source, findings.plan.ramp, findings.plan.pace()) {
        (Source::Predicted, ..) => return Err(BaselineError::Predicted(name.to_owned())),
        (_, Some(_), _) => "has ramps of clients",
        (_, _, Some(_)) => "has arrivals at times of their own",
        _ => return Ok(Found::Store(Box::new(findings))),
    };
    Err(BaselineError::NotClosed(name.to_owned(), why))
}

fn of_earlier(found: EarlierBench, name: String) -> Result<Comparable, BaselineError> {
    let measured = found.seconds.iter().filter(|second| second.measured);
    let seconds = measured.map(|second| (second.counted, second.length));
    let Some(per_second) = per_second(seconds) else {
        return Err(BaselineError::TooShort(name));
    };
    let mut conditions = OfRun {
        octavo: &found.octavo,
        system: &found.subject,
        clients: found.clients,
        data: found.data,
        load: &found.load,
        storage: HERE,
        mix: Some(&found.mix),
        seed: found.seed,
        measured: ONE_RUN,
    }
    .conditions();
    conditions.extend(found.conditions);
    Ok(Comparable {
        name,
        counted_name: found.counted_name,
        per_second,
        doubt: doubt(found.steadiness.label, &found.machine),
        conditions,
    })
}

/// The only measured cell that is like the run.
fn of_cell(
    findings: &Findings,
    name: String,
    wanted: &WantedCell<'_>,
) -> Result<Comparable, BaselineError> {
    let plan = &findings.plan;
    let all: Vec<&CellFindings> = findings.groups.iter().flat_map(|of| &of.cells).collect();
    let is_like = |of: &&&CellFindings| {
        let cell = &of.cell;
        let system = wanted.system;
        cell.database.name == system.database
            // Of a server that the user runs they are not known.
            && system.page_size.is_none_or(|size| cell.page_size == size)
            && system.memory.is_none_or(|memory| cell.memory == memory)
            && cell.clients == wanted.clients
    };
    let measured = all.iter().filter(is_like);
    let like: Vec<_> = measured
        .filter_map(|of| Some((&of.cell, of.throughput?)))
        .collect();
    let [(cell, per_minute)] = like[..] else {
        let has: Vec<String> = all.iter().map(|of| words_of(&of.cell)).collect();
        return Err(BaselineError::Cells {
            store: name,
            count: like.len(),
            wanted: wanted.words(),
            has: has.join("; "),
        });
    };
    let system = TestedSystem {
        database: cell.database.name.clone(),
        version: cell.database.version.clone(),
        server: None,
        page_size: Some(cell.page_size),
        memory: Some(cell.memory),
        size: None,
    };
    let load = Load::Closed {
        terminals: cell.clients,
    };
    // Of statements whose copy is gone it is not known.
    let mix = plan.workload(cell.data).ok().map(|workload| {
        let mix = workload.mix();
        mix.describe(workload.transactions()).to_string()
    });
    let mut conditions = OfRun {
        octavo: &findings.octavo,
        system: &system,
        clients: cell.clients,
        data: cell.data,
        load: &to_value(load),
        storage: &match &cell.storage {
            Storage::Own => HERE.to_owned(),
            storage => storage.to_string(),
        },
        mix: mix.as_deref(),
        seed: plan.seed,
        measured: "in turns with other cells",
    }
    .conditions();
    conditions.extend(findings.database.iter().cloned());
    let mut caveats = findings.caveats.iter();
    let warned = caveats.any(|of| *of != Caveat::DebugBuild && of.severity() >= Severity::Choice);
    let a_second = |a_minute: f64| a_minute / 60.0;
    Ok(Comparable {
        name,
        counted_name: findings.counted_name.clone(),
        per_second: Interval {
            estimate: a_second(per_minute.estimate),
            low: a_second(per_minute.low),
            high: a_second(per_minute.high),
            ..per_minute
        },
        doubt: warned.then_some(Doubt::Warned),
        conditions,
    })
}

impl Comparable {
    /// Sets a run against it.
    ///
    /// # Errors
    /// Where the run is too short, or counts something else: a sentence.
    pub fn beside(self, result: &BenchResult) -> Result<BesideBaseline, String> {
        let load = &result.figures.load;
        let measured = load.series.iter().filter(|second| second.measured);
        let own = per_second(measured.map(|second| (second.counted, second.length)));
        let own = own.ok_or(
            "the run must have at least 2 s of measured time, and commits in each fifth of it",
        )?;
        if self.counted_name != result.counted_name {
            let (first, second) = (&self.counted_name, &result.counted_name);
            return Err(format!("the baseline counts {first}, and the run {second}"));
        }
        let ratio = own.over(&self.per_second);
        let own = doubt(load.steadiness.label, &result.figures.machine);
        let doubt = own.or(self.doubt);
        Ok(BesideBaseline {
            differences: differences(&self.conditions, &conditions(result)),
            baseline: self.name,
            per_second: self.per_second,
            ratio,
            decision: match doubt {
                None if ratio.says_something() => decision(&ratio, MARGIN),
                _ => Decision::Open,
            },
            doubt,
            margin: MARGIN,
        })
    }
}

/// Why a run's throughput may be another one the next time.
fn doubt(label: Label, machine: &MachineUse) -> Option<Doubt> {
    if !label.is_comparable() {
        return Some(Doubt::NotSteady);
    }
    (!disturbances([machine]).is_empty()).then_some(Doubt::Disturbed)
}

/// The storage of a bench.
const HERE: &str = "here";

/// How a bench measures.
const ONE_RUN: &str = "in one run";

/// What a run was made with.
struct OfRun<'a> {
    octavo: &'a str,
    system: &'a TestedSystem,
    clients: u32,
    data: DataSpec,
    /// As JSON has it.
    load: &'a serde_json::Value,
    storage: &'a str,
    mix: Option<&'a str>,
    seed: Seed,
    measured: &'a str,
}

impl OfRun<'_> {
    /// Its conditions, under names that none of a database's own has; those that are not known are
    /// left out.
    fn conditions(&self) -> Vec<(String, String)> {
        let system = self.system;
        let all = [
            ("octavo", Some(self.octavo.to_owned())),
            ("database", Some(system.database.clone())),
            ("database version", Some(system.version.clone())),
            ("page size", system.page_size.map(|of| of.to_string())),
            ("memory in all", system.memory.map(|of| of.to_string())),
            ("loaded data", system.size.map(|of| of.to_string())),
            ("scale", Some(self.data.to_string())),
            ("clients", Some(self.clients.to_string())),
            ("arrivals", Some(self.load.to_string())),
            ("storage", Some(self.storage.to_owned())),
            ("mix", self.mix.map(str::to_owned)),
            ("random seed", Some(self.seed.to_string())),
            ("measured", Some(self.measured.to_owned())),
        ];
        let known = all
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        known.collect()
    }
}

fn conditions(result: &BenchResult) -> Vec<(String, String)> {
    let mut all = OfRun {
        octavo: &result.octavo,
        system: &result.subject,
        clients: result.clients,
        data: result.data,
        load: &to_value(result.load),
        storage: HERE,
        mix: Some(&result.mix),
        seed: result.seed,
        measured: ONE_RUN,
    }
    .conditions();
    all.extend(result.figures.conditions.iter().cloned());
    all
}

/// As JSON, which each of these has.
fn to_value(of: impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(of).unwrap_or_default()
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
/// of less than [`SHORTEST`], or where nothing was counted in one of the fewest parts.
fn per_second(seconds: impl Iterator<Item = (u64, Duration)>) -> Option<Interval> {
    let seconds: Vec<(u64, Duration)> = seconds.collect();
    let all = sum(&seconds)?;
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

/// All of them together; `None` of more than there can be, as a file may say.
fn sum(seconds: &[(u64, Duration)]) -> Option<(u64, Duration)> {
    let mut seconds = seconds.iter();
    seconds.try_fold(
        (0_u64, Duration::ZERO),
        |(counted, took), (more, longer)| {
            Some((counted.checked_add(*more)?, took.checked_add(*longer)?))
        },
    )
}

fn log_rate((counted, length): (u64, Duration)) -> f64 {
    (counted as f64 / length.as_secs_f64()).ln()
}

#[cfg(test)]
mod tests {
    use octavo_workload::{WorkloadName, WorkloadSpec};

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
        assert!(per_second(seconds([1000; 1])).is_none());
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

    /// What a bench prints, with these changes.
    fn earlier(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let second = serde_json::json!({
            "measured": true, "length": {"secs": 1, "nanos": 0}, "counted": 1000
        });
        let mut json = serde_json::json!({
            "octavo": "0.1.0", "counted_name": "transactions", "workload": "tpcc",
            "mix": "tpcb-like=1", "seed": 1, "clients": 1,
            "data": {"kind": "pgbench", "scale": 1, "row-bytes": 96},
            "load": {"loop": "closed", "terminals": 1},
            "subject": {"database": "sqlite", "version": "3", "server": null,
                        "page_size": 4096, "memory": 1024, "size": 100},
            "seconds": vec![second; 10],
            "steadiness": {"label": {"state": "steady"}},
            "machine": {"user": 0.5, "system": 0.1, "idle": 0.4, "steal": 0.0, "others": 0.0, "cpus": 2.0},
            "conditions": [["sync", "full"]]
        });
        change(&mut json);
        json.to_string()
    }

    fn system() -> TestedSystem {
        TestedSystem {
            database: "sqlite".into(),
            version: String::new(),
            server: None,
            page_size: None,
            memory: None,
            size: None,
        }
    }

    fn read(text: &[u8]) -> Result<Comparable, BaselineError> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.json");
        std::fs::write(&path, text).unwrap();
        let system = system();
        let workload = WorkloadName::default();
        let data = workload.data_spec(&[("warehouses", 1)]).unwrap();
        let spec = WorkloadSpec::new(workload, data, Seed::new(1));
        let workload = spec.build().unwrap();
        Baseline::read(&path)?.like(&WantedCell {
            workload: workload.as_ref(),
            system: &system,
            clients: 1,
        })
    }

    #[test]
    fn a_bench_is_read_with_its_conditions() {
        let found = read(earlier(|_| {}).as_bytes()).unwrap();
        assert!((found.per_second.estimate - 1000.0).abs() < 1e-9);
        assert_eq!(found.doubt, None);
        let has = |name: &str| found.conditions.iter().any(|(other, _)| other == name);
        assert!(has("sync") && has("arrivals") && has("storage"));
        let unsteady = earlier(|json| {
            let reason = serde_json::json!({"kind": "still-warming"});
            json["steadiness"]["label"] = serde_json::json!({"state": "not-steady", "why": reason});
        });
        let doubt = |text: &str| read(text.as_bytes()).unwrap().doubt;
        assert_eq!(doubt(&unsteady), Some(Doubt::NotSteady));
        let disturbed = earlier(|json| json["machine"]["others"] = 0.5.into());
        assert_eq!(doubt(&disturbed), Some(Doubt::Disturbed));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let huge = serde_json::json!({"secs": u64::MAX, "nanos": 0});
        let refused = [
            (String::new(), "EOF"),
            ("{}".into(), "missing field"),
            ("[1]".into(), "invalid type"),
            (
                earlier(|json| json["seconds"][0]["counted"] = (-1).into()),
                "neither what",
            ),
            (
                earlier(|json| {
                    json["seconds"][0]["length"] = huge.clone();
                    json["seconds"][1]["length"] = huge.clone();
                }),
                "at least 2 s",
            ),
            (
                earlier(|json| {
                    json["seconds"][0]["counted"] = u64::MAX.into();
                    json["seconds"][1]["counted"] = u64::MAX.into();
                }),
                "at least 2 s",
            ),
            (
                earlier(|json| json["load"] = serde_json::json!({"loop": "open"})),
                "arrivals",
            ),
            (
                earlier(|json| json["load"] = serde_json::json!({"loop": "ramp"})),
                "is a ramp",
            ),
            (
                earlier(|json| json["workload"] = "pgbench".into()),
                "measured pgbench, and this run",
            ),
        ];
        for (text, said) in refused {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{said}: {error}");
        }
        assert!(matches!(
            read(&[0xff, 0x00]).unwrap_err(),
            BaselineError::Store(_)
        ));
    }

    #[test]
    fn the_cell_of_a_store_that_is_like_the_run_is_taken() {
        // Three page sizes in four rounds.
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/version-3.db");
        let home = tempfile::tempdir().unwrap();
        std::fs::copy(sample, home.path().join(STORE)).unwrap();
        let file = rusqlite::Connection::open(home.path().join(STORE)).unwrap();
        file.execute("UPDATE run SET source = 'measured'", [])
            .unwrap();
        let store = Store::open(&home.path().join(STORE)).unwrap();
        let findings = Findings::read(&store).unwrap().unwrap();
        let wanted = &findings.groups[0].cells[1];
        let plan = &findings.plan;
        let workload = plan.workload(plan.data[0]).unwrap();
        let like = |clients: u32, system: &TestedSystem| {
            Baseline::read(home.path()).unwrap().like(&WantedCell {
                workload: workload.as_ref(),
                system,
                clients,
            })
        };
        let one = TestedSystem {
            page_size: Some(wanted.cell.page_size),
            memory: Some(wanted.cell.memory),
            ..system()
        };
        let found = like(wanted.cell.clients, &one).unwrap();
        let throughput = wanted.throughput.unwrap();
        assert!((found.per_second.estimate * 60.0 / throughput.estimate - 1.0).abs() < 1e-12);
        assert!((found.per_second.high * 60.0 / throughput.high - 1.0).abs() < 1e-12);
        let several = like(wanted.cell.clients, &system())
            .unwrap_err()
            .to_string();
        assert!(
            several.contains("has 3 measured cells with sqlite"),
            "{several}"
        );
        let none = like(wanted.cell.clients + 1, &one).unwrap_err().to_string();
        assert!(none.contains("has 0 measured cells"), "{none}");
    }
}
