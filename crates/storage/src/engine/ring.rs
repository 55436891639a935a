//! One io_uring for reads and writes of one size: batched submission and
//! completion by one thread.
//!
//! Registered file and buffers spare the kernel a reference count and a page
//! walk a request; `DEFER_TASKRUN` runs completions only when we wait, in our
//! thread, without interrupting it (io_uring_setup(2)). Each of these is
//! dropped where the kernel refuses it.

#![expect(unsafe_code, reason = "the kernel writes to memory that it was given")]

use std::{fs::File, io, os::fd::AsRawFd};

use io_uring::{IoUring, opcode, squeue, types};
use octavo_device::request::Operation;
use octavo_units::{QueueDepth, RequestSize};

use super::serve::whole;
use crate::aligned::AlignedBuffer;

/// Whether this process may make a ring.
pub(super) fn probe() -> io::Result<()> {
    build(1).map(drop)
}

/// A ring with the most helpful flags that this kernel knows.
fn build(entries: u32) -> io::Result<IoUring> {
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

/// A ring, its memory and its file. Dropping it waits for what is in flight,
/// so that the kernel never writes to freed memory.
pub(super) struct Ring {
    // The ring is first, so that it is closed before its memory is freed.
    ring: IoUring,
    /// The bytes of one request for each slot. Taken (leaked) only when
    /// waiting for the last requests failed.
    memory: Option<AlignedBuffer>,
    request_size: RequestSize,
    fixed_buffers: bool,
    fixed_file: bool,
    /// What is in flight in each slot, and at which offset.
    slots: Vec<(Operation, u64)>,
    /// Requests that were pushed and not reaped.
    in_flight: usize,
    file: File,
}

/// The end of a request.
pub(super) struct Ended {
    /// The slot that it was pushed with.
    pub(super) slot: u16,
    /// What was asked.
    pub(super) operation: Operation,
    /// Where.
    pub(super) offset: u64,
    /// How it ended.
    pub(super) result: io::Result<()>,
}

impl Ring {
    /// A ring of `queue` slots on a file. `fill` is given the memory of all
    /// requests once, before anything is submitted.
    ///
    /// # Errors
    /// The kernel gives no ring, or no descriptor for the file.
    pub(super) fn new(
        file: &File,
        queue: QueueDepth,
        request_size: RequestSize,
        fill: impl FnOnce(&mut [u8]),
    ) -> io::Result<Self> {
        let ring = build(u32::from(queue.get()))?;
        let file = file.try_clone()?;
        let count = usize::from(queue.get());
        let mut memory = AlignedBuffer::new(request_size.get() as usize * count);
        fill(&mut memory);
        let fixed_file = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        let area = libc::iovec {
            iov_base: memory.as_mut_ptr().cast(),
            iov_len: memory.len(),
        };
        // Registering counts against RLIMIT_MEMLOCK on some kernels, so it
        // may be refused; requests then name their memory each time.
        // SAFETY: the memory is owned by this value, whose drop waits for
        // every request, and the ring is closed before the memory is freed
        // (fields drop in order).
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&[area]) }.is_ok();
        Ok(Self {
            ring,
            memory: Some(memory),
            request_size,
            fixed_buffers,
            fixed_file,
            slots: vec![(Operation::Read, 0); count],
            in_flight: 0,
            file,
        })
    }

    /// Requests that were pushed and not reaped.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Queues a request in a slot that is free. `prepare` is given the bytes
    /// that a write writes.
    #[inline]
    pub(super) fn push(
        &mut self,
        slot: u16,
        operation: Operation,
        offset: u64,
        prepare: impl FnOnce(&mut [u8]),
    ) {
        let index = usize::from(slot);
        let length = self.request_size.get() as usize;
        let memory = self.memory.as_mut().expect("taken only in drop");
        let buffer = &mut memory[index * length..(index + 1) * length];
        if operation == Operation::Write {
            prepare(buffer);
        }
        let start = buffer.as_mut_ptr();
        let entry = self.entry(operation, offset, start);
        // SAFETY: the slot's memory is used by this request alone until it is
        // reaped, and outlives it (see `drop`).
        unsafe {
            self.ring
                .submission()
                .push(&entry.user_data(u64::from(slot)))
        }
        .expect("the queue has an entry for every slot");
        self.slots[index] = (operation, offset);
        self.in_flight += 1;
    }

    #[inline]
    fn entry(&self, operation: Operation, offset: u64, memory: *mut u8) -> squeue::Entry {
        let length = self.request_size.get();
        // A macro, since the trait of both kinds of files is private.
        macro_rules! entry {
            ($file:expr) => {
                match (operation, self.fixed_buffers) {
                    (Operation::Read, true) => opcode::ReadFixed::new($file, memory, length, 0)
                        .offset(offset)
                        .build(),
                    (Operation::Read, false) => opcode::Read::new($file, memory, length)
                        .offset(offset)
                        .build(),
                    (Operation::Write, true) => opcode::WriteFixed::new($file, memory, length, 0)
                        .offset(offset)
                        .build(),
                    (Operation::Write, false) => opcode::Write::new($file, memory, length)
                        .offset(offset)
                        .build(),
                }
            };
        }
        if self.fixed_file {
            entry!(types::Fixed(0))
        } else {
            entry!(types::Fd(self.file.as_raw_fd()))
        }
    }

    /// Hands what is queued to the kernel and waits for a completion, or less
    /// when a signal comes.
    #[inline]
    pub(super) fn wait(&mut self) -> io::Result<()> {
        // Two system calls, not one that does both: on a virtio disk
        // (Linux 6.18, random 4 KiB) the two completed a median of 4 %
        // more reads at depth 32 (6 pairs, -1 to +16 %) and 5 % more
        // writes at depth 1 (4 pairs, +1 to +13 %). Few and noisy pairs,
        // and the cause is not known. fio, too, submits and waits apart.
        let submitted = self.ring.submit();
        match submitted.and_then(|_| self.ring.submit_and_wait(1)) {
            Ok(_) => Ok(()),
            // A signal came: the caller looks again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            // Reaping makes room; the rest goes next time.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The next completed request.
    #[inline]
    pub(super) fn reap(&mut self) -> Option<Ended> {
        let completion = self.ring.completion().next()?;
        self.in_flight -= 1;
        let slot = completion.user_data() as u16;
        let (operation, offset) = self.slots[usize::from(slot)];
        let result = match usize::try_from(completion.result()) {
            Ok(moved) => whole(operation, self.request_size.get() as usize, moved),
            Err(_) => Err(io::Error::from_raw_os_error(-completion.result())),
        };
        Some(Ended {
            slot,
            operation,
            offset,
            result,
        })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted
                        || matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {}
                Err(_) => {
                    // The kernel may still write to the memory: leak it.
                    std::mem::forget(self.memory.take());
                    return;
                }
            }
            self.in_flight -= self.ring.completion().count();
        }
    }
}
