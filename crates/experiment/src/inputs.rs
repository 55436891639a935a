//! What predicted figures are made from and is not known exactly, and how wide that makes
//! their intervals.

use std::collections::BTreeMap;

use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    lockstep::{Group, GroupJudgement},
    plan::Cell,
    statistics::{Decision, Interval, critical_z, decision, error_of_one},
    store::{Store, StoreError},
};

/// One of the things that a cell was predicted from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Input {
    /// Which.
    pub name: InputName,
    /// How far the cell's time follows it: 0 is not at all, 1 as much.
    pub follows: f64,
    /// How well it is known.
    #[serde(flatten)]
    pub uncertainty: Uncertainty,
}

/// How well something is known: standard deviations of its logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Uncertainty {
    /// Of what is the same for all cells, such as how fast a machine is.
    pub shared: f64,
    /// Of what each page size has for itself.
    pub own: f64,
}

/// What a prediction is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputName {
    /// What processors take for a transaction.
    Processor,
    /// How long the device takes to read.
    Reads,
    /// How long it takes to write and to flush.
    Writes,
}

impl InputName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Processor, Self::Reads, Self::Writes];

    /// As stores and reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Reads => "reads",
            Self::Writes => "writes",
        }
    }
}

impl Input {
    /// Keeps what a cell was predicted from.
    pub(crate) fn put(store: &mut Store, cell: usize, inputs: &[Self]) -> Result<(), StoreError> {
        let facts: Vec<(String, String)> = inputs.iter().map(Self::fact).collect();
        store.replace_facts(&topic(cell), &facts)
    }

    /// What a store has of a cell's; nothing of measured ones.
    pub(crate) fn read(store: &Store, cell: usize) -> Result<Vec<Self>, StoreError> {
        let facts = store.facts(&topic(cell))?;
        Ok(facts.into_iter().filter_map(Self::from_fact).collect())
    }

    fn fact(&self) -> (String, String) {
        let Uncertainty { shared, own } = self.uncertainty;
        let words = format!("{:.3} {shared:.3} {own:.3}", self.follows);
        (self.name.name().to_owned(), words)
    }

    fn from_fact((name, words): (String, String)) -> Option<Self> {
        let name = InputName::ALL.into_iter().find(|of| of.name() == name)?;
        let mut numbers = words.split(' ').map(|word| word.parse().ok());
        let mut next = || {
            let number: Option<f64> = numbers.next()?;
            number.filter(|number| (0.0..100.0).contains(number))
        };
        Some(Self {
            name,
            follows: next()?,
            uncertainty: Uncertainty {
                shared: next()?,
                own: next()?,
            },
        })
    }
}

/// Under which topic a cell's are kept.
fn topic(cell: usize) -> String {
    format!("inputs {cell}")
}

/// What all cells were predicted from; nothing of measured ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    /// By cell: its page size, and what it was predicted from.
    cells: Vec<(PageSize, Vec<Input>)>,
}

impl Inputs {
    /// What a store has of its cells.
    pub(crate) fn all(store: &Store, cells: &[Cell]) -> Result<Self, StoreError> {
        let of = |(number, cell): (usize, &Cell)| Ok((cell.page_size, Input::read(store, number)?));
        let cells: Result<_, StoreError> = cells.iter().enumerate().map(of).collect();
        Ok(Self { cells: cells? })
    }

    /// A cell's.
    pub(crate) fn of_cell(&self, cell: usize) -> &[Input] {
        self.cells.get(cell).map_or(&[], |(_, inputs)| inputs)
    }

    /// An interval of the product of cells' throughputs to these powers, such as 1 and -1
    /// for a ratio, made as wide as what they were predicted from makes it. What all follow
    /// alike has no part in a ratio, nor has what cells with one page size follow alike.
    /// `error` is the two-sided one of the interval; looks have no part in it, since inputs
    /// are known as well at each.
    pub(crate) fn widen(
        &self,
        interval: Interval,
        powers: &[(usize, f64)],
        error: f64,
    ) -> Interval {
        match self.deviation(powers) {
            0.0 => interval,
            deviation => interval.wider(critical_z(error) * deviation),
        }
    }

    /// Standard deviation of the logarithm of that product.
    fn deviation(&self, powers: &[(usize, f64)]) -> f64 {
        let variances = InputName::ALL.map(|name| {
            let (mut all, mut by_size) = (0.0, BTreeMap::<PageSize, f64>::new());
            for &(cell, power) in powers {
                let input = self.of_cell(cell).iter().find(|input| input.name == name);
                if let (Some((size, _)), Some(input)) = (self.cells.get(cell), input) {
                    let follows = power * input.follows;
                    all += follows * input.uncertainty.shared;
                    *by_size.entry(*size).or_default() += follows * input.uncertainty.own;
                }
            }
            let own = by_size.values().map(|one: &f64| one.powi(2));
            all.powi(2) + own.sum::<f64>()
        });
        variances.iter().sum::<f64>().sqrt()
    }

    /// Makes a judgement's intervals as wide, and says anew what they decide. What is open
    /// then, no more passes settle.
    pub(crate) fn widen_all(&self, judged: &mut GroupJudgement, group: &Group, margin: f64) {
        let reference = group.reference_cell();
        let rivals = group.cells.len().saturating_sub(1);
        let (alone, shared) = (error_of_one(1), error_of_one(rivals));
        for (&cell, candidate) in group.cells.iter().zip(&mut judged.candidates) {
            if self.of_cell(cell).is_empty() {
                continue;
            }
            let throughput = &mut candidate.throughput;
            *throughput = throughput.map(|one| self.widen(one, &[(cell, 1.0)], alone));
            if let Some(ratio) = candidate.ratio {
                let powers = [(cell, 1.0), (reference, -1.0)];
                let interval = self.widen(ratio, &powers, shared);
                let decided = decision(&interval, margin);
                // That of the looks is wider than one of this ratio alone, by little beside inputs.
                let by_itself = decision(&self.widen(ratio, &powers, alone), margin);
                let says = matches!(by_itself, Decision::Better | Decision::Worse);
                candidate.ratio = Some(interval);
                candidate.decision = Some(decided);
                candidate.likely = (decided == Decision::Open && says).then_some(by_itself);
                candidate.more = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lockstep::Candidate;

    fn inputs(follows: [f64; 2], own: f64) -> Vec<Input> {
        let names = [InputName::Processor, InputName::Reads];
        let input = |(name, follows)| Input {
            name,
            follows,
            uncertainty: Uncertainty { shared: 0.5, own },
        };
        names.into_iter().zip(follows).map(input).collect()
    }

    /// Cells of 1, 2 and then 2 KiB.
    fn all<const N: usize>(cells: [Vec<Input>; N]) -> Inputs {
        let sizes = [1, 2, 2, 1].map(PageSize::kib);
        Inputs {
            cells: sizes.into_iter().zip(cells).collect(),
        }
    }

    #[test]
    fn what_cells_follow_alike_has_no_part_in_their_ratio() {
        let usual = || inputs([0.6, 0.4], 0.0);
        let same = all([usual(), usual()]);
        let one = same.deviation(&[(0, 1.0)]);
        assert!((one - 0.5 * 0.6_f64.hypot(0.4)).abs() < 1e-12);
        let ratio = [(1, 1.0), (0, -1.0)];
        assert_eq!(same.deviation(&ratio), 0.0);
        // 0.2 more of the one and 0.2 less of the other, times 0.5.
        let other = all([usual(), inputs([0.8, 0.2], 0.0)]);
        assert!((other.deviation(&ratio) - 0.1_f64.hypot(0.1)).abs() < 1e-12);
        // What each page size has for itself does not cancel between two, but within one.
        let own = || inputs([0.6, 0.4], 0.1);
        let each = all([own(), own(), own(), own()]);
        let one = 0.06_f64.hypot(0.04);
        assert!((each.deviation(&ratio) - one.hypot(one)).abs() < 1e-12);
        assert_eq!(each.deviation(&[(1, 1.0), (2, -1.0)]), 0.0);
        // A ratio of ratios.
        let both = [(1, 1.0), (0, -1.0), (2, -1.0), (3, 1.0)];
        assert_eq!(each.deviation(&both), 0.0);
        // Measured cells have none.
        assert_eq!(Inputs::default().deviation(&ratio), 0.0);
    }

    #[test]
    fn a_judgement_is_as_wide_as_its_inputs() {
        let interval = |low: f64, high: f64| Interval {
            estimate: (low * high).sqrt(),
            low,
            high,
            batches: 9,
        };
        let candidate = |ratio| Candidate {
            throughput: Some(interval(99.0, 101.0)),
            ratio,
            decision: Some(Decision::Better),
            more: Some(Duration::from_secs(1)),
            ..Candidate::default()
        };
        let judged = || GroupJudgement {
            candidates: vec![candidate(None), candidate(Some(interval(1.1, 1.12)))],
            finished: true,
            young: None,
        };
        let group = Group {
            cells: vec![0, 1],
            reference: 0,
        };
        let near = |one: Interval, other: Interval| {
            (one.low - other.low).abs() < 1e-9 && (one.high - other.high).abs() < 1e-9
        };
        let usual = || inputs([0.6, 0.4], 0.0);
        let mut same = judged();
        let both = all([usual(), usual()]);
        both.widen_all(&mut same, &group, 0.03);
        assert_eq!(same.candidates[1].decision, Some(Decision::Better));
        assert!(near(same.candidates[1].ratio.unwrap(), interval(1.1, 1.12)));
        let wide = same.candidates[0].throughput.unwrap();
        let factor = (1.96 * both.deviation(&[(0, 1.0)])).exp();
        assert!((wide.high / 100.0 / factor - 1.0).abs() < 0.001, "{wide:?}");

        let mut other = judged();
        all([usual(), inputs([0.8, 0.2], 0.0)]).widen_all(&mut other, &group, 0.03);
        assert_eq!(other.candidates[1].decision, Some(Decision::Open));
        assert_eq!(other.candidates[1].more, None);

        let mut measured = judged();
        Inputs::default().widen_all(&mut measured, &group, 0.03);
        assert_eq!(measured, judged());
    }

    #[test]
    fn inputs_of_several_rivals_are_known_for_all_together() {
        let interval = Interval {
            estimate: 1.38,
            low: 1.38,
            high: 1.38,
            batches: 9,
        };
        let candidate = || Candidate {
            throughput: Some(interval),
            ratio: Some(interval),
            ..Candidate::default()
        };
        let cells = [0.6, 0.8, 0.8, 0.8].map(|follows| inputs([follows, 1.0 - follows], 0.0));
        let all = all(cells);
        let group = Group {
            cells: vec![0, 1, 2, 3],
            reference: 0,
        };
        let mut judged = GroupJudgement {
            candidates: (0..4).map(|_| candidate()).collect(),
            finished: true,
            young: None,
        };
        all.widen_all(&mut judged, &group, 0.03);
        let deviations = |of: Interval, deviation: f64| (of.high / of.estimate).ln() / deviation;
        let ratio = judged.candidates[1].ratio.unwrap();
        let found = deviations(ratio, all.deviation(&[(1, 1.0), (0, -1.0)]));
        // The normal distribution's 1 - 0.05 / 6.
        assert!((found - 2.394).abs() < 1e-3, "{found}");
        // 1.38 is beyond 1.96 deviations alone, and not beyond 2.394 with all three.
        let candidate = &judged.candidates[1];
        assert_eq!(candidate.decision, Some(Decision::Open));
        assert_eq!(candidate.likely, Some(Decision::Better));
        let alone = judged.candidates[1].throughput.unwrap();
        let found = deviations(alone, all.deviation(&[(1, 1.0)]));
        assert!((found - 1.96).abs() < 1e-3, "{found}");
    }

    #[test]
    fn what_is_kept_comes_back() {
        for input in inputs([0.625, 0.375], 0.125) {
            assert_eq!(Input::from_fact(input.fact()), Some(input));
        }
        for (name, words) in [
            ("reads", ""),
            ("reads", "1 2"),
            ("reads", "1 x 2"),
            ("reads", "1 NaN 2"),
            ("reads", "1 -1 2"),
            ("others", "1 1 1"),
        ] {
            let fact = (name.to_owned(), words.to_owned());
            assert_eq!(Input::from_fact(fact), None, "{name} {words}");
        }
    }
}
