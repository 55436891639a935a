//! A process of Octavo's own in which one database of an experiment works.

use std::{
    io::{self, BufReader},
    path::PathBuf,
};

use anyhow::Context as _;

use crate::failure::Failure;

/// What an experiment starts; it talks to that on its standard input and output.
pub(crate) fn host() -> Result<(), Failure> {
    let served = octavo_experiment::apart::serve(BufReader::new(io::stdin()), io::stdout());
    // Nobody else gets here.
    let served = served.context("octavo starts this command itself, for an experiment");
    served.map_err(Failure::Input)
}

/// This program, as it is started once more for a device or a database.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    Ok(std::env::current_exe().context("find octavo itself")?)
}
