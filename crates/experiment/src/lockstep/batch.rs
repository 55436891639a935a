//! From slices to batches: the unit of statistics.
//!
//! A slice may be shorter than the time from one checkpoint to the next, so
//! that some have one and others have none. The mean of their log ratios would
//! be biased by the curve of the logarithm (by several percent); so a batch has several
//! passes, and the time of checkpoints is spread over the bytes that were
//! written to the log, which is what makes a checkpoint due.

use std::{collections::BTreeSet, ops::Range};

use super::{
    Batch, ScreenedPass, Slice,
    movement::{Movement, Place, at_age, is_level, movement, older_half},
    screen::{Pass, screen},
};
use crate::statistics::{BatchMean, ByBatch, Estimate, mean};

/// Passes of a batch. Fewer leave the bias of checkpoints, more leave few
/// batches.
pub const PASSES: usize = 4;

/// The slices so far without the passes that are left out, in batches that
/// all cells share.
pub(super) struct Batches {
    pub(super) screened: Vec<ScreenedPass>,
    spans: Vec<Span>,
    /// By pass that is not left out, and by cell.
    work: Vec<Vec<Option<SliceWork>>>,
    /// By cell, seconds of checkpoint a byte of log; `None` where no log was
    /// written, so that nothing is spread.
    costs: Vec<Option<f64>>,
    /// By cell, of all passes.
    due: Vec<CheckpointCount>,
    /// By cell, whether it wrote any log: what is only read grows no older.
    has_written: Vec<bool>,
}

/// Checkpoints, and in how many sittings.
struct CheckpointCount {
    checkpoints: f64,
    sittings: f64,
}

/// The passes of a batch.
struct Span {
    sitting: u32,
    pass: u32,
    /// Places in [`Batches::work`].
    places: Range<usize>,
}

/// What slices did, and the seconds it took.
#[derive(Clone, Copy, Default)]
struct SliceWork {
    counted: f64,
    /// Without checkpoints.
    clean: f64,
    checkpoint: f64,
    /// Bytes of log.
    log: f64,
    /// Slices with a checkpoint.
    checkpoints: f64,
}

impl SliceWork {
    /// Of a slice whose time is not known in parts, checkpoints stay where
    /// they are.
    fn from_slice(slice: &Slice) -> Self {
        if let Some(response) = slice.response {
            // What a checkpoint adds to response times cannot be told apart, so it stays where it is.
            return Self {
                counted: slice.counted as f64,
                clean: response.as_secs_f64(),
                ..Self::default()
            };
        }
        let checkpoint = slice.checkpoint().unwrap_or_default();
        let log = slice.spent.map_or(0.0, |_| slice.log_bytes.get() as f64);
        Self {
            counted: slice.counted as f64,
            clean: (slice.elapsed - checkpoint).as_secs_f64(),
            checkpoint: checkpoint.as_secs_f64(),
            log,
            checkpoints: f64::from(!checkpoint.is_zero()),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            clean: self.clean + other.clean,
            checkpoint: self.checkpoint + other.checkpoint,
            log: self.log + other.log,
            checkpoints: self.checkpoints + other.checkpoints,
        }
    }

    /// The seconds that checkpoints count as.
    fn spread(&self, cost: Option<f64>) -> f64 {
        cost.map_or(self.checkpoint, |cost| cost * self.log)
    }

    fn seconds(&self, cost: Option<f64>) -> f64 {
        self.clean + self.spread(cost)
    }
}

/// The logarithms of a cell's throughput, or of its ratio to another's, by
/// batch.
#[derive(Default)]
pub(super) struct Series {
    pub(super) batches: Vec<Batch>,
    /// Of one cell commits a second, of two the ratio.
    pub(super) logs: Vec<f64>,
    influences: Vec<f64>,
    /// By cell, the standard deviation by how many checkpoints fell into what was measured.
    unseen: Vec<(usize, f64)>,
}

impl Series {
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let squares = self.unseen.iter().map(|(_, deviation)| deviation.powi(2));
        Estimate::from_batches(&self.logs, &self.influences, squares.sum::<f64>().sqrt())
    }

    /// How it moved within sittings.
    pub(super) fn movement(&self) -> Option<Movement> {
        movement(&self.places(), &self.logs)
    }

    /// The first pass of its older half; `None` if that is too little to tell anything.
    pub(super) fn older_half(&self) -> Option<u32> {
        older_half(&self.places(), &self.logs)
    }

    /// Whether it is known that it moves by little.
    pub(super) fn is_level(&self) -> bool {
        is_level(&self.places(), &self.logs)
    }

    /// The logarithm of a ratio once copies are so many times as old, if it is known to move at all.
    pub(super) fn at_age(&self, times: f64) -> Option<f64> {
        at_age(&self.places(), &self.logs, times)
    }

    fn places(&self) -> Vec<Place> {
        let places = self.batches.iter().map(|batch| (batch.sitting, batch.pass));
        places.collect()
    }

    /// Its parts by sitting. What is unseen of all is taken for so much in each.
    pub(super) fn sittings(&self) -> impl Iterator<Item = (u32, Self)> {
        let places: Vec<usize> = (0..self.logs.len()).collect();
        let parts: Vec<(u32, Self)> = places
            .chunk_by(|&a, &b| self.batches[a].sitting == self.batches[b].sitting)
            .map(|places| {
                let range = places[0]..places[0] + places.len();
                let part = Self {
                    batches: self.batches[range.clone()].to_vec(),
                    logs: self.logs[range.clone()].to_vec(),
                    influences: self.influences[range].to_vec(),
                    unseen: self.unseen.clone(),
                };
                (part.batches[0].sitting, part)
            })
            .collect();
        parts.into_iter()
    }

    /// The mean of its logarithms, with what each batch has to do with it.
    pub(super) fn mean(&self) -> BatchMean {
        let by_batch = |values: &[f64]| -> ByBatch {
            let keys = self.places().into_iter();
            keys.zip(values.iter().copied()).collect()
        };
        BatchMean {
            center: mean(&self.logs),
            values: by_batch(&self.logs),
            influences: by_batch(self.influences()),
            unseen: self.unseen().to_vec(),
        }
    }

    pub(super) fn unseen(&self) -> &[(usize, f64)] {
        &self.unseen
    }

    /// What each batch adds to the mean of the logarithms times their number.
    pub(super) fn influences(&self) -> &[f64] {
        &self.influences
    }
}

impl Batches {
    /// `is_screened`: whether bad passes are left out.
    pub(super) fn divide(passes: &[Pass<'_>], cells: usize, is_screened: bool) -> Self {
        let mut screened = Vec::new();
        let mut kept = Vec::new();
        let bad = match is_screened {
            true => screen(passes),
            false => vec![None; passes.len()],
        };
        for (pass, why) in passes.iter().zip(bad) {
            match why {
                Some(why) => screened.push(ScreenedPass {
                    sitting: pass.sitting,
                    pass: pass.pass,
                    why,
                }),
                None => kept.push(pass),
            }
        }
        let work = by_cell(kept.iter().copied(), cells);
        let all = by_cell(passes.iter(), cells);
        let costs = (0..cells)
            .map(|cell| cost(total(&work, cell, |_| true), total(&all, cell, |_| true)))
            .collect();
        let due = (0..cells)
            .map(|cell| CheckpointCount {
                checkpoints: total(&all, cell, |_| true).checkpoints,
                sittings: sittings(passes, cell),
            })
            .collect();
        let written = |cell| {
            let mut slices = passes.iter().flat_map(|pass| pass.slices);
            slices.any(|slice| slice.key.cell == cell && slice.log_bytes.get() > 0)
        };
        Self {
            screened,
            spans: spans(&kept),
            work,
            costs,
            due,
            has_written: (0..cells).map(written).collect(),
        }
    }

    /// How many batches there are from a pass of each sitting on.
    pub(super) fn count(&self, from: u32) -> usize {
        self.since(from).count()
    }

    fn since(&self, from: u32) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |span| span.pass >= from)
    }

    /// Whether a cell wrote any log.
    pub(super) fn has_written(&self, cell: usize) -> bool {
        self.has_written[cell]
    }

    /// Seconds of checkpoint that a byte of a cell's log counts as.
    pub(super) fn cost(&self, cell: usize) -> Option<f64> {
        self.costs[cell]
    }

    /// The throughput of a cell, or its ratio to another's, by batch: of
    /// passes in which all of these have a slice, where they are at least half
    /// of the batch, and that begin with the pass `from` of their sitting or later.
    pub(super) fn series(&self, cell: usize, other: Option<usize>, from: u32) -> Series {
        let sides = [Some(cell), other];
        let mut series = Series::default();
        let mut sums = Vec::new();
        for span in self.since(from) {
            let passes = &self.work[span.places.clone()];
            let shared =
                |work: &[Option<SliceWork>]| sides.iter().flatten().all(|&c| work[c].is_some());
            let count = passes.iter().filter(|work| shared(work)).count();
            let sum = sides.map(|side| side.map(|side| total(passes, side, shared)));
            let Some(rates) = self.rates(sides, sum) else {
                continue;
            };
            if 2 * count < passes.len() {
                continue;
            }
            series.batches.push(Batch {
                sitting: span.sitting,
                pass: span.pass,
                throughput: rates[0] * 60.0,
            });
            series.logs.push(rates[0].ln() - rates[1].ln());
            sums.push(sum);
        }
        series.influences = series.logs.clone();
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let Some(cost) = sides[side].and_then(|cell| self.costs[cell]) else {
                continue;
            };
            // The cost a byte comes from the checkpoints of all batches, so it
            // is as uncertain as their mean. That of each is what counts, not
            // how many happen to fall into a batch: log bytes decide that.
            let own: Vec<SliceWork> = sums.iter().filter_map(|sum| sum[side]).collect();
            let all = own
                .iter()
                .copied()
                .fold(SliceWork::default(), SliceWork::plus);
            if all.checkpoints == 0.0 {
                continue;
            }
            let mean = all.checkpoint / all.checkpoints;
            let weight: f64 = own
                .iter()
                .map(|work| work.log / work.seconds(Some(cost)))
                .sum();
            for (influence, work) in series.influences.iter_mut().zip(&own) {
                let excess = work.checkpoint - mean * work.checkpoints;
                *influence -= sign * weight / all.log * excess;
            }
        }
        series.unseen = self.unseen(sides, &sums);
        series
    }

    /// By cell, by how much the mean of logarithms is uncertain because the number of
    /// checkpoints is: as many are due as log bytes say, and one more or fewer has happened.
    ///
    /// With a phase that nobody knows, a number of mean n has a variance of f (1 - f), where
    /// f is what n has beyond a whole number: 1/6 in the mean. Every sitting begins with a fresh
    /// copy and an empty log, so that all have about the same phase, and deviations add up. Of a
    /// cell without any, all of what the other's take is uncertain.
    fn unseen(
        &self,
        sides: [Option<usize>; 2],
        sums: &[[Option<SliceWork>; 2]],
    ) -> Vec<(usize, f64)> {
        let share = |side: usize| {
            let cost = sides[side].and_then(|cell| self.costs[cell]);
            let shares = sums.iter().filter_map(|sum| {
                let work = sum[side]?;
                Some(work.spread(cost) / work.seconds(cost))
            });
            let all: f64 = shares.sum();
            all / sums.len().max(1) as f64
        };
        let shares = [share(0), share(1)];
        let mut unseen = Vec::new();
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let Some(cell) = sides[side] else {
                continue;
            };
            if self.costs[cell].is_none() {
                continue;
            }
            let CheckpointCount {
                checkpoints,
                sittings,
            } = self.due[cell];
            let deviation = match checkpoints > 0.0 {
                true => shares[side] * sittings / 6.0_f64.sqrt() / checkpoints,
                false => shares[1 - side],
            };
            if deviation.is_finite() && deviation > 0.0 {
                unseen.push((cell, sign * deviation));
            }
        }
        unseen
    }

    /// Counted commits a second; 1 where there is no other side.
    fn rates(&self, sides: [Option<usize>; 2], sums: [Option<SliceWork>; 2]) -> Option<[f64; 2]> {
        let mut rates = [1.0; 2];
        for ((rate, side), sum) in rates.iter_mut().zip(sides).zip(sums) {
            if let (Some(side), Some(sum)) = (side, sum) {
                *rate = sum.counted / sum.seconds(self.costs[side]);
            }
        }
        let known = |rate: &f64| rate.is_finite() && *rate > 0.0;
        rates.iter().all(known).then_some(rates)
    }
}

/// What slices did, by pass and by cell.
fn by_cell<'p>(
    passes: impl Iterator<Item = &'p Pass<'p>>,
    cells: usize,
) -> Vec<Vec<Option<SliceWork>>> {
    let work = |pass: &Pass<'_>| {
        let mut work = vec![None; cells];
        for slice in pass.slices {
            if let Some(place) = work.get_mut(slice.key.cell) {
                *place = Some(SliceWork::from_slice(slice));
            }
        }
        work
    };
    passes.map(work).collect()
}

/// Seconds of checkpoint a byte of log, of what a cell did in passes that count and in
/// all passes.
///
/// How many checkpoints a byte of log makes due does not hang on storms, and passes that
/// count may have fewer than their part, or none: that is of all passes. How long one
/// takes does: that is of passes that count, where these have any.
fn cost(kept: SliceWork, all: SliceWork) -> Option<f64> {
    let timed = if kept.checkpoints > 0.0 { kept } else { all };
    let mean = match timed.checkpoints > 0.0 {
        true => timed.checkpoint / timed.checkpoints,
        false => 0.0,
    };
    (all.log > 0.0).then(|| mean * all.checkpoints / all.log)
}

/// In how many sittings a cell has slices.
fn sittings(passes: &[Pass<'_>], cell: usize) -> f64 {
    let has = |pass: &&Pass<'_>| pass.slices.iter().any(|slice| slice.key.cell == cell);
    let of: BTreeSet<u32> = passes.iter().filter(has).map(|of| of.sitting).collect();
    of.len() as f64
}

/// What a cell did in those passes that are asked for.
fn total(
    passes: &[Vec<Option<SliceWork>>],
    cell: usize,
    wanted: impl Fn(&[Option<SliceWork>]) -> bool,
) -> SliceWork {
    passes
        .iter()
        .filter(|work| wanted(work))
        .filter_map(|work| work[cell])
        .fold(SliceWork::default(), SliceWork::plus)
}

/// Cuts passes into batches of [`PASSES`] within sittings. What is left joins
/// the last batch of the sitting, or is its only one.
fn spans(passes: &[&Pass<'_>]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut begin = 0;
    for sitting in passes.chunk_by(|a, b| a.sitting == b.sitting) {
        let batches = (sitting.len() / PASSES).max(1);
        for batch in 0..batches {
            let first = batch * PASSES;
            let end = if batch + 1 == batches {
                sitting.len()
            } else {
                first + PASSES
            };
            spans.push(Span {
                sitting: sitting[first].sitting,
                pass: sitting[first].pass,
                places: begin + first..begin + end,
            });
        }
        begin += sitting.len();
    }
    spans
}
