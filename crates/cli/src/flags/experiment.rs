//! Flags of the commands that make cells: advise, predict and run.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use octavo_buffer::NamedPolicy;
use octavo_database::{Defaults, Registry};
use octavo_experiment::prediction::{PREDICTED_PASSES, PREDICTED_SLICE};
use octavo_storage::file_system::FileSystems;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::Pace;

use super::bench::MixFlags;
use super::curve::policies;
use super::own::OwnFlags;
use super::part::{ShardFlag, Sittings};
use super::shared::{
    CampaignFlags, DatabaseFlag, DeviceFlag, DryRunFlag, IsolationFlag, SeedFlag, SliceFlags,
    device_help, directory,
};
use crate::{
    metrics::MetricsFlag,
    print::PrintFlags,
    progress::ProgressFlags,
    system::{SystemFlags, defaults, predicted_name, recorded_titles, sizes},
    workload::{WorkloadFlags, without_loaded_rows},
};

#[derive(Debug, Args)]
#[command(
    mut_args(without_loaded_rows),
    mut_arg("budget", |flag| flag.help(with_defaults(
        "Total time, including building programs",
        |defaults| minutes(defaults.budget),
    ))),
    mut_arg("device", |flag| device_help(
        flag,
        "Emulate this device under the database, instead of measuring the storage here",
    )),
    mut_arg("copy_of", |flag| {
        flag.conflicts_with_all(["data", "mix", "distribution", "predict_first"])
    }),
    mut_arg("dry_run", |flag| flag.hide_short_help(true)),
)]
pub(crate) struct AdviseFlags {
    /// Where to work: a new or empty directory on the storage to measure. octavo.db and
    /// report.html stay there
    #[arg(default_value = "octavo-advice", value_parser = directory())]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) campaign: CampaignFlags,

    #[command(flatten)]
    pub(crate) device: DeviceFlag,

    #[command(flatten)]
    pub(crate) database: DatabaseFlag,

    #[command(flatten)]
    pub(crate) own: OwnFlags,

    /// Send recorded transactions at the times at which they were recorded, or 2x as fast and the like
    /// [default: as fast as they are answered]
    ///
    /// Page sizes are compared by response times then, each from when its transaction was due
    #[arg(
        long,
        value_name = "recorded|SPEED",
        requires = "recording",
        hide_short_help = true
    )]
    pub(crate) pace: Option<Pace>,

    #[command(flatten)]
    pub(crate) cells: CellFlags,

    /// File systems on which page sizes are compared, such as ext4:4K,xfs:16K,here [default: here, the one
    /// of the storage]
    ///
    /// Each is made in a file on the storage and mounted for the experiment alone. That takes root's rights
    /// (docs/file-systems.md)
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["predict_first", "per_table"], hide_short_help = true)]
    pub(crate) file_systems: Option<FileSystems>,

    /// Maximum passes, which --budget does not cut. In a pass every page size executes the same transactions [default: as many
    /// as fit into the budget]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) passes: Option<u32>,

    #[command(flatten)]
    pub(crate) slices: SliceFlags,

    /// Skip calibrating the storage
    #[arg(long, hide_short_help = true)]
    pub(crate) no_calibrate: bool,

    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,

    /// Predict all cells once the storage is calibrated. Measure only those that may be best,
    /// and print predictions beside measurements
    #[arg(long, conflicts_with_all = ["no_calibrate", "device", "copy_of"], hide_short_help = true)]
    pub(crate) predict_first: bool,

    /// Compare with page sizes of tables and indexes of their own
    ///
    /// They are chosen among --page-sizes by what the workload's statements touch and what reads take here,
    /// and measured beside each single size (docs/per-table.md)
    #[arg(long, conflicts_with_all = ["copy_of", "predict_first"], hide_short_help = true)]
    pub(crate) per_table: bool,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) metrics: MetricsFlag,
}

/// What advise measures and predict predicts.
#[derive(Debug, Args)]
pub(crate) struct CellFlags {
    #[command(flatten)]
    pub(crate) workload: WorkloadFlags,

    /// Size of the data, from which the number of rows follows [default: 8 times the largest
    /// memory]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) data: Option<ByteCount>,

    #[command(flatten)]
    pub(crate) mix: MixFlags,

    #[arg(long, value_name = "SIZES", value_delimiter = ',', help = with_defaults(MEMORY, memories_of))]
    pub(crate) memory: Vec<ByteCount>,

    /// Sizes of the database's own cache to compare, as a list, none above
    /// the largest memory [default: the sizes given with --memory]
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(crate) cache: Vec<ByteCount>,

    #[arg(long, value_name = "SIZES", value_delimiter = ',', help = with_defaults(PAGE_SIZES, page_sizes_of))]
    pub(crate) page_sizes: Vec<PageSize>,

    #[arg(long, value_name = "N", help = with_defaults(CLIENTS, clients_of), value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: Option<u32>,

    #[command(flatten)]
    pub(crate) isolation: IsolationFlag,

    #[command(flatten)]
    pub(crate) random: SeedFlag,

    /// Differences up to this many percent count as ties
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 3.0,
        hide_short_help = true
    )]
    pub(crate) margin: f64,

    #[command(flatten)]
    pub(crate) system: SystemFlags,
}

#[derive(Debug, Args)]
#[command(
    mut_args(without_loaded_rows),
    mut_arg("device", |flag| device_help(flag, "The storage")),
    mut_arg("database", |flag| {
        let default = Registry::standard().default_kind().name;
        flag.help(format!("Database [default: {default}]"))
            .value_parser(predicted_name())
    }),
    // A screen has no room for them.
    mut_arg("script", |flag| flag.hide_short_help(true)),
    mut_arg("recording", |flag| flag.hide_short_help(true)),
    mut_arg("copy_of", |flag| {
        flag.conflicts_with_all(["data", "mix", "distribution"])
            .help("Your own file, instead of a workload")
            .long_help(format!(
                "A file of {}. Your statements run on private copies of it, one after the other, to \
                 record the pages that they refer to. Nothing of the file changes. Your present page \
                 size is what others are compared with",
                recorded_titles().join(" or "),
            ))
    }),
    mut_arg("memory", |flag| flag.help(with_predicted_defaults(MEMORY, memories_of))),
    mut_arg("page_sizes", |flag| flag.help(with_predicted_defaults(PAGE_SIZES, page_sizes_of))),
    mut_arg("clients", |flag| flag.help(with_predicted_defaults(CLIENTS, clients_of))),
    mut_arg("transactions", |flag| flag.help(format!(
        "Transactions that each page size executes in a pass, at whose end clients wait for each \
         other [default: {PREDICTED_SLICE}, without waiting]"
    ))),
    mut_arg("warm_up", |flag| flag.help(
        "Transactions of the warm-up [default: until the cache was full for as long as filling \
         took, or hardly misses, and misses fall no more]"
    )),
)]
pub(crate) struct PredictFlags {
    /// A new or empty directory for octavo.db and report.html, or that of an earlier prediction,
    /// which is replaced. Or a plan, as octavo run reads it
    #[arg(value_name = "DIRECTORY|PLAN", default_value = "octavo-prediction", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// The directory of a plan's predictions [default: octavo-NAME-predicted]
    #[arg(value_name = "DIRECTORY", value_parser = directory(), hide_short_help = true)]
    pub(crate) results: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceFlag,

    /// Predict part I of N of a plan, for machines that share the work; auto for the part that a
    /// scheduler gives
    ///
    /// Groups that are compared stay whole. One line of JSON says what became of it
    #[arg(long, value_name = "I/N|auto", requires = "into", conflicts_with_all = ["results", "json", "markdown", "verbose"],
        hide_short_help = true)]
    pub(crate) shard: Option<ShardFlag>,

    /// The directory in which each --shard makes one of its own
    #[arg(long, value_name = "DIR", requires = "shard", value_parser = directory(), hide_short_help = true)]
    pub(crate) into: Option<PathBuf>,

    /// Results of octavo advise with the same database and workload
    ///
    /// Its octavo.db or its directory. They give the processor's time, and the calibrated
    /// storage unless --device names another
    #[arg(long, value_name = "DIR")]
    pub(crate) calibrated_by: Option<PathBuf>,

    /// Double the flash drives of an array until the data fit
    #[arg(long, requires = "device", hide_short_help = true)]
    pub(crate) enlarge: bool,

    /// Predict a part of large data that stands for all of it
    ///
    /// As many times quicker, and some percent off (docs/predictions.md). With TPC-C and pgbench
    /// on servers whose buffer has 2 GiB or more
    #[arg(long, hide_short_help = true, conflicts_with_all = ["warm_up", "replacement", "copy_of"])]
    pub(crate) part: bool,

    /// What transactions take of processors, a file that octavo bench --cpu-catalog wrote
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["calibrated_by", "copy_of"],
        hide_short_help = true
    )]
    pub(crate) cpu: Option<PathBuf>,

    /// Processors that clients and database share [default: those of --machine, --cpu or
    /// --calibrated-by, else 2]
    #[arg(long, value_name = "N", hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: Option<u32>,

    /// The machine around the storage, for the energy of a transaction
    ///
    /// A name that octavo devices --machines lists, or the path of a file.
    /// Clients and database share its processors
    #[arg(long, value_name = "MACHINE", hide_short_help = true)]
    pub(crate) machine: Option<String>,

    #[command(flatten)]
    pub(crate) database: DatabaseFlag,

    #[command(flatten)]
    pub(crate) own: OwnFlags,

    #[command(flatten)]
    pub(crate) cells: CellFlags,

    /// Replacement policies to compare with the database's own, as a list, instead
    /// of page sizes; opt is the bound, and knows the future
    ///
    /// With one page size, the default unless --page-sizes says otherwise, and
    /// one --memory
    #[arg(hide_short_help = true, long, value_name = "NAMES", value_delimiter = ',', value_parser = policies(), conflicts_with = "copy_of")]
    pub(crate) replacement: Vec<NamedPolicy>,

    #[arg(long, value_name = "N", help = format!("Passes. In a pass every page size executes the same transactions [default: the plan's, or {PREDICTED_PASSES}]"),
        value_parser = clap::value_parser!(u32).range(8..=1_000_000), hide_short_help = true)]
    pub(crate) passes: Option<u32>,

    #[command(flatten)]
    pub(crate) slices: SliceFlags,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

/// A part of a plan; other processes carry out the rest.
#[derive(Debug, Args)]
pub(crate) struct PartFlags {
    /// Carry out one sitting of the plan, as one of many hosts
    ///
    /// Its number from 0, such as 7, 7/12 of 12, or several: 0-3/12. auto takes it from the
    /// environment that a scheduler gives (octavo docs fleet). Budget and passes are of each
    /// sitting. octavo merge brings sittings together
    #[arg(long, value_name = "N|auto", requires = "into", conflicts_with_all = ["directory", "dry_run"])]
    pub(crate) sitting: Option<Sittings>,

    /// Where a new directory is made for what this command carries out
    #[arg(long, value_name = "DIR", requires = "sitting", value_parser = directory())]
    pub(crate) into: Option<PathBuf>,

    /// What this host is called, where the system has the name of a container
    #[arg(
        long,
        value_name = "NAME",
        requires = "sitting",
        hide_short_help = true
    )]
    pub(crate) host: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("budget", |flag| flag.help("Total time, instead of the plan's")),
    mut_arg("device", |flag| device_help(
        flag,
        "Emulate this device under the databases of a plan that names no storages",
    )),
)]
pub(crate) struct RunFlags {
    /// The plan, a TOML file
    pub(crate) plan: PathBuf,

    /// Where to work: a new or empty directory, or that of the same plan to
    /// resume it. octavo.db and report.html stay there [default: octavo- and
    /// the plan's name without its ending]
    #[arg(value_parser = directory())]
    pub(crate) directory: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) part: PartFlags,

    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,

    #[command(flatten)]
    pub(crate) campaign: CampaignFlags,

    #[command(flatten)]
    pub(crate) device: DeviceFlag,

    /// Maximum passes, which the budget does not cut, instead of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) passes: Option<u32>,

    /// Calibrate the first storage before anything else
    #[arg(long)]
    pub(crate) calibrate: bool,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) metrics: MetricsFlag,
}

/// Help with the defaults that databases have.
fn with_defaults(text: &str, show: impl Fn(&Defaults) -> String) -> String {
    format!("{text} {}", defaults(&Registry::standard(), show))
}

/// The same of databases that can be predicted.
fn with_predicted_defaults(text: &str, show: impl Fn(&Defaults) -> String) -> String {
    let modeled = octavo_predict::Registry::standard().predictable();
    format!("{text} {}", defaults(&modeled, show))
}

const MEMORY: &str = "Memory that may hold data, as a list; the data is made 8 times the largest";
const PAGE_SIZES: &str = "Page sizes to compare, as a list, and the default";
const CLIENTS: &str = "Concurrent sessions";

fn memories_of(defaults: &Defaults) -> String {
    sizes(defaults.memories.iter().copied())
}

fn page_sizes_of(defaults: &Defaults) -> String {
    sizes(defaults.page_sizes.iter().map(|size| size.bytes()))
}

fn clients_of(defaults: &Defaults) -> String {
    defaults.clients.to_string()
}

fn minutes(time: Duration) -> String {
    format!("{}m", time.as_secs() / 60)
}
