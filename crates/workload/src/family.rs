//! Descriptions of families of workloads, and the specification of one workload.
//! [`crate::Registry`] lists them.
//!
//! A family is a directory with a [`Family`] and one line in
//! [`crate::Registry::standard`]. Flags, their help and refusals, the keys of
//! plans and the conformance suite follow from its description.

use std::{fmt, sync::Arc};

use octavo_units::Seed;
use serde::{Serialize, Serializer};

use crate::{
    DataError, DataKind, DataSpec, Mix, MixError, Workload,
    keys::{Distribution, DistributionError},
    shape::{Shape, ShapeError},
    user::Own,
};

/// Workloads that run on the same kind of rows.
#[derive(Debug)]
pub struct Family {
    /// The kind of rows. Its title is the family's as well.
    pub data: DataKind,
    /// Its workloads; the first one is meant when only the rows are known.
    pub members: &'static [Member],
    /// Whether the distribution of keys can be chosen.
    pub takes_distribution: bool,
    /// Whether its tables are those of a [`Shape`].
    pub takes_shape: bool,
    /// Whether a part of the rows is used as all of them are, so that a buffer of the same part
    /// misses as often: not where some rows are wanted much more often than others and all of
    /// them are one lot, as YCSB's.
    pub is_divisible: bool,
    /// A small trial of all its transactions.
    pub trial: Trial,
    /// The case that tells what its kinds take of processors.
    pub kind_trial: KindTrial,
    /// Makes a workload. [`WorkloadSpec::build`] calls it, with a member and
    /// data of this family.
    pub make: fn(&WorkloadSpec) -> Result<Box<dyn Workload>, WorkloadError>,
}

/// A workload of a family.
#[derive(Debug)]
pub struct Member {
    /// Its name in flags, plans and stores, such as `ycsb-a`. No other workload
    /// of any family has it.
    pub name: &'static str,
    /// What people call it, such as `YCSB A`: what reports print.
    pub title: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
}

/// A case that takes seconds and has transactions of all kinds: what the
/// conformance suite runs on every database.
#[derive(Debug)]
pub struct Trial {
    /// Parameters of the rows that differ from their defaults.
    pub data: &'static [(&'static str, u64)],
    /// The mix, where the first member's has not all kinds.
    pub mix: Option<&'static str>,
    /// Transactions of one client.
    pub transactions: u32,
}

/// How it is measured what its kinds of transactions take of processors.
#[derive(Debug)]
pub struct KindTrial {
    /// Parameters of the rows that differ from their defaults: enough that clients seldom want
    /// the same rows, and few enough to be loaded in seconds.
    pub data: &'static [(&'static str, u64)],
    /// Whether a kind can go alone: not where it uses up what others make, as Deliveries do.
    pub are_alone: bool,
    /// The mix with which those go that cannot, where the first member has not all kinds: of the last one.
    pub mix: Option<&'static str>,
}

/// Why a workload could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// There is none of this name.
    #[error("workload '{name}' is not known: choose {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The rows are another family's.
    #[error("{name} cannot run on the rows of {data}")]
    Rows {
        /// The workload.
        name: WorkloadName,
        /// The rows.
        data: DataSpec,
    },
    /// There are no such rows.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A distribution for a workload that has its own.
    #[error(
        "a distribution is not possible with {title}: its specification says which rows are used"
    )]
    Distribution {
        /// What people call the family.
        title: &'static str,
    },
    /// A shape for a workload that has tables of its own.
    #[error("a shape is not possible with {title}: it has tables of its own")]
    NoShape {
        /// What people call the family.
        title: &'static str,
    },
    /// The rows are those of another shape.
    #[error("the rows are of another shape: name the file with the shape that they were made by")]
    OtherShape,
    /// The shape cannot have so many keys.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The user's own statements without any.
    #[error("the user's own statements are not there: give the scripts again")]
    Nothing,
    /// The mix cannot be.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The distribution of keys cannot be.
    #[error(transparent)]
    Keys(#[from] DistributionError),
}

/// A workload that can be chosen, at no scale yet. Prints, and is stored, as
/// its name.
#[derive(Clone, Copy)]
pub struct WorkloadName {
    family: &'static Family,
    position: usize,
}

impl Family {
    /// The names of its workloads.
    pub fn names(&'static self) -> impl Iterator<Item = WorkloadName> {
        (0..self.members.len()).map(move |position| WorkloadName {
            family: self,
            position,
        })
    }

    /// Its first workload.
    ///
    /// # Panics
    /// When the family has no members.
    pub fn first(&'static self) -> WorkloadName {
        self.names().next().expect("a family has a member")
    }

    /// The workload of its [`KindTrial`], with another mix, and with the tables of a shape, where these are
    /// given: with as many keys as are loaded in seconds.
    ///
    /// # Errors
    /// When the trial is none of this family's, which is an error of its description, and a mix that
    /// cannot be.
    pub fn kind_trial(
        &'static self,
        mix: Option<String>,
        shape: Option<Arc<Shape>>,
        seed: Seed,
    ) -> Result<Box<dyn Workload>, WorkloadError> {
        let shape = shape.map(|shape| shape.trial().map(Arc::new)).transpose()?;
        let data = match &shape {
            None => self.data.data_spec(self.kind_trial.data)?,
            Some(shape) => self.data.data_spec(&shape.rows())?,
        };
        let name = match self.kind_trial.mix {
            None => self.first(),
            Some(_) => self.names().last().unwrap_or_else(|| self.first()),
        };
        WorkloadSpec {
            mix: mix.or_else(|| self.kind_trial.mix.map(str::to_owned)),
            shape,
            ..WorkloadSpec::new(name, data, seed)
        }
        .build()
    }

    /// The workload of its [`Trial`].
    ///
    /// # Errors
    /// When the trial is none of this family's, which is an error of its
    /// description.
    pub fn trial(&'static self, seed: Seed) -> Result<Box<dyn Workload>, WorkloadError> {
        let data = self.data.data_spec(self.trial.data)?;
        WorkloadSpec {
            mix: self.trial.mix.map(str::to_owned),
            ..WorkloadSpec::new(self.first(), data, seed)
        }
        .build()
    }
}

impl WorkloadName {
    /// The name, such as `ycsb-a`.
    pub fn name(self) -> &'static str {
        self.family.members[self.position].name
    }

    /// What people call it, such as `YCSB A`.
    pub fn title(self) -> &'static str {
        self.family.members[self.position].title
    }

    /// What it does, in a few words.
    pub fn help(self) -> &'static str {
        self.family.members[self.position].help
    }

    /// The family that it belongs to.
    pub fn family(self) -> &'static Family {
        self.family
    }

    /// Its position in [`Family::members`].
    pub fn position(self) -> usize {
        self.position
    }

    /// Rows for it, with the default of each parameter that is not given.
    ///
    /// # Errors
    /// As [`DataKind::data_spec`].
    pub fn data_spec(self, given: &[(&str, u64)]) -> Result<DataSpec, DataError> {
        self.family.data.data_spec(given)
    }
}

impl PartialEq for WorkloadName {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for WorkloadName {}

impl fmt::Debug for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for WorkloadName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl schemars::JsonSchema for WorkloadName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WorkloadName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// One workload, complete: the same specification gives the same rows, and the
/// same transactions from the same seed of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Which one.
    pub name: WorkloadName,
    /// Its initial rows.
    pub data: DataSpec,
    /// Random seed of these rows.
    pub seed: Seed,
    /// The mix as [`Mix::parse`] reads it; `None` for the workload's own.
    pub mix: Option<String>,
    /// The distribution of keys; `None` for the workload's own.
    pub distribution: Option<Distribution>,
    /// The user's own rows and statements, of the workload that has them.
    pub own: Option<Arc<Own>>,
    /// The tables and operations, of the workload that takes them; `None` for its own.
    pub shape: Option<Arc<Shape>>,
}

impl WorkloadSpec {
    /// A workload with its own mix and distribution.
    pub fn new(name: WorkloadName, data: DataSpec, seed: Seed) -> Self {
        Self {
            name,
            data,
            seed,
            mix: None,
            distribution: None,
            own: None,
            shape: None,
        }
    }

    /// Makes the workload.
    ///
    /// # Errors
    /// When the rows are another family's or another shape's, the mix cannot be read, or the
    /// family takes no distribution or no shape.
    pub fn build(&self) -> Result<Box<dyn Workload>, WorkloadError> {
        let family = self.name.family();
        if self.data.kind().name != family.data.name {
            return Err(WorkloadError::Rows {
                name: self.name,
                data: self.data,
            });
        }
        if self.distribution.is_some() && !family.takes_distribution {
            return Err(WorkloadError::Distribution {
                title: family.data.title,
            });
        }
        if self.shape.is_some() && !family.takes_shape {
            return Err(WorkloadError::NoShape {
                title: family.data.title,
            });
        }
        (family.make)(self)
    }

    /// The mix that is given, or else the workload's own.
    ///
    /// # Errors
    /// When the mix is not one of this workload's kinds of transactions.
    pub fn mix_for(&self, workload: &dyn Workload) -> Result<Mix, MixError> {
        match &self.mix {
            Some(mix) => Mix::parse(mix, workload.transactions()),
            None => Ok(workload.mix().clone()),
        }
    }

    /// The scale, which the family's description limits to 32 bits.
    pub(crate) fn scale_u32(&self) -> u32 {
        u32::try_from(self.data.scale()).expect("the family's largest scale has 32 bits")
    }
}
