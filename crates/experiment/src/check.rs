//! Whether loaded rows are what they should be, and whether what the last run
//! left satisfies its workload's conditions.

use std::path::{Path, PathBuf};

use octavo_database::{Database, DatabaseError, TableContent, contents, expected_contents};
use octavo_workload::{Condition, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    causes::with_causes,
    dataset::{Dataset, Manifest},
};

/// What a check found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckResult {
    /// What was loaded.
    pub loaded: Manifest,
    /// The rows as loaded.
    pub base: Checked,
    /// Tables of the base that are not what the seed gives.
    pub unexpected: Vec<String>,
    /// What the last run left, where there was one. A server that died is
    /// recovered first.
    pub last_run: Option<Checked>,
}

/// A database that was looked at.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Checked {
    /// Why it could not be read to its end; then there is nothing else.
    pub unreadable: Option<String>,
    /// Why it was not read to its end although nothing is wrong with it, such as a full disk;
    /// then there is nothing else.
    pub unchecked: Option<String>,
    /// Rows and content hash of each table: equal hashes mean equal rows, in
    /// whatever order and database.
    pub tables: Vec<TableContent>,
    /// The workload's consistency conditions.
    pub conditions: Vec<Condition>,
}

impl Checked {
    fn failed(error: &DatabaseError) -> Self {
        let why = Some(with_causes(error));
        match error.is_full() {
            true => Self {
                unchecked: why,
                ..Self::default()
            },
            false => Self {
                unreadable: why,
                ..Self::default()
            },
        }
    }

    /// Whether all conditions hold.
    pub fn is_consistent(&self) -> bool {
        self.unreadable.is_none() && self.unchecked.is_none() && self.holds()
    }

    /// Whether a condition does not hold, or it cannot be read.
    fn is_unsound(&self) -> bool {
        self.unreadable.is_some() || !self.holds()
    }

    fn holds(&self) -> bool {
        self.conditions.iter().all(|found| found.violations == 0)
    }
}

impl CheckResult {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.unexpected.is_empty()
            && self.base.is_consistent()
            && self.last_run.as_ref().is_none_or(Checked::is_consistent)
    }

    /// Why it is not known whether it is sound; `None` where it is, or where something is
    /// wrong.
    pub fn unchecked(&self) -> Option<&str> {
        let both = || {
            [Some(&self.base), self.last_run.as_ref()]
                .into_iter()
                .flatten()
        };
        let is_unsound = !self.unexpected.is_empty() || both().any(Checked::is_unsound);
        let mut unchecked = both().filter_map(|of| of.unchecked.as_deref());
        unchecked.next().filter(|_| !is_unsound)
    }
}

/// Checks the rows as loaded, against the conditions and against the rows that
/// the seed gives, and what the last run left against the conditions.
/// `workload` has to be of the rows that were loaded, and `last_workload` with
/// the mix of the last run, on which the conditions may depend.
pub fn check(
    loaded: &Dataset,
    database: &dyn Database,
    workload: &dyn Workload,
    last_workload: &dyn Workload,
) -> CheckResult {
    let look = |directory: &Path, workload: &dyn Workload| -> Result<Checked, DatabaseError> {
        let mut inspection = database.inspect(directory, workload)?;
        Ok(Checked {
            conditions: workload.check(inspection.as_mut())?,
            tables: contents(inspection.as_mut(), workload)?,
            ..Checked::default()
        })
    };
    // One damaged database must not hide what the other one holds.
    let look = |directory: PathBuf, workload| {
        look(&directory, workload).unwrap_or_else(|error| Checked::failed(&error))
    };
    let base = look(loaded.base(), workload);
    // Of an unreadable base nothing is left to compare.
    let unexpected = expected_contents(workload)
        .iter()
        .zip(&base.tables)
        .filter(|(expected, found)| expected != found)
        .map(|(expected, _)| expected.table.clone())
        .collect();
    let last_run = loaded.last_copy().map(|copy| look(copy, last_workload));
    CheckResult {
        loaded: loaded.manifest().clone(),
        base,
        unexpected,
        last_run,
    }
}

#[cfg(test)]
mod tests {
    use octavo_workload::ConnectionError;

    use super::*;

    #[test]
    fn a_full_disk_is_no_damage() {
        let full = DatabaseError::Connection(ConnectionError::Full("sort rows".into()));
        let full = Checked::failed(&full);
        assert!(!full.is_consistent() && !full.is_unsound());
        assert!(full.unchecked.is_some() && full.unreadable.is_none());
        let broken = Checked::failed(&ConnectionError::other("read rows", "corrupt").into());
        assert!(!broken.is_consistent() && broken.is_unsound());
    }
}
