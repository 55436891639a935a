//! `octavo bench` on a database of Octavo's own, or on none.

mod cpu_catalog;
mod external;
mod measure;

use anyhow::anyhow;
use octavo_experiment::{
    bench::Target,
    dataset::{Dataset, Manifest},
    own,
    plan::OwnSettings,
};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{Workload, WorkloadSpec};

use crate::{
    advise::show_script,
    failure::Failure,
    flags::{BenchFlags, NOOP, PaceName},
    limits,
    load::{self, RequestedDatabase, requested_own},
    watcher::Watcher,
};
use measure::{RequestedRun, check_files, measure, settings_given};

/// All memory that may hold data, when nobody says.
const MEMORY: ByteCount = ByteCount::mib(32);

pub(crate) fn bench(flags: BenchFlags) -> Result<(), Failure> {
    if let Some(file) = &flags.cpu_catalog {
        return cpu_catalog::measure(file, &flags);
    }
    if let Some(url) = &flags.url {
        return external::bench(url, &flags);
    }
    if flags.own.show_script {
        let given = flags.data.database.as_deref();
        return show_script(&flags.own, given, &flags.system);
    }
    let is_noop = flags.data.database.as_deref() == Some(NOOP);
    let found = if is_noop {
        None
    } else {
        Dataset::examine(&flags.directory).map_err(load::failure)?
    };
    // Before the user's own server is asked, so that an interrupt leaves nothing behind.
    let watcher = Watcher::answering(flags.progress, flags.metrics)?;
    let (wanted, chosen) = match flags.own.settings(
        flags.data.seed.unwrap_or(Seed::new(1)),
        Some(flags.connections()),
    ) {
        Some(settings) => {
            let settings = OwnSettings {
                pace: match flags.pace {
                    Some(PaceName::Recorded(pace)) => Some(pace),
                    Some(PaceName::Spec) | None => None,
                },
                ..settings
            };
            let (database, spec) = own_run(&flags, &settings, &watcher)?;
            (RequestedRun::new(&flags, spec)?, Some(database))
        }
        None => (RequestedRun::from_flags(&flags, found.as_ref())?, None),
    };
    if is_noop {
        refuse_for_noop(&flags)?;
    }
    check_files(&flags)?;
    let baseline = measure::baseline(&flags)?;
    let on = if is_noop {
        None
    } else {
        let chosen = match chosen {
            Some(chosen) => chosen,
            None => RequestedDatabase::from_flags(
                flags.data.database.as_deref(),
                &flags.system,
                found.as_ref(),
            )?,
        };
        let loaded = open(
            &flags,
            found.as_ref(),
            &chosen,
            &wanted.spec,
            wanted.workload.as_ref(),
            &watcher,
        )?;
        Some((loaded, chosen))
    };
    let target = on
        .as_ref()
        .map_or(Target::Noop, |(loaded, chosen)| Target::Dataset {
            loaded,
            database: chosen.database.as_ref(),
            memory: flags.memory.unwrap_or(MEMORY),
        });
    measure(&flags, &wanted, target, baseline, watcher)
}

/// The database and the statements of the user's own.
fn own_run(
    flags: &BenchFlags,
    settings: &OwnSettings,
    watcher: &Watcher,
) -> Result<(RequestedDatabase, WorkloadSpec), Failure> {
    flags.data.workload.refuse_rows().map_err(Failure::Input)?;
    let name = flags.own.database(flags.data.database.as_deref());
    let name = name.map_err(Failure::Input)?;
    let spec = flags.system.spec(name).map_err(Failure::Input)?;
    let options = flags.system.options(&[]);
    let run = own::single_run(&spec, &options, settings, &|| watcher.is_interrupted());
    let (database, workload) = requested_own(name, run.map_err(Failure::of_plan)?)?;
    let seed = flags.data.seed.unwrap_or(workload.seed);
    Ok((database, WorkloadSpec { seed, ..workload }))
}

/// The no-op database has nothing that these would change.
fn refuse_for_noop(flags: &BenchFlags) -> Result<(), Failure> {
    let isolation = flags.isolation.level().map(|_| "--isolation".to_owned());
    match settings_given(flags).into_iter().chain(isolation).next() {
        None => Ok(()),
        Some(flag) => Err(Failure::Input(anyhow!(
            "{flag} is not possible with --database noop, which stores nothing"
        ))),
    }
}

/// Opens the rows to run on, loading them where they are missing.
fn open(
    flags: &BenchFlags,
    found: Option<&Manifest>,
    chosen: &RequestedDatabase,
    spec: &WorkloadSpec,
    workload: &dyn Workload,
    watcher: &Watcher,
) -> Result<Dataset, Failure> {
    let settings = load::settings(&flags.directory, &flags.data, found, chosen, spec, workload);
    // Before minutes of loading.
    let database = &chosen.database;
    let accepted = database.accept_workload(workload).and_then(|()| {
        database.accept(&octavo_database::Settings {
            page_size: settings.page_size,
            memory: flags.memory.unwrap_or(MEMORY),
            clients: flags.connections(),
            isolation: flags.isolation.level(),
        })
    });
    accepted.map_err(Failure::input)?;
    limits::check_files(flags.connections(), chosen.database.files_a_session())?;
    Dataset::open_or_load(&settings, watcher).map_err(load::failure)
}
