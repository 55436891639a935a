//! A device of which every request takes the same time.

use octavo_units::{ByteCount, Moment, QueueDepth};

use super::foreseen::{Foreseen, Foresight};
use crate::{
    Geometry, Request,
    sourced::{Impossible, Sourced, parameters},
};

parameters! {
    /// Parameters of a [`Constant`] device.
    pub struct Parameters {
        /// Bytes that it holds.
        pub capacity_bytes: Sourced<u64> = 512..,
        /// Microseconds that every request takes.
        pub latency_us: Sourced<f64> = 0.0..=1e9,
    }
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()
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
}

impl Foresight for SameTime {
    #[inline]
    fn end(&mut self, at: Moment, _: Request) -> Moment {
        at.after(self.latency_ns)
    }
}
