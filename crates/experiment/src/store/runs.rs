//! Runs in the store: one transaction each.

use std::time::Duration;

use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};
use jiff::Timestamp;
use octavo_database::{Counters, RestoreMethod, StoragePath};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Condition};
use rusqlite::{Connection, params};

use super::{Store, StoreError, from_integer, seconds, to_integer, to_json};
use crate::{
    drive::Sample,
    machine::MachineUse,
    run::{DeviceUse, Run},
};

/// A run as it is kept.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Which round, from 0.
    pub round: u32,
    /// Its place in the round's order, from 0.
    pub position: u32,
    /// The cell's number in the plan.
    pub cell: usize,
    /// What happened.
    pub result: RunResult,
}

/// What a kept run gave.
#[derive(Clone, Debug)]
pub enum RunResult {
    /// Nothing; the reason in words.
    Failed(String),
    /// Figures.
    Done(Box<RunFigures>),
}

/// The figures of a finished run.
#[derive(Clone, Debug)]
pub struct RunFigures {
    /// Length of the warm-up.
    pub warm_up: Duration,
    /// Whether the buffer was filled in it.
    pub buffer_filled: bool,
    /// Length of the measured part.
    pub measured: Duration,
    /// Time that the run took beside these.
    pub overhead: Duration,
    /// Transactions ended while measured.
    pub transactions: u64,
    /// Commits of the counted kind while measured.
    pub counted: u64,
    /// Bytes of changed column values.
    pub changed_bytes: ByteCount,
    /// How the copy was made.
    pub restored_by: RestoreMethod,
    /// How the storage was reached.
    pub storage_path: StoragePath,
    /// The database's counts.
    pub counters: Counters,
    /// The device's counts.
    pub device: Option<DeviceUse>,
    /// The machine's.
    pub machine: MachineUse,
    /// Latencies by kind of transaction.
    pub latencies: Vec<KindLatency>,
    /// The per-second series.
    pub samples: Vec<Sample>,
    /// What was generated.
    pub audit: Audit,
}

impl RunFigures {
    /// Commits of the counted kind per minute.
    pub fn throughput_per_minute(&self) -> f64 {
        if self.measured.is_zero() {
            0.0
        } else {
            self.counted as f64 * 60.0 / self.measured.as_secs_f64()
        }
    }
}

/// The latencies of one kind of transaction in a run.
#[derive(Clone, Debug)]
pub struct KindLatency {
    /// The kind's name.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the specification wants.
    pub rolled_back: u64,
    /// Tries repeated after conflicts.
    pub retries: u64,
    /// Microseconds.
    pub latency_us: Histogram<u64>,
}

impl Store {
    /// Keeps a finished run, in one transaction.
    pub fn put_run(
        &mut self,
        round: u32,
        position: usize,
        cell: usize,
        run: &Run,
        counted: u64,
    ) -> Result<(), StoreError> {
        let result = (|| {
            let transaction = self.connection.transaction()?;
            transaction.execute(
                "INSERT INTO run (source, round, position, cell, started, warm_up_s, buffer_filled,
                     measured_s, overhead_s, transactions, counted, changed_bytes, restored_by,
                     storage_path, counters, device, machine)
                 VALUES ('measured', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                     ?15, ?16)",
                params![
                    round,
                    position as i64,
                    cell as i64,
                    run.started_at.to_string(),
                    run.drive.warm_up.as_secs_f64(),
                    run.drive.buffer_filled,
                    run.drive.measured.as_secs_f64(),
                    run.overhead.as_secs_f64(),
                    to_integer(run.drive.transactions()),
                    to_integer(counted),
                    to_integer(run.drive.changed_bytes().get()),
                    to_json(&run.restored_by),
                    to_json(&run.storage_path),
                    to_json(&run.drive.counters),
                    run.device.as_ref().map(to_json),
                    to_json(&run.machine),
                ],
            )?;
            let id = transaction.last_insert_rowid();
            for (number, kind) in run.drive.counts.kinds.iter().enumerate() {
                let mut histogram = Vec::new();
                V2Serializer::new()
                    .serialize(&kind.latency_us, &mut histogram)
                    .expect("writing to memory does not fail");
                transaction.execute(
                    "INSERT INTO latency VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        id,
                        number as i64,
                        kind.name,
                        to_integer(kind.committed()),
                        to_integer(kind.rolled_back()),
                        to_integer(kind.retries()),
                        histogram
                    ],
                )?;
            }
            for sample in &run.drive.samples {
                transaction.execute(
                    "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        id,
                        sample.at.as_secs_f64(),
                        sample.length.as_secs_f64(),
                        sample.measured,
                        to_integer(sample.transactions),
                        to_integer(sample.counted),
                        to_integer(sample.buffer_misses),
                        to_integer(sample.read_bytes.get()),
                        to_integer(sample.written_bytes.get())
                    ],
                )?;
            }
            for check in &run.checks {
                insert_condition(&transaction, id, check)?;
            }
            transaction.execute(
                "INSERT INTO audit VALUES (?1, ?2)",
                params![id, to_json(&run.drive.audit)],
            )?;
            transaction.commit()
        })();
        result.map_err(|error| self.error(error))
    }

    /// Keeps that a run gave no result, and why.
    pub fn put_failure(
        &self,
        round: u32,
        position: usize,
        cell: usize,
        failure: &str,
    ) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO run (source, round, position, cell, started, failure)
                 VALUES ('measured', ?1, ?2, ?3, ?4, ?5)",
                params![
                    round,
                    position as i64,
                    cell as i64,
                    Timestamp::now().to_string(),
                    failure
                ],
            )
            .map(|_| ())
            .map_err(|error| self.error(error))
    }

    /// The rounds and cells that have a run already.
    pub fn finished(&self) -> Result<Vec<(u32, usize)>, StoreError> {
        self.collect("SELECT round, cell FROM run", &[], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)? as usize))
        })
    }

    /// All runs, by round and position.
    pub fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let ids: Vec<(i64, u32, u32, i64, Option<String>)> = self.collect(
            "SELECT run, round, position, cell, failure FROM run ORDER BY round, position",
            &[],
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ))
            },
        )?;
        ids.into_iter()
            .map(|(id, round, position, cell, failure)| {
                Ok(StoredRun {
                    round,
                    position,
                    cell: cell as usize,
                    result: match failure {
                        Some(failure) => RunResult::Failed(failure),
                        None => RunResult::Done(Box::new(self.figures(id)?)),
                    },
                })
            })
            .collect()
    }

    fn figures(&self, id: i64) -> Result<RunFigures, StoreError> {
        let texts: (Vec<String>, Option<String>, RunFigures) = self
            .connection
            .query_row(
                "SELECT restored_by, storage_path, counters, machine, device, warm_up_s,
                     buffer_filled, measured_s, overhead_s, transactions, counted, changed_bytes
                 FROM run WHERE run = ?1",
                [id],
                |row| {
                    Ok((
                        (0..4).map(|i| row.get(i)).collect::<Result<_, _>>()?,
                        row.get(4)?,
                        RunFigures {
                            warm_up: seconds(row, 5)?,
                            buffer_filled: row.get(6)?,
                            measured: seconds(row, 7)?,
                            overhead: seconds(row, 8)?,
                            transactions: from_integer(row, 9)?,
                            counted: from_integer(row, 10)?,
                            changed_bytes: ByteCount::new(from_integer(row, 11)?),
                            restored_by: RestoreMethod::Copy,
                            storage_path: StoragePath::PageCache,
                            counters: Counters::default(),
                            device: None,
                            machine: MachineUse::default(),
                            latencies: Vec::new(),
                            samples: Vec::new(),
                            audit: Audit::default(),
                        },
                    ))
                },
            )
            .map_err(|error| self.error(error))?;
        let (texts, device, mut figures) = texts;
        figures.restored_by = self.parse_json("restored_by", &texts[0])?;
        figures.storage_path = self.parse_json("storage_path", &texts[1])?;
        figures.counters = self.parse_json("counters", &texts[2])?;
        figures.machine = self.parse_json("machine", &texts[3])?;
        figures.device = device
            .map(|text| self.parse_json("device", &text))
            .transpose()?;
        let audit: String = self
            .connection
            .query_row("SELECT audit FROM audit WHERE run = ?1", [id], |row| {
                row.get(0)
            })
            .map_err(|error| self.error(error))?;
        figures.audit = self.parse_json("audit", &audit)?;
        figures.samples = self.collect(
            "SELECT at_s, length_s, measured, transactions, counted, buffer_misses, read_bytes,
                 written_bytes FROM sample WHERE run = ?1 ORDER BY at_s",
            &[&id],
            |row| {
                Ok(Sample {
                    at: seconds(row, 0)?,
                    length: seconds(row, 1)?,
                    measured: row.get(2)?,
                    transactions: from_integer(row, 3)?,
                    counted: from_integer(row, 4)?,
                    buffer_misses: from_integer(row, 5)?,
                    read_bytes: ByteCount::new(from_integer(row, 6)?),
                    written_bytes: ByteCount::new(from_integer(row, 7)?),
                })
            },
        )?;
        let latencies: Vec<(String, u64, u64, u64, Vec<u8>)> = self.collect(
            "SELECT name, committed, rolled_back, retries, histogram FROM latency
             WHERE run = ?1 ORDER BY kind",
            &[&id],
            |row| {
                Ok((
                    row.get(0)?,
                    from_integer(row, 1)?,
                    from_integer(row, 2)?,
                    from_integer(row, 3)?,
                    row.get(4)?,
                ))
            },
        )?;
        for (name, committed, rolled_back, retries, bytes) in latencies {
            let latency_us = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .map_err(|error| StoreError::Damaged {
                    path: self.path.clone(),
                    what: format!("latency histogram: {error:?}"),
                })?;
            figures.latencies.push(KindLatency {
                name,
                committed,
                rolled_back,
                retries,
                latency_us,
            });
        }
        Ok(figures)
    }
}

fn insert_condition(
    connection: &Connection,
    run: i64,
    check: &Condition,
) -> Result<(), rusqlite::Error> {
    connection
        .execute(
            "INSERT INTO consistency VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                run,
                check.clause,
                to_integer(check.checked),
                to_integer(check.violations),
                check.first_violation
            ],
        )
        .map(|_| ())
}
