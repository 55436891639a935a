//! The command line: the commands here, their flags in a module each.

mod bench;
mod experiment;
mod results;
mod shared;
mod storage;

use clap::{Parser, Subcommand};

pub(crate) use bench::{
    ArrivalsName, BenchFlags, CheckFlags, DataFlags, LoadFlags, NOOP, PaceName, WarmUp,
};
pub(crate) use experiment::{AdviseFlags, CellFlags, PredictFlags, RunFlags};
pub(crate) use results::{ALL_STUDIES, CompareFlags, ReportFlags, ReproduceFlags, ValueFlags};
pub(crate) use storage::{
    CalibrateFlags, DevicesCommand, DevicesFlags, EmulateFlags, EngineName, FitFlags, LeadFlags,
    ShowFlags,
};

/// Finds the page size, buffer size and storage for an OLTP database, by
/// measuring.
#[derive(Debug, Parser)]
#[command(name = "octavo", version)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure page and cache sizes on the storage under a directory and
    /// recommend some
    Advise(AdviseFlags),
    /// Run the plan in a file: any combination of databases, rows, storages,
    /// memory, page sizes, CPUs and clients
    Run(RunFlags),
    /// Measure the storage under a directory, or a device of the catalog
    Calibrate(CalibrateFlags),
    /// List the devices that Octavo has models of
    Devices(DevicesFlags),
    /// Mount a directory that reads, writes and syncs as fast as a modeled
    /// device
    Emulate(EmulateFlags),
    /// Time requests to an emulated device, for octavo emulate
    #[command(hide = true)]
    Lead(LeadFlags),
    /// Predict what advise would measure: page and cache sizes on storage that
    /// is not at hand
    Predict(PredictFlags),
    /// Repeat a published study: what it found, what models predict of it, and
    /// what real databases do here
    Reproduce(ReproduceFlags),
    /// Print the results of an earlier advise, run or predict again
    Report(ReportFlags),
    /// Compare the results of two experiments, cell by cell
    Compare(CompareFlags),
    /// Say what throughput is worth at prices: per money, of more memory, of
    /// another storage, and which pages belong in memory
    Value(ValueFlags),
    /// Load a workload's rows into a database of its own, for bench
    Load(LoadFlags),
    /// Run one workload on one database, loading its rows first if needed
    Bench(BenchFlags),
    /// Check the consistency of a loaded database, and of the last bench's copy
    /// of it
    Check(CheckFlags),
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
