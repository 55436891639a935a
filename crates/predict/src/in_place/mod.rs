//! Databases that keep rows in heaps and change them where they are: as Oracle does, with
//! undo records in pages of their own, and as CUBRID does, whose log has them.
//!
//! They are made from what is published of them, and were not compared with servers.

mod cubrid;
mod engine;
mod heap;
mod layout;
mod log;
mod oracle;
mod rules;
mod storage;
mod undo;

use octavo_units::PageSize;
use octavo_workload::Workload;

use crate::{
    engine::{Engine, EngineError, Modeled, Opening},
    pages::ObjectPages,
};
use engine::InPlace;
use rules::Rules;

pub(crate) use cubrid::KIND as CUBRID_LIKE;
pub(crate) use oracle::KIND as ORACLE_LIKE;

impl<R: Rules + Copy + std::fmt::Debug + 'static> Modeled for R {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError> {
        Ok(Box::new(InPlace::new(Box::new(*self), opening)?))
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        layout::sizes(self, workload, page_size.get())
    }
}
