//! Flags of octavo ab.

use std::{path::PathBuf, str::FromStr};

use clap::Args;

use super::{
    experiment::CellFlags,
    own::OwnFlags,
    shared::{
        CampaignFlags, DatabaseFlag, DeviceFlag, DryRunFlag, FailIfFlag, SliceFlags, device_help,
        directory,
    },
};
use crate::{
    metrics::MetricsFlag, print::PrintFlags, progress::ProgressFlags, workload::without_loaded_rows,
};

#[derive(Debug, Args)]
#[command(
    mut_args(without_loaded_rows),
    mut_arg("budget", |flag| flag.help("Total time: a third of it at most for A beside itself [default: 10m]")),
    mut_arg("device", |flag| device_help(
        flag,
        "Emulate this device under the database, instead of the storage here",
    ).hide_short_help(true)),
    mut_arg("page_sizes", |flag| flag.value_name("SIZE").help("Page size of both [default: the database's own]").hide_short_help(true)),
    mut_arg("memory", |flag| flag.value_name("SIZE").help(
        "Memory of both that may hold data [default: the largest that octavo advise has, of your own file \
         its cache or what holds a ninth of it]",
    ).hide_short_help(true)),
    mut_arg("cache", |flag| flag.value_name("SIZE").help("Size of the cache of both, at most the memory")),
    mut_arg("fail_if", |flag| flag.help(
        "End with exit code 3 where B is 'slower > 5%' or 'faster > 5%' than A, and with 4 where that \
         is not decided or A differs from itself",
    )),
    mut_arg("copy_of", |flag| flag.conflicts_with_all(["data", "mix", "distribution"])),
)]
pub(crate) struct AbFlags {
    /// Where to work: a new directory, or that of the same comparison to resume it
    #[arg(default_value = "octavo-ab", value_parser = directory())]
    pub(crate) directory: PathBuf,

    /// What A is: an option of the database, page-size, memory or clients, with its value
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) a: Setting,

    /// What B is: the same key with another value
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) b: Setting,

    #[command(flatten)]
    pub(crate) fail_if: FailIfFlag,

    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,

    #[command(flatten)]
    pub(crate) campaign: CampaignFlags,

    #[command(flatten)]
    pub(crate) device: DeviceFlag,

    #[command(flatten)]
    pub(crate) database: DatabaseFlag,

    #[command(flatten)]
    pub(crate) own: OwnFlags,

    #[command(flatten)]
    pub(crate) cells: CellFlags,

    /// Maximum passes of each comparison, which --budget does not cut [default: as many as fit into the budget]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) passes: Option<u32>,

    #[command(flatten)]
    pub(crate) slices: SliceFlags,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,

    #[command(flatten)]
    pub(crate) metrics: MetricsFlag,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("write KEY=VALUE, such as page-size=8K or journal-mode=wal"),
        }
    }
}
