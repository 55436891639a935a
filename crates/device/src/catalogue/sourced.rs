//! Numbers that say where they come from.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A value with its source, in TOML a pair: `read_us = [25, "data sheet, table
/// 3"]`. An entry without a source is not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(T, String)", into = "(T, String)")]
#[serde(bound(
    serialize = "T: Clone + Serialize",
    deserialize = "T: Deserialize<'de>"
))]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The publication, the calculation, or who assumed it why.
    pub source: String,
}

impl<T> Sourced<T> {
    /// A value and where it comes from.
    pub fn new(value: T, source: impl Into<String>) -> Self {
        Self {
            value,
            source: source.into(),
        }
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<(T, String)> for Sourced<T> {
    fn from((value, source): (T, String)) -> Self {
        Self { value, source }
    }
}

impl<T> From<Sourced<T>> for (T, String) {
    fn from(sourced: Sourced<T>) -> Self {
        (sourced.value, sourced.source)
    }
}
