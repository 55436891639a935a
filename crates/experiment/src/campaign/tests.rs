//! Whole campaigns on an executor that takes no time.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use octavo_driver::RunLength;
use octavo_units::Seed;
use rand::RngExt;

use super::{rounds::Campaign, settings::CampaignSettings};
use crate::{
    error::CampaignError,
    executor::{Executor, Monitor},
    findings::Findings,
    observer::Observer,
    plan::{Cell, Design, tests::plan},
    record::{Figures, RunRecord, Source, tests::figures},
    run::RunError,
    store::{Store, StoredSnapshot},
};

/// Calculates throughputs: 8 KiB a tenth faster than others, each run a little
/// different.
#[derive(Default)]
struct Calculated {
    /// Page sizes that cannot be had.
    without: Vec<u32>,
    /// Page sizes of which every run fails.
    failing: Vec<u32>,
    runs: u64,
    /// After so many runs the observer wants to stop.
    stop_after: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl Executor for Calculated {
    fn source(&self) -> Source {
        Source::Predicted
    }

    fn prepare(
        &mut self,
        _cell: &Cell,
        _monitor: &Monitor<'_>,
    ) -> Result<Vec<StoredSnapshot>, CampaignError> {
        Ok(Vec::new())
    }

    fn unavailable(&self, cell: &Cell) -> Option<&str> {
        let missing = self.without.contains(&cell.page_size.get());
        missing.then_some("no such page size")
    }

    fn run(
        &mut self,
        cell: &Cell,
        seed: Seed,
        _length: RunLength,
        _monitor: &Monitor<'_>,
    ) -> Result<Figures, CampaignError> {
        self.runs += 1;
        if self.stop_after == Some(self.runs) {
            self.stop.store(true, Ordering::Relaxed);
        }
        let page_size = cell.page_size.get();
        if self.failing.contains(&page_size) {
            return Err(CampaignError::Run(RunError::Died("gone".into())));
        }
        let level = if page_size == 8192 { 1100 } else { 1000 };
        let mut generator = seed.derive("wobble", u64::from(page_size)).generator();
        let workload = plan().workload(plan().data[0]).unwrap();
        Ok(figures(
            workload.transactions(),
            level + generator.random_range(0..9),
        ))
    }
}

struct Asked(Arc<AtomicBool>);

impl Observer for Asked {
    fn progress(&self, _: &str, _: Duration, _: Duration) {}
    fn note(&self, _: &str) {}
    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Carries out four rounds of a full factorial of three page sizes with one
/// memory.
fn carry_out(directory: &Path, mut executor: Calculated) -> Result<Findings, CampaignError> {
    let mut plan = plan();
    plan.memories.truncate(1);
    plan.design = Design::Full;
    let settings = CampaignSettings {
        directory: directory.to_owned(),
        plan,
        budget: None,
        rounds: Some(4),
        run_length: Some(RunLength::Transactions {
            warm_up: 1,
            measured: 1,
        }),
        calibrate: true,
        emulator: PathBuf::new(),
        keep_data: false,
        octavo_version: "0",
    };
    let mut store = Store::open_or_create(&directory.join("octavo.db"))?;
    store.adopt(&settings.plan, settings.run_length, "0")?;
    let observer = Asked(executor.stop.clone());
    let monitor = Monitor::new(&observer, store.time_spent()?, None);
    Campaign::new(&settings, store, &mut executor, monitor)?.carry_out()
}

fn records(directory: &Path) -> Vec<RunRecord> {
    let store = Store::open(&directory.join("octavo.db")).unwrap();
    let workload = plan().workload(plan().data[0]).unwrap();
    store.runs(workload.transactions(), 0).unwrap()
}

/// What of a record does not depend on the time of day.
fn outcomes(directory: &Path) -> Vec<String> {
    records(directory)
        .iter()
        .map(|record| {
            format!(
                "{:?} {:?}",
                record.key,
                record.figures().map(|f| f.load.counted())
            )
        })
        .collect()
}

#[test]
fn every_round_has_a_record_of_every_cell_with_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let findings = carry_out(directory.path(), Calculated::default()).unwrap();
    assert_eq!((findings.rounds, findings.runs_done), (4, 12));
    assert!(findings.calibration.is_none());
    let records = records(directory.path());
    assert_eq!(records.len(), 12);
    assert!(
        records
            .iter()
            .all(|record| record.source == Source::Predicted)
    );
    let mean = |cell: usize| {
        let of_cell = records.iter().filter(|record| record.key.cell == cell);
        let rates: Vec<f64> = of_cell
            .map(|record| record.figures().unwrap().load.throughput_per_minute())
            .collect();
        octavo_driver::mean(&rates)
    };
    // 8 KiB is the second of the plan.
    assert!(mean(1) > 1.05 * mean(0), "{} {}", mean(1), mean(0));
    let conditions = findings.database;
    assert_eq!(conditions, [("synchronous".to_owned(), "FULL".to_owned())]);
}

/// Stores of earlier versions have to stay readable: `tests/stores/` has a
/// sample of each. Before a change of the store's version, this command made
/// the sample of the version that it left:
///
/// ```sh
/// OCTAVO_STORE_SAMPLE=$PWD/crates/experiment/tests/stores/version-3.db \
///     cargo test -p octavo-experiment --lib stored_sample
/// ```
#[test]
fn a_stored_sample_is_small() {
    let directory = tempfile::tempdir().unwrap();
    carry_out(directory.path(), Calculated::default()).unwrap();
    let store = directory.path().join("octavo.db");
    assert!(fs::metadata(&store).unwrap().len() < 200 << 10);
    if let Some(sample) = std::env::var_os("OCTAVO_STORE_SAMPLE") {
        fs::copy(store, sample).unwrap();
    }
}

#[test]
fn a_stopped_campaign_resumes_to_what_an_undisturbed_one_gives() {
    let whole = tempfile::tempdir().unwrap();
    carry_out(whole.path(), Calculated::default()).unwrap();
    for runs in [1, 5, 11] {
        let directory = tempfile::tempdir().unwrap();
        let stopping = Calculated {
            stop_after: Some(runs),
            ..Calculated::default()
        };
        let stopped = carry_out(directory.path(), stopping);
        assert!(matches!(stopped, Err(CampaignError::Stopped)));
        assert_eq!(records(directory.path()).len(), runs as usize);
        carry_out(directory.path(), Calculated::default()).unwrap();
        assert_eq!(outcomes(directory.path()), outcomes(whole.path()));
    }
}

#[test]
fn cells_that_cannot_be_had_are_failed_runs_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let executor = Calculated {
        without: vec![65536],
        ..Calculated::default()
    };
    let findings = carry_out(directory.path(), executor).unwrap();
    assert_eq!((findings.runs_done, findings.runs_failed.len()), (8, 4));
    assert_eq!(findings.runs_failed[0].reason, "no such page size");
}

#[test]
fn a_campaign_without_any_figure_ends_with_the_reason() {
    let all = vec![4096, 8192, 65536];
    let without = Calculated {
        without: all.clone(),
        ..Calculated::default()
    };
    let failing = Calculated {
        failing: all,
        ..Calculated::default()
    };
    for (executor, reason) in [(without, "no such page size"), (failing, "gone")] {
        let directory = tempfile::tempdir().unwrap();
        let Err(CampaignError::AllFailed(found)) = carry_out(directory.path(), executor) else {
            panic!("it did not fail");
        };
        assert!(found.contains(reason), "{found}");
    }
}
