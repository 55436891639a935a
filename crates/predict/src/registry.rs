//! All databases that are modeled.
//!
//! A new one is a directory beside this file, its `mod` in lib.rs, and one line in
//! [`STANDARD`]: its description, from which predictions, flags, help and refusals take
//! everything else.

use octavo_database::{DatabaseError, DatabaseKind};

use crate::{description::ModeledKind, in_place, innodb, model::Model, postgres, sqlite};

/// The databases, in the order in which they are listed.
static STANDARD: &[&ModeledKind] = &[
    &sqlite::KIND,
    &postgres::KIND,
    &innodb::MARIADB,
    &innodb::MYSQL,
    &in_place::ORACLE_LIKE,
    &in_place::CUBRID_LIKE,
];

/// Modeled databases that can be chosen by name.
#[derive(Clone, Debug)]
pub struct Registry {
    kinds: Vec<&'static ModeledKind>,
}

impl Registry {
    /// All databases that are modeled.
    pub fn standard() -> Self {
        Self {
            kinds: STANDARD.to_vec(),
        }
    }

    /// With one more database.
    #[must_use]
    pub fn with(mut self, kind: &'static ModeledKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// The databases, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static ModeledKind> {
        self.kinds.iter().copied()
    }

    /// Their descriptions as databases: what can be predicted.
    pub fn predictable(&self) -> octavo_database::Registry {
        self.iter().map(|kind| kind.database).collect()
    }

    /// The descriptions of all databases that plans and stores can have: those that can be
    /// measured, then those of which there are only models.
    pub fn all(&self) -> octavo_database::Registry {
        let measured = octavo_database::Registry::standard();
        let only_modeled = self.iter().filter(|kind| !kind.is_measurable());
        only_modeled.fold(measured, |all, kind| all.with(kind.database))
    }

    /// The database of a name or alias.
    ///
    /// # Errors
    /// [`DatabaseError::Unknown`] if there is none.
    pub fn find(&self, name: &str) -> Result<&'static ModeledKind, DatabaseError> {
        let database = self.predictable().find(name)?;
        let known = self.iter().find(|kind| kind.database == database);
        Ok(known.expect("it is one of these"))
    }
}

/// The description of a database that plans and stores can have, by its name or alias.
///
/// # Errors
/// [`DatabaseError::Unknown`] if there is none.
pub fn find_database(name: &str) -> Result<&'static DatabaseKind, DatabaseError> {
    Registry::standard().all().find(name)
}

/// The model of the database `name` with `options`, names and values, on storage of which the
/// system says that it rotates or not.
///
/// # Errors
/// As [`Registry::find`] and [`ModeledKind::model`].
pub fn model_of(
    name: &str,
    options: &[(String, String)],
    rotates: bool,
) -> Result<Model, DatabaseError> {
    Registry::standard().find(name)?.model(options, rotates)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use octavo_device::simulated::Constant;
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::{Pgbench, pgbench::Script};

    use super::*;
    use crate::{
        Comparison, CpuCost, KindCost, Miniature, Purpose, Setup, Slowness, System, made_up::PILE,
    };

    #[test]
    fn descriptions_agree_with_those_of_measured_databases_and_with_records() {
        let measured = octavo_database::Registry::standard();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for kind in Registry::standard().iter() {
            let is_measured = measured.find(kind.database.name).is_ok();
            assert_eq!(kind.is_measurable(), is_measured, "{kind:?}");
            if let Comparison::AsOf(other) = kind.comparison {
                assert!(other.is_measurable() && kind.is_measurable(), "{kind:?}");
            }
            if let Comparison::Measured { record } = kind.comparison {
                assert!(
                    repository.join(record).join("README.md").exists(),
                    "{kind:?}"
                );
            }
            let costs = kind.processor.kinds().0;
            assert!(costs.iter().all(|cost| cost.us > 0.0), "{kind:?}");
            // What is offered is known.
            for name in octavo_workload::Registry::standard().names() {
                let data = name.data_spec(&[]).unwrap();
                let workload = octavo_workload::WorkloadSpec::new(name, data, Seed::new(1));
                let known = KindCost::of_mix(costs, workload.build().unwrap().as_ref());
                assert!(known.is_ok(), "{kind:?}, {name}: {known:?}");
            }
            kind.model(&[], false).unwrap();
        }
    }

    #[test]
    fn modeled_databases_are_found() {
        let registry = Registry::standard();
        let find = |name: &str| registry.find(name).map(|kind| kind.database.name);
        assert_eq!(find("sqlite3").unwrap(), "sqlite");
        assert_eq!(find("cubrid-like").unwrap(), "cubrid-like");
        let refused = |name| find(name).unwrap_err().to_string();
        assert!(refused("pile").contains("'pile' is not known"));
        assert!(registry.predictable().find("mysql").is_ok());
    }

    #[test]
    fn options_that_are_not_modeled_are_refused_with_what_measures_them() {
        for (database, option, value, known) in [
            ("sqlite", "journal-mode", "delete", "wal"),
            ("sqlite", "os-cache", "whole", "none"),
            ("postgres", "checkpoint-timeout", "5m", "24h"),
            ("mariadb", "redo", "64MiB", "512 MiB"),
            ("mariadb", "doublewrite", "off", "on"),
        ] {
            let options = [(option.to_owned(), value.to_owned())];
            let refused = model_of(database, &options, true).unwrap_err().to_string();
            let typed = known.replace(' ', "");
            let part = format!(
                "predict knows {known}: give --{option} {typed}, or measure it with octavo advise"
            );
            assert!(
                refused.contains(option) && refused.contains(&part),
                "{refused}"
            );
        }
    }

    /// Its description is all that it takes: names, options, refusals, and a prediction.
    #[test]
    fn a_made_up_database_is_predicted_by_its_line_in_the_registry() {
        let registry = Registry::standard().with(&PILE);
        let kind = registry.find("heap-of-rows").unwrap();
        assert!(registry.predictable().find("pile").is_ok());
        assert!(registry.all().find("pile").is_ok());
        let options = |rows: &str| [("rows-a-page".to_owned(), rows.to_owned())];
        let refused = kind.model(&options("0"), false).unwrap_err();
        assert!(
            refused.to_string().contains("choose 1 to 1000"),
            "{refused}"
        );
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let workload = workload.with_script(Script::SimpleUpdate);
        let (costs, stand_in) = kind.processor.kinds();
        assert!(stand_in.is_none());
        let cost = KindCost::of_mix(costs, &workload).unwrap().cost;
        let unknown = KindCost::of_mix(costs, &Pgbench::new(1, Seed::new(1)).unwrap());
        let unknown = unknown.unwrap_err().to_string();
        assert!(
            unknown.starts_with("what tpcb-like takes of processors is not known"),
            "{unknown}"
        );
        let model = kind.model(&options("100"), false).unwrap();
        let sizes = model.sizes(&workload, PageSize::kib(8));
        // 100,000 accounts, ten tellers, and a branch.
        assert_eq!(sizes[0].pages, 1001);
        let setup = Setup {
            model,
            page_size: PageSize::kib(8),
            memory: ByteCount::mib(1),
            miniature: Miniature::WHOLE,
            clients: 1,
            processors: 1,
            seed: Seed::new(1),
            cpu: CpuCost {
                transaction_ns: cost.other_ns,
                ..CpuCost::default()
            },
            weights: Vec::new(),
            slowness: Slowness::default(),
        };
        let device = Box::new(Constant::new(ByteCount::mib(64), 100_000));
        let mut system = System::new(&workload, &setup, device).unwrap();
        let mut pages = 0;
        let elapsed_ns = system.run(10, &mut |done| pages += done.asked(Purpose::Read).requests);
        // Each page that is touched is read and written once.
        assert!(pages >= 20, "{pages}");
        assert_eq!(elapsed_ns.unwrap(), 10 * 70_000 + pages * 2 * 100_000);
    }
}
