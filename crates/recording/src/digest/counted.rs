//! What a server has counted of a statement.

use std::time::Duration;

use crate::recording::Fnv;

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
    /// The most bytes that the server keeps of a text's words and signs, where it does not say of
    /// what it cut that it did.
    pub most: Option<usize>,
}

impl Digest {
    /// What it is called: "digest 3fa2c1", by a hash of its text. Its place among others changes as
    /// these are counted.
    pub fn name(&self) -> String {
        let mut hash = Fnv::default();
        hash.bytes(self.text.as_bytes());
        format!("digest {:06x}", hash.value() & 0xff_ffff)
    }
}
