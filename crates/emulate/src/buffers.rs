//! Memory for data that is read, used again and again.

use std::{cell::RefCell, fs::File, io, ops::Deref, os::unix::fs::FileExt};

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
