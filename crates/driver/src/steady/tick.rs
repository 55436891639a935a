//! Ticks, by which a run is judged, and the series that they give.

use octavo_units::spread::{Span, Spread, WINDOW_S, windows};

/// A stall lasts as long as this many commits at the usual rate: longer than a
/// warm-up waits for its next commit by chance. At a tenth of the rate the
/// longest of a hundred exponential waits is as 10 ln 100 = 46.
pub(super) const STALL_COMMITS: f64 = 50.0;

/// A short part of the measured time, as the driver counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tick {
    /// Its length, s.
    pub length_s: f64,
    /// Commits of the counted kinds.
    pub counted: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// The longest time without one that ended in it or lasted at its end, s:
    /// longer than the tick where it began before.
    pub gap_s: f64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Pages that were looked for in the buffer.
    pub buffer_references: u64,
}

impl Tick {
    /// This one and the next in one.
    pub fn merge(&mut self, next: &Self) {
        self.length_s += next.length_s;
        self.counted += next.counted;
        self.failed += next.failed;
        self.gap_s = self.gap_s.max(next.gap_s);
        self.buffer_misses += next.buffer_misses;
        self.buffer_references += next.buffer_references;
    }
}

/// The longest time without a counted commit in `ticks`, s; what was before
/// them is left out.
pub(crate) fn longest_gap_s(ticks: &[Tick]) -> f64 {
    let mut end_s = 0.0;
    ticks.iter().fold(0.0, |longest, tick| {
        end_s += tick.length_s;
        tick.gap_s.min(end_s).max(longest)
    })
}

/// Windows in a run that is too short for as many of the longest.
const WINDOWS: f64 = 10.0;

/// The length of the windows of a run, s, and how its throughput differs between
/// them; `None` of fewer than two windows, or where nothing was counted.
pub(crate) fn spread(ticks: &[Tick]) -> (f64, Option<Spread>) {
    let length_s: f64 = ticks.iter().map(|tick| tick.length_s).sum();
    let window_s = WINDOW_S.min(length_s / WINDOWS);
    let spans = ticks.iter().map(|tick| Span {
        length_s: tick.length_s,
        counted: tick.counted,
    });
    (
        window_s,
        Spread::between(&windows(spans, window_s), window_s),
    )
}

/// Counted commits a second in each tick.
pub fn throughput(ticks: &[Tick]) -> Vec<f64> {
    ticks
        .iter()
        .map(|tick| tick.counted as f64 / tick.length_s.max(1e-9))
        .collect()
}

/// Page references in each tick that were not found in the buffer, as a share
/// of all; as before where there were none.
pub(super) fn miss_ratio(ticks: &[Tick]) -> Vec<f64> {
    let ratio = |tick: &Tick| {
        (tick.buffer_references > 0)
            .then(|| tick.buffer_misses as f64 / tick.buffer_references as f64)
    };
    let mut last = ticks.iter().find_map(ratio).unwrap_or(0.0);
    ticks
        .iter()
        .map(|tick| {
            last = ratio(tick).unwrap_or(last);
            last
        })
        .collect()
}
