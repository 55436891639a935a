//! Blocks of warm-ups as they are kept.

use rusqlite::Row;

use super::{Store, StoreError, from_integer, runs::key, seconds};
use crate::{lockstep::WarmUpBlock, record::RunKey};

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
            |row| block(row, key(row, "sitting", "cell")?),
        )
    }
}

/// Reads a row of the table `warm_up`, of this run.
pub(super) fn block(row: &Row<'_>, run: RunKey) -> rusqlite::Result<WarmUpBlock> {
    let response: Option<f64> = row.get("response_s")?;
    Ok(WarmUpBlock {
        sitting: run.sitting,
        cell: run.cell,
        number: row.get("block")?,
        sent: from_integer(row, "sent")?,
        transactions: from_integer(row, "transactions")?,
        counted: from_integer(row, "counted")?,
        elapsed: seconds(row, "elapsed_s")?,
        misses: from_integer(row, "buffer_misses")?,
        response: response.map(|_| seconds(row, "response_s")).transpose()?,
    })
}
