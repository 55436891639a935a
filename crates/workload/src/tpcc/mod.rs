//! TPC-C to the letter of its specification, revision 5.11
//! (<https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf>).
//!
//! Nothing here is audited by the TPC, so throughput is reported as new orders
//! per minute (NOPM) and never as tpmC. The terminals' screens, and keying and
//! think times, are not part of this module.

mod answer;
mod audit;
mod consistency;
mod constants;
mod inputs;
mod population;
mod random;
mod schema;
mod statements;
mod terminals;
mod transactions;

use std::sync::Arc;

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, ConnectionError, TransactionKind, Workload,
    connection::Statement, population::Population, schema::Table,
};
use constants::Constants;
use population::{TpccPopulation, constant_rows};

pub use terminals::Terminals;
pub use transactions::{LineReply, NewOrderReply};

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

/// TPC-C at one scale: 10 terminals, about 499,000 rows and 75 MB a
/// warehouse, and 100,000 items.
#[derive(Clone, Debug)]
pub struct Tpcc {
    warehouses: u32,
    seed: Seed,
    constants: Constants,
}

impl Tpcc {
    /// The largest scale, about 75 TB: a guard against mistyped flags rather
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

    /// The scale.
    pub fn warehouses(&self) -> u32 {
        self.warehouses
    }

    /// The terminals of client `index` out of `clients`, as
    /// [`Workload::client`] gives them, with what TPC-C alone can tell.
    pub fn terminals(&self, seed: Seed, index: u32, clients: u32) -> Terminals {
        Terminals::new(self, seed, index, clients)
    }
}

/// The kinds in the order of [`inputs::Kind`].
static TRANSACTIONS: [TransactionKind; 5] = [
    TransactionKind {
        name: "New-Order",
        deferred: false,
        counted: true,
    },
    TransactionKind {
        name: "Payment",
        deferred: false,
        counted: false,
    },
    TransactionKind {
        name: "Order-Status",
        deferred: false,
        counted: false,
    },
    TransactionKind {
        name: "Delivery",
        deferred: true,
        counted: false,
    },
    TransactionKind {
        name: "Stock-Level",
        deferred: false,
        counted: false,
    },
];

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn tables(&self) -> &'static [Table] {
        &schema::TABLES
    }

    fn statements(&self) -> &'static [Statement] {
        statements::STATEMENTS
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        &TRANSACTIONS
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(TpccPopulation {
            warehouses: self.warehouses,
            seed: self.seed,
            constants: self.constants,
        })
    }

    fn client(&self, seed: Seed, index: u32, clients: u32) -> Box<dyn Client> {
        Box::new(self.terminals(seed, index, clients))
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        let constants = constant_rows(self.warehouses, self.seed, &self.constants);
        consistency::check(connection, self.warehouses, &constants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inputs::Kind;

    #[test]
    fn a_scale_out_of_range_is_named() {
        let error = Tpcc::new(0, Seed::new(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "0 warehouses are not possible: choose from 1 to 1000000"
        );
        assert!(Tpcc::new(Tpcc::WAREHOUSES_MAX, Seed::new(1)).is_ok());
        assert!(Tpcc::new(Tpcc::WAREHOUSES_MAX + 1, Seed::new(1)).is_err());
    }

    #[test]
    fn kinds_stand_where_their_positions_say() {
        for (kind, name) in [
            (Kind::NewOrder, "New-Order"),
            (Kind::Payment, "Payment"),
            (Kind::OrderStatus, "Order-Status"),
            (Kind::Delivery, "Delivery"),
            (Kind::StockLevel, "Stock-Level"),
        ] {
            let transaction = &TRANSACTIONS[kind as usize];
            assert_eq!(transaction.name, name);
            assert_eq!(transaction.counted, kind == Kind::NewOrder);
            assert_eq!(transaction.deferred, kind == Kind::Delivery);
        }
    }
}
