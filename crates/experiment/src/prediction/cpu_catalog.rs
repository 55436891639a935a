//! What transactions take of processors, as `octavo bench --cpu-catalog` writes it to a file
//! and `octavo predict --cpu` reads it.

use std::{sync::Arc, thread};

use octavo_predict::{KindCost, ModeledKind};
use octavo_workload::{Workload, shape::Shape};
use serde::{Deserialize, Serialize};

/// The form of the file.
const FORMAT: u32 = 1;

/// At most, as for flags.
const PROCESSORS_MAX: u32 = 1024;
const CLIENTS_MAX: u32 = 100_000;

/// Costs of the kinds of transactions of one database on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CpuCatalog {
    format: u32,
    /// The version of Octavo that measured.
    pub octavo: String,
    /// The database's short name.
    pub database: String,
    /// Its version.
    pub version: String,
    /// The processors' model, as the system names it.
    pub processor: String,
    /// How many there were.
    pub processors: u32,
    /// Sessions that kept them busy.
    pub clients: u32,
    /// When it was measured.
    pub measured: String,
    /// The tables of keys and values that were measured, where somebody named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Arc<Shape>>,
    /// By kinds of transactions.
    #[serde(default)]
    pub cost: Vec<KindCost>,
}

/// Why a file says nothing of processors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CpuCatalogError {
    /// It is something else.
    #[error(transparent)]
    Toml(#[from] Box<toml::de::Error>),
    /// It has another form.
    #[error("its format is {0}, this version of octavo knows {FORMAT}: measure again")]
    Format(u32),
    /// A figure that no processor has.
    #[error(
        "{0} is not possible: us must be above 0 and below 1e9, deviation and log-bytes from 0 to \
         1e12, and each kind there once"
    )]
    Impossible(String),
    /// Processors or clients that no machine has.
    #[error("{0}")]
    Machine(String),
    /// It is of other tables of keys and values.
    #[error(
        "it is of another shape than the prediction: measure that with octavo bench --cpu-catalog FILE --database {database} {workload}"
    )]
    Shape {
        /// Whose it is.
        database: String,
        /// How the workload is named to the command.
        workload: String,
    },
    /// It is of another database.
    #[error(
        "it is of {found}, and the prediction of {wanted}: measure that with octavo bench --cpu-catalog FILE --database {wanted} {workload}"
    )]
    Database {
        /// Whose it is.
        found: String,
        /// Whose is wanted.
        wanted: String,
        /// How the workload is named to the command.
        workload: String,
    },
}

impl CpuCatalog {
    /// Of nothing yet, on this machine.
    pub(crate) fn new(octavo: &str, clients: u32) -> Self {
        let facts = crate::machine::describe();
        let model = facts.into_iter().find(|(name, _)| *name == "cpu");
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            format: FORMAT,
            octavo: octavo.to_owned(),
            database: String::new(),
            version: String::new(),
            processor: model.map(|(_, model)| model).unwrap_or_default(),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            clients,
            measured: String::new(),
            shape: None,
            cost: Vec::new(),
        }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// See [`CpuCatalogError`].
    pub fn from_toml(text: &str) -> Result<Self, CpuCatalogError> {
        let catalog: Self = toml::from_str(text).map_err(Box::new)?;
        if catalog.format != FORMAT {
            return Err(CpuCatalogError::Format(catalog.format));
        }
        let is_possible = |cost: &KindCost| {
            let others = [cost.deviation, cost.log_bytes];
            (f64::MIN_POSITIVE..1e9).contains(&cost.us)
                && others.iter().all(|of| (0.0..1e12).contains(of))
        };
        for (name, count, max) in [
            ("processors", catalog.processors, PROCESSORS_MAX),
            ("clients", catalog.clients, CLIENTS_MAX),
        ] {
            if !(1..=max).contains(&count) {
                let reason = format!("{name} = {count} is not possible: it must be 1 to {max}");
                return Err(CpuCatalogError::Machine(reason));
            }
        }
        let is_possible = |(place, cost): (usize, &KindCost)| {
            let same =
                |other: &KindCost| (&other.family, &other.kind) == (&cost.family, &cost.kind);
            is_possible(cost) && !catalog.cost[..place].iter().any(same)
        };
        match catalog
            .cost
            .iter()
            .enumerate()
            .find(|&cost| !is_possible(cost))
        {
            Some((_, cost)) => Err(CpuCatalogError::Impossible(format!(
                "{} of {}",
                cost.kind, cost.family
            ))),
            None => Ok(catalog),
        }
    }

    /// Refuses those of another database than that whose costs `database` takes, which is itself where it can
    /// be measured, or of another shape than that of the workload.
    ///
    /// # Errors
    /// [`CpuCatalogError::Database`] and [`CpuCatalogError::Shape`].
    pub fn check(
        &self,
        database: &ModeledKind,
        workload: &dyn Workload,
    ) -> Result<(), CpuCatalogError> {
        let (_, whose) = database.processor.kinds();
        let wanted = whose.unwrap_or(database).database.name;
        let named = match workload.shape() {
            Some(shape) if shape != Shape::standard() => "--shape FILE".to_owned(),
            _ => format!("--workload {}", workload.name()),
        };
        if self.database != wanted {
            return Err(CpuCatalogError::Database {
                found: self.database.clone(),
                wanted: wanted.to_owned(),
                workload: named,
            });
        }
        match (workload.shape(), &self.shape) {
            (Some(wanted), Some(found)) if wanted != found => Err(CpuCatalogError::Shape {
                database: self.database.clone(),
                workload: named,
            }),
            _ => Ok(()),
        }
    }

    /// The text of its file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use octavo_workload::shape::{ShapeTable, Spread};

    use super::*;

    /// By hand: an operation takes what it takes with any shape, and a transaction of ten operations ten times
    /// the mean of them. What was measured of one shape is not of another.
    #[test]
    fn operations_of_shapes_make_up_their_transactions() {
        let cost = |kind: &'static str, us| KindCost {
            family: "key-value".into(),
            kind: kind.into(),
            us,
            deviation: 0.1,
            log_bytes: us,
        };
        let workload = |operations: u32, get: u32, put: u32| {
            let table = ShapeTable {
                get,
                put,
                // Twice as many keys as the ranges of Octavo's own tables have.
                range: u32::from(get == 0),
                range_length: Spread::always(110),
                ..ShapeTable::new("mine", 1000, 20, Spread::always(50))
            };
            let shape = Arc::new(Shape::new(operations, vec![table]).unwrap());
            let name: octavo_workload::WorkloadName = "key-value".parse().unwrap();
            let spec = octavo_workload::WorkloadSpec {
                shape: Some(Arc::clone(&shape)),
                ..octavo_workload::WorkloadSpec::new(
                    name,
                    name.data_spec(&shape.rows()).unwrap(),
                    Seed::new(1),
                )
            };
            (spec.build().unwrap(), shape)
        };
        let costs = [cost("get", 10.0), cost("put", 50.0)];
        let (single, shape) = workload(1, 3, 1);
        let found = KindCost::of_mix(&costs, single.as_ref()).unwrap();
        assert_eq!(found.cost.other_ns, 20_000.0);
        assert_eq!(found.weights, [0.5, 2.5]);
        let (ten, _) = workload(10, 3, 1);
        let found = KindCost::of_mix(&costs, ten.as_ref()).unwrap();
        assert_eq!(found.cost.other_ns, 200_000.0);
        assert_eq!(found.cost.log_bytes, 200.0);
        let missing = KindCost::of_mix(&costs[1..], ten.as_ref()).unwrap_err();
        assert_eq!(missing.0, ["Transaction"]);
        // What was measured of whole transactions is what counts.
        let whole = [costs.as_slice(), &[cost("Transaction", 90.0)]].concat();
        let found = KindCost::of_mix(&whole, ten.as_ref()).unwrap();
        assert_eq!(found.cost.other_ns, 90_000.0);

        // Two such ranges find their first key once.
        let (range, _) = workload(1, 0, 0);
        let ranges = [cost("get", 10.0), cost("range", 60.0)];
        let found = KindCost::of_mix(&ranges, range.as_ref()).unwrap();
        assert_eq!(found.cost.other_ns, 110_000.0);
        let impossible = [cost("get", 100.0), cost("range", 10.0)];
        assert!(KindCost::of_mix(&impossible, range.as_ref()).is_err());

        let catalog = CpuCatalog {
            database: "sqlite".to_owned(),
            shape: Some(shape),
            cost: costs.to_vec(),
            ..CpuCatalog::new("0.1.0", 1)
        };
        assert_eq!(CpuCatalog::from_toml(&catalog.to_toml()).unwrap(), catalog);
        let of = |name: &str| octavo_predict::Registry::standard().find(name).unwrap();
        assert!(catalog.check(of("sqlite"), single.as_ref()).is_ok());
        let other = catalog.check(of("sqlite"), ten.as_ref()).unwrap_err();
        let named = "of another shape than the prediction: measure that with octavo bench --cpu-catalog FILE \
                     --database sqlite --shape FILE";
        assert!(other.to_string().contains(named), "{other}");
        // Of two faults the first to mend.
        let other = catalog.check(of("postgres"), ten.as_ref()).unwrap_err();
        let named = "--database postgres --shape FILE";
        assert!(other.to_string().contains(named), "{other}");
    }

    #[test]
    fn files_are_read_as_they_were_written_and_others_refused() {
        let catalog = CpuCatalog {
            database: "postgres".to_owned(),
            cost: vec![KindCost {
                family: "pgbench".into(),
                kind: "select-only".into(),
                us: 26.4,
                deviation: 0.05,
                log_bytes: 0.0,
            }],
            ..CpuCatalog::new("0.1.0", 8)
        };
        assert!(catalog.processors >= 1);
        let text = catalog.to_toml();
        assert_eq!(CpuCatalog::from_toml(&text).unwrap(), catalog);
        let workload = octavo_workload::Pgbench::new(1, Seed::new(1)).unwrap();
        let of = |name: &str| octavo_predict::Registry::standard().find(name).unwrap();
        assert!(catalog.check(of("postgres"), &workload).is_ok());
        // Whose costs are taken as those of PostgreSQL.
        assert!(catalog.check(of("oracle-like"), &workload).is_ok());
        let other = catalog.check(of("mariadb"), &workload).unwrap_err();
        let other = other.to_string();
        assert!(other.contains("--database mariadb"), "{other}");
        for (from, to, named) in [
            ("format = 1", "format = 2", "measure again"),
            ("us = 26.4", "us = 0", "select-only of pgbench"),
            ("us = 26.4", "us = nan", "select-only of pgbench"),
            ("us = 26.4", "us = 1e300", "below 1e9"),
            ("clients = 8", "clients = 0", "clients = 0"),
            (
                "deviation = 0.05",
                "deviation = -1",
                "select-only of pgbench",
            ),
            ("us = 26.4", "ms = 26.4", "ms"),
            ("database = \"postgres\"", "database = 1", "line"),
        ] {
            assert!(text.contains(from), "{text}");
            let error = CpuCatalog::from_toml(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(named), "{to}: {error}");
        }
    }
}
