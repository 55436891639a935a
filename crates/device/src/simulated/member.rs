//! What a composed device says its members are.

use std::fmt;

use octavo_units::Seed;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, SeqAccess, Visitor, value},
};

use super::members::Members;
use crate::{
    catalog::{Entry, EntryError, find},
    power::Draw,
    sourced::{Impossible, Sourced},
};

/// Devices of all nested arrays together. Some simulators keep tables of
/// hundreds of MiB.
const DEVICES_MAX: u64 = 256;

/// What an array consists of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Member {
    /// A device of the catalog, by its name.
    Named(Sourced<String>),
    /// A device described in place, as in a file of its own.
    Nested(Box<Entry>),
}

impl Member {
    /// The member's entry.
    ///
    /// # Errors
    /// A name that is not in the catalog.
    pub(crate) fn entry(&self, key: &'static str) -> Result<Entry, Impossible> {
        match self {
            Self::Named(name) => {
                find(name).map_err(|error| Impossible::new(key, &**name, error.to_string()))
            }
            Self::Nested(entry) => Ok((**entry).clone()),
        }
    }

    /// What one of them draws; `None` where that is not known.
    pub(crate) fn draw(&self) -> Option<Draw> {
        self.entry("member").ok()?.draw()
    }

    /// Simulated devices, those in nested arrays counted.
    pub(crate) fn devices(&self, count: u32) -> u64 {
        self.entry("member")
            .map_or(1, |entry| entry.devices())
            .saturating_mul(u64::from(count))
    }

    /// Checks that so many of them can be made.
    pub(crate) fn check(
        &self,
        member_key: &'static str,
        count: u32,
        count_key: &'static str,
    ) -> Result<(), Impossible> {
        // An entry that is found is checked; one that is nested is not yet.
        let entry = self.entry(member_key)?;
        if let Self::Nested(nested) = self {
            nested.check().map_err(|error: EntryError| {
                Impossible::new(member_key, &nested.name, error.to_string())
            })?;
        }
        if count == 0 || entry.devices().saturating_mul(u64::from(count)) > DEVICES_MAX {
            return Err(Impossible::new(
                count_key,
                count,
                format!("an array has from 1 to {DEVICES_MAX} devices, nested ones included"),
            ));
        }
        Ok(())
    }

    /// So many of them, at rest, each with a seed of its own.
    ///
    /// # Panics
    /// For a name that is not in the catalog, which
    /// [`Self::check`] refuses.
    pub(crate) fn open(&self, count: u32, seed: Seed) -> Members {
        let entry = self
            .entry("member")
            .expect("members are checked when an entry is made");
        Members::new(
            (0..u64::from(count))
                .map(|index| entry.open(seed.derive("member", index)))
                .collect(),
        )
    }
}

/// By the shape of the value, so that an error within it is told, which an
/// untagged enum does not do.
impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a device and its source, or a device's table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Member, A::Error> {
                Deserialize::deserialize(value::SeqAccessDeserializer::new(sequence))
                    .map(Member::Named)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member, A::Error> {
                Deserialize::deserialize(value::MapAccessDeserializer::new(map)).map(Member::Nested)
            }
        }

        deserializer.deserialize_any(Shape)
    }
}
