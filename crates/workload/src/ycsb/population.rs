//! The initial rows, in key order.
//!
//! The hashes scatter the key numbers over the keys, so a partition is a range
//! of keys: all numbers are hashed, and those whose key is in the range are
//! kept and sorted. That costs a pass over the numbers a partition, some
//! nanoseconds each, and 16 bytes a row of the partition.

use octavo_units::Seed;

use super::{
    key::{KeyPlace, push_key, quantile},
    schema::FIELDS,
};
use crate::{
    population::{Partition, Population, RowBatch},
    random::Draws,
    schema::TableId,
};

/// Partitions are this large at least, so that threads are not busier hashing
/// than making rows.
const PARTITION_ROWS: u64 = 20_000;

/// More of them would only hash more.
const PARTITIONS_MAX: u64 = 64;

#[derive(Debug)]
pub(super) struct YcsbPopulation {
    pub(super) records: u64,
    /// Bytes of a field.
    pub(super) field_length: usize,
    pub(super) seed: Seed,
}

impl YcsbPopulation {
    fn parts(&self) -> u64 {
        (self.records / PARTITION_ROWS).clamp(1, PARTITIONS_MAX)
    }
}

/// The draws of what the row of a key number holds, the same whether it is
/// loaded or inserted.
pub(super) fn row_draws(seed: Seed, number: u64) -> Draws {
    Draws::new(seed.derive("usertable", number))
}

impl Population for YcsbPopulation {
    fn partitions(&self) -> Vec<Partition> {
        let parts = self.parts();
        let partition = |part| Partition {
            table: TableId(0),
            part: part as u32,
            rows_about: self.records / parts,
        };
        (0..parts).map(partition).collect()
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        batch.reset(partition.table, 1 + FIELDS);
        let (part, parts) = (u64::from(partition.part), self.parts());
        // The first and the last range have no end: no key is left out.
        let low = if part == 0 { 0 } else { quantile(part, parts) };
        let range = match part + 1 == parts {
            true => low..=u64::MAX,
            false => low..=quantile(part + 1, parts) - 1,
        };
        let mut places = Vec::with_capacity((self.records / parts) as usize);
        places.extend(
            (0..self.records)
                .map(KeyPlace::new)
                .filter(|place| range.contains(&place.digits)),
        );
        places.sort_unstable();
        for KeyPlace { number, .. } in places {
            batch.push_text(|text| push_key(text, number));
            let mut draws = row_draws(self.seed, number);
            for _ in 0..FIELDS {
                batch.push_text(|text| draws.text(text, self.field_length));
            }
            if batch.end_row(consume).is_break() {
                return;
            }
        }
        batch.end(consume);
    }
}
