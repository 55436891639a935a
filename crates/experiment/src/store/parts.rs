//! Parts of a plan that were carried out by themselves, and what of them counts.
//!
//! A part is a session. What a store has once (facts, the device profile, snapshots) is kept for
//! each part as soon as several stores come together; the tables of these follow from the parts
//! that count, so that the same parts always give the same store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::{
    CHANGED, Store, StoreError, from_integer, migrations,
    part_rows::{Tables, cells_of, is_merged, remove},
    stored_part::{STORED, stored},
};
use crate::{
    lockstep::{BATCH_PASSES, Group},
    part::{Part, PartKind, PartOutcome, StoredPart, class},
    plan::Plan,
};

/// The passes that each cell of a part has at least that was cut off, if it counts: two batches
/// have a spread. Chosen.
pub(crate) const CUT_OFF_PASSES: usize = 2 * BATCH_PASSES;

/// The topic of what a part's host was at that time …
const HOST: &str = "host";
/// … with the name of its boot.
const BOOT: &str = "boot";

/// Statements that copying a part has, and some more, so that none is prepared twice.
const STATEMENTS: usize = 64;

impl Store {
    /// Begins a session that is a part of the plan; returns its number.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn begin_part(&mut self, part: &Part, octavo: &str) -> Result<i64, StoreError> {
        let started = Timestamp::now().to_string();
        let mut session = 0;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO session (started, elapsed_s) VALUES (?1, 0)",
                [&started],
            )?;
            session = transaction.last_insert_rowid();
            transaction.execute(
                "INSERT INTO part (part, session, kind, number, parts, host, host_name, octavo, started)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    part.id_text(),
                    session,
                    part.kind.name(),
                    part.number,
                    part.parts,
                    part.host.id,
                    part.host.name,
                    octavo,
                    started,
                ],
            )?;
            Ok(())
        })?;
        Ok(session)
    }

    /// Keeps which boot of a machine a part was carried out in; the first one stays.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn put_boot(&mut self, boot: Option<String>) -> Result<(), StoreError> {
        match boot {
            Some(boot) => self.put_facts(HOST, &[(BOOT, boot)]),
            None => Ok(()),
        }
    }

    /// The boots of machines in which parts were carried out, by the part's id, as far as they are known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn boots(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let all = self.collect(
            "SELECT part, value FROM part_fact WHERE topic = ?1 AND name = ?2",
            &[&HOST, &BOOT],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(all.into_iter().collect())
    }

    /// Keeps how a part ended.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn end_part(&self, session: i64, outcome: PartOutcome) -> Result<(), StoreError> {
        self.run(
            "UPDATE part SET outcome = ?2 WHERE session = ?1",
            params![session, outcome.name()],
        )
    }

    /// How many cells have figures in a part.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cells_of_part(&self, part: &Part) -> Result<usize, StoreError> {
        let cells: Vec<i64> = self.collect(
            "SELECT count(DISTINCT cell) FROM run JOIN part USING (session)
             WHERE part = ?1 AND failure IS NULL",
            &[&part.id_text()],
            |row| row.get(0),
        )?;
        let cells = cells.first().copied().unwrap_or_default();
        Ok(usize::try_from(cells).unwrap_or_default())
    }

    /// All parts, by kind, number and begin; those too that do not count.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn parts(&self) -> Result<Vec<StoredPart>, StoreError> {
        let mut parts = self.collect(
            &format!("SELECT {STORED} FROM part JOIN session USING (session)"),
            &[],
            stored,
        )?;
        parts.sort_by_cached_key(|part| {
            let id = part.id.clone();
            (part.kind, part.number, part.began(), id)
        });
        Ok(parts)
    }

    /// The classes that hosts of these parts are of, in the same order.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn classes(&self, parts: &[StoredPart]) -> Result<Vec<String>, StoreError> {
        let telling = "topic = 'machine' OR topic LIKE 'storage%' OR topic LIKE 'database%'";
        let read = |row: &Row<'_>| -> rusqlite::Result<(String, String, String, String)> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let mut facts: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
        let all = format!("SELECT part, topic, name, value FROM part_fact WHERE {telling}");
        for (part, topic, name, value) in self.collect(&all, &[], read)? {
            facts.entry(part).or_default().push((topic, name, value));
        }
        let own = format!("SELECT '', topic, name, value FROM fact WHERE {telling}");
        let own: Vec<(String, String, String)> = self
            .collect(&own, &[], read)?
            .into_iter()
            .map(|(_, topic, name, value)| (topic, name, value))
            .collect();
        let of = |part: &StoredPart| {
            // What is predicted is the same wherever that is.
            if part.kind == PartKind::Shard {
                return class([], &part.octavo);
            }
            let facts = facts.get(&part.id).unwrap_or(&own);
            let facts = facts.iter();
            class(
                facts.map(|(topic, name, value)| (&**topic, &**name, &**value)),
                &part.octavo,
            )
        };
        Ok(parts.iter().map(of).collect())
    }

    /// The plan's text with the version of Octavo that kept it, when one was kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn plan_text(&self) -> Result<Option<(String, String)>, StoreError> {
        self.row("SELECT plan, octavo FROM plan", |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// Keeps the plan of a store whose parts are to be taken, if it has none. `octavo` is the version that
    /// made it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn take_plan(&mut self, plan: &Plan, octavo: &str) -> Result<(), StoreError> {
        match self.plan()? {
            None => self.keep_plan(plan, octavo),
            Some(_) => Ok(()),
        }
    }

    /// Forgets a plan of which nothing was carried out, as one that was left behind.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn forget_idle_plan(&mut self) -> Result<(), StoreError> {
        match self.has_sessions()? {
            true => Ok(()),
            false => self.forget(false),
        }
    }

    /// Whether it has rows of parts, whatever they are worth.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn has_parts(&self) -> Result<bool, StoreError> {
        let has = self.row("SELECT EXISTS (SELECT 1 FROM part)", |row| row.get(0))?;
        Ok(has == Some(true))
    }

    /// Has all that is read of it from now on be of one moment, until it is closed. Locks are taken once.
    ///
    /// # Errors
    /// When SQLite refuses it.
    pub(crate) fn hold_still(&self) -> Result<(), StoreError> {
        let begun = self.connection.execute_batch("BEGIN DEFERRED");
        begun.map_err(|error| self.error(error))
    }

    /// Whether it may be merged into: nothing was carried out in it, or it was made by merging and has
    /// nothing else.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn is_for_merging(&self) -> Result<bool, StoreError> {
        let is_merged = is_merged(&self.connection).map_err(|error| self.error(error))?;
        let others = "SELECT EXISTS (SELECT 1 FROM session
                      WHERE NOT EXISTS (SELECT 1 FROM part WHERE part.session = session.session))";
        let has_others: Option<bool> = self.row(others, |row| row.get(0))?;
        Ok(has_others == Some(false) && (is_merged || self.first_part()?.is_none()))
    }

    /// Whether anything was ever carried out in it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn has_sessions(&self) -> Result<bool, StoreError> {
        let has = self.row("SELECT EXISTS (SELECT 1 FROM session)", |row| row.get(0))?;
        Ok(has == Some(true))
    }

    /// Decides which parts count: of several attempts at one a complete one rather than one that was cut off,
    /// of these one whose cells all have figures of so many passes that one that was cut off would count, too,
    /// and of these the one that began first. One without any slice is behind all others, and one that was
    /// cut off counts if each of its cells has something to say.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn rank_parts(&mut self) -> Result<(), StoreError> {
        let groups = self.plan()?.map(|plan| plan.groups()).unwrap_or_default();
        self.write(|transaction| {
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            rank(transaction, &groups)
        })
    }

    /// Has what the store has once follow from the parts that count and that `is_wanted` wants.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep_once(
        &mut self,
        is_wanted: impl Fn(&StoredPart) -> bool,
    ) -> Result<(), StoreError> {
        let parts = self.parts()?;
        let wanted: Vec<&StoredPart> = parts
            .iter()
            .filter(|part| part.counts() && is_wanted(part))
            .collect();
        let tables = Tables::of(self)?;
        let first = first_of(&parts);
        let created = self.collect("SELECT part, created FROM part", &[], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let created: BTreeMap<String, Option<String>> = created.into_iter().collect();
        let counting = parts.iter().filter(|part| part.counts());
        let earliest = |parts: &mut dyn Iterator<Item = &StoredPart>| {
            let times = parts.filter_map(|part| created.get(&part.id)?.clone());
            times.min_by_key(|time| time.parse::<Timestamp>().ok())
        };
        let created = earliest(&mut counting.into_iter()).or_else(|| earliest(&mut parts.iter()));
        let octavo = wanted.first().copied().or(first).map(|part| &part.octavo);
        self.write(|transaction| {
            for table in ["fact", "calibration", "snapshot", "figures"] {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            let mut firsts = BTreeMap::new();
            for part in &wanted {
                put_once(transaction, part, &tables.snapshot, &mut firsts)?;
            }
            // The experiment began with its first part, and slices may have lengths of their own.
            transaction.execute(
                "UPDATE plan SET
                     created = coalesce(?2, created),
                     octavo = coalesce(?1, octavo),
                     slice_transactions = (SELECT CASE WHEN min(slice_transactions) = max(slice_transactions)
                                                THEN min(slice_transactions) END
                                           FROM part WHERE set_aside = 0),
                     horizon = (SELECT CASE WHEN min(horizon) = max(horizon) THEN min(horizon) END
                                FROM part WHERE set_aside = 0)",
                params![octavo, created],
            )?;
            Ok(())
        })
    }

    /// Any part; all of a store are of one kind.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn first_part(&self) -> Result<Option<StoredPart>, StoreError> {
        let sql = format!("SELECT {STORED} FROM part JOIN session USING (session) LIMIT 1");
        Ok(self.collect(&sql, &[], stored)?.into_iter().next())
    }

    /// Makes room for a merge, which is one transaction of many parts.
    ///
    /// # Errors
    /// When SQLite refuses it.
    pub(crate) fn begin_merge(&mut self) -> Result<(), StoreError> {
        self.connection
            .set_prepared_statement_cache_capacity(STATEMENTS);
        self.execute_all("PRAGMA cache_size = -65536")?;
        self.begin_log()
    }

    /// Has all that was merged be in the store itself.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn end_merge(&mut self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| self.error(error))
    }

    /// A copy in memory with these parts alone, as if there were no others.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn of_parts(&self, wanted: &[&StoredPart]) -> Result<Self, StoreError> {
        let connection =
            migrations::copy_to_memory(&self.connection).map_err(|error| self.error(error))?;
        let mut copy = Self {
            path: self.path.clone(),
            connection,
            is_writable: true,
            has_log: false,
        };
        let others: Vec<StoredPart> = copy
            .parts()?
            .into_iter()
            .filter(|part| wanted.iter().all(|wanted| wanted.id != part.id))
            .collect();
        copy.write(|transaction| {
            for part in &others {
                remove(transaction, &part.id)?;
            }
            Ok(())
        })?;
        copy.rank_parts()?;
        copy.keep_once(|_| true)?;
        Ok(copy)
    }
}

/// The part that began first.
fn first_of(parts: &[StoredPart]) -> Option<&StoredPart> {
    parts.iter().min_by_key(|part| (part.began(), &part.id))
}

/// Numbers the attempts at each part: 0 counts.
fn rank(transaction: &Connection, groups: &[Group]) -> rusqlite::Result<()> {
    let all = format!("SELECT {STORED} FROM part JOIN session USING (session)");
    let mut statement = transaction.prepare(&all)?;
    let parts = statement.query_map([], stored)?;
    let mut attempts: BTreeMap<(PartKind, u32), Vec<StoredPart>> = BTreeMap::new();
    for part in parts {
        let part = part?;
        attempts
            .entry((part.kind, part.number))
            .or_default()
            .push(part);
    }
    let mut changed = Vec::new();
    for attempts in attempts.into_values() {
        let mut ranked = Vec::new();
        for part in attempts.iter() {
            let is_done = part.outcome == Some(PartOutcome::Done);
            // Nearly always.
            let worth = match is_done && attempts.len() == 1 {
                true => Worth::WHOLE,
                false => Worth::of(transaction, part, groups)?,
            };
            let says = is_done || worth.has_enough;
            let order = (
                !worth.has_slices,
                !says,
                !is_done,
                !worth.is_whole,
                part.began(),
                &part.id,
            );
            ranked.push((order, says, part));
        }
        ranked.sort_by_key(|(order, ..)| *order);
        let first = u32::from(ranked.first().is_some_and(|(_, says, _)| !says));
        for (rank, (.., part)) in (first..).zip(&ranked) {
            if part.set_aside != rank {
                changed.push((part.session, rank));
            }
        }
    }
    // Two steps, as (sitting, cell, set_aside) is unique at each moment.
    for step in ["-1 - ?2", "?2"] {
        for table in ["run", "part"] {
            let mut update = transaction.prepare_cached(&format!(
                "UPDATE {table} SET set_aside = {step} WHERE session = ?1"
            ))?;
            for (session, rank) in &changed {
                update.execute(params![session, rank])?;
            }
        }
    }
    Ok(())
}

/// What an attempt at a part is worth beside others.
#[derive(Clone, Copy, Debug)]
struct Worth {
    /// Whether anything was measured at all.
    has_slices: bool,
    /// Whether each cell was measured for a while.
    has_enough: bool,
    /// Whether each cell has figures of as much.
    is_whole: bool,
}

impl Worth {
    const WHOLE: Self = Self {
        has_slices: true,
        has_enough: true,
        is_whole: true,
    };

    fn of(transaction: &Connection, part: &StoredPart, groups: &[Group]) -> rusqlite::Result<Self> {
        let cells = cells_of(part, groups).len() as u64;
        // A ramp has steps in the place of passes.
        let mut statement = transaction.prepare_cached(
            "SELECT count(*), coalesce(min(passes), 0), coalesce(max(passes), 0),
                    coalesce(sum(failure IS NULL AND passes >= ?2), 0)
             FROM (SELECT failure, (SELECT count(*) FROM slice WHERE slice.run = run.run)
                                 + (SELECT count(*) FROM step WHERE step.run = run.run) AS passes
                   FROM run WHERE session = ?1)",
        )?;
        statement.query_row(params![part.session, CUT_OFF_PASSES as i64], |row| {
            let seen = from_integer(row, 0)?;
            let fewest = from_integer(row, 1)?;
            Ok(Self {
                has_slices: from_integer(row, 2)? > 0,
                has_enough: seen >= cells && fewest >= CUT_OFF_PASSES as u64,
                is_whole: from_integer(row, 3)? >= cells,
            })
        })
    }
}

/// Adds what a part kept to what the store has once: as sessions do, the first value of a fact
/// stays. What is another one later on the same host has changed; other hosts have others.
fn put_once(
    transaction: &Connection,
    part: &StoredPart,
    snapshot: &str,
    firsts: &mut BTreeMap<(String, String, String), String>,
) -> rusqlite::Result<()> {
    let mut facts = transaction.prepare_cached(
        "SELECT topic, name, value FROM part_fact WHERE part = ?1 ORDER BY topic, name",
    )?;
    let mut keep = transaction.prepare_cached("INSERT OR IGNORE INTO fact VALUES (?1, ?2, ?3)")?;
    let mut change =
        transaction.prepare_cached("INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3)")?;
    let rows = facts.query_map([&part.id], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    for row in rows {
        let (topic, name, value): (String, String, String) = row?;
        // Each program was called in its own way, and hosts start anew.
        if topic == "octavo" || topic == HOST {
            continue;
        }
        if topic == CHANGED {
            let name = format!("{name} on {}", part.host.name);
            change.execute(params![topic, name, value])?;
            continue;
        }
        let key = (part.host.id.clone(), topic, name);
        match firsts.get(&key) {
            Some(first) if *first == value => {}
            Some(first) => {
                let what = format!("{first} is now {value}");
                let name = format!("{} {} on {}", key.1, key.2, part.host.name);
                change.execute(params![CHANGED, name, what])?;
            }
            None => {
                keep.execute(params![key.1, key.2, value])?;
                firsts.insert(key, value);
            }
        }
    }
    transaction.execute(
        "INSERT OR IGNORE INTO calibration SELECT 1, profile FROM part_calibration WHERE part = ?1",
        [&part.id],
    )?;
    transaction.execute(
        &format!(
            "INSERT OR IGNORE INTO snapshot SELECT {snapshot} FROM part_snapshot WHERE part = ?1"
        ),
        [&part.id],
    )?;
    Ok(())
}
