//! The scripts do what pgbench's do, and leave the database consistent.

mod failing;
mod sqlite;

use failing::Failing;
use octavo_units::Seed;
use octavo_workload::{
    Client, Connection, ConnectionError, Mix, Outcome, Pgbench, Workload,
    connection::{Access, RowVisitor, StatementId, Value},
    pgbench::Script,
};
use sqlite::Sqlite;

fn pgbench(scale: u32, script: Script) -> Pgbench {
    Pgbench::new(scale, Seed::new(1))
        .unwrap()
        .with_script(script)
}

fn number(database: &Sqlite, sql: &str) -> i64 {
    database.raw.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn assert_consistent(workload: &Pgbench, database: &mut Sqlite) {
    for condition in workload.check(database).unwrap() {
        assert_eq!(condition.violations, 0, "{condition:?}");
        assert!(condition.checked > 0 || condition.clause == "keys of history");
    }
}

/// All that transactions leave, as numbers to compare.
fn state(database: &Sqlite) -> Vec<i64> {
    [
        "SELECT SUM(abalance * aid) FROM pgbench_accounts",
        "SELECT SUM(tbalance * tid) FROM pgbench_tellers",
        "SELECT SUM(bbalance * bid) FROM pgbench_branches",
        "SELECT COUNT(*) FROM pgbench_history",
        "SELECT COALESCE(SUM(delta * aid + tid + bid), 0) FROM pgbench_history",
        "SELECT COALESCE(SUM(mtime % 1000000007), 0) FROM pgbench_history",
    ]
    .iter()
    .map(|sql| number(database, sql))
    .collect()
}

fn run(client: &mut dyn Client, database: &mut Sqlite, committed: &mut [i64; 3]) {
    let kind = client.draw();
    assert_eq!(client.run(database).unwrap(), Outcome::Committed);
    committed[kind] += 1;
}

/// A connection that writes down what it is asked.
struct Recording<'c> {
    inner: &'c mut Sqlite,
    statements: Vec<&'static str>,
    calls: Vec<String>,
}

impl Connection for Recording<'_> {
    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        assert_eq!(access, Access::Write);
        self.calls.push("BEGIN".into());
        self.inner.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.calls.push("END".into());
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        panic!("nothing goes wrong");
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.calls.push(self.statements[statement.0].into());
        self.inner.execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.calls.push(self.statements[statement.0].into());
        self.inner.query(statement, parameters, visit)
    }
}

#[test]
fn scripts_are_those_of_pgbench() {
    const UPDATE_ACCOUNT: &str =
        "UPDATE pgbench_accounts SET abalance = abalance + ?1 WHERE aid = ?2";
    const SELECT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = ?1";
    const UPDATE_TELLER: &str =
        "UPDATE pgbench_tellers SET tbalance = tbalance + ?1 WHERE tid = ?2";
    const UPDATE_BRANCH: &str =
        "UPDATE pgbench_branches SET bbalance = bbalance + ?1 WHERE bid = ?2";
    const INSERT: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                          VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut database = Sqlite::loaded(&pgbench(1, Script::TpcbLike));
    for (script, wanted) in [
        (
            Script::TpcbLike,
            &[
                "BEGIN",
                UPDATE_ACCOUNT,
                SELECT,
                UPDATE_TELLER,
                UPDATE_BRANCH,
                INSERT,
                "END",
            ][..],
        ),
        (
            Script::SimpleUpdate,
            &["BEGIN", UPDATE_ACCOUNT, SELECT, INSERT, "END"],
        ),
        (Script::SelectOnly, &[SELECT]),
    ] {
        let workload = pgbench(1, script);
        let mut client = workload.clients(Seed::new(2), 1).remove(0);
        let statements = workload.statements().iter();
        let mut recording = Recording {
            inner: &mut database,
            statements: statements.map(|statement| statement.sql).collect(),
            calls: Vec::new(),
        };
        assert_eq!(client.draw(), script as usize);
        client.run(&mut recording).unwrap();
        assert_eq!(recording.calls, wanted);
    }
}

#[test]
fn each_script_changes_its_rows_by_its_amount() {
    for script in Script::ALL {
        let workload = pgbench(1, script);
        let mut database = Sqlite::loaded(&workload);
        let mut client = workload.clients(Seed::new(3), 1).remove(0);
        run(client.as_mut(), &mut database, &mut [0; 3]);
        let changed = |table: &str, balance: &str| {
            let sql = format!("SELECT COUNT(*) FROM {table} WHERE {balance} <> 0");
            number(&database, &sql)
        };
        let written = i64::from(script != Script::SelectOnly);
        let all_written = i64::from(script == Script::TpcbLike);
        assert_eq!(changed("pgbench_accounts", "abalance"), written);
        assert_eq!(changed("pgbench_tellers", "tbalance"), all_written);
        assert_eq!(changed("pgbench_branches", "bbalance"), all_written);
        let agreeing = match script {
            Script::TpcbLike => {
                "SELECT COUNT(*) FROM pgbench_history h JOIN pgbench_accounts USING (aid) \
                 JOIN pgbench_tellers t ON t.tid = h.tid \
                 JOIN pgbench_branches b ON b.bid = h.bid \
                 WHERE abalance = delta AND tbalance = delta AND bbalance = delta \
                 AND mtime = 1767225600001000 AND h.filler IS NULL"
            }
            _ => {
                "SELECT COUNT(*) FROM pgbench_history h JOIN pgbench_accounts USING (aid) \
                 WHERE abalance = delta AND mtime = 1767225600001000 AND h.filler IS NULL"
            }
        };
        assert_eq!(number(&database, agreeing), written);
        let history = "SELECT COUNT(*) FROM pgbench_history";
        assert_eq!(number(&database, history), written);
        assert_consistent(&workload, &mut database);
    }
}

#[test]
fn two_clients_in_turns_leave_the_database_consistent() {
    for weights in [[1, 0, 1], [2, 1, 1]] {
        let workload = pgbench(2, Script::TpcbLike).with_mix(Mix::new(&weights));
        let mut database = Sqlite::loaded(&workload);
        assert_consistent(&workload, &mut database);
        let mut clients = workload.clients(Seed::new(4), 2);
        let mut committed = [0; 3];
        for _ in 0..1000 {
            for client in &mut clients {
                run(client.as_mut(), &mut database, &mut committed);
            }
        }
        assert_consistent(&workload, &mut database);
        let [tpcb_like, simple_update, select_only] = committed;
        assert_eq!(tpcb_like + simple_update + select_only, 2000);
        assert!(tpcb_like > 500 && select_only > 300, "{committed:?}");
        assert_eq!(simple_update > 0, weights[1] > 0);
        let state = state(&database);
        assert_eq!(state[3], tpcb_like + simple_update);
        // Clients draw apart from each other: their accounts are different.
        let accounts = "SELECT COUNT(DISTINCT aid) FROM pgbench_history";
        assert!(number(&database, accounts) > state[3] * 9 / 10);
    }
}

#[test]
fn one_seed_leaves_one_database() {
    let workload = pgbench(1, Script::TpcbLike).with_mix(Mix::new(&[1, 1, 1]));
    let end = |seed| {
        let mut database = Sqlite::loaded(&workload);
        let mut client = workload.clients(Seed::new(seed), 1).remove(0);
        for _ in 0..100 {
            run(client.as_mut(), &mut database, &mut [0; 3]);
        }
        state(&database)
    };
    let one = end(5);
    assert_eq!(one, end(5));
    assert_ne!(one, end(6));
}

#[test]
fn a_conflict_anywhere_leaves_nothing_and_is_tried_again() {
    let workload = pgbench(1, Script::TpcbLike).with_mix(Mix::new(&[1, 1, 1]));
    let mut smooth = Sqlite::loaded(&workload);
    let mut rough = Sqlite::loaded(&workload);
    let mut on_smooth = workload.clients(Seed::new(7), 1).remove(0);
    let mut on_rough = workload.clients(Seed::new(7), 1).remove(0);
    let mut drawn = [0; 3];
    for _ in 0..30 {
        let kind = on_rough.draw();
        assert_eq!(on_smooth.draw(), kind);
        drawn[kind] += 1;
        let before = state(&rough);
        let mut conflicts = 0;
        // The first call fails, then the second, until all succeed.
        while let Err(error) = on_rough.run(&mut Failing {
            inner: &mut rough,
            calls_left: conflicts,
        }) {
            let is_conflict = matches!(error, ConnectionError::Conflict { .. });
            assert!(is_conflict, "{error}");
            assert!(rough.raw.is_autocommit(), "a transaction is still open");
            assert_eq!(state(&rough), before);
            conflicts += 1;
        }
        // Begin and commit, and the statements.
        assert_eq!(conflicts, [7, 5, 1][kind]);
        on_smooth.run(&mut smooth).unwrap();
    }
    assert!(drawn.iter().all(|count| *count > 2), "{drawn:?}");
    assert_eq!(state(&rough), state(&smooth));
    assert_eq!(on_rough.audit(), on_smooth.audit());
    assert_consistent(&workload, &mut rough);
}

#[test]
fn a_missing_row_is_an_error_and_leaves_nothing() {
    for (missing, script) in [
        ("pgbench_accounts", Script::SelectOnly),
        ("pgbench_accounts", Script::SimpleUpdate),
        ("pgbench_tellers", Script::TpcbLike),
        ("pgbench_branches", Script::TpcbLike),
    ] {
        let workload = pgbench(1, script);
        let mut database = Sqlite::loaded(&workload);
        let delete = format!("DELETE FROM {missing}");
        database.raw.execute_batch(&delete).unwrap();
        let mut client = workload.clients(Seed::new(8), 1).remove(0);
        client.draw();
        let error = client.run(&mut database).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.starts_with("0 rows instead of 1"), "{source}");
        assert!(database.raw.is_autocommit());
        let changed = "SELECT COUNT(*) FROM pgbench_accounts WHERE abalance <> 0";
        assert_eq!(number(&database, changed), 0);
    }
}

#[test]
fn scripts_scan_no_table() {
    let workload = pgbench(1, Script::TpcbLike);
    let database = Sqlite::loaded(&workload);
    // The first five are the scripts'; the others check.
    for statement in &workload.statements()[..5] {
        let plan = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut prepared = database.raw.prepare(&plan).unwrap();
        let nothing = vec![rusqlite::types::Null; prepared.parameter_count()];
        let mut rows = prepared.query(rusqlite::params_from_iter(nothing)).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            assert!(!step.starts_with("SCAN"), "{step}: {}", statement.sql);
        }
    }
}
