//! A write buffer that gathers what belongs to one superblock.
//!
//! A merge costs much the same whether one superpage of a superblock is new or
//! ten are, so a device that maps superblocks gains most when it writes many
//! at once. The buffer therefore evicts whole groups: of the superblock that
//! fills most of it (FAB: Jo et al., "FAB: flash-aware buffer management policy
//! for portable media players", IEEE Transactions on Consumer Electronics
//! 52(2), 2006), or of the one written longest ago (BPLRU: Kim and Ahn, "BPLRU:
//! a buffer management scheme for improving random writes in flash storage",
//! FAST 2008; without its padding, which merging does here).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pool::{Change, NONE, Shape};

/// Which superblock's data leaves the buffer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The one with most bytes in the buffer; of equals the one that came to
    /// as many first.
    Fullest,
    /// The one that was written longest ago.
    LeastRecent,
}

/// Sectors of one superblock that are in the buffer.
#[derive(Clone, Debug)]
struct Group {
    superblock: u32,
    /// Sectors of the lines that these take.
    room: u32,
    /// Neighbours in the list of groups that are as good victims.
    before: u32,
    after: u32,
}

/// Groups that are equally good victims, first come first.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};

/// The lists of one way, by sectors of the group's lines; one list alone when the
/// number of sectors does not matter.
#[derive(Clone, Debug)]
struct Victims {
    lists: Vec<List>,
    /// No list above this one has a group.
    highest: usize,
}

/// Written data on its way to the flash.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    shape: Shape,
    victim: Victim,
    sectors_max: u64,
    /// Sectors of lines in groups, and of those evicted but not yet on the flash.
    sectors_used: u64,
    sectors_per_superpage: u32,
    /// A line is taken whole, by any sector in it.
    sectors_per_line: u32,
    sector_bytes: u32,
    /// Index of each superblock's group, or [`NONE`].
    group: Vec<u32>,
    groups: Vec<Group>,
    unused: Vec<u32>,
    /// Which sectors of each superpage of each group are here.
    masks: Vec<u64>,
    victims: Vec<Victims>,
}

impl Buffer {
    pub(super) fn new(
        shape: Shape,
        victim: Victim,
        bytes: u64,
        line_bytes: u32,
        sector_bytes: u32,
        superpage_bytes: u32,
    ) -> Self {
        let sectors_per_superpage = superpage_bytes / sector_bytes;
        debug_assert!(sectors_per_superpage <= 64 && superpage_bytes.is_multiple_of(line_bytes));
        let lists = match victim {
            Victim::Fullest => (shape.superpages * sectors_per_superpage) as usize + 1,
            Victim::LeastRecent => 1,
        };
        Self {
            shape,
            victim,
            sectors_max: bytes / u64::from(sector_bytes),
            sectors_used: 0,
            sectors_per_superpage,
            sectors_per_line: line_bytes / sector_bytes,
            sector_bytes,
            group: vec![NONE; shape.superblocks as usize],
            groups: Vec::new(),
            unused: Vec::new(),
            masks: Vec::new(),
            victims: vec![
                Victims {
                    lists: vec![EMPTY; lists],
                    highest: 0,
                };
                shape.ways as usize
            ],
        }
    }

    /// Sectors that it can hold.
    pub(super) fn sectors_max(&self) -> u64 {
        self.sectors_max
    }

    /// Sectors that it holds.
    #[cfg(test)]
    pub(super) fn sectors_used(&self) -> u64 {
        self.sectors_used
    }

    /// Sectors of the lines that those in `mask` take.
    fn room(&self, mask: u64) -> u32 {
        let line = u64::MAX >> (64 - self.sectors_per_line);
        let lines = (0..self.sectors_per_superpage).step_by(self.sectors_per_line as usize);
        let taken = lines.filter(|first| mask >> first & line != 0).count();
        taken as u32 * self.sectors_per_line
    }

    /// Sectors of the lines that the sectors of a superpage in `mask` would take besides.
    pub(super) fn wanted(&self, superblock: u32, superpage: u32, mask: u64) -> u32 {
        let held = self.held(superblock, superpage, u64::MAX);
        self.room(held | mask) - self.room(held)
    }

    /// Whether it has room for this many more sectors. One write fits when
    /// the buffer is empty, however large it is.
    pub(super) fn has_room(&self, sectors: u64) -> bool {
        self.sectors_used == 0 || self.sectors_used + sectors <= self.sectors_max
    }

    /// The sectors of `mask` that are here.
    pub(super) fn held(&self, superblock: u32, superpage: u32, mask: u64) -> u64 {
        match self.group[superblock as usize] {
            NONE => 0,
            group => mask & self.masks[self.slot(group, superpage)],
        }
    }

    /// Takes the sectors of a superpage in `mask`.
    pub(super) fn insert(&mut self, superblock: u32, superpage: u32, mask: u64) {
        let way = self.shape.way(superblock);
        let index = match self.group[superblock as usize] {
            NONE => self.add_group(superblock),
            index => {
                self.unlink(way, index);
                index
            }
        };
        let slot = self.slot(index, superpage);
        let new = self.room(self.masks[slot] | mask) - self.room(self.masks[slot]);
        self.masks[slot] |= mask;
        self.groups[index as usize].room += new;
        self.sectors_used += u64::from(new);
        self.link(way, index);
    }

    /// Forgets the sectors of a superpage in `mask`.
    pub(super) fn forget(&mut self, superblock: u32, superpage: u32, mask: u64) {
        let index = self.group[superblock as usize];
        if index == NONE {
            return;
        }
        let way = self.shape.way(superblock);
        self.unlink(way, index);
        let slot = self.slot(index, superpage);
        let old = self.room(self.masks[slot]) - self.room(self.masks[slot] & !mask);
        self.masks[slot] &= !mask;
        self.groups[index as usize].room -= old;
        self.sectors_used -= u64::from(old);
        if self.groups[index as usize].room == 0 {
            self.group[superblock as usize] = NONE;
            self.unused.push(index);
        } else {
            self.link(way, index);
        }
    }

    /// Takes the best victim of a way out: its superblock, and what changes in
    /// it, into `changes`, and the sectors that it leaves once they are
    /// [released](Self::release).
    pub(super) fn evict(&mut self, way: usize, changes: &mut Vec<Change>) -> Option<(u32, u32)> {
        let victims = &mut self.victims[way];
        while victims.highest > 0 && victims.lists[victims.highest].first == NONE {
            victims.highest -= 1;
        }
        let index = victims.lists[victims.highest].first;
        if index == NONE {
            return None;
        }
        self.unlink(way, index);
        let Group {
            superblock, room, ..
        } = self.groups[index as usize];
        self.group[superblock as usize] = NONE;
        self.unused.push(index);
        changes.clear();
        for superpage in 0..self.shape.superpages {
            let slot = self.slot(index, superpage);
            let held = std::mem::take(&mut self.masks[slot]).count_ones();
            if held > 0 {
                changes.push(Change {
                    superpage,
                    bytes: held * self.sector_bytes,
                    whole: held == self.sectors_per_superpage,
                });
            }
        }
        Some((superblock, room))
    }

    /// Evicted sectors are on the flash.
    pub(super) fn release(&mut self, sectors: u32) {
        self.sectors_used -= u64::from(sectors);
    }

    fn slot(&self, group: u32, superpage: u32) -> usize {
        group as usize * self.shape.superpages as usize + superpage as usize
    }

    fn add_group(&mut self, superblock: u32) -> u32 {
        let group = Group {
            superblock,
            room: 0,
            before: NONE,
            after: NONE,
        };
        let index = match self.unused.pop() {
            Some(index) => {
                self.groups[index as usize] = group;
                index
            }
            None => {
                self.groups.push(group);
                let masks = self.groups.len() * self.shape.superpages as usize;
                self.masks.resize(masks, 0);
                (self.groups.len() - 1) as u32
            }
        };
        self.group[superblock as usize] = index;
        index
    }

    fn list(&self, index: u32) -> usize {
        match self.victim {
            Victim::Fullest => self.groups[index as usize].room as usize,
            Victim::LeastRecent => 0,
        }
    }

    fn link(&mut self, way: usize, index: u32) {
        let list = self.list(index);
        let victims = &mut self.victims[way];
        victims.highest = victims.highest.max(list);
        let last = std::mem::replace(&mut victims.lists[list].last, index);
        match last {
            NONE => victims.lists[list].first = index,
            _ => self.groups[last as usize].after = index,
        }
        let group = &mut self.groups[index as usize];
        group.before = last;
        group.after = NONE;
    }

    fn unlink(&mut self, way: usize, index: u32) {
        let list = self.list(index);
        let Group { before, after, .. } = self.groups[index as usize];
        let lists = &mut self.victims[way].lists;
        match before {
            NONE => lists[list].first = after,
            _ => self.groups[before as usize].after = after,
        }
        match after {
            NONE => lists[list].last = before,
            _ => self.groups[after as usize].before = before,
        }
    }

    /// Bytes that this keeps in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        let lists: usize = self.victims.iter().map(|way| way.lists.len()).sum();
        (4 * (self.group.len() + self.unused.capacity())
            + size_of::<Group>() * self.groups.capacity()
            + 8 * self.masks.capacity()
            + size_of::<List>() * lists) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape {
            superblocks: 8,
            superpages: 4,
            ways: 1,
            replacements: 0,
            spares: 2,
            levelling_spread: 0,
        }
    }

    /// Superpages of 4 sectors; 3 sectors of superblock 5, 4 of 6, 3 of 7.
    fn filled(victim: Victim) -> Buffer {
        let mut buffer = Buffer::new(shape(), victim, 6144, 512, 512, 2048);
        buffer.insert(6, 1, 0b1111);
        buffer.insert(5, 0, 0b0011);
        buffer.insert(7, 3, 0b0111);
        buffer.insert(5, 3, 0b1000);
        // Again: no more sectors than before.
        buffer.insert(7, 3, 0b0101);
        buffer
    }

    fn order(mut buffer: Buffer) -> Vec<u32> {
        let mut changes = Vec::new();
        std::iter::from_fn(|| {
            buffer
                .evict(0, &mut changes)
                .map(|(superblock, _)| superblock)
        })
        .collect()
    }

    #[test]
    fn the_fullest_or_the_least_recent_goes_first() {
        assert_eq!(order(filled(Victim::Fullest)), [6, 5, 7]);
        assert_eq!(order(filled(Victim::LeastRecent)), [6, 5, 7]);
        let touched = |victim| {
            let mut buffer = filled(victim);
            buffer.insert(6, 1, 0b0001);
            buffer.insert(7, 0, 0b0011);
            order(buffer)
        };
        assert_eq!(touched(Victim::Fullest), [7, 6, 5]);
        assert_eq!(touched(Victim::LeastRecent), [5, 6, 7]);
    }

    #[test]
    fn a_line_is_taken_whole_and_once() {
        let mut buffer = Buffer::new(shape(), Victim::Fullest, 6144, 1024, 512, 2048);
        assert_eq!(buffer.wanted(5, 0, 0b0110), 4);
        buffer.insert(5, 0, 0b0010);
        assert_eq!((buffer.sectors_used(), buffer.wanted(5, 0, 0b0001)), (2, 0));
        buffer.insert(5, 0, 0b0101);
        assert_eq!(buffer.sectors_used(), 4);
        // A line is free when its last sector is forgotten.
        buffer.forget(5, 0, 0b0001);
        assert_eq!(buffer.sectors_used(), 4);
        buffer.forget(5, 0, 0b0010);
        assert_eq!(buffer.sectors_used(), 2);
        let mut changes = Vec::new();
        assert_eq!(buffer.evict(0, &mut changes), Some((5, 2)));
        let one = Change {
            superpage: 0,
            bytes: 512,
            whole: false,
        };
        assert_eq!(changes, [one]);
    }

    #[test]
    fn sectors_count_once_and_until_they_are_released() {
        let mut buffer = filled(Victim::Fullest);
        assert_eq!(buffer.sectors_used(), 10);
        assert!(buffer.has_room(2) && !buffer.has_room(3));
        assert_eq!(buffer.held(5, 0, 0b1110), 0b0010);
        let mut changes = Vec::new();
        assert_eq!(buffer.evict(0, &mut changes), Some((6, 4)));
        let whole = Change {
            superpage: 1,
            bytes: 2048,
            whole: true,
        };
        assert_eq!(changes, [whole]);
        assert!(!buffer.has_room(3));
        assert_eq!(buffer.held(6, 1, 0b1111), 0);
        buffer.release(4);
        assert!(buffer.has_room(6));
        buffer.forget(5, 0, 0b1111);
        buffer.forget(5, 3, 0b1111);
        assert_eq!(buffer.sectors_used(), 3);
        assert_eq!(order(buffer), [7]);
    }
}
