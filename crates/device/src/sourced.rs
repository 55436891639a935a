//! Parameters: numbers that say where they come from, and the refusal of those
//! that no device can have.

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

/// A value that no device can have, told by the parameters of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Impossible {
    /// Which entry, like `flash.read_us`.
    pub key: &'static str,
    /// What it says.
    pub value: String,
    /// Why not, and what would do.
    pub reason: String,
}

impl Impossible {
    /// The entry `key`, its value, and why that cannot be.
    pub fn new(
        key: &'static str,
        value: impl std::fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            key,
            value: value.to_string(),
            reason: reason.into(),
        }
    }
}
