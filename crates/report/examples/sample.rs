//! Writes the report of made-up findings, to look at it.
//!
//! `cargo run -p octavo-report --example sample -- report.html` writes the
//! page and prints the terminal's report, 100 columns wide.

use std::process::ExitCode;

#[path = "../src/fixture.rs"]
mod fixture;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample FILE.html");
        return ExitCode::from(2);
    };
    let report = octavo_report::findings(&fixture::findings());
    if let Err(error) = std::fs::write(&path, report.html()) {
        eprintln!("write {}: {error}", path.to_string_lossy());
        return ExitCode::FAILURE;
    }
    print!("{}", report.terminal(100, false));
    ExitCode::SUCCESS
}
