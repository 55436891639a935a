//! What all solid-state drives share: the host's queue, the link, and a
//! controller, in front of a [`Translation`] and its chips.
//!
//! A request waits until the device's queue has room for it. Then
//!
//! 1. the controller works on it, one request at a time: a part for each
//!    command and one for each byte;
//! 2. the data of a write pass the link, the write waits until the translation
//!    has room for it, and is written;
//! 3. or a read is read, unless it was read [ahead](super::ahead), and its data pass the link;
//! 4. the protocol takes its time, during which others go on: interrupts,
//!    drivers, the host's adapter.

use std::collections::VecDeque;

use octavo_units::{Moment, Seed};

use super::{
    ahead::Ahead,
    nand::Nand,
    timeline::Timeline,
    translation::{Extent, Translation},
};
use crate::{
    Command, Completion, Counters, Device, DeviceError, Geometry, Request, Tag,
    point::PointSpec,
    request::Mix,
    simulated::{pending::Pending, slots::Slots},
    stream::{Load, Stream},
};

/// The host's side of a drive, with times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// The controller's time for a read, whatever its length.
    pub(crate) read_ns: u64,
    /// The same for a write.
    pub(crate) write_ns: u64,
    /// Picoseconds of the controller for each byte of a read.
    pub(crate) read_ps_per_byte: u64,
    /// The same of a write.
    pub(crate) write_ps_per_byte: u64,
    /// Time of the protocol, which reads spend side by side.
    pub(crate) latency_ns: u64,
    /// The same of writes, flushes and trims.
    pub(crate) write_latency_ns: u64,
    /// Time that a command takes on the link besides its data.
    pub(crate) link_ns: u64,
    /// Picoseconds that a byte takes over the link.
    pub(crate) link_ps_per_byte: u64,
    /// Whether both directions of the link are used at once.
    pub(crate) duplex: bool,
    /// Bytes that it reads ahead; 0 for none.
    pub(crate) ahead_bytes: u32,
}

/// A solid-state drive.
pub(crate) struct Ssd<T> {
    geometry: Geometry,
    front: Front,
    nand: Nand,
    translation: T,
    ahead: Option<Ahead>,
    controller: Moment,
    link: [Timeline; 2],
    /// Completions, and moments at which writes come to the translation.
    events: Pending,
    /// By index, which is the tag of events.
    requests: Slots<Held>,
    /// Requests that the device holds.
    held: u32,
    /// Reads of these that were not begun yet, in order; see
    /// [`Ssd::can_wait`].
    fresh: VecDeque<(Moment, Tag, Request)>,
    /// Requests for which it has no room, in order.
    outside: VecDeque<(Tag, Request)>,
    /// Writes whose data are there and for which the translation has no room,
    /// in order. An event of the first is pending.
    stalled: VecDeque<u32>,
    /// Completions that nobody has asked for yet, in order.
    done: VecDeque<Completion>,
    busy_since: Moment,
    now: Moment,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    tag: Tag,
    request: Request,
    stage: Stage,
}

/// What happens to a request at its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The data of a write are there.
    Arrival,
    /// The translation has room for the first stalled write.
    Admission,
    /// It is over.
    Completion,
}

impl<T: Translation> Ssd<T> {
    pub(crate) fn new(geometry: Geometry, front: Front, nand: Nand, translation: T) -> Self {
        let ahead =
            (front.ahead_bytes > 0).then(|| Ahead::new(front.ahead_bytes, geometry.capacity.get()));
        Self {
            geometry,
            front,
            nand,
            translation,
            ahead,
            controller: Moment::START,
            link: Default::default(),
            events: Pending::default(),
            requests: Slots::default(),
            held: 0,
            fresh: VecDeque::new(),
            outside: VecDeque::new(),
            stalled: VecDeque::new(),
            done: VecDeque::new(),
            busy_since: Moment::START,
            now: Moment::START,
            counters: Counters::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn translation(&self) -> &T {
        &self.translation
    }

    /// Time comes to `at`.
    #[inline]
    fn pass(&mut self, at: Moment) {
        self.translation.advance(&mut self.nand, at);
        self.nand.pass(at);
    }

    /// Counts a request for which the device has room.
    #[inline]
    fn hold(&mut self, at: Moment) {
        if self.held == 0 {
            self.busy_since = at;
        }
        self.held += 1;
    }

    /// Whether a request that comes now need not be begun before the next. That
    /// is so of reads while there are only reads: then what is asked of the
    /// chips depends on the order of the reads alone. Its place in the map is
    /// on its way into the processor's cache meanwhile.
    #[inline]
    fn can_wait(&self, request: Request) -> bool {
        request.command == Command::Read && self.outside.is_empty() && self.translation.is_idle()
    }

    /// A moment before which no read is over that was not begun yet.
    #[inline]
    fn fresh_over(&self) -> Moment {
        let front = &self.front;
        self.fresh.front().map_or(Moment::NEVER, |(at, ..)| {
            at.after(front.read_ns + front.link_ns + front.latency_ns)
        })
    }

    /// Begins the reads that waited for it.
    #[inline]
    fn begin_fresh(&mut self) {
        while let Some((at, tag, request)) = self.fresh.pop_front() {
            self.nand.pass(at);
            self.begin(at, tag, request);
        }
    }

    /// Begins a request that the device holds.
    #[inline]
    fn begin(&mut self, at: Moment, tag: Tag, request: Request) {
        let extent = Extent::from(request);
        let bytes = u64::from(request.length);
        let front = &self.front;
        let (command_ns, ps_per_byte) = match request.command {
            Command::Read => (front.read_ns, front.read_ps_per_byte),
            Command::Write => (front.write_ns, front.write_ps_per_byte),
            Command::Flush | Command::Trim => (front.write_ns, 0),
        };
        let ready = at
            .max(self.controller)
            .after(command_ns + bytes * ps_per_byte / 1000);
        self.controller = ready;
        let link_ns = front.link_ns + bytes * front.link_ps_per_byte / 1000;
        let (stage, event) = match request.command {
            Command::Read => {
                let (translation, nand) = (&mut self.translation, &mut self.nand);
                let mut fetch = |extent| translation.read(nand, ready, extent);
                let read = match &mut self.ahead {
                    Some(ahead) => ahead.read(ready, extent, fetch),
                    None => fetch(extent),
                };
                let sent = self.link[0].take(at, read, link_ns);
                (Stage::Completion, sent.after(front.latency_ns))
            }
            Command::Write => {
                self.translation.announce(extent);
                let received = self.link[usize::from(front.duplex)].take(at, ready, link_ns);
                (Stage::Arrival, received)
            }
            Command::Flush => (Stage::Arrival, ready),
            Command::Trim => {
                if request.length > 0 {
                    self.translation.trim(extent);
                }
                (Stage::Completion, ready.after(front.write_latency_ns))
            }
        };
        let held = Held {
            tag,
            request,
            stage,
        };
        let index = self.requests.insert(held);
        self.events.add(event, Tag(index));
    }

    /// Hands writes and flushes to the translation in the order in which they
    /// came, as far as it has room.
    fn admit(&mut self, at: Moment) {
        while let Some(&index) = self.stalled.front() {
            let request = self.requests[index].request;
            let extent = Extent::from(request);
            let over = if request.command == Command::Flush {
                self.translation.flush(&mut self.nand, at)
            } else {
                let room = self.translation.admit(&mut self.nand, at, extent);
                if room > at {
                    self.requests[index].stage = Stage::Admission;
                    self.events.add(room, Tag(index));
                    return;
                }
                self.translation.write(&mut self.nand, at, extent)
            };
            self.stalled.pop_front();
            self.requests[index].stage = Stage::Completion;
            self.events
                .add(over.after(self.front.write_latency_ns), Tag(index));
        }
    }

    /// Lets happen what happens first, if that is by `until`.
    #[inline]
    fn step(&mut self, until: Moment) -> Option<Step> {
        if self.fresh_over() <= until.min(self.events.earliest()) {
            self.begin_fresh();
        }
        let Completion {
            tag: Tag(index),
            at,
        } = self.events.next(until)?;
        let Held { tag, stage, .. } = self.requests[index];
        if stage != Stage::Completion || !self.outside.is_empty() {
            self.begin_fresh();
        }
        if self.fresh.is_empty() {
            self.pass(at);
        }
        match stage {
            Stage::Arrival => {
                self.stalled.push_back(index);
                if self.stalled.len() == 1 {
                    self.admit(at);
                }
                Some(Step::Inside)
            }
            Stage::Admission => {
                self.admit(at);
                Some(Step::Inside)
            }
            Stage::Completion => {
                self.requests.release(index);
                if let Some((tag, request)) = self.outside.pop_front() {
                    self.begin(at, tag, request);
                } else {
                    self.held -= 1;
                    if self.held == 0 {
                        self.counters.busy_ns += at.since(self.busy_since);
                    }
                }
                Some(Step::Over(Completion { tag, at }))
            }
        }
    }
}

/// Writes of preconditioning that are announced before they are made.
const ANNOUNCED: usize = 8;

enum Step {
    Inside,
    Over(Completion),
}

impl<T: Translation> Device for Ssd<T> {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        self.counters.take(request);
        debug_assert!(at >= self.now, "time went back from {} to {at}", self.now);
        // What happens at the same moment happens after this: a completion
        // makes room for what waits outside, not for this request.
        while let Some(step) = self.step(at) {
            if let Step::Over(completion) = step {
                self.done.push_back(completion);
            }
        }
        self.now = self.now.max(at);
        let has_room = self.held < u32::from(self.geometry.queue.get());
        if has_room {
            self.hold(self.now);
            if self.can_wait(request) {
                self.translation.announce(request.into());
                self.fresh.push_back((self.now, tag, request));
                return Ok(());
            }
        }
        self.begin_fresh();
        self.pass(self.now);
        if has_room {
            self.begin(self.now, tag, request);
        } else {
            self.outside.push_back((tag, request));
        }
        Ok(())
    }

    #[inline]
    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        if let Some(completion) = self.done.pop_front() {
            return Ok(Some(completion));
        }
        while let Some(step) = self.step(until) {
            if let Step::Over(completion) = step {
                self.now = self.now.max(completion.at);
                return Ok(Some(completion));
            }
        }
        if until != Moment::NEVER {
            self.now = self.now.max(until);
        }
        Ok(None)
    }

    fn earliest(&self) -> Moment {
        match self.done.front() {
            Some(completion) => completion.at,
            None => self.events.earliest().min(self.fresh_over()),
        }
    }

    fn settle(&mut self) {
        self.begin_fresh();
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn counters(&self) -> Counters {
        let operations = self.translation.operations(&self.nand);
        let busy_ns = match self.held {
            0 => 0,
            _ => self.now.since(self.busy_since),
        };
        Counters {
            busy_ns: self.counters.busy_ns + busy_ns,
            media_read_bytes: operations.read_bytes,
            media_written_bytes: operations.programmed_bytes,
            erases: operations.erases,
            ..self.counters
        }
    }

    fn precondition(&mut self, spec: &PointSpec, seed: Seed) -> Result<(), DeviceError> {
        let length = spec.request_size.get();
        let range = spec.range.get();
        if spec.range < spec.least_range() {
            return Err(DeviceError::Range {
                length,
                range: spec.range,
            });
        }
        self.geometry.check(Request::write(
            range.saturating_sub(u64::from(length)) / self.geometry.sector.get()
                * self.geometry.sector.get(),
            length,
        ))?;
        let writes = PointSpec {
            mix: Mix::WRITE,
            ..*spec
        };
        let mut stream = Stream::new(&Load::from_spec(&writes, seed), 0, 1);
        let mut draw = || Extent::from(stream.next_request().1);
        // Announced long enough before, each finds the map in the processor's
        // cache.
        let mut coming = [(); ANNOUNCED].map(|()| draw());
        let mut turn = 0;
        let mut next = |translation: &T| {
            let extent = std::mem::replace(&mut coming[turn], draw());
            translation.announce(coming[turn]);
            turn = (turn + 1) % ANNOUNCED;
            extent
        };
        self.begin_fresh();
        self.nand.set_timed(false);
        // Whole requests before the first one are not overwritten.
        let before = spec.shift.get() / u64::from(length) * u64::from(length);
        let mut left = self.translation.fill(range - before);
        while left > 0 {
            let extent = next(&self.translation);
            self.translation.write(&mut self.nand, self.now, extent);
            left = left.saturating_sub(u64::from(length.max(self.translation.unit_bytes())));
        }
        self.nand.set_timed(true);
        // Its buffer is full.
        let mut left = self.translation.buffer_bytes();
        while left > 0 {
            let extent = next(&self.translation);
            if self.translation.admit(&mut self.nand, self.now, extent) > self.now {
                break;
            }
            self.translation.write(&mut self.nand, self.now, extent);
            left = left.saturating_sub(u64::from(length));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::{
        simulated::flash::page::tests::{flash, open},
        sourced::Sourced,
    };

    /// Requests at random moments, some of them at once and now and then so
    /// late that all is over; a drive that begins each read when it comes
    /// completes the same at the same moments.
    #[test]
    fn reads_that_are_begun_later_end_as_if_they_were_not() {
        let mut waited = 0;
        for seed in 0..60 {
            let mut generator = Seed::new(seed).generator();
            let mut parameters = flash(32 << 20, 0.25);
            parameters.host.queue.value = [1, 3, 32][generator.random_range(0..3)];
            let read_percent = [100, 100, 95, 70][generator.random_range(0..4)];
            let ahead_bytes = [0, 128 << 10][generator.random_range(0..2)];
            parameters.host.read_ahead_bytes = Some(Sourced::new(ahead_bytes, "test"));
            let mut device = open(&parameters);
            let mut prompt = open(&parameters);
            let mut last = Request::FLUSH;
            let mut now = Moment::START;
            let mut found = (Vec::new(), Vec::new());
            for tag in 0..1_000 {
                let mean_ns = [1, 20_000, 100_000, 3_000_000][generator.random_range(0..4)];
                now = now.after(generator.random_range(0..2 * mean_ns));
                for (device, found) in [(&mut device, &mut found.0), (&mut prompt, &mut found.1)] {
                    while let Some(completion) = device.next(now).unwrap() {
                        found.push(completion);
                    }
                    assert!(device.earliest() > now, "{seed}");
                }
                // Parts of units, several units, and now and then what follows.
                let length = [512, 4096, 4096, 12_800][generator.random_range(0..4)];
                let offset = match generator.random_range(0..3) {
                    0 if last.end() < 16 << 20 => last.end(),
                    _ => generator.random_range(0..8100_u64) * 4096,
                };
                let request = match generator.random_range(0..100) {
                    value if value < read_percent => Request::read(offset, length),
                    98 => Request::trim(offset, length),
                    99 => Request::FLUSH,
                    _ => Request::write(offset, length),
                };
                last = request;
                device.submit(now, Tag(tag), request).unwrap();
                prompt.submit(now, Tag(tag), request).unwrap();
                waited += device.fresh.len();
                prompt.settle();
            }
            for (device, found) in [(&mut device, &mut found.0), (&mut prompt, &mut found.1)] {
                while let Some(completion) = device.next(Moment::NEVER).unwrap() {
                    found.push(completion);
                }
            }
            assert_eq!(found.0.len(), 1_000);
            assert_eq!(found.0, found.1, "{seed}");
            assert_eq!(device.counters(), prompt.counters(), "{seed}");
        }
        assert!(waited > 10_000, "{waited}");
    }
}
