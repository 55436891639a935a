//! Threads that take requests one by one and tell their ends.

use std::{
    collections::VecDeque,
    fs::File,
    io,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use octavo_device::{Command, Request, stream::Stamp};
use octavo_units::QueueDepth;

use super::{
    memory,
    serve::{Ended, serve},
};
use crate::aligned::AlignedBuffer;

/// A pool of threads. Dropping it waits for what is in flight.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    ended: Receiver<Ended>,
    /// Received while waiting, not reaped yet.
    first: Option<Ended>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    file: File,
    jobs: Mutex<Jobs>,
    wake: Condvar,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<(u16, Request)>,
    closed: bool,
}

impl Pool {
    /// Threads for `queue` requests in flight on a file.
    ///
    /// # Errors
    /// The system gives no descriptor or no thread.
    pub(super) fn new(file: &File, queue: QueueDepth) -> io::Result<Self> {
        let (sender, ended) = mpsc::channel();
        let mut pool = Self {
            shared: Arc::new(Shared {
                file: file.try_clone()?,
                jobs: Mutex::default(),
                wake: Condvar::new(),
            }),
            ended,
            first: None,
            workers: Vec::with_capacity(usize::from(queue.get())),
        };
        for lane in 0..queue.get() {
            let mut worker = Worker {
                shared: Arc::clone(&pool.shared),
                ended: sender.clone(),
                buffer: None,
                stamp: Stamp::new(lane),
            };
            // On failure those that run are ended by the drop.
            pool.workers.push(
                thread::Builder::new()
                    .name(format!("device-{lane}"))
                    .stack_size(256 << 10)
                    .spawn(move || worker.work())?,
            );
        }
        Ok(pool)
    }

    /// Hands a request to a thread.
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

impl Drop for Pool {
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
            let ended = Ended {
                slot,
                request,
                result: self.serve(request),
            };
            if self.ended.send(ended).is_err() {
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
        let buffer = match request.command {
            Command::Read | Command::Write => {
                memory::at_least(&mut self.buffer, request.length as usize)
            }
            Command::Flush | Command::Trim => &mut [],
        };
        if request.command == Command::Write {
            self.stamp.mark(buffer, request.offset);
        }
        serve(&self.shared.file, request, buffer)
    }
}
