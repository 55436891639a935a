//! Judging slices that are written down, and slices of simulated machines.

use std::time::Duration;

use octavo_units::{ByteCount, Seed};

use super::{
    Candidate, DepartureReason, Group, Horizon, Judgement, Rules, Screened, SessionTime, Slice,
    SliceKey, Unseated,
    simulated::{Conditions, Machine, QUIET, SLICE},
    slice::tests::slice as some_slice,
};
use crate::statistics::{Decision, Interval};

const HORIZON: Duration = Duration::from_secs(260);

/// 100 transactions a second, and a byte of log each.
fn slice(sitting: u32, pass: u32, cell: usize) -> Slice {
    Slice {
        counted: 50,
        elapsed: Duration::from_millis(500),
        spent: Some(SessionTime::default()),
        log_bytes: ByteCount::new(50),
        ..some_slice(sitting, pass, cell)
    }
}

fn slices(sittings: &[u32], cells: usize, change: impl Fn(&mut Slice)) -> Vec<Slice> {
    let mut slices = Vec::new();
    for (sitting, &passes) in (0..).zip(sittings) {
        for pass in 0..passes {
            for cell in 0..cells {
                let mut slice = slice(sitting, pass, cell);
                change(&mut slice);
                slices.push(slice);
            }
        }
    }
    slices
}

fn rules(passes: u32) -> Rules {
    Rules {
        margin: 0.03,
        drop: true,
        screen: true,
        grows_older: true,
        horizon: Horizon::Passes { passes },
    }
}

/// A group of the first cells, compared with the first.
fn group(cells: usize) -> Vec<Group> {
    vec![Group {
        cells: (0..cells).collect(),
        reference: 0,
    }]
}

/// Multiplies the time of a slice by a factor, and some noise that is fixed by
/// its pass and cell.
fn take(slice: &mut Slice, factor: f64) {
    let noise = u64::from(slice.key.pass) * 7919 + slice.key.cell as u64 * 104_729;
    let noise = 1.0 + 0.01 * ((noise % 101) as f64 / 50.0 - 1.0);
    slice.elapsed = slice.elapsed.mul_f64(factor * noise);
}

/// Where every cell took part in every sitting.
fn judge(rules: &Rules, groups: &[Group], cells: usize, slices: &[Slice]) -> Judgement {
    super::judge(rules, groups, cells, slices, &Unseated::new())
}

fn candidate(judgement: &Judgement, place: usize) -> &Candidate {
    &judgement.groups[0].candidates[place]
}

fn screened(judgement: &Judgement) -> Vec<(u32, u32, Screened)> {
    let screened = judgement.screened.iter();
    screened.map(|s| (s.sitting, s.pass, s.why)).collect()
}

#[test]
fn slow_passes_are_left_out_whoever_is_slow() {
    for slow in 0..2 {
        let slices = slices(&[9], 2, |slice| {
            // Together 2.1 times as long, or 1.4 times.
            let factor = match slice.key.pass {
                3 if slice.key.cell == slow => 3.2,
                5 if slice.key.cell == slow => 1.8,
                _ => 1.0,
            };
            slice.elapsed = slice.elapsed.mul_f64(factor);
        });
        let judgement = judge(&rules(100), &group(2), 2, &slices);
        assert_eq!(screened(&judgement), [(0, 3, Screened::Slow)]);
        assert_eq!(judgement.passes, 9);
        let counted: Vec<u32> = super::counted(&slices).map(|of| of.key.pass).collect();
        assert_eq!(counted.len(), 2 * 8);
        assert!(!counted.contains(&3));
        assert_eq!(judgement.measured, Duration::from_millis(9000 + 1100 + 400));
        // What a model says has no passes that are worse than others for another reason.
        let predicted = Rules {
            screen: false,
            ..rules(100)
        };
        assert_eq!(judge(&predicted, &group(2), 2, &slices).screened, []);
    }
}

#[test]
fn checkpoints_and_missing_cells_make_no_pass_slow() {
    let mut slices = slices(&[9], 2, |slice| {
        // Cell 1 takes three times as long as cell 0.
        if slice.key.cell == 1 {
            slice.elapsed *= 3;
        }
        if slice.key.pass == 2 {
            let checkpoint = Duration::from_secs(5);
            slice.elapsed += checkpoint;
            slice.spent = Some(SessionTime {
                checkpoint,
                ..SessionTime::default()
            });
        }
    });
    slices.retain(|slice| slice.key.pass < 6 || slice.key.cell == 1);
    assert_eq!(judge(&rules(100), &group(2), 2, &slices).screened, []);
}

#[test]
fn a_pass_that_did_more_is_not_slow() {
    let slow = |is_timed: bool, extra: fn(&mut Slice)| {
        let slices = slices(&[24], 2, |slice| {
            let read = Some(slice.elapsed * 2 / 5);
            slice.spent = is_timed.then(|| SessionTime {
                read,
                ..SessionTime::default()
            });
            // A statement that reads a table is in every eighth pass. Cell 1 needs half as long.
            if slice.key.pass % 8 == 5 {
                slice.elapsed *= if slice.key.cell == 1 { 5 } else { 10 };
                extra(slice);
            }
        });
        let screened = screened(&judge(&rules(100), &group(2), 2, &slices));
        let slow = screened.iter().filter(|(.., why)| *why == Screened::Slow);
        slow.count()
    };
    assert_eq!(
        slow(true, |_| ()),
        3,
        "with the same work it is the machine"
    );
    let reads_pages = |slice: &mut Slice| {
        slice.misses *= 20;
        if let Some(spent) = &mut slice.spent {
            spent.read = Some(slice.elapsed * 4 / 5);
        }
    };
    assert_eq!(slow(true, reads_pages), 0);
    assert_eq!(slow(false, reads_pages), 0);
    let computes = |slice: &mut Slice| {
        if let Some(spent) = &mut slice.spent {
            spent.cpu += slice.elapsed * 4 / 5;
        }
    };
    assert_eq!(slow(true, computes), 0);
    // A miss by chance explains no storm.
    assert_eq!(slow(true, |slice| slice.misses += 1), 3);
}

#[test]
fn foreign_traffic_beyond_the_usual_is_left_out() {
    let slices = slices(&[9, 9], 2, |slice| {
        let kib = match (slice.key.sitting, slice.key.pass) {
            // 1.1 MiB more than the 200 KiB of the others, and 0.9 MiB.
            (0, 4) => 100 + 575,
            (0, 6) => 100 + 460,
            // Every pass of the second sitting has as much.
            (1, _) => 5000,
            _ => 100,
        };
        slice.foreign_bytes = Some(ByteCount::kib(kib));
    });
    let judgement = judge(&rules(100), &group(2), 2, &slices);
    assert_eq!(screened(&judgement), [(0, 4, Screened::ForeignTraffic)]);
}

/// What others move all the time is more where a pass takes longer by its own work.
#[test]
fn foreign_traffic_is_judged_by_the_time_that_the_work_takes() {
    let judged = |is_steady: bool| {
        let slices = slices(&[24], 2, |slice| {
            let mut foreign = ByteCount::mib(40);
            if slice.key.pass == 5 {
                slice.elapsed *= 8;
                slice.misses *= 20;
                let read = Some(slice.elapsed * 4 / 5);
                slice.spent = Some(SessionTime {
                    read,
                    ..SessionTime::default()
                });
                foreign = foreign.saturating_mul(if is_steady { 6 } else { 60 });
            }
            slice.foreign_bytes = Some(foreign);
        });
        screened(&judge(&rules(100), &group(2), 2, &slices))
    };
    assert_eq!(judged(true), []);
    assert_eq!(judged(false), [(0, 5, Screened::ForeignTraffic)]);
}

#[test]
fn at_a_pace_a_pass_is_slow_by_its_response_times() {
    let slices = slices(&[24], 2, |slice| {
        let response = slice.elapsed / 10;
        slice.response = Some(match slice.key.pass {
            7 => response * 4,
            _ => response,
        });
        // The recording was silent for a while.
        if slice.key.pass == 12 {
            slice.elapsed *= 20;
        }
        // A checkpoint came.
        if slice.key.pass == 16 {
            let checkpoint = slice.elapsed;
            slice.elapsed += checkpoint;
            slice.response = Some(response + checkpoint);
            slice.spent = Some(SessionTime {
                checkpoint,
                ..SessionTime::default()
            });
        }
    });
    let judgement = judge(&rules(100), &group(2), 2, &slices);
    assert_eq!(screened(&judgement), [(0, 7, Screened::Slow)]);
}

#[test]
fn batches_have_four_passes_of_a_sitting() {
    let slices = slices(&[9, 3, 1, 8], 2, |_| ());
    let judgement = judge(&open_rules(), &group(2), 2, &slices);
    let batches: Vec<(u32, u32)> = candidate(&judgement, 1)
        .batches
        .iter()
        .map(|batch| (batch.sitting, batch.pass))
        .collect();
    assert_eq!(batches, [(0, 0), (0, 4), (1, 0), (2, 0), (3, 0), (3, 4)]);
    let sittings = &candidate(&judgement, 1).by_sitting;
    let sittings: Vec<(u32, f64)> = sittings
        .iter()
        .map(|(of, ratio)| (*of, ratio.estimate))
        .collect();
    assert_eq!(sittings, [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]);
}

#[test]
fn the_time_of_checkpoints_is_spread_over_the_log() {
    // One checkpoint of a second in six passes: every slice counts as 500 ms
    // and a sixth of a second.
    let slices = slices(&[12], 2, |slice| {
        if slice.key.cell == 1 && slice.key.pass % 6 == 1 {
            let checkpoint = Duration::from_secs(1);
            slice.elapsed += checkpoint;
            slice.spent = Some(SessionTime {
                checkpoint,
                ..SessionTime::default()
            });
        }
    });
    let judgement = judge(&rules(100), &group(2), 2, &slices);
    for batch in &candidate(&judgement, 1).batches {
        assert!((batch.throughput - 60.0 * 50.0 / (0.5 + 1.0 / 6.0)).abs() < 1e-6);
    }
    let ratio = candidate(&judgement, 1).ratio.unwrap();
    assert!((ratio.estimate - 0.75).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn the_throughput_of_one_that_left_is_that_of_the_time_of_the_others() {
    // From the ninth pass on the machine is half as fast, and cell 1, which
    // takes a quarter more time, is gone.
    let mut slices = slices(&[16], 2, |slice| {
        if slice.key.cell == 1 {
            slice.elapsed = slice.elapsed.mul_f64(1.25);
        }
        if slice.key.pass >= 8 {
            slice.elapsed *= 2;
        }
    });
    slices.retain(|slice| slice.key.cell == 0 || slice.key.pass < 8);
    let judgement = judge(&rules(100), &group(2), 2, &slices);
    let throughput = |place: usize| candidate(&judgement, place).throughput.unwrap().estimate;
    // 6000 a minute and 3000, in their geometric mean.
    assert!((throughput(0) - 6000.0 / 2.0_f64.sqrt()).abs() < 1e-6);
    assert!((throughput(1) - 0.8 * throughput(0)).abs() < 1e-6);
}

#[test]
fn passes_count_for_cells_that_are_compared_in_them() {
    // Where cell 1 is missing the reference is three times as fast.
    let mut slices = slices(&[8], 3, |slice| {
        if slice.key.cell == 0 && slice.key.pass == 2 {
            slice.elapsed /= 3;
        }
    });
    slices.retain(|slice| slice.key.pass != 2 || slice.key.cell != 1);
    let judgement = judge(&rules(100), &group(3), 3, &slices);
    assert_eq!(candidate(&judgement, 1).ratio.unwrap().estimate, 1.0);
    assert!(candidate(&judgement, 2).ratio.unwrap().estimate < 0.95);
}

#[test]
fn who_left_when_depends_on_no_later_slice() {
    let effects = [0.0, 0.9f64.ln(), 0.0, 1.02f64.ln(), 0.6f64.ln()];
    let slices = Machine::new(QUIET, &effects, Seed::new(5)).sitting(0, HORIZON);
    let rules = Rules {
        margin: 0.05,
        drop: true,
        screen: true,
        grows_older: true,
        horizon: Horizon::Time { measured: HORIZON },
    };
    let whole = judge(&rules, &group(5), 5, &slices);
    let left: Vec<_> = whole.groups[0].candidates.iter().map(|c| c.left).collect();
    assert_eq!(left[1].unwrap().why, DepartureReason::Slower);
    assert_eq!(left[4].unwrap().why, DepartureReason::Slower);
    assert!(left[4].unwrap().measured < left[1].unwrap().measured);
    assert!(left[1].unwrap().measured < HORIZON / 2);
    assert_eq!(left[2].unwrap().why, DepartureReason::Equal);
    for passes in [40, 150, 300, 450] {
        let before = judge(&rules, &group(5), 5, &slices[..5 * passes]);
        let until = before.measured;
        let of_whole = whole.groups[0].candidates.iter();
        for (then, now) in before.groups[0].candidates.iter().zip(of_whole) {
            assert_eq!(then.left, now.left.filter(|left| left.measured <= until));
            if then.left.is_some() {
                assert_eq!((then.ratio, then.decision), (now.ratio, now.decision));
            }
        }
    }
    // Its later slices need not exist.
    let last = left[1].unwrap().pass;
    let without: Vec<Slice> = slices
        .iter()
        .copied()
        .filter(|slice| slice.key.cell != 1 || slice.key.pass <= last)
        .collect();
    let judgement = judge(&rules, &group(5), 5, &without);
    assert_eq!(candidate(&judgement, 1).left, left[1]);
    assert_eq!(candidate(&judgement, 1).ratio, candidate(&whole, 1).ratio);
}

#[test]
fn the_rest_leaves_behind_a_leader() {
    let slices = slices(&[200], 4, |slice| {
        take(slice, [1.0, 0.7, 0.85, 1.0][slice.key.cell]);
    });
    let judgement = judge(&rules(1000), &group(4), 4, &slices);
    assert!(judgement.groups[0].finished);
    assert_eq!(candidate(&judgement, 1).decision, Some(Decision::Better));
    assert_eq!(candidate(&judgement, 1).left, None);
    let left = candidate(&judgement, 2).left.unwrap();
    assert_eq!(left.why, DepartureReason::Behind { leader: 1 });
    assert_eq!(candidate(&judgement, 2).decision, Some(Decision::Better));
    assert_eq!((left.sitting, left.pass), (0, 49));
    assert_eq!(
        candidate(&judgement, 3).left.unwrap().why,
        DepartureReason::Equal
    );
}

#[test]
fn passes_after_the_last_decision_are_of_no_throughput() {
    // A sitting ends some passes later, in which the reference is slow.
    let slices = slices(&[53], 2, |slice| {
        let late = if slice.key.pass > 49 { 3.0 } else { 1.0 };
        take(slice, [late, 0.7][slice.key.cell]);
    });
    let judgement = judge(&rules(1000), &group(2), 2, &slices);
    assert!(judgement.groups[0].finished);
    assert_eq!(judgement.passes, 53);
    let late = [50, 51, 52].map(|pass| (0, pass, Screened::Decided));
    assert_eq!(screened(&judgement), late);
    assert_eq!(candidate(&judgement, 1).until, Some((0, 49)));
    let [reference, winner] = [0, 1].map(|place| candidate(&judgement, place));
    let keys = |of: &Candidate| -> Vec<_> {
        let batches = of.batches.iter();
        batches.map(|batch| (batch.sitting, batch.pass)).collect()
    };
    assert_eq!(keys(reference), keys(winner));
    let first = reference.batches[0].throughput;
    let is_level = |batch: &super::Batch| (batch.throughput / first - 1.0).abs() < 0.01;
    assert!(reference.batches.iter().all(is_level), "{reference:?}");
}

#[test]
fn a_cell_that_left_is_known_by_the_batches_until_then() {
    let mut slices = slices(&[200], 3, |slice| {
        // Noise that no batch repeats.
        let noise = 1.0 + 0.01 * f64::from(slice.key.pass * slice.key.pass % 13);
        take(slice, [1.0, 1.01, 1.25][slice.key.cell] * noise);
    });
    // Two of the four passes of a batch that the others complete.
    slices.retain(|slice| slice.key.cell != 2 || slice.key.pass <= 49);
    let judgement = judge(&rules(1000), &group(3), 3, &slices);
    let left = candidate(&judgement, 2);
    assert_eq!(left.left.unwrap().pass, 49);
    let (ratio, throughput) = (left.ratio.unwrap(), left.throughput.unwrap());
    assert_eq!(ratio.batches, left.batches.len());
    assert_eq!(throughput.batches, ratio.batches);
    let own = judgement.levels.ratio(2, 0, 0.05).unwrap();
    assert_eq!(own.batches, ratio.batches);
    assert!((own.estimate - ratio.estimate).abs() < 1e-12);
}

#[test]
fn nobody_leaves_before_four_batches_or_between_looks() {
    let slices = slices(&[60], 3, |slice| {
        take(slice, [1.0, 2.0, 1.0][slice.key.cell]);
    });
    let left = |horizon: u32, passes: usize| {
        let judgement = judge(&rules(horizon), &group(3), 3, &slices[..3 * passes]);
        assert_eq!(candidate(&judgement, 1).decision, Some(Decision::Worse));
        let pass = |place: usize| Some(candidate(&judgement, place).left?.pass);
        (pass(1), pass(2), judgement.groups[0].finished)
    };
    assert_eq!(left(100, 19), (None, None, false));
    // The nearer one is not known to be level with five batches.
    assert_eq!(left(100, 20), (Some(19), None, false));
    assert_eq!(left(100, 40), (Some(19), Some(39), true));
    // Looks at 5 and 10 passes would see too little.
    assert_eq!(left(50, 14), (None, None, false));
    assert_eq!(left(50, 60), (Some(19), Some(34), true));
}

/// The ratio of a cell that rises by a factor within so many passes, and then stays.
fn rising(factor: f64, passes: u32) -> Vec<Slice> {
    slices(&[200], 2, |slice| {
        take(slice, 1.0);
        if slice.key.cell == 1 {
            let age = f64::from(slice.key.pass.min(passes)) / f64::from(passes);
            slice.elapsed = slice.elapsed.mul_f64(2.0 / factor.powf(age));
        }
    })
}

#[test]
fn what_moves_is_measured_until_it_is_level() {
    let ends = |slices: &[Slice]| {
        let judgement = judge(&rules(200), &group(2), 2, slices);
        let candidate = candidate(&judgement, 1);
        assert_eq!(candidate.decision, Some(Decision::Worse));
        (
            candidate.left.map(|left| left.pass),
            candidate.ratio.unwrap().estimate,
        )
    };
    let (left, _) = ends(&rising(1.0, 200));
    assert_eq!(left, Some(39));
    // By a quarter: at the look at 60 passes the older half counts, and is level.
    let (left, ratio) = ends(&rising(1.25, 40));
    assert_eq!(left, Some(59));
    assert!((ratio / (0.5 * 1.25) - 1.0).abs() < 0.02, "{ratio}");
    // What rises to the end moves in the older half as well.
    let (left, ratio) = ends(&rising(1.5, 200));
    assert_eq!(left, None);
    assert!(
        (ratio / (0.5 * 1.5_f64.powf(0.75)) - 1.0).abs() < 0.01,
        "{ratio}"
    );
    // Too little to matter.
    let (left, _) = ends(&rising(1.04, 200));
    assert_eq!(left, Some(39));
    // What is going to pass 1, however slowly, is measured on: 9% worse, and 1 at the end of pass 110.
    let slowly = |passes: u32| {
        let mut slices = rising(1.1, 110);
        let shorter = |slice: &mut Slice| {
            if slice.key.cell == 1 {
                slice.elapsed = slice.elapsed.mul_f64(1.1 / 2.0);
            }
        };
        slices.iter_mut().for_each(shorter);
        let judgement = judge(&rules(200), &group(2), 2, &slices[..2 * passes as usize]);
        let candidate = candidate(&judgement, 1);
        (candidate.decision, candidate.left.is_some())
    };
    assert_eq!(slowly(40), (Some(Decision::Worse), false));
    // What nobody changes is as old as it was.
    let mut only_read = rising(1.25, 40);
    only_read
        .iter_mut()
        .for_each(|slice| slice.log_bytes = ByteCount::ZERO);
    let (left, _) = ends(&only_read[..2 * 20]);
    assert_eq!(left, Some(19));
    // A leader's as well.
    let mut leads = rising(2.0, 200);
    for slice in &mut leads {
        if slice.key.cell == 1 {
            slice.elapsed /= 4;
        }
    }
    let judgement = judge(&rules(200), &group(2), 2, &leads);
    assert_eq!(candidate(&judgement, 1).decision, Some(Decision::Better));
    assert!(!judgement.groups[0].finished);
}

#[test]
fn without_dropping_nothing_is_ever_finished() {
    let slices = slices(&[100], 2, |slice| {
        take(slice, [1.0, 2.0][slice.key.cell]);
    });
    let full = Rules {
        drop: false,
        screen: true,
        ..rules(100)
    };
    let finished = |rules: &Rules, cells: usize, passes: usize| {
        let judgement = judge(rules, &group(cells), 2, &slices[..2 * passes]);
        assert!(
            judgement.groups[0]
                .candidates
                .iter()
                .all(|c| c.left.is_none())
        );
        judgement.groups[0].finished
    };
    assert!(!finished(&full, 2, 99));
    assert!(!finished(&full, 2, 100));
    // … nor a cell that is compared with nothing.
    assert!(!finished(&rules(100), 1, 100));
}

#[test]
fn cells_without_results_leave() {
    let without = |sittings: &[u32], absent: &dyn Fn(&SliceKey) -> bool| {
        let mut slices = slices(sittings, 3, |slice| take(slice, 1.0));
        slices.retain(|slice| !absent(&slice.key));
        judge(&rules(1000), &group(3), 3, &slices)
    };
    let judgement = without(&[20], &|key| key.cell == 2);
    let left = candidate(&judgement, 2).left.unwrap();
    assert_eq!((left.why, left.pass), (DepartureReason::NoResult, 7));
    assert_eq!(candidate(&judgement, 2).ratio, None);
    let judgement = without(&[3, 3, 3], &|key| key.cell == 2);
    let left = candidate(&judgement, 2).left.unwrap();
    assert_eq!((left.why, left.sitting), (DepartureReason::NoResult, 2));
    let judgement = without(&[20], &|key| key.cell == 0);
    assert_eq!(
        candidate(&judgement, 0).left.unwrap().why,
        DepartureReason::NoResult
    );
    assert!(judgement.groups[0].finished);
    // What left under a shorter horizon is looked at again.
    let judgement = without(&[40, 9, 9], &|key| {
        key.cell == 2 && (key.sitting > 0 || key.pass > 30)
    });
    assert_eq!(
        candidate(&judgement, 2).left.unwrap().why,
        DepartureReason::Equal
    );
    // What was not tried in a sitting is not missing there, and comes later.
    let mut slices = slices(&[40, 20], 3, |slice| take(slice, 1.0));
    slices.retain(|slice| slice.key.cell < 2 || slice.key.sitting > 0);
    let unseated = Unseated::from([(0, 2)]);
    let rules = rules(40);
    let first = super::judge(&rules, &group(3), 3, &slices[..2 * 40], &unseated);
    assert!(first.groups[0].finished);
    assert_eq!(candidate(&first, 2).left, None);
    let both = super::judge(&rules, &group(3), 3, &slices[..2 * 40 + 3], &unseated);
    assert!(!both.groups[0].finished);
    assert_eq!(candidate(&both, 2).left, None);
    assert_eq!(candidate(&both, 1).left, candidate(&first, 1).left);
    // Nobody is missing while the whole group is.
    let judgement = without(&[40], &|key| key.pass > 20);
    assert!(
        judgement.groups[0]
            .candidates
            .iter()
            .all(|c| c.left.is_none())
    );
}

#[test]
fn a_machine_that_becomes_faster_has_no_slow_passes_but_storms_are() {
    let slices = slices(&[100], 2, |slice| {
        if slice.key.pass < 50 {
            slice.elapsed *= 2;
        }
        if slice.key.pass == 20 {
            slice.elapsed *= 2;
        }
    });
    let judgement = judge(&rules(1000), &group(2), 2, &slices);
    let slow: Vec<u32> = judgement.screened.iter().map(|pass| pass.pass).collect();
    // Those at the step have faster neighbors in the majority for a moment.
    assert!(slow.contains(&20), "{slow:?}");
    assert!(
        slow.iter()
            .all(|&pass| pass == 20 || (38..50).contains(&pass)),
        "{slow:?}"
    );
}

#[test]
fn open_cells_say_which_way_they_lean_and_what_would_settle_them() {
    let logs = [0.03, 0.06, 0.02, 0.07, 0.03, 0.05];
    let judgement_of = |logs: &[f64]| {
        let slices = slices(&[24], 2, |slice| {
            if slice.key.cell == 1 {
                let log = logs[slice.key.pass as usize / 4];
                slice.elapsed = slice.elapsed.mul_f64((-log).exp());
            }
        });
        judge(&rules(1000), &group(2), 2, &slices)
    };
    let judgement = judgement_of(&logs);
    let open = candidate(&judgement, 1);
    assert_eq!(open.decision, Some(Decision::Open));
    assert_eq!(open.likely, Some(Decision::Better));
    // The half-width of the logarithm falls to its mean.
    let interval = open.ratio.unwrap();
    let half = 0.5 * (interval.high / interval.low).ln();
    let multiple = (half / interval.estimate.ln()).powi(2) - 1.0;
    let expected = judgement.measured.mul_f64(multiple);
    assert!(open.more.unwrap().abs_diff(expected) < Duration::from_millis(1));
    let split = judgement_of(&[0.03, 0.06, -0.06, 0.07, 0.03, -0.05]);
    assert_eq!(candidate(&split, 1).likely, None);
    let hopeless = judgement_of(&[0.9, -0.9, 0.9, -0.85, 0.8, -0.9]);
    assert_eq!(candidate(&hopeless, 1).more, None);
}

#[test]
fn sittings_of_one_pass_have_a_batch_each() {
    // What was kept before there was lockstep: a run a sitting.
    let slices = slices(&[1; 12], 2, |slice| {
        slice.spent = None;
        slice.foreign_bytes = None;
        slice.key.pass = 0;
        let noise = f64::from(slice.key.sitting % 3) * 0.01;
        slice.elapsed = slice.elapsed.mul_f64(1.0 + noise * slice.key.cell as f64);
    });
    let judgement = judge(&rules(12), &group(2), 2, &slices);
    assert_eq!(candidate(&judgement, 0).batches.len(), 12);
    let left = candidate(&judgement, 1).left.unwrap();
    assert_eq!((left.why, left.sitting), (DepartureReason::Equal, 4));
    assert_eq!(candidate(&judgement, 1).ratio.unwrap().batches, 5);
}

#[test]
fn damaged_slices_are_no_reason_to_panic() {
    let odd = slices(&[30, 2], 3, |slice| match slice.key.pass % 5 {
        0 => slice.elapsed = Duration::ZERO,
        1 => slice.elapsed = Duration::MAX,
        2 => slice.counted = 0,
        3 => {
            slice.spent = Some(SessionTime {
                checkpoint: Duration::MAX,
                ..SessionTime::default()
            });
            slice.log_bytes = ByteCount::new(u64::MAX);
            slice.foreign_bytes = Some(ByteCount::new(u64::MAX));
        }
        _ => slice.key.cell += 100,
    });
    for horizon in [
        Horizon::Passes { passes: 0 },
        Horizon::Passes { passes: 20 },
        Horizon::Time {
            measured: Duration::ZERO,
        },
        Horizon::Time {
            measured: Duration::MAX,
        },
    ] {
        let rules = Rules {
            horizon,
            ..rules(0)
        };
        judge(&rules, &group(3), 3, &odd);
        assert_eq!(judge(&rules, &group(3), 3, &[]).passes, 0);
    }
    // Nor is a ratio made of them.
    let idle = slices(&[30], 2, |slice| slice.counted = 0);
    assert_eq!(
        candidate(&judge(&rules(9), &group(2), 2, &idle), 1).ratio,
        None
    );
}

/// What is found of five cells on quiet machines.
fn trials(name: &str, effects: &[f64; 5], count: u64) -> Vec<Judgement> {
    // As much time a cell as ten have in 260 s.
    let measured = HORIZON / 2;
    let rules = Rules {
        margin: 0.05,
        drop: true,
        screen: true,
        grows_older: true,
        horizon: Horizon::Time { measured },
    };
    (0..count)
        .map(|trial| {
            let seed = Seed::new(11).derive(name, trial);
            let slices = Machine::new(QUIET, effects, seed).sitting(0, measured);
            judge(&rules, &group(5), 5, &slices)
        })
        .collect()
}

fn with(judgements: &[Judgement], wanted: impl Fn(&[Candidate]) -> bool) -> usize {
    let groups = judgements.iter().map(|judgement| &judgement.groups[0]);
    groups.filter(|group| wanted(&group.candidates)).count()
}

#[test]
fn equal_cells_are_found_equal_and_rarely_told_apart() {
    let found = trials("equal", &[0.0; 5], 60);
    // 5% of 60 and three standard deviations: 8.
    let wrong = |c: &Candidate| matches!(c.decision, Some(Decision::Better | Decision::Worse));
    let wrong = with(&found, |group| group.iter().any(wrong));
    assert!(wrong <= 8, "{wrong} of 60");
    let equal = |c: &Candidate| {
        c.left
            .is_some_and(|left| left.why == DepartureReason::Equal)
    };
    let equal = with(&found, |group| group[1..].iter().all(equal));
    assert!(equal >= 45, "{equal} of 60");
}

#[test]
fn differences_are_found() {
    let effects = [0.0, 0.0, 0.9f64.ln(), 0.0, 0.0];
    let found = trials("slower", &effects, 30);
    let slower = with(&found, |group| group[2].decision == Some(Decision::Worse));
    assert!(slower >= 29, "{slower} of 30");
    let effects = [0.0, 0.0, 0.0, 1.1f64.ln(), 0.0];
    let found = trials("faster", &effects, 30);
    let faster = with(&found, |group| {
        group[3].left.is_none() && group[3].decision == Some(Decision::Better)
    });
    assert!(faster >= 29, "{faster} of 30");
}

#[test]
fn storms_are_left_out_and_intervals_cover() {
    let stormy = Conditions {
        storm: 40.0,
        ..QUIET
    };
    // The only look is at all of it.
    let rules = Rules {
        drop: false,
        screen: true,
        ..rules(1)
    };
    let (mut covers, mut screened) = (0, 0);
    for trial in 0..300 {
        let seed = Seed::new(13).derive("cover", trial);
        let effects = [0.0, 0.92f64.ln()];
        let slices = Machine::new(stormy, &effects, seed).sitting(0, Duration::from_secs(20));
        let judgement = judge(&rules, &group(2), 2, &slices);
        let ratio: Interval = candidate(&judgement, 1).ratio.unwrap();
        covers += u32::from((ratio.low..=ratio.high).contains(&0.92));
        screened += judgement.screened.len();
    }
    // 93% to 97% of 300, and two standard deviations of 95%: 3.8 each.
    assert!((272..=298).contains(&covers), "{covers} of 300");
    assert!(screened > 300, "{screened}");
}

#[test]
fn few_checkpoints_are_as_uncertain_as_they_are_few() {
    // One in eight passes, or in 20, at another phase in each cell. Without what nobody sees
    // of their number, intervals of the first covered 79% at 28 passes.
    let rules = Rules {
        drop: false,
        screen: false,
        ..rules(1)
    };
    for (apart, share) in [(8.0, 0.18), (20.0, 0.15)] {
        let rare = Conditions {
            checkpoints: (apart * SLICE as f64, share),
            ..QUIET
        };
        for passes in [28, 44, 80] {
            let covers = (0..300)
                .filter(|&trial| {
                    let seed = Seed::new(19).derive("rare", trial);
                    let mut machine = Machine::new(rare, &[0.0, 0.92f64.ln()], seed);
                    let slices = (0..passes).flat_map(|pass| machine.pass(0, pass, vec![0, 1]));
                    let slices: Vec<Slice> = slices.collect();
                    let judgement = judge(&rules, &group(2), 2, &slices);
                    let ratio = candidate(&judgement, 1).ratio.unwrap();
                    (ratio.low..=ratio.high).contains(&0.92)
                })
                .count();
            // 95% of 300, and three standard deviations of 3.8.
            assert!(covers >= 274, "{apart} {passes}: {covers} of 300");
        }
    }
}

/// Two groups of two cells, compared with their first.
fn two_groups() -> Vec<Group> {
    let group = |cells: [usize; 2]| Group {
        cells: cells.into(),
        reference: 0,
    };
    vec![group([0, 1]), group([2, 3])]
}

/// Cells 0 and 1 as 2 and 3, which take twice as long, in all passes; the machine takes
/// three times as long for all in the second half, where `is_there` tells who is.
fn slices_of_two_groups(is_there: impl Fn(u32, usize) -> bool) -> Vec<Slice> {
    let mut all = slices(&[80], 4, |slice| {
        let moment = if slice.key.pass < 40 { 1.0 } else { 3.0 };
        let own = if slice.key.cell < 2 { 1.0 } else { 2.0 };
        take(slice, moment * own);
    });
    all.retain(|slice| is_there(slice.key.pass, slice.key.cell));
    all
}

fn open_rules() -> Rules {
    Rules {
        drop: false,
        screen: false,
        ..rules(1000)
    }
}

#[test]
fn passes_that_are_left_out_have_their_part_of_the_checkpoints() {
    let checkpoint = Duration::from_secs(2);
    // Every eighth pass has one of the second cell, and these are all left out, or
    // every other, whose checkpoints take ten times as long.
    for (left_out, factor) in [(8, 1), (16, 10)] {
        let slices = slices(&[64], 2, |slice| {
            take(slice, 1.0);
            let own = match slice.key.pass % left_out {
                3 => checkpoint * factor,
                _ => checkpoint,
            };
            if slice.key.pass % 8 == 3 && slice.key.cell == 1 {
                slice.elapsed += own;
                slice.spent = Some(SessionTime {
                    checkpoint: own,
                    ..SessionTime::default()
                });
            }
            let foreign = if slice.key.pass % left_out == 3 {
                64
            } else {
                0
            };
            slice.foreign_bytes = Some(ByteCount::mib(foreign));
        });
        let judgement = judge(
            &Rules {
                screen: true,
                ..open_rules()
            },
            &group(2),
            2,
            &slices,
        );
        assert_eq!(judgement.screened.len(), 64 / left_out as usize);
        let ratio = candidate(&judgement, 1).ratio.unwrap();
        // 0.5 s a slice, and an eighth of 2 s.
        assert!((ratio.estimate - 0.5 / 0.75).abs() < 0.005, "{ratio:?}");
    }
}

#[test]
fn groups_that_ended_early_are_compared_in_shared_batches() {
    // Alone, the means of the second group would be those of the faster half.
    let early = slices_of_two_groups(|pass, cell| cell < 2 || pass < 40);
    let judged = judge(&open_rules(), &two_groups(), 4, &early);
    for (one, other) in [(0, 2), (1, 3)] {
        let ratio = judged.levels.ratio(one, other, 0.05).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 0.02, "{ratio:?}");
        assert!(ratio.low < 2.0 && 2.0 < ratio.high, "{ratio:?}");
        assert!(ratio.high / ratio.low < 1.02, "{ratio:?}");
        let throughput = |cell| judged.levels.throughput(cell, 0.05).unwrap();
        let beside = throughput(one).estimate / throughput(other).estimate;
        assert!((ratio.estimate / beside - 1.0).abs() < 1e-12);
    }
    let itself = judged.levels.ratio(1, 1, 0.05).unwrap();
    assert_eq!((itself.low, itself.estimate, itself.high), (1.0, 1.0, 1.0));
}

#[test]
fn groups_that_were_never_open_together_have_no_ratio() {
    let apart = slices_of_two_groups(|pass, cell| (cell < 2) == (pass < 40));
    let judged = judge(&open_rules(), &two_groups(), 4, &apart);
    assert_eq!(judged.levels.ratio(0, 2, 0.05), None);
    assert!(judged.levels.ratio(0, 1, 0.05).is_some());
    for cell in 0..4 {
        assert!(judged.levels.throughput(cell, 0.05).is_some(), "{cell}");
    }
    assert_eq!(judged.levels.throughput(4, 0.05), None);
}

#[test]
fn ratios_of_groups_cover_as_often_as_they_say() {
    // 400 quiet machines of 20 s: a covering share of 95% has a standard error of 1.1
    // points. The last cell leaves halfway, so that it takes all three parts to tell.
    let truth = 0.5_f64;
    let effects = [0.0, -0.1, -truth, -truth + 0.2];
    let covered = (0..400)
        .filter(|&trial| {
            let seed = Seed::new(17).derive("levels", trial);
            let mut machine = Machine::new(QUIET, &effects, seed);
            let mut slices = machine.sitting(0, Duration::from_secs(20));
            let half = slices.last().unwrap().key.pass / 2;
            slices.retain(|slice| slice.key.cell != 3 || slice.key.pass < half);
            let judged = judge(&open_rules(), &two_groups(), 4, &slices);
            let ratio = judged.levels.ratio(3, 1, 0.05).unwrap();
            let truth = (effects[3] - effects[1]).exp();
            (ratio.low..=ratio.high).contains(&truth)
        })
        .count();
    assert!((370..=398).contains(&covered), "{covered} of 400");
}

#[test]
fn groups_of_different_ages_have_no_ratio() {
    let groups = vec![
        Group {
            cells: vec![0, 1],
            reference: 0,
        },
        Group {
            cells: vec![2, 3],
            reference: 0,
        },
    ];
    // The first is over after 40 passes; a ratio of the second doubles until the end, or does not.
    let judged = |rises: bool| {
        let mut slices = slices(&[200], 4, |slice| {
            take(slice, 1.0);
            if slice.key.cell == 3 && rises {
                let age = f64::from(slice.key.pass) / 200.0;
                slice.elapsed = slice.elapsed.mul_f64(2.0 / age.exp2());
            }
        });
        slices.retain(|slice| slice.key.cell > 1 || slice.key.pass < 40);
        judge(&rules(200), &groups, 4, &slices)
    };
    for rises in [true, false] {
        let judgement = judged(rises);
        assert_eq!(judgement.groups[0].young, None);
        assert_eq!(judgement.groups[1].young.is_some(), rises);
        let levels = judgement.levels;
        assert_eq!(levels.ratio(0, 2, 0.05).is_none(), rises);
        for cell in 0..4 {
            assert!(levels.throughput(cell, 0.05).is_some(), "{cell}");
        }
    }
}

#[test]
fn a_cell_whose_ratio_moves_does_not_leave() {
    const PASSES: u32 = 100;
    // From the same to 35% longer or shorter, a little unevenly; or half of that all the time.
    let judged = |moves: bool, sign: f64| {
        let slices = slices(&[PASSES], 2, |slice| {
            let older = match moves {
                true => f64::from(slice.key.pass) / f64::from(PASSES),
                false => 0.5,
            };
            let uneven = if slice.key.pass / 4 % 2 == 0 {
                1.02
            } else {
                1.0 / 1.02
            };
            let factor = match slice.key.cell {
                1 => (sign * 0.3 * older).exp() * uneven,
                _ => 1.0,
            };
            take(slice, factor);
        });
        judge(&rules(PASSES), &group(2), 2, &slices)
    };
    for sign in [1.0, -1.0] {
        for moves in [true, false] {
            let judgement = judged(moves, sign);
            let found = candidate(&judgement, 1);
            assert_eq!(found.moved.is_some(), moves, "{:?}", found.moved);
            // The older half counts.
            let from = if moves { 48 } else { 0 };
            assert_eq!(
                judgement.groups[0].young.map_or(0, |young| young.from),
                from
            );
            for candidate in &judgement.groups[0].candidates {
                assert_eq!((candidate.from, candidate.batches[0].pass), (from, from));
            }
            // What is faster stays, and ends its group when nothing is open.
            assert_eq!(judgement.groups[0].finished, !moves, "{sign}");
            assert_eq!(found.left.is_some(), !moves && sign > 0.0, "{sign}");
        }
    }
}
