//! `octavo bench --url`: a server that the user runs.

use anyhow::anyhow;
use octavo_database::{DatabaseError, SCHEMA, Url, connect};
use octavo_experiment::bench::{ExternalError, ExternalRows, ExternalSettings, Reuse, Target};

use super::measure::{RequestedRun, baseline, check_files, measure, settings_given};
use crate::{failure::Failure, flags::BenchFlags, limits, print, watcher::Watcher};

pub(super) fn bench(url: &str, flags: &BenchFlags) -> Result<(), Failure> {
    let url: Url = url
        .parse()
        .map_err(|error: octavo_database::UrlError| Failure::input(error))?;
    if let Some(flag) = settings_given(flags).first() {
        return Err(Failure::Input(anyhow!(
            "{flag} is not possible with --url: the server keeps its own settings"
        )));
    }
    // Refused before connecting to the server.
    check_files(flags)?;
    limits::check_files(flags.connections(), 1)?;
    let server = connect(&url).map_err(|error| failure(error.into()))?;
    let server = server.as_ref();
    if flags.remove {
        let is_removed = server.remove().map_err(|error| failure(error.into()))?;
        return print::text(&match is_removed {
            true => format!("Removed {SCHEMA} from {url}.\n"),
            false => format!("Nothing to remove: {url} has no {SCHEMA}.\n"),
        });
    }
    let baseline = baseline(flags)?;
    let found = match ExternalRows::examine(server) {
        // Whatever it is, it will be taken away.
        Err(ExternalError::Note { .. }) if flags.reload => None,
        found => found.map_err(failure)?,
    };
    let wanted = RequestedRun::from_flags(flags, found.as_ref())?;
    let watcher = Watcher::answering(flags.progress, flags.metrics)?;
    let settings = ExternalSettings {
        workload: wanted.workload.as_ref(),
        seed: wanted.spec.seed,
        reuse: match flags.reload {
            true => Reuse::Never,
            false => Reuse::Wanted,
        },
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let rows = ExternalRows::open_or_load(server, &settings, &watcher).map_err(failure)?;
    measure(flags, &wanted, Target::External(&rows), baseline, watcher)
}

fn failure(error: ExternalError) -> Failure {
    match error {
        ExternalError::Stopped | ExternalError::Database(DatabaseError::Stopped) => {
            Failure::Interrupted(
                "loading is unfinished; the next bench starts it again, --remove deletes the partial \
                 rows"
                    .into(),
            )
        }
        error if error.is_bad_input() => Failure::Input(match remedy(&error) {
            Some(remedy) => anyhow!("{error}: {remedy}"),
            None => error.into(),
        }),
        error => Failure::Fault(error.into()),
    }
}

/// What to do about rows that cannot be used.
fn remedy(error: &ExternalError) -> Option<&'static str> {
    match error {
        ExternalError::Note { .. } => Some("--reload loads it again, --remove takes it away"),
        ExternalError::Other { .. } => {
            Some("--reload loads these in their place, --remove takes away what is there")
        }
        ExternalError::Inserted { .. } => Some("--reload loads the rows again before it runs"),
        _ => None,
    }
}
