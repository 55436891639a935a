//! Runs the real binary: one module a behaviour.

mod advise;
mod bad_input;
mod bench;
mod curve;
mod devices;
mod disk_full;
mod documented;
mod emulate;
mod energy;
mod external;
mod file_systems;
mod fleet;
mod itself;
mod key_value;
mod kill_and_resume;
mod mapped;
mod metrics;
mod outages;
mod outside;
mod own;
mod own_predicted;
mod own_servers;
mod parts;
mod per_table;
mod plans;
mod predict;
mod pull_request;
mod ramps;
mod reproduce;
mod rocksdb;
mod run;
mod schema;
mod servers;
mod value;

use std::{
    ops::RangeInclusive,
    path::Path,
    process::{Command, Output},
};

/// The binary under test.
fn octavo() -> Command {
    Command::new(env!("CARGO_BIN_EXE_octavo"))
}

/// Passes of [`small_advise`].
const PASSES: usize = 12;

/// How many are made: slow ones are left out, and made up for as long as these are no more
/// than that.
const PASSES_MADE: RangeInclusive<usize> = PASSES..=2 * PASSES;

/// A small advise whose passes, slices and warm-up are numbers of transactions,
/// so that its counts do not depend on any clock.
fn small_advise(directory: &Path) -> Command {
    let mut command = advise_in_passes(directory);
    command.arg("--warehouses=1");
    command
}

/// The same on rows that are loaded in a moment, where it does not matter which.
fn tiny_advise(directory: &Path) -> Command {
    let mut command = advise_in_passes(directory);
    command.args(["--workload=ycsb-a", "--records=10000"]);
    command
}

fn advise_in_passes(directory: &Path) -> Command {
    let mut command = octavo();
    command.arg("advise").arg(directory).args([
        "--memory=1MiB,4MiB",
        "--page-sizes=4K,16K",
        &format!("--passes={PASSES}"),
        "--transactions=40",
        "--warm-up=100",
        "--no-calibrate",
    ]);
    command
}

/// What a command said on stderr, from its first own complaint on: a slow machine may have
/// been told of progress before.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let begin = match said.starts_with("octavo: ") {
        true => Some(0),
        false => said.find("\noctavo: "),
    };
    said[begin.unwrap_or(0)..].trim().to_owned()
}

/// Runs a command, with its directory before the other arguments, that has to
/// be refused with exit code 2 and one line with all of these words.
#[track_caller]
fn refused(arguments: &[&str], directory: &Path, named: &[&str]) {
    let output = octavo()
        .arg(arguments[0])
        .arg(directory)
        .args(&arguments[1..])
        .output()
        .unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(output.stdout.is_empty());
    for word in named {
        assert!(complaint.contains(word), "{word} in: {complaint}");
    }
}
