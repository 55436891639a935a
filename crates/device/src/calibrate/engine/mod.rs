//! How requests are submitted: one ring, or one thread for each request in
//! flight. Both run the same [`Load`] and return the same [`Tally`].

mod ring;
mod tally;
mod threads;

use std::{fs::File, io, ops::ControlFlow, time::Duration};

use serde::{Deserialize, Serialize};

pub(crate) use ring::build as build_ring;
pub(crate) use tally::Tally;

use super::stream::Load;
use crate::request::Operation;

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Engine {
    /// One io_uring, submitted and reaped in batches by one thread.
    #[serde(rename = "io_uring")]
    Ring,
    /// `pread` and `pwrite`, one thread for each request in flight.
    #[serde(rename = "threads")]
    Threads,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Ring => "io_uring",
            Self::Threads => "threads",
        })
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

/// Whether a write is followed by `fdatasync` before it counts as completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// A write is complete when the device has taken it, perhaps in a cache.
    Device,
    /// A write and an `fdatasync` are one request: what a commit costs.
    Synced,
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

#[cfg(test)]
mod tests;
