//! Flags of the commands that read results: report, compare, value and reproduce.

use std::{ffi::OsStr, path::PathBuf, str::FromStr};

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use octavo_device::catalog::as_file;
use octavo_experiment::{
    prices::{Currency, MemoryPrice, Price, PriceError, StoragePrice},
    value::Demand,
};
use octavo_units::{RateError, parse_duration};

use super::shared::{CampaignFlags, FailIfFlag, directory};
use crate::{
    output::PageFlag,
    print::{FormatFlag, MarkdownFlag, PrintFlags},
    progress::ProgressFlags,
};

#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// The directory of an earlier advise, run or predict, or its octavo.db
    #[arg(default_value = "octavo-advice", value_parser = directory())]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) page: PageFlag,

    /// Write the cells to this file as well, a row each, for spreadsheets, pandas and DuckDB
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) print: PrintFlags,
}

#[derive(Debug, Args)]
#[command(mut_arg("fail_if", |flag| flag.help(
    "End with exit code 3 where a cell of the second is 'slower > 5%' or 'faster > 5%', and with 4 \
     where that is not decided",
)))]
pub(crate) struct CompareFlags {
    /// The directory of an earlier advise, run or predict, or its octavo.db
    pub(crate) first: PathBuf,

    /// Another one, to compare with the first
    pub(crate) second: PathBuf,

    #[command(flatten)]
    pub(crate) fail_if: FailIfFlag,

    #[command(flatten)]
    pub(crate) markdown: MarkdownFlag,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
}

#[derive(Debug, Args)]
pub(crate) struct MergeFlags {
    /// A new or empty directory for octavo.db, or that of an earlier merge of the same plan, to
    /// which is added
    #[arg(value_parser = directory())]
    pub(crate) into: PathBuf,

    /// Stores of octavo run --sitting or octavo predict --shard, or their directories
    #[arg(required = true, value_name = "STORE")]
    pub(crate) stores: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
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

    /// Price of the machine alone, or of merged hosts that are like HOST
    #[arg(long, value_name = "[HOST=]PRICE", allow_hyphen_values = true)]
    pub(crate) machine_price: Vec<NamedPrice<Price>>,

    /// Price of a storage, or of one of several: 600 or '0.08/GB for 500GB'
    #[arg(long, value_name = "[STORAGE=]PRICE", allow_hyphen_values = true)]
    pub(crate) storage_price: Vec<NamedPrice<StoragePrice>>,

    /// Apply the five-minute rule to this device of octavo devices or a file too
    #[arg(long, value_name = "DEVICE=PRICE", allow_hyphen_values = true)]
    pub(crate) device: Vec<NamedPrice<StoragePrice>>,

    /// Name the cheapest that does so much, 99% of it within TIME: 500/s,20ms
    #[arg(long, value_name = "RATE[,TIME]", value_parser = demand)]
    pub(crate) hold: Option<Demand>,

    /// Buy the memory of the results this many times: 1024 where each MiB stands for a GiB
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub(crate) times: f64,

    /// Currency of all prices, such as EUR or $
    #[arg(long, value_name = "NAME")]
    pub(crate) currency: Option<Currency>,

    #[command(flatten)]
    pub(crate) page: PageFlag,

    #[command(flatten)]
    pub(crate) print: PrintFlags,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("budget", |flag| {
        flag.help("Time for measuring, building programs included [default: 35m]")
            .requires("measure")
    }),
    mut_arg("keep_data", |flag| flag.requires("measure")),
)]
pub(crate) struct ReproduceFlags {
    /// The study, all of them, or the path of a file in the format of those in studies/
    #[arg(value_name = "STUDY", value_parser = StudyParser)]
    pub(crate) study: String,

    /// Measure here what its database can repeat, with the same ratio of data to buffer.
    /// Results stay in --directory, and --html shows them in a later call
    #[arg(long, conflicts_with = "html")]
    pub(crate) measure: bool,

    /// Scale of the measured rows (warehouses, or pgbench's scale); memory
    /// follows it
    #[arg(long, value_name = "N", requires = "measure", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) measured_scale: Option<u64>,

    #[command(flatten)]
    pub(crate) campaign: CampaignFlags,

    /// Where measurements are kept, in a directory for each study
    #[arg(long, value_name = "DIR", default_value = "octavo-studies", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// Predict again with each constant 20% smaller and larger, and print the effect on the
    /// score
    #[arg(long)]
    pub(crate) sensitivity: bool,

    #[command(flatten)]
    pub(crate) page: PageFlag,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

/// Stands for all studies.
pub(crate) const ALL_STUDIES: &str = "all";

/// The studies' names, one for all of them, and paths of files.
#[derive(Clone)]
struct StudyParser;

impl StudyParser {
    fn names() -> PossibleValuesParser {
        octavo_study::names().chain([ALL_STUDIES]).into()
    }
}

impl TypedValueParser for StudyParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str().filter(|text| as_file(text).is_some()) {
            Some(path) => Ok(path.to_owned()),
            None => Self::names().parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = octavo_study::names().chain([ALL_STUDIES]);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// Reads `500/s` or `500/s,20ms`.
fn demand(text: &str) -> Result<Demand, String> {
    let (rate, p99) = match text.split_once(',') {
        Some((rate, p99)) => (rate, Some(p99.trim())),
        None => (text, None),
    };
    let p99 = p99.map(parse_duration).transpose();
    Ok(Demand {
        rate: rate.parse().map_err(|error: RateError| error.to_string())?,
        p99: p99.map_err(|error| error.to_string())?,
    })
}

/// A storage, device or host with its price.
#[derive(Clone, Debug)]
pub(crate) struct NamedPrice<P> {
    /// Empty where none is given.
    pub(crate) name: String,
    /// What it costs.
    pub(crate) price: P,
}

impl<P: FromStr<Err = PriceError>> FromStr for NamedPrice<P> {
    type Err = PriceError;

    /// Reads `NAME=PRICE` or `PRICE`; a path may have `=` in it, a price not.
    fn from_str(text: &str) -> Result<Self, PriceError> {
        let (name, price) = text.rsplit_once('=').unwrap_or(("", text));
        Ok(Self {
            name: name.trim().to_owned(),
            price: price.parse()?,
        })
    }
}
