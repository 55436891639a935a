//! Pages of tables and indexes that CUBRID 11.4 had (bench/cubrid-sizes.py), beside those of the model.

use octavo_predict::model_of;
use octavo_units::{PageSize, Seed};
use octavo_workload::{Pgbench, Tpcc, Workload, Ycsb};

/// A line for each table and index at each page size, with its rows, pages and inner pages.
const COUNTED: &str = include_str!("../../../bench/runs/2026-12-03-cubrid-sizes/sizes.csv");

/// The largest difference that is allowed, of objects that have this many pages at least.
const ERROR_MAX: f64 = 0.03;
const PAGES_MIN: f64 = 100.0;

#[test]
fn tables_and_indexes_have_as_many_pages_as_on_a_server() {
    let seed = Seed::new(1);
    let workloads: [(&str, Box<dyn Workload>); 3] = [
        ("pgbench", Box::new(Pgbench::new(5, seed).unwrap())),
        ("ycsb-a", Box::new(Ycsb::new(200_000, seed).unwrap())),
        ("tpcc", Box::new(Tpcc::new(2, seed).unwrap())),
    ];
    let model = model_of("cubrid-like", &[], false).unwrap();
    let (_header, lines) = COUNTED.split_once('\n').unwrap();
    let counted: Vec<Vec<&str>> = lines
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, workload) in &workloads {
        for kib in [4, 8, 16] {
            let page_size = PageSize::kib(kib);
            let bytes = page_size.get().to_string();
            for size in model.sizes(&**workload, page_size) {
                let is_it = |line: &&Vec<&str>| line[..3] == [*name, &bytes, &size.name];
                let Some(line) = counted.iter().find(is_it) else {
                    continue;
                };
                let pages: f64 = line[4].parse().unwrap();
                if pages < PAGES_MIN {
                    continue;
                }
                compared += 1;
                let error = size.pages as f64 / pages - 1.0;
                if error.abs() > ERROR_MAX {
                    wrong.push(format!("{line:?}: {} pages are predicted", size.pages));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(compared, 53);
}
