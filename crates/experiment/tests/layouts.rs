//! Predicted layouts beside those of loaded databases: pages of each table and index.

use std::{
    collections::BTreeMap, fs::Permissions, ops::ControlFlow, os::unix::fs::PermissionsExt,
    path::Path,
};

use octavo_database::{Database, Derive, Sqlite};
use octavo_predict::Model;
use octavo_units::{PageSize, Seed};
use octavo_workload::{Pgbench, Tpcc, Workload, Ycsb};
use rusqlite::Connection;

/// The largest difference that is allowed, of objects that have this many pages at least.
const ERROR_MAX: f64 = 0.03;
/// Likewise of their inner pages, which are few.
const INNER_ERROR_MAX: f64 = 0.06;
const PAGES_MIN: f64 = 100.0;

/// Pages by table or index, and of these the inner ones, as SQLite's own `dbstat` counts
/// them.
fn counted(database: &Path) -> BTreeMap<String, [f64; 2]> {
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

/// Those of predicted objects that differ too much from counted ones.
fn wrong(
    model: Model,
    workload: &dyn Workload,
    page_size: PageSize,
    counted: &BTreeMap<String, [f64; 2]>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for object in model.sizes(workload, page_size) {
        let predicted = [object.pages, object.inner].map(|pages| pages as f64);
        let allowed = [("pages", ERROR_MAX), ("inner pages", INNER_ERROR_MAX)];
        for ((what, allowed), (predicted, actual)) in allowed
            .into_iter()
            .zip(predicted.into_iter().zip(counted[&object.name]))
        {
            let error = predicted / actual - 1.0;
            println!(
                "{page_size} {} {predicted} {what}, counted {actual}",
                object.name
            );
            if actual > PAGES_MIN && error.abs() > allowed {
                wrong.push(format!(
                    "{} with {page_size}: {predicted} {what}, not {actual}",
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
    let size = |bytes| PageSize::new(bytes).unwrap();
    let go_on = &mut |_| ControlFlow::Continue(());
    sqlite.load(&base, size(4096), workload, go_on).unwrap();
    let mut all = Vec::new();
    for &bytes in page_sizes {
        let derived = home.path().join(bytes.to_string());
        std::fs::create_dir(&derived).unwrap();
        let report = sqlite.derive(&base, &derived, size(bytes), go_on).unwrap();
        let counted = counted(&derived.join("database.sqlite"));
        all.extend(wrong(Model::Sqlite, workload, size(bytes), &counted));
        let pages = Model::Sqlite.sizes(workload, size(bytes));
        let pages: u64 = pages.iter().map(|object| object.pages).sum();
        let whole = (pages * u64::from(bytes)) as f64 / report.size.get() as f64;
        assert!(
            (whole - 1.0).abs() <= ERROR_MAX,
            "{bytes}: {whole} of the size"
        );
    }
    assert!(all.is_empty(), "{}: {all:#?}", workload.name());
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
fn compare_on_mariadb(workload: &dyn Workload, page_sizes: &[u32]) {
    let mariadb = octavo_database::choose("mariadb", &[]).unwrap();
    if let Err(error) = mariadb.prepare(&[], &mut |_| ControlFlow::Continue(())) {
        eprintln!("skipped: {error}");
        return;
    }
    let model = Model::Innodb {
        writes_neighbors: false,
    };
    let mut all = Vec::new();
    for &bytes in page_sizes {
        let home = tempfile::tempdir().unwrap();
        // Servers run as another user than root.
        std::fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        let base = home.path().join("base");
        std::fs::create_dir(&base).unwrap();
        std::fs::set_permissions(&base, Permissions::from_mode(0o755)).unwrap();
        let size = PageSize::new(bytes).unwrap();
        let go_on = &mut |_| ControlFlow::Continue(());
        mariadb.load(&base, size, workload, go_on).unwrap();
        let mut counted = BTreeMap::new();
        for table in workload.tables() {
            let file = base.join(format!("data/octavo/{}.ibd", table.name));
            let indexes = table.indexes.iter().map(|index| index.name);
            let names = std::iter::once(table.name).chain(indexes);
            let trees = counted_in_file(&file, bytes);
            counted.extend(names.map(String::from).zip(trees));
        }
        all.extend(wrong(model, workload, size, &counted));
    }
    assert!(all.is_empty(), "{}: {all:#?}", workload.name());
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

#[test]
fn tpcc_on_mariadb() {
    compare_on_mariadb(&Tpcc::new(1, Seed::new(1)).unwrap(), &[4096, 16384, 65536]);
}

#[test]
fn ycsb_on_mariadb() {
    compare_on_mariadb(
        &Ycsb::new(40_000, Seed::new(1)).unwrap(),
        &[4096, 8192, 32768, 65536],
    );
}

#[test]
fn pgbench_on_mariadb() {
    compare_on_mariadb(
        &Pgbench::new(2, Seed::new(1)).unwrap(),
        &[4096, 8192, 16384, 65536],
    );
}
