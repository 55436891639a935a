//! A small workload: accounts with a single-column key and a filler that
//! changes its length, and entries with a composite key and an index.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program has its own copy and uses a part of it"
)]

pub mod stock;

use std::{borrow::Cow, fs, ops::ControlFlow, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use octavo_database::{Database, Running, Settings, Sqlite};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Client, Condition, Connection, ConnectionError, DataSpec, Mix, TransactionKind, Workload,
    connection::{Statement, StatementId, Value},
    population::{Partition, Population, RowBatch},
    schema::{Column, ColumnKind, Index, Table, TableId},
    touch::TouchTracer,
};
use tempfile::TempDir;

const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 12,
    scale: 2,
};
const TEXT: ColumnKind = ColumnKind::Varchar(400);

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column {
        name,
        kind,
        nullable: false,
    }
}

static TABLES: [Table; 3] = [
    Table {
        name: "account",
        columns: Cow::Borrowed(&[
            column("id", ColumnKind::Integer),
            column("balance", MONEY),
            Column {
                name: "filler",
                kind: TEXT,
                nullable: true,
            },
        ]),
        primary_key: &["id"],
        indexes: &[],
        references: &[],
        checks: &[],
        row_bytes_mean: 376,
    },
    Table {
        name: "entry",
        columns: Cow::Borrowed(&[
            column("account", ColumnKind::Integer),
            column("number", ColumnKind::Integer),
            column("amount", MONEY),
            column("made", ColumnKind::Timestamp),
        ]),
        primary_key: &["account", "number"],
        indexes: &[Index {
            name: "entry_amount",
            columns: &["amount"],
        }],
        references: &[],
        checks: &[],
        row_bytes_mean: 32,
    },
    Table {
        name: "holder",
        columns: Cow::Borrowed(&[column("name", TEXT), column("account", ColumnKind::Integer)]),
        primary_key: &["name", "account"],
        indexes: &[],
        references: &[],
        checks: &[],
        row_bytes_mean: 208,
    },
];

pub const BALANCE: StatementId = StatementId(0);
pub const ADD: StatementId = StatementId(1);
pub const FILL: StatementId = StatementId(2);
pub const ENTER: StatementId = StatementId(3);
pub const STRIKE: StatementId = StatementId(4);
pub const TOTALS: StatementId = StatementId(5);
pub const ENTRIES: StatementId = StatementId(6);

static STATEMENTS: [Statement; 7] = [
    Statement {
        sql: "SELECT balance, filler FROM account WHERE id = ?1",
        parameters: &[ColumnKind::Integer],
        result: &[MONEY, TEXT],
        changed_parameters: 0,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "UPDATE account SET balance = balance + ?1 WHERE id = ?2",
        parameters: &[MONEY, ColumnKind::Integer],
        result: &[],
        changed_parameters: 1,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "UPDATE account SET filler = ?1 WHERE id = ?2",
        parameters: &[TEXT, ColumnKind::Integer],
        result: &[],
        changed_parameters: 1,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "INSERT INTO entry VALUES (?1, ?2, ?3, ?4)",
        parameters: &[
            ColumnKind::Integer,
            ColumnKind::Integer,
            MONEY,
            ColumnKind::Timestamp,
        ],
        result: &[],
        changed_parameters: 4,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "DELETE FROM entry WHERE account = ?1",
        parameters: &[ColumnKind::Integer],
        result: &[],
        changed_parameters: 0,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "SELECT count(*), sum(balance), sum(length(filler)) FROM account",
        parameters: &[],
        result: &[ColumnKind::Integer, MONEY, ColumnKind::Integer],
        changed_parameters: 0,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
    Statement {
        sql: "SELECT count(*), sum(amount) FROM entry",
        parameters: &[],
        result: &[ColumnKind::Integer, MONEY],
        changed_parameters: 0,
        is_private: false,
        is_planned_by_values: false,
        tables: &[],
    },
];

/// Accounts 1 to `accounts`, each with 100.00 and three entries.
pub struct Bank {
    pub accounts: u32,
}

/// Accounts of one partition.
const PART: u32 = 1000;

impl Population for Bank {
    fn partitions(&self) -> Vec<Partition> {
        let parts = self.accounts.div_ceil(PART);
        TABLES
            .iter()
            .enumerate()
            .flat_map(|(id, table)| {
                let rows = if table.name == "entry" { 3 } else { 1 };
                (0..parts).map(move |part| Partition {
                    table: TableId(id),
                    part,
                    rows_about: u64::from(PART * rows),
                })
            })
            .collect()
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        let table = &TABLES[partition.table.0];
        batch.reset(partition.table, table.columns.len());
        let first = partition.part * PART + 1;
        for id in first..(first + PART).min(self.accounts + 1) {
            let id = i64::from(id);
            match table.name {
                "account" => {
                    batch.push_integer(id);
                    batch.push_decimal(10_000, 2);
                    if id % 10 == 0 {
                        batch.push_null();
                    } else {
                        batch.push_text(|text| text.extend((0..200).map(|_| 'ö')));
                    }
                }
                "entry" => {
                    for number in 0..3 {
                        batch.push_integer(id);
                        batch.push_integer(number);
                        batch.push_decimal((id * 7 + number) % 1000, 2);
                        batch.push_timestamp(1_000_000 * id);
                    }
                }
                _ => {
                    batch.push_text(|text| *text += &format!("{id:0200}"));
                    batch.push_integer(id);
                }
            }
            if batch.is_full() {
                if !consume(batch) {
                    return;
                }
                batch.clear();
            }
        }
        consume(batch);
    }
}

impl Workload for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }
    fn data_spec(&self) -> DataSpec {
        unreachable!("nothing asks for it")
    }
    fn tables(&self) -> &[Table] {
        &TABLES
    }
    fn statements(&self) -> &'static [Statement] {
        &STATEMENTS
    }
    fn transactions(&self) -> &'static [TransactionKind] {
        &[]
    }
    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(Bank {
            accounts: self.accounts,
        })
    }
    fn mix(&self) -> &Mix {
        unreachable!("these tests run statements themselves")
    }
    fn counted_name(&self) -> &'static str {
        unreachable!("these tests run statements themselves")
    }
    fn clients(&self, _: Seed, _: u32) -> Vec<Box<dyn Client>> {
        unreachable!("these tests run statements themselves")
    }
    fn touch_tracer(&self) -> TouchTracer {
        unreachable!("nothing is predicted of it")
    }
    fn check(&self, _: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        unreachable!("these tests look at the rows themselves")
    }
}

/// A directory that every user may pass through, since servers run as another
/// one: beside the test program, or where temporary files go.
pub fn open_directory() -> TempDir {
    let is_open = |path: &Path| {
        let mode = fs::metadata(path).map(|about| about.permissions().mode());
        mode.is_ok_and(|mode| mode & 0o001 != 0)
    };
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = if beside.ancestors().all(is_open) {
        tempfile::tempdir_in(beside)
    } else {
        tempfile::tempdir()
    };
    let directory = directory.unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// A directory beside the test program, so on a real disk if that is.
pub fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub fn page_size(bytes: u32) -> PageSize {
    PageSize::new(bytes).unwrap()
}

pub fn settings(page_bytes: u32, memory: ByteCount, clients: u32) -> Settings {
    Settings {
        page_size: page_size(page_bytes),
        memory,
        clients,
        isolation: None,
    }
}

/// Loads a snapshot into `directory/snapshot` and copies it to `directory/run`.
pub fn prepare(sqlite: Sqlite, directory: &Path, page_bytes: u32, bank: &Bank) {
    for name in ["snapshot", "run"] {
        std::fs::create_dir(directory.join(name)).unwrap();
    }
    sqlite
        .load(
            &directory.join("snapshot"),
            page_size(page_bytes),
            bank,
            &mut |_| ControlFlow::Continue(()),
        )
        .unwrap();
    sqlite
        .restore(&directory.join("snapshot"), &directory.join("run"))
        .unwrap();
}

pub fn start(
    sqlite: Sqlite,
    directory: &Path,
    settings: &Settings,
    bank: &Bank,
) -> Box<dyn Running> {
    sqlite
        .start(&directory.join("run"), settings, bank)
        .unwrap()
}

pub fn database_file(directory: &Path, name: &str) -> std::path::PathBuf {
    directory.join(name).join("database.sqlite")
}

pub fn money(unscaled: i64) -> Value<'static> {
    Value::Decimal { unscaled, scale: 2 }
}

/// The columns of a one-row query as numbers.
pub fn numbers(
    connection: &mut dyn Connection,
    statement: StatementId,
    columns: usize,
) -> Vec<i64> {
    let mut found = Vec::new();
    connection
        .query(statement, &[], &mut |row| {
            found = (0..columns)
                .map(|column| match row.value(column) {
                    Value::Integer(number)
                    | Value::Decimal {
                        unscaled: number, ..
                    } => number,
                    other => panic!("{other:?} is no number"),
                })
                .collect();
        })
        .unwrap();
    found
}

/// Everything in a database file, by SQLite's own file access, after a check
/// of its integrity.
pub fn dump(file: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let healthy: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(healthy, "ok", "{}", file.display());
    let mut rows = Vec::new();
    for (table, columns) in [
        (
            "account",
            "id || '|' || balance || '|' || ifnull(filler, '-')",
        ),
        (
            "entry",
            "account || '|' || number || '|' || amount || '|' || made",
        ),
        ("holder", "name || '|' || account"),
    ] {
        let sql = format!("SELECT {columns} AS line FROM {table} ORDER BY line");
        let mut statement = connection.prepare(&sql).unwrap();
        let lines = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        rows.extend(lines.map(|line| format!("{table}|{}", line.unwrap())));
    }
    rows
}
