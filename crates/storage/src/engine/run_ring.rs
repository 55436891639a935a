//! A run by one ring.

use std::{fs::File, time::Instant};

use octavo_device::{
    request::Operation,
    stream::{Load, Stream},
    tally::Tally,
};

use super::{
    ring::{Ended, Ring},
    run::{EngineError, HOOK_INTERVAL, Hook, Stop, process_cpu},
};

pub(super) fn run(
    file: &File,
    load: &Load,
    stop: Stop,
    hook: Hook<'_>,
) -> Result<Tally, EngineError> {
    let mut stream = Stream::new(load, 0, 1);
    let fill = |memory: &mut [u8]| stream.randomise(memory);
    let ring = Ring::new(file, load.depth, load.request_size, fill).map_err(EngineError::Setup)?;
    let mut lanes = Lanes {
        ring,
        stream,
        submitted_ns: vec![0; usize::from(load.depth.get())],
        fresh: Vec::with_capacity(usize::from(load.depth.get())),
    };
    let total = stop.measured();
    let slice_ns = u64::try_from(stop.slice.as_nanos()).unwrap_or(u64::MAX);
    let mut tally = Tally::new(stop.slices);

    let start = Instant::now();
    let nanos = |at: Instant| (at - start).as_nanos() as u64;
    let mut begin = stop.ramp.is_zero().then_some((start, process_cpu()));
    let mut hook_at = start + HOOK_INTERVAL;
    let mut submitted = 0;
    for slot in 0..load.depth.get() {
        if submitted < stop.requests {
            lanes.ask(slot);
            submitted += 1;
        }
    }
    loop {
        lanes.wait(nanos(Instant::now()))?;
        let now = Instant::now();
        let now_ns = nanos(now);
        let current = begin.map(|(begin, _)| {
            let index = (now - begin).as_nanos() as u64 / slice_ns;
            (index as usize).min(stop.slices - 1)
        });
        while let Some((slot, operation, latency_ns)) = lanes.reap(now_ns)? {
            if let Some(slice) = current {
                tally.record(operation, latency_ns, slice);
            }
            if submitted < stop.requests {
                lanes.ask(slot);
                submitted += 1;
            }
        }
        match begin {
            None if now - start >= stop.ramp => begin = Some((now, process_cpu())),
            None => {}
            Some((begin, cpu)) if now - begin >= total || lanes.ring.in_flight() == 0 => {
                tally.elapsed = now - begin;
                tally.cpu = process_cpu().saturating_sub(cpu);
                break;
            }
            Some(_) => {}
        }
        if now >= hook_at {
            hook_at = now + HOOK_INTERVAL;
            if hook(now - start).is_break() {
                return Err(EngineError::Stopped);
            }
        }
    }
    Ok(tally)
}

/// A stream's requests, one in flight for each slot.
struct Lanes {
    ring: Ring,
    stream: Stream,
    /// When each slot's request was handed to the kernel.
    submitted_ns: Vec<u64>,
    /// Slots pushed since the last submission.
    fresh: Vec<u16>,
}

impl Lanes {
    /// Queues the stream's next request for the next submission.
    #[inline]
    fn ask(&mut self, slot: u16) {
        let (operation, request) = self.stream.next_request();
        let stream = &mut self.stream;
        self.ring.push(slot, operation, request.offset, |memory| {
            stream.prepare(memory, request.offset)
        });
        self.fresh.push(slot);
    }

    /// Hands the queued requests to the kernel at time `now_ns` and waits
    /// until at least one is complete, or a signal comes.
    #[inline]
    fn wait(&mut self, now_ns: u64) -> Result<(), EngineError> {
        for slot in self.fresh.drain(..) {
            self.submitted_ns[usize::from(slot)] = now_ns;
        }
        self.ring.wait().map_err(EngineError::Setup)
    }

    /// The next completed request: slot, operation, latency in nanoseconds.
    #[inline]
    fn reap(&mut self, now_ns: u64) -> Result<Option<(u16, Operation, u64)>, EngineError> {
        let Some(ended) = self.ring.reap() else {
            return Ok(None);
        };
        let Ended {
            slot,
            operation,
            offset,
            result,
        } = ended;
        let latency_ns = now_ns.saturating_sub(self.submitted_ns[usize::from(slot)]);
        match result {
            Ok(()) => Ok(Some((slot, operation, latency_ns))),
            Err(source) => Err(EngineError::Request {
                operation,
                offset,
                source,
            }),
        }
    }
}
