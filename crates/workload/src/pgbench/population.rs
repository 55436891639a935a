//! The initial rows (`initBranch`, `initTeller`, `initAccount`): all balances
//! are 0; the filler of branches and tellers is NULL, that of accounts the
//! empty string, which `char` pads with blanks. The history is empty.

use super::schema::{ACCOUNTS, ACCOUNTS_PER_UNIT, BRANCHES, TELLERS, TELLERS_PER_UNIT};
use crate::{
    population::{Partition, Population, RowBatch},
    schema::TableId,
};

#[derive(Debug)]
pub(super) struct PgbenchPopulation {
    scale: u32,
    /// The filler of an account, padded: not every database pads what it
    /// loads, and all are to store the same.
    filler: String,
}

impl PgbenchPopulation {
    /// The rows at a scale, with `filler` blanks in an account.
    pub(super) fn new(scale: u32, filler: u32) -> Self {
        Self {
            scale,
            filler: " ".repeat(filler as usize),
        }
    }
}

impl Population for PgbenchPopulation {
    /// One partition of branches, one of tellers, and one of accounts for each
    /// unit of scale.
    fn partitions(&self) -> Vec<Partition> {
        let partition = |table, part, rows| Partition {
            table: TableId(table),
            part,
            rows_about: rows,
        };
        let units = u64::from(self.scale);
        let once = [
            partition(BRANCHES, 0, units),
            partition(TELLERS, 0, units * TELLERS_PER_UNIT.unsigned_abs()),
        ];
        let each = (1..=self.scale)
            .map(|unit| partition(ACCOUNTS, unit, ACCOUNTS_PER_UNIT.unsigned_abs()));
        once.into_iter().chain(each).collect()
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        let scale = i64::from(self.scale);
        let unit = i64::from(partition.part);
        let (columns, keys) = match partition.table.0 {
            BRANCHES => (3, 1..=scale),
            TELLERS => (4, 1..=scale * TELLERS_PER_UNIT),
            ACCOUNTS => (
                4,
                (unit - 1) * ACCOUNTS_PER_UNIT + 1..=unit * ACCOUNTS_PER_UNIT,
            ),
            _ => unreachable!("the history has no partition"),
        };
        batch.reset(partition.table, columns);
        for key in keys {
            batch.push_integer(key);
            match partition.table.0 {
                ACCOUNTS => batch.push_integer(unit),
                TELLERS => batch.push_integer((key - 1) / TELLERS_PER_UNIT + 1),
                _ => {}
            }
            batch.push_integer(0);
            match partition.table.0 {
                ACCOUNTS => batch.push_text(|text| text.push_str(&self.filler)),
                _ => batch.push_null(),
            }
            if batch.end_row(consume).is_break() {
                return;
            }
        }
        batch.end(consume);
    }
}
