//! What threads had read and written, as the kernel counts it.

use std::{fs::File, os::unix::fs::FileExt as _, time::Duration};

use nix::sys::{
    resource::{Usage, UsageWho, getrusage},
    time::{TimeVal, TimeValLike as _},
};
use octavo_units::ByteCount;

/// The unit of getrusage(2)'s `ru_inblock`.
const BLOCK: u64 = 512;

/// What a thread has had so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    /// Faults of memory that waited for a read.
    pub(crate) faults: u64,
    /// Bytes that were read from storage for it.
    pub(crate) read: ByteCount,
    /// Time on a processor in user mode.
    pub(crate) user: Duration,
}

impl ThreadUsage {
    /// Of the thread that asks.
    pub(crate) fn now() -> Self {
        // It fails for wrong arguments alone.
        getrusage(UsageWho::RUSAGE_THREAD).map_or(Self::default(), Self::of)
    }

    fn of(usage: Usage) -> Self {
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let time = |time: TimeVal| Duration::from_micros(count(time.num_microseconds()));
        let bytes = |blocks| ByteCount::new(count(blocks).saturating_mul(BLOCK));
        Self {
            faults: count(usage.major_page_faults()),
            read: bytes(usage.block_reads()),
            user: time(usage.user_time()),
        }
    }

    /// Since an earlier reading of the same thread.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            faults: self.faults.saturating_sub(before.faults),
            read: ByteCount::new(self.read.get().saturating_sub(before.read.get())),
            user: self.user.saturating_sub(before.user),
        }
    }
}

/// The system calls of a thread that write, and the bytes that they were handed: `syscw` and `wchar` of
/// proc_pid_io(5). The bytes of pages that became dirty would be too many: a page of several is dirty as a whole, and written in part
/// (45% too many with 1 GiB of page cache, ext4 on Linux 6.18).
#[derive(Debug)]
pub(crate) struct ThreadWrites {
    file: Option<File>,
    /// When it was asked last.
    last: Writes,
}

/// Calls that write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

impl ThreadWrites {
    /// Of the thread that asks, from now on.
    pub(crate) fn here() -> Self {
        let mut writes = Self {
            file: File::open("/proc/thread-self/io").ok(),
            last: Writes::default(),
        };
        writes.since_last();
        writes
    }

    /// Since it was asked last; 0 where the kernel does not count them.
    pub(crate) fn since_last(&mut self) -> Writes {
        let now = self.so_far().unwrap_or(self.last);
        let last = std::mem::replace(&mut self.last, now);
        Writes {
            calls: now.calls.saturating_sub(last.calls),
            bytes: now.bytes.saturating_sub(last.bytes),
        }
    }

    fn so_far(&self) -> Option<Writes> {
        // Seven numbers with their names.
        let mut text = [0; 512];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = str::from_utf8(&text[..length]).ok()?;
        let named = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.parse().ok())
        };
        Some(Writes {
            calls: named("syscw: ")?,
            bytes: named("wchar: ")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::*;

    #[test]
    fn a_thread_knows_what_it_read_and_wrote() {
        let scratch = crate::scratch::directory();
        let path = scratch.path().join("file");
        let mut writes = ThreadWrites::here();
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let one = Writes {
            calls: 1,
            bytes: 1 << 20,
        };
        assert_eq!(writes.since_last(), one);
        assert_eq!(writes.since_last(), Writes::default());
        crate::files::flush_and_forget(&path).unwrap();
        let before = ThreadUsage::now();
        fs::read(&path).unwrap();
        let read = ThreadUsage::now().since(before).read;
        assert!((1 << 20..2 << 20).contains(&read.get()), "{read}");
        let other = std::thread::spawn(move || {
            let before = ThreadUsage::now();
            fs::read(&path).unwrap();
            ThreadUsage::now().since(before).read
        });
        assert_eq!(other.join().unwrap(), ByteCount::ZERO, "it is in memory");
    }
}
