//! `octavo check`: flags to a call, and what is printed.

use anyhow::anyhow;
use octavo_experiment::{check::check as check_dataset, dataset::Dataset, own};

use crate::{
    failure::Failure,
    flags::CheckFlags,
    load::{RequestedDatabase, failure},
    print,
    workload::{build, for_check},
};

pub(crate) fn check(flags: CheckFlags) -> Result<(), Failure> {
    let loaded = Dataset::open(&flags.directory).map_err(failure)?;
    let manifest = loaded.manifest();
    let chosen = RequestedDatabase::from_flags(None, &flags.system, Some(manifest))?;
    let (workload, last) = match &manifest.copy_of {
        Some(copy) => {
            let of_copy = || build(&own::at_rest(copy, chosen.database.as_ref()));
            (of_copy()?, of_copy()?)
        }
        None => (
            for_check(manifest, None)?,
            for_check(manifest, loaded.last_mix().as_deref())?,
        ),
    };
    let result = check_dataset(
        &loaded,
        chosen.database.as_ref(),
        workload.as_ref(),
        last.as_ref(),
    );
    print::result(
        flags.format,
        || octavo_report::json(&result),
        || octavo_report::check(&result),
    )?;
    let directory = flags.directory.display();
    match result.unchecked() {
        _ if result.is_sound() => Ok(()),
        None => Err(Failure::Fault(anyhow!("{directory} is not sound"))),
        Some(_) => Err(Failure::Fault(anyhow!(
            "{directory} is not checked: no space left; free some space and run the same command \
             again"
        ))),
    }
}
