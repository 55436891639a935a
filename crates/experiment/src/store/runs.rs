//! Runs and their slices as they are kept, with latencies and the workload's
//! conditions.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use octavo_database::TreeCounters;
use octavo_driver::{Counts, KindCounts, Latencies, Measurement, Outcomes};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Condition, TransactionKind};
use rusqlite::{
    Connection, OptionalExtension, Row, RowIndex, params, params_from_iter, types::Value,
};

use super::{
    PREDICTED, SOURCE, Store, StoreError, damage, from_integer, json, seconds, to_integer, to_json,
};
use crate::{
    lockstep::{SessionTime, Slice, SliceKey, WarmUpBlock},
    record::{Figures, RunKey, RunRecord, Source},
};

/// The columns of the table `run` that a run with a result fills.
const FIGURES: &str = "warm_up_s, warm_up_misses, buffer_filled, measured_s, interrupted, \
     overhead_s, transactions, counted, changed_bytes, late, backlog, restored_by, storage_path, \
     counters, device, machine, steady, steadiness, stability, warm_up_failed, ended_early, \
     unchecked";

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
        self.put_sitting(session, runs, &[], slices)
    }

    /// The same with blocks of the runs' warm-ups.
    ///
    /// # Errors
    /// As [`Self::put_runs`].
    pub fn put_sitting(
        &mut self,
        session: i64,
        runs: &[&RunRecord],
        warm_up: &[WarmUpBlock],
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
            put_warm_up(transaction, warm_up)?;
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
                    buffer_misses, log_written_bytes, foreign_bytes, response_s
             FROM slice JOIN run USING (run)
             WHERE set_aside = 0 AND failure IS NULL
             ORDER BY sitting, pass, slice.position, cell",
            &[],
            |row| slice(row, key(row, "sitting", "cell")?),
        )
    }

    /// How the records so far came about; `None` without any, but for a prediction, whose
    /// storage is known before its first record.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn source(&self) -> Result<Option<Source>, StoreError> {
        if let Some(source) = self.row("SELECT source FROM run LIMIT 1", source)? {
            return Ok(Some(source));
        }
        let facts = self.facts("storage")?;
        let mut sources = facts.iter().filter(|(name, _)| name == SOURCE);
        let is_predicted = sources.any(|(_, value)| value == PREDICTED);
        Ok(is_predicted.then_some(Source::Predicted))
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

    /// Which cells took part in which sittings: sittings and cells that have a run.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn seated(&self) -> Result<BTreeSet<(u32, usize)>, StoreError> {
        let seated = self.collect(
            "SELECT DISTINCT sitting, cell FROM run WHERE set_aside = 0",
            &[],
            |row| {
                let run = key(row, 0, 1)?;
                Ok((run.sitting, run.cell))
            },
        )?;
        Ok(seated.into_iter().collect())
    }

    /// The cells of which a run has a result.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn finished_cells(&self) -> Result<Vec<usize>, StoreError> {
        self.collect(
            "SELECT DISTINCT cell FROM run WHERE failure IS NULL AND set_aside = 0 ORDER BY cell",
            &[],
            |row| Ok(from_integer(row, 0)? as usize),
        )
    }

    /// All runs, by sitting and cell. `kinds` are the workload's. What the whole
    /// experiment keeps once is not in them: conditions
    /// ([`Self::facts_below`]) and audit ([`Self::audit`]).
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn runs(&self, kinds: &[TransactionKind]) -> Result<Vec<RunRecord>, StoreError> {
        let mut places = HashMap::new();
        let mut runs = self.collect(
            &format!(
                "SELECT run, sitting, cell, source, started, failure, {FIGURES}
                 FROM run WHERE set_aside = 0 ORDER BY sitting, cell"
            ),
            &[],
            |row| {
                places.insert(row.get::<_, i64>("run")?, places.len());
                record(row, kinds)
            },
        )?;
        self.collect(
            &format!(
                "SELECT latency.run, name, histogram, {} FROM latency JOIN run USING (run)
                 WHERE set_aside = 0 ORDER BY run, kind",
                KindCounts::OUTCOMES.join(", ")
            ),
            &[],
            |row| {
                let counts = kind_counts(row, kinds)?;
                if let Some(&place) = places.get(&row.get::<_, i64>("run")?)
                    && let Ok(figures) = &mut runs[place].result
                {
                    figures.load.counts.kinds.push(counts);
                }
                Ok(())
            },
        )?;
        self.collect(
            "SELECT tree.run, name, calls, hits, reads, read_bytes FROM tree JOIN run USING (run)
             WHERE set_aside = 0 ORDER BY run, name",
            &[],
            |row| {
                if let Some(&place) = places.get(&row.get::<_, i64>("run")?)
                    && let Ok(figures) = &mut runs[place].result
                {
                    figures.trees.push(tree(row)?);
                }
                Ok(())
            },
        )?;
        Ok(runs)
    }

    /// What was generated in the longest run, warm-up included, where all runs are given the
    /// same inputs.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn longest_audit(&self) -> Result<Audit, StoreError> {
        Ok(longest(self.audits()?.into_iter().map(|(_, audit)| audit)).unwrap_or_default())
    }

    /// What was generated, over one run of each sitting, the longest with its warm-up: all of
    /// a sitting are given the same inputs, and counted together they would seem to deviate
    /// more than chance lets them.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        let mut by_sitting: BTreeMap<i64, Vec<Audit>> = BTreeMap::new();
        for (sitting, audit) in self.audits()? {
            by_sitting.entry(sitting).or_default().push(audit);
        }
        let mut audit = Audit::default();
        for other in by_sitting.into_values().filter_map(longest) {
            audit.merge(&other);
        }
        Ok(audit)
    }

    /// What each cell's runs counted of the user's own statements, by the cell's number, with how
    /// many transactions that was.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn statements(&self) -> Result<BTreeMap<usize, Audit>, StoreError> {
        let found: Vec<(usize, Audit)> = self.collect(
            "SELECT cell, audit FROM run JOIN audit USING (run) WHERE set_aside = 0
             ORDER BY sitting, cell",
            &[],
            |row| Ok((row.get::<_, u32>("cell")? as usize, json(row, "audit")?)),
        )?;
        let mut by_cell: BTreeMap<usize, Audit> = BTreeMap::new();
        for (cell, audit) in found {
            by_cell.entry(cell).or_default().merge(&audit);
        }
        Ok(by_cell)
    }

    /// What was generated in each run, with its sitting.
    fn audits(&self) -> Result<Vec<(i64, Audit)>, StoreError> {
        self.collect(
            "SELECT sitting, audit FROM run JOIN audit USING (run) WHERE set_aside = 0
             ORDER BY sitting, cell",
            &[],
            |row| Ok((row.get("sitting")?, json(row, "audit")?)),
        )
    }
}

/// That of the longest run, the first of several. Rows of runs have their transactions after
/// the warm-up, and audits count what it generated too, so that they alone tell.
fn longest(audits: impl IntoIterator<Item = Audit>) -> Option<Audit> {
    let generated = |audit: &Audit| -> u64 {
        let lines = audit.lines.iter().map(|line| line.total);
        lines.fold(0, u64::saturating_add)
    };
    let mut audits = audits.into_iter();
    let first = audits.next()?;
    Some(audits.fold(first, |most, other| {
        match generated(&other) > generated(&most) {
            true => other,
            false => most,
        }
    }))
}

/// How the run of a row came about.
fn source(row: &Row<'_>) -> rusqlite::Result<Source> {
    let name: String = row.get("source")?;
    let known = Source::ALL.into_iter().find(|source| source.name() == name);
    known.ok_or_else(|| damage("source", name))
}

/// Reads a row of the table `run`, but for what other tables have of it.
pub(super) fn record(row: &Row<'_>, kinds: &[TransactionKind]) -> rusqlite::Result<RunRecord> {
    let started: String = row.get("started")?;
    let failure: Option<String> = row.get("failure")?;
    Ok(RunRecord {
        source: source(row)?,
        key: key(row, "sitting", "cell")?,
        started_at: started.parse().map_err(|error| damage("started", error))?,
        result: match failure {
            Some(failure) => Err(failure),
            None => Ok(Box::new(figures(row, kinds)?)),
        },
    })
}

/// Reads a row of the table `slice`, of this run.
pub(super) fn slice(row: &Row<'_>, run: RunKey) -> rusqlite::Result<Slice> {
    let times: Option<f64> = row.get("checkpoint_s")?;
    let timed = |column: &str| -> rusqlite::Result<Option<Duration>> {
        let time: Option<f64> = row.get(column)?;
        time.map(|_| seconds(row, column)).transpose()
    };
    let foreign: Option<i64> = row.get("foreign_bytes")?;
    Ok(Slice {
        key: SliceKey {
            sitting: run.sitting,
            pass: row.get("pass")?,
            position: row.get("position")?,
            cell: run.cell,
        },
        transactions: from_integer(row, "transactions")?,
        counted: from_integer(row, "counted")?,
        elapsed: seconds(row, "elapsed_s")?,
        response: timed("response_s")?,
        spent: match times {
            None => None,
            Some(_) => Some(SessionTime {
                read: timed("read_s")?,
                log_write: timed("log_write_s")?,
                log_sync: timed("log_sync_s")?,
                checkpoint: seconds(row, "checkpoint_s")?,
                cpu: seconds(row, "cpu_s")?,
            }),
        },
        misses: from_integer(row, "buffer_misses")?,
        log_bytes: ByteCount::new(from_integer(row, "log_written_bytes")?),
        foreign_bytes: foreign
            .map(|_| from_integer(row, "foreign_bytes").map(ByteCount::new))
            .transpose()?,
    })
}

/// Reads a row of the table `tree`.
pub(super) fn tree(row: &Row<'_>) -> rusqlite::Result<TreeCounters> {
    Ok(TreeCounters {
        name: row.get("name")?,
        calls: from_integer(row, "calls")?,
        hits: from_integer(row, "hits")?,
        reads: from_integer(row, "reads")?,
        read_bytes: ByteCount::new(from_integer(row, "read_bytes")?),
    })
}

/// Reads a row's [`FIGURES`], but for the counts of `kinds`. `transactions`,
/// `counted` and `steady` follow from others and are there for SQL.
fn figures(row: &Row<'_>, kinds: &[TransactionKind]) -> rusqlite::Result<Figures> {
    let mut counts = Counts::new(&[]);
    counts.kinds.reserve(kinds.len());
    counts.changed_bytes = from_integer(row, "changed_bytes")?;
    if let Some(late) = row.get::<_, Option<Vec<u8>>>("late")? {
        counts.late = Latencies::from_packed(late).map_err(|error| damage("late", error))?;
    }
    Ok(Figures {
        load: Measurement {
            warm_up: seconds(row, "warm_up_s")?,
            warm_up_misses: from_integer(row, "warm_up_misses")?,
            warm_up_failed: from_integer(row, "warm_up_failed")?,
            buffer_filled: row.get("buffer_filled")?,
            measured: seconds(row, "measured_s")?,
            interrupted: row.get("interrupted")?,
            lost: row.get("ended_early")?,
            full: None,
            counts,
            counters: json(row, "counters")?,
            backlog: json(row, "backlog")?,
            series: Vec::new(),
            audit: Audit::default(),
            steadiness: json(row, "steadiness")?,
            stability: json(row, "stability")?,
            outages: Vec::new(),
        },
        overhead: seconds(row, "overhead_s")?,
        restored_by: json(row, "restored_by")?,
        storage_path: json(row, "storage_path")?,
        trees: Vec::new(),
        device: json(row, "device")?,
        machine: json(row, "machine")?,
        conditions: Vec::new(),
        checks: Vec::new(),
        unchecked: row.get("unchecked")?,
    })
}

/// Reads a row of the table `latency`.
pub(super) fn kind_counts(
    row: &Row<'_>,
    kinds: &[TransactionKind],
) -> rusqlite::Result<KindCounts> {
    let name: String = row.get("name")?;
    let latencies = Latencies::from_packed(row.get::<_, Vec<u8>>("histogram")?)
        .map_err(|error| damage("latency histogram", error))?;
    let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
        return Err(damage("kind of transaction", name));
    };
    let mut outcomes = Outcomes::default();
    for (outcome, column) in outcomes.iter_mut().zip(KindCounts::OUTCOMES) {
        *outcome = from_integer(row, column)?;
    }
    Ok(KindCounts::with_outcomes(kind, outcomes, latencies))
}

fn put_figures(transaction: &Connection, id: i64, figures: &Figures) -> rusqlite::Result<()> {
    let load = &figures.load;
    // Where nothing waited, all of it is 0.
    let late = {
        let is_late = load.counts.late.percentiles().max_us > 0;
        (load.backlog.is_some() || is_late).then(|| load.counts.late.packed())
    };
    transaction.execute(
        &format!(
            "UPDATE run SET ({FIGURES}) = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
                 ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23) WHERE run = ?1"
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
            to_integer(load.warm_up_failed),
            &load.lost,
            &figures.unchecked,
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
    let mut tree = transaction.prepare("INSERT INTO tree VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for of in &figures.trees {
        tree.execute(params![
            id,
            of.name,
            to_integer(of.calls),
            to_integer(of.hits),
            to_integer(of.reads),
            to_integer(of.read_bytes.get()),
        ])?;
    }
    transaction.execute(
        "INSERT INTO audit VALUES (?1, ?2)",
        params![id, to_json(&load.audit)],
    )?;
    Ok(())
}

fn put_condition(connection: &Connection, run: i64, check: &Condition) -> rusqlite::Result<()> {
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
pub(super) fn key(
    row: &Row<'_>,
    sitting: impl RowIndex,
    cell: impl RowIndex,
) -> rusqlite::Result<RunKey> {
    let index = sitting.idx(row.as_ref())?;
    let number: u32 = row.get(index)?;
    if number >= SITTINGS_MAX {
        return Err(rusqlite::Error::IntegralValueOutOfRange(
            index,
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
fn renew(transaction: &Connection, session: i64, run: &RunRecord) -> rusqlite::Result<i64> {
    let id: Option<i64> = transaction
        .query_row(
            "SELECT run FROM run
             WHERE source = ?1 AND sitting = ?2 AND cell = ?3 AND set_aside = 0",
            params![run.source.name(), run.key.sitting, run.key.cell as i64],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = id {
        for table in ["latency", "consistency", "tree", "audit", "run"] {
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

/// Keeps blocks of the runs that are there.
fn put_warm_up(transaction: &Connection, blocks: &[WarmUpBlock]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
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
}

fn put_slice(transaction: &Connection, slice: &Slice) -> rusqlite::Result<()> {
    let time = |of: fn(&SessionTime) -> Option<Duration>| {
        let time = slice.spent.as_ref().and_then(of);
        time.map(|time| time.as_secs_f64())
    };
    transaction
        .prepare_cached(
            "INSERT INTO slice SELECT run, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                    ?16
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
            time(|spent| Some(spent.checkpoint)),
            time(|spent| Some(spent.cpu)),
            to_integer(slice.misses),
            to_integer(slice.log_bytes.get()),
            slice.foreign_bytes.map(|bytes| to_integer(bytes.get())),
            slice.response.map(|response| response.as_secs_f64()),
        ])
        .and_then(|rows| match rows {
            // Its run has to be kept before.
            0 => Err(rusqlite::Error::StatementChangedRows(0)),
            _ => Ok(()),
        })
}
