//! Whether loaded rows are what they should be, and whether what the last run
//! left satisfies its workload's conditions.

use std::path::PathBuf;

use octavo_database::{Database, DatabaseError, TableContent, contents, expected_contents};
use octavo_workload::{Condition, Workload};
use serde::Serialize;

use crate::loaded::{Description, LoadError, Loaded};

/// What a check found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// What was loaded.
    pub loaded: Description,
    /// The rows as loaded.
    pub base: Checked,
    /// Tables of the base that are not what the seed gives.
    pub unexpected: Vec<String>,
    /// What the last run left, where there was one. A server that died is
    /// recovered first.
    pub last_run: Option<Checked>,
}

/// A database that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Rows and content hash of each table: equal hashes mean equal rows, in
    /// whatever order and database.
    pub tables: Vec<TableContent>,
    /// The workload's consistency conditions.
    pub conditions: Vec<Condition>,
}

impl Checked {
    /// Whether all conditions hold.
    pub fn is_consistent(&self) -> bool {
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
}

/// Checks the rows as loaded, against the conditions and against the rows that
/// the seed gives, and what the last run left against the conditions.
/// `workload` has to be of the rows that were loaded.
pub fn check(
    loaded: &Loaded,
    database: &dyn Database,
    workload: &dyn Workload,
) -> Result<CheckResult, LoadError> {
    let look = |directory: PathBuf| -> Result<Checked, DatabaseError> {
        let mut inspection = database.inspect(&directory, workload)?;
        Ok(Checked {
            conditions: workload.check(inspection.as_mut())?,
            tables: contents(inspection.as_mut(), workload)?,
        })
    };
    let base = look(loaded.base())?;
    let unexpected = expected_contents(workload)
        .iter()
        .zip(&base.tables)
        .filter(|(expected, found)| expected != found)
        .map(|(expected, _)| expected.table.clone())
        .collect();
    let last_run = loaded.last_copy().map(look).transpose()?;
    Ok(CheckResult {
        loaded: loaded.description().clone(),
        base,
        unexpected,
        last_run,
    })
}
