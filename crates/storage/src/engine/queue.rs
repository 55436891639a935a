//! Requests one by one, in slots, by either engine.

use std::{fs::File, io, time::Duration};

use octavo_device::{Request, stream::Stamp};
use octavo_units::QueueDepth;

use super::{kind::Engine, memory, pool::Pool, ring::Ring, serve::Ended};

/// Requests up to this many bytes use registered memory: database pages do.
const REGISTERED_BYTES: usize = 64 << 10;

/// Requests in flight on a file. What is written cannot be compressed and tells
/// sectors apart. Dropping it waits for what is in flight.
pub(crate) enum Queue {
    /// Through one ring.
    Ring(Box<Ring>, Stamp),
    /// Through one thread for each request.
    Pool(Pool),
}

impl Queue {
    /// A queue of `depth` slots on a file.
    ///
    /// # Errors
    /// The kernel does not give a ring, timeouts of one, or threads.
    pub(crate) fn open(engine: Engine, file: &File, depth: QueueDepth) -> io::Result<Self> {
        match engine {
            Engine::Ring => {
                let ring = Ring::new(file, depth, REGISTERED_BYTES, memory::randomize)?;
                // Waiting until a moment takes timeouts without requests.
                if !ring.has_timeouts() {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                Ok(Self::Ring(Box::new(ring), Stamp::new(0)))
            }
            Engine::Threads => Pool::new(file, depth).map(Self::Pool),
        }
    }

    /// Queues a request in a slot that is free.
    pub(crate) fn push(&mut self, slot: u16, request: Request) {
        match self {
            Self::Ring(ring, stamp) => {
                ring.push(slot, request, |bytes| stamp.mark(bytes, request.offset));
            }
            Self::Pool(pool) => pool.push(slot, request),
        }
    }

    /// Hands what is queued to the kernel and waits for a completion, or until
    /// `timeout` has passed, or less.
    ///
    /// # Errors
    /// The ring fails; requests that fail tell so when they are reaped.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Ring(ring, _) => ring.wait(timeout),
            Self::Pool(pool) => {
                pool.wait(timeout);
                Ok(())
            }
        }
    }

    /// The next completed request.
    pub(crate) fn reap(&mut self) -> Option<Ended> {
        match self {
            Self::Ring(ring, _) => ring.reap(),
            Self::Pool(pool) => pool.reap(),
        }
    }
}
