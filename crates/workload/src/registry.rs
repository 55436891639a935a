//! All workloads by name: what flags, plans and stores choose from.

use std::{collections::BTreeMap, str::FromStr};

use serde::{Deserialize, Deserializer, de};

use crate::{
    DataSpec, Family, WorkloadError, WorkloadName, key_value, own, pgbench, tpcc, tpce, ycsb,
};

/// Families of workloads.
#[derive(Clone, Debug)]
pub struct Registry {
    families: Vec<&'static Family>,
}

impl Registry {
    /// Octavo's workloads. A new family is one more line here. The default is the first member
    /// of the first family.
    pub fn standard() -> Self {
        Self {
            families: vec![
                &tpcc::FAMILY,
                &tpce::FAMILY,
                &ycsb::FAMILY,
                &pgbench::FAMILY,
                &key_value::FAMILY,
            ],
        }
    }

    /// The same with one more family, for tests.
    #[must_use]
    pub fn with(mut self, family: &'static Family) -> Self {
        self.families.push(family);
        self
    }

    /// All families that can be named.
    pub fn families(&self) -> &[&'static Family] {
        &self.families
    }

    /// All workloads, those of a family together.
    pub fn names(&self) -> impl Iterator<Item = WorkloadName> {
        self.families.iter().flat_map(|family| family.names())
    }

    /// The workload of this name, the user's own among them.
    ///
    /// # Errors
    /// [`WorkloadError::Unknown`].
    pub fn find(&self, name: &str) -> Result<WorkloadName, WorkloadError> {
        self.names()
            .chain(own::FAMILY.names())
            .find(|known| known.name() == name)
            .ok_or_else(|| WorkloadError::Unknown {
                name: name.into(),
                known: self.names().map(WorkloadName::name).collect(),
            })
    }

    /// The family with this kind of rows, by the kind's name, the user's own among them.
    pub fn family(&self, kind: &str) -> Option<&'static Family> {
        let mut families = self.families.iter().copied().chain([&own::FAMILY]);
        families.find(|family| family.data.name == kind)
    }

    /// The first workload that runs on these rows.
    pub fn first_on(&self, data: DataSpec) -> Option<WorkloadName> {
        self.family(data.kind().name).map(Family::first)
    }

    /// Reads the JSON form of [`DataSpec`].
    ///
    /// # Errors
    /// The deserializer's, and its custom error for an unknown kind of rows and
    /// for parameters that are missing, unknown or out of range.
    pub fn read_data_spec<'de, D: Deserializer<'de>>(
        &self,
        deserializer: D,
    ) -> Result<DataSpec, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            kind: String,
            #[serde(flatten)]
            parameters: BTreeMap<String, u64>,
        }
        let stored = Stored::deserialize(deserializer)?;
        let family = self.family(&stored.kind).ok_or_else(|| {
            de::Error::custom(format!("the kind of rows '{}' is not known", stored.kind))
        })?;
        let given: Vec<(&str, u64)> = stored
            .parameters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        for name in family.data.parameter_names() {
            if !stored.parameters.contains_key(name) {
                return Err(de::Error::missing_field(name));
            }
        }
        family.data.data_spec(&given).map_err(de::Error::custom)
    }
}

impl Default for WorkloadName {
    fn default() -> Self {
        tpcc::FAMILY.first()
    }
}

impl FromStr for WorkloadName {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        Registry::standard().find(text)
    }
}

impl<'de> Deserialize<'de> for WorkloadName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for DataSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Registry::standard().read_data_spec(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use octavo_units::Seed;

    use super::*;
    use crate::{DataError, DataKind, WorkloadSpec, data_spec::Unit, keys::Distribution};

    const SEED: Seed = Seed::new(1);

    #[test]
    fn every_name_is_read_and_built() {
        for name in Registry::standard().names() {
            assert_eq!(name.name().parse::<WorkloadName>().unwrap(), name);
            let data = name.data_spec(&[]).unwrap();
            let workload = WorkloadSpec::new(name, data, SEED).build().unwrap();
            assert_eq!(workload.name(), name.name());
            assert_eq!(workload.data_spec(), data);
        }
        let error = "tpch".parse::<WorkloadName>().unwrap_err().to_string();
        assert!(
            error.contains("tpcc, tpcc-reports, tpce, ycsb-a"),
            "{error}"
        );
    }

    #[test]
    fn titles_are_what_people_write() {
        let titles: Vec<&str> = Registry::standard()
            .names()
            .map(WorkloadName::title)
            .collect();
        assert_eq!(
            titles,
            [
                "TPC-C",
                "TPC-C with reports",
                "TPC-E-like",
                "YCSB A",
                "YCSB B",
                "YCSB C",
                "YCSB D",
                "YCSB E",
                "YCSB F",
                "pgbench",
                "pgbench -N",
                "pgbench -S",
                "Key-value"
            ]
        );
        let ycsb: WorkloadName = "ycsb-b".parse().unwrap();
        assert_eq!(
            ycsb.data_spec(&[]).unwrap().of_workload(ycsb.title()),
            "YCSB B, records: 100000 of 1000 B"
        );
    }

    #[test]
    fn descriptions_of_families_agree() {
        let registry = Registry::standard();
        let names: BTreeSet<&str> = registry.names().map(WorkloadName::name).collect();
        assert_eq!(names.len(), registry.names().count());
        let mut units: BTreeMap<&str, Unit> = BTreeMap::new();
        for family in registry.families() {
            let parameters = family.data.parameters;
            assert!((1..=DataKind::PARAMETERS_MAX).contains(&parameters.len()));
            for parameter in parameters {
                let unit = *units.entry(parameter.name).or_insert(parameter.unit);
                assert_eq!(unit, parameter.unit, "{}", parameter.name);
            }
            let trial = family.trial(SEED).unwrap();
            // What is beside a mix has no weight.
            let kinds = trial.transactions().iter().zip(trial.mix().weights());
            let mut mixed = kinds.filter(|(kind, _)| kind.name != "Data-Maintenance");
            assert!(mixed.all(|(_, weight)| *weight > 0));
        }
    }

    #[test]
    fn foreign_rows_and_distributions_are_refused() {
        let tpcc = WorkloadName::default();
        let spec = WorkloadSpec::new(tpcc, tpcc.data_spec(&[]).unwrap(), SEED);
        let foreign = WorkloadSpec {
            name: "ycsb-a".parse().unwrap(),
            ..spec.clone()
        };
        assert!(matches!(foreign.build(), Err(WorkloadError::Rows { .. })));
        let distribution = WorkloadSpec {
            distribution: Some(Distribution::Uniform),
            ..spec.clone()
        };
        assert!(matches!(
            distribution.build(),
            Err(WorkloadError::Distribution { .. })
        ));
        let mix = WorkloadSpec {
            mix: Some("brew-tea=1".into()),
            ..spec
        };
        assert!(matches!(mix.build(), Err(WorkloadError::Mix(_))));
    }

    #[test]
    fn a_mix_of_what_follows_from_others_is_refused() {
        let name: WorkloadName = "tpce".parse().unwrap();
        let spec = |mix: &str| WorkloadSpec {
            mix: Some(mix.into()),
            ..WorkloadSpec::new(name, name.data_spec(&[]).unwrap(), SEED)
        };
        for mix in ["trade-result=1", "market-feed=2,data-maintenance=1"] {
            let error = spec(mix).build().err().unwrap().to_string();
            assert!(error.contains("trade-order=1"), "{error}");
        }
        assert!(spec("trade-result=1,trade-status=1").build().is_ok());
    }

    #[test]
    fn data_specs_print_and_are_stored_by_their_parameters() {
        let default = |name: &str| {
            let name: WorkloadName = name.parse().unwrap();
            name.data_spec(&[]).unwrap()
        };
        for (data, words, stored) in [
            (
                default("tpcc"),
                "TPC-C, warehouses: 2",
                r#"{"kind":"tpcc","warehouses":2}"#,
            ),
            (
                default("ycsb-b"),
                "YCSB, records: 100000 of 1000 B",
                r#"{"kind":"ycsb","records":100000,"row-bytes":1000}"#,
            ),
            (
                default("pgbench"),
                "pgbench, scale: 10, rows of 96 B",
                r#"{"kind":"pgbench","scale":10,"row-bytes":96}"#,
            ),
        ] {
            assert_eq!(data.to_string(), words);
            assert_eq!(serde_json::to_string(&data).unwrap(), stored);
            assert_eq!(serde_json::from_str::<DataSpec>(stored).unwrap(), data);
        }
        for (stored, reason) in [
            (r#"{"kind":"tpch"}"#, "'tpch' is not known"),
            (r#"{"kind":"tpcc"}"#, "warehouses"),
            (r#"{"kind":"tpcc","warehouses":0}"#, "must be 1 to"),
            (r#"{"kind":"tpcc","warehouses":2,"row":7}"#, "row is not"),
        ] {
            let error = serde_json::from_str::<DataSpec>(stored).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn refusals_name_the_parameter_and_its_range() {
        for (name, given, words) in [
            (
                "tpcc",
                ("row-bytes", 500),
                "row-bytes is not possible with TPC-C: its rows depend on warehouses",
            ),
            (
                "ycsb-a",
                ("row-bytes", 1001),
                "row-bytes must be a multiple of 10 from 10 to 60000, not 1001",
            ),
            ("pgbench", ("scale", 0), "scale must be 1 to 100000, not 0"),
        ] {
            let name: WorkloadName = name.parse().unwrap();
            let error = name.data_spec(&[given]).unwrap_err();
            assert_eq!(error.to_string(), words);
            assert_eq!(error.parameter(), given.0);
        }
    }

    #[test]
    fn a_default_follows_the_scale_and_a_given_value_stays() {
        let pgbench: WorkloadName = "pgbench".parse().unwrap();
        let wide = pgbench.data_spec(&[("scale", 20_000)]).unwrap();
        assert_eq!(wide.get("row-bytes"), Some(100));
        let data = pgbench.data_spec(&[("row-bytes", 150)]).unwrap();
        let larger = data.with(&[("scale", 11)]).unwrap();
        assert_eq!(larger.to_string(), "pgbench, scale: 11, rows of 150 B");
        assert!(matches!(
            data.with(&[("records", 1)]),
            Err(DataError::Parameter { .. })
        ));
    }
}
