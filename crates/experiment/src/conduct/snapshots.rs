//! Making the snapshots, the loaded databases that runs begin with.

use std::{fs, io::ErrorKind, path::Path};

use octavo_database::DatabaseError;
use octavo_units::ByteCount;

use super::{
    ConductError,
    job::{Job, create},
};
use crate::{directory::DirectoryError, plan::SnapshotKey, schedule::Round, store::StoredSnapshot};

impl Job<'_> {
    /// Makes the snapshots that a round needs and that are missing: the first of
    /// those that can be derived from each other by loading, the others from
    /// it.
    pub(super) fn make_snapshots(&mut self, round: &Round) -> Result<(), ConductError> {
        let known = self.store.snapshots()?;
        let mut loaded: Option<SnapshotKey> = None;
        let missing: Vec<SnapshotKey> = round
            .missing
            .iter()
            .map(|(cell, _)| self.cells[*cell].snapshot())
            .filter(|key| !self.is_made(key, &known))
            .collect();
        for key in self.plan().snapshots() {
            self.stop_if_interrupted()?;
            let derives = self.resolved.database(&key.database).derivation().is_some();
            let from = loaded
                .clone()
                .filter(|from| derives && from.is_related(&key));
            if from.is_none() {
                loaded = Some(key.clone());
            }
            // The first is what others are derived from.
            let needed = missing.contains(&key)
                || (derives
                    && from.is_none()
                    && missing.iter().any(|other| other.is_related(&key)));
            if !needed || self.is_made(&key, &known) || self.unavailable(&key).is_some() {
                continue;
            }
            let directory = self.resolved.snapshot(&key);
            let complete = directory.join(COMPLETE);
            remove(&directory)?;
            create(&directory)?;
            let made = match self.make_snapshot(&key, from.as_ref(), &directory) {
                // What is derived from it would be missing too.
                Err(ConductError::Database(error)) if !derives => {
                    remove(&directory)?;
                    self.do_without(&key.database, key.page_size, error)?;
                    continue;
                }
                made => made?,
            };
            self.store.put_snapshot(&made)?;
            fs::write(&complete, self.identity(&key))
                .map_err(DirectoryError::io("write", &complete))?;
            self.note_time()?;
        }
        Ok(())
    }

    /// Whether a snapshot is there, whole, and of this plan: another plan may
    /// have used the same storage.
    fn is_made(&self, key: &SnapshotKey, known: &[StoredSnapshot]) -> bool {
        known.iter().any(|snapshot| snapshot.key == *key)
            && fs::read_to_string(self.resolved.snapshot(key).join(COMPLETE))
                .is_ok_and(|found| found == self.identity(key))
    }

    /// Everything that a snapshot's content depends on.
    fn identity(&self, key: &SnapshotKey) -> String {
        format!(
            "{} {}\n{}\nseed {}\npage size {}\n",
            key.database,
            key.database.version,
            key.data,
            self.plan().seed,
            key.page_size.get()
        )
    }

    fn make_snapshot(
        &self,
        key: &SnapshotKey,
        from: Option<&SnapshotKey>,
        directory: &Path,
    ) -> Result<StoredSnapshot, ConductError> {
        let database = self.resolved.database(&key.database);
        let workload = self.resolved.workload(key.data);
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
                    self.progress(&format!("load {page_size} pages: {percent} %"));
                    self.flow()
                })?;
                ("load", loaded)
            }
            Some((from, derivation)) => {
                let loaded = derivation.derive(
                    &self.resolved.snapshot(from),
                    directory,
                    page_size,
                    &mut |written| {
                        let written = ByteCount::new(written);
                        self.progress(&format!("derive {page_size} pages: {written}"));
                        self.flow()
                    },
                )?;
                ("derive", loaded)
            }
        };
        self.progress(&format!("check {page_size} pages"));
        let mut connection = database.inspect(directory, workload)?;
        let conditions = workload
            .check(connection.as_mut())
            .map_err(DatabaseError::from)?;
        if let Some(broken) = conditions.iter().find(|check| check.violations > 0) {
            return Err(ConductError::Inconsistent {
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
}

/// Marks a snapshot's directory whose files are whole and durable, and says what
/// they are.
const COMPLETE: &str = "complete";

fn remove(path: &Path) -> Result<(), DirectoryError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(DirectoryError::io("delete", path)(error))
        }
        _ => Ok(()),
    }
}
