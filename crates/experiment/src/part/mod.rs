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

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use alone::Alone;
pub(crate) use class::class;
pub use ended::{EndedOutcome, EndedPart};
pub use host::Host;

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

/// The fewest digits of an id that tell hosts with one name apart.
const ID_DIGITS: usize = 4;

/// Adds to the names of hosts that have one name and several ids the first digits of these.
pub(crate) fn tell_apart(parts: &mut [StoredPart]) {
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in parts.iter() {
        let of_name = ids.entry(part.host.name.clone()).or_default();
        of_name.insert(part.host.id.clone());
    }
    let begin = |id: &str, digits: usize| id.chars().take(digits).collect::<String>();
    for part in parts {
        let Some(own) = ids.get(&part.host.name).filter(|own| own.len() > 1) else {
            continue;
        };
        let are_apart = |digits: &usize| {
            let begins: BTreeSet<String> = own.iter().map(|id| begin(id, *digits)).collect();
            begins.len() == own.len()
        };
        let longest = own.iter().map(String::len).max().unwrap_or_default();
        let digits = (ID_DIGITS..longest).find(are_apart).unwrap_or(longest);
        part.host.name = format!("{} ({})", part.host.name, begin(&part.host.id, digits));
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

    #[test]
    fn hosts_with_one_name_have_the_first_digits_of_their_ids() {
        let part = |id: &str, name: &str| StoredPart {
            id: String::new(),
            kind: PartKind::Sitting,
            number: 0,
            parts: None,
            host: Host {
                id: id.into(),
                name: name.into(),
            },
            octavo: String::new(),
            started: String::new(),
            outcome: None,
            set_aside: 0,
            spent_s: 0.0,
            session: 0,
        };
        let mut parts = [
            part("0123456789abcdef", "n1"),
            part("0123556789abcdef", "n1"),
            part("0123456789abcdef", "n1"),
            part("ffff000000000000", "n2"),
        ];
        tell_apart(&mut parts);
        let names = parts.map(|part| part.host.name);
        assert_eq!(names, ["n1 (01234)", "n1 (01235)", "n1 (01234)", "n2"]);
    }
}
