//! A database that is modeled, with its settings.

use std::sync::Arc;

use octavo_database::DatabaseError;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    description::ModeledKind,
    engine::{Engine, EngineError, Modeled},
    pages::ObjectPages,
};

/// A database that is modeled, with the settings that decide what it does:
/// [`ModeledKind::model`] makes it.
#[derive(Clone, Debug)]
pub struct Model {
    kind: &'static ModeledKind,
    modeled: Arc<dyn Modeled>,
}

impl ModeledKind {
    /// The model of the database with these options, on storage of which the system says that
    /// it rotates or not.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for an option that the database does not have, and for one
    /// that is not modeled.
    pub fn model(
        &'static self,
        options: &[(String, String)],
        rotates: bool,
    ) -> Result<Model, DatabaseError> {
        let modeled = (self.model)(&self.database.read(options)?, rotates)?;
        Ok(Model {
            kind: self,
            modeled,
        })
    }
}

impl Model {
    /// The database's description.
    pub fn kind(&self) -> &'static ModeledKind {
        self.kind
    }

    /// How many pages each table and index has after loading.
    pub fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        self.modeled.sizes(workload, page_size)
    }

    pub(crate) fn open(
        &self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
        clients: u32,
    ) -> Result<Box<dyn Engine>, EngineError> {
        self.modeled.open(workload, page_size, memory, clients)
    }
}
