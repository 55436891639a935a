//! Runs in the store: one transaction each.

use std::{collections::HashMap, time::Duration};

use hdrhistogram::serialization::{Serializer, V2Serializer};
use jiff::Timestamp;
use octavo_database::{Counters, RestoreMethod, StoragePath};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Condition};
use rusqlite::{Connection, Row, params};

use super::{Store, StoreError, from_integer, seconds, to_integer, to_json};
use crate::{
    drive::Sample,
    machine::MachineUse,
    race::Phase,
    run::{DeviceUse, Run},
    stability::Stability,
    steady::Steadiness,
};

/// Which run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// Which round, from 0.
    pub round: u32,
    /// Its place in the round's order, from 0.
    pub position: u32,
    /// The cell's number in the plan.
    pub cell: usize,
    /// What it is a run of.
    pub phase: Phase,
}

/// What a run says to the comparison of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOutcome {
    /// Which run.
    pub key: RunKey,
    /// Commits of the counted kind a minute; `None` when it failed or was not
    /// steady.
    pub throughput_per_minute: Option<f64>,
}

/// A run as it is kept.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Which run.
    pub key: RunKey,
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
    /// Whether it was steady.
    pub steadiness: Steadiness,
    /// How even it was.
    pub stability: Stability,
    /// The per-second series.
    pub samples: Vec<Sample>,
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

impl Store {
    /// Keeps a finished run, in one transaction.
    pub fn put_run(
        &mut self,
        session: i64,
        key: RunKey,
        run: &Run,
        counted: u64,
    ) -> Result<(), StoreError> {
        let result = (|| {
            let transaction = self.connection.transaction()?;
            transaction.execute(
                "INSERT INTO run (source, round, position, cell, phase, started, warm_up_s,
                     buffer_filled, measured_s, overhead_s, transactions, counted, changed_bytes,
                     restored_by, storage_path, counters, device, machine, steady, steadiness,
                     stability, session)
                 VALUES ('measured', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                     ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
                params![
                    key.round,
                    key.position,
                    key.cell as i64,
                    phase_name(key.phase),
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
                    run.drive.steadiness.label.is_comparable(),
                    to_json(&run.drive.steadiness),
                    to_json(&run.drive.stability),
                    session,
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
    pub fn put_failure(&self, session: i64, key: RunKey, failure: &str) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO run (source, round, position, cell, phase, started, failure, session)
                 VALUES ('measured', ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    key.round,
                    key.position,
                    key.cell as i64,
                    phase_name(key.phase),
                    Timestamp::now().to_string(),
                    failure,
                    session
                ],
            )
            .map(|_| ())
            .map_err(|error| self.error(error))
    }

    /// What every run that was made says to the comparison, by round and
    /// position.
    pub fn outcomes(&self) -> Result<Vec<RunOutcome>, StoreError> {
        self.collect(
            "SELECT round, position, cell, phase, counted * 60 / measured_s, steady
             FROM run WHERE set_aside = 0 ORDER BY round, position",
            &[],
            |row| {
                let throughput: Option<f64> = row.get(4)?;
                let steady: Option<bool> = row.get(5)?;
                Ok(RunOutcome {
                    key: key(row, 0)?,
                    throughput_per_minute: throughput.filter(|_| steady == Some(true)),
                })
            },
        )
    }

    /// All runs, by round and position, with the per-second series of those
    /// from round `series_from` on.
    pub fn runs(&self, series_from: u32) -> Result<Vec<StoredRun>, StoreError> {
        let mut ids = HashMap::new();
        let mut runs = Vec::new();
        for row in self.run_rows()? {
            ids.insert(row.id, runs.len());
            runs.push(StoredRun {
                key: row.key,
                result: match row.result {
                    Err(failure) => RunResult::Failed(failure),
                    Ok(row) => RunResult::Done(Box::new(self.figures(*row)?)),
                },
            });
        }
        for (id, sample) in self.sample_rows(series_from)? {
            if let Some(figures) = figures_of(&mut runs, &ids, id) {
                figures.samples.push(sample);
            }
        }
        Ok(runs)
    }

    /// What was generated, over one run of each round, the one with the most
    /// transactions: all of a round are given the same inputs, and counted
    /// together they would seem to deviate more than chance lets them.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        // With max() alone the other columns are those of its row
        // (<https://www.sqlite.org/lang_select.html#bareagg>).
        let texts: Vec<String> = self.collect(
            "SELECT audit FROM (SELECT run, max(transactions) FROM run WHERE set_aside = 0 GROUP BY round)
             JOIN audit USING (run) ORDER BY run",
            &[],
            |row| row.get(0),
        )?;
        let mut audit = Audit::default();
        for text in texts {
            audit.merge(&self.parse_json("audit", &text)?);
        }
        Ok(audit)
    }

    fn run_rows(&self) -> Result<Vec<RunRow>, StoreError> {
        self.collect(
            "SELECT run, round, position, cell, phase, failure, restored_by, storage_path,
                 counters, machine, steadiness, stability, device, warm_up_s, buffer_filled,
                 measured_s, overhead_s, transactions, counted, changed_bytes
             FROM run WHERE set_aside = 0 ORDER BY round, position",
            &[],
            |row| {
                let failure: Option<String> = row.get(5)?;
                Ok(RunRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    result: match failure {
                        Some(failure) => Err(failure),
                        None => Ok(Box::new(FigureRow {
                            texts: (6..12).map(|i| row.get(i)).collect::<Result<_, _>>()?,
                            device: row.get(12)?,
                            warm_up: seconds(row, 13)?,
                            buffer_filled: row.get(14)?,
                            measured: seconds(row, 15)?,
                            overhead: seconds(row, 16)?,
                            transactions: from_integer(row, 17)?,
                            counted: from_integer(row, 18)?,
                            changed_bytes: ByteCount::new(from_integer(row, 19)?),
                        })),
                    },
                })
            },
        )
    }

    fn figures(&self, row: FigureRow) -> Result<RunFigures, StoreError> {
        let [
            restored_by,
            storage_path,
            counters,
            machine,
            steadiness,
            stability,
        ] = &row.texts[..]
        else {
            unreachable!("six columns were read");
        };
        Ok(RunFigures {
            warm_up: row.warm_up,
            buffer_filled: row.buffer_filled,
            measured: row.measured,
            overhead: row.overhead,
            transactions: row.transactions,
            counted: row.counted,
            changed_bytes: row.changed_bytes,
            restored_by: self.parse_json("restored_by", restored_by)?,
            storage_path: self.parse_json("storage_path", storage_path)?,
            counters: self.parse_json("counters", counters)?,
            machine: self.parse_json("machine", machine)?,
            steadiness: self.parse_json("steadiness", steadiness)?,
            stability: self.parse_json("stability", stability)?,
            device: row
                .device
                .map(|text| self.parse_json("device", &text))
                .transpose()?,
            samples: Vec::new(),
        })
    }

    fn sample_rows(&self, series_from: u32) -> Result<Vec<(i64, Sample)>, StoreError> {
        self.collect(
            "SELECT at_s, length_s, measured, sample.transactions, sample.counted, buffer_misses,
                 read_bytes, written_bytes, run
             FROM sample JOIN run USING (run) WHERE round >= ?1 AND set_aside = 0 ORDER BY run, at_s",
            &[&series_from],
            |row| {
                Ok((
                    row.get(8)?,
                    Sample {
                        at: seconds(row, 0)?,
                        length: seconds(row, 1)?,
                        measured: row.get(2)?,
                        transactions: from_integer(row, 3)?,
                        counted: from_integer(row, 4)?,
                        buffer_misses: from_integer(row, 5)?,
                        read_bytes: ByteCount::new(from_integer(row, 6)?),
                        written_bytes: ByteCount::new(from_integer(row, 7)?),
                    },
                ))
            },
        )
    }
}

/// The figures of the run whose row is `id`.
fn figures_of<'a>(
    runs: &'a mut [StoredRun],
    ids: &HashMap<i64, usize>,
    id: i64,
) -> Option<&'a mut RunFigures> {
    match &mut runs.get_mut(*ids.get(&id)?)?.result {
        RunResult::Done(figures) => Some(figures),
        RunResult::Failed(_) => None,
    }
}

/// A row of the table `run`, its JSON not yet read.
struct RunRow {
    id: i64,
    key: RunKey,
    result: Result<Box<FigureRow>, String>,
}

struct FigureRow {
    /// The columns that are JSON and always there.
    texts: Vec<String>,
    device: Option<String>,
    warm_up: Duration,
    buffer_filled: bool,
    measured: Duration,
    overhead: Duration,
    transactions: u64,
    counted: u64,
    changed_bytes: ByteCount,
}

/// Reads round, position, cell and phase from column `first` on.
fn key(row: &Row<'_>, first: usize) -> rusqlite::Result<RunKey> {
    let phase: String = row.get(first + 3)?;
    let round: u32 = row.get(first)?;
    if round >= ROUNDS_MAX {
        return Err(rusqlite::Error::IntegralValueOutOfRange(
            first,
            i64::from(round),
        ));
    }
    Ok(RunKey {
        round,
        position: row.get(first + 1)?,
        cell: from_integer(row, first + 2)? as usize,
        phase: if phase == phase_name(Phase::Final) {
            Phase::Final
        } else {
            Phase::Race
        },
    })
}

/// More rounds than this nobody makes.
const ROUNDS_MAX: u32 = 10_000_000;

const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Race => "race",
        Phase::Final => "final",
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
