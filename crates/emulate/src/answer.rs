//! What a request is answered with, kept until it is due.

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use crate::buffers::Buffer;

/// Where the kernel waits, and what it is told.
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
