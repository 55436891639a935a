//! Passes, and which of them are left out: by rules that are fixed beforehand
//! and see all cells of a pass together, so they cannot favor one.

use std::{collections::BTreeMap, time::Duration};

use octavo_units::ByteCount;

use super::{Screened, Slice};

/// A pass is slow beyond this multiple of what its work usually takes: storms on
/// shared storage last seconds and take 2 to 10 times as long. With them
/// intervals were 3 to 5 times as wide.
///
/// Its work is that of its neighbors and what it did besides ([`Work::extra_seconds`]): a pass with
/// a rare statement that reads a whole table takes long by itself, with each page size as
/// long as that one needs for it, which is to be compared.
const SLOW: f64 = 1.5;

/// The longest that a read, or the flush of a page's worth of log, is taken to last on the mean:
/// a disk's seek and rotation with a few requests before it. Where few of them were made, most
/// of the time was spent otherwise. Chosen.
const REQUEST_MAX_S: f64 = 0.02;

/// Bytes of log that go with a request of at most [`REQUEST_MAX_S`]. Chosen.
const LOG_REQUEST: f64 = 4096.0;

/// Foreign traffic counts beyond this multiple of what its neighbors usually
/// have in the time that the pass's work takes: the file system's journal belongs to every
/// pass …
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
            let times = SittingValues::collect(sitting, |slice| Some(compared_seconds(slice)));
            let work = Work::collect(sitting);
            let foreigns = SittingValues::collect(sitting, foreign_bytes);
            let judge = |(place, pass): (usize, &Pass<'_>)| {
                let (time, usual) = times.compare(place);
                let (foreign, usual_foreign) = foreigns.compare(place);
                let seconds = pass.measured().as_secs_f64().max(1.0);
                let floor = FOREIGN_FLOOR.get() as f64 * seconds;
                let wanted = usual + work.extra_seconds(place);
                // Others do as much a second as before while a pass has more to do.
                let longer = if usual > 0.0 { wanted / usual } else { 1.0 };
                if time > SLOW * wanted {
                    Some(Screened::Slow)
                } else if foreign > FOREIGN * usual_foreign * longer + floor {
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

/// What cells are compared by, without checkpoints, which not every pass has: the sum of response times
/// at a recording's pace, where a slice lasts as long as the recording did.
fn compared_seconds(slice: &Slice) -> f64 {
    let checkpoint = slice.checkpoint().unwrap_or_default();
    match slice.response {
        Some(response) => response.saturating_sub(checkpoint).as_secs_f64(),
        None => clean_seconds(slice),
    }
}

/// Without checkpoints.
fn clean_seconds(slice: &Slice) -> f64 {
    let checkpoint = slice.checkpoint().unwrap_or_default();
    (slice.elapsed - checkpoint).as_secs_f64()
}

fn foreign_bytes(slice: &Slice) -> Option<f64> {
    Some(slice.foreign_bytes?.get() as f64)
}

/// What the slices of a sitting did, each by itself, whatever others did to the machine.
struct Work {
    /// Seconds on a CPU.
    cpu: SittingValues,
    /// Seconds that the misses of each slice take, at the cell's mean of a miss.
    misses: SittingValues,
    /// The same of the bytes of log.
    log: SittingValues,
}

impl Work {
    fn collect(sitting: &[Pass<'_>]) -> Self {
        let mut means: BTreeMap<usize, Means> = BTreeMap::new();
        for slice in sitting.iter().flat_map(|pass| pass.slices) {
            means.entry(slice.key.cell).or_default().add(slice);
        }
        let values = |of: fn(&Means, &Slice) -> f64| {
            let of_slice = |slice: &Slice| Some(of(&means[&slice.key.cell], slice));
            SittingValues::collect(sitting, of_slice)
        };
        Self {
            cpu: values(|means, slice| cpu_seconds(slice) / means.sessions()),
            misses: values(|means, slice| {
                let each = mean(means.misses_s, means.misses).min(REQUEST_MAX_S);
                slice.misses as f64 * each / means.sessions()
            }),
            log: values(|means, slice| {
                let each = mean(means.log_s, means.log).min(REQUEST_MAX_S / LOG_REQUEST);
                slice.log_bytes.get() as f64 * each / means.sessions()
            }),
        }
    }

    /// Seconds that a pass took beyond its neighbors because it did more: on a CPU, for pages
    /// that were not in the buffer, for the log.
    fn extra_seconds(&self, place: usize) -> f64 {
        let all = [&self.cpu, &self.misses, &self.log];
        let extra = all.map(|values| {
            let (own, usual) = values.compare(place);
            (own - usual).max(0.0)
        });
        extra.iter().sum()
    }
}

/// Sums over the slices of a cell in a sitting.
#[derive(Default)]
struct Means {
    elapsed_s: f64,
    misses: f64,
    misses_s: f64,
    log: f64,
    log_s: f64,
    /// What is known of the time of sessions.
    spent_s: f64,
}

impl Means {
    fn add(&mut self, slice: &Slice) {
        let clean = clean_seconds(slice);
        let spent = slice.spent.unwrap_or_default();
        let of_log = spent.log_write.zip(spent.log_sync);
        let of_log = of_log.map(|(write, sync)| write + sync);
        let known = [spent.read, of_log, Some(spent.cpu)].into_iter().flatten();
        self.spent_s += known.map(|time| time.as_secs_f64()).sum::<f64>();
        // Of a database that times nothing, it is all of its time at most.
        let timed = |time: Option<Duration>| time.map_or(clean, |time| time.as_secs_f64());
        self.elapsed_s += clean;
        self.misses += slice.misses as f64;
        self.misses_s += timed(spent.read);
        self.log += slice.log_bytes.get() as f64;
        self.log_s += timed(of_log);
    }

    /// How many sessions were at work at the same time on the mean, at least 1.
    fn sessions(&self) -> f64 {
        mean(self.spent_s, self.elapsed_s).max(1.0)
    }
}

fn cpu_seconds(slice: &Slice) -> f64 {
    slice.spent.unwrap_or_default().cpu.as_secs_f64()
}

/// 0 of nothing.
fn mean(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { 0.0 }
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
