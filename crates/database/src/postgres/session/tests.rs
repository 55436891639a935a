//! Sessions against a real server.

mod bulk;
mod ends;
pub(in crate::postgres) mod server;

use std::{sync::Barrier, thread};

use octavo_workload::{
    ConnectionError,
    connection::{Access, Conflict, Connection, Statement, StatementId, Value},
    schema::ColumnKind,
};

use super::Session;
use crate::Isolation;
use server::shared;

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
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
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
fn values_of_all_kinds_are_read_as_written() {
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
    let mut session = again("every_kind");
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
fn transactions_have_the_isolation_that_they_want() {
    let mut session = session("isolation");
    let levels = |session: &mut Session| {
        [
            Access::Write,
            Access::WriteRepeatable,
            Access::WriteSerializable,
        ]
        .map(|access| {
            session.begin(access).unwrap();
            let level = session.one("SHOW transaction_isolation").unwrap();
            session.rollback().unwrap();
            level.unwrap()
        })
    };
    let wanted = ["read committed", "repeatable read", "serializable"];
    assert_eq!(levels(&mut session), wanted);
    session
        .simple("SET default_transaction_isolation = 'serializable'")
        .unwrap();
    let mut session = session.at_level(Isolation::Serializable);
    assert_eq!(levels(&mut session), ["serializable"; 3]);
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

    let error = again("errors").prepare_all(&BROKEN).unwrap_err();
    assert_eq!(error.to_string(), "prepare SELEKT ?1");
    assert!(reason(&error).contains("42601"), "{error:?}");
    let error = again("errors").prepare_all(&UNDECLARED).unwrap_err();
    assert!(reason(&error).contains("OID 701"), "{error:?}");
    assert_eq!(one(&mut session, TOTAL, &[]), Some(100));

    let error = session
        .simple("SELECT 1; SELECT 1/0; SELECT 2")
        .unwrap_err();
    assert!(reason(&error).contains("22012"), "{error:?}");
    let mut copying = again("errors");
    copying.simple("COPY pair FROM STDIN").unwrap_err();
    copying.simple("SELECT 1").unwrap_err();
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
