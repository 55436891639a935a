//! A page-mapped translation layer: every unit of the host may lie anywhere.
//!
//! The map has one entry for each unit, of usually one flash page, and a write
//! goes to the next flash page of an open block, on the next die. When free
//! blocks run short, the block with the fewest units in use is cleaned
//! (greedy): what is in use moves to an open block of the same die, and the
//! block is erased. Cleaning keeps pace with the host: a block with u of n
//! units in use gains room for n - u writes, and is cleaned while these are
//! made, so that no request finds the work of a whole block before it.
//!
//! The write buffer acknowledges a write when it has room for it, which it has
//! again when flash pages are programmed. What is smaller than a unit, or
//! misaligned, is merged with the rest of its unit, which is read; successive
//! writes of parts of one unit are merged in the buffer.
//!
//! Not covered: rewriting in the buffer what waits there for its program;
//! reading what is being programmed from the buffer; maps that do not fit the
//! drive's memory (DFTL: Gupta, Kim and Urgaonkar, ASPLOS 2009).

mod cleaning;
mod parameters;

use octavo_units::{Moment, prefetch};

use super::{
    blocks::Blocks,
    limits::ns,
    nand::{Nand, Shape},
    translation::{Extent, Translation},
    work::{DieWork, Operation, Work},
};
use crate::simulated::divisor::Divisor;
pub use parameters::{Buffer, Cleaning, Copying, Parameters};
use parameters::{Layout, RESERVED_BLOCKS, UNITS_MAX};

/// The translation layer; see the module.
///
/// A unit of the host is `logical`, one of the chips `physical`. These are
/// numbered so that successive ones fill a flash page, then the flash page of
/// the next die, then the next of each, so that a device that was filled in
/// ascending order has each at its own number.
pub(crate) struct PageMapped {
    unit_bytes: u32,
    /// log2 of `unit_bytes`.
    unit_bits: u32,
    units_per_page: Divisor,
    pages_per_block: Divisor,
    units_per_block: u32,
    dies: Divisor,
    rows: u32,
    logical_units: u32,
    spare_units: u64,
    /// Physical of each logical unit, the two exclusive-ored: a device that
    /// was filled in order is all zeroes, and memory that was never touched
    /// takes none. Complements of numbers are no units.
    physical: Vec<u32>,
    /// Which stretches of `physical` were written to ([`Self::touch`]).
    touched: Vec<bool>,
    /// Logical of each physical unit that was last written there, likewise,
    /// block by block, as cleaning goes through them. Which of them are in
    /// use, `blocks` knows.
    logical: Vec<u32>,
    blocks: Blocks,
    /// For each die, where host writes go, then where cleaning writes go.
    open: Vec<[Open; 2]>,
    cleaning: Vec<Option<Victim>>,
    /// The die whose flash page the host's writes fill.
    die: u32,
    /// A die takes no more writes of the host when this many units are in use.
    used_max: u64,
    /// The stream that cleaning writes: `HOST`, or `CLEANING` if apart.
    cleaner: usize,
    copy_back: bool,
    wear_gap: u32,
    protected: bool,
    /// Picoseconds that a flush takes for each byte that was written since the last one.
    flush_ps_per_byte: u64,
    /// These bytes.
    unflushed: u64,
    buffer_ns: u64,
    /// Units that the write buffer has room for, and that it holds.
    buffer_capacity: u32,
    buffered: u32,
    work: DieWork,
    /// The part of a unit that waits for its rest.
    part: Option<UnitPart>,
}

/// Entries of a page of memory.
const STRETCH: usize = 4096 / size_of::<u32>();

/// Where a unit lies: which unit of which block of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    die: u32,
    row: u32,
    unit: u32,
}

/// An open block and the flash page that is being gathered for it.
#[derive(Clone, Copy)]
struct Open {
    /// `NO_ROW` before the first write.
    row: u32,
    /// Units that were put into it.
    units: u32,
    /// How many of these are in the flash page that is gathered.
    gathered: u32,
    /// The physical unit that comes next.
    next: u32,
    /// When all units of the flash page that is gathered are in the
    /// controller.
    ready: Moment,
    /// How many of these are in the write buffer.
    buffered: u32,
}

const NO_ROW: u32 = u32::MAX;
const HOST: usize = 0;
const CLEANING: usize = 1;

impl Open {
    /// The flash page is full: goes on with the next of the block, which lies
    /// behind one of each other die.
    #[inline]
    fn turn_page(&mut self, units_per_page: u32, dies: u32) {
        self.gathered = 0;
        self.next += (dies - 1) * units_per_page;
    }

    const NOTHING: Self = Self {
        row: NO_ROW,
        units: 0,
        gathered: 0,
        next: 0,
        ready: Moment::START,
        buffered: 0,
    };
}

/// Who writes to flash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Host,
    Cleaner,
}

/// Units of a write whose entries of the map are fetched when it is announced.
const ANNOUNCED_UNITS: usize = 4;

/// A part of a unit, in bytes from its beginning.
#[derive(Clone, Copy)]
struct UnitPart {
    unit: u32,
    begin: u32,
    end: u32,
}

/// A block that is being cleaned.
#[derive(Clone, Copy)]
struct Victim {
    row: u32,
    /// Unit of it that is looked at next.
    next: u32,
    /// Units in use when it was chosen.
    used: u32,
    /// Units that were moved since.
    moved: u32,
    /// Units that the host wrote since.
    written: u32,
    /// Page of it that was fetched last.
    page: u32,
}

impl PageMapped {
    pub(super) fn new(parameters: &Parameters, capacity: u64, shape: &Shape) -> Self {
        let layout = Layout::new(parameters, capacity, shape);
        let unit_bytes = parameters.unit_bytes.value;
        let units_per_page = shape.page_bytes / unit_bytes;
        let units_per_block = units_per_page * shape.pages_per_block;
        let dies = shape.dies();
        let buffered = parameters.buffer_bytes.value / u64::from(unit_bytes);
        let mut device = Self {
            unit_bytes,
            unit_bits: unit_bytes.ilog2(),
            units_per_page: Divisor::new(units_per_page),
            pages_per_block: Divisor::new(shape.pages_per_block),
            units_per_block,
            dies: Divisor::new(dies),
            rows: layout.rows,
            logical_units: (capacity / u64::from(unit_bytes)) as u32,
            spare_units: layout.spare_units_per_die * u64::from(dies),
            physical: Vec::new(),
            touched: Vec::new(),
            logical: Vec::new(),
            blocks: Blocks::new(0, 0, 0),
            open: Vec::new(),
            cleaning: Vec::new(),
            die: 0,
            used_max: u64::from(layout.rows - RESERVED_BLOCKS) * u64::from(units_per_block),
            cleaner: match parameters.cleaning.value {
                Cleaning::Together => HOST,
                Cleaning::Apart => CLEANING,
            },
            copy_back: parameters.copying.value == Copying::CopyBack,
            wear_gap: parameters.wear_gap.value,
            protected: parameters.buffer.value == Buffer::Protected,
            // 1000 ns a us and 1000 ps a ns, over 1024 bytes a KiB.
            flush_ps_per_byte: (flush_us_per_kib(parameters) * 1e6 / 1024.0).round() as u64,
            unflushed: 0,
            buffer_ns: ns(parameters.buffer_us.value),
            buffer_capacity: u32::try_from(buffered).unwrap_or(u32::MAX / 2),
            buffered: 0,
            work: DieWork::new(dies),
            part: None,
        };
        device.fill(capacity);
        device
    }

    /// The number of the flash page that holds a physical unit: dies vary
    /// fastest.
    #[inline]
    fn page_of(&self, physical: u32) -> u32 {
        self.units_per_page.quotient(physical)
    }

    #[inline]
    fn die_of_page(&self, page: u32) -> u32 {
        self.dies.split(page).1
    }

    /// Which bit of its cells a flash page is.
    #[inline]
    fn bit(&self, nand: &Nand, page: u32) -> u32 {
        match nand.has_bits() {
            false => 0,
            true => {
                let stripe = self.dies.quotient(page);
                nand.bit(self.pages_per_block.split(stripe).1)
            }
        }
    }

    /// Where a physical unit lies.
    #[inline]
    fn spot(&self, physical: u32) -> Spot {
        let (page, within) = self.units_per_page.split(physical);
        let (stripe, die) = self.dies.split(page);
        let (row, page) = self.pages_per_block.split(stripe);
        Spot {
            die,
            row,
            unit: page * self.units_per_page.get() + within,
        }
    }

    /// The physical unit that lies there.
    #[inline]
    fn physical_at(&self, Spot { die, row, unit }: Spot) -> u32 {
        let (page, within) = self.units_per_page.split(unit);
        let page = (row * self.pages_per_block.get() + page) * self.dies.get() + die;
        page * self.units_per_page.get() + within
    }

    /// Where `logical` has its entry of a unit.
    #[inline]
    fn entry(&self, Spot { die, row, unit }: Spot) -> usize {
        (die as usize * self.rows as usize + row as usize) * self.units_per_block as usize
            + unit as usize
    }

    /// Where a unit of the host lies, if anywhere.
    #[inline]
    fn physical(&self, logical: u32) -> Option<u32> {
        let physical = self.physical[logical as usize] ^ logical;
        (u64::from(physical) < UNITS_MAX).then_some(physical)
    }

    /// Comes before a unit's entry is looked up and written. Memory of zeroes that is read first gets
    /// a page that all share, and another one when it is written. All processors of this process
    /// have to hear of that: 4% of the time of two that predict 100 GB each.
    #[inline]
    fn touch(&mut self, logical: u32) {
        let stretch = logical as usize / STRETCH;
        if !self.touched[stretch] {
            self.touched[stretch] = true;
            // What it is already.
            self.physical[stretch * STRETCH] = 0;
        }
    }

    /// Whether a physical unit is gathered for a program that has not begun.
    #[inline]
    fn gathered(&self, die: u32, physical: u32) -> bool {
        self.open[die as usize]
            .iter()
            .any(|open| (open.next - open.gathered..open.next).contains(&physical))
    }

    /// Puts a unit into the flash page that is gathered on a die; it is in
    /// the controller at `ready`. What it held before is not in use any more.
    #[inline]
    fn place(
        &mut self,
        nand: &mut Nand,
        at: Moment,
        ready: Moment,
        logical: u32,
        die: u32,
        writer: Writer,
    ) {
        self.touch(logical);
        let into = self.stream(writer);
        let units_per_page = self.units_per_page.get();
        let open = &mut self.open[die as usize][into];
        let physical = open.next;
        let (row, unit) = (open.row, open.units);
        self.blocks.put(die, row, unit);
        open.units += 1;
        open.gathered += 1;
        open.next += 1;
        open.ready = open.ready.max(ready);
        open.buffered += u32::from(writer == Writer::Host);
        self.physical[logical as usize] = physical ^ logical;
        let entry = self.entry(Spot { die, row, unit });
        self.logical[entry] = physical ^ logical;
        let open = &mut self.open[die as usize][into];
        if open.gathered == units_per_page {
            open.turn_page(units_per_page, self.dies.get());
            if writer == Writer::Host || !self.copy_back {
                self.program(nand, at, die, into);
            }
        }
    }

    /// Sees to it that the open block of a die has room.
    #[inline]
    fn make_room(&mut self, nand: &mut Nand, at: Moment, die: u32, writer: Writer) {
        let open = self.open[die as usize][self.stream(writer)];
        if open.row == NO_ROW || open.units == self.units_per_block {
            self.turn(nand, at, die, writer);
        }
    }

    /// Which of a die's two streams this writes to.
    #[inline]
    fn stream(&self, writer: Writer) -> usize {
        match writer {
            Writer::Host => HOST,
            Writer::Cleaner => self.cleaner,
        }
    }

    /// Has the flash page programmed that was gathered on a die.
    #[inline]
    fn program(&mut self, nand: &mut Nand, at: Moment, die: u32, into: usize) {
        let open = &mut self.open[die as usize][into];
        let page = self.units_per_page.quotient(open.units - 1);
        let work = Work {
            operation: Operation::Program,
            bit: nand.bit(page),
            ready: open.ready,
            bytes: self.unit_bytes * self.units_per_page.get(),
            buffered: open.buffered,
        };
        open.buffered = 0;
        open.ready = Moment::START;
        self.work(nand, at, die, work);
    }

    #[inline]
    fn work(&mut self, nand: &mut Nand, at: Moment, die: u32, work: Work) {
        if nand.is_timed() {
            self.work.add(nand, at, die, work);
        } else {
            self.buffered -= work.buffered;
        }
    }

    /// Takes a whole unit of the host. `merged` is when the controller has
    /// all of it.
    #[inline]
    fn put(&mut self, nand: &mut Nand, at: Moment, merged: Moment, logical: u32) {
        while self.blocks.used_of_die(self.die) >= self.used_max {
            self.die = self.die_after(self.die);
        }
        let die = self.die;
        self.make_room(nand, at, die, Writer::Host);
        self.forget(logical);
        self.place(nand, at, merged, logical, die, Writer::Host);
        if self.open[die as usize][HOST].gathered == 0 {
            self.die = self.die_after(die);
            self.clean(nand, at, die, self.units_per_page.get());
        }
    }

    #[inline]
    fn die_after(&self, die: u32) -> u32 {
        if die + 1 == self.dies.get() {
            0
        } else {
            die + 1
        }
    }

    /// What holds a unit of the host is not in use any more.
    #[inline]
    fn forget(&mut self, logical: u32) {
        self.touch(logical);
        if let Some(old) = self.physical(logical) {
            let Spot { die, row, unit } = self.spot(old);
            self.blocks.remove(die, row, unit);
        }
    }

    /// Reads the rest of a unit of which a part was written, and takes it.
    fn merge(&mut self, nand: &mut Nand, at: Moment, part: UnitPart) {
        let merged = match self.physical(part.unit) {
            Some(old) => {
                let Spot { die, unit, .. } = self.spot(old);
                if self.gathered(die, old) {
                    at
                } else {
                    let bit = nand.bit(self.units_per_page.quotient(unit));
                    nand.fetch(at, die, bit, self.unit_bytes)
                }
            }
            None => at,
        };
        self.put(nand, at, merged, part.unit);
    }

    /// Takes a part of a unit into the buffer, where it waits for its rest as
    /// long as no other part comes.
    fn put_part(&mut self, nand: &mut Nand, at: Moment, part: UnitPart) {
        match self.part.take() {
            Some(held) if held.unit == part.unit && held.end == part.begin => {
                let whole = UnitPart {
                    begin: held.begin,
                    ..part
                };
                self.buffered -= 1;
                if whole.end - whole.begin == self.unit_bytes {
                    self.put(nand, at, at, part.unit);
                } else {
                    self.part = Some(whole);
                }
            }
            held => {
                if let Some(held) = held {
                    self.merge(nand, at, held);
                }
                self.part = Some(part);
            }
        }
    }

    /// Units of a block that are in use when the device was filled in order:
    /// its first ones.
    fn filled(&self, die: u32, row: u32) -> u32 {
        let units_per_page = self.units_per_page.get();
        let used = |page| {
            let unit = page * units_per_page;
            let first = self.physical_at(Spot { die, row, unit });
            let rest = self.logical_units.saturating_sub(first);
            rest.min(units_per_page)
        };
        let last = self.pages_per_block.get() - 1;
        match (used(0), used(last)) {
            (0, _) => 0,
            (_, rest) if rest == units_per_page => self.units_per_block,
            _ => (0..=last).map(used).sum(),
        }
    }

    /// Units that an extent touches.
    #[inline]
    fn units(&self, extent: Extent) -> std::ops::Range<u32> {
        let last = u64::from(self.unit_bytes) - 1;
        let first = extent.offset >> self.unit_bits;
        first as u32..((extent.end() + last) >> self.unit_bits) as u32
    }
}

/// 0 where an entry says nothing.
fn flush_us_per_kib(parameters: &Parameters) -> f64 {
    let given = parameters.flush_us_per_kib.as_ref();
    given.map_or(0.0, |sourced| sourced.value)
}

impl Translation for PageMapped {
    #[inline]
    fn advance(&mut self, nand: &mut Nand, until: Moment) {
        self.buffered -= self.work.advance(nand, until);
    }

    fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    fn buffer_bytes(&self) -> u64 {
        u64::from(self.buffer_capacity) * u64::from(self.unit_bytes)
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.work.earliest().is_none()
    }

    #[inline]
    fn announce(&self, extent: Extent) {
        // Of a long write the first entries will do: the others follow them.
        for logical in self.units(extent).take(ANNOUNCED_UNITS) {
            prefetch(&self.physical, logical as usize);
        }
    }

    #[inline]
    fn admit(&mut self, _: &mut Nand, at: Moment, extent: Extent) -> Moment {
        // What is larger than the buffer passes it in parts.
        let most = self.buffer_capacity - self.units_per_page.get();
        let units = (self.units(extent).len() as u32).min(most);
        if self.buffered + units <= self.buffer_capacity {
            return at;
        }
        // Without work, there is nothing to wait for.
        self.work.earliest().map_or(at, |over| over.max(at))
    }

    #[inline]
    fn read(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        let mut over = at;
        // Of the flash page that is read next: its number, its die, bytes.
        let (mut page, mut die, mut bytes) = (u32::MAX, 0, 0);
        for logical in self.units(extent) {
            let Some(physical) = self.physical(logical) else {
                continue;
            };
            let next = self.page_of(physical);
            let next_die = self.die_of_page(next);
            if self.gathered(next_die, physical) {
                over = over.max(at.after(self.buffer_ns));
                continue;
            }
            if next != page {
                if bytes > 0 {
                    over = over.max(nand.read(at, die, self.bit(nand, page), bytes));
                }
                (page, die, bytes) = (next, next_die, 0);
            }
            bytes += extent.bytes_within(u64::from(logical), self.unit_bytes);
        }
        if bytes > 0 {
            over = over.max(nand.read(at, die, self.bit(nand, page), bytes));
        }
        over
    }

    fn write(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        let mut at = at;
        if nand.is_timed() {
            self.unflushed += u64::from(extent.length);
        }
        for logical in self.units(extent) {
            while self.buffered >= self.buffer_capacity
                && let Some(over) = self.work.earliest()
            {
                at = at.max(over);
                self.advance(nand, at);
            }
            self.buffered += 1;
            let begin = u64::from(logical) * u64::from(self.unit_bytes);
            if extent.bytes_within(u64::from(logical), self.unit_bytes) == self.unit_bytes {
                self.put(nand, at, at, logical);
            } else {
                let from = extent.offset.max(begin) - begin;
                let until = extent.end() - begin;
                let part = UnitPart {
                    unit: logical,
                    begin: from as u32,
                    end: until.min(u64::from(self.unit_bytes)) as u32,
                };
                self.put_part(nand, at, part);
            }
        }
        at.after(self.buffer_ns)
    }

    fn flush(&mut self, nand: &mut Nand, at: Moment) -> Moment {
        if self.protected {
            return at;
        }
        if let Some(part) = self.part.take() {
            self.merge(nand, at, part);
        }
        let units_per_page = self.units_per_page.get();
        for die in 0..self.dies.get() {
            let open = &mut self.open[die as usize][HOST];
            if open.buffered == 0 || open.gathered == 0 {
                continue;
            }
            // The rest of the flash page stays empty.
            let rest = units_per_page - open.gathered;
            open.units += rest;
            open.next += rest;
            open.turn_page(units_per_page, self.dies.get());
            self.program(nand, at, die, HOST);
            self.clean(nand, at, die, units_per_page);
        }
        let bytes = std::mem::take(&mut self.unflushed);
        let programmed = self.work.finish(nand, at);
        programmed.after(bytes * self.flush_ps_per_byte / 1000)
    }

    fn trim(&mut self, extent: Extent) {
        for logical in self.units(extent) {
            if extent.bytes_within(u64::from(logical), self.unit_bytes) < self.unit_bytes {
                continue;
            }
            self.forget(logical);
            self.physical[logical as usize] = u32::MAX;
        }
    }

    fn fill(&mut self, range_bytes: u64) -> u64 {
        // Zeroed memory is not there until it is written.
        self.physical = vec![0; self.logical_units as usize];
        self.touched = vec![false; self.physical.len().div_ceil(STRETCH)];
        let dies = self.dies.get();
        self.logical = vec![0; (self.rows * dies * self.units_per_block) as usize];
        self.blocks = Blocks::new(dies, self.rows, self.units_per_block);
        self.open = vec![[Open::NOTHING; 2]; dies as usize];
        self.cleaning = vec![None; dies as usize];
        self.die = 0;
        self.part = None;
        self.buffered = 0;
        self.work = DieWork::new(dies);
        let range = range_bytes.div_ceil(u64::from(self.unit_bytes));
        // Under overwrites of a range that is small against what is spare,
        // blocks are stale altogether before they are cleaned: of uniform
        // ones, e^-(spare / range) of the units are in use. They need not be
        // written to be as they will be.
        let stale = self.spare_units >= SMALL_RANGE * range;
        for row in 0..self.rows {
            let reserved = row + RESERVED_BLOCKS >= self.rows;
            for die in 0..dies {
                let used = self.filled(die, row);
                if used > 0 || (stale && !reserved) {
                    self.blocks.fill(die, row, used);
                }
            }
        }
        let units = if stale {
            2 * range
        } else {
            self.spare_units + 2 * range
        };
        units * u64::from(self.unit_bytes)
    }

    #[cfg(test)]
    fn memory_bytes(&self) -> usize {
        size_of_val(&self.physical[..])
            + size_of_val(&self.touched[..])
            + size_of_val(&self.logical[..])
            + self.blocks.memory_bytes()
            + size_of_val(&self.open[..])
            + size_of_val(&self.cleaning[..])
    }
}

/// A range is small if the spare units are this many times its own: 0.7 % of
/// the units of a block are in use when it is cleaned.
const SMALL_RANGE: u64 = 5;

#[cfg(test)]
pub(super) mod tests;
