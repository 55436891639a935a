//! The command line.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
};
use octavo_database::{Defaults, Isolation, Registry};
use octavo_device::point::PointSpec;
use octavo_driver::{ClientSteps, RETRIES};
use octavo_emulate::Faults;
use octavo_experiment::{
    dataset::Manifest,
    prediction::{PREDICTED_PASSES, PREDICTED_SLICE},
    prices::{Currency, MemoryPrice, Price},
};
use octavo_units::{ByteCount, PageSize, Rate, RequestSize, Seed, parse_duration};
use octavo_workload::{WorkloadSpec, ycsb::Distribution};

use crate::{
    failure::Failure,
    named_price::NamedPrice,
    progress::ProgressFlags,
    system::{SystemFlags, database_name, defaults, predicted_name, sizes},
    workload::{WorkloadFlags, without_loaded_rows},
};

/// Transactions of a warm-up in which every cell has long been warm. Chosen: hours.
const WARM_UP_MAX: u64 = 1_000_000_000;

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

#[derive(Debug, Args)]
#[command(mut_args(without_loaded_rows))]
pub(crate) struct AdviseFlags {
    /// Where to work: a new or empty directory on the storage in question.
    /// octavo.db and report.html stay there
    #[arg(default_value = "octavo-advice", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Total time, including building programs
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help = with_defaults(
        "Total time, including building programs",
        |defaults| format!("{}m", defaults.budget.as_secs() / 60),
    ))]
    pub(crate) budget: Option<Duration>,

    /// Emulate this device under the database, instead of measuring the
    /// storage here: a name that octavo devices lists, or the path of a file
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,

    /// Database; servers are Octavo's own, in its directory
    #[arg(long, value_name = "NAME", default_value = Registry::standard().default_kind().name,
        value_parser = database_name(Registry::standard(), &[]))]
    pub(crate) database: String,

    #[command(flatten)]
    pub(crate) cells: CellFlags,

    /// Passes at most. In a pass every page size executes the same transactions
    /// [default: as many as fit into the budget]
    #[arg(long, value_name = "N")]
    pub(crate) passes: Option<u32>,

    /// Transactions that each page size executes in a pass [default: as many
    /// as take about 75 ms, with a server 1.5 s]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) transactions: Option<u64>,

    /// Transactions of the warm-up [default: until misses are level or the cache filled twice]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u64).range(0..=WARM_UP_MAX))]
    pub(crate) warm_up: Option<u64>,

    /// Skip calibrating the storage
    #[arg(long)]
    pub(crate) no_calibrate: bool,

    /// Predict all cells once the storage is calibrated, measure only those that may be
    /// best, and print what was predicted beside what was measured
    #[arg(long, conflicts_with_all = ["no_calibrate", "device"])]
    pub(crate) predict_first: bool,

    /// Keep the loaded databases in DIR/data
    #[arg(long)]
    pub(crate) keep_data: bool,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

/// What advise measures and predict predicts.
#[derive(Debug, Args)]
pub(crate) struct CellFlags {
    #[command(flatten)]
    pub(crate) workload: WorkloadFlags,

    /// Memory that may hold data; the data is made 8 times the largest
    #[arg(long, value_name = "SIZES", value_delimiter = ',', help = with_defaults(
        "Memory that may hold data, as a list; the data is made 8 times the largest",
        |defaults| sizes(defaults.memories.iter().copied()),
    ))]
    pub(crate) memory: Vec<ByteCount>,

    /// Sizes of the database's own cache to compare, as a list, none above
    /// the largest memory [default: the sizes given with --memory]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) cache: Vec<ByteCount>,

    /// Page sizes to compare; the database's default is always among them
    #[arg(long, value_name = "SIZES", value_delimiter = ',', help = with_defaults(
        "Page sizes to compare, as a list; the database's default is always among them",
        |defaults| sizes(defaults.page_sizes.iter().map(|size| size.bytes())),
    ))]
    pub(crate) page_sizes: Vec<PageSize>,

    /// Concurrent sessions
    #[arg(long, value_name = "N", help = with_defaults(
        "Concurrent sessions",
        |defaults| defaults.clients.to_string(),
    ), value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: Option<u32>,

    /// Isolation level [default: the database's own]
    #[arg(long, value_enum)]
    pub(crate) isolation: Option<IsolationName>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Differences up to this many percent count as none
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0)]
    pub(crate) margin: f64,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

#[derive(Debug, Args)]
#[command(mut_args(without_loaded_rows))]
pub(crate) struct PredictFlags {
    /// Where the results go: a new or empty directory, or that of the same
    /// prediction. octavo.db and report.html stay there
    #[arg(default_value = "octavo-prediction", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// The storage: a name that octavo devices lists, or the path of a file
    #[arg(long, value_name = "DEVICE", required_unless_present = "calibrated_by")]
    pub(crate) device: Option<String>,

    /// Results of octavo advise with the same database and workload, its
    /// octavo.db or its directory: the processor's time is taken from them, and
    /// the storage that they calibrated unless --device names another
    #[arg(long, value_name = "DIR")]
    pub(crate) calibrated_by: Option<PathBuf>,

    /// The machine around the storage, for the energy of a transaction: a name
    /// that octavo devices --machines lists, or the path of a file. Clients
    /// and database share its processors
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,

    /// Database
    #[arg(long, value_name = "NAME", default_value = Registry::standard().default_kind().name,
        value_parser = predicted_name())]
    pub(crate) database: String,

    #[command(flatten)]
    pub(crate) cells: CellFlags,

    /// Passes. In a pass every page size executes the same transactions
    #[arg(long, value_name = "N", default_value_t = PREDICTED_PASSES,
        value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    pub(crate) passes: u32,

    /// Transactions that each page size executes in a pass
    #[arg(long, value_name = "N", default_value_t = PREDICTED_SLICE,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) transactions: u64,

    /// Transactions of the warm-up [default: until the cache is full]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u64).range(0..=WARM_UP_MAX))]
    pub(crate) warm_up: Option<u64>,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// The plan, a TOML file
    pub(crate) plan: PathBuf,

    /// Where to work: a new or empty directory, or that of the same plan to
    /// resume it. octavo.db and report.html stay there [default: octavo- and
    /// the plan's name without its ending]
    #[arg(value_parser = directory())]
    pub(crate) directory: Option<PathBuf>,

    /// Emulate this device under the databases of a plan that names no
    /// storages
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,

    /// Print a forecast of steps, time and space, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Total time, instead of the plan's
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Passes at most, instead of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) passes: Option<u32>,

    /// Calibrate the first storage before anything else
    #[arg(long)]
    pub(crate) calibrate: bool,

    /// Keep the loaded databases
    #[arg(long)]
    pub(crate) keep_data: bool,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print the findings, or the forecast, as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateFlags {
    /// A directory on the storage in question; the file made there is removed
    #[arg(required_unless_present = "device", value_parser = directory())]
    pub(crate) directory: Option<PathBuf>,

    /// Measure the model of this device instead: a name that octavo devices
    /// lists, or the path of a file
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["directory", "engine"])]
    pub(crate) device: Option<String>,

    /// Measure this instead of the usual points, like 'random read 8K, depth
    /// 32, range 1GiB'; may be repeated
    #[arg(long, value_name = "POINT", conflicts_with_all = ["quick", "full"])]
    pub(crate) point: Vec<PointSpec>,

    /// The important points in under 60 seconds (the default)
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,

    /// The whole grid, each point until it is steady
    #[arg(long)]
    pub(crate) full: bool,

    /// Passes over all points, of which the medians count; for shared storage
    #[arg(long, value_name = "N", default_value_t = NonZeroU32::MIN, conflicts_with = "device")]
    pub(crate) passes: NonZeroU32,

    /// Size of the file to measure on [default: 1 GiB, with --full 8 GiB], or
    /// the range of a device [default: 16 GiB, or all of a smaller one]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<ByteCount>,

    /// I/O engine
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    pub(crate) engine: EngineName,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Write the device profile (TOML) to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print the profile as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DevicesFlags {
    #[command(subcommand)]
    pub(crate) command: Option<DevicesCommand>,

    /// List machines instead, with their power and its sources, for octavo
    /// predict --machine
    #[arg(long)]
    pub(crate) machines: bool,

    /// Print the catalog as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// Show a device's parameters with their sources, and published figures
    /// beside the model's
    Show(ShowFlags),
    /// Fit a model to storage that octavo calibrate --output measured: a twin
    /// of your disk
    Fit(FitFlags),
}

#[derive(Debug, Args)]
pub(crate) struct FitFlags {
    /// A device profile, as octavo calibrate --output writes it
    pub(crate) profile: PathBuf,

    /// Name of the twin [default: the profile's name without its ending]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write the twin to this file, which can be named as a device then
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Print the twin and the errors as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ShowFlags {
    /// A name that octavo devices lists, or the path of a file
    pub(crate) device: String,

    /// Print the entry as it is written, to copy and change
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// io_uring, or threads where it is not allowed
    Auto,
    /// io_uring only
    IoUring,
    /// One thread with pread and pwrite for each request in flight
    Threads,
}

#[derive(Debug, Args)]
pub(crate) struct LeadFlags {
    /// Where the device is mounted
    pub(crate) mount: PathBuf,

    /// The process that mounted it, which starts this one
    pub(crate) emulator: i32,
}

#[derive(Debug, Args)]
pub(crate) struct EmulateFlags {
    /// A name that octavo devices lists, or the path of a file
    pub(crate) device: String,

    /// Where files are stored: a new or empty directory, or one of an earlier
    /// emulation. It stays, and should be on storage that is faster than the
    /// device
    #[arg(long, value_name = "DIR")]
    pub(crate) backing: PathBuf,

    /// Mount point: an empty directory, created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) mount: PathBuf,

    /// Factor by which time is slowed: above 1 for devices that are too fast for
    /// this machine
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    pub(crate) time_scale: f64,

    /// Do not sync --backing when programs sync: they wait for the device alone,
    /// and what they synced survives anything but a crash of this machine
    #[arg(long)]
    pub(crate) volatile_backing: bool,

    /// Faults to inject, such as cut=5000,lose=1/2,tear=1/4 or eio=write:50:3;
    /// docs/emulation.md lists all
    #[arg(long, value_name = "SPEC")]
    pub(crate) faults: Option<Faults>,

    /// Begin with the device as it is after long random writes of this size
    /// [default: as it was delivered]
    #[arg(long, value_name = "SIZE")]
    pub(crate) precondition: Option<RequestSize>,

    /// The range of these writes, from the device's start [default: 16 GiB, or
    /// all of a smaller device]
    #[arg(long, value_name = "SIZE", requires = "precondition")]
    pub(crate) precondition_range: Option<ByteCount>,

    /// Unmount and end with the parent process
    #[arg(long)]
    pub(crate) end_with_parent: bool,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1))]
    pub(crate) seed: Seed,

    /// Print statistics as JSON when it is unmounted
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceFlags {
    /// The study, or all of them
    #[arg(value_name = "STUDY", value_parser = studies())]
    pub(crate) study: String,

    /// Measure what its database can repeat here, with the ratio of data to
    /// buffer kept. Results stay in --directory, and --html shows them in a
    /// later call
    #[arg(long, conflicts_with = "html")]
    pub(crate) measure: bool,

    /// Scale of the measured rows (warehouses, or pgbench's scale); memory
    /// follows it
    #[arg(long, value_name = "N", requires = "measure", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) scale: Option<u64>,

    /// Time for measuring, building programs included [default: 35m]
    #[arg(long, value_name = "TIME", requires = "measure", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Where measurements are kept, in a directory for each study
    #[arg(long, value_name = "DIR", default_value = "octavo-studies", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Predict anew with each constant 20% smaller and larger, and print what
    /// that does to the score
    #[arg(long)]
    pub(crate) sensitivity: bool,

    /// Keep the loaded databases
    #[arg(long, requires = "measure")]
    pub(crate) keep_data: bool,

    /// Write the report as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

/// Stands for all studies.
pub(crate) const ALL_STUDIES: &str = "all";

/// The studies' names, and one for all of them.
fn studies() -> clap::builder::PossibleValuesParser {
    octavo_study::names().chain([ALL_STUDIES]).into()
}

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// The directory of an earlier advise, run or predict, or its octavo.db
    #[arg(default_value = "octavo-advice", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Write the HTML report to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareFlags {
    /// The octavo.db of an advise, run or predict, or its directory
    pub(crate) first: PathBuf,

    /// Another one, compared with the first
    pub(crate) second: PathBuf,

    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValueFlags {
    /// Directories of earlier advise, run or predict, or their octavo.db. Several
    /// stand beside each other
    #[arg(value_name = "DIR", default_value = "octavo-advice", value_parser = directory())]
    pub(crate) results: Vec<PathBuf>,

    /// Prices in a file: a prices section alone, or a plan that has it
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Price of memory, such as 5/GiB
    #[arg(long, value_name = "PRICE/GiB", allow_hyphen_values = true)]
    pub(crate) memory_price: Option<MemoryPrice>,

    /// Price of the machine without memory and storage
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true)]
    pub(crate) machine_price: Option<Price>,

    /// Price of a storage: a path or device of the results, which may be left
    /// out where there is one, and 600 or '0.08/GB for 500GB'; may be repeated
    #[arg(long, value_name = "[STORAGE=]PRICE", allow_hyphen_values = true)]
    pub(crate) storage_price: Vec<NamedPrice>,

    /// Ask the five-minute rule of this device too: a name that octavo devices
    /// lists, or the path of a file, with its price; may be repeated
    #[arg(long, value_name = "DEVICE=PRICE", allow_hyphen_values = true)]
    pub(crate) device: Vec<NamedPrice>,

    /// How many times the memory of the results is bought: 1024 where each MiB
    /// of cache and data stands for a GiB
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub(crate) scale: f64,

    /// Currency of all prices, such as EUR or $
    #[arg(long, value_name = "NAME")]
    pub(crate) currency: Option<Currency>,

    /// Write the report to this file as well, a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which rows to load, and in what.
#[derive(Debug, Args)]
pub(crate) struct DataFlags {
    #[command(flatten)]
    pub(crate) workload: WorkloadFlags,

    /// The database's page size [default: that of the loaded rows, else the
    /// database's own]
    #[arg(long, value_name = "SIZE")]
    pub(crate) page_size: Option<PageSize>,

    /// Random seed [default: that of the loaded rows, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<Seed>,
}

impl DataFlags {
    /// The workload, with its own mix and distribution, that the flags or the
    /// `loaded` rows say.
    pub(crate) fn spec(&self, loaded: Option<&Manifest>) -> Result<WorkloadSpec, Failure> {
        self.workload.spec(self.seed, loaded)
    }
}

#[derive(Debug, Args)]
pub(crate) struct LoadFlags {
    /// Where to load: a new or empty directory
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Database to load [default: that of the loaded rows, else sqlite]
    #[arg(long, value_name = "NAME", value_parser = database_name(Registry::standard(), &[]))]
    pub(crate) database: Option<String>,

    #[command(flatten)]
    pub(crate) data: DataFlags,

    /// Print a description of the loaded rows as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

/// A directory to work in. A server's address would become the name of one,
/// with the password in it; SQLite would take `file:` for the beginning of an
/// address.
fn directory() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|given| {
        let text = given.to_string_lossy();
        if text.contains("://") {
            return Err("a server that you run is named with octavo bench --url");
        }
        Ok(match text.starts_with("file:") {
            true => PathBuf::from(".").join(&given),
            false => given.into(),
        })
    })
}

/// The default directory of load, bench and check.
const BENCH_DIRECTORY: &str = "octavo-bench";

#[derive(Debug, Args)]
pub(crate) struct BenchFlags {
    /// Where the rows are, or will be loaded: Octavo's own, new or empty
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Database to drive; noop answers at once and measures the driver itself
    /// [default: that of the loaded rows, else sqlite]
    #[arg(long, value_name = "NAME", value_parser = database_name(Registry::standard(), &[NOOP]))]
    pub(crate) database: Option<String>,

    /// Drive a server that you run, in a schema octavo of its own there, which
    /// is made and loaded where it is missing:
    /// postgres://USER:PASSWORD@HOST:PORT/DATABASE or
    /// mysql://USER:PASSWORD@HOST:PORT, with ?host=DIRECTORY or ?socket=FILE
    /// for a Unix socket
    // Text, since a value that cannot be parsed would be shown with its
    // password.
    #[arg(long, value_name = "URL", conflicts_with_all = ["directory", "database"])]
    pub(crate) url: Option<String>,

    /// With --url: load the rows again before running
    #[arg(long, requires = "url")]
    pub(crate) reload: bool,

    /// With --url: remove the schema octavo, and do nothing else
    #[arg(long, requires = "url", conflicts_with_all = ["reload", "json", "html", "csv", "hdr_log"])]
    pub(crate) remove: bool,

    #[command(flatten)]
    pub(crate) data: DataFlags,

    /// Mix of transactions, such as
    /// new-order=45,payment=43,... or read=80,update=20 [default: the
    /// workload's]
    #[arg(long, value_name = "NAME=WEIGHT,...")]
    pub(crate) mix: Option<String>,

    /// Distribution of YCSB's keys: uniform, zipfian, true-zipfian, latest,
    /// hotspot or sequential, with parameters such as
    /// zipfian:0.8 or hotspot:10/90 [default: the workload's]
    #[arg(long, value_name = "NAME")]
    pub(crate) distribution: Option<Distribution>,

    /// Connections to the database
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,

    /// Clients that begin step by step: from FIRST by BY more to LAST, such as 5..60/5;
    /// says what each number reached and where more gain nothing
    #[arg(long, value_name = "FIRST..LAST/BY",
        conflicts_with_all = ["clients", "terminals", "rate", "pace", "duration", "transactions"])]
    pub(crate) ramp: Option<ClientSteps>,

    /// How long each step of a ramp lasts; its first tenth does not count
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration,
        requires = "ramp")]
    pub(crate) step: Duration,

    /// Terminals that share the connections [default: as many, or with --pace
    /// as many as the specification wants]
    #[arg(long, value_name = "N", conflicts_with = "rate",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) terminals: Option<u32>,

    /// Arrivals per second, regardless of the database (open loop) [default:
    /// closed loop: each transaction starts when the last ends]
    #[arg(long, value_name = "N", conflicts_with = "pace")]
    pub(crate) rate: Option<Rate>,

    /// Arrival process
    #[arg(long, value_enum, default_value_t = ArrivalsName::Poisson, requires = "rate")]
    pub(crate) arrivals: ArrivalsName,

    /// Keying and think times of terminals (TPC-C)
    #[arg(long, value_enum)]
    pub(crate) pace: Option<PaceName>,

    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration,
        conflicts_with = "transactions")]
    pub(crate) duration: Duration,

    /// Measure this many transactions a client instead of a time, after a
    /// tenth as many for warming up: with one client, counts then repeat
    /// exactly
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "pace", "warm_up"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: Option<u64>,

    /// Time before measuring: auto waits until as many pages were read as the
    /// buffer has, from a tenth of the duration to all of it
    #[arg(long, value_name = "auto|TIME", default_value = "auto", value_parser = warm_up)]
    pub(crate) warm_up: WarmUp,

    /// All memory that may hold data [default: 32MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteCount>,

    /// Isolation level [default: the database's own]
    #[arg(long, value_enum)]
    pub(crate) isolation: Option<IsolationName>,

    /// Retries of a transaction after a conflict
    #[arg(long, value_name = "N", default_value_t = RETRIES)]
    pub(crate) retries: u32,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    /// Write the report to this file, a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the run second by second to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write each second's latencies to this file, as a log of HdrHistogram
    #[arg(long, value_name = "FILE")]
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

/// Help with the defaults that databases have.
fn with_defaults(text: &str, show: impl Fn(&Defaults) -> String) -> String {
    format!("{text} {}", defaults(show))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ArrivalsName {
    /// Equal intervals
    Constant,
    /// Independent arrivals
    Poisson,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PaceName {
    /// The specification's keying and think times
    Spec,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum IsolationName {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl From<IsolationName> for Isolation {
    fn from(name: IsolationName) -> Self {
        match name {
            IsolationName::ReadCommitted => Self::ReadCommitted,
            IsolationName::RepeatableRead => Self::RepeatableRead,
            IsolationName::Serializable => Self::Serializable,
        }
    }
}

/// How long to warm up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmUp {
    Auto,
    Time(Duration),
}

#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The directory of an earlier load or bench
    #[arg(default_value = BENCH_DIRECTORY, value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

/// Reads `auto` or a time, which may be none at all.
fn warm_up(text: &str) -> Result<WarmUp, String> {
    match text {
        "auto" => Ok(WarmUp::Auto),
        "0" | "0s" => Ok(WarmUp::Time(Duration::ZERO)),
        time => parse_duration(time)
            .map(WarmUp::Time)
            .map_err(|error| error.to_string()),
    }
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
