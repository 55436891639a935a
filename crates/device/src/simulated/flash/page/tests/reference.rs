//! A second simulation of a page-mapped drive, slow and plain: an event heap,
//! queues in front of each resource, and blocks that are lists. It shares
//! nothing with the first but the parameters, and begins with the data where
//! the first has them.
//!
//! Buses serve as there: the transfer that was decided on first interrupts
//! younger ones, which go on after it. A read is decided on when it is
//! submitted, other work of a die when the die begins it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

use super::{
    super::{PageMapped, Spot},
    Flash,
};

/// What a closed loop measured.
pub(super) struct Measured {
    pub(super) iops: f64,
    pub(super) latency_us: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Controlled(usize),
    /// A bus has moved what it moves, unless that was interrupted since.
    BusFree(usize, u64),
    Sensed(usize),
    Programmed(usize),
    Done(usize),
}

#[derive(Clone, Copy)]
enum Transfer {
    ToHost(usize),
    FromHost(usize),
    FromDie(usize),
    ToDie(usize),
}

#[derive(Clone, Copy)]
enum Work {
    Read(usize),
    Fetch,
    Program { credit: usize },
    Erase,
}

#[derive(Default)]
struct Bus {
    /// By age, with the nanoseconds that are left.
    waiting: BTreeMap<u64, (Transfer, u64)>,
    /// Which of these it moves, since when.
    current: Option<(u64, u64)>,
    /// Of its last event.
    event: u64,
}

struct Die {
    reads: VecDeque<Work>,
    work: VecDeque<Work>,
    current: Option<Work>,
    age: u64,
    /// Logical page of each flash page that was written, none when stale.
    blocks: Vec<Vec<Option<usize>>>,
    free: VecDeque<usize>,
    /// When each block was closed or lost a page: of blocks that are equally
    /// full, the one that changed last is cleaned.
    changed: Vec<u64>,
    /// Open blocks: the host's, the cleaner's.
    open: [usize; 2],
    victim: Option<Victim>,
}

struct Victim {
    block: usize,
    next: usize,
    used: usize,
    moved: usize,
    written: usize,
}

struct Request {
    read: bool,
    page: usize,
    began: u64,
    age: u64,
}

pub(super) struct Reference {
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    decided: u64,
    requests: Vec<Request>,
    controller: VecDeque<usize>,
    controlling: bool,
    /// The channels, then the link.
    buses: Vec<Bus>,
    dies: Vec<Die>,
    map: Vec<(usize, usize, usize)>,
    next_die: usize,
    changes: u64,
    stalled: VecDeque<usize>,
    buffered: usize,
    pages_per_block: usize,
    buffer_pages: usize,
    command: u64,
    latency: u64,
    buffer: u64,
    link: u64,
    transfer: u64,
    read: u64,
    program: u64,
    erase: u64,
}

/// Not an open block.
const NONE: usize = usize::MAX;

impl Reference {
    /// A drive with one flash page to a unit and requests of one, at rest, with
    /// its pages where `layer` has them.
    pub(super) fn new(parameters: &Flash, layer: &PageMapped) -> Self {
        let (host, nand) = (&parameters.host, &parameters.nand);
        let page = parameters.page.as_ref().unwrap();
        let bytes = f64::from(*nand.page_bytes);
        let ns = |us: f64| (us * 1e3).round() as u64;
        let pages_per_block = *nand.pages_per_block as usize;
        let mut drive = Self {
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            decided: 0,
            requests: Vec::new(),
            controller: VecDeque::new(),
            controlling: false,
            buses: (0..=*nand.channels).map(|_| Bus::default()).collect(),
            dies: Vec::new(),
            map: Vec::new(),
            next_die: layer.die as usize,
            changes: 0,
            stalled: VecDeque::new(),
            buffered: 0,
            pages_per_block,
            buffer_pages: (*page.buffer_bytes / u64::from(*nand.page_bytes)) as usize,
            command: ns(*host.read_command_us),
            latency: ns(*host.latency_us),
            buffer: ns(*page.buffer_us),
            link: ns(bytes / *host.link_mb_per_s),
            transfer: ns(bytes / *nand.channel_mb_per_s),
            read: ns(*nand.read_us),
            program: ns(*nand.program_us),
            erase: ns(*nand.erase_us),
        };
        drive.copy(layer);
        drive
    }

    /// Puts every page where `layer` has it.
    fn copy(&mut self, layer: &PageMapped) {
        for logical in 0..layer.logical_units {
            let Spot { die, row, unit } = layer.spot(layer.physical(logical).unwrap());
            self.map.push((die as usize, row as usize, unit as usize));
        }
        for (die, open) in layer.open.iter().enumerate() {
            let free: VecDeque<usize> = layer.blocks.free_rows(die as u32).collect();
            let open_row = |stream: usize| match open[stream].units {
                0 => NONE,
                _ => open[stream].row as usize,
            };
            let victim = layer.cleaning[die].map(|victim| Victim {
                block: victim.row as usize,
                next: victim.next as usize,
                used: victim.used as usize,
                moved: victim.moved as usize,
                written: victim.written as usize,
            });
            let blocks = (0..layer.rows as usize).map(|row| {
                let opened = (0..2).find(|&stream| open_row(stream) == row);
                let written = match opened {
                    Some(stream) => open[stream].units as usize,
                    None if free.contains(&row) => 0,
                    None => self.pages_per_block,
                };
                vec![None; written]
            });
            self.dies.push(Die {
                reads: VecDeque::new(),
                work: VecDeque::new(),
                current: None,
                age: 0,
                blocks: blocks.collect(),
                changed: (0..layer.rows)
                    .map(|row| layer.blocks.changed(die as u32, row))
                    .collect(),
                open: [open_row(0), open_row(1)],
                free,
                victim,
            });
        }
        for (page, &(die, block, index)) in self.map.iter().enumerate() {
            self.dies[die].blocks[block][index] = Some(page);
        }
        let changed = self.dies.iter().flat_map(|die| &die.changed);
        self.changes = changed.max().copied().unwrap_or(0);
    }

    /// Keeps `depth` requests in flight, the next of `requests` (whether it is
    /// a read, and of which page) beginning when one ends, and measures those
    /// that end after the first `ramp`.
    pub(super) fn run(mut self, requests: &[(bool, usize)], depth: usize, ramp: usize) -> Measured {
        let count = requests.len() - depth - ramp;
        let mut requests = requests.iter();
        let (mut over, mut sum, mut from) = (0, 0, 0);
        let mut submit = |drive: &mut Self| {
            let Some(&(read, page)) = requests.next() else {
                return;
            };
            let began = drive.now;
            let age = drive.decide();
            drive.requests.push(Request {
                read,
                page,
                began,
                age,
            });
            drive.controller.push_back(drive.requests.len() - 1);
            drive.control();
        };
        for _ in 0..depth {
            submit(&mut self);
        }
        while over < ramp + count {
            let Reverse((at, _, event)) = self.events.pop().unwrap();
            self.now = at;
            if let Event::Done(request) = event {
                over += 1;
                if over > ramp {
                    sum += at - self.requests[request].began;
                } else {
                    from = at;
                }
                submit(&mut self);
            } else {
                self.happen(event);
            }
        }
        Measured {
            iops: count as f64 / (self.now - from) as f64 * 1e9,
            latency_us: sum as f64 / count as f64 / 1e3,
        }
    }

    fn after(&mut self, ns: u64, event: Event) {
        self.scheduled += 1;
        self.events
            .push(Reverse((self.now + ns, self.scheduled, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Controlled(request) => {
                self.controlling = false;
                self.control();
                let Request { read, page, .. } = self.requests[request];
                if read {
                    let (die, ..) = self.map[page];
                    self.dies[die].reads.push_back(Work::Read(request));
                    self.die(die);
                } else {
                    let link = self.buses.len() - 1;
                    let age = self.requests[request].age;
                    self.transfer(link, age, Transfer::FromHost(request), self.link);
                }
            }
            Event::BusFree(bus, event) => {
                let state = &mut self.buses[bus];
                if state.event != event {
                    return;
                }
                let (age, _) = state.current.take().unwrap();
                let (passed, _) = state.waiting.remove(&age).unwrap();
                self.bus(bus);
                match passed {
                    Transfer::ToHost(request) => self.after(self.latency, Event::Done(request)),
                    Transfer::FromHost(request) => {
                        self.stalled.push_back(request);
                        self.admit();
                    }
                    Transfer::FromDie(die) => {
                        let work = self.dies[die].current.take();
                        if let Some(Work::Read(request)) = work {
                            let link = self.buses.len() - 1;
                            let age = self.requests[request].age;
                            self.transfer(link, age, Transfer::ToHost(request), self.link);
                        }
                        self.die(die);
                    }
                    Transfer::ToDie(die) => self.after(self.program, Event::Programmed(die)),
                }
            }
            Event::Sensed(die) => {
                let bus = die % (self.buses.len() - 1);
                let age = self.dies[die].age;
                self.transfer(bus, age, Transfer::FromDie(die), self.transfer);
            }
            Event::Programmed(die) => {
                if let Some(Work::Program { credit }) = self.dies[die].current.take() {
                    self.buffered -= credit;
                }
                self.die(die);
                self.admit();
            }
            Event::Done(_) => unreachable!("the loop takes these"),
        }
    }

    fn control(&mut self) {
        if !self.controlling
            && let Some(request) = self.controller.pop_front()
        {
            self.controlling = true;
            self.after(self.command, Event::Controlled(request));
        }
    }

    fn decide(&mut self) -> u64 {
        self.decided += 1;
        self.decided
    }

    fn transfer(&mut self, bus: usize, age: u64, transfer: Transfer, ns: u64) {
        self.buses[bus].waiting.insert(age, (transfer, ns));
        self.bus(bus);
    }

    /// Has the oldest transfer, interrupting a younger one.
    fn bus(&mut self, bus: usize) {
        let state = &mut self.buses[bus];
        let Some((&oldest, _)) = state.waiting.first_key_value() else {
            return;
        };
        if let Some((age, since)) = state.current {
            if age == oldest {
                return;
            }
            state.waiting.get_mut(&age).unwrap().1 -= self.now - since;
        }
        state.current = Some((oldest, self.now));
        let (_, ns) = state.waiting[&oldest];
        state.event = self.scheduled + 1;
        let event = Event::BusFree(bus, state.event);
        self.after(ns, event);
    }

    fn die(&mut self, die: usize) {
        let state = &mut self.dies[die];
        if state.current.is_some() {
            return;
        }
        let Some(work) = state.reads.pop_front().or_else(|| state.work.pop_front()) else {
            return;
        };
        state.current = Some(work);
        let age = match work {
            Work::Read(request) => self.requests[request].age,
            _ => self.decide(),
        };
        self.dies[die].age = age;
        match work {
            Work::Read(_) | Work::Fetch => self.after(self.read, Event::Sensed(die)),
            Work::Program { .. } => {
                let bus = die % (self.buses.len() - 1);
                let age = self.dies[die].age;
                self.transfer(bus, age, Transfer::ToDie(die), self.transfer);
            }
            Work::Erase => self.after(self.erase, Event::Programmed(die)),
        }
    }

    fn admit(&mut self) {
        while self.buffered < self.buffer_pages
            && let Some(request) = self.stalled.pop_front()
        {
            self.buffered += 1;
            self.put(self.requests[request].page);
            self.after(self.buffer + self.latency, Event::Done(request));
        }
    }

    fn work(&mut self, die: usize, work: Work) {
        self.dies[die].work.push_back(work);
        self.die(die);
    }

    fn used(&self, die: usize, block: usize) -> usize {
        self.dies[die].blocks[block].iter().flatten().count()
    }

    /// Writes a page of the host to the next die.
    fn put(&mut self, page: usize) {
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.len();
        self.place(die, page, 0);
        self.work(die, Work::Program { credit: 1 });
        self.clean(die, 1);
    }

    /// Now a block has changed.
    fn change(&mut self, die: usize, block: usize) {
        self.changes += 1;
        self.dies[die].changed[block] = self.changes;
    }

    fn place(&mut self, die: usize, page: usize, stream: usize) {
        let open = self.dies[die].open[stream];
        if open == NONE || self.dies[die].blocks[open].len() == self.pages_per_block {
            if open != NONE {
                self.change(die, open);
                self.dies[die].open[stream] = NONE;
            }
            while stream == 0 && self.dies[die].free.len() < 2 {
                self.clean(die, self.pages_per_block);
            }
            let free = self.dies[die].free.pop_front().unwrap();
            self.dies[die].open[stream] = free;
        }
        let open = self.dies[die].open[stream];
        let (old, block, index) = self.map[page];
        self.dies[old].blocks[block][index] = None;
        self.change(old, block);
        let block = &mut self.dies[die].blocks[open];
        self.map[page] = (die, open, block.len());
        block.push(Some(page));
    }

    /// Moves as much of the emptiest block as `written` writes pay for.
    fn clean(&mut self, die: usize, written: usize) {
        if self.dies[die].victim.is_none() {
            if self.dies[die].free.len() > 2 {
                return;
            }
            let state = &self.dies[die];
            let closed = (0..state.blocks.len()).filter(|block| {
                !state.open.contains(block) && state.blocks[*block].len() == self.pages_per_block
            });
            let key = |block: &usize| (self.used(die, *block), Reverse(state.changed[*block]));
            let block = closed.min_by_key(key).unwrap();
            let used = self.used(die, block);
            self.dies[die].victim = Some(Victim {
                block,
                next: 0,
                used,
                moved: 0,
                written: 0,
            });
        }
        let mut victim = self.dies[die].victim.take().unwrap();
        victim.written += written;
        // Of (pages - used) writes of the host, each pays its share.
        let gain = self.pages_per_block - victim.used;
        while victim.next < self.pages_per_block
            && (victim.written >= gain || victim.moved * gain < victim.written * victim.used)
        {
            if let Some(page) = self.dies[die].blocks[victim.block][victim.next] {
                victim.moved += 1;
                self.work(die, Work::Fetch);
                self.place(die, page, 1);
                self.work(die, Work::Program { credit: 0 });
            }
            victim.next += 1;
        }
        if victim.next == self.pages_per_block {
            self.dies[die].blocks[victim.block].clear();
            self.dies[die].free.push_back(victim.block);
            self.work(die, Work::Erase);
        } else {
            self.dies[die].victim = Some(victim);
        }
    }
}
