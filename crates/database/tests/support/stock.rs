//! SQLite as rusqlite opens it: with its own file access, its own journal mode
//! and none of Octavo's code between a statement and its rows. Snapshots are made,
//! copied and inspected as Octavo does.

use std::path::{Path, PathBuf};

use octavo_database::{
    Advice, Change, ChangePlace, Counters, Database, DatabaseError, DatabaseKind, Defaults,
    Inspection, LoadReport, PageSizes, Progress, RestoreMethod, Running, Settings, Sqlite,
    StoragePath, buffer_is_all,
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::{Access, Row, RowVisitor, Statement, StatementId, Value},
    schema::ColumnKind,
};
use rusqlite::{params_from_iter, types};

/// Its line in a registry.
pub static STOCK: DatabaseKind = DatabaseKind {
    name: "stock-sqlite",
    aliases: &[],
    title: "SQLite on its own",
    is_server: false,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
    options: &[],
    page_sizes: PageSizes {
        smallest: PageSize::MIN,
        largest: PageSize::MAX,
        default: PageSize::kib(4),
    },
    defaults: Defaults::of_server(&[]),
    advice: Advice {
        page_size: NO_CHANGE,
        buffer: NO_CHANGE,
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |_| Ok(Box::new(StockSqlite)),
};

const NO_CHANGE: Change = Change {
    place: ChangePlace::OneSession,
    lines: &[],
    costs: &[],
};

struct StockSqlite;

impl Database for StockSqlite {
    fn kind(&self) -> &'static DatabaseKind {
        &STOCK
    }
    fn version(&self) -> String {
        Sqlite::default().version()
    }
    fn accept(&self, settings: &Settings) -> Result<(), DatabaseError> {
        Sqlite::default().accept(settings)
    }
    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        Sqlite::default().estimate(workload, page_size)
    }
    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport, DatabaseError> {
        Sqlite::default().load(snapshot, page_size, workload, progress)
    }
    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod, DatabaseError> {
        Sqlite::default().restore(snapshot, run)
    }
    fn start(
        &self,
        run: &Path,
        _: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError> {
        Ok(Box::new(RunningStock {
            file: run.join("database.sqlite"),
            statements: workload.statements(),
        }))
    }
    fn inspect(
        &self,
        directory: &Path,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Inspection>, DatabaseError> {
        Sqlite::default().inspect(directory, workload)
    }
}

struct RunningStock {
    file: PathBuf,
    statements: &'static [Statement],
}

impl Running for RunningStock {
    fn connect(&self, _: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        let sqlite = rusqlite::Connection::open(&self.file).map_err(failed)?;
        // Nobody pulls the plug on a test.
        sqlite
            .execute_batch("PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF")
            .map_err(failed)?;
        sqlite.set_prepared_statement_cache_capacity(self.statements.len());
        Ok(Box::new(StockConnection {
            sqlite,
            statements: self.statements,
        }))
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
    fn conditions(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    fn storage_path(&self) -> StoragePath {
        StoragePath::PageCache
    }
    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        Ok(())
    }
}

struct StockConnection {
    sqlite: rusqlite::Connection,
    statements: &'static [Statement],
}

impl Connection for StockConnection {
    fn begin(&mut self, _: Access) -> Result<(), ConnectionError> {
        self.sqlite.execute_batch("BEGIN").map_err(failed)
    }
    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.sqlite.execute_batch("COMMIT").map_err(failed)
    }
    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.sqlite.execute_batch("ROLLBACK").map_err(failed)
    }
    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let sql = self.statements[statement.0].sql;
        let changed = self
            .sqlite
            .prepare_cached(sql)
            .and_then(|mut prepared| prepared.execute(params_from_iter(bound(parameters))))
            .map_err(failed)?;
        Ok(changed as u64)
    }
    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        let Statement { sql, result, .. } = &self.statements[statement.0];
        let mut prepared = self.sqlite.prepare_cached(sql).map_err(failed)?;
        let mut rows = prepared
            .query(params_from_iter(bound(parameters)))
            .map_err(failed)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            visit(&StockRow { row, kinds: result });
            count += 1;
        }
        Ok(count)
    }
}

fn bound<'v>(parameters: &'v [Value<'v>]) -> impl Iterator<Item = types::ToSqlOutput<'v>> {
    parameters.iter().map(|value| match *value {
        Value::Null => types::Null.into(),
        Value::Integer(number)
        | Value::Decimal {
            unscaled: number, ..
        }
        | Value::Timestamp(number) => number.into(),
        Value::Real(number) => number.get().into(),
        Value::Text(text) => text.into(),
    })
}

struct StockRow<'r> {
    row: &'r rusqlite::Row<'r>,
    kinds: &'r [ColumnKind],
}

impl Row for StockRow<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        match (self.row.get_ref(column).unwrap(), self.kinds[column]) {
            (types::ValueRef::Null, _) => Value::Null,
            (types::ValueRef::Integer(unscaled), ColumnKind::Decimal { scale, .. }) => {
                Value::Decimal { unscaled, scale }
            }
            (types::ValueRef::Integer(number), ColumnKind::Timestamp) => Value::Timestamp(number),
            (types::ValueRef::Integer(number), _) => Value::Integer(number),
            (types::ValueRef::Text(text), _) => Value::Text(str::from_utf8(text).unwrap()),
            (other, _) => panic!("column {column} is {other:?}"),
        }
    }
}

fn failed(failure: rusqlite::Error) -> ConnectionError {
    ConnectionError::Other {
        context: "use stock SQLite".into(),
        source: Box::new(failure),
    }
}
