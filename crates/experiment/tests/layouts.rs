//! Predicted layouts beside those of loaded databases: pages of each table and index.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path};

use octavo_database::{Database, DatabaseSpec, Derive, Registry, Sqlite};
use octavo_predict::{ObjectPages, model_of};
use octavo_units::{PageSize, Seed};
use octavo_workload::{
    Pgbench, Tpcc, Workload, Ycsb,
    connection::Value,
    schema::{Column, ColumnKind, Table},
};
use rusqlite::Connection;

/// The largest difference that is allowed, of objects that have this many pages at least.
const ERROR_MAX: f64 = 0.03;
/// Likewise of their inner pages, which are few.
const INNER_ERROR_MAX: f64 = 0.06;
const PAGES_MIN: f64 = 100.0;

/// Pages by table or index, and of these the inner ones, as SQLite's own `dbstat` counts
/// them.
fn counted(database: &std::path::Path) -> BTreeMap<String, [f64; 2]> {
    let connection = Connection::open(database).unwrap();
    let mut statement = connection
        .prepare("SELECT name, count(*), sum(pagetype = 'internal') FROM dbstat GROUP BY name")
        .unwrap();
    let rows = statement.query_map([], |row| {
        let name: String = row.get(0)?;
        let name = match name.strip_prefix("sqlite_autoindex_") {
            Some(name) => format!("{} (key)", name.trim_end_matches("_1")),
            None => name,
        };
        let count = |column| row.get::<_, u32>(column).map(f64::from);
        Ok((name, [count(1)?, count(2)?]))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn size(bytes: u32) -> PageSize {
    PageSize::new(bytes).unwrap()
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// What is wrong with the predicted objects of one database; `pages` and `inner` pages as
/// counted.
fn differences(
    objects: &[ObjectPages],
    counted: &BTreeMap<String, [f64; 2]>,
    bytes: u32,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for object in objects {
        let predicted = [object.pages, object.inner].map(|pages| pages as f64);
        let allowed = [("pages", ERROR_MAX), ("inner pages", INNER_ERROR_MAX)];
        for ((what, allowed), (predicted, actual)) in allowed
            .into_iter()
            .zip(predicted.into_iter().zip(counted[&object.name]))
        {
            let error = predicted / actual - 1.0;
            if actual > PAGES_MIN && error.abs() > allowed {
                wrong.push(format!(
                    "{} with {bytes}: {predicted} {what}, not {actual}",
                    object.name
                ));
            }
        }
    }
    wrong
}

fn compare(workload: &dyn Workload, page_sizes: &[u32]) {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().join("base");
    std::fs::create_dir(&base).unwrap();
    let sqlite = Sqlite::default();
    sqlite
        .load(&base, size(4096), workload, &mut go_on)
        .unwrap();
    let model = model_of("sqlite", &[], false).unwrap();
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let derived = home.path().join(bytes.to_string());
        std::fs::create_dir(&derived).unwrap();
        let report = sqlite
            .derive(&base, &derived, size(bytes), &mut go_on)
            .unwrap();
        let counted = counted(&derived.join("database.sqlite"));
        let objects = model.sizes(workload, size(bytes));
        wrong.extend(differences(&objects, &counted, bytes));
        let pages: u64 = objects.iter().map(|object| object.pages).sum();
        let whole = (pages * u64::from(bytes)) as f64 / report.size.get() as f64;
        assert!(
            (whole - 1.0).abs() <= ERROR_MAX,
            "{bytes}: {whole} of the size"
        );
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
}

/// InnoDB's page types of trees, and where a page has its type, its height above leaves,
/// and the number of its tree (`fil0fil.h`, `page0types.h`).
const TREE_PAGE: u16 = 17_855;
const TYPE: usize = 24;
const LEVEL: usize = 64;
const INDEX: usize = 66;

/// Pages of each tree of a table's file, and of these the inner ones, in the order in
/// which the trees were made: the key's first.
fn counted_in_file(file: &Path, page_size: u32) -> Vec<[f64; 2]> {
    let bytes = std::fs::read(file).unwrap();
    let mut trees: BTreeMap<[u8; 8], [f64; 2]> = BTreeMap::new();
    for page in bytes.chunks_exact(page_size as usize) {
        let number = |at: usize| u16::from_be_bytes([page[at], page[at + 1]]);
        if number(TYPE) == TREE_PAGE {
            let tree = trees
                .entry(page[INDEX..INDEX + 8].try_into().unwrap())
                .or_default();
            tree[0] += 1.0;
            tree[1] += f64::from(u8::from(number(LEVEL) > 0));
        }
    }
    trees.into_values().collect()
}

/// Loads MariaDB at each page size, and counts pages in its files.
fn compare_mariadb(workload: &dyn Workload, page_sizes: &[u32]) {
    let kind = Registry::standard().find("mariadb").unwrap();
    let mariadb = DatabaseSpec::new(kind, Vec::new()).unwrap().make().unwrap();
    let model = model_of("mariadb", &[], false).unwrap();
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let home = open_directory();
        mariadb
            .load(home.path(), size(bytes), workload, &mut go_on)
            .unwrap();
        let mut counted = BTreeMap::new();
        for table in workload.tables() {
            let file = home.path().join(format!("data/octavo/{}.ibd", table.name));
            let indexes = table.indexes.iter().map(|index| index.name);
            let names = std::iter::once(table.name).chain(indexes);
            let trees = counted_in_file(&file, bytes);
            counted.extend(names.map(String::from).zip(trees));
        }
        wrong.extend(differences(
            &model.sizes(workload, size(bytes)),
            &counted,
            bytes,
        ));
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
}

/// A directory that a server of another user reaches.
fn open_directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(home.path(), open).unwrap();
    home
}

/// Pages by table or index, as PostgreSQL's own files have them.
const OBJECTS: &str = "(
    SELECT c.relname::varchar AS name, pg_relation_size(c.oid) AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
    UNION ALL
    SELECT c.relname || ' (toast)', pg_relation_size(c.reltoastrelid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.reltoastrelid <> 0
    UNION ALL
    SELECT c.relname || ' (toast key)', pg_relation_size(i.indexrelid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE n.nspname = 'public'
) AS objects";

fn compare_postgres(workload: &dyn Workload, page_sizes: &[u32]) {
    let home = open_directory();
    let kind = Registry::standard().find("postgres").unwrap();
    let options = vec![("bin".to_owned(), "8K=installed".to_owned())];
    let postgres = DatabaseSpec::new(kind, options).unwrap().make().unwrap();
    let sizes: Vec<PageSize> = page_sizes.iter().map(|&bytes| size(bytes)).collect();
    postgres
        .prepare(&sizes, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let table = Table {
        name: OBJECTS,
        columns: vec![
            Column::new("name", ColumnKind::Varchar(64)),
            Column::new("bytes", ColumnKind::Integer),
        ]
        .into(),
        primary_key: &[],
        indexes: &[],
        references: &[],
        checks: &[],
        row_bytes_mean: 0,
    };
    let model = model_of("postgres", &[], false).unwrap();
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let snapshot = home.path().join(bytes.to_string());
        std::fs::create_dir(&snapshot).unwrap();
        postgres
            .load(&snapshot, size(bytes), workload, &mut go_on)
            .unwrap();
        let mut inspection = postgres.inspect(&snapshot, workload).unwrap();
        let mut counted = BTreeMap::new();
        inspection
            .scan(&table, &mut |row| {
                let (Value::Text(name), Value::Integer(found)) = (row.value(0), row.value(1))
                else {
                    return;
                };
                let name = match name.strip_suffix("_pkey") {
                    Some(table) => format!("{table} (key)"),
                    None => name.to_owned(),
                };
                // How many of them are inner pages no view tells.
                counted.insert(name, [found as f64 / f64::from(bytes), 0.0]);
            })
            .unwrap();
        let objects = model.sizes(workload, size(bytes));
        wrong.extend(differences(&objects, &counted, bytes));
        for (name, [pages, _]) in counted.iter().filter(|(_, [pages, _])| *pages > PAGES_MIN) {
            let is_known = objects.iter().any(|object| object.name == *name);
            assert!(
                is_known,
                "{bytes}: {name} of {pages} pages is not predicted"
            );
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
}

const ALL: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

#[test]
fn tpcc_on_sqlite() {
    compare(
        &Tpcc::new(2, Seed::new(1)).unwrap(),
        &[512, 2048, 4096, 65536],
    );
}

#[test]
fn ycsb_on_sqlite() {
    compare(&Ycsb::new(40_000, Seed::new(1)).unwrap(), &ALL);
}

#[test]
fn pgbench_on_sqlite() {
    compare(&Pgbench::new(3, Seed::new(1)).unwrap(), &ALL);
}

/// The installed server, and one that is built from its source.
const SERVERS: [u32; 2] = [4096, 8192];

#[test]
fn tpcc_on_postgres() {
    compare_postgres(&Tpcc::new(1, Seed::new(1)).unwrap(), &SERVERS);
}

#[test]
fn ycsb_on_postgres() {
    compare_postgres(&Ycsb::new(40_000, Seed::new(1)).unwrap(), &SERVERS);
}

#[test]
fn pgbench_on_postgres() {
    compare_postgres(&Pgbench::new(3, Seed::new(1)).unwrap(), &SERVERS);
}

#[test]
fn tpcc_on_mariadb() {
    compare_mariadb(&Tpcc::new(1, Seed::new(1)).unwrap(), &[4096, 16384, 65536]);
}

#[test]
fn ycsb_on_mariadb() {
    compare_mariadb(
        &Ycsb::new(40_000, Seed::new(1)).unwrap(),
        &[4096, 8192, 32768, 65536],
    );
}

#[test]
fn pgbench_on_mariadb() {
    compare_mariadb(
        &Pgbench::new(2, Seed::new(1)).unwrap(),
        &[4096, 8192, 16384, 65536],
    );
}
