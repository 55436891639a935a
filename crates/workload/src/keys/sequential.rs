//! One key after the other.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Whose turn it is, shared by all clients of a run, as YCSB's
/// `SequentialGenerator` is.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU64);

impl Turn {
    /// The next key from 0 to below `keys`, of which there is at least one;
    /// after the last the first again.
    pub(crate) fn next(&self, keys: u64) -> u64 {
        // A client that knows of more keys may have been beyond.
        let wrapped = |key: u64| if key < keys { key } else { 0 };
        let key = self.0.update(Relaxed, Relaxed, |key| wrapped(key) + 1);
        wrapped(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_turn_while_they_grow() {
        let turn = Turn::default();
        let keys: Vec<u64> = [2, 2, 2, 4, 4, 4, 4, 3]
            .into_iter()
            .map(|keys| turn.next(keys))
            .collect();
        assert_eq!(keys, [0, 1, 0, 1, 2, 3, 0, 1]);
    }
}
