//! Predicted layouts beside those of loaded databases: pages of each table and index.

use std::collections::BTreeMap;

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

fn compare(workload: &dyn Workload, page_sizes: &[u32]) {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().join("base");
    std::fs::create_dir(&base).unwrap();
    let sqlite = Sqlite::default();
    let size = |bytes| PageSize::new(bytes).unwrap();
    let go_on = &mut |_| std::ops::ControlFlow::Continue(());
    sqlite.load(&base, size(4096), workload, go_on).unwrap();
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let derived = home.path().join(bytes.to_string());
        std::fs::create_dir(&derived).unwrap();
        let report = sqlite.derive(&base, &derived, size(bytes), go_on).unwrap();
        let counted = counted(&derived.join("database.sqlite"));
        for object in Model::Sqlite.sizes(workload, size(bytes)) {
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
        let pages = Model::Sqlite.sizes(workload, size(bytes));
        let pages: u64 = pages.iter().map(|object| object.pages).sum();
        let whole = (pages * u64::from(bytes)) as f64 / report.size.get() as f64;
        assert!(
            (whole - 1.0).abs() <= ERROR_MAX,
            "{bytes}: {whole} of the size"
        );
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
