//! What is printed: results to the standard output, everything else to the
//! standard error. Names and reasons from files, flags and servers cannot act
//! on the terminal.

use std::io::{self, IsTerminal, Write, stdout};

use anyhow::Context;
use octavo_experiment::findings::Findings;
use octavo_report::{Document, visible};

use crate::failure::Failure;

/// Prints findings: the answer alone, or with all tables.
pub(crate) fn findings(findings: &Findings, json: bool, verbose: bool) -> Result<(), Failure> {
    result_in_depth(
        json,
        verbose,
        || octavo_report::findings_json(findings),
        || octavo_report::findings(findings),
    )
}

/// Prints a result as JSON or as text for this terminal.
pub(crate) fn result(
    as_json: bool,
    json: impl FnOnce() -> String,
    document: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    result_in_depth(as_json, false, json, document)
}

/// Prints a result as JSON or as text for this terminal, of that all tables if `verbose`.
pub(crate) fn result_in_depth(
    as_json: bool,
    verbose: bool,
    json: impl FnOnce() -> String,
    document: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    if as_json {
        return text(&format!("{}\n", json()));
    }
    let (width, color) = screen();
    write(&match verbose {
        true => document().verbose(width, color),
        false => document().terminal(width, color),
    })
}

/// Prints a value as JSON.
pub(crate) fn value(value: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).context("write as JSON")?;
    text(&format!("{json}\n"))
}

/// Prints text.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    write(&visible(text))
}

/// Prints to the standard error. Nobody needs to read it.
pub(crate) fn aside(line: &str) {
    let _unheard = writeln!(io::stderr(), "{}", visible(line));
}

/// A reader who has seen enough is no error.
fn write(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Fault(
            anyhow::Error::from(error).context("write to the standard output"),
        )),
        _ => Ok(()),
    }
}

/// The width of the terminal in columns (100 in a pipe), and whether it shows
/// colors.
fn screen() -> (usize, bool) {
    let out = stdout();
    let color = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = rustix::termios::tcgetwinsize(&out)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(100);
    (width, color)
}
