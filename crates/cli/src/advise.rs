//! `octavo advise`: flags to settings, the call, and what is printed.

use std::fs;

use anyhow::anyhow;
use octavo_database::Sqlite;
use octavo_experiment::{
    advise::{AdviseError, AdviseSettings, advise as run},
    directory::{REPORT, STORE},
    plan::RunLength,
};

use crate::{
    Failure,
    flags::{AdviseFlags, AdviseWorkload, DatabaseName},
    report,
    watcher::Watcher,
};

pub(crate) fn advise(flags: AdviseFlags) -> Result<(), Failure> {
    let database = match flags.database {
        DatabaseName::Sqlite => Sqlite {
            journal_mode: flags.journal_mode.into(),
            ..Sqlite::default()
        },
    };
    let settings = settings(&flags, &database)?;
    let watcher = Watcher::new()?;
    let result = run(&settings, &watcher);
    watcher.finish();
    let findings = result.map_err(|error| failure(error, &flags))?;

    let page = flags.directory.join(REPORT);
    report::print(&if flags.json {
        format!("{}\n", octavo_report::json(&findings))
    } else {
        let (width, colour) = report::screen();
        format!(
            "{}\nResults: {}\nReport:  {}\n",
            octavo_report::terminal(&findings, width, colour),
            flags.directory.join(STORE).display(),
            page.display()
        )
    })?;
    report::write(&page, &octavo_report::html(&findings))
}

fn settings<'a>(flags: &AdviseFlags, database: &'a Sqlite) -> Result<AdviseSettings<'a>, Failure> {
    let AdviseWorkload::Tpcc = flags.workload;
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
        database,
        journal_mode: database.journal_mode.name().into(),
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

fn failure(error: AdviseError, flags: &AdviseFlags) -> Failure {
    if matches!(error, AdviseError::Stopped) {
        let store = flags.directory.join(STORE);
        let runs = fs::exists(&store).unwrap_or(false);
        return Failure::Interrupted(if runs {
            format!(
                "finished runs are kept in {}: repeat the command to go on",
                store.display()
            )
        } else {
            "nothing was measured yet".into()
        });
    }
    if error.is_bad_input() {
        Failure::Input(error.into())
    } else {
        Failure::Fault(error.into())
    }
}
