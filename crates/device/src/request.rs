//! What storage is asked to do: one [`Request`], and of many the order of
//! their offsets and the share of reads.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads bytes.
    Read,
    /// Overwrites bytes.
    Write,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// What a [`Request`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Reads the extent.
    Read,
    /// Overwrites the extent. Complete when the device says so, which with a
    /// write-back cache is before it is durable.
    Write,
    /// Makes all writes that are complete durable. Offset and length are 0.
    Flush,
    /// Says that the extent's bytes are of no use any more.
    Trim,
}

/// One request to a [`Device`](crate::Device).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The operation.
    pub command: Command,
    /// Where the extent begins, in bytes.
    pub offset: u64,
    /// How long the extent is, in bytes.
    pub length: u32,
}

impl Request {
    /// The request for durability.
    pub const FLUSH: Self = Self::new(Command::Flush, 0, 0);

    /// A read of `length` bytes from `offset` on.
    #[inline]
    pub const fn read(offset: u64, length: u32) -> Self {
        Self::new(Command::Read, offset, length)
    }

    /// A write of `length` bytes from `offset` on.
    #[inline]
    pub const fn write(offset: u64, length: u32) -> Self {
        Self::new(Command::Write, offset, length)
    }

    /// A trim of `length` bytes from `offset` on.
    #[inline]
    pub const fn trim(offset: u64, length: u32) -> Self {
        Self::new(Command::Trim, offset, length)
    }

    #[inline]
    const fn new(command: Command, offset: u64, length: u32) -> Self {
        Self {
            command,
            offset,
            length,
        }
    }

    /// The first byte after the extent.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}

/// In which order offsets are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Uniform over the range, aligned to the request size, with repetition.
    Random,
    /// Ascending without gaps, from the start again at the end of the range.
    Sequential,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
        })
    }
}

/// The share of reads among requests, in whole percent; each request is drawn
/// independently. Written `read`, `write`, or like `75/25`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Mix {
    read_percent: u8,
}

/// A text that is not a [`Mix`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mix '{0}' is neither read, write, nor percentages of reads and writes like 75/25")]
pub struct ParseMixError(String);

impl Mix {
    /// Reads only.
    pub const READ: Self = Self { read_percent: 100 };
    /// Writes only.
    pub const WRITE: Self = Self { read_percent: 0 };
    /// Three reads to one write, the mix of petrov-2010's TPC-C load.
    pub const READ_75: Self = Self { read_percent: 75 };
    /// As many reads as writes.
    pub const READ_50: Self = Self { read_percent: 50 };

    /// The share of reads in percent, 0 to 100.
    pub const fn read_percent(self) -> u8 {
        self.read_percent
    }

    /// Whether any request writes.
    pub const fn writes(self) -> bool {
        self.read_percent < 100
    }

    /// The only operation of this mix, or `None` when it has both.
    pub const fn only(self) -> Option<Operation> {
        match self.read_percent {
            100 => Some(Operation::Read),
            0 => Some(Operation::Write),
            _ => None,
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(operation) => operation.fmt(f),
            None => f.pad(&format!(
                "{}/{}",
                self.read_percent,
                100 - self.read_percent
            )),
        }
    }
}

impl FromStr for Mix {
    type Err = ParseMixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseMixError(text.to_owned());
        match text {
            "read" => return Ok(Self::READ),
            "write" => return Ok(Self::WRITE),
            _ => {}
        }
        let (reads, writes) = text.split_once('/').ok_or_else(refused)?;
        let reads: u8 = reads.parse().map_err(|_| refused())?;
        let writes: u8 = writes.parse().map_err(|_| refused())?;
        if u16::from(reads) + u16::from(writes) != 100 {
            return Err(refused());
        }
        Ok(Self {
            read_percent: reads,
        })
    }
}

impl TryFrom<String> for Mix {
    type Error = ParseMixError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_survive_printing_and_bad_ones_are_named() {
        for mix in [Mix::READ, Mix::WRITE, Mix::READ_75, Mix::READ_50] {
            assert_eq!(mix.to_string().parse::<Mix>().unwrap(), mix);
        }
        for text in ["", "75", "75/26", "-1/101", "300/25", "reads"] {
            let error = text.parse::<Mix>().unwrap_err();
            assert!(error.to_string().contains(&format!("'{text}'")), "{error}");
        }
    }
}
