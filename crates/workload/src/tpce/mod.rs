//! TPC-E-like, after the specification's revision 1.14
//! (<https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-e_v1.14.0.pdf>) and the
//! behaviour of its EGen: 33 tables of a brokerage house with their references and checks,
//! ten transactions, and a market that does the orders.
//!
//! Nothing here is audited by the TPC, so throughput is in trade results and never in tpsE.
//! Names, companies and towns are lists of our own, because EGen's may not be copied.
//! Each client has customers and a market. Time passes with transactions, at the
//! specification's nominal rate of a trade result a second for each 500 customers, however
//! fast they are: a run leaves what it would at that rate, and few orders wait.

mod audit;
mod calendar;
mod client;
mod clock;
mod consistency;
mod customers;
mod exchange;
mod holdings;
mod ids;
mod industries;
mod inputs;
mod keyed_draws;
mod kinds;
mod nurand;
mod people;
mod places;
mod population;
mod prices;
mod scaled;
mod schema;
mod securities;
mod statements;
mod touched;
mod trade_kind;
mod trading;
mod transactions;

use std::sync::{Arc, OnceLock};

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, DataError, DataKind, DataSpec, Deviation, Family, KindTrial,
    Member, Mix, MixError, Result, TransactionKind, Trial, Workload, boxed, connection::Statement,
    population::Population, schema::Table, touch::TouchTracer,
};
use client::TpceClient;
use clock::Clock;
use kinds::{TRANSACTIONS, WEIGHTS, with_results_and_feeds};
use population::TpcePopulation;
use scaled::{
    CUSTOMERS, SCALE_FACTOR, SPECIFIED_CUSTOMERS, SPECIFIED_DAYS, SPECIFIED_SCALE_FACTOR, Scale,
    TRADE_DAYS,
};
use touched::TouchedRows;

/// TPC-E-like, scaled by customers and by days of trades.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "tpce",
        title: "TPC-E-like",
        parameters: &[CUSTOMERS, TRADE_DAYS, SCALE_FACTOR],
    },
    members: &[Member {
        name: "tpce",
        title: "TPC-E-like",
        help: "TPC-E-like, after revision 1.14",
    }],
    takes_distribution: false,
    takes_shape: false,
    // A quarter of its customers missed 5 to 9% more often (PostgreSQL, 128 GiB with 4 GiB).
    is_divisible: false,
    trial: Trial {
        data: &[
            ("customers", 1000),
            ("trade-days", 1),
            ("scale-factor", 5000),
        ],
        mix: None,
        transactions: 2000,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: false,
        mix: None,
    },
    make: |spec| {
        let [customers, days, factor] = [CUSTOMERS, TRADE_DAYS, SCALE_FACTOR]
            .map(|parameter| spec.data.get(parameter.name).unwrap_or_default());
        let tpce = Tpce::new(customers, days, factor, spec.seed)?;
        let mix = spec.mix_for(&tpce)?;
        if !kinds::has_customers(&mix) {
            let text = spec.mix.clone().unwrap_or_default();
            return Err(MixError::Follows(text, "trade-order=1".into()).into());
        }
        Ok(Box::new(tpce.with_mix(&mix)))
    },
};

/// TPC-E-like data at one scale, and its transactions.
#[derive(Clone, Debug)]
pub struct Tpce {
    scale: Scale,
    mix: Mix,
    /// Shares of known trades, for the audit of all clients.
    trade_shares: OnceLock<Arc<Vec<f64>>>,
}

impl Tpce {
    /// `customers`, a multiple of 1,000 of 1,000 to 5,000,000; `trade_days` of trades that
    /// were done before the first run, 1 to 1,000 (the specification has 300); and
    /// `scale_factor`, a multiple of 10 of 10 to 10,000: as many customers complete a trade
    /// a second (the specification has 500). `seed` determines the population.
    ///
    /// # Errors
    /// [`DataError::Range`] of one of them.
    pub fn new(
        customers: u64,
        trade_days: u64,
        scale_factor: u64,
        seed: Seed,
    ) -> Result<Self, DataError> {
        Ok(Self {
            scale: Scale::new(seed, customers, trade_days, scale_factor)?,
            mix: Mix::new(&WEIGHTS),
            trade_shares: OnceLock::new(),
        })
    }

    /// The same with another mix. What follows from orders, results and feeds of the market,
    /// has the share that follows from them.
    ///
    /// # Panics
    /// When it has nothing that customers ask for.
    #[must_use]
    pub fn with_mix(self, mix: &Mix) -> Self {
        let mix = match mix.weights() == WEIGHTS {
            true => mix.clone(),
            false => with_results_and_feeds(mix),
        };
        Self { mix, ..self }
    }
}

impl Workload for Tpce {
    fn name(&self) -> &'static str {
        "tpce"
    }

    fn data_spec(&self) -> DataSpec {
        let Scale {
            customers,
            trade_days,
            scale_factor,
            ..
        } = self.scale;
        let values = [customers, trade_days, scale_factor].map(i64::unsigned_abs);
        FAMILY.data.of_values(&values)
    }

    fn tables(&self) -> &[Table] {
        &*schema::TABLES
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
        "trade results"
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(TpcePopulation { scale: self.scale })
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        let clock = Clock::new(&self.scale);
        let shares = self
            .trade_shares
            .get_or_init(|| Arc::new(inputs::trade_numbers(&self.scale).bin_shares()));
        boxed(count, |index| {
            TpceClient::new(&self.scale, &self.mix, &clock, shares, seed, [index, count])
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        TouchTracer::new(
            TouchedRows::new(&self.scale),
            statements::STATEMENTS,
            self.tables(),
        )
    }

    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        let Scale {
            customers,
            trade_days,
            scale_factor,
            ..
        } = self.scale;
        let is_other = customers < SPECIFIED_CUSTOMERS
            || trade_days != SPECIFIED_DAYS
            || scale_factor != SPECIFIED_SCALE_FACTOR;
        let scale = is_other.then_some(Deviation::Scale {
            customers: customers.unsigned_abs(),
            trade_days: trade_days.unsigned_abs(),
            scale_factor: scale_factor.unsigned_abs(),
        });
        let is_other_mix = self.mix.weights() != WEIGHTS;
        let mix = is_other_mix.then_some(Deviation::OtherMix);
        scale.into_iter().chain(mix).collect()
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>> {
        consistency::check(connection, &self.scale)
    }
}
