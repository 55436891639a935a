//! The cheapest of the cells that hold a throughput, with latencies below a bound.

use std::time::Duration;

use octavo_units::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use super::{cells::ValuedCell, load::LoadPoint};

/// What has to be held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Counted transactions a second.
    pub rate: Rate,
    /// What 99% of all transactions take at most; `None` where they may take any time.
    pub p99: Option<Duration>,
}

/// Whether a cell holds what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// The lower end of its throughput and all passes together are as high, and the upper end of its p99 is
    /// as low.
    Yes,
    /// What is wanted is within an interval, or its p99 is not known.
    Open,
    /// It does less, or takes longer, under each load that was tried.
    No,
}

/// What was found of a demand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Demanded {
    /// Counted transactions a second.
    pub per_second: f64,
    /// The largest p99, in milliseconds.
    pub p99_ms: Option<f64>,
    /// What each cell does, in the order of the cells.
    pub cells: Vec<CellHolds>,
    /// The cell with the least cost that holds it, as a place among the cells: of equal ones that with
    /// the most throughput.
    pub cheapest: Option<usize>,
    /// Cells that cost less and of which it is open, the cheapest first.
    pub cheaper_open: Vec<usize>,
    /// Cells that hold it and have no price.
    pub without_price: Vec<usize>,
}

/// Whether a cell holds it, and under which load that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellHolds {
    /// Whether.
    pub holds: Holds,
    /// Of those that hold it the one with the fewest clients, of open ones the one that may do most; else the
    /// one that does most. Its interval holds at 95% for all loads of all cells together.
    #[serde(flatten)]
    pub at: LoadPoint,
}

impl Demand {
    /// What these cells do.
    pub(super) fn of(&self, cells: &[ValuedCell]) -> Demanded {
        let loads = cells.iter().map(|cell| cell.loads.len()).sum();
        let found: Vec<CellHolds> = cells
            .iter()
            .map(|cell| self.cell(&cell.loads, loads))
            .collect();
        let mut by_cost: Vec<(usize, f64)> = cells
            .iter()
            .enumerate()
            .filter_map(|(place, cell)| Some((place, cell.cost?)))
            .collect();
        by_cost.sort_by(|(one, cost), (other, others)| {
            let most = |place: &usize| cells[*place].throughput.estimate;
            cost.total_cmp(others)
                .then(most(other).total_cmp(&most(one)))
        });
        let of = |wanted: Holds| {
            let (own, all) = (by_cost.iter().copied(), &found);
            own.filter(move |(place, _)| all[*place].holds == wanted)
        };
        let cheapest = of(Holds::Yes).next();
        let cheaper_open = of(Holds::Open);
        let cheaper_open =
            cheaper_open.filter(|(_, cost)| cheapest.is_none_or(|(_, least)| *cost < least));
        Demanded {
            per_second: self.rate.get(),
            p99_ms: self.p99_ms(),
            cheapest: cheapest.map(|(place, _)| place),
            without_price: (0..cells.len())
                .filter(|&place| cells[place].cost.is_none() && found[place].holds == Holds::Yes)
                .collect(),
            cheaper_open: cheaper_open.map(|(place, _)| place).collect(),
            cells: found.clone(),
        }
    }

    fn p99_ms(&self) -> Option<f64> {
        self.p99.map(|p99| p99.as_secs_f64() * 1e3)
    }

    /// What a cell does under these loads, of so many that are looked at together. A cell has a load.
    fn cell(&self, loads: &[LoadPoint], all: usize) -> CellHolds {
        let judged = loads.iter().map(|load| {
            let at = LoadPoint {
                throughput: load.throughput.one_of(all),
                ..*load
            };
            CellHolds {
                holds: self.load(&at),
                at,
            }
        });
        let judged: Vec<CellHolds> = judged.collect();
        let of = |holds: Holds| judged.iter().filter(move |of| of.holds == holds);
        let fewest = |holds| of(holds).min_by_key(|of| of.at.clients);
        let most = || {
            judged.iter().max_by(|one, other| {
                let rate = |of: &CellHolds| of.at.throughput.estimate;
                rate(one).total_cmp(&rate(other))
            })
        };
        let likeliest = || {
            of(Holds::Open).max_by(|one, other| {
                let high = |of: &CellHolds| of.at.throughput.high;
                high(one).total_cmp(&high(other))
            })
        };
        let best = fewest(Holds::Yes).or_else(likeliest);
        *best.or_else(most).expect("a cell has a load")
    }

    fn load(&self, at: &LoadPoint) -> Holds {
        let wanted = self.rate.get() * 60.0;
        let is_quick = match (self.p99_ms(), at.p99_low_ms) {
            (None, _) => Some(true),
            (Some(wanted), Some(low)) if low > wanted => Some(false),
            (Some(wanted), _) if at.p99_high_ms.is_some_and(|high| high <= wanted) => Some(true),
            (Some(_), _) => None,
        };
        let is_known = at.throughput.says_something();
        let is_enough = is_known
            && at.throughput.low >= wanted
            && at.all_passes.is_none_or(|all| all >= wanted);
        let may_be = !is_known || at.throughput.high >= wanted;
        match is_quick {
            Some(true) if is_enough => Holds::Yes,
            Some(true) | None if may_be => Holds::Open,
            _ => Holds::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Interval;

    fn load(clients: u32, per_second: f64, p99_ms: Option<f64>) -> LoadPoint {
        LoadPoint {
            clients,
            throughput: Interval {
                estimate: per_second * 60.0,
                low: per_second * 57.0,
                high: per_second * 63.0,
                batches: 1000,
            },
            all_passes: None,
            p99_ms,
            p99_low_ms: p99_ms.map(|p99| p99 * 0.9),
            p99_high_ms: p99_ms.map(|p99| p99 * 1.1),
            hosts: None,
        }
    }

    fn demand(per_second: f64, p99_ms: Option<u64>) -> Demand {
        Demand {
            rate: Rate::per_second(per_second).unwrap(),
            p99: p99_ms.map(Duration::from_millis),
        }
    }

    #[test]
    fn a_load_holds_what_its_lower_end_reaches_within_the_bound() {
        let loads = [
            load(1, 50.0, Some(5.0)),
            load(4, 120.0, Some(18.0)),
            load(8, 130.0, Some(45.0)),
        ];
        let of = |per_second, p99_ms| {
            let found = demand(per_second, p99_ms).cell(&loads, 1);
            (found.holds, found.at.clients)
        };
        // 120 less 5% is 114, and 130 less 5% is 123.5.
        assert_eq!(of(100.0, Some(20)), (Holds::Yes, 4));
        assert_eq!(of(115.0, Some(20)), (Holds::Open, 4));
        assert_eq!(of(115.0, Some(50)), (Holds::Yes, 8));
        assert_eq!(of(115.0, None), (Holds::Yes, 8));
        assert_eq!(of(127.0, Some(20)), (Holds::No, 8));
        assert_eq!(of(40.0, Some(6)), (Holds::Yes, 1));
        // Its p99 is known to 10%.
        assert_eq!(of(40.0, Some(5)), (Holds::Open, 1));
        assert_eq!(of(40.0, Some(4)), (Holds::No, 8));
        assert_eq!(of(100.0, Some(19)), (Holds::Open, 4));
        // Ten that are looked at together are known less well: 2.8 standard errors for 2.0.
        assert_eq!(demand(113.5, Some(20)).cell(&loads, 1).holds, Holds::Yes);
        assert_eq!(demand(113.5, Some(20)).cell(&loads, 10).holds, Holds::Open);
    }

    #[test]
    fn what_is_not_known_is_open() {
        let of = |load: LoadPoint| demand(40.0, Some(20)).cell(&[load], 1).holds;
        assert_eq!(of(load(1, 50.0, None)), Holds::Open);
        let known = load(1, 50.0, Some(5.0));
        assert_eq!(of(known), Holds::Yes);
        let few = LoadPoint {
            p99_high_ms: None,
            ..known
        };
        assert_eq!(of(few), Holds::Open);
        // The passes that are left out were slower than the rate.
        let bad = LoadPoint {
            all_passes: Some(39.0 * 60.0),
            ..known
        };
        assert_eq!(of(bad), Holds::Open);
        let wide = LoadPoint {
            throughput: Interval {
                low: 2400.0,
                high: 1e6,
                ..known.throughput
            },
            ..known
        };
        assert_eq!(of(wide), Holds::Open);
    }
}
