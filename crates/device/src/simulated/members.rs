//! Devices that one device is made of, moved on in the order of time.

use octavo_units::{Moment, Seed};

use crate::{Counters, Device, DeviceError, Geometry, Request, Tag, point::PointSpec};

/// The members of a composed device.
///
/// None is moved past the moment at which another completes something, since
/// that may cause a request to any of them: the caller asks for the
/// [earliest](Self::earliest) moment, compares it with its own plans, and
/// [steps](Self::step) to whichever comes first. This is the sequential merge
/// of discrete-event simulation (Fujimoto, "Parallel discrete event
/// simulation", CACM 33(10), 1990), in which `earliest` is each member's
/// local time bound.
pub(crate) struct Members {
    devices: Vec<Box<dyn Device + Send>>,
    /// Next event of each device, cached: read far more often than it changes.
    earliest: Vec<Moment>,
    in_flight: Vec<u32>,
}

impl Members {
    /// At least one device.
    pub(crate) fn new(devices: Vec<Box<dyn Device + Send>>) -> Self {
        assert!(!devices.is_empty(), "a composed device has members");
        Self {
            earliest: devices.iter().map(|device| device.earliest()).collect(),
            in_flight: vec![0; devices.len()],
            devices,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.devices.len()
    }

    /// What every member allows: the smallest capacity, the largest sector.
    pub(crate) fn geometry(&self) -> Geometry {
        let mut common = self.devices[0].geometry();
        for device in &self.devices[1..] {
            let geometry = device.geometry();
            common.capacity = common.capacity.min(geometry.capacity);
            common.sector = common.sector.max(geometry.sector);
            common.queue = common.queue.min(geometry.queue);
        }
        common
    }

    /// Requests that this member has not completed.
    pub(crate) fn in_flight(&self, member: usize) -> u32 {
        self.in_flight[member]
    }

    pub(crate) fn submit(
        &mut self,
        member: usize,
        at: Moment,
        tag: Tag,
        request: Request,
    ) -> Result<(), DeviceError> {
        self.devices[member].submit(at, tag, request)?;
        self.devices[member].settle();
        self.in_flight[member] += 1;
        self.earliest[member] = self.devices[member].earliest();
        Ok(())
    }

    /// The moment up to which no member completes anything by itself.
    #[inline]
    pub(crate) fn earliest(&self) -> Moment {
        self.earliest.iter().copied().min().unwrap_or(Moment::NEVER)
    }

    /// Moves the member whose turn is at `at`, which is [`Self::earliest`], on
    /// to it, and tells what it completed, if anything. Of several members the
    /// first goes first.
    pub(crate) fn step(&mut self, at: Moment) -> Result<Option<(usize, Tag)>, DeviceError> {
        let member = self
            .earliest
            .iter()
            .position(|&earliest| earliest <= at)
            .expect("a member has its turn at the earliest moment");
        let completion = self.devices[member].next(at)?;
        self.earliest[member] = self.devices[member].earliest();
        match completion {
            Some(completion) => {
                self.in_flight[member] -= 1;
                Ok(Some((member, completion.tag)))
            }
            None => {
                assert!(
                    self.earliest[member] > at,
                    "a device that completes nothing by {at} says so"
                );
                Ok(None)
            }
        }
    }

    /// What the members' media did, and the mean of the members' busy times:
    /// the power of all, over the mean, is then the power of the whole.
    pub(crate) fn add_media(&self, counters: &mut Counters) {
        let mut busy_ns = 0u128;
        for device in &self.devices {
            let member = device.counters();
            counters.media_read_bytes += member.media_read_bytes;
            counters.media_written_bytes += member.media_written_bytes;
            counters.erases += member.erases;
            busy_ns += u128::from(member.busy_ns);
        }
        counters.busy_ns = (busy_ns / self.devices.len() as u128) as u64;
    }

    /// Preconditions each member by `spec`, with a seed of its own.
    pub(crate) fn precondition(&mut self, spec: &PointSpec, seed: Seed) -> Result<(), DeviceError> {
        for (index, device) in (0..).zip(&mut self.devices) {
            device.precondition(spec, seed.derive("member", index))?;
        }
        Ok(())
    }
}
