//! Flags of the commands on one database: load, bench and check.

use std::{ffi::OsString, path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, ValueEnum};
use octavo_database::Registry;
use octavo_driver::{ClientSteps, RETRIES};
use octavo_experiment::dataset::Manifest;
use octavo_units::{ByteCount, PageSize, Rate, Seed, parse_duration};
use octavo_workload::{WorkloadSpec, user::Pace, ycsb::Distribution};

use super::{
    own::OwnFlags,
    shared::{FailIfFlag, IsolationFlag, directory},
};
use crate::{
    failure::Failure,
    metrics::MetricsFlag,
    output::PageFlag,
    print::FormatFlag,
    progress::ProgressFlags,
    system::{SystemFlags, database_name},
    workload::WorkloadFlags,
};

/// The default directory of load, bench and check.
const BENCH_DIRECTORY: &str = "octavo-bench";

/// Which rows to load, and in what.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    /// Database to load [default: that of the loaded rows, else sqlite]
    #[arg(long, value_name = "NAME", value_parser = database_name(Registry::standard(), &[]))]
    pub(crate) database: Option<String>,

    #[command(flatten)]
    pub(crate) workload: WorkloadFlags,

    /// Page size [default: the loaded rows', else its own]
    #[arg(long, value_name = "SIZE")]
    pub(crate) page_size: Option<PageSize>,

    /// Random seed [default: that of the loaded rows, else 1]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<Seed>,
}

impl DataFlags {
    /// The workload, with its own mix and distribution, that the flags or the
    /// `loaded` rows say.
    pub(crate) fn spec(&self, loaded: Option<&Manifest>) -> Result<WorkloadSpec, Failure> {
        self.workload.spec(self.seed, loaded)
    }
}

/// In what a workload's transactions differ from its own.
#[derive(Debug, Args)]
pub(crate) struct MixFlags {
    /// Mix of transactions, such as
    /// new-order=45,payment=43,... or read=80,update=20 [default: the
    /// workload's]
    #[arg(long, value_name = "NAME=WEIGHT,...", hide_short_help = true)]
    pub(crate) mix: Option<String>,

    /// Distribution of keys of YCSB and key-value: uniform, zipfian, true-zipfian, latest,
    /// hotspot or sequential, with parameters such as
    /// zipfian:0.8 or hotspot:10/90 [default: the workload's]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) distribution: Option<Distribution>,
}

#[derive(Debug, Args)]
pub(crate) struct LoadFlags {
    /// Where to load: a new or empty directory, or one that has these rows
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataFlags,

    /// Your own file, or database on a server, to copy. It is only read
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["workload", "seed"])]
    pub(crate) copy_of: Option<OsString>,

    #[command(flatten)]
    pub(crate) format: FormatFlag,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

#[derive(Debug, Args)]
#[command(mut_arg("database", |flag| {
    flag.help(
        "Database; noop measures the driver itself [default: that of the loaded rows, else \
         sqlite]",
    )
    .value_parser(database_name(Registry::standard(), &[NOOP]))
}), mut_arg("copy_of", |flag| {
    flag.conflicts_with_all(["mix", "distribution", "url", "cpu_catalog"])
        .help(
            "Your own file or database, to copy; only read",
        )
        .long_help(None)
}), mut_arg("fail_if", |flag| flag.requires("baseline").hide_short_help(true).help(
    "End with exit code 3 where this run is 'slower > 5%' or 'faster > 5%' than the baseline, and with 4 \
     where that is not decided",
)))]
pub(crate) struct BenchFlags {
    /// Where the rows are, or will be loaded: Octavo's own, new or empty
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Drive a server that you run: postgres://USER:PASSWORD@HOST:PORT/DATABASE
    /// or mysql://USER:PASSWORD@HOST:PORT
    ///
    /// Rows are in a schema octavo of its own, which is made and loaded if missing.
    /// ?host=DIRECTORY or ?socket=FILE names a Unix socket
    // Text, since a value that cannot be parsed would be shown with its
    // password.
    #[arg(long, value_name = "URL", conflicts_with_all = ["directory", "database"])]
    pub(crate) url: Option<String>,

    /// With --url: load the rows again before running
    #[arg(long, requires = "url", hide_short_help = true)]
    pub(crate) reload: bool,

    /// With --url: remove the schema octavo, and do nothing else
    #[arg(long, requires = "url", conflicts_with_all = ["reload", "json", "html", "csv", "hdr_log"], hide_short_help = true)]
    pub(crate) remove: bool,

    #[command(flatten)]
    pub(crate) data: DataFlags,

    #[command(flatten)]
    pub(crate) mix: MixFlags,

    #[command(flatten)]
    pub(crate) own: OwnFlags,

    /// Measure what each kind of transaction of all workloads takes of processors, and write
    /// that to this file, for octavo predict --cpu
    ///
    /// With all data in memory and below /dev/shm, so that nothing waits for storage. It takes
    /// some minutes and 2 GB of memory. With --workload or --shape: of that one
    #[arg(long, value_name = "FILE", hide_short_help = true,
        conflicts_with_all = ["directory", "url", "page_size", "mix", "distribution",
            "ramp", "terminals", "rate", "pace", "duration", "transactions", "warm_up_time", "baseline", "memory",
            "isolation", "json", "html", "csv", "hdr_log"])]
    pub(crate) cpu_catalog: Option<PathBuf>,

    /// Connections to the database
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,

    /// Clients that begin step by step, such as 5..60/5
    ///
    /// From FIRST by BY more to LAST. Says what each number reached and where
    /// more gain nothing
    #[arg(long, value_name = "FIRST..LAST/BY",
        conflicts_with_all = ["clients", "terminals", "rate", "pace", "duration", "transactions"])]
    pub(crate) ramp: Option<ClientSteps>,

    /// How long each step of a ramp lasts; its first tenth does not count
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration,
        requires = "ramp", hide_short_help = true)]
    pub(crate) step: Duration,

    /// Terminals that share the connections [default: as many, or with --pace
    /// as many as the specification wants]
    #[arg(long, value_name = "N", conflicts_with = "rate",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000), hide_short_help = true)]
    pub(crate) terminals: Option<u32>,

    /// Arrivals per second (open loop)
    ///
    /// They do not wait for the database [default: closed loop: each
    /// transaction starts when the last ends]
    #[arg(long, value_name = "N", conflicts_with = "pace")]
    pub(crate) rate: Option<Rate>,

    /// Arrival process
    #[arg(long, value_name = "NAME", value_enum, default_value_t = ArrivalsName::Poisson, requires = "rate", hide_short_help = true)]
    pub(crate) arrivals: ArrivalsName,

    /// Keying and think times of terminals (spec, TPC-C), or the times of a --recording (recorded, or
    /// 2x as fast and the like)
    #[arg(long, value_name = "spec|recorded|SPEED", hide_short_help = true)]
    pub(crate) pace: Option<PaceName>,

    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration,
        conflicts_with = "transactions")]
    pub(crate) duration: Duration,

    /// Measure this many transactions per client instead of a time, after a warm-up of a tenth
    /// as many. With one client, counts then repeat exactly
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "pace", "warm_up_time"],
        value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub(crate) transactions: Option<u64>,

    /// Time before measuring
    ///
    /// auto waits until as many pages were read as the buffer has, from a tenth
    /// of the duration to all of it
    #[arg(long, value_name = "TIME", default_value = "auto", value_parser = warm_up_time)]
    pub(crate) warm_up_time: WarmUp,

    /// All memory that may hold data [default: 32MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteCount>,

    #[command(flatten)]
    pub(crate) isolation: IsolationFlag,

    /// Retries of a transaction after a conflict
    #[arg(long, value_name = "N", default_value_t = RETRIES, hide_short_help = true)]
    pub(crate) retries: u32,

    /// Compare with an earlier result: what octavo bench --json printed, or the octavo.db of octavo run or
    /// advise
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["ramp", "rate", "pace"],
        hide_short_help = true
    )]
    pub(crate) baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) fail_if: FailIfFlag,

    #[command(flatten)]
    pub(crate) format: FormatFlag,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) metrics: MetricsFlag,

    #[command(flatten)]
    pub(crate) page: PageFlag,

    /// Write the run second by second to this file, as comma-separated values
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) csv: Option<PathBuf>,

    /// Write each second's latencies to this file, as a log of HdrHistogram
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) hdr_log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

impl BenchFlags {
    /// Connections at most: as many as clients, or those of a ramp's last step.
    pub(crate) fn connections(&self) -> u32 {
        self.ramp.map_or(self.clients, ClientSteps::last)
    }
}

/// The database that answers at once.
pub(crate) const NOOP: &str = "noop";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ArrivalsName {
    /// Equal intervals
    Constant,
    /// Independent arrivals
    Poisson,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PaceName {
    /// The specification's keying and think times.
    Spec,
    /// The times of a recording.
    Recorded(Pace),
}

impl FromStr for PaceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "spec" => Ok(Self::Spec),
            text => text
                .parse()
                .map(Self::Recorded)
                .map_err(|_| format!("'{text}' must be spec, recorded, or a speed such as 2x")),
        }
    }
}

/// How long to warm up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmUp {
    Auto,
    Time(Duration),
}

/// Reads `auto` or a time, which may be none at all.
fn warm_up_time(text: &str) -> Result<WarmUp, String> {
    match text {
        "auto" => Ok(WarmUp::Auto),
        "0" | "0s" => Ok(WarmUp::Time(Duration::ZERO)),
        time => parse_duration(time)
            .map(WarmUp::Time)
            .map_err(|error| error.to_string()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The directory of an earlier load or bench
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) format: FormatFlag,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}
