//! Steps of ramps as they are kept.

use octavo_driver::Latencies;
use octavo_units::ByteCount;
use rusqlite::{Row, params};

use super::{
    Store, StoreError, damage, from_integer, json, runs::key, seconds, to_integer, to_json,
};
use crate::{ramp::StepRecord, record::RunKey};

/// More transactions a second than any database has.
const RATE_MAX: f64 = 1e15;

impl Store {
    /// Keeps a step of a run that is there.
    ///
    /// # Errors
    /// When the store cannot be written, as on a full disk.
    pub fn put_step(&mut self, run: RunKey, step: &StepRecord) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO step SELECT run, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
             FROM run WHERE sitting = ?1 AND cell = ?2 AND set_aside = 0",
            params![
                run.sitting,
                run.cell as i64,
                step.clients,
                step.measured.as_secs_f64(),
                to_integer(step.transactions),
                to_integer(step.counted),
                to_integer(step.failed),
                to_integer(step.buffer_misses),
                to_integer(step.read_bytes.get()),
                to_integer(step.written_bytes.get()),
                to_json(&step.batches),
                step.latencies.packed(),
            ],
        )
    }

    /// The steps of all runs, by sitting, cell and clients.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn steps(&self) -> Result<Vec<(RunKey, StepRecord)>, StoreError> {
        self.collect(
            "SELECT sitting, cell, clients, step.measured_s, step.transactions, step.counted,
                    failed, buffer_misses, read_bytes, written_bytes, batches, histogram
             FROM step JOIN run USING (run) WHERE set_aside = 0 ORDER BY sitting, cell, clients",
            &[],
            |row| Ok((key(row, "sitting", "cell")?, step(row)?)),
        )
    }
}

/// Reads a row of the table `step`.
pub(super) fn step(row: &Row<'_>) -> rusqlite::Result<StepRecord> {
    let measured = seconds(row, "measured_s")?;
    if measured.is_zero() {
        return Err(damage("measured_s of a step", measured.as_secs_f64()));
    }
    let batches: Vec<f64> = json(row, "batches")?;
    let is_rate = |rate: &f64| (0.0..RATE_MAX).contains(rate);
    if batches.is_empty() || !batches.iter().all(is_rate) {
        return Err(damage("batches of a step", to_json(&batches)));
    }
    let histogram: Vec<u8> = row.get("histogram")?;
    Ok(StepRecord {
        clients: row.get("clients")?,
        measured,
        transactions: from_integer(row, "transactions")?,
        counted: from_integer(row, "counted")?,
        failed: from_integer(row, "failed")?,
        buffer_misses: from_integer(row, "buffer_misses")?,
        read_bytes: ByteCount::new(from_integer(row, "read_bytes")?),
        written_bytes: ByteCount::new(from_integer(row, "written_bytes")?),
        batches,
        latencies: Latencies::from_packed(histogram)
            .map_err(|error| damage("latency histogram of a step", error))?,
    })
}
