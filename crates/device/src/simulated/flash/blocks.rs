//! Blocks of each die: how much of each is in use, which are free, and which
//! is cleaned next.

use std::collections::VecDeque;

/// No block.
const NONE: u32 = u32::MAX;

/// All blocks, numbered so that the die is the number modulo the dies.
///
/// Closed blocks are in a doubly linked list for each count of units in use,
/// so that the emptiest of a die is found without a search: greedy cleaning.
/// Free blocks are used in the order in which they were erased, which levels
/// the wear among blocks that are rewritten (dynamic wear levelling).
pub(super) struct Blocks {
    dies: u32,
    units_per_block: u32,
    state: Vec<Block>,
    die: Vec<Die>,
    /// First of each list: for each die, by units in use.
    first: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Block {
    previous: u32,
    next: u32,
    erases: u32,
    used: u16,
    closed: bool,
}

struct Die {
    free: VecDeque<u32>,
    /// Units in use.
    used: u64,
    /// No closed block has fewer units in use.
    least: u32,
    erases: u64,
    /// Block whose wear is looked at next.
    cursor: u32,
}

impl Blocks {
    /// `rows` blocks of each die, all of them free.
    pub(super) fn new(dies: u32, rows: u32, units_per_block: u32) -> Self {
        let free = |die| (0..rows).map(|row| row * dies + die).collect();
        Self {
            dies,
            units_per_block,
            state: vec![
                Block {
                    previous: NONE,
                    next: NONE,
                    erases: 0,
                    used: 0,
                    closed: false,
                };
                (dies * rows) as usize
            ],
            die: (0..dies)
                .map(|die| Die {
                    free: free(die),
                    used: 0,
                    least: units_per_block,
                    erases: 0,
                    cursor: die,
                })
                .collect(),
            first: vec![NONE; dies as usize * (units_per_block as usize + 1)],
        }
    }

    /// Units in use of a die.
    #[inline]
    pub(super) fn used_of_die(&self, die: u32) -> u64 {
        self.die[die as usize].used
    }

    pub(super) fn free(&self, die: u32) -> usize {
        self.die[die as usize].free.len()
    }

    /// Takes the free block of a die that was erased first.
    pub(super) fn open(&mut self, die: u32) -> Option<u32> {
        self.die[die as usize].free.pop_front()
    }

    /// A unit of an open block is in use.
    #[inline]
    pub(super) fn put(&mut self, block: u32) {
        debug_assert!(!self.state[block as usize].closed);
        self.state[block as usize].used += 1;
        self.die[(block % self.dies) as usize].used += 1;
    }

    /// A unit of a block is not in use any more.
    #[inline]
    pub(super) fn remove(&mut self, block: u32) {
        let die = block % self.dies;
        self.die[die as usize].used -= 1;
        if self.state[block as usize].closed {
            self.unlink(die, block);
            self.state[block as usize].used -= 1;
            self.link(die, block);
        } else {
            self.state[block as usize].used -= 1;
        }
    }

    /// Nothing is written to an open block any more: it may be cleaned.
    pub(super) fn close(&mut self, block: u32) {
        debug_assert!(!self.state[block as usize].closed);
        self.link(block % self.dies, block);
        self.state[block as usize].closed = true;
    }

    /// Takes the closed block with the fewest units in use out of its list,
    /// or one that was erased `wear_gap` times less than its die's mean, if
    /// the next in turn is that (static wear levelling: what never changes
    /// moves to a worn block). With how many units in use.
    pub(super) fn victim(&mut self, die: u32, wear_gap: u32) -> Option<(u32, u32)> {
        let block = match self.rested(die, wear_gap) {
            Some(block) => block,
            None => self.emptiest(die)?,
        };
        self.unlink(die, block);
        self.state[block as usize].closed = false;
        Some((block, u32::from(self.state[block as usize].used)))
    }

    fn emptiest(&mut self, die: u32) -> Option<u32> {
        let lists = self.lists(die);
        let from = self.die[die as usize].least as usize;
        let found = (from..=self.units_per_block as usize)
            .find(|&used| self.first[lists + used] != NONE)?;
        self.die[die as usize].least = found as u32;
        Some(self.first[lists + found])
    }

    fn rested(&mut self, die: u32, wear_gap: u32) -> Option<u32> {
        if wear_gap == 0 {
            return None;
        }
        let blocks = self.state.len() as u32;
        let state = &mut self.die[die as usize];
        let block = state.cursor;
        state.cursor = match block + self.dies {
            next if next < blocks => next,
            _ => die,
        };
        let mean = state.erases / u64::from(blocks / self.dies);
        let Block { erases, closed, .. } = self.state[block as usize];
        (closed && u64::from(erases) + u64::from(wear_gap) < mean).then_some(block)
    }

    /// A block that is in no list and of which nothing is in use is free
    /// again.
    pub(super) fn erase(&mut self, block: u32) {
        let state = &mut self.state[block as usize];
        debug_assert!(state.used == 0 && !state.closed);
        state.erases += 1;
        let die = &mut self.die[(block % self.dies) as usize];
        die.erases += 1;
        die.free.push_back(block);
    }

    /// Units in use of a block.
    #[cfg(test)]
    pub(super) fn used(&self, block: u32) -> u32 {
        u32::from(self.state[block as usize].used)
    }

    /// Erases of the least worn block, and their mean.
    #[cfg(test)]
    pub(super) fn wear(&self) -> (u32, u32) {
        let erases = self.state.iter().map(|block| block.erases);
        let mean = erases.clone().sum::<u32>() / self.state.len() as u32;
        (erases.min().unwrap_or_default(), mean)
    }

    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.state[..])
            + size_of_val(&self.first[..])
            + self
                .die
                .iter()
                .map(|die| size_of::<Die>() + die.free.capacity() * size_of::<u32>())
                .sum::<usize>()
    }

    #[inline]
    fn lists(&self, die: u32) -> usize {
        die as usize * (self.units_per_block as usize + 1)
    }

    #[inline]
    fn link(&mut self, die: u32, block: u32) {
        let used = self.state[block as usize].used;
        let list = self.lists(die) + usize::from(used);
        let next = std::mem::replace(&mut self.first[list], block);
        let state = &mut self.state[block as usize];
        state.previous = NONE;
        state.next = next;
        if next != NONE {
            self.state[next as usize].previous = block;
        }
        let least = &mut self.die[die as usize].least;
        *least = (*least).min(u32::from(used));
    }

    #[inline]
    fn unlink(&mut self, die: u32, block: u32) {
        let Block {
            previous,
            next,
            used,
            ..
        } = self.state[block as usize];
        if next != NONE {
            self.state[next as usize].previous = previous;
        }
        if previous != NONE {
            self.state[previous as usize].next = next;
        } else {
            let list = self.lists(die) + usize::from(used);
            self.first[list] = next;
        }
    }

    /// Fills a free block as it is: with this many units in use.
    pub(super) fn fill(&mut self, block: u32, used: u32) {
        let die = block % self.dies;
        let taken = self.open(die);
        // Blocks are filled in the order in which they lie.
        assert_eq!(taken, Some(block), "blocks are filled in their order");
        self.state[block as usize].used = used as u16;
        self.die[die as usize].used += u64::from(used);
        self.close(block);
    }
}
