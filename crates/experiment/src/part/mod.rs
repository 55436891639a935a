//! One plan on many machines: a part of it that is carried out by itself, on a host that a scheduler
//! chooses, and what a store says of it.
//!
//! A part is a sitting, or the share of a prediction that a shard has. Each attempt leaves a store of
//! its own. [`merge`](mod@crate::merge) brings these together; the statistics over hosts are with those over
//! slices, in [`lockstep`](crate::lockstep).

mod alone;
mod class;
mod ended;
mod host;

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use alone::Alone;
pub(crate) use class::class;
pub use ended::{EndedOutcome, EndedPart};
pub use host::{HOST_NAME_MAX, Host};

/// There are fewer parts of a plan than this, and so are their numbers. Chosen: a report lists those that
/// are missing.
pub const PARTS_MAX: u32 = 1_000_000;

/// What a part is of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// All cells once, on fresh copies, in lockstep.
    Sitting,
    /// Some groups of a prediction.
    Shard,
}

impl PartKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sitting, Self::Shard];

    /// The name, as in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sitting => "sitting",
            Self::Shard => "shard",
        }
    }
}

/// How a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartOutcome {
    /// It was ended before it had all, and kept what there was.
    Incomplete,
    /// As its plan wants it.
    Done,
}

impl PartOutcome {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Incomplete, Self::Done];

    /// The name, as in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Done => "done",
        }
    }
}

/// A part of a plan to be carried out: one attempt at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Of this attempt alone, whatever happens elsewhere: 128 random bits.
    pub id: u128,
    /// Which kind.
    pub kind: PartKind,
    /// Which one, from 0. Seeds of inputs follow from it and from the plan, never from the host.
    pub number: u32,
    /// How many there are, where that is known.
    pub parts: Option<u32>,
    /// Where it is carried out.
    pub host: Host,
}

impl Part {
    /// A new attempt at a part.
    pub fn new(kind: PartKind, number: u32, parts: Option<u32>, host: Host) -> Self {
        Self {
            id: rand::random(),
            kind,
            number,
            parts,
            host,
        }
    }

    /// Its id as stores and outputs have it, 32 hexadecimal digits.
    pub fn id_text(&self) -> String {
        format!("{:032x}", self.id)
    }

    /// The name of the directory that an attempt works in, below that of all parts.
    pub fn directory(&self) -> String {
        let of = match (self.kind, self.parts) {
            (PartKind::Shard, Some(parts)) => format!("-of-{parts}"),
            _ => String::new(),
        };
        // As people count shards.
        let number = match self.kind {
            PartKind::Sitting => self.number,
            PartKind::Shard => self.number.saturating_add(1),
        };
        format!(
            "{}-{number}{of}-{:08x}",
            self.kind.name(),
            // Its first 32 bits.
            self.id >> 96
        )
    }
}

/// A part as a store has it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoredPart {
    /// Of this attempt alone, 32 hexadecimal digits.
    pub id: String,
    /// Which kind.
    pub kind: PartKind,
    /// Which one, from 0.
    pub number: u32,
    /// How many there are, where that is known.
    pub parts: Option<u32>,
    /// Where it was carried out.
    pub host: Host,
    /// The version of Octavo that did.
    pub octavo: String,
    /// When it began, RFC 3339. Of several complete attempts the earliest counts.
    pub started: String,
    /// How it ended; `None` of one that is under way or was killed.
    pub outcome: Option<PartOutcome>,
    /// 0 where it counts; others are kept and count nowhere.
    pub set_aside: u32,
    /// How long it has taken, in seconds.
    pub spent_s: f64,
    /// Its session in the store.
    #[serde(skip)]
    pub(crate) session: i64,
}

impl StoredPart {
    /// When it began: moments have an order, and texts have another.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.started.parse().ok()
    }

    /// Whether it is in the figures.
    pub fn counts(&self) -> bool {
        self.set_aside == 0
    }
}

impl fmt::Display for StoredPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self.kind {
            PartKind::Sitting => self.number,
            PartKind::Shard => self.number.saturating_add(1),
        };
        write!(f, "{} {number}", self.kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_have_directories_of_their_own() {
        let host = Host::named("h");
        let part = |kind, number, parts| Part {
            id: 0xabcd_ef01 << 96,
            kind,
            number,
            parts,
            host: host.clone(),
        };
        let name = |part: Part| part.directory();
        assert_eq!(
            name(part(PartKind::Sitting, 7, Some(12))),
            "sitting-7-abcdef01"
        );
        assert_eq!(
            name(part(PartKind::Shard, 2, Some(200))),
            "shard-3-of-200-abcdef01"
        );
        let new = || Part::new(PartKind::Sitting, 7, None, host.clone());
        assert_ne!(new().id, new().id);
    }
}
