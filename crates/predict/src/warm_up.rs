//! When a modeled database is in the state that it keeps: one rule for all who ask a model.
//!
//! A buffer that is full is not yet in that state: what was read first gives way to what is
//! read often (10.3 reads a transaction when SQLite's buffer had just filled, 8.3 in the long
//! run, TPC-C on 4 KiB pages). So a warm-up goes on for as long as filling took. InnoDB's list
//! keeps learning after that: pages move to its young part when they are wanted again a second
//! later (96 MiB of TPC-C missed 20% too often). So it goes on until misses fall no more.
//! Misses are level long before a large buffer is full, and until it is full nothing dirty is
//! evicted. Measuring cannot wait for that ([`Warmth::is_level`]); a model can.
//!
//! It counts transactions, misses and references, no clock, and so it replays.

use std::ops::ControlFlow;

use crate::{engine::Referred, error::PredictError, io::Purpose, system::System};

/// Transactions of the first block of a warm-up, or of those that make it up; later ones are an eighth
/// of what went before.
pub const FIRST_BLOCK: u64 = 64;

/// … but no more, so that an interrupt is heard within a moment. Chosen.
const BLOCK_MAX: u64 = 16_384;

/// Misses of the last two quarters of a warm-up that differ by less than this share are level.
const LEVEL: f64 = 0.05;

/// Blocks before misses are asked whether they are level: eight of the first size and as many
/// again.
const BLOCKS_MIN: usize = 16;

/// Transactions a miss from which on a buffer has all that is wanted, and need not be full: a
/// read of 8 ms adds 8 µs to each then. Chosen.
const HITTING: u64 = 1000;

/// The share of clients' time that reads take from which on they count. A buffer that is full reads
/// less, and writes as many pages at most, which mostly nobody waits for: both together are a third of
/// the margin that verdicts have by default. Chosen.
const READING: f64 = 0.005;

/// Misses of the last quarter of a warm-up that are by more than this share fewer than those
/// of the quarter before still fall. Misses that approach their level as 1/n are then 4% above
/// it, those that approach it as exp(-n) less.
const FALLING: f64 = 0.02;

/// Transactions of a warm-up, at least, where none are asked for: a small buffer is filled by
/// some hundred of TPC-C, and misses go on falling for thousands (31.5 of SQLite's 16 MiB at
/// first, 30.1 after 6,000). Of fewer transactions nobody can tell whether they fall: a quarter
/// of these is 1,500, which misses of TPC-C differ by 3% in.
const TRANSACTIONS_MIN: u64 = 6000;

/// References to pages, at most: some 20 s of a processor. Chosen.
const REFERENCES_MAX: u64 = 100_000_000;

/// Transactions that come next in a warm-up, after so many.
pub fn next_block(done: u64) -> u64 {
    (done / 8).clamp(FIRST_BLOCK, BLOCK_MAX)
}

/// The same where time is short: a transaction may take a second. Those of the first block come one by
/// one and then twice as many.
pub fn next_small_block(done: u64) -> u64 {
    match done {
        0..FIRST_BLOCK => done.max(1).min(FIRST_BLOCK - done),
        _ => next_block(done),
    }
}

/// How far a warm-up has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUpState {
    /// More is missed than in the long run, or less is written.
    Cold,
    /// The buffer has been full for long enough, or hardly misses, or reads hardly take time.
    Steady,
    /// It is cold after as much as is worth while.
    GivenUp,
}

/// What a block of transactions did.
#[derive(Clone, Copy, Debug)]
struct Block {
    transactions: u64,
    /// Of pages that were there before.
    misses: u64,
    /// Pages that were made: data that grows fills any buffer.
    made: u64,
    /// The share of clients' time that reads took.
    reading: f64,
}

impl Block {
    fn add(&mut self, next: Self) {
        let all = (self.transactions + next.transactions).max(1) as f64;
        let [one, other] = [*self, next].map(|of| of.reading * of.transactions as f64);
        *self = Self {
            transactions: self.transactions + next.transactions,
            misses: self.misses + next.misses,
            made: self.made + next.made,
            reading: (one + other) / all,
        };
    }
}

/// A last quarter that has by less than this share fewer than the one before may have as many:
/// misses of TPC-C scatter by 3%, so that two quarters differ by 4%. Chosen.
const FALLING_CLEARLY: f64 = 0.1;

/// What the last quarter of a warm-up did, and the one before.
struct Quarters {
    /// Misses a transaction.
    misses: [f64; 2],
    /// The same with pages that were made, which fill a buffer too, in the last quarter.
    filling: f64,
    /// The share of clients' time that reads took.
    reading: [f64; 2],
}

/// How warm a buffer is, by what blocks of transactions did.
#[derive(Clone, Debug)]
pub struct Warmth {
    frames: u64,
    blocks: Vec<Block>,
    transactions: u64,
    misses: u64,
    references: u64,
    /// After how many transactions as many pages were missed as the buffer has.
    filled: Option<u64>,
}

impl Warmth {
    /// Of an empty buffer with room for so many pages; 0 where nothing is to be filled.
    pub fn new(frames: u64) -> Self {
        Self {
            frames,
            blocks: Vec::new(),
            transactions: 0,
            misses: 0,
            references: 0,
            filled: None,
        }
    }

    /// Takes into account what the next transactions referred to, and which share of their clients' time
    /// they were `reading`, 0 to 1.
    pub fn see(&mut self, transactions: u64, referred: &Referred, reading: f64) {
        let Referred {
            hits, misses, made, ..
        } = *referred;
        self.transactions += transactions;
        self.misses += misses;
        self.references += hits + misses;
        let block = Block {
            transactions,
            misses: misses.saturating_sub(made),
            made,
            reading,
        };
        match self.blocks.last_mut() {
            Some(last) if last.transactions + transactions <= FIRST_BLOCK => last.add(block),
            _ => self.blocks.push(block),
        }
        if self.misses >= self.frames {
            self.filled.get_or_insert(self.transactions);
        }
    }

    /// Transactions so far.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Whether a model's buffer is in the state that it keeps.
    pub fn state(&self) -> WarmUpState {
        if self.has_been_full() || self.hardly_misses() || self.hardly_reads() {
            WarmUpState::Steady
        } else if self.references >= REFERENCES_MAX {
            WarmUpState::GivenUp
        } else {
            WarmUpState::Cold
        }
    }

    /// Whether a warm-up that nobody limits ends here: the buffer is in the state that it
    /// keeps and misses fall no more, or it is given up.
    pub fn is_over(&self) -> bool {
        match self.state() {
            WarmUpState::Cold => false,
            WarmUpState::GivenUp => true,
            WarmUpState::Steady => {
                let is_long = self.transactions >= TRANSACTIONS_MIN;
                is_long && (!self.is_falling() || self.references >= REFERENCES_MAX)
            }
        }
    }

    /// Whether the last quarter of the transactions missed less often than the one before.
    fn is_falling(&self) -> bool {
        let quarters = self.quarters();
        quarters.is_some_and(|of| of.misses[0] < (1.0 - FALLING) * of.misses[1])
    }

    /// Whether it has been full for as long as filling took.
    pub fn has_been_full(&self) -> bool {
        let filled = self.filled;
        self.frames == 0 || filled.is_some_and(|filled| self.transactions >= 2 * filled)
    }

    /// Whether the last quarter of the transactions missed as often as the one before.
    pub fn is_level(&self) -> bool {
        self.quarters().is_some_and(|of| {
            let [last, before] = of.misses;
            (last - before).abs() <= LEVEL * before
        })
    }

    /// Whether the last quarter missed so seldom, and was long enough to tell.
    fn hardly_misses(&self) -> bool {
        let quarters = self.quarters();
        self.can_tell() && quarters.is_some_and(|of| of.misses[0] * HITTING as f64 <= 1.0)
    }

    /// Whether reads hardly took time in the last quarter, nor before it, and nothing grew.
    fn hardly_reads(&self) -> bool {
        let quarters = self.quarters();
        self.can_tell()
            && !self.grows()
            && quarters.is_some_and(|of| of.reading.iter().all(|of| *of <= READING))
    }

    /// Whether a quarter has enough transactions for misses that are seldom.
    fn can_tell(&self) -> bool {
        self.transactions >= 4 * HITTING
    }

    /// How many more transactions it takes to have been full for as long as filling took, if the
    /// buffer goes on to fill as in the last quarter; `None` where nothing is missed any more.
    pub fn transactions_to_full(&self) -> Option<f64> {
        let wanted = match self.filled {
            Some(filled) => 2.0 * filled as f64,
            None => {
                let left = self.frames.saturating_sub(self.misses) as f64;
                let filling = self.quarters()?.filling;
                2.0 * (self.transactions as f64 + left / filling)
            }
        };
        let left = wanted - self.transactions as f64;
        left.is_finite().then_some(left.max(0.0))
    }

    /// How far it is, 0 to 1: half of it is filling.
    pub fn share(&self) -> f64 {
        match self.filled {
            _ if self.frames == 0 => 1.0,
            Some(filled) => (0.5 * self.transactions as f64 / filled.max(1) as f64).min(1.0),
            None => 0.5 * self.misses as f64 / self.frames as f64,
        }
    }

    /// At least how many transactions it takes in all, `None` where that cannot be told: to fill the
    /// buffer at half the pages of the last quarter, which become fewer, or until it hardly misses or
    /// hardly reads, if misses and reads go on falling as they do. They do where all pages are
    /// wanted equally often; elsewhere they fall more slowly later.
    pub fn transactions_wanted(&self) -> Option<u64> {
        if let Some(filled) = self.filled {
            return Some(2 * filled);
        }
        let quarters = self.quarters()?;
        let left = (self.frames - self.misses) as f64;
        let full = 2.0 * (self.transactions as f64 + 2.0 * left / quarters.filling);
        // The last quarter's mean is that of seven eighths, and that of the quarter before of five.
        let seldom = self.fallen_to(1.0 / HITTING as f64, quarters.misses);
        let seldom = seldom.map(|all| all / 0.875);
        let fast = self.fallen_to(READING, quarters.reading);
        let fast = fast.map(|all| all / 0.625).filter(|_| !self.grows());
        let fallen = [seldom, fast].into_iter().flatten();
        let all = fallen
            .map(|all| all.max((4 * HITTING) as f64))
            .fold(full, f64::min);
        all.is_finite().then_some(all as u64)
    }

    /// Where what was so much in the last quarter and in the one before falls to `goal`, in
    /// transactions, if it falls by the same share in as many: each page that is kept is missed
    /// once. `None` where it does not clearly fall.
    fn fallen_to(&self, goal: f64, [last, before]: [f64; 2]) -> Option<f64> {
        let quarter = 0.25 * self.transactions as f64;
        let fall = (before / last).ln();
        let more = (last.max(goal) / goal).ln() * quarter / fall;
        let is_falling = last < (1.0 - FALLING_CLEARLY) * before;
        is_falling.then_some(self.transactions as f64 - 0.5 * quarter + more)
    }

    /// Whether pages were made.
    fn grows(&self) -> bool {
        self.blocks.iter().any(|block| block.made > 0)
    }

    /// What the last quarter and the one before did, once there are enough blocks.
    fn quarters(&self) -> Option<Quarters> {
        if self.blocks.len() < BLOCKS_MIN {
            return None;
        }
        let done = self.transactions;
        let (mut sums, mut seen, mut made) = ([(0, 0, 0.0); 2], 0, 0);
        for block in self.blocks.iter().rev() {
            let quarter = usize::from(seen >= done / 4);
            seen += block.transactions;
            let (transactions, misses, reading) = &mut sums[quarter];
            *transactions += block.transactions;
            *misses += block.misses;
            made += if quarter == 0 { block.made } else { 0 };
            *reading += block.reading * block.transactions as f64;
            if seen >= done / 2 {
                break;
            }
        }
        let a_transaction = |sum: f64, transactions: u64| sum / transactions.max(1) as f64;
        let (transactions, misses, _) = sums[0];
        Some(Quarters {
            filling: a_transaction((misses + made) as f64, transactions),
            misses: sums
                .map(|(transactions, misses, _)| a_transaction(misses as f64, transactions)),
            reading: sums.map(|(transactions, _, reading)| a_transaction(reading, transactions)),
        })
    }
}

impl System {
    /// Executes transactions until the buffer is in the state that it keeps, or at most so
    /// many, or until `flow` says to stop; the state it ends in.
    ///
    /// # Errors
    /// As [`Self::run`], and [`PredictError::Stopped`].
    pub fn warm_up(
        &mut self,
        most: u64,
        flow: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<WarmUpState, PredictError> {
        let mut warmth = Warmth::new(self.frames());
        while warmth.transactions() < most && !warmth.is_over() {
            if flow().is_break() {
                return Err(PredictError::Stopped);
            }
            let done = warmth.transactions();
            let block = next_block(done).min(most - done);
            let (mut referred, mut read_ns) = (Referred::default(), 0);
            let elapsed_ns = self.run(block, &mut |done| {
                referred = referred + done.referred;
                read_ns += done.asked(Purpose::Read).waited_ns;
            })?;
            let all = elapsed_ns as f64 * self.clients() as f64;
            warmth.see(block, &referred, read_ns as f64 / all);
        }
        Ok(match warmth.state() {
            WarmUpState::Cold => WarmUpState::GivenUp,
            state => state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Warms a buffer of `frames` pages that misses like this after so many transactions, of
    /// ten references each, and reads for a share of the time; the state it ends in and how many it
    /// takes.
    fn warm(frames: u64, reading: f64, misses: impl Fn(u64) -> f64) -> (WarmUpState, u64) {
        let mut warmth = Warmth::new(frames);
        let mut all = 0.0;
        while !warmth.is_over() {
            let done = warmth.transactions();
            let block = next_block(done);
            let before = all as u64;
            all += (done..done + block).map(&misses).sum::<f64>();
            let missed = all as u64 - before;
            let hits = (10 * block).saturating_sub(missed);
            let referred = Referred {
                hits,
                misses: missed,
                ..Referred::default()
            };
            warmth.see(block, &referred, reading);
        }
        (warmth.state(), warmth.transactions())
    }

    #[test]
    fn a_buffer_is_steady_when_it_was_full_for_as_long_as_filling_took() {
        let (state, done) = warm(12_000, 0.2, |_| 1.0);
        assert_eq!(state, WarmUpState::Steady);
        assert!((24_000..30_000).contains(&done), "{done}");
    }

    #[test]
    fn a_buffer_that_has_all_that_is_wanted_need_not_be_full() {
        let has_all = |at: u64| match at {
            0..1000 => 1.0,
            _ => 0.0004,
        };
        let (state, done) = warm(12_000, 0.2, has_all);
        assert_eq!(state, WarmUpState::Steady);
        assert!((1000..20_000).contains(&done), "{done}");
        // One of 200 still misses: of a disk that is 40 µs.
        let (state, done) = warm(12_000, 0.2, |at| if at < 1000 { 1.0 } else { 0.005 });
        assert_eq!(state, WarmUpState::Steady);
        assert!(done > 1_000_000, "{done}");
    }

    #[test]
    fn a_buffer_whose_reads_take_no_time_need_not_be_full() {
        let seldom = |_| 0.02;
        let (state, done) = warm(12_000, 0.003, seldom);
        assert_eq!(state, WarmUpState::Steady);
        assert!((6000..8000).contains(&done), "{done}");
        let mut growing = Warmth::new(12_000);
        for _ in 0..20 {
            let referred = Referred {
                misses: 60,
                made: 50,
                ..Referred::default()
            };
            growing.see(1000, &referred, 0.001);
        }
        assert_eq!(growing.state(), WarmUpState::Cold);
        let (state, done) = warm(12_000, 0.007, seldom);
        assert_eq!(state, WarmUpState::Steady);
        assert!(done > 1_000_000, "{done}");
    }

    #[test]
    fn a_buffer_that_takes_too_long_is_given_up_and_told_cold() {
        let (state, done) = warm(1 << 40, 0.2, |_| 1.0);
        assert_eq!(state, WarmUpState::GivenUp);
        assert!((10_000_000..10_100_000).contains(&done), "{done}");
    }

    #[test]
    fn what_a_warm_up_takes_is_foreseen() {
        let mut warmth = Warmth::new(100_000);
        for _ in 0..20 {
            let referred = Referred {
                misses: 200,
                ..Referred::default()
            };
            warmth.see(100, &referred, 0.2);
        }
        // 96,000 misses are left, at 1 a transaction.
        assert_eq!(warmth.transactions_wanted(), Some(196_000));
        assert!((warmth.share() - 0.02).abs() < 1e-12);
    }

    /// What was said after an eighth of what it took is within a factor of two.
    #[test]
    fn what_it_takes_until_it_hardly_reads_is_foreseen() {
        let (mut warmth, mut said) = (Warmth::new(1 << 40), Vec::new());
        while warmth.state() == WarmUpState::Cold {
            let block = next_block(warmth.transactions());
            let share = 0.2 * (-(warmth.transactions() as f64) / 100_000.0).exp();
            let referred = Referred {
                misses: (block as f64 * 50.0 * share) as u64,
                ..Referred::default()
            };
            warmth.see(block, &referred, share);
            said.push((warmth.transactions(), warmth.transactions_wanted()));
        }
        let took = warmth.transactions();
        assert!((550_000..650_000).contains(&took), "{took}");
        let early = said.iter().find(|(done, _)| *done > took / 8).unwrap().1;
        let early = early.unwrap() as f64 / took as f64;
        assert!((0.5..2.0).contains(&early), "{early}");
        // One that is level, or nearly, is filled.
        let mut level = Warmth::new(1_000_000);
        for round in 0..20 {
            let referred = Referred {
                misses: if round < 10 { 610 } else { 600 },
                ..Referred::default()
            };
            level.see(1000, &referred, 0.2);
        }
        let full = level.transactions_wanted().unwrap();
        assert!((6_000_000..7_000_000).contains(&full), "{full}");
        // What is made fills too, and is read without a fall.
        let mut growing = Warmth::new(1 << 40);
        for round in 0..20 {
            let referred = Referred {
                misses: 600,
                made: 500,
                ..Referred::default()
            };
            growing.see(1000, &referred, 0.2 - 0.005 * f64::from(round));
        }
        let wanted = growing.transactions_wanted().unwrap();
        let full = 2.0 * 2.0 * (1_u64 << 40) as f64 / 0.6;
        assert!((wanted as f64 / full - 1.0).abs() < 0.01, "{wanted}");
    }

    #[test]
    fn small_blocks_make_up_the_first() {
        let mut done = 0;
        let blocks = std::iter::from_fn(|| {
            let block = next_small_block(done);
            done += block;
            Some(block)
        });
        let blocks: Vec<u64> = blocks.take(9).collect();
        assert_eq!(blocks, [1, 1, 2, 4, 8, 16, 32, 64, 64]);
        let mut warmth = Warmth::new(100_000);
        for block in blocks {
            let referred = Referred {
                misses: block,
                ..Referred::default()
            };
            warmth.see(block, &referred, 0.5);
        }
        let seen = warmth
            .blocks
            .iter()
            .map(|of| (of.transactions, of.misses, of.reading));
        assert_eq!(seen.collect::<Vec<_>>(), [(64, 64, 0.5); 3]);
    }

    #[test]
    fn new_pages_fill_a_buffer_and_are_no_misses() {
        let mut warmth = Warmth::new(1_000_000);
        for _ in 0..20 {
            let referred = Referred {
                misses: 50,
                made: 50,
                ..Referred::default()
            };
            warmth.see(1000, &referred, 0.2);
        }
        assert_eq!(warmth.state(), WarmUpState::Steady);
    }
}
