//! A part of a device from some byte on to its end, as a partition is.
//!
//! Requests that are aligned within it may not be aligned on the device, which
//! then has more to do for them as its own model says.

use octavo_units::{ByteCount, Moment, Seed};

use crate::{
    Completion, Counters, Device, DeviceError, Geometry, Request, Tag,
    point::PointSpec,
    sourced::{Impossible, Sourced, parameters, require},
};

parameters! {
    /// Parameters of a [`Partition`].
    pub struct Parameters<Member> {
        /// Bytes of the device before the partition, whole sectors.
        pub offset_bytes: Sourced<u64> = 1..,
        /// The device.
        pub member: Member,
    }
}

impl<Member> Parameters<Member> {
    /// Refuses an offset that a device of this capacity and these sectors does not allow.
    pub(crate) fn check(&self, capacity: u64, sector: u64) -> Result<(), Impossible> {
        self.check_bounds()?;
        let offset = *self.offset_bytes;
        require(
            offset.is_multiple_of(sector) && offset < capacity,
            "offset_bytes",
            offset,
            format!(
                "it is a multiple of {sector}, the sectors of its device, and less than {capacity}, \
                 its bytes"
            ),
        )
    }
}

/// A device from some byte on.
pub struct Partition {
    device: Box<dyn Device + Send>,
    offset: u64,
    geometry: Geometry,
}

impl Partition {
    /// The device from `offset` on.
    pub(crate) fn new(offset: ByteCount, device: Box<dyn Device + Send>) -> Self {
        let whole = device.geometry();
        Self {
            device,
            offset: offset.get(),
            geometry: Geometry {
                capacity: whole.capacity.saturating_sub(offset),
                ..whole
            },
        }
    }
}

impl Device for Partition {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        let placed = match request {
            Request::FLUSH => request,
            _ => Request {
                offset: request.offset + self.offset,
                ..request
            },
        };
        self.device.submit(at, tag, placed)
    }

    #[inline]
    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        self.device.next(until)
    }

    fn earliest(&self) -> Moment {
        self.device.earliest()
    }

    fn settle(&mut self) {
        self.device.settle();
    }

    fn now(&self) -> Moment {
        self.device.now()
    }

    fn counters(&self) -> Counters {
        self.device.counters()
    }

    fn precondition(&mut self, spec: &PointSpec, seed: Seed) -> Result<(), DeviceError> {
        let offset = ByteCount::new(self.offset);
        let placed = PointSpec {
            shift: offset.saturating_add(spec.shift),
            range: offset.saturating_add(spec.range),
            ..*spec
        };
        self.device.precondition(&placed, seed)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::{QueueDepth, RequestSize};

    use super::*;
    use crate::{
        catalog,
        point::Durability,
        probe::{self, Effort},
        request::{Mix, Pattern},
    };

    const SEED: Seed = Seed::new(7);

    fn spec(shift: u64) -> PointSpec {
        PointSpec {
            mix: Mix::READ_50,
            pattern: Pattern::Random,
            request_size: RequestSize::new(4096).unwrap(),
            depth: QueueDepth::new(4).unwrap(),
            range: ByteCount::new((64 << 20) + shift),
            durability: Durability::Device,
            shift: ByteCount::new(shift),
        }
    }

    #[test]
    fn pages_of_a_partition_cost_what_shifted_requests_do() {
        for name in ["nvme-tlc", "sata-tlc", "flasharray-4k", "flasharray-2012"] {
            let iops = |device: &mut dyn Device, shift| {
                let point = probe::measure(device, &spec(shift), Effort::default(), SEED);
                point.unwrap().iops.get()
            };
            let entry = catalog::find(name).unwrap();
            let aligned = iops(&mut *entry.open(SEED), 0);
            let shifted = iops(&mut *entry.open(SEED), 512);
            let partition = entry.clone().from_byte(ByteCount::new(512)).unwrap();
            let on_partition = iops(&mut *partition.open(SEED), 0);
            assert_eq!(on_partition, shifted, "{name}");
            let minds = name != "flasharray-2012";
            assert_eq!(on_partition < 0.95 * aligned, minds, "{name}: {aligned}");
            // Far behind, what is overwritten is as little, and lies where it is read.
            let far = entry.from_byte(ByteCount::mib(100 << 10)).unwrap();
            let far = iops(&mut *far.open(SEED), 0);
            assert!(
                (far / aligned - 1.0).abs() < 0.03,
                "{name}: {far} and {aligned}"
            );
        }
    }
}
