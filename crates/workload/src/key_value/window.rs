//! The keys of one table in one run: which are there, shared by all clients.
//!
//! Keys have numbers in the order in which they were made. New ones are added behind the last, and
//! the first are removed, so that the keys that are there are those between two numbers, and all
//! clients know it without asking the database.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::{
    keys::{AcknowledgedKeys, Chooser, Distribution, Growth, OpenKeys},
    random::Draws,
};

/// How many numbers a removal tries before it gives way to an insert: they belong to transactions
/// that write them at this moment. Chosen.
const TRIES: u32 = 8;

/// The keys of a table.
#[derive(Debug)]
pub(super) struct Window {
    loaded: u64,
    /// Numbers that keys of this length can have.
    capacity: u64,
    /// Whether keys are removed.
    shrinks: bool,
    distribution: Distribution,
    inserted: AcknowledgedKeys,
    /// Numbers of inserts that were given up.
    to_insert: OpenKeys,
    /// The first number that nobody was given to remove.
    first: AtomicU64,
    /// Numbers that were given and not removed.
    to_delete: OpenKeys,
    /// The least number that each client writes; [`IDLE`] when it writes none.
    written: Box<[AtomicU64]>,
}

/// No number is so large.
const IDLE: u64 = u64::MAX;

/// A number to insert or to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) number: u64,
    /// Whether somebody tried before, so that it may be done already.
    pub(super) is_doubtful: bool,
}

/// What is done with a table's keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) distribution: Distribution,
    pub(super) inserts: bool,
    pub(super) deletes: bool,
    /// Whether keys that are there are read or written.
    pub(super) draws: bool,
}

impl Window {
    pub(super) fn new(loaded: u64, capacity: u64, of: Use, clients: u32) -> Self {
        Self {
            loaded,
            capacity,
            shrinks: of.deletes,
            distribution: of.distribution,
            inserted: AcknowledgedKeys::new(loaded),
            to_insert: OpenKeys::new(clients),
            first: AtomicU64::new(0),
            to_delete: OpenKeys::new(clients),
            written: (0..clients).map(|_| AtomicU64::new(IDLE)).collect(),
        }
    }

    /// What keys are drawn by; `None` where none are.
    pub(super) fn chooser(&self, of: Use) -> Option<Chooser> {
        let growth = match of.inserts && !of.deletes {
            true => Growth::Growing,
            false => Growth::Fixed,
        };
        of.draws
            .then(|| Chooser::new(of.distribution, self.loaded, growth))
    }

    /// How many keys a chooser chooses from.
    pub(super) fn choice(&self) -> u64 {
        match self.shrinks {
            true => self.loaded,
            false => self.inserted.limit(),
        }
    }

    /// The number of the oldest key, and the one behind the newest.
    pub(super) fn bounds(&self) -> (u64, u64) {
        (self.first.load(SeqCst), self.inserted.limit())
    }

    /// Where a range of keys that follow each other begins, so that it has `length` of them if the table has:
    /// one that would run into the end begins earlier.
    pub(super) fn back_from_the_end(&self, number: u64, length: u32) -> u64 {
        let (first, end) = self.bounds();
        number.min(end.saturating_sub(length.into()).max(first))
    }

    /// Draws a key that is there, unless it is removed meanwhile: [`Self::may_be_gone`].
    ///
    /// Where keys are removed, as many are drawn from as were loaded: the newest. Each stays as
    /// likely as the one that it comes after, as many numbers before it as were loaded.
    pub(super) fn draw(&self, chooser: &mut Chooser, draws: &mut Draws) -> u64 {
        let drawn = chooser.draw(draws, self.choice());
        if !self.shrinks {
            return drawn;
        }
        let (limit, first) = (self.inserted.limit(), self.first.load(SeqCst));
        let number = match self.distribution {
            Distribution::Latest(_) => limit - self.loaded + drawn,
            _ => drawn + (limit - 1 - drawn) / self.loaded * self.loaded,
        };
        match number >= first {
            true => number,
            // Removed, and not replaced yet.
            false => first + drawn % (limit - first).max(1),
        }
    }

    /// The same of a key to write, which is not removed until [`Self::release`].
    pub(super) fn draw_to_write(
        &self,
        client: usize,
        chooser: &mut Chooser,
        draws: &mut Draws,
    ) -> u64 {
        loop {
            let number = self.draw(chooser, draws);
            // Whoever removes keys first takes a number and then looks here; this writes here and
            // then looks at the number. So one of the two sees the other.
            self.written[client].fetch_min(number, SeqCst);
            if !self.may_be_gone(number) {
                return number;
            }
        }
    }

    /// A client's transaction is over.
    pub(super) fn release(&self, client: usize) {
        self.written[client].store(IDLE, SeqCst);
    }

    /// Whether a key that was there may be removed by now.
    pub(super) fn may_be_gone(&self, number: u64) -> bool {
        number < self.first.load(SeqCst)
    }

    /// A new key; `None` where there can be no more.
    pub(super) fn take_new(&self) -> Option<Taken> {
        if let Some(number) = self.to_insert.pop() {
            return Some(Taken {
                number,
                is_doubtful: true,
            });
        }
        let number = self.inserted.next().filter(|new| *new < self.capacity)?;
        Some(Taken {
            number,
            is_doubtful: false,
        })
    }

    /// The oldest key, to be removed; `None` while half of the loaded number is left, or others
    /// write those that are next.
    pub(super) fn take_oldest(&self, client: usize) -> Option<Taken> {
        if let Some(number) = self.to_delete.pop() {
            if !self.is_written(number, client) {
                return Some(Taken {
                    number,
                    is_doubtful: true,
                });
            }
            self.to_delete.push(number);
        }
        for _ in 0..TRIES {
            let limit = self.inserted.limit();
            // The last one stays, as half of one is.
            let next = |first: u64| {
                let left = limit - first;
                (left > 1 && left * 2 > self.loaded).then_some(first + 1)
            };
            let number = self.first.try_update(SeqCst, SeqCst, next).ok()?;
            if !self.is_written(number, client) {
                return Some(Taken {
                    number,
                    is_doubtful: false,
                });
            }
            self.to_delete.push(number);
        }
        None
    }

    /// Whether another client may write a key. It may be a larger one that it writes.
    fn is_written(&self, number: u64, client: usize) -> bool {
        let mut others = self.written.iter().enumerate();
        others.any(|(of, least)| of != client && least.load(SeqCst) <= number)
    }

    /// A new key is committed.
    pub(super) fn inserted(&self, number: u64) {
        self.inserted.acknowledge(number);
    }

    /// An insert was given up: the next one has its key.
    pub(super) fn give_up_new(&self, number: u64) {
        self.to_insert.push(number);
    }

    /// The same of a removal.
    pub(super) fn give_up_oldest(&self, number: u64) {
        self.to_delete.push(number);
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::keys::{Hotspot, Theta};

    #[test]
    fn a_table_of_one_key_keeps_it() {
        let (window, _) = window(1, Distribution::Uniform, true);
        assert!(window.take_oldest(0).is_none());
        let new = window.take_new().unwrap();
        window.inserted(new.number);
        assert_eq!(window.take_oldest(0).unwrap().number, 0);
        assert_eq!(window.bounds(), (1, 2));
        assert!(window.take_oldest(0).is_none());
        // Ranges begin where they have their length, but not before the oldest key.
        for number in 2..10 {
            let new = window.take_new().unwrap();
            assert_eq!(new.number, number);
            window.inserted(number);
        }
        assert_eq!(window.back_from_the_end(9, 4), 6);
        assert_eq!(window.back_from_the_end(2, 4), 2);
        assert_eq!(window.back_from_the_end(9, 100), 1);
    }

    fn window(loaded: u64, distribution: Distribution, deletes: bool) -> (Window, Chooser) {
        let of = Use {
            distribution,
            inserts: true,
            deletes,
            draws: true,
        };
        let window = Window::new(loaded, 1 << 40, of, 2);
        let chooser = window.chooser(of).unwrap();
        (window, chooser)
    }

    fn insert(window: &Window) -> u64 {
        let new = window.take_new().unwrap();
        window.inserted(new.number);
        new.number
    }

    #[test]
    fn drawn_keys_are_there_while_others_come_and_go() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Sequential,
            Distribution::Zipfian(Theta::YCSB),
            Distribution::TrueZipfian(Theta::YCSB),
            Distribution::Latest(Theta::YCSB),
            Distribution::Hotspot(Hotspot::DEFAULT),
        ] {
            let (window, mut chooser) = window(100, distribution, true);
            let mut draws = Draws::new(Seed::new(1));
            let (mut first, mut limit) = (0, 100);
            for step in 0..5000_u64 {
                match step * step % 7 {
                    0..3 => limit = insert(&window) + 1,
                    3..5 => {
                        if let Some(oldest) = window.take_oldest(0) {
                            assert_eq!(oldest.number, first);
                            first += 1;
                        }
                    }
                    _ => {}
                }
                let number = window.draw(&mut chooser, &mut draws);
                assert!((first..limit).contains(&number), "{distribution}: {number}");
            }
            assert!(first > 500, "{first}");
        }
    }

    #[test]
    fn a_likely_key_is_followed_by_a_likely_one() {
        let (window, mut chooser) = window(100, Distribution::TrueZipfian(Theta::YCSB), true);
        let mut draws = Draws::new(Seed::new(1));
        for _ in 0..30 {
            insert(&window);
            window.take_oldest(0);
        }
        let mut counts = [0; 130];
        for _ in 0..10_000 {
            counts[window.draw(&mut chooser, &mut draws) as usize] += 1;
        }
        assert_eq!(counts[..30].iter().sum::<u32>(), 0);
        // The likeliest was 0, which is 100 now.
        let likeliest = counts.iter().max().unwrap();
        assert_eq!(&counts[100], likeliest);
    }

    #[test]
    fn half_of_the_keys_stay() {
        let (window, _) = window(100, Distribution::Uniform, true);
        let mut removed = 0;
        while window.take_oldest(0).is_some() {
            removed += 1;
        }
        assert_eq!(removed, 50);
        insert(&window);
        insert(&window);
        assert!(window.take_oldest(0).is_some());
    }

    #[test]
    fn a_key_that_another_client_writes_is_not_removed() {
        let (window, mut chooser) = window(100, Distribution::Sequential, true);
        let mut draws = Draws::new(Seed::new(1));
        let written = window.draw_to_write(1, &mut chooser, &mut draws);
        assert_eq!(written, 0);
        // Those behind it may be written too.
        assert_eq!(window.take_oldest(0), None);
        assert!(window.take_oldest(1).is_some(), "its own");
        window.release(1);
        let taken = window.take_oldest(0).unwrap();
        assert_eq!((taken.number, taken.is_doubtful), (1, true));
    }

    #[test]
    fn what_was_given_up_comes_again() {
        let (window, _) = window(10, Distribution::Uniform, true);
        let new = window.take_new().unwrap();
        window.give_up_new(new.number);
        let again = window.take_new().unwrap();
        assert_eq!((again.number, again.is_doubtful), (10, true));
        let old = window.take_oldest(0).unwrap();
        window.give_up_oldest(old.number);
        let again = window.take_oldest(0).unwrap();
        assert_eq!((again.number, again.is_doubtful), (0, true));
    }

    #[test]
    fn keys_end_with_their_length() {
        let of = Use {
            distribution: Distribution::Uniform,
            inserts: true,
            deletes: false,
            draws: false,
        };
        let window = Window::new(10, 12, of, 1);
        assert!(window.chooser(of).is_none());
        let new: Vec<u64> = (0..2).map(|_| insert(&window)).collect();
        assert_eq!(new, [10, 11]);
        assert_eq!(window.take_new(), None);
    }
}
