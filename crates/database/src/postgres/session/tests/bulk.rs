//! Many statements, many rows.

use std::time::{Duration, Instant};

use octavo_workload::{
    connection::{Access, Batch, Connection, Row, Value, Wants},
    population::RowBatch,
    schema::TableId,
};

use super::{
    super::super::copy::CopyIn, ADD, FIRST, GET, INTEGER, LONG, MONEY, RAISE, SET, Session, TIME,
    TOTAL, VARCHAR, again, integer, one, reason, session,
};

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
    let mut visit = |position: usize, row: &dyn Row| {
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

    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    for number in 0..BATCHES {
        fill(&mut batch, number * rows_of_batch);
        copy.batch(&batch).unwrap();
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
    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    fill(&mut batch, rows);
    copy.batch(&batch).unwrap();
    fill(&mut batch, 0);
    copy.batch(&batch).unwrap();
    let error = copy.finish().unwrap_err();
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert_eq!(count(&mut session), before);
    // Refused in the middle, while we send.
    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    fill(&mut batch, 0);
    // When that becomes known depends on how fast the server reads.
    let deadline = Instant::now() + Duration::from_secs(60);
    let error = loop {
        if let Err(error) = copy.batch(&batch) {
            break error;
        }
        assert!(Instant::now() < deadline, "it does not find out");
    };
    assert!(reason(&error).contains("23505"), "{error:?}");
    assert!(copy.batch(&batch).is_err());
    drop(copy);
    assert_eq!(count(&mut session), before);
    // Refused by us.
    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    batch.clear();
    batch.push_integer(rows);
    batch.push_text(|text| text.push('\0'));
    batch.push_null();
    let error = copy.batch(&batch).unwrap_err();
    assert!(reason(&error).contains("column 1"), "{error:?}");
    assert!(copy.finish().is_err());
    assert_eq!(count(&mut session), before);
    // Given up.
    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    for number in 0..20 {
        fill(&mut batch, rows + number * rows_of_batch);
        copy.batch(&batch).unwrap();
    }
    drop(copy);
    assert_eq!(count(&mut session), before);
    // Not begun.
    let nothing = "COPY nothing FROM STDIN (FORMAT binary)";
    assert!(CopyIn::start(&mut session, nothing, &kinds).is_err());

    // Without a row, in a transaction that is taken back.
    session.begin(Access::Write).unwrap();
    let copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    assert_eq!(copy.finish().unwrap(), 0);
    let mut copy = CopyIn::start(&mut session, sql, &kinds).unwrap();
    fill(&mut batch, rows);
    copy.batch(&batch).unwrap();
    assert_eq!(copy.finish().unwrap(), rows_of_batch as u64);
    session.rollback().unwrap();
    assert_eq!(count(&mut session), before);

    // What is no COPY of these columns ends the session.
    for (sql, kinds) in [(sql, &kinds[1..]), ("SELECT 1", &kinds[..])] {
        let mut session = again("copies");
        let error = CopyIn::start(&mut session, sql, kinds).map(drop);
        assert!(reason(&error.unwrap_err()).contains("no rows of these columns"));
        session.simple("SELECT 1").unwrap_err();
    }
}

#[test]
fn a_scan_refuses_what_was_not_declared() {
    let mut session = session("scans");
    let mut nothing = |_: &dyn Row| {};
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
