//! YCSB's core workloads (Cooper et al., "Benchmarking Cloud Serving Systems
//! with YCSB", SoCC 2010; <https://github.com/brianfrankcooper/YCSB>), on one
//! table in SQL.
//!
//! As in YCSB: keys are `user` and the hash of the key number, an update
//! writes one field, a read returns all ten, and no operation opens a
//! transaction, so that a read-modify-write is two statements. Unlike YCSB:
//!
//! - Zipf distributions are exact (see [`Zipf`]).
//! - Uniform and hotspot draws take in the inserted keys.
//! - A failed insert is no hole: if its client gives up, the next insert of any
//!   client has the same key.
//! - A read that finds nothing is an error.
//! - Field values are letters and digits, and those of a row that is loaded
//!   or inserted are the same for one seed.
//! - Data is loaded in key order, since that is each database's fastest way;
//!   YCSB inserts in random order, which leaves pages emptier.

mod answer;
mod audit;
mod check;
mod client;
mod core;
mod insert;
mod key;
mod keyed;
mod population;
mod run_keys;
mod schema;
mod statements;
mod touched;

use std::sync::Arc;

use octavo_units::{ByteCount, Seed};

pub use self::core::Core;
pub use crate::keys::{Distribution, DistributionError, Hotspot, KeyDraws, Theta, Zipf};

use self::{
    client::YcsbClient, core::Kind, insert::NewRecord, population::YcsbPopulation,
    run_keys::RunKeys,
};
use crate::{
    Client, Condition, Connection, ConnectionError, DataError, DataKind, DataSpec, Deviation,
    Family, KindTrial, Mix, Parameter, ROW_BYTES, TransactionKind, Trial, Unit, Workload, boxed,
    connection::{Statement, StatementId},
    keyed::Keyed,
    keys::{Chooser, Growth},
    population::Population,
    random::Draws,
    schema::Table,
    touch::TouchTracer,
};
use schema::{FIELDS, field_length};
use touched::TouchedRows;

/// YCSB's core workloads, scaled by records.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "ycsb",
        title: "YCSB",
        parameters: &[RECORDS, ROW],
    },
    members: &core::MEMBERS,
    takes_distribution: true,
    takes_shape: false,
    is_divisible: false,
    trial: Trial {
        data: &[("records", 10_000)],
        mix: Some("read=1,update=2,insert=1,scan=1,read-modify-write=1"),
        transactions: 400,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: true,
        mix: None,
    },
    make: |spec| {
        let row = spec.data.row_bytes().unwrap_or(Ycsb::ROW_DEFAULT);
        let mut ycsb = Ycsb::new(spec.data.scale(), spec.seed)?
            .with_row(row)?
            .with_core(Core::ALL[spec.name.position()]);
        if let Some(distribution) = spec.distribution {
            ycsb = ycsb.with_distribution(distribution);
        }
        let mix = spec.mix_for(&ycsb)?;
        Ok(Box::new(ycsb.with_mix(mix)))
    },
};

const RECORDS: Parameter = Parameter {
    name: "records",
    unit: Unit::Count,
    help: "YCSB records",
    noun: Some("record"),
    label: ", records: ",
    default: |_| 100_000,
    min: |_| 1,
    max: Ycsb::RECORDS_MAX,
    multiple_of: 1,
};

const ROW: Parameter = Parameter {
    name: ROW_BYTES,
    unit: Unit::Bytes,
    help: "Bytes of a YCSB record's ten fields",
    noun: None,
    label: " of ",
    default: |_| Ycsb::ROW_DEFAULT.get(),
    min: |_| FIELDS as u64,
    max: Ycsb::ROW_MAX.get(),
    multiple_of: FIELDS as u64,
};

/// YCSB with one number of records.
#[derive(Clone, Debug)]
pub struct Ycsb {
    records: u64,
    row: ByteCount,
    core: Core,
    distribution: Distribution,
    mix: Mix,
    seed: Seed,
    tables: [Table; 1],
}

impl Ycsb {
    /// The most records, 1 TB at the usual width: all their keys differ, which
    /// was tried out, since the hash does not promise it.
    pub const RECORDS_MAX: u64 = 1_000_000_000;

    /// The widest row, so that it fits MySQL's largest with a byte a
    /// character.
    pub const ROW_MAX: ByteCount = ByteCount::new(60_000);

    /// The ten fields of YCSB's row together.
    pub const ROW_DEFAULT: ByteCount = ByteCount::new(1000);

    /// Core workload A on `records` records, 1 to [`Self::RECORDS_MAX`], of
    /// [`Self::ROW_DEFAULT`]. `seed` determines what all rows hold, those that
    /// are inserted later as well.
    ///
    /// # Errors
    /// [`DataError::Range`] of `records`.
    pub fn new(records: u64, seed: Seed) -> Result<Self, DataError> {
        RECORDS.check(records, 0)?;
        Ok(Self {
            records,
            row: Self::ROW_DEFAULT,
            core: Core::A,
            distribution: Core::A.distribution(),
            mix: Core::A.mix(),
            seed,
            tables: [schema::table(field_length(Self::ROW_DEFAULT))],
        })
    }

    /// The same with another core workload, its mix and its distribution.
    pub fn with_core(self, core: Core) -> Self {
        Self {
            core,
            distribution: core.distribution(),
            mix: core.mix(),
            ..self
        }
    }

    /// The same with rows whose ten fields have this many bytes together: a
    /// multiple of ten up to [`Self::ROW_MAX`].
    ///
    /// # Errors
    /// [`DataError::Range`] of `row-bytes`.
    pub fn with_row(self, row: ByteCount) -> Result<Self, DataError> {
        ROW.check(row.get(), self.records)?;
        Ok(Self {
            row,
            tables: [schema::table(field_length(row))],
            ..self
        })
    }

    /// The same with another distribution of the keys than the core
    /// workload's.
    pub fn with_distribution(self, distribution: Distribution) -> Self {
        Self {
            distribution,
            ..self
        }
    }

    /// The same with another mix than the core workload's: Read, Update,
    /// Insert, Scan, Read-Modify-Write.
    ///
    /// # Panics
    /// When it has not these five kinds.
    pub fn with_mix(self, mix: Mix) -> Self {
        assert_eq!(mix.weights().len(), core::TRANSACTIONS.len());
        Self { mix, ..self }
    }

    /// The number of records that are loaded.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How often operations fall on which keys.
    pub fn distribution(&self) -> Distribution {
        self.distribution
    }

    fn growth(&self) -> Growth {
        match self.mix.weights()[Kind::Insert as usize] {
            0 => Growth::Fixed,
            _ => Growth::Growing,
        }
    }

    fn population_of_rows(&self) -> YcsbPopulation {
        YcsbPopulation {
            records: self.records,
            field_length: field_length(self.row),
            seed: self.seed,
        }
    }
}

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        self.core.name()
    }

    fn data_spec(&self) -> DataSpec {
        FAMILY.data.of_values(&[self.records, self.row.get()])
    }

    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn statements(&self) -> &'static [Statement] {
        statements::STATEMENTS
    }

    fn keyed(&self, statement: StatementId) -> Option<Keyed> {
        Some(keyed::keyed(statement))
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        &core::TRANSACTIONS
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }

    fn counted_name(&self) -> &'static str {
        "operations"
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(self.population_of_rows())
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        let keys = Arc::new(RunKeys::new(self.records, count));
        let chooser = Chooser::new(self.distribution, self.records, self.growth());
        boxed(count, |index| {
            let draws = Draws::new(seed.derive("client", u64::from(index)));
            let record = NewRecord::new(self.seed, field_length(self.row));
            let (keys, chooser) = (Arc::clone(&keys), chooser.clone());
            YcsbClient::new(self.mix.clone(), draws, record, keys, chooser)
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        TouchTracer::new(
            TouchedRows::new(self.records, field_length(self.row)),
            statements::STATEMENTS,
            self.tables(),
        )
    }

    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        let mut deviations = Vec::new();
        if self.mix != self.core.mix() || self.distribution != self.core.distribution() {
            deviations.push(Deviation::NotCore {
                mix: self.mix.describe(self.transactions()).to_string(),
                distribution: self.distribution.to_string(),
                core: self.core.name().into(),
            });
        }
        let growth = self.growth();
        if growth == Growth::Growing && matches!(self.distribution, Distribution::Zipfian(_)) {
            deviations.push(Deviation::HotRecordsChange {
                records: growth.room(self.records),
            });
        }
        deviations
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        check::check(connection, self.records, field_length(self.row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ycsb() -> Ycsb {
        Ycsb::new(1000, Seed::new(1)).unwrap()
    }

    #[test]
    fn refusals_name_the_value_and_the_range() {
        let error = Ycsb::new(0, Seed::new(1)).unwrap_err();
        assert_eq!(error.to_string(), "records must be 1 to 1000000000, not 0");
        for bytes in [0, 9, 1001, 60_010] {
            let error = ycsb().with_row(ByteCount::new(bytes)).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("row-bytes must be a multiple of 10 from 10 to 60000, not {bytes}")
            );
        }
        assert!(ycsb().with_row(Ycsb::ROW_MAX).is_ok());
    }

    #[test]
    fn a_mix_or_distribution_beside_the_core_workload_is_a_deviation() {
        assert!(ycsb().deviations(1).is_empty());
        assert!(ycsb().with_core(Core::D).deviations(1).is_empty());
        let uniform = ycsb().with_distribution(Distribution::Uniform);
        assert_eq!(
            uniform.deviations(1),
            [Deviation::NotCore {
                mix: "read=50,update=50".into(),
                distribution: "uniform".into(),
                core: "ycsb-a".into(),
            }]
        );
    }

    #[test]
    fn hot_records_that_will_change_are_a_deviation() {
        let insert = Mix::new(&[1, 0, 1, 0, 0]);
        for (workload, has_deviation) in [
            (ycsb().with_core(Core::E), true),
            (ycsb().with_mix(insert), true),
            (ycsb().with_core(Core::C), false),
            (ycsb().with_core(Core::D), false),
        ] {
            let deviations = workload.deviations(1);
            let change = Deviation::HotRecordsChange { records: 2000 };
            assert_eq!(
                deviations.contains(&change),
                has_deviation,
                "{deviations:?}"
            );
        }
    }
}
