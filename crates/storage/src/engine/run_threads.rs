//! A run of blocking requests, one thread for each in flight.

use std::{
    fs::File,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_device::{
    point::Durability,
    request::Operation,
    stream::{Load, Stream},
    tally::Tally,
};

use super::{
    run::{EngineError, HOOK_INTERVAL, Hook, Stop, process_cpu},
    serve::serve,
};
use crate::aligned::AlignedBuffer;

pub(super) fn run(
    file: &File,
    load: &Load,
    durability: Durability,
    stop: Stop,
    hook: Hook<'_>,
) -> Result<Tally, EngineError> {
    let lanes = load.depth.get();
    let slices = match stop {
        Stop::Time { slices, .. } => slices,
        Stop::Requests(_) => 1,
    };
    let cancelled = AtomicBool::new(false);
    // Buffers are allocated and filled before the clock starts.
    let workers: Vec<Worker<'_>> = (0..lanes)
        .map(|lane| {
            let mut stream = Stream::new(load, lane, lanes);
            let mut buffer = AlignedBuffer::new(load.request_size.get() as usize);
            stream.randomise(&mut buffer);
            Worker {
                file,
                stream,
                buffer,
                durability,
                cancelled: &cancelled,
                tally: Tally::new(slices),
            }
        })
        .collect();
    let start = Instant::now();
    let mut total = Tally::new(slices);
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(workers.len());
        for (lane, worker) in workers.into_iter().enumerate() {
            let span = Span::new(start, stop, lane as u64, u64::from(lanes));
            let spawned = thread::Builder::new()
                .name(format!("calibrate-{lane}"))
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || worker.work(span));
            match spawned {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    // The threads that run are joined by the scope.
                    cancelled.store(true, Ordering::Relaxed);
                    return Err(EngineError::Setup(error));
                }
            }
        }
        let mut cpu_begin = process_cpu();
        let begin = match stop {
            Stop::Time { ramp, .. } => start + ramp,
            Stop::Requests(_) => start,
        };
        let end = match stop {
            Stop::Time { slice, slices, .. } => Some(begin + slice * slices as u32),
            Stop::Requests(_) => None,
        };
        let mut begun = begin <= start;
        let mut flow = ControlFlow::Continue(());
        while !handles.iter().all(|handle| handle.is_finished()) {
            let now = Instant::now();
            if !begun && now >= begin {
                begun = true;
                cpu_begin = process_cpu();
            }
            if end.is_some_and(|end| now >= end) {
                break;
            }
            flow = hook(now - start);
            if flow.is_break() {
                cancelled.store(true, Ordering::Relaxed);
                break;
            }
            let next = if begun { end } else { Some(begin) };
            let pause = next.map_or(HOOK_INTERVAL, |next| {
                next.saturating_duration_since(now).min(HOOK_INTERVAL)
            });
            // A fill ends when it is done, not at a time: look more often.
            thread::sleep(if end.is_some() { pause } else { pause / 10 });
        }
        total.cpu = process_cpu().saturating_sub(cpu_begin);
        let mut failure = None;
        for handle in handles {
            match handle.join() {
                Ok(Ok(tally)) => total.add_lane(&tally),
                Ok(Err(error)) => failure = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        total.elapsed = match end {
            Some(end) => end - begin,
            None => start.elapsed(),
        };
        match (failure, flow) {
            (Some(error), _) => Err(error),
            (None, ControlFlow::Break(())) => Err(EngineError::Stopped),
            (None, ControlFlow::Continue(())) => Ok(()),
        }
    })?;
    Ok(total)
}

/// The part of a run that one thread does.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Option<Instant>,
    slice: Duration,
    requests_max: u64,
}

impl Span {
    fn new(start: Instant, stop: Stop, lane: u64, lanes: u64) -> Self {
        match stop {
            Stop::Time {
                ramp,
                slice,
                slices,
            } => Self {
                begin: start + ramp,
                end: Some(start + ramp + slice * slices as u32),
                slice,
                requests_max: u64::MAX,
            },
            Stop::Requests(count) => Self {
                begin: start,
                end: None,
                slice: Duration::MAX,
                // Lane i of n takes requests i, i + n, ... below the count.
                requests_max: count.saturating_sub(lane).div_ceil(lanes),
            },
        }
    }
}

struct Worker<'a> {
    file: &'a File,
    stream: Stream,
    buffer: AlignedBuffer,
    durability: Durability,
    cancelled: &'a AtomicBool,
    tally: Tally,
}

impl Worker<'_> {
    fn work(mut self, span: Span) -> Result<Tally, EngineError> {
        let result = self.requests(span);
        if result.is_err() {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        result.map(|()| self.tally)
    }

    fn requests(&mut self, span: Span) -> Result<(), EngineError> {
        for _ in 0..span.requests_max {
            if self.cancelled.load(Ordering::Relaxed) {
                break;
            }
            let (operation, request) = self.stream.next_request();
            let writes = operation == Operation::Write;
            if writes {
                self.stream.prepare(&mut self.buffer, request.offset);
            }
            let synced = writes && self.durability == Durability::Synced;
            let submitted = Instant::now();
            let mut served = serve(self.file, operation, request.offset, &mut self.buffer);
            if synced && served.is_ok() {
                served = self.file.sync_data();
            }
            let completed = Instant::now();
            served.map_err(|source| EngineError::Request {
                operation,
                offset: request.offset,
                source,
            })?;
            if span.end.is_some_and(|end| completed >= end) {
                break;
            }
            if completed >= span.begin {
                let slice = (completed - span.begin).as_nanos() / span.slice.as_nanos();
                let latency = (completed - submitted).as_nanos() as u64;
                self.tally.record(operation, latency, slice as usize);
            }
        }
        Ok(())
    }
}
