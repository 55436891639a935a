//! What becomes of statements that sessions sent.

use std::time::Duration;

use octavo_recording::{
    Datum, Dialect, End, FORMS_MAX, Gathering, Left, Mark, Recording, Type, split,
};
use octavo_script::{Access, Part};

/// Numbers keep their type by a cast.
const CASTS: Dialect = Dialect {
    has_backslashes: false,
    has_double_quoted_texts: false,
    has_hash_comments: false,
    has_spaced_comments: false,
    has_whole_texts: true,
    has_text_transactions: true,
    has_outer_savepoints: false,
    session_functions: &["PG_ADVISORY_LOCK"],
    has_dollar_quotes: true,
    has_bracketed_names: false,
    has_autocommit: false,
    parameter_marks: b"$",
    parameter: |class| {
        Some(match class {
            Type::Integer => Mark::within("", "::int4"),
            Type::Long => Mark::within("", "::int8"),
            Type::Decimal { .. } | Type::Double => Mark::within("", "::numeric"),
            Type::Text => Mark::PLAIN,
            Type::Bytes | Type::Null => return None,
        })
    },
};

/// Texts have backslashes, and sessions begin transactions by themselves.
const BACKSLASHES: Dialect = Dialect {
    has_backslashes: true,
    has_double_quoted_texts: true,
    has_hash_comments: true,
    has_spaced_comments: true,
    has_whole_texts: true,
    has_text_transactions: false,
    has_outer_savepoints: true,
    session_functions: &[],
    has_dollar_quotes: false,
    has_bracketed_names: false,
    has_autocommit: true,
    parameter_marks: b"?",
    parameter: |class| {
        Some(match class {
            Type::Decimal { digits, scale } => {
                Mark::within("CAST(", format!(" AS DECIMAL({digits},{scale}))"))
            }
            Type::Double => Mark::PLAIN.real(),
            Type::Bytes => Mark::within("UNHEX(", ")"),
            _ => Mark::PLAIN,
        })
    },
};

/// Each statement of one session, which is known from its beginning.
fn of(dialect: &'static Dialect, statements: &[&str]) -> Recording {
    let mut gathering = Gathering::new(dialect);
    gathering.began("a");
    for (position, statement) in statements.iter().enumerate() {
        gathering.statement("a", position as u64 + 1, statement, None, None);
    }
    gathering.finish()
}

fn sql(recording: &Recording) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Parameter(position) => format!("<{position}>"),
    };
    let forms = recording.forms.iter();
    forms
        .map(|form| form.parts.iter().map(part).collect())
        .collect()
}

/// Transactions in words: "0: 1 2 commit" is one of session 0 with the statements that are numbered
/// 1 and 2, by the values of their only parameters.
fn transactions(recording: &Recording) -> Vec<String> {
    let transaction = |of: &octavo_recording::Transaction| {
        let values = recording.steps(of).iter().map(|step| {
            let mut values = recording.values(step);
            match values.next() {
                Some(Datum::Integer(number)) => number.to_string(),
                other => format!("{other:?}"),
            }
        });
        let values: Vec<String> = values.collect();
        let end = format!("{:?}", of.end).to_lowercase();
        format!("{}: {} {end}", of.session, values.join(" "))
    };
    recording.transactions.iter().map(transaction).collect()
}

fn left(recording: &Recording) -> Vec<(String, u64)> {
    let left = recording.left.iter();
    left.map(|(reason, count)| (reason.to_string(), *count))
        .collect()
}

#[test]
fn values_that_differ_become_parameters() {
    for (statements, wanted) in [
        (
            [
                "SELECT a FROM t WHERE id = 5 AND s = 'x'",
                "SELECT a FROM t WHERE id = 7 AND s = 'x'",
            ],
            &["SELECT a FROM t WHERE id = <0>::int4 AND s = 'x'"][..],
        ),
        // As they were written, whatever stands between words.
        (
            [
                "select  1 /* a */ from t -- x\n where id=-5",
                "select 1\nfrom t where id=-  7",
            ],
            &["select 1 from t where id=<0>::int4"],
        ),
        // A type of its own for each size.
        (
            [
                "INSERT INTO t VALUES (1, 5000000000)",
                "INSERT INTO t VALUES (2, 6000000000)",
            ],
            &["INSERT INTO t VALUES (<0>::int4, <1>::int8)"],
        ),
        (
            [
                "SELECT a FROM t WHERE p < 1.50",
                "SELECT a FROM t WHERE p < 2",
            ],
            &[
                "SELECT a FROM t WHERE p < 1.50",
                "SELECT a FROM t WHERE p < 2",
            ],
        ),
        // Not a value: a part of what is asked.
        (
            ["SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 2"],
            &["SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 2"],
        ),
        (
            ["SELECT date '2020-01-01'", "SELECT date '2020-01-02'"],
            &["SELECT date '2020-01-01'", "SELECT date '2020-01-02'"],
        ),
        (
            [
                "SELECT a FROM t LIMIT 10 OFFSET 20",
                "SELECT a FROM t LIMIT 10 OFFSET 40",
            ],
            &["SELECT a FROM t LIMIT 10 OFFSET <0>::int4"],
        ),
        // Quotes of other kinds hide what looks like a value.
        (
            [
                "SELECT \"a = 5\", $$b = 'x'$$, c1 FROM t2 WHERE a = 'it''s'",
                "SELECT \"a = 5\", $$b = 'x'$$, c1 FROM t2 WHERE a = ''",
            ],
            &["SELECT \"a = 5\", $$b = 'x'$$, c1 FROM t2 WHERE a = <0>"],
        ),
    ] {
        assert_eq!(sql(&of(&CASTS, &statements)), wanted, "{statements:?}");
    }
}

#[test]
fn values_are_those_that_were_written() {
    let written = of(
        &BACKSLASHES,
        &[
            "UPDATE t SET a = 'it\\'s\\n\\%', b = \"x\"\"y\", c = 1.50, d = 1e3, e = x'00fF' WHERE i = -9",
            "UPDATE t SET a = 'b', b = 'c', c = 2.25, d = 2e3, e = x'' WHERE i = 8 # why",
        ],
    );
    assert_eq!(
        sql(&written),
        [
            "UPDATE t SET a = <0>, b = <1>, c = CAST(<2> AS DECIMAL(3,2)), d = <3>, \
             e = UNHEX(<4>) WHERE i = <5>"
        ]
    );
    let values: Vec<Datum<'_>> = written
        .values(&written.steps(&written.transactions[0])[0])
        .collect();
    assert_eq!(
        values,
        [
            Datum::Text("it's\n\\%"),
            Datum::Text("x\"y"),
            Datum::Text("1.50"),
            Datum::Real(1000.0),
            Datum::Text("00fF"),
            Datum::Integer(-9),
        ]
    );
}

#[test]
fn bound_values_stay_with_their_statement() {
    let mut gathering = Gathering::new(&CASTS);
    let text = "SELECT a FROM t WHERE id = $1 AND s = 'x' AND b = $2";
    gathering.statement("a", 1, text, Some(&[Some("5"), None]), None);
    gathering.statement("a", 2, text, Some(&[Some("it's"), Some("")]), None);
    // Its values are not there.
    gathering.statement("a", 3, text, Some(&[]), None);
    gathering.statement("a", 4, text, None, None);
    let recording = gathering.finish();
    assert_eq!(sql(&recording), [text]);
    assert_eq!(recording.forms[0].parameters, 2);
    let values = |position: usize| -> Vec<Datum<'_>> {
        let transaction = &recording.transactions[position];
        recording.values(&recording.steps(transaction)[0]).collect()
    };
    assert_eq!(values(0), [Datum::Text("5"), Datum::Null]);
    assert_eq!(values(1), [Datum::Text("it's"), Datum::Text("")]);
    assert_eq!(left(&recording), [(Left::NoValues.to_string(), 2)]);
    assert_eq!((recording.statements, recording.kept()), (4, 2));
}

/// `S 1` and the like are statements with a value, to two sessions.
fn sessions(dialect: &'static Dialect, lines: &[&str]) -> Recording {
    let mut gathering = Gathering::new(dialect);
    for (number, line) in lines.iter().enumerate() {
        let (session, what) = line.split_once(' ').unwrap();
        let number = number as u64 + 1;
        match what {
            "+" => gathering.began(session),
            "-" => gathering.ended(session),
            "!" => gathering.failed(session, true),
            "?" => gathering.failed(session, false),
            other => match other.parse::<u32>() {
                Ok(value) => {
                    let text = format!("SELECT a FROM t WHERE id = {value}");
                    gathering.statement(session, number, &text, None, None);
                }
                Err(_) => gathering.statement(session, number, other, None, None),
            },
        }
    }
    gathering.finish()
}

#[test]
fn sessions_stay_apart_and_transactions_whole() {
    for (lines, wanted, cut) in [
        (
            &[
                "a +",
                "b +",
                "a BEGIN",
                "a 1",
                "b 2",
                "a 3",
                "b BEGIN; SELECT a FROM t WHERE id = 4; END",
                "a COMMIT",
            ][..],
            &["0: 2 alone", "0: 4 commit", "1: 1 3 commit"][..],
            0,
        ),
        // The end of one that began before the recording, and one that has no end.
        (
            &["a 1", "a 2", "a COMMIT", "a 3", "b BEGIN", "b 4"],
            &["0: 3 alone"],
            3,
        ),
        (
            &["a +", "a 1", "a COMMIT", "a 2"],
            &["0: 1 alone", "0: 2 alone"],
            0,
        ),
        // What ends without a COMMIT is undone, and the next session may have its name.
        (
            &["a BEGIN", "a 1", "a -", "a +", "a 2"],
            &["0: 1 rollback", "1: 2 alone"],
            0,
        ),
        (
            &[
                "a BEGIN",
                "a 1",
                "a ROLLBACK",
                "a BEGIN",
                "a 2",
                "a BEGIN",
                "a 3",
                "a END",
            ],
            &["0: 1 rollback", "0: 2 commit", "0: 3 commit"],
            0,
        ),
    ] {
        let recording = sessions(&CASTS, lines);
        assert_eq!(transactions(&recording), wanted, "{lines:?}");
        let found = recording.left.get(&Left::Cut).copied().unwrap_or_default();
        assert_eq!(found, cut, "{lines:?}");
    }
}

#[test]
fn sessions_may_begin_transactions_by_themselves() {
    for (lines, wanted) in [
        (
            &[
                "a +",
                "a SET SESSION autocommit=0",
                "a 1",
                "a 2",
                "a COMMIT",
                "a 3",
                "a ROLLBACK",
            ][..],
            &["0: 1 2 commit", "0: 3 rollback"][..],
        ),
        (
            &[
                "a +",
                "a SET autocommit=0",
                "a SET @@autocommit = 1",
                "a 1",
                "a 2",
            ],
            &["0: 1 alone", "0: 2 alone"],
        ),
        // It began before the recording: what stands between two ends is one transaction.
        (
            &[
                "a 1", "a COMMIT", "a 2", "a 3", "a COMMIT", "a 4", "a 5", "a COMMIT",
            ],
            &["0: 2 3 commit", "0: 4 5 commit"],
        ),
    ] {
        assert_eq!(
            transactions(&sessions(&BACKSLASHES, lines)),
            wanted,
            "{lines:?}"
        );
    }
}

#[test]
fn failures_are_not_sent_again() {
    let lines = [
        "a BEGIN", "a 1", "a 2", "a !", "a COMMIT", "a 3", "a !", "a 4", "a ?",
    ];
    let recording = sessions(&CASTS, &lines);
    assert_eq!(transactions(&recording), ["0: 1 rollback", "0: 4 alone"]);
    assert_eq!(left(&recording), [(Left::Failed.to_string(), 3)]);
    assert_eq!((recording.statements, recording.kept()), (5, 2));
}

#[test]
fn what_is_left_out_is_counted_by_reason() {
    let mut lines: Vec<String> = vec![
        "SET work_mem = '1MB'".into(),
        "/* x */ COPY t FROM stdin".into(),
    ];
    // One form too many, sent once; the others twice.
    for form in 0..=FORMS_MAX {
        let runs = if form == 7 { 1 } else { 2 };
        let text = format!("SELECT c{form} FROM t");
        lines.extend(std::iter::repeat_n(text, runs));
    }
    let values: Vec<String> = (0..300).map(|value| value.to_string()).collect();
    lines.push(format!("INSERT INTO t VALUES ({})", values.join(", ")));
    let other: Vec<String> = (1..301).map(|value| value.to_string()).collect();
    lines.push(format!("INSERT INTO t VALUES ({})", other.join(", ")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let recording = of(&CASTS, &lines);
    assert_eq!(recording.forms.len(), FORMS_MAX);
    assert_eq!(
        left(&recording),
        [
            ("COPY".into(), 1),
            ("SET".into(), 1),
            (Left::ManyValues.to_string(), 2),
            (Left::Rare.to_string(), 1),
        ]
    );
    let all = recording.kept() + recording.left.values().sum::<u64>();
    assert_eq!(recording.statements, all);
}

#[test]
fn times_are_of_what_is_sent_again() {
    let mut gathering = Gathering::new(&CASTS);
    let ms = |time| Some(Duration::from_millis(time));
    gathering.statement("a", 1, "BEGIN", None, ms(50));
    gathering.statement("a", 2, "SELECT a FROM t", None, ms(30));
    gathering.statement("a", 3, "SET x = 1", None, ms(10));
    gathering.statement("a", 4, "COMMIT", None, ms(50));
    let recording = gathering.finish();
    // 30 of 40: the ends of transactions are no statements.
    assert!((recording.share_of_time().unwrap() - 0.75).abs() < 1e-9);
    assert_eq!(of(&CASTS, &["SELECT a FROM t"]).share_of_time(), None);
}

#[test]
fn forms_that_a_copy_refuses_leave_their_transactions() {
    let mut recording = of(
        &CASTS,
        &[
            "BEGIN",
            "SELECT a FROM t",
            "SELECT b FROM t",
            "END",
            "SELECT b FROM t",
        ],
    );
    assert_eq!(sql(&recording), ["SELECT a FROM t", "SELECT b FROM t"]);
    let whole = recording.fingerprint();
    recording.retain(&[true, false], &Left::Refused);
    assert_eq!(sql(&recording), ["SELECT a FROM t"]);
    assert_eq!(recording.transactions.len(), 1);
    assert_eq!(recording.transactions[0].end, End::Commit);
    assert_eq!(left(&recording), [(Left::Refused.to_string(), 2)]);
    assert_ne!(recording.fingerprint(), whole);
}

#[test]
fn what_a_transaction_says_of_itself_is_kept() {
    let recording = of(
        &CASTS,
        &[
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "SELECT a FROM t",
            "END",
            "BEGIN",
            "SELECT a FROM t",
            "END",
        ],
    );
    let accesses: Vec<Option<Access>> = recording.transactions.iter().map(|of| of.access).collect();
    assert_eq!(accesses, [Some(Access::WriteSerializable), None]);
}

#[test]
fn clients_share_sessions_and_keep_their_order() {
    let mut lines = Vec::new();
    for round in 0..10 {
        for session in ["a", "b", "c"] {
            // The first one has as many as the others together.
            let count = if session == "a" { 2 } else { 1 };
            for _ in 0..count {
                lines.push(format!("{session} {round}"));
            }
        }
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let recording = sessions(&CASTS, &lines);
    assert_eq!(recording.sessions, 3);
    let of_clients = recording.by_client(2);
    let sessions = |client: usize| {
        let mut sessions: Vec<u32> = of_clients[client]
            .iter()
            .map(|position| recording.transactions[*position as usize].session)
            .collect();
        sessions.dedup();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    };
    assert_eq!((sessions(0), sessions(1)), (vec![0], vec![1, 2]));
    for order in &of_clients {
        assert_eq!(order.len(), 20);
        assert!(order.is_sorted());
    }
    // More clients than sessions: some have nothing to do.
    assert_eq!(
        recording
            .by_client(4)
            .iter()
            .filter(|of| of.is_empty())
            .count(),
        1
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_cut_or_left_out(text in "[-a-c'\"`$;:?=(),.0-9eExX/*#\\\\\n \u{e4}]{0,60}") {
        for dialect in [&CASTS, &BACKSLASHES] {
            for range in split(&text, dialect) {
                proptest::prop_assert!(text.is_char_boundary(range.start));
                proptest::prop_assert!(text.is_char_boundary(range.end));
            }
            let statement = format!("SELECT {text}");
            let recording = of(dialect, &[&statement, &statement, "SELECT 1, 'a'"]);
            let all = recording.kept() + recording.left.values().sum::<u64>();
            proptest::prop_assert_eq!(recording.statements, all);
            for transaction in &recording.transactions {
                for step in recording.steps(transaction) {
                    proptest::prop_assert!(recording.values(step).len() <= 256);
                }
            }
        }
    }

    /// A form with its values in their places has the tokens that were sent.
    #[test]
    fn nothing_is_lost(first in 0i64..1 << 40, second in "[a-z' ]{0,8}", other in "[a-z']{0,8}") {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let text = |number: i64, text: &str| {
            format!("INSERT INTO t VALUES ({number}, {}, 7)", quoted(text))
        };
        let statements = [text(first, &second), text(1, &other)];
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let recording = of(&BACKSLASHES, &statements);
        for (transaction, sent) in recording.transactions.iter().zip(&statements) {
            let step = &recording.steps(transaction)[0];
            let values: Vec<Datum<'_>> = recording.values(step).collect();
            let parts = recording.forms[step.form as usize].parts.iter();
            let again: String = parts.map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Parameter(position) => match values[*position] {
                    Datum::Integer(number) => number.to_string(),
                    Datum::Text(text) => quoted(text),
                    other => format!("{other:?}"),
                },
            }).collect();
            proptest::prop_assert_eq!(&again, sent);
        }
    }
}

#[test]
fn comments_begin_as_each_dialect_has_them() {
    let statements = [
        "UPDATE t SET a=a--5 WHERE id=3",
        "UPDATE t SET a=a--6 WHERE id=4 -- c",
    ];
    assert_eq!(
        sql(&of(&BACKSLASHES, &statements)),
        ["UPDATE t SET a=a-<0> WHERE id=<1>"]
    );
    assert_eq!(sql(&of(&CASTS, &statements[..1])), ["UPDATE t SET a=a"]);
}

#[test]
fn bodies_of_routines_are_no_statements() {
    let routine = "CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (1); DELETE FROM t; END";
    for dialect in [&CASTS, &BACKSLASHES] {
        let recording = of(dialect, &[routine, "SELECT a FROM t"]);
        assert_eq!(sql(&recording), ["SELECT a FROM t"]);
        assert_eq!(left(&recording), [("CREATE".into(), 1)]);
    }
    // In a file of all that a connection sent, a body ends with "; END".
    static TRACE: Dialect = Dialect {
        has_whole_texts: false,
        has_text_transactions: false,
        ..CASTS
    };
    let trace = "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN b THEN 1 \
                 END; DELETE FROM t; END; SELECT a FROM t; CREATE TABLE begin_(a); SELECT b FROM t";
    let recording = of(&TRACE, &[trace]);
    assert_eq!(sql(&recording), ["SELECT a FROM t", "SELECT b FROM t"]);
    assert_eq!(left(&recording), [("CREATE".into(), 2)]);
}

#[test]
fn what_is_cut_off_is_not_sent() {
    for text in [
        "UPDATE t SET b = 'x",
        "DELETE FROM t /* where",
        "SELECT $a$ b",
        "SELECT \"a",
    ] {
        let recording = of(&CASTS, &[text]);
        assert_eq!(recording.kept(), 0, "{text}");
        assert_eq!(left(&recording), [(Left::NoEnd.to_string(), 1)], "{text}");
    }
}

#[test]
fn words_that_are_none_of_sql_are_not_told() {
    let recording = of(&CASTS, &["4111222233334444 secret", "drop table t", ""]);
    let wanted = [("DROP".into(), 1), ("of other kinds".into(), 1)];
    assert_eq!(left(&recording), wanted);
}

#[test]
fn values_are_as_many_as_a_statement_wants() {
    let mut gathering = Gathering::new(&CASTS);
    let text = "SELECT a FROM t WHERE id=$1";
    gathering.statement("a", 1, text, Some(&[Some("5"), Some("9")]), None);
    gathering.statement("a", 2, text, Some(&[Some("6")]), None);
    gathering.statement("a", 3, "SELECT $2", Some(&[Some("7")]), None);
    let recording = gathering.finish();
    let counts: Vec<usize> = recording.forms.iter().map(|form| form.parameters).collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(left(&recording), [(Left::NoValues.to_string(), 1)]);
}

#[test]
fn savepoints_undo_and_failures_with_them() {
    for (lines, wanted, undone) in [
        (
            &[
                "a BEGIN",
                "a 1",
                "a SAVEPOINT s",
                "a 2",
                "a !",
                "a ROLLBACK TO SAVEPOINT S",
                "a 3",
                "a COMMIT",
            ][..],
            &["0: 1 3 commit"][..],
            0,
        ),
        (
            &[
                "a BEGIN",
                "a 1",
                "a SAVEPOINT \"a-b c\"",
                "a 2",
                "a ROLLBACK TO \"a-b c\"",
                "a 3",
                "a END",
            ],
            &["0: 1 3 commit"],
            1,
        ),
        (
            &[
                "a BEGIN",
                "a SAVEPOINT x",
                "a 1",
                "a SAVEPOINT y",
                "a 2",
                "a ROLLBACK TO x",
                "a COMMIT",
                "a 3",
            ],
            &["0: 3 alone"],
            2,
        ),
    ] {
        let recording = sessions(&CASTS, lines);
        assert_eq!(transactions(&recording), wanted, "{lines:?}");
        let found = recording.left.get(&Left::Undone).copied();
        assert_eq!(found.unwrap_or_default(), undone, "{lines:?}");
    }
    // One that begins a transaction ends it.
    let lines = [
        "a SAVEPOINT o",
        "a 1",
        "a SAVEPOINT i",
        "a 2",
        "a RELEASE i",
        "a RELEASE o",
        "a 3",
    ];
    let recording = sessions(&BACKSLASHES, &lines);
    assert_eq!(transactions(&recording), ["0: 1 2 commit", "0: 3 alone"]);
}

#[test]
fn transactions_end_in_all_ways() {
    for (dialect, lines, wanted) in [
        (
            &CASTS,
            &[
                "a BEGIN",
                "a 1",
                "a COMMIT AND CHAIN",
                "a 2",
                "a 3",
                "a ROLLBACK",
            ][..],
            &["0: 1 commit", "0: 2 3 rollback"][..],
        ),
        (
            &CASTS,
            &["a BEGIN", "a 1", "a COMMIT AND NO CHAIN", "a 2"],
            &["0: 1 commit", "0: 2 alone"],
        ),
        (
            &CASTS,
            &[
                "a BEGIN",
                "a 1",
                "a PREPARE TRANSACTION 'x'",
                "a 2",
                "a COMMIT PREPARED 'x'",
                "a 3",
            ],
            &["0: 1 commit", "0: 2 alone", "0: 3 alone"],
        ),
        (
            &BACKSLASHES,
            &[
                "a +",
                "a SET autocommit=0",
                "a 1",
                "a SET autocommit=1",
                "a 2",
                "a 3",
            ],
            &["0: 1 commit", "0: 2 alone", "0: 3 alone"],
        ),
        (
            &BACKSLASHES,
            &[
                "a XA START 'x'",
                "a 1",
                "a 2",
                "a XA END 'x'",
                "a XA PREPARE 'x'",
                "a XA COMMIT 'x'",
                "a 3",
            ],
            &["0: 1 2 commit", "0: 3 alone"],
        ),
    ] {
        assert_eq!(transactions(&sessions(dialect, lines)), wanted, "{lines:?}");
    }
    // Statements of one text are one transaction where a server has it so.
    let two = "SELECT a FROM t WHERE id = 1; SELECT a FROM t WHERE id = 2";
    assert_eq!(transactions(&of(&CASTS, &[two])), ["0: 1 2 commit"]);
    assert_eq!(
        transactions(&of(&BACKSLASHES, &[two])),
        ["0: 1 alone", "0: 2 alone"]
    );
    // A failure undoes all of it, and its time is that of all.
    let mut gathering = Gathering::new(&CASTS);
    gathering.began("a");
    gathering.statement("a", 1, two, None, Some(Duration::from_millis(2)));
    gathering.statement("a", 2, two, None, None);
    gathering.failed("a", true);
    let recording = gathering.finish();
    assert_eq!(transactions(&recording), ["0: 1 2 commit", "0: 1 rollback"]);
    assert_eq!(recording.share_of_time(), Some(1.0));
    let begun = "SELECT a FROM t WHERE id = 1; BEGIN; SELECT a FROM t WHERE id = 2";
    assert_eq!(
        transactions(&of(
            &CASTS,
            &[begun, "SELECT a FROM t WHERE id = 3", "COMMIT"]
        )),
        ["0: 1 2 3 commit"]
    );
}

#[test]
fn sessions_end_with_their_server() {
    let mut gathering = Gathering::new(&CASTS);
    let select = |gathering: &mut Gathering, id: u32| {
        let text = format!("SELECT a FROM t WHERE id = {id}");
        gathering.statement("a", 1, &text, None, None);
    };
    gathering.statement("a", 1, "BEGIN", None, None);
    select(&mut gathering, 1);
    gathering.restarted();
    select(&mut gathering, 2);
    let recording = gathering.finish();
    assert_eq!(transactions(&recording), ["0: 1 rollback", "1: 2 alone"]);
}

#[test]
fn forms_that_differ_in_nulls_and_sizes_are_one() {
    let recording = of(
        &CASTS,
        &[
            "INSERT INTO t VALUES (1, 'a', NULL)",
            "INSERT INTO t VALUES (5000000000, NULL, 1.5)",
            "INSERT INTO t VALUES (NULL, NULL, 2.25)",
            "INSERT INTO t VALUES ('x', 'b', NULL)",
        ],
    );
    assert_eq!(
        sql(&recording),
        [
            "INSERT INTO t VALUES (<0>::int8, <1>, <2>::numeric)",
            "INSERT INTO t VALUES ('x', 'b', NULL)",
        ]
    );
    let values: Vec<Vec<Datum<'_>>> = recording.transactions[..3]
        .iter()
        .map(|of| recording.values(&recording.steps(of)[0]).collect())
        .collect();
    assert_eq!(
        values,
        [
            [Datum::Integer(1), Datum::Text("a"), Datum::Null],
            [
                Datum::Integer(5_000_000_000),
                Datum::Null,
                Datum::Text("1.5")
            ],
            [Datum::Null, Datum::Null, Datum::Text("2.25")],
        ]
    );
}

#[test]
fn columns_that_are_named_by_numbers_are_no_values() {
    let statements = [
        "SELECT a, b FROM t WHERE c = 1 ORDER BY a, 2 LIMIT 1",
        "SELECT a, b FROM t WHERE c = 2 ORDER BY a, 3 LIMIT 2",
        "SELECT a, b FROM t WHERE c = 3 ORDER BY a, 3 LIMIT 3",
    ];
    assert_eq!(
        sql(&of(&CASTS, &statements)),
        [
            "SELECT a, b FROM t WHERE c = 1 ORDER BY a, 2 LIMIT 1",
            "SELECT a, b FROM t WHERE c = <0>::int4 ORDER BY a, 3 LIMIT <1>::int4",
        ]
    );
}

#[test]
fn locks_of_sessions_are_left_out() {
    let recording = of(&CASTS, &["SELECT pg_advisory_lock(5)", "SELECT a FROM t"]);
    assert_eq!(left(&recording), [(Left::SessionLock.to_string(), 1)]);
}

/// When transactions began, and the pauses before their statements and their ends, in milliseconds.
fn times(recording: &Recording) -> Vec<(Option<u128>, Vec<u128>)> {
    let times = recording.transactions.iter().map(|of| {
        let pauses = recording.steps(of).iter().map(|step| step.pause);
        let pauses = pauses.chain([of.last_pause]);
        let pauses = pauses.map(|pause| pause.time().as_millis()).collect();
        (of.begun.map(|begun| begun.as_millis()), pauses)
    });
    times.collect()
}

#[test]
fn pauses_are_what_a_session_waited_between_answer_and_statement() {
    let mut gathering = Gathering::new(&CASTS);
    let ms = Duration::from_millis;
    for (at, session, statement, took) in [
        (1000, "a", "BEGIN", 1),
        (1003, "a", "SELECT 1", 4),
        (1005, "b", "SELECT 2", 10),
        // What is left out takes no pause with it.
        (1010, "a", "SET x = 1", 5),
        (1017, "a", "SELECT 3", 1),
        (1038, "a", "COMMIT", 2),
        (1039, "b", "SELECT 4", 1),
    ] {
        gathering.at(Some(ms(at)));
        gathering.statement(session, at, statement, None, Some(ms(took)));
    }
    let recording = gathering.finish();
    // Transactions begin at 1000, 1005 and 1039.
    assert_eq!(recording.longest_pause(), (ms(34), ms(39)));
    assert!(recording.has_times());
    assert_eq!(
        times(&recording),
        [
            (Some(5), vec![0, 0]),
            (Some(0), vec![2, 5, 20]),
            (Some(39), vec![0, 0]),
        ]
    );
    assert_eq!(recording.sessions_at_once(), 2);
    // By their times, whenever the log had their ends.
    assert_eq!(recording.by_client_in_time(1), [[1, 0, 2]]);
    assert_eq!(recording.by_client_in_time(2), [vec![1], vec![0, 2]]);
}

#[test]
fn without_ends_pauses_are_counted_from_beginnings() {
    let mut gathering = Gathering::new(&CASTS);
    for (at, statement) in [
        (10, "BEGIN"),
        (12, "SELECT 1"),
        (19, "COMMIT"),
        (5, "SELECT 2"),
    ] {
        gathering.at(Some(Duration::from_millis(at)));
        gathering.statement("a", at, statement, None, None);
    }
    let recording = gathering.finish();
    // A clock that was set back sends nothing before the statement before.
    assert_eq!(
        times(&recording),
        [(Some(0), vec![2, 7]), (Some(9), vec![0, 0])]
    );
    let steps = recording.steps(&recording.transactions[0]);
    assert!(steps[0].pause.is_from_begin);
    assert!(!of(&CASTS, &["SELECT 1"]).has_times());
}
