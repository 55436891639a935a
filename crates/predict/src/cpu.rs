//! What the processor takes for transactions.

use crate::io::{Io, Purpose};

/// A cost of each transaction, and of the bytes that it moves: these depend on the page
/// size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuCost {
    /// Of each transaction, in nanoseconds.
    pub transaction_ns: f64,
    /// Of each byte that goes to the log, in nanoseconds: checksums and copies.
    pub log_byte_ns: f64,
    /// Of each byte that is read, in nanoseconds.
    pub read_byte_ns: f64,
    /// Of each request of storage, in nanoseconds: the kernel's work.
    pub request_ns: f64,
    /// What comes besides, and keeps processors from working on several transactions.
    pub latched: Latched,
}

/// Work on a processor that one transaction does at a time, as under the mutex of a buffer
/// pool; none by default. More processors make none of it shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latched {
    /// Of each transaction, in nanoseconds.
    pub transaction_ns: f64,
    /// Of each page that is read, in nanoseconds.
    pub read_ns: f64,
    /// Of each byte that is read, in nanoseconds.
    pub read_byte_ns: f64,
    /// Of each byte of pages that is written, every copy of it, in nanoseconds.
    pub written_byte_ns: f64,
}

/// What a transaction works on a processor, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Beside others.
    pub(crate) free_ns: u64,
    /// While nobody else does the same.
    pub(crate) latched_ns: u64,
}

impl Work {
    pub(crate) fn all_ns(self) -> u64 {
        self.free_ns + self.latched_ns
    }

    /// A part of it, of so many that are alike.
    pub(crate) fn part(self, parts: u64) -> Self {
        Self {
            free_ns: self.free_ns / parts,
            latched_ns: self.latched_ns / parts,
        }
    }

    /// What is left without `count` parts.
    pub(crate) fn without(self, part: Self, count: u64) -> Self {
        Self {
            free_ns: self.free_ns - part.free_ns * count,
            latched_ns: self.latched_ns - part.latched_ns * count,
        }
    }
}

impl CpuCost {
    /// All of it so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            transaction_ns: self.transaction_ns * factor,
            log_byte_ns: self.log_byte_ns * factor,
            read_byte_ns: self.read_byte_ns * factor,
            request_ns: self.request_ns * factor,
            latched: Latched {
                transaction_ns: self.latched.transaction_ns * factor,
                read_ns: self.latched.read_ns * factor,
                read_byte_ns: self.latched.read_byte_ns * factor,
                written_byte_ns: self.latched.written_byte_ns * factor,
            },
        }
    }

    /// Of a transaction that asks storage for this, of whose reads so many bytes are others',
    /// that has so many bytes in the log, and is of a kind that takes so many times the mean.
    pub(crate) fn work(&self, ios: &[Io], shared_bytes: u64, logged: u64, weight: f64) -> Work {
        let (mut reads, mut read_bytes, mut written_bytes) = (0u32, 0, 0);
        for io in ios {
            let bytes = u64::from(io.request.length);
            match io.purpose {
                Purpose::Read => {
                    reads += 1;
                    read_bytes += bytes;
                }
                Purpose::Checkpoint | Purpose::Background => written_bytes += bytes,
                Purpose::LogWrite | Purpose::LogSync => {}
            }
        }
        let read_bytes = read_bytes.saturating_sub(shared_bytes) as f64;
        let Latched {
            transaction_ns,
            read_ns,
            read_byte_ns,
            written_byte_ns,
        } = self.latched;
        let free_ns = self.transaction_ns * weight
            + self.request_ns * ios.len() as f64
            + self.log_byte_ns * logged as f64
            + self.read_byte_ns * read_bytes;
        let latched_ns = transaction_ns
            + read_ns * f64::from(reads)
            + read_byte_ns * read_bytes
            + written_byte_ns * written_bytes as f64;
        Work {
            free_ns: free_ns as u64,
            latched_ns: latched_ns as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::Request;

    use super::*;

    #[test]
    fn work_by_hand() {
        let cost = CpuCost {
            transaction_ns: 1000.0,
            log_byte_ns: 2.0,
            read_byte_ns: 0.5,
            request_ns: 10.0,
            latched: Latched {
                transaction_ns: 300.0,
                read_ns: 50.0,
                read_byte_ns: 0.25,
                written_byte_ns: 0.125,
            },
        };
        let io = |purpose, request| Io { purpose, request };
        let ios = [
            io(Purpose::Read, Request::read(0, 4096)),
            io(Purpose::Read, Request::read(4096, 4096)),
            io(Purpose::Background, Request::write(0, 8192)),
            io(Purpose::LogWrite, Request::write(0, 512)),
            io(Purpose::LogSync, Request::FLUSH),
        ];
        // Of the two pages that are read, one is read by another.
        let work = cost.work(&ios, 4096, 100, 1.5);
        assert_eq!(work.free_ns, 1500 + 50 + 200 + 2048);
        assert_eq!(work.latched_ns, 300 + 100 + 1024 + 1024);
        assert_eq!(work.all_ns(), work.free_ns + work.latched_ns);
        let part = work.part(5);
        let rest = work.without(part, 4);
        assert_eq!(rest.free_ns + 4 * part.free_ns, work.free_ns);
        assert_eq!(rest.latched_ns + 4 * part.latched_ns, work.latched_ns);
        assert_eq!(
            cost.times(2.0).work(&ios, 4096, 100, 1.5).all_ns(),
            2 * work.all_ns()
        );
    }
}
