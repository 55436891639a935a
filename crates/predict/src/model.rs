//! A database that is modeled, with its settings.

use std::sync::Arc;

use octavo_buffer::{NamedPolicy, Trace};
use octavo_database::DatabaseError;
use octavo_units::PageSize;
use octavo_workload::Workload;

use crate::{
    description::ModeledKind,
    engine::{Engine, EngineError, Modeled, Opening},
    pages::ObjectPages,
    replacement::{Recording, Replacement},
};

/// The option of every modeled database that names the policy of its buffer, as
/// [`NamedPolicy::name`] has it. Databases themselves have no such option.
pub const REPLACEMENT: &str = "replacement";

/// The policy that knows the future: the bound of all, which no database can have.
pub const OPTIMAL: &str = NamedPolicy::Opt.name();

/// Of a modeled database's options those that the database itself has.
pub fn database_options(options: &[(String, String)]) -> Vec<(String, String)> {
    let own = options.iter().filter(|(name, _)| name != REPLACEMENT);
    own.cloned().collect()
}

/// A database that is modeled, with the settings that decide what it does:
/// [`ModeledKind::model`] makes it.
#[derive(Clone, Debug)]
pub struct Model {
    kind: &'static ModeledKind,
    modeled: Arc<dyn Modeled>,
    replacement: Replacement,
}

impl ModeledKind {
    /// The model of the database with these options, on storage of which the system says that
    /// it rotates or not. [`REPLACEMENT`] among them replaces the policy of its buffer.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for an option that the database does not have, and for one
    /// that is not modeled.
    pub fn model(
        &'static self,
        options: &[(String, String)],
        rotates: bool,
    ) -> Result<Model, DatabaseError> {
        let own = self.database.read(&database_options(options))?;
        let modeled = (self.model)(&own, rotates)?;
        let replacement = match options.iter().find(|(name, _)| name == REPLACEMENT) {
            None => Replacement::Own,
            Some((_, name)) => Replacement::Named(
                name.parse()
                    .map_err(|reason: &str| self.database.refuse(REPLACEMENT, name, reason))?,
            ),
        };
        Ok(Model {
            kind: self,
            modeled,
            replacement,
        })
    }
}

impl Model {
    /// The database's description.
    pub fn kind(&self) -> &'static ModeledKind {
        self.kind
    }

    /// Whether its buffer is to have the policy OPT, which needs a future
    /// ([`Self::foresee`]).
    pub fn is_optimal(&self) -> bool {
        matches!(self.replacement, Replacement::Named(NamedPolicy::Opt))
    }

    /// Gives its buffer the policy OPT, to which these references are the future.
    #[must_use]
    pub fn foresee(mut self, references: Trace) -> Self {
        self.replacement = Replacement::Foreseeing(Arc::new(references));
        self
    }

    /// Gives its buffer LRU, and records what is referenced.
    pub(crate) fn record(mut self, recording: &Recording) -> Self {
        self.replacement = Replacement::Recorded(recording.clone());
        self
    }

    /// How many pages each table and index has after loading.
    pub fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        self.modeled.sizes(workload, page_size)
    }

    /// Whether it can be predicted in small ([`Miniature`](crate::Miniature)): not with a policy
    /// that is put in the place of its own.
    pub fn is_divisible(&self) -> bool {
        self.modeled.is_divisible() && matches!(self.replacement, Replacement::Own)
    }

    /// Which policy its buffer has.
    pub(crate) fn replacement(&self) -> &Replacement {
        &self.replacement
    }

    /// The database after loading, with the buffer's memory as it is given.
    pub(crate) fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError> {
        match self.is_optimal() {
            true => Err(EngineError::NoFuture),
            false => self.modeled.open(opening),
        }
    }
}
