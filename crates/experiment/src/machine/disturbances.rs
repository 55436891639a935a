//! Which runs the machine disturbed.

use octavo_database::StoragePath;
use schemars::JsonSchema;
use serde::Serialize;

use super::usage::MachineUse;

/// Share of the CPU that the hypervisor may take away. Chosen below the 3 %
/// that the margin has by default: what is taken is missing from throughput
/// where the CPU is the bottleneck.
pub const STEAL_TOLERATED: f64 = 0.02;

/// Share of the CPU that other programs may use. The kernel's own threads,
/// which work for the database too (flushing, completing requests), count as
/// others; chosen so that they do not reach it.
pub const OTHERS_TOLERATED: f64 = 0.1;

/// Share of the CPU limit's periods that may end with the limit reached.
pub const THROTTLED_TOLERATED: f64 = 0.01;

/// Share of the time in which some program may wait for memory.
pub const MEMORY_PRESSURE_TOLERATED: f64 = 0.01;

/// Share of the time in which some program may wait for storage while this
/// process neither reads nor writes.
pub const IO_PRESSURE_TOLERATED: f64 = 0.1;

/// Pages of memory that may go to and from swap in a run, 1 MiB where they are
/// of 4 KiB: a little of a program that nobody uses does not matter.
pub const SWAPPED_TOLERATED: u64 = 256;

/// What disturbed runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hypervisor took CPU time away; a share of it.
    Steal,
    /// Other programs used CPU time; a share of it.
    OtherPrograms,
    /// The CPU limit of the container or control group stopped Octavo; a
    /// share of the limit's periods.
    CpuLimit,
    /// Programs waited for memory; a share of the time.
    MemoryPressure,
    /// Pages went to and from swap; their number.
    Swapping,
    /// Other programs waited for storage; a share of the time.
    StoragePressure,
}

impl Cause {
    const ALL: [Self; 6] = [
        Self::Steal,
        Self::OtherPrograms,
        Self::CpuLimit,
        Self::MemoryPressure,
        Self::Swapping,
        Self::StoragePressure,
    ];

    /// How much of it disturbs nothing.
    pub const fn tolerated(self) -> f64 {
        match self {
            Self::Steal => STEAL_TOLERATED,
            Self::OtherPrograms => OTHERS_TOLERATED,
            Self::CpuLimit => THROTTLED_TOLERATED,
            Self::MemoryPressure => MEMORY_PRESSURE_TOLERATED,
            Self::Swapping => SWAPPED_TOLERATED as f64,
            Self::StoragePressure => IO_PRESSURE_TOLERATED,
        }
    }

    /// How much of it there was in a run; 0 where it is not known.
    fn amount(self, run: &MachineUse) -> f64 {
        match self {
            Self::Steal => run.steal,
            Self::OtherPrograms => run.others,
            Self::CpuLimit => run.throttled.unwrap_or(0.0),
            Self::MemoryPressure => run.memory_pressure.unwrap_or(0.0),
            Self::Swapping => run.swapped_pages.map_or(0.0, |pages| pages as f64),
            Self::StoragePressure => match (run.io_pressure, run.own_io_bytes) {
                (Some(pressure), Some(0)) => pressure,
                _ => 0.0,
            },
        }
    }
}

impl MachineUse {
    /// The same without what waited for memory, where the database's reads have a limit of Octavo's own: to
    /// make room below that is what waits.
    #[must_use]
    pub fn apart_from_limit(self, path: Option<StoragePath>) -> Self {
        match path {
            Some(StoragePath::Limited) => Self {
                memory_pressure: None,
                ..self
            },
            _ => self,
        }
    }
}

/// One thing that disturbed runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Disturbance {
    /// What it was.
    pub cause: Cause,
    /// In how many runs it was more than tolerated.
    pub runs: usize,
    /// Of how many.
    pub of: usize,
    /// How much it was in the worst of them, in the unit of `cause`.
    pub worst: f64,
}

/// What disturbed these runs; empty when nothing did.
///
/// Three things that are known are not judged, since they cannot be told from
/// what Octavo does itself:
///
/// - CPU pressure: more connections than CPUs wait for each other. What others
///   use of the CPU is in [`MachineUse::others`], and is judged.
/// - Storage pressure while this process reads or writes: the wait for its own
///   requests is the pressure. The device's counters tell of others' traffic.
/// - The load average at the beginning: it decays over a minute
///   (`include/linux/sched/loadavg.h`), so that the run before makes it. Nor
///   do processes that can run at one moment tell more than `others` does of
///   the whole run.
pub fn disturbances<'a>(runs: impl IntoIterator<Item = &'a MachineUse>) -> Vec<Disturbance> {
    let runs: Vec<&MachineUse> = runs.into_iter().collect();
    let found = |cause: Cause| {
        let above: Vec<f64> = runs
            .iter()
            .map(|run| cause.amount(run))
            .filter(|amount| *amount > cause.tolerated())
            .collect();
        Some(Disturbance {
            cause,
            runs: above.len(),
            of: runs.len(),
            worst: above.into_iter().max_by(f64::total_cmp)?,
        })
    };
    Cause::ALL.into_iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(change: impl FnOnce(&mut MachineUse)) -> MachineUse {
        let mut used = MachineUse::default();
        change(&mut used);
        used
    }

    #[test]
    fn runs_above_a_limit_are_counted() {
        let runs = [
            used(|run| run.steal = 0.02),
            used(|run| run.steal = 0.021),
            used(|run| run.steal = 0.3),
            used(|run| run.others = 0.34),
        ];
        let found = |cause, runs, worst| Disturbance {
            cause,
            runs,
            of: 4,
            worst,
        };
        assert_eq!(
            disturbances(&runs),
            [
                found(Cause::Steal, 2, 0.3),
                found(Cause::OtherPrograms, 1, 0.34)
            ]
        );
    }

    #[test]
    fn a_quiet_machine_and_one_without_counters_disturb_nothing() {
        assert_eq!(disturbances([]), []);
        let quiet = used(|run| {
            run.others = 0.1;
            run.io_pressure = Some(0.1);
            run.own_io_bytes = Some(0);
            run.swapped_pages = Some(SWAPPED_TOLERATED);
            run.throttled = Some(0.01);
            run.memory_pressure = Some(0.01);
        });
        assert_eq!(disturbances(&[quiet, MachineUse::default()]), []);
        let odd = used(|run| run.steal = f64::NAN);
        assert_eq!(disturbances(&[odd]), []);
    }

    #[test]
    fn own_work_explains_pressure() {
        let busy = used(|run| {
            run.cpu_pressure = Some(0.9);
            run.io_pressure = Some(0.9);
            run.own_io_bytes = Some(4096);
            run.load_average_1m = Some(50.0);
        });
        assert_eq!(disturbances(&[busy]), []);
        let unknown = MachineUse {
            own_io_bytes: None,
            ..busy
        };
        assert_eq!(disturbances(&[unknown]), []);
        let idle = MachineUse {
            own_io_bytes: Some(0),
            ..busy
        };
        let found = disturbances(&[idle]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, Cause::StoragePressure);
        assert_eq!((found[0].runs, found[0].worst), (1, 0.9));
    }

    #[test]
    fn a_limit_of_octavos_own_disturbs_nothing() {
        let run = used(|run| run.memory_pressure = Some(0.2));
        let found = |path| disturbances(&[run.apart_from_limit(path)]).len();
        assert_eq!(found(Some(StoragePath::Limited)), 0);
        assert_eq!((found(Some(StoragePath::Direct)), found(None)), (1, 1));
    }

    #[test]
    fn limits_and_swapping_disturb() {
        let runs = [used(|run| {
            run.throttled = Some(0.4);
            run.memory_pressure = Some(0.05);
            run.swapped_pages = Some(16384);
        })];
        let found = disturbances(&runs);
        let amounts: Vec<(Cause, f64)> = found.iter().map(|of| (of.cause, of.worst)).collect();
        assert_eq!(
            amounts,
            [
                (Cause::CpuLimit, 0.4),
                (Cause::MemoryPressure, 0.05),
                (Cause::Swapping, 16384.0)
            ]
        );
    }
}
