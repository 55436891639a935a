//! Passes, and which of them are left out: by rules that are fixed beforehand
//! and see all cells of a pass together, so they cannot favor one.

use std::{collections::BTreeMap, time::Duration};

use octavo_units::ByteCount;

use super::{Screened, Slice};

/// A pass is slow beyond this multiple of what its neighbors usually take: storms on
/// shared storage last seconds and take 2 to 10 times as long. With them
/// intervals were 3 to 5 times as wide.
const SLOW: f64 = 1.5;

/// Foreign traffic counts beyond this multiple of what its neighbors usually
/// have: the file system's journal belongs to every pass …
const FOREIGN: f64 = 1.25;

/// … and this much more, for each second of the pass and at least once: one
/// journal commit more or less is not another program.
const FOREIGN_FLOOR: ByteCount = ByteCount::mib(1);

/// One slice of every live cell.
pub(super) struct Pass<'a> {
    pub(super) sitting: u32,
    pub(super) pass: u32,
    pub(super) slices: &'a [Slice],
}

impl Pass<'_> {
    /// Time within its slices.
    pub(super) fn measured(&self) -> Duration {
        let times = self.slices.iter().map(|slice| slice.elapsed);
        times.fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// Slices in the order of sitting and pass, by pass.
pub(super) fn passes(slices: &[Slice]) -> Vec<Pass<'_>> {
    slices
        .chunk_by(|a, b| (a.key.sitting, a.key.pass) == (b.key.sitting, b.key.pass))
        .map(|slices| Pass {
            sitting: slices[0].key.sitting,
            pass: slices[0].key.pass,
            slices,
        })
        .collect()
}

/// Passes before and after one by which it is judged. A storm is shorter than
/// that; a machine that is slower for minutes is what it is.
const NEIGHBORS: usize = 12;

/// Why each pass is left out, if it is.
pub(super) fn screen(passes: &[Pass<'_>]) -> Vec<Option<Screened>> {
    passes
        .chunk_by(|a, b| a.sitting == b.sitting)
        .flat_map(|sitting| {
            let mut usual_time = Usual::new(|slice| Some(clean_seconds(slice)));
            let mut usual_foreign = Usual::new(foreign_bytes);
            let mut ahead = sitting.iter().enumerate();
            for (_, pass) in ahead.by_ref().take(NEIGHBORS) {
                usual_time.add(pass);
                usual_foreign.add(pass);
            }
            let judge = |(place, pass): (usize, &Pass<'_>)| {
                if let Some((_, next)) = ahead.next() {
                    usual_time.add(next);
                    usual_foreign.add(next);
                }
                if let Some(old) = place.checked_sub(NEIGHBORS + 1) {
                    usual_time.forget(&sitting[old]);
                    usual_foreign.forget(&sitting[old]);
                }
                let (time, usual) = usual_time.compare(pass);
                let (foreign, usual_foreign) = usual_foreign.compare(pass);
                let seconds = pass.measured().as_secs_f64().max(1.0);
                let floor = FOREIGN_FLOOR.get() as f64 * seconds;
                if time > SLOW * usual {
                    Some(Screened::Slow)
                } else if foreign > FOREIGN * usual_foreign + floor {
                    Some(Screened::ForeignTraffic)
                } else {
                    None
                }
            };
            sitting.iter().enumerate().map(judge).collect::<Vec<_>>()
        })
        .collect()
}

/// Without checkpoints, which not every pass has.
fn clean_seconds(slice: &Slice) -> f64 {
    let checkpoint = slice.spent.map_or(Duration::ZERO, |spent| spent.checkpoint);
    slice.elapsed.saturating_sub(checkpoint).as_secs_f64()
}

fn foreign_bytes(slice: &Slice) -> Option<f64> {
    Some(slice.foreign_bytes?.get() as f64)
}

/// What the slices of each cell usually have: the medians of some passes.
struct Usual<F> {
    of: F,
    /// By cell, ascending.
    values: BTreeMap<usize, Vec<f64>>,
}

impl<F: Fn(&Slice) -> Option<f64>> Usual<F> {
    fn new(of: F) -> Self {
        Self {
            of,
            values: BTreeMap::new(),
        }
    }

    fn add(&mut self, pass: &Pass<'_>) {
        for slice in pass.slices {
            if let Some(value) = (self.of)(slice) {
                let values = self.values.entry(slice.key.cell).or_default();
                let place = values.partition_point(|other| other.total_cmp(&value).is_lt());
                values.insert(place, value);
            }
        }
    }

    fn forget(&mut self, pass: &Pass<'_>) {
        for slice in pass.slices {
            if let (Some(value), Some(values)) =
                ((self.of)(slice), self.values.get_mut(&slice.key.cell))
                && let Ok(place) = values.binary_search_by(|other| other.total_cmp(&value))
            {
                values.remove(place);
            }
        }
    }

    /// What the slices of a pass have together, and what they usually have.
    fn compare(&self, pass: &Pass<'_>) -> (f64, f64) {
        pass.slices.iter().fold((0.0, 0.0), |sums, slice| {
            match ((self.of)(slice), self.values.get(&slice.key.cell)) {
                (Some(value), Some(values)) => (sums.0 + value, sums.1 + median(values)),
                _ => sums,
            }
        })
    }
}

/// The median of ascending values; 0 of none.
fn median(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
