//! How a group of cells is compared, and the rounds that were made.

use octavo_units::Seed;
use serde::{Deserialize, Serialize};

/// The two-sided error of all intervals of a race together.
pub(super) const ERROR: f64 = 0.05;

/// How a group of cells is compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Ratios within this share of 1 make no difference: 0.03 is 3 %.
    pub margin: f64,
    /// Of the bootstrap.
    pub seed: Seed,
    /// Who is run how often.
    pub design: Design,
}

/// Who is run how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "design")]
pub enum Design {
    /// Losers drop out early; a winner is measured again on fresh rounds.
    Race,
    /// Every candidate in every round: the full factorial, without finals.
    Full {
        /// How many rounds; `None` for as many as there is time for.
        rounds: Option<u32>,
        /// How often the group is judged in all, this time included. The
        /// error is shared out over the looks and the candidates
        /// (Bonferroni).
        looks: usize,
    },
}

/// What a pass was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A round of all that are live.
    Race,
    /// A fresh round of a final.
    Final,
}

/// One round of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// What it was made for.
    pub phase: Phase,
    /// Throughput by candidate; `None` for one that was not run, or whose
    /// run has no result.
    pub values: Vec<Option<f64>>,
}
