//! One io_uring: batched submission and completion by one thread.
//!
//! Registered file and buffers spare the kernel a reference count and a page
//! walk a request; `DEFER_TASKRUN` runs completions only when we wait, in our
//! thread, without interrupting it (io_uring_setup(2)). Each of these is
//! dropped where the kernel refuses it.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

use io_uring::{IoUring, opcode, squeue, types};

use octavo_device::{
    request::Operation,
    stream::{Load, Request, Stream},
    tally::Tally,
};

use super::{EngineError, HOOK_INTERVAL, Hook, Stop, process_cpu, short};
use crate::aligned::AlignedBuffer;

/// Whether this process may make a ring.
pub(super) fn probe() -> io::Result<()> {
    build(1).map(drop)
}

/// A ring with the most helpful flags that this kernel knows.
pub(crate) fn build(entries: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    // Linux 6.1. Without DEFER_TASKRUN a request at depth 32 costs up to a
    // fifth less CPU, but rates move away from fio's: random reads at depth 32
    // by -9 % (4 KiB) and +31 % (64 KiB), see
    // bench/runs/2026-11-21-calibrate-vs-fio-without-defer-taskrun.
    builder
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun();
    match builder.build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        other => return other,
    }
    // Linux 5.19.
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun();
    match builder.build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        other => return other,
    }
    IoUring::new(entries)
}

pub(super) fn run(
    file: &File,
    load: &Load,
    stop: Stop,
    hook: Hook<'_>,
) -> Result<Tally, EngineError> {
    let mut queue = Queue::new(file, load).map_err(EngineError::Setup)?;
    let mut stream = Stream::new(load, 0, 1);
    stream.randomise(queue.buffer.as_mut().expect("the queue is new"));
    let (ramp, slice, slices, requests_max) = match stop {
        Stop::Time {
            ramp,
            slice,
            slices,
        } => (ramp, slice, slices, u64::MAX),
        Stop::Requests(count) => (Duration::ZERO, Duration::MAX, 1, count),
    };
    let total = slice.saturating_mul(slices as u32);
    let slice_ns = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    let mut tally = Tally::new(slices);

    let start = Instant::now();
    let nanos = |at: Instant| (at - start).as_nanos() as u64;
    let mut begin = ramp.is_zero().then_some((start, process_cpu()));
    let mut hook_at = start + HOOK_INTERVAL;
    let mut submitted = 0;
    for slot in 0..load.depth.get() {
        if submitted < requests_max {
            queue.push(slot, stream.next_request(), &mut stream);
            submitted += 1;
        }
    }
    loop {
        queue.submit_and_wait(nanos(Instant::now()))?;
        let now = Instant::now();
        let now_ns = nanos(now);
        let current = begin.map(|(begin, _)| {
            let index = (now - begin).as_nanos() as u64 / slice_ns;
            (index as usize).min(slices - 1)
        });
        while let Some((slot, operation, latency_ns)) = queue.reap(now_ns)? {
            if let Some(slice) = current {
                tally.record(operation, latency_ns, slice);
            }
            if submitted < requests_max {
                queue.push(slot, stream.next_request(), &mut stream);
                submitted += 1;
            }
        }
        match begin {
            None if now - start >= ramp => begin = Some((now, process_cpu())),
            None => {}
            Some((begin, cpu)) if now - begin >= total || queue.in_flight() == 0 => {
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

/// A ring, its buffer, and the requests in flight. Dropping it waits for
/// them, so that the kernel never writes to freed memory.
struct Queue {
    ring: IoUring,
    /// Taken (leaked) only when waiting for the last requests failed.
    buffer: Option<AlignedBuffer>,
    slots: Vec<Slot>,
    request_bytes: usize,
    file: FileHandle,
    fixed_buffers: bool,
    /// Slots pushed since the last submission.
    fresh: Vec<u16>,
    /// Requests that the kernel has and we have not reaped.
    kernel_count: usize,
}

#[derive(Clone, Copy)]
enum FileHandle {
    Registered,
    Descriptor(i32),
}

#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    submitted_ns: u64,
}

impl Queue {
    fn new(file: &File, load: &Load) -> io::Result<Self> {
        let depth = load.depth.get();
        let ring = build(u32::from(depth))?;
        let request_bytes = load.request_size.get() as usize;
        let mut buffer = AlignedBuffer::new(request_bytes * usize::from(depth));
        let descriptor = file.as_raw_fd();
        let file = match ring.submitter().register_files(&[descriptor]) {
            Ok(()) => FileHandle::Registered,
            Err(_) => FileHandle::Descriptor(descriptor),
        };
        let area = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // Registering counts against RLIMIT_MEMLOCK on some kernels, so it
        // may be refused; requests then name their memory each time.
        // SAFETY: the memory is owned by this queue, whose drop waits for
        // every request, and the ring is closed before the buffer is freed
        // (fields drop in order).
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&[area]) }.is_ok();
        let unused = Slot {
            request: Request {
                operation: Operation::Read,
                offset: 0,
            },
            submitted_ns: 0,
        };
        Ok(Self {
            ring,
            buffer: Some(buffer),
            slots: vec![unused; usize::from(depth)],
            request_bytes,
            file,
            fixed_buffers,
            fresh: Vec::with_capacity(usize::from(depth)),
            kernel_count: 0,
        })
    }

    fn in_flight(&self) -> usize {
        self.kernel_count + self.fresh.len()
    }

    /// Queues a request for the next submission.
    #[inline]
    fn push(&mut self, slot: u16, request: Request, stream: &mut Stream) {
        let start = usize::from(slot) * self.request_bytes;
        let buffer = self
            .buffer
            .as_mut()
            .expect("taken only in drop")
            .get_mut(start..start + self.request_bytes)
            .expect("slots lie within the buffer");
        if request.operation == Operation::Write {
            stream.prepare(buffer, request.offset);
        }
        let memory = buffer.as_mut_ptr();
        let entry = self.entry(request, memory).user_data(u64::from(slot));
        // SAFETY: the slot's part of the buffer is used by this request alone
        // until it is reaped, and outlives it (see `drop`).
        unsafe { self.ring.submission().push(&entry) }
            .expect("the queue has an entry for every slot");
        self.slots[usize::from(slot)].request = request;
        self.fresh.push(slot);
    }

    #[inline]
    fn entry(&self, request: Request, memory: *mut u8) -> squeue::Entry {
        let length = self.request_bytes as u32;
        macro_rules! entry {
            ($file:expr) => {
                match (request.operation, self.fixed_buffers) {
                    (Operation::Read, true) => opcode::ReadFixed::new($file, memory, length, 0)
                        .offset(request.offset)
                        .build(),
                    (Operation::Read, false) => opcode::Read::new($file, memory, length)
                        .offset(request.offset)
                        .build(),
                    (Operation::Write, true) => opcode::WriteFixed::new($file, memory, length, 0)
                        .offset(request.offset)
                        .build(),
                    (Operation::Write, false) => opcode::Write::new($file, memory, length)
                        .offset(request.offset)
                        .build(),
                }
            };
        }
        match self.file {
            FileHandle::Registered => entry!(types::Fixed(0)),
            FileHandle::Descriptor(descriptor) => entry!(types::Fd(descriptor)),
        }
    }

    /// Hands the queued requests to the kernel at time `now_ns` and waits
    /// until at least one is complete.
    #[inline]
    fn submit_and_wait(&mut self, now_ns: u64) -> Result<(), EngineError> {
        for slot in self.fresh.drain(..) {
            self.slots[usize::from(slot)].submitted_ns = now_ns;
            self.kernel_count += 1;
        }
        loop {
            // Two system calls, not one that does both: on a virtio disk
            // (Linux 6.18, random 4 KiB) the two completed a median of 4 %
            // more reads at depth 32 (6 pairs, -1 to +16 %) and 5 % more
            // writes at depth 1 (4 pairs, +1 to +13 %). Few and noisy pairs,
            // and the cause is not known. fio, too, submits and waits apart.
            let submitted = self.ring.submit();
            match submitted.and_then(|_| self.ring.submit_and_wait(1)) {
                Ok(_) => return Ok(()),
                // A signal: whatever was not taken yet is still queued.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Out of memory for requests, or the completion queue is
                // full: reaping makes room, the rest goes next time.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {
                    return Ok(());
                }
                Err(error) => return Err(EngineError::Setup(error)),
            }
        }
    }

    /// The next completed request: slot, operation, latency in nanoseconds.
    #[inline]
    fn reap(&mut self, now_ns: u64) -> Result<Option<(u16, Operation, u64)>, EngineError> {
        let Some(completion) = self.ring.completion().next() else {
            return Ok(None);
        };
        self.kernel_count -= 1;
        let index = completion.user_data() as u16;
        let slot = self.slots[usize::from(index)];
        let failed = |source| EngineError::Request {
            operation: slot.request.operation,
            offset: slot.request.offset,
            source,
        };
        match usize::try_from(completion.result()) {
            Ok(moved) if moved == self.request_bytes => Ok(Some((
                index,
                slot.request.operation,
                now_ns.saturating_sub(slot.submitted_ns),
            ))),
            Ok(moved) => Err(failed(short(slot.request.operation, moved))),
            Err(_) => Err(failed(io::Error::from_raw_os_error(-completion.result()))),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Entries pushed but never submitted would be submitted by the wait
        // below, and waited for like the others.
        self.kernel_count += self.fresh.len();
        while self.kernel_count > 0 {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted
                        || matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {}
                Err(_) => {
                    // The kernel may still write to the buffer: leak it.
                    std::mem::forget(self.buffer.take());
                    return;
                }
            }
            self.kernel_count -= self.ring.completion().count();
        }
    }
}
