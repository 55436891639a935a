//! How a time budget becomes rounds and runs.

use std::time::Duration;

use octavo_units::ByteCount;

use crate::{
    plan::{Cell, RunLength},
    record::Figures,
};

/// Rounds below which a Student t interval is too wide to say anything.
const ROUNDS_MIN: u32 = 3;

/// Rounds that a budget is cut into, if its runs stay long enough. Storage
/// drifts by a tenth within tens of seconds: many short rounds average that,
/// few long ones do not.
const ROUNDS_WANTED: u32 = 12;

/// The shortest measured part that is worth a run.
const MEASURED_MIN: Duration = Duration::from_millis(1200);

/// The measured part spans at least this many checkpoint cycles of the
/// trial's cell. Runs with few of them begin and end at the end of a
/// checkpoint, so that they have whole ones; the slowest cells take about a
/// third as many in the same time: 64 KiB pages against SQLite's default,
/// measured on a virtio disk.
const CHECKPOINT_CYCLES_MIN: f64 = 5.0;

/// The longest that a budget chooses: beyond it, time is better spent on
/// further rounds.
const MEASURED_MAX: Duration = Duration::from_secs(60);

/// The shortest warm-up, so that a small buffer has also seen its first
/// checkpoints.
const WARM_UP_MIN: Duration = Duration::from_millis(500);

/// The run that is made to learn what runs cost: long enough to fill a buffer,
/// too short to waste the budget.
pub(crate) const TRIAL: RunLength = RunLength::Time {
    warm_up_min: Duration::from_millis(200),
    warm_up_max: Duration::from_secs(8),
    measured: Duration::from_millis(600),
};

/// The least time in which a plan makes sense, judged before anything is
/// known of the machine: a slow disk's 60 MB/s for making and copying data,
/// and the fewest and shortest runs.
pub(crate) fn shortest(
    data: ByteCount,
    bases: usize,
    cells: usize,
    calibrate: bool,
    length: Option<RunLength>,
) -> Duration {
    let runs = ROUNDS_MIN.saturating_mul(cells as u32);
    let rounds = run(data, length).saturating_mul(runs);
    making(data, bases, calibrate).saturating_add(rounds)
}

/// About the time of calibrating and of making bases of at most `data`.
pub(crate) fn making(data: ByteCount, bases: usize, calibrate: bool) -> Duration {
    const BYTES_PER_SECOND: f64 = 60e6;
    let bases = data.get() as f64 * bases as f64 / BYTES_PER_SECOND;
    let calibration = if calibrate { 20.0 } else { 0.0 };
    Duration::from_secs_f64(calibration + bases)
}

/// About the time of a run, judged before anything is known of the machine:
/// as long as is wanted at least, or what `remaining` time leaves when it is
/// cut into [`ROUNDS_WANTED`] rounds.
pub(crate) fn foreseen(
    data: ByteCount,
    cells: usize,
    length: Option<RunLength>,
    remaining: Option<Duration>,
) -> Duration {
    let shortest = run(data, length);
    match (length, remaining) {
        (None, Some(remaining)) => {
            let runs = ROUNDS_WANTED.saturating_mul(cells as u32).max(1);
            (remaining / runs).clamp(shortest, shortest + MEASURED_MAX - MEASURED_MIN)
        }
        _ => shortest,
    }
}

/// The least time of a run on `data`, copying it included, judged before
/// anything is known of the machine.
pub(crate) fn run(data: ByteCount, length: Option<RunLength>) -> Duration {
    // Copies are made in large requests: several times as fast as loading on a
    // slow disk.
    const BYTES_PER_SECOND: f64 = 360e6;
    let copy = Duration::from_secs_f64(data.get() as f64 / BYTES_PER_SECOND);
    copy + match length {
        Some(RunLength::Time {
            warm_up_min,
            measured,
            ..
        }) => warm_up_min + measured,
        _ => WARM_UP_MIN + MEASURED_MIN,
    }
}

/// Length of all runs, and of a round with them, from what is left of the
/// budget and from a trial of the cell `tried`. `filled` is how much of a
/// cell's memory its data can fill; `rounds` is how many are wanted, when that
/// is not for the budget to decide.
pub(crate) fn length(
    cells: &[Cell],
    tried: &Cell,
    trial: &Figures,
    remaining: Duration,
    rounds: Option<u32>,
    filled: impl Fn(&Cell) -> ByteCount,
) -> (RunLength, Duration) {
    let drive = &trial.load;
    let memory_tried = filled(tried).get().max(1) as f64;
    // What a full buffer would have taken, when the trial did not get there.
    let frames = memory_tried / f64::from(tried.page_size.get());
    let misses = drive.warm_up_misses.max(1) as f64;
    let fill = drive.warm_up.as_secs_f64() * (frames / misses).max(1.0);
    // Filling takes one read a frame: smaller pages need more of them.
    let fill_of = |cell: &Cell| {
        let pages = f64::from(tried.page_size.get()) / f64::from(cell.page_size.get());
        fill * pages * filled(cell).get() as f64 / memory_tried
    };
    let warm_ups: f64 = cells
        .iter()
        .map(|cell| fill_of(cell).max(WARM_UP_MIN.as_secs_f64()))
        .sum();
    let count = cells.len() as f64;
    let around = warm_ups + trial.overhead.as_secs_f64() * count;
    let measured_with =
        |rounds: u32| (remaining.as_secs_f64() / f64::from(rounds) - around) / count;
    let cycle = match drive.counters.checkpoints {
        0 => 0.0,
        checkpoints => drive.measured.as_secs_f64() / checkpoints as f64,
    };
    let measured_min = MEASURED_MIN
        .as_secs_f64()
        .max(cycle * CHECKPOINT_CYCLES_MIN)
        .min(MEASURED_MAX.as_secs_f64());
    let wanted = rounds.unwrap_or(ROUNDS_WANTED).max(1);
    let measured = (ROUNDS_MIN.min(wanted)..=wanted)
        .rev()
        .map(measured_with)
        .find(|&measured| measured >= measured_min)
        .unwrap_or(measured_min)
        .min(MEASURED_MAX.as_secs_f64());
    let slowest = cells.iter().map(fill_of).fold(fill, f64::max);
    let length = RunLength::Time {
        warm_up_min: WARM_UP_MIN,
        warm_up_max: Duration::from_secs_f64((slowest * 1.5).max(1.0)),
        measured: Duration::from_secs_f64(measured),
    };
    (length, Duration::from_secs_f64(around + measured * count))
}

/// Whether a further round may begin: it has to end within the budget, the
/// first few within a tenth more.
pub(crate) fn fits(round: u32, spent: Duration, length: Duration, budget: Duration) -> bool {
    let end = spent + length;
    if round < ROUNDS_MIN {
        end <= budget + budget / 10
    } else {
        end <= budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn rounds_begin_only_when_they_end_in_the_budget() {
        assert!(fits(5, 200 * SECOND, 50 * SECOND, 300 * SECOND));
        assert!(!fits(5, 251 * SECOND, 50 * SECOND, 300 * SECOND));
        assert!(fits(2, 270 * SECOND, 50 * SECOND, 300 * SECOND));
        assert!(!fits(2, 290 * SECOND, 50 * SECOND, 300 * SECOND));
    }

    #[test]
    fn more_data_and_cells_take_longer() {
        let small = shortest(ByteCount::mib(256), 5, 10, true, None);
        assert!(
            small < 300 * SECOND,
            "the defaults fit into five minutes: {small:?}"
        );
        assert!(shortest(ByteCount::mib(2560), 5, 10, true, None) > small);
        assert!(shortest(ByteCount::mib(256), 5, 40, true, None) > small);
    }

    #[test]
    fn a_larger_budget_is_foreseen_to_make_longer_runs_up_to_a_limit() {
        let data = ByteCount::mib(100);
        let run_of = |length, remaining| foreseen(data, 10, length, remaining);
        let shortest = run_of(None, None);
        assert_eq!(run_of(None, Some(SECOND)), shortest);
        assert_eq!(run_of(None, Some(1200 * SECOND)), 10 * SECOND);
        let longest = run_of(None, Some(1_000_000 * SECOND));
        assert_eq!(longest, shortest + MEASURED_MAX - MEASURED_MIN);
        assert_eq!(
            run_of(Some(TRIAL), Some(1200 * SECOND)),
            run(data, Some(TRIAL))
        );
    }
}
