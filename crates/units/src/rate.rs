//! Rates. A rate of requests means nothing without the request size, so every
//! figure that carries an [`Iops`] carries a [`crate::RequestSize`] as well.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{ByteCount, RequestSize};

/// Completed requests per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
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
}
