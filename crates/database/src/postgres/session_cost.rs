//! What a session costs its client, next to pgbench on the same server.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use octavo_workload::{
    connection::{Access, Batch, Connection, Statement, StatementId, Value, Wants},
    population::RowBatch,
    schema::{ColumnKind, TableId},
};

use super::{
    session::Session,
    test_server::{TestServer, programs},
};

const SCALE: i64 = 10;
const PAIRS: u32 = 11;
const SECONDS: u64 = 2;

const I: ColumnKind = ColumnKind::Integer;
const TEXT: ColumnKind = ColumnKind::Varchar(30);
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 12,
    scale: 2,
};

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

/// As pgbench's scripts `-S` and `-N` write them.
static STATEMENTS: [Statement; 3] = [
    statement(
        "SELECT abalance FROM pgbench_accounts WHERE aid = ?1",
        &[I],
        &[I],
    ),
    statement(
        "UPDATE pgbench_accounts SET abalance = abalance + ?1 WHERE aid = ?2",
        &[I, I],
        &[],
    ),
    statement(
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
         VALUES (?1, ?2, ?3, ?4, CURRENT_TIMESTAMP)",
        &[I, I, I, I],
        &[],
    ),
];
const SELECT: StatementId = StatementId(0);
const UPDATE: StatementId = StatementId(1);
const INSERT: StatementId = StatementId(2);

/// Transactions a second, and the client's processor time for one of them.
#[derive(Clone, Copy, Debug)]
struct Cost {
    rate: f64,
    cpu_us: f64,
}

/// The processor time of `who` so far.
fn processor_time(who: libc::c_int) -> Duration {
    // SAFETY: all bytes zero are valid for this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place is valid and ours.
    let result = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(result, 0);
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec as u64) + Duration::from_micros(value.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn pgbench(server: &TestServer, arguments: &[&str]) -> String {
    let output = Command::new(programs().join("pgbench"))
        .arg("-h")
        .arg(server.directory())
        .args(["-p", &server.port().to_string(), "-U", "octavo", "-n"])
        .args(arguments)
        .arg("postgres")
        .output()
        .expect("pgbench comes with the server: run ./test, which installs it");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

fn cost_of_pgbench(server: &TestServer, script: &str) -> Cost {
    let seconds = SECONDS.to_string();
    let before = processor_time(libc::RUSAGE_CHILDREN);
    let said = pgbench(
        server,
        &[script, "-M", "prepared", "-c", "1", "-T", &seconds],
    );
    let cpu = processor_time(libc::RUSAGE_CHILDREN) - before;
    let number = |start: &str| -> f64 {
        let line = said.lines().find(|line| line.starts_with(start)).unwrap();
        let number = line.split(['=', ':']).nth(1).unwrap();
        number.split_whitespace().next().unwrap().parse().unwrap()
    };
    let transactions = number("number of transactions actually processed");
    Cost {
        rate: number("tps"),
        cpu_us: cpu.as_secs_f64() * 1e6 / transactions,
    }
}

fn cost_of(transaction: &mut dyn FnMut(i64)) -> Cost {
    // A multiplicative generator is random enough for a warm table.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let before = processor_time(libc::RUSAGE_THREAD);
    let started = Instant::now();
    let mut transactions = 0_u64;
    while started.elapsed() < Duration::from_secs(SECONDS) {
        for _ in 0..16 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            transaction((random >> 33) as i64 % (100_000 * SCALE) + 1);
        }
        transactions += 16;
    }
    let elapsed = started.elapsed();
    let cpu = processor_time(libc::RUSAGE_THREAD) - before;
    Cost {
        rate: transactions as f64 / elapsed.as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / transactions as f64,
    }
}

/// The median of the pairs' ratios.
fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn compare(
    name: &str,
    server: &TestServer,
    script: &str,
    transaction: &mut dyn FnMut(i64),
) -> (f64, f64) {
    let (mut rates, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let theirs = cost_of_pgbench(server, script);
        let ours = cost_of(transaction);
        println!(
            "{name}: ours {:.0}/s {:.1} us, pgbench {:.0}/s {:.1} us",
            ours.rate, ours.cpu_us, theirs.rate, theirs.cpu_us
        );
        rates.push(ours.rate / theirs.rate);
        costs.push(ours.cpu_us / theirs.cpu_us);
    }
    let (rate, cost) = (median(rates), median(costs));
    println!("{name}: {rate:.3} of pgbench's rate, {cost:.3} of its processor time");
    (rate, cost)
}

fn select(session: &mut Session, account: i64) {
    let rows = session
        .query(SELECT, &[Value::Integer(account)], &mut |row| {
            assert!(matches!(row.value(0), Value::Integer(_)));
        })
        .unwrap();
    assert_eq!(rows, 1);
}

#[test]
#[ignore = "measures for two minutes: run it with --release on a quiet machine"]
fn transactions_cost_no_more_than_pgbenchs() {
    let server = TestServer::start();
    pgbench(&server, &["-i", "-q", "-s", &SCALE.to_string()]);
    let mut session = server.session();
    session.simple("VACUUM ANALYZE").unwrap();
    session.prepare_all(&STATEMENTS).unwrap();

    let select_only = compare("select", &server, "-S", &mut |account| {
        select(&mut session, account);
    });
    let update = |session: &mut Session, account: i64| {
        let delta = Value::Integer(account % 5000);
        let (account, branch) = (Value::Integer(account), Value::Integer(1));
        assert_eq!(session.execute(UPDATE, &[delta, account]).unwrap(), 1);
        session.query(SELECT, &[account], &mut |_| {}).unwrap();
        session
            .execute(INSERT, &[branch, branch, account, delta])
            .unwrap();
        session.commit().unwrap();
    };
    let simple_update = compare("update", &server, "-N", &mut |account| {
        session.begin(Access::Write).unwrap();
        update(&mut session, account);
    });
    let mut counts = Vec::new();
    let together = compare("update as a batch", &server, "-N", &mut |account| {
        let delta = Value::Integer(account % 5000);
        let (account, branch) = (Value::Integer(account), Value::Integer(1));
        let mut batch = Batch::default();
        batch.push(UPDATE, Wants::Changes, &[delta, account]);
        batch.push(SELECT, Wants::Rows, &[account]);
        batch.push(INSERT, Wants::Changes, &[branch, branch, account, delta]);
        session.begin(Access::Write).unwrap();
        counts.clear();
        session
            .run_batch(&batch, &mut |_, _| {}, &mut counts)
            .unwrap();
        session.commit().unwrap();
    });
    for (rate, cost) in [select_only, simple_update, together] {
        assert!(rate >= 1.0 && cost <= 1.0, "{rate:.3} {cost:.3}");
    }
}

#[test]
#[ignore = "measures for seconds: run it with --release on a quiet machine"]
fn rows_are_encoded_faster_than_any_server_takes_them() {
    const ROWS: usize = 4096 * RowBatch::ROWS;
    let server = TestServer::start();
    let mut session = server.session();
    session
        .simple(
            "CREATE UNLOGGED TABLE bulk (a bigint, b bigint, c bigint, d varchar(30), \
             e numeric(12,2))",
        )
        .unwrap();
    let kinds = [I, I, I, TEXT, MONEY];
    let mut batch = RowBatch::new();
    batch.reset(TableId(0), kinds.len());
    while !batch.is_full() {
        let key = batch.len() as i64;
        for number in [key, key + 1, -key] {
            batch.push_integer(number);
        }
        batch.push_text(|text| text.push_str("twenty-four characters.."));
        batch.push_decimal(key * 12_345, 2);
    }
    let mut copy = session
        .copy_in("COPY bulk FROM STDIN (FORMAT binary)")
        .unwrap();
    let started = Instant::now();
    let before = processor_time(libc::RUSAGE_THREAD);
    for _ in 0..ROWS / RowBatch::ROWS {
        copy.batch(&batch, &kinds).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), ROWS as u64);
    let cpu = processor_time(libc::RUSAGE_THREAD) - before;
    let rate = ROWS as f64 / cpu.as_secs_f64();
    println!(
        "{rate:.0} rows a second of processor time, {:.0} with the server",
        ROWS as f64 / started.elapsed().as_secs_f64()
    );
    assert!(rate > 1e6);
}
