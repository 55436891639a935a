//! A cell with all of its levels, the database that it measures, and the
//! snapshot that its runs begin with.

use std::{collections::BTreeSet, fmt, sync::Arc};

use octavo_database::{
    Database, DatabaseError, DatabaseKind, DatabaseSpec, OptionKind, PageSizesByName,
};
use octavo_predict::{Model, ModeledKind, OPTIMAL, REPLACEMENT};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::DataSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    level::{Factor, Level},
    mixed::MixedSizes,
    storage::Storage,
};

/// A database with its options: one system under test.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TestedDatabase {
    /// The database's short name.
    pub name: String,
    /// The version that is measured.
    pub version: String,
    /// Options by name, such as `journal-mode` and `wal`.
    pub options: Vec<(String, String)>,
    /// The page size that users have when they chose none.
    pub default_page_size: PageSize,
}

impl TestedDatabase {
    /// The database and options of `spec`, with the version that is here.
    ///
    /// # Errors
    /// As [`DatabaseSpec::make`].
    pub fn new(spec: &DatabaseSpec) -> Result<Self, DatabaseError> {
        let database = spec.make()?;
        Ok(Self {
            name: spec.kind().name.to_owned(),
            version: database.version(),
            options: spec.options().to_vec(),
            default_page_size: database.default_page_size(),
        })
    }

    /// Whether another one is the same database with the same values of all options, whether these
    /// are given or the defaults.
    pub fn is_configured_like(&self, other: &Self) -> bool {
        let Ok(kind) = self.kind() else {
            return false;
        };
        let value = |of: &Self, option: &OptionKind| {
            let mut given = of.options.iter().rev();
            let given = given.find(|(name, _)| name == option.name);
            given.map_or(option.default.map(str::to_owned), |(_, value)| {
                Some(value.clone())
            })
        };
        let is_other = |(name, _): &(String, String)| kind.option(name).is_none();
        let others = |of: &Self| -> BTreeSet<(String, String)> {
            of.options
                .iter()
                .filter(|of| is_other(of))
                .cloned()
                .collect()
        };
        let mut options = kind.options.iter();
        self.name == other.name
            && options.all(|option| value(self, option) == value(other, option))
            && others(self) == others(other)
    }

    /// The same without options that matter to runs alone: what its rows are loaded with.
    pub fn of_rows(self: &Arc<Self>) -> Arc<Self> {
        let Ok(kind) = self.kind() else {
            return Arc::clone(self);
        };
        let is_of_rows =
            |(name, _): &&(String, String)| !kind.option(name).is_some_and(|of| of.is_of_runs);
        let options: Vec<_> = self.options.iter().filter(is_of_rows).cloned().collect();
        match options.len() == self.options.len() {
            true => Arc::clone(self),
            false => Arc::new(Self {
                options,
                ..Self::clone(self)
            }),
        }
    }

    /// Page sizes of tables and indexes of their own, where some have them.
    pub fn own_sizes(&self) -> Option<PageSizesByName> {
        let option = self.kind().ok()?.own_sizes?.option;
        self.option(option)?.parse().ok()
    }

    /// The same with these page sizes of tables and indexes; as it is where it has none.
    pub(super) fn with_own_sizes(self: &Arc<Self>, mixed: &MixedSizes) -> Arc<Self> {
        let Some(sizes) = self.kind().ok().and_then(|kind| kind.own_sizes) else {
            return Arc::clone(self);
        };
        let mut other = self.of_one_size();
        let option = (sizes.option.to_owned(), mixed.own.to_string());
        other.options.push(option);
        Arc::new(other)
    }

    /// The same without page sizes of tables and indexes.
    fn of_one_size(&self) -> Self {
        let own_sizes = self.kind().ok().and_then(|kind| kind.own_sizes);
        let mut other = self.clone();
        other
            .options
            .retain(|(name, _)| own_sizes.is_none_or(|of| of.option != name));
        other
    }

    /// The database's description.
    ///
    /// # Errors
    /// When there is no such database.
    pub fn kind(&self) -> Result<&'static DatabaseKind, DatabaseError> {
        octavo_predict::find_database(&self.name)
    }

    /// What is known of it as a database that is modeled.
    ///
    /// # Errors
    /// When there is no such database, or no model of it.
    pub fn modeled(&self) -> Result<&'static ModeledKind, DatabaseError> {
        octavo_predict::Registry::standard().find(&self.name)
    }

    /// Its model with its options, on storage of which the system says that it rotates or
    /// not.
    ///
    /// # Errors
    /// As [`Self::modeled`], and for an option that is not modeled.
    pub fn model(&self, rotates: bool) -> Result<Model, DatabaseError> {
        self.modeled()?.model(&self.options, rotates)
    }

    /// The same with the replacement policy of this name in place of its buffer's own, which
    /// only its model can have.
    #[must_use]
    pub fn with_replacement(&self, policy: &str) -> Self {
        let mut other = self.clone();
        let option = (REPLACEMENT.to_owned(), policy.to_owned());
        other.options.push(option);
        other
    }

    /// Makes the database.
    ///
    /// # Errors
    /// When there is no such database, or it refuses an option.
    pub fn make(&self) -> Result<Box<dyn Database>, DatabaseError> {
        let kind = self.kind()?;
        (kind.make)(&kind.read(&octavo_predict::database_options(&self.options))?)
    }

    /// The replacement policy that it has in place of its buffer's own.
    pub fn replacement(&self) -> Option<&str> {
        self.option(REPLACEMENT)
    }

    /// Whether its buffer knows the future: a bound, which no database can have.
    pub fn is_bound(&self) -> bool {
        self.replacement() == Some(OPTIMAL)
    }

    /// The value of an option, where it is set.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find(|(option, _)| option == name)
            .map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for TestedDatabase {
    /// The name, then each option as `name=value`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for (option, value) in &self.options {
            write!(f, " {option}={value}")?;
        }
        Ok(())
    }
}

/// One combination that is measured. It is numbered by its place in
/// [`Plan::cells`](super::Plan::cells).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The database.
    pub database: Arc<TestedDatabase>,
    /// The rows.
    pub data: DataSpec,
    /// Where the data lies.
    pub storage: Storage,
    /// The page size.
    pub page_size: PageSize,
    /// The buffer size.
    pub memory: ByteCount,
    /// CPUs that may be used; `None` for all of them.
    pub cpus: Option<u32>,
    /// Sessions at the same time.
    pub clients: u32,
    /// Which of several equal cells, from 0.
    pub copy: u32,
}

/// What a cell needs loaded before its runs: cells with the same key share one
/// snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotKey {
    /// The database that loads it ([`TestedDatabase::of_rows`]).
    pub database: Arc<TestedDatabase>,
    /// The rows.
    pub data: DataSpec,
    /// Where it lies.
    pub storage: Storage,
    /// The page size.
    pub page_size: PageSize,
}

impl Cell {
    /// The snapshot that its runs begin with.
    pub fn snapshot(&self) -> SnapshotKey {
        SnapshotKey {
            database: self.database.of_rows(),
            data: self.data,
            storage: self.storage.clone(),
            page_size: self.page_size,
        }
    }

    /// Its value of a factor. Databases are named with all of their options, and page sizes of tables
    /// and indexes are left out; [`Plan::level`](super::Plan::level) names databases by what sets them apart
    /// within a plan, and has mixed sizes.
    pub fn level(&self, factor: Factor) -> Level {
        match factor {
            Factor::Database => Level::Database(self.database.to_string()),
            Factor::Rows => Level::Rows(self.data.row_bytes()),
            Factor::Storage => Level::Storage(self.storage.clone()),
            Factor::Cpus => Level::Cpus(self.cpus),
            Factor::Clients => Level::Clients(self.clients),
            Factor::Memory => Level::Memory(self.memory),
            Factor::PageSize => Level::PageSize(self.page_size),
            Factor::Copy => Level::Copy(self.copy + 1),
        }
    }
}

impl SnapshotKey {
    /// Whether it holds the same rows of the same database in the same place,
    /// with whatever page sizes.
    pub fn is_related(&self, other: &Self) -> bool {
        (self.data, &self.storage) == (other.data, &other.storage)
            && self.database.of_one_size() == other.database.of_one_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_same_whether_given_or_by_default() {
        let database = |options: &[(&str, &str)]| TestedDatabase {
            name: "sqlite".into(),
            version: String::new(),
            options: options
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            default_page_size: PageSize::kib(4),
        };
        let plain = database(&[]);
        let given = database(&[("os-cache", "none"), ("journal-mode", "wal")]);
        assert!(plain.is_configured_like(&given) && given.is_configured_like(&plain));
        let turned = database(&[("journal-mode", "wal"), ("os-cache", "none")]);
        assert!(turned.is_configured_like(&given));
        let whole = database(&[("os-cache", "whole")]);
        assert!(!plain.is_configured_like(&whole) && !whole.is_configured_like(&plain));
        let policy = plain.with_replacement("lru");
        assert!(!plain.is_configured_like(&policy));
    }
}
