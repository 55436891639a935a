//! When the cells of a group are warm.
//!
//! A buffer that is full is not yet in the state that it keeps: what was read
//! first gives way to what is read often (10.3 reads a transaction when SQLite's
//! buffer had just filled, 8.3 in the long run, TPC-C on 4 KiB pages). So a
//! warm-up goes on for as long as filling took, or until misses stay level.
//! It counts transactions and misses, no clock, and so it replays.
//!
//! Misses are level long before a large buffer is full, and until it is full nothing
//! dirty is evicted. Measuring cannot wait for that; a model can.

use std::collections::BTreeMap;

use octavo_predict::Sensitivity;

use super::settings::CampaignSettings;
use crate::{
    lockstep::Slice,
    plan::SliceLength,
    prediction::{PREDICTED_PASSES, PREDICTED_SLICE},
};

/// Transactions of the first block of a warm-up; later ones are an eighth of
/// what went before.
const FIRST_BLOCK: u64 = 64;

/// … but no more, so that an interrupt is heard within a moment. Chosen.
const BLOCK_MAX: u64 = 16_384;

/// Misses of the last two quarters of a warm-up that differ by less than this
/// share are level.
const LEVEL: f64 = 0.05;

/// Blocks before misses are asked whether they are level: eight of the first
/// size and as many again.
const BLOCKS_MIN: usize = 16;

/// Transactions for which a buffer is waited that does not fill: some seconds of a model.
/// Chosen.
const FULL_MAX: u64 = 30_000;

/// Transactions a miss from which on a buffer has all that is wanted, and need not be full.
/// Chosen.
const HITTING: u64 = 50;

/// When a warm-up ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarmUpEnd {
    /// After so many transactions.
    Transactions(u64),
    /// When misses are level, full or not.
    Level,
    /// When buffers are full, or have all that is wanted.
    Full,
}

/// A warm-up under way.
pub(super) struct WarmUp {
    end: WarmUpEnd,
    done: u64,
    block: u64,
    cells: BTreeMap<usize, CellWarmUp>,
}

#[derive(Default)]
struct CellWarmUp {
    frames: u64,
    /// Transactions and misses of each block.
    blocks: Vec<(u64, u64)>,
    misses: u64,
    /// After how many transactions as many pages were read as the buffer has.
    filled: Option<u64>,
    /// Transactions a second in the fastest block.
    rate: f64,
}

impl WarmUp {
    /// Of no cell yet.
    pub(super) fn new(end: WarmUpEnd) -> Self {
        Self {
            end,
            done: 0,
            block: 0,
            cells: BTreeMap::new(),
        }
    }

    /// Transactions that a predicted cell executes at most, with its warm-up and those that
    /// tell what its time follows.
    pub(super) fn horizon(settings: &CampaignSettings) -> u64 {
        let SliceLength {
            transactions,
            warm_up,
        } = settings.slices;
        let slice = transactions.unwrap_or(PREDICTED_SLICE);
        let passes = u64::from(settings.passes.unwrap_or(PREDICTED_PASSES));
        let counted = passes.saturating_mul(slice);
        let asked = Sensitivity::transactions(slice);
        counted.saturating_add(warm_up.unwrap_or(FULL_MAX) + asked)
    }

    /// A cell with a buffer of so many pages.
    pub(super) fn expect(&mut self, cell: usize, frames: u64) {
        let warming = CellWarmUp {
            frames,
            ..CellWarmUp::default()
        };
        self.cells.insert(cell, warming);
    }

    /// Waits for a cell no longer.
    pub(super) fn forget(&mut self, cell: usize) {
        self.cells.remove(&cell);
    }

    /// How many transactions each cell executes next; `None` when they are
    /// warm.
    pub(super) fn next(&mut self) -> Option<u64> {
        let mut cells = self.cells.values();
        let (warm, left) = match self.end {
            WarmUpEnd::Transactions(wanted) => (self.done >= wanted, wanted - self.done),
            WarmUpEnd::Level => (cells.all(|cell| cell.is_warm(self.done)), u64::MAX),
            WarmUpEnd::Full => {
                let left = FULL_MAX - self.done;
                (left == 0 || cells.all(|cell| cell.is_full(self.done)), left)
            }
        };
        if warm {
            return None;
        }
        self.block = (self.done / 8).clamp(FIRST_BLOCK, BLOCK_MAX).min(left);
        self.done += self.block;
        Some(self.block)
    }

    /// Takes a cell's block into account.
    pub(super) fn see(&mut self, slice: &Slice) {
        let (done, block) = (self.done, self.block);
        let Some(cell) = self.cells.get_mut(&slice.key.cell) else {
            return;
        };
        cell.misses += slice.misses;
        cell.blocks.push((block, slice.misses));
        cell.rate = cell
            .rate
            .max(block as f64 / slice.elapsed.as_secs_f64().max(1e-9));
        if cell.misses >= cell.frames {
            cell.filled.get_or_insert(done);
        }
    }

    /// Transactions a second of a cell in its fastest block, which no storm
    /// hit.
    pub(super) fn rate(&self, cell: usize) -> Option<f64> {
        let rate = self.cells.get(&cell)?.rate;
        (rate > 0.0).then_some(rate)
    }

    /// How far it is, for a progress line.
    pub(super) fn progress(&self) -> String {
        let filled = |cell: &CellWarmUp| match (cell.filled, cell.frames) {
            (Some(filled), _) => 0.5 * (self.done as f64 / filled.max(1) as f64).min(2.0),
            (None, 0) => 1.0,
            (None, frames) => 0.5 * cell.misses as f64 / frames as f64,
        };
        let least = self.cells.values().map(filled).fold(1.0, f64::min);
        let least = match self.end {
            WarmUpEnd::Transactions(wanted) => self.done as f64 / wanted.max(1) as f64,
            WarmUpEnd::Level | WarmUpEnd::Full => least,
        };
        format!("{:.0}%", least * 100.0)
    }
}

impl CellWarmUp {
    fn is_warm(&self, done: u64) -> bool {
        self.has_been_full(done) || self.is_level(done)
    }

    fn is_full(&self, done: u64) -> bool {
        self.has_been_full(done) || self.hardly_misses(done)
    }

    /// Whether it has been full for as long as filling took.
    fn has_been_full(&self, done: u64) -> bool {
        self.frames == 0 || self.filled.is_some_and(|filled| done >= 2 * filled)
    }

    /// Whether the last quarter of the transactions missed so seldom.
    fn hardly_misses(&self, done: u64) -> bool {
        let quarters = self.quarters(done);
        quarters.is_some_and(|[last, _]| last * HITTING as f64 <= 1.0)
    }

    /// Whether the last quarter of the transactions missed as often as the one
    /// before.
    fn is_level(&self, done: u64) -> bool {
        let quarters = self.quarters(done);
        quarters.is_some_and(|[last, before]| (last - before).abs() <= LEVEL * before)
    }

    /// Misses a transaction in the last quarter and in the one before, once there are enough
    /// blocks.
    fn quarters(&self, done: u64) -> Option<[f64; 2]> {
        if self.blocks.len() < BLOCKS_MIN {
            return None;
        }
        let (mut sums, mut seen) = ([(0, 0); 2], 0);
        for &(transactions, misses) in self.blocks.iter().rev() {
            let quarter = usize::from(seen >= done / 4);
            seen += transactions;
            sums[quarter].0 += transactions;
            sums[quarter].1 += misses;
            if seen >= done / 2 {
                break;
            }
        }
        let rate = |(transactions, misses): (u64, u64)| misses as f64 / transactions.max(1) as f64;
        Some(sums.map(rate))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lockstep::slice::tests::slice;

    /// Warms a cell of `frames` pages that misses like this after so many
    /// transactions; how many it takes.
    fn transactions(end: WarmUpEnd, frames: u64, misses: impl Fn(u64) -> f64) -> u64 {
        let mut warm_up = WarmUp::new(end);
        warm_up.expect(0, frames);
        let mut done = 0;
        while let Some(block) = warm_up.next() {
            let missed = (done..done + block).map(&misses).sum::<f64>();
            done += block;
            warm_up.see(&Slice {
                misses: missed as u64,
                elapsed: Duration::from_secs(1),
                ..slice(0, 0, 0)
            });
            assert!(done < 1_000_000, "never warm");
        }
        done
    }

    #[test]
    fn a_warm_up_goes_on_for_as_long_as_filling_took() {
        // As SQLite under TPC-C with 2 KiB pages and 32 MiB: filled after
        // about 1,000 transactions, level at 2,000.
        let done = transactions(WarmUpEnd::Level, 16_384, |at| match at {
            0..500 => 22.8,
            500..1000 => 9.4,
            _ => 6.4,
        });
        assert!((2000..2500).contains(&done), "{done}");
    }

    #[test]
    fn a_buffer_that_never_fills_is_warm_when_misses_are_level() {
        let misses = |at| 1.0 + 20.0 / (1.0 + at as f64 / 100.0);
        let done = transactions(WarmUpEnd::Level, 1_000_000, misses);
        assert!((500..20_000).contains(&done), "{done}");
    }

    #[test]
    fn a_model_goes_on_until_its_buffer_is_full() {
        let level = transactions(WarmUpEnd::Level, 12_000, |_| 1.0);
        assert!(level < 2000, "{level}");
        let full = transactions(WarmUpEnd::Full, 12_000, |_| 1.0);
        assert!((24_000..FULL_MAX).contains(&full), "{full}");
        // Never full.
        assert_eq!(transactions(WarmUpEnd::Full, 100_000, |_| 1.0), FULL_MAX);
        // All that is wanted is there, though misses come and go.
        let has_all = |at: u64| match at {
            0..1000 => 1.0,
            _ if (at / 500).is_multiple_of(2) => 0.003,
            _ => 0.03,
        };
        let done = transactions(WarmUpEnd::Full, 12_000, has_all);
        assert!((1000..10_000).contains(&done), "{done}");
    }

    #[test]
    fn a_wanted_number_is_kept_to_the_transaction() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Transactions(100));
        warm_up.expect(0, 10);
        let blocks: Vec<u64> = std::iter::from_fn(|| warm_up.next()).collect();
        assert_eq!(blocks, [64, 36]);
        assert_eq!(WarmUp::new(WarmUpEnd::Transactions(0)).next(), None);
    }

    #[test]
    fn blocks_of_a_long_warm_up_stay_short() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Transactions(1_000_000_000));
        let mut blocks = std::iter::from_fn(|| warm_up.next()).take(1000);
        assert!(blocks.all(|block| block <= BLOCK_MAX));
        assert_eq!(warm_up.progress(), "2%");
    }
}
