//! The databases and workloads that a plan file can name.

use octavo_database::Registry;
use octavo_workload::Unit;

/// All databases and workloads that a plan file can name. Their descriptions
/// say which keys it can have.
#[derive(Clone, Debug)]
pub struct Registries {
    /// The databases.
    pub databases: Registry,
    /// The workloads.
    pub workloads: octavo_workload::Registry,
}

impl Registries {
    /// Those of Octavo.
    pub fn standard() -> Self {
        Self {
            databases: Registry::standard(),
            workloads: octavo_workload::Registry::standard(),
        }
    }

    /// The names of the options of all databases, each once.
    pub(super) fn option_names(&self) -> Vec<&'static str> {
        let options = self.databases.options();
        options.iter().map(|option| option.name).collect()
    }

    /// The names of the parameters of all workloads' rows, each once.
    pub(super) fn parameter_names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for family in self.workloads.families() {
            let parameters = family.data.parameters.iter();
            for parameter in parameters.filter(|own| own.unit != Unit::Fingerprint) {
                if !names.contains(&parameter.name) {
                    names.push(parameter.name);
                }
            }
        }
        names
    }
}
