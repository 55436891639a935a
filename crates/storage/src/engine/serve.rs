//! One request by blocking system calls, and how a request ends.

use std::{fs::File, io, os::unix::fs::FileExt};

use octavo_device::{Command, Request};
use rustix::fs::FallocateFlags;

/// The end of a request.
pub(crate) struct Ended {
    /// The slot that it was pushed with.
    pub(crate) slot: u16,
    /// What was asked.
    pub(crate) request: Request,
    /// How it ended.
    pub(crate) result: io::Result<()>,
}

/// Serves a request, of which `buffer` are the bytes to read into or to write.
pub(super) fn serve(file: &File, request: Request, buffer: &mut [u8]) -> io::Result<()> {
    let moved = match request.command {
        Command::Read => file.read_at(buffer, request.offset)?,
        Command::Write => file.write_at(buffer, request.offset)?,
        Command::Flush => return file.sync_data(),
        Command::Trim => {
            return Ok(rustix::fs::fallocate(
                file,
                FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                request.offset,
                u64::from(request.length),
            )?);
        }
    };
    whole(request, moved)
}

/// Refuses a read or a write that moved fewer bytes than asked.
pub(super) fn whole(request: Request, moved: usize) -> io::Result<()> {
    let (kind, done) = match request.command {
        Command::Flush | Command::Trim => return Ok(()),
        _ if moved == request.length as usize => return Ok(()),
        Command::Read => (io::ErrorKind::UnexpectedEof, "read"),
        Command::Write => (io::ErrorKind::WriteZero, "written"),
    };
    Err(io::Error::new(
        kind,
        format!("only {moved} bytes were {done}"),
    ))
}
