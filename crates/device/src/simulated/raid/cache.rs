//! A controller's write-back cache: which bytes are dirty, and which are
//! written to the members next.

use std::collections::BTreeMap;

use crate::simulated::slots::Slots;

/// Dirty bytes of one column, by offset: where each extent begins and ends.
/// Extents neither overlap nor touch.
#[derive(Clone, Debug, Default)]
struct Dirty {
    extents: BTreeMap<u64, u64>,
    /// Where the last extent that was taken ended.
    sweep: u64,
}

impl Dirty {
    /// Adds an extent, and tells how many of its bytes were not dirty yet.
    fn add(&mut self, mut begins: u64, mut ends: u64) -> u64 {
        let mut had = 0;
        // The only earlier extent that can touch this one is the last that
        // begins before it ends; then the one before that, and so on.
        while let Some((&start, &end)) = self.extents.range(..=ends).next_back() {
            if end < begins {
                break;
            }
            self.extents.remove(&start);
            had += end - start;
            begins = begins.min(start);
            ends = ends.max(end);
        }
        self.extents.insert(begins, ends);
        ends - begins - had
    }

    /// Takes the next extent of an upward sweep, at most `bytes_max` of it.
    fn take(&mut self, bytes_max: u64) -> Option<(u64, u64)> {
        let (&begins, &ends) = self
            .extents
            .range(self.sweep..)
            .next()
            .or_else(|| self.extents.iter().next())?;
        self.extents.remove(&begins);
        let taken = ends.min(begins.saturating_add(bytes_max));
        if taken < ends {
            self.extents.insert(taken, ends);
        }
        self.sweep = taken;
        Some((begins, taken))
    }

    fn holds(&self, begins: u64, ends: u64) -> bool {
        self.extents
            .range(..=begins)
            .next_back()
            .is_some_and(|(_, &end)| end >= ends)
    }
}

/// Bytes on their way from the cache to a column.
#[derive(Clone, Copy, Debug)]
struct Destaging {
    column: usize,
    begins: u64,
    ends: u64,
    /// Mirrors that have not completed it.
    remaining: u32,
}

/// Writes that were acknowledged and are not on the members yet.
///
/// Dirty bytes are written as soon as the column has room for one more write,
/// sweeping upward and from the start again (C-SCAN), neighbours together. A
/// byte that is written again while dirty is written to the members once.
/// What is on its way counts as used until it has arrived.
#[derive(Clone, Debug)]
pub(super) struct WriteCache {
    capacity: u64,
    used: u64,
    write_bytes_max: u64,
    depth: u32,
    columns: Vec<Dirty>,
    in_flight: Vec<u32>,
    destaging: Slots<Destaging>,
}

/// A write from the cache to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Destage {
    /// What [`WriteCache::arrived`] knows it by.
    pub(super) slot: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl WriteCache {
    /// Of `capacity` bytes over so many columns, to each of which it keeps at
    /// most `depth` writes of at most `write_bytes_max` in flight.
    pub(super) fn new(capacity: u64, columns: usize, depth: u32, write_bytes_max: u32) -> Self {
        Self {
            capacity,
            used: 0,
            write_bytes_max: u64::from(write_bytes_max),
            depth,
            columns: vec![Dirty::default(); columns],
            in_flight: vec![0; columns],
            destaging: Slots::default(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether a write of this many bytes can be taken now.
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.used + u64::from(bytes) <= self.capacity
    }

    pub(super) fn add(&mut self, column: usize, offset: u64, length: u32) {
        self.used += self.columns[column].add(offset, offset + u64::from(length));
    }

    /// Whether all of these bytes can be read from the cache.
    pub(super) fn holds(&self, column: usize, offset: u64, length: u32) -> bool {
        let ends = offset + u64::from(length);
        self.columns[column].holds(offset, ends)
            || (self.in_flight[column] > 0
                && self.destaging.iter().any(|destaging| {
                    destaging.remaining > 0
                        && destaging.column == column
                        && destaging.begins <= offset
                        && ends <= destaging.ends
                }))
    }

    /// The next write to this column, to be made to each of its mirrors; none
    /// if nothing is dirty or the column has enough to do.
    pub(super) fn destage(&mut self, column: usize, mirrors: u32) -> Option<Destage> {
        if self.in_flight[column] >= self.depth {
            return None;
        }
        let (begins, ends) = self.columns[column].take(self.write_bytes_max)?;
        self.in_flight[column] += 1;
        let slot = self.destaging.insert(Destaging {
            column,
            begins,
            ends,
            remaining: mirrors,
        });
        Some(Destage {
            slot,
            offset: begins,
            length: (ends - begins) as u32,
        })
    }

    /// Notes that a mirror has completed a write, and tells the column that
    /// has room for another when it was the last.
    pub(super) fn arrived(&mut self, slot: u32) -> Option<usize> {
        let destaging = &mut self.destaging[slot];
        destaging.remaining -= 1;
        if destaging.remaining > 0 {
            return None;
        }
        self.used -= destaging.ends - destaging.begins;
        self.in_flight[destaging.column] -= 1;

        let column = destaging.column;
        self.destaging.release(slot);
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn dirty_bytes_are_those_of_a_bitmap() {
        let seed = Seed::new(7);
        let mut random = seed.generator();
        let mut cache = WriteCache::new(1 << 20, 1, 4, 32);
        let mut dirty = [false; 512];
        let mut going: Vec<Destage> = Vec::new();
        for step in 0..20_000 {
            let word = random.next_u64();
            let (offset, length) = ((word >> 8) % 448, 1 + (word >> 32) % 64);
            let span = offset as usize..(offset + length) as usize;
            match word % 4 {
                0 => {
                    cache.add(0, offset, length as u32);
                    dirty[span.clone()].fill(true);
                }
                1 | 2 => {
                    if let Some(destage) = cache.destage(0, 1) {
                        assert!(destage.length <= 32);
                        let taken = destage.offset as usize..;
                        for byte in &mut dirty[taken][..destage.length as usize] {
                            assert!(*byte, "step {step} of seed {seed}");
                            *byte = false;
                        }
                        going.push(destage);
                        assert!(going.len() <= 4);
                    }
                }
                _ => {
                    if !going.is_empty() {
                        let done = going.swap_remove((word >> 40) as usize % going.len());
                        assert_eq!(cache.arrived(done.slot), Some(0));
                    }
                }
            }
            let on_the_way: u64 = going.iter().map(|destage| u64::from(destage.length)).sum();
            let bytes = dirty.iter().filter(|byte| **byte).count() as u64;
            assert_eq!(cache.used, bytes + on_the_way, "step {step} of seed {seed}");
            let readable = dirty[span.clone()].iter().all(|byte| *byte)
                || going.iter().any(|destage| {
                    destage.offset <= offset
                        && offset + length <= destage.offset + u64::from(destage.length)
                });
            assert_eq!(cache.holds(0, offset, length as u32), readable);
        }
    }

    #[test]
    fn destaging_sweeps_upward_and_joins_neighbours() {
        let mut cache = WriteCache::new(1 << 20, 1, 8, 100);
        for offset in [300, 100, 110, 200, 290] {
            cache.add(0, offset, 10);
        }
        let mut order = Vec::new();
        while let Some(destage) = cache.destage(0, 2) {
            order.push((destage.offset, destage.length));
            if order.len() == 2 {
                // Behind the sweep: its turn comes after the rest.
                cache.add(0, 50, 10);
            }
            assert_eq!(cache.arrived(destage.slot), None);
            assert_eq!(cache.arrived(destage.slot), Some(0));
        }
        assert_eq!(order, [(100, 20), (200, 10), (290, 20), (50, 10)]);
        assert_eq!(cache.used, 0);
        assert!(cache.has_room(1 << 20));
    }
}
