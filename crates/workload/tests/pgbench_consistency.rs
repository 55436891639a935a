//! The conditions hold after loading and running, and each notices what it is
//! there for.

mod sqlite;

use octavo_units::Seed;
use octavo_workload::{Condition, Mix, Pgbench, Workload, pgbench::Script};
use sqlite::Sqlite;

const CLAUSES: [&str; 8] = [
    "rows of accounts",
    "rows of tellers",
    "rows of branches",
    "keys of history",
    "accounts = history",
    "tellers = branches",
    "tellers = history",
    "branches = history",
];

/// Changes that leave a database inconsistent, and the positions of the
/// conditions that notice in [`CLAUSES`].
const PLANTED: &[(&str, &[usize])] = &[
    (
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 200000",
        &[4],
    ),
    (
        "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 20",
        &[5, 6],
    ),
    (
        "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 2",
        &[5, 7],
    ),
    // The sums stay the same.
    (
        "UPDATE pgbench_tellers SET tbalance = tbalance + 21 - 2 * tid WHERE tid IN (10, 11)",
        &[6],
    ),
    (
        "UPDATE pgbench_branches SET bbalance = bbalance + 3 - 2 * bid",
        &[7],
    ),
    // An update of an account, a teller and a branch whose history is lost,
    // and one whose history alone was written.
    (
        "DELETE FROM pgbench_history WHERE rowid = \
         (SELECT MIN(rowid) FROM pgbench_history WHERE delta <> 0)",
        &[4, 6, 7],
    ),
    (
        "INSERT INTO pgbench_history VALUES (1, 1, 1, 5, 0, NULL)",
        &[4, 6, 7],
    ),
    // A change of nothing is none.
    (
        "INSERT INTO pgbench_history VALUES (1, 1, 1, NULL, 0, NULL)",
        &[],
    ),
    (
        "INSERT INTO pgbench_history VALUES (21, 1, 1, 0, 0, NULL)",
        &[3],
    ),
    (
        "INSERT INTO pgbench_history VALUES (1, 3, 1, 0, 0, NULL)",
        &[3],
    ),
    (
        "INSERT INTO pgbench_history VALUES (1, 1, 200001, 0, 0, NULL)",
        &[3],
    ),
    (
        "INSERT INTO pgbench_history VALUES (1, 1, NULL, 0, 0, NULL)",
        &[3],
    ),
    (
        "UPDATE pgbench_history SET aid = 200001 - aid WHERE rowid = \
         (SELECT MIN(rowid) FROM pgbench_history WHERE delta <> 0)",
        &[4],
    ),
    // Rows that nothing has changed.
    (
        "DELETE FROM pgbench_accounts WHERE aid = \
         (SELECT MIN(aid) FROM pgbench_accounts WHERE abalance = 0)",
        &[0],
    ),
    (
        "UPDATE pgbench_accounts SET aid = 200001 WHERE aid = \
         (SELECT MIN(aid) FROM pgbench_accounts WHERE abalance = 0)",
        &[0],
    ),
    ("INSERT INTO pgbench_accounts VALUES (0, 1, 0, '')", &[0]),
    ("INSERT INTO pgbench_tellers VALUES (21, 3, 0, NULL)", &[1]),
    ("DELETE FROM pgbench_branches WHERE bid = 1", &[2, 5, 7]),
];

fn violated(conditions: &[Condition]) -> Vec<usize> {
    (0..)
        .zip(conditions)
        .filter(|(_, condition)| condition.violations > 0)
        .map(|(position, _)| position)
        .collect()
}

fn run(workload: &Pgbench, database: &mut Sqlite, transactions: u32) {
    let mut client = workload.clients(Seed::new(1), 1).remove(0);
    for _ in 0..transactions {
        client.draw();
        client.run(database).unwrap();
    }
}

#[test]
fn every_planted_violation_is_noticed_by_its_conditions_alone() {
    let workload = Pgbench::new(2, Seed::new(1)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    run(&workload, &mut database, 50);
    let conditions = workload.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [0; 0], "{conditions:?}");
    let clauses: Vec<&str> = conditions.iter().map(|c| c.clause.as_str()).collect();
    assert_eq!(clauses, CLAUSES);
    let checked: Vec<u64> = conditions.iter().map(|c| c.checked).collect();
    assert_eq!(checked, [1, 1, 1, 50, 200_000, 1, 20, 2]);

    let mut noticed = [false; CLAUSES.len()];
    for (change, wanted) in PLANTED {
        database.raw.execute_batch("SAVEPOINT intact").unwrap();
        database.raw.execute_batch(change).unwrap();
        let conditions = workload.check(&mut database).unwrap();
        assert_eq!(violated(&conditions), *wanted, "{change}: {conditions:#?}");
        for position in *wanted {
            noticed[*position] = true;
            let words = conditions[*position].first_violation.as_deref();
            assert!(words.is_some_and(|words| words.len() > 20), "{words:?}");
        }
        let back = "ROLLBACK TO intact; RELEASE intact";
        database.raw.execute_batch(back).unwrap();
    }
    assert!(noticed.iter().all(|noticed| *noticed), "{noticed:?}");
}

#[test]
fn each_account_that_differs_is_counted() {
    let workload = Pgbench::new(1, Seed::new(1)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let change = "UPDATE pgbench_accounts SET abalance = 7 WHERE aid IN (3, 100000)";
    database.raw.execute_batch(change).unwrap();
    let conditions = workload.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [4]);
    assert_eq!(conditions[4].violations, 2);
    assert_eq!(
        conditions[4].first_violation.as_deref(),
        Some("account 3: its changes in the history less its balance are -7, not 0")
    );
}

#[test]
fn simple_updates_leave_tellers_and_branches_out() {
    let workload = Pgbench::new(1, Seed::new(1))
        .unwrap()
        .with_mix(Mix::new(&[1, 1, 0]));
    let mut database = Sqlite::loaded(&workload);
    run(&workload, &mut database, 50);
    let conditions = workload.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [0; 0], "{conditions:?}");
    assert_eq!(conditions.len(), 6);
    // Asked with a mix that has none, they show.
    let strict = workload.with_script(Script::TpcbLike);
    let conditions = strict.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [6, 7]);
}

#[test]
fn a_database_of_another_scale_is_refused() {
    let mut database = Sqlite::loaded(&Pgbench::new(1, Seed::new(1)).unwrap());
    let other = Pgbench::new(2, Seed::new(1)).unwrap();
    let conditions = other.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [0, 1, 2]);
    assert_eq!(
        conditions[1].first_violation.as_deref(),
        Some("tellers should be 1 to 20: 10 of these are there, in 10 rows")
    );
}
