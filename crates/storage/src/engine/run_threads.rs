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
                slice: stop.slice,
                // Lane i of n takes requests i, i + n, ... below the count.
                requests: stop
                    .requests
                    .saturating_sub(u64::from(lane))
                    .div_ceil(u64::from(lanes)),
                cancelled: &cancelled,
                tally: Tally::new(stop.slices),
            }
        })
        .collect();
    let start = Instant::now();
    let begin = start + stop.ramp;
    // `None` when only requests count.
    let end = begin.checked_add(stop.measured());
    let mut total = Tally::new(stop.slices);
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(workers.len());
        for (lane, worker) in workers.into_iter().enumerate() {
            let spawned = thread::Builder::new()
                .name(format!("calibrate-{lane}"))
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || worker.work(begin, end));
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
struct Worker<'a> {
    file: &'a File,
    stream: Stream,
    buffer: AlignedBuffer,
    durability: Durability,
    slice: Duration,
    requests: u64,
    cancelled: &'a AtomicBool,
    tally: Tally,
}

impl Worker<'_> {
    fn work(mut self, begin: Instant, end: Option<Instant>) -> Result<Tally, EngineError> {
        let result = self.serve(begin, end);
        if result.is_err() {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        result.map(|()| self.tally)
    }

    fn serve(&mut self, begin: Instant, end: Option<Instant>) -> Result<(), EngineError> {
        for _ in 0..self.requests {
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
            if end.is_some_and(|end| completed >= end) {
                break;
            }
            if completed >= begin {
                let slice = (completed - begin).as_nanos() / self.slice.as_nanos();
                let latency = (completed - submitted).as_nanos() as u64;
                self.tally.record(operation, latency, slice as usize);
            }
        }
        Ok(())
    }
}
