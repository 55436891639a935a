//! Holding the page cache of what a database reads to its share of the memory.
//!
//! A server's shared memory cannot be dropped, and is more than its buffer: of
//! PostgreSQL 15 by 9 MiB. Were the group held to the memory as a whole, nothing
//! would be left to the page cache of a small one once its buffer is full: each
//! read would be for nothing, and the server's own code be dropped.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use octavo_units::ByteCount;

use super::memory::MemoryGroup;

/// How often the group is brought back to its memory; at 500 MB/s, 5 MB are read meanwhile. Page caches
/// below [`SMALL`] are looked at more often by as much.
const INTERVAL: Duration = Duration::from_millis(10);
const SMALL: ByteCount = ByteCount::mib(16);

/// ... but no more often.
const INTERVAL_MIN: Duration = Duration::from_micros(500);

/// Of so many looks one asks what takes the memory, though it is no more than it may be. When each look
/// asked that, it was 2% of a processor (perf, Linux 6.18, control groups of version 1).
const THOROUGH_EACH: u64 = 10;

/// Limits a group to its processes' memory plus a share of page cache. Dropping it lifts the
/// limit, so that the server can end.
pub(crate) struct MemoryLimiter {
    shared: Arc<(Mutex<Limited>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

struct Limited {
    group: Arc<MemoryGroup>,
    memory: ByteCount,
    /// Of it, what the page cache may have.
    cache: ByteCount,
    private_max: ByteCount,
    /// What the group may take between two looks.
    headroom: ByteCount,
    /// What the group might have when it was last known what takes it.
    target: Option<ByteCount>,
    /// How often was looked, how often that failed, and by how many bytes in
    /// all the group was above its memory when it was looked at.
    looks: u64,
    failures: u64,
    above: u64,
    /// While the server is held still, and takes nothing.
    paused: bool,
    end: bool,
}

impl Limited {
    /// Brings the group back to what it may have.
    fn adjust(&mut self) {
        self.looks += 1;
        if !self.looks.is_multiple_of(THOROUGH_EACH)
            && let (Some(target), Ok(all)) = (self.target, self.group.all())
            && all <= target
        {
            return;
        }
        let Ok(held) = self.group.held() else {
            self.failures += 1;
            return;
        };
        if held.private > self.private_max {
            // Whatever the server does, it is not what was to be measured: the
            // kernel ends it, and the run says so.
            let _limited = self.group.shrink(self.memory, ByteCount::ZERO);
            return;
        }
        let target = self
            .cache
            .saturating_add(held.shared)
            .saturating_add(held.private)
            .saturating_add(held.unwritten);
        self.target = Some(target);
        self.above += held.all.get().saturating_sub(target.get());
        // What cannot be done now is done the next time.
        self.failures += u64::from(self.group.shrink(target, self.headroom).is_err());
    }

    /// Whether the group was held to its memory: hardly a look failed, and on
    /// average it was above by less than a tenth.
    fn held(&self) -> bool {
        let mean = self.above / self.looks.max(1);
        self.failures <= self.looks / 100 && mean < self.memory.get() / 10
    }
}

impl MemoryLimiter {
    /// Begins to hold the group's page cache to `cache`, a part of a database's `memory`. Its
    /// processes may take `private_max` for themselves: beyond it, something is wrong, and the
    /// kernel ends them. It does too where they take `headroom` between two looks.
    pub(crate) fn start(
        group: Arc<MemoryGroup>,
        memory: ByteCount,
        cache: ByteCount,
        private_max: ByteCount,
        headroom: ByteCount,
    ) -> Self {
        let mut limited = Limited {
            group,
            memory,
            cache,
            private_max,
            headroom,
            target: None,
            looks: 0,
            failures: 0,
            above: 0,
            paused: false,
            end: false,
        };
        limited.adjust();
        let share = (cache.get() as f64 / SMALL.get() as f64).min(1.0);
        let interval = INTERVAL.mul_f64(share).max(INTERVAL_MIN);
        let shared = Arc::new((Mutex::new(limited), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let (limited, changed) = &*theirs;
            let mut limited = limited.lock().unwrap_or_else(PoisonError::into_inner);
            while !limited.end {
                if limited.paused {
                    limited = changed
                        .wait(limited)
                        .unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                limited = changed
                    .wait_timeout(limited, interval)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                limited.adjust();
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Looks no more, until this is called with `false`.
    pub(crate) fn pause(&self, paused: bool) {
        self.lock().paused = paused;
        self.shared.1.notify_all();
    }

    /// Whether the group was held to its memory so far.
    pub(crate) fn held(&self) -> bool {
        self.lock().held()
    }

    fn lock(&self) -> MutexGuard<'_, Limited> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        self.lock().end = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ended = thread.join();
        }
        // Ending takes memory too.
        let _free = self.lock().group.limit(ByteCount::new(i64::MAX as u64));
    }
}
