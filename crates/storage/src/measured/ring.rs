//! One io_uring for requests of any size.

use std::{io, os::fd::AsRawFd, time::Duration};

use io_uring::{IoUring, opcode, squeue, types};
use octavo_device::{Command, Request, request::Operation, stream::Stamp};
use octavo_units::QueueDepth;
use rand::Rng;

use super::Ended;
use crate::{
    aligned::AlignedBuffer,
    engine::{build_ring, short},
    target::Target,
};

/// Requests up to this many bytes use registered memory: database pages do.
const REGISTERED_BYTES: usize = 64 << 10;

/// A ring, its memory and its file. Dropping it waits for what is in flight,
/// so that the kernel never writes to freed memory.
pub(super) struct Ring {
    // The ring is first, so that it is closed before its memory is freed.
    ring: IoUring,
    /// Taken (leaked) only when waiting for the last requests failed.
    memory: Option<Memory>,
    fixed_buffers: bool,
    fixed_file: bool,
    /// What is in flight in each slot.
    slots: Vec<Request>,
    stamp: Stamp,
    /// Requests that were pushed and not reaped.
    in_flight: usize,
    target: Target,
}

struct Memory {
    /// [`REGISTERED_BYTES`] for each slot.
    shared: AlignedBuffer,
    /// Of slots that had longer requests.
    own: Vec<Option<AlignedBuffer>>,
}

impl Ring {
    pub(super) fn new(target: Target, queue: QueueDepth) -> io::Result<Self> {
        let ring = build_ring(u32::from(queue.get()))?;
        // Waiting until a moment takes timeouts without requests, Linux 5.11.
        if !ring.params().is_feature_ext_arg() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let count = usize::from(queue.get());
        let mut shared = AlignedBuffer::new(REGISTERED_BYTES * count);
        randomise(&mut shared);
        let fixed_file = ring
            .submitter()
            .register_files(&[target.file().as_raw_fd()])
            .is_ok();
        let area = libc::iovec {
            iov_base: shared.as_mut_ptr().cast(),
            iov_len: shared.len(),
        };
        // Counts against RLIMIT_MEMLOCK on some kernels, so it may be refused;
        // requests then name their memory each time.
        // SAFETY: the memory is owned by this value, whose drop waits for
        // every request, and the ring is closed before the memory is freed
        // (fields drop in order).
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&[area]) }.is_ok();
        Ok(Self {
            ring,
            memory: Some(Memory {
                shared,
                own: (0..count).map(|_| None).collect(),
            }),
            fixed_buffers,
            fixed_file,
            slots: vec![Request::FLUSH; count],
            stamp: Stamp::new(0),
            in_flight: 0,
            target,
        })
    }

    #[cfg(test)]
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Queues a request in a slot that is free.
    #[inline]
    pub(super) fn push(&mut self, slot: u16, request: Request) {
        let index = usize::from(slot);
        let length = request.length as usize;
        let memory = self.memory.as_mut().expect("taken only in drop");
        let registered = length <= REGISTERED_BYTES;
        let buffer = if registered {
            let start = index * REGISTERED_BYTES;
            &mut memory.shared[start..start + length]
        } else if request.command == Command::Trim {
            &mut []
        } else {
            let own = &mut memory.own[index];
            if own.as_ref().is_none_or(|own| own.len() < length) {
                // The slot is free, so that the kernel uses no old buffer.
                let mut buffer = AlignedBuffer::new(length);
                randomise(&mut buffer);
                *own = Some(buffer);
            }
            &mut own.as_mut().expect("was made above")[..length]
        };
        if request.command == Command::Write {
            self.stamp.mark(buffer, request.offset);
        }
        let start = buffer.as_mut_ptr();
        let entry = self.entry(request, start, registered);
        // SAFETY: the slot's memory is used by this request alone until it is
        // reaped, and outlives it (see `drop`).
        unsafe {
            self.ring
                .submission()
                .push(&entry.user_data(u64::from(slot)))
        }
        .expect("the queue has an entry for every slot");
        self.slots[index] = request;
        self.in_flight += 1;
    }

    #[inline]
    fn entry(&self, request: Request, memory: *mut u8, registered: bool) -> squeue::Entry {
        let Request { offset, length, .. } = request;
        // A macro, since the trait of both kinds of files is private.
        macro_rules! entry {
            ($file:expr) => {
                match (request.command, registered && self.fixed_buffers) {
                    (Command::Read, true) => opcode::ReadFixed::new($file, memory, length, 0)
                        .offset(offset)
                        .build(),
                    (Command::Read, false) => opcode::Read::new($file, memory, length)
                        .offset(offset)
                        .build(),
                    (Command::Write, true) => opcode::WriteFixed::new($file, memory, length, 0)
                        .offset(offset)
                        .build(),
                    (Command::Write, false) => opcode::Write::new($file, memory, length)
                        .offset(offset)
                        .build(),
                    (Command::Flush, _) => opcode::Fsync::new($file)
                        .flags(types::FsyncFlags::DATASYNC)
                        .build(),
                    (Command::Trim, _) => opcode::Fallocate::new($file, u64::from(length))
                        .offset(offset)
                        .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                        .build(),
                }
            };
        }
        if self.fixed_file {
            entry!(types::Fixed(0))
        } else {
            entry!(types::Fd(self.target.file().as_raw_fd()))
        }
    }

    /// Hands what is queued to the kernel and waits for a completion, or until
    /// `timeout` has passed.
    #[inline]
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        // Two system calls, as calibrate does it, so that both find the same.
        let submitted = self.ring.submit();
        let waited = submitted.and_then(|_| match timeout {
            None => self.ring.submit_and_wait(1),
            Some(timeout) => {
                let time = types::Timespec::from(timeout);
                let arguments = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        });
        match waited {
            Ok(_) => Ok(()),
            // The time passed, or a signal came: the caller looks again.
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
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
        let request = self.slots[usize::from(slot)];
        let operation = match request.command {
            Command::Read => Some(Operation::Read),
            Command::Write => Some(Operation::Write),
            Command::Flush | Command::Trim => None,
        };
        let result = match (u32::try_from(completion.result()), operation) {
            (Err(_), _) => Err(io::Error::from_raw_os_error(-completion.result())),
            (Ok(moved), Some(operation)) if moved != request.length => {
                Err(short(operation, moved as usize))
            }
            (Ok(_), _) => Ok(()),
        };
        Some((slot, result))
    }
}

/// Fills memory with bytes that cannot be compressed. Which they are is of no
/// account: every sector is stamped before it is written.
fn randomise(buffer: &mut [u8]) {
    octavo_units::Seed::new(0)
        .derive("content", 0)
        .generator()
        .fill_bytes(buffer);
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
