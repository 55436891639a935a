//! Findings of stores made by hand: 4 KiB (the reference), 8 KiB and 64 KiB
//! pages with one memory, in two sittings.

mod caveats;

use std::time::Duration;

use jiff::Timestamp;
use octavo_database::RestoreMethod;
use octavo_units::ByteCount;

use super::{
    age::MissChange,
    cell::within,
    found_caveats::{self, misses_rose},
    stability::spread,
    *,
};
use crate::{
    caveats::{Severity, UnfilledCell},
    lockstep::{Batch, Candidate, SessionTime, Slice, SliceKey, slice::tests::slice as some_slice},
    machine::Cause,
    plan::{Design, SliceLength, tests::plan as plan_of_two_memories},
    record::{DeviceUse, Figures, RunKey, RunRecord, Source, tests::figures},
    statistics::{Decision, Interval},
    store::{NOT_RECORDED, Store, TIMED_BESIDE},
    verdict::Verdict,
};

const SITTINGS: u32 = 2;
const PASSES: u32 = 40;
const TRANSACTIONS: u64 = 50;

fn plan() -> Plan {
    let mut plan = plan_of_two_memories();
    plan.memories.truncate(1);
    plan.design = Design::Full;
    plan
}

/// A run of a cell that nothing speaks against.
fn sound(_cell: usize) -> Figures {
    let workload = plan().workload(plan().data[0]).unwrap();
    let mut figures = figures(workload.transactions(), 1000);
    let counters = &mut figures.load.counters;
    counters.reads = counters.buffer_misses;
    (counters.checkpoints, counters.checkpoint_time) = (20, Duration::from_millis(40));
    figures.device = Some(DeviceUse {
        reads: counters.reads,
        read_bytes: ByteCount::new(4096 * counters.reads),
        writes: 0,
        written_bytes: ByteCount::new(0),
        energy: None,
    });
    figures
}

/// A slice of transactions that take 1 ms, with 8 KiB a tenth less and with
/// 64 KiB twice as long, each slice a little different.
fn slice(key: SliceKey) -> Slice {
    let level = [1.0, 1.0 / 1.1, 2.0][key.cell];
    let wobble = f64::from(key.pass * 7 + key.sitting * 5 + key.cell as u32 * 3).sin();
    let elapsed = 0.05 * level * (1.0 + 0.01 * wobble);
    let part = |share: f64| Duration::from_secs_f64(elapsed * share);
    Slice {
        key,
        elapsed: Duration::from_secs_f64(elapsed),
        spent: Some(SessionTime {
            read: Some(part(0.5)),
            log_write: Some(part(0.1)),
            log_sync: Some(part(0.1)),
            checkpoint: Duration::ZERO,
            cpu: part(0.2),
        }),
        ..some_slice(key.sitting, key.pass, key.cell)
    }
}

/// Of enough batches, and known to a hundredth.
fn near(estimate: f64) -> Interval {
    Interval {
        estimate,
        low: estimate / 1.01,
        high: estimate * 1.01,
        batches: 9,
    }
}

type RunResult = Result<Figures, String>;

/// The findings of [`SITTINGS`] sittings; `change` makes something else of a
/// run, by cell and sitting, `change_slice` of a slice.
fn findings_of(
    change: impl Fn(usize, u32, Figures) -> RunResult,
    change_slice: impl Fn(&mut Slice),
) -> Findings {
    let passes = SITTINGS * PASSES;
    findings_over(|_| Horizon::Passes { passes }, change, change_slice)
}

/// The same over a horizon, by the time within all slices.
fn findings_over(
    horizon: impl Fn(Duration) -> Horizon,
    change: impl Fn(usize, u32, Figures) -> RunResult,
    change_slice: impl Fn(&mut Slice),
) -> Findings {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    store.adopt(&plan(), SliceLength::default(), "0").unwrap();
    let mut measured = Duration::ZERO;
    let session = store.begin_session().unwrap();
    for sitting in 0..SITTINGS {
        for cell in 0..3 {
            let record = RunRecord {
                source: Source::Measured,
                key: RunKey { sitting, cell },
                started_at: Timestamp::now(),
                result: change(cell, sitting, sound(cell)).map(Box::new),
            };
            let mut slices: Vec<Slice> = (0..PASSES)
                .map(|pass| {
                    slice(SliceKey {
                        sitting,
                        pass,
                        position: cell as u32,
                        cell,
                    })
                })
                .collect();
            slices.iter_mut().for_each(&change_slice);
            measured += slices.iter().map(|slice| slice.elapsed).sum::<Duration>();
            store.put_runs(session, &[&record], &slices).unwrap();
        }
    }
    store.set_horizon(horizon(measured)).unwrap();
    Findings::read(&store).unwrap().unwrap()
}

/// The findings when `change` was done to every run.
fn findings_with(change: impl Fn(&mut Figures)) -> Findings {
    let changed = |_, _, mut figures| {
        change(&mut figures);
        Ok(figures)
    };
    findings_of(changed, |_| {})
}

#[test]
fn a_store_without_a_plan_has_no_findings() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    assert!(Findings::read(&store).unwrap().is_none());
}

#[test]
fn slices_give_throughputs_ratios_and_a_verdict() {
    let found = findings_with(|_| {});
    assert_eq!((found.sittings, found.passes, found.runs_done), (2, 80, 6));
    assert_eq!(found.caveats, []);
    assert!(found.finished);
    let [reference, eight, sixty_four] = &found.groups[0].cells[..] else {
        panic!("three cells");
    };
    assert!(reference.reference);
    assert_eq!((reference.ratio, reference.decision), (None, None));
    // 22 of 50 transactions of 1 ms are counted.
    let throughput = reference.throughput.unwrap().estimate;
    assert!((throughput / 26_400.0 - 1.0).abs() < 0.01, "{throughput}");
    assert_eq!(eight.level, "8192");
    assert_eq!(eight.decision, Some(Decision::Better));
    assert!((eight.ratio.unwrap().estimate - 1.1).abs() < 0.005);
    assert_eq!(sixty_four.decision, Some(Decision::Worse));
    let Verdict::Use { level, open, .. } = &found.groups[0].verdict else {
        panic!("{:?}", found.groups[0].verdict);
    };
    assert_eq!((level.to_string(), open.len()), ("8192".into(), 0));
}

#[test]
fn passes_that_are_left_out_have_their_part_of_the_checkpoints_time() {
    // One pass of eight has a checkpoint, and is left out because of others' traffic.
    let found = findings_of(
        |_, _, figures| Ok(figures),
        |slice| {
            let is_checkpoint = slice.key.pass % 8 == 3;
            slice.foreign_bytes = Some(ByteCount::mib(if is_checkpoint { 64 } else { 0 }));
            if is_checkpoint {
                // As long as two slices without.
                let checkpoint = slice.elapsed * 2;
                slice.elapsed += checkpoint;
                slice.spent.as_mut().unwrap().checkpoint = checkpoint;
            }
        },
    );
    assert_eq!(found.screened.foreign_traffic, 10);
    let time = found.groups[0].cells[0].time.unwrap();
    // 1 ms, and an eighth of 2 ms.
    assert!((time.total_us / 1250.0 - 1.0).abs() < 0.01, "{time:?}");
    let checkpoint = time.checkpoint_us.unwrap() / time.total_us;
    assert!((checkpoint - 0.2).abs() < 0.005, "{time:?}");
}

#[test]
fn the_parts_of_a_transactions_time_add_up() {
    let found = findings_with(|_| {});
    let time = found.groups[0].cells[0].time.unwrap();
    assert!((time.total_us / 1000.0 - 1.0).abs() < 0.01, "{time:?}");
    let parts: f64 = time.parts().map(Option::unwrap).iter().sum();
    assert!((parts + time.other_us - time.total_us).abs() < 1e-6);
    assert!((time.read_us.unwrap() / time.total_us - 0.5).abs() < 1e-3);
    assert!((time.other_us / time.total_us - 0.1).abs() < 1e-3);
    // Stores without lockstep do not tell.
    let untold = findings_of(|_, _, figures| Ok(figures), |slice| slice.spent = None);
    assert_eq!(untold.groups[0].cells[0].time, None);
}

/// Findings of two memories on a machine that changes: after a third of the passes all
/// slices take twice as long, and those with little memory four times. 64 KiB leave before
/// that with much memory, and 8 KiB with little memory a little later.
fn changing_machine() -> Findings {
    const ALL: u32 = 2 * PASSES;
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    let plan = plan_of_two_memories();
    store.adopt(&plan, SliceLength::default(), "0").unwrap();
    store.set_horizon(Horizon::Passes { passes: ALL }).unwrap();
    let session = store.begin_session().unwrap();
    for (number, cell) in plan.cells().iter().enumerate() {
        let is_little = cell.memory == ByteCount::mib(2);
        let size = cell.page_size.get();
        let last = match (size, is_little) {
            (65536, false) => ALL / 3,
            (8192, true) => ALL / 2,
            _ => ALL,
        };
        let slices: Vec<Slice> = (0..last)
            .map(|pass| {
                let changed = match (pass >= ALL / 3, is_little) {
                    (false, _) => 1.0,
                    (true, false) => 2.0,
                    (true, true) => 4.0,
                };
                let own = match size {
                    4096 => 1.0,
                    8192 => 1.2,
                    _ => 2.0,
                };
                let wobble = f64::from(pass * 7 + number as u32 * 3).sin();
                let elapsed = 0.05 * own * changed * (1.0 + 0.01 * wobble);
                // Halves and fifths of whole microseconds are whole nanoseconds.
                let elapsed = Duration::from_micros((elapsed * 1e6).round() as u64);
                let part = |share: f64| elapsed.mul_f64(share);
                Slice {
                    elapsed,
                    spent: Some(SessionTime {
                        read: Some(part(0.5)),
                        cpu: part(0.2),
                        ..SessionTime::default()
                    }),
                    ..some_slice(0, pass, number)
                }
            })
            .collect();
        let record = RunRecord {
            source: Source::Measured,
            key: RunKey {
                sitting: 0,
                cell: number,
            },
            started_at: Timestamp::now(),
            result: Ok(Box::new(sound(number))),
        };
        store.put_runs(session, &[&record], &slices).unwrap();
    }
    Findings::read(&store).unwrap().unwrap()
}

#[test]
fn every_ratio_is_the_one_of_the_throughputs_beside_it() {
    let found = changing_machine();
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    let throughput = |bytes: u32, memory: ByteCount| {
        let mut cells = found.groups.iter().flat_map(|group| &group.cells);
        let cell = cells.find(|of| of.cell.page_size.get() == bytes && of.cell.memory == memory);
        cell.unwrap().throughput.unwrap()
    };
    let (little, much) = (ByteCount::mib(2), ByteCount::mib(8));
    for group in &found.groups {
        let reference = group.cells.iter().find(|cell| cell.reference).unwrap();
        let usual = reference.throughput.unwrap().estimate;
        for cell in group.cells.iter().filter(|cell| !cell.reference) {
            let own = cell.throughput.unwrap().estimate;
            assert!(near(own / usual, cell.ratio.unwrap().estimate), "{cell:?}");
            // Times stand to each other as throughputs do, of cells that left early too.
            let (time, usual_time) = (cell.time.unwrap(), reference.time.unwrap());
            assert!(near(usual_time.total_us / time.total_us, own / usual));
            assert!(near(time.read_us.unwrap(), 0.5 * time.total_us), "{time:?}");
        }
    }
    assert_eq!(found.buffers.len(), 3);
    for buffer in &found.buffers {
        let said = buffer.small_over_large.unwrap();
        let size = buffer.page_size.get();
        let [small, large] = [little, much].map(|memory| throughput(size, memory).estimate);
        assert!(near(said.estimate, small / large), "{size}: {said:?}");
        assert!(said.low < said.estimate && said.estimate < said.high);
    }
    assert_eq!(found.interactions.len(), 2);
    for interaction in &found.interactions {
        let crate::plan::Level::PageSize(size) = &interaction.level else {
            panic!("{interaction:?}");
        };
        let over =
            |memory| throughput(size.get(), memory).estimate / throughput(4096, memory).estimate;
        let said = interaction.ratio.estimate;
        assert!(near(said, over(much) / over(little)) || near(said, over(little) / over(much)));
    }
}

#[test]
fn parts_that_come_to_more_than_the_whole_leave_no_negative_rest() {
    let more_cpu = |slice: &mut Slice| {
        let spent = slice.spent.as_mut().unwrap();
        spent.cpu = slice.elapsed.mul_f64(0.32);
    };
    let found = findings_of(|_, _, figures| Ok(figures), more_cpu);
    let time = found.groups[0].cells[0].time.unwrap();
    assert_eq!(time.other_us, 0.0);
    let cpu = time.cpu_us.unwrap() / time.total_us;
    assert!((cpu - 0.3).abs() < 1e-3, "{time:?}");
    // 0.02 of 0.32 were within requests.
    assert!((time.cpu_in_requests - 0.0625).abs() < 1e-3, "{time:?}");
    let more_reads = |slice: &mut Slice| {
        slice.spent.as_mut().unwrap().read = Some(slice.elapsed.mul_f64(1.8));
    };
    let found = findings_of(|_, _, figures| Ok(figures), more_reads);
    let time = found.groups[0].cells[0].time.unwrap();
    assert_eq!((time.cpu_us, time.other_us), (Some(0.0), 0.0));
    assert!(
        (time.read_us.unwrap() / time.total_us - 0.9).abs() < 1e-3,
        "{time:?}"
    );
}

#[test]
fn parts_that_nothing_times_are_not_known_and_in_the_rest() {
    let zero = Some(Duration::ZERO);
    // As kept now, and as by earlier versions.
    for untimed in [None, zero] {
        let untimed = |slice: &mut Slice| {
            let spent = slice.spent.as_mut().unwrap();
            (spent.read, spent.log_write, spent.log_sync) = (untimed, untimed, untimed);
        };
        let found = findings_of(|_, _, figures| Ok(figures), untimed);
        let time = found.groups[0].cells[0].time.unwrap();
        assert_eq!(time.parts()[..4], [None; 4], "{time:?}");
        assert!(!time.is_whole());
        assert!((time.cpu_us.unwrap() / time.total_us - 0.2).abs() < 1e-3);
        assert!((time.other_us / time.total_us - 0.8).abs() < 1e-3);
    }
    // Reads that are timed in most slices are known.
    let now_and_then = |slice: &mut Slice| {
        if slice.key.pass.is_multiple_of(10) {
            slice.spent.as_mut().unwrap().read = None;
        }
    };
    let found = findings_of(|_, _, figures| Ok(figures), now_and_then);
    assert!(found.groups[0].cells[0].time.unwrap().is_whole());
    // All slices are shorter than the tick of the clock.
    let short = |slice: &mut Slice| slice.spent.as_mut().unwrap().cpu = Duration::ZERO;
    let found = findings_of(|_, _, figures| Ok(figures), short);
    let time = found.groups[0].cells[0].time.unwrap();
    assert_eq!(time.cpu_us, None);
    assert!((time.other_us / time.total_us - 0.3).abs() < 1e-3);
}

#[test]
fn levels_are_compared_with_the_one_that_is_advised() {
    let found = findings_with(|_| {});
    let [reference, eight, sixty_four] = &found.groups[0].cells[..] else {
        panic!("three cells");
    };
    assert_eq!(eight.over_advised, None);
    let level = |cell: &CellFindings| cell.throughput.unwrap().estimate;
    for cell in [reference, sixty_four] {
        let over = cell.over_advised.unwrap();
        assert!((over.estimate / (level(cell) / level(eight)) - 1.0).abs() < 1e-9);
        assert!(over.low < over.estimate && over.estimate < over.high);
    }
}

#[test]
fn what_is_faster_by_less_is_no_tie() {
    let ties = |of_64_kib: f64| {
        let faster = |slice: &mut Slice| {
            if slice.key.cell == 2 {
                slice.elapsed = slice.elapsed.mul_f64(of_64_kib / 2.0);
                slice.spent = None;
            }
        };
        let found = findings_of(|_, _, figures| Ok(figures), faster);
        let group = &found.groups[0];
        assert_eq!(group.cells[2].decision, Some(Decision::Better));
        let Verdict::Use { level, ties, .. } = &group.verdict else {
            panic!("{:?}", group.verdict);
        };
        let eight = octavo_units::PageSize::kib(8);
        assert_eq!(*level, crate::plan::Level::PageSize(eight));
        ties.len()
    };
    // 8 KiB is 1.1 times as fast as the reference.
    assert_eq!([1.0 / 1.05, 1.0 / 1.095].map(ties), [0, 1]);
}

#[test]
fn a_sitting_that_is_against_the_answer_is_a_doubt() {
    use crate::confidence::{ConfidenceLevel, ConfidenceLimit, confidence};
    let trust = |found: &Findings| confidence(found).unwrap();
    let mut found = findings_with(|_| {});
    assert_eq!(trust(&found).trust, ConfidenceLevel::High);
    // More in one sitting than in the other is a gain in both.
    found.groups[0].cells[1].by_sitting = vec![(0, near(1.06)), (1, near(1.14))];
    assert_eq!(trust(&found).trust, ConfidenceLevel::High);
    found.groups[0].cells[1].by_sitting = vec![(0, near(0.96)), (1, near(1.04))];
    let said = trust(&found);
    assert_eq!(said.trust, ConfidenceLevel::Medium);
    let [
        ConfidenceLimit::Sitting {
            level,
            sitting,
            stake,
            ..
        },
    ] = &said.doubts[..]
    else {
        panic!("{said:?}");
    };
    assert_eq!((level.to_string(), *sitting), ("4096".into(), 1));
    assert!((stake - 0.04 / 0.96).abs() < 1e-9);
    // What one batch, or an interval with the answer in it, says is chance.
    for chance in [
        Interval {
            batches: 3,
            ..near(0.96)
        },
        Interval {
            high: 1.01,
            ..near(0.96)
        },
    ] {
        found.groups[0].cells[1].by_sitting[0].1 = chance;
        assert_eq!(trust(&found).trust, ConfidenceLevel::High);
    }
    // What was compared in one sitting is not repeated, however many there were.
    found.groups[0].cells[1].by_sitting[0].1.batches = 1;
    assert_eq!(trust(&found).doubts, [ConfidenceLimit::OneSitting]);
    // Where the default is kept, others count.
    found.groups[0].cells[1].by_sitting = vec![(0, near(0.96)), (1, near(1.04))];
    found.groups[0].verdict = Verdict::Keep {
        level: found
            .plan
            .level(&found.groups[0].cells[0].cell, found.plan.compare),
        equivalent: Vec::new(),
        worse: Vec::new(),
    };
    assert!(matches!(
        trust(&found).doubts[..],
        [ConfidenceLimit::Sitting { sitting: 2, .. }]
    ));
}

#[test]
fn a_tail_of_checkpoints_is_known_by_their_time() {
    let found = findings_with(|_| {});
    // 20 checkpoints of 2 ms a thousand transactions, which take 1 to 2 ms.
    let tail = found.groups[0].cells[0].tail.unwrap();
    assert_eq!(tail.checkpoint_us, Some(2000.0));
    assert!(tail.is_checkpoints(), "{tail:?}");
    let rare = findings_with(|run| run.load.counters.checkpoints = 2);
    assert!(!rare.groups[0].cells[0].tail.unwrap().is_checkpoints());
}

#[test]
fn misses_that_grow_with_age_show() {
    let aging = |slice: &mut Slice| {
        if slice.key.pass >= PASSES / 2 {
            slice.misses = 330;
        }
    };
    let found = findings_of(|_, _, figures| Ok(figures), aging);
    let age = found.groups[0].cells[0].age.unwrap();
    assert_eq!(age.transactions, u64::from(PASSES) * TRANSACTIONS);
    assert!((age.miss_trend.unwrap() - 1.1).abs() < 1e-9);
}

#[test]
fn what_leaving_saved_is_of_the_minutes_that_were_missed() {
    let found = changing_machine();
    let cells = found.groups.iter().flat_map(|group| &group.cells);
    let missed: Vec<&CellFindings> = cells.filter(|cell| cell.passes_missed > 0).collect();
    assert_eq!(missed.len(), 2, "{missed:?}");
    // Slices of the reference last 100 and 200 ms by then, twice as long as before, and those
    // of the cells 2 and 1.2 times that.
    let would_take = missed.iter().map(|cell| {
        let slice_s = match cell.cell.page_size.get() {
            65536 => 0.1 * 2.0,
            _ => 0.2 * 1.2,
        };
        cell.passes_missed as f64 * slice_s
    });
    let wanted: f64 = would_take.sum();
    assert!(
        wanted > 5.0 && (found.saved_s / wanted - 1.0).abs() < 0.03,
        "{}",
        found.saved_s
    );
    // What left at a look and was measured on missed nothing.
    let all = findings_with(|_| {});
    assert_eq!(all.saved_s, 0.0);
    let mut cells = all.groups.iter().flat_map(|group| &group.cells);
    assert!(cells.all(|cell| cell.passes_missed == 0));
}

#[test]
fn reads_of_the_page_cache_are_not_known_to_reach_the_disk() {
    use octavo_database::StoragePath::{Direct, Limited};
    let of = |path, device: bool| {
        let found = findings_with(|run| {
            run.storage_path = Some(path);
            run.device = run.device.filter(|_| device);
        });
        let per = found.groups[0].cells[0].per_transaction.unwrap();
        (per.misses_read, per.misses_at_device())
    };
    assert_eq!(of(Direct, true), (Some(1.0), Some(1.0)));
    assert_eq!(of(Direct, false), (Some(1.0), Some(1.0)));
    assert_eq!(of(Limited, true), (None, Some(1.0)));
    assert_eq!(of(Limited, false), (None, None));
}

#[test]
fn what_the_os_holds_but_for_one_run_is_not_held_against_the_disk() {
    use octavo_database::StoragePath::{PageCache, Resident};
    let found = findings_of(
        |cell, sitting, mut run: Figures| {
            let lapsed = cell == 1 && sitting == 1;
            run.storage_path = Some(if lapsed { PageCache } else { Resident });
            if let Some(device) = &mut run.device {
                device.reads = 3;
                device.read_bytes = ByteCount::new(3 * 4096);
            }
            Ok(run)
        },
        |_| {},
    );
    assert_eq!(found.misses_at_device_min(), None);
    let mut caveats = found.caveats.iter();
    assert!(
        !caveats.any(|caveat| matches!(caveat, Caveat::MissesNotAtDevice { .. })),
        "{:?}",
        found.caveats
    );
}

#[test]
fn nothing_written_has_no_write_amplification() {
    let of = |written: u64, changed: u64| {
        let found = findings_with(move |run| {
            let counters = &mut run.load.counters;
            counters.data_written_bytes = ByteCount::new(written);
            counters.log_written_bytes = ByteCount::ZERO;
            run.load.counts.changed_bytes = changed;
        });
        found.groups[0].cells[0]
            .per_transaction
            .unwrap()
            .write_amplification
    };
    assert!((of(8000, 1000) - 8.0).abs() < 1e-9);
    assert!(of(0, 0).is_nan() && of(8000, 0).is_nan());
}

#[test]
fn age_counts_passes_that_are_left_out_of_figures() {
    let storms = |slice: &mut Slice| {
        if slice.key.pass.is_multiple_of(5) {
            slice.elapsed *= 3;
        }
    };
    let found = findings_of(|_, _, figures| Ok(figures), storms);
    assert_eq!(found.screened.slow, 16);
    let age = found.groups[0].cells[0].age.unwrap();
    assert_eq!(age.transactions, u64::from(PASSES) * TRANSACTIONS);
}

#[test]
fn checkpoints_without_a_time_are_not_known_to_take_none() {
    let of = |found: &Findings| {
        let cell = &found.groups[0].cells[0];
        let (time, tail) = (cell.time.unwrap(), cell.tail.unwrap());
        (time.checkpoint_us, tail.checkpoint_us)
    };
    let timed = findings_with(|_| {});
    assert_eq!(of(&timed), (Some(0.0), Some(2000.0)));
    let untimed = findings_with(|run| run.load.counters.checkpoint_time = Duration::ZERO);
    assert_eq!(of(&untimed), (None, None));
    let none = findings_with(|run| {
        let counters = &mut run.load.counters;
        (counters.checkpoints, counters.checkpoint_time) = (0, Duration::ZERO);
    });
    assert_eq!(of(&none), (Some(0.0), None));
}

#[test]
fn what_others_read_does_not_tell_whose_misses_reached_the_device() {
    let with = |times: u64| {
        findings_with(move |run| {
            if let Some(device) = &mut run.device {
                device.reads = device.reads * times / 4;
            }
        })
        .others_read()
    };
    assert_eq!(with(4), None);
    assert_eq!(with(5), None);
    assert!((with(8).unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn the_longest_run_with_its_warm_up_is_audited() {
    let generated = |cell: usize, sitting: u32| {
        let total = [100, 300, 200][cell] + u64::from(sitting);
        octavo_workload::AuditLine {
            name: "New-Order".into(),
            count: total / 2,
            total,
            wanted: 0.5,
            rule: octavo_workload::AuditRule::Independent,
        }
    };
    let found = findings_of(
        |cell, sitting, mut figures| {
            figures.load.audit.lines = vec![generated(cell, sitting)];
            Ok(figures)
        },
        |_| {},
    );
    // Of the second cell in both sittings, though rows of runs have as many transactions.
    assert_eq!(found.audit.lines[0].total, 300 + 301);
}

#[test]
fn figures_of_a_transaction_are_over_all_runs_of_a_cell() {
    let found = findings_with(|_| {});
    let reference = &found.groups[0].cells[0];
    let each = reference.per_transaction.unwrap();
    // 1,000 commits and 3 rolled back in each of two runs.
    assert_eq!(each.transactions, 2006);
    assert!((each.hit_ratio - 10.0 / 14.0).abs() < 1e-12);
    assert!((each.buffer_misses - 4.0 * 1000.0 / 1003.0).abs() < 1e-12);
    assert_eq!(
        (each.misses_read, each.device_reads_ratio),
        (Some(1.0), Some(1.0))
    );
    assert_eq!(reference.kinds[0].committed(), 2000);
}

#[test]
fn a_cell_that_fails_has_no_figures_and_the_others_have() {
    let fails = |cell, _, figures| match cell {
        2 => Err("no such page size".into()),
        _ => Ok(figures),
    };
    let found = findings_of(fails, |_| {});
    assert_eq!((found.passes, found.runs_done), (80, 4));
    let sittings: Vec<u32> = found.runs_failed.iter().map(|run| run.sitting).collect();
    assert_eq!(sittings, [1, 2]);
    assert_eq!(found.runs_failed[0].reason, "no such page size");
    let failed = &found.groups[0].cells[2];
    assert!(failed.throughput.is_none() && failed.per_transaction.is_none());
    assert_eq!(found.groups[0].cells[1].decision, Some(Decision::Better));
    assert_eq!(found.caveats, [Caveat::RunsFailed { runs: 2 }]);
}

#[test]
fn sittings_that_do_not_agree_are_said() {
    let slower_then = |slice: &mut Slice| {
        if slice.key.sitting == 1 && slice.key.cell == 1 {
            slice.elapsed = slice.elapsed.mul_f64(1.3);
        }
    };
    let found = findings_of(|_, _, figures| Ok(figures), slower_then);
    let [Caveat::SittingsApart { cell, factor }] = &found.caveats[..] else {
        panic!("{:?}", found.caveats);
    };
    assert_eq!(cell.page_size.get(), 8192);
    assert!((factor - 1.3).abs() < 0.01);
}

#[test]
fn sittings_that_do_not_agree_differ_by_what_the_table_says() {
    // 1.2 between the first two, and the third overlaps with the second.
    let found = findings_with(|_| {});
    let mut cell = found.groups[0].cells[1].clone();
    let of = |estimate: f64, wide: f64| Interval {
        estimate,
        low: estimate / wide,
        high: estimate * wide,
        batches: 2,
    };
    cell.by_sitting = vec![(0, of(1.2, 1.01)), (1, of(1.0, 1.01)), (2, of(0.9, 1.34))];
    assert_eq!(cell.sittings_apart(), Some(1.2));
    assert!((cell.sittings_spread().unwrap() - 1.2 / 0.9).abs() < 1e-9);
    let mut groups = found.groups.clone();
    groups[0].cells[1] = cell;
    let Some(Caveat::SittingsApart { factor, .. }) = found_caveats::sittings_apart(&groups) else {
        panic!("{groups:?}");
    };
    assert!((factor - 1.2 / 0.9).abs() < 1e-9);
}

#[test]
fn what_is_young_ends_where_batches_begin() {
    let batch = |sitting, pass| Batch {
        sitting,
        pass,
        throughput: 1.0,
    };
    let mut stands = Candidate {
        batches: vec![batch(0, 68), batch(0, 72), batch(1, 71)],
        ..Candidate::default()
    };
    let slices: Vec<Slice> = (0..3)
        .flat_map(|sitting| (66..75).map(move |pass| some_slice(sitting, pass, 0)))
        .collect();
    let slices: Vec<&Slice> = slices.iter().collect();
    assert_eq!(within(&slices, &stands).len(), slices.len());
    // Passes 68 to 70 of the second sitting are of a batch that began before, and the third has none.
    stands.from = 68;
    assert_eq!(within(&slices, &stands).len(), 7 + 4);
    stands.until = Some((1, 71));
    assert_eq!(within(&slices, &stands).len(), 7 + 1);
}

#[test]
fn sittings_that_chance_explains_are_not_said() {
    let mut found = findings_with(|_| {});
    let cell = &mut found.groups[0].cells[1];
    let of = |estimate: f64, wide: f64| Interval {
        estimate,
        low: estimate / wide,
        high: estimate * wide,
        batches: 2,
    };
    for (wide, apart) in [(1.01, Some(1.3)), (1.2, None), (f64::INFINITY, None)] {
        cell.by_sitting = vec![(0, of(1.3, wide)), (1, of(1.0, wide))];
        assert_eq!(cell.sittings_apart(), apart);
        assert!((cell.sittings_spread().unwrap() - 1.3).abs() < 1e-9);
    }
}

#[test]
fn passes_with_storms_are_counted_and_left_out() {
    let storms = |slice: &mut Slice| {
        if slice.key.pass.is_multiple_of(5) {
            slice.elapsed *= 3;
        }
    };
    let found = findings_of(|_, _, figures| Ok(figures), storms);
    let slow = ScreenedPasses {
        slow: 16,
        foreign_traffic: 0,
        decided: 0,
    };
    assert_eq!(found.screened, slow);
    assert_eq!(
        found.caveats,
        [Caveat::Screened {
            slow: 16,
            foreign_traffic: 0,
            of: 80
        }]
    );
    assert!((found.groups[0].cells[1].ratio.unwrap().estimate - 1.1).abs() < 0.005);
}

#[test]
fn a_reference_without_figures_is_named() {
    let fails = |cell, _, figures| match cell {
        0 => Err("gone".into()),
        _ => Ok(figures),
    };
    let found = findings_of(fails, |_| {});
    let reference = found.groups[0].cells[0].cell.clone();
    let expected = Caveat::NoReference { cell: reference };
    assert!(found.caveats.contains(&expected), "{:?}", found.caveats);
    assert_eq!(found.groups[0].cells[1].ratio, None);
}

#[test]
fn the_share_of_misses_at_the_device_is_that_of_the_worst_cell() {
    let fewer = |cell, _, mut figures: Figures| {
        if cell == 2
            && let Some(device) = &mut figures.device
        {
            let own = ByteCount::new(figures.load.counters.reads * 4096);
            figures.load.counters.read_bytes = own;
            device.reads /= 4;
            device.read_bytes = ByteCount::new(own.get() / 2);
        }
        Ok(figures)
    };
    let found = findings_of(fewer, |_| {});
    // Every request reads two pages, which are half of those that were missed.
    assert!((found.misses_at_device_min().unwrap() - 0.5).abs() < 0.001);
}

#[test]
fn where_few_misses_were_read_does_not_matter() {
    let with = |misses| {
        findings_with(move |run| {
            run.load.counters.buffer_misses = misses;
            run.load.counters.reads = 0;
            if let Some(device) = &mut run.device {
                device.reads = 0;
            }
        })
    };
    let is_raised = |found: &Findings| {
        let mut caveats = found.caveats.iter();
        caveats.any(|caveat| matches!(caveat, Caveat::MissesNotAtDevice { .. }))
    };
    // Of 1,003 transactions a run.
    for (misses, read, at_device) in [(0, None, None), (9, Some(0.0), None)] {
        let found = with(misses);
        let cell = found.groups[0].cells[0].per_transaction.unwrap();
        assert_eq!(
            (cell.misses_read, found.misses_at_device_min()),
            (read, at_device)
        );
        assert!(!is_raised(&found), "{misses} misses: {:?}", found.caveats);
    }
    let found = with(12);
    assert_eq!(found.misses_at_device_min(), Some(0.0));
    assert!(is_raised(&found), "{:?}", found.caveats);
}

/// Slices of 1 s with 100 counted transactions, of which each other ten have 140.
fn of_a_second(key: SliceKey) -> Slice {
    Slice {
        elapsed: Duration::from_secs(1),
        counted: if (key.pass / 10).is_multiple_of(2) {
            100
        } else {
            140
        },
        ..slice(key)
    }
}

#[test]
fn windows_of_ten_seconds_tell_how_even_a_cell_was() {
    let of = |seconds: u64, passes: u32| {
        let slices: Vec<Slice> = (0..passes)
            .map(|pass| Slice {
                elapsed: Duration::from_secs(seconds),
                ..of_a_second(SliceKey {
                    sitting: pass % 2,
                    pass: pass / 2,
                    position: 0,
                    cell: 0,
                })
            })
            .collect();
        spread(&slices.iter().collect::<Vec<_>>())
    };
    // Two sittings of 40 s, which no window crosses.
    let found = of(1, 80).unwrap();
    assert_eq!((found.windows, found.window_s), (8, 10.0));
    assert!((found.mean - 120.0).abs() < 1e-9, "{found:?}");
    let expected = 20.0 * (8.0_f64 / 7.0).sqrt();
    assert!((found.standard_deviation - expected).abs() < 1e-9);
    // What a sitting leaves for a last window counts from 8 s on.
    assert_eq!(of(1, 94).unwrap().windows, 8);
    assert_eq!(of(1, 116).unwrap().windows, 12);
    // Four windows are too few, and slices of 6 s too long.
    assert_eq!(of(1, 40), None);
    assert_eq!(of(6, 80), None);
    assert_eq!(spread(&[]), None);
}

#[test]
fn a_machine_that_counts_its_energy_has_joules_a_transaction() {
    use crate::machine::{EnergyScope, EnergyUse};

    let none = findings_with(|_| {});
    let cells = |of: &Findings| of.groups[0].cells.clone();
    assert!(
        cells(&none)
            .iter()
            .all(|cell| cell.machine_energy.is_none())
    );
    let found = findings_with(|figures| {
        figures.machine.energy = Some(EnergyUse {
            covers: EnergyScope::PackagesAndMemory,
            joules: 500.0,
            elapsed_s: 10.0,
            idle_joules: None,
            cpu_joules: None,
            device_joules: None,
            memory_joules: Some(50.0),
            platform_joules: Some(900.0),
        });
    });
    for cell in cells(&found) {
        let energy = cell.machine_energy.unwrap();
        let transactions = cell.per_transaction.unwrap().transactions as f64;
        let all = 500.0 * f64::from(SITTINGS);
        assert!((energy.joules_per_transaction - all / transactions).abs() < 1e-9);
        assert!((energy.watts - 50.0).abs() < 1e-9);
        assert_eq!(energy.idle_joules_per_transaction, None);
        assert_eq!(energy.ratio.is_none(), cell.reference);
    }
}
