//! `octavo advise`: flags to settings, the call, and what is printed.

use anyhow::anyhow;
use octavo_database::JournalMode;
use octavo_experiment::{
    advise::{AdviseSettings, advise as run},
    plan::{RunLength, System},
};

use crate::{
    Failure,
    flags::{AdviseFlags, AdviseWorkload, DatabaseName},
    outcome,
    watcher::Watcher,
};

pub(crate) fn advise(flags: AdviseFlags) -> Result<(), Failure> {
    let settings = settings(&flags)?;
    let watcher = Watcher::new()?;
    let result = run(&settings, &watcher);
    watcher.finish();
    let findings = result.map_err(|error| outcome::failure(error, &flags.directory))?;
    outcome::publish(&findings, &flags.directory, flags.json)
}

fn settings(flags: &AdviseFlags) -> Result<AdviseSettings, Failure> {
    let AdviseWorkload::Tpcc = flags.workload;
    let DatabaseName::Sqlite = flags.database;
    let journal_mode = JournalMode::from(flags.journal_mode);
    let system = System::new(
        "sqlite",
        vec![("journal-mode".into(), journal_mode.name().into())],
    )
    .map_err(|error| Failure::Input(error.into()))?;
    let largest = flags.memory.iter().copied().max();
    if let (Some(largest), Some(cache)) = (largest, flags.cache.iter().copied().max())
        && cache > largest
    {
        return Err(Failure::Input(anyhow!(
            "cache {cache} is larger than the memory {largest}: give a larger --memory"
        )));
    }
    if !(flags.margin > 0.0 && flags.margin < 100.0) {
        return Err(Failure::Input(anyhow!(
            "margin {} is not possible: give a percentage above 0 and below 100",
            flags.margin
        )));
    }
    if flags.transactions == Some(0) {
        return Err(Failure::Input(anyhow!(
            "transactions 0 is not possible: at least 1 is needed"
        )));
    }
    Ok(AdviseSettings {
        directory: flags.directory.clone(),
        system,
        budget: flags.budget,
        page_sizes: flags.page_sizes.clone(),
        memories: if flags.cache.is_empty() {
            flags.memory.clone()
        } else {
            flags.cache.clone()
        },
        memory_for_scale: largest,
        warehouses: flags.warehouses,
        clients: flags.clients,
        seed: flags.seed,
        margin: flags.margin / 100.0,
        rounds: flags.rounds,
        run_length: flags.transactions.map(|measured| RunLength::Transactions {
            warm_up: measured / 10,
            measured,
        }),
        calibrate: !flags.no_calibrate,
        keep_data: flags.keep_data,
        octavo_version: env!("CARGO_PKG_VERSION"),
    })
}
