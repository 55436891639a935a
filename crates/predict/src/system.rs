//! The closed system: clients whose transactions wait for a processor, rows, the log and
//! the device, in virtual time.

use std::{cmp::Reverse, collections::BinaryHeap, ops::ControlFlow, sync::Arc};

use octavo_device::{Counters, Device, Request, Tag};
use octavo_units::{ByteCount, Moment, PageSize, Seed};
use octavo_workload::{
    Client, Outcome, PageTrace, Workload,
    page_trace::TracedTransaction,
    schema::TableId,
    touch::{AccessPath, Action, Touch, TouchTracer},
};

use crate::{
    arriving::Want,
    background::Background,
    commits::Commits,
    cpu::{CpuCost, Work},
    engine::{Engine, Grain, Opening, Referred},
    error::PredictError,
    io::{Asked, Io, Purpose},
    latch::Latch,
    locks::Locks,
    miniature::Miniature,
    model::Model,
    occupied::Occupied,
    paced::{Paced, whole_sectors},
    processors::Processors,
    waits::{Wait, Waited},
};

/// What is predicted.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The database.
    pub model: Model,
    /// Bytes of a page.
    pub page_size: PageSize,
    /// Memory of the buffer: of a miniature its own.
    pub memory: ByteCount,
    /// By what rows and memory were divided.
    pub miniature: Miniature,
    /// Clients, each of which begins a transaction when its last one has ended.
    pub clients: u32,
    /// Processors that clients and database share.
    pub processors: u32,
    /// Of the clients' inputs: the one that a measurement has.
    pub seed: Seed,
    /// What the processor takes.
    pub cpu: CpuCost,
    /// How many times [`CpuCost::transaction_ns`] each kind of transaction takes, in the order
    /// of [`Workload::transactions`]; all alike where it is empty.
    pub weights: Vec<f64>,
    /// How many times as long as the device says its requests take.
    pub slowness: Slowness,
}

/// How many times as long as a model of storage says requests take that are for one
/// purpose: what is known from measurements of the storage under a database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowness(pub [f64; Purpose::ALL.len()]);

impl Default for Slowness {
    /// The device is right.
    fn default() -> Self {
        Self([1.0; Purpose::ALL.len()])
    }
}

impl Slowness {
    /// The least of what is waited for.
    fn least(&self) -> f64 {
        let waited_for = self.0[..Purpose::Background as usize].iter();
        waited_for.copied().fold(f64::INFINITY, f64::min)
    }
}

/// What one transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its position in [`Workload::transactions`].
    pub kind: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// References to pages.
    pub referred: Referred,
    /// Bytes of the values that it set or inserted; none if it was rolled back.
    pub changed_bytes: u64,
    /// Rows that it inserted; none if it was rolled back.
    pub inserted: u64,
    /// What it asked of storage, by [`Purpose::ALL`].
    pub asked: [Asked; Purpose::ALL.len()],
    /// What the processor took, in nanoseconds.
    pub cpu_ns: u64,
    /// Of this, what one transaction does at a time.
    pub latched_ns: u64,
    /// How long it waited for others.
    pub waited: Waited,
    /// Whose rows it waited for at its begin: a table, or `None` for a database that has one
    /// writer at a time.
    pub blocked_by: Option<TableId>,
    /// From its beginning to its end, in nanoseconds: with several clients also what it
    /// waited for rows, for a processor, for pages that others read, and for what others
    /// wrote to the log.
    pub elapsed_ns: u64,
}

impl Done {
    fn nothing() -> Self {
        Self {
            kind: 0,
            outcome: Outcome::Committed,
            referred: Referred::default(),
            changed_bytes: 0,
            inserted: 0,
            asked: [Asked::default(); Purpose::ALL.len()],
            cpu_ns: 0,
            latched_ns: 0,
            waited: Waited::default(),
            blocked_by: None,
            elapsed_ns: 0,
        }
    }

    /// What it asked for one purpose. What several transactions wrote to the log together
    /// is said of the first of them.
    pub fn asked(&self, purpose: Purpose) -> Asked {
        self.asked[purpose as usize]
    }
}

/// Clients of a database on a device.
pub struct System {
    engine: Box<dyn Engine>,
    /// Which part of the whole the engine has. The device is the whole's.
    miniature: Miniature,
    seats: Vec<ModeledClient>,
    /// How many of them execute transactions, the first ones.
    active: usize,
    /// Whether each of these has a transaction that has begun.
    is_under_way: bool,
    source: Source,
    device: Paced,
    occupied: Occupied,
    /// The same until whoever waits has what was asked for, which [`Setup::slowness`] makes later.
    under_way: Occupied,
    background: Background,
    /// What flushes of it took since the last transaction ended, but for those of checkpoints.
    background_flush_ns: u64,
    /// Who waits for what is written in the background, and since when.
    behind: Vec<(usize, Moment)>,
    /// Who waits for the flush of a checkpoint that the page cache gathered.
    checkpointing: Option<usize>,
    commits: Commits,
    processors: Processors,
    latch: Latch,
    locks: Locks,
    cpu: CpuCost,
    weights: Vec<f64>,
    slowness: Slowness,
    now: Moment,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    /// Events so far: of those at one moment the first comes first.
    scheduled: u64,
    /// When the log's request that is under way began, and what it is.
    logging: Option<(Moment, Io)>,
}

/// What happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client's work on a processor beside others ends.
    Worked(usize),
    /// A client's work on a processor under the latch ends.
    Unlatched(usize),
    /// What a client waited for of the device is over.
    Waited(usize),
    /// The log's request is over.
    Logged,
    /// A client may go on that waited for what is written in the background.
    CaughtUp(usize),
}

/// Whom the device's answers are for: clients by their numbers, and these.
const IN_BACKGROUND: Tag = Tag(u32::MAX);
const TO_THE_LOG: Tag = Tag(u32::MAX - 1);

/// Where transactions come from.
enum Source {
    /// Clients, each with its seat. The tracer is one for all: what rows there are does not depend
    /// on who made them.
    Clients(Vec<Box<dyn Client>>, Box<TouchTracer>),
    /// A trace, whose next transaction is that of the client that is free first.
    Trace(Arc<PageTrace>, usize),
}

/// A client's transaction.
struct ModeledClient {
    touches: Vec<Touch>,
    /// That of a trace, and how many of its parts have begun.
    traced: Option<(TracedTransaction, usize)>,
    ios: Vec<Io>,
    /// How many of them are done.
    next: usize,
    /// How often it waits for them.
    waits: u64,
    /// What it works on a processor in all, before each wait, and now.
    work: Work,
    burst: Work,
    working: Work,
    /// When what it asked of the device began.
    since: Moment,
    /// Whether the device has answered what is waited for.
    is_answered: bool,
    /// Since when it waits for others.
    waits_since: Moment,
    began: Moment,
    done: Done,
}

impl System {
    /// A database after loading, with an empty buffer.
    ///
    /// # Errors
    /// [`PredictError::Engine`] for memory that holds no pages, and
    /// [`PredictError::Capacity`].
    pub fn new(
        workload: &dyn Workload,
        setup: &Setup,
        device: Box<dyn Device + Send>,
    ) -> Result<Self, PredictError> {
        Self::new_while(workload, setup, device, &|| ControlFlow::Continue(()))
    }

    /// The same, as long as `flow` does not say to stop: large data takes many seconds.
    ///
    /// # Errors
    /// As [`Self::new`], and [`PredictError::Stopped`].
    pub fn new_while(
        workload: &dyn Workload,
        setup: &Setup,
        mut device: Box<dyn Device + Send>,
        flow: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<Self, PredictError> {
        let miniature = setup.miniature;
        let engine = setup.model.open(&Opening {
            workload,
            page_size: setup.page_size,
            memory: setup.memory,
            clients: setup.clients.max(1),
            miniature,
            replacement: setup.model.replacement(),
        })?;
        let size = engine.size();
        check_room(device.as_ref(), size, miniature)?;
        load(device.as_mut(), size, miniature, flow)?;
        let source = match engine.trace() {
            Some(trace) => Source::Trace(Arc::clone(trace), 0),
            None => Source::Clients(
                workload.clients(setup.seed, setup.clients.max(1)),
                Box::new(workload.touch_tracer()),
            ),
        };
        let seats = (0..setup.clients.max(1)).map(|_| ModeledClient::new());
        let seats: Vec<ModeledClient> = seats.collect();
        let now = device.now();
        let device = Paced::new(device, setup.slowness.least(), now);
        Ok(Self {
            locks: Locks::new(engine.grain()),
            engine,
            miniature,
            active: seats.len(),
            is_under_way: false,
            seats,
            source,
            now,
            device,
            occupied: Occupied::default(),
            under_way: Occupied::default(),
            background: Background::new(miniature),
            background_flush_ns: 0,
            behind: Vec::new(),
            checkpointing: None,
            commits: Commits::default(),
            processors: Processors::new(setup.processors),
            latch: Latch::default(),
            cpu: setup.cpu,
            weights: setup.weights.clone(),
            slowness: setup.slowness,
            events: BinaryHeap::new(),
            scheduled: 0,
            logging: None,
        })
    }

    /// Pages of the buffer, or of the data where these are fewer.
    pub fn frames(&self) -> u64 {
        self.engine.frames().min(self.engine.pages())
    }

    /// Has the clients execute the next `transactions`, which they take from one count;
    /// how long that took, in nanoseconds, with what the page cache had to write at its end.
    /// `each` is told of those that end.
    ///
    /// # Errors
    /// [`PredictError::Device`], [`PredictError::Silent`], [`PredictError::Workload`].
    pub fn run(
        &mut self,
        transactions: u64,
        each: &mut dyn FnMut(&Done),
    ) -> Result<u64, PredictError> {
        self.run_flowing(transactions, &mut |done| {
            each(done);
            ControlFlow::Continue(())
        })
    }

    /// Has the clients go on until the next `transactions` have ended, and leaves those under
    /// way that have begun: nobody waits for the last one. How long that took, in nanoseconds.
    /// [`Self::settle`] comes before anything else is asked of them.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn go_on_for(
        &mut self,
        transactions: u64,
        each: &mut dyn FnMut(&Done),
    ) -> Result<u64, PredictError> {
        if !self.is_under_way {
            for client in 0..self.active {
                self.draw(client)?;
            }
            self.is_under_way = true;
        }
        let began = self.now;
        let mut left = transactions;
        while left > 0 {
            if let Some(client) = self.step()? {
                each(&self.seats[client].done);
                left -= 1;
                self.draw(client)?;
            }
        }
        Ok(self.now.since(began))
    }

    /// Has transactions that are under way come to their end, which count nowhere.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn settle(&mut self) -> Result<(), PredictError> {
        let mut working = match std::mem::take(&mut self.is_under_way) {
            true => self.active,
            false => 0,
        };
        while working > 0 {
            working -= usize::from(self.step()?.is_some());
        }
        Ok(())
    }

    /// As [`Self::run`], with fewer transactions where `each` says to stop: those that clients
    /// have begun come to their end.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_flowing(
        &mut self,
        transactions: u64,
        each: &mut dyn FnMut(&Done) -> ControlFlow<()>,
    ) -> Result<u64, PredictError> {
        let begin = usize::try_from(transactions).unwrap_or(usize::MAX);
        let begin = self.active.min(begin);
        let mut left = transactions - begin as u64;
        self.run_while(begin, &mut |_, done| {
            let flow = each(done);
            let is_left = left > 0 && flow.is_continue();
            left = left.saturating_sub(1);
            is_left
        })
    }

    /// Has so many clients begin, and each begin again when its transaction has ended, as long
    /// as `each` wants that, which is told how long after the beginning that was, in
    /// nanoseconds; how long all of it took, as [`Self::run`] says it.
    pub(crate) fn run_while(
        &mut self,
        clients: usize,
        each: &mut dyn FnMut(u64, &Done) -> bool,
    ) -> Result<u64, PredictError> {
        let began = self.now;
        for client in 0..clients {
            self.draw(client)?;
        }
        let mut working = clients;
        while working > 0 {
            let Some(client) = self.step()? else {
                continue;
            };
            let goes_on = each(self.now.since(began), &self.seats[client].done);
            match goes_on {
                true => self.draw(client)?,
                false => working -= 1,
            }
        }
        while self.engine.is_cached() && !self.background.is_idle() {
            self.step()?;
        }
        Ok(self.now.since(began))
    }

    /// Has only the first `clients` execute transactions from now on: at least one, and at
    /// most those of [`Setup::clients`], which the database was made for. The others keep
    /// their inputs for when they are wanted again.
    ///
    /// A load that rises in steps is so predicted on one database, as it is measured: its
    /// buffer stays warm from one step to the next.
    pub fn set_clients(&mut self, clients: u32) {
        self.active = (clients as usize).clamp(1, self.seats.len());
        let active = u32::try_from(self.active).unwrap_or(u32::MAX);
        self.engine.set_clients(active);
    }

    /// Has the data on another device from now on, with the buffer as it is: two media are
    /// so compared after one warm-up. What the device before had yet to write it writes
    /// first, and that one is dropped; [`System::device_counters`] are the new one's.
    ///
    /// # Errors
    /// [`PredictError::Capacity`] for a device that is too small, with which nothing is
    /// changed; [`PredictError::Device`] and [`PredictError::Silent`].
    pub fn exchange_device(
        &mut self,
        mut device: Box<dyn Device + Send>,
    ) -> Result<(), PredictError> {
        let (size, miniature) = (self.engine.size(), self.miniature);
        check_room(device.as_ref(), size, miniature)?;
        while !self.background.is_idle() {
            self.step()?;
        }
        load(device.as_mut(), size, miniature, &|| {
            ControlFlow::Continue(())
        })?;
        self.device = Paced::new(device, self.slowness.least(), self.now);
        Ok(())
    }

    /// Has what processors and storage take be this from now on.
    pub(crate) fn set_times(&mut self, cpu: CpuCost, slowness: Slowness) {
        (self.cpu, self.slowness) = (cpu, slowness);
        self.device.set_pace(slowness.least());
    }

    /// What processors and storage take.
    pub(crate) fn times(&self) -> (CpuCost, Slowness) {
        (self.cpu, self.slowness)
    }

    /// What the device has done, loading included. Times are its own, before
    /// [`Setup::slowness`] makes others of them.
    pub fn device_counters(&self) -> Counters {
        self.device.counters()
    }

    /// How long the device had reads in flight, and what is written, in nanoseconds so far:
    /// where it had both, each has its part.
    pub fn occupied_ns(&self) -> [f64; 2] {
        self.occupied.ns()
    }

    /// How long requests were under way so far, for reads and for what is written, in nanoseconds
    /// of which requests of the same moment have a part each. It is the time in which a client
    /// waits for one, of which the device may take a part alone: see [`Setup::slowness`].
    pub fn under_way_ns(&self) -> [f64; 2] {
        self.under_way.ns()
    }

    /// Clients that work.
    pub(crate) fn clients(&self) -> usize {
        self.active
    }

    /// What happens next; the client whose transaction that ended.
    fn step(&mut self) -> Result<Option<usize>, PredictError> {
        let until = match self.events.peek() {
            Some(Reverse((at, ..))) => *at,
            None => Moment::NEVER,
        };
        if let Some((at, tag)) = self.device.next(until)? {
            self.now = self.now.max(at);
            return self.answered(tag).map(|()| None);
        }
        let Some(Reverse((at, _, event))) = self.events.pop() else {
            return Err(PredictError::Silent);
        };
        self.now = at;
        match event {
            Event::Worked(client) => self.worked(client),
            Event::Unlatched(client) => self.unlatched(client),
            Event::Waited(client) => {
                let seat = &mut self.seats[client];
                let io = seat.ios[seat.next];
                // A checkpoint in the background was no request of the client's.
                if std::mem::take(&mut seat.is_answered) {
                    self.under_way.end(self.now, io.purpose);
                }
                seat.note(self.now.since(seat.since), io);
                self.get(client);
                if io.purpose == Purpose::Read {
                    // Databases do not time who waits for another's read.
                    for other in self.engine.arriving().end(io.request) {
                        self.seats[other].has_waited(Wait::Page, self.now);
                        self.get(other);
                    }
                }
                Ok(None)
            }
            Event::Logged => self.logged().map(|()| None),
            Event::CaughtUp(client) => self.go_on(client),
        }
    }

    /// A client has what it waited for.
    fn get(&mut self, client: usize) {
        self.seats[client].next += 1;
        self.work(client);
    }

    fn schedule(&mut self, at: Moment, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled, event)));
    }

    /// A client's next transaction.
    fn draw(&mut self, client: usize) -> Result<(), PredictError> {
        let seat = &mut self.seats[client];
        match &mut self.source {
            Source::Clients(clients, tracer) => {
                let kind = clients[client].draw();
                tracer.forget();
                let outcome = clients[client].run(tracer.as_mut())?;
                seat.touches.clear();
                seat.touches.extend_from_slice(tracer.touches());
                let (changed_bytes, inserted) = match outcome {
                    Outcome::Committed => (tracer.changed_bytes(), inserted(&seat.touches)),
                    Outcome::RolledBack => (0, 0),
                };
                seat.done = Done {
                    kind,
                    outcome,
                    changed_bytes,
                    inserted,
                    ..Done::nothing()
                };
            }
            Source::Trace(trace, next) => {
                let transactions = trace.transactions();
                let transaction = trace.transaction(*next);
                let transaction = transaction.ok_or(PredictError::TraceEnds { transactions })?;
                *next += 1;
                seat.traced = Some((transaction, 0));
                seat.done = Done {
                    kind: transaction.kind,
                    outcome: transaction.outcome,
                    ..Done::nothing()
                };
            }
        }
        self.seats[client].began = self.now;
        self.enter(client);
        Ok(())
    }

    /// A client's transaction, or the next part of it, begins once it has its rows.
    fn enter(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        seat.waits_since = self.now;
        // One client has nobody to wait for.
        if self.seats.len() == 1 {
            return self.begin(client);
        }
        let taken = match (&self.source, self.seats[client].traced) {
            (Source::Trace(trace, _), Some((transaction, part))) => {
                let only_reads = trace.part(&transaction, part).end.only_reads;
                // Which rows are changed is not recorded.
                match only_reads || self.engine.grain() == Grain::Row {
                    true => Ok(()),
                    false => self.locks.take_everything(client),
                }
            }
            _ => self.locks.take(client, &self.seats[client].touches),
        };
        match taken {
            Ok(()) => self.begin(client),
            Err(table) => self.seats[client].done.blocked_by = table,
        }
    }

    /// A client has its rows.
    fn begin(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        seat.has_waited(Wait::Rows, self.now);
        let clock = self.miniature.clock(self.now);
        self.engine.advance(clock, self.background.is_idle());
        self.engine.arriving().begin();
        seat.ios.clear();
        seat.next = 0;
        let mut weight = self.weights.get(seat.done.kind).copied().unwrap_or(1.0);
        let referred = match (&self.source, &mut seat.traced) {
            (Source::Trace(trace, _), Some((transaction, begun))) => {
                let part = trace.part(transaction, *begun);
                *begun += 1;
                // All take as much of what is known of the whole.
                weight /= transaction.parts as f64;
                self.engine.replay(client, &part, &mut seat.ios)
            }
            _ => {
                let is_committed = seat.done.outcome == Outcome::Committed;
                self.engine
                    .transaction(client, &seat.touches, is_committed, &mut seat.ios)
            }
        };
        seat.done.referred = seat.done.referred + referred;
        let shared_bytes = self.engine.arriving().shared_bytes();
        seat.work = self
            .cpu
            .work(&seat.ios, shared_bytes, referred.logged, weight);
        seat.done.cpu_ns += seat.work.all_ns();
        seat.done.latched_ns += seat.work.latched_ns;
        seat.waits = waits(&seat.ios, self.engine.gathers_checkpoints());
        seat.burst = seat.work.part(seat.waits + 1);
        self.work(client);
    }

    /// A client needs a processor until it waits next.
    fn work(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        seat.working = match seat.next == seat.ios.len() {
            // What the division left goes here.
            true => seat.work.without(seat.burst, seat.waits),
            false => seat.burst,
        };
        seat.waits_since = self.now;
        if self.processors.take(client) {
            self.start(client);
        }
    }

    /// A client has a processor, and the latch if it waited for that.
    fn start(&mut self, client: usize) {
        self.seats[client].has_waited(Wait::Processor, self.now);
        let Work {
            free_ns,
            latched_ns,
        } = self.seats[client].working;
        match self.latch.is_held_by(client) {
            true => self.schedule(self.now.after(latched_ns), Event::Unlatched(client)),
            false => self.schedule(self.now.after(free_ns), Event::Worked(client)),
        }
    }

    /// A client is done with its processor: who has waited for it works.
    fn release_processor(&mut self) {
        if let Some(next) = self.processors.release() {
            self.start(next);
        }
    }

    /// A client has worked beside others. If it has the latch at once, it keeps its
    /// processor for what needs that.
    fn worked(&mut self, client: usize) -> Result<Option<usize>, PredictError> {
        if self.seats[client].working.latched_ns > 0 {
            self.seats[client].waits_since = self.now;
            match self.latch.take(client) {
                true => self.start(client),
                false => self.release_processor(),
            }
            return Ok(None);
        }
        self.release_processor();
        self.go_on(client)
    }

    /// A client has worked under the latch. Who has that next needs a processor.
    fn unlatched(&mut self, client: usize) -> Result<Option<usize>, PredictError> {
        if let Some(next) = self.latch.release() {
            self.seats[next].has_waited(Wait::Latch, self.now);
            if self.processors.take(next) {
                self.start(next);
            }
        }
        self.release_processor();
        self.go_on(client)
    }

    /// A client asks for what it waits for next; itself if its transaction has ended.
    fn go_on(&mut self, client: usize) -> Result<Option<usize>, PredictError> {
        while let Some(&io) = self.seats[client].ios.get(self.seats[client].next) {
            let seat = &mut self.seats[client];
            match io.purpose {
                Purpose::Background => {
                    seat.note(0, io);
                    seat.next += 1;
                    self.background.push(io.request);
                    self.feed()?;
                    if self.background.is_behind() {
                        self.behind.push((client, self.now));
                        return Ok(None);
                    }
                }
                Purpose::LogWrite | Purpose::LogSync => {
                    let rest = &seat.ios[seat.next..];
                    let ios: Vec<Io> = rest.iter().take_while(|io| io.is_log()).copied().collect();
                    seat.next += ios.len();
                    seat.waits_since = self.now;
                    self.commits.join(client, ios);
                    self.log()?;
                    return Ok(None);
                }
                Purpose::Checkpoint if self.engine.gathers_checkpoints() => {
                    if io.request.length > 0 {
                        seat.note(0, io);
                        seat.next += 1;
                        self.background.gather(io.request);
                    } else {
                        (seat.since, seat.waits_since) = (self.now, self.now);
                        self.checkpointing = Some(client);
                        self.background.push(io.request);
                        self.feed()?;
                        return Ok(None);
                    }
                }
                Purpose::Read | Purpose::Checkpoint => {
                    (seat.since, seat.waits_since) = (self.now, self.now);
                    let want = match io.purpose {
                        Purpose::Read => self.engine.arriving().want(client, io.request),
                        _ => Want::Read,
                    };
                    match want {
                        Want::Read => {
                            let tag = Tag(client as u32);
                            self.submit(tag, io)?;
                        }
                        Want::Wait => {}
                        Want::Nothing => self.get(client),
                    }
                    return Ok(None);
                }
            }
        }
        // What it works at its end comes before that.
        let seat = &mut self.seats[client];
        seat.done.elapsed_ns = self.now.since(seat.began);
        seat.done.asked[Purpose::Background as usize].flush_ns +=
            std::mem::take(&mut self.background_flush_ns);
        let has_more = seat
            .traced
            .is_some_and(|(transaction, begun)| begun < transaction.parts);
        self.engine.end(client);
        for served in self.locks.release(client) {
            self.begin(served);
        }
        if has_more {
            self.enter(client);
            return Ok(None);
        }
        Ok(Some(client))
    }

    /// The device has completed something.
    fn answered(&mut self, tag: Tag) -> Result<(), PredictError> {
        match tag {
            IN_BACKGROUND => {
                self.occupied.end(self.now, Purpose::Background);
                self.under_way.end(self.now, Purpose::Background);
                let flush_ns = self.background.complete(self.now);
                if self.checkpointing.is_none() {
                    self.background_flush_ns += flush_ns;
                }
                self.feed()?;
                if self.background.is_idle()
                    && let Some(client) = self.checkpointing.take()
                {
                    let at = self.end_of(self.seats[client].since, Purpose::Checkpoint);
                    self.schedule(at, Event::Waited(client));
                }
                if !self.background.is_behind() {
                    for (client, since) in std::mem::take(&mut self.behind) {
                        let waited_ns = self.now.since(since);
                        let asked = &mut self.seats[client].done.asked;
                        asked[Purpose::Background as usize].waited_ns += waited_ns;
                        self.schedule(self.now, Event::CaughtUp(client));
                    }
                }
            }
            TO_THE_LOG => {
                if let Some((since, io)) = self.logging {
                    self.occupied.end(self.now, io.purpose);
                    let at = self.end_of(since, io.purpose);
                    self.schedule(at, Event::Logged);
                }
            }
            Tag(client) => {
                let client = client as usize;
                let seat = &self.seats[client];
                let purpose = seat.ios[seat.next].purpose;
                self.occupied.end(self.now, purpose);
                let at = self.end_of(seat.since, purpose);
                self.seats[client].is_answered = true;
                self.schedule(at, Event::Waited(client));
            }
        }
        Ok(())
    }

    /// When what the device has just completed is over for whoever waits.
    fn end_of(&self, since: Moment, purpose: Purpose) -> Moment {
        let longer = self.slowness.0[purpose as usize] / self.device.pace();
        let waited_ns = self.now.since(since) as f64 * longer;
        self.now.max(since.after(waited_ns as u64))
    }

    /// Gives the device what it may have of the background's requests.
    fn feed(&mut self) -> Result<(), PredictError> {
        while let Some(request) = self.background.next(self.now) {
            let purpose = Purpose::Background;
            self.submit(IN_BACKGROUND, Io { purpose, request })?;
        }
        Ok(())
    }

    fn submit(&mut self, tag: Tag, io: Io) -> Result<(), PredictError> {
        self.occupied.begin(self.now, io.purpose);
        self.under_way.begin(self.now, io.purpose);
        let request = Request {
            offset: self.miniature.place(io.request.offset),
            ..io.request
        };
        Ok(self.device.submit(self.now, tag, request)?)
    }

    /// Begins what is to be logged, unless something is under way.
    fn log(&mut self) -> Result<(), PredictError> {
        match self.commits.begin() {
            Some(io) => self.ask_log(io),
            None => Ok(()),
        }
    }

    fn ask_log(&mut self, io: Io) -> Result<(), PredictError> {
        self.logging = Some((self.now, io));
        self.submit(TO_THE_LOG, io)
    }

    /// The log's request is over.
    fn logged(&mut self) -> Result<(), PredictError> {
        let logged = self.logging.take();
        if let Some((_, io)) = logged {
            self.under_way.end(self.now, io.purpose);
        }
        if let (Some((since, io)), Some(maker)) = (logged, self.commits.maker()) {
            let (seat, ns) = (&mut self.seats[maker], self.now.since(since));
            seat.note(ns, io);
            // That was its own.
            seat.waits_since = seat.waits_since.after(ns);
        }
        match self.commits.advance() {
            Ok(io) => self.ask_log(io),
            Err(members) => {
                for client in members {
                    self.seats[client].has_waited(Wait::Log, self.now);
                    self.work(client);
                }
                self.log()
            }
        }
    }
}

/// Rows that a transaction inserts.
fn inserted(touches: &[Touch]) -> u64 {
    let inserts = touches
        .iter()
        .filter(|touch| touch.action == Action::Insert && touch.by == AccessPath::Key);
    inserts.map(|touch| u64::from(touch.rows)).sum()
}

/// How often a transaction waits for storage: for what it logs in a row once, and for what a
/// checkpoint writes at its flush alone where that is gathered.
fn waits(ios: &[Io], is_gathered: bool) -> u64 {
    let mut waits = 0;
    let mut was_log = false;
    for io in ios {
        let begins = match io.purpose {
            Purpose::Background => false,
            Purpose::Checkpoint => !is_gathered || io.request.length == 0,
            _ => !(io.is_log() && was_log),
        };
        waits += u64::from(begins);
        was_log = io.is_log();
    }
    waits
}

impl ModeledClient {
    fn new() -> Self {
        Self {
            touches: Vec::new(),
            traced: None,
            ios: Vec::new(),
            next: 0,
            waits: 0,
            work: Work::default(),
            burst: Work::default(),
            working: Work::default(),
            since: Moment::START,
            is_answered: false,
            waits_since: Moment::START,
            began: Moment::START,
            done: Done::nothing(),
        }
    }

    /// It has what it waited for, and waits no longer.
    fn has_waited(&mut self, wait: Wait, now: Moment) {
        self.done.waited.add(wait, now.since(self.waits_since));
        self.waits_since = now;
    }

    /// A request of its transaction is over.
    fn note(&mut self, waited_ns: u64, io: Io) {
        let asked = &mut self.done.asked[io.purpose as usize];
        asked.waited_ns += waited_ns;
        match io.request.length {
            0 => {
                asked.flushes += 1;
                asked.flush_ns += waited_ns;
            }
            bytes => {
                asked.requests += 1;
                asked.bytes += u64::from(bytes);
            }
        }
    }
}

/// Bytes of a request that loads.
const LOADING: u64 = 1 << 20;

/// Refuses a device that has no room for the whole of what takes so much in a miniature.
fn check_room(
    device: &dyn Device,
    size: ByteCount,
    miniature: Miniature,
) -> Result<(), PredictError> {
    let (needed, capacity) = (miniature.whole(size), device.geometry().capacity);
    match needed > capacity {
        true => Err(PredictError::Capacity { needed, capacity }),
        false => Ok(()),
    }
}

/// Writes all bytes up to `size`, as loading does: what was never written is read from
/// nowhere on flash.
fn load(
    device: &mut dyn Device,
    size: ByteCount,
    miniature: Miniature,
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<(), PredictError> {
    let mut ask = |request| -> Result<(), PredictError> {
        let now = device.now();
        device.submit(now, IN_BACKGROUND, whole_sectors(device, request))?;
        device.next(Moment::NEVER)?.ok_or(PredictError::Silent)?;
        Ok(())
    };
    for begin in (0..size.get()).step_by(LOADING as usize) {
        if flow().is_break() {
            return Err(PredictError::Stopped);
        }
        let length = LOADING.min(size.get() - begin) as u32;
        ask(Request::write(miniature.place(begin), length))?;
    }
    ask(Request::FLUSH)
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}
