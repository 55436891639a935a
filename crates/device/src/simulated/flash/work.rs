//! What dies have to do: programs and erases wait for their die, reads do not
//! wait for them.
//!
//! A controller hands a die one operation after another, and the host's reads
//! go before everything that waits. So work stays here until its die is idle;
//! a read goes to the chips at once and waits for the operation that runs (or
//! suspends it), not for what is behind, nor for a program whose data have yet to
//! be read.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use octavo_units::Moment;

use super::nand::Nand;

/// One operation that waits for its die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) operation: Operation,
    /// Which bit of its cells the flash page is.
    pub(super) bit: u32,
    /// When its data are in the controller.
    pub(super) ready: Moment,
    pub(super) bytes: u32,
    /// Units of the write buffer that it frees when it is over.
    pub(super) buffered: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Program,
    Fetch,
    CopyBack,
    Erase,
}

/// What waits for each die, and what runs.
pub(super) struct DieWork {
    die: Vec<Die>,
    /// The end of what runs on each die that is at work, or of the reads that
    /// go before what waits. Reads that come later put it off.
    running: BinaryHeap<Reverse<(Moment, u32)>>,
}

#[derive(Clone, Default)]
struct Die {
    waiting: VecDeque<Work>,
    at_work: bool,
    /// Of what runs.
    buffered: u32,
}

impl DieWork {
    pub(super) fn new(dies: u32) -> Self {
        Self {
            die: vec![Die::default(); dies as usize],
            running: BinaryHeap::new(),
        }
    }

    /// Lets a die do something when it has done what was added before.
    #[inline]
    pub(super) fn add(&mut self, nand: &mut Nand, at: Moment, die: u32, work: Work) {
        let state = &mut self.die[die as usize];
        if state.at_work {
            state.waiting.push_back(work);
            return;
        }
        let idle = nand.idle(die);
        let next = if idle > at {
            // It reads. More reads that come by then go first, too.
            state.waiting.push_back(work);
            state.at_work = true;
            idle
        } else {
            begin(state, nand, at, die, work)
        };
        self.running.push(Reverse((next, die)));
    }

    /// The next moment at which something may be over.
    #[inline]
    pub(super) fn earliest(&self) -> Option<Moment> {
        self.running.peek().map(|Reverse((end, _))| *end)
    }

    /// Lets happen what happens by `until`, and says how many units of the
    /// write buffer that frees.
    #[inline]
    pub(super) fn advance(&mut self, nand: &mut Nand, until: Moment) -> u32 {
        let mut freed = 0;
        while let Some(mut next) = self.running.peek_mut()
            && next.0.0 <= until
        {
            let Reverse((end, die)) = *next;
            // A read may have put it off.
            let over = nand.work_over(die);
            if over > end {
                next.0.0 = over;
                continue;
            }
            let state = &mut self.die[die as usize];
            freed += std::mem::take(&mut state.buffered);
            let idle = nand.idle(die);
            if idle > end && !state.waiting.is_empty() {
                // Reads that came meanwhile go first, and those that come
                // while these last.
                next.0.0 = idle;
                continue;
            }
            match state.waiting.pop_front() {
                Some(work) => next.0.0 = begin(state, nand, end, die, work),
                None => {
                    state.at_work = false;
                    std::collections::binary_heap::PeekMut::pop(next);
                }
            }
        }
        freed
    }

    /// Hands everything that waits to the chips at once, and says when it is
    /// over. Reads from now on come after it.
    pub(super) fn finish(&mut self, nand: &mut Nand, at: Moment) -> Moment {
        let mut over = at;
        self.running.clear();
        for (die, state) in (0..).zip(&mut self.die) {
            if !state.at_work {
                continue;
            }
            let mut end = nand.work_over(die).max(at);
            let mut buffered = state.buffered;
            while let Some(work) = state.waiting.pop_front() {
                buffered += work.buffered;
                end = start(state, nand, end, die, work);
            }
            state.buffered = buffered;
            self.running.push(Reverse((end, die)));
            over = over.max(end);
        }
        over
    }
}

/// Starts what is next on a die, or leaves the die to reads until its data are there; says when to
/// look again.
#[inline]
fn begin(state: &mut Die, nand: &mut Nand, at: Moment, die: u32, work: Work) -> Moment {
    if work.ready <= at {
        return start(state, nand, at, die, work);
    }
    state.at_work = true;
    state.waiting.push_front(work);
    work.ready
}

#[inline]
fn start(state: &mut Die, nand: &mut Nand, at: Moment, die: u32, work: Work) -> Moment {
    state.at_work = true;
    state.buffered = work.buffered;
    let at = at.max(work.ready);
    match work.operation {
        Operation::Program => nand.program(at, die, work.bit, work.bytes),
        Operation::Fetch => nand.fetch(at, die, work.bit, work.bytes),
        Operation::CopyBack => nand.copy_back(at, die, work.bit, work.bytes),
        Operation::Erase => nand.erase(at, die),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::flash::nand::tests::SHAPE;

    fn at(nanoseconds: u64) -> Moment {
        Moment::nanoseconds(nanoseconds)
    }

    fn program(ready: Moment) -> Work {
        Work {
            operation: Operation::Program,
            bit: 0,
            ready,
            bytes: 4096,
            buffered: 1,
        }
    }

    /// 4096 bytes pass the channel in 102.4 us; a page is read in 25 and programmed in 200.
    #[test]
    fn a_die_reads_while_a_program_waits_for_its_data() {
        let mut nand = Nand::new(SHAPE);
        let mut work = DieWork::new(SHAPE.dies());
        // The rest of its page comes after 1 ms.
        work.add(&mut nand, Moment::START, 0, program(at(1_000_000)));
        assert_eq!(work.earliest(), Some(at(1_000_000)));
        assert_eq!(nand.read(at(10_000), 0, 0, 4096), at(137_400));
        assert_eq!(work.advance(&mut nand, at(999_999)), 0);
        // A read that is under way then goes first.
        assert_eq!(nand.read(at(990_000), 0, 0, 4096), at(1_117_400));
        assert_eq!(work.advance(&mut nand, at(1_117_400)), 0);
        assert_eq!(work.earliest(), Some(at(1_117_400 + 302_400)));
        assert_eq!(work.advance(&mut nand, at(1_419_800)), 1);
        assert_eq!(work.earliest(), None);
    }

    #[test]
    fn what_waits_behind_such_a_program_keeps_its_order() {
        let mut nand = Nand::new(SHAPE);
        let mut work = DieWork::new(SHAPE.dies());
        work.add(&mut nand, Moment::START, 0, program(at(500_000)));
        work.add(&mut nand, at(1_000), 0, program(at(1_000)));
        assert_eq!(work.advance(&mut nand, at(802_400)), 1);
        assert_eq!(work.advance(&mut nand, at(1_104_800)), 1);
        assert_eq!(work.earliest(), None);
    }
}
