//! What a server has counted of a statement.

use std::time::Duration;

/// A statement without its values, as a server counts it.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// Its text.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// How long all runs took.
    pub took: Duration,
    /// The rows of all runs.
    pub rows: u64,
}
