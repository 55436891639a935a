//! A disk drive: one arm over turning platters, a queue, and memory.
//!
//! - **Mechanism**: zones, heads, skew, and the seek curve that follows from
//!   the data sheet; the angle is time modulo one revolution, to the nanosecond.
//! - **Queue**: a command can be served [`Parameters::command_us`] after it
//!   came, which overlaps with the arm's work. When the arm is free, it serves
//!   the command that it reaches soonest (shortest positioning time first),
//!   after taking off the share [`Parameters::age_share`] of the time that each
//!   waited. So nothing starves: a command is overtaken only by those that came
//!   within the longest positioning time over that share.
//! - **Reads** are complete when their last sector has passed. Then, while no
//!   command is there, the drive reads on into the same segment of its memory.
//!   A read that lies in a segment needs no arm; one that lies within reach of
//!   the reading that goes on is complete when that has come by, so that
//!   sequential streams run at the media's rate, also at depth 1.
//! - **Writes**, with the write cache off, are served like reads, with the seek
//!   times of writes. With it on, they are complete once in memory, and go to
//!   the media when no read waits, or along with reads when memory is three
//!   quarters full or a flush waits; nearest first, too, and their waiting hardly
//!   counts, as nobody waits for them. A write waits for room
//!   when memory is full.
//! - **Sectors** of the media can be larger than the host's. A write of a part of
//!   one reads it first, unless memory has the rest, and comes when it is under
//!   the heads again. The queue does not plan for that, nor gathers such reads.
//!
//! Not covered: errors and their recovery, reads that begin in the middle of
//! their extent to save rotation, recalibration, vibration of neighbours,
//! standby, shingled recording. Seeks take their mean time, without scatter.

mod buffer;
mod layout;
mod mechanism;
mod parameters;
mod queue;
mod seek;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use octavo_units::{ByteCount, Moment, QueueDepth};

pub use parameters::{Parameters, WriteCache};

use self::{
    buffer::{Extent, ReadAhead, Segments},
    mechanism::{Arm, Mechanism, Motion, Passed},
    queue::{Queue, Waiting},
};
use crate::{Command, Completion, Counters, Device, DeviceError, Geometry, Request, Tag};

/// Nobody waits for a write that is in memory: its waiting counts a 64th of a command's,
/// so that hundreds of them are served nearest first and the last one still comes.
const DIRTY_PATIENCE: u32 = 6;

/// One disk drive, made by [`Entry::open`](crate::catalog::Entry::open).
#[derive(Clone, Debug)]
pub struct Disk {
    geometry: Geometry,
    mechanism: Mechanism,
    command_ns: u64,
    memory_ns: u64,
    /// Nanoseconds of a byte between memory and host, times 2^32.
    byte_ns: u64,
    segment_sectors: u64,
    /// Sectors of the host in one on the media.
    physical_sectors: u64,
    /// Where the media's sectors at the ends of the latest partial writes begin, at most `dirty_max`
    /// of them, the latest last: their content is in memory.
    rewritten: VecDeque<u64>,
    write_cache: WriteCache,
    dirty_max: usize,

    now: Moment,
    /// Submitted requests so far.
    submitted: u64,
    /// Commands in the drive, and those that wait in the host for a place.
    held: u16,
    host: VecDeque<(u64, Tag, Request)>,
    /// Completions to come: when, of which request, its tag.
    coming: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Completions that passed while requests were submitted.
    passed: VecDeque<Completion>,

    arm: Arm,
    /// Until when the arm is at work.
    free_at: u64,
    commands: Queue,
    /// Writes in memory that are not on the media.
    dirty: Queue,
    /// When the last of them got there.
    clean_at: u64,
    /// Writes that wait for room in memory, and flushes for the media.
    stalled: VecDeque<Waiting>,
    flushes: VecDeque<(u64, Tag)>,
    segments: Segments,
    read_ahead: Option<ReadAhead>,
    counters: Counters,
}

impl Disk {
    /// A drive at rest, its arm over the outermost cylinder and nothing in
    /// memory.
    ///
    /// # Panics
    /// When the parameters were not checked.
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let mechanism = parameters
            .build()
            .expect("parameters are checked when read");
        let sector = u64::from(*parameters.sector_bytes);
        Self {
            geometry: Geometry {
                capacity: ByteCount::new(*parameters.capacity_bytes),
                sector: ByteCount::new(sector),
                queue: QueueDepth::new(*parameters.queue).expect("it is checked not to be 0"),
            },
            command_ns: (*parameters.command_us * 1e3) as u64,
            memory_ns: (*parameters.memory_us * 1e3) as u64,
            byte_ns: (1e3 / *parameters.interface_mb_per_s * 4_294_967_296.0) as u64,
            segment_sectors: *parameters.read_buffer_bytes
                / u64::from(*parameters.read_segments)
                / sector,
            rewritten: VecDeque::new(),
            physical_sectors: parameters.physical_sector() / sector,
            write_cache: *parameters.write_cache,
            dirty_max: usize::from(*parameters.write_cache_commands),
            now: Moment::START,
            submitted: 0,
            held: 0,
            host: VecDeque::new(),
            coming: BinaryHeap::new(),
            passed: VecDeque::new(),
            arm: Arm::default(),
            free_at: 0,
            commands: Queue::default(),
            dirty: Queue::patient(DIRTY_PATIENCE),
            clean_at: 0,
            stalled: VecDeque::new(),
            flushes: VecDeque::new(),
            segments: Segments::new(usize::from(*parameters.read_segments)),
            read_ahead: None,
            counters: Counters::default(),
            mechanism,
        }
    }

    /// Nanoseconds that `sectors` take between memory and host.
    #[inline]
    fn interface_ns(&self, sectors: u32) -> u64 {
        let bytes = u64::from(sectors) * self.geometry.sector.get();
        ((u128::from(bytes) * u128::from(self.byte_ns)) >> 32) as u64
    }

    #[inline]
    fn complete(&mut self, at: u64, order: u64, tag: Tag) {
        self.coming.push(Reverse((at, order, tag.0)));
    }

    /// Takes a command into the drive at `at`.
    fn admit(&mut self, at: Moment, order: u64, tag: Tag, request: Request) {
        self.held += 1;
        let sector = self.geometry.sector.get();
        let first = request.offset / sector;
        let sectors = (u64::from(request.length) / sector) as u32;
        let from_memory = at.after(self.memory_ns).get();
        let motion = match request.command {
            Command::Read if sectors > 0 => Motion::Read,
            Command::Write if sectors > 0 => Motion::Write,
            Command::Flush => return self.flush(from_memory, order, tag),
            // A disk overwrites in place: a trim changes nothing.
            Command::Read | Command::Write | Command::Trim => {
                return self.complete(from_memory, order, tag);
            }
        };
        let mut waiting = Waiting {
            order,
            tag: tag.0,
            since: at,
            ready: at.after(self.command_ns).get(),
            first,
            spot: self.mechanism.layout.spot(first),
            sectors,
            motion,
        };
        let extent = Extent {
            first,
            end: waiting.end(),
        };
        match motion {
            Motion::Read => {
                let transferred = from_memory + self.interface_ns(sectors);
                if self.remembers(extent) {
                    return self.complete(transferred, order, tag);
                }
                if self.commands.len() == 0
                    && let Some(reached) = self.read_on_to(extent, from_memory)
                {
                    return self.complete(transferred.max(reached), order, tag);
                }
                self.commands.add(waiting, &self.mechanism);
            }
            Motion::Write => {
                self.segments.forget(extent);
                if self.read_ahead.is_some_and(|ahead| {
                    extent.meets(Extent {
                        end: ahead.limit,
                        ..ahead.extent
                    })
                }) {
                    self.stop_reading_ahead(at.get());
                    self.segments.forget(extent);
                }
                match self.write_cache {
                    WriteCache::Off => self.commands.add(waiting, &self.mechanism),
                    WriteCache::On => {
                        waiting.ready = from_memory;
                        self.stalled.push_back(waiting);
                        self.take_writes(at.get());
                    }
                }
            }
        }
    }

    /// Whether all of `extent` is in memory.
    #[inline]
    fn remembers(&self, extent: Extent) -> bool {
        self.segments.hold(extent)
            || self.dirty.iter().any(|dirty| {
                let dirty = Extent {
                    first: dirty.first,
                    end: dirty.end(),
                };
                dirty.holds(extent)
            })
    }

    /// When the reading that goes on has all of `extent`, if it leads there,
    /// for a command that came so that memory could serve it at `from`.
    fn read_on_to(&mut self, extent: Extent, from: u64) -> Option<u64> {
        let mut ahead = self.read_ahead?;
        if extent.first < ahead.extent.first || extent.end > ahead.limit {
            return None;
        }
        let limit = ahead.limit;
        self.read_on(&mut ahead, limit, from);
        if ahead.extent.end == limit {
            // It stood still there, and goes on because of this command.
            ahead.reached.at = ahead.reached.at.max(from);
        }
        let there = if extent.end > ahead.extent.end {
            self.read_on(&mut ahead, extent.end, u64::MAX);
            self.free_at = ahead.reached.at;
            ahead.reached.at
        } else {
            from
        };
        ahead.limit = limit.max(self.limit(extent.end));
        // A segment is of limited size: its first sectors make room.
        let room = ahead.extent.end.saturating_sub(self.segment_sectors);
        ahead.extent.first = ahead.extent.first.max(room.min(extent.first));
        self.read_ahead = Some(ahead);
        Some(there)
    }

    /// Reads on up to sector `end` or until `until`.
    #[inline]
    fn read_on(&mut self, ahead: &mut ReadAhead, end: u64, until: u64) {
        let missing = end.saturating_sub(ahead.extent.end);
        let (read, reached) = self.mechanism.read_on(ahead.reached, missing, until);
        self.work(ahead.reached.at, reached.at);
        self.counters.media_read_bytes += read * self.geometry.sector.get();
        self.arm = reached.arm;
        ahead.extent.end += read;
        ahead.reached = reached;
    }

    /// How far the drive reads on from `end`.
    fn limit(&self, end: u64) -> u64 {
        let sectors = self.geometry.capacity.get() / self.geometry.sector.get();
        (end + self.segment_sectors).min(sectors)
    }

    /// Ends reading ahead at `at`, for the sake of a command.
    #[inline]
    fn stop_reading_ahead(&mut self, at: u64) {
        if let Some(mut ahead) = self.read_ahead.take() {
            let limit = ahead.limit;
            self.read_on(&mut ahead, limit, at);
            self.segments.keep(ahead.extent);
        }
    }

    #[inline]
    fn work(&mut self, from: u64, until: u64) {
        self.counters.busy_ns += until - from;
    }

    /// Completes a flush when everything written before it is on the media.
    fn flush(&mut self, at: u64, order: u64, tag: Tag) {
        if self.dirty.len() == 0 {
            self.complete(at.max(self.clean_at), order, tag);
        } else {
            self.flushes.push_back((order, tag));
        }
    }

    /// Takes writes that wait for room in memory, as far as there is some.
    fn take_writes(&mut self, at: u64) {
        while let Some(&waiting) = self.stalled.front() {
            let again = self
                .dirty
                .iter()
                .any(|dirty| dirty.first == waiting.first && dirty.sectors == waiting.sectors);
            // The write that is on its way to the media has its room still.
            let held = self.dirty.len() + usize::from(self.clean_at > at);
            if held >= self.dirty_max && !again {
                return;
            }
            self.stalled.pop_front();
            let received = waiting.ready.max(at) + self.interface_ns(waiting.sectors);
            self.complete(received, waiting.order, Tag(waiting.tag));
            if !again {
                let last = self.dirty.iter().last().map_or(0, |last| last.ready);
                let waiting = Waiting {
                    ready: received.max(last),
                    ..waiting
                };
                self.dirty.add(waiting, &self.mechanism);
            }
        }
    }

    /// When the arm next begins something, or `u64::MAX`.
    #[inline]
    fn next_service(&self) -> u64 {
        let ready = |queue: &Queue| queue.oldest().map_or(u64::MAX, |oldest| oldest.ready);
        self.free_at
            .max(ready(&self.commands).min(ready(&self.dirty)))
    }

    /// Serves one request, beginning at `at`.
    #[inline]
    fn serve(&mut self, at: u64) {
        self.stop_reading_ahead(at);
        let commands = self.commands.ready(at);
        let command = self
            .commands
            .nearest(commands, self.arm, at, &self.mechanism);
        let pressed = !self.flushes.is_empty()
            || !self.stalled.is_empty()
            || self.dirty.len() * 4 >= self.dirty_max * 3;
        if self.dirty.len() > 0 && (pressed || command.is_none()) {
            let ready = self.dirty.ready(at);
            let dirty = self.dirty.nearest(ready, self.arm, at, &self.mechanism);
            if let Some((time, index)) = dirty
                && command.is_none_or(|(least, _)| time <= least)
            {
                return self.serve_dirty(at, index);
            }
        }
        if let Some((_, index)) = command {
            self.serve_command(at, index);
        }
    }

    #[inline]
    fn serve_command(&mut self, at: u64, index: usize) {
        let waiting = self.commands.remove(index);
        let passed = self.pass(at, &waiting);
        self.complete(passed.at, waiting.order, Tag(waiting.tag));
        if waiting.motion == Motion::Read && self.segment_sectors > 0 {
            self.read_ahead = Some(ReadAhead {
                extent: Extent {
                    first: waiting.first,
                    end: waiting.end(),
                },
                reached: passed,
                limit: self.limit(waiting.end()),
            });
        }
    }

    fn serve_dirty(&mut self, at: u64, index: usize) {
        let waiting = self.dirty.remove(index);
        let passed = self.pass(at, &waiting);
        self.clean_at = passed.at;
        let oldest = self.dirty.oldest().map_or(u64::MAX, |dirty| dirty.order);
        while let Some(&(order, tag)) = self.flushes.front()
            && order < oldest
        {
            self.flushes.pop_front();
            self.complete(passed.at, order, tag);
        }
        self.take_writes(passed.at);
    }

    /// Moves to a request and over its sectors.
    #[inline]
    fn pass(&mut self, at: u64, waiting: &Waiting) -> Passed {
        let Waiting {
            spot,
            sectors,
            motion,
            ..
        } = *waiting;
        let passed = match (motion, self.whole(waiting)) {
            (Motion::Write, Some(whole)) => self.rewrite(at, waiting, whole),
            _ => {
                let passed = self.mechanism.transfer(self.arm, at, spot, sectors, motion);
                self.count(motion, u64::from(sectors));
                passed
            }
        };
        self.work(at, passed.at);
        self.arm = passed.arm;
        self.free_at = passed.at;
        passed
    }

    /// The media's sectors that a request touches, if it covers any of them only in part.
    #[inline]
    fn whole(&self, waiting: &Waiting) -> Option<Extent> {
        let physical = self.physical_sectors;
        let whole = Extent {
            first: waiting.first / physical * physical,
            end: waiting.end().next_multiple_of(physical),
        };
        (whole.first < waiting.first || waiting.end() < whole.end).then_some(whole)
    }

    /// Reads the first and the last sector of the media, as far as parts of them are written and
    /// the rest is not in memory, and writes all, which is a revolution later.
    fn rewrite(&mut self, at: u64, waiting: &Waiting, whole: Extent) -> Passed {
        let physical = self.physical_sectors;
        let (first, last) = (whole.first, whole.end - physical);
        let before = Extent {
            end: waiting.first,
            ..whole
        };
        let behind = Extent {
            first: waiting.end(),
            ..whole
        };
        let lacks = |sector: u64, rest: Extent| {
            rest.first < rest.end && !self.rewritten.contains(&sector) && !self.remembers(rest)
        };
        let (lacks_first, lacks_last) = (lacks(first, before), lacks(last, behind));
        let (mut arm, mut began) = (self.arm, at);
        if lacks_first || lacks_last {
            let extent = Extent {
                first: if lacks_first { first } else { last },
                end: if lacks_last { last } else { first } + physical,
            };
            let spot = self.mechanism.layout.spot(extent.first);
            let read = self
                .mechanism
                .transfer(arm, began, spot, extent.sectors(), Motion::Read);
            (arm, began) = (read.arm, read.at);
            let parts = if lacks_first && lacks_last && first != last {
                2
            } else {
                1
            };
            self.count(Motion::Read, parts * physical);
        }
        for sector in [first, last] {
            if self.rewritten.len() >= self.dirty_max {
                self.rewritten.pop_front();
            }
            self.rewritten.push_back(sector);
        }
        self.count(Motion::Write, whole.end - whole.first);
        let spot = self.mechanism.layout.spot(first);
        self.mechanism
            .transfer(arm, began, spot, whole.sectors(), Motion::Write)
    }

    #[inline]
    fn count(&mut self, motion: Motion, sectors: u64) {
        let bytes = sectors * self.geometry.sector.get();
        match motion {
            Motion::Read => self.counters.media_read_bytes += bytes,
            Motion::Write => self.counters.media_written_bytes += bytes,
        }
    }

    /// Lets the next thing happen, if it does by `until`, or for services
    /// before it: what begins at the same moment could still be changed by a
    /// request.
    #[inline]
    fn step(&mut self, until: u64, services_until: u64) -> Step {
        let service = self.next_service();
        if let Some(&Reverse((at, _, tag))) = self.coming.peek()
            && at <= service
        {
            if at > until {
                return Step::Nothing;
            }
            self.coming.pop();
            self.held -= 1;
            let completion = Completion {
                tag: Tag(tag),
                at: Moment::nanoseconds(at),
            };
            if let Some((order, tag, request)) = self.host.pop_front() {
                self.admit(completion.at, order, tag, request);
            }
            return Step::Completed(completion);
        }
        if service < u64::MAX && service <= services_until {
            self.serve(service);
            return Step::Served;
        }
        Step::Nothing
    }
}

/// What happened in [`Disk::step`].
enum Step {
    Completed(Completion),
    Served,
    Nothing,
}

impl Device for Disk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        debug_assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.counters.take(request);
        loop {
            match self.step(at.get(), at.get().saturating_sub(1)) {
                Step::Completed(completion) => self.passed.push_back(completion),
                Step::Served => {}
                Step::Nothing => break,
            }
        }
        self.now = self.now.max(at);
        let order = self.submitted;
        self.submitted += 1;
        if self.held < self.geometry.queue.get() {
            self.admit(at, order, tag, request);
        } else {
            self.host.push_back((order, tag, request));
        }
        Ok(())
    }

    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        if self.passed.front().is_some_and(|first| first.at <= until) {
            return Ok(self.passed.pop_front());
        }
        // What is left to write without a command waiting for it happens as
        // time passes, of which "whenever" says nothing.
        while until != Moment::NEVER || self.held > 0 {
            match self.step(until.get(), until.get()) {
                Step::Completed(completion) => {
                    self.now = self.now.max(completion.at);
                    return Ok(Some(completion));
                }
                Step::Served => {}
                Step::Nothing => break,
            }
        }
        if until != Moment::NEVER {
            self.now = self.now.max(until);
        }
        Ok(None)
    }

    fn earliest(&self) -> Moment {
        if let Some(first) = self.passed.front() {
            return first.at;
        }
        let completion = self.coming.peek().map_or(u64::MAX, |&Reverse((at, ..))| at);
        Moment::nanoseconds(completion.min(self.next_service()))
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
