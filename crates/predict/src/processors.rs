//! The processors that clients and database share.

use std::collections::VecDeque;

/// Processors, and those who wait for one in the order in which they came. Nobody is
/// interrupted: what is wanted at once is short.
#[derive(Debug)]
pub(crate) struct Processors {
    free: u32,
    waiting: VecDeque<usize>,
}

impl Processors {
    /// So many of them.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            free: count.max(1),
            waiting: VecDeque::new(),
        }
    }

    /// A client wants one: whether it has it from now on.
    pub(crate) fn take(&mut self, client: usize) -> bool {
        if self.free == 0 {
            self.waiting.push_back(client);
            return false;
        }
        self.free -= 1;
        true
    }

    /// A client is done with one: who has it next.
    pub(crate) fn release(&mut self) -> Option<usize> {
        let next = self.waiting.pop_front();
        self.free += u32::from(next.is_none());
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_is_served_first() {
        let mut processors = Processors::new(2);
        assert!(processors.take(0));
        assert!(processors.take(1));
        assert!(!processors.take(2));
        assert!(!processors.take(3));
        assert_eq!(processors.release(), Some(2));
        assert_eq!(processors.release(), Some(3));
        assert_eq!(processors.release(), None);
        assert!(processors.take(0));
    }
}
