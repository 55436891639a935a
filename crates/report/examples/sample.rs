//! Writes the report of made-up findings, to look at it.
//!
//! `cargo run -p octavo-report --example sample -- report.html` writes the
//! page and prints the terminal's report, 100 columns wide. `-- report.html predicted` has
//! the same findings predicted.

use std::process::ExitCode;

#[path = "../src/fixture.rs"]
mod fixture;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample FILE.html [predicted]");
        return ExitCode::from(2);
    };
    let mut findings = fixture::findings();
    if std::env::args_os()
        .nth(2)
        .is_some_and(|word| word == "predicted")
    {
        fixture::predict(&mut findings);
    }
    let report = octavo_report::findings(&findings);
    if let Err(error) = std::fs::write(&path, report.html()) {
        eprintln!("write {}: {error}", path.to_string_lossy());
        return ExitCode::FAILURE;
    }
    print!("{}", report.terminal(100, false));
    ExitCode::SUCCESS
}
