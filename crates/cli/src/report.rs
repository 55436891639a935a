//! `octavo report`: prints a store's findings again.

use std::{
    fs,
    io::{IsTerminal, stdout},
    path::Path,
};

use anyhow::{Context, anyhow};
use octavo_experiment::{
    directory::STORE,
    findings::Findings,
    store::{Store, StoreError},
};

use crate::{Failure, flags::ReportFlags};

pub(crate) fn report(flags: ReportFlags) -> Result<(), Failure> {
    let path = if flags.directory.is_dir() {
        flags.directory.join(STORE)
    } else {
        flags.directory.clone()
    };
    let store = Store::open(&path).map_err(refused)?;
    let findings = Findings::of(&store).map_err(refused)?.ok_or_else(|| {
        Failure::Input(anyhow!(
            "{} holds no plan yet: run 'octavo advise' first",
            path.display()
        ))
    })?;
    if let Some(page) = &flags.html {
        write(page, &octavo_report::html(&findings))?;
    }
    if flags.json {
        println!("{}", octavo_report::json(&findings));
    } else {
        let (width, colour) = screen();
        print!("{}", octavo_report::terminal(&findings, width, colour));
    }
    Ok(())
}

fn refused(error: StoreError) -> Failure {
    Failure::Input(error.into())
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, text)
        .and_then(|()| fs::rename(&unfinished, path))
        .with_context(|| format!("write {}", path.display()))
        .map_err(Failure::Fault)
}

/// The width of the terminal in columns (100 in a pipe), and whether it shows
/// colours.
pub(crate) fn screen() -> (usize, bool) {
    let out = stdout();
    let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = rustix::termios::tcgetwinsize(&out)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(100);
    (width, colour)
}
