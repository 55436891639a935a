//! The command line: the commands here, their flags in a module each.

mod ab;
mod bench;
mod curve;
mod experiment;
mod fleet;
pub(crate) mod itself;
mod own;
mod part;
mod plan;
mod results;
mod shared;
mod storage;

use clap::{Parser, Subcommand};

pub(crate) use ab::{AbFlags, Setting};
pub(crate) use bench::{
    ArrivalsName, BenchFlags, CheckFlags, DataFlags, LoadFlags, NOOP, PaceName, WarmUp,
};
pub(crate) use curve::CurveFlags;
pub(crate) use experiment::{AdviseFlags, CellFlags, PredictFlags, RunFlags};
pub(crate) use fleet::{FleetCommand, FleetFlags, FleetScriptFlags, SchedulerName};
pub(crate) use itself::{CompletionsFlags, DocsFlags, ManFlags};
pub(crate) use own::{OwnFlags, database_of};
pub(crate) use part::{RAMP_APART, ShardFlag, Sittings};
pub(crate) use plan::{PlanCheckFlags, PlanCommand, PlanFlags};
pub(crate) use results::{
    ALL_STUDIES, CompareFlags, MergeFlags, NamedPrice, ReportFlags, ReproduceFlags, ValueFlags,
};
pub(crate) use storage::{
    CalibrateFlags, DevicesCommand, DevicesFlags, EmulateFlags, EngineName, FitFlags, HoldFlags,
    LeadFlags, ShowFlags,
};

/// Finds the page size, buffer size and storage for an OLTP database, by
/// measuring.
#[derive(Debug, Parser)]
#[command(name = "octavo", version)]
pub(crate) struct Flags {
    /// Before a command: take no defaults from octavo.toml
    #[arg(long)]
    no_defaults: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, with what `octavo --help` says of each in one line.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Recommend page and cache sizes for the storage under a directory
    Advise(AdviseFlags),
    /// Predict what advise would measure, on storage that is not here
    Predict(PredictFlags),
    /// Say what throughput is worth at your prices
    Value(ValueFlags),
    /// Compare two builds, settings or sizes side by side
    Ab(Box<AbFlags>),
    /// Compare two results, cell by cell
    Compare(CompareFlags),
    /// Bring sittings or shards of a plan together
    Merge(MergeFlags),
    /// Repeat a published study: published, predicted and measured
    Reproduce(ReproduceFlags),
    /// Draw what buffers of all sizes miss of a trace
    Curve(CurveFlags),
    /// Print a plan to begin with, or check one
    Plan(PlanFlags),
    /// Run the experiment that a plan file describes
    Run(RunFlags),
    /// Run a plan on many hosts, with a scheduler that is there
    Fleet(FleetFlags),
    /// Drive one database with one workload
    Bench(BenchFlags),
    /// Load the rows of a workload, for bench
    Load(LoadFlags),
    /// Measure the storage under a directory, or a modeled device
    Calibrate(CalibrateFlags),
    /// Mount a directory as fast as a modeled device
    Emulate(EmulateFlags),
    /// Print earlier results again
    Report(ReportFlags),
    /// Check loaded rows, and what the last bench left
    Check(CheckFlags),
    /// List modeled devices, explain one, or fit one to your disk
    Devices(DevicesFlags),
    /// Print the documentation
    Docs(DocsFlags),
    /// Write manual pages
    Man(ManFlags),
    /// Print a script with which a shell completes commands
    Completions(CompletionsFlags),
    /// Time requests to an emulated device, for octavo emulate
    #[command(hide = true)]
    Lead(LeadFlags),
    /// Run one database of an experiment, for the octavo that measures it
    #[command(hide = true)]
    Host,
    /// Have a file system mounted for an experiment, for the octavo that measures on it
    #[command(hide = true)]
    Hold(HoldFlags),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Flags::command().debug_assert();
    }
}
