//! Blocks of warm-ups as they are kept.

use super::{Store, StoreError, from_integer, runs::key, seconds};
use crate::lockstep::WarmUpBlock;

impl Store {
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
