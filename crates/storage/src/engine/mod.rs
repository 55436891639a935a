//! How requests are submitted: one ring, or one thread for each request in
//! flight. Both run the same [`Load`] and return the same [`Tally`].

mod ring;
mod threads;

use std::{fs::File, io, ops::ControlFlow, time::Duration};

use octavo_device::{
    point::Durability, profile::Means, request::Operation, stream::Load, tally::Tally,
};

pub(crate) use ring::build as build_ring;

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One io_uring, submitted and reaped in batches by one thread.
    Ring,
    /// `pread` and `pwrite`, one thread for each request in flight.
    Threads,
}

impl From<Engine> for Means {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Ring => Self::Ring,
            Engine::Threads => Self::Threads,
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Means::from(*self).fmt(f)
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// After `slices` slices of time, which begin after `ramp`.
    Time {
        ramp: Duration,
        slice: Duration,
        slices: usize,
    },
    /// After exactly this many requests; all of them are measured.
    Requests(u64),
}

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum EngineError {
    /// The hook asked for it.
    Stopped,
    /// A request failed or moved fewer bytes than asked.
    Request {
        operation: Operation,
        offset: u64,
        source: io::Error,
    },
    /// The ring or the threads could not be had.
    Setup(io::Error),
}

/// Called about ten times a second with the time since the start of the run.
pub(crate) type Hook<'a> = &'a mut dyn FnMut(Duration) -> ControlFlow<()>;

/// Time between two calls of the hook.
const HOOK_INTERVAL: Duration = Duration::from_millis(100);

impl Engine {
    /// The ring if this process may make one; else threads and the reason.
    pub(crate) fn best() -> (Self, Option<io::Error>) {
        match ring::probe() {
            Ok(()) => (Self::Ring, None),
            Err(error) => (Self::Threads, Some(error)),
        }
    }

    /// Runs a load on a file and returns what was measured.
    pub(crate) fn run(
        self,
        file: &File,
        load: &Load,
        durability: Durability,
        stop: Stop,
        hook: Hook<'_>,
    ) -> Result<Tally, EngineError> {
        match (self, durability) {
            (Self::Ring, Durability::Device) => ring::run(file, load, stop, hook),
            // A database commits by pwrite and fdatasync, whatever engine
            // serves its pages.
            (Self::Threads, _) | (_, Durability::Synced) => {
                threads::run(file, load, durability, stop, hook)
            }
        }
    }
}

pub(crate) fn short(operation: Operation, moved: usize) -> io::Error {
    match operation {
        Operation::Read => io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("only {moved} bytes were read"),
        ),
        Operation::Write => io::Error::new(
            io::ErrorKind::WriteZero,
            format!("only {moved} bytes were written"),
        ),
    }
}

/// User and system time that this process, all threads and the kernel's I/O
/// workers for it included, has used since it began.
fn process_cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory for one rusage, which the call fills.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "RUSAGE_SELF and a valid pointer cannot fail");
    // SAFETY: zeroed is a valid rusage (integers only), and the call filled it.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

#[cfg(test)]
mod tests;
