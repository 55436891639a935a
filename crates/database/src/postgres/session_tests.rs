//! Sessions against a real server.

use std::{sync::Barrier, thread, time::Duration};

use octavo_workload::{
    ConnectionError,
    connection::{Access, Batch, Conflict, Connection, Statement, StatementId, Value, Wants},
    population::RowBatch,
    schema::{ColumnKind, TableId},
};
use rustix::process::{Pid, Signal, kill_process};

use super::{
    session::Session,
    test_server::{TestServer, shared},
};
use crate::wire::Stream;

const INTEGER: ColumnKind = ColumnKind::Integer;
const SMALLER: ColumnKind = ColumnKind::Integer32;
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 18,
    scale: 2,
};
const EXACT: ColumnKind = ColumnKind::Decimal {
    precision: 18,
    scale: 4,
};
const CHAR: ColumnKind = ColumnKind::Char(4);
const VARCHAR: ColumnKind = ColumnKind::Varchar(2000);
const TIME: ColumnKind = ColumnKind::Timestamp;

const fn statement(
    sql: &'static str,
    parameters: &'static [ColumnKind],
    result: &'static [ColumnKind],
) -> Statement {
    Statement {
        sql,
        parameters,
        result,
        changed_parameters: 0,
    }
}

/// A session that works in a schema of its own, so that tests do not meet.
fn session(schema: &str) -> Session {
    let mut session = again(schema);
    session
        .simple(&format!(
            "CREATE SCHEMA {schema}; CREATE TABLE pair (k bigint PRIMARY KEY, v integer); \
             INSERT INTO pair SELECT k, 0 FROM generate_series(1, 100) k"
        ))
        .unwrap();
    session.prepare_all(&PAIR).unwrap();
    session
}

/// Another session in the schema of a test.
fn again(schema: &str) -> Session {
    let options = [
        ("search_path", schema.to_owned()),
        ("timezone", "UTC".to_owned()),
        ("client_min_messages", "notice".to_owned()),
    ];
    shared().try_session(&options).unwrap()
}

static PAIR: [Statement; 7] = [
    statement("SELECT v FROM pair WHERE k = ?1", &[INTEGER], &[INTEGER]),
    statement(
        "UPDATE pair SET v = ?1 WHERE k = ?2",
        &[SMALLER, INTEGER],
        &[],
    ),
    statement(
        "INSERT INTO pair (k, v) VALUES (?1, ?2)",
        &[INTEGER, SMALLER],
        &[],
    ),
    statement(
        "SELECT COUNT(*), SUM(v) FROM pair",
        &[],
        &[INTEGER, INTEGER],
    ),
    statement(
        "SELECT k, repeat('x', 1000) FROM pair WHERE k = ?1",
        &[INTEGER],
        &[INTEGER, VARCHAR],
    ),
    statement("UPDATE pair SET v = v + 1 WHERE k <= ?1", &[INTEGER], &[]),
    statement(
        "SELECT k FROM pair WHERE k <= ?1 ORDER BY k",
        &[INTEGER],
        &[INTEGER],
    ),
];
const GET: StatementId = StatementId(0);
const SET: StatementId = StatementId(1);
const ADD: StatementId = StatementId(2);
const TOTAL: StatementId = StatementId(3);
const LONG: StatementId = StatementId(4);
const RAISE: StatementId = StatementId(5);
const FIRST: StatementId = StatementId(6);

fn integer(number: i64) -> Value<'static> {
    Value::Integer(number)
}

fn one(session: &mut Session, statement: StatementId, parameters: &[Value<'_>]) -> Option<i64> {
    let mut found = None;
    session
        .query(statement, parameters, &mut |row| match row.value(0) {
            Value::Integer(number) => found = Some(number),
            Value::Null => {}
            other => panic!("{other:?}"),
        })
        .unwrap();
    found
}

fn kind_of(error: &ConnectionError) -> Conflict {
    match error {
        ConnectionError::Conflict { kind, .. } => *kind,
        other => panic!("{other:?}"),
    }
}

fn reason(error: &ConnectionError) -> String {
    std::error::Error::source(error).unwrap().to_string()
}

#[test]
fn every_kind_comes_back() {
    static ALL: [Statement; 5] = [
        statement(
            "INSERT INTO kinds (i, s, m, e, c, t, d) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            &[INTEGER, SMALLER, MONEY, EXACT, CHAR, VARCHAR, TIME],
            &[],
        ),
        statement(
            "SELECT i, s, m, e, c, t, d FROM kinds",
            &[],
            &[INTEGER, SMALLER, MONEY, EXACT, CHAR, VARCHAR, TIME],
        ),
        statement("DELETE FROM kinds", &[], &[]),
        // Two scales wider, and sums of every type.
        statement(
            "SELECT m, SUM(e), SUM(s), SUM(i), CAST(0 AS numeric) FROM kinds GROUP BY m",
            &[],
            &[EXACT, EXACT, INTEGER, INTEGER, MONEY],
        ),
        statement("SELECT e, s FROM kinds", &[], &[MONEY, MONEY]),
    ];
    let mut session = session("every_kind");
    session
        .simple(
            "CREATE TABLE kinds (i bigint, s integer, m numeric(18,2), e numeric(18,4), \
             c char(4), t varchar(2000), d timestamp with time zone)",
        )
        .unwrap();
    session.prepare_all(&ALL).unwrap();
    let money = |unscaled| Value::Decimal { unscaled, scale: 2 };
    let exact = |unscaled| Value::Decimal { unscaled, scale: 4 };
    let long = "ö".repeat(2000);
    let rows: [[Value<'_>; 7]; 4] = [
        [Value::Null; 7],
        [
            integer(i64::MAX),
            integer(i64::from(i32::MAX)),
            money(999_999_999_999_999_999),
            exact(-1),
            Value::Text("abcd"),
            Value::Text(&long),
            Value::Timestamp(1_700_000_000_123_456),
        ],
        [
            integer(i64::MIN),
            integer(i64::from(i32::MIN)),
            money(-999_999_999_999_999_999),
            exact(0),
            Value::Text("öäüß"),
            Value::Text(""),
            Value::Timestamp(-1),
        ],
        [
            integer(0),
            integer(-1),
            money(0),
            exact(10_000),
            Value::Text("x   "),
            Value::Text("'\\\n"),
            Value::Timestamp(0),
        ],
    ];
    for row in &rows {
        assert_eq!(session.execute(StatementId(0), row).unwrap(), 1);
        let mut seen = 0;
        let found = session
            .query(StatementId(1), &[], &mut |found| {
                for (column, value) in row.iter().enumerate() {
                    assert_eq!(found.value(column), *value);
                }
                seen += 1;
            })
            .unwrap();
        assert_eq!((found, seen), (1, 1));
        assert_eq!(session.execute(StatementId(2), &[]).unwrap(), 1);
    }
    session.execute(StatementId(0), &rows[3]).unwrap();
    session
        .query(StatementId(3), &[], &mut |row| {
            assert_eq!(row.value(0), exact(0));
            assert_eq!(row.value(1), exact(10_000));
            assert_eq!(row.value(2), integer(-1));
            assert_eq!(row.value(3), integer(0));
            assert_eq!(row.value(4), money(0));
        })
        .unwrap();
    session
        .query(StatementId(4), &[], &mut |row| {
            assert_eq!((row.value(0), row.value(1)), (money(100), money(-100)));
        })
        .unwrap();

    // Narrower only where nothing is lost.
    session.simple("UPDATE kinds SET e = 0.0001").unwrap();
    let error = session
        .query(StatementId(4), &[], &mut |row| {
            assert_eq!(row.value(0), Value::Null)
        })
        .unwrap_err();
    assert!(
        error.to_string().contains("read column 0 of SELECT e, s"),
        "{error}"
    );

    // Refused before it is sent, with the session as it was.
    session.begin(Access::Write).unwrap();
    let mut row = rows[3];
    row[5] = Value::Text("a\0b");
    let error = session.execute(StatementId(0), &row).unwrap_err();
    assert!(reason(&error).contains("parameter 6"), "{error:?}");
    row[5] = Value::Null;
    row[1] = integer(i64::from(i32::MAX) + 1);
    let error = session.execute(StatementId(0), &row).unwrap_err();
    assert!(reason(&error).contains("2147483648"), "{error:?}");
    row[1] = integer(1);
    session.execute(StatementId(0), &row).unwrap();
    session.commit().unwrap();

    // The server's own word on what arrived.
    let texts = session
        .texts("SELECT i, m, e, c, t, d FROM kinds WHERE t IS NULL")
        .unwrap();
    let wanted = ["0", "0.00", "1.0000", "x   "].map(|text| Some(text.to_owned()));
    assert_eq!(texts[0][..4], wanted);
    assert_eq!(texts[0][4..], [None, Some("1970-01-01 00:00:00+00".into())]);
}

#[test]
fn transactions_are_kept_and_taken_back() {
    let mut session = session("transactions");
    let mut other = again("transactions");
    other.prepare_all(&PAIR).unwrap();

    // Nothing begun: a statement is its own.
    session.execute(SET, &[integer(1), integer(1)]).unwrap();
    assert_eq!(one(&mut other, GET, &[integer(1)]), Some(1));
    session.rollback().unwrap();
    assert!(session.commit().is_err(), "no transaction is open");

    session.begin(Access::Write).unwrap();
    assert!(session.begin(Access::Write).is_err());
    session.rollback().unwrap();
    session.begin(Access::Write).unwrap();
    session.commit().unwrap();

    session.begin(Access::Write).unwrap();
    assert_eq!(session.execute(SET, &[integer(2), integer(1)]).unwrap(), 1);
    assert!(session.begin(Access::Write).is_err());
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(2));
    assert_eq!(one(&mut other, GET, &[integer(1)]), Some(1));
    session.rollback().unwrap();
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(1));

    session.begin(Access::Write).unwrap();
    session.execute(RAISE, &[integer(2)]).unwrap();
    session.commit().unwrap();
    assert_eq!(one(&mut other, GET, &[integer(1)]), Some(2));
    assert_eq!(session.execute(RAISE, &[integer(0)]).unwrap(), 0);

    session.begin(Access::Read).unwrap();
    let error = session.execute(SET, &[integer(9), integer(1)]).unwrap_err();
    assert!(reason(&error).contains("read-only"), "{error:?}");
    session.rollback().unwrap();
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(2));
}

#[test]
fn an_error_leaves_the_session_usable() {
    static BROKEN: [Statement; 2] = [
        statement("SELECT 1", &[], &[INTEGER]),
        statement("SELEKT ?1", &[INTEGER], &[]),
    ];
    static UNDECLARED: [Statement; 1] = [statement("SELECT 1.5::float8", &[], &[INTEGER])];
    let mut session = session("errors");

    session.begin(Access::Write).unwrap();
    session.execute(SET, &[integer(5), integer(1)]).unwrap();
    let error = session.execute(ADD, &[integer(1), integer(0)]).unwrap_err();
    assert!(
        error.to_string().starts_with("run INSERT INTO pair"),
        "{error}"
    );
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert!(reason(&error).contains("(k)=(1)"), "the detail: {error:?}");
    // The server would call a COMMIT of this a success.
    assert!(session.commit().is_err());
    assert!(session.execute(SET, &[integer(5), integer(1)]).is_err());
    session.rollback().unwrap();
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(0));

    let error = session.prepare_all(&BROKEN).unwrap_err();
    assert_eq!(error.to_string(), "prepare SELEKT ?1");
    assert!(reason(&error).contains("42601"), "{error:?}");
    let error = session.prepare_all(&UNDECLARED).unwrap_err();
    assert!(reason(&error).contains("OID 701"), "{error:?}");
    session.prepare_all(&PAIR).unwrap();
    assert_eq!(one(&mut session, TOTAL, &[]), Some(100));

    let error = session
        .simple("SELECT 1; SELECT 1/0; SELECT 2")
        .unwrap_err();
    assert!(reason(&error).contains("22012"), "{error:?}");
    let error = session.simple("COPY pair FROM STDIN").unwrap_err();
    assert!(reason(&error).contains("57014"), "{error:?}");
    session.simple("COPY pair TO STDOUT").unwrap();
    session
        .simple("DO $$ BEGIN RAISE NOTICE 'n'; END $$")
        .unwrap();
    session.simple("").unwrap();
    assert_eq!(
        session.texts("SELECT 1, NULL; SELECT 'ö'").unwrap(),
        [vec![Some("1".into()), None], vec![Some("ö".into())]]
    );
    assert!(session.simple("SELECT '\0'").is_err());
    assert_eq!(one(&mut session, TOTAL, &[]), Some(100));
}

#[test]
fn conflicts_are_named() {
    let mut first = session("conflicts");
    let mut second = again("conflicts");
    second.prepare_all(&PAIR).unwrap();
    let value = |number| [integer(0), integer(number)];

    // A deadlock: each holds what the other wants.
    let both_hold = Barrier::new(2);
    let cross = |session: &mut Session, own, others| {
        session.begin(Access::Write).unwrap();
        session.execute(SET, &value(own)).unwrap();
        both_hold.wait();
        let result = session.execute(SET, &value(others)).map(drop);
        session.rollback().unwrap();
        result
    };
    let (one_way, other_way) = thread::scope(|scope| {
        let other = scope.spawn(|| cross(&mut second, 2, 1));
        (cross(&mut first, 1, 2), other.join().unwrap())
    });
    let failed = one_way.and(other_way).unwrap_err();
    assert_eq!(kind_of(&failed), Conflict::Deadlock);

    // A serialisation failure: both read before both write.
    for session in [&mut first, &mut second] {
        session
            .simple("SET default_transaction_isolation = 'repeatable read'")
            .unwrap();
        session.begin(Access::Write).unwrap();
        assert!(one(session, GET, &[integer(3)]).is_some());
    }
    first.execute(SET, &value(3)).unwrap();
    first.commit().unwrap();
    let error = second.execute(SET, &value(3)).unwrap_err();
    assert_eq!(kind_of(&error), Conflict::Serialisation);
    second.rollback().unwrap();

    // One that is found out at the commit leaves no transaction behind.
    for session in [&mut first, &mut second] {
        session
            .simple("SET default_transaction_isolation = 'serializable'")
            .unwrap();
        session.begin(Access::Write).unwrap();
        assert!(one(session, TOTAL, &[]).is_some());
    }
    first.execute(SET, &value(4)).unwrap();
    second.execute(SET, &value(5)).unwrap();
    let results = [first.commit(), second.commit()];
    let error = results.into_iter().find_map(Result::err).unwrap();
    assert_eq!(kind_of(&error), Conflict::Serialisation);
    for session in [&mut first, &mut second] {
        session.rollback().unwrap();
        assert_eq!(one(session, TOTAL, &[]), Some(100));
    }

    // A lock that is not given in time, and a statement that takes too long.
    first.begin(Access::Write).unwrap();
    first.execute(SET, &value(6)).unwrap();
    second.simple("SET lock_timeout = '50ms'").unwrap();
    let error = second.execute(SET, &value(6)).unwrap_err();
    assert_eq!(kind_of(&error), Conflict::LockTimeout);
    second
        .simple("SET lock_timeout = 0; SET statement_timeout = '50ms'")
        .unwrap();
    second.begin(Access::Write).unwrap();
    let error = second.execute(SET, &value(6)).unwrap_err();
    assert!(matches!(error, ConnectionError::Timeout(_)), "{error:?}");
    second.rollback().unwrap();
    assert_eq!(one(&mut second, GET, &[integer(7)]), Some(0));
    first.rollback().unwrap();
}

#[test]
fn batches_answer_in_their_order() {
    let mut session = session("batches");
    let mut counts = Vec::new();

    // One after another in a transaction whose BEGIN goes with them.
    let mut batch = Batch::default();
    for key in 1..=30 {
        batch.push(SET, Wants::Changes, &[integer(key), integer(key)]);
        batch.push(GET, Wants::Rows, &[integer(key)]);
    }
    session.begin(Access::Write).unwrap();
    let mut seen = Vec::new();
    let mut visit = |position: usize, row: &dyn octavo_workload::connection::Row| {
        let Value::Integer(found) = row.value(0) else {
            panic!()
        };
        seen.push((position, integer(found)));
    };
    session.run_batch(&batch, &mut visit, &mut counts).unwrap();
    assert_eq!(counts, [1; 60]);
    for (key, found) in (1..=30).zip(&seen) {
        assert_eq!(*found, (2 * key as usize - 1, integer(key)));
    }
    session.commit().unwrap();

    // Several rows, none, and no statement at all.
    let mut batch = Batch::default();
    session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap();
    batch.push(FIRST, Wants::Rows, &[integer(7)]);
    batch.push(RAISE, Wants::Changes, &[integer(3)]);
    batch.push(GET, Wants::Rows, &[integer(1000)]);
    counts.clear();
    session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap();
    assert_eq!(counts, [7, 3, 0]);

    // An error in a transaction takes all of it back.
    let mut batch = Batch::default();
    batch.push(SET, Wants::Changes, &[integer(-1), integer(50)]);
    batch.push(ADD, Wants::Changes, &[integer(50), integer(0)]);
    batch.push(SET, Wants::Changes, &[integer(-2), integer(51)]);
    session.begin(Access::Write).unwrap();
    counts.clear();
    let error = session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap_err();
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert_eq!(counts, [1]);
    session.rollback().unwrap();
    assert_eq!(one(&mut session, GET, &[integer(50)]), Some(0));
    // Outside of one each is its own.
    session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap_err();
    assert_eq!(one(&mut session, GET, &[integer(50)]), Some(-1));
    assert_eq!(one(&mut session, GET, &[integer(51)]), Some(-2));

    // A value that cannot be sent: nothing is.
    let mut batch = Batch::default();
    batch.push(SET, Wants::Changes, &[integer(9), integer(60)]);
    batch.push(SET, Wants::Changes, &[integer(1 << 40), integer(61)]);
    session.begin(Access::Write).unwrap();
    session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap_err();
    session.rollback().unwrap();
    assert_eq!(one(&mut session, GET, &[integer(60)]), Some(0));
}

/// Neither side's socket takes as much: the answers have to be read while the
/// requests are written.
#[test]
fn a_batch_may_be_larger_than_any_buffer() {
    const CALLS: usize = 20_000;
    let mut session = session("large_batches");
    let mut batch = Batch::default();
    for call in 0..CALLS {
        batch.push(LONG, Wants::Rows, &[integer(call as i64 % 100 + 1)]);
    }
    for transaction in [false, true] {
        if transaction {
            session.begin(Access::Read).unwrap();
        }
        let mut counts = Vec::new();
        let mut next = 0;
        session
            .run_batch(
                &batch,
                &mut |position, row| {
                    assert_eq!(position, next);
                    assert_eq!(row.value(0), integer(position as i64 % 100 + 1));
                    assert!(matches!(row.value(1), Value::Text(text) if text.len() == 1000));
                    next += 1;
                },
                &mut counts,
            )
            .unwrap();
        assert_eq!(next, CALLS);
        assert_eq!(counts, vec![1; CALLS]);
    }
    session.commit().unwrap();
}

/// Fills a batch with rows (key, text, amount), keys from `first`.
fn fill(batch: &mut RowBatch, first: i64) {
    batch.reset(TableId(0), 3);
    let mut key = first;
    while !batch.is_full() {
        batch.push_integer(key);
        batch.push_text(|text| text.push_str("zwölf Boxkämpfer"));
        if key % 10 == 0 {
            batch.push_null();
        } else {
            batch.push_decimal(key, 2);
        }
        key += 1;
    }
}

#[test]
fn rows_are_copied_in_bulk() {
    const BATCHES: i64 = 200;
    let kinds = [INTEGER, VARCHAR, MONEY];
    let rows_of_batch = RowBatch::ROWS as i64;
    let mut session = session("copies");
    session
        .simple("CREATE TABLE bulk (k bigint PRIMARY KEY, t varchar(2000), m numeric(18,2))")
        .unwrap();
    let sql = "COPY bulk FROM STDIN (FORMAT binary)";
    let mut batch = RowBatch::new();

    let mut copy = session.copy_in(sql).unwrap();
    for number in 0..BATCHES {
        fill(&mut batch, number * rows_of_batch);
        copy.batch(&batch, &kinds).unwrap();
    }
    let rows = BATCHES * rows_of_batch;
    assert_eq!(copy.finish().unwrap(), rows as u64);
    let mut next = 0;
    let scanned = session
        .scan("SELECT k, t, m FROM bulk ORDER BY k", &kinds, &mut |row| {
            assert_eq!(row.value(0), integer(next));
            assert_eq!(row.value(1), Value::Text("zwölf Boxkämpfer"));
            let amount = match next % 10 {
                0 => Value::Null,
                _ => Value::Decimal {
                    unscaled: next,
                    scale: 2,
                },
            };
            assert_eq!(row.value(2), amount);
            next += 1;
        })
        .unwrap();
    assert_eq!(scanned, rows as u64);

    // Each of these stores nothing, and the session goes on.
    let count = |session: &mut Session| session.texts("SELECT COUNT(*) FROM bulk").unwrap();
    let before = count(&mut session);
    // Refused by the server at the end.
    let mut copy = session.copy_in(sql).unwrap();
    fill(&mut batch, rows);
    copy.batch(&batch, &kinds).unwrap();
    fill(&mut batch, 0);
    copy.batch(&batch, &kinds).unwrap();
    let error = copy.finish().unwrap_err();
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert_eq!(count(&mut session), before);
    // Refused in the middle, while we send.
    let mut copy = session.copy_in(sql).unwrap();
    fill(&mut batch, 0);
    let error = (0..1000)
        .find_map(|_| copy.batch(&batch, &kinds).err())
        .expect("it does not take half a million rows to find out");
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert!(copy.batch(&batch, &kinds).is_err());
    drop(copy);
    assert_eq!(count(&mut session), before);
    // Refused by us.
    let mut copy = session.copy_in(sql).unwrap();
    batch.clear();
    batch.push_integer(rows);
    batch.push_text(|text| text.push('\0'));
    batch.push_null();
    let error = copy.batch(&batch, &kinds).unwrap_err();
    assert!(reason(&error).contains("column 1"), "{error:?}");
    assert!(copy.finish().is_err());
    assert_eq!(count(&mut session), before);
    let mut copy = session.copy_in(sql).unwrap();
    assert!(copy.batch(&batch, &kinds[1..]).is_err());
    drop(copy);
    // Given up.
    let mut copy = session.copy_in(sql).unwrap();
    for number in 0..20 {
        fill(&mut batch, rows + number * rows_of_batch);
        copy.batch(&batch, &kinds).unwrap();
    }
    drop(copy);
    assert_eq!(count(&mut session), before);
    // Not begun.
    assert!(
        session
            .copy_in("COPY nothing FROM STDIN (FORMAT binary)")
            .is_err()
    );
    assert!(session.copy_in("SELECT 1").is_err());

    // Without a row, in a transaction that is taken back.
    session.begin(Access::Write).unwrap();
    let copy = session.copy_in(sql).unwrap();
    assert_eq!(copy.finish().unwrap(), 0);
    let mut copy = session.copy_in(sql).unwrap();
    fill(&mut batch, rows);
    copy.batch(&batch, &kinds).unwrap();
    assert_eq!(copy.finish().unwrap(), rows_of_batch as u64);
    session.rollback().unwrap();
    assert_eq!(count(&mut session), before);
}

#[test]
fn a_scan_refuses_what_was_not_declared() {
    let mut session = session("scans");
    let mut nothing = |_: &dyn octavo_workload::connection::Row| {};
    let sql = "SELECT k, v FROM pair";
    assert_eq!(
        session
            .scan(sql, &[INTEGER, INTEGER], &mut nothing)
            .unwrap(),
        100
    );
    let error = session.scan(sql, &[INTEGER], &mut nothing).unwrap_err();
    assert!(reason(&error).contains("2 columns"), "{error:?}");
    let error = session
        .scan(sql, &[INTEGER, TIME], &mut nothing)
        .unwrap_err();
    assert!(reason(&error).contains("column 2"), "{error:?}");
    assert!(
        session
            .scan("SELECT x FROM pair", &[INTEGER], &mut nothing)
            .is_err()
    );
    assert_eq!(
        session.scan("DELETE FROM pair", &[], &mut nothing).unwrap(),
        0
    );
    assert_eq!(one(&mut session, TOTAL, &[]), Some(0));
}

#[test]
fn logins_are_proved() {
    let server = shared();
    let limit = Duration::from_secs(20);
    let open = |stream, user, password, database| {
        Session::open(stream, user, password, database, &[], limit)
    };
    let tcp = || Stream::tcp("127.0.0.1", server.port(), limit).unwrap();
    let unix = || server.stream().unwrap();
    for (user, password) in [
        ("octavo_plain", "plain"),
        ("octavo_md5", "md5 word"),
        ("octavo_scram", "scram wörd"),
    ] {
        let mut session = open(unix(), user, Some(password), "postgres").unwrap();
        assert_eq!(
            session.texts("SELECT current_user").unwrap(),
            [[Some(user.to_owned())]]
        );
        let error = open(unix(), user, Some("wrong"), "postgres").err().unwrap();
        assert!(reason(&error).contains("28P01"), "{error:?}");
        assert!(matches!(error, ConnectionError::Other { .. }));
        let error = open(unix(), user, None, "postgres").err().unwrap();
        assert!(reason(&error).contains("none was given"), "{error:?}");
    }
    let mut session = open(tcp(), "octavo_scram", Some("scram wörd"), "postgres").unwrap();
    session.prepare_all(&[]).unwrap();
    session.begin(Access::Read).unwrap();
    session.commit().unwrap();
    let error = open(unix(), "octavo", None, "nowhere").err().unwrap();
    assert!(error.to_string().contains("'nowhere'"), "{error}");
    assert!(reason(&error).contains("3D000"), "{error:?}");
    let error = open(unix(), "o\0", None, "postgres").err().unwrap();
    assert!(matches!(error, ConnectionError::Other { .. }), "{error:?}");

    let options = [
        ("application_name", "octavo test".to_owned()),
        ("default_transaction_isolation", "serializable".to_owned()),
    ];
    let mut session = server.try_session(&options).unwrap();
    for (name, value) in &options {
        let shown = session.texts(&format!("SHOW {name}")).unwrap();
        assert_eq!(shown, [[Some(value.clone())]]);
    }
}

/// A server that never says a word, and one that says nonsense.
#[test]
fn a_login_has_an_end() {
    let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let limit = Duration::from_millis(30);
    let error = Session::open(Stream::Unix(ours), "u", None, "d", &[], limit)
        .err()
        .unwrap();
    assert!(matches!(error, ConnectionError::Lost(_)), "{error:?}");
    for nonsense in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"R\0\0\0\x08\0\0\0\x0bZ",
        b"R\0\0\0\x04",
        b"R\0\0\0\x08\0\0\0\x07",
        b"R\0\0\0\x0a\0\0\0\x0aX\0",
        b"Z\0\0\0\x05I",
    ] {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut theirs, nonsense).unwrap();
        let opened = Session::open(Stream::Unix(ours), "u", Some("p"), "d", &[], limit);
        assert!(opened.is_err(), "{nonsense:?}");
    }
}

fn is_lost<T: std::fmt::Debug>(result: Result<T, ConnectionError>) -> String {
    match result {
        Err(error @ ConnectionError::Lost(_)) => reason(&error),
        other => panic!("{other:?}"),
    }
}

fn all_calls_say_lost(session: &mut Session) {
    is_lost(session.begin(Access::Write));
    is_lost(session.rollback());
    is_lost(session.commit());
    is_lost(session.execute(SET, &[integer(1), integer(1)]));
    is_lost(session.query(GET, &[integer(1)], &mut |_| {}));
    is_lost(session.run_batch(&Batch::default(), &mut |_, _| {}, &mut Vec::new()));
    is_lost(session.simple("SELECT 1"));
    is_lost(session.scan("SELECT 1", &[INTEGER], &mut |_| {}));
    is_lost(
        session
            .copy_in("COPY pair FROM STDIN (FORMAT binary)")
            .map(drop),
    );
    is_lost(session.prepare_all(&PAIR));
}

#[test]
fn an_ended_session_is_lost() {
    // Ended while idle, then found out at the next statement.
    let mut session = session("ended");
    let pid = session.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    again("ended")
        .simple(&format!(
            "SELECT pg_terminate_backend({pid}); SELECT pg_sleep(0.2)"
        ))
        .unwrap();
    session.begin(Access::Write).unwrap();
    let why = is_lost(session.execute(SET, &[integer(1), integer(1)]));
    assert!(why.contains("57P01"), "{why}");
    all_calls_say_lost(&mut session);

    // In the middle of a COPY.
    let mut session = again("ended");
    let pid = session.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    let mut copy = session
        .copy_in("COPY pair FROM STDIN (FORMAT binary)")
        .unwrap();
    again("ended")
        .simple(&format!("SELECT pg_terminate_backend({pid})"))
        .unwrap();
    let mut batch = RowBatch::new();
    batch.reset(TableId(0), 2);
    for key in 1000..1512 {
        batch.push_integer(key);
        batch.push_integer(0);
    }
    let result = (0..10_000).try_for_each(|_| copy.batch(&batch, &[INTEGER, SMALLER]));
    is_lost(result);
    drop(copy);
    all_calls_say_lost(&mut session);
}

#[test]
fn a_killed_server_is_lost() {
    let mut server = TestServer::start();
    let table =
        "CREATE TABLE pair (k bigint PRIMARY KEY, v integer); INSERT INTO pair VALUES (1, 0)";
    let mut victim = server.session();
    victim.simple(table).unwrap();
    victim.prepare_all(&PAIR).unwrap();
    let mut bystander = server.session();
    bystander.prepare_all(&PAIR).unwrap();
    bystander.begin(Access::Write).unwrap();
    bystander.execute(SET, &[integer(1), integer(1)]).unwrap();

    // A backend that dies takes the others along.
    let pid = victim.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    thread::scope(|scope| {
        for session in [&mut victim, &mut bystander] {
            scope.spawn(move || {
                is_lost(session.simple("SELECT pg_sleep(60)"));
            });
        }
        thread::sleep(Duration::from_millis(200));
        kill_process(pid, Signal::KILL).unwrap();
    });
    all_calls_say_lost(&mut victim);
    all_calls_say_lost(&mut bystander);

    // The server itself, once it has recovered.
    let started = std::time::Instant::now();
    let mut session = loop {
        match server.try_session(&[]) {
            Ok(session) => break session,
            Err(error) => {
                assert!(matches!(error, ConnectionError::Lost(_)), "{error:?}");
                assert!(started.elapsed() < Duration::from_secs(60), "{error:?}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    };
    session.prepare_all(&PAIR).unwrap();
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(0));
    server.kill();
    is_lost(session.query(GET, &[integer(1)], &mut |_| {}));
    all_calls_say_lost(&mut session);
    assert!(!server.directory().exists());
}
