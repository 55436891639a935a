//! Rates. A rate of requests means nothing without the request size, so every
//! figure that carries an [`Iops`] carries a [`crate::RequestSize`] as well.

use std::{fmt, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ByteCount, RequestSize};

/// Completed requests per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Iops(f64);

impl Iops {
    /// The rate of `requests` completed in `elapsed`; 0 when no time passed.
    pub fn over(requests: u64, elapsed: Duration) -> Self {
        Self(per_second(requests, elapsed))
    }

    /// Requests per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The throughput when every request has this size.
    pub fn throughput(self, size: RequestSize) -> BytesPerSecond {
        BytesPerSecond(self.0 * f64::from(size.get()))
    }
}

impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.0}", self.0))
    }
}

/// Bytes per second; prints in MB/s (10^6 bytes), the unit of device data
/// sheets and of the published tables that figures are compared with.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BytesPerSecond(f64);

impl BytesPerSecond {
    /// The rate of `bytes` moved in `elapsed`; 0 when no time passed.
    pub fn over(bytes: ByteCount, elapsed: Duration) -> Self {
        Self(per_second(bytes.get(), elapsed))
    }

    /// Bytes per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} MB/s", self.0 / 1e6))
    }
}

/// Events a second that somebody asks for, such as arrivals of transactions:
/// from [`Rate::MIN`] to [`Rate::MAX`]. Prints and parses as a plain number, or
/// with its unit: `250`, `0.5/s`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

/// Why a rate was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "rate '{0}' is not possible: give a number a second from {min} to {max}",
    min = Rate::MIN,
    max = Rate::MAX
)]
pub struct RateError(String);

impl Rate {
    /// The lowest rate, one in twelve days: times between events stay far from
    /// the ends of clocks.
    pub const MIN: f64 = 1e-6;

    /// The highest rate, about what one processor can keep count of while
    /// others do the work.
    pub const MAX: f64 = 2e6;

    /// This many events a second.
    pub fn per_second(events: f64) -> Result<Self, RateError> {
        if (Self::MIN..=Self::MAX).contains(&events) {
            Ok(Self(events))
        } else {
            Err(RateError(events.to_string()))
        }
    }

    /// Events a second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || RateError(text.to_owned());
        let number = text.trim();
        let number = number.strip_suffix("/s").unwrap_or(number);
        let events = number.trim_end().parse().map_err(|_| refused())?;
        Self::per_second(events).map_err(|_| refused())
    }
}

impl TryFrom<f64> for Rate {
    type Error = RateError;

    fn try_from(events: f64) -> Result<Self, Self::Error> {
        Self::per_second(events)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() {
        0.0
    } else {
        count as f64 / elapsed.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_counts_and_time() {
        let iops = Iops::over(3000, Duration::from_millis(1500));
        assert_eq!(iops.get(), 2000.0);
        let throughput = iops.throughput(RequestSize::new(4096).unwrap());
        assert_eq!(throughput.to_string(), "8.2 MB/s");
        assert_eq!(Iops::over(7, Duration::ZERO).get(), 0.0);
    }

    #[test]
    fn rates_are_read_with_and_without_their_unit() {
        assert_eq!("250".parse::<Rate>().unwrap().get(), 250.0);
        assert_eq!("0.5/s".parse::<Rate>().unwrap().to_string(), "0.5/s");
        for text in [
            "", "0", "-1", "NaN", "inf", "1e-300", "2e9", "7/min", "fast",
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(&format!("rate '{text}'")), "{error}");
        }
    }
}
