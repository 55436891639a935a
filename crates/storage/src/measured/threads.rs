//! Blocking requests, one thread for each in flight.

use std::{
    collections::VecDeque,
    io,
    os::unix::fs::FileExt,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use octavo_device::{Command, Request, request::Operation, stream::Stamp};
use octavo_units::{QueueDepth, Seed};
use rand::Rng;
use rustix::fs::FallocateFlags;

use super::Ended;
use crate::{aligned::AlignedBuffer, engine::short, target::Target};

/// A pool of threads. Dropping it waits for what is in flight.
pub(super) struct Threads {
    shared: Arc<Shared>,
    ended: Receiver<Ended>,
    /// Received while waiting, not reaped yet.
    first: Option<Ended>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    target: Target,
    jobs: Mutex<Jobs>,
    wake: Condvar,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<(u16, Request)>,
    closed: bool,
}

impl Threads {
    pub(super) fn new(target: Target, queue: QueueDepth) -> io::Result<Self> {
        let (sender, ended) = mpsc::channel();
        let mut threads = Self {
            shared: Arc::new(Shared {
                target,
                jobs: Mutex::default(),
                wake: Condvar::new(),
            }),
            ended,
            first: None,
            workers: Vec::with_capacity(usize::from(queue.get())),
        };
        for lane in 0..queue.get() {
            let mut worker = Worker {
                shared: Arc::clone(&threads.shared),
                ended: sender.clone(),
                buffer: None,
                stamp: Stamp::new(lane),
            };
            // On failure those that run are ended by the drop.
            threads.workers.push(
                thread::Builder::new()
                    .name(format!("device-{lane}"))
                    .stack_size(256 << 10)
                    .spawn(move || worker.work())?,
            );
        }
        Ok(threads)
    }

    #[cfg(test)]
    pub(super) fn target(&self) -> &Target {
        &self.shared.target
    }

    pub(super) fn push(&mut self, slot: u16, request: Request) {
        let mut jobs = self.shared.jobs.lock().expect("no worker panics with it");
        jobs.queue.push_back((slot, request));
        drop(jobs);
        self.shared.wake.notify_one();
    }

    /// Waits for a completion, or until `timeout` has passed.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) {
        if self.first.is_some() {
            return;
        }
        self.first = match timeout {
            None => Some(self.ended.recv().expect("workers end only when dropped")),
            Some(timeout) => match self.ended.recv_timeout(timeout) {
                Ok(ended) => Some(ended),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("workers end only when dropped")
                }
            },
        };
    }

    /// The next completed request.
    pub(super) fn reap(&mut self) -> Option<Ended> {
        self.first.take().or_else(|| self.ended.try_recv().ok())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut jobs = match self.shared.jobs.lock() {
            Ok(jobs) => jobs,
            Err(poisoned) => poisoned.into_inner(),
        };
        jobs.closed = true;
        drop(jobs);
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has said so.
            let _ = worker.join();
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    ended: Sender<Ended>,
    buffer: Option<AlignedBuffer>,
    stamp: Stamp,
}

impl Worker {
    fn work(&mut self) {
        while let Some((slot, request)) = self.job() {
            let result = self.serve(request);
            if self.ended.send((slot, result)).is_err() {
                return;
            }
        }
    }

    fn job(&self) -> Option<(u16, Request)> {
        let jobs = self.shared.jobs.lock().expect("no worker panics with it");
        let mut jobs = self
            .shared
            .wake
            .wait_while(jobs, |jobs| jobs.queue.is_empty() && !jobs.closed)
            .expect("no worker panics with it");
        jobs.queue.pop_front()
    }

    fn serve(&mut self, request: Request) -> io::Result<()> {
        let Self {
            shared,
            buffer,
            stamp,
            ..
        } = self;
        let file = shared.target.file();
        let length = request.length as usize;
        let (operation, moved) = match request.command {
            Command::Read => (
                Operation::Read,
                file.read_at(memory(buffer, length), request.offset)?,
            ),
            Command::Write => {
                let bytes = memory(buffer, length);
                stamp.mark(bytes, request.offset);
                (Operation::Write, file.write_at(bytes, request.offset)?)
            }
            Command::Flush => return file.sync_data(),
            Command::Trim => {
                return Ok(rustix::fs::fallocate(
                    file,
                    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    request.offset,
                    u64::from(request.length),
                )?);
            }
        };
        if moved == length {
            Ok(())
        } else {
            Err(short(operation, moved))
        }
    }
}

/// The first `length` bytes of a buffer that is made longer if need be, of
/// bytes that cannot be compressed.
fn memory(buffer: &mut Option<AlignedBuffer>, length: usize) -> &mut [u8] {
    if buffer.as_ref().is_none_or(|buffer| buffer.len() < length) {
        let mut longer = AlignedBuffer::new(length.max(4096));
        Seed::new(0)
            .derive("content", 0)
            .generator()
            .fill_bytes(&mut longer);
        *buffer = Some(longer);
    }
    &mut buffer.as_mut().expect("was made above")[..length]
}
