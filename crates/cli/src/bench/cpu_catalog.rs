//! `octavo bench --cpu-catalog`: what transactions take of processors.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use anyhow::Context;
use octavo_driver::RunLength;
use octavo_experiment::bench::{CpuCatalogSettings, cpu_catalog};
use octavo_units::ByteCount;

use super::measure::failure;
use crate::{
    failure::Failure, flags::BenchFlags, load::RequestedDatabase, output, print, shell,
    watcher::Watcher,
};

/// Where POSIX systems have shared memory: files there never wait for storage.
const IN_MEMORY: &str = "/dev/shm";

/// Memory that may hold data: more than there are.
const MEMORY: ByteCount = ByteCount::mib(1024);

/// Clients of servers, which keep two processors busy and wait for each other seldom. SQLite
/// has one writer.
const CLIENTS: u32 = 8;

/// Of each run.
const LENGTH: RunLength = RunLength::Time {
    warm_up_min: Duration::from_secs(1),
    warm_up_max: Duration::from_secs(1),
    measured: Duration::from_secs(2),
};

/// How a file of costs begins.
const HEAD: &str = "# octavo bench --cpu-catalog";

/// How directories are called, before the process's number.
const PREFIX: &str = "octavo-cpu-";

/// A directory that goes when this goes.
struct Temporary(PathBuf);

impl Temporary {
    fn create() -> Result<Self, Failure> {
        remove_abandoned(Path::new(IN_MEMORY));
        let path = Path::new(IN_MEMORY).join(format!("{PREFIX}{}", process::id()));
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nobody can be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what processes left that were killed: directories of this user called by the
/// number of a process that there is not.
fn remove_abandoned(parent: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some(process) = process.and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        let is_alive = Path::new("/proc").join(process.to_string()).exists();
        let is_own = entry
            .path()
            .symlink_metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == own);
        if is_own && !is_alive {
            // It is in nobody's way if that fails.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Measures and writes the file.
pub(super) fn measure(file: &Path, flags: &BenchFlags) -> Result<(), Failure> {
    let is_ours = |text: &str| text.is_empty() || text.starts_with(HEAD);
    output::keep_foreign(file, "costs that Octavo measured", is_ours)?;
    output::probe(file)?;
    let chosen =
        RequestedDatabase::from_flags(flags.data.database.as_deref(), &flags.system, None)?;
    let kind = chosen.database.kind();
    // Predictions are what it is for.
    octavo_predict::Registry::standard()
        .find(kind.name)
        .map_err(|error| {
            let title = kind.title;
            Failure::Input(anyhow::anyhow!(
                "--cpu-catalog is for predictions, and there are none of {title}: {error}"
            ))
        })?;
    let directory = Temporary::create()?;
    let watcher = Watcher::new(flags.progress)?;
    let settings = CpuCatalogSettings {
        database: chosen.database.as_ref(),
        options: &chosen.options,
        directory: &directory.0,
        memory: MEMORY,
        family: flags.data.workload.family_alone().map_err(Failure::Input)?,
        shape: flags.data.workload.shape().cloned(),
        clients: if kind.is_server { CLIENTS } else { 1 },
        length: LENGTH,
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let catalog = cpu_catalog(&settings, &watcher);
    watcher.finish();
    let catalog = catalog.map_err(|error| match error.is_stop() {
        true => Failure::Interrupted(format!("{} is as it was", file.display())),
        false => failure(error),
    })?;
    // It took minutes, in which somebody may have put something there.
    output::keep_foreign(file, "costs that Octavo measured", is_ours)?;
    let text = format!("{HEAD} --database {}\n\n{}", kind.name, catalog.to_toml());
    output::write(file, &text)?;
    let count = catalog.cost.len();
    print::text(&format!(
        "{count} {} of transactions of {} {}: {}\nNext: octavo predict --database {}{} --cpu {} \
         --device NAME\n",
        if count == 1 { "kind" } else { "kinds" },
        kind.title,
        catalog.version,
        file.display(),
        kind.name,
        flags.data.workload.named_again(),
        shell::word(file)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_of_this_user_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: String| parent.path().join(name);
        let dead = at(format!("{PREFIX}4294967294"));
        let alive = at(format!("{PREFIX}{}", process::id()));
        let foreign = at(format!("{PREFIX}mine"));
        let file = at(format!("{PREFIX}4294967293"));
        for directory in [&dead, &alive, &foreign] {
            fs::create_dir_all(directory.join("data")).unwrap();
        }
        fs::write(&file, "").unwrap();
        remove_abandoned(parent.path());
        assert!(!dead.exists());
        assert!(alive.exists() && foreign.exists() && file.exists());
    }
}
