//! Devices that know when a request will be over as soon as it is submitted,
//! since nothing that comes later changes that: queues that are served in
//! order. What is the same in them is here; what a request takes is their
//! [`Foresight`].

use std::{cmp::Reverse, collections::BinaryHeap};

use octavo_units::{Moment, Seed};

use super::pending::Pending;
use crate::{Completion, Counters, Device, DeviceError, Geometry, Request, Tag, point::PointSpec};

/// What requests take.
pub trait Foresight {
    /// When a request is over that the device takes at `at`. Requests come in
    /// the order of these moments, and fit the geometry.
    fn end(&mut self, at: Moment, request: Request) -> Moment;

    /// Adds what its media did to `counters`. By default it knows no media.
    fn add_media(&self, counters: &mut Counters) {
        let _ = counters;
    }

    /// Brings it to the state that a long load leaves, as
    /// [`Device::precondition`] wants. By default it has no state.
    fn precondition(&mut self) {}
}

/// A device of this foresight.
#[derive(Clone, Debug)]
pub struct Foreseen<F> {
    pub(super) foresight: F,
    geometry: Geometry,
    /// What the device holds, where that is limited.
    queue: Option<Queue>,
    pending: Pending,
    /// Until when it is at work, as far as is known.
    busy_until: Moment,
    counters: Counters,
}

impl<F: Foresight> Foreseen<F> {
    /// A device that takes every request when it comes.
    pub(super) fn unlimited(geometry: Geometry, foresight: F) -> Self {
        Self {
            foresight,
            geometry,
            queue: None,
            pending: Pending::default(),
            busy_until: Moment::START,
            counters: Counters::default(),
        }
    }

    /// A device that holds [`Geometry::queue`] requests; others wait outside, in
    /// order.
    pub(super) fn limited(geometry: Geometry, foresight: F) -> Self {
        Self {
            queue: Some(Queue {
                depth: usize::from(geometry.queue.get()),
                held: BinaryHeap::new(),
                taken: Moment::START,
            }),
            ..Self::unlimited(geometry, foresight)
        }
    }
}

/// Requests that a device holds.
#[derive(Clone, Debug)]
struct Queue {
    depth: usize,
    /// When those that it holds are over; at most `depth`, since what is over
    /// is only taken out to make room.
    held: BinaryHeap<Reverse<Moment>>,
    /// When the last one was taken.
    taken: Moment,
}

impl Queue {
    /// When a request is taken that comes at `at`: not before those that came
    /// earlier, nor before there is room.
    fn take(&mut self, at: Moment) -> Moment {
        self.taken = self.taken.max(at);
        if self.held.len() >= self.depth
            && let Some(Reverse(freed)) = self.held.pop()
        {
            self.taken = self.taken.max(freed);
        }
        self.taken
    }
}

impl<F: Foresight> Device for Foreseen<F> {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        self.counters.take(request);
        self.pending.pass(at);
        let taken = self.queue.as_mut().map_or(at, |queue| queue.take(at));
        let end = self.foresight.end(taken, request);
        if let Some(queue) = &mut self.queue {
            queue.held.push(Reverse(end));
        }
        self.pending.add(end, tag);
        self.counters.busy_ns += end.since(at.max(self.busy_until));
        self.busy_until = self.busy_until.max(end);
        Ok(())
    }

    #[inline]
    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        Ok(self.pending.next(until))
    }

    fn earliest(&self) -> Moment {
        self.pending.earliest()
    }

    fn now(&self) -> Moment {
        self.pending.now()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counters;
        // Until the end of what was submitted it is at work throughout.
        counters.busy_ns -= self.busy_until.since(self.now());
        self.foresight.add_media(&mut counters);
        counters
    }

    fn precondition(&mut self, _: &PointSpec, _: Seed) -> Result<(), DeviceError> {
        self.foresight.precondition();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::{ByteCount, QueueDepth};

    use super::*;

    /// Every request takes 100 ns.
    struct Hundred;

    impl Foresight for Hundred {
        fn end(&mut self, at: Moment, _: Request) -> Moment {
            at.after(100)
        }
    }

    fn geometry(depth: u16) -> Geometry {
        Geometry {
            capacity: ByteCount::mib(1),
            sector: ByteCount::new(512),
            queue: QueueDepth::new(depth).unwrap(),
        }
    }

    fn submit(device: &mut Foreseen<Hundred>, at: u64) {
        let request = Request::read(0, 512);
        device
            .submit(Moment::nanoseconds(at), Tag(0), request)
            .unwrap();
    }

    fn completions(device: &mut Foreseen<Hundred>) -> Vec<u64> {
        std::iter::from_fn(|| device.next(Moment::NEVER).unwrap())
            .map(|completion| completion.at.get())
            .collect()
    }

    #[test]
    fn requests_beyond_the_queue_wait_in_order() {
        let mut device = Foreseen::limited(geometry(2), Hundred);
        for at in [0, 10, 20, 30, 400] {
            submit(&mut device, at);
        }
        assert_eq!(completions(&mut device), [100, 110, 200, 210, 500]);

        let mut device = Foreseen::unlimited(geometry(2), Hundred);
        for at in [0, 10, 20] {
            submit(&mut device, at);
        }
        assert_eq!(completions(&mut device), [100, 110, 120]);
    }

    #[test]
    fn it_is_busy_while_anything_is_in_flight() {
        let mut device = Foreseen::unlimited(geometry(1), Hundred);
        submit(&mut device, 50);
        // Of what is under way, as much as was.
        submit(&mut device, 90);
        assert_eq!(device.counters().busy_ns, 40);
        device.next(Moment::nanoseconds(160)).unwrap();
        assert_eq!(device.counters().busy_ns, 100);
        device.next(Moment::nanoseconds(180)).unwrap();
        assert_eq!(device.counters().busy_ns, 130);
        device.next(Moment::NEVER).unwrap();
        submit(&mut device, 1000);
        device.next(Moment::NEVER).unwrap();
        assert_eq!(device.counters().busy_ns, 240);
    }
}
