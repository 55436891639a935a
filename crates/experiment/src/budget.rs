//! What time an experiment takes, judged before anything is known of the
//! machine, and what of its budget is kept for what.
//!
//! A budget is all of a command's time: calibrating, loading, copies and warm-ups, measuring,
//! checks, and what is predicted of other disks in the end.

use std::time::Duration;

use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{Store, StoreError};

/// The least time within slices that is worth an experiment, a cell.
const MEASURED_MIN: Duration = Duration::from_secs(3);

/// The shortest warm-up of a cell.
const WARM_UP_MIN: Duration = Duration::from_millis(500);

/// Passes that took longer than the budget: nothing is compared with fewer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverBudget {
    /// How many there are at least.
    pub passes: usize,
    /// The budget, in seconds.
    pub budget_s: f64,
    /// The time of everything until the last of them, in seconds.
    pub took_s: f64,
}

/// How many times the budget the fewest passes may take. Chosen: an answer with wide intervals is worth
/// some minutes more, and nobody waits for one that was to be there long ago.
const MUCH_OVER: f64 = 5.0;

/// Under which topic a store keeps it.
const OVER: &str = "over budget";

impl OverBudget {
    /// Whether nobody waits for them.
    pub(crate) fn is_much(&self) -> bool {
        self.took_s > MUCH_OVER * self.budget_s
    }

    /// Keeps it, or that a later session had the time.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep(store: &mut Store, over: Option<&Self>) -> Result<(), StoreError> {
        let kept = over.and_then(|over| serde_json::to_string(over).ok());
        let fact = kept.map(|kept| ("passes".to_owned(), kept));
        store.replace_facts(OVER, fact.as_slice())
    }

    /// What a store has of it; `None` of what is damaged.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn read(store: &Store) -> Result<Option<Self>, StoreError> {
        let kept = store.facts(OVER)?.pop();
        Ok(kept.and_then(|(_, kept)| serde_json::from_str(&kept).ok()))
    }
}

/// The least time of one sitting that is worth something, behind the making
/// of snapshots of at most `data`.
pub(crate) fn sitting(data: ByteCount, cells: usize) -> Duration {
    let cells_count = u32::try_from(cells).unwrap_or(u32::MAX);
    beginning(data, cells).saturating_add(MEASURED_MIN.saturating_mul(cells_count))
}

/// About the time of calibrating and of making snapshots, which take `loads`.
pub(crate) fn making(loads: Duration, calibrate: bool) -> Duration {
    let calibration = if calibrate {
        CALIBRATION
    } else {
        Duration::ZERO
    };
    calibration.saturating_add(loads)
}

/// How long calibrating usually takes, with room for a slow disk.
const CALIBRATION: Duration = Duration::from_secs(20);

/// Share of the budget that calibrating may take where that is more. Chosen.
const CALIBRATION_SHARE: f64 = 0.25;

/// Share of the budget that is kept for predicting other disks, and the most: with the default
/// memories it took up to 22 s on a busy machine.
const ELSEWHERE_SHARE: f64 = 0.08;
const ELSEWHERE_MAX: Duration = Duration::from_secs(30);

/// How long calibrating may take: beyond it nothing is left to measure in, and the answer is
/// worth more than the device's curves.
pub(crate) fn calibration(budget: Duration) -> Duration {
    budget.mul_f64(CALIBRATION_SHARE).max(CALIBRATION)
}

/// What is kept of the budget for predicting other disks.
pub(crate) fn elsewhere(budget: Duration) -> Duration {
    budget.mul_f64(ELSEWHERE_SHARE).min(ELSEWHERE_MAX)
}

/// About the time in which a sitting begins: copies, made in large requests,
/// several times as fast as loading on a slow disk, and warm-ups.
pub(crate) fn beginning(data: ByteCount, cells: usize) -> Duration {
    const BYTES_PER_SECOND: f64 = 360e6;
    let copy = Duration::from_secs_f64(data.get() as f64 / BYTES_PER_SECOND);
    (copy + WARM_UP_MIN).saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_data_and_cells_take_longer() {
        let shortest = |mib: u64, cells| {
            // A slow disk's.
            let loads = Duration::from_secs(5 * mib / 60);
            making(loads, true) + sitting(ByteCount::mib(mib), cells)
        };
        let small = shortest(256, 10);
        assert!(
            small < Duration::from_mins(5),
            "the defaults fit into five minutes: {small:?}"
        );
        assert!(shortest(2560, 10) > small);
        assert!(shortest(256, 40) > small);
    }

    #[test]
    fn most_of_a_budget_is_for_measuring() {
        for (budget, calibrating, others) in [(50, 20, 4), (300, 75, 24), (1200, 300, 30)] {
            let budget = Duration::from_secs(budget);
            assert_eq!(calibration(budget), Duration::from_secs(calibrating));
            assert_eq!(elsewhere(budget), Duration::from_secs(others));
        }
    }
}
