//! One request by a blocking system call, and when a request is whole.

use std::{fs::File, io, os::unix::fs::FileExt};

use octavo_device::request::Operation;

/// Reads into the buffer, or writes it.
pub(super) fn serve(
    file: &File,
    operation: Operation,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<()> {
    let moved = match operation {
        Operation::Read => file.read_at(buffer, offset)?,
        Operation::Write => file.write_at(buffer, offset)?,
    };
    whole(operation, buffer.len(), moved)
}

/// Refuses a request of `length` bytes that moved fewer.
pub(super) fn whole(operation: Operation, length: usize, moved: usize) -> io::Result<()> {
    if moved == length {
        return Ok(());
    }
    let (kind, done) = match operation {
        Operation::Read => (io::ErrorKind::UnexpectedEof, "read"),
        Operation::Write => (io::ErrorKind::WriteZero, "written"),
    };
    Err(io::Error::new(
        kind,
        format!("only {moved} bytes were {done}"),
    ))
}
