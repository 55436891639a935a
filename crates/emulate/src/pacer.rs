//! Answers at the pace of the model.
//!
//! The device's time is the monotonic clock's, divided by the time scale.
//! Whoever submits or finishes a request moves the device on and answers what
//! is due; a thread does it when nobody else comes by. A thread that sleeps
//! wakes late, so it sleeps for less than it should and spins for the rest.
//!
//! Between an application and this process lies a way that takes some
//! microseconds, there and back, more for more bytes: the *lead*, measured when
//! mounting. Answers are sent that much before the model's moment, so that they
//! come at it. The device is moved on by as much as the longest lead of the
//! requests in flight, and cannot be given a request before a moment that it
//! has passed: one that comes within that after a completion counts from that
//! completion. The error is at most a lead a request.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    mem,
    num::NonZeroU64,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use octavo_device::{Command, Completion, Counters, Device, DeviceError, Request, Tag};
use octavo_units::Moment;
use rustix::thread::set_current_timer_slack;

use crate::{
    answer::Answer,
    lead::Lead,
    lock::lock,
    statistics::{LATE, Tally, Timing},
};

/// The device's time: the monotonic clock's since the mount, divided by
/// `scale`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
    scale: f64,
}

impl Clock {
    pub(crate) fn start(scale: f64) -> Self {
        Self {
            origin: Instant::now(),
            scale,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Moment {
        Moment::nanoseconds(self.device_ns(self.origin.elapsed()))
    }

    /// The nanoseconds of the device in a real time.
    #[inline]
    fn device_ns(&self, real: Duration) -> u64 {
        let nanoseconds = real.as_nanos() as u64;
        if self.scale == 1.0 {
            nanoseconds
        } else {
            (nanoseconds as f64 / self.scale) as u64
        }
    }

    /// How long the device's nanoseconds take.
    fn real(&self, nanoseconds: u64) -> Duration {
        if self.scale == 1.0 {
            Duration::from_nanos(nanoseconds)
        } else {
            Duration::from_nanos((nanoseconds as f64 * self.scale) as u64)
        }
    }
}

/// The device, its requests in flight, and the thread that answers them.
pub(crate) struct Pacer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    clock: Clock,
    state: Mutex<State>,
    wake: Condvar,
    /// The power is off: every answer is an error.
    dead: AtomicBool,
    ended: AtomicBool,
    tally: Mutex<Tally>,
}

struct State {
    device: Box<dyn Device + Send>,
    lead: Lead,
    slots: Vec<Slot>,
    unused: Vec<u32>,
    /// Parts of requests that the device has not completed, trims included.
    in_flight: u64,
    /// Answers that the device and the backing storage are done with, by the
    /// moment at which they are sent.
    ready: BinaryHeap<Reverse<(Moment, u32)>>,
    /// Until when the thread sleeps.
    sleeps_until: Moment,
}

/// A request in flight. Its parts, one for each extent that it touches, share
/// its tag.
struct Slot {
    parts: u32,
    timing: Timing,
    answer: Option<Answer>,
}

/// A request that was begun. It has to be ended by [`Pacer::end`].
#[must_use]
pub(crate) struct Ticket {
    timing: Timing,
    /// `None` when the device has nothing to do with it.
    slot: Option<u32>,
}

/// The tag of requests that nobody waits for.
const UNAWAITED: Tag = Tag(u32::MAX);

impl Pacer {
    pub(crate) fn start(device: Box<dyn Device + Send>, clock: Clock) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            clock,
            state: Mutex::new(State {
                device,
                lead: Lead::default(),
                slots: Vec::new(),
                unused: Vec::new(),
                in_flight: 0,
                ready: BinaryHeap::new(),
                sleeps_until: Moment::NEVER,
            }),
            wake: Condvar::new(),
            dead: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            tally: Mutex::new(Tally::since(Moment::START)),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("octavo-pacer".into())
                .spawn(move || shared.pace())?
        };
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Goes on with another device when the one before is at rest, and sends
    /// answers this much earlier than it says. What came until now is not
    /// counted.
    pub(crate) fn go_on(&self, device: Box<dyn Device + Send>, lead: Lead) {
        let mut due = Vec::new();
        let mut state = self.shared.lock();
        while state.in_flight > 0 {
            drop(state);
            self.shared.send(&mut due);
            thread::sleep(LOOK);
            state = self.shared.lock();
            // Nobody else looks after requests that nobody waits for.
            self.shared.collect(&mut state, &mut due);
        }
        state.device = device;
        state.lead = lead;
        drop(state);
        self.shared.send(&mut due);
        *lock(&self.shared.tally) = Tally::since(self.shared.clock.now());
    }

    pub(crate) fn lead(&self) -> Lead {
        self.shared.lock().lead
    }

    /// Now, in the device's time.
    pub(crate) fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    /// Gives the device a request that came at `arrived`, as the parts that it
    /// has on the device; none take no time.
    ///
    /// # Errors
    /// A part that does not fit the device.
    pub(crate) fn begin(
        &self,
        arrived: Moment,
        command: Command,
        bytes: u64,
        parts: &[Request],
    ) -> Result<Ticket, DeviceError> {
        let mut timing = Timing {
            command,
            bytes,
            arrived,
            began: arrived,
            over: arrived,
            lead_ns: 0,
        };
        if parts.is_empty() {
            return Ok(Ticket { timing, slot: None });
        }
        let mut state = self.shared.lock();
        let geometry = state.device.geometry();
        parts.iter().try_for_each(|part| geometry.check(*part))?;
        timing.began = arrived.max(state.device.now());
        timing.over = timing.began;
        timing.lead_ns = self
            .shared
            .clock
            .device_ns(state.lead.for_request(command, bytes));
        let index = state.take_slot(parts.len() as u32, timing);
        for part in parts {
            state.device.submit(timing.began, Tag(index), *part)?;
            state.in_flight += 1;
        }
        // Bounds would have time pass to moments at which nothing happens.
        state.device.settle();
        self.shared.answer(state);
        Ok(Ticket {
            timing,
            slot: Some(index),
        })
    }

    /// Has `answer` sent at the model's moment, at once when that has passed.
    pub(crate) fn end(&self, ticket: Ticket, answer: Answer) {
        let Some(index) = ticket.slot else {
            return self.shared.send(&mut vec![(ticket.timing, answer)]);
        };
        let mut state = self.shared.lock();
        let slot = &mut state.slots[index as usize];
        slot.answer = Some(answer);
        if slot.parts == 0 {
            self.shared.note_waiting_for_backing(&slot.timing);
            state.make_ready(index);
        }
        self.shared.answer(state);
    }

    /// Gives the device a request that nobody waits for, such as a trim.
    pub(crate) fn pass_on(&self, request: Request) {
        let mut due = Vec::new();
        let mut state = self.shared.lock();
        let at = self.shared.clock.now().max(state.device.now());
        if state.device.submit(at, UNAWAITED, request).is_ok() {
            state.in_flight += 1;
        }
        self.shared.collect(&mut state, &mut due);
        drop(state);
        self.shared.send(&mut due);
    }

    /// From now on every answer is an error.
    pub(crate) fn die(&self) {
        self.shared.dead.store(true, Ordering::SeqCst);
    }

    pub(crate) fn tally(&self) -> Tally {
        lock(&self.shared.tally).clone()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.shared.lock().device.counters()
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        drop(self.shared.lock());
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, which was told then.
            let _ended = thread.join();
        }
    }
}

impl State {
    fn take_slot(&mut self, parts: u32, timing: Timing) -> u32 {
        let slot = Slot {
            parts,
            timing,
            answer: None,
        };
        match self.unused.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// The device and the backing storage are done with a request.
    fn make_ready(&mut self, index: u32) {
        let timing = &self.slots[index as usize].timing;
        let moment = timing.over.before(timing.lead_ns);
        self.ready.push(Reverse((moment, index)));
    }

    /// How far the device is moved on: the longest lead of what it has in
    /// flight.
    fn ahead_ns(&self) -> u64 {
        let in_flight = self.slots.iter().filter(|slot| slot.parts > 0);
        in_flight
            .map(|slot| slot.timing.lead_ns)
            .max()
            .unwrap_or_default()
    }

    /// When there is something to do next.
    fn next(&self) -> Moment {
        let ready = self
            .ready
            .peek()
            .map_or(Moment::NEVER, |Reverse((moment, _))| *moment);
        if self.in_flight == 0 {
            return ready;
        }
        ready.min(self.device.earliest().before(self.ahead_ns()))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Moves the device on, and takes what is to be sent by now into `due`.
    fn collect(&self, state: &mut State, due: &mut Vec<(Timing, Answer)>) {
        let now = self.clock.now();
        let until = now.after(state.ahead_ns()).max(state.device.now());
        // Time passes only to completions: see the module's head.
        while state.in_flight > 0 && state.device.earliest() <= until {
            let moment = state.device.earliest();
            let Ok(Some(Completion { tag, at })) = state.device.next(moment) else {
                // A decision of the device that completed nothing; simulated
                // devices do not fail.
                continue;
            };
            state.in_flight -= 1;
            if tag == UNAWAITED {
                continue;
            }
            let slot = &mut state.slots[tag.0 as usize];
            slot.parts -= 1;
            slot.timing.over = slot.timing.over.max(at);
            if slot.parts == 0 && slot.answer.is_some() {
                state.make_ready(tag.0);
            }
        }
        while let Some(&Reverse((moment, index))) = state.ready.peek()
            && moment <= now
        {
            state.ready.pop();
            let slot = &mut state.slots[index as usize];
            due.extend(slot.answer.take().map(|answer| (slot.timing, answer)));
            state.unused.push(index);
        }
        // After a burst, not all that it took is looked through for ever.
        if state.unused.len() == state.slots.len() {
            state.slots.clear();
            state.unused.clear();
        }
    }

    /// Moves the device on and answers what is due. The thread is woken when it
    /// would sleep past what comes next.
    fn answer(&self, mut state: MutexGuard<'_, State>) {
        let mut due = Vec::new();
        self.collect(&mut state, &mut due);
        let earlier = state.next() < state.sleeps_until;
        drop(state);
        if earlier {
            self.wake.notify_one();
        }
        self.send(&mut due);
    }

    fn send(&self, due: &mut Vec<(Timing, Answer)>) {
        if due.is_empty() {
            return;
        }
        let mut sent = Vec::with_capacity(due.len());
        for (timing, answer) in mem::take(due) {
            // Sending is part of the way.
            let at = self.clock.now();
            answer.send(self.dead.load(Ordering::SeqCst));
            sent.push((timing, at));
        }
        let mut tally = lock(&self.tally);
        for (timing, at) in sent {
            let late_ns = at.after(timing.lead_ns).since(timing.over);
            tally.record(&timing, at, self.clock.real(late_ns));
        }
    }

    /// Counts a request that the model had done before the backing storage had.
    fn note_waiting_for_backing(&self, timing: &Timing) {
        let now = self.clock.now();
        let late = self.clock.real(now.since(timing.over));
        if late > LATE && timing.over > timing.arrived {
            lock(&self.tally).backing_late += 1;
        }
    }

    /// What the thread does.
    fn pace(&self) {
        // Timers of a thread are late by its slack, 50 us unless it asks for
        // less (prctl(2)).
        let _as_before = set_current_timer_slack(NonZeroU64::new(1));
        let oversleeping = oversleeping();
        let mut due = Vec::new();
        let mut state = self.lock();
        while !self.ended.load(Ordering::SeqCst) {
            self.collect(&mut state, &mut due);
            if !due.is_empty() {
                drop(state);
                self.send(&mut due);
                state = self.lock();
                continue;
            }
            let next = state.next();
            if next == Moment::NEVER {
                state.sleeps_until = Moment::NEVER;
                state = self
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let wait = self.clock.real(next.since(self.clock.now()));
            if wait > oversleeping {
                state.sleeps_until = next;
                state = self
                    .wake
                    .wait_timeout(state, wait - oversleeping)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                // Nobody needs to wake a thread that is awake.
                state.sleeps_until = Moment::START;
            } else {
                state.sleeps_until = Moment::START;
                drop(state);
                let look = next.min(self.clock.now() + LOOK);
                while self.clock.now() < look {
                    std::hint::spin_loop();
                }
                state = self.lock();
            }
        }
    }
}

/// How long the thread spins before it looks for requests that came meanwhile
/// and are due earlier.
const LOOK: Duration = Duration::from_micros(5);

/// By how much sleeping takes longer than it should here: of some tries the
/// larger ones, at most [`SPIN_MAX`].
fn oversleeping() -> Duration {
    let mut late: Vec<Duration> = (0..20)
        .map(|_| {
            let length = Duration::from_micros(100);
            let began = Instant::now();
            thread::sleep(length);
            began.elapsed().saturating_sub(length)
        })
        .collect();
    late.sort();
    late[15].min(SPIN_MAX)
}

/// The longest spin: virtual machines whose cores are idle oversleep by 140 to
/// 170 us, which would be a third of an SSD's time. A core that spins is lost to
/// the database, so there is an end.
const SPIN_MAX: Duration = Duration::from_micros(250);
