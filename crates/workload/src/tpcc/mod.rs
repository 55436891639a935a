//! TPC-C to the letter of its specification, revision 5.11
//! (<https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf>).
//!
//! Nothing here is audited by the TPC, so throughput is reported as new orders
//! per minute (NOPM) and never as tpmC. The terminals' screens are left out;
//! keying and think times are stated here and kept by whoever drives.

mod audit;
mod consistency;
mod inputs;
mod keyed;
mod kinds;
mod population;
mod random;
mod scaled;
mod schema;
mod statements;
mod terminals;
mod touched;
mod transactions;

use std::sync::Arc;

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, ConnectionError, DataKind, DataSpec, Deviation, Family,
    KindTrial, Member, Mix, TransactionKind, Trial, Workload, boxed,
    connection::{Statement, StatementId},
    keyed::Keyed,
    population::Population,
    schema::Table,
    touch::TouchTracer,
};
use kinds::{SHARES_MIN, SPECIFIED, TRANSACTIONS};
use population::{TpccPopulation, constant_rows};
use scaled::WAREHOUSES;

use touched::TouchedRows;

pub use population::POPULATION_DATE;
pub use scaled::Tpcc;
pub use terminals::Terminals;
pub use transactions::{LineReply, NewOrderReply};

/// TPC-C, scaled by warehouses.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "tpcc",
        title: "TPC-C",
        parameters: &[WAREHOUSES],
    },
    members: &[
        Member {
            name: "tpcc",
            title: "TPC-C",
            help: "TPC-C, revision 5.11",
        },
        Member {
            name: "tpcc-reports",
            title: "TPC-C with reports",
            help: "TPC-C, with 3% of reports over 1 MB of order lines",
        },
    ],
    takes_distribution: false,
    takes_shape: false,
    is_divisible: true,
    trial: Trial {
        data: &[("warehouses", 1)],
        mix: None,
        transactions: 400,
    },
    kind_trial: KindTrial {
        data: &[("warehouses", 8)],
        are_alone: false,
        // Few reports, so that the others have the time.
        mix: Some(
            "new-order=300,payment=300,order-status=30,delivery=30,stock-level=30,report=10,\
             long-report=3",
        ),
    },
    make: |spec| {
        let plain = Tpcc::new(spec.scale_u32(), spec.seed)?;
        let tpcc = match spec.name.position() {
            0 => plain,
            _ => plain.with_reports(),
        };
        let mix = spec.mix_for(&tpcc)?;
        Ok(Box::new(tpcc.with_mix(mix)))
    },
};

impl Tpcc {
    /// The terminals of client `index` out of `clients`, as
    /// [`Workload::clients`] gives them, with what TPC-C alone can tell.
    pub fn terminals_of(&self, seed: Seed, index: u32, clients: u32) -> Terminals {
        Terminals::new(self, seed, index, clients)
    }
}

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        FAMILY.members[usize::from(self.has_reports)].name
    }

    fn data_spec(&self) -> DataSpec {
        FAMILY.data.of_values(&[self.warehouses.into()])
    }

    fn tables(&self) -> &[Table] {
        &*schema::TABLES
    }

    fn statements(&self) -> &'static [Statement] {
        let specified = statements::STATEMENTS.len() - 1;
        match self.has_reports {
            true => statements::STATEMENTS,
            false => &statements::STATEMENTS[..specified],
        }
    }

    fn keyed(&self, statement: StatementId) -> Option<Keyed> {
        Some(keyed::keyed(statement))
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        match self.has_reports {
            true => &TRANSACTIONS,
            false => &TRANSACTIONS[..SPECIFIED],
        }
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

    fn joining_clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        // Each is at all terminals.
        boxed(count, |index| {
            self.terminals_of(seed.derive("joining", index.into()), 0, 1)
        })
    }

    fn operators(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        boxed(count, |index| {
            Terminals::of_operator(self, seed, index, count)
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        TouchTracer::new(
            TouchedRows::new(self.warehouses, &self.constants.surname_load, self.seed),
            statements::STATEMENTS,
            self.tables(),
        )
    }

    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        let below =
            (0..SPECIFIED).any(|kind| self.mix.share(kind) * 100.0 < SHARES_MIN[kind] - 1e-9);
        let below = below.then_some(Deviation::MixBelowMinimum);
        let reports: f64 = (SPECIFIED..self.mix.weights().len())
            .map(|kind| self.mix.share(kind))
            .sum();
        let reports = (reports > 0.0).then_some(Deviation::Reports { share: reports });
        below.into_iter().chain(reports).collect()
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        let constants = constant_rows(self.warehouses, self.seed, &self.constants);
        consistency::check(connection, self.warehouses, &constants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let tpcc = tpcc.with_reports();
        assert_eq!(tpcc.deviations(1), [Deviation::Reports { share: 0.03 }]);
        assert_eq!(tpcc.transactions().len(), tpcc.mix().weights().len());
    }
}
