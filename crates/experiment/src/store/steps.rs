//! Steps of ramps as they are kept.

use octavo_driver::Latencies;
use octavo_units::ByteCount;
use rusqlite::params;

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
            |row| {
                let measured = seconds(row, 3)?;
                if measured.is_zero() {
                    return Err(damage("measured_s of a step", measured.as_secs_f64()));
                }
                let batches: Vec<f64> = json(row, "batches")?;
                let is_rate = |rate: &f64| (0.0..RATE_MAX).contains(rate);
                if batches.is_empty() || !batches.iter().all(is_rate) {
                    return Err(damage("batches of a step", to_json(&batches)));
                }
                let histogram: Vec<u8> = row.get(11)?;
                let step = StepRecord {
                    clients: row.get(2)?,
                    measured,
                    transactions: from_integer(row, 4)?,
                    counted: from_integer(row, 5)?,
                    failed: from_integer(row, 6)?,
                    buffer_misses: from_integer(row, 7)?,
                    read_bytes: ByteCount::new(from_integer(row, 8)?),
                    written_bytes: ByteCount::new(from_integer(row, 9)?),
                    batches,
                    latencies: Latencies::from_packed(histogram)
                        .map_err(|error| damage("latency histogram of a step", error))?,
                };
                Ok((key(row, 0, 1)?, step))
            },
        )
    }
}
