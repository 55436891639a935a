//! `octavo advise`: flags to settings, the call, and what is printed.

use std::time::Duration;

use anyhow::anyhow;
use octavo_experiment::{
    advise::{AdviseSettings, advise as run},
    plan::RunLength,
};
use octavo_units::{ByteCount, PageSize};

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

/// What is measured of a database when nobody says.
struct Usual {
    budget: Duration,
    memory: Vec<ByteCount>,
    page_sizes: Vec<PageSize>,
    clients: u32,
}

impl Usual {
    fn of(database: &str) -> Self {
        let mib = |sizes: &[u64]| sizes.iter().map(|&size| ByteCount::mib(size)).collect();
        let kib = |sizes: &[u32]| {
            let page_size = |&size: &u32| PageSize::new(size << 10).expect("a power of two");
            sizes.iter().map(page_size).collect()
        };
        // A server with one client is no OLTP system; and it takes more time,
        // to be built, and because InnoDB wants 24 MiB for its largest pages.
        let server = |page_sizes| Self {
            budget: Duration::from_mins(30),
            memory: mib(&[32, 96]),
            page_sizes,
            clients: 8,
        };
        match database {
            "sqlite" => Self {
                budget: Duration::from_mins(5),
                memory: mib(&[8, 32]),
                page_sizes: kib(&[2, 4, 8, 16, 64]),
                clients: 1,
            },
            "postgres" => server(kib(&[4, 8, 16, 32])),
            _ => server(kib(&[4, 8, 16, 32, 64])),
        }
    }
}

fn settings(flags: &AdviseFlags) -> Result<AdviseSettings, Failure> {
    let AdviseWorkload::Tpcc = flags.workload;
    let system = flags.system.system(&flags.database)?;
    let usual = Usual::of(&flags.database);
    let memory = if flags.memory.is_empty() {
        usual.memory
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
        budget: flags.budget.unwrap_or(usual.budget),
        page_sizes: if flags.page_sizes.is_empty() {
            usual.page_sizes
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
        clients: flags.clients.unwrap_or(usual.clients),
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
