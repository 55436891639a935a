//! Parts apart and merged say what they say together, whatever the order, and a fleet of hosts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_units::Seed;
use rand::{RngExt, seq::SliceRandom};

use super::{MergeError, merge};
use crate::{
    directory::{STORE, WorkDirectory},
    findings::Findings,
    lockstep::{Slice, slice::tests::slice},
    part::{Host, Part, PartKind, PartOutcome},
    plan::{Design, Plan, SliceLength, tests::plan},
    record::{RunKey, RunRecord, Source, tests::figures},
    statistics::{Decision, Interval},
    store::{Store, StoreError},
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

    fn slices(&self) -> Vec<Slice> {
        let number = self.part.number;
        // Of the attempt: other hosts and other times give other figures.
        let mut generator = Seed::new((self.part.id >> 96) as u64).generator();
        let mut slices = Vec::new();
        for pass in 0..self.passes {
            let shared = 1.0 + 0.1 * generator.random::<f64>();
            for cell in 0..fleet_plan().cell_count() {
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
        let runs: Vec<RunRecord> = (0..fleet_plan().cell_count())
            .map(|cell| RunRecord {
                source: Source::Measured,
                key: RunKey {
                    sitting: self.part.number,
                    cell,
                },
                started_at: "2026-12-01T10:00:00Z".parse().unwrap(),
                result: Ok(Box::new(figures(workload.transactions(), 20 + cell as u64))),
            })
            .collect();
        store
            .put_runs(session, &runs.iter().collect::<Vec<_>>(), &slices)
            .unwrap();
        store
            .extend_session(session, Duration::from_secs(u64::from(self.passes)))
            .unwrap();
        if let Some(outcome) = self.outcome {
            store.end_part(session, outcome).unwrap();
        }
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
    let by_part = |table: &str| {
        format!(
            "SELECT part.part, run.cell, {table}.* FROM {table} JOIN run USING (run)
             JOIN part USING (session) ORDER BY part.part, run.cell"
        )
    };
    let mut dumped = Vec::new();
    for sql in [
        "SELECT part, kind, number, parts, host, host_name, octavo, started, outcome, set_aside, \
                created, slice_transactions FROM part ORDER BY part",
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
    for table in ["consistency", "tree", "audit", "warm_up", "step"] {
        dumped.push(format!("{table}: {}", lines(&by_part(table)).len()));
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
    store.begin_part(&part, "0").unwrap();
    let refused = merge(&all, &[directory.store()]).unwrap_err();
    assert!(
        matches!(
            refused,
            MergeError::Store(StoreError::OtherPlan {
                setting: "seed",
                ..
            })
        ),
        "{refused}"
    );
    assert!(refused.is_bad_input());
    let shard = MadeUp {
        part: Part::new(PartKind::Shard, 1, Some(12), Host::named("h")),
        ..MadeUp::new(1, "h")
    };
    let refused = merge(&all, &[shard.alone(scratch.path())]).unwrap_err();
    assert!(
        matches!(refused, MergeError::OtherParts { .. }),
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
    for damage in [
        "UPDATE run SET counters = '{'",
        "UPDATE part SET number = -1",
        "UPDATE part SET number = 4294967295",
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
        let store = MadeUp::new(3, "h").alone(&scratch.path().join(damage.replace(' ', "-")));
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
    ];
    let merged = merge(&scratch.path().join("all"), &stores).unwrap();
    let changed = found(&merged.store).changed;
    let wanted = ("machine swap".to_owned(), "none is now 2 GiB".to_owned());
    assert_eq!(changed, [wanted]);
    let facts = Store::open(&merged.store)
        .unwrap()
        .facts("machine")
        .unwrap();
    let facts: BTreeMap<String, String> = facts.into_iter().collect();
    assert_eq!(facts["swap"], "none");
}
