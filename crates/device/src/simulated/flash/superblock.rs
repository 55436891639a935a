//! Translation by superblocks, as drives of about 2006 to 2008 did it: ganged
//! channels, a map of whole superblocks with a few that take new data, and a
//! write buffer that gathers by superblock.
//!
//! Three parts are apart: the map (`block`, `hybrid`) says what a write takes in
//! copies, programs and erases; the gang (`gang`) says when that is done; and
//! the buffer (`grouping`) says what is written next. Writes are acknowledged
//! from the buffer. One that finds no room has every way that is at rest evict
//! its best victim, and waits for the first to be done. Without a buffer the
//! controller still holds one write for each way.
//!
//! What the map itself costs to keep on flash is not covered: it is part of
//! the spare areas of the superblocks.

#[cfg(test)]
mod tests;

use octavo_units::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    block::{Mapping, Replaced},
    gang::{Copying, Gang, Timing, Work},
    grouping::{Buffer, Victim},
    hybrid::Shared,
    nand::{self, Nand, Operations},
    pool::{Change, Shape},
    translation::{Extent, Translation},
};
use crate::sourced::{Bounded, Impossible, Sourced, require};

/// Parameters of translation by superblocks: `[flash.superblock]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Where new data of a superblock goes.
    pub log: Sourced<Log>,
    /// Superblocks that may hold new data at a time; a multiple of `ways`. 0
    /// rewrites a superblock for each write.
    pub replacements: Sourced<u32>,
    /// Free superblocks besides; at least 2 for each of the `ways`.
    pub spares: Sourced<u32>,
    /// Dies of a channel that work at once, each on a superblock of its own.
    pub ways: Sourced<u32>,
    /// How merges copy.
    pub copying: Sourced<Copying>,
    /// Difference of erases from which on data that rests is moved to a worn
    /// superblock; 0 for never.
    pub levelling_spread: Sourced<u32>,
    /// Bytes of writes that the drive holds back; 0 for one request a way.
    pub buffer_bytes: Sourced<u64>,
    /// Bytes of a line of that buffer. A smaller write takes a whole line. It has whole
    /// sectors, and a superpage has whole lines.
    pub buffer_line_bytes: Sourced<u32>,
    /// What leaves the buffer first.
    pub victim: Sourced<Victim>,
}

/// Where new data of a superblock goes until it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Log {
    /// To a replacement block of its own (BAST, Kim et al. 2002).
    Replacement,
    /// To log blocks for all superblocks (FAST, Lee et al. 2007).
    Shared,
}

/// More than any drive of a few TB has of superpages, and of superblocks with
/// the smallest flash pages; tables of them are held in memory.
const SUPERPAGES_MAX: u64 = 1 << 30;

impl Parameters {
    /// Checks these values for chips that are checked.
    pub(super) fn check(
        &self,
        capacity_bytes: u64,
        sector_bytes: u32,
        chips: &nand::Shape,
    ) -> Result<(), Impossible> {
        let ways = self.ways.value;
        self.ways
            .check("superblock.ways", 1..=chips.dies_per_channel)?;
        require(
            chips.channels == 1,
            "nand.channels",
            chips.channels,
            "superblocks need channels in lock-step: parallelism = \"intra-command\"",
        )?;
        let superpage_bytes = chips.page_bytes;
        require(
            superpage_bytes / sector_bytes <= 64 && superpage_bytes.is_multiple_of(sector_bytes),
            "sector_bytes",
            sector_bytes,
            format!("a superpage of {superpage_bytes} bytes has 1 to 64 whole sectors"),
        )?;
        let superblock_bytes = u64::from(superpage_bytes) * u64::from(chips.pages_per_block);
        require(
            capacity_bytes / u64::from(superpage_bytes) <= SUPERPAGES_MAX
                && capacity_bytes / superblock_bytes >= u64::from(ways),
            "capacity_bytes",
            capacity_bytes,
            format!(
                "a drive has a superblock of {superblock_bytes} bytes for each way, and up to {SUPERPAGES_MAX} superpages"
            ),
        )?;
        let superblocks = capacity_bytes.div_ceil(superblock_bytes);
        let least = match self.log.value {
            Log::Replacement => 0,
            // One in order, and one for the rest.
            Log::Shared => 2 * ways,
        };
        let most = superblocks.max(u64::from(2 * ways));
        for (key, value, least, most) in [
            (
                "superblock.replacements",
                *self.replacements,
                least,
                superblocks,
            ),
            ("superblock.spares", *self.spares, 2 * ways, most),
        ] {
            require(
                value.is_multiple_of(ways) && value >= least && u64::from(value) <= most,
                key,
                value,
                format!("it is a multiple of the {ways} ways, from {least} to {most}"),
            )?;
        }
        let line = self.buffer_line_bytes.value;
        require(
            line > 0 && line.is_multiple_of(sector_bytes) && superpage_bytes.is_multiple_of(line),
            "superblock.buffer_line_bytes",
            line,
            format!(
                "a line has whole sectors of {sector_bytes} bytes, and a superpage of {superpage_bytes} whole lines"
            ),
        )?;
        self.buffer_bytes
            .check("superblock.buffer_bytes", ..=capacity_bytes)
    }

    /// The translation, of a drive that is full and at rest.
    pub(super) fn open(
        &self,
        capacity_bytes: u64,
        sector_bytes: u32,
        chips: &nand::Shape,
    ) -> Superblock {
        let superblock_bytes = u64::from(chips.page_bytes) * u64::from(chips.pages_per_block);
        let ways = self.ways.value;
        let shape = Shape {
            superblocks: u32::try_from(capacity_bytes.div_ceil(superblock_bytes))
                .expect("checked: there are fewer superpages"),
            superpages: chips.pages_per_block,
            ways,
            replacements: self.replacements.value / ways,
            spares: self.spares.value / ways,
            levelling_spread: self.levelling_spread.value,
        };
        let timing = Timing {
            sense_ns: chips.read_ns[0],
            program_ns: chips.program_ns[0],
            erase_ns: chips.erase_ns,
            bus_ps_per_byte: chips.channel_ps_per_byte,
            superpage_bytes: u64::from(chips.page_bytes),
            copying: self.copying.value,
        };
        let mut opened = Superblock {
            shape,
            log: self.log.value,
            superpage_bytes: chips.page_bytes,
            sector_bytes,
            gang_blocks: chips.gang,
            gang: Gang::new(timing, ways as usize),
            mapping: Box::new(Replaced::full(shape)),
            buffer: Buffer::new(
                shape,
                self.victim.value,
                self.buffer_bytes.value,
                self.buffer_line_bytes.value,
                sector_bytes,
                chips.page_bytes,
            ),
            evicting: vec![0; ways as usize],
            owed: vec![Work::default(); ways as usize],
            changes: Vec::new(),
            way_of_eviction: 0,
        };
        opened.mapping = opened.full_mapping();
        opened
    }
}

/// A translation by superblocks, with its gang and its buffer.
pub(crate) struct Superblock {
    shape: Shape,
    log: Log,
    superpage_bytes: u32,
    sector_bytes: u32,
    /// Blocks of chips in a superblock.
    gang_blocks: u32,
    gang: Gang,
    mapping: Box<dyn Mapping + Send>,
    buffer: Buffer,
    /// Sectors on their way to the flash, by way.
    evicting: Vec<u32>,
    /// What trims left to do, by way.
    owed: Vec<Work>,
    changes: Vec<Change>,
    /// The way that evicts next while nothing takes time.
    way_of_eviction: usize,
}

/// A part of an extent that lies in one superpage.
#[derive(Clone, Copy)]
struct SuperpagePart {
    superblock: u32,
    superpage: u32,
    /// Its sectors of the superpage.
    mask: u64,
    bytes: u32,
}

impl Superblock {
    fn full_mapping(&self) -> Box<dyn Mapping + Send> {
        match self.log {
            Log::Replacement => Box::new(Replaced::full(self.shape)),
            Log::Shared => Box::new(Shared::full(self.shape)),
        }
    }

    fn parts(&self, extent: Extent) -> impl Iterator<Item = SuperpagePart> + use<> {
        let (superpage_bytes, sector_bytes) = (self.superpage_bytes, self.sector_bytes);
        let superpages = u64::from(self.shape.superpages);
        let first = extent.offset / u64::from(superpage_bytes);
        let end = extent.end().div_ceil(u64::from(superpage_bytes));
        (first..end).filter_map(move |superpage| {
            let bytes = extent.bytes_within(superpage, superpage_bytes);
            if bytes == 0 {
                return None;
            }
            let begin = extent
                .offset
                .saturating_sub(superpage * u64::from(superpage_bytes));
            let sectors = u64::MAX >> (64 - bytes / sector_bytes);
            Some(SuperpagePart {
                superblock: (superpage / superpages) as u32,
                superpage: (superpage % superpages) as u32,
                mask: sectors << (begin / u64::from(sector_bytes)),
                bytes,
            })
        })
    }

    /// Sectors of lines that the extent takes of the buffer besides those that it has.
    fn new_sectors(&self, extent: Extent) -> u64 {
        let wanted = |part: SuperpagePart| {
            self.buffer
                .wanted(part.superblock, part.superpage, part.mask)
        };
        self.parts(extent).map(|part| u64::from(wanted(part))).sum()
    }

    /// Lets everything up to `at` happen.
    fn pass(&mut self, at: Moment) {
        while self.end_one(at).is_some() {}
    }

    /// Waits for a way to be done, by `until`.
    fn end_one(&mut self, until: Moment) -> Option<Moment> {
        let (at, way) = self.gang.next(until)?;
        self.buffer.release(std::mem::take(&mut self.evicting[way]));
        Some(at)
    }

    /// Has every way at rest write its best victim.
    fn evict(&mut self, at: Moment) {
        for way in 0..self.gang.ways() {
            if self.gang.is_idle(way)
                && let Some((superblock, sectors)) = self.buffer.evict(way, &mut self.changes)
            {
                let work = self.mapping.write(superblock, &self.changes);
                self.evicting[way] = sectors;
                self.start(at, way, work);
            }
        }
    }

    fn start(&mut self, at: Moment, way: usize, mut work: Work) {
        work.add(std::mem::take(&mut self.owed[way]));
        self.gang.start(at, way, work);
    }

    /// What writing an extent takes of each way, without the buffer.
    fn write_through(&mut self, extent: Extent) -> Vec<Work> {
        let mut works = vec![Work::default(); self.gang.ways()];
        let parts: Vec<SuperpagePart> = self.parts(extent).collect();
        for parts in parts.chunk_by(|a, b| a.superblock == b.superblock) {
            let superblock = parts[0].superblock;
            self.changes.clear();
            self.changes.extend(parts.iter().map(|part| Change {
                superpage: part.superpage,
                bytes: part.bytes,
                whole: part.bytes == self.superpage_bytes,
            }));
            let work = self.mapping.write(superblock, &self.changes);
            works[self.shape.way(superblock)].add(work);
        }
        works
    }

    /// Writes while nothing takes time.
    fn write_untimed(&mut self, extent: Extent) {
        if self.buffer.sectors_max() == 0 {
            self.write_through(extent);
            return;
        }
        let ways = self.gang.ways();
        while !self.buffer.has_room(self.new_sectors(extent)) {
            let way = self.way_of_eviction;
            self.way_of_eviction = (way + 1) % ways;
            if let Some((superblock, sectors)) = self.buffer.evict(way, &mut self.changes) {
                self.mapping.write(superblock, &self.changes);
                self.buffer.release(sectors);
            }
        }
        for part in self.parts(extent) {
            self.buffer
                .insert(part.superblock, part.superpage, part.mask);
        }
    }

    /// How often superblocks were erased.
    #[cfg(test)]
    fn wear(&self) -> super::pool::Wear {
        self.mapping.wear()
    }
}

impl Translation for Superblock {
    fn advance(&mut self, _nand: &mut Nand, until: Moment) {
        self.pass(until);
    }

    fn admit(&mut self, _nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        self.pass(at);
        let mut now = at;
        loop {
            let room = if self.buffer.sectors_max() == 0 {
                self.parts(extent)
                    .all(|part| self.gang.is_idle(self.shape.way(part.superblock)))
            } else {
                let has_room = self.buffer.has_room(self.new_sectors(extent));
                if !has_room {
                    self.evict(now);
                }
                has_room
            };
            if room {
                return now;
            }
            let Some(end) = self.end_one(Moment::NEVER) else {
                return now;
            };
            now = now.max(end);
        }
    }

    fn read(&mut self, _nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        self.pass(at);
        let mut end = at;
        for part in self.parts(extent) {
            let SuperpagePart {
                superblock,
                superpage,
                mask,
                bytes,
            } = part;
            if self.buffer.held(superblock, superpage, mask) != mask
                && self.mapping.holds(superblock, superpage)
            {
                let way = self.shape.way(superblock);
                end = end.max(self.gang.read(at, way, u64::from(bytes)));
            }
        }
        end
    }

    fn write(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        if !nand.is_timed() {
            self.write_untimed(extent);
        } else if self.buffer.sectors_max() == 0 {
            let works = self.write_through(extent);
            for (way, work) in works.into_iter().enumerate() {
                if !work.is_nothing() {
                    self.start(at, way, work);
                }
            }
        } else {
            for part in self.parts(extent) {
                self.buffer
                    .insert(part.superblock, part.superpage, part.mask);
            }
        }
        at
    }

    fn flush(&mut self, _nand: &mut Nand, at: Moment) -> Moment {
        self.pass(at);
        let mut now = at;
        loop {
            self.evict(now);
            match self.end_one(Moment::NEVER) {
                Some(end) => now = now.max(end),
                None => return now,
            }
        }
    }

    /// Superpages of which a part is kept are not trimmed.
    fn trim(&mut self, extent: Extent) {
        for part in self.parts(extent) {
            self.buffer
                .forget(part.superblock, part.superpage, part.mask);
            if part.bytes == self.superpage_bytes {
                let work = self.mapping.trim(part.superblock, part.superpage);
                self.owed[self.shape.way(part.superblock)].add(work);
            }
        }
    }

    fn fill(&mut self, range_bytes: u64) -> u64 {
        self.mapping = self.full_mapping();
        let superblock_bytes = u64::from(self.superpage_bytes) * u64::from(self.shape.superpages);
        let range = range_bytes.div_ceil(superblock_bytes);
        let replacements = u64::from(self.shape.ways) * u64::from(self.shape.replacements);
        let buffer_bytes = self.buffer.sectors_max() * u64::from(self.sector_bytes);
        // Where each superblock keeps its replacement, all begin empty and fill
        // at the same pace: with n superpages, the k-th time after k n +-
        // sqrt(k n) writes. After 16 times that is +- n / 2 of n = 64, so that
        // as many are merged at any time. Elsewhere they are soon of all ages.
        let times = if range <= replacements { 16 } else { 2 };
        times * range.min(replacements) * superblock_bytes + 2 * buffer_bytes
    }

    fn operations(&self, _nand: &Nand) -> Operations {
        let done = self.gang.done();
        let superpage_bytes = u64::from(self.superpage_bytes);
        Operations {
            reads: done.sensed,
            read_bytes: done.sensed * superpage_bytes,
            programs: done.programmed,
            programmed_bytes: done.programmed * superpage_bytes,
            erases: done.erased * u64::from(self.gang_blocks),
        }
    }

    #[cfg(test)]
    fn memory_bytes(&self) -> usize {
        (self.mapping.bytes() + self.buffer.bytes()) as usize
    }
}
