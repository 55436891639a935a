//! Runs and their slices as they are kept, with latencies and the workload's
//! conditions.

use std::{collections::HashMap, time::Duration};

use octavo_driver::{Counts, KindCounts, Latencies, Measurement, Outcomes};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Condition, TransactionKind};
use rusqlite::{OptionalExtension, Row, Transaction, params, params_from_iter, types::Value};

use super::{Store, StoreError, from_integer, seconds, to_integer, to_json};
use crate::{
    lockstep::{Slice, SliceKey, Spent},
    record::{Figures, RunKey, RunRecord, Source},
};

/// The columns of the table `run` that a run with a result fills.
const FIGURES: &str = "warm_up_s, warm_up_misses, buffer_filled, measured_s, interrupted, \
     overhead_s, transactions, counted, changed_bytes, late, backlog, restored_by, storage_path, \
     counters, device, machine, steady, steadiness, stability";

impl Store {
    /// Keeps runs as they are now, in place of what was kept of them, and the
    /// slices that are new, in one transaction.
    ///
    /// # Errors
    /// When the store cannot be written, as on a full disk; then nothing of it
    /// is kept.
    pub fn put_runs(
        &mut self,
        session: i64,
        runs: &[&RunRecord],
        slices: &[Slice],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            for run in runs {
                let id = renew(transaction, session, run)?;
                if let Ok(figures) = &run.result {
                    put_figures(transaction, id, figures)?;
                }
            }
            for slice in slices {
                put_slice(transaction, slice)?;
            }
            Ok(())
        })
    }

    /// The slices of all runs that have a result, by sitting, pass and
    /// position.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn slices(&self) -> Result<Vec<Slice>, StoreError> {
        self.collect(
            "SELECT sitting, pass, slice.position, cell, slice.transactions, slice.counted,
                    elapsed_s, read_s, log_write_s, log_sync_s, checkpoint_s, cpu_s,
                    buffer_misses, log_written_bytes, foreign_bytes
             FROM slice JOIN run USING (run)
             WHERE set_aside = 0 AND failure IS NULL
             ORDER BY sitting, pass, slice.position, cell",
            &[],
            |row| {
                let times: Option<f64> = row.get(7)?;
                let foreign: Option<i64> = row.get(14)?;
                let run = key(row, 0, 3)?;
                Ok(Slice {
                    key: SliceKey {
                        sitting: run.sitting,
                        pass: row.get(1)?,
                        position: row.get(2)?,
                        cell: run.cell,
                    },
                    transactions: from_integer(row, 4)?,
                    counted: from_integer(row, 5)?,
                    elapsed: seconds(row, 6)?,
                    spent: match times {
                        None => None,
                        Some(_) => Some(Spent {
                            read: seconds(row, 7)?,
                            log_write: seconds(row, 8)?,
                            log_sync: seconds(row, 9)?,
                            checkpoint: seconds(row, 10)?,
                            cpu: seconds(row, 11)?,
                        }),
                    },
                    misses: from_integer(row, 12)?,
                    log_bytes: ByteCount::new(from_integer(row, 13)?),
                    foreign_bytes: foreign
                        .map(|_| from_integer(row, 14).map(ByteCount::new))
                        .transpose()?,
                })
            },
        )
    }

    /// The number of the sitting that comes next.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn next_sitting(&self) -> Result<u32, StoreError> {
        let next = self.row("SELECT coalesce(max(sitting) + 1, 0) FROM run", |row| {
            row.get(0)
        })?;
        Ok(next.unwrap_or_default())
    }

    /// All runs, by sitting and cell. `kinds` are the workload's. What the whole
    /// experiment keeps once is not in them: conditions
    /// ([`Self::facts_below`]) and audit ([`Self::audit`]).
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn runs(&self, kinds: &[TransactionKind]) -> Result<Vec<RunRecord>, StoreError> {
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
        Ok(runs)
    }

    /// What was generated, over one run of each sitting, the one with the most
    /// transactions: all of a sitting are given the same inputs, and counted
    /// together they would seem to deviate more than chance lets them.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        // With max() alone the other columns are those of its row
        // (<https://www.sqlite.org/lang_select.html#bareagg>).
        let texts: Vec<String> = self.collect(
            "SELECT audit FROM (SELECT run, max(transactions) FROM run WHERE set_aside = 0 GROUP BY sitting)
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
                "SELECT run, sitting, cell, source, started, failure, {FIGURES}
                 FROM run WHERE set_aside = 0 ORDER BY sitting, cell"
            ),
            &[],
            |row| {
                let failure: Option<String> = row.get(5)?;
                let columns = match failure {
                    Some(failure) => Err(failure),
                    None => Ok(Columns::read(row, 6)?),
                };
                Ok(RunRow {
                    id: row.get(0)?,
                    key: key(row, 1, 2)?,
                    source: row.get(3)?,
                    started: row.get(4)?,
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

/// Reads a sitting and a cell from these columns.
fn key(row: &Row<'_>, sitting: usize, cell: usize) -> rusqlite::Result<RunKey> {
    let number: u32 = row.get(sitting)?;
    if number >= SITTINGS_MAX {
        return Err(rusqlite::Error::IntegralValueOutOfRange(
            sitting,
            number.into(),
        ));
    }
    Ok(RunKey {
        sitting: number,
        cell: from_integer(row, cell)? as usize,
    })
}

/// More sittings than this nobody makes.
const SITTINGS_MAX: u32 = 10_000_000;

/// Inserts a run anew, under its old number where it has one.
fn renew(transaction: &Transaction<'_>, session: i64, run: &RunRecord) -> rusqlite::Result<i64> {
    let id: Option<i64> = transaction
        .query_row(
            "SELECT run FROM run
             WHERE source = ?1 AND sitting = ?2 AND cell = ?3 AND set_aside = 0",
            params![run.source.name(), run.key.sitting, run.key.cell as i64],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = id {
        for table in ["latency", "consistency", "audit", "run"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [id])?;
        }
    }
    transaction.execute(
        "INSERT INTO run (run, session, source, sitting, cell, started, failure)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            id,
            session,
            run.source.name(),
            run.key.sitting,
            run.key.cell as i64,
            run.started_at.to_string(),
            run.result.as_ref().err(),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn put_slice(transaction: &Transaction<'_>, slice: &Slice) -> rusqlite::Result<()> {
    let time =
        |of: fn(&Spent) -> Duration| slice.spent.as_ref().map(|spent| of(spent).as_secs_f64());
    transaction
        .prepare_cached(
            "INSERT INTO slice SELECT run, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15
             FROM run WHERE sitting = ?1 AND cell = ?2 AND set_aside = 0",
        )?
        .execute(params![
            slice.key.sitting,
            slice.key.cell as i64,
            slice.key.pass,
            slice.key.position,
            to_integer(slice.transactions),
            to_integer(slice.counted),
            slice.elapsed.as_secs_f64(),
            time(|spent| spent.read),
            time(|spent| spent.log_write),
            time(|spent| spent.log_sync),
            time(|spent| spent.checkpoint),
            time(|spent| spent.cpu),
            to_integer(slice.misses),
            to_integer(slice.log_bytes.get()),
            slice.foreign_bytes.map(|bytes| to_integer(bytes.get())),
        ])
        .and_then(|rows| match rows {
            // Its run has to be kept before.
            0 => Err(rusqlite::Error::StatementChangedRows(0)),
            _ => Ok(()),
        })
}
