//! `octavo merge`: stores of parts to one, and what is said of it.

use octavo_experiment::fleet::merge;

use crate::{failure::Failure, flags::MergeFlags, print, shell};

pub(crate) fn run(flags: MergeFlags) -> Result<(), Failure> {
    let merged = merge(&flags.into, &flags.stores).map_err(|error| {
        let is_bad_input = error.is_bad_input();
        Failure::classified(error, is_bad_input)
    })?;
    for unread in &merged.unread {
        print::aside(&format!(
            "octavo: left out: {}; merge again once it can be read",
            unread.reason
        ));
    }
    if merged.parts.is_empty() {
        return Err(Failure::Input(anyhow::anyhow!(
            "nothing to merge: none of {} stores has a part of a plan",
            flags.stores.len()
        )));
    }
    print::result(
        flags.format,
        || octavo_report::json(&merged),
        || {
            let report = format!("octavo report {}", shell::word(&flags.into));
            octavo_report::merged(&merged).closing(vec![format!("Report: {report}")])
        },
    )
}
