//! What a transaction takes of the energy of the device under it, where that is
//! an emulated one that says what it draws.
//!
//! Of the device alone: what the machine draws is not known here.

use std::collections::BTreeMap;

use octavo_device::power::Energy;
use serde::Serialize;

use crate::{
    record::Figures,
    statistics::{ByBatch, Interval, geometric_interval, paired_ratios},
};

/// What a cell's transactions took of the device's energy, over its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellEnergy {
    /// Joules of the device ÷ transactions, committed or rolled back as
    /// specified, of every kind.
    pub joules_per_transaction: f64,
    /// Of these, what the device would have taken with nothing to do: the more
    /// transactions there are, the less it is for each.
    pub idle_joules_per_transaction: f64,
    /// Share of the time in which the device was busy, 0 to 1.
    pub busy: f64,
    /// Ratio of the joules to those of the reference within sittings (95 %, of
    /// this cell alone; nothing is decided by it); `None` for the reference,
    /// and without a sitting in which both are known.
    pub ratio: Option<Interval>,
}

/// What a run took of the device's energy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnergy {
    energy: Energy,
    /// Committed or rolled back as specified, of every kind.
    transactions: u64,
}

impl RunEnergy {
    /// `None` where the energy is not known or no transaction ended.
    pub(crate) fn of(run: &Figures) -> Option<Self> {
        let energy = run.device?.energy?;
        let transactions = run.load.transactions();
        (transactions > 0).then_some(Self {
            energy,
            transactions,
        })
    }
}

impl CellEnergy {
    /// Of a cell's runs by sitting, and of those of the reference that it is
    /// compared with; `None` where no run's energy is known.
    pub(crate) fn of(
        own: &BTreeMap<u32, RunEnergy>,
        reference: Option<&BTreeMap<u32, RunEnergy>>,
    ) -> Option<Self> {
        let all = own
            .values()
            .map(|run| run.energy)
            .reduce(|all, run| all.plus(run))?;
        let transactions = own.values().map(|run| run.transactions as f64).sum::<f64>();
        Some(Self {
            joules_per_transaction: all.joules / transactions,
            idle_joules_per_transaction: all.idle_joules / transactions,
            busy: all.busy(),
            ratio: reference.and_then(|reference| {
                geometric_interval(&paired_ratios(&by_sitting(own), &by_sitting(reference)), 1)
            }),
        })
    }
}

/// Joules a transaction.
fn by_sitting(runs: &BTreeMap<u32, RunEnergy>) -> ByBatch {
    runs.iter()
        .map(|(sitting, run)| ((*sitting, 0), run.energy.joules / run.transactions as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_device::power::Draw;

    use super::*;

    /// A disk of 10 W, and 14 W at work, for 10 s.
    fn run(busy_s: u64, transactions: u64) -> RunEnergy {
        let draw = Draw {
            idle_w: 10.0,
            active_w: 14.0,
        };
        RunEnergy {
            energy: draw.energy(Duration::from_secs(10), busy_s * 1_000_000_000),
            transactions,
        }
    }

    #[test]
    fn runs_are_added_and_compared_within_sittings() {
        // 120 J for 60 transactions, 140 J for 70: 2 J each.
        let reference = BTreeMap::from([(0, run(5, 60)), (1, run(10, 70))]);
        // 108 J for 100, and in a sitting that the reference did not run in 100 J
        // for 40.
        let own = BTreeMap::from([(1, run(2, 100)), (2, run(0, 40))]);
        let found = CellEnergy::of(&own, Some(&reference)).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(found.joules_per_transaction, 208.0 / 140.0));
        assert!(near(found.idle_joules_per_transaction, 200.0 / 140.0));
        assert!(near(found.busy, 0.1));
        // 1.08 J to 2 J in the only sitting of both.
        let ratio = found.ratio.unwrap();
        assert_eq!(ratio.batches, 1);
        assert!(near(ratio.estimate, 0.54), "{ratio:?}");

        let found = CellEnergy::of(&reference, None).unwrap();
        assert!(near(found.joules_per_transaction, 2.0));
        assert_eq!(found.ratio, None);
        assert_eq!(CellEnergy::of(&BTreeMap::new(), Some(&reference)), None);
    }
}
