//! Numbers from one to another.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number that is always the same, or any from one to another, each as often.
///
/// Reads from and prints as `32` or `100..4000`, with both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    least: u32,
    most: u32,
}

/// Why a text is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no number and no range: write it like 32 or \"100..4000\"")]
pub struct SpreadError(String);

impl Spread {
    /// Always the same.
    pub const fn always(number: u32) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    /// From one to another; `None` where the first is the larger one.
    pub const fn new(least: u32, most: u32) -> Option<Self> {
        if least > most {
            return None;
        }
        Some(Self { least, most })
    }

    /// The least.
    pub const fn least(self) -> u32 {
        self.least
    }

    /// The most.
    pub const fn most(self) -> u32 {
        self.most
    }

    /// The mean, rounded down.
    pub const fn mean(self) -> u32 {
        self.least + (self.most - self.least) / 2
    }

    /// Whether all of them are in a range.
    pub(crate) fn is_within(self, range: &RangeInclusive<u32>) -> bool {
        range.contains(&self.least) && range.contains(&self.most)
    }

    /// Whether this is one of them.
    pub(crate) fn contains(self, number: u32) -> bool {
        (self.least..=self.most).contains(&number)
    }

    /// One of them, by evenly distributed bits.
    pub(crate) fn by_bits(self, bits: u32) -> u32 {
        let count = u64::from(self.most - self.least) + 1;
        let above = (u64::from(bits) * count) >> 32;
        // Below the count, which has 32 bits or is 2^32.
        self.least + u32::try_from(above).unwrap_or(0)
    }
}

impl FromStr for Spread {
    type Err = SpreadError;

    fn from_str(text: &str) -> Result<Self, SpreadError> {
        let refused = || SpreadError(text.into());
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| refused());
        match text.split_once("..") {
            None => Ok(Self::always(number(text)?)),
            Some((least, most)) => Self::new(number(least)?, number(most)?).ok_or_else(refused),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => self.least.fmt(f),
            false => write!(f, "{}..{}", self.least, self.most),
        }
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for Spread {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Spread".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_read_as_they_print() {
        for (text, least, most) in [("32", 32, 32), ("100..4000", 100, 4000), ("0..0", 0, 0)] {
            let spread: Spread = text.parse().unwrap();
            assert_eq!((spread.least(), spread.most()), (least, most));
            let printed = spread.to_string();
            assert_eq!(printed.parse(), Ok(spread), "{printed}");
        }
        for text in ["", "4000..100", "1..", "..2", "-1", "1...2", "4294967296"] {
            assert!(text.parse::<Spread>().is_err(), "{text}");
        }
    }

    #[test]
    fn all_of_a_spread_are_as_likely() {
        let spread = Spread::new(3, 6).unwrap();
        let mut counts = [0; 4];
        for step in 0..4000_u32 {
            counts[(spread.by_bits(step * (u32::MAX / 4000)) - 3) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (999..=1001).contains(count)),
            "{counts:?}"
        );
        assert_eq!(
            Spread::new(0, u32::MAX).unwrap().by_bits(u32::MAX),
            u32::MAX
        );
    }
}
