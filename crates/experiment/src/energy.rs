//! What a transaction takes of energy: of the device under it, where that says what it
//! draws, and of the machine, where that counts it itself or was said what it draws.

use std::collections::BTreeMap;

use octavo_device::power::Energy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    machine::{EnergyScope, EnergyUse},
    record::Figures,
    statistics::{ByBatch, Interval, geometric_interval, paired_ratios},
};

/// What a cell's transactions took of the device's energy, over its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
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

/// What a cell's transactions took of the machine's energy, over its runs. Joules are those
/// of [`EnergyScope`] ÷ transactions, committed or rolled back as specified, of every kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellMachineEnergy {
    /// Of what it is.
    pub covers: EnergyScope,
    /// Joules a transaction.
    pub joules_per_transaction: f64,
    /// Of these, what idle machine and storage would have taken; `None` of what the machine
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_joules_per_transaction: Option<f64>,
    /// Of these, for processors at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_joules_per_transaction: Option<f64>,
    /// Of these, the storage's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_joules_per_transaction: Option<f64>,
    /// What the platform counted, the packages included; not part of the above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_joules_per_transaction: Option<f64>,
    /// Mean watts in the time of the figures.
    pub watts: f64,
    /// As [`CellEnergy::ratio`].
    pub ratio: Option<Interval>,
}

/// What a run took of the machine's energy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunMachineEnergy {
    energy: EnergyUse,
    transactions: u64,
}

impl RunMachineEnergy {
    /// `None` where the energy is not known or no transaction ended.
    pub(crate) fn from_run(run: &Figures) -> Option<Self> {
        let energy = run.machine.energy?;
        let transactions = run.load.transactions();
        (transactions > 0).then_some(Self {
            energy,
            transactions,
        })
    }
}

impl CellMachineEnergy {
    /// As [`CellEnergy::from_runs`]; `None` too where runs do not say the same parts of the machine.
    pub(crate) fn from_runs(
        own: &BTreeMap<u32, RunMachineEnergy>,
        reference: Option<&BTreeMap<u32, RunMachineEnergy>>,
    ) -> Option<Self> {
        let mut runs = own.values().map(|run| run.energy);
        let first = runs.next()?;
        let all = runs.try_fold(first, EnergyUse::plus)?;
        let transactions = own.values().map(|run| run.transactions as f64).sum::<f64>();
        let each = |joules: Option<f64>| joules.map(|joules| joules / transactions);
        let by_sitting = |runs: &BTreeMap<u32, RunMachineEnergy>| -> ByBatch {
            runs.iter()
                .filter(|(_, run)| run.energy.covers == all.covers)
                .map(|(sitting, run)| ((*sitting, 0), run.energy.joules / run.transactions as f64))
                .collect()
        };
        Some(Self {
            covers: all.covers,
            joules_per_transaction: all.joules / transactions,
            idle_joules_per_transaction: each(all.idle_joules),
            cpu_joules_per_transaction: each(all.cpu_joules),
            device_joules_per_transaction: each(all.device_joules),
            platform_joules_per_transaction: each(all.platform_joules),
            watts: all.joules / all.elapsed_s,
            ratio: reference.and_then(|reference| {
                geometric_interval(&paired_ratios(&by_sitting(own), &by_sitting(reference)), 1)
            }),
        })
    }
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
    pub(crate) fn from_run(run: &Figures) -> Option<Self> {
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
    pub(crate) fn from_runs(
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

    use octavo_device::{machine::MachinePower, power::Draw};

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
        let found = CellEnergy::from_runs(&own, Some(&reference)).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(found.joules_per_transaction, 208.0 / 140.0));
        assert!(near(found.idle_joules_per_transaction, 200.0 / 140.0));
        assert!(near(found.busy, 0.1));
        // 1.08 J to 2 J in the only sitting of both.
        let ratio = found.ratio.unwrap();
        assert_eq!(ratio.batches, 1);
        assert!(near(ratio.estimate, 0.54), "{ratio:?}");

        let found = CellEnergy::from_runs(&reference, None).unwrap();
        assert!(near(found.joules_per_transaction, 2.0));
        assert_eq!(found.ratio, None);
        assert_eq!(
            CellEnergy::from_runs(&BTreeMap::new(), Some(&reference)),
            None
        );
    }

    /// A machine of 100 W, 10 W a processor and the disk, for 10 s.
    fn whole(cpu_s: u64, transactions: u64) -> RunMachineEnergy {
        let machine = MachinePower {
            processors: 2,
            idle_w: 100.0,
            cpu_w: 10.0,
        };
        let (elapsed, cpu) = (Duration::from_secs(10), Duration::from_secs(cpu_s));
        let device = run(5, transactions).energy;
        RunMachineEnergy {
            energy: machine.energy(elapsed, cpu, Some(device)).into(),
            transactions,
        }
    }

    #[test]
    fn machines_are_compared_with_the_reference_too() {
        // 1000 J + 80 J + 120 J for 100 transactions: 12 J each. 1000 J + 200 J + 120 J for
        // 220: 6 J each.
        let reference = BTreeMap::from([(0, whole(8, 100))]);
        let own = BTreeMap::from([(0, whole(20, 220))]);
        let found = CellMachineEnergy::from_runs(&own, Some(&reference)).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert_eq!(found.covers, EnergyScope::Machine);
        assert!(near(found.joules_per_transaction, 6.0), "{found:?}");
        assert!(near(found.idle_joules_per_transaction.unwrap(), 5.0));
        assert!(near(
            found.cpu_joules_per_transaction.unwrap(),
            200.0 / 220.0
        ));
        assert!(near(
            found.device_joules_per_transaction.unwrap(),
            120.0 / 220.0
        ));
        assert!(near(found.watts, 132.0));
        assert!(near(found.ratio.unwrap().estimate, 0.5), "{found:?}");
        // What covers something else is not compared, and not added.
        let mut counted = whole(8, 100);
        counted.energy.covers = EnergyScope::Packages;
        let packages = BTreeMap::from([(0, counted)]);
        let found = CellMachineEnergy::from_runs(&own, Some(&packages)).unwrap();
        assert_eq!(found.ratio, None);
        let mixed = BTreeMap::from([(0, counted), (1, whole(8, 100))]);
        assert_eq!(CellMachineEnergy::from_runs(&mixed, None), None);
    }
}
