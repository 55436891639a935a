//! Parts apart and merged say what they say together, whatever the order, and a fleet of hosts.

mod hosts;

use std::{
    cell::Cell,
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_units::Seed;
use rand::{RngExt, seq::SliceRandom};

use super::{MergeError, Merged, Offender};
use crate::{
    directory::{STORE, WorkDirectory},
    findings::Findings,
    lockstep::{Horizon, Slice, slice::tests::slice},
    part::{Host, Part, PartKind, PartOutcome},
    plan::{Design, Plan, SliceLength, tests::plan},
    record::{RunKey, RunRecord, Source, tests::figures},
    statistics::{Decision, Interval},
    store::Store,
};

/// The plan of a fleet: all cells to the end.
fn fleet_plan() -> Plan {
    Plan {
        design: Design::Full,
        ..plan()
    }
}

/// Ids whose directories have names of their own.
fn id_of(number: u32) -> u128 {
    u128::from(number) << 96
}

/// [`super::merge`], which nobody stops.
fn merge(into: &Path, inputs: &[PathBuf]) -> Result<Merged, MergeError> {
    super::merge(into, inputs, &|| ControlFlow::Continue(()))
}

/// A part to be made up.
#[derive(Clone)]
struct MadeUp {
    part: Part,
    /// What its host adds to the logarithm of the ratio of each cell.
    effect: f64,
    passes: u32,
    outcome: Option<PartOutcome>,
    cpu: &'static str,
}

impl MadeUp {
    fn new(number: u32, host: &str) -> Self {
        let part = Part::new(PartKind::Sitting, number, Some(12), Host::named(host));
        Self {
            part: Part {
                id: id_of(1 + number),
                ..part
            },
            effect: 0.0,
            passes: 12,
            outcome: Some(PartOutcome::Done),
            cpu: "8 x Xeon",
        }
    }

    /// Another attempt at the same.
    fn again(&self, id: u32) -> Self {
        let mut other = self.clone();
        other.part.id = id_of(id);
        other
    }

    /// Its cells: those of a shard are those of one of the two groups.
    fn cells(&self) -> std::ops::Range<usize> {
        let cells = fleet_plan().cell_count();
        match (self.part.kind, self.part.number) {
            (PartKind::Sitting, _) => 0..cells,
            (PartKind::Shard, 0) => 0..cells / 2,
            (PartKind::Shard, _) => cells / 2..cells,
        }
    }

    fn slices(&self) -> Vec<Slice> {
        let number = match self.part.kind {
            PartKind::Sitting => self.part.number,
            PartKind::Shard => 0,
        };
        // Of the attempt: other hosts and other times give other figures.
        let mut generator = Seed::new((self.part.id >> 96) as u64).generator();
        let mut slices = Vec::new();
        for pass in 0..self.passes {
            let shared = 1.0 + 0.1 * generator.random::<f64>();
            for cell in self.cells() {
                let mut made = slice(number, pass, cell);
                // Each level is 20% slower than the one before it.
                let slower = 1.2f64.powi((cell % 3) as i32);
                let own = 1.0 + 0.05 * generator.random::<f64>();
                let effect = match cell % 3 {
                    0 => 1.0,
                    _ => (-self.effect).exp(),
                };
                made.elapsed = made.elapsed.mul_f64(slower * own * shared * effect);
                slices.push(made);
            }
        }
        slices
    }

    /// Carries it out in a store that may have others.
    fn put(&self, store: &mut Store) {
        let session = store.begin_part(&self.part, "0").unwrap();
        store
            .put_facts("machine", &[("cpu", self.cpu.to_owned())])
            .unwrap();
        let workload = fleet_plan().workload(fleet_plan().data[0]).unwrap();
        let slices = self.slices();
        let (source, sitting) = match self.part.kind {
            PartKind::Sitting => (Source::Measured, self.part.number),
            PartKind::Shard => (Source::Predicted, 0),
        };
        let runs: Vec<RunRecord> = self
            .cells()
            .map(|cell| RunRecord {
                source,
                key: RunKey { sitting, cell },
                started_at: "2026-12-01T10:00:00Z".parse().unwrap(),
                result: Ok(Box::new(figures(workload.transactions(), 20 + cell as u64))),
            })
            .collect();
        store
            .put_runs(session, &runs.iter().collect::<Vec<_>>(), &slices)
            .unwrap();
        self.add_rows(store, session);
        store.set_horizon(Horizon::Passes { passes: 12 }).unwrap();
        store
            .extend_session(session, Duration::from_secs(u64::from(self.passes)))
            .unwrap();
        if let Some(outcome) = self.outcome {
            store.end_part(session, outcome).unwrap();
        }
    }

    /// Rows of all tables beside those of runs and slices, and the sums that runs have of their own slices.
    fn add_rows(&self, store: &Store, session: i64) {
        let own = format!("(SELECT run FROM run WHERE session = {session})");
        let (number, id) = (self.part.number, (self.part.id >> 96) as u64);
        let audit =
            r#"{"lines":[{"name":"a","count":1,"total":2,"wanted":0.5,"rule":"independent"}]}"#;
        store
            .connection()
            .execute_batch(&format!(
                "UPDATE run SET transactions = t, counted = c, measured_s = s FROM
                     (SELECT run AS of_run, sum(transactions) AS t, sum(counted) AS c, sum(elapsed_s) AS s
                      FROM slice GROUP BY run) WHERE run = of_run;
                 UPDATE latency SET rolled_back = 0,
                     committed = CASE kind WHEN 0 THEN (SELECT transactions FROM run
                                                        WHERE run.run = latency.run) ELSE 0 END
                 WHERE run IN {own};
                 UPDATE audit SET audit = '{audit}' WHERE run IN {own};
                 INSERT OR REPLACE INTO warm_up
                     SELECT run, 0, 10, 10, 5, 0.1, {id}, NULL FROM run WHERE session = {session};
                 INSERT OR REPLACE INTO tree
                     SELECT run, 't', {id}, 1, 1, 4096 FROM run WHERE session = {session};
                 INSERT OR REPLACE INTO consistency
                     SELECT run, 'c', {id}, 0, NULL FROM run WHERE session = {session};
                 INSERT OR IGNORE INTO snapshot
                     VALUES ('sqlite', 'rows', '', 4096, 'load', 10, 4096, {number} + 0.5, NULL, NULL, NULL);"
            ))
            .unwrap();
    }

    /// Carries it out by itself in a directory below this one; its store.
    fn alone(&self, below: &Path) -> PathBuf {
        let directory = WorkDirectory::open(&below.join(self.part.directory()), &[]).unwrap();
        let mut store = Store::open_or_create(&directory.store()).unwrap();
        adopt(&mut store);
        self.put(&mut store);
        directory.store()
    }
}

fn adopt(store: &mut Store) {
    let slices = SliceLength::default();
    store.adopt(&fleet_plan(), slices, "0").unwrap();
    store.set_slice_transactions(50).unwrap();
}

/// What a store says, but for when it was made.
fn said(path: &Path) -> String {
    let mut findings = Findings::read(&Store::open(path).unwrap())
        .unwrap()
        .unwrap();
    findings.created.clear();
    serde_json::to_string(&findings).unwrap()
}

fn found(path: &Path) -> Findings {
    Findings::read(&Store::open(path).unwrap())
        .unwrap()
        .unwrap()
}

#[test]
fn twelve_sittings_apart_and_merged_say_what_they_say_in_one_process() {
    let scratch = tempfile::tempdir().unwrap();
    let sittings: Vec<MadeUp> = (0..12).map(|number| MadeUp::new(number, "h")).collect();
    let together = WorkDirectory::open(&scratch.path().join("one"), &[]).unwrap();
    let mut store = Store::open_or_create(&together.store()).unwrap();
    adopt(&mut store);
    for sitting in &sittings {
        sitting.put(&mut store);
    }
    drop(store);
    let mut apart: Vec<PathBuf> = sittings.iter().map(|of| of.alone(scratch.path())).collect();
    apart.reverse();
    let merged = merge(&scratch.path().join("all"), &apart).unwrap();
    assert_eq!(
        (merged.stores, merged.taken, merged.unread.len()),
        (12, 12, 0)
    );
    assert_eq!(said(&merged.store), said(&together.store()));
    // And of several hosts, whose ratios are one each then.
    let hosts = found(&merged.store).fleet.unwrap();
    assert_eq!((hosts.counted, hosts.wanted, hosts.hosts()), (12, 12, 1));
    assert!(hosts.missing.is_empty());
}

/// All that a store has, in an order that does not depend on that of merging.
fn dump(store: &Store) -> String {
    let lines = |sql: &str| -> Vec<String> {
        let read = |row: &rusqlite::Row<'_>| {
            let columns = row.as_ref().column_count();
            let values = (0..columns).map(|column| Ok(format!("{:?}", row.get_ref(column)?)));
            Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
        };
        store.collect(sql, &[], read).unwrap()
    };
    // Numbers of sessions and runs stand for parts and cells.
    let by_part = |table: &str, columns: &str| {
        format!(
            "SELECT part.part, run.cell, {columns} FROM {table} JOIN run USING (run)
             JOIN part USING (session) ORDER BY 1, 2, 3"
        )
    };
    let mut dumped = Vec::new();
    for sql in [
        "SELECT part, kind, number, parts, host, host_name, octavo, started, outcome, set_aside, \
                created, slice_transactions, horizon FROM part ORDER BY part",
        "SELECT part.part, session.started, elapsed_s FROM session JOIN part USING (session) ORDER BY 1",
        "SELECT octavo, created, plan, slice_transactions, horizon FROM plan",
        "SELECT * FROM fact ORDER BY 1, 2",
        "SELECT * FROM part_fact ORDER BY 1, 2, 3",
        "SELECT * FROM part_snapshot ORDER BY 1, 2, 3, 4, 5",
        "SELECT * FROM snapshot ORDER BY 1, 2, 3, 4",
        "SELECT * FROM part_calibration ORDER BY 1",
        "SELECT * FROM calibration",
        "SELECT * FROM cell ORDER BY 1",
        "SELECT * FROM figures ORDER BY cell_number",
        "SELECT part, source, sitting, cell, run.set_aside, run.started, failure, counters, counted \
         FROM run JOIN part USING (session) ORDER BY part, cell",
        "SELECT part, cell, pass, slice.position, elapsed_s, slice.counted FROM slice JOIN run USING (run)
         JOIN part USING (session) ORDER BY part, cell, pass",
        "SELECT part, cell, latency.kind, name, committed, histogram FROM latency JOIN run USING (run)
         JOIN part USING (session) ORDER BY part, cell, latency.kind",
    ] {
        dumped.extend(lines(sql));
    }
    for (table, columns) in [
        (
            "consistency",
            "clause, checked, violations, first_violation",
        ),
        ("tree", "name, calls, hits, reads, read_bytes"),
        ("audit", "audit"),
        (
            "warm_up",
            "block, sent, warm_up.transactions, warm_up.counted, elapsed_s, buffer_misses, response_s",
        ),
        ("step", "clients, step.measured_s, batches, histogram"),
    ] {
        dumped.extend(lines(&by_part(table, columns)));
    }
    dumped.join("\n")
}

/// Orders, repeats and subsets to try. The figure that is asked for is 1,000 (bench/merge.py has
/// many more parts); so many are tried with `OCTAVO_TEST_ORDERS`.
fn orders() -> usize {
    let given = std::env::var("OCTAVO_TEST_ORDERS").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(12)
}

#[test]
fn whatever_the_order_and_however_often_merging_gives_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    let mut parts: Vec<MadeUp> = (0..6)
        .map(|number| MadeUp::new(number, &format!("h{}", number % 3)))
        .collect();
    parts[5].cpu = "8 x EPYC";
    // Two whole attempts at one, one that was cut off beside a whole one, and one that was cut off
    // with hardly anything.
    parts.push(parts[1].again(101));
    let cut_off = |number: usize, id: u32, passes: u32, outcome| MadeUp {
        passes,
        outcome,
        ..parts[number].again(id)
    };
    let more = [
        cut_off(2, 102, 9, None),
        cut_off(3, 103, 3, Some(PartOutcome::Incomplete)),
    ];
    parts.extend(more);
    let stores: Vec<PathBuf> = parts.iter().map(|of| of.alone(scratch.path())).collect();
    let mut generator = Seed::new(7).generator();
    let all = scratch.path().join("all");
    merge(&all, &stores).unwrap();
    let wanted = dump(&Store::open(&all.join(STORE)).unwrap());
    for order in 0..orders() {
        let into = scratch.path().join(format!("order-{order}"));
        // A first merge of some of them, of which another one may be made in between.
        let mut shuffled = stores.clone();
        shuffled.shuffle(&mut generator);
        let some = generator.random_range(0..=shuffled.len());
        let half = scratch.path().join(format!("half-{order}"));
        if some > 0 {
            merge(&into, &shuffled[..some]).unwrap();
        }
        if some > 0 && generator.random_bool(0.5) {
            merge(&half, &shuffled[..some]).unwrap();
            shuffled.push(half);
        }
        shuffled.shuffle(&mut generator);
        merge(&into, &shuffled).unwrap();
        let again = merge(&into, &shuffled).unwrap();
        assert_eq!(again.taken, 0);
        let got = dump(&Store::open(&into.join(STORE)).unwrap());
        assert!(got == wanted, "order {order}:\n{got}\n\n{wanted}");
    }
    let parts = Store::open(&all.join(STORE)).unwrap().parts().unwrap();
    let counting = parts.iter().filter(|part| part.counts()).count();
    assert_eq!((parts.len(), counting), (9, 6));
}

#[test]
fn a_sitting_that_was_cut_off_counts_where_no_other_attempt_does_and_it_has_something_to_say() {
    let scratch = tempfile::tempdir().unwrap();
    let cut_off = |number: u32, passes: u32| MadeUp {
        passes,
        outcome: None,
        ..MadeUp::new(number, "h")
    };
    let parts = [cut_off(0, 8), cut_off(1, 7), MadeUp::new(2, "h")];
    let stores: Vec<PathBuf> = parts.iter().map(|of| of.alone(scratch.path())).collect();
    let all = scratch.path().join("all");
    let merged = merge(&all, &stores).unwrap();
    let counts: Vec<bool> = merged.parts.iter().map(|part| part.counts()).collect();
    assert_eq!(counts, [true, false, true]);
    let fleet = found(&merged.store).fleet.unwrap();
    assert_eq!(fleet.missing, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(fleet.lost.len(), 1);
    assert!(!fleet.lost[0].has_another);
    // Carried out again, the new attempt counts, and the old one stays beside it.
    let again = MadeUp::new(1, "other").again(77).alone(scratch.path());
    let merged = merge(&all, &[again]).unwrap();
    assert_eq!((merged.taken, merged.parts.len()), (1, 4));
    assert!(
        merged
            .parts
            .iter()
            .any(|part| part.number == 1 && part.counts())
    );
    // One that was under way is taken again once there is more of it.
    let mut store = Store::open_or_create(&stores[0]).unwrap();
    let session = store.parts().unwrap()[0].session;
    store
        .adopt(&fleet_plan(), SliceLength::default(), "0")
        .unwrap();
    store.end_part(session, PartOutcome::Done).unwrap();
    drop(store);
    let merged = merge(&all, &stores[..1]).unwrap();
    assert_eq!((merged.taken, merged.parts.len()), (1, 4));
    let mut done = merged.parts.iter().filter(|part| part.number == 0);
    assert!(done.all(|part| part.outcome == Some(PartOutcome::Done)));
}

#[test]
fn a_merge_that_is_stopped_takes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let stores: Vec<PathBuf> = (0..6)
        .map(|number| MadeUp::new(number, "h").alone(scratch.path()))
        .collect();
    let all = scratch.path().join("all");
    let stop_after = |stores: &[PathBuf], taken: u32| {
        let asked = Cell::new(0);
        let flow = || {
            asked.set(asked.get() + 1);
            match asked.get() > taken {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        super::merge(&all, stores, &flow)
    };
    assert!(matches!(stop_after(&stores, 3), Err(MergeError::Stopped)));
    assert!(!all.exists());
    merge(&all, &stores[..2]).unwrap();
    let before = Store::open(&all.join(STORE)).unwrap().parts().unwrap();
    assert!(matches!(stop_after(&stores, 3), Err(MergeError::Stopped)));
    let after = Store::open(&all.join(STORE)).unwrap().parts().unwrap();
    assert_eq!((before.len(), &before), (2, &after));
    assert_eq!(merge(&all, &stores).unwrap().taken, 4);
}

#[test]
fn other_plans_and_stores_without_parts_are_refused_and_damaged_ones_are_told() {
    let scratch = tempfile::tempdir().unwrap();
    let good = MadeUp::new(0, "h").alone(scratch.path());
    let all = scratch.path().join("all");
    merge(&all, std::slice::from_ref(&good)).unwrap();
    let before = dump(&Store::open(&all.join(STORE)).unwrap());
    let other = scratch.path().join("other");
    let directory = WorkDirectory::open(&other, &[]).unwrap();
    let mut store = Store::open_or_create(&directory.store()).unwrap();
    let plan = Plan {
        seed: Seed::new(2),
        ..fleet_plan()
    };
    store.adopt(&plan, SliceLength::default(), "0").unwrap();
    // One that was killed before it began holds nobody up.
    assert_eq!(merge(&all, &[directory.store()]).unwrap().taken, 0);
    store.begin_session().unwrap();
    let refused = merge(&all, &[directory.store()]).unwrap_err();
    assert!(matches!(refused, MergeError::NoParts { .. }), "{refused}");
    let part = Part::new(PartKind::Sitting, 1, Some(12), Host::named("h"));
    rusqlite::Connection::open(directory.store())
        .unwrap()
        .execute_batch("DELETE FROM session")
        .unwrap();
    store.begin_part(&part, "0").unwrap();
    let refused = merge(&all, &[directory.store()]).unwrap_err();
    let MergeError::OtherPlans { offenders } = &refused else {
        panic!("{refused}");
    };
    let offender = Offender {
        store: directory.store(),
        difference: "seed 2, not 1".into(),
    };
    assert_eq!(*offenders, [offender]);
    assert!(refused.is_bad_input());
    let shard = MadeUp {
        part: Part::new(PartKind::Shard, 1, Some(2), Host::named("h")),
        ..MadeUp::new(1, "h")
    };
    let refused = merge(&all, &[shard.alone(scratch.path())]).unwrap_err();
    assert!(
        refused.to_string().contains("shards of 2, not sittings"),
        "{refused}"
    );
    assert_eq!(dump(&Store::open(&all.join(STORE)).unwrap()), before);
    // A damaged store holds nobody up.
    let next = MadeUp::new(1, "h").alone(scratch.path());
    let damaged = MadeUp::new(2, "h").alone(scratch.path());
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&damaged, bytes).unwrap();
    let merged = merge(&all, &[damaged, next]).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (1, 1));
    // Nor one whose values cannot be read, which would make the merged store unreadable.
    let before = said(&all.join(STORE));
    let mut tries = 0;
    for damage in [
        "UPDATE run SET counters = '{'",
        "UPDATE part SET number = -1",
        "UPDATE part SET number = 4294967295",
        "UPDATE part SET parts = 0",
        "UPDATE part SET started = 'once'",
        "UPDATE part SET host_name = 'n1' || char(10) || 'ALL IS WELL'",
        "UPDATE part SET host_name = ' '",
        "UPDATE part SET octavo = octavo || char(27) || '[2J'",
        "UPDATE session SET started = 'once'",
        "UPDATE plan SET created = ''",
        "UPDATE plan SET slice_transactions = 0",
        "UPDATE run SET counted = -1",
        "UPDATE run SET source = 'predicted'",
        "UPDATE slice SET transactions = 0, counted = 0",
        "UPDATE slice SET elapsed_s = 0",
        // Sums are kept beside what they are of.
        "UPDATE slice SET counted = counted - 1 WHERE pass = 3",
        "UPDATE slice SET elapsed_s = elapsed_s * 2 WHERE pass = 3",
        "UPDATE latency SET committed = committed + 1 WHERE kind = 0",
        "DELETE FROM slice WHERE pass = 3",
        "DELETE FROM slice",
        "DELETE FROM latency",
        "UPDATE consistency SET violations = -1",
        "UPDATE snapshot SET size_bytes = 9223372036854775807",
        "UPDATE snapshot SET elapsed_s = -1",
        "INSERT INTO calibration VALUES (1, 'not TOML [')",
        "INSERT INTO fact VALUES ('own sizes', 'chosen', '{')",
        // Rows that belong to no part, and numbers that are of no run.
        "PRAGMA foreign_keys = OFF; UPDATE slice SET run = run + 700 WHERE pass = 3",
        "INSERT INTO session VALUES (70, '2026-12-01T10:00:00Z', 1); UPDATE run SET session = 70 WHERE cell = 2",
        "INSERT INTO session VALUES (70, '2026-12-01T10:00:00Z', 1)",
        "PRAGMA foreign_keys = OFF; UPDATE run SET cell = 99 WHERE cell = 2",
        "UPDATE latency SET run = (SELECT run FROM run WHERE cell = 1), kind = kind + 50
         WHERE run = (SELECT run FROM run WHERE cell = 0)",
        "PRAGMA foreign_keys = OFF; UPDATE slice SET run = -run; UPDATE warm_up SET run = -run;
         UPDATE latency SET run = -run; UPDATE tree SET run = -run; UPDATE audit SET run = -run;
         UPDATE consistency SET run = -run; UPDATE run SET run = -run",
        "PRAGMA foreign_keys = OFF; DELETE FROM slice; DELETE FROM warm_up; DELETE FROM latency; DELETE FROM tree;
         DELETE FROM audit; DELETE FROM consistency; DELETE FROM run",
        "UPDATE session SET elapsed_s = 9e999",
        "UPDATE slice SET elapsed_s = -1",
        "UPDATE run SET sitting = 7",
        "UPDATE plan SET horizon = '{'",
        "INSERT OR REPLACE INTO warm_up SELECT run, 0, 1, 1, 1, -1, 0, NULL FROM run",
        "INSERT OR REPLACE INTO step SELECT run, 1, 0, 1, 1, 0, 0, 0, 0, '[1]', x'' FROM run",
        "INSERT OR REPLACE INTO latency SELECT run, 9, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, x'' FROM run",
        "INSERT OR REPLACE INTO tree SELECT run, 't', -1, 0, 0, 0 FROM run",
        "INSERT OR REPLACE INTO audit SELECT run, '{' FROM run",
    ] {
        let store = {
            tries += 1;
            MadeUp::new(3, "h").alone(&scratch.path().join(format!("damage-{tries}")))
        };
        let opened = rusqlite::Connection::open(&store).unwrap();
        opened.execute_batch(damage).unwrap();
        drop(opened);
        let merged = merge(&all, &[store]).unwrap();
        assert_eq!((merged.taken, merged.unread.len()), (0, 1), "{damage}");
        assert_eq!(said(&all.join(STORE)), before, "{damage}");
    }
    // A part's own directory is not merged into.
    let own = MadeUp::new(4, "h").alone(scratch.path());
    let refused = merge(own.parent().unwrap(), &[good]).unwrap_err();
    assert!(matches!(refused, MergeError::NotMerged { .. }), "{refused}");
}

#[test]
fn hosts_of_another_class_have_a_verdict_of_their_own() {
    let scratch = tempfile::tempdir().unwrap();
    let mut stores = Vec::new();
    for number in 0..12 {
        let mut sitting = MadeUp::new(number, &format!("h{number}"));
        if number >= 7 {
            // There, larger pages are faster than they are slow elsewhere.
            (sitting.cpu, sitting.effect) = ("8 x EPYC", 0.8);
        }
        stores.push(sitting.alone(scratch.path()));
    }
    let merged = merge(&scratch.path().join("all"), &stores).unwrap();
    let findings = found(&merged.store);
    let fleet = findings.fleet.unwrap();
    let [one, other] = &fleet.classes[..] else {
        panic!("{} classes", fleet.classes.len());
    };
    assert_eq!((one.hosts.len(), other.hosts.len()), (7, 5));
    assert!(one.class.contains("Xeon") && other.class.contains("EPYC"));
    assert_eq!(fleet.agree, Some(false));
    let decided = |group: &crate::findings::ClassGroup| {
        let ratio: Option<Interval> = group.cells[1].ratio;
        ratio.map(|ratio| (ratio.low > 1.0, ratio.high < 1.0, ratio.batches))
    };
    assert_eq!(decided(&one.groups[0]), Some((false, true, 7)));
    assert_eq!(decided(&other.groups[0]), Some((true, false, 5)));
    // All that is said beside it is of the larger class.
    let cell = &findings.groups[0].cells[1];
    assert_eq!(cell.decision, Some(Decision::Worse));
    assert_eq!(cell.ratio, one.groups[0].cells[1].ratio);
    assert_eq!(findings.sittings, 7);
}

#[test]
fn what_changed_is_told_of_a_host_and_not_of_another_one() {
    let scratch = tempfile::tempdir().unwrap();
    let sitting = |number: u32, host: &str, swap: &str| {
        let store = MadeUp::new(number, host).alone(scratch.path());
        let mut opened = Store::open_or_create(&store).unwrap();
        let facts = [("swap", swap.to_owned())];
        opened.put_facts("machine", &facts).unwrap();
        store
    };
    let stores = [
        sitting(0, "a", "none"),
        sitting(1, "b", "1 GiB"),
        sitting(2, "a", "2 GiB"),
        sitting(3, "b", "3 GiB"),
    ];
    let merged = merge(&scratch.path().join("all"), &stores).unwrap();
    let changed = found(&merged.store).changed;
    // Neither takes the place of the other.
    let wanted = [
        ("machine swap on a", "none is now 2 GiB"),
        ("machine swap on b", "1 GiB is now 3 GiB"),
    ];
    assert_eq!(
        changed,
        wanted.map(|(name, what)| (name.to_owned(), what.to_owned()))
    );
    let facts = Store::open(&merged.store)
        .unwrap()
        .facts("machine")
        .unwrap();
    let facts: BTreeMap<String, String> = facts.into_iter().collect();
    assert_eq!(facts["swap"], "none");
}

/// A merge that leaves stores out, and why.
fn reasons(merged: &Merged) -> Vec<&str> {
    let unread = merged.unread.iter();
    unread.map(|unread| unread.reason.as_str()).collect()
}

/// A store that was changed.
fn changed(store: PathBuf, sql: &str) -> PathBuf {
    let opened = rusqlite::Connection::open(&store).unwrap();
    opened.execute_batch(sql).unwrap();
    store
}

const OTHER_SEED: &str = "UPDATE plan SET plan = replace(plan, '\"seed\":1,', '\"seed\":2,')";

#[test]
fn stores_of_another_plan_are_all_named_and_nothing_is_taken_whatever_the_order() {
    let scratch = tempfile::tempdir().unwrap();
    let good: Vec<PathBuf> = (0..4)
        .map(|number| MadeUp::new(number, "h").alone(scratch.path()))
        .collect();
    let other = |number| changed(MadeUp::new(number, "h").alone(scratch.path()), OTHER_SEED);
    let others = [other(7), other(8)];
    for order in 0..3 {
        let mut inputs = good.clone();
        let place = [0, 2, 4][order];
        inputs.splice(place..place, others.iter().cloned());
        let into = scratch.path().join(format!("new-{order}"));
        let refused = merge(&into, &inputs).unwrap_err();
        let said = refused.to_string();
        for other in &others {
            let named = format!("{} (seed 2, not 1)", other.display());
            assert!(said.contains(&named), "{said}");
        }
        assert!(
            said.ends_with("leave them out, or merge them apart"),
            "{said}"
        );
        assert!(refused.is_bad_input());
        assert!(!into.exists());
        // Nor is anything taken into what was merged before.
        let into = scratch.path().join(format!("all-{order}"));
        let before = merge(&into, &good[..1]).unwrap();
        let before = dump(&Store::open(&before.store).unwrap());
        merge(&into, &inputs).unwrap_err();
        assert_eq!(dump(&Store::open(&into.join(STORE)).unwrap()), before);
    }
}

#[test]
fn a_store_that_is_left_out_leaves_nothing_behind_and_those_beside_it_are_taken() {
    let scratch = tempfile::tempdir().unwrap();
    // Of another plan, too, which nobody has kept.
    let damaged = changed(
        MadeUp::new(9, "h").alone(scratch.path()),
        &format!("{OTHER_SEED}; UPDATE slice SET elapsed_s = -1"),
    );
    let all = scratch.path().join("all");
    let merged = merge(&all, std::slice::from_ref(&damaged)).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (0, 1));
    assert!(!all.exists());
    let good: Vec<PathBuf> = (0..3)
        .map(|number| MadeUp::new(number, "h").alone(scratch.path()))
        .collect();
    // Several parts in one store, of which one is damaged: none of them is taken.
    let several = merge(&scratch.path().join("several"), &good[..2]).unwrap();
    let several = changed(
        several.store,
        "UPDATE slice SET elapsed_s = -1 WHERE run = (SELECT max(run) FROM run)",
    );
    let merged = merge(&all, &[damaged, several, good[2].clone()]).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (1, 2));
    // The merged one among its own inputs, by another name, and one that is named twice.
    let link = scratch.path().join("link");
    std::os::unix::fs::symlink(&all, &link).unwrap();
    let inputs = [link, good[0].clone(), good[0].clone()];
    let merged = merge(&all, &inputs).unwrap();
    assert_eq!(
        (merged.taken, merged.stores, merged.unread.len()),
        (1, 1, 0)
    );
    assert_eq!(merged.missing, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn an_attempt_under_the_id_of_another_one_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let first = MadeUp::new(0, "a");
    let store = first.alone(&scratch.path().join("first"));
    let mut others = Vec::new();
    for (number, host) in [(1, "a"), (0, "b")] {
        let mut other = MadeUp::new(number, host);
        other.part.id = first.part.id;
        others.push(other.alone(&scratch.path().join(format!("other-{number}"))));
    }
    let later = changed(
        first.alone(&scratch.path().join("later")),
        "UPDATE part SET started = '2031-01-01T00:00:00Z'",
    );
    others.push(later);
    for other in others {
        let all = tempfile::tempdir_in(scratch.path()).unwrap();
        let merged = merge(&all.path().join("all"), &[store.clone(), other]).unwrap();
        assert_eq!(merged.taken, 1);
        assert!(
            reasons(&merged)[0].contains("one of both is damaged"),
            "{:?}",
            reasons(&merged)
        );
    }
}

#[test]
fn of_attempts_a_whole_one_counts_and_moments_are_compared_and_not_texts() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = MadeUp::new(0, "whole");
    let began =
        |store: PathBuf, time: &str| changed(store, &format!("UPDATE part SET started = '{time}'"));
    let later = began(
        whole.alone(&scratch.path().join("whole")),
        "2026-12-01T10:00:01Z",
    );
    let first = "2020-01-01T00:00:00Z";
    let other = |name: &str, sql: &str, time: &str| {
        let made = whole.again(55);
        let store = changed(made.alone(&scratch.path().join(name)), sql);
        changed(began(store, time), "UPDATE part SET host_name = 'other'")
    };
    let sums = "UPDATE run SET transactions = t, counted = c, measured_s = s FROM
                    (SELECT run AS of_run, sum(transactions) AS t, sum(counted) AS c, sum(elapsed_s) AS s
                     FROM slice GROUP BY run) WHERE run = of_run;
                UPDATE latency SET committed = (SELECT transactions FROM run WHERE run.run = latency.run)
                WHERE kind = 0;";
    let fails = "PRAGMA foreign_keys = OFF; UPDATE run SET failure = 'no room'";
    let all_fail = format!("{fails}; DELETE FROM slice");
    let one_fails = format!("{fails} WHERE cell = 2; DELETE FROM slice WHERE run = 3");
    let one_pass = format!("DELETE FROM slice WHERE pass > 0; {sums}");
    for (name, sql, time, counts) in [
        ("nothing", all_fail.as_str(), first, "whole"),
        ("failed", one_fails.as_str(), first, "whole"),
        ("passes", one_pass.as_str(), first, "whole"),
        ("earlier", "", first, "other"),
        // As texts, the later one is before the other.
        ("text", "", "2026-12-01T10:00:01.9Z", "whole"),
    ] {
        let inputs = [other(name, sql, time), later.clone()];
        let merged = merge(&scratch.path().join(format!("all-{name}")), &inputs).unwrap();
        assert_eq!(reasons(&merged), [] as [&str; 0], "{name}");
        let mut counting = merged.parts.iter().filter(|part| part.counts());
        assert_eq!(counting.next().unwrap().host.name, counts, "{name}");
        assert!(counting.next().is_none());
    }
}

#[test]
fn shards_have_the_cells_of_their_numbers_and_hold_no_later_one_up() {
    let scratch = tempfile::tempdir().unwrap();
    let shard = |number: u32, below: &str| {
        let made = MadeUp {
            part: Part {
                id: id_of(1 + number),
                ..Part::new(PartKind::Shard, number, Some(2), Host::named("h"))
            },
            ..MadeUp::new(number, "h")
        };
        made.alone(&scratch.path().join(below))
    };
    let wrong = changed(shard(0, "wrong"), "UPDATE part SET number = 1, part = 'x'");
    let all = scratch.path().join("all");
    let merged = merge(&all, &[wrong, shard(0, "a")]).unwrap();
    assert_eq!(merged.taken, 1);
    assert!(
        reasons(&merged)[0].contains("which is not of it"),
        "{merged:?}"
    );
    let merged = merge(&all, &[shard(1, "b")]).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (1, 0));
    assert_eq!(merged.missing, [] as [u32; 0]);
}

#[test]
fn large_numbers_of_runs_hold_nobody_up_and_rows_that_do_not_go_together_are_told() {
    let scratch = tempfile::tempdir().unwrap();
    let number = |number: i64| {
        let tables = [
            "slice",
            "warm_up",
            "latency",
            "tree",
            "audit",
            "consistency",
            "run",
        ];
        let update = |table: &&str| format!("UPDATE {table} SET run = {number} WHERE run = 3;");
        let all: String = tables.iter().map(update).collect();
        format!("PRAGMA foreign_keys = OFF; {all}")
    };
    let [one, two, three] = [0, 1, 2].map(|number| MadeUp::new(number, "h").alone(scratch.path()));
    let large = changed(MadeUp::new(3, "h").alone(scratch.path()), &number(1 << 40));
    let absurd = changed(MadeUp::new(4, "h").alone(scratch.path()), &number(i64::MAX));
    let all = scratch.path().join("all");
    let merged = merge(&all, &[large, one, absurd, two]).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (3, 1));
    let highest = |all: &Path| -> i64 {
        let store = rusqlite::Connection::open(all.join(STORE)).unwrap();
        let highest = store.query_row("SELECT max(run) FROM run", [], |row| row.get(0));
        highest.unwrap()
    };
    assert_eq!(highest(&all), 3 * fleet_plan().cell_count() as i64);
    // Whatever the merged store refuses is of the store that it came from.
    changed(
        all.join(STORE),
        "CREATE TRIGGER t BEFORE INSERT ON part WHEN new.number = 2
         BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    let four = MadeUp::new(5, "h").alone(scratch.path());
    let merged = merge(&all, &[three, four]).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (1, 1));
    assert!(
        reasons(&merged)[0].contains("does not go with"),
        "{merged:?}"
    );
}

#[test]
fn what_was_never_kept_is_told_and_stores_stay_as_they_are() {
    let scratch = tempfile::tempdir().unwrap();
    let results = scratch.path().join("results");
    let good = MadeUp::new(0, "h").alone(&results);
    let begun = results.join("begun");
    drop(WorkDirectory::open(&begun, &[]).unwrap());
    let empty = results.join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(empty.join(STORE), "").unwrap();
    // One whose log is still beside it, of a program that was killed, and which is damaged.
    let killed = MadeUp::new(1, "h").alone(&results);
    let log = PathBuf::from(format!("{}-wal", killed.display()));
    let writer = rusqlite::Connection::open(&killed).unwrap();
    let wal = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99";
    let kept = scratch.path().join("kept");
    writer.execute_batch(wal).unwrap_or_default();
    std::fs::copy(&killed, &kept).unwrap();
    let bytes = std::fs::read(&log).unwrap();
    drop(writer);
    std::fs::copy(&kept, &killed).unwrap();
    std::fs::write(&log, &bytes).unwrap();
    let before = std::fs::read(&killed).unwrap();
    let all = scratch.path().join("all");
    let inputs = [good, begun, empty, killed.clone()];
    let merged = merge(&all, &inputs).unwrap();
    assert_eq!((merged.taken, merged.unread.len()), (1, 3), "{merged:?}");
    assert!(std::fs::read(&killed).unwrap() == before);
    assert!(std::fs::read(&log).unwrap() == bytes);
    // A directory of directories is no store, and what to type is said.
    let refused = merge(&all, std::slice::from_ref(&results)).unwrap_err();
    let wanted = format!("{}/*", results.display());
    assert!(refused.to_string().contains(&wanted), "{refused}");
    // A session of its own in a merged store is of no part.
    changed(
        all.join(STORE),
        "INSERT INTO session VALUES (99, '2026-12-01T10:00:00Z', 1)",
    );
    let refused = merge(&all, &inputs).unwrap_err();
    assert!(matches!(refused, MergeError::NotMerged { .. }), "{refused}");
}

#[test]
fn without_an_attempt_that_counts_the_merged_plan_has_the_time_and_version_of_the_first() {
    let scratch = tempfile::tempdir().unwrap();
    let cut_off = |number: u32, octavo: &str, created: &str| {
        let made = MadeUp {
            passes: 2,
            outcome: None,
            ..MadeUp::new(number, "h")
        };
        changed(
            made.alone(scratch.path()),
            &format!(
                "UPDATE part SET octavo = '{octavo}', started = '{created}';
                 UPDATE plan SET octavo = '{octavo}', created = '{created}'"
            ),
        )
    };
    let stores = [
        cut_off(0, "2", "2026-02-01T00:00:00Z"),
        cut_off(1, "1", "2026-01-01T00:00:00Z"),
    ];
    for (place, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let inputs = order.map(|store: usize| stores[store].clone());
        let merged = merge(&scratch.path().join(format!("all-{place}")), &inputs).unwrap();
        let origin = Store::open(&merged.store).unwrap().origin().unwrap();
        assert_eq!(origin, ("1".into(), "2026-01-01T00:00:00Z".into()));
    }
}
