//! A slow and plain drive of superblocks with replacement blocks, to compare
//! the fast one with. It keeps what every superpage of every physical
//! superblock holds, finds everything by searching, and plays the phases of
//! all operations from one list of events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Times in nanoseconds; everything that the reference can vary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drive {
    pub(super) superblocks: u64,
    pub(super) superpages: u64,
    pub(super) ways: u64,
    pub(super) replacements_a_way: usize,
    pub(super) sectors_a_superpage: u64,
    pub(super) buffer_sectors: usize,
    /// Sectors of a line of the buffer. Any one of them takes the line.
    pub(super) sectors_a_line: u64,
    pub(super) sense: u64,
    pub(super) program: u64,
    pub(super) erase: u64,
    /// Of 2^10 bytes over the bus.
    pub(super) move_kib: u64,
    /// Through the controller, or within the chip.
    pub(super) through_controller: bool,
}

/// One phase of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Array(u64),
    Bus(u64),
}

/// What is in a superpage: its address, and the how-manyth write of it.
type Content = Option<(u64, u64)>;

pub(super) struct Reference {
    drive: Drive,
    blocks: Vec<Vec<Content>>,
    data: BTreeMap<u64, usize>,
    /// Superblock and block, the one written longest ago first.
    replacements: Vec<Vec<(u64, usize)>>,
    free: Vec<VecDeque<usize>>,
    versions: BTreeMap<u64, u64>,
    /// By superblock: when it got its number of sectors, and its sectors.
    buffer: BTreeMap<u64, (u64, BTreeSet<u64>)>,
    inserts: u64,
    in_flight: Vec<usize>,
    phases: Vec<VecDeque<Phase>>,
    /// When each way's current phase ends, or it asks for the bus.
    next: Vec<Option<u64>>,
    bus_free: u64,
    pub(super) now: u64,
    pub(super) erases: u64,
}

impl Reference {
    pub(super) fn full(drive: Drive) -> Self {
        let ways = drive.ways as usize;
        let extra = drive.replacements_a_way + 2;
        let mut blocks: Vec<Vec<Content>> = (0..drive.superblocks)
            .map(|superblock| {
                (0..drive.superpages)
                    .map(|superpage| Some((superblock * drive.superpages + superpage, 0)))
                    .collect()
            })
            .collect();
        let mut free = vec![VecDeque::new(); ways];
        for queue in &mut free {
            for _ in 0..extra {
                queue.push_back(blocks.len());
                blocks.push(Vec::new());
            }
        }
        Self {
            data: (0..drive.superblocks).map(|i| (i, i as usize)).collect(),
            blocks,
            replacements: vec![Vec::new(); ways],
            free,
            versions: BTreeMap::new(),
            buffer: BTreeMap::new(),
            inserts: 0,
            in_flight: vec![0; ways],
            phases: vec![VecDeque::new(); ways],
            next: vec![None; ways],
            bus_free: 0,
            now: 0,
            erases: 0,
            drive,
        }
    }

    /// Writes sectors `first..end`, waiting for room; the time is `now` after.
    pub(super) fn write(&mut self, first: u64, end: u64) {
        let sectors_a_superblock = self.drive.superpages * self.drive.sectors_a_superpage;
        loop {
            self.play_until(self.now);
            let sectors = self.buffer.values().flat_map(|(_, sectors)| sectors);
            let held = self.room(sectors.clone().copied());
            let new = self.room(sectors.copied().chain(first..end)) - held;
            let flying: usize = self.in_flight.iter().sum();
            if held + flying == 0 || held + flying + new <= self.drive.buffer_sectors {
                break;
            }
            for way in 0..self.drive.ways {
                if self.next[way as usize].is_none() {
                    self.evict(way);
                }
            }
            // Until a way is done.
            let busy = |this: &Self| this.next.iter().filter(|next| next.is_some()).count();
            let before = busy(self);
            while busy(self) == before {
                self.play_one();
            }
        }
        // Superpage by superpage, each of which renews its superblock.
        let mut sector = first;
        while sector < end {
            let superpage_end =
                (sector / self.drive.sectors_a_superpage + 1) * self.drive.sectors_a_superpage;
            self.inserts += 1;
            let group = self
                .buffer
                .entry(sector / sectors_a_superblock)
                .or_default();
            group.0 = self.inserts;
            group.1.extend(sector..superpage_end.min(end));
            sector = superpage_end;
        }
    }

    /// Sectors of the lines that these take.
    fn room(&self, sectors: impl Iterator<Item = u64>) -> usize {
        let lines: BTreeSet<u64> = sectors
            .map(|sector| sector / self.drive.sectors_a_line)
            .collect();
        lines.len() * self.drive.sectors_a_line as usize
    }

    /// Starts writing the fullest superblock of a way.
    fn evict(&mut self, way: u64) {
        let fullest = self
            .buffer
            .iter()
            .filter(|(superblock, _)| *superblock % self.drive.ways == way)
            .max_by_key(|(_, (since, sectors))| {
                let room = self.room(sectors.iter().copied());
                (room, std::cmp::Reverse(*since))
            })
            .map(|(superblock, _)| *superblock);
        let Some(superblock) = fullest else { return };
        let (_, sectors) = self.buffer.remove(&superblock).unwrap();
        self.in_flight[way as usize] = self.room(sectors.iter().copied());
        let mut superpages: BTreeMap<u64, u64> = BTreeMap::new();
        for sector in sectors {
            *superpages
                .entry(sector / self.drive.sectors_a_superpage)
                .or_default() += 1;
        }
        // Merges come first, and whole superpages last.
        let (mut copies, mut fills, mut programs, mut erases) = (0, Vec::new(), 0, 0);
        for (superpage, sectors) in superpages {
            let (copied, erased) = self.append(superblock, superpage);
            copies += copied;
            erases += erased;
            if sectors == self.drive.sectors_a_superpage {
                programs += 1;
            } else {
                fills.push(sectors);
            }
        }
        let Drive {
            sense,
            program,
            erase,
            move_kib,
            sectors_a_superpage,
            through_controller,
            ..
        } = self.drive;
        let moving = |bytes: u64| bytes * move_kib / 1024;
        let superpage_bytes = sectors_a_superpage * 512;
        let mut phases = VecDeque::new();
        for _ in 0..copies {
            phases.push_back(Phase::Array(sense));
            if through_controller {
                phases.push_back(Phase::Bus(moving(2 * superpage_bytes)));
            }
            phases.push_back(Phase::Array(program));
        }
        // Those of one eviction are taken to be equal.
        let mut rest: u64 = fills.iter().map(|sectors| sectors * 512).sum();
        for left in (1..=fills.len() as u64).rev() {
            let new = rest / left;
            rest -= new;
            let moved = if through_controller {
                2 * superpage_bytes - new
            } else {
                new
            };
            let moved = Phase::Bus(moving(moved));
            phases.extend([Phase::Array(sense), moved, Phase::Array(program)]);
        }
        for _ in 0..programs {
            phases.extend([Phase::Bus(moving(superpage_bytes)), Phase::Array(program)]);
        }
        phases.extend(std::iter::repeat_n(Phase::Array(erase), erases));
        self.erases += erases as u64;
        self.phases[way as usize] = phases;
        self.next[way as usize] = Some(self.now);
        self.begin(way as usize, self.now);
    }

    /// Writes a superpage to its superblock's replacement; superpages copied
    /// and blocks erased for that.
    fn append(&mut self, superblock: u64, address: u64) -> (usize, usize) {
        let way = (superblock % self.drive.ways) as usize;
        let mut took = (0, 0);
        let held = self.replacements[way]
            .iter()
            .position(|(holder, _)| *holder == superblock);
        let full = held.is_some_and(|index| {
            let block = self.replacements[way][index].1;
            self.blocks[block].len() as u64 == self.drive.superpages
        });
        match held {
            Some(index) if full => took = self.merge(way, index),
            None if self.replacements[way].len() == self.drive.replacements_a_way => {
                took = self.merge(way, 0);
            }
            _ => {}
        }
        let (_, block) = match self.replacements[way]
            .iter()
            .position(|(holder, _)| *holder == superblock)
        {
            Some(index) => self.replacements[way].remove(index),
            None => (superblock, self.free[way].pop_front().unwrap()),
        };
        let version = self.versions.entry(address).or_default();
        *version += 1;
        self.blocks[block].push(Some((address, *version)));
        self.replacements[way].push((superblock, block));
        if self.is_in_order(superblock, block)
            && self.blocks[block].len() as u64 == self.drive.superpages
        {
            let last = self.replacements[way].len() - 1;
            let (copied, erased) = self.merge(way, last);
            took = (took.0 + copied, took.1 + erased);
        }
        took
    }

    fn is_in_order(&self, superblock: u64, block: usize) -> bool {
        let first = superblock * self.drive.superpages;
        self.blocks[block]
            .iter()
            .zip(first..)
            .all(|(content, address)| content.unwrap().0 == address)
    }

    fn merge(&mut self, way: usize, index: usize) -> (usize, usize) {
        let (superblock, replacement) = self.replacements[way].remove(index);
        let data = self.data[&superblock];
        let first = superblock * self.drive.superpages;
        let in_order = self.is_in_order(superblock, replacement);
        let target = if in_order {
            replacement
        } else {
            self.free[way].pop_front().unwrap()
        };
        let mut copied = 0;
        for address in first + self.blocks[target].len() as u64..first + self.drive.superpages {
            let latest = [data, replacement]
                .iter()
                .flat_map(|block| &self.blocks[*block])
                .flatten()
                .filter(|(held, _)| *held == address)
                .max_by_key(|(_, version)| *version)
                .copied();
            self.blocks[target].push(latest);
            copied += 1;
        }
        // Nothing was lost.
        for (content, address) in self.blocks[target].iter().zip(first..) {
            let version = self.versions.get(&address).copied().unwrap_or(0);
            assert_eq!(*content, Some((address, version)));
        }
        let mut erased = vec![data];
        if !in_order {
            erased.push(replacement);
        }
        for block in &erased {
            self.blocks[*block].clear();
            self.free[way].push_back(*block);
        }
        self.data.insert(superblock, target);
        (copied, erased.len())
    }

    /// The way's next phase begins, or asks for the bus, at `at`.
    fn begin(&mut self, way: usize, at: u64) {
        self.next[way] = match self.phases[way].front() {
            None => {
                self.in_flight[way] = 0;
                None
            }
            Some(Phase::Array(duration)) => Some(at + duration),
            Some(Phase::Bus(duration)) => {
                self.bus_free = self.bus_free.max(at) + duration;
                Some(self.bus_free)
            }
        };
    }

    /// The next phase that ends, in time; the lower way first.
    fn play_one(&mut self) {
        let (at, way) = self
            .next
            .iter()
            .enumerate()
            .filter_map(|(way, next)| next.map(|at| (at, way)))
            .min()
            .unwrap();
        self.now = self.now.max(at);
        self.phases[way].pop_front();
        self.begin(way, at);
    }

    fn play_until(&mut self, until: u64) {
        while self.next.iter().flatten().any(|at| *at <= until) {
            self.play_one();
        }
    }
}
