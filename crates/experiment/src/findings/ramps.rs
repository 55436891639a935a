//! What cells gave that are ramps.

use schemars::JsonSchema;
use serde::Serialize;

use super::per_transaction::PerTransaction;
use crate::{
    plan::{Cell, Plan},
    ramp::{RampFinding, StepRecord},
    record::{RunKey, RunRecord, UNFINISHED},
};

/// What was found in a cell that is a ramp by itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellRamp {
    /// The cell.
    pub cell: Cell,
    /// All in which it differs from others, in words.
    pub name: String,
    /// What its ramp came to.
    pub end: RampEnd,
    /// Its steps, and what they say together: those of the ramp that came to its end, else
    /// those that had ended when its last one was interrupted.
    #[serde(flatten)]
    pub found: RampFinding,
    /// Means over all of a ramp that came to its end.
    pub per_transaction: Option<PerTransaction>,
}

/// What a ramp came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RampEnd {
    /// All steps are there.
    Finished,
    /// It was interrupted, or is under way; nothing was checked.
    Interrupted,
    /// It gave nothing, for this reason.
    Failed(String),
    /// It has not begun yet.
    Missing,
}

/// The ramps of a plan's cells, whose runs gave these steps; none of other plans.
pub(super) fn ramps(
    plan: &Plan,
    cells: &[Cell],
    runs: &[RunRecord],
    steps: &[(RunKey, StepRecord)],
    per_transaction: impl Fn(usize) -> Option<PerTransaction>,
) -> Vec<CellRamp> {
    let Some(ramp) = plan.ramp else {
        return Vec::new();
    };
    let of_cell = |(number, cell): (usize, &Cell)| {
        let own = || runs.iter().filter(|run| run.key.cell == number);
        let whole = own().rfind(|run| run.result.is_ok());
        let run = whole.or_else(|| own().next_back());
        let end = match run.map(|run| &run.result) {
            None => RampEnd::Missing,
            Some(Ok(_)) => RampEnd::Finished,
            Some(Err(reason)) if reason == UNFINISHED => RampEnd::Interrupted,
            Some(Err(reason)) => RampEnd::Failed(reason.clone()),
        };
        let counts = matches!(end, RampEnd::Finished | RampEnd::Interrupted);
        let key = run.filter(|_| counts).map(|run| run.key);
        let steps = steps.iter().filter(|(of, _)| Some(*of) == key);
        let steps: Vec<StepRecord> = steps.map(|(_, step)| step.clone()).collect();
        CellRamp {
            cell: cell.clone(),
            name: plan.cell_name(cell),
            found: RampFinding::from_steps(ramp.step, &steps),
            per_transaction: whole.and_then(|_| per_transaction(number)),
            end,
        }
    };
    cells.iter().enumerate().map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use octavo_driver::{Latencies, Ramp};
    use octavo_units::ByteCount;

    use super::*;
    use crate::{
        plan::tests::plan,
        record::{Source, tests::figures},
    };

    fn step(clients: u32, counted: u64) -> StepRecord {
        StepRecord {
            clients,
            measured: Duration::from_secs(9),
            transactions: 2 * counted,
            counted,
            failed: 0,
            buffer_misses: 0,
            read_bytes: ByteCount::ZERO,
            written_bytes: ByteCount::ZERO,
            batches: vec![counted as f64 / 9.0; 9],
            latencies: Latencies::default(),
        }
    }

    #[test]
    fn steps_are_of_the_ramp_that_came_to_its_end_or_was_interrupted() {
        let ramp = Ramp::new("1..4".parse().unwrap(), Duration::from_secs(10)).unwrap();
        let plan = Plan {
            clients: vec![4],
            ramp: Some(ramp),
            ..plan()
        };
        let cells = plan.cells();
        let workload = plan.workload(plan.data[0]).unwrap();
        let run = |sitting: u32, cell: usize, failure: Option<&str>| RunRecord {
            source: Source::Measured,
            key: RunKey { sitting, cell },
            started_at: Timestamp::now(),
            result: match failure {
                None => Ok(Box::new(figures(workload.transactions(), 10))),
                Some(reason) => Err(reason.into()),
            },
        };
        let runs = [
            run(0, 0, Some(UNFINISHED)),
            run(1, 0, None),
            run(2, 1, Some(UNFINISHED)),
            run(3, 2, Some("the database died")),
        ];
        let of = |sitting: u32, cell: usize, step: StepRecord| (RunKey { sitting, cell }, step);
        let steps = [
            of(0, 0, step(1, 7)),
            of(1, 0, step(1, 90)),
            of(1, 0, step(2, 180)),
            of(1, 0, step(3, 270)),
            of(1, 0, step(4, 360)),
            of(2, 1, step(1, 90)),
            of(3, 2, step(1, 90)),
        ];
        let found = ramps(&plan, &cells, &runs, &steps, |_| None);
        assert_eq!(found.len(), cells.len());
        let ends: Vec<&RampEnd> = found.iter().map(|ramp| &ramp.end).collect();
        let died = RampEnd::Failed("the database died".into());
        let wanted = [&RampEnd::Finished, &RampEnd::Interrupted, &died];
        assert_eq!(ends[..3], wanted);
        assert!(ends[3..].iter().all(|end| **end == RampEnd::Missing));
        let counts: Vec<usize> = found.iter().map(|ramp| ramp.found.steps.len()).collect();
        assert_eq!(counts[..4], [4, 1, 0, 0]);
        let rates = found[0].found.steps.iter();
        let rates: Vec<f64> = rates.map(|step| step.counted_per_second).collect();
        assert_eq!(rates, [10.0, 20.0, 30.0, 40.0]);
        let law = found[0].found.law.unwrap();
        assert!((law.law.rate - 10.0).abs() < 1e-6 && law.peak.clients.is_none());
        assert!(found[1].found.law.is_none());
        let json = serde_json::to_value(&found[2]).unwrap();
        assert_eq!(json["end"]["failed"], "the database died");
        assert_eq!(json["step_s"], 10.0);
        // Of other plans there are none.
        let other = crate::plan::tests::plan();
        assert!(ramps(&other, &cells, &runs, &steps, |_| None).is_empty());
    }
}
