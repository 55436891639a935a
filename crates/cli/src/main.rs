//! The `octavo` command: flags to settings to a call.
//!
//! Exit codes: 0 when done, 1 when something failed, 2 when the input was
//! bad and nothing was changed, 3 when a result is what `--fail-if` says and when a part of a plan
//! is kept that was interrupted, 4 when `--fail-if` does not tell, 130 when interrupted.

mod ab;
mod advise;
mod bench;
mod calibrate;
mod check;
mod compare;
mod curve;
mod defaults;
mod devices;
mod documents;
mod emulate;
mod failure;
mod file_system;
mod flags;
mod fleet;
mod guide;
mod hold;
mod host;
mod interrupt;
mod limits;
mod load;
mod manual;
mod merge;
mod metrics;
mod modeled;
mod outcome;
mod output;
mod part;
mod per_table;
mod plans;
mod predict;
mod print;
mod progress;
#[cfg(test)]
mod reference;
mod report;
mod reproduce;
mod run;
mod samples;
mod shell;
mod sitting;
mod system;
mod usage;
mod value;
mod version;
mod watcher;
mod workload;

use std::process::ExitCode;

use failure::Failure;
use flags::Command;

fn main() -> ExitCode {
    limits::widen();
    let arguments: Vec<_> = std::env::args_os().collect();
    if version::is_wanted(arguments.get(1..).unwrap_or_default()) {
        return end(version::verbose());
    }
    let arguments = match defaults::complete(arguments) {
        Ok(arguments) => arguments,
        Err(failure) => return end(Err(failure)),
    };
    let flags = match guide::parse(arguments) {
        Ok(flags) => flags,
        Err(error) if error.use_stderr() => {
            print::aside(&format!("octavo: {}", usage::complaint(&error, arguments)));
            return ExitCode::from(2);
        }
        // Help and version were asked for.
        Err(error) => error.exit(),
    };
    let result = match flags.command {
        Command::Advise(flags) => advise::advise(flags),
        Command::Run(flags) => run::run(flags),
        Command::Plan(flags) => plans::plan(flags),
        Command::Fleet(flags) => fleet::fleet(flags),
        Command::Calibrate(flags) => calibrate::calibrate(flags),
        Command::Devices(flags) => devices::devices(flags),
        Command::Emulate(flags) => emulate::emulate(flags),
        Command::Lead(flags) => emulate::lead(&flags),
        Command::Host => host::host(),
        Command::Hold(flags) => hold::hold(&flags),
        Command::Predict(flags) => predict::predict(flags),
        Command::Reproduce(flags) => reproduce::reproduce(flags),
        Command::Report(flags) => report::report(flags),
        Command::Compare(flags) => compare::compare(flags),
        Command::Merge(flags) => merge::run(flags),
        Command::Ab(flags) => ab::ab(flags),
        Command::Value(flags) => value::value(flags),
        Command::Curve(flags) => curve::curve(&flags),
        Command::Load(flags) => load::load(flags),
        Command::Bench(flags) => bench::bench(flags),
        Command::Check(flags) => check::check(flags),
        Command::Docs(flags) => documents::docs(flags.document),
        Command::Man(flags) => manual::man(&flags),
        Command::Completions(flags) => manual::completions(&flags),
    };
    end(result)
}

/// Prints what went wrong. The exit code is for scripts.
fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(error)) => {
            print::aside(&format!("octavo: {error:#}"));
            ExitCode::from(2)
        }
        Err(Failure::Fault(error)) => {
            print::aside(&format!("octavo: {error:#}"));
            ExitCode::FAILURE
        }
        Err(Failure::Met(what) | Failure::Incomplete(what)) => {
            print::aside(&format!("octavo: {what}"));
            ExitCode::from(3)
        }
        Err(Failure::Undecided(what)) => {
            print::aside(&format!("octavo: {what}"));
            ExitCode::from(4)
        }
        Err(Failure::Interrupted(next)) => {
            print::aside(&format!("octavo: interrupted; {next}"));
            ExitCode::from(130)
        }
    }
}
