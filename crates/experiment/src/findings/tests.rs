//! Findings of stores made by hand: a full factorial of 4 KiB (the reference),
//! 8 KiB and 64 KiB pages with one memory.

use jiff::Timestamp;
use octavo_driver::steady;
use octavo_units::ByteCount;

use super::*;
use crate::{
    machine::Cause,
    plan::tests::plan as plan_of_two_memories,
    race::Phase,
    record::{DeviceUse, RunKey, Source, tests::figures},
    statistics::Decision,
};

const ROUNDS: u32 = 4;

fn plan() -> Plan {
    let mut plan = plan_of_two_memories();
    plan.memories.truncate(1);
    plan.design = Design::Full;
    plan
}

/// A run of a cell that nothing speaks against: 8 KiB a tenth faster, and each
/// run a little different.
fn sound(cell: usize, round: u32) -> Figures {
    let workload = plan().workload(plan().data[0]).unwrap();
    let level = if cell == 1 { 1100 } else { 1000 };
    let wobble = (7 * u64::from(round) + 3 * cell as u64) % 5;
    let mut figures = figures(workload.transactions(), level + wobble);
    let counters = &mut figures.load.counters;
    counters.reads = counters.buffer_misses;
    figures.device = Some(DeviceUse {
        reads: counters.reads,
        read_bytes: ByteCount::new(4096 * counters.reads),
        writes: 0,
        written_bytes: ByteCount::new(0),
        energy: None,
    });
    figures
}

type RunResult = Result<Figures, String>;

/// The findings of [`ROUNDS`] rounds; `change` makes something else of a run,
/// by cell and round, or leaves it out.
fn findings(change: impl Fn(usize, u32, Figures) -> Option<RunResult>) -> Findings {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    store.adopt(&plan(), None, "0").unwrap();
    let session = store.begin_session().unwrap();
    for round in 0..ROUNDS {
        for cell in 0..3 {
            let Some(result) = change(cell, round, sound(cell, round)) else {
                continue;
            };
            let record = RunRecord {
                source: Source::Measured,
                key: RunKey {
                    round,
                    position: cell as u32,
                    cell,
                    phase: Phase::Race,
                },
                started_at: Timestamp::now(),
                result: result.map(Box::new),
            };
            store.put_run(session, &record).unwrap();
        }
    }
    Findings::of(&store).unwrap().unwrap()
}

/// The findings when `change` was done to every run.
fn findings_with(change: impl Fn(&mut Figures)) -> Findings {
    findings(|_, _, mut figures| {
        change(&mut figures);
        Some(Ok(figures))
    })
}

#[test]
fn a_store_without_a_plan_has_no_findings() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    assert!(Findings::of(&store).unwrap().is_none());
}

#[test]
fn several_rounds_give_figures_ratios_and_a_verdict() {
    let found = findings_with(|_| {});
    assert_eq!((found.rounds, found.runs_done), (4, 12));
    assert_eq!(found.caveats, []);
    let [reference, eight, sixty_four] = &found.groups[0].cells[..] else {
        panic!("three cells");
    };
    assert!(reference.reference);
    assert_eq!((reference.ratio, reference.decision), (None, None));
    assert_eq!(
        reference.throughput_per_minute,
        [1000.0, 1002.0, 1004.0, 1001.0]
    );
    assert_eq!(eight.level, "8192");
    assert_eq!(eight.decision, Some(Decision::Better));
    assert!((eight.ratio.unwrap().estimate - 1.1).abs() < 0.005);
    assert_eq!(sixty_four.decision, Some(Decision::Equivalent));
    assert!(
        matches!(&found.groups[0].verdict, Verdict::Use { level, .. }
        if level.to_string() == "8192")
    );
}

#[test]
fn figures_of_a_transaction_are_over_all_runs_of_a_cell() {
    let found = findings_with(|_| {});
    let reference = &found.groups[0].cells[0];
    let each = reference.per_transaction.unwrap();
    // 1,000, 1,002, 1,004 and 1,001 commits, and 3 rolled back in each run.
    assert_eq!(each.transactions, 4007 + 4 * 3);
    assert!((each.hit_ratio - 10.0 / 14.0).abs() < 1e-12);
    assert!((each.buffer_misses - 4.0 * 4007.0 / 4019.0).abs() < 1e-12);
    assert_eq!(
        (each.misses_read, each.device_reads_ratio),
        (1.0, Some(1.0))
    );
    assert_eq!(reference.kinds[0].committed(), 4007);
    assert_eq!(reference.series.len(), 4);
}

#[test]
fn a_cell_that_fails_has_no_figures_and_the_others_have() {
    let found = findings(|cell, _, figures| {
        Some(if cell == 2 {
            Err("no such page size".into())
        } else {
            Ok(figures)
        })
    });
    assert_eq!((found.rounds, found.runs_done), (4, 8));
    let rounds: Vec<u32> = found.runs_failed.iter().map(|run| run.round).collect();
    assert_eq!(rounds, [1, 2, 3, 4]);
    assert_eq!(found.runs_failed[0].reason, "no such page size");
    let failed = &found.groups[0].cells[2];
    assert!(failed.throughput.is_none() && failed.per_transaction.is_none());
    assert_eq!(found.groups[0].cells[1].decision, Some(Decision::Better));
    assert_eq!(found.caveats, [Caveat::RunsFailed { runs: 4 }]);
}

#[test]
fn a_round_that_lacks_a_run_is_not_whole() {
    let found = findings(|cell, round, figures| ((cell, round) != (2, 3)).then_some(Ok(figures)));
    assert_eq!((found.rounds, found.runs_done), (3, 11));
}

#[test]
fn a_reference_without_figures_is_named() {
    let found = findings(|cell, _, figures| {
        Some(if cell == 0 {
            Err("gone".into())
        } else {
            Ok(figures)
        })
    });
    let reference = found.groups[0].cells[0].cell.clone();
    let expected = Caveat::NoReference { cell: reference };
    assert!(found.caveats.contains(&expected), "{:?}", found.caveats);
    assert_eq!(found.groups[0].cells[1].ratio, None);
}

#[test]
fn a_run_that_was_not_steady_is_left_out() {
    let label = Label::NotSteady {
        why: steady::Why::StillWarming,
    };
    let found = findings(|cell, round, mut figures| {
        if (cell, round) == (1, 2) {
            figures.load.steadiness.label = label;
        }
        Some(Ok(figures))
    });
    let cell = &found.groups[0].cells[1];
    assert_eq!(cell.throughput_per_minute.len(), 3);
    assert_eq!(cell.not_steady, [NotSteady { round: 3, label }]);
    assert_eq!(cell.ratio.unwrap().rounds, 3);
    assert_eq!(found.runs_done, 12);
    assert_eq!(found.caveats, [Caveat::NotSteady { runs: 1, of: 12 }]);
}

#[test]
fn caveats_follow_from_what_runs_counted() {
    let only = |change: &dyn Fn(&mut Figures)| {
        let mut caveats = findings_with(change).caveats;
        assert_eq!(caveats.len(), 1, "{caveats:?}");
        caveats.remove(0)
    };
    assert_eq!(
        only(&|run| run.storage_path = Some(StoragePath::PageCache)),
        Caveat::PageCache
    );
    assert_eq!(only(&|run| run.device = None), Caveat::NoDeviceCounters);
    assert_eq!(
        only(&|run| run.load.buffer_filled = false),
        Caveat::BufferNotFilled { runs: 12, of: 12 }
    );
    assert_eq!(
        only(&|run| run.restored_by = Some(RestoreMethod::Reflink)),
        Caveat::SharedBlocks
    );
    assert_eq!(
        only(&|run| run.load.steadiness.label = Label::NotJudged),
        Caveat::NotJudged { runs: 12, of: 12 }
    );
    assert_eq!(
        only(&|run| run.load.counters.reads /= 2),
        Caveat::MissesNotAtDevice { share: 0.5 }
    );
    let Caveat::Disturbed(disturbance) = only(&|run| run.machine.steal = 0.3) else {
        panic!("not disturbed");
    };
    assert_eq!((disturbance.cause, disturbance.runs), (Cause::Steal, 12));
    let few = |run: &mut Figures| {
        run.load.counters.checkpoints = 2;
        run.load.steadiness.cycles = Cycles::Partial { count: 2 };
    };
    assert_eq!(
        only(&few),
        Caveat::FewCheckpoints {
            cells: 3,
            of: 3,
            wanted: CHECKPOINTS_WANTED
        }
    );
}

#[test]
fn the_share_of_misses_at_the_device_is_that_of_the_worst_cell() {
    let found = findings(|cell, _, mut figures| {
        if cell == 2
            && let Some(device) = &mut figures.device
        {
            device.reads /= 4;
        }
        Some(Ok(figures))
    });
    assert!((found.misses_at_device_min().unwrap() - 0.25).abs() < 0.001);
}
