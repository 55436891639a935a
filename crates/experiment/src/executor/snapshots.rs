//! Making the snapshots, the loaded databases that runs begin with.

use std::{fs, io::ErrorKind, path::Path};

use octavo_database::DatabaseError;
use octavo_units::ByteCount;

use super::Monitor;
use crate::{
    directory::DirectoryError, error::CampaignError, plan::SnapshotKey, resolved::ResolvedPlan,
    store::StoredSnapshot,
};

/// Marks a snapshot's directory whose files are whole and durable, and says what
/// they are.
const COMPLETE: &str = "complete";

/// The snapshots of an experiment.
#[derive(Default)]
pub(super) struct Snapshots {
    /// Those that were loaded for it, in this session or an earlier one.
    pub(super) known: Vec<StoredSnapshot>,
}

impl Snapshots {
    /// Makes a snapshot unless it is there: by loading the first of those that
    /// can be derived from each other, the others from it. Answers what was
    /// made.
    ///
    /// # Errors
    /// When it cannot be made; nothing of it is left then.
    pub(super) fn make(
        &mut self,
        key: &SnapshotKey,
        resolved: &ResolvedPlan<'_>,
        monitor: &Monitor<'_>,
    ) -> Result<Vec<StoredSnapshot>, CampaignError> {
        let derives = resolved.database(&key.database).derivation().is_some();
        let mut related = resolved.plan().snapshots().into_iter();
        let first = related
            .find(|other| derives && other.is_related(key))
            .unwrap_or_else(|| key.clone());
        let mut made = Vec::new();
        for (due, from) in [(&first, None), (key, Some(&first))] {
            if self.is_made(due, resolved) {
                continue;
            }
            let directory = resolved.snapshot(due);
            remove(&directory)?;
            fs::create_dir_all(&directory)
                .map_err(DirectoryError::io("create directory", &directory))?;
            let snapshot = match make(due, from, &directory, resolved, monitor) {
                Ok(snapshot) => snapshot,
                Err(error) => {
                    remove(&directory)?;
                    return Err(error);
                }
            };
            let complete = directory.join(COMPLETE);
            fs::write(&complete, identity(due, resolved))
                .map_err(DirectoryError::io("write", &complete))?;
            self.known.retain(|known| known.key != *due);
            self.known.push(snapshot.clone());
            made.push(snapshot);
        }
        Ok(made)
    }

    /// Whether a snapshot is there, whole, and of this plan: another plan may
    /// have used the same storage.
    fn is_made(&self, key: &SnapshotKey, resolved: &ResolvedPlan<'_>) -> bool {
        self.known.iter().any(|snapshot| snapshot.key == *key)
            && fs::read_to_string(resolved.snapshot(key).join(COMPLETE))
                .is_ok_and(|found| found == identity(key, resolved))
    }
}

/// Everything that a snapshot's content depends on.
fn identity(key: &SnapshotKey, resolved: &ResolvedPlan<'_>) -> String {
    format!(
        "{} {}\n{}\nseed {}\npage size {}\n",
        key.database,
        key.database.version,
        key.data,
        resolved.plan().seed,
        key.page_size.get()
    )
}

fn make(
    key: &SnapshotKey,
    from: Option<&SnapshotKey>,
    directory: &Path,
    resolved: &ResolvedPlan<'_>,
    monitor: &Monitor<'_>,
) -> Result<StoredSnapshot, CampaignError> {
    let database = resolved.database(&key.database);
    let workload = resolved.workload(key.data);
    let page_size = key.page_size;
    let (made_by, loaded) = match from.zip(database.derivation()) {
        None => {
            let rows: u64 = workload
                .population()
                .partitions()
                .iter()
                .map(|partition| partition.rows_about)
                .sum();
            let loaded = database.load(directory, page_size, workload, &mut |done| {
                let percent = done * 100 / rows.max(1);
                monitor.progress(&format!("load {page_size} pages: {percent} %"));
                monitor.flow()
            })?;
            ("load", loaded)
        }
        Some((from, derivation)) => {
            let from = resolved.snapshot(from);
            let loaded = derivation.derive(&from, directory, page_size, &mut |written| {
                let written = ByteCount::new(written);
                monitor.progress(&format!("derive {page_size} pages: {written}"));
                monitor.flow()
            })?;
            ("derive", loaded)
        }
    };
    monitor.progress(&format!("check {page_size} pages"));
    let mut connection = database.inspect(directory, workload)?;
    let conditions = workload
        .check(connection.as_mut())
        .map_err(DatabaseError::from)?;
    if let Some(broken) = conditions.iter().find(|check| check.violations > 0) {
        return Err(CampaignError::Inconsistent {
            clause: broken.clause.clone(),
            what: broken.first_violation.clone().unwrap_or_default(),
        });
    }
    Ok(StoredSnapshot {
        key: key.clone(),
        made_by: made_by.into(),
        rows: loaded.rows,
        size: loaded.size,
        elapsed_s: loaded.elapsed.as_secs_f64(),
    })
}

fn remove(path: &Path) -> Result<(), DirectoryError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(DirectoryError::io("delete", path)(error))
        }
        _ => Ok(()),
    }
}
