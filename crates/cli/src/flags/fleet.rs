//! Flags of octavo fleet.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::directory;

#[derive(Debug, Args)]
pub(crate) struct FleetFlags {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Print a script with which a scheduler runs a plan on many hosts
    Script(FleetScriptFlags),
}

#[derive(Debug, Args)]
pub(crate) struct FleetScriptFlags {
    /// The plan that all hosts carry out
    pub(crate) plan: PathBuf,

    /// The scheduler
    #[arg(long = "for", value_name = "SCHEDULER", value_enum)]
    pub(crate) scheduler: SchedulerName,

    /// Sittings of the plan, one on a host at a time [default: 2 for each of --hosts, else 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=PARTS_MAX))]
    pub(crate) sittings: Option<u32>,

    /// Predict instead of measuring, in N parts at once
    #[arg(long, value_name = "N", conflicts_with = "sittings",
        value_parser = clap::value_parser!(u32).range(1..=PARTS_MAX))]
    pub(crate) shards: Option<u32>,

    /// Names of hosts in a file, a line each, as ssh takes them
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,

    /// Where to work on each host: a directory on the storage to measure, unless the plan names storages
    /// [default: octavo- and the plan's name without its ending]
    #[arg(long, value_name = "DIR", value_parser = directory())]
    pub(crate) into: Option<PathBuf>,
}

/// Most sittings or shards. Chosen below the largest array that a bare Slurm takes (1,001 tasks, its
/// `MaxArraySize`).
const PARTS_MAX: i64 = 1000;

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum SchedulerName {
    /// An array of jobs for sbatch
    Slurm,
    /// GNU parallel over ssh
    Parallel,
    /// An array of tasks for hq submit
    Hyperqueue,
    /// An Indexed Job
    Kubernetes,
}
