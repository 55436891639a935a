//! Driving a database that takes no time.

use std::sync::{Arc, atomic::Ordering};

use octavo_database::StoragePath;
use octavo_workload::{
    Condition, DataSet, Mix, TransactionKind, population::Population, schema::Table,
};

use octavo_workload::{
    Client, Connection, Outcome,
    connection::{Access, Conflict, RowVisitor, Statement, StatementId, Value},
};

use super::*;

/// A database that takes no time and counts statements as misses.
#[derive(Default)]
struct Nothing {
    misses: Arc<AtomicU64>,
    conflicts: u64,
}

struct Session {
    misses: Arc<AtomicU64>,
    conflicts: u64,
}

impl Running for Nothing {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        Ok(Box::new(Session {
            misses: Arc::clone(&self.misses),
            conflicts: self.conflicts,
        }))
    }

    fn counters(&self) -> Counters {
        Counters {
            buffer_misses: self.misses.load(Ordering::Relaxed),
            ..Counters::default()
        }
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn storage_path(&self) -> StoragePath {
        StoragePath::Direct
    }

    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        Ok(())
    }
}

impl Connection for Session {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        if self.conflicts > 0 {
            self.conflicts -= 1;
            return Err(ConnectionError::Conflict {
                kind: Conflict::LockTimeout,
                source: "busy".into(),
            });
        }
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn execute(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.misses.fetch_add(1, Ordering::Relaxed);
        Ok(1)
    }

    fn query(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
        _visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        Ok(0)
    }
}

/// Plain, deferred and rolled back transactions in turn; each executes one
/// statement that changes a text of five bytes.
struct Turns;

const STATEMENTS: &[Statement] = &[Statement {
    sql: "",
    parameters: &[],
    result: &[],
    changed_parameters: 1,
}];

struct Turn {
    drawn: usize,
}

impl Workload for Turns {
    fn name(&self) -> &'static str {
        "turns"
    }

    fn data_set(&self) -> DataSet {
        unreachable!("nothing is loaded")
    }

    fn tables(&self) -> &[Table] {
        &[]
    }

    fn statements(&self) -> &'static [Statement] {
        STATEMENTS
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        const fn kind(name: &'static str, deferred: bool, counted: bool) -> TransactionKind {
            TransactionKind {
                name,
                deferred,
                counted,
                ..TransactionKind::PLAIN
            }
        }
        const KINDS: &[TransactionKind] = &[
            kind("plain", false, true),
            kind("deferred", true, false),
            kind("undone", false, true),
        ];
        KINDS
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        unreachable!("nothing is loaded")
    }

    fn mix(&self) -> &Mix {
        unreachable!("the kinds come in turns")
    }

    fn counted_name(&self) -> &'static str {
        "turns"
    }

    fn terminals(&self) -> Option<u32> {
        None
    }

    fn clients(&self, _seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        (0..count)
            .map(|_| Box::new(Turn { drawn: 0 }) as Box<dyn Client>)
            .collect()
    }

    fn remarks(&self, _connections: u32) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, _connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        Ok(Vec::new())
    }
}

impl Client for Turn {
    fn draw(&mut self) -> usize {
        self.drawn += 1;
        (self.drawn - 1) % 3
    }

    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
        connection.execute(StatementId(0), &[Value::Text("five!")])?;
        if (self.drawn - 1) % 3 == 2 {
            connection.rollback()?;
            return Ok(Outcome::RolledBack);
        }
        connection.commit()?;
        Ok(Outcome::Committed)
    }

    fn audit(&self) -> Audit {
        Audit::default()
    }
}

#[derive(Default)]
struct Calls(Vec<&'static str>);

impl Boundary for Calls {
    fn begin(&mut self) {
        self.0.push("begin");
    }

    fn end(&mut self) {
        self.0.push("end");
    }
}

fn settings(clients: u32, length: RunLength) -> DriveSettings<'static> {
    DriveSettings {
        workload: &Turns,
        seed: Seed::new(1),
        clients,
        length,
        page_size: PageSize::MIN,
        memory: ByteCount::kib(2),
    }
}

#[test]
fn exactly_so_many_transactions_are_measured() {
    let mut calls = Calls::default();
    let drive = drive(
        &Nothing::default(),
        settings(
            3,
            RunLength::Transactions {
                warm_up: 30,
                measured: 300,
            },
        ),
        &mut calls,
        &|| false,
    )
    .unwrap();
    assert_eq!(calls.0, ["begin", "end"]);
    assert_eq!(drive.transactions(), 900);
    assert_eq!(drive.counted(&Turns), 300);
    assert_eq!(drive.kinds[1].committed, 300);
    assert_eq!(drive.kinds[2].rolled_back, 300);
    assert_eq!(drive.counters.buffer_misses, 900);
    // What was rolled back changed nothing: 600 commits of 5 bytes.
    assert_eq!(drive.changed_bytes, ByteCount::new(3000));
    assert!(drive.buffer_filled, "90 misses fill 4 frames");
    assert_eq!(drive.kinds[0].latency_us.len(), 300);
}

#[test]
fn conflicts_are_retried_and_counted() {
    let database = Nothing {
        conflicts: 5,
        ..Nothing::default()
    };
    let length = RunLength::Transactions {
        warm_up: 0,
        measured: 3,
    };
    let drive = drive(
        &database,
        settings(1, length),
        &mut Calls::default(),
        &|| false,
    );
    let drive = drive.unwrap();
    assert_eq!(drive.kinds[0].retries, 5);
    assert_eq!(drive.kinds[0].committed, 1);

    let hopeless = Nothing {
        conflicts: u64::MAX,
        ..Nothing::default()
    };
    let error = super::drive(
        &hopeless,
        settings(2, length),
        &mut Calls::default(),
        &|| false,
    )
    .unwrap_err();
    assert!(error.to_string().starts_with("plain of client"), "{error}");
}

#[test]
fn an_interrupt_ends_both_kinds_of_runs() {
    for length in [
        RunLength::Transactions {
            warm_up: u64::MAX,
            measured: u64::MAX,
        },
        RunLength::Time {
            warm_up_min: Duration::MAX,
            warm_up_max: Duration::MAX,
            measured: Duration::MAX,
        },
    ] {
        let looks = AtomicU64::new(0);
        let error = drive(
            &Nothing::default(),
            settings(2, length),
            &mut Calls::default(),
            &|| looks.fetch_add(1, Ordering::Relaxed) > 3,
        )
        .unwrap_err();
        assert!(matches!(error, DriveError::Stopped), "{error}");
    }
}

#[test]
fn samples_add_up_to_the_run() {
    let drive = drive(
        &Nothing::default(),
        settings(
            1,
            RunLength::Time {
                warm_up_min: Duration::from_millis(50),
                warm_up_max: Duration::from_millis(50),
                measured: Duration::from_millis(1100),
            },
        ),
        &mut Calls::default(),
        &|| false,
    )
    .unwrap();
    let measured: Vec<&Sample> = drive.samples.iter().filter(|s| s.measured).collect();
    let length: Duration = measured.iter().map(|sample| sample.length).sum();
    assert_eq!(length, drive.measured);
    assert!(measured.len() >= 2, "{measured:?}");
    let misses: u64 = measured.iter().map(|sample| sample.buffer_misses).sum();
    assert_eq!(misses, drive.counters.buffer_misses);
}
