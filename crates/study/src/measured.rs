//! What real databases gave of a study's claims.

use octavo_experiment::{
    findings::{CellFindings, Findings},
    plan::Plan,
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::DataError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{claim::MeasuredPlace, study::Study};

/// A measured ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The ratio.
    pub estimate: f64,
    /// Ends of its interval, at 95% for all cells of its group and all looks together; `None`
    /// where there were too few batches, or the ratio is of cells of different groups.
    pub interval: Option<(f64, f64)>,
}

/// Gives a plan rows of another scale, and memories that are as large a share of them as
/// before, to 64 KiB.
///
/// # Errors
/// In words, a scale that the workload does not have, or memories that are too small.
pub fn set_scale(plan: &mut Plan, scale: u64) -> Result<(), String> {
    let before = plan
        .data
        .first()
        .map_or(1, octavo_workload::DataSpec::scale);
    for data in &mut plan.data {
        let name = data.kind().scale().name;
        let scaled = data.with(&[(name, scale)]);
        *data = scaled.map_err(|error: DataError| error.to_string())?;
    }
    for memory in &mut plan.memories {
        let bytes = u128::from(memory.get()) * u128::from(scale) / u128::from(before.max(1));
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX) / STEP * STEP;
        if bytes < MEMORY_MIN.get() {
            return Err(format!(
                "{scale} leaves {} of memory: at least {MEMORY_MIN} are needed, name a larger scale",
                ByteCount::new(bytes)
            ));
        }
        *memory = ByteCount::new(bytes);
    }
    Ok(())
}

/// Memories are multiples of the largest page.
const STEP: u64 = 64 << 10;

/// The least that all databases start with (MariaDB takes 6 MiB with 16 KiB pages).
const MEMORY_MIN: ByteCount = ByteCount::mib(6);

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
    if is_one_group
        && other.reference
        && let Some(found) = own.ratio
    {
        return Some(Measured {
            estimate: found.estimate,
            interval: ends(found.low, found.high),
        });
    }
    if is_one_group
        && own.reference
        && let Some(found) = other.ratio
    {
        return Some(Measured {
            estimate: 1.0 / found.estimate,
            interval: ends(found.low, found.high).map(|(low, high)| (1.0 / high, 1.0 / low)),
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

#[cfg(test)]
mod tests {
    use octavo_experiment::plan::file::{PlanFile, Registries};

    use super::*;
    use crate::{find, plan_text};

    #[test]
    fn memory_follows_the_rows() {
        let study = find("petrov-2010").unwrap();
        let text = plan_text(&study).unwrap();
        let mut plan = PlanFile::parse("plan", text, &Registries::standard())
            .unwrap()
            .plan;
        let before = (plan.data[0].scale(), plan.memories.clone());
        set_scale(&mut plan, before.0 * 2).unwrap();
        assert_eq!(plan.data[0].scale(), before.0 * 2);
        let doubled: Vec<ByteCount> = before.1.iter().map(|of| of.saturating_mul(2)).collect();
        assert_eq!(plan.memories, doubled);
        let refused = set_scale(&mut plan, 1).unwrap_err();
        assert!(refused.contains("larger scale"), "{refused}");
        assert!(set_scale(&mut plan, 0).is_err());
    }

    #[test]
    fn claims_name_cells_that_their_plans_have() {
        for name in crate::names() {
            let study = find(name).unwrap();
            let places = study
                .claims
                .iter()
                .filter_map(|claim| claim.measured.as_ref());
            let Some(text) = plan_text(&study) else {
                assert_eq!(places.count(), 0, "{name}");
                continue;
            };
            let plan = PlanFile::parse(name, text, &Registries::standard())
                .unwrap()
                .plan;
            for place in places {
                let sizes = [place.page_size.0, place.over_page_size.0];
                assert!(
                    sizes.iter().all(|size| plan.page_sizes.contains(size)),
                    "{place:?}"
                );
                let last = place.memory.max(place.over_memory.unwrap_or(0));
                assert!(last < plan.memories.len(), "{place:?}");
            }
        }
    }
}
