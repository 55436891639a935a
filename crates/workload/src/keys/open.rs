//! Key numbers that wait to be taken once more.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

/// The key numbers of inserts that failed and were given up, shared by all
/// clients of a run. Their records may be in the database or not.
///
/// Since a client takes its number from here before it takes a new one, there
/// are never more than clients take at a time.
#[derive(Debug)]
pub(crate) struct OpenKeys {
    /// How many there are, so that nobody takes the lock for nothing: failures
    /// are rare.
    count: AtomicUsize,
    numbers: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl OpenKeys {
    /// None yet. Allocates all memory that this many clients need.
    pub(crate) fn new(clients: u32) -> Self {
        Self {
            count: AtomicUsize::new(0),
            numbers: Mutex::new(BinaryHeap::with_capacity(clients as usize)),
        }
    }

    /// Adds a number.
    pub(crate) fn push(&self, number: u64) {
        let mut numbers = self.lock();
        numbers.push(Reverse(number));
        self.count.store(numbers.len(), SeqCst);
    }

    /// Takes the smallest number, if there is one: the limit of the
    /// acknowledged keys waits for it.
    pub(crate) fn pop(&self) -> Option<u64> {
        if self.count.load(SeqCst) == 0 {
            return None;
        }
        let mut numbers = self.lock();
        let number = numbers.pop().map(|Reverse(number)| number);
        self.count.store(numbers.len(), SeqCst);
        number
    }

    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<u64>>> {
        // Nothing panics while it is held.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_comes_first_and_each_once() {
        let keys = OpenKeys::new(3);
        assert_eq!(keys.pop(), None);
        for number in [7, 3, 5] {
            keys.push(number);
        }
        assert_eq!(keys.pop(), Some(3));
        keys.push(4);
        let left: Vec<u64> = std::iter::from_fn(|| keys.pop()).collect();
        assert_eq!(left, [4, 5, 7]);
        assert_eq!(keys.count.load(SeqCst), 0);
    }
}
