//! TPC-C to the letter of its specification, revision 5.11
//! (<https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf>).
//!
//! Nothing here is audited by the TPC, so throughput is reported as new orders
//! per minute (NOPM) and never as tpmC. The terminals' screens are left out;
//! keying and think times are stated here and kept by whoever drives.

mod audit;
mod consistency;
mod constants;
mod inputs;
mod money;
mod population;
mod random;
mod schema;
mod statements;
mod terminals;
mod transactions;

use std::{sync::Arc, time::Duration};

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, ConnectionError, DataError, DataKind, DataSet, Deviation,
    Family, Member, Mix, Pace, Parameter, TransactionKind, Trial, Unit, Workload, boxed,
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

/// TPC-C, scaled by warehouses.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "tpcc",
        title: "TPC-C",
        parameters: &[WAREHOUSES],
    },
    members: &[Member {
        name: "tpcc",
        help: "TPC-C, revision 5.11",
    }],
    takes_distribution: false,
    trial: Trial {
        data: &[("warehouses", 1)],
        mix: None,
        transactions: 400,
    },
    make: |spec| {
        let tpcc = Tpcc::new(spec.scale_u32(), spec.seed)?;
        let mix = spec.mix_for(&tpcc)?;
        Ok(Box::new(tpcc.with_mix(mix)))
    },
};

const WAREHOUSES: Parameter = Parameter {
    name: "warehouses",
    unit: Unit::Count,
    help: "TPC-C warehouses, about 75 MB each",
    noun: Some("warehouse"),
    label: ", warehouses: ",
    default: |_| 2,
    min: |_| 1,
    max: Tpcc::WAREHOUSES_MAX as u64,
    multiple_of: 1,
};

/// TPC-C at one scale: 10 terminals, about 499,000 rows and 75 MB a
/// warehouse, and 100,000 items.
#[derive(Clone, Debug)]
pub struct Tpcc {
    warehouses: u32,
    seed: Seed,
    constants: Constants,
    mix: Mix,
}

impl Tpcc {
    /// The largest scale, about 75 TB: a guard against mistyped flags rather
    /// than a limit of the specification.
    pub const WAREHOUSES_MAX: u32 = 1_000_000;

    /// TPC-C with `warehouses` warehouses, 1 to [`Self::WAREHOUSES_MAX`].
    /// `seed` determines the population and the constants of the non-uniform
    /// draws.
    ///
    /// # Errors
    /// [`DataError::Range`] of `warehouses`.
    pub fn new(warehouses: u32, seed: Seed) -> Result<Self, DataError> {
        WAREHOUSES.check(warehouses.into(), 0)?;
        Ok(Self {
            warehouses,
            seed,
            constants: Constants::new(seed),
            mix: Mix::new(&inputs::CARDS),
        })
    }

    /// The same with another mix than the specification's smallest deck. Its
    /// weights are the cards of each client's deck.
    pub fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// The scale.
    pub fn warehouses(&self) -> u32 {
        self.warehouses
    }

    /// The terminals of client `index` out of `clients`, as
    /// [`Workload::clients`] gives them, with what TPC-C alone can tell.
    pub fn terminals_of(&self, seed: Seed, index: u32, clients: u32) -> Terminals {
        Terminals::new(self, seed, index, clients)
    }
}

/// The kinds in the order of [`inputs::Kind`]: keying and think times, and
/// the 90th percentile of response times (clause 5.2.5.7). Delivery's limit is
/// that of its deferred part (clause 2.7.2.2); the 5 s until its terminal is
/// answered are kept in any case, since it is only queued by then.
static TRANSACTIONS: [TransactionKind; 5] = [
    TransactionKind {
        counted: true,
        ..kind("New-Order", 18, 12, 5)
    },
    kind("Payment", 3, 12, 5),
    kind("Order-Status", 2, 10, 5),
    TransactionKind {
        deferred: true,
        ..kind("Delivery", 2, 5, 80)
    },
    kind("Stock-Level", 2, 5, 20),
];

const fn kind(name: &'static str, keying: u64, think: u64, limit: u64) -> TransactionKind {
    TransactionKind {
        name,
        deferred: false,
        counted: false,
        response_limit: Some(Duration::from_secs(limit)),
        pace: Some(Pace {
            keying: Duration::from_secs(keying),
            think_mean: Duration::from_secs(think),
        }),
    }
}

/// The smallest shares of Payment, Order-Status, Delivery and Stock-Level in
/// percent; New-Order takes what is left (clause 5.2.3).
const SHARES_MIN: [f64; 5] = [0.0, 43.0, 4.0, 4.0, 4.0];

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn data_set(&self) -> DataSet {
        FAMILY.data.of_values(&[self.warehouses.into()])
    }

    fn tables(&self) -> &[Table] {
        &schema::TABLES
    }

    fn statements(&self) -> &'static [Statement] {
        statements::STATEMENTS
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        &TRANSACTIONS
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }

    fn counted_name(&self) -> &'static str {
        "new orders"
    }

    fn terminals(&self) -> Option<u32> {
        Some(self.warehouses.saturating_mul(10))
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(TpccPopulation {
            warehouses: self.warehouses,
            seed: self.seed,
            constants: self.constants,
        })
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        boxed(count, |index| self.terminals_of(seed, index, count))
    }

    fn operators(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        boxed(count, |index| {
            Terminals::of_operator(self, seed, index, count)
        })
    }

    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        let below = (0..TRANSACTIONS.len())
            .any(|kind| self.mix.share(kind) * 100.0 < SHARES_MIN[kind] - 1e-9);
        below
            .then_some(Deviation::MixBelowMinimum)
            .into_iter()
            .collect()
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
        assert_eq!(error.to_string(), "warehouses must be 1 to 1000000, not 0");
        assert!(Tpcc::new(Tpcc::WAREHOUSES_MAX, Seed::new(1)).is_ok());
        assert!(Tpcc::new(Tpcc::WAREHOUSES_MAX + 1, Seed::new(1)).is_err());
    }

    #[test]
    fn a_mix_below_the_minimum_is_a_caveat() {
        let tpcc = Tpcc::new(1, Seed::new(1)).unwrap();
        assert!(tpcc.deviations(1).is_empty());
        let tpcc = tpcc.with_mix(Mix::new(&[45, 43, 4, 4, 4]));
        assert!(tpcc.deviations(1).is_empty());
        let tpcc = tpcc.with_mix(Mix::new(&[46, 43, 4, 4, 3]));
        assert_eq!(tpcc.deviations(1), [Deviation::MixBelowMinimum]);
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
