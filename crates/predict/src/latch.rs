//! A latch that one transaction has at a time, as a mutex in memory.

use std::collections::VecDeque;

/// Who has it, and those who wait for it in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    holder: Option<usize>,
    waiting: VecDeque<usize>,
}

impl Latch {
    /// A client wants it: whether it has it from now on.
    pub(crate) fn take(&mut self, client: usize) -> bool {
        if self.holder.is_some() {
            self.waiting.push_back(client);
            return false;
        }
        self.holder = Some(client);
        true
    }

    /// Who has it is done with it: who has it next.
    pub(crate) fn release(&mut self) -> Option<usize> {
        self.holder = self.waiting.pop_front();
        self.holder
    }

    pub(crate) fn is_held_by(&self, client: usize) -> bool {
        self.holder == Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let mut latch = Latch::default();
        assert!(latch.take(3));
        assert!(!latch.take(1));
        assert!(!latch.take(2));
        assert!(latch.is_held_by(3) && !latch.is_held_by(1));
        assert_eq!(latch.release(), Some(1));
        assert!(latch.is_held_by(1));
        assert_eq!(latch.release(), Some(2));
        assert_eq!(latch.release(), None);
        assert!(latch.take(1));
    }
}
