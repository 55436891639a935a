//! `octavo report`: prints a store's findings again.

use std::path::Path;

use anyhow::anyhow;
use octavo_experiment::{directory::STORE, findings::Findings, store::Store};

use crate::{failure::Failure, flags::ReportFlags, output, print};

pub(crate) fn report(flags: ReportFlags) -> Result<(), Failure> {
    let findings = findings(&flags.directory)?;
    if let Some(page) = &flags.html {
        let text = octavo_report::findings(&findings).html();
        output::keep_foreign_page(page)?;
        output::write(page, &text)?;
    }
    print::findings(&findings, flags.json, flags.verbose, Vec::new())
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
