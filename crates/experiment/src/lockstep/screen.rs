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
            let times = SittingValues::collect(sitting, |slice| Some(clean_seconds(slice)));
            let foreigns = SittingValues::collect(sitting, foreign_bytes);
            let judge = |(place, pass): (usize, &Pass<'_>)| {
                let (time, usual) = times.compare(place);
                let (foreign, usual_foreign) = foreigns.compare(place);
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

/// The slices of passes that count, of slices in the order of sitting and pass.
pub(crate) fn counted(slices: &[Slice]) -> impl Iterator<Item = &Slice> {
    let passes = passes(slices);
    let left_out = screen(&passes);
    let passes = passes.into_iter().zip(left_out);
    let counted = passes.filter(|(_, left_out)| left_out.is_none());
    counted.flat_map(|(pass, _)| pass.slices)
}

/// Without checkpoints, which not every pass has.
fn clean_seconds(slice: &Slice) -> f64 {
    let checkpoint = slice.checkpoint().unwrap_or_default();
    (slice.elapsed - checkpoint).as_secs_f64()
}

fn foreign_bytes(slice: &Slice) -> Option<f64> {
    Some(slice.foreign_bytes?.get() as f64)
}

/// A value of the slices of a sitting.
struct SittingValues {
    /// Of each pass: cells and values.
    passes: Vec<Vec<(usize, f64)>>,
    /// Of each cell: places of passes, ascending, and values.
    cells: BTreeMap<usize, Vec<(usize, f64)>>,
}

impl SittingValues {
    fn collect(sitting: &[Pass<'_>], value: impl Fn(&Slice) -> Option<f64>) -> Self {
        let of_slice = |slice: &Slice| Some((slice.key.cell, value(slice)?));
        let passes: Vec<Vec<(usize, f64)>> = sitting
            .iter()
            .map(|pass| pass.slices.iter().filter_map(of_slice).collect())
            .collect();
        let mut cells: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, pass) in passes.iter().enumerate() {
            for &(cell, value) in pass {
                cells.entry(cell).or_default().push((place, value));
            }
        }
        Self { passes, cells }
    }

    /// What the slices of the pass at a place have together, and what they
    /// usually have: the medians of the passes around it.
    fn compare(&self, place: usize) -> (f64, f64) {
        let usual = |cell: &usize| {
            let all = &self.cells[cell];
            let from = all.partition_point(|(at, _)| at + NEIGHBORS < place);
            let to = all.partition_point(|(at, _)| *at <= place + NEIGHBORS);
            median(all[from..to].iter().map(|(_, value)| *value).collect())
        };
        self.passes[place]
            .iter()
            .fold((0.0, 0.0), |(own, around), (cell, value)| {
                (own + *value, around + usual(cell))
            })
    }
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
