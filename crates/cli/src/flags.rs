//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use octavo_units::{ByteCount, PageSize, Seed};

/// Tells which page size, buffer size and storage an OLTP database should
/// have, by measuring.
#[derive(Debug, Parser)]
#[command(name = "octavo", version, propagate_version = true)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure page and cache sizes on the storage under a directory and say
    /// which to use
    Advise(AdviseFlags),
    /// Measure the storage under a directory
    Calibrate(CalibrateFlags),
    /// Print the results of an earlier advise again
    Report(ReportFlags),
}

#[derive(Debug, Args)]
pub(crate) struct AdviseFlags {
    /// Where to work: a new or empty directory on the storage in question.
    /// octavo.db and report.html stay there
    #[arg(default_value = "octavo-advice")]
    pub(crate) directory: PathBuf,

    /// Time for everything
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) budget: Duration,

    /// Database to measure
    #[arg(long, value_enum, default_value_t = DatabaseName::Sqlite)]
    pub(crate) database: DatabaseName,

    /// Load to measure with
    #[arg(long, value_enum, default_value_t = WorkloadName::Tpcc)]
    pub(crate) workload: WorkloadName,

    /// TPC-C warehouses, about 75 MB each [default: as many as make the data
    /// 8 times the largest memory]
    #[arg(long, value_name = "N")]
    pub(crate) warehouses: Option<u32>,

    /// Memory that may hold data, as a list; the data is made 8 times the
    /// largest
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "8MiB,32MiB"
    )]
    pub(crate) memory: Vec<ByteCount>,

    /// Sizes of the database's own cache to compare, as a list, none above
    /// the largest memory [default: the sizes given with --memory]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) cache: Vec<ByteCount>,

    /// Page sizes to compare, as a list; the database's default is always
    /// among them
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "2K,4K,8K,16K,64K"
    )]
    pub(crate) page_sizes: Vec<PageSize>,

    /// SQLite's journal mode
    #[arg(long, value_enum, default_value_t = JournalModeName::Wal)]
    pub(crate) journal_mode: JournalModeName,

    /// Sessions at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) clients: u32,

    /// Origin of everything random
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Differences up to this many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0)]
    pub(crate) margin: f64,

    /// Make exactly this many rounds, whatever the budget
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,

    /// Measure each run for this many transactions a client instead of a
    /// time, after a tenth as many for warming up: with one client, counts
    /// then repeat exactly
    #[arg(long, value_name = "N")]
    pub(crate) transactions: Option<u64>,

    /// Leave out calibrating the storage
    #[arg(long)]
    pub(crate) no_calibrate: bool,

    /// Leave the loaded databases in DIR/data when finished
    #[arg(long)]
    pub(crate) keep_data: bool,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DatabaseName {
    Sqlite,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WorkloadName {
    Tpcc,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum JournalModeName {
    Wal,
    Delete,
    Truncate,
    Persist,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateFlags {
    /// A directory on the storage in question; the file made there is removed
    pub(crate) directory: PathBuf,

    /// The important points in under 60 seconds (the default)
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,

    /// The whole grid, each point until it is steady
    #[arg(long)]
    pub(crate) full: bool,

    /// Size of the file to measure on [default: 1 GiB, with --full 8 GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<ByteCount>,

    /// How requests are submitted
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    pub(crate) engine: EngineName,

    /// Origin of everything random
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Write the device profile (TOML) to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print the profile as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// io_uring, or threads where it is forbidden
    Auto,
    /// io_uring alone
    IoUring,
    /// One thread with pread and pwrite for each request in flight
    Threads,
}

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// The directory of an earlier advise, or its octavo.db
    #[arg(default_value = "octavo-advice")]
    pub(crate) directory: PathBuf,

    /// Write the HTML report to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads a time such as `90s`, `5m` or `1h 30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("'{text}' is not a time: write it like 90s, 5m or 1h30m");
    let span: jiff::SignedDuration = text.parse().map_err(|_| refused())?;
    let time = Duration::try_from(span).map_err(|_| refused())?;
    if time.is_zero() {
        return Err(format!("'{text}' leaves no time at all"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Flags::command().debug_assert();
    }

    #[test]
    fn times_are_read() {
        assert_eq!(duration("5m").unwrap(), Duration::from_secs(300));
        assert_eq!(duration("1h30m").unwrap(), Duration::from_secs(5400));
        for text in ["", "5", "-5m", "0s", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
