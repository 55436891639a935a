//! Whether loaded rows are what they should be, and whether what the last run
//! left satisfies its workload's conditions.

use std::path::{Path, PathBuf};

use octavo_database::{Database, DatabaseError, TableContent, contents, expected_contents};
use octavo_workload::{Condition, Workload};
use serde::Serialize;

use crate::{
    causes::with_causes,
    dataset::{Dataset, Manifest},
};

/// What a check found.
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// Why it could not be read to its end; then there is nothing else.
    pub unreadable: Option<String>,
    /// Rows and content hash of each table: equal hashes mean equal rows, in
    /// whatever order and database.
    pub tables: Vec<TableContent>,
    /// The workload's consistency conditions.
    pub conditions: Vec<Condition>,
}

impl Checked {
    /// Whether all conditions hold.
    pub fn is_consistent(&self) -> bool {
        self.unreadable.is_none() && self.conditions.iter().all(|found| found.violations == 0)
    }
}

impl CheckResult {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.unexpected.is_empty()
            && self.base.is_consistent()
            && self.last_run.as_ref().is_none_or(Checked::is_consistent)
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
            unreadable: None,
            conditions: workload.check(inspection.as_mut())?,
            tables: contents(inspection.as_mut(), workload)?,
        })
    };
    // One damaged database must not hide what the other one holds.
    let look = |directory: PathBuf, workload| {
        look(&directory, workload).unwrap_or_else(|error| Checked {
            unreadable: Some(with_causes(&error)),
            ..Checked::default()
        })
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
