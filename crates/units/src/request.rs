//! Requests to storage: the size of one, and how many are in flight.

use std::{fmt, num::NonZeroU16, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ByteCount, PageSize, ParseSizeError, bytes::checked_size};

/// The bytes of one I/O request: a multiple of 512 B up to 16 MiB. (fio calls
/// this the block size.)
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u32", into = "u32")]
pub struct RequestSize(u32);

impl RequestSize {
    /// The unit of addressing of every block device that Linux knows.
    pub const SECTOR: Self = Self(512);
    /// The largest request, 16 MiB.
    pub const MAX: Self = Self(16 << 20);

    /// A request of this many bytes.
    pub fn new(bytes: u32) -> Result<Self, ParseSizeError> {
        if bytes > 0 && bytes <= Self::MAX.0 && bytes.is_multiple_of(Self::SECTOR.0) {
            Ok(Self(bytes))
        } else {
            Err(Self::refused(bytes.to_string()))
        }
    }

    fn refused(value: String) -> ParseSizeError {
        ParseSizeError::new(
            "request size",
            value,
            "is not a multiple of 512 up to 16 MiB",
        )
    }
}

checked_size!(RequestSize);

impl From<PageSize> for RequestSize {
    fn from(size: PageSize) -> Self {
        Self(size.get())
    }
}

/// Requests in flight that a driver aims for: 1 to 65535.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct QueueDepth(NonZeroU16);

impl QueueDepth {
    /// One request at a time.
    pub const ONE: Self = Self(NonZeroU16::MIN);

    /// This many requests at a time, or `None` for 0.
    pub const fn new(requests: u16) -> Option<Self> {
        match NonZeroU16::new(requests) {
            Some(requests) => Some(Self(requests)),
            None => None,
        }
    }

    /// The number of requests.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for QueueDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_sectors() {
        assert_eq!("1MiB".parse::<RequestSize>().unwrap().get(), 1 << 20);
        for text in ["0", "100", "4097", "32MiB", "8GiB"] {
            let error = text.parse::<RequestSize>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")), "{error}");
        }
    }
}
