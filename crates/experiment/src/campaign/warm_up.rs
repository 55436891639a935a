//! When the cells of a group are warm: all of them execute as many transactions as the one
//! needs that is warm last.

use std::collections::BTreeMap;

use octavo_predict::{FIRST_BLOCK, Referred, Sensitivity, Warmth, next_block, next_small_block};

use super::settings::CampaignSettings;
use crate::{
    lockstep::Slice,
    plan::SliceLength,
    prediction::{PREDICTED_PASSES, PREDICTED_SLICE},
};

/// Transactions of a warm-up where references are recorded beforehand, which takes memory for
/// each of them. Chosen.
pub(super) const RECORDED_MAX: u64 = 30_000;

/// A buffer that is full within so many seconds is filled, however level its misses are: where few
/// rows are wanted most of the time, as YCSB's, misses are level before the buffer is full. Chosen.
const SOON_S: f64 = 4.0;

/// When a warm-up ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarmUpEnd {
    /// After so many transactions.
    Transactions(u64),
    /// When misses are level, full or not, or after so many transactions. What is full soon is
    /// waited for.
    Level {
        /// At most.
        most: u64,
    },
    /// When models say that they go on as they are, or after so many transactions.
    Steady {
        /// At most.
        most: u64,
    },
}

/// A warm-up under way.
pub(super) struct WarmUp {
    end: WarmUpEnd,
    /// Whether its time is limited.
    is_limited: bool,
    done: u64,
    block: u64,
    cells: BTreeMap<usize, CellWarmUp>,
}

struct CellWarmUp {
    warmth: Warmth,
    /// Transactions of the first blocks, and their seconds, until there are enough to be one.
    first: (u64, f64),
    /// Transactions a second in the fastest block.
    rate: f64,
}

impl CellWarmUp {
    /// Whether its buffer will have been full for long enough within [`SOON_S`].
    fn is_full_soon(&self) -> bool {
        let left = self.warmth.transactions_to_full();
        left.is_some_and(|left| left < self.rate * SOON_S)
    }
}

impl WarmUp {
    /// Of no cell yet.
    pub(super) fn new(end: WarmUpEnd) -> Self {
        Self {
            end,
            is_limited: false,
            done: 0,
            block: 0,
            cells: BTreeMap::new(),
        }
    }

    /// The same whose time is limited.
    pub(super) fn limited(self) -> Self {
        Self {
            is_limited: true,
            ..self
        }
    }

    /// Transactions that a predicted cell executes at most, with its warm-up and those that
    /// tell what its time follows, where references are recorded beforehand.
    pub(super) fn horizon(settings: &CampaignSettings) -> u64 {
        let SliceLength {
            transactions,
            warm_up,
        } = settings.slices;
        let slice = transactions.unwrap_or(PREDICTED_SLICE);
        let passes = u64::from(settings.passes.unwrap_or(PREDICTED_PASSES));
        let counted = passes.saturating_mul(slice);
        let asked = Sensitivity::transactions(slice);
        // One more is under way when the last one has ended.
        counted.saturating_add(warm_up.unwrap_or(RECORDED_MAX) + asked + 1)
    }

    /// Transactions that a predicted cell of so many clients executes behind its warm-up, at most:
    /// twice its passes, since some may be left out, and those that tell what its time follows.
    pub(super) fn counted(settings: &CampaignSettings, clients: u32) -> u64 {
        let slice = settings.slices.transactions.unwrap_or(PREDICTED_SLICE);
        let passes = u64::from(settings.passes.unwrap_or(PREDICTED_PASSES));
        let counted = passes.saturating_mul(slice).saturating_mul(2);
        // Each client has one more under way when the last one has ended, twice.
        let under_way = 2 * u64::from(clients);
        counted.saturating_add(Sensitivity::transactions(slice) + under_way)
    }

    /// A cell with a buffer of so many pages.
    pub(super) fn expect(&mut self, cell: usize, frames: u64) {
        let warming = CellWarmUp {
            warmth: Warmth::new(frames),
            first: (0, 0.0),
            rate: 0.0,
        };
        self.cells.insert(cell, warming);
    }

    /// Waits for a cell no longer.
    pub(super) fn forget(&mut self, cell: usize) {
        self.cells.remove(&cell);
    }

    /// How many transactions each cell executes next; `None` when they are warm. `is_over` is
    /// what a model says of its cell.
    pub(super) fn next(&mut self, is_over: &dyn Fn(usize) -> bool) -> Option<u64> {
        let mut cells = self.cells.iter();
        let (warm, left) = match self.end {
            WarmUpEnd::Transactions(wanted) => (self.done >= wanted, wanted - self.done),
            WarmUpEnd::Level { most } => {
                let left = most - self.done;
                let are_level = cells.all(|(_, cell)| {
                    let CellWarmUp { warmth, .. } = cell;
                    warmth.has_been_full() || (warmth.is_level() && !cell.is_full_soon())
                });
                (left == 0 || are_level, left)
            }
            WarmUpEnd::Steady { most } => {
                let left = most - self.done;
                (left == 0 || cells.all(|(&cell, _)| is_over(cell)), left)
            }
        };
        if warm {
            return None;
        }
        let block = match self.is_limited {
            true => next_small_block(self.done),
            false => next_block(self.done),
        };
        self.block = block.min(left);
        self.done += self.block;
        Some(self.block)
    }

    /// The last block is not executed after all.
    pub(super) fn leave_out(&mut self) {
        self.done -= std::mem::take(&mut self.block);
    }

    /// Takes a cell's block into account.
    pub(super) fn see(&mut self, slice: &Slice) {
        let Some(cell) = self.cells.get_mut(&slice.key.cell) else {
            return;
        };
        let referred = Referred {
            misses: slice.misses,
            ..Referred::default()
        };
        // Reads are not judged: what is measured waits for level misses.
        cell.warmth.see(self.block, &referred, 1.0);
        let seconds = slice.elapsed.as_secs_f64().max(1e-9);
        let (transactions, took) = &mut cell.first;
        if *transactions < FIRST_BLOCK {
            *transactions += self.block;
            *took += seconds;
            cell.rate = *transactions as f64 / *took;
        } else {
            cell.rate = cell.rate.max(self.block as f64 / seconds);
        }
    }

    /// Transactions a second of a cell in its fastest block, which no storm
    /// hit.
    pub(super) fn rate(&self, cell: usize) -> Option<f64> {
        let rate = self.cells.get(&cell)?.rate;
        (rate > 0.0).then_some(rate)
    }

    /// Transactions of each cell so far.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// How far it is, for a progress line.
    pub(super) fn progress(&self) -> String {
        let shares = self.cells.values().map(|cell| cell.warmth.share());
        let least = match self.end {
            WarmUpEnd::Transactions(wanted) => self.done as f64 / wanted.max(1) as f64,
            WarmUpEnd::Level { .. } | WarmUpEnd::Steady { .. } => shares.fold(1.0, f64::min),
        };
        format!("{:.0}%", least * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lockstep::slice::tests::slice;

    const LEVEL: WarmUpEnd = WarmUpEnd::Level { most: u64::MAX };

    /// Warms a cell of `frames` pages that misses like this after so many
    /// transactions; how many it takes.
    fn transactions(end: WarmUpEnd, frames: u64, misses: impl Fn(u64) -> f64) -> u64 {
        let mut warm_up = WarmUp::new(end);
        warm_up.expect(0, frames);
        let mut done = 0;
        while let Some(block) = warm_up.next(&|_| false) {
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
        let done = transactions(LEVEL, 16_384, |at| match at {
            0..500 => 22.8,
            500..1000 => 9.4,
            _ => 6.4,
        });
        assert!((2000..2500).contains(&done), "{done}");
    }

    #[test]
    fn a_buffer_that_never_fills_is_warm_when_misses_are_level() {
        let misses = |at| 1.0 + 20.0 / (1.0 + at as f64 / 100.0);
        let done = transactions(LEVEL, 1_000_000, misses);
        assert!((500..20_000).contains(&done), "{done}");
        let end = WarmUpEnd::Level { most: 300 };
        assert_eq!(transactions(end, 1_000_000, misses), 300);
    }

    #[test]
    fn a_buffer_that_is_full_soon_is_filled_though_misses_are_level() {
        // 0.85 misses a transaction of 100 us: 40,000 of these take as long as is waited.
        let transactions = |frames| {
            let mut warm_up = WarmUp::new(LEVEL);
            warm_up.expect(0, frames);
            let mut done = 0;
            while let Some(block) = warm_up.next(&|_| false) {
                done += block;
                warm_up.see(&Slice {
                    misses: block * 85 / 100,
                    elapsed: Duration::from_micros(100 * block),
                    ..slice(0, 0, 0)
                });
            }
            done
        };
        let done = transactions(1_300);
        assert!((3_000..3_700).contains(&done), "{done}");
        let done = transactions(100_000);
        assert!(done < 3_000, "{done}: it would take longer");
    }

    #[test]
    fn models_say_when_they_are_warm() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Steady { most: 1000 });
        warm_up.expect(0, 12_000);
        warm_up.expect(1, 12_000);
        let mut blocks = 0;
        while let Some(block) = warm_up.next(&|cell| cell == 0) {
            blocks += block;
        }
        assert_eq!(blocks, 1000, "one is cold");
        assert_eq!(
            WarmUp::new(WarmUpEnd::Steady { most: 10 }).next(&|_| true),
            None
        );
    }

    #[test]
    fn a_wanted_number_is_kept_to_the_transaction() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Transactions(100));
        warm_up.expect(0, 10);
        let blocks: Vec<u64> = std::iter::from_fn(|| warm_up.next(&|_| false)).collect();
        assert_eq!(blocks, [64, 36]);
        assert_eq!(
            WarmUp::new(WarmUpEnd::Transactions(0)).next(&|_| false),
            None
        );
    }

    #[test]
    fn a_limited_warm_up_begins_with_one_and_tells_what_was_executed() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Transactions(100)).limited();
        let mut next = || warm_up.next(&|_| false).unwrap();
        assert_eq!([next(), next(), next()], [1, 1, 2]);
        warm_up.leave_out();
        assert_eq!(warm_up.done(), 2);
    }

    #[test]
    fn blocks_of_a_long_warm_up_stay_short() {
        let mut warm_up = WarmUp::new(WarmUpEnd::Transactions(1_000_000_000));
        let mut blocks = std::iter::from_fn(|| warm_up.next(&|_| false)).take(1000);
        assert!(blocks.all(|block| block <= 16_384));
        assert_eq!(warm_up.progress(), "2%");
    }
}
