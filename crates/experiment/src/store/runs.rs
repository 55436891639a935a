//! Runs as they are kept: one transaction a run, with its latencies, its
//! per-second series and the workload's conditions.

use std::{collections::HashMap, time::Duration};

use octavo_driver::{Counts, KindCounts, Latencies, Measurement, Outcomes, Sample};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Condition, TransactionKind};
use rusqlite::{Row, Transaction, params, params_from_iter, types::Value};

use super::{Store, StoreError, from_integer, seconds, to_integer, to_json};
use crate::{
    race::Phase,
    record::{Figures, RunKey, RunRecord, Source},
};

/// What a run says to the comparison of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOutcome {
    /// Which run.
    pub key: RunKey,
    /// Commits of the counted kind a minute; `None` when it failed or was not
    /// steady.
    pub throughput_per_minute: Option<f64>,
}

/// The columns of the table `run` that a run with a result fills.
const FIGURES: &str = "warm_up_s, warm_up_misses, buffer_filled, measured_s, interrupted, \
     overhead_s, transactions, counted, changed_bytes, late, backlog, restored_by, storage_path, \
     counters, device, machine, steady, steadiness, stability";

/// The columns of the table `sample`, but for the run.
const SAMPLE: &str = "at_s, length_s, measured, transactions, counted, buffer_misses, \
     read_bytes, written_bytes, p50_us, p99_us, max_us, retries, failed, backlog";

impl Store {
    /// Keeps a run, in one transaction.
    ///
    /// # Errors
    /// When the store cannot be written, as on a full disk; then nothing of the
    /// run is kept.
    pub fn put_run(&mut self, session: i64, run: &RunRecord) -> Result<(), StoreError> {
        let result = (|| {
            let transaction = self.connection.transaction()?;
            transaction.execute(
                "INSERT INTO run (session, source, round, position, cell, phase, started, failure)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    session,
                    run.source.name(),
                    run.key.round,
                    run.key.position,
                    run.key.cell as i64,
                    phase_name(run.key.phase),
                    run.started_at.to_string(),
                    run.result.as_ref().err(),
                ],
            )?;
            let id = transaction.last_insert_rowid();
            if let Ok(figures) = &run.result {
                put_figures(&transaction, id, figures)?;
            }
            transaction.commit()
        })();
        result.map_err(|error| self.error(error))
    }

    /// What every run that was made says to the comparison, by round and
    /// position.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
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
    /// from round `series_from` on. `kinds` are the workload's. What the whole
    /// experiment keeps once is not in them: conditions
    /// ([`Self::facts_below`]) and audit ([`Self::audit`]).
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn runs(
        &self,
        kinds: &[TransactionKind],
        series_from: u32,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let mut numbers = HashMap::new();
        let mut runs = Vec::new();
        for row in self.run_rows()? {
            numbers.insert(row.id, runs.len());
            runs.push(RunRecord {
                source: self.source(&row.source)?,
                key: row.key,
                started_at: row
                    .started
                    .parse()
                    .map_err(|error| self.damaged("started", error))?,
                result: match row.columns {
                    Err(failure) => Err(failure),
                    Ok(columns) => Ok(Box::new(self.figures(kinds, columns)?)),
                },
            });
        }
        let mut with = |id: i64, add: &mut dyn FnMut(&mut Figures)| {
            let run = numbers.get(&id).and_then(|&number| runs.get_mut(number));
            if let Some(RunRecord {
                result: Ok(figures),
                ..
            }) = run
            {
                add(figures);
            }
        };
        for row in self.latency_rows()? {
            let latencies = Latencies::from_packed(row.histogram)
                .map_err(|error| self.damaged("latency histogram", error))?;
            let Some(kind) = kinds.iter().find(|kind| kind.name == row.kind) else {
                return Err(self.damaged("kind of transaction", row.kind));
            };
            let counts = KindCounts::of(kind, row.outcomes, latencies);
            with(row.run, &mut |figures| {
                figures.load.counts.kinds.push(counts.clone());
            });
        }
        for (id, sample) in self.sample_rows(series_from)? {
            with(id, &mut |figures| figures.load.series.push(sample));
        }
        Ok(runs)
    }

    /// What was generated, over one run of each round, the one with the most
    /// transactions: all of a round are given the same inputs, and counted
    /// together they would seem to deviate more than chance lets them.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
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
            &format!(
                "SELECT run, round, position, cell, phase, source, started, failure, {FIGURES}
                 FROM run WHERE set_aside = 0 ORDER BY round, position"
            ),
            &[],
            |row| {
                let failure: Option<String> = row.get(7)?;
                let columns = match failure {
                    Some(failure) => Err(failure),
                    None => Ok(Columns::read(row, 8)?),
                };
                Ok(RunRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    source: row.get(5)?,
                    started: row.get(6)?,
                    columns,
                })
            },
        )
    }

    fn source(&self, name: &str) -> Result<Source, StoreError> {
        let known = Source::ALL.into_iter().find(|source| source.name() == name);
        known.ok_or_else(|| self.damaged("source", name))
    }

    fn figures(&self, kinds: &[TransactionKind], columns: Columns) -> Result<Figures, StoreError> {
        let mut counts = Counts::new(&[]);
        counts.kinds.reserve(kinds.len());
        counts.changed_bytes = columns.changed_bytes;
        if let Some(late) = columns.late {
            counts.late = Latencies::from_packed(late).map_err(|e| self.damaged("late", e))?;
        }
        Ok(Figures {
            load: Measurement {
                warm_up: columns.warm_up,
                warm_up_misses: columns.warm_up_misses,
                buffer_filled: columns.buffer_filled,
                measured: columns.measured,
                interrupted: columns.interrupted,
                counts,
                counters: self.parse_json("counters", &columns.counters)?,
                backlog: self.parse_optional("backlog", columns.backlog)?,
                series: Vec::new(),
                audit: Audit::default(),
                steadiness: self.parse_json("steadiness", &columns.steadiness)?,
                stability: self.parse_json("stability", &columns.stability)?,
            },
            overhead: columns.overhead,
            restored_by: self.parse_optional("restored_by", columns.restored_by)?,
            storage_path: self.parse_optional("storage_path", columns.storage_path)?,
            device: self.parse_optional("device", columns.device)?,
            machine: self.parse_json("machine", &columns.machine)?,
            conditions: Vec::new(),
            checks: Vec::new(),
        })
    }

    fn latency_rows(&self) -> Result<Vec<LatencyRow>, StoreError> {
        self.collect(
            &format!(
                "SELECT latency.run, name, histogram, {} FROM latency JOIN run USING (run)
                 WHERE set_aside = 0 ORDER BY run, kind",
                KindCounts::OUTCOMES.join(", ")
            ),
            &[],
            |row| {
                let mut outcomes = Outcomes::default();
                for (outcome, column) in outcomes.iter_mut().zip(3..) {
                    *outcome = from_integer(row, column)?;
                }
                Ok(LatencyRow {
                    run: row.get(0)?,
                    kind: row.get(1)?,
                    outcomes,
                    histogram: row.get(2)?,
                })
            },
        )
    }

    fn sample_rows(&self, series_from: u32) -> Result<Vec<(i64, Sample)>, StoreError> {
        let columns: Vec<String> = SAMPLE
            .split(", ")
            .map(|name| format!("sample.{name}"))
            .collect();
        self.collect(
            &format!(
                "SELECT {}, sample.run FROM sample JOIN run USING (run)
                 WHERE round >= ?1 AND set_aside = 0 ORDER BY sample.run, at_s",
                columns.join(", ")
            ),
            &[&series_from],
            |row| {
                let backlog: Option<i64> = row.get(13)?;
                let sample = Sample {
                    at: seconds(row, 0)?,
                    length: seconds(row, 1)?,
                    measured: row.get(2)?,
                    transactions: from_integer(row, 3)?,
                    counted: from_integer(row, 4)?,
                    buffer_misses: from_integer(row, 5)?,
                    read_bytes: ByteCount::new(from_integer(row, 6)?),
                    written_bytes: ByteCount::new(from_integer(row, 7)?),
                    p50_us: from_integer(row, 8)?,
                    p99_us: from_integer(row, 9)?,
                    max_us: from_integer(row, 10)?,
                    retries: from_integer(row, 11)?,
                    failed: from_integer(row, 12)?,
                    backlog: backlog.map(|_| from_integer(row, 13)).transpose()?,
                };
                Ok((row.get(14)?, sample))
            },
        )
    }
}

/// A row of the table `run`.
struct RunRow {
    id: i64,
    key: RunKey,
    source: String,
    started: String,
    /// The figures, or why there are none.
    columns: Result<Columns, String>,
}

/// A row of the table `latency`.
struct LatencyRow {
    run: i64,
    kind: String,
    outcomes: Outcomes,
    histogram: Vec<u8>,
}

/// A row's [`FIGURES`], its JSON not yet read.
struct Columns {
    warm_up: Duration,
    warm_up_misses: u64,
    buffer_filled: bool,
    measured: Duration,
    interrupted: bool,
    overhead: Duration,
    changed_bytes: u64,
    late: Option<Vec<u8>>,
    backlog: Option<String>,
    restored_by: Option<String>,
    storage_path: Option<String>,
    counters: String,
    device: Option<String>,
    machine: String,
    steadiness: String,
    stability: String,
}

impl Columns {
    /// Reads them from column `first` on. `transactions`, `counted` and
    /// `steady` follow from others and are there for SQL.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            warm_up: seconds(row, first)?,
            warm_up_misses: from_integer(row, first + 1)?,
            buffer_filled: row.get(first + 2)?,
            measured: seconds(row, first + 3)?,
            interrupted: row.get(first + 4)?,
            overhead: seconds(row, first + 5)?,
            changed_bytes: from_integer(row, first + 8)?,
            late: row.get(first + 9)?,
            backlog: row.get(first + 10)?,
            restored_by: row.get(first + 11)?,
            storage_path: row.get(first + 12)?,
            counters: row.get(first + 13)?,
            device: row.get(first + 14)?,
            machine: row.get(first + 15)?,
            steadiness: row.get(first + 17)?,
            stability: row.get(first + 18)?,
        })
    }
}

fn put_figures(transaction: &Transaction<'_>, id: i64, figures: &Figures) -> rusqlite::Result<()> {
    let load = &figures.load;
    // Where nothing waited, all of it is 0.
    let late = load.backlog.is_some().then(|| load.counts.late.packed());
    transaction.execute(
        &format!(
            "UPDATE run SET ({FIGURES}) = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
                 ?14, ?15, ?16, ?17, ?18, ?19, ?20) WHERE run = ?1"
        ),
        params![
            id,
            load.warm_up.as_secs_f64(),
            to_integer(load.warm_up_misses),
            load.buffer_filled,
            load.measured.as_secs_f64(),
            load.interrupted,
            figures.overhead.as_secs_f64(),
            to_integer(load.transactions()),
            to_integer(load.counted()),
            to_integer(load.counts.changed_bytes),
            late,
            load.backlog.as_ref().map(to_json),
            figures.restored_by.as_ref().map(to_json),
            figures.storage_path.as_ref().map(to_json),
            to_json(&load.counters),
            figures.device.as_ref().map(to_json),
            to_json(&figures.machine),
            load.steadiness.label.is_comparable(),
            to_json(&load.steadiness),
            to_json(&load.stability),
        ],
    )?;
    let mut latency = transaction.prepare(&format!(
        "INSERT INTO latency (run, kind, name, retries, histogram, {}) VALUES (?1, ?2, ?3, ?4, ?5,
             ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        KindCounts::OUTCOMES.join(", ")
    ))?;
    for (number, kind) in (0i64..).zip(&load.counts.kinds) {
        let mut values: Vec<Value> = vec![
            id.into(),
            number.into(),
            kind.name.to_string().into(),
            to_integer(kind.retries()).into(),
            kind.latencies.packed().into(),
        ];
        values.extend(
            kind.outcomes()
                .iter()
                .map(|&count| Value::from(to_integer(count))),
        );
        latency.execute(params_from_iter(values))?;
    }
    let mut sample = transaction.prepare(&format!(
        "INSERT INTO sample (run, {SAMPLE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
             ?12, ?13, ?14, ?15)"
    ))?;
    for second in &load.series {
        sample.execute(params![
            id,
            second.at.as_secs_f64(),
            second.length.as_secs_f64(),
            second.measured,
            to_integer(second.transactions),
            to_integer(second.counted),
            to_integer(second.buffer_misses),
            to_integer(second.read_bytes.get()),
            to_integer(second.written_bytes.get()),
            to_integer(second.p50_us),
            to_integer(second.p99_us),
            to_integer(second.max_us),
            to_integer(second.retries),
            to_integer(second.failed),
            second.backlog.map(to_integer),
        ])?;
    }
    for check in &figures.checks {
        put_condition(transaction, id, check)?;
    }
    transaction.execute(
        "INSERT INTO audit VALUES (?1, ?2)",
        params![id, to_json(&load.audit)],
    )?;
    Ok(())
}

fn put_condition(
    connection: &Transaction<'_>,
    run: i64,
    check: &Condition,
) -> rusqlite::Result<()> {
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
