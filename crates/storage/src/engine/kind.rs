//! The two engines.

use std::{fs::File, io};

use octavo_device::{point::Durability, profile::Means, stream::Load, tally::Tally};

use super::{
    ring,
    run::{EngineError, Hook, Stop},
    run_ring, run_threads,
};

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
            (Self::Ring, Durability::Device) => run_ring::run(file, load, stop, hook),
            // A database commits by pwrite and fdatasync, whatever engine
            // serves its pages.
            (Self::Threads, _) | (_, Durability::Synced) => {
                run_threads::run(file, load, durability, stop, hook)
            }
        }
    }
}
