//! The plan of the main job: which page size, at which memory.

use std::sync::Arc;

use octavo_units::{ByteCount, Seed};
use octavo_workload::{DataSet, WorkloadError, WorkloadName, WorkloadSpec};

use crate::{
    error::CampaignError,
    plan::{Design, Factor, Plan, Storage, TestedDatabase},
};

/// How many times larger than the largest memory the data has to be.
pub const DATA_OVER_MEMORY: u64 = 8;

/// The default workload at the smallest scale, with the page sizes, memories
/// and clients that the database's description gives. A caller changes what it
/// wants otherwise and calls [`complete`].
///
/// # Errors
/// When there is no such database.
pub fn plan(database: TestedDatabase) -> Result<Plan, CampaignError> {
    let defaults = database.kind()?.defaults;
    let workload = WorkloadName::default();
    Ok(Plan {
        name: None,
        workload,
        mix: None,
        distribution: None,
        isolation: None,
        seed: Seed::new(1),
        margin: 0.03,
        design: Design::Race,
        data: vec![rows(workload, 1)?],
        storages: vec![Storage::Own],
        page_sizes: defaults.page_sizes.to_vec(),
        memories: defaults.memories.to_vec(),
        cpus: vec![None],
        clients: vec![defaults.clients],
        copies: 1,
        compare: Factor::PageSize,
        reference: None,
        databases: vec![Arc::new(database)],
    })
}

/// Adds the database's default page size, sorts page sizes and memories, and
/// chooses the rows: those of `scale`, or else the fewest whose data has
/// [`DATA_OVER_MEMORY`] times `memory` at every page size.
///
/// # Errors
/// When the workload cannot have rows at that scale, or the database cannot be
/// made.
///
/// # Panics
/// When the plan has no database.
pub fn complete(
    plan: &mut Plan,
    memory: ByteCount,
    scale: Option<u64>,
) -> Result<(), CampaignError> {
    plan.page_sizes.push(plan.databases[0].default_page_size);
    plan.page_sizes.sort_unstable();
    plan.page_sizes.dedup();
    plan.memories.sort_unstable();
    plan.memories.dedup();
    let scale = match scale {
        Some(scale) => scale,
        None => scale_for(plan, memory.saturating_mul(DATA_OVER_MEMORY))?,
    };
    plan.data = vec![rows(plan.workload, scale)?];
    Ok(())
}

/// The smallest scale whose data has the wanted size at every page size.
fn scale_for(plan: &Plan, wanted: ByteCount) -> Result<u64, CampaignError> {
    let database = plan.databases[0].make()?;
    // Data grows in proportion, except for what does not depend on the scale:
    // two points give the line.
    let size = |scale: u64| -> Result<u64, CampaignError> {
        let data = rows(plan.workload, scale)?;
        let workload = WorkloadSpec::new(plan.workload, data, plan.seed).build()?;
        let sizes = plan.page_sizes.iter();
        let estimates = sizes.map(|&size| database.estimate(workload.as_ref(), size).get());
        Ok(estimates.min().unwrap_or_default())
    };
    let (one, two) = (size(1)?, size(2)?);
    let each = two.saturating_sub(one).max(1);
    Ok(wanted.get().saturating_sub(one).div_ceil(each) + 1)
}

fn rows(workload: WorkloadName, scale: u64) -> Result<DataSet, WorkloadError> {
    let name = workload.family().data.scale().name;
    Ok(workload.data_set(&[(name, scale)])?)
}

#[cfg(test)]
mod tests {
    use octavo_units::PageSize;

    use super::*;

    #[test]
    fn the_data_is_eight_times_the_memory_at_every_page_size() {
        let database = TestedDatabase::new("sqlite", Vec::new()).unwrap();
        let mut plan = plan(database).unwrap();
        plan.page_sizes = [65536, 8192]
            .map(|bytes| PageSize::new(bytes).unwrap())
            .to_vec();
        plan.memories.reverse();
        complete(&mut plan, ByteCount::mib(32), None).unwrap();
        let sizes: Vec<u32> = plan.page_sizes.iter().map(|size| size.get()).collect();
        assert_eq!(sizes, [4096, 8192, 65536], "with the default");
        assert!(plan.memories.is_sorted());
        let database = plan.databases[0].make().unwrap();
        let least = |data| {
            let workload = plan.workload(data).unwrap();
            let sizes = plan.page_sizes.iter();
            let estimates = sizes.map(|&size| database.estimate(workload.as_ref(), size));
            estimates.min().unwrap()
        };
        let scale = plan.data[0].scale();
        assert!(least(plan.data[0]) >= ByteCount::mib(8 * 32));
        assert!(least(rows(plan.workload, scale - 1).unwrap()) < ByteCount::mib(8 * 32));
    }

    #[test]
    fn a_scale_that_is_given_stays() {
        let database = TestedDatabase::new("sqlite", Vec::new()).unwrap();
        let mut plan = plan(database).unwrap();
        complete(&mut plan, ByteCount::mib(32), Some(7)).unwrap();
        assert_eq!(plan.data[0].scale(), 7);
        assert!(complete(&mut plan, ByteCount::mib(32), Some(0)).is_err());
    }
}
