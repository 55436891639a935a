//! Flags of octavo plan.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::samples::{Sample, samples};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PlanFlags {
    #[command(subcommand)]
    pub(crate) command: Option<PlanCommand>,

    /// The plan to print [default: a list of all]
    #[arg(value_name = "NAME", value_parser = samples())]
    pub(crate) sample: Option<&'static Sample>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Read a plan as octavo run does, and change nothing
    Check(PlanCheckFlags),
}

#[derive(Debug, Args)]
pub(crate) struct PlanCheckFlags {
    /// The plan
    #[arg(value_name = "FILE")]
    pub(crate) plan: PathBuf,
}
