//! Series of which it is known what they are.

use octavo_units::Seed;
use rand::RngExt;

use super::*;

/// Gaussian noise in which each value keeps `correlation` of the one before;
/// its standard deviation is `spread` whatever the correlation.
pub(super) fn autoregression(seed: u64, count: usize, correlation: f64, spread: f64) -> Vec<f64> {
    let mut generator = Seed::new(seed).derive("noise", count as u64).generator();
    // Box and Muller's normal numbers.
    let mut normal = || {
        let (u, v): (f64, f64) = (generator.random(), generator.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut value = normal();
    (0..count)
        .map(|_| {
            value = correlation * value + fresh * normal();
            spread * value
        })
        .collect()
}

/// Ticks of 20 ms with this throughput (1 is 10,000 commits a tick).
fn ticks(throughput: impl IntoIterator<Item = f64>) -> Vec<Tick> {
    throughput
        .into_iter()
        .map(|throughput| Tick {
            length_s: 0.02,
            counted: (throughput * 10_000.0).round().max(0.0) as u64,
            ..Tick::default()
        })
        .collect()
}

fn noisy(noise: &[f64], level: impl Fn(f64) -> f64) -> Vec<Tick> {
    let count = noise.len() as f64;
    let at = |(index, noise): (usize, &f64)| level(index as f64 / count) * (1.0 + noise);
    ticks(noise.iter().enumerate().map(at))
}

/// With figures that can begin at any tick.
fn judged(ticks: &[Tick]) -> (usize, Label) {
    steady_part(ticks, |cut| cut)
}

fn share_not_steady(count: usize, correlation: f64, spread: f64) -> f64 {
    let not_steady = (0..1000)
        .filter(|&seed| {
            let noise = autoregression(seed, count, correlation, spread);
            !judged(&noisy(&noise, |_| 1.0)).1.is_comparable()
        })
        .count();
    not_steady as f64 / 1000.0
}

#[test]
fn noise_is_rarely_called_not_steady() {
    for (count, correlation, spread, most) in [
        (60, 0.0, 0.1, 0.001),
        (60, 0.0, 0.5, 0.01),
        (100, 0.0, 0.3, 0.005),
        (100, 0.5, 0.1, 0.005),
        (100, 0.5, 0.3, 0.01),
        (100, 0.8, 0.1, 0.03),
        (100, 0.8, 0.2, 0.04),
        (300, 0.9, 0.2, 0.02),
        (1000, 0.95, 0.2, 0.02),
    ] {
        let share = share_not_steady(count, correlation, spread);
        assert!(share <= most, "{share} of {count} {correlation} {spread}");
    }
}

#[test]
fn a_warm_up_is_cut_where_it_ends() {
    // 1 - 0.6 exp(-t / tau): within 2 % of the level after 3.4 tau.
    for tau in [0.03, 0.06, 0.1] {
        let mut cuts = Vec::new();
        for seed in 0..200 {
            let noise = autoregression(seed, 100, 0.2, 0.03);
            let ticks = noisy(&noise, |t| 1.0 - 0.6 * (-t / tau).exp());
            let (cut, label) = judged(&ticks);
            assert!(label.is_comparable(), "{tau} {seed}: {label:?}");
            cuts.push(cut as f64 / 100.0);
            let kept = mean(&throughput(&ticks[cut..])) / 500_000.0;
            assert!(
                (kept - 1.0).abs() < 0.03,
                "{tau} {seed}: {kept} after {cut}"
            );
        }
        let least = cuts.iter().copied().fold(1.0, f64::min);
        assert!(least >= tau, "{least} of {tau}");
        let cut = mean(&cuts);
        assert!(
            (1.5 * tau..5.0 * tau + 0.1).contains(&cut),
            "{cut} of {tau}"
        );
    }
}

#[test]
fn what_never_becomes_steady_is_labeled_and_kept() {
    for seed in 0..50 {
        // Half of the references are misses at first, and a ninth fewer at the end.
        let noise = autoregression(seed, 25, 0.2, 0.03);
        let mut ticks = noisy(&noise, |_| 1.0);
        for (index, tick) in ticks.iter_mut().enumerate() {
            tick.buffer_references = 50_000;
            tick.buffer_misses = 25_000 - 120 * index as u64;
        }
        let why = UnsteadyReason::StillWarming;
        let found = steady_part(&ticks, |_| panic!("all that was measured is kept"));
        assert_eq!(found, (0, Label::NotSteady { why }), "{seed}");
    }
}

#[test]
fn figures_begin_where_they_can() {
    let mut ticks = ticks([1.0; 40]);
    ticks[..7].iter_mut().for_each(|tick| tick.counted /= 2);
    let (first, label) = steady_part(&ticks, |cut| {
        assert!((7..20).contains(&cut), "{cut}");
        20
    });
    assert_eq!((first, label), (20, Label::Steady));
}

#[test]
fn the_later_cut_of_throughput_and_misses_counts() {
    for seed in 0..50 {
        let noise = autoregression(seed, 100, 0.0, 0.02);
        let mut ticks = noisy(&noise, |t| if t < 0.1 { 0.5 } else { 1.0 });
        for (index, tick) in ticks.iter_mut().enumerate() {
            tick.buffer_references = 1000;
            // The buffer is full after three tenths.
            tick.buffer_misses = if index < 30 {
                200
            } else {
                100 + index as u64 % 2
            };
        }
        let found = warm_up(&ticks);
        assert!(found.ticks >= 30 && !found.is_incomplete, "{found:?}");
        // One miss more in ten thousand references moves nothing.
        for (index, tick) in ticks.iter_mut().enumerate() {
            tick.buffer_references = 10_000;
            tick.buffer_misses = u64::from(index < 70);
        }
        assert!(!warm_up(&ticks).is_incomplete);
        for (index, tick) in ticks.iter_mut().enumerate() {
            tick.buffer_misses = if index < 70 { 2000 } else { 1000 };
        }
        assert!(warm_up(&ticks).is_incomplete);
    }
}

/// Commits, at `rate`, of a server that answers nothing from the tick `from` on
/// for `length` ticks; with `arrivals` by the clock it then does what waits at
/// `catch_up` times the rate.
fn with_stall(
    mut ticks: Vec<Tick>,
    from: usize,
    length: usize,
    catch_up: Option<f64>,
) -> Vec<Tick> {
    let mut waiting = 0;
    for (index, tick) in ticks.iter_mut().enumerate().skip(from) {
        let arrived = tick.counted;
        tick.gap_s = 0.003;
        if index < from + length {
            waiting += arrived;
            tick.counted = 0;
            tick.gap_s = tick.length_s * (index - from + 1) as f64;
        } else if let Some(catch_up) = catch_up {
            let most = (arrived as f64 * (catch_up - 1.0)) as u64;
            tick.counted += waiting.min(most);
            waiting -= waiting.min(most);
        }
        if index == from + length {
            tick.gap_s = tick.length_s * length as f64;
        }
    }
    ticks
}

#[test]
fn a_stall_is_never_cut() {
    // 10 to 40 s of 100 ticks at 300 a second; the server stops for 2 s.
    for length_s in [0.1, 0.2, 0.4] {
        let stall = (2.0 / length_s) as usize;
        for from in [0, 3, 10, 20] {
            for catch_up in [None, Some(1.5), Some(3.0), Some(30.0)] {
                for seed in 0..10 {
                    let noise = autoregression(seed, 100, 0.2, 0.05);
                    let mut ticks = noisy(&noise, |_| 1.0);
                    for tick in &mut ticks {
                        tick.length_s = length_s;
                        tick.counted = (tick.counted as f64 * 300.0 * length_s / 1e4) as u64;
                        tick.gap_s = 0.01;
                    }
                    let ticks = with_stall(ticks, from, stall, catch_up);
                    let found = warm_up(&ticks);
                    assert!(
                        found.ticks <= from && !found.is_incomplete,
                        "{found:?}: {length_s} {from} {catch_up:?} {seed}"
                    );
                }
            }
        }
    }
}

/// 100 ticks of 100 ms at 300 a second, whose commits do not come from each begin to its end.
fn with_outages(seed: u64, outages: &[[usize; 2]]) -> Vec<Tick> {
    let noise = autoregression(seed, 100, 0.2, 0.05);
    let mut ticks = noisy(&noise, |_| 1.0);
    for tick in &mut ticks {
        tick.length_s = 0.1;
        tick.counted = (tick.counted as f64 * 30.0 / 1e4) as u64;
        tick.gap_s = 0.01;
    }
    let stalled = outages.iter();
    stalled.fold(ticks, |ticks, [begin, end]| {
        with_stall(ticks, *begin, end - begin, None)
    })
}

#[test]
fn several_outages_are_not_taken_for_a_warm_up() {
    for seed in 0..20 {
        for outages in [
            // Away at once, back, and away again.
            &[[0, 20], [30, 50]][..],
            &[[0, 35], [40, 60]],
            // What was before a failover is no warm-up of it.
            &[[45, 85]],
            &[[30, 70]],
            &[[50, 100]],
            &[[10, 40], [50, 80]],
        ] {
            let ticks = with_outages(seed, outages);
            let found = warm_up(&ticks);
            assert!(
                found.ticks == 0 && !found.is_incomplete,
                "{found:?} {seed} {outages:?}"
            );
            assert_eq!(super::outages(&ticks).len(), outages.len(), "{outages:?}");
        }
    }
}

#[test]
fn a_warm_up_in_which_transactions_failed_is_not_cut() {
    let noise = autoregression(1, 100, 0.2, 0.03);
    let mut ticks = noisy(&noise, |t| 1.0 - 0.6 * (-t / 0.06).exp());
    let cut = warm_up(&ticks).ticks;
    assert!(cut >= 10);
    ticks[cut].failed = 1;
    assert_eq!(warm_up(&ticks).ticks, cut, "later than that");
    ticks[cut - 1].failed = 1;
    assert_eq!(warm_up(&ticks).ticks, 0);
}

#[test]
fn what_varies_much_is_not_called_steady() {
    let mut uneven = 0;
    for seed in 0..100 {
        let noise = autoregression(seed, 100, 0.6, 0.6);
        let begin = 2 + seed as usize % 80;
        for ticks in [
            noisy(&noise, |_| 1.0),
            with_outages(seed, &[[begin, begin + 9]]),
        ] {
            let (first, label) = judged(&ticks);
            let (_, spread) = spread(&ticks[first..]);
            let found = spread.unwrap().variation;
            match label {
                Label::Steady => assert!(found <= UNEVEN, "{found} {seed}"),
                Label::NotSteady {
                    why: UnsteadyReason::Uneven { variation },
                } => {
                    assert!(variation == found && found > UNEVEN, "{found} {seed}");
                    uneven += 1;
                }
                _ => {}
            }
        }
    }
    assert!(uneven >= 10, "{uneven} of 200");
}

#[test]
fn a_slowdown_whose_work_is_caught_up_is_never_cut() {
    // No gap in it: 0.8 of the arrivals wait for 15 ticks, and come in the next 5.
    for seed in 0..50 {
        let noise = autoregression(seed, 100, 0.2, 0.05);
        let ticks = noisy(&noise, |t| match t {
            ..0.15 => 0.2,
            0.15..0.2 => 3.4,
            _ => 1.0,
        });
        let found = warm_up(&ticks);
        assert!(found.ticks == 0 && !found.is_incomplete, "{found:?} {seed}");
    }
}

#[test]
fn a_warm_up_beside_stalls_that_the_rest_has_too_is_cut() {
    let noise = autoregression(1, 100, 0.2, 0.03);
    let mut ticks = noisy(&noise, |t| 1.0 - 0.6 * (-t / 0.06).exp());
    // Every 20th tick waits for a checkpoint.
    for tick in ticks.iter_mut().step_by(20) {
        tick.gap_s = 0.03;
    }
    assert!(warm_up(&ticks).ticks >= 10);
    // One in the warm-up is three times as long.
    ticks[7].gap_s = 0.09;
    assert_eq!(warm_up(&ticks).ticks, 0);
}

#[test]
fn what_warms_up_into_the_second_half_is_too_short() {
    for tau in [0.5, 1.0] {
        let mut found = 0;
        for seed in 0..200 {
            let noise = autoregression(seed, 100, 0.2, 0.03);
            let ticks = noisy(&noise, |t| 1.0 - 0.6 * (-t / tau).exp());
            match judged(&ticks).1 {
                Label::NotSteady {
                    why: UnsteadyReason::StillWarming | UnsteadyReason::Drift { .. },
                } => found += 1,
                Label::NotSteady { why } => panic!("{tau} {seed}: {why:?}"),
                _ => {}
            }
        }
        assert!(found >= 160, "{found} of 200 with {tau}");
    }
}

#[test]
fn steps_and_slopes_are_found() {
    let (mut shifts, mut drifts) = (0, 0);
    for seed in 0..200 {
        let noise = autoregression(seed, 100, 0.2, 0.06);
        // Down for a part, so that nothing is cut.
        let dip = |t| if (0.6..0.8).contains(&t) { 0.6 } else { 1.0 };
        if let Label::NotSteady {
            why:
                UnsteadyReason::Shift {
                    change,
                    before,
                    at_s,
                },
        } = judge(&noisy(&noise, dip), 0)
        {
            assert!((0.25..0.6).contains(&change.abs()), "{change}");
            // Down from 1 or up from 0.6, of a mean of 0.92.
            let of_before = change / before.unwrap();
            let wanted = if change < 0.0 { -0.4 } else { 0.67 };
            assert!((of_before - wanted).abs() < 0.2, "{of_before}");
            assert!((at_s - 1.2).abs() < 0.15 || (at_s - 1.6).abs() < 0.15);
            shifts += 1;
        }
        if let Label::NotSteady {
            why: UnsteadyReason::Drift { change },
        } = judge(&noisy(&noise, |t| 1.2 - 0.4 * t), 0)
        {
            assert!((-0.55..-0.25).contains(&change), "{change}");
            drifts += 1;
        }
        // Less than matters, even with no noise to speak of.
        let quiet: Vec<f64> = noise.iter().map(|noise| noise / 20.0).collect();
        assert_eq!(judge(&noisy(&quiet, |t| 1.0 + 0.1 * t), 0), Label::Steady);
        let step = |t| if t > 0.5 { 1.1 } else { 1.0 };
        assert_eq!(judge(&noisy(&quiet, step), 0), Label::Steady);
    }
    assert!(shifts >= 190 && drifts >= 190, "{shifts} {drifts} of 200");
}

#[test]
fn a_sawtooth_of_checkpoints_is_periodic_also_when_short() {
    for (count, cycles) in [(60, 6.0), (60, 4.5), (100, 9.0), (100, 25.0), (300, 5.5)] {
        let mut others = 0;
        for seed in 0..100 {
            let noise = autoregression(seed, count, 0.2, 0.08);
            // Falls by half while the log grows; the checkpoint sets it back.
            let ticks = noisy(&noise, |t| 1.0 - 0.5 * (t * cycles).fract());
            let wanted = count as f64 / cycles * 0.02;
            match judged(&ticks).1 {
                Label::Periodic { period_s } if (period_s / wanted - 1.0).abs() < 0.06 => {}
                _ => others += 1,
            }
        }
        assert!(others <= 5, "{others} of 100 ({count}, {cycles})");
    }
}

#[test]
fn what_is_periodic_may_shift_as_well() {
    let mut shifts = 0;
    for seed in 0..50 {
        let noise = autoregression(seed, 120, 0.2, 0.05);
        let ticks = noisy(&noise, |t| {
            (1.0 - 0.3 * (t * 10.0).fract()) * if t > 0.55 { 0.6 } else { 1.0 }
        });
        if let Label::NotSteady {
            why: UnsteadyReason::Shift { change, at_s, .. },
        } = judge(&ticks, 0)
        {
            assert!(change < -0.3 && (at_s - 1.32).abs() < 0.15);
            shifts += 1;
        }
    }
    assert!(shifts >= 20, "{shifts} of 50");
}

#[test]
fn too_little_is_not_judged() {
    let short = Label::NotJudged;
    assert_eq!(judged(&ticks([1.0; TICKS_MIN - 1])), (0, short));
    assert_eq!(judged(&ticks([0.0; 100])), (0, short));
    assert_eq!(judged(&[]), (0, short));
    assert_eq!(judged(&ticks([1.0; TICKS_MIN])), (0, Label::Steady));
}

#[test]
fn labels_are_kept_as_json() {
    let shift = |before| Label::NotSteady {
        why: UnsteadyReason::Shift {
            change: -0.25,
            before,
            at_s: 1.5,
        },
    };
    for (label, wanted) in [
        // As earlier versions kept it.
        (
            shift(None),
            r#"{"state":"not-steady","why":{"kind":"shift","change":-0.25,"at_s":1.5}}"#,
        ),
        (
            shift(Some(1.125)),
            r#"{"state":"not-steady","why":{"kind":"shift","change":-0.25,"before":1.125,"at_s":1.5}}"#,
        ),
    ] {
        let json = serde_json::to_string(&label).unwrap();
        assert_eq!(json, wanted);
        assert_eq!(serde_json::from_str::<Label>(&json).unwrap(), label);
    }
    let cycles = serde_json::to_string(&Cycles::Whole { count: 3 }).unwrap();
    assert_eq!(cycles, r#"{"cycles":"whole","count":3}"#);
}
