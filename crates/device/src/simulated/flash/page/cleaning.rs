//! Cleaning: blocks of which little is in use are emptied and erased, at the
//! pace at which the host fills others.

use octavo_units::{Moment, prefetch};

use super::{NO_ROW, Open, PageMapped, Spot, Victim, Writer};
use crate::simulated::flash::{
    nand::Nand,
    work::{Operation, Work},
};

/// Cleaning begins when a die has no more free blocks than this.
pub(super) const FREE_BLOCKS: usize = 2;

/// A unit of a block that is cleaned, and what it holds.
#[derive(Clone, Copy, Default)]
struct Move {
    unit: u32,
    logical: u32,
}

/// Units that are moved in one go, at most: as many entries of the map are
/// brought into the processor's cache before the first is changed.
const BATCH: usize = 64;

impl PageMapped {
    /// Takes a free block in the place of an open one that is full.
    pub(super) fn turn(&mut self, nand: &mut Nand, at: Moment, die: u32, writer: Writer) {
        let into = self.stream(writer);
        loop {
            let Open { row, units, .. } = self.open[die as usize][into];
            if row != NO_ROW {
                if units < self.units_per_block {
                    // Cleaning, which writes into the same, has opened it.
                    return;
                }
                self.blocks.close(die, row);
                self.open[die as usize][into] = Open::NOTHING;
            }
            // The last free block is for cleaning, which then frees another.
            if writer == Writer::Cleaner || self.blocks.free(die) >= 2 {
                let row = self
                    .blocks
                    .open(die)
                    .expect("cleaning frees more than it takes");
                let next = self.physical_at(Spot { die, row, unit: 0 });
                self.open[die as usize][into] = Open {
                    row,
                    next,
                    ..Open::NOTHING
                };
                return;
            }
            self.clean(nand, at, die, self.units_per_block);
        }
    }

    /// Cleans as much as keeps pace with `written` units that the host wrote
    /// to a die.
    #[inline]
    pub(super) fn clean(&mut self, nand: &mut Nand, at: Moment, die: u32, written: u32) {
        let mut victim = match self.cleaning[die as usize] {
            Some(victim) => victim,
            None if self.blocks.free(die) > FREE_BLOCKS => return,
            None => match self.blocks.victim(die, self.wear_gap) {
                Some((row, used)) => Victim {
                    row,
                    next: 0,
                    used,
                    moved: 0,
                    written: 0,
                    page: u32::MAX,
                },
                None => return,
            },
        };
        victim.written = victim.written.saturating_add(written);
        let gain = (self.units_per_block - victim.used).max(1);
        let due = if victim.written >= gain {
            u32::MAX
        } else {
            // Below the units of a block squared.
            (victim.written * victim.used).div_ceil(gain)
        };
        while victim.moved < due && victim.next < self.units_per_block {
            // What is in use does not change while a batch is moved: the host
            // writes nothing meanwhile, and cleaning moves no unit twice.
            let mut batch = [Move::default(); BATCH];
            let most = BATCH.min((due - victim.moved) as usize);
            let mut count = 0;
            while count < most {
                let next = self.blocks.next_used(die, victim.row, victim.next);
                let Some(unit) = next else {
                    victim.next = self.units_per_block;
                    break;
                };
                victim.next = unit + 1;
                let row = victim.row;
                let spot = Spot { die, row, unit };
                let logical = self.logical[self.entry(spot)] ^ self.physical_at(spot);
                prefetch(&self.physical, logical as usize);
                batch[count] = Move { unit, logical };
                count += 1;
            }
            victim.moved += count as u32;
            for step in &batch[..count] {
                self.relocate(nand, at, die, *step, &mut victim);
            }
        }
        if victim.next < self.units_per_block {
            self.cleaning[die as usize] = Some(victim);
            return;
        }
        self.cleaning[die as usize] = None;
        self.blocks.erase(die, victim.row);
        let erase = Work {
            operation: Operation::Erase,
            bit: 0,
            ready: at,
            bytes: 0,
            buffered: 0,
        };
        self.work(nand, at, die, erase);
    }

    /// Moves a unit of a block that is being cleaned.
    #[inline]
    fn relocate(
        &mut self,
        nand: &mut Nand,
        at: Moment,
        die: u32,
        Move { unit, logical }: Move,
        victim: &mut Victim,
    ) {
        let row = victim.row;
        let page = self.units_per_page.quotient(unit);
        let mut work = Work {
            operation: Operation::CopyBack,
            bit: nand.bit(page),
            ready: at,
            bytes: self.unit_bytes,
            buffered: 0,
        };
        if self.copy_back {
            self.work(nand, at, die, work);
        } else {
            if page != victim.page {
                // All of it that is in use comes at once.
                victim.page = page;
                let end = (page + 1) * self.units_per_page.get();
                let used = (unit..end).filter(|&unit| self.blocks.is_used(die, row, unit));
                work.operation = Operation::Fetch;
                work.bytes = used.count() as u32 * self.unit_bytes;
                self.work(nand, at, die, work);
            }
        }
        self.make_room(nand, at, die, Writer::Cleaner);
        self.blocks.remove(die, row, unit);
        // What is fetched is there when the die goes on to the next.
        self.place(nand, at, at, logical, die, Writer::Cleaner);
    }
}
