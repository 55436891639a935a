//! Sessions with a real server, and what happens when it fails.

use std::{
    ops::ControlFlow,
    sync::{Barrier, OnceLock},
    thread,
    time::Duration,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Connection, ConnectionError, Pgbench,
    connection::{Access, Batch, Conflict, Statement, StatementId, Value, Wants},
    population::RowBatch,
    schema::{ColumnKind, TableId},
};
use tempfile::TempDir;

use super::{
    Flavour,
    arguments::Purpose,
    infile::FORMAT,
    infile::LoadData,
    instance::{Instance, initialise, session_setup},
    layout::Layout,
    programs::Programs,
    session::Session,
};
use crate::{
    DatabaseError, Isolation, Settings,
    server::{account::Account, tree},
};

const I: ColumnKind = ColumnKind::Integer;
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 18,
    scale: 2,
};
const TEXT: ColumnKind = ColumnKind::Varchar(2000);
const KINDS: [ColumnKind; 6] = [
    I,
    ColumnKind::Integer32,
    MONEY,
    ColumnKind::Char(5),
    TEXT,
    ColumnKind::Timestamp,
];

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

const INSERT: StatementId = StatementId(0);
const ALL: StatementId = StatementId(1);
const ADD: StatementId = StatementId(2);
const ONE: StatementId = StatementId(3);
const SUMS: StatementId = StatementId(4);
const FILL: StatementId = StatementId(5);

static STATEMENTS: [Statement; 6] = [
    statement(
        "INSERT INTO kinds VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &KINDS,
        &[],
    ),
    statement("SELECT * FROM kinds ORDER BY a", &[], &KINDS),
    statement(
        "UPDATE kinds SET c = c + ?1 WHERE a = ?2 AND (a > ?2 OR a = ?2)",
        &[MONEY, I],
        &[],
    ),
    statement("SELECT c, e FROM kinds WHERE a = ?1", &[I], &[MONEY, TEXT]),
    statement(
        "SELECT COUNT(*), SUM(a), SUM(c), MIN(f) FROM kinds",
        &[],
        &[I, I, MONEY, ColumnKind::Timestamp],
    ),
    statement("UPDATE kinds SET e = ?1 WHERE a = ?2", &[TEXT, I], &[]),
];

/// A server with an empty table, in a directory of its own.
struct TestServer {
    instance: Option<Instance>,
    _directory: TempDir,
}

fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        Programs::find(Flavour::Mariadb, None)
            .expect("MariaDB is needed by this test: ./test installs it")
    })
}

fn page_size() -> PageSize {
    PageSize::new(4096).unwrap()
}

impl TestServer {
    fn start() -> Self {
        let directory = crate::scratch::directory();
        open_to_all(&directory);
        let layout = Layout::resolve(directory.path()).unwrap();
        let account = Account::of_servers().unwrap();
        initialise(
            programs(),
            &layout,
            page_size(),
            account.as_ref(),
            &mut || false,
        )
        .unwrap();
        let purpose = Purpose::Load {
            buffer: ByteCount::mib(32),
            redo: ByteCount::mib(32),
        };
        let (instance, mut session) =
            Instance::start(programs(), &layout, page_size(), &purpose, account.as_ref()).unwrap();
        session.simple(&super::ddl::create_database()).unwrap();
        session
            .simple(
                "CREATE TABLE octavo.kinds (a BIGINT PRIMARY KEY, b INT, c DECIMAL(18,2), \
                 d CHAR(5), e VARCHAR(2000), f DATETIME(6)) ENGINE=InnoDB",
            )
            .unwrap();
        Self {
            instance: Some(instance),
            _directory: directory,
        }
    }

    fn instance(&self) -> &Instance {
        self.instance.as_ref().unwrap()
    }

    fn session(&self) -> Session {
        let setup = session_setup(Flavour::Mariadb, "REPEATABLE READ", Duration::from_secs(30));
        let mut session = self.instance().session(Some("octavo"), &setup).unwrap();
        session.prepare_all(&STATEMENTS).unwrap();
        session
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let stopped = self.instance.take().map(Instance::stop);
        if !thread::panicking() {
            stopped.unwrap_or(Ok(())).unwrap();
        }
    }
}

fn open_to_all(directory: &TempDir) {
    use std::{fs, os::unix::fs::PermissionsExt};
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory.path(), mode).unwrap();
}

fn row(a: i64) -> [Value<'static>; 6] {
    let (unscaled, scale) = (0, 2);
    [
        Value::Integer(a),
        Value::Integer(0),
        Value::Decimal { unscaled, scale },
        Value::Text("x"),
        Value::Text("some text"),
        Value::Timestamp(0),
    ]
}

fn insert(session: &mut Session, rows: std::ops::Range<i64>) {
    let mut batch = Batch::default();
    for a in rows {
        batch.push(INSERT, Wants::Changes, &row(a));
    }
    let mut counts = Vec::new();
    session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap();
    assert!(counts.iter().all(|&count| count == 1));
}

fn cents(unscaled: i64) -> Value<'static> {
    Value::Decimal { unscaled, scale: 2 }
}

fn balance(session: &mut Session, a: i64) -> i64 {
    let mut found = None;
    session
        .query(ONE, &[Value::Integer(a)], &mut |row| {
            if let Value::Decimal { unscaled, .. } = row.value(0) {
                found = Some(unscaled);
            }
        })
        .unwrap();
    found.unwrap()
}

#[test]
fn values_of_all_kinds_are_read_as_written() {
    let server = TestServer::start();
    let mut session = server.session();
    let time = 951_782_400_123_456;
    let rows = [
        [
            Value::Integer(i64::MIN),
            Value::Integer(i64::from(i32::MIN)),
            cents(-999_999_999_999_999_999),
            Value::Text("ö"),
            Value::Text(""),
            Value::Timestamp(-62_135_596_800_000_000),
        ],
        [
            Value::Integer(0),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ],
        [
            Value::Integer(i64::MAX),
            Value::Integer(7),
            cents(5),
            Value::Text("abcde"),
            Value::Text("tab\tline\nback\\slash nul\0 blank "),
            Value::Timestamp(time),
        ],
    ];
    for row in &rows {
        assert_eq!(session.execute(INSERT, row).unwrap(), 1);
    }
    let mut check = |by_scan: bool| {
        let mut found = 0;
        let mut visit = |row: &dyn octavo_workload::connection::Row| {
            for (column, wanted) in rows[found].iter().enumerate() {
                assert_eq!(row.value(column), *wanted, "row {found} column {column}");
            }
            found += 1;
        };
        let count = match by_scan {
            false => session.query(ALL, &[], &mut visit),
            true => session.scan("SELECT * FROM kinds ORDER BY a", &KINDS, &mut visit),
        };
        assert_eq!((count.unwrap(), found), (3, 3));
    };
    check(false);
    check(true);
    let mut sums = Vec::new();
    session
        .query(SUMS, &[], &mut |row| {
            sums = (0..4)
                .map(|column| format!("{:?}", row.value(column)))
                .collect();
        })
        .unwrap();
    assert_eq!(sums[0], "Integer(3)");
    assert_eq!(sums[1], "Integer(-1)");
    assert_eq!(sums[2], format!("{:?}", cents(-999_999_999_999_999_994)));
    let found = session
        .texts("SELECT a, b FROM kinds WHERE b IS NULL OR b = 7 ORDER BY a")
        .unwrap();
    assert_eq!(found[0], [Some("0".into()), None]);
    assert_eq!(found[1][1], Some("7".into()));

    // The same by LOAD DATA.
    session.simple("DELETE FROM kinds").unwrap();
    let mut batch = RowBatch::new();
    batch.reset(TableId(0), KINDS.len());
    for value in rows.iter().flatten() {
        match *value {
            Value::Null => batch.push_null(),
            Value::Integer(number) => batch.push_integer(number),
            Value::Decimal { unscaled, scale } => batch.push_decimal(unscaled, scale),
            Value::Text(text) => batch.push_text(|out| out.push_str(text)),
            Value::Real(_) => unreachable!("no row of Octavo's has one"),
            Value::Timestamp(microseconds) => batch.push_timestamp(microseconds),
        }
    }
    let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE kinds {FORMAT}");
    let mut load = LoadData::begin(&mut session, &sql, &KINDS).unwrap();
    load.batch(&batch).unwrap();
    assert_eq!(load.finish().unwrap(), 3);
    let mut found = 0;
    session
        .query(ALL, &[], &mut |row| {
            for (column, wanted) in rows[found].iter().enumerate() {
                assert_eq!(row.value(column), *wanted, "row {found} column {column}");
            }
            found += 1;
        })
        .unwrap();
    assert_eq!(found, 3);

    // Keys that are there twice are refused, and a load can be given up.
    let mut load = LoadData::begin(&mut session, &sql, &KINDS).unwrap();
    load.batch(&batch).unwrap();
    let error = load.finish().unwrap_err();
    assert!(format!("{error:?}").contains("Duplicate"), "{error:?}");
    let mut load = LoadData::begin(&mut session, &sql, &KINDS).unwrap();
    load.batch(&batch).unwrap();
    drop(load);
    assert_eq!(session.query(ALL, &[], &mut |_| {}).unwrap(), 3);
}

#[test]
fn transactions_have_the_isolation_that_they_want() {
    let server = TestServer::start();
    let mut session = server.session();
    insert(&mut session, 1..2);
    let levels = |session: &mut Session| {
        [
            Access::Write,
            Access::WriteRepeatable,
            Access::WriteSerializable,
            Access::Write,
        ]
        .map(|access| {
            session.begin(access).unwrap();
            session
                .execute(ADD, &[cents(5), Value::Integer(1)])
                .unwrap();
            // The table is what it was where it is read again within 0.1 s
            // (CACHE_MIN_IDLE_TIME_NS, trx0i_s.cc).
            thread::sleep(Duration::from_millis(200));
            let found = session
                .texts(
                    "SELECT trx_isolation_level FROM information_schema.innodb_trx \
                         WHERE trx_mysql_thread_id = CONNECTION_ID()",
                )
                .unwrap();
            session.rollback().unwrap();
            found[0][0].clone().unwrap()
        })
    };
    let repeatable = "REPEATABLE READ";
    let wanted = [repeatable, repeatable, "SERIALIZABLE", repeatable];
    assert_eq!(levels(&mut session), wanted);
    // At least the chosen one.
    session
        .simple("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        .unwrap();
    let mut session = session.at_level(Isolation::ReadCommitted);
    let wanted = [
        "READ COMMITTED",
        repeatable,
        "SERIALIZABLE",
        "READ COMMITTED",
    ];
    assert_eq!(levels(&mut session), wanted);
    session
        .simple("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .unwrap();
    let mut session = session.at_level(Isolation::Serializable);
    assert_eq!(levels(&mut session), ["SERIALIZABLE"; 4]);
}

#[test]
fn statements_fail_and_sessions_go_on() {
    let server = TestServer::start();
    let mut session = server.session();
    insert(&mut session, 1..4);
    // Rows met, not rows changed.
    for _ in 0..2 {
        let values = [Value::Text("same"), Value::Integer(1)];
        assert_eq!(session.execute(FILL, &values).unwrap(), 1);
    }
    let error = session.simple("SELEC 1").unwrap_err();
    assert_eq!(error.to_string(), "run SELEC 1");
    // A value of another kind is refused before anything is sent.
    session.begin(Access::Write).unwrap();
    session
        .execute(ADD, &[Value::Integer(1), Value::Integer(1)])
        .unwrap_err();
    assert_eq!(
        session
            .execute(ADD, &[cents(5), Value::Integer(1)])
            .unwrap(),
        1
    );
    // A key that is there: the transaction can only be rolled back.
    let error = session.execute(INSERT, &row(1)).unwrap_err();
    assert!(error.to_string().starts_with("run INSERT"), "{error}");
    session.query(ALL, &[], &mut |_| {}).unwrap_err();
    session.commit().unwrap_err();
    session.begin(Access::Write).unwrap_err();
    session.rollback().unwrap();
    session.rollback().unwrap();
    assert_eq!(balance(&mut session, 1), 0);

    // A transaction that only reads cannot write; the next one can.
    session.begin(Access::Read).unwrap();
    assert_eq!(session.query(ALL, &[], &mut |_| {}).unwrap(), 3);
    session
        .execute(ADD, &[cents(5), Value::Integer(1)])
        .unwrap_err();
    session.rollback().unwrap();
    session.begin(Access::Write).unwrap();
    session.commit().unwrap();
    session.begin(Access::Write).unwrap();
    session
        .execute(ADD, &[cents(5), Value::Integer(1)])
        .unwrap();
    session.commit().unwrap();
    let mut other = server.session();
    assert_eq!(balance(&mut other, 1), 5);
    // Outside of a transaction a statement is one of its own, also right
    // behind one.
    session
        .execute(ADD, &[cents(5), Value::Integer(1)])
        .unwrap();
    assert_eq!(balance(&mut other, 1), 10);

    let limit = session_setup(Flavour::Mariadb, "SERIALIZABLE", Duration::from_secs(1));
    let mut limited = server.instance().session(Some("octavo"), &limit).unwrap();
    let error = limited.simple("SELECT SLEEP(20)").unwrap_err();
    assert!(matches!(error, ConnectionError::Timeout(_)), "{error:?}");
    limited.simple("SELECT 1").unwrap();
}

#[test]
fn batches_are_answered_in_order() {
    let server = TestServer::start();
    let mut session = server.session();
    insert(&mut session, 0..60);
    let text = "y".repeat(1000);
    let mut batch = Batch::default();
    for number in 0..2000 {
        let a = Value::Integer(number % 60);
        match number % 2 {
            0 => batch.push(FILL, Wants::Changes, &[Value::Text(&text), a]),
            _ => batch.push(ONE, Wants::Rows, &[a]),
        }
    }
    for access in [None, Some(Access::Write)] {
        if let Some(access) = access {
            session.begin(access).unwrap();
        }
        let (mut counts, mut seen) = (Vec::new(), Vec::new());
        session
            .run_batch(&batch, &mut |position, _| seen.push(position), &mut counts)
            .unwrap();
        assert_eq!(counts, [1; 2000]);
        assert!(seen.iter().copied().eq((1..2000).step_by(2)));
        session.commit().unwrap();
    }

    // One fails: the others are answered, and the rollback undoes them.
    let mut batch = Batch::default();
    batch.push(ADD, Wants::Changes, &[cents(1), Value::Integer(1)]);
    batch.push(INSERT, Wants::Changes, &row(2));
    batch.push(ADD, Wants::Changes, &[cents(1), Value::Integer(3)]);
    session.begin(Access::Write).unwrap();
    let mut counts = Vec::new();
    let error = session
        .run_batch(&batch, &mut |_, _| {}, &mut counts)
        .unwrap_err();
    assert!(error.to_string().starts_with("run INSERT"), "{error}");
    session.rollback().unwrap();
    assert_eq!(balance(&mut session, 1) + balance(&mut session, 3), 0);
}

/// Two sessions that each change a row, and then the other's: `pipelined`
/// statements follow in the same batch.
fn collide(server: &TestServer) -> Vec<Result<(), ConnectionError>> {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let threads: Vec<_> = [(1, 2), (2, 1)]
            .map(|(first, second)| {
                let (server, barrier) = (&server, &barrier);
                scope.spawn(move || {
                    let mut session = server.session();
                    session.begin(Access::Write).unwrap();
                    let change = |a| [cents(1), Value::Integer(a)];
                    session.execute(ADD, &change(first)).unwrap();
                    barrier.wait();
                    let mut batch = Batch::default();
                    batch.push(ADD, Wants::Changes, &change(second));
                    batch.push(ADD, Wants::Changes, &change(3));
                    let mut counts = Vec::new();
                    let result = session.run_batch(&batch, &mut |_, _| {}, &mut counts);
                    match result {
                        Ok(()) => session.commit().unwrap(),
                        Err(_) => session.rollback().unwrap(),
                    }
                    result
                })
            })
            .into_iter()
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn a_deadlock_leaves_nothing_of_its_transaction() {
    let server = TestServer::start();
    let mut session = server.session();
    insert(&mut session, 1..4);
    let results = collide(&server);
    let deadlocks = results.iter().filter(|result| {
        let is_deadlock = |error| {
            matches!(
                error,
                &ConnectionError::Conflict {
                    kind: Conflict::Deadlock,
                    ..
                }
            )
        };
        result.as_ref().is_err_and(is_deadlock)
    });
    assert_eq!(deadlocks.count(), 1, "{results:?}");
    // What the loser had sent behind the deadlock did not stay.
    for a in 1..4 {
        assert_eq!(balance(&mut session, a), 1, "{a}");
    }

    let mut waiting = server.session();
    waiting
        .simple("SET SESSION innodb_lock_wait_timeout=1")
        .unwrap();
    session.begin(Access::Write).unwrap();
    session
        .execute(ADD, &[cents(1), Value::Integer(1)])
        .unwrap();
    let error = waiting
        .execute(ADD, &[cents(1), Value::Integer(1)])
        .unwrap_err();
    assert!(
        matches!(
            error,
            ConnectionError::Conflict {
                kind: Conflict::LockTimeout,
                ..
            }
        ),
        "{error:?}"
    );
    session.rollback().unwrap();
}

#[test]
fn accounts_log_in_by_their_methods() {
    let server = TestServer::start();
    let mut session = server.session();
    session
        .simple("CREATE USER native@localhost IDENTIFIED BY 'sécret'")
        .unwrap();
    session
        .simple("CREATE USER other@localhost IDENTIFIED VIA unix_socket")
        .unwrap();
    let directory = server._directory.path().join("data");
    let log_in = |user: &str, password: &str| {
        let stream = crate::server::socket::connect(&directory, super::layout::SOCKET).unwrap();
        let stream = crate::wire::Stream::Unix(stream);
        Session::open(stream, user, password, None, &[], Duration::from_secs(10))
    };
    log_in("native", "sécret")
        .unwrap()
        .simple("SELECT 1")
        .unwrap();
    for (user, password) in [("native", "wrong"), ("native", ""), ("nobody here", "")] {
        let error = log_in(user, password).unwrap_err();
        assert!(format!("{error:?}").contains("denied"), "{error:?}");
    }
    // The operating system knows us by another name than "other".
    log_in("other", "").unwrap_err();
}

#[test]
fn a_server_that_is_killed_is_lost() {
    let server = TestServer::start();
    let mut session = server.session();
    insert(&mut session, 1..3);
    session.begin(Access::Write).unwrap();
    session
        .execute(ADD, &[cents(1), Value::Integer(1)])
        .unwrap();
    assert_eq!(server.instance().death(), None);
    server.instance().kill();
    for _ in 0..2 {
        let error = session.execute(ADD, &[cents(1), Value::Integer(1)]);
        assert!(matches!(error, Err(ConnectionError::Lost(_))), "{error:?}");
        let error = session.rollback();
        assert!(matches!(error, Err(ConnectionError::Lost(_))), "{error:?}");
    }
    let death = server.instance().death().unwrap();
    assert!(death.contains("signal"), "{death}");
    // It did not stop cleanly, which is told.
    let mut server = server;
    let error = server.instance.take().unwrap().stop().unwrap_err();
    assert!(error.to_string().contains("had ended"), "{error}");
}

fn settings(mib: u64) -> Settings {
    Settings {
        page_size: page_size(),
        memory: ByteCount::mib(mib),
        clients: 2,
        isolation: None,
    }
}

#[test]
fn a_snapshot_is_loaded_copied_and_run() {
    let database = crate::choose("mariadb", &[]).unwrap();
    let workload = Pgbench::new(1, octavo_units::Seed::new(1)).unwrap();
    let directory = crate::scratch::directory();
    open_to_all(&directory);
    let [snapshot, run] = ["snapshot", "run"].map(|name| {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    let mut go_on = |_| ControlFlow::Continue(());
    let loaded = database
        .load(&snapshot, page_size(), &workload, &mut go_on)
        .unwrap();
    assert_eq!(loaded.rows, 100_011);
    let estimate = database.estimate(&workload, page_size()).get() as f64;
    let ratio = estimate / loaded.size.get() as f64;
    assert!((0.6..1.6).contains(&ratio), "{ratio}");

    database.restore(&snapshot, &run).unwrap();
    let running = database.start(&run, &settings(8), &workload).unwrap();
    let before = running.counters();
    let mut connection = running.connect(1).unwrap();
    connection
        .query(StatementId(5), &[], &mut |row| {
            assert_eq!(row.value(0), Value::Integer(100_000));
        })
        .unwrap();
    let counted = running.counters() - before;
    assert!(counted.buffer_misses > 0, "{counted:?}");
    assert!(counted.read_bytes >= ByteCount::mib(1), "{counted:?}");
    let conditions = running.conditions();
    for (name, wanted) in [
        ("torn_page_protection", "doublewrite on"),
        ("redo_log", "512 MiB"),
        ("binary_log", "off"),
        ("innodb_lock_wait_timeout", "10 s"),
    ] {
        let found = conditions.iter().find(|(condition, _)| *condition == name);
        assert_eq!(found.map(|(_, value)| value.as_str()), Some(wanted));
    }
    // A second server is refused, and the first one goes on.
    let error = database.start(&run, &settings(8), &workload).err().unwrap();
    assert!(error.to_string().contains("another server"), "{error}");
    drop(connection);
    assert_eq!(running.death(), None);
    running.stop().unwrap();

    // Nobody may stop a load's caller.
    let stopped = directory.path().join("stopped");
    std::fs::create_dir(&stopped).unwrap();
    let mut stop = |rows| match rows {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let error = database
        .load(&stopped, page_size(), &workload, &mut stop)
        .unwrap_err();
    assert!(matches!(error, DatabaseError::Stopped), "{error}");
    tree::remove_all(&stopped).unwrap();
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let database = crate::choose("mariadb", &[]).unwrap();
    let mut small = settings(1);
    let error = database.accept(&small).unwrap_err().to_string();
    assert!(error.contains("2 MiB"), "{error}");
    small.page_size = PageSize::new(512).unwrap();
    let error = database.accept(&small).unwrap_err().to_string();
    assert!(error.contains("4 KiB, 8 KiB"), "{error}");

    let option = |name: &str, value: &str| {
        let options = [(name.to_owned(), value.to_owned())];
        crate::choose("mariadb", &options).map(drop)
    };
    option("redo", "64M").unwrap();
    for (name, value) in [
        ("redo", "1M"),
        ("redo", "x"),
        ("doublewrite", "no"),
        ("x", "y"),
    ] {
        let error = option(name, value).unwrap_err().to_string();
        assert!(error.contains("mariadb"), "{error}");
    }
}

#[test]
fn a_data_directory_that_cannot_be_made_says_why() {
    let directory = crate::scratch::directory();
    open_to_all(&directory);
    let layout = Layout::resolve(directory.path()).unwrap();
    let install = directory.path().join("install");
    std::fs::write(&install, "#!/bin/sh\necho no room for it; exit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&install, mode).unwrap();
    let programs = Programs {
        install: Some(install),
        ..programs().clone()
    };
    let account = Account::of_servers().unwrap();
    let made = initialise(
        &programs,
        &layout,
        page_size(),
        account.as_ref(),
        &mut || false,
    );
    let error = made.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, DatabaseError::Program { .. }), "{text}");
    assert!(text.contains("make a data directory"), "{text}");
    assert!(text.contains("exit status: 3: no room for it"), "{text}");
}
