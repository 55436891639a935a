//! Translation by whole superblocks, with replacement blocks.
//!
//! Each superblock of the device lies in one physical superblock. New data of
//! it goes, in the order of writing, to the *replacement* (or log) block that
//! it holds; the replacement is merged with the data when it is full, or when
//! another superblock needs it and it was the one written longest ago:
//!
//! - *switch merge*: the replacement holds all superpages in order and becomes
//!   the data block: one erase;
//! - *partial merge*: it holds the first ones in order: the rest is copied
//!   behind them: one erase;
//! - *full merge*: everything valid is copied to a free superblock, and both
//!   are erased.
//!
//! This is BAST (Kim et al., "A space-efficient flash translation layer for
//! CompactFlash systems", IEEE Transactions on Consumer Electronics 48(2),
//! 2002). Without replacements each write rewrites its superblock at once:
//! pages x (tR + 2 tX + tP) + tE. Random writes to more superblocks than there
//! are replacements cost a full merge each; to fewer, a share of one.
//!
//! Only the order in a replacement matters to what a merge costs, not which
//! superpage lies where: every valid one is read once.

use super::{
    gang::Work,
    pool::{Change, NONE, Pool, Shape},
};

/// What the layers that map superblocks have in common. Each call returns what
/// it takes.
pub(super) trait Mapping {
    /// Writes superpages of one superblock, in this order.
    fn write(&mut self, superblock: u32, changes: &[Change]) -> Work;
    /// Says that a superpage is of no use any more.
    fn trim(&mut self, superblock: u32, superpage: u32) -> Work;
    /// Whether a superpage holds data.
    fn holds(&self, superblock: u32, superpage: u32) -> bool;
    /// How often superblocks were erased.
    #[cfg(test)]
    fn wear(&self) -> super::pool::Wear;
    /// Bytes that this keeps in memory.
    #[cfg(test)]
    fn bytes(&self) -> u64;
}

/// A replacement block in use.
#[derive(Clone, Copy, Debug)]
struct Replacement {
    superblock: u32,
    physical: u32,
    /// Superpages written.
    written: u32,
    /// Each superpage lies where it does in the data block.
    in_order: bool,
    /// Neighbours in the order of use of the way; [`NONE`] at the ends.
    earlier: u32,
    later: u32,
}

/// The replacements of one way, by use.
#[derive(Clone, Copy, Debug)]
struct Uses {
    earliest: u32,
    latest: u32,
    count: u32,
}

/// Superblocks with replacement blocks of their own.
#[derive(Clone, Debug)]
pub(super) struct Replaced {
    pool: Pool,
    /// Index into `replacements` by superblock, or [`NONE`].
    replacement: Vec<u32>,
    replacements: Vec<Replacement>,
    unused: Vec<u32>,
    uses: Vec<Uses>,
}

impl Replaced {
    pub(super) fn full(shape: Shape) -> Self {
        Self {
            pool: Pool::full(shape),
            replacement: vec![NONE; shape.superblocks as usize],
            replacements: Vec::new(),
            unused: Vec::new(),
            uses: vec![
                Uses {
                    earliest: NONE,
                    latest: NONE,
                    count: 0,
                };
                shape.ways as usize
            ],
        }
    }

    fn shape(&self) -> &Shape {
        &self.pool.shape
    }

    /// Copies what stays, writes what changes, erases what was.
    fn rewrite(&mut self, superblock: u32, changes: &[Change]) -> Work {
        let mut work = Work {
            copies: self.pool.valid_from(superblock, 0),
            ..Work::default()
        };
        for change in changes {
            let bit = self.shape().bit(superblock, change.superpage);
            let keeps = self.pool.valid.has(bit);
            work.copies -= u32::from(keeps);
            work.add(change.work(keeps));
            self.pool.valid.put(bit, true);
        }
        let physical = self.pool.take(self.shape().way(superblock));
        work.add(self.pool.replace(superblock, physical));
        work
    }

    /// Merges a replacement with its data.
    fn merge(&mut self, index: u32) -> Work {
        let Replacement {
            superblock,
            physical,
            written,
            in_order,
            ..
        } = self.replacements[index as usize];
        let way = self.shape().way(superblock);
        self.unlink(way, index);
        self.uses[way].count -= 1;
        self.replacement[superblock as usize] = NONE;
        self.unused.push(index);
        if in_order {
            let mut work = Work {
                copies: self.pool.valid_from(superblock, written),
                ..Work::default()
            };
            work.add(self.pool.replace(superblock, physical));
            return work;
        }
        let mut work = Work {
            copies: self.pool.valid_from(superblock, 0),
            ..Work::default()
        };
        if work.copies == 0 {
            work.add(self.pool.release(superblock));
        } else {
            let target = self.pool.take(way);
            work.add(self.pool.replace(superblock, target));
        }
        work.add(self.pool.erase(way, physical));
        work
    }

    /// A replacement with room for the superblock, and what making one took.
    fn room(&mut self, superblock: u32) -> (u32, Work) {
        let mut work = Work::default();
        let way = self.shape().way(superblock);
        let held = self.replacement[superblock as usize];
        if held != NONE {
            if self.replacements[held as usize].written < self.shape().superpages {
                return (held, work);
            }
            work.add(self.merge(held));
        } else if self.uses[way].count == self.shape().replacements {
            work.add(self.merge(self.uses[way].earliest));
        }
        let replacement = Replacement {
            superblock,
            physical: self.pool.take(way),
            written: 0,
            in_order: true,
            earlier: NONE,
            later: NONE,
        };
        let index = match self.unused.pop() {
            Some(index) => {
                self.replacements[index as usize] = replacement;
                index
            }
            None => {
                self.replacements.push(replacement);
                (self.replacements.len() - 1) as u32
            }
        };
        self.uses[way].count += 1;
        self.replacement[superblock as usize] = index;
        self.link(way, index);
        (index, work)
    }

    fn unlink(&mut self, way: usize, index: u32) {
        let Replacement { earlier, later, .. } = self.replacements[index as usize];
        match earlier {
            NONE => self.uses[way].earliest = later,
            _ => self.replacements[earlier as usize].later = later,
        }
        match later {
            NONE => self.uses[way].latest = earlier,
            _ => self.replacements[later as usize].earlier = earlier,
        }
    }

    /// Makes it the latest used.
    fn link(&mut self, way: usize, index: u32) {
        let latest = std::mem::replace(&mut self.uses[way].latest, index);
        match latest {
            NONE => self.uses[way].earliest = index,
            _ => self.replacements[latest as usize].later = index,
        }
        let replacement = &mut self.replacements[index as usize];
        replacement.earlier = latest;
        replacement.later = NONE;
    }
}

impl Mapping for Replaced {
    fn write(&mut self, superblock: u32, changes: &[Change]) -> Work {
        if self.shape().replacements == 0 {
            return self.rewrite(superblock, changes);
        }
        let way = self.shape().way(superblock);
        let mut work = Work::default();
        for change in changes {
            let (index, room) = self.room(superblock);
            work.add(room);
            let bit = self.shape().bit(superblock, change.superpage);
            work.add(change.work(self.pool.valid.has(bit)));
            self.pool.valid.put(bit, true);
            let superpages = self.shape().superpages;
            let replacement = &mut self.replacements[index as usize];
            replacement.in_order &= replacement.written == change.superpage;
            replacement.written += 1;
            // Nothing is gained by keeping one that is as the data should be.
            if replacement.in_order && replacement.written == superpages {
                work.add(self.merge(index));
            } else if self.uses[way].latest != index {
                self.unlink(way, index);
                self.link(way, index);
            }
        }
        work
    }

    fn trim(&mut self, superblock: u32, superpage: u32) -> Work {
        let bit = self.shape().bit(superblock, superpage);
        self.pool.valid.put(bit, false);
        if self.pool.valid_from(superblock, 0) > 0 {
            return Work::default();
        }
        match self.replacement[superblock as usize] {
            NONE => self.pool.release(superblock),
            index => {
                // A replacement with nothing in it is not worth keeping.
                self.replacements[index as usize].in_order = false;
                self.merge(index)
            }
        }
    }

    fn holds(&self, superblock: u32, superpage: u32) -> bool {
        self.pool.valid.has(self.shape().bit(superblock, superpage))
    }

    #[cfg(test)]
    fn wear(&self) -> super::pool::Wear {
        self.pool.wear()
    }

    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.pool.bytes()
            + 4 * (self.replacement.len() + self.unused.capacity()) as u64
            + (self.replacements.capacity() * size_of::<Replacement>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt;

    use super::*;

    const SUPERPAGES: u32 = 64;

    fn shape(superblocks: u32, replacements: u32) -> Shape {
        Shape {
            superblocks,
            superpages: SUPERPAGES,
            ways: 1,
            replacements,
            spares: 2,
            levelling_spread: 0,
        }
    }

    fn whole(superpage: u32) -> Change {
        Change {
            superpage,
            bytes: 4096,
            whole: true,
        }
    }

    fn work(copies: u32, programs: u32, erases: u32) -> Work {
        Work {
            copies,
            programs,
            erases,
            ..Work::default()
        }
    }

    #[test]
    fn without_replacements_each_write_rewrites_its_superblock() {
        let mut mapping = Replaced::full(shape(4, 0));
        assert_eq!(mapping.write(2, &[whole(17)]), work(63, 1, 1));
        assert_eq!(mapping.write(2, &[whole(18), whole(3)]), work(62, 2, 1));
        let half = Change {
            superpage: 5,
            bytes: 2048,
            whole: false,
        };
        let filled = Work {
            fills: 1,
            fill_bytes: 2048,
            ..work(63, 0, 1)
        };
        assert_eq!(mapping.write(2, &[half]), filled);
        // Of a superpage without data nothing is kept, nor copied.
        mapping.trim(2, 5);
        assert_eq!(mapping.write(2, &[half]), work(63, 1, 1));
        mapping.trim(2, 6);
        assert_eq!(mapping.write(2, &[whole(7)]), work(62, 1, 1));
    }

    #[test]
    fn each_merge_takes_what_it_is_known_for() {
        // Switch: in order and complete.
        let mut mapping = Replaced::full(shape(4, 1));
        let mut sum = Work::default();
        for superpage in 0..SUPERPAGES {
            sum.add(mapping.write(1, &[whole(superpage)]));
        }
        assert_eq!(sum, work(0, 64, 1));
        // Partial: the first ten in order, then another superblock's turn.
        for superpage in 0..10 {
            assert_eq!(mapping.write(2, &[whole(superpage)]), work(0, 1, 0));
        }
        assert_eq!(mapping.write(3, &[whole(40)]), work(54, 1, 1));
        // Full: out of order, however little it is.
        assert_eq!(mapping.write(1, &[whole(1)]), work(64, 1, 2));
        // Full: no room for the 65th.
        for _ in 1..64 {
            assert_eq!(mapping.write(1, &[whole(1)]), work(0, 1, 0));
        }
        assert_eq!(mapping.write(1, &[whole(1)]), work(64, 1, 2));
        // One of 1 and 63 of 2 are left to copy.
        for superpage in 0..SUPERPAGES - 1 {
            mapping.trim(1, superpage);
        }
        assert_eq!(mapping.write(2, &[whole(1)]), work(1, 1, 2));
        // A superblock without data takes no space.
        for superpage in 0..SUPERPAGES - 1 {
            assert_eq!(mapping.trim(2, superpage), Work::default());
        }
        assert_eq!(mapping.trim(2, SUPERPAGES - 1), work(0, 0, 2));
        assert!(!mapping.holds(2, 1));
    }

    #[test]
    fn the_replacement_written_longest_ago_is_merged() {
        let mut mapping = Replaced::full(shape(8, 3));
        for superblock in [0, 1, 2, 0] {
            assert_eq!(mapping.write(superblock, &[whole(9)]), work(0, 1, 0));
        }
        // 1 goes for 3, then 2 for 1; 0 and 3 stay.
        assert_eq!(mapping.write(3, &[whole(9)]), work(64, 1, 2));
        assert_eq!(mapping.write(1, &[whole(9)]), work(64, 1, 2));
        for superblock in [0, 3, 1] {
            assert_eq!(mapping.write(superblock, &[whole(9)]), work(0, 1, 0));
        }
    }

    /// Superblocks erased for each random write to the first `range`
    /// superblocks of a drive with 32 replacements.
    fn erases_per_write(range: u32) -> f64 {
        let mut mapping = Replaced::full(shape(256, 32));
        let mut generator = Seed::new(7).derive("writes", u64::from(range)).generator();
        let mut random = |writes: u32| -> u32 {
            (0..writes)
                .map(|_| {
                    let superblock = generator.random_range(0..range);
                    let superpage = generator.random_range(0..SUPERPAGES);
                    mapping.write(superblock, &[whole(superpage)]).erases
                })
                .sum()
        };
        random(100_000);
        f64::from(random(100_000)) / 1e5
    }

    #[test]
    fn the_cliff_lies_at_the_number_of_replacements() {
        // Up to 32 superblocks each keeps its replacement: every 64 writes
        // fill one, and it and the data are erased.
        for range in [8, 32] {
            let erases = erases_per_write(range);
            assert!(
                (erases * 64.0 / 2.0 - 1.0).abs() < 0.02,
                "{range}: {erases}"
            );
        }
        // Beyond, a write finds the replacement of its superblock with
        // 32 / range (the least recently used of equally likely ones leaves),
        // and merges another one's otherwise. A replacement with nothing but
        // superpage 0 is in order, so that it takes one erase less: it is if
        // one write came (32 misses of all in a row: 1 - 32 / range), to it.
        for range in [40, 64, 256] {
            let miss = 1.0 - 32.0 / f64::from(range);
            let expected = miss * (2.0 - miss / 64.0);
            let erases = erases_per_write(range);
            assert!(
                (erases / expected - 1.0).abs() < 0.03,
                "{range}: {erases} for {expected}"
            );
        }
    }
}
