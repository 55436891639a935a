//! Flags of curve.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use octavo_buffer::{
    Keep, NamedPolicy,
    trace_file::{Columns, Format},
};
use octavo_units::{ByteCount, PageSize};

use super::shared::SeedFlag;
use crate::{output::PageFlag, print::PrintFlags, progress::ProgressFlags};

#[derive(Debug, Args)]
pub(crate) struct CurveFlags {
    /// Files of requests, read in order as one trace: libCacheSim's oracleGeneral or CSV, MSR
    /// Cambridge, ARC's .lis, or the text of blkparse
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// Page sizes, as a list. Larger ones join neighboring blocks. A trace of objects has one
    /// page size: each object counts as a page
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "4K"
    )]
    pub(crate) page_sizes: Vec<PageSize>,

    /// Buffer sizes of the tables, as a list [default: powers of two up to all
    /// pages]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) memory: Vec<ByteCount>,

    /// Replacement policies, as a list. LRU covers all buffer sizes; the others are simulated
    /// with the sizes of the tables. No policy misses less than opt
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "lru,opt",
        value_parser = policies())]
    pub(crate) policy: Vec<NamedPolicy>,

    /// Sample this share of the pages, such as 0.01; auto takes all pages, or as
    /// many as fit into about 300 MiB [default: all pages]
    #[arg(long, value_name = "RATE|auto", value_parser = keep)]
    pub(crate) sample: Option<Keep>,

    /// Format of the files [default: by their content]
    #[arg(long, value_name = "NAME", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// Columns of CSV files without a header, such as time,id,size; or offset (in
    /// bytes) or lbn (in sectors) instead of id, and op
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Option<Columns>,

    /// Which of blkparse's events count: Q queued, D issued, C completed
    #[arg(long, value_name = "ACTION", default_value = "Q")]
    pub(crate) action: String,

    #[command(flatten)]
    pub(crate) random: SeedFlag,

    #[command(flatten)]
    pub(crate) page: PageFlag,

    #[command(flatten)]
    pub(crate) print: PrintFlags,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

/// Reads the name of a replacement policy.
pub(super) fn policies() -> impl TypedValueParser<Value = NamedPolicy> {
    PossibleValuesParser::new(NamedPolicy::ALL.map(NamedPolicy::name))
        .try_map(|name| name.parse::<NamedPolicy>())
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Reads a share or `auto`.
fn keep(text: &str) -> Result<Keep, &'static str> {
    match text.parse::<f64>() {
        _ if text == "auto" => Ok(Keep::Fitting),
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(Keep::Share(rate)),
        _ => Err("write auto, or a share above 0 and at most 1 such as 0.01"),
    }
}
