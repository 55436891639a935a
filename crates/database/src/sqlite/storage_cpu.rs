//! What a thread's reads, writes and flushes of files take of a processor, to be taken off what its
//! statements take.

use std::{cell::Cell, time::Duration};

use rustix::time::{ClockId, clock_gettime};

thread_local! {
    /// What they took since the watch began, in nanoseconds, and how many there were; `None`
    /// where nobody wants to know.
    static TAKEN: Cell<Option<StorageCpu>> = const { Cell::new(None) };
}

/// What reads, writes and flushes took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StorageCpu {
    pub(super) time: Duration,
    pub(super) calls: u64,
}

/// Time of this thread on a processor.
pub(super) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// A look at the clock, which takes about as long itself.
pub(super) fn look() -> Duration {
    const LOOKS: u32 = 1000;
    let begin = thread_time();
    for _ in 0..LOOKS {
        thread_time();
    }
    (thread_time() - begin) / (LOOKS + 1)
}

/// From now on it is noted what this thread's calls take.
pub(super) fn begin() {
    TAKEN.set(Some(StorageCpu::default()));
}

/// What they took since the last question.
pub(super) fn take() -> StorageCpu {
    let taken = TAKEN.get();
    if taken.is_some() {
        TAKEN.set(Some(StorageCpu::default()));
    }
    taken.unwrap_or_default()
}

/// Nobody wants to know any more.
pub(super) fn end() {
    TAKEN.set(None);
}

/// A call that reads, writes or flushes a file.
pub(super) fn of_call<T>(call: impl FnOnce() -> T) -> T {
    if TAKEN.get().is_none() {
        return call();
    }
    let begin = thread_time();
    let result = call();
    let time = thread_time() - begin;
    if let Some(taken) = TAKEN.get() {
        TAKEN.set(Some(StorageCpu {
            time: taken.time + time,
            calls: taken.calls + 1,
        }));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_take_is_noted_while_somebody_wants_to_know() {
        let work = || {
            let begin = thread_time();
            while thread_time() - begin < Duration::from_millis(2) {}
        };
        of_call(work);
        assert_eq!(take(), StorageCpu::default());
        begin();
        of_call(work);
        of_call(|| ());
        let taken = take();
        assert!(
            taken.time >= Duration::from_millis(2) && taken.calls == 2,
            "{taken:?}"
        );
        assert_eq!(take(), StorageCpu::default());
        end();
        assert!(look() < Duration::from_millis(1));
    }
}
