//! A device of which every request takes the same time.

use octavo_units::{ByteCount, Moment, QueueDepth};

use serde::{Deserialize, Serialize};

use super::foreseen::{Foreseen, Foresight};
use crate::{
    Geometry, Request,
    sourced::{Impossible, Sourced},
};

/// Parameters of a [`Constant`] device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bytes that it holds.
    pub capacity_bytes: Sourced<u64>,
    /// Microseconds that every request takes.
    pub latency_us: Sourced<f64>,
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        if *self.capacity_bytes < 512 {
            return Err(Impossible::new(
                "constant.capacity_bytes",
                *self.capacity_bytes,
                "a device holds at least a sector of 512 bytes",
            ));
        }
        if !(0.0..=1e9).contains(&*self.latency_us) {
            return Err(Impossible::new(
                "constant.latency_us",
                *self.latency_us,
                "a request takes from 0 to 10^9 microseconds",
            ));
        }
        Ok(())
    }

    pub(crate) fn open(&self) -> Constant {
        Constant::new(
            ByteCount::new(*self.capacity_bytes),
            (*self.latency_us * 1e3) as u64,
        )
    }
}

/// Serves any number of requests at once, each in the same time. Where the
/// time is zero, what remains of a measurement is the cost of measuring.
pub type Constant = Foreseen<SameTime>;

/// The foresight of a [`Constant`].
#[derive(Clone, Debug)]
pub struct SameTime {
    latency_ns: u64,
}

impl Constant {
    /// A device of `capacity` whose requests take `latency_ns`, in sectors of
    /// 512 bytes.
    pub fn new(capacity: ByteCount, latency_ns: u64) -> Self {
        let geometry = Geometry {
            capacity,
            sector: ByteCount::new(512),
            queue: QueueDepth::new(u16::MAX).expect("is not 0"),
        };
        Self::unlimited(geometry, SameTime { latency_ns })
    }

    /// 1 TiB that answers at once.
    pub fn instant() -> Self {
        Self::new(ByteCount::mib(1 << 20), 0)
    }
}

impl Foresight for SameTime {
    #[inline]
    fn end(&mut self, at: Moment, _: Request) -> Moment {
        at.after(self.latency_ns)
    }
}
