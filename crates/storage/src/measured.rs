//! Real storage as a [`Device`]: a file with direct I/O, in the monotonic
//! clock's time.
//!
//! Requests reach the kernel as those of [`calibrate`] do:
//! through one io_uring with a registered file and registered buffers, in
//! batches, or through one thread for each request in flight where io_uring is
//! forbidden. With threads it finds less than `calibrate` at high rates, since
//! each request is handed over to a thread and back. A flush is an fsync of the
//! ring, which the kernel hands to a worker, where `calibrate` calls
//! `fdatasync` itself: commits may differ.
//!
//! Not covered: content. What is written is incompressible and tells sectors
//! apart; what is read is dropped.

use std::{
    collections::VecDeque,
    marker::PhantomData,
    ops::ControlFlow,
    path::Path,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use octavo_device::{Completion, Counters, Device, DeviceError, Geometry, Request, Tag};
use octavo_units::{ByteCount, Moment, QueueDepth, RequestSize, Seed};

use crate::{
    calibrate,
    engine::{Ended, Engine, Queue},
    error::CalibrateError,
    target::Target,
};

/// A file as a [`Device`].
///
/// A request whose moment lies in the future waits for it, and requests that
/// are more than the queue wait in order. Requests are handed to the kernel by
/// [`Device::next`], all that are due in one batch, so that a caller who
/// submits and never asks for completions does no I/O. A completion's moment is
/// the one at which it was seen. `next` waits on the monotonic clock; what it
/// finds only after `until` it keeps for the next call.
///
/// A flush is `fdatasync`. A trim punches a hole; reads of a hole end in the
/// file system until it is written again, and where the file system cannot
/// punch holes, the trim's completion is its error.
///
/// A ring belongs to the thread that made it, so that this type is not `Send`.
pub struct Measured {
    queue: Queue,
    geometry: Geometry,
    opened: Instant,
    /// Not yet in the kernel: their moment is to come, or the queue is full.
    waiting: VecDeque<(Moment, Tag, Request)>,
    /// Of each slot of the queue, what is in flight there.
    slots: Vec<(Tag, Request)>,
    free: Vec<u16>,
    ready: VecDeque<Result<Completion, (Moment, DeviceError)>>,
    now: Moment,
    busy_since: Moment,
    counters: Counters,
    // The ring refuses other threads.
    not_send: PhantomData<Rc<()>>,
}

impl Measured {
    /// Makes an unnamed file of `size` bytes in `directory`, writes it full,
    /// and measures on it. It goes away with this value or the process.
    ///
    /// # Errors
    /// Those of [`Target::create`], [`calibrate::fill`] and [`Measured::over`].
    pub fn create(
        directory: &Path,
        size: ByteCount,
        queue: QueueDepth,
        seed: Seed,
    ) -> Result<Self, CalibrateError> {
        let target = Target::create(directory, size)?;
        let (engine, _) = Engine::best();
        calibrate::fill(&target, engine, seed, &mut |_| ControlFlow::Continue(()))?;
        Self::over(target, engine, queue)
    }

    /// Measures on a file that has been written, with at most `queue` requests
    /// in flight.
    ///
    /// # Errors
    /// [`CalibrateError::Engine`] when the kernel does not give a ring or
    /// threads for so many requests.
    pub fn over(target: Target, engine: Engine, queue: QueueDepth) -> Result<Self, CalibrateError> {
        // Buffered files can be read in bytes; a device has sectors.
        let sector = u64::from(target.alignment()).max(512);
        let geometry = Geometry {
            capacity: ByteCount::new(target.size().get() / sector * sector),
            sector: ByteCount::new(sector),
            queue,
        };
        let requests =
            Queue::open(engine, target.file(), queue).map_err(|source| CalibrateError::Engine {
                engine,
                depth: queue,
                request_size: RequestSize::SECTOR,
                source,
            })?;
        Ok(Self {
            queue: requests,
            geometry,
            opened: Instant::now(),
            waiting: VecDeque::new(),
            slots: vec![(Tag(0), Request::FLUSH); usize::from(queue.get())],
            free: (0..queue.get()).rev().collect(),
            ready: VecDeque::new(),
            now: Moment::START,
            busy_since: Moment::START,
            counters: Counters::default(),
            not_send: PhantomData,
        })
    }

    /// What the monotonic clock says.
    fn clock(&self) -> Moment {
        Moment::START + self.opened.elapsed()
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Queues what is due at `clock` for the kernel, as far as there is room.
    fn begin(&mut self, clock: Moment) {
        while let Some(&(at, tag, request)) = self.waiting.front() {
            if at > clock {
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            self.waiting.pop_front();
            if self.in_flight() == 1 {
                self.busy_since = clock;
            }
            self.slots[usize::from(slot)] = (tag, request);
            self.queue.push(slot, request);
        }
    }

    /// Waits for a completion, or for `timeout` to pass, and takes over all
    /// completions that there are.
    fn wait(&mut self, timeout: Option<Duration>) -> Result<(), DeviceError> {
        self.queue.wait(timeout).map_err(|source| DeviceError::Io {
            // The wait is for all of them; one stands for them.
            request: self
                .slots
                .iter()
                .enumerate()
                .find(|(slot, _)| !self.free.contains(&(*slot as u16)))
                .map_or(Request::FLUSH, |(_, (_, request))| *request),
            source,
        })?;
        let clock = self.clock();
        while let Some(Ended {
            slot,
            request,
            result,
        }) = self.queue.reap()
        {
            let (tag, _) = self.slots[usize::from(slot)];
            self.free.push(slot);
            if self.in_flight() == 0 {
                self.counters.busy_ns += clock.since(self.busy_since);
            }
            self.ready.push_back(match result {
                Ok(()) => Ok(Completion { tag, at: clock }),
                Err(source) => Err((clock, DeviceError::Io { request, source })),
            });
        }
        Ok(())
    }
}

impl Device for Measured {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        self.counters.take(request);
        self.now = self.now.max(at);
        self.waiting.push_back((at, tag, request));
        Ok(())
    }

    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        // An `until` that has passed is a look: whatever has ended is taken
        // over once, and told if it ended by then.
        let mut looked = false;
        loop {
            let at = match self.ready.front() {
                Some(Ok(Completion { at, .. }) | Err((at, _))) => Some(*at),
                None => None,
            };
            if let Some(at) = at.filter(|at| *at <= until) {
                self.now = self.now.max(at);
                let ended = self.ready.pop_front().expect("there is a front");
                return ended.map(Some).map_err(|(_, error)| error);
            }
            let clock = self.clock();
            if at.is_some() || (looked && clock >= until) {
                self.now = self.now.max(until);
                return Ok(None);
            }
            self.begin(clock);
            // What is still at the front and has a free slot is for later.
            let submission = self
                .waiting
                .front()
                .filter(|_| !self.free.is_empty())
                .map_or(Moment::NEVER, |(at, ..)| *at);
            let wake = until.min(submission);
            let timeout = (wake != Moment::NEVER).then(|| wake - clock);
            if self.in_flight() > 0 {
                self.wait(timeout)?;
            } else if let Some(timeout) = timeout {
                thread::sleep(timeout);
            } else {
                return Ok(None);
            }
            looked = true;
        }
    }

    fn earliest(&self) -> Moment {
        self.now
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measured")
            .field("geometry", &self.geometry)
            .field("in_flight", &self.in_flight())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn devices() -> Vec<(Measured, File)> {
        let engines: &[Engine] = match Engine::best() {
            (Engine::Ring, _) => &[Engine::Ring, Engine::Threads],
            (Engine::Threads, reason) => {
                println!("skipped io_uring: {reason:?}");
                &[Engine::Threads]
            }
        };
        let directory = tempfile::tempdir().unwrap();
        engines
            .iter()
            .map(|engine| {
                let target = Target::create(directory.path(), ByteCount::mib(1)).unwrap();
                let file = target.file().try_clone().unwrap();
                let device = Measured::over(target, *engine, QueueDepth::new(2).unwrap());
                (device.unwrap(), file)
            })
            .collect()
    }

    #[test]
    fn bytes_reach_the_file_in_requests_of_any_size() {
        for (mut device, file) in devices() {
            // The second is longer than a registered buffer.
            for (tag, request) in [
                (1, Request::write(4096, 4096)),
                (2, Request::write(512 << 10, 256 << 10)),
                (3, Request::FLUSH),
                (4, Request::read(0, 1 << 20)),
            ] {
                device.submit(device.now(), Tag(tag), request).unwrap();
                let ended = device.next(Moment::NEVER).unwrap().unwrap();
                assert_eq!(ended.tag, Tag(tag));
            }
            let mut bytes = crate::aligned::AlignedBuffer::new(1 << 20);
            std::os::unix::fs::FileExt::read_at(&file, &mut bytes, 0).unwrap();
            let written: Vec<bool> = bytes
                .chunks(512)
                .map(|sector| sector.iter().any(|byte| *byte != 0))
                .collect();
            let expected =
                |sector: usize| (8..16).contains(&sector) || (1024..1536).contains(&sector);
            for (sector, written) in written.iter().enumerate() {
                assert_eq!(*written, expected(sector), "sector {sector}");
            }
            let counters = device.counters();
            assert_eq!(counters.written_bytes, 4096 + (256 << 10));
            assert_eq!((counters.reads, counters.flushes), (1, 1));
            assert!(counters.busy_ns > 0);
        }
    }

    #[test]
    fn a_request_waits_for_its_moment_and_a_look_for_its_until() {
        for (mut device, _) in devices() {
            let at = device.clock().after(20_000_000);
            device.submit(at, Tag(7), Request::read(0, 4096)).unwrap();
            let early = at.since(Moment::nanoseconds(10_000_000));
            assert_eq!(device.next(Moment::nanoseconds(early)).unwrap(), None);
            assert!(device.clock().get() >= early);
            let ended = device.next(Moment::NEVER).unwrap().unwrap();
            assert!(ended.tag == Tag(7) && ended.at > at);
            let until = ended.at.after(5_000_000);
            assert_eq!(device.next(until).unwrap(), None);
            assert!(device.clock() >= until && device.now() == until);
        }
    }

    #[test]
    fn a_failed_request_is_told_and_the_others_go_on() {
        for (mut device, file) in devices() {
            // The file ends before the device does.
            file.set_len(4096).unwrap();
            device
                .submit(device.now(), Tag(1), Request::read(64 << 10, 4096))
                .unwrap();
            let error = device.next(Moment::NEVER).unwrap_err();
            assert!(
                matches!(error, DeviceError::Io { request, .. } if request.offset == 64 << 10),
                "{error}"
            );
            device
                .submit(device.now(), Tag(2), Request::read(0, 4096))
                .unwrap();
            assert_eq!(device.next(Moment::NEVER).unwrap().unwrap().tag, Tag(2));
            assert_eq!(device.next(Moment::NEVER).unwrap(), None);
        }
    }
}
