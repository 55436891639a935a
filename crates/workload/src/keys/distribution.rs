//! How often operations fall on which keys, as flags say it.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::zipf::Theta;

/// How often operations fall on which keys.
///
/// Reads from and prints as its name, with its figures behind a colon where
/// they are not the usual ones: `zipfian`, `zipfian:0.8`, `hotspot:10/90`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// `uniform`: all keys equally often.
    Uniform,
    /// `sequential`: one after the other.
    Sequential,
    /// `zipfian`: as YCSB's of that name, a Zipf distribution over 10^10 ranks
    /// that are hashed onto the keys.
    Zipfian(Theta),
    /// `true-zipfian`: a Zipf distribution over the keys themselves, the first
    /// inserted key the likeliest.
    TrueZipfian(Theta),
    /// `latest`: a Zipf distribution over the keys, the last inserted key the
    /// likeliest.
    Latest(Theta),
    /// `hotspot`: a part of the keys gets most of the operations.
    Hotspot(Hotspot),
}

/// A part of the keys and the part of the operations that falls on it.
///
/// By default 20 % of the keys get 80 % of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hotspot {
    keys_percent: u8,
    operations_percent: u8,
}

impl Hotspot {
    /// YCSB's `hotspotdatafraction` and `hotspotopnfraction`.
    pub const DEFAULT: Self = Self {
        keys_percent: 20,
        operations_percent: 80,
    };

    /// `keys_percent` of the keys get `operations_percent` of the operations;
    /// `None` when one of them is not from 1 to 99.
    pub fn new(keys_percent: u8, operations_percent: u8) -> Option<Self> {
        let possible = 1..=99;
        (possible.contains(&keys_percent) && possible.contains(&operations_percent)).then_some(
            Self {
                keys_percent,
                operations_percent,
            },
        )
    }

    /// The hot keys' share of the keys in percent.
    pub const fn keys_percent(self) -> u8 {
        self.keys_percent
    }

    /// The hot keys' share of the operations in percent.
    pub const fn operations_percent(self) -> u8 {
        self.operations_percent
    }
}

impl Default for Hotspot {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Hotspot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hotspot:{}/{}",
            self.keys_percent, self.operations_percent
        )
    }
}

/// Why a distribution was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// No distribution has this name.
    #[error(
        "distribution '{0}' is not known: choose uniform, sequential, zipfian, true-zipfian, latest or hotspot"
    )]
    Name(String),
    /// The theta of a Zipf distribution is out of range.
    #[error("theta '{0}' is not possible: choose one above 0 and at most {max}", max = Theta::MAX)]
    Theta(String),
    /// The shares of a hotspot are out of range.
    #[error(
        "hotspot '{0}' is not possible: write percents of keys and of operations from 1 to 99, like hotspot:20/80"
    )]
    Hotspot(String),
    /// A figure where none is wanted.
    #[error("distribution '{0}' takes no figure: leave '{1}' out")]
    Figure(String, String),
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, figure) = match text.split_once(':') {
            Some((name, figure)) => (name, Some(figure)),
            None => (text, None),
        };
        let theta = || match figure {
            None => Ok(Theta::YCSB),
            Some(figure) => figure
                .parse()
                .ok()
                .and_then(Theta::new)
                .ok_or_else(|| DistributionError::Theta(figure.into())),
        };
        let hotspot = || match figure {
            None => Ok(Hotspot::default()),
            Some(figure) => figure
                .split_once('/')
                .and_then(|(keys, operations)| {
                    Hotspot::new(keys.parse().ok()?, operations.parse().ok()?)
                })
                .ok_or_else(|| DistributionError::Hotspot(figure.into())),
        };
        let plain = |distribution| match figure {
            None => Ok(distribution),
            Some(figure) => Err(DistributionError::Figure(name.into(), format!(":{figure}"))),
        };
        match name {
            "uniform" => plain(Self::Uniform),
            "sequential" => plain(Self::Sequential),
            "zipfian" => theta().map(Self::Zipfian),
            "true-zipfian" => theta().map(Self::TrueZipfian),
            "latest" => theta().map(Self::Latest),
            "hotspot" => hotspot().map(Self::Hotspot),
            _ => Err(DistributionError::Name(name.into())),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, theta) = match self {
            Self::Uniform => return f.pad("uniform"),
            Self::Sequential => return f.pad("sequential"),
            Self::Hotspot(hotspot) if *hotspot == Hotspot::default() => return f.pad("hotspot"),
            Self::Hotspot(hotspot) => return f.pad(&hotspot.to_string()),
            Self::Zipfian(theta) => ("zipfian", theta),
            Self::TrueZipfian(theta) => ("true-zipfian", theta),
            Self::Latest(theta) => ("latest", theta),
        };
        match *theta == Theta::YCSB {
            true => f.pad(name),
            false => f.pad(&format!("{name}:{theta}")),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for Distribution {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_as_they_print() {
        for text in [
            "uniform",
            "sequential",
            "zipfian",
            "zipfian:0.5",
            "true-zipfian",
            "latest:0.9999",
            "hotspot",
            "hotspot:1/99",
        ] {
            let distribution: Distribution = text.parse().unwrap();
            assert_eq!(distribution.to_string(), text);
        }
        assert_eq!("hotspot:20/80".parse(), "hotspot".parse::<Distribution>());
        assert_eq!("latest".parse(), Ok(Distribution::Latest(Theta::YCSB)));
    }

    #[test]
    fn refusals_say_what_is_possible() {
        for (text, reason) in [
            ("", "choose uniform"),
            ("Zipf", "distribution 'Zipf' is not known"),
            (
                "zipfian:1",
                "theta '1' is not possible: choose one above 0 and at most 0.9999",
            ),
            ("latest:", "theta ''"),
            ("hotspot:0/80", "like hotspot:20/80"),
            ("hotspot:20", "hotspot '20'"),
            ("uniform:3", "leave ':3' out"),
        ] {
            let error = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
