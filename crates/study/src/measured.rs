//! What real databases gave of a study's claims.

use octavo_experiment::{
    findings::{CellFindings, Findings},
    plan::Plan,
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::DataError;
use serde::{Deserialize, Serialize};

use crate::{claim::MeasuredPlace, study::Study};

/// A measured ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The ratio.
    pub estimate: f64,
    /// Ends of its interval at 95%, of this ratio alone; `None` where there were too few
    /// batches, or the ratio is of cells of different groups.
    pub interval: Option<(f64, f64)>,
}

/// Gives a plan rows of another scale, and memories that are as large a share of them as
/// before.
///
/// # Errors
/// A scale that the workload does not have.
pub fn set_scale(plan: &mut Plan, scale: u64) -> Result<(), DataError> {
    for data in &mut plan.data {
        let before = data.scale();
        *data = data.with(&[(data.kind().scale().name, scale)])?;
        let share = |memory: &mut ByteCount| {
            let bytes = u128::from(memory.get()) * u128::from(scale) / u128::from(before.max(1));
            // Whole MiB, as people name memory.
            let mib = (bytes >> 20).max(1);
            *memory = ByteCount::new(u64::try_from(mib << 20).unwrap_or(u64::MAX));
        };
        plan.memories.iter_mut().for_each(share);
    }
    Ok(())
}

/// Ratios by claim, as numbers of the study's list.
pub fn measured(study: &Study, findings: &Findings) -> Vec<(usize, Measured)> {
    let mut memories: Vec<ByteCount> = findings.plan.memories.clone();
    memories.sort_unstable();
    let of_claim = |(number, claim): (usize, &crate::claim::Claim)| {
        let place = claim.measured.as_ref()?;
        Some((number, ratio(place, &memories, findings)?))
    };
    study
        .claims
        .iter()
        .enumerate()
        .filter_map(of_claim)
        .collect()
}

fn ratio(place: &MeasuredPlace, memories: &[ByteCount], findings: &Findings) -> Option<Measured> {
    let cell = |page_size: PageSize, memory: usize| -> Option<&CellFindings> {
        let memory = *memories.get(memory)?;
        let groups = findings.groups.iter();
        let mut cells = groups.flat_map(|group| &group.cells);
        cells.find(|of| of.cell.page_size == page_size && of.cell.memory == memory)
    };
    let other_memory = place.over_memory.unwrap_or(place.memory);
    let own = cell(place.page_size.0, place.memory)?;
    let other = cell(place.over_page_size.0, other_memory)?;
    let is_one_group = place.memory == other_memory;
    // Within a group ratios to the reference are of the same batches.
    if is_one_group && other.reference {
        let found = own.ratio?;
        return Some(Measured {
            estimate: found.estimate,
            interval: ends(found.low, found.high),
        });
    }
    if is_one_group && own.reference {
        let found = other.ratio?;
        return Some(Measured {
            estimate: 1.0 / found.estimate,
            interval: ends(1.0 / found.high, 1.0 / found.low),
        });
    }
    Some(Measured {
        estimate: own.throughput?.estimate / other.throughput?.estimate,
        interval: None,
    })
}

fn ends(low: f64, high: f64) -> Option<(f64, f64)> {
    (low.is_finite() && high.is_finite() && low > 0.0).then_some((low, high))
}
