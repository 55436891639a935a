//! What another disk would change, predicted from what was measured here: how it is kept in
//! the store. `campaign` predicts it.

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    record::Source,
    statistics::Interval,
    store::{Store, StoreError},
};

/// Where these are in a store.
const TOPIC: &str = "elsewhere";

/// What another disk would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherDisk {
    /// That it is predicted, whatever else was measured.
    pub source: Source,
    /// The disk's name in the catalog.
    pub device: String,
    /// The memory that is predicted with: the largest of the plan.
    pub memory: ByteCount,
    /// Which page size to use there.
    #[serde(flatten)]
    pub pages: PagesElsewhere,
    /// The throughput with the default page size there over the one that was measured
    /// here (95%, this ratio alone).
    pub over_here: Interval,
}

/// Which page size to use on another disk, by the rules of any experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "pages")]
pub enum PagesElsewhere {
    /// Change to this one.
    Use {
        /// Which.
        page_size: PageSize,
        /// Its throughput over the one with the default page size there: an interval that
        /// does not hold 1.
        over_default: Interval,
    },
    /// None is faster than the default by more than the margin.
    Keep,
    /// There is no other.
    Alone,
    /// That is not known: these may be faster.
    Open {
        /// Which.
        page_sizes: Vec<PageSize>,
    },
}

impl OtherDisk {
    /// The disks that are asked: a fast drive, a volume in the cloud, and a disk that
    /// rotates.
    pub(crate) const DEVICES: [&str; 3] = ["nvme-tlc", "gp3-3000", "st373455ss"];

    /// What a store has of it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        let facts = store.facts(TOPIC)?;
        let mut all: Vec<Self> = facts.into_iter().filter_map(Self::from_fact).collect();
        all.sort_by_key(|one| {
            Self::DEVICES
                .iter()
                .position(|device| **device == *one.device)
        });
        Ok(all)
    }

    /// Keeps it, instead of what there was.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn put(store: &mut Store, all: &[Self]) -> Result<(), StoreError> {
        let facts: Vec<(String, String)> = all.iter().filter_map(Self::fact).collect();
        store.replace_facts(TOPIC, &facts)
    }

    /// `None` where an interval has no end, which text cannot tell.
    fn fact(&self) -> Option<(String, String)> {
        let words = serde_json::to_string(self).ok()?;
        Some((self.device.clone(), words))
    }

    /// `None` of what is damaged, or was kept by a version that told no intervals.
    fn from_fact((device, words): (String, String)) -> Option<Self> {
        let found: Self = serde_json::from_str(&words).ok()?;
        let is_sound = |of: &Interval| {
            of.low > 0.0 && of.low <= of.estimate && of.estimate <= of.high && of.high.is_finite()
        };
        let are_pages_sound = match &found.pages {
            PagesElsewhere::Use { over_default, .. } => is_sound(over_default),
            PagesElsewhere::Keep | PagesElsewhere::Alone => true,
            PagesElsewhere::Open { page_sizes } => !page_sizes.is_empty(),
        };
        let is_meant = found.device == device && found.source == Source::Predicted;
        (is_meant && are_pages_sound && is_sound(&found.over_here)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            batches: 10,
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        for pages in [
            PagesElsewhere::Use {
                page_size: PageSize::kib(2),
                over_default: interval(1.0625, 1.125, 1.25),
            },
            PagesElsewhere::Keep,
            PagesElsewhere::Alone,
            PagesElsewhere::Open {
                page_sizes: vec![PageSize::kib(2), PageSize::kib(8)],
            },
        ] {
            let one = OtherDisk {
                source: Source::Predicted,
                device: "gp3-3000".into(),
                memory: ByteCount::mib(32),
                pages,
                over_here: interval(0.25, 0.5, 0.75),
            };
            assert_eq!(OtherDisk::from_fact(one.fact().unwrap()), Some(one));
        }
    }

    #[test]
    fn damaged_and_earlier_ones_are_none() {
        let sound = r#"{"source":"predicted","device":"a","memory":1024,"pages":"keep",
            "over_here":{"estimate":1.0,"low":0.5,"high":2.0,"batches":9}}"#;
        let kept = |words: &str| OtherDisk::from_fact(("a".to_owned(), words.to_owned()));
        assert!(kept(sound).is_some());
        for (part, damage) in [
            (r#""low":0.5"#, r#""low":1.5"#),
            (r#""low":0.5"#, r#""low":-0.5"#),
            (r#""high":2.0"#, r#""high":null"#),
            (r#""device":"a""#, r#""device":"b""#),
            (r#""pages":"keep""#, r#""pages":"open","page_sizes":[]"#),
            (r#""pages":"keep""#, r#""pages":"use","page_size":3"#),
            (r#""source":"predicted""#, r#""source":"measured""#),
        ] {
            assert!(sound.contains(part));
            assert_eq!(kept(&sound.replace(part, damage)), None, "{damage}");
        }
        assert_eq!(kept("33554432 2048 1.1250 0.5000"), None);
        assert_eq!(kept(""), None);
    }
}
