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

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{engine::EngineError, pages::ObjectPages};
use cubrid::Cubrid;
pub(crate) use engine::InPlace;
use oracle::Oracle;
pub use oracle::OracleSettings;
use rules::Rules;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlaceKind {
    /// As Oracle 11.2.
    OracleLike(OracleSettings),
    /// As CUBRID 8.4.
    CubridLike,
}

impl InPlaceKind {
    fn rules(self) -> Box<dyn Rules> {
        match self {
            Self::OracleLike(settings) => Box::new(Oracle(settings)),
            Self::CubridLike => Box::new(Cubrid),
        }
    }

    /// The database after loading, with an empty buffer.
    pub(crate) fn open(
        self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
    ) -> Result<InPlace, EngineError> {
        InPlace::new(self.rules(), workload, page_size, memory)
    }

    /// How many pages each table and index has.
    pub(crate) fn sizes(self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        layout::sizes(self.rules().as_ref(), workload, page_size.get())
    }
}
