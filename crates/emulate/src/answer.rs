//! What a request is answered with, kept until it is due, and the memory of data that was
//! read, used again and again.

use std::{cell::RefCell, fs::File, io, ops::Deref, os::unix::fs::FileExt};

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

/// A reply to the kernel and its content.
pub(crate) enum Answer {
    /// Bytes that were read.
    Data(ReplyData, Result<Buffer, Errno>),
    /// How many bytes were written.
    Written(ReplyWrite, Result<u32, Errno>),
    /// A flush, or anything else that just ends.
    Done(ReplyEmpty, Result<(), Errno>),
}

impl Answer {
    /// Tells it; `dead` makes an error of everything.
    pub(crate) fn send(self, dead: bool) {
        match self {
            Self::Data(reply, Ok(buffer)) if !dead => reply.data(&buffer),
            Self::Data(reply, result) => reply.error(result.err().unwrap_or(Errno::EIO)),
            Self::Written(reply, Ok(bytes)) if !dead => reply.written(bytes),
            Self::Written(reply, result) => reply.error(result.err().unwrap_or(Errno::EIO)),
            Self::Done(reply, Ok(())) if !dead => reply.ok(),
            Self::Done(reply, result) => reply.error(result.err().unwrap_or(Errno::EIO)),
        }
    }
}

/// Bytes that were read. Their memory returns to the thread that drops them.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    length: usize,
}

/// Buffers that a thread keeps at most.
const KEPT_MAX: usize = 64;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Buffer {
    /// Up to `length` bytes from `offset` on; less at the end of the file.
    pub(crate) fn read(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        let mut memory = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
        // Zeroed once: it only grows.
        if memory.len() < length {
            memory.resize(length, 0);
        }
        let mut buffer = Self { memory, length: 0 };
        while buffer.length < length {
            let rest = &mut buffer.memory[buffer.length..length];
            match file.read_at(rest, offset + buffer.length as u64) {
                Ok(0) => break,
                Ok(count) => buffer.length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(buffer)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        // Large ones are rare, and many of them are much memory.
        if memory.len() <= 256 << 10 {
            let _ended = KEPT.try_with(|kept| {
                let mut kept = kept.borrow_mut();
                if kept.len() < KEPT_MAX {
                    kept.push(memory);
                }
            });
        }
    }
}
