//! Blocks of each die: which of their units are in use, which blocks are free,
//! and which is cleaned next.
//!
//! A block is named by its die and its row.

use std::collections::VecDeque;

/// All blocks.
///
/// Greedy cleaning takes the closed block with the fewest units in use; of
/// several, the one that changed last. That order is one number a block, its
/// key, and the least key is kept of each group of blocks. Keys of closed
/// blocks only fall, as units are overwritten, so that one comparison keeps a
/// group's least, and a group is searched only when its least is taken out.
/// Lists of blocks by units in use would do it without any search, but each
/// overwrite would touch five cache lines instead of two.
///
/// Free blocks are used in the order in which they were erased, which levels
/// the wear among blocks that are rewritten (dynamic wear levelling).
pub(super) struct Blocks {
    rows: u32,
    units_per_block: u32,
    groups_per_die: u32,
    words_per_block: u32,
    keys: Vec<Key>,
    /// The least key of each group of rows: for each die.
    least: Vec<Key>,
    /// A bit for each unit of each block that is in use.
    in_use: Vec<u64>,
    erases: Vec<u32>,
    die: Vec<Die>,
    /// Falls with each change.
    stamp: u64,
}

/// From the highest bit: whether the block is not closed; units in use; a
/// number that is smaller the later the block changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

/// Enough for five months of 10 million changes a second; after that, blocks
/// with as many units in use are cleaned in any order.
const STAMP_BITS: u32 = 47;
const STAMP_MAX: u64 = (1 << STAMP_BITS) - 1;

impl Key {
    /// Not less than that of any block that is not closed.
    const OPEN: Self = Self(1 << 63);

    #[inline]
    const fn is_closed(self) -> bool {
        self.0 < Self::OPEN.0
    }

    #[inline]
    const fn used(self) -> u32 {
        ((self.0 & !Self::OPEN.0) >> STAMP_BITS) as u32
    }

    /// With `change` more units in use, at `stamp`.
    #[inline]
    const fn changed(self, change: i64, stamp: u64) -> Self {
        Self(
            (((self.0 >> STAMP_BITS).wrapping_add_signed(change)) << STAMP_BITS)
                | (stamp & STAMP_MAX),
        )
    }
}

/// Rows of which the least key is kept: about the root of the rows of a die,
/// so that finding a victim looks at a few hundred keys.
const GROUP_ROWS: u32 = 32;

struct Die {
    free: VecDeque<u32>,
    /// Units in use.
    used: u64,
    erases: u64,
    /// Row whose wear is looked at next.
    cursor: u32,
}

impl Blocks {
    /// `rows` blocks of each die, all of them free.
    pub(super) fn new(dies: u32, rows: u32, units_per_block: u32) -> Self {
        let groups_per_die = rows.div_ceil(GROUP_ROWS);
        let words_per_block = units_per_block.div_ceil(u64::BITS);
        let blocks = dies as usize * rows as usize;
        Self {
            rows,
            units_per_block,
            groups_per_die,
            words_per_block,
            keys: vec![Key::OPEN; blocks],
            least: vec![Key::OPEN; dies as usize * groups_per_die as usize],
            in_use: vec![0; blocks * words_per_block as usize],
            erases: vec![0; blocks],
            die: (0..dies)
                .map(|_| Die {
                    free: (0..rows).collect(),
                    used: 0,
                    erases: 0,
                    cursor: 0,
                })
                .collect(),
            stamp: STAMP_MAX,
        }
    }

    /// Units in use of a die.
    #[inline]
    pub(super) fn used_of_die(&self, die: u32) -> u64 {
        self.die[die as usize].used
    }

    #[inline]
    pub(super) fn free(&self, die: u32) -> usize {
        self.die[die as usize].free.len()
    }

    /// Takes the free block of a die that was erased first.
    pub(super) fn open(&mut self, die: u32) -> Option<u32> {
        self.die[die as usize].free.pop_front()
    }

    /// The `unit`th unit of an open block is in use.
    #[inline]
    pub(super) fn put(&mut self, die: u32, row: u32, unit: u32) {
        let block = self.block(die, row);
        debug_assert!(!self.keys[block].is_closed());
        self.keys[block] = self.keys[block].changed(1, 0);
        self.die[die as usize].used += 1;
        let word = self.word(block, unit);
        debug_assert!(self.in_use[word] & bit(unit) == 0);
        self.in_use[word] |= bit(unit);
    }

    /// The `unit`th unit of a block is not in use any more.
    #[inline]
    pub(super) fn remove(&mut self, die: u32, row: u32, unit: u32) {
        let block = self.block(die, row);
        let word = self.word(block, unit);
        debug_assert!(self.in_use[word] & bit(unit) != 0);
        self.in_use[word] &= !bit(unit);
        self.die[die as usize].used -= 1;
        let stamp = self.stamp();
        let key = self.keys[block].changed(-1, stamp);
        self.keys[block] = key;
        // Keys of open blocks are above all of closed ones.
        let least = &mut self.least[group(self.groups_per_die, die, row)];
        *least = key.min(*least);
    }

    /// The first unit in use of a block, from the `from`th on.
    #[inline]
    pub(super) fn next_used(&self, die: u32, row: u32, from: u32) -> Option<u32> {
        let block = self.block(die, row);
        let words = &self.in_use[self.word(block, 0)..][..self.words_per_block as usize];
        let first = from / u64::BITS;
        let mut rest = words.get(first as usize)? & (u64::MAX << (from % u64::BITS));
        for index in first.. {
            if rest != 0 {
                return Some(index * u64::BITS + rest.trailing_zeros());
            }
            rest = *words.get(index as usize + 1)?;
        }
        None
    }

    /// Whether the `unit`th unit of a block is in use.
    #[inline]
    pub(super) fn is_used(&self, die: u32, row: u32, unit: u32) -> bool {
        self.in_use[self.word(self.block(die, row), unit)] & bit(unit) != 0
    }

    /// Nothing is written to an open block any more: it may be cleaned.
    pub(super) fn close(&mut self, die: u32, row: u32) {
        let stamp = self.stamp();
        let block = self.block(die, row);
        debug_assert!(!self.keys[block].is_closed());
        let key = Key(self.keys[block].changed(0, stamp).0 & !Key::OPEN.0);
        self.keys[block] = key;
        let least = &mut self.least[group(self.groups_per_die, die, row)];
        *least = key.min(*least);
    }

    /// Takes a closed block out, to be cleaned: that with the fewest units in
    /// use, or one that was erased `wear_gap` times less than its die's mean,
    /// if the next in turn is that (static wear levelling: what never changes
    /// moves to a worn block). Its row, and how many units are in use.
    pub(super) fn victim(&mut self, die: u32, wear_gap: u32) -> Option<(u32, u32)> {
        let row = match self.rested(die, wear_gap) {
            Some(row) => row,
            None => self.emptiest(die)?,
        };
        let block = self.block(die, row);
        self.keys[block].0 |= Key::OPEN.0;
        let first = row / GROUP_ROWS * GROUP_ROWS;
        self.least[group(self.groups_per_die, die, row)] = least(self.keys_of_group(die, first));
        Some((row, self.keys[block].used()))
    }

    fn emptiest(&self, die: u32) -> Option<u32> {
        let groups = &self.least[group(self.groups_per_die, die, 0)..];
        let groups = &groups[..self.groups_per_die as usize];
        let key = least(groups);
        if !key.is_closed() {
            return None;
        }
        let of = |keys: &[Key]| keys.iter().position(|other| *other == key);
        let first = of(groups)? as u32 * GROUP_ROWS;
        Some(first + of(self.keys_of_group(die, first))? as u32)
    }

    /// Keys from the row `first` on, which begins a group.
    fn keys_of_group(&self, die: u32, first: u32) -> &[Key] {
        let rows = GROUP_ROWS.min(self.rows - first);
        &self.keys[self.block(die, first)..][..rows as usize]
    }

    fn rested(&mut self, die: u32, wear_gap: u32) -> Option<u32> {
        if wear_gap == 0 {
            return None;
        }
        let state = &mut self.die[die as usize];
        let row = state.cursor;
        state.cursor = match row + 1 {
            next if next < self.rows => next,
            _ => 0,
        };
        let mean = state.erases / u64::from(self.rows);
        let block = self.block(die, row);
        (self.keys[block].is_closed() && u64::from(self.erases[block]) + u64::from(wear_gap) < mean)
            .then_some(row)
    }

    /// A block that is not closed and of which nothing is in use is free
    /// again.
    pub(super) fn erase(&mut self, die: u32, row: u32) {
        let block = self.block(die, row);
        debug_assert!(!self.keys[block].is_closed() && self.keys[block].used() == 0);
        self.erases[block] += 1;
        let die = &mut self.die[die as usize];
        die.erases += 1;
        die.free.push_back(row);
    }

    /// Fills a free block as it is: with its first `used` units in use.
    pub(super) fn fill(&mut self, die: u32, row: u32, used: u32) {
        let taken = self.open(die);
        assert_eq!(taken, Some(row), "blocks are filled in their order");
        let block = self.block(die, row);
        let first = self.word(block, 0);
        let whole = (used / u64::BITS) as usize;
        self.in_use[first..first + whole].fill(u64::MAX);
        if !used.is_multiple_of(u64::BITS) {
            self.in_use[first + whole] = bit(used) - 1;
        }
        self.keys[block] = self.keys[block].changed(i64::from(used), 0);
        self.die[die as usize].used += u64::from(used);
        self.close(die, row);
    }

    /// Units in use of a block, counted.
    #[cfg(test)]
    pub(super) fn used(&self, die: u32, row: u32) -> u32 {
        let block = self.block(die, row);
        let words = &self.in_use[self.word(block, 0)..][..self.words_per_block as usize];
        let used = words.iter().map(|word| word.count_ones()).sum();
        assert_eq!(used, self.keys[block].used());
        used
    }

    /// Free blocks of a die, the next first.
    #[cfg(test)]
    pub(super) fn free_rows(&self, die: u32) -> impl Iterator<Item = usize> {
        self.die[die as usize].free.iter().map(|row| *row as usize)
    }

    /// A number that is larger the later a block changed.
    #[cfg(test)]
    pub(super) fn changed(&self, die: u32, row: u32) -> u64 {
        STAMP_MAX - (self.keys[self.block(die, row)].0 & STAMP_MAX)
    }

    /// Erases of the least worn block, and their mean.
    #[cfg(test)]
    pub(super) fn wear(&self) -> (u32, u32) {
        let mean = self.erases.iter().sum::<u32>() / self.erases.len() as u32;
        (self.erases.iter().copied().min().unwrap_or_default(), mean)
    }

    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.keys[..])
            + size_of_val(&self.least[..])
            + size_of_val(&self.in_use[..])
            + size_of_val(&self.erases[..])
            + self
                .die
                .iter()
                .map(|die| size_of::<Die>() + die.free.capacity() * size_of::<u32>())
                .sum::<usize>()
    }

    #[inline]
    fn stamp(&mut self) -> u64 {
        self.stamp = self.stamp.saturating_sub(1);
        self.stamp
    }

    #[inline]
    fn block(&self, die: u32, row: u32) -> usize {
        debug_assert!(row < self.rows);
        die as usize * self.rows as usize + row as usize
    }

    #[inline]
    fn word(&self, block: usize, unit: u32) -> usize {
        debug_assert!(unit < self.units_per_block);
        block * self.words_per_block as usize + (unit / u64::BITS) as usize
    }
}

#[inline]
const fn bit(unit: u32) -> u64 {
    1 << (unit % u64::BITS)
}

#[inline]
const fn group(groups_per_die: u32, die: u32, row: u32) -> usize {
    (die * groups_per_die + row / GROUP_ROWS) as usize
}

fn least(keys: &[Key]) -> Key {
    keys.iter().copied().min().unwrap_or(Key::OPEN)
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt as _;

    use super::*;

    const DIES: u32 = 2;
    /// More than two groups, the last of which is short.
    const ROWS: u32 = 2 * GROUP_ROWS + 7;
    /// More than a word.
    const UNITS: u32 = 70;

    /// A block of the model: its units in use, in which order, when it changed.
    #[derive(Clone, Default)]
    struct Block {
        used: Vec<u32>,
        closed: bool,
        changed: u64,
        erases: u32,
    }

    /// Whatever is done with blocks, cleaning takes the one that a search
    /// through all of them finds, and a block's units are those that were put.
    #[test]
    fn a_victim_is_the_emptiest_and_then_the_latest() {
        for seed in 0..20 {
            let mut generator = Seed::new(seed).generator();
            let mut blocks = Blocks::new(DIES, ROWS, UNITS);
            let mut model = vec![vec![Block::default(); ROWS as usize]; DIES as usize];
            let mut found = 0;
            for now in 1..20_000 {
                let die = generator.random_range(0..DIES);
                let of_die = &mut model[die as usize];
                let row = generator.random_range(0..ROWS);
                let block = &mut of_die[row as usize];
                match generator.random_range(0..20) {
                    0 if blocks.free(die) > 0 => {
                        // Filled with whatever number of units, and closed.
                        let row = blocks.open(die).unwrap();
                        let block = &mut of_die[row as usize];
                        assert!(block.used.is_empty() && !block.closed);
                        for unit in 0..UNITS {
                            if generator.random_range(0..4) > 0 {
                                blocks.put(die, row, unit);
                                block.used.push(unit);
                            }
                        }
                        blocks.close(die, row);
                        block.closed = true;
                        block.changed = now;
                    }
                    1 => {
                        let closed = (0..).zip(of_die.iter()).filter(|(_, block)| block.closed);
                        let expected = closed
                            .min_by_key(|(_, block)| (block.used.len(), u64::MAX - block.changed))
                            .map(|(row, block)| (row, block.used.len() as u32));
                        assert_eq!(blocks.victim(die, 0), expected, "seed {seed}");
                        let Some((row, _)) = expected else { continue };
                        found += 1;
                        let block = &mut of_die[row as usize];
                        let mut from = 0;
                        for &unit in &block.used {
                            assert_eq!(blocks.next_used(die, row, from), Some(unit));
                            blocks.remove(die, row, unit);
                            from = unit + 1;
                        }
                        assert_eq!(blocks.next_used(die, row, 0), None);
                        blocks.erase(die, row);
                        *block = Block {
                            erases: block.erases + 1,
                            ..Block::default()
                        };
                    }
                    _ if !block.used.is_empty() => {
                        let index = generator.random_range(0..block.used.len());
                        blocks.remove(die, row, block.used.remove(index));
                        block.changed = now;
                    }
                    _ => {}
                }
                assert_eq!(
                    blocks.used(die, row) as usize,
                    model[die as usize][row as usize].used.len()
                );
            }
            assert!(found > 200, "{found}");
            for (die, of_die) in (0..).zip(&model) {
                let used: usize = of_die.iter().map(|block| block.used.len()).sum();
                assert_eq!(blocks.used_of_die(die), used as u64);
            }
            let erases = model.iter().flatten().map(|block| block.erases);
            assert_eq!(blocks.wear().0, erases.min().unwrap());
        }
    }

    #[test]
    fn a_filled_block_has_its_first_units_in_use() {
        for used in [0, 1, 63, 64, 65, UNITS] {
            let mut blocks = Blocks::new(1, 1, UNITS);
            blocks.fill(0, 0, used);
            assert_eq!(blocks.used(0, 0), used);
            assert_eq!(blocks.used_of_die(0), u64::from(used));
            for unit in 0..UNITS {
                assert_eq!(blocks.is_used(0, 0, unit), unit < used);
            }
            assert_eq!(blocks.next_used(0, 0, used), None);
            assert_eq!(blocks.victim(0, 0), Some((0, used)));
            assert_eq!(blocks.victim(0, 0), None);
        }
    }
}
