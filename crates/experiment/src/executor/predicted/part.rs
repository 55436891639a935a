//! Which part of large data is predicted where a part is asked for: a buffer of 64 GiB over all
//! rows takes 42 s and 5 GB, a sixteenth of it over a sixteenth of the rows 4 s and 0.4 GB.

use std::collections::HashMap;

use octavo_predict::Miniature;
use octavo_units::ByteCount;
use octavo_workload::{DataSpec, Workload, WorkloadError};

use crate::{
    error::CampaignError,
    plan::{Cell, Plan},
    prediction::PredictedDevices,
    resolved::ResolvedPlan,
};

/// What every buffer has in a miniature, at least. Chosen: it has 16,384 pages or more, and
/// rows that are as many in every part, such as TPC-C's items (10 MB), take a percent of it.
const MEMORY_MIN: ByteCount = ByteCount::mib(1024);

/// Of what the scale counts, such as warehouses, at least so many for each client: clients are
/// not to wait for each other's rows more often than they do in the whole. Chosen: of
/// clients that change a row of their warehouse, one in ten meets another then at most, for
/// half of its time.
const SCALE_A_CLIENT: u64 = 10;

/// … and so many in all. Rounding the scale changes the data by a percent at most then.
const SCALE_MIN: u64 = 100;

/// The share of the data that a drive has to have spare, at least. Chosen: with 1.2% of 512 GB a
/// part was up to 84% faster than the whole.
const SPARE_SHARE: u64 = 4;

/// The most that anything is divided by.
const DIVISOR_MAX: u32 = 64;

/// A part of some rows, and which.
pub(super) struct Part {
    pub(super) miniature: Miniature,
    pub(super) workload: Box<dyn Workload>,
    data: DataSpec,
}

/// The parts that are predicted in the place of all, by the rows that they are of.
#[derive(Default)]
pub(super) struct Parts(HashMap<DataSpec, Part>);

impl Parts {
    /// Those of a plan: all cells with the same rows have the same part, which the smallest
    /// buffer decides, since all may be compared. Flash with little to spare has none: what the
    /// whole writes uses that up, and what a part writes does not.
    ///
    /// # Errors
    /// When a workload cannot be made, or a database has no model.
    pub(super) fn of(
        resolved: &ResolvedPlan<'_>,
        devices: &PredictedDevices,
    ) -> Result<Self, CampaignError> {
        let plan = resolved.plan();
        let mut parts = Self::default();
        if !plan.workload.family().is_divisible {
            return Ok(parts);
        }
        let cells = plan.cells();
        for &data in &plan.data {
            let of_data = || cells.iter().filter(|cell| cell.data == data);
            let mut divisor = u32::MAX;
            for cell in of_data() {
                let device = devices.of(&cell.storage);
                let is_divisible = cell.database.model(device.rotates())?.is_divisible();
                let database = resolved.database(&cell.database);
                let size = database.estimate(resolved.workload(data), cell.page_size);
                let spare = device
                    .spare()
                    .map(|spare| spare.saturating_mul(SPARE_SHARE));
                let has_spare = spare.is_none_or(|spare| spare >= size);
                let is_divisible = is_divisible && has_spare;
                divisor = divisor.min(if is_divisible { divisor_of(cell) } else { 1 });
            }
            if let Some(small) = Part::of(plan, data, divisor)? {
                parts.0.insert(data, small);
            }
        }
        Ok(parts)
    }

    /// The part that is predicted in the place of all rows of a cell.
    pub(super) fn of_cell(&self, cell: &Cell) -> Option<&Part> {
        self.0.get(&cell.data)
    }

    /// Which parts they are, such as "1/8".
    pub(super) fn words(&self) -> Option<String> {
        let mut divisors: Vec<u32> = self.0.values().map(|of| of.miniature.divisor()).collect();
        divisors.sort_unstable();
        divisors.dedup();
        let words: Vec<String> = divisors.iter().map(|of| format!("1/{of}")).collect();
        (!words.is_empty()).then(|| words.join(" and "))
    }
}

impl Part {
    /// Such a part of these rows; `None` where it cannot be.
    fn of(plan: &Plan, data: DataSpec, divisor: u32) -> Result<Option<Self>, WorkloadError> {
        let miniature = Miniature::new(divisor);
        let scale = data.kind().scale();
        let multiple = scale.multiple_of;
        let part = data.scale() / u64::from(divisor) / multiple * multiple;
        match data.with(&[(scale.name, part)]) {
            Ok(rows) if miniature.is_small() => Ok(Some(Self {
                miniature,
                workload: plan.workload(rows)?,
                data,
            })),
            _ => Ok(None),
        }
    }

    /// How many of the whole's bytes the part has.
    pub(super) fn share(&self, of: ByteCount) -> ByteCount {
        let scales = [self.workload.data_spec(), self.data].map(|data| u128::from(data.scale()));
        let share = u128::from(of.get()) * scales[0] / scales[1].max(1);
        ByteCount::new(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// By what a cell's rows and buffer may be divided: a power of two.
fn divisor_of(cell: &Cell) -> u32 {
    let scale = cell.data.scale();
    let scale_min = SCALE_MIN.max(SCALE_A_CLIENT * u64::from(cell.clients));
    let most = (cell.memory.get() / MEMORY_MIN.get()).min(scale / scale_min);
    match most.checked_ilog2() {
        Some(power) => 1 << power.min(DIVISOR_MAX.ilog2()),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use octavo_units::PageSize;

    use super::*;
    use crate::{
        plan::{TestedDatabase, tests::plan},
        prediction::PredictedDevice,
    };

    fn plan_of(database: &str, workload: &str, scale: u64) -> Plan {
        let registry = octavo_database::Registry::standard();
        let kind = registry.find(database).unwrap();
        let spec = octavo_database::DatabaseSpec::new(kind, Vec::new()).unwrap();
        let workload: octavo_workload::WorkloadName = workload.parse().unwrap();
        let name = workload.family().data.scale().name;
        Plan {
            databases: vec![Arc::new(TestedDatabase::new(&spec).unwrap())],
            data: vec![workload.data_spec(&[(name, scale)]).unwrap()],
            workload,
            page_sizes: [4096, 16_384].map(|b| PageSize::new(b).unwrap()).to_vec(),
            memories: vec![ByteCount::mib(4096), ByteCount::mib(16_384)],
            ..plan()
        }
    }

    fn device(name: &str) -> PredictedDevices {
        let entry = octavo_storage::entry::named(name).unwrap();
        PredictedDevices::new(PredictedDevice::Entry(Box::new(entry)))
    }

    /// The divisors of the cells.
    fn divisors(plan: &Plan) -> Vec<u32> {
        let resolved = ResolvedPlan::new(plan, Path::new("nowhere")).unwrap();
        let parts = Parts::of(&resolved, &device("hdd-7200")).unwrap();
        let part = |cell| parts.of_cell(cell);
        let divisor = |cell| part(cell).map_or(1, |small| small.miniature.divisor());
        plan.cells().iter().map(divisor).collect()
    }

    #[test]
    fn the_smallest_buffer_and_the_clients_decide_the_part_by_hand() {
        // A quarter of 4 GiB is the least. A sixteenth of 2,000 warehouses are 125.
        let mut plan = plan_of("mariadb", "tpcc", 2000);
        assert_eq!(divisors(&plan), [4; 4]);
        plan.memories.remove(0);
        assert_eq!(divisors(&plan), [16; 2]);
        // 40 clients want 400 warehouses: a quarter are 500.
        plan.clients = vec![40];
        assert_eq!(divisors(&plan), [4; 2]);
        plan.memories.push(ByteCount::mib(1024));
        assert_eq!(divisors(&plan), [1; 4]);
        for (database, workload, scale) in [
            ("sqlite", "tpcc", 2000),
            ("mariadb", "ycsb-a", 100_000_000),
            ("mariadb", "tpcc", 199),
        ] {
            assert_eq!(divisors(&plan_of(database, workload, scale)), [1; 4]);
        }
    }

    #[test]
    fn memory_is_divided_as_the_rows_are() {
        let plan = plan_of("mariadb", "tpcc", 2001);
        let resolved = ResolvedPlan::new(&plan, Path::new("nowhere")).unwrap();
        let parts = Parts::of(&resolved, &device("hdd-7200")).unwrap();
        for (name, is_divided) in [("nvme-tlc", true), ("850-pro", false), ("gp3-3000", true)] {
            let parts = Parts::of(&resolved, &device(name)).unwrap();
            assert_eq!(parts.words().is_some(), is_divided, "{name}");
        }
        assert_eq!(parts.words().as_deref(), Some("1/4"));
        let small = parts.of_cell(&plan.cells()[2]).unwrap();
        assert_eq!(small.workload.data_spec().scale(), 500);
        assert_eq!(small.share(ByteCount::new(2001)), ByteCount::new(500));
    }
}
