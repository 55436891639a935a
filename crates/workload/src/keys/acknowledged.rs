//! The key numbers of the inserts of a run.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Hands out key numbers in order and knows up to which all are committed. It takes no lock,
/// so a descheduled client delays no other.
///
/// YCSB's `AcknowledgedCounterGenerator` acknowledges failed inserts as well
/// and throws when its window is full.
#[derive(Debug)]
pub(crate) struct AcknowledgedKeys {
    /// The first key number that was handed out here.
    start: u64,
    /// The next key number to hand out.
    next: AtomicU64,
    /// All key numbers below are acknowledged.
    limit: AtomicU64,
    /// A bit for each key number from `limit` on, at its distance from
    /// `start` modulo [`Self::WINDOW`].
    ///
    /// Whether a set bit means acknowledged changes with each lap round the
    /// window (see [`WindowBit`]). Nothing then has to be cleared when the limit
    /// passes, which is what YCSB's window needs its lock for.
    window: Box<[AtomicU64]>,
}

/// Where a key number's bit is.
#[derive(Clone, Copy)]
struct WindowBit {
    word: usize,
    bit: u64,
    /// The bit's value once acknowledged: set in the first lap and every
    /// second after it.
    is_set: bool,
}

impl AcknowledgedKeys {
    /// As many key numbers can be handed out beyond the first that is not
    /// acknowledged: YCSB's window.
    pub(crate) const WINDOW: u64 = 1 << 20;

    /// A sequence that begins behind `start` keys that exist.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            next: AtomicU64::new(start),
            limit: AtomicU64::new(start),
            window: (0..Self::WINDOW / 64).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// A new key number, or `None` while the window is full: [`Self::WINDOW`]
    /// keys were handed out since the oldest that is not acknowledged. It
    /// neither waits nor hands out one that could not be kept track of.
    pub(crate) fn next(&self) -> Option<u64> {
        self.next
            .try_update(SeqCst, SeqCst, |next| {
                // Others may have moved the limit beyond a `next` that is
                // stale by now; the exchange then fails and asks again.
                (next.saturating_sub(self.limit()) < Self::WINDOW).then_some(next + 1)
            })
            .ok()
    }

    /// Says that the row of `key`, a number from [`Self::next`], is committed.
    pub(crate) fn acknowledge(&self, key: u64) {
        debug_assert!(key < self.next.load(SeqCst), "key {key} was handed out");
        if key < self.limit() {
            return;
        }
        let WindowBit { word, bit, is_set } = self.bit_of(key);
        match is_set {
            true => self.window[word].fetch_or(bit, SeqCst),
            false => self.window[word].fetch_and(!bit, SeqCst),
        };
        // Whoever acknowledges the key at the limit moves it on, over all that
        // were acknowledged before. A thread that moved the limit to a key
        // looks at that key's bit afterwards; a thread that sets a key's bit
        // looks at the limit afterwards. So one of the two sees both.
        loop {
            let limit = self.limit();
            let WindowBit { word, bit, is_set } = self.bit_of(limit);
            // When the limit has moved since it was read, the bit may be of a
            // later lap; then the exchange fails, or who moved it goes on.
            if (self.window[word].load(SeqCst) & bit != 0) != is_set {
                return;
            }
            let _moved_by_another = self
                .limit
                .compare_exchange(limit, limit + 1, SeqCst, SeqCst);
        }
    }

    /// The number of keys from 0 on that are all acknowledged. Never falls.
    #[inline]
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(SeqCst)
    }

    fn bit_of(&self, key: u64) -> WindowBit {
        let distance = key - self.start;
        let position = distance % Self::WINDOW;
        WindowBit {
            word: (position / 64) as usize,
            bit: 1 << (position % 64),
            is_set: (distance / Self::WINDOW).is_multiple_of(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::atomic::AtomicBool, thread};

    #[test]
    fn the_limit_stops_at_the_oldest_open_key() {
        let keys = AcknowledgedKeys::new(10);
        let taken: Vec<u64> = (0..4).map_while(|_| keys.next()).collect();
        assert_eq!(taken, [10, 11, 12, 13]);
        for (key, limit) in [(11, 10), (13, 10), (10, 12), (10, 12), (12, 14)] {
            keys.acknowledge(key);
            assert_eq!(keys.limit(), limit, "after {key}");
        }
    }

    #[test]
    fn a_full_window_hands_out_nothing_until_the_oldest_is_acknowledged() {
        let keys = AcknowledgedKeys::new(5);
        for lap in 0..3 {
            let oldest = 5 + lap * AcknowledgedKeys::WINDOW;
            for key in oldest..oldest + AcknowledgedKeys::WINDOW {
                assert_eq!(keys.next(), Some(key));
            }
            assert_eq!(keys.next(), None);
            for key in oldest + 1..oldest + AcknowledgedKeys::WINDOW {
                keys.acknowledge(key);
            }
            assert_eq!((keys.limit(), keys.next()), (oldest, None));
            keys.acknowledge(oldest);
            assert_eq!(keys.limit(), oldest + AcknowledgedKeys::WINDOW);
        }
    }

    #[test]
    fn threads_get_each_key_once_and_the_limit_covers_only_acknowledged_ones() {
        const THREADS: u64 = 4;
        const EACH: u64 = 50_000;
        let keys = AcknowledgedKeys::new(0);
        let committed: Vec<AtomicBool> = (0..THREADS * EACH)
            .map(|_| AtomicBool::new(false))
            .collect();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    // Keys are held back in turn, so that they are
                    // acknowledged out of order.
                    let mut held = None;
                    for _ in 0..EACH {
                        let key = keys.next().unwrap();
                        if let Some(key) = held.replace(key) {
                            let twice = committed[key as usize].swap(true, SeqCst);
                            assert!(!twice, "key {key} was handed out twice");
                            keys.acknowledge(key);
                        }
                        if let Some(last) = keys.limit().checked_sub(1) {
                            assert!(committed[last as usize].load(SeqCst));
                        }
                    }
                    let key = held.unwrap();
                    committed[key as usize].store(true, SeqCst);
                    keys.acknowledge(key);
                });
            }
        });
        assert_eq!(keys.limit(), THREADS * EACH);
    }
}
