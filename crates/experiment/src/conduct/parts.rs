//! The databases and workloads of a plan.

use octavo_database::Database;
use octavo_workload::Workload;

use super::ConductError;
use crate::plan::{BaseKey, Plan};

/// The databases and workloads that a plan names, in its order.
pub(super) struct Parts {
    pub(super) databases: Vec<Box<dyn Database>>,
    workloads: Vec<Box<dyn Workload>>,
}

impl Parts {
    pub(super) fn of(plan: &Plan) -> Result<Self, ConductError> {
        Ok(Self {
            databases: plan
                .systems
                .iter()
                .map(|system| system.make())
                .collect::<Result<_, _>>()?,
            workloads: (0..plan.data.len())
                .map(|data| plan.workload(data))
                .collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn database(&self, base: BaseKey) -> &dyn Database {
        self.databases[base.system].as_ref()
    }

    pub(super) fn workload(&self, base: BaseKey) -> &dyn Workload {
        self.workloads[base.data].as_ref()
    }
}
