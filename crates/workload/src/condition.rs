//! Consistency conditions of a workload's rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One consistency condition after a load or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// The clause, such as "3.3.2.1".
    pub clause: String,
    /// How many places were compared.
    pub checked: u64,
    /// How many of them did not hold.
    pub violations: u64,
    /// The first that did not hold, in words.
    pub first_violation: Option<String>,
}

impl Condition {
    /// A condition that nothing was compared for yet.
    pub fn new(clause: impl Into<String>) -> Self {
        Self {
            clause: clause.into(),
            checked: 0,
            violations: 0,
            first_violation: None,
        }
    }

    /// Counts one comparison; `words` says what was compared.
    pub fn expect(&mut self, holds: bool, words: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.violations += 1;
            self.first_violation.get_or_insert_with(words);
        }
    }
}
