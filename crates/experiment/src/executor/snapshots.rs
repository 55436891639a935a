//! Making the snapshots, the loaded databases that runs begin with.

use std::{
    collections::HashMap,
    fs,
    io::ErrorKind,
    path::Path,
    time::{Duration, Instant},
};

use octavo_database::{DatabaseError, LoadReport, free_what_servers_left};

use crate::{
    dataset::rows_about,
    directory::DirectoryError,
    error::CampaignError,
    monitor::Monitor,
    plan::SnapshotKey,
    resolved::ResolvedPlan,
    store::{LOADED, SnapshotOrigin, StoredSnapshot},
};

/// Marks a snapshot's directory whose files are whole and durable, and says what
/// they are.
const COMPLETE: &str = "complete";

/// The snapshots of an experiment.
///
/// Where a database can derive one page size from another, all of them are
/// derived, the loaded one's too: a rebuilt tree has fewer pages than one that
/// grew by inserts (2 to 7% fewer misses with SQLite's VACUUM), which would be
/// taken for the page size otherwise.
#[derive(Default)]
pub(super) struct Snapshots {
    /// Those that were made for it, in this session or an earlier one.
    pub(super) known: Vec<StoredSnapshot>,
    /// How long checking one took.
    checked: HashMap<SnapshotKey, Duration>,
}

impl Snapshots {
    /// Makes a snapshot unless it is there; answers what was made.
    ///
    /// # Errors
    /// When it cannot be made, [`CampaignError::UsedUp`] for want of time;
    /// nothing of it is left then.
    pub(super) fn make(
        &mut self,
        key: &SnapshotKey,
        resolved: &ResolvedPlan<'_>,
        monitor: &Monitor<'_>,
    ) -> Result<Option<StoredSnapshot>, CampaignError> {
        let made = self.make_within_limit(key, resolved, monitor);
        let made = made.map_err(|error| of_source(error, key, resolved));
        match (made, monitor.passed_limit()) {
            (Err(CampaignError::Database(DatabaseError::Stopped)), Some(limit))
                if !monitor.interrupted() =>
            {
                Err(CampaignError::UsedUp {
                    budget_s: limit.as_secs(),
                })
            }
            (made, _) => made,
        }
    }

    fn make_within_limit(
        &mut self,
        key: &SnapshotKey,
        resolved: &ResolvedPlan<'_>,
        monitor: &Monitor<'_>,
    ) -> Result<Option<StoredSnapshot>, CampaignError> {
        if self.is_made(key, resolved) {
            return Ok(None);
        }
        let database = resolved.database(&key.database);
        let directory = resolved.snapshot(key);
        if let (Some(_), Some(copies)) = (&resolved.plan().own, database.copies_own()) {
            copies.make_private(&resolved.data(&key.storage))?;
        }
        let derivation = database.derivation(resolved.workload(key.data));
        let mut origin = None;
        let made = match derivation {
            None => in_new(&directory, |directory| {
                load(key, directory, resolved, monitor)
            })?,
            Some(derivation) => {
                let related = |other: &SnapshotKey| other.is_related(key);
                let relations = resolved.plan().snapshots();
                let first = relations.iter().find(|other| related(other)).unwrap_or(key);
                let from = resolved.loaded(first);
                if !has_identity(&from, first, resolved) {
                    let loaded =
                        in_new(&from, |directory| load(first, directory, resolved, monitor))?;
                    origin = Some(SnapshotOrigin {
                        size: loaded.size,
                        elapsed_s: loaded.elapsed.as_secs_f64(),
                    });
                    mark(&from, first, resolved)?;
                }
                let page_size = key.page_size;
                let derived = in_new(&directory, |directory| {
                    // What servers write is more than the data: logs, and files for later.
                    let report = &mut |_| {
                        monitor.progress(&format!("copy the data to {page_size} pages"));
                        monitor.flow_within_limit()
                    };
                    Ok(derivation.derive(&from, directory, page_size, report)?)
                })?;
                let missing = |other: &SnapshotKey| {
                    other != key && related(other) && !self.is_made(other, resolved)
                };
                if !relations.iter().any(missing) {
                    remove(&from)?;
                }
                derived
            }
        };
        if let Err(error) = self.check_rows(key, made.rows, resolved) {
            remove(&directory)?;
            return Err(error);
        }
        let begin = Instant::now();
        if let Err(error) = check(key, &directory, resolved, monitor) {
            remove(&directory)?;
            return Err(error);
        }
        self.checked.insert(key.clone(), begin.elapsed());
        mark(&directory, key, resolved)?;
        let snapshot = StoredSnapshot {
            key: key.clone(),
            made_by: match derivation {
                Some(_) => "derive",
                None => LOADED,
            }
            .into(),
            rows: made.rows,
            size: made.size,
            elapsed_s: made.elapsed.as_secs_f64(),
            log: made.log,
            origin,
        };
        self.known.retain(|known| known.key != *key);
        self.known.push(snapshot.clone());
        Ok(Some(snapshot))
    }

    /// Copies of the user's own rows have as many as each other.
    fn check_rows(
        &self,
        key: &SnapshotKey,
        rows: u64,
        resolved: &ResolvedPlan<'_>,
    ) -> Result<(), CampaignError> {
        let mut others = self.known.iter();
        let other = others.find(|other| other.key.is_related(key) && other.rows != rows);
        match other {
            Some(other) if resolved.plan().own.is_some() => Err(DatabaseError::Rows {
                reason: format!(
                    "a copy with {} pages has {rows} rows, and one with {} pages {}",
                    key.page_size, other.key.page_size, other.rows
                ),
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// How long checking its data took, or may take.
    pub(super) fn checking(&self, key: &SnapshotKey) -> Duration {
        const UNKNOWN: Duration = Duration::from_secs(1);
        self.checked.get(key).copied().unwrap_or(UNKNOWN)
    }

    /// Whether a snapshot is there, whole, and of this plan: another plan may
    /// have used the same storage.
    fn is_made(&self, key: &SnapshotKey, resolved: &ResolvedPlan<'_>) -> bool {
        self.known.iter().any(|snapshot| snapshot.key == *key)
            && has_identity(&resolved.snapshot(key), key, resolved)
    }
}

/// Makes a directory and fills it; nothing of it is left after an error.
fn in_new<T>(
    directory: &Path,
    fill: impl FnOnce(&Path) -> Result<T, CampaignError>,
) -> Result<T, CampaignError> {
    remove(directory)?;
    fs::create_dir_all(directory).map_err(DirectoryError::io("create directory", directory))?;
    let filled = fill(directory);
    if filled.is_err() {
        remove(directory)?;
    }
    filled
}

/// Marks a directory as whole.
fn mark(
    directory: &Path,
    key: &SnapshotKey,
    resolved: &ResolvedPlan<'_>,
) -> Result<(), DirectoryError> {
    let complete = directory.join(COMPLETE);
    fs::write(&complete, identity(key, resolved)).map_err(DirectoryError::io("write", &complete))
}

fn has_identity(directory: &Path, key: &SnapshotKey, resolved: &ResolvedPlan<'_>) -> bool {
    fs::read_to_string(directory.join(COMPLETE)).is_ok_and(|found| found == identity(key, resolved))
}

/// Everything that a snapshot's content depends on.
fn identity(key: &SnapshotKey, resolved: &ResolvedPlan<'_>) -> String {
    // What is shown of data leaves out the state of the user's own.
    let own = resolved.plan().own.as_ref();
    let state = own.map_or_else(String::new, |own| format!(" in state {}", own.copy.state));
    format!(
        "{} {}\n{}{state}\nseed {}\npage size {}\n",
        key.database,
        key.database.version,
        key.data,
        resolved.plan().seed,
        key.page_size.get()
    )
}

fn load(
    key: &SnapshotKey,
    directory: &Path,
    resolved: &ResolvedPlan<'_>,
    monitor: &Monitor<'_>,
) -> Result<LoadReport, CampaignError> {
    let workload = resolved.workload(key.data);
    let page_size = key.page_size;
    let (what, all) = match workload.copy_of() {
        Some(copy) => (format!("copy {}", copy.name), copy.size.get()),
        None => (format!("load {page_size} pages"), rows_about(workload)),
    };
    let report = &mut |done| {
        monitor.progress(&format!("{what}: {}%", percent_done(done, all)));
        monitor.flow_within_limit()
    };
    let database = resolved.database(&key.database);
    Ok(database.load(directory, page_size, workload, report)?)
}

/// How much of `all` is done, in percent: servers write more than the data.
fn percent_done(done: u64, all: u64) -> u64 {
    (done.saturating_mul(100) / all.max(1)).min(100)
}

fn check(
    key: &SnapshotKey,
    directory: &Path,
    resolved: &ResolvedPlan<'_>,
    monitor: &Monitor<'_>,
) -> Result<(), CampaignError> {
    let workload = resolved.workload(key.data);
    monitor.progress(&format!("check {} pages", key.page_size));
    let mut connection = resolved
        .database(&key.database)
        .inspect(directory, workload)?;
    let conditions = workload
        .check(connection.as_mut())
        .map_err(DatabaseError::from)?;
    match conditions.iter().find(|check| check.violations > 0) {
        None => Ok(()),
        Some(broken) => Err(CampaignError::Inconsistent {
            clause: broken.clause.clone(),
            what: broken.first_violation.clone().unwrap_or_default(),
        }),
    }
}

/// What is damaged in a copy of the user's file is damaged there: that is the one to mend.
fn of_source(
    error: CampaignError,
    key: &SnapshotKey,
    resolved: &ResolvedPlan<'_>,
) -> CampaignError {
    let copies = resolved.database(&key.database).copies_own();
    let (Some(own), Some(copies)) = (&resolved.plan().own, copies) else {
        return error;
    };
    let (said, remedy) = match error {
        CampaignError::Database(DatabaseError::Damaged { said, remedy, .. }) => (said, remedy),
        CampaignError::Inconsistent { what, .. } => (what, copies.repair()),
        other => return other,
    };
    let path = Path::new(&own.copy.source);
    CampaignError::Database(DatabaseError::damaged_source(path, &said, remedy))
}

/// Deletes a directory, if there is one.
pub(super) fn remove(path: &Path) -> Result<(), DirectoryError> {
    free_what_servers_left(path);
    // First of all it is whole no more: who is killed meanwhile leaves a part.
    let complete = path.join(COMPLETE);
    match fs::remove_file(&complete) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(DirectoryError::io("delete", &complete)(error));
        }
        _ => {}
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(DirectoryError::io("delete", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_write_more_than_the_data_are_not_beyond_its_end() {
        let shares = [0, 50, 100, 1100].map(|done| percent_done(done, 100));
        assert_eq!(shares, [0, 50, 100, 100]);
        assert_eq!(percent_done(u64::MAX, 0), 100);
    }
}
