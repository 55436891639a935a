//! Whether a run was in a steady state, and where that begins.
//!
//! Pure functions over a run's ticks: [`warm_up`] says what to leave out at
//! the beginning, [`judge`] what the rest is like, [`steady_part`] both. docs/steady-state.md tells
//! how the driver uses them, and what the thresholds rest on.

mod change_points;
mod mser;
mod period;
mod stall;
mod tick;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::series::{line, mean};

use change_points::{change_points, trend};
use mser::{cut as mser_cut, is_approach};
use period::{period, without_period};
pub use stall::{Outage, outages};
use tick::{STALL_COMMITS, miss_ratio};
pub use tick::{Tick, throughput};
pub(crate) use tick::{longest_gap_s, spread};

/// Changes of throughput below this share of its mean do not matter, however certain they are.
///
/// A run that rises evenly by 15 % is 7.5 % off at its ends, and half of what
/// ordinary noise of a shared machine does to whole runs within minutes (a
/// factor of up to two was seen) is above that: cells are compared in passes so
/// that such changes meet all of them alike. A larger change within one run
/// says that the figure depends on when it was measured.
pub const MATTERS: f64 = 0.15;

/// A change by less than this share of the mean does not matter in what is
/// left when a warm-up was cut off. It has to be less than [`MATTERS`], since
/// a warm-up is no noise: it is as long in every run, and longer with a
/// larger buffer, so it would be taken for a difference between cells. A rest
/// that changes by 5 % is off by half of that on average, which is less than
/// the margin of 3 % within which cells count as equal.
pub const WARMING_MATTERS: f64 = 0.05;

/// From this variation between windows on, a run is uneven: the mean of ten
/// windows, as short runs have, is known to 1.96 / 3 / sqrt(10) of itself, a
/// fifth. Less would meet runs of even noise: ten windows of one that varies
/// by 20% are up to 30% apart by chance.
pub const UNEVEN: f64 = 1.0 / 3.0;

/// A change of the miss ratio by less than one reference in so many does not
/// matter either, however large a share of the ratio it is.
const REFERENCES: f64 = 1000.0;

/// Fewer ticks cannot be judged: four batches of MSER-5, and three periods of
/// the shortest that a look at every sixth of them shows.
pub const TICKS_MIN: usize = 20;

/// The fewest batches in which changes are looked for, where there are as many
/// ticks.
const BATCHES: usize = 40;

/// The shortest level between two changes, as a share of the batches: a fifth.
/// A stall of one batch lowers so long a level by less than [`MATTERS`], and
/// belongs to the run's stability.
const SHORTEST: usize = 5;

/// The verdict on a run's steadiness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Label {
    /// Noise around one level.
    Steady,
    /// It repeats itself.
    Periodic {
        /// The period, s.
        period_s: f64,
    },
    /// Not judged: too short, too little counted, or of a length in
    /// transactions, where no clock is to decide anything. Compared, and said
    /// to be so.
    NotJudged,
    /// No single level: the throughput depends on when it was measured.
    NotSteady {
        /// In which way.
        why: UnsteadyReason,
    },
}

impl Label {
    /// Whether the run's figures may be compared with those of others.
    pub fn is_comparable(&self) -> bool {
        !matches!(self, Self::NotSteady { .. })
    }
}

/// Why a run was not steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum UnsteadyReason {
    /// The warm-up reached into the second half of the measured part.
    StillWarming,
    /// The throughput rose (or fell, below 0) all the time.
    Drift {
        /// Change from beginning to end, as a share of the mean.
        change: f64,
    },
    /// The throughput changed to another level.
    Shift {
        /// By so much, as a share of the mean; below 0 when it fell. The
        /// largest one, of several.
        change: f64,
        /// The level before, as a share of the mean; `None` in what earlier versions kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<f64>,
        /// So long after the figures begin, s.
        at_s: f64,
    },
    /// One level, but too noisy for a useful mean.
    Uneven {
        /// [`Stability::variation`](crate::stability::Stability::variation) of the figures' time.
        variation: f64,
    },
}

/// The checkpoints of the figures' time. A cycle is from the end of one to the
/// end of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "cycles")]
pub enum Cycles {
    /// No checkpoint ended.
    None,
    /// So many that a part of one makes no difference.
    Many {
        /// Checkpoints that ended.
        count: u64,
    },
    /// The figures begin and end at the end of a checkpoint.
    Whole {
        /// Cycles.
        count: u64,
    },
    /// Few, and the first or the last one is not whole.
    Partial {
        /// Checkpoints that ended.
        count: u64,
    },
}

/// Whether and from when on a run was steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// What the run was like.
    pub label: Label,
    /// What the figures leave out of the measured part at its beginning, s.
    pub cut_s: f64,
    /// Mean length of the ticks that were judged, s.
    pub tick_s: f64,
    /// Ticks in the figures' time.
    pub ticks: u64,
    /// The checkpoints.
    pub cycles: Cycles,
}

/// What to leave out at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// So many ticks, half of them at most.
    pub ticks: usize,
    /// Whether the warm-up lasts longer than that.
    pub is_incomplete: bool,
}

/// The first tick of the figures, and what it is like from there on. Figures begin at
/// some of the ticks only: `begin` answers which one follows a number of ticks that are
/// to be left out. A warm-up that goes on leaves all in.
pub fn steady_part(ticks: &[Tick], begin: impl FnOnce(usize) -> usize) -> (usize, Label) {
    let warm_up = warm_up(ticks);
    if warm_up.is_incomplete {
        let why = UnsteadyReason::StillWarming;
        return (0, Label::NotSteady { why });
    }
    let first = begin(warm_up.ticks);
    (first, judge(ticks, first))
}

/// MSER-5 of throughput and miss ratio, the later cut of the two: of each only
/// what is a warm-up, an approach to the level of the rest from one side
/// without a stall or a failed transaction in it. These are what the database
/// does, and stay. Of a run with an outage nothing is cut: there is no one level
/// that it approaches, and what was before the outage is no warm-up of it.
///
/// A cut in the second half means that the warm-up goes on, when what the best
/// cut in the first half leaves still drifts or shifts by
/// [`WARMING_MATTERS`]; else it is chance, which takes the least standard
/// error there in many a series of mere noise.
pub fn warm_up(ticks: &[Tick]) -> WarmUp {
    if ticks.len() < TICKS_MIN || !outages(ticks).is_empty() {
        return WarmUp {
            ticks: 0,
            is_incomplete: false,
        };
    }
    let half = ticks.len() / 2;
    let series = [
        (throughput(ticks), 0.0),
        (miss_ratio(ticks), 1.0 / REFERENCES),
    ];
    let mut found = WarmUp {
        ticks: 0,
        is_incomplete: false,
    };
    for (values, matters) in series {
        let period = period(&values);
        let values = match period {
            Some(period) => without_period(&values, period),
            None => values,
        };
        let is_warm_up =
            |cut| !hides_trouble(ticks, cut) && is_approach(&values, cut, MATTERS, matters);
        let cut = mser_cut(&values, half);
        if is_warm_up(cut) {
            found.ticks = found.ticks.max(cut);
        }
        let later = mser_cut(&values, usize::MAX);
        if later > half && is_warm_up(later) {
            let rest = &values[cut..];
            let matters = matters.max(WARMING_MATTERS * mean(rest).abs());
            found.is_incomplete |= departure(rest, period, matters).is_some();
        }
    }
    found
}

/// Whether the first `cut` ticks have something to hide: a failed transaction,
/// or a stall. That is a whole tick without a commit, of [`STALL_COMMITS`] at
/// the rate of the rest, and more than twice the longest that the rest shows
/// anyway.
fn hides_trouble(ticks: &[Tick], cut: usize) -> bool {
    let (before, rest) = ticks.split_at(cut);
    let mut all = Tick::default();
    rest.iter().for_each(|tick| all.merge(tick));
    let gap_s = longest_gap_s(before);
    let is_stall = gap_s * rest.len() as f64 >= all.length_s
        && gap_s * all.counted as f64 >= STALL_COMMITS * all.length_s
        && gap_s > 2.0 * longest_gap_s(rest);
    is_stall || before.iter().any(|tick| tick.failed > 0)
}

/// What `ticks` are like from the tick `first` on. (Whether something repeats
/// itself is seen better with the ones before.)
pub fn judge(ticks: &[Tick], first: usize) -> Label {
    let all = throughput(ticks);
    let ticks = &ticks[first..];
    let values = all[first..].to_vec();
    let level = mean(&values);
    if ticks.len() < TICKS_MIN || level <= 0.0 {
        return Label::NotJudged;
    }
    let tick_s = ticks.iter().map(|tick| tick.length_s).sum::<f64>() / ticks.len() as f64;
    // A shift hides a period, but not from the differences.
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let hidden = period(&differences);
    let period = period(&values).or_else(|| period(&all));
    match (
        departure(&values, period.or(hidden), MATTERS * level),
        period,
    ) {
        (Some(Departure::Drift(change)), _) => Label::NotSteady {
            why: UnsteadyReason::Drift {
                change: change / level,
            },
        },
        (Some(Departure::Shift(Shift { change, before, at })), _) => Label::NotSteady {
            why: UnsteadyReason::Shift {
                change: change / level,
                before: Some(before / level),
                at_s: ticks[..at].iter().map(|tick| tick.length_s).sum(),
            },
        },
        (None, Some(period)) => Label::Periodic {
            period_s: period * tick_s,
        },
        (None, None) => match spread(ticks).1.map(|spread| spread.variation) {
            Some(variation) if variation > UNEVEN => Label::NotSteady {
                why: UnsteadyReason::Uneven { variation },
            },
            _ => Label::Steady,
        },
    }
}

/// How a series changes its level.
enum Departure {
    /// By so much from beginning to end.
    Drift(f64),
    /// To another level.
    Shift(Shift),
}

/// A change of level.
struct Shift {
    change: f64,
    before: f64,
    /// The value from which on.
    at: usize,
}

/// The drift or shift of `values` by at least `matters`, whichever fits
/// better. Of something periodic whole periods are compared.
fn departure(values: &[f64], period: Option<f64>, matters: f64) -> Option<Departure> {
    let batch = (values.len() / BATCHES).max(1) as f64;
    let batch = period.map_or(batch, |period| period * (batch / period).ceil());
    let edge = |number: usize| (number as f64 * batch).round() as usize;
    let means: Vec<f64> = (0..)
        .map(|number| edge(number)..edge(number + 1))
        .take_while(|range| range.end <= values.len())
        .map(|range| mean(&values[range]))
        .collect();
    let drift = trend(&means).filter(|change| change.abs() >= matters);
    let shifts = change_points(&means, (means.len() / SHORTEST).max(2));
    let shift = shifts
        .iter()
        .map(|change| Shift {
            change: change.after - change.before,
            before: change.before,
            at: edge(change.at),
        })
        .filter(|shift| shift.change.abs() >= matters)
        .max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()));
    match (drift, shift) {
        (Some(drift), Some(shift)) => {
            let straight = line(&means);
            let of_line = (0u32..)
                .zip(&means)
                .map(|(index, value)| (value - straight.at(f64::from(index))).powi(2))
                .sum::<f64>();
            let edges = shifts.iter().map(|change| change.at);
            let edges: Vec<usize> = [0].into_iter().chain(edges).chain([means.len()]).collect();
            let of_levels = edges
                .windows(2)
                .map(|edge| &means[edge[0]..edge[1]])
                .map(|level| level.iter().map(|v| (v - mean(level)).powi(2)).sum::<f64>())
                .sum::<f64>();
            // A line has one parameter for its slope, each change two.
            let count = means.len() as f64;
            let cost = |squares: f64, parameters: usize| {
                count * squares.max(f64::MIN_POSITIVE).ln() + parameters as f64 * count.ln()
            };
            if cost(of_line, 1) <= cost(of_levels, 2 * shifts.len()) {
                Some(Departure::Drift(drift))
            } else {
                Some(Departure::Shift(shift))
            }
        }
        (Some(drift), None) => Some(Departure::Drift(drift)),
        (None, Some(shift)) => Some(Departure::Shift(shift)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
