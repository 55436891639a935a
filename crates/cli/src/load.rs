//! `octavo load`: flags to settings, the call, and what is printed.

use std::{ffi::OsStr, sync::Arc};

use octavo_database::{Database, Registry, hide_password};
use octavo_experiment::{
    dataset::{Dataset, LoadError, LoadSettings, Manifest},
    own::{self, SingleRun},
};
use octavo_workload::{Workload, WorkloadSpec};

use octavo_report::number;

use crate::{
    failure::Failure,
    flags::{DataFlags, LoadFlags, database_of},
    print, shell,
    system::{SystemFlags, choose},
    watcher::Watcher,
    workload,
};

pub(crate) fn load(flags: LoadFlags) -> Result<(), Failure> {
    let found = Dataset::examine(&flags.directory).map_err(failure)?;
    let (database, spec) = match &flags.copy_of {
        Some(source) => own_rows(source, &flags)?,
        None => (
            RequestedDatabase::from_flags(
                flags.data.database.as_deref(),
                &flags.system,
                found.as_ref(),
            )?,
            flags.data.spec(found.as_ref())?,
        ),
    };
    let workload = workload::build(&spec)?;
    let settings = settings(
        &flags.directory,
        &flags.data,
        found.as_ref(),
        &database,
        &spec,
        workload.as_ref(),
    );
    let watcher = Watcher::new(flags.progress)?;
    let loaded = Dataset::open_or_load(&settings, &watcher);
    watcher.finish();
    let loaded = loaded.map_err(failure)?;
    let manifest = loaded.manifest();
    if flags.format.json {
        return print::value(manifest);
    }
    print::text(&words(manifest, found.is_some(), &flags))
}

/// The user's own rows, and the database that they are of.
fn own_rows(
    source: &OsStr,
    flags: &LoadFlags,
) -> Result<(RequestedDatabase, WorkloadSpec), Failure> {
    flags.data.workload.refuse_rows().map_err(Failure::Input)?;
    let name = database_of(source, flags.data.database.as_deref()).map_err(Failure::Input)?;
    let spec = flags.system.spec(name).map_err(Failure::Input)?;
    let rows = own::rows(&spec, &flags.system.options(&[]), source).map_err(Failure::input)?;
    requested_own(name, rows)
}

/// A database for the user's rows, and the workload on them.
pub(crate) fn requested_own(
    name: &str,
    run: SingleRun,
) -> Result<(RequestedDatabase, WorkloadSpec), Failure> {
    let SingleRun { options, own } = run;
    let workload = own::workload(Arc::new(own));
    let database = choose(name, &options)?;
    Ok((RequestedDatabase { database, options }, workload))
}

fn words(manifest: &Manifest, was_there: bool, flags: &LoadFlags) -> String {
    let seconds = manifest.elapsed.as_secs_f64();
    format!(
        "{manifest}\nrows   {}\nsize   {}\n{} {} ({} rows per second)\nNext: octavo bench {}{}\n",
        number::count(manifest.rows),
        manifest.size,
        if was_there {
            "loaded earlier in"
        } else {
            "loaded"
        },
        number::seconds(seconds),
        number::count((manifest.rows as f64 / seconds.max(1e-9)) as u64),
        shell::word(&flags.directory),
        flags
            .copy_of
            .as_ref()
            .map_or_else(String::new, |source| format!(
                " --copy-of {} --script FILE",
                shell::word(&*hide_password(&source.to_string_lossy()))
            ))
    )
}

/// The database that flags, or what is loaded, say.
pub(crate) struct RequestedDatabase {
    /// The database.
    pub(crate) database: Box<dyn Database>,
    /// What it was made with.
    pub(crate) options: Vec<(String, String)>,
}

impl RequestedDatabase {
    /// What the flags say; where they say nothing, what is `loaded`; else
    /// SQLite. Options of another database than the loaded one's say nothing.
    pub(crate) fn from_flags(
        name: Option<&str>,
        flags: &SystemFlags,
        loaded: Option<&Manifest>,
    ) -> Result<Self, Failure> {
        let name = name
            .or_else(|| loaded.map(|loaded| loaded.database.as_str()))
            .unwrap_or_else(|| Registry::standard().default_kind().name);
        let before = loaded
            .filter(|loaded| loaded.database == name)
            .map_or(&[][..], |loaded| &loaded.options);
        let options = flags.options(before);
        Ok(Self {
            database: choose(name, &options)?,
            options,
        })
    }
}

/// What to load, for load and bench.
pub(crate) fn settings<'a>(
    directory: &'a std::path::Path,
    flags: &DataFlags,
    found: Option<&Manifest>,
    chosen: &'a RequestedDatabase,
    spec: &WorkloadSpec,
    workload: &'a dyn Workload,
) -> LoadSettings<'a> {
    LoadSettings {
        directory,
        database: chosen.database.as_ref(),
        options: &chosen.options,
        page_size: flags
            .page_size
            .or_else(|| found.map(|found| found.page_size))
            .or_else(|| workload.copy_of().map(|copy| copy.page_size))
            .unwrap_or_else(|| chosen.database.default_page_size()),
        workload,
        seed: spec.seed,
        octavo_version: env!("CARGO_PKG_VERSION"),
    }
}

pub(crate) fn failure(error: LoadError) -> Failure {
    if matches!(error, LoadError::Stopped) {
        Failure::Interrupted("nothing was loaded".into())
    } else {
        let is_bad_input = error.is_bad_input();
        Failure::classified(error, is_bad_input)
    }
}
