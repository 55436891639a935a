//! `octavo advise`: flags to settings, the call, and what is printed.

use anyhow::anyhow;
use octavo_database::Registry;
use octavo_experiment::{
    advise::{AdviseSettings, advise as run},
    plan::RunLength,
};

use crate::{
    Failure,
    devices::{emulator, storage},
    flags::{AdviseFlags, AdviseWorkload},
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
    let system = flags.system.system(&flags.database)?;
    let kind = Registry::standard().find(&flags.database);
    let defaults = kind.map_err(|error| Failure::Input(error.into()))?.defaults;
    let memory = if flags.memory.is_empty() {
        defaults.memories.to_vec()
    } else {
        flags.memory.clone()
    };
    let largest = memory.iter().copied().max();
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
    let device = flags.device.as_deref().map(storage).transpose()?;
    Ok(AdviseSettings {
        directory: flags.directory.clone(),
        device,
        emulator: emulator()?,
        system,
        budget: flags.budget.unwrap_or(defaults.budget),
        page_sizes: if flags.page_sizes.is_empty() {
            defaults.page_sizes.to_vec()
        } else {
            flags.page_sizes.clone()
        },
        memories: if flags.cache.is_empty() {
            memory
        } else {
            flags.cache.clone()
        },
        memory_for_scale: largest,
        warehouses: flags.warehouses,
        clients: flags.clients.unwrap_or(defaults.clients),
        isolation: flags.isolation.map(Into::into),
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
