//! The array in virtual time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use octavo_units::{ByteCount, Moment, QueueDepth, RequestSize, Seed};
use rand::Rng;

use super::{
    cache::WriteCache,
    layout::{Extent, Layout},
    parameters::Parameters,
};
use crate::{
    Command, Completion, Counters, Device, DeviceError, Geometry, Request, Tag,
    point::PointSpec,
    request::Pattern,
    simulated::{cost::Cost, members::Members, slots::Slots},
};

/// Devices behind a controller.
///
/// A read passes the controller's processor, the members, the link and the
/// pipelined latency; a write the processor, the link, then the cache or the
/// members, and the latency. Processor and each way of the link serve in the
/// order of arrival.
pub struct Raid {
    geometry: Geometry,
    layout: Layout,
    mirrors: usize,
    members: Members,
    processor: Cost,
    /// Of writes also a time a byte.
    latency: Cost,
    link: Cost,
    processor_free: Moment,
    read_link_free: Moment,
    write_link_free: Moment,
    cache: Option<WriteCache>,
    /// Of each pair of mirrors, whether equal queues were last given to the
    /// second.
    second_last: Vec<bool>,
    /// Moment, order among equals, what.
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    ordered: u64,
    commands: Slots<InFlight>,
    /// Commands that the controller holds.
    held: u32,
    /// Commands that wait in the host.
    waiting: VecDeque<u32>,
    /// Whether the cache was filled while nothing was under way, so that what
    /// it holds has yet to be sent to the members.
    primed: bool,
    /// Writes that wait for room in the cache.
    roomless: VecDeque<u32>,
    submitted: u64,
    in_flight: u32,
    now: Moment,
    counters: Counters,
}

/// What happens to a command, by its place in [`Raid::commands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It comes to the controller.
    Arrives(u32),
    /// The processor has done with it.
    Dispatched(u32),
    /// A write's bytes are in the controller.
    Transferred(u32),
    /// It is complete. Of events at one moment these are the last, in the
    /// order of submission.
    Completes(u32),
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    tag: Tag,
    request: Request,
    submission: u64,
    /// Requests to members that are not complete.
    remaining: u32,
}

/// In tags of members, what marks a write from the cache.
const DESTAGE: u32 = 1 << 31;

/// In the order of events, what marks completions.
const LAST: u64 = 1 << 63;

impl Raid {
    /// The array over these members, at rest.
    pub(crate) fn new<Member>(parameters: &Parameters<Member>, members: Members) -> Self {
        let common = members.geometry();
        let mirrors = parameters.level.mirrors() as usize;
        let columns = members.count() / mirrors;
        let layout = Layout::new(
            columns as u64,
            *parameters.stripe_unit_bytes,
            common.capacity.get(),
        );
        let controller = &parameters.controller;
        Self {
            geometry: Geometry {
                capacity: ByteCount::new(layout.capacity()),
                sector: common.sector,
                queue: QueueDepth::new(*controller.queue).unwrap_or(QueueDepth::ONE),
            },
            layout,
            mirrors,
            members,
            processor: Cost::new(*controller.command_us, *controller.command_us_per_kib),
            latency: Cost::new(*controller.latency_us, *controller.write_latency_us_per_kib),
            link: Cost::bandwidth(*controller.link_mb_per_s),
            processor_free: Moment::START,
            read_link_free: Moment::START,
            write_link_free: Moment::START,
            cache: (*controller.cache_bytes > 0).then(|| {
                WriteCache::new(
                    *controller.cache_bytes,
                    columns,
                    u32::from(*controller.destage_depth),
                    *controller.destage_bytes_max,
                )
            }),
            second_last: vec![true; columns],
            events: BinaryHeap::new(),
            ordered: 0,
            commands: Slots::default(),
            held: 0,
            waiting: VecDeque::new(),
            primed: false,
            roomless: VecDeque::new(),
            submitted: 0,
            in_flight: 0,
            now: Moment::START,
            counters: Counters::default(),
        }
    }

    fn plan(&mut self, at: Moment, event: Event) {
        let order = match event {
            Event::Completes(command) => LAST | self.commands[command].submission,
            _ => {
                self.ordered += 1;
                self.ordered
            }
        };
        self.events.push(Reverse((at, order, event)));
    }

    /// Lets an event happen; a completion is the host's.
    fn happen(&mut self, at: Moment, event: Event) -> Result<Option<Completion>, DeviceError> {
        match event {
            Event::Arrives(command) => {
                if std::mem::take(&mut self.primed) {
                    for column in 0..self.layout.columns() as usize {
                        self.destage(column, at)?;
                    }
                }
                if self.held < u32::from(self.geometry.queue.get()) {
                    self.hold(at, command);
                } else {
                    self.waiting.push_back(command);
                }
            }
            Event::Dispatched(command) => self.dispatched(at, command)?,
            Event::Transferred(command) => {
                self.roomless.push_back(command);
                self.fill_cache(at)?;
            }
            Event::Completes(command) => {
                self.held -= 1;
                self.in_flight -= 1;
                self.commands.release(command);
                if let Some(next) = self.waiting.pop_front() {
                    self.hold(at, next);
                }
                return Ok(Some(Completion {
                    tag: self.commands[command].tag,
                    at,
                }));
            }
        }
        Ok(None)
    }

    /// The controller takes a command and its processor begins with it when it
    /// has done with those before.
    fn hold(&mut self, at: Moment, command: u32) {
        self.held += 1;
        let bytes = self.commands[command].request.length;
        self.processor_free = at.max(self.processor_free).after(self.processor.ns(bytes));
        self.plan(self.processor_free, Event::Dispatched(command));
    }

    fn dispatched(&mut self, at: Moment, command: u32) -> Result<(), DeviceError> {
        let request = self.commands[command].request;
        match request.command {
            Command::Read => {
                for extent in self.layout.extents(request.offset, request.length) {
                    if let Some(cache) = &self.cache
                        && cache.holds(extent.column, extent.offset, extent.length)
                    {
                        continue;
                    }
                    let member = self.nearest(extent.column);
                    self.ask(
                        member,
                        at,
                        command,
                        Request::read(extent.offset, extent.length),
                    )?;
                }
                if self.commands[command].remaining == 0 {
                    self.answer(at, command);
                }
            }
            Command::Write => {
                let sent = at
                    .max(self.write_link_free)
                    .after(self.link.ns(request.length));
                self.write_link_free = sent;
                self.plan(sent, Event::Transferred(command));
            }
            // What the cache holds is as durable as on the members.
            Command::Flush if self.cache.is_some() => self.answer(at, command),
            Command::Flush => {
                for member in 0..self.members.count() {
                    self.ask(member, at, command, Request::FLUSH)?;
                }
            }
            Command::Trim => {
                for extent in self.layout.extents(request.offset, request.length) {
                    self.ask_mirrors(at, command, extent, Request::trim)?;
                }
                if self.commands[command].remaining == 0 {
                    self.answer(at, command);
                }
            }
        }
        Ok(())
    }

    /// Takes writes, in the order in which they came, into the cache as long
    /// as it has room, or without a cache to the members.
    fn fill_cache(&mut self, at: Moment) -> Result<(), DeviceError> {
        while let Some(&command) = self.roomless.front() {
            let request = self.commands[command].request;
            match &mut self.cache {
                // More than the cache can ever hold goes past it.
                Some(cache) if u64::from(request.length) <= cache.capacity() => {
                    if !cache.has_room(request.length) {
                        break;
                    }
                    for extent in self.layout.extents(request.offset, request.length) {
                        cache.add(extent.column, extent.offset, extent.length);
                    }
                    self.answer(at, command);
                    for extent in self.layout.extents(request.offset, request.length) {
                        self.destage(extent.column, at)?;
                    }
                }
                _ => {
                    for extent in self.layout.extents(request.offset, request.length) {
                        self.ask_mirrors(at, command, extent, Request::write)?;
                    }
                    if self.commands[command].remaining == 0 {
                        self.answer(at, command);
                    }
                }
            }
            self.roomless.pop_front();
        }
        Ok(())
    }

    /// Fills the cache with writes of `spec`: random ones, or the last ones
    /// before a sequence begins again.
    fn fill(&mut self, spec: &PointSpec, seed: Seed) {
        let Some(cache) = &mut self.cache else {
            return;
        };
        self.primed = true;
        let size = spec.request_size.get();
        let shift = spec.shift.get();
        let count = spec.range.get().saturating_sub(shift) / u64::from(size);
        let mut random = seed.generator();
        // A range that is not much larger than the cache would be drawn from
        // again and again to no avail.
        for index in 0..(2 * cache.capacity() / u64::from(size)).min(8 * count) {
            if !cache.has_room(size) {
                break;
            }
            let request = match spec.pattern {
                Pattern::Random => {
                    ((u128::from(random.next_u64()) * u128::from(count)) >> 64) as u64
                }
                Pattern::Sequential => count - 1 - index % count,
            };
            let offset = request * u64::from(size) + shift;
            for extent in self.layout.extents(offset, size) {
                cache.add(extent.column, extent.offset, extent.length);
            }
        }
    }

    /// Keeps a column busy with what is dirty.
    fn destage(&mut self, column: usize, at: Moment) -> Result<(), DeviceError> {
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        while let Some(destage) = cache.destage(column, self.mirrors as u32) {
            for mirror in 0..self.mirrors {
                self.members.submit(
                    column * self.mirrors + mirror,
                    at,
                    Tag(DESTAGE | destage.slot),
                    Request::write(destage.offset, destage.length),
                )?;
            }
        }
        Ok(())
    }

    /// The member of a column that reads: of mirrors the one with the shorter
    /// queue, of equals the one whose turn it is.
    fn nearest(&mut self, column: usize) -> usize {
        let first = column * self.mirrors;
        if self.mirrors == 1 {
            return first;
        }
        let (a, b) = (
            self.members.in_flight(first),
            self.members.in_flight(first + 1),
        );
        let second = match a.cmp(&b) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => {
                self.second_last[column] ^= true;
                self.second_last[column]
            }
        };
        first + usize::from(second)
    }

    fn ask_mirrors(
        &mut self,
        at: Moment,
        command: u32,
        extent: Extent,
        request: fn(u64, u32) -> Request,
    ) -> Result<(), DeviceError> {
        for mirror in 0..self.mirrors {
            let member = extent.column * self.mirrors + mirror;
            self.ask(member, at, command, request(extent.offset, extent.length))?;
        }
        Ok(())
    }

    fn ask(
        &mut self,
        member: usize,
        at: Moment,
        command: u32,
        request: Request,
    ) -> Result<(), DeviceError> {
        self.commands[command].remaining += 1;
        self.members.submit(member, at, Tag(command), request)
    }

    /// A member has completed a request.
    fn member_done(&mut self, at: Moment, tag: Tag) -> Result<(), DeviceError> {
        if tag.0 & DESTAGE == 0 {
            let command = &mut self.commands[tag.0];
            command.remaining -= 1;
            if command.remaining == 0 {
                self.answer(at, tag.0);
            }
            return Ok(());
        }
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        if let Some(column) = cache.arrived(tag.0 & !DESTAGE) {
            self.fill_cache(at)?;
            self.destage(column, at)?;
        }
        Ok(())
    }

    /// Sends the host what it waits for: read bytes over the link.
    fn answer(&mut self, at: Moment, command: u32) {
        let request = self.commands[command].request;
        let done = match request.command {
            Command::Read => {
                let sent = at
                    .max(self.read_link_free)
                    .after(self.link.ns(request.length));
                self.read_link_free = sent;
                sent.after(self.latency.ns(0u32))
            }
            Command::Write => at.after(self.latency.ns(request.length)),
            Command::Flush | Command::Trim => at.after(self.latency.ns(0u32)),
        };
        self.plan(done, Event::Completes(command));
    }
}

impl Device for Raid {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        debug_assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = self.now.max(at);
        self.counters.take(request);
        self.submitted += 1;
        self.in_flight += 1;
        let in_flight = InFlight {
            tag,
            request,
            submission: self.submitted,
            remaining: 0,
        };
        let command = self.commands.insert(in_flight);
        self.plan(at, Event::Arrives(command));
        Ok(())
    }

    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        // What the cache still has to write is nothing to wait for.
        if until == Moment::NEVER && self.in_flight == 0 {
            return Ok(None);
        }
        loop {
            let planned = self
                .events
                .peek()
                .map(|&Reverse((at, order, _))| (at, order));
            let members = self.members.earliest();
            // At one moment: the controller, then the members, then what they
            // complete.
            let own_turn =
                planned.filter(|&(at, order)| at < members || (at == members && order & LAST == 0));
            let at = own_turn.map_or(members, |(at, _)| at);
            if at > until || at == Moment::NEVER {
                if until != Moment::NEVER {
                    self.now = self.now.max(until);
                }
                return Ok(None);
            }
            if own_turn.is_some() {
                let Some(Reverse((at, _, event))) = self.events.pop() else {
                    unreachable!("it was looked at above");
                };
                if let Some(completion) = self.happen(at, event)? {
                    self.now = self.now.max(at);
                    return Ok(Some(completion));
                }
            } else if let Some((_, tag)) = self.members.step(at)? {
                self.member_done(at, tag)?;
            }
        }
    }

    fn earliest(&self) -> Moment {
        let own = self
            .events
            .peek()
            .map_or(Moment::NEVER, |&Reverse((at, ..))| at);
        own.min(self.members.earliest())
    }

    fn now(&self) -> Moment {
        self.now
    }

    /// Busy time is the mean of the members'.
    fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.members.add_media(&mut counters);
        counters
    }

    /// Each member with its share of the range, in requests as they reach it:
    /// of at most a stripe unit. A cache is full of writes after a load that
    /// writes faster than the members do.
    fn precondition(&mut self, spec: &PointSpec, seed: Seed) -> Result<(), DeviceError> {
        let columns = self.layout.columns();
        let unit = self.layout.unit_bytes();
        let mut member = *spec;
        let size = u64::from(spec.request_size.get()).min(unit) as u32;
        // A unit that no request has the size of leaves the size as it is.
        member.request_size = RequestSize::new(size).unwrap_or(spec.request_size);
        let row = columns * unit;
        let shift = spec.shift.get();
        let within = shift % u64::from(member.request_size.get());
        member.shift = ByteCount::new(shift / row * unit + within);
        let rows = spec.range.get().div_ceil(row);
        member.range = ByteCount::new(rows * unit)
            .min(self.members.geometry().capacity)
            .max(member.least_range());
        self.members.precondition(&member, seed)?;
        if spec.mix.writes() {
            self.fill(spec, seed.derive("cache", 0));
        }
        Ok(())
    }
}
