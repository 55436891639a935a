//! The plan of the main job: which page size, at which memory.

use std::sync::Arc;

use octavo_units::{ByteCount, Seed};
use octavo_workload::{DataSpec, WorkloadError, WorkloadName, WorkloadSpec, ycsb::Distribution};

use crate::{
    error::CampaignError,
    plan::{Design, Factor, MARGIN, Plan, Storage, TestedDatabase},
};

/// How many times larger than the largest memory the data has to be.
pub const DATA_OVER_MEMORY: u64 = 8;

/// A plan with the page sizes, memories and clients that the database's
/// description gives, and the workload's default rows. A caller changes what it
/// wants otherwise and calls [`complete`].
///
/// # Errors
/// When there is no such database.
pub fn plan(database: TestedDatabase, workload: WorkloadName) -> Result<Plan, CampaignError> {
    let defaults = database.kind()?.defaults;
    Ok(Plan {
        name: None,
        workload,
        mix: None,
        distribution: None,
        own: None,
        shape: None,
        isolation: None,
        seed: Seed::new(1),
        margin: MARGIN,
        design: Design::Race,
        data: vec![rows(workload, &[])?],
        storages: vec![Storage::Own],
        page_sizes: defaults.page_sizes.to_vec(),
        mixed: Vec::new(),
        memories: defaults.memories.to_vec(),
        cpus: vec![None],
        clients: vec![defaults.clients],
        ramp: None,
        copies: 1,
        compare: Factor::PageSize,
        reference: None,
        databases: vec![Arc::new(database)],
    })
}

/// The least data that can be asked for by its size: less is a typing error. Chosen.
const DATA_MIN: ByteCount = ByteCount::mib(1);

/// How large the data has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSize {
    /// [`DATA_OVER_MEMORY`] times so much memory.
    OverMemory(ByteCount),
    /// This, with each page size.
    Given(ByteCount),
}

impl DataSize {
    fn bytes(self) -> ByteCount {
        match self {
            Self::OverMemory(memory) => memory.saturating_mul(DATA_OVER_MEMORY),
            Self::Given(size) => size,
        }
    }
}

/// Adds the database's default page size, sorts page sizes and memories, and
/// chooses the rows by the parameters that are `given`. Without the workload's
/// scale among them it is the smallest whose data is as large as `wanted` at every page size.
///
/// # Errors
/// When the workload cannot have such rows, has a size and a scale, or the database cannot be
/// made.
///
/// # Panics
/// When the plan has no database.
pub fn complete(
    plan: &mut Plan,
    wanted: DataSize,
    given: &[(&str, u64)],
) -> Result<(), CampaignError> {
    sort_cells(plan);
    let scale = plan.workload.family().data.scale().name;
    let has_scale = given.iter().any(|(name, _)| *name == scale);
    plan.data = vec![match (has_scale, wanted) {
        (true, DataSize::Given(_)) => {
            return Err(CampaignError::Setting(format!(
                "--data and --{scale} both say how much data: leave one out"
            )));
        }
        (true, DataSize::OverMemory(_)) => rows(plan.workload, given)?,
        (false, DataSize::Given(size)) if size < DATA_MIN => {
            return Err(CampaignError::Setting(format!(
                "--data must be at least {DATA_MIN}, not {size}"
            )));
        }
        (false, wanted) => smallest(plan, given, wanted)?,
    }];
    Ok(())
}

/// Adds the page size that others are compared with, the first database's default, and sorts
/// page sizes and memories.
///
/// # Panics
/// When the plan has no database.
pub fn sort_cells(plan: &mut Plan) {
    plan.page_sizes.push(plan.databases[0].default_page_size);
    plan.page_sizes.sort_unstable();
    plan.page_sizes.dedup();
    plan.memories.sort_unstable();
    plan.memories.dedup();
}

/// The rows of the smallest scale whose data has the wanted size at every page
/// size.
fn smallest(plan: &Plan, given: &[(&str, u64)], size: DataSize) -> Result<DataSpec, CampaignError> {
    let wanted = size.bytes();
    let database = plan.databases[0].make()?;
    let family = plan.workload.family();
    let scale = family.data.scale();
    let at = |value: u64| rows(plan.workload, &[given, &[(scale.name, value)]].concat());
    let is_enough = |value: u64| -> Result<bool, CampaignError> {
        let workload = WorkloadSpec {
            // Sizes do not depend on it, and this one takes no time to set up.
            distribution: family.takes_distribution.then_some(Distribution::Uniform),
            shape: plan.shape.clone(),
            ..WorkloadSpec::new(plan.workload, at(value)?, plan.seed)
        };
        let workload = workload.build()?;
        let mut sizes = plan.page_sizes.iter();
        Ok(sizes.all(|&size| database.estimate_rows(workload.as_ref(), size) >= wanted))
    };
    // In steps of what the parameter allows: first a scale that is enough, or more than the workload can have with
    // what else is given, then the smallest such by halving.
    let multiple = scale.multiple_of;
    let beyond = scale.max / multiple + 1;
    let mut low = (scale.min)(0).div_ceil(multiple);
    is_enough(low * multiple)?;
    let is_end = |value: u64| is_enough(value * multiple).unwrap_or(true);
    let mut high = low;
    while high < beyond && !is_end(high) {
        (low, high) = (high + 1, (high * 2).clamp(high + 1, beyond));
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_end(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if high == beyond || is_enough(high * multiple).is_err() {
        let (max, name) = (scale.max.min((high - 1) * multiple), scale.name);
        return Err(CampaignError::Setting(match size {
            DataSize::OverMemory(memory) => format!(
                "{memory} of memory needs more than {max} {name} for {DATA_OVER_MEMORY} times as \
                 much data: give less memory, or say how many {name}"
            ),
            DataSize::Given(size) => {
                format!("{size} of data need more than {max} {name}: give a smaller --data")
            }
        }));
    }
    Ok(at(high * multiple)?)
}

fn rows(workload: WorkloadName, given: &[(&str, u64)]) -> Result<DataSpec, WorkloadError> {
    Ok(workload.data_spec(given)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_units::PageSize;
    use octavo_workload::shape::{Shape, ShapeTable, Spread};

    use super::*;

    fn plan_of(workload: &str) -> Plan {
        let kind = octavo_database::Registry::standard().default_kind();
        let spec = octavo_database::DatabaseSpec::new(kind, Vec::new()).unwrap();
        let database = TestedDatabase::new(&spec).unwrap();
        plan(database, workload.parse().unwrap()).unwrap()
    }

    #[test]
    fn data_is_eight_times_the_memory_at_every_page_size() {
        for workload in ["tpcc", "ycsb-a", "pgbench"] {
            let mut plan = plan_of(workload);
            plan.page_sizes = [65536, 8192]
                .map(|bytes| PageSize::new(bytes).unwrap())
                .to_vec();
            plan.memories.reverse();
            complete(&mut plan, DataSize::OverMemory(ByteCount::mib(32)), &[]).unwrap();
            let sizes: Vec<u32> = plan.page_sizes.iter().map(|size| size.get()).collect();
            assert_eq!(sizes, [4096, 8192, 65536], "with the default");
            assert!(plan.memories.is_sorted());
            let database = plan.databases[0].make().unwrap();
            let least = |data| {
                let workload = plan.workload(data).unwrap();
                let sizes = plan.page_sizes.iter();
                let estimates = sizes.map(|&size| database.estimate_rows(workload.as_ref(), size));
                estimates.min().unwrap()
            };
            let data = plan.data[0];
            let scale = plan.workload.family().data.scale().name;
            let smaller = data.with(&[(scale, data.scale() - 1)]).unwrap();
            assert!(least(data) >= ByteCount::mib(8 * 32), "{data}");
            assert!(least(smaller) < ByteCount::mib(8 * 32), "{data}");
        }
    }

    #[test]
    fn rows_that_are_given_stay() {
        let mut plan = plan_of("tpcc");
        complete(
            &mut plan,
            DataSize::OverMemory(ByteCount::mib(32)),
            &[("warehouses", 7)],
        )
        .unwrap();
        assert_eq!(plan.data[0].scale(), 7);
        assert!(
            complete(
                &mut plan,
                DataSize::OverMemory(ByteCount::mib(32)),
                &[("warehouses", 0)]
            )
            .is_err()
        );
        let mut plan = plan_of("ycsb-a");
        complete(
            &mut plan,
            DataSize::OverMemory(ByteCount::mib(1)),
            &[("row-bytes", 500)],
        )
        .unwrap();
        assert_eq!(plan.data[0].get("row-bytes"), Some(500));
        assert!(plan.data[0].scale() > 8000, "{}", plan.data[0]);
    }

    #[test]
    fn a_size_between_what_doubling_tries_and_what_a_table_can_have_is_found() {
        // Doubled keys go from half a billion beyond the billion that a table with keys of 20 bytes can have.
        let mut plan = plan_of("key-value");
        let table = ShapeTable {
            get: 1,
            ..ShapeTable::new("t", 1000, 20, Spread::always(1000))
        };
        let shape = Arc::new(Shape::new(1, vec![table]).unwrap());
        let given = shape.rows().into_iter().filter(|(name, _)| *name != "keys");
        let given: Vec<(&str, u64)> = given.collect();
        plan.shape = Some(shape);
        let keys = |gib: u64| {
            let mut plan = plan.clone();
            let size = DataSize::Given(ByteCount::mib(gib << 10));
            complete(&mut plan, size, &given).map(|()| plan.data[0].scale())
        };
        let (half, most) = (keys(400).unwrap(), keys(900).unwrap());
        assert!(half < 1 << 29 && most > 1 << 28, "{half} {most}");
        assert!(most as f64 / half as f64 > 2.2, "{half} {most}");
        let error = keys(20_000).unwrap_err().to_string();
        assert!(
            error.contains("need more than 1000000000 keys: give a smaller --data"),
            "{error}"
        );
    }

    #[test]
    fn memory_beyond_the_largest_scale_is_refused() {
        let mut plan = plan_of("pgbench");
        let error = complete(
            &mut plan,
            DataSize::OverMemory(ByteCount::new(u64::MAX)),
            &[],
        )
        .unwrap_err();
        let error = error.to_string();
        assert!(
            error.ends_with("give less memory, or say how many scale"),
            "{error}"
        );
        let mut plan = plan_of("ycsb-c");
        let memory = ByteCount::mib(4096 << 10);
        let error = complete(&mut plan, DataSize::OverMemory(memory), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4096 GiB of memory needs more than 1000000000 records for 8 times as much data: \
             give less memory, or say how many records"
        );
        assert!(
            complete(
                &mut plan,
                DataSize::OverMemory(memory),
                &[("records", 1000)]
            )
            .is_ok()
        );
    }
}
