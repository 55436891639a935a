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
mod open_keys;
mod population;
mod schema;
mod statements;

use std::sync::Arc;

use octavo_units::{ByteCount, Seed};

pub use self::core::Core;
pub use crate::keys::{Distribution, DistributionError, Hotspot, KeyDraws, Theta, Zipf};

use self::{client::YcsbClient, core::Kind, open_keys::OpenKeys, population::YcsbPopulation};
use crate::{
    Client, Condition, Connection, ConnectionError, DataSet, Deviation, Mix, TransactionKind,
    Workload,
    connection::Statement,
    keys::{AcknowledgedKeys, Chooser, Growth},
    population::Population,
    schema::Table,
};
use schema::FIELDS;

/// Why a [`Ycsb`] could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YcsbError {
    /// The number of records is out of range.
    #[error("{0} records are not possible: choose from 1 to {max}", max = Ycsb::RECORDS_MAX)]
    Records(u64),
    /// The width of a row is out of range.
    #[error(
        "a row of {bytes} bytes is not possible: choose a multiple of {FIELDS} up to {max}",
        bytes = .0.get(),
        max = Ycsb::ROW_MAX.get()
    )]
    Row(ByteCount),
}

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
    pub fn new(records: u64, seed: Seed) -> Result<Self, YcsbError> {
        if !(1..=Self::RECORDS_MAX).contains(&records) {
            return Err(YcsbError::Records(records));
        }
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
    pub fn with_row(self, row: ByteCount) -> Result<Self, YcsbError> {
        let possible = row > ByteCount::ZERO && row <= Self::ROW_MAX;
        if !possible || !row.get().is_multiple_of(FIELDS as u64) {
            return Err(YcsbError::Row(row));
        }
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

/// The bytes of each field of a row.
fn field_length(row: ByteCount) -> usize {
    row.get() as usize / FIELDS
}

/// What the clients of one run share.
#[derive(Debug)]
struct Shared {
    keys: AcknowledgedKeys,
    open_keys: OpenKeys,
}

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        self.core.name()
    }

    fn data_set(&self) -> DataSet {
        DataSet::Ycsb {
            records: self.records,
            row: self.row,
        }
    }

    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn statements(&self) -> &'static [Statement] {
        statements::STATEMENTS
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

    fn terminals(&self) -> Option<u32> {
        None
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(self.population_of_rows())
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        let shared = Arc::new(Shared {
            keys: AcknowledgedKeys::new(self.records),
            open_keys: OpenKeys::new(count),
        });
        let chooser = Chooser::new(self.distribution, self.records, self.growth());
        let client = |index| {
            let (shared, chooser) = (Arc::clone(&shared), chooser.clone());
            let client = YcsbClient::new(self, seed, index, shared, chooser);
            Box::new(client) as Box<dyn Client>
        };
        (0..count).map(client).collect()
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
        assert_eq!(
            error.to_string(),
            "0 records are not possible: choose from 1 to 1000000000"
        );
        for bytes in [0, 9, 1001, 60_010] {
            let error = ycsb().with_row(ByteCount::new(bytes)).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "a row of {bytes} bytes is not possible: choose a multiple of 10 up to 60000"
                )
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
        for (workload, is_remarked) in [
            (ycsb().with_core(Core::E), true),
            (ycsb().with_mix(insert), true),
            (ycsb().with_core(Core::C), false),
            (ycsb().with_core(Core::D), false),
        ] {
            let deviations = workload.deviations(1);
            let change = Deviation::HotRecordsChange { records: 2000 };
            assert_eq!(deviations.contains(&change), is_remarked, "{deviations:?}");
        }
    }
}
