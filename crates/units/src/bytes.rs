//! Sizes in bytes: any amount ([`ByteCount`]) and a database page ([`PageSize`]).

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a size was refused. The text names the value and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{value}' {reason}")]
pub struct ParseSizeError {
    what: &'static str,
    value: String,
    reason: &'static str,
}

impl ParseSizeError {
    pub(crate) fn new(what: &'static str, value: impl Into<String>, reason: &'static str) -> Self {
        Self {
            what,
            value: value.into(),
            reason,
        }
    }
}

/// An amount of bytes.
///
/// Prints with the largest unit that leaves at most one decimal
/// (`1.5 MiB`), parses `65536`, `64K`, `64KiB`, `64 kb`, `1.5MiB`; every unit
/// is a power of two.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct ByteCount(u64);

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

impl ByteCount {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many KiB.
    pub const fn kib(count: u64) -> Self {
        Self(count * KIB)
    }

    /// This many MiB.
    pub const fn mib(count: u64) -> Self {
        Self(count * MIB)
    }

    /// The amount in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// From this to `most`, as in `290 MiB to 299 MiB`; one of them where both print alike.
    pub fn up_to(self, most: Self) -> String {
        let (least, most) = (self.to_string(), most.to_string());
        match least == most {
            true => most,
            false => format!("{least} to {most}"),
        }
    }

    /// The sum, or the largest amount when it does not fit.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero when `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, or the largest amount when it does not fit.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            GIB.. => (GIB, "GiB"),
            MIB.. => (MIB, "MiB"),
            KIB.. => (KIB, "KiB"),
            _ => (1, "B"),
        };
        let text = if self.0.is_multiple_of(unit) {
            format!("{} {name}", self.0 / unit)
        } else {
            // The cast is exact up to 2^53 and one decimal is printed.
            format!("{:.1} {name}", self.0 as f64 / unit as f64)
        };
        f.pad(&text)
    }
}

impl FromStr for ByteCount {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WHAT: &str = "size";
        const FORM: &str = "is not a size: write it like 4096, 64K or 64MiB";
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        // In a list, `1,024MiB` would be 1 byte and 24 MiB.
        if number.len() > 1 && number.starts_with('0') && !number.starts_with("0.") {
            return Err(ParseSizeError::new(
                WHAT,
                text,
                "begins with 0: leave zeros and commas out, as in 1024MiB",
            ));
        }
        let unit = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => KIB,
            "m" | "mb" | "mib" => MIB,
            "g" | "gb" | "gib" => GIB,
            "t" | "tb" | "tib" => 1024 * GIB,
            _ => return Err(ParseSizeError::new(WHAT, text, FORM)),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole
                .checked_mul(unit)
                .map(Self)
                .ok_or_else(|| ParseSizeError::new(WHAT, text, "is larger than 16 EiB"));
        }
        let fraction: f64 = number
            .parse()
            .map_err(|_| ParseSizeError::new(WHAT, text, FORM))?;
        let bytes = fraction * unit as f64;
        if bytes.fract() != 0.0 || bytes >= u64::MAX as f64 {
            return Err(ParseSizeError::new(
                WHAT,
                text,
                "is not a whole number of bytes",
            ));
        }
        Ok(Self(bytes as u64))
    }
}

/// The size of a database page: a power of two from 512 B to 64 KiB.
///
/// These are the limits of the databases Octavo knows (SQLite reaches both
/// ends, <https://www.sqlite.org/pragma.html#pragma_page_size>); which sizes
/// one database accepts is its adapter's business.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u32", into = "u32")]
pub struct PageSize(u32);

impl PageSize {
    /// The smallest page, 512 B.
    pub const MIN: Self = Self(512);
    /// The largest page, 64 KiB.
    pub const MAX: Self = Self(65536);

    /// A page of this many KiB, for constants.
    ///
    /// # Panics
    /// Unless it is a power of two from 1 to 64.
    pub const fn kib(count: u32) -> Self {
        assert!(count.is_power_of_two() && count <= Self::MAX.0 >> 10);
        Self(count << 10)
    }

    /// A page of this many bytes; refuses anything but a power of two within
    /// [`Self::MIN`] and [`Self::MAX`].
    pub fn new(bytes: u32) -> Result<Self, ParseSizeError> {
        if bytes.is_power_of_two() && (Self::MIN.0..=Self::MAX.0).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(Self::refused(bytes.to_string()))
        }
    }

    fn refused(value: String) -> ParseSizeError {
        ParseSizeError::new(
            "page size",
            value,
            "is not a power of two from 512 to 65536 bytes",
        )
    }
}

/// What all checked sizes in bytes have: their value, and their text, which reads and prints
/// as a [`ByteCount`].
macro_rules! checked_size {
    ($size:ident) => {
        impl $size {
            /// The size in bytes.
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The size as an amount of bytes.
            pub const fn bytes(self) -> ByteCount {
                ByteCount::new(self.0 as u64)
            }
        }

        impl fmt::Display for $size {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.bytes().fmt(f)
            }
        }

        impl TryFrom<u32> for $size {
            type Error = ParseSizeError;

            fn try_from(bytes: u32) -> Result<Self, Self::Error> {
                Self::new(bytes)
            }
        }

        impl From<$size> for u32 {
            fn from(size: $size) -> Self {
                size.0
            }
        }

        impl FromStr for $size {
            type Err = ParseSizeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let bytes: ByteCount = text.parse()?;
                u32::try_from(bytes.get())
                    .ok()
                    .and_then(|bytes| Self::new(bytes).ok())
                    .ok_or_else(|| Self::refused(text.to_owned()))
            }
        }
    };
}
pub(crate) use checked_size;

checked_size!(PageSize);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_that_print_alike_are_one() {
        let size = ByteCount::new(196_478_109);
        // As of copies on two file systems.
        let copy = ByteCount::new(196_478_130);
        assert_eq!(size.up_to(copy), size.to_string());
        let apart = size.up_to(ByteCount::mib(188));
        assert_eq!(apart, "187.4 MiB to 188 MiB");
    }

    #[test]
    fn sizes_print_in_powers_of_two() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (1536, "1.5 KiB"),
            (MIB * 64, "64 MiB"),
            (GIB + GIB / 2, "1.5 GiB"),
        ] {
            assert_eq!(ByteCount::new(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_parse_in_powers_of_two() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64K", 64 * KIB),
            ("64 kb", 64 * KIB),
            ("1.5MiB", MIB + MIB / 2),
            ("2GiB", 2 * GIB),
        ] {
            assert_eq!(text.parse::<ByteCount>().unwrap().get(), bytes, "{text}");
        }
        for text in [
            "",
            "K",
            "-4K",
            "4X",
            "0.3K",
            "1e3",
            "99999999999T",
            "4..5K",
            "1,024",
            "1,5M",
            "024MiB",
            "00",
        ] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_refused_page_size_is_named() {
        let error = "5000".parse::<PageSize>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "page size '5000' is not a power of two from 512 to 65536 bytes"
        );
        assert!("256".parse::<PageSize>().is_err());
        assert!("128K".parse::<PageSize>().is_err());
        assert_eq!("64K".parse::<PageSize>().unwrap(), PageSize::MAX);
        assert_eq!("0.5KiB".parse::<PageSize>().unwrap(), PageSize::MIN);
    }

    proptest! {
        #[test]
        fn a_page_size_survives_printing(exponent in 9u32..=16) {
            let size = PageSize::new(1 << exponent).unwrap();
            prop_assert_eq!(size.to_string().parse::<PageSize>().unwrap(), size);
        }

        #[test]
        fn no_text_makes_parsing_panic(text in ".{0,12}") {
            let _parsed = (text.parse::<ByteCount>(), text.parse::<PageSize>());
        }
    }
}
