//! What a reader must know before believing figures: what happened, what it
//! means, and what to do.

use octavo_experiment::{
    caveats::Caveat,
    findings::Findings,
    machine::{Cause, Disturbance},
};
use octavo_workload::Deviation;

use crate::number::{count, counted, percent};

/// All caveats of an experiment.
pub(crate) fn caveats(findings: &Findings) -> Vec<String> {
    let words = |caveat| of(findings, caveat);
    findings.caveats.iter().map(words).collect()
}

fn of(findings: &Findings, caveat: &Caveat) -> String {
    let share = |runs: &usize, of: &usize| format!("{runs} of {}", counted(*of, "run"));
    match caveat {
        Caveat::DebugBuild => {
            "A debug build measured this, so figures are too low. Use a release build.".into()
        }
        Caveat::MachineChanged { name, change } => {
            format!("The machine changed between sessions: {name}, {change}.")
        }
        Caveat::PageCache => "Reads went through the kernel's page cache without a limit, so \
                              figures may show RAM, not your disk. Use storage with direct I/O, \
                              or allow memory limits (cgroups)."
            .into(),
        Caveat::MissesNotAtDevice { share } => format!(
            "Only {} of cache misses reached the disk in the worst cell, so figures may show \
             the OS cache.",
            percent(*share)
        ),
        Caveat::NoDeviceCounters => "The directory's block device has no counters. Only the \
                                     database's own counts show that reads reached the disk."
            .into(),
        Caveat::NoReference { cell } => format!(
            "No run of {} gave a figure, so the others cannot be compared with it.",
            findings.plan.cell_name(cell)
        ),
        Caveat::Disturbed(disturbance) => disturbed(disturbance),
        Caveat::BufferNotFilled { runs, of } => format!(
            "The warm-up did not fill the cache in {}, so they missed more often than a warm \
             cache would.",
            share(runs, of)
        ),
        Caveat::FewCheckpoints { cells, of, wanted } => format!(
            "In {cells} of {} a run had fewer than {wanted} checkpoints, so one more or less \
             changes its throughput. A new experiment with a larger --budget has longer runs.",
            counted(*of, "cell")
        ),
        Caveat::SharedBlocks => "Copies share blocks with the loaded data (reflink), so the \
                                 first write of each block also allocates. A database in use \
                                 does not pay for that."
            .into(),
        Caveat::NotSteady { runs, of } => format!(
            "{} left out: throughput rose, fell or jumped, or the warm-up did not end.",
            share(runs, of)
        ),
        Caveat::NotJudged { runs, of } => format!(
            "{} not tested for being steady: too short, or a fixed number of transactions.",
            share(runs, of)
        ),
        Caveat::SmallData { data, memory } => format!(
            "The data ({data}) is less than 8 times the largest memory ({memory}), so much of it \
             fits in the cache."
        ),
        Caveat::RunsFailed { runs } => format!("{} failed.", counted(*runs, "run")),
    }
}

/// What disturbed runs, and what to do about it.
pub(crate) fn disturbed(disturbance: &Disturbance) -> String {
    let Disturbance {
        cause,
        runs,
        of,
        worst,
    } = disturbance;
    let amount = match cause {
        Cause::Swapping => format!("{} pages", count(*worst as u64)),
        _ => percent(*worst),
    };
    let runs = match of {
        1 => String::new(),
        of => format!(" in {runs} of {of} runs"),
    };
    let (what, remedy) = match cause {
        Cause::Steal => (
            "The hypervisor took away up to {} of the CPU",
            "Measure on reserved CPUs: other virtual machines share these, or a CPU quota ran out.",
        ),
        Cause::OtherPrograms => (
            "Other programs used up to {} of the CPU",
            "Find them with top and stop them before measuring.",
        ),
        Cause::CpuLimit => (
            "The CPU limit of the container or cgroup stopped Octavo in up to {} of its periods",
            "Raise the limit, unless the database will have the same.",
        ),
        Cause::MemoryPressure => (
            "Programs waited for memory up to {} of the time",
            "Free memory, or raise the container's limit.",
        ),
        Cause::Swapping => (
            "The machine swapped up to {}",
            "The cache may have been on the swap device. Free memory before measuring.",
        ),
        Cause::StoragePressure => (
            "Other programs waited for storage up to {} of the time",
            "Find them with iotop or pidstat -d.",
        ),
    };
    format!("{}{runs}. {remedy}", what.replace("{}", &amount))
}

/// In what a bench differs from what its workload's name promises.
pub(crate) fn deviation(deviation: &Deviation) -> String {
    match deviation {
        Deviation::MixBelowMinimum => "The mix is not TPC-C's, which has at least 43% Payment, \
                                       4% Order-Status, 4% Delivery and 4% Stock-Level."
            .into(),
        Deviation::Terminals {
            terminals,
            specified,
        } => format!(
            "{} instead of the {} that TPC-C specifies at this scale.",
            counted(*terminals, "terminal"),
            count(u64::from(*specified))
        ),
        Deviation::FewBranches {
            connections,
            branches,
        } => format!(
            "{} share {}, so this measures lock waits where the database locks rows. Choose a \
             --scale of at least {connections}, or pgbench-simple-update.",
            counted(*connections, "connection"),
            if *branches == 1 {
                "1 branch".into()
            } else {
                format!("{branches} branches")
            },
        ),
        Deviation::BlankRows => "The wider rows are filled with blanks, which a database may \
                                 compress. PostgreSQL does so in rows of more than about a \
                                 quarter of a page."
            .into(),
        Deviation::NotCore {
            mix,
            distribution,
            core,
        } => format!("The mix {mix} with the distribution {distribution} is not {core}'s."),
        Deviation::HotRecordsChange { records } => format!(
            "Beyond {} records, which inserts may reach, other records become hot. Load more \
             records for a longer run.",
            count(*records)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbances_name_the_runs_and_the_remedy() {
        let of = |of| Disturbance {
            cause: Cause::OtherPrograms,
            runs: 1,
            of,
            worst: 0.34,
        };
        assert_eq!(
            disturbed(&of(4)),
            "Other programs used up to 34% of the CPU in 1 of 4 runs. Find them with top and \
             stop them before measuring."
        );
        assert!(disturbed(&of(1)).starts_with("Other programs used up to 34% of the CPU. "));
        let swapped = Disturbance {
            cause: Cause::Swapping,
            worst: 16384.0,
            ..of(1)
        };
        assert!(disturbed(&swapped).contains("up to 16,384 pages"));
    }
}
