//! The `octavo` command: flags to settings to a call.
//!
//! Exit codes: 0 when done, 1 when something failed, 2 when the input was
//! bad and nothing was changed, 130 when interrupted.

mod advise;
mod bench;
mod calibrate;
mod check;
mod compare;
mod devices;
mod emulate;
mod failure;
mod flags;
mod interrupt;
mod load;
mod outcome;
mod progress;
mod report;
mod run;
mod system;
mod watcher;
mod workload;

use std::process::ExitCode;

use clap::Parser;

use failure::Failure;
use flags::{Command, Flags};

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) if error.use_stderr() => {
            eprintln!("octavo: {}", one_line(&error.to_string()));
            return ExitCode::from(2);
        }
        // Help and version were asked for.
        Err(error) => error.exit(),
    };
    let result = match flags.command {
        Command::Advise(flags) => advise::advise(flags),
        Command::Run(flags) => run::run(flags),
        Command::Calibrate(flags) => calibrate::calibrate(flags),
        Command::Devices(flags) => devices::devices(flags),
        Command::Emulate(flags) => emulate::emulate(flags),
        Command::Report(flags) => report::report(flags),
        Command::Compare(flags) => compare::compare(flags),
        Command::Load(flags) => load::load(flags),
        Command::Bench(flags) => bench::bench(flags),
        Command::Check(flags) => check::check(flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(error)) => {
            eprintln!("octavo: {error:#}");
            ExitCode::from(2)
        }
        Err(Failure::Fault(error)) => {
            eprintln!("octavo: {error:#}");
            ExitCode::FAILURE
        }
        Err(Failure::Interrupted(next)) => {
            eprintln!("octavo: interrupted; {next}");
            ExitCode::from(130)
        }
    }
}

/// What clap says of bad flags, on one line: its message, its tip, and where
/// more is. Without any command its text is the help, which is printed whole.
fn one_line(text: &str) -> String {
    let Some(text) = text.strip_prefix("error: ") else {
        return text.to_owned();
    };
    let lines = text.lines().map(str::trim);
    let message: Vec<&str> = lines.clone().take_while(|line| !line.is_empty()).collect();
    let tip = lines.filter_map(|line| line.strip_prefix("tip: ")).next();
    let tip = tip.map_or_else(String::new, |tip| match similar(tip) {
        Some(name) => format!("; did you mean {name}?"),
        None => format!("; {tip}"),
    });
    let message = message
        .join(" ")
        .replace("unrecognized subcommand", "no command");
    if tip.is_empty() {
        format!("{message}; see octavo --help")
    } else {
        message + &tip
    }
}

/// The most similar name of those that a tip of clap suggests, which is its
/// last.
fn similar(tip: &str) -> Option<&str> {
    let (_, names) = tip.split_once(" exist")?;
    let (_, names) = names.split_once(": ")?;
    names.rsplit(", ").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[&str]) -> String {
        let arguments = ["octavo"].iter().chain(arguments);
        one_line(&Flags::try_parse_from(arguments).unwrap_err().to_string())
    }

    #[test]
    fn bad_flags_are_one_line_with_the_tip() {
        assert_eq!(
            said(&["advice"]),
            "no command 'advice'; did you mean 'advise'?"
        );
        assert_eq!(
            said(&["advise", "--page-size=4K"]),
            "unexpected argument '--page-size' found; did you mean '--page-sizes'?"
        );
        assert_eq!(
            said(&["calibrate"]),
            "the following required arguments were not provided: <DIRECTORY>; see octavo --help"
        );
        let unknown = said(&["advise", "--database=postgrs"]);
        assert!(unknown.contains("did you mean 'postgres'?"), "{unknown}");
        assert!(!unknown.contains('\n'), "{unknown}");
    }
}
