//! The loaded databases that runs begin with: which there are, and how they are
//! made.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use octavo_database::DatabaseError;
use octavo_units::ByteCount;

use super::{
    ConductError,
    job::{Job, create},
};
use crate::{
    course::Round,
    directory::DirectoryError,
    plan::{BaseKey, Cell, Plan},
    store::StoredBase,
};

/// The bases that a plan's cells begin with, in the order in which they are
/// made: of those that can be derived from each other first the default page
/// size, or the smallest.
pub(super) fn bases(plan: &Plan) -> Vec<BaseKey> {
    let mut bases: Vec<BaseKey> = plan.cells().iter().map(Cell::base).collect();
    bases.sort_by_key(|base| {
        let default = plan.systems[base.system].default_page_size;
        (
            (base.system, base.data, base.storage),
            base.page_size != default,
            base.page_size,
        )
    });
    bases.dedup();
    bases
}

impl Job<'_> {
    /// Where a base lies.
    pub(super) fn base(&self, base: BaseKey) -> PathBuf {
        let plan = self.plan();
        let mut name = String::from("base");
        for (count, number) in [
            (plan.systems.len(), base.system),
            (plan.data.len(), base.data),
        ] {
            if count > 1 {
                name += &format!("-{number}");
            }
        }
        self.data(base.storage)
            .join(format!("{name}-{}", base.page_size.get()))
    }

    /// Makes the bases that a round needs and that are missing: the first of
    /// those that can be derived from each other by loading, the others from
    /// it.
    pub(super) fn make_bases(&mut self, round: &Round) -> Result<(), ConductError> {
        let known = self.store.bases()?;
        let mut loaded: Option<BaseKey> = None;
        let all = bases(self.plan());
        let missing: Vec<BaseKey> = round
            .missing
            .iter()
            .map(|(cell, _)| self.cells[*cell].base())
            .filter(|key| !self.is_made(*key, &known))
            .collect();
        let related = |a: &BaseKey, b: &BaseKey| {
            (a.system, a.data, a.storage) == (b.system, b.data, b.storage)
        };
        for key in all {
            self.stop_if_interrupted()?;
            let derives = self.parts.database(key).derivation().is_some();
            let from = loaded.filter(|from| derives && related(from, &key));
            if from.is_none() {
                loaded = Some(key);
            }
            // The first is what others are derived from.
            let needed = missing.contains(&key)
                || (derives && from.is_none() && missing.iter().any(|other| related(other, &key)));
            if !needed || self.is_made(key, &known) || self.unavailable(key).is_some() {
                continue;
            }
            let base = self.base(key);
            let complete = base.join(COMPLETE);
            remove(&base)?;
            create(&base)?;
            let made = match self.make_base(key, from, &base) {
                // What is derived from it would be missing too.
                Err(ConductError::Database(error)) if !derives => {
                    remove(&base)?;
                    self.do_without(key.system, key.page_size, error)?;
                    continue;
                }
                made => made?,
            };
            self.store.put_base(&made)?;
            fs::write(&complete, self.identity(key))
                .map_err(DirectoryError::io("write", &complete))?;
            self.note_time()?;
        }
        Ok(())
    }

    /// Whether a base is there, whole, and of this plan: another plan may have
    /// used the same storage.
    fn is_made(&self, key: BaseKey, known: &[StoredBase]) -> bool {
        known.iter().any(|base| base.key == key)
            && fs::read_to_string(self.base(key).join(COMPLETE))
                .is_ok_and(|found| found == self.identity(key))
    }

    /// All that a base's content depends on.
    fn identity(&self, key: BaseKey) -> String {
        let plan = self.plan();
        let system = &plan.systems[key.system];
        format!(
            "{system} {}\n{}\nseed {}\npage size {}\n",
            system.version,
            plan.data[key.data],
            plan.seed,
            key.page_size.get()
        )
    }

    fn make_base(
        &self,
        key: BaseKey,
        from: Option<BaseKey>,
        base: &Path,
    ) -> Result<StoredBase, ConductError> {
        let (database, workload) = (self.parts.database(key), self.parts.workload(key));
        let page_size = key.page_size;
        let (made_by, loaded) = match from.zip(database.derivation()) {
            None => {
                let rows: u64 = workload
                    .population()
                    .partitions()
                    .iter()
                    .map(|partition| partition.rows_about)
                    .sum();
                let loaded = database.load(base, page_size, workload, &mut |done| {
                    let percent = done * 100 / rows.max(1);
                    self.progress(&format!("load {page_size} pages: {percent} %"));
                    self.flow()
                })?;
                ("load", loaded)
            }
            Some((from, derivation)) => {
                let loaded =
                    derivation.derive(&self.base(from), base, page_size, &mut |written| {
                        let written = ByteCount::new(written);
                        self.progress(&format!("derive {page_size} pages: {written}"));
                        self.flow()
                    })?;
                ("derive", loaded)
            }
        };
        self.progress(&format!("check {page_size} pages"));
        let mut connection = database.inspect(base, workload)?;
        let conditions = workload
            .check(connection.as_mut())
            .map_err(DatabaseError::from)?;
        if let Some(broken) = conditions.iter().find(|check| check.violations > 0) {
            return Err(ConductError::Inconsistent {
                clause: broken.clause.clone(),
                what: broken.first_violation.clone().unwrap_or_default(),
            });
        }
        Ok(StoredBase {
            key,
            made_by: made_by.into(),
            rows: loaded.rows,
            size: loaded.size,
            elapsed_s: loaded.elapsed.as_secs_f64(),
        })
    }
}

/// Marks a base directory whose files are whole and durable, and says what
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
