//! A part of the rows, as it is written: `10%` or `0.1`.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A share of rows, from [`Share::MIN`] up to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

/// What is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} must be from 0.0001% to 100%, such as 10% or 0.1")]
pub struct ShareError(String);

impl Share {
    /// One row in a million. Chosen: a sample of fewer says nothing.
    pub const MIN: f64 = 1e-6;

    /// All rows.
    pub const ALL: Self = Self(1.0);

    /// The share, 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = ShareError;

    fn try_from(share: f64) -> Result<Self, ShareError> {
        match (Self::MIN..=1.0).contains(&share) {
            true => Ok(Self(share)),
            false => Err(ShareError(share.to_string())),
        }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let refused = || ShareError(format!("'{text}'"));
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| refused());
        let share = match text.trim().strip_suffix('%') {
            Some(percent) => number(percent)? / 100.0,
            None => number(text)?,
        };
        Self::try_from(share).map_err(|_| refused())
    }
}

/// In percent.
impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.07 * 100 is not 7, and all that a share has of digits stands before the tenth place.
        let percent = (self.0 * 1e12).round() / 1e10;
        write!(formatter, "{percent}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_as_percent_or_ratio() {
        for (text, share, shown) in [
            ("10%", 0.1, "10%"),
            ("0.1", 0.1, "10%"),
            (" 7 %", 0.07, "7%"),
            ("0.5%", 0.005, "0.5%"),
            ("1", 1.0, "100%"),
            ("100%", 1.0, "100%"),
            ("0.0001%", 1e-6, "0.0001%"),
        ] {
            let read: Share = text.parse().unwrap();
            assert!((read.get() - share).abs() < 1e-12, "{text}");
            assert_eq!(read.to_string(), shown, "{text}");
        }
        for text in [
            "", "%", "0", "0%", "-1%", "101%", "1.1", "10", "ten", "NaN", "inf", "0.00001%",
        ] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
