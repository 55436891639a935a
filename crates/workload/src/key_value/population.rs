//! The initial rows, in key order.
//!
//! Hashed keys are anywhere, so a partition is a range of places: all numbers are permuted, and
//! those whose place is in the range are kept and sorted. That costs a pass over the numbers a
//! partition, some nanoseconds each, and 8 bytes a row of the partition.

use std::{ops::RangeInclusive, sync::Arc};

use super::{contents::Contents, key::KeyId};
use crate::{
    population::{Partition, Population, RowBatch},
    schema::TableId,
    shape::KeyOrder,
};

/// Partitions are this large at least, so that threads are not busier permuting than making rows.
const PARTITION_ROWS: u64 = 20_000;

/// More of them would only permute more.
const PARTITIONS_MAX: u64 = 64;

#[derive(Debug)]
pub(super) struct KeyValuePopulation {
    pub(super) contents: Arc<Contents>,
}

impl KeyValuePopulation {
    fn parts(&self, table: usize) -> u64 {
        (self.contents.tables[table].keys / PARTITION_ROWS).clamp(1, PARTITIONS_MAX)
    }

    /// The places of a part.
    fn places(&self, table: usize, part: u64) -> RangeInclusive<u64> {
        let places = u128::from(self.contents.tables[table].form.places());
        let parts = u128::from(self.parts(table));
        let begin =
            |part: u64| u64::try_from(places * u128::from(part) / parts).unwrap_or(u64::MAX);
        begin(part)..=begin(part + 1) - 1
    }
}

impl Population for KeyValuePopulation {
    fn partitions(&self) -> Vec<Partition> {
        let tables = self.contents.tables.iter().enumerate();
        let partitions = tables.flat_map(|(position, table)| {
            let parts = self.parts(position);
            (0..parts).map(move |part| Partition {
                table: TableId(position),
                // Few of them.
                part: u32::try_from(part).unwrap_or(u32::MAX),
                rows_about: table.keys * (part + 1) / parts - table.keys * part / parts,
            })
        });
        partitions.collect()
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        batch.reset(partition.table, 2);
        let position = partition.table.0;
        let table = &self.contents.tables[position];
        let (part, parts) = (u64::from(partition.part), self.parts(position));
        let mut places: Vec<u64> = match table.form.order() {
            // By numbers: all of them stand at the beginning.
            KeyOrder::Sequential => {
                let bound = |part| table.keys * part / parts;
                let numbers = bound(part)..bound(part + 1);
                numbers
                    .map(|number| table.form.place(KeyId::of(number)))
                    .collect()
            }
            KeyOrder::Hashed => {
                let range = self.places(position, part);
                let all = (0..table.keys).map(|number| table.form.place(KeyId::of(number)));
                all.filter(|place| range.contains(place)).collect()
            }
        };
        places.sort_unstable();
        for place in places {
            let Some(number) = table.form.at(place).number() else {
                continue;
            };
            batch.push_text(|text| table.form.push_place(text, place));
            let version = self.contents.first_version(position, number);
            batch.push_text(|text| self.contents.push(text, position, number, version));
            if batch.end_row(consume).is_break() {
                return;
            }
        }
        batch.end(consume);
    }
}
