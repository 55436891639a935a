//! `octavo merge`: stores of parts to one, and what is said of it.

use octavo_database::leave_memory_uncounted;
use octavo_experiment::merge::{MergeError, merge};

use crate::{failure::Failure, flags::MergeFlags, interrupt::Interrupt, print, shell};

pub(crate) fn run(flags: MergeFlags) -> Result<(), Failure> {
    // Its threads read a store each.
    leave_memory_uncounted();
    let interrupt = Interrupt::listen()?;
    let flow = || interrupt.flow();
    let merged = merge(&flags.into, &flags.stores, &flow).map_err(|error| match error {
        MergeError::Stopped => Failure::Interrupted("nothing was merged: run it again".into()),
        error => {
            let is_bad_input = error.is_bad_input();
            Failure::classified(error, is_bad_input)
        }
    })?;
    for unread in &merged.unread {
        print::aside(&format!(
            "octavo: left out {}: {}",
            unread.store.display(),
            unread.reason
        ));
    }
    if merged.parts.is_empty() {
        return Err(Failure::Input(anyhow::anyhow!(
            "nothing to merge: none of {} stores has a part of a plan",
            flags.stores.len()
        )));
    }
    let unread = merged.unread.len();
    print::result(
        flags.format,
        || octavo_report::json(&merged),
        || {
            let report = format!("octavo report {}", shell::word(&flags.into));
            octavo_report::merged(&merged).closing(vec![format!("Report: {report}")])
        },
    )?;
    match unread {
        0 => Ok(()),
        1 => Err(Failure::Incomplete("1 store was left out".into())),
        stores => Err(Failure::Incomplete(format!(
            "{stores} stores were left out"
        ))),
    }
}
