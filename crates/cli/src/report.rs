//! `octavo report`: prints a store's findings again.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use octavo_experiment::{directory::STORE, findings::Findings, store::Store};
use octavo_report::Document;

use crate::{failure::Failure, flags::ReportFlags};

pub(crate) fn report(flags: ReportFlags) -> Result<(), Failure> {
    let findings = findings(&flags.directory)?;
    if let Some(page) = &flags.html {
        let text = octavo_report::findings(&findings).html();
        keep_foreign(page, "a report of Octavo", |found| {
            found.starts_with("<!DOCTYPE html>") && found.contains("Measured by Octavo")
        })?;
        write(page, &text)?;
    }
    show_findings(&findings, flags.json, flags.verbose)
}

/// Prints findings: the answer alone, or with all tables.
pub(crate) fn show_findings(findings: &Findings, json: bool, verbose: bool) -> Result<(), Failure> {
    if json {
        return print(&format!("{}\n", octavo_report::findings_json(findings)));
    }
    let (width, color) = screen();
    let document = octavo_report::findings(findings);
    print(&if verbose {
        document.verbose(width, color)
    } else {
        document.terminal(width, color)
    })
}

/// Prints a result as JSON or as text for this terminal.
pub(crate) fn show(
    as_json: bool,
    json: impl FnOnce() -> String,
    document: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    if as_json {
        return print(&format!("{}\n", json()));
    }
    let (width, color) = screen();
    print(&document().terminal(width, color))
}

/// What the store at `path`, or in the directory `path`, says.
pub(crate) fn findings(path: &Path) -> Result<Findings, Failure> {
    let path = if path.is_dir() {
        path.join(STORE)
    } else {
        path.to_owned()
    };
    let store = Store::open(&path).map_err(Failure::input)?;
    Findings::of(&store)
        .map_err(Failure::input)?
        .ok_or_else(|| {
            Failure::Input(anyhow!(
                "{} holds no plan yet; repeat the command that made it",
                path.display()
            ))
        })
}

/// Refuses to overwrite an existing file unless it is `ours`, which is `what`.
pub(crate) fn keep_foreign(
    path: &Path,
    what: &str,
    ours: impl FnOnce(&str) -> bool,
) -> Result<(), Failure> {
    let found = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found,
    };
    // What cannot be read, or is no text, is somebody else's.
    if found.is_ok_and(|bytes| str::from_utf8(&bytes).is_ok_and(ours)) {
        return Ok(());
    }
    Err(Failure::Input(anyhow!(
        "{} exists and is not {what}; name another file",
        path.display()
    )))
}

/// Prints to the standard output. A reader who has seen enough is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Fault(
            anyhow::Error::from(error).context("write to the standard output"),
        )),
        _ => Ok(()),
    }
}

/// Prints a value as JSON to the standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .context("write as JSON")
        .map_err(Failure::Fault)?;
    print(&format!("{text}\n"))
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let unfinished = unfinished(path);
    let written = File::create_new(&unfinished).and_then(|mut file| {
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| fs::rename(&unfinished, path));
        written.inspect_err(|_| {
            // It is ours, and of no use; the first error is the one to tell.
            let _removed = fs::remove_file(&unfinished);
        })
    });
    written
        .with_context(|| format!("write {}", path.display()))
        .map_err(Failure::Fault)
}

/// Where a file is written until it is whole: beside its place.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".octavo-{}", std::process::id()));
    unfinished.into()
}

/// Refuses a file that could not be written.
pub(crate) fn probe(path: &Path) -> Result<(), Failure> {
    let unfinished = unfinished(path);
    File::create_new(&unfinished)
        .and_then(|_| fs::remove_file(&unfinished))
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(Failure::Input)
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
