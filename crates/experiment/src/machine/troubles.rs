//! Which runs the machine spoilt, in words for who runs it.

use super::MachineUse;

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

/// What spoilt runs, with how many of them, as warnings; empty when nothing
/// did.
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
pub fn troubles<'a>(runs: impl IntoIterator<Item = &'a MachineUse>) -> Vec<String> {
    let runs: Vec<&MachineUse> = runs.into_iter().collect();
    let mut troubles = Vec::new();
    // How many exceed a limit, and the largest value.
    let mut judge =
        |limit: f64, value: &dyn Fn(&MachineUse) -> f64, words: &dyn Fn(String, f64) -> String| {
            let above: Vec<f64> = runs
                .iter()
                .map(|run| value(run))
                .filter(|value| *value > limit)
                .collect();
            if let Some(worst) = above.iter().copied().max_by(f64::total_cmp) {
                let runs = match runs.len() {
                    1 => "the run".to_owned(),
                    count => format!("{} of {count} runs", above.len()),
                };
                troubles.push(words(runs, worst));
            }
        };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    judge(STEAL_TOLERATED, &|run| run.steal, &|runs, worst| {
        format!(
            "the hypervisor took more than {} of the CPU away in {runs} (up to {}): other \
             virtual machines share the host's CPUs, or a quota of CPU time is used up; measure \
             on CPUs that are reserved",
            percent(STEAL_TOLERATED),
            percent(worst)
        )
    });
    judge(OTHERS_TOLERATED, &|run| run.others, &|runs, worst| {
        format!(
            "other programs used more than {} of the CPU in {runs} (up to {}): find them with \
             top and stop them (backups, scans, builds, another database) before measuring",
            percent(OTHERS_TOLERATED),
            percent(worst)
        )
    });
    judge(
        THROTTLED_TOLERATED,
        &|run| run.throttled.unwrap_or(0.0),
        &|runs, worst| {
            format!(
                "the CPU limit of the container or control group stopped Octavo in more than {} \
                 of its periods in {runs} (up to {}): figures show the limit and not the \
                 storage; raise it, unless the database will have the same",
                percent(THROTTLED_TOLERATED),
                percent(worst)
            )
        },
    );
    judge(
        MEMORY_PRESSURE_TOLERATED,
        &|run| run.memory_pressure.unwrap_or(0.0),
        &|runs, worst| {
            format!(
                "programs waited for memory in more than {} of the time in {runs} (up to {}): \
                 free memory, or raise the container's limit",
                percent(MEMORY_PRESSURE_TOLERATED),
                percent(worst)
            )
        },
    );
    judge(
        SWAPPED_TOLERATED as f64,
        &|run| run.swapped_pages.map_or(0.0, |pages| pages as f64),
        &|runs, worst| {
            format!(
                "the machine swapped in {runs} (up to {worst:.0} pages of memory in and out): \
                 the buffer may have been on the swap device; free memory before measuring"
            )
        },
    );
    judge(
        IO_PRESSURE_TOLERATED,
        &|run| match (run.io_pressure, run.own_io_bytes) {
            (Some(pressure), Some(0)) => pressure,
            _ => 0.0,
        },
        &|runs, worst| {
            format!(
                "other programs waited for storage in more than {} of the time in {runs} (up \
                 to {}), in which Octavo neither read nor wrote: find them with iotop or \
                 pidstat -d",
                percent(IO_PRESSURE_TOLERATED),
                percent(worst)
            )
        },
    );
    troubles
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
        let troubles = troubles(&runs);
        assert_eq!(troubles.len(), 2);
        assert!(
            troubles[0].starts_with(
                "the hypervisor took more than 2 % of the CPU away in 2 of 4 runs (up to 30 %)"
            ),
            "{troubles:?}"
        );
        assert!(
            troubles[1].starts_with(
                "other programs used more than 10 % of the CPU in 1 of 4 runs (up to 34 %)"
            ),
            "{troubles:?}"
        );
    }

    #[test]
    fn a_quiet_machine_and_one_without_counters_give_no_trouble() {
        assert_eq!(troubles(&[]), Vec::<String>::new());
        let quiet = used(|run| {
            run.others = 0.1;
            run.io_pressure = Some(0.1);
            run.own_io_bytes = Some(0);
            run.swapped_pages = Some(SWAPPED_TOLERATED);
            run.throttled = Some(0.01);
            run.memory_pressure = Some(0.01);
        });
        assert_eq!(
            troubles(&[quiet, MachineUse::default()]),
            Vec::<String>::new()
        );
        let odd = used(|run| run.steal = f64::NAN);
        assert_eq!(troubles(&[odd]), Vec::<String>::new());
    }

    #[test]
    fn own_work_explains_pressure() {
        let busy = used(|run| {
            run.cpu_pressure = Some(0.9);
            run.io_pressure = Some(0.9);
            run.own_io_bytes = Some(4096);
            run.load_average_1m = Some(50.0);
        });
        assert_eq!(troubles(&[busy]), Vec::<String>::new());
        let unknown = MachineUse {
            own_io_bytes: None,
            ..busy
        };
        assert_eq!(troubles(&[unknown]), Vec::<String>::new());
        let idle = MachineUse {
            own_io_bytes: Some(0),
            ..busy
        };
        let troubles = troubles(&[idle]);
        assert_eq!(troubles.len(), 1);
        assert!(
            troubles[0].contains("in the run (up to 90 %)"),
            "{troubles:?}"
        );
    }

    #[test]
    fn limits_and_swapping_are_told() {
        let runs = [used(|run| {
            run.throttled = Some(0.4);
            run.memory_pressure = Some(0.05);
            run.swapped_pages = Some(16384);
        })];
        let troubles = troubles(&runs);
        assert_eq!(troubles.len(), 3);
        assert!(troubles[0].contains("stopped Octavo"));
        assert!(troubles[1].contains("up to 5 %"));
        assert!(troubles[2].contains("16384 pages"));
    }
}
