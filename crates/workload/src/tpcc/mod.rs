//! TPC-C to the letter of its specification, revision 5.11
//! (<https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf>).
//!
//! Nothing here is audited by the TPC, so throughput is reported as new orders
//! per minute (NOPM) and never as tpmC. The terminals' screens, and keying and
//! think times, are not part of this module.

mod constants;
mod population;
mod random;
mod schema;

use std::sync::Arc;

use octavo_units::Seed;

use crate::{population::Population, schema::Table};
use constants::Constants;
use population::TpccPopulation;

/// When the population claims to have been made, 2026-01-01T00:00:00Z in
/// microseconds since 1970: the specification's "current date and time" would
/// make two loads of one seed differ.
pub const POPULATION_DATE: i64 = 1_767_225_600_000_000;

/// Why a [`Tpcc`] could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TpccError {
    /// The scale is out of range.
    #[error("{0} warehouses are not possible: choose from 1 to {max}", max = Tpcc::WAREHOUSES_MAX)]
    Warehouses(u32),
}

/// TPC-C at one scale: 10 terminals, about 499,000 rows and 100 MB a
/// warehouse, and 100,000 items.
#[derive(Clone, Debug)]
pub struct Tpcc {
    warehouses: u32,
    seed: Seed,
    constants: Constants,
}

impl Tpcc {
    /// The largest scale, about 100 TB: a guard against mistyped flags rather
    /// than a limit of the specification.
    pub const WAREHOUSES_MAX: u32 = 1_000_000;

    /// TPC-C with `warehouses` warehouses, 1 to [`Self::WAREHOUSES_MAX`].
    /// `seed` determines the population and the constants of the non-uniform
    /// draws.
    pub fn new(warehouses: u32, seed: Seed) -> Result<Self, TpccError> {
        if !(1..=Self::WAREHOUSES_MAX).contains(&warehouses) {
            return Err(TpccError::Warehouses(warehouses));
        }
        Ok(Self {
            warehouses,
            seed,
            constants: Constants::new(seed),
        })
    }

    /// Its tables in the order in which they are created.
    pub fn tables(&self) -> &'static [Table] {
        &schema::TABLES
    }

    /// Its initial rows.
    pub fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(TpccPopulation {
            warehouses: self.warehouses,
            seed: self.seed,
            constants: self.constants,
        })
    }

    /// The scale.
    pub fn warehouses(&self) -> u32 {
        self.warehouses
    }
}
