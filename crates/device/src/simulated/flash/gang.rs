//! Chips that work in lock-step: intra-command parallelism.
//!
//! The channels of a gang carry one request together, each a share of every
//! flash page that is read or programmed, so that all of them look like one
//! chip with wide pages (a *superpage*) and wide blocks (a *superblock*).
//! Ganging multiplies bandwidth and leaves every latency of the array alone
//! (Agrawal et al., USENIX ATC 2008, section 3.3). The dies on a channel are
//! *ways*: each does its own work, and all share the channels' bus.
//!
//! Time is that of discrete events. An operation on a superpage is a sensing,
//! a transfer and a programming; a transfer waits for the bus, which serves in
//! the order of asking (equal moments: the lower way first). A read waits for
//! the operation that its way is doing, since that operation holds the page
//! register, and then goes before the rest of the way's work.

use std::collections::VecDeque;

use octavo_units::Moment;

/// How valid superpages come from an old superblock into a new one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Copying {
    /// Out to the controller and in again: tR + 2 tX + tP.
    Controller,
    /// Within the chip, while the controller reads along to check the error
    /// correction code: tR + tX + tP.
    CopyBackChecked,
    /// Within the chip: tR + tP. Bit errors add up.
    CopyBack,
}

/// What the array and the bus of a gang take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// Superpage to register, in nanoseconds (tR).
    pub(super) sense_ns: u64,
    /// Register to superpage (tPROG).
    pub(super) program_ns: u64,
    /// Superblock erase (tBERS).
    pub(super) erase_ns: u64,
    /// Picoseconds that a byte takes over all channels together.
    pub(super) bus_ps_per_byte: u64,
    /// Bytes of a superpage.
    pub(super) superpage_bytes: u64,
    /// How merges copy.
    pub(super) copying: Copying,
}

impl Timing {
    fn transfer_ns(&self, bytes: u64) -> u64 {
        bytes * self.bus_ps_per_byte / 1000
    }

    fn copied_bytes(&self) -> u64 {
        match self.copying {
            Copying::Controller => 2 * self.superpage_bytes,
            Copying::CopyBackChecked => self.superpage_bytes,
            Copying::CopyBack => 0,
        }
    }

    /// Bytes on the bus for a superpage of which `written` bytes are new: the
    /// new ones in; through the controller the others out and in as well.
    fn filled_bytes(&self, written: u64) -> u64 {
        let kept = self.superpage_bytes - written;
        match self.copying {
            Copying::Controller => self.superpage_bytes + kept,
            Copying::CopyBackChecked => self.superpage_bytes,
            Copying::CopyBack => written,
        }
    }
}

/// What a way has to do, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Superpages moved from one superblock to another.
    pub(super) copies: u32,
    /// Superpages of which a part is new and the rest is read.
    pub(super) fills: u32,
    /// New bytes in the superpages of `fills`, together.
    pub(super) fill_bytes: u64,
    /// Superpages that are new as a whole.
    pub(super) programs: u32,
    /// Superblocks erased.
    pub(super) erases: u32,
}

impl Work {
    pub(super) fn add(&mut self, other: Self) {
        self.copies += other.copies;
        self.fills += other.fills;
        self.fill_bytes += other.fill_bytes;
        self.programs += other.programs;
        self.erases += other.erases;
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a gang has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Superpages sensed, for the host and for copies.
    pub(super) sensed: u64,
    /// Superpages programmed.
    pub(super) programmed: u64,
    /// Superblocks erased.
    pub(super) erased: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No work.
    Idle,
    /// A read goes before the next operation, which begins at the event.
    Waiting,
    /// The array fills the register.
    Sensing,
    /// The register is moved over the bus, or waits for it.
    Moving,
    /// The array is programmed or erased.
    Changing,
}

#[derive(Clone, Debug)]
struct Way {
    phase: Phase,
    /// When the phase ends.
    event: Moment,
    work: Work,
    /// Bytes that the current operation moves.
    bytes: u64,
    /// A read goes before the next operation.
    held: bool,
}

/// The ways of a gang and their bus.
#[derive(Clone, Debug)]
pub(super) struct Gang {
    timing: Timing,
    ways: Vec<Way>,
    bus_free: Moment,
    /// Works that are done and that nobody asked for yet.
    finished: VecDeque<(Moment, usize)>,
    done: Done,
}

impl Gang {
    pub(super) fn new(timing: Timing, ways: usize) -> Self {
        Self {
            timing,
            ways: vec![
                Way {
                    phase: Phase::Idle,
                    event: Moment::START,
                    work: Work::default(),
                    bytes: 0,
                    held: false,
                };
                ways
            ],
            bus_free: Moment::START,
            finished: VecDeque::new(),
            done: Done::default(),
        }
    }

    pub(super) fn ways(&self) -> usize {
        self.ways.len()
    }

    pub(super) fn done(&self) -> Done {
        self.done
    }

    pub(super) fn is_idle(&self, way: usize) -> bool {
        self.ways[way].phase == Phase::Idle
    }

    /// Has a way begin a work at `at`; it ends as a moment of
    /// [`next`](Self::next).
    ///
    /// # Panics
    /// When the way is not idle.
    pub(super) fn start(&mut self, at: Moment, way: usize, work: Work) {
        assert!(self.is_idle(way), "way {way} has work");
        self.ways[way].work = work;
        // A read may have kept the way until after `at`.
        let at = at.max(self.ways[way].event);
        self.begin(at, way);
    }

    /// The next work that ends at or before `until`, with its way.
    pub(super) fn next(&mut self, until: Moment) -> Option<(Moment, usize)> {
        loop {
            if let Some(&(at, way)) = self.finished.front() {
                if at > until {
                    return None;
                }
                self.finished.pop_front();
                return Some((at, way));
            }
            if !self.step(until) {
                return None;
            }
        }
    }

    /// Reads `bytes` of one superpage of `way`, at `at` or when the way can.
    pub(super) fn read(&mut self, at: Moment, way: usize, bytes: u64) -> Moment {
        while self.step(at) {}
        self.ways[way].held = true;
        while !matches!(self.ways[way].phase, Phase::Idle | Phase::Waiting) {
            self.step(Moment::NEVER);
        }
        self.ways[way].held = false;
        let begin = at.max(self.ways[way].event);
        let sensed = begin.after(self.timing.sense_ns);
        // The way itself rests while others go on and ask for the bus.
        self.ways[way].event = Moment::NEVER;
        while self.step(sensed) {}
        let end = self
            .bus_free
            .max(sensed)
            .after(self.timing.transfer_ns(bytes));
        self.bus_free = end;
        self.ways[way].event = end;
        self.done.sensed += 1;
        end
    }

    /// The next event at or before `until`; whether there was one.
    fn step(&mut self, until: Moment) -> bool {
        let mut next: Option<(Moment, usize)> = None;
        for (index, way) in self.ways.iter().enumerate() {
            let due = match way.phase {
                Phase::Idle => false,
                Phase::Waiting => !way.held,
                _ => true,
            };
            if due && way.event <= until && next.is_none_or(|(at, _)| way.event < at) {
                next = Some((way.event, index));
            }
        }
        let Some((at, index)) = next.filter(|(at, _)| *at < Moment::NEVER) else {
            return false;
        };
        let way = &mut self.ways[index];
        match way.phase {
            Phase::Idle => unreachable!("idle ways have no events"),
            Phase::Sensing if way.bytes > 0 => self.move_bytes(at, index),
            Phase::Sensing | Phase::Moving => {
                way.phase = Phase::Changing;
                way.event = at.after(self.timing.program_ns);
                self.done.programmed += 1;
            }
            Phase::Changing if way.held => {
                way.phase = Phase::Waiting;
                way.event = at;
            }
            Phase::Changing | Phase::Waiting => self.begin(at, index),
        }
        true
    }

    /// The next operation of a way, or the end of its work.
    fn begin(&mut self, at: Moment, index: usize) {
        let timing = &self.timing;
        let way = &mut self.ways[index];
        let work = &mut way.work;
        if work.copies > 0 {
            work.copies -= 1;
            way.bytes = timing.copied_bytes();
        } else if work.fills > 0 {
            let written = work.fill_bytes / u64::from(work.fills);
            work.fills -= 1;
            work.fill_bytes -= written;
            way.bytes = timing.filled_bytes(written);
        } else if work.programs > 0 {
            work.programs -= 1;
            way.bytes = timing.superpage_bytes;
            self.move_bytes(at, index);
            return;
        } else if work.erases > 0 {
            work.erases -= 1;
            way.phase = Phase::Changing;
            way.event = at.after(timing.erase_ns);
            self.done.erased += 1;
            return;
        } else {
            way.phase = Phase::Idle;
            way.event = at;
            self.finished.push_back((at, index));
            return;
        }
        way.phase = Phase::Sensing;
        way.event = at.after(timing.sense_ns);
        self.done.sensed += 1;
    }

    /// Asks for the bus at `at`.
    fn move_bytes(&mut self, at: Moment, index: usize) {
        let way = &mut self.ways[index];
        self.bus_free = self
            .bus_free
            .max(at)
            .after(self.timing.transfer_ns(way.bytes));
        way.phase = Phase::Moving;
        way.event = self.bus_free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25 us, 200 us, 1.5 ms; 16,000 bytes in 100 us.
    fn timing(copying: Copying) -> Timing {
        Timing {
            sense_ns: 25_000,
            program_ns: 200_000,
            erase_ns: 1_500_000,
            bus_ps_per_byte: 6_250,
            superpage_bytes: 16_000,
            copying,
        }
    }

    fn merge() -> Work {
        Work {
            copies: 63,
            programs: 1,
            erases: 1,
            ..Work::default()
        }
    }

    #[test]
    fn one_way_takes_the_sum_of_its_operations() {
        for (copying, copy_ns) in [
            (Copying::Controller, 425_000),
            (Copying::CopyBackChecked, 325_000),
            (Copying::CopyBack, 225_000),
        ] {
            let mut gang = Gang::new(timing(copying), 1);
            gang.start(Moment::START, 0, merge());
            let (end, way) = gang.next(Moment::NEVER).unwrap();
            assert_eq!(way, 0);
            assert_eq!(end.get(), 63 * copy_ns + 300_000 + 1_500_000, "{copying:?}");
            assert_eq!(gang.next(Moment::NEVER), None);
            let done = gang.done();
            assert_eq!((done.sensed, done.programmed, done.erased), (63, 64, 1));
        }
        // A quarter is new: the rest goes out and the whole comes in.
        let mut gang = Gang::new(timing(Copying::Controller), 1);
        let work = Work {
            fills: 1,
            fill_bytes: 4_000,
            ..Work::default()
        };
        gang.start(Moment::START, 0, work);
        let (end, _) = gang.next(Moment::NEVER).unwrap();
        assert_eq!(end.get(), 25_000 + 75_000 + 100_000 + 200_000);
    }

    #[test]
    fn ways_work_at_once_until_the_bus_is_full() {
        // Copies within the chip do not need the bus.
        let mut gang = Gang::new(timing(Copying::CopyBack), 4);
        let copies = |copies| Work {
            copies,
            ..Work::default()
        };
        for way in 0..4 {
            gang.start(Moment::START, way, copies(64));
        }
        while let Some((end, _)) = gang.next(Moment::NEVER) {
            assert_eq!(end.get(), 64 * 225_000);
        }
        // Through the controller each keeps the bus for 200 of its 425 us:
        // three ways would need 600, so the bus sets the pace.
        let mut gang = Gang::new(timing(Copying::Controller), 3);
        for way in 0..3 {
            gang.start(Moment::START, way, copies(64));
        }
        let last = std::iter::from_fn(|| gang.next(Moment::NEVER)).last();
        let end = last.unwrap().0.get();
        assert_eq!(end, 25_000 + 3 * 64 * 200_000 + 200_000);
        // Two do not fill it; the second is 200 us behind, once.
        let mut gang = Gang::new(timing(Copying::Controller), 2);
        for way in 0..2 {
            gang.start(Moment::START, way, copies(64));
        }
        let last = std::iter::from_fn(|| gang.next(Moment::NEVER)).last();
        assert_eq!(last.unwrap().0.get(), 64 * 425_000 + 200_000);
    }

    #[test]
    fn a_read_waits_for_one_operation_and_not_for_the_work() {
        let mut gang = Gang::new(timing(Copying::Controller), 1);
        gang.start(Moment::START, 0, merge());
        // At 100 us the first copy still has 325 us to go.
        let end = gang.read(Moment::nanoseconds(100_000), 0, 8_000);
        assert_eq!(end.get(), 425_000 + 25_000 + 50_000);
        // The work is later by the read's 75 us.
        let (end, _) = gang.next(Moment::NEVER).unwrap();
        assert_eq!(end.get(), 63 * 425_000 + 300_000 + 1_500_000 + 75_000);
        // At rest nothing is waited for.
        let at = end.after(1);
        assert_eq!(gang.read(at, 0, 8_000), at.after(75_000));
    }
}
