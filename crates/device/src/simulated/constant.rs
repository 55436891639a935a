//! A device of which every request takes the same time.

use octavo_units::{ByteCount, Moment, QueueDepth};

use serde::{Deserialize, Serialize};

use super::pending::Pending;
use crate::{
    Completion, Counters, Device, DeviceError, Geometry, Request, Tag,
    catalogue::{Impossible, Sourced},
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
#[derive(Clone, Debug)]
pub struct Constant {
    geometry: Geometry,
    latency_ns: u64,
    pending: Pending,
    busy_since: Moment,
    counters: Counters,
}

impl Constant {
    /// A device of `capacity` whose requests take `latency_ns`, in sectors of
    /// 512 bytes.
    pub fn new(capacity: ByteCount, latency_ns: u64) -> Self {
        Self {
            geometry: Geometry {
                capacity,
                sector: ByteCount::new(512),
                queue: QueueDepth::new(u16::MAX).expect("is not 0"),
            },
            latency_ns,
            pending: Pending::default(),
            busy_since: Moment::START,
            counters: Counters::default(),
        }
    }

    /// 1 TiB that answers at once.
    pub fn instant() -> Self {
        Self::new(ByteCount::mib(1 << 20), 0)
    }
}

impl Device for Constant {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        self.counters.take(request);
        self.pending.pass(at);
        if self.pending.len() == 0 {
            self.busy_since = at;
        }
        self.pending.add(at.after(self.latency_ns), tag);
        Ok(())
    }

    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        let completion = self.pending.next(until);
        if let Some(Completion { at, .. }) = completion
            && self.pending.len() == 0
        {
            self.counters.busy_ns += at.since(self.busy_since);
        }
        Ok(completion)
    }

    fn earliest(&self) -> Moment {
        self.pending.earliest()
    }

    fn now(&self) -> Moment {
        self.pending.now()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
