//! Translation by whole superblocks, with log blocks that all share.
//!
//! New data of any superblock goes to the *random* log blocks in the order of
//! writing, so that few superblocks with many writes cannot use up the log
//! while the rest of it lies idle. Data that begins a superblock, and what
//! follows it in order, goes to the one *sequential* log block, which replaces
//! the data block by a switch or a partial merge.
//!
//! When all random log blocks are full, the one begun first is reclaimed: each
//! superblock that still has data in it is merged fully, with all that any log
//! block holds of it. This is FAST (Lee et al., "A log buffer-based flash
//! translation layer using fully-associative sector translation", ACM
//! Transactions on Embedded Computing Systems 6(3), 2007). There a write that
//! breaks the sequence of the sequential log block merges that block; here it
//! goes to the random ones. Ways have logs of their own, since copying within
//! a chip does not leave it.

use std::collections::VecDeque;

use super::{
    block::Mapping,
    gang::Work,
    pool::{Change, NONE, Pool, Shape},
};

/// A log block for superpages of any superblock.
#[derive(Clone, Debug)]
struct RandomLog {
    physical: u32,
    /// Which superpage (superblock x superpages + superpage) each slot was
    /// written with.
    slots: Vec<u64>,
}

/// The log block for data in order.
#[derive(Clone, Copy, Debug)]
struct SequentialLog {
    superblock: u32,
    physical: u32,
    written: u32,
}

#[derive(Clone, Debug, Default)]
struct Logs {
    /// The last one is being written.
    random: VecDeque<RandomLog>,
    sequential: Option<SequentialLog>,
    /// Random log blocks that were reclaimed in all: the number of the first.
    reclaimed: u32,
}

/// Superblocks with a log that they share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pool: Pool,
    /// For each superpage, the number of the random log block that holds its
    /// latest data, modulo 2^32 less one, or [`NONE`].
    logged: Vec<u32>,
    logs: Vec<Logs>,
}

impl Shared {
    /// With at least 2 replacements a way: one is the sequential log block.
    pub(super) fn full(shape: Shape) -> Self {
        let superpages = u64::from(shape.superblocks) * u64::from(shape.superpages);
        Self {
            pool: Pool::full(shape),
            logged: vec![NONE; usize::try_from(superpages).expect("checked with the shape")],
            logs: vec![Logs::default(); shape.ways as usize],
        }
    }

    fn shape(&self) -> &Shape {
        &self.pool.shape
    }

    /// The sequential log block becomes the data block.
    fn merge_sequential(&mut self, way: usize) -> Work {
        let Some(SequentialLog {
            superblock,
            physical,
            written,
        }) = self.logs[way].sequential.take()
        else {
            return Work::default();
        };
        // What the random log blocks hold stays there.
        let first = self.shape().bit(superblock, written);
        let end = self.shape().bit(superblock, self.shape().superpages);
        let copies = (first..end)
            .filter(|bit| self.pool.valid.has(*bit) && self.logged[*bit as usize] == NONE)
            .count();
        let mut work = Work {
            copies: copies as u32,
            ..Work::default()
        };
        work.add(self.pool.replace(superblock, physical));
        work
    }

    /// Brings all data of a superblock together.
    fn merge_fully(&mut self, way: usize, superblock: u32) -> Work {
        let mut work = Work {
            copies: self.pool.valid_from(superblock, 0),
            ..Work::default()
        };
        for superpage in 0..self.shape().superpages {
            let bit = self.shape().bit(superblock, superpage);
            self.logged[bit as usize] = NONE;
        }
        if work.copies == 0 {
            work.add(self.pool.release(superblock));
        } else {
            let target = self.pool.take(way);
            work.add(self.pool.replace(superblock, target));
        }
        if let Some(sequential) = self.logs[way].sequential
            && sequential.superblock == superblock
        {
            self.logs[way].sequential = None;
            work.add(self.pool.erase(way, sequential.physical));
        }
        work
    }

    /// Makes the random log block that was begun first free.
    fn reclaim(&mut self, way: usize) -> Work {
        let number = self.logs[way].reclaimed;
        let log = self.logs[way]
            .random
            .pop_front()
            .expect("it is reclaimed when there are several");
        let mut work = Work::default();
        for bit in log.slots {
            if self.logged[bit as usize] == number {
                let superblock = (bit / u64::from(self.shape().superpages)) as u32;
                work.add(self.merge_fully(way, superblock));
            }
        }
        let logs = &mut self.logs[way];
        logs.reclaimed = (number + 1) % NONE;
        work.add(self.pool.erase(way, log.physical));
        work
    }

    /// Writes a superpage to the random log blocks.
    fn log(&mut self, way: usize, bit: u64) -> Work {
        let superpages = self.shape().superpages as usize;
        // One replacement is the sequential log block.
        let random_max = self.shape().replacements as usize - 1;
        let mut work = Work::default();
        let full = |logs: &Logs| {
            logs.random
                .back()
                .is_none_or(|log| log.slots.len() == superpages)
        };
        if full(&self.logs[way]) {
            if self.logs[way].random.len() == random_max {
                work.add(self.reclaim(way));
            }
            let physical = self.pool.take(way);
            self.logs[way].random.push_back(RandomLog {
                physical,
                slots: Vec::with_capacity(superpages),
            });
        }
        let logs = &mut self.logs[way];
        let last = logs.random.len() as u32 - 1;
        let log = logs.random.back_mut().expect("one was just begun");
        log.slots.push(bit);
        // Numbers go round below NONE.
        let number = (u64::from(logs.reclaimed) + u64::from(last)) % u64::from(NONE);
        self.logged[bit as usize] = number as u32;
        work
    }
}

impl Mapping for Shared {
    fn write(&mut self, superblock: u32, changes: &[Change]) -> Work {
        let way = self.shape().way(superblock);
        let superpages = self.shape().superpages;
        let mut work = Work::default();
        for change in changes {
            let bit = self.shape().bit(superblock, change.superpage);
            let keeps = self.pool.valid.has(bit);
            work.add(change.work(keeps));
            self.pool.valid.put(bit, true);
            if change.superpage == 0 {
                work.add(self.merge_sequential(way));
                let physical = self.pool.take(way);
                self.logs[way].sequential = Some(SequentialLog {
                    superblock,
                    physical,
                    written: 0,
                });
            }
            match &mut self.logs[way].sequential {
                Some(sequential)
                    if sequential.superblock == superblock
                        && sequential.written == change.superpage =>
                {
                    sequential.written += 1;
                    let complete = sequential.written == superpages;
                    self.logged[bit as usize] = NONE;
                    if complete {
                        work.add(self.merge_sequential(way));
                    }
                }
                _ => work.add(self.log(way, bit)),
            }
        }
        work
    }

    fn trim(&mut self, superblock: u32, superpage: u32) -> Work {
        let bit = self.shape().bit(superblock, superpage);
        self.pool.valid.put(bit, false);
        self.logged[bit as usize] = NONE;
        if self.pool.valid_from(superblock, 0) > 0 {
            return Work::default();
        }
        self.merge_fully(self.shape().way(superblock), superblock)
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
        let slots: usize = self
            .logs
            .iter()
            .flat_map(|logs| &logs.random)
            .map(|log| log.slots.capacity())
            .sum();
        self.pool.bytes() + 4 * self.logged.len() as u64 + 8 * slots as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUPERPAGES: u32 = 8;

    /// 3 random log blocks and the sequential one.
    fn mapping() -> Shared {
        Shared::full(Shape {
            superblocks: 16,
            superpages: SUPERPAGES,
            ways: 1,
            replacements: 4,
            spares: 2,
            levelling_spread: 0,
        })
    }

    fn write(mapping: &mut Shared, superblock: u32, superpage: u32) -> Work {
        let change = Change {
            superpage,
            bytes: 4096,
            whole: true,
        };
        mapping.write(superblock, &[change])
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
    fn data_in_order_is_switched_or_merged_partially() {
        let mut mapping = mapping();
        for superpage in 0..SUPERPAGES - 1 {
            assert_eq!(write(&mut mapping, 3, superpage), work(0, 1, 0));
        }
        assert_eq!(write(&mut mapping, 3, SUPERPAGES - 1), work(0, 1, 1));
        for superpage in 0..3 {
            write(&mut mapping, 4, superpage);
        }
        // Superpage 6 of 4 is in the random log, so that 3, 4, 5 and 7 are
        // copied when another superblock begins.
        assert_eq!(write(&mut mapping, 4, 6), work(0, 1, 0));
        assert_eq!(write(&mut mapping, 5, 0), work(4, 1, 1));
    }

    #[test]
    fn reclaiming_merges_each_superblock_once_with_all_its_data() {
        let mut mapping = mapping();
        // 24 slots: superblocks 0 to 11, then the same again.
        for superpage in [1, 2] {
            for superblock in 0..12 {
                assert_eq!(write(&mut mapping, superblock, superpage), work(0, 1, 0));
            }
        }
        // The first log block has 0 to 7: 8 merges, and itself.
        assert_eq!(write(&mut mapping, 12, 3), work(8 * 8, 1, 8 + 1));
        for superblock in 0..7 {
            assert_eq!(write(&mut mapping, superblock, 3), work(0, 1, 0));
        }
        // The second has 8 to 11 and again 0 to 3, of which the latter were
        // merged before but are in the last one with other data.
        assert_eq!(write(&mut mapping, 13, 3), work(4 * 8, 1, 4 + 1));
    }

    #[test]
    fn overwritten_and_trimmed_data_is_not_merged() {
        let mut mapping = mapping();
        for _ in 0..3 {
            for superblock in 0..8 {
                assert_eq!(write(&mut mapping, superblock, 5), work(0, 1, 0));
            }
        }
        // All of the first log block was overwritten.
        assert_eq!(write(&mut mapping, 9, 5), work(0, 1, 1));
        for superpage in 0..SUPERPAGES {
            let expected = match superpage {
                7 => work(0, 0, 1),
                _ => Work::default(),
            };
            assert_eq!(mapping.trim(9, superpage), expected);
        }
        assert!(!mapping.holds(9, 5) && mapping.holds(8, 5));
    }

    #[test]
    fn the_numbers_of_log_blocks_go_round() {
        let mut mapping = mapping();
        mapping.logs[0].reclaimed = NONE - 2;
        for turn in 0..100 {
            let took = write(&mut mapping, turn % 16, 3 + turn % 5);
            // 16 superblocks, each in one slot of 24: merges of 7 or 8.
            assert!(took.erases <= 9 && took.copies <= 64, "{turn}: {took:?}");
        }
        assert!(mapping.logs[0].reclaimed < 100);
    }
}
