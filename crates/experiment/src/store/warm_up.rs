//! Blocks of warm-ups as they are kept.

use rusqlite::params;

use super::{Store, StoreError, from_integer, runs::key, seconds, to_integer};
use crate::lockstep::WarmUpBlock;

impl Store {
    /// Keeps blocks of the runs that are there.
    ///
    /// # Errors
    /// When the store cannot be written, as on a full disk; then none of them is kept.
    pub fn put_warm_up(&mut self, blocks: &[WarmUpBlock]) -> Result<(), StoreError> {
        self.write(|transaction| {
            let mut insert = transaction.prepare(
                "INSERT INTO warm_up SELECT run, ?3, ?4, ?5, ?6, ?7, ?8, ?9
                 FROM run WHERE sitting = ?1 AND cell = ?2 AND set_aside = 0",
            )?;
            for block in blocks {
                insert.execute(params![
                    block.sitting,
                    block.cell as i64,
                    block.number,
                    to_integer(block.sent),
                    to_integer(block.transactions),
                    to_integer(block.counted),
                    block.elapsed.as_secs_f64(),
                    to_integer(block.misses),
                    block.response.map(|response| response.as_secs_f64()),
                ])?;
            }
            Ok(())
        })
    }

    /// The blocks of all runs that have a result, by sitting, cell and number. None in stores before
    /// version 12.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn warm_up(&self) -> Result<Vec<WarmUpBlock>, StoreError> {
        self.collect(
            "SELECT sitting, cell, block, sent, warm_up.transactions, warm_up.counted, elapsed_s,
                    buffer_misses, response_s
             FROM warm_up JOIN run USING (run)
             WHERE set_aside = 0 AND failure IS NULL ORDER BY sitting, cell, block",
            &[],
            |row| {
                let run = key(row, 0, 1)?;
                let response: Option<f64> = row.get(8)?;
                Ok(WarmUpBlock {
                    sitting: run.sitting,
                    cell: run.cell,
                    number: row.get(2)?,
                    sent: from_integer(row, 3)?,
                    transactions: from_integer(row, 4)?,
                    counted: from_integer(row, 5)?,
                    elapsed: seconds(row, 6)?,
                    misses: from_integer(row, 7)?,
                    response: response.map(|_| seconds(row, 8)).transpose()?,
                })
            },
        )
    }
}
