//! Parameters: numbers that say where they come from, and the refusal of those
//! that no device can have.

use std::{
    fmt::Display,
    ops::{Bound, Deref, RangeBounds},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value with its source, in TOML a pair: `read_us = [25, "data sheet, table
/// 3"]`. An entry without a source is not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value} is not possible: {reason}")]
pub struct Impossible {
    /// Which entry, like `flash.read_us`.
    pub key: String,
    /// What it says.
    pub value: String,
    /// Why not, and what would do.
    pub reason: String,
}

impl Impossible {
    /// The entry `key`, its value, and why that cannot be.
    pub fn new(key: impl Into<String>, value: impl Display, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    /// The same of an entry in this table, whose name goes before its own.
    pub(crate) fn within(self, table: &str) -> Self {
        Self {
            key: format!("{table}.{}", self.key),
            ..self
        }
    }
}

/// Refuses the entry `key` where what has to hold of it does not.
///
/// # Errors
/// The entry, its value and the reason.
pub(crate) fn require(
    holds: bool,
    key: &str,
    value: impl Display,
    reason: impl Into<String>,
) -> Result<(), Impossible> {
    match holds {
        true => Ok(()),
        false => Err(Impossible::new(key, value, reason)),
    }
}

/// A parameter that can have bounds: one that is given or may be left out.
pub(crate) trait Bounded {
    type Value: PartialOrd + Display;

    fn value(&self) -> Option<&Self::Value>;

    /// Refuses a value out of `bounds`; NaN lies in none.
    fn check(&self, key: &str, bounds: impl RangeBounds<Self::Value>) -> Result<(), Impossible> {
        let Some(value) = self.value().filter(|value| !bounds.contains(value)) else {
            return Ok(());
        };
        let reason = match (bounds.start_bound(), bounds.end_bound()) {
            (Bound::Included(least), Bound::Included(most)) => {
                format!("it is from {least} to {most}")
            }
            (Bound::Included(least), _) => format!("it is at least {least}"),
            (_, Bound::Included(most)) => format!("it is at most {most}"),
            _ => "it is out of its bounds".to_owned(),
        };
        Err(Impossible::new(key, value, reason))
    }
}

impl<T: PartialOrd + Display> Bounded for Sourced<T> {
    type Value = T;

    fn value(&self) -> Option<&T> {
        Some(&self.value)
    }
}

impl<T: PartialOrd + Display> Bounded for Option<Sourced<T>> {
    type Value = T;

    fn value(&self) -> Option<&T> {
        self.as_ref().map(|sourced| &sourced.value)
    }
}

/// Declares a table of parameters: fields as in any struct, and after `=` the
/// bounds of those that have some. Reading, writing and `check_bounds` follow
/// from that; units are in the names.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        pub struct $name:ident $(<$generic:ident>)? {
            $($(#[$meta:meta])* pub $field:ident: $type:ty $(= $bounds:expr)?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name $(<$generic>)? {
            $($(#[$meta])* pub $field: $type,)*
        }

        impl $(<$generic>)? $name $(<$generic>)? {
            /// Refuses a value that is out of its own bounds.
            fn check_bounds(&self) -> Result<(), $crate::sourced::Impossible> {
                $($($crate::sourced::Bounded::check(&self.$field, stringify!($field), $bounds)?;)?)*
                Ok(())
            }
        }
    };
}
pub(crate) use parameters;
