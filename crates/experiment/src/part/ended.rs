//! What became of a part, for whoever started it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Part, PartKind};

/// What became of a part of a plan, for whoever started it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EndedPart {
    /// The number of a sitting, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sitting: Option<u32>,
    /// The number of a shard, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// How many there are; `null` where that is not known.
    pub of: Option<u32>,
    /// The attempt's id, 32 hexadecimal digits.
    pub id: String,
    /// The host that it was carried out on.
    pub host: String,
    /// Whether all of it is there.
    pub outcome: EndedOutcome,
    /// Its results; `null` where there are none.
    pub store: Option<PathBuf>,
    /// Cells that have figures.
    pub cells: usize,
    /// Seconds that it took.
    pub spent_s: f64,
    /// Why it is not done, or is done without results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether all of a part is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndedOutcome {
    /// All of it.
    Done,
    /// What there was before an interruption.
    Incomplete,
    /// Nothing, as the input is bad.
    Refused,
    /// Something went wrong.
    Failed,
}

impl EndedPart {
    /// An attempt that failed without any results, for all that is another way to be changed.
    pub fn of(part: &Part) -> Self {
        let (sitting, shard) = match part.kind {
            PartKind::Sitting => (Some(part.number), None),
            PartKind::Shard => (None, Some(part.number.saturating_add(1))),
        };
        Self {
            sitting,
            shard,
            of: part.parts,
            id: part.id_text(),
            host: part.host.name.clone(),
            outcome: EndedOutcome::Failed,
            store: None,
            cells: 0,
            spent_s: 0.0,
            reason: None,
        }
    }
}
