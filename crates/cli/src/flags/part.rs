//! Which part of a plan a command carries out.

use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use octavo_experiment::{part::PARTS_MAX, plan::Shard};

/// Why there are no sittings of ramps.
pub(crate) const RAMP_APART: &str = "--sitting compares cells in lockstep, and ramp in [clients] makes \
     each cell a ramp by itself: carry out the plan on one host";

/// Which sittings to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sittings {
    /// These, from 0, and how many there are in all where that is known.
    These {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
        /// In all.
        of: Option<u32>,
    },
    /// The one that the environment says.
    Auto,
}

impl FromStr for Sittings {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = |text: &str| {
            let number: u32 = text.parse().ok().filter(|&number| number < PARTS_MAX)?;
            Some(number)
        };
        let (range, of) = match text.split_once('/') {
            Some((range, of)) => (range, Some(of)),
            None => (text, None),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            bail!("give a number from 0, such as 7, 7/12 or 0-3/12, or auto");
        };
        let how_many = |of: &str| number(of).filter(|&of| of > 0);
        let of = of.map(|of| {
            how_many(of).context("give how many sittings there are, at least 1, after /")
        });
        let of = of.transpose()?;
        ensure!(first <= last, "{first} comes after {last}");
        if let Some(of) = of {
            ensure!(
                last < of,
                "sittings are counted from 0, so the last of {of} is {}",
                of - 1
            );
        }
        Ok(Self::These { first, last, of })
    }
}

/// Which part of a plan, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardFlag {
    /// That one.
    Part(Shard),
    /// The one that the environment says.
    Auto,
}

impl FromStr for ShardFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => Ok(Self::Part(text.parse()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sittings_are_numbers_ranges_or_what_the_environment_says() {
        let these = |first, last, of| Sittings::These { first, last, of };
        for (text, wanted) in [
            ("0", these(0, 0, None)),
            ("7/12", these(7, 7, Some(12))),
            ("0-11", these(0, 11, None)),
            ("3-5/12", these(3, 5, Some(12))),
            ("auto", Sittings::Auto),
        ] {
            assert_eq!(text.parse::<Sittings>().unwrap(), wanted, "{text}");
        }
        for text in [
            "", "-1", "12/12", "5-3", "1.5", "7/", "/7", "1000000", "AUTO",
        ] {
            assert!(text.parse::<Sittings>().is_err(), "{text}");
        }
    }
}
