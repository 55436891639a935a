//! The superblocks of a gang: which are free, how worn each is, and which
//! superpages hold data. Layers of translation that map whole superblocks
//! share this; see [`block`](super::block) and [`hybrid`](super::hybrid).

use std::collections::VecDeque;

use super::gang::Work;

/// No superblock.
pub(super) const NONE: u32 = u32::MAX;

/// How many there are of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Superblocks of the device's capacity; superblock `i` lies on way
    /// `i % ways`.
    pub(super) superblocks: u32,
    /// Superpages in each.
    pub(super) superpages: u32,
    /// Ways; superblocks are replaced within one, as copying within a chip
    /// demands.
    pub(super) ways: u32,
    /// Superblocks of each way that may take new data of others.
    pub(super) replacements: u32,
    /// Further free superblocks of each way, at least 2: the target of a
    /// merge, and of levelling.
    pub(super) spares: u32,
    /// The difference of erases from which on cold data moves to a worn
    /// superblock (static wear levelling); 0 for never.
    pub(super) levelling_spread: u32,
}

impl Shape {
    pub(super) fn way(&self, superblock: u32) -> usize {
        (superblock % self.ways) as usize
    }

    pub(super) fn bit(&self, superblock: u32, superpage: u32) -> u64 {
        u64::from(superblock) * u64::from(self.superpages) + u64::from(superpage)
    }
}

/// A superpage that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Which of its superblock.
    pub(super) superpage: u32,
    /// How many of its bytes are new.
    pub(super) bytes: u32,
    /// Whether these are all of it.
    pub(super) whole: bool,
}

impl Change {
    /// What writing it to a free superpage takes, if there is data to keep or
    /// not.
    pub(super) fn work(&self, keeps: bool) -> Work {
        if self.whole || !keeps {
            Work {
                programs: 1,
                ..Work::default()
            }
        } else {
            Work {
                fills: 1,
                fill_bytes: u64::from(self.bytes),
                ..Work::default()
            }
        }
    }
}

/// How often superblocks were erased.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wear {
    /// The least worn.
    pub(super) erases_min: u32,
    /// The most worn.
    pub(super) erases_max: u32,
    /// All together.
    pub(super) erases: u64,
}

/// A set of superpages.
#[derive(Clone, Debug)]
pub(super) struct Superpages {
    words: Vec<u64>,
}

impl Superpages {
    pub(super) fn new(count: u64, filled: bool) -> Self {
        let word = if filled { u64::MAX } else { 0 };
        Self {
            words: vec![word; usize::try_from(count.div_ceil(64)).expect("checked with the shape")],
        }
    }

    pub(super) fn has(&self, bit: u64) -> bool {
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    pub(super) fn put(&mut self, bit: u64, is: bool) {
        let word = &mut self.words[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(is) << (bit % 64);
    }

    /// How many of `from..to` are in the set.
    pub(super) fn count(&self, from: u64, to: u64) -> u32 {
        let mut count = 0;
        let mut at = from;
        while at < to {
            let within = (64 - at % 64).min(to - at);
            let word = self.words[(at / 64) as usize] >> (at % 64);
            count += (word << (64 - within)).count_ones();
            at += within;
        }
        count
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }
}

/// Physical superblocks. The free ones of a way are used in the order in which
/// they were erased, so that wear goes round all superblocks that change hands
/// (dynamic wear levelling); data that is never written keeps its superblock
/// unless [`Shape::levelling_spread`] moves it (static).
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) shape: Shape,
    /// Physical superblock of each logical one, or [`NONE`].
    data: Vec<u32>,
    free: Vec<VecDeque<u32>>,
    erases: Vec<u32>,
    /// Superpages that hold data, wherever.
    pub(super) valid: Superpages,
}

impl Pool {
    /// All superblocks hold data and none was ever erased.
    pub(super) fn full(shape: Shape) -> Self {
        let extra = shape.replacements + shape.spares;
        Self {
            shape,
            data: (0..shape.superblocks).collect(),
            free: (0..shape.ways)
                .map(|way| {
                    (0..extra)
                        .map(|index| shape.superblocks + way * extra + index)
                        .collect()
                })
                .collect(),
            erases: vec![0; (shape.superblocks + shape.ways * extra) as usize],
            valid: Superpages::new(
                u64::from(shape.superblocks) * u64::from(shape.superpages),
                true,
            ),
        }
    }

    /// A free superblock of the way.
    ///
    /// # Panics
    /// When there is none: replacements and spares are counted at the start.
    pub(super) fn take(&mut self, way: usize) -> u32 {
        self.free[way]
            .pop_front()
            .expect("a way has a spare superblock for each merge")
    }

    pub(super) fn has_data(&self, superblock: u32) -> bool {
        self.data[superblock as usize] != NONE
    }

    /// Valid superpages of a superblock from `from` on.
    pub(super) fn valid_from(&self, superblock: u32, from: u32) -> u32 {
        let end = self.shape.bit(superblock, self.shape.superpages);
        self.valid.count(self.shape.bit(superblock, from), end)
    }

    /// Erases a physical superblock and has it be used again.
    pub(super) fn erase(&mut self, way: usize, physical: u32) -> Work {
        self.erases[physical as usize] += 1;
        self.free[way].push_back(physical);
        Work {
            erases: 1,
            ..Work::default()
        }
    }

    /// Has `physical` hold the data of a superblock, and erases the one that
    /// did.
    pub(super) fn replace(&mut self, superblock: u32, physical: u32) -> Work {
        let way = self.shape.way(superblock);
        let old = std::mem::replace(&mut self.data[superblock as usize], physical);
        let mut work = Work::default();
        if old != NONE {
            work.add(self.erase(way, old));
            work.add(self.level(way, old));
        }
        work
    }

    /// Forgets the data of a superblock without anything valid.
    pub(super) fn release(&mut self, superblock: u32) -> Work {
        self.replace(superblock, NONE)
    }

    /// If `worn` was erased more often than the least worn superblock that
    /// holds data, by the spread: moves that data here, where it may rest, and
    /// brings the rested superblock into use.
    fn level(&mut self, way: usize, worn: u32) -> Work {
        let spread = self.shape.levelling_spread;
        let erases = self.erases[worn as usize];
        if spread == 0 || erases < spread || !erases.is_multiple_of(LEVELLING_PERIOD) {
            return Work::default();
        }
        let rested = (way as u32..self.shape.superblocks)
            .step_by(self.shape.ways as usize)
            .filter(|superblock| self.has_data(*superblock))
            .min_by_key(|superblock| self.erases[self.data[*superblock as usize] as usize]);
        let Some(rested) = rested else {
            return Work::default();
        };
        let physical = self.data[rested as usize];
        if erases - self.erases[physical as usize].min(erases) < spread {
            return Work::default();
        }
        let place = self.free[way]
            .iter()
            .rposition(|free| *free == worn)
            .expect("it was just erased");
        self.free[way].remove(place);
        self.data[rested as usize] = worn;
        let mut work = Work {
            copies: self.valid_from(rested, 0),
            ..Work::default()
        };
        work.add(self.erase(way, physical));
        work
    }

    #[cfg(test)]
    pub(super) fn wear(&self) -> Wear {
        Wear {
            erases_min: self.erases.iter().copied().min().unwrap_or(0),
            erases_max: self.erases.iter().copied().max().unwrap_or(0),
            erases: self.erases.iter().map(|erases| u64::from(*erases)).sum(),
        }
    }

    /// Bytes that this keeps in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        let free: usize = self.free.iter().map(VecDeque::capacity).sum();
        4 * (self.data.len() + self.erases.len() + free) as u64 + self.valid.bytes()
    }
}

/// A superblock is compared with the least worn at every so many of its
/// erases: looking for that takes longer than all else that an erase takes.
const LEVELLING_PERIOD: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_a_set_is_counting_its_members() {
        let mut set = Superpages::new(300, false);
        for bit in (0..300).step_by(7) {
            set.put(bit, true);
        }
        set.put(7, false);
        for (from, to) in [
            (0, 300),
            (0, 0),
            (8, 8),
            (7, 8),
            (63, 65),
            (60, 200),
            (64, 128),
        ] {
            let members = (from..to).filter(|bit| set.has(*bit)).count();
            assert_eq!(set.count(from, to), members as u32, "{from}..{to}");
        }
    }

    /// One superblock is written for ever, the others never.
    fn wear_of_one_hot_superblock(levelling_spread: u32) -> (Wear, u32) {
        let shape = Shape {
            superblocks: 20,
            superpages: 8,
            ways: 1,
            replacements: 0,
            spares: 2,
            levelling_spread,
        };
        let mut pool = Pool::full(shape);
        let mut copies = 0;
        for _ in 0..22_000 {
            let physical = pool.take(0);
            copies += pool.replace(5, physical).copies;
        }
        // Whatever moved, everything is somewhere, once.
        let mut held = pool.data.clone();
        held.extend(&pool.free[0]);
        held.sort_unstable();
        assert!(held.iter().copied().eq(0..22));
        (pool.wear(), copies)
    }

    #[test]
    fn static_levelling_brings_rested_superblocks_into_use() {
        // The queue of free superblocks shares wear among the three in use.
        let (wear, copies) = wear_of_one_hot_superblock(0);
        assert_eq!((wear.erases_min, wear.erases, copies), (0, 22_000, 0));
        assert_eq!(wear.erases_max, 22_000_u32.div_ceil(3));
        // With levelling all 22 share it, for 8 copies a move.
        let (wear, copies) = wear_of_one_hot_superblock(50);
        assert!(wear.erases_max < 1_200, "{wear:?}");
        assert!(wear.erases_max - wear.erases_min <= 50 + 16, "{wear:?}");
        assert_eq!(u64::from(copies / 8) + 22_000, wear.erases);
    }
}
