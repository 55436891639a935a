//! Results that are valued together, and why they cannot be.

use crate::findings::Findings;

/// A store's results, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// The directory as the user named it: what the storage under it is called.
    pub name: &'a str,
    /// What the store says.
    pub findings: &'a Findings,
}

/// Why stores have no value together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Nothing was asked.
    #[error("there are no results")]
    NoResults,
    /// No cell has a throughput.
    #[error("{name} has no cell with a throughput: repeat the command that made it")]
    NoThroughput {
        /// Which results.
        name: String,
    },
    /// All cells had the throughput of a recording.
    #[error(
        "{name} has what was recorded at its pace, which has the same throughput everywhere: measure \
         without --pace"
    )]
    Paced {
        /// Which results.
        name: String,
    },
    /// The results are of different experiments.
    #[error(
        "{first} and {second} differ in {what}: throughput per money compares only the same \
         {what}"
    )]
    Different {
        /// Some results.
        first: String,
        /// Others.
        second: String,
        /// In what.
        what: &'static str,
    },
    /// Nothing has a price.
    #[error("nothing has a price")]
    NoPrice,
    /// Only storages have prices that are not in the results.
    #[error(
        "no cell has a price: no storage here is named {}; name {}, or give memory or the machine \
         a price",
        priced.join(" or "),
        known.join(" or ")
    )]
    NoCost {
        /// The storages with a price.
        priced: Vec<String>,
        /// The storages that there are.
        known: Vec<String>,
    },
    /// A scale that no machine can be of.
    #[error("times {scale} must be from {SCALE_MIN} to {SCALE_MAX}")]
    Scale {
        /// What was asked.
        scale: f64,
    },
    /// A storage's price names none where there are several.
    #[error("a price of storage has no name: write NAME=PRICE, with NAME one of {}", known.join(", "))]
    Nameless {
        /// The storages that there are.
        known: Vec<String>,
    },
}

/// The smallest scale: between a small test and a large machine. Chosen.
pub(super) const SCALE_MIN: f64 = 1e-3;
/// The largest one. Chosen.
pub(super) const SCALE_MAX: f64 = 1e6;
