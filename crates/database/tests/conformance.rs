//! The same seed gives the same rows and the same transaction outcomes on
//! every database.
//!
//! A new database and a new workload are tried by their lines in the
//! registries. What each workload has to leave is in `conformance/NAME.txt`, so
//! that a change of a generator, of SQL or of rounding is noticed even when all
//! databases agree on it. After a change that is meant, write these files anew
//! and look at their difference:
//!
//! ```text
//! OCTAVO_TEST_RENEW=1 cargo test -p octavo-database --test conformance
//! ```

mod support;

use std::{env, fmt::Write, fs, hash::Hasher, ops::ControlFlow, path::Path, sync::Arc, thread};

use octavo_database::{
    Database, DatabaseKind, DatabaseSpec, PageSizes, Registry, TableContent, contents,
    expected_contents,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Outcome, Workload, WorkloadSpec,
    made_up::TALLY,
    shape::{KeyOrder, Shape, ShapeTable, Spread},
};
use siphasher::sip128::{Hasher128, SipHasher24};
use support::{open_directory, page_size, settings, stock::STOCK};

/// A database, its name here and the page sizes to try: the first one is
/// loaded and the others are derived from it where the database can.
type Candidate = (String, Box<dyn Database>, Vec<PageSize>);

/// Options, and page sizes as in [`Candidate`].
type Variant = (Vec<(String, String)>, Vec<PageSize>);

/// All databases of the registry, and one that the tests add to it.
fn candidates() -> Vec<Candidate> {
    let registry = Registry::standard().with(&STOCK);
    let all = registry.iter().flat_map(|kind| {
        variants(kind)
            .into_iter()
            .map(move |(options, page_sizes)| {
                let spec = DatabaseSpec::new(kind, options).unwrap();
                let given: Vec<&str> = spec.options().given().map(|(_, value)| value).collect();
                let name = format!("{} {}", kind.name, given.join(" "));
                (name, spec.make().unwrap(), page_sizes)
            })
    });
    all.collect()
}

/// The options and page sizes to try a database with: as a rule its defaults,
/// at its default, smallest and largest page size.
fn variants(kind: &DatabaseKind) -> Vec<Variant> {
    let option = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let PageSizes {
        smallest,
        largest,
        default,
    } = kind.page_sizes;
    let mut page_sizes = vec![default, smallest, largest];
    // Of some stores the default is the smallest.
    page_sizes.dedup();
    let usual = (Vec::new(), page_sizes);
    match kind.name {
        "sqlite" => vec![
            usual,
            (
                option("journal-mode", "delete"),
                vec![smallest, default, largest],
            ),
        ],
        // The installed server, and another page size built from its source.
        "postgres" => vec![(
            option("bin", "8K=installed"),
            vec![default, page_size(4096)],
        )],
        // It cannot be installed beside MariaDB.
        "mysql" => Vec::new(),
        _ => vec![usual],
    }
}

/// Each family's trial, and that of one that is registered here.
#[test]
fn databases_agree_on_every_workload() {
    let registry = octavo_workload::Registry::standard().with(&TALLY);
    for family in registry.families() {
        let workload = family.trial(SEED).unwrap();
        conform(family.data.name, &*workload, family.trial.transactions);
    }
}

/// What knows no SQL leaves the rows that SQL leaves, over more transactions than there is time for with
/// servers.
#[test]
fn databases_without_sql_leave_the_rows_of_sqlite() {
    let registry = Registry::standard();
    let workloads = octavo_workload::Registry::standard();
    let families = workloads.families().iter();
    let trials = families.map(|family| family.trial(SEED).unwrap());
    let reports = workloads.find("tpcc-reports").unwrap();
    let data = reports.data_spec(&[("warehouses", 1)]).unwrap();
    let with_reports = WorkloadSpec {
        mix: Some("new-order=4,payment=4,order-status=1,report=2,long-report=1".into()),
        ..WorkloadSpec::new(reports, data, SEED)
    };
    let with_reports = with_reports.build().unwrap();
    for workload in trials.chain([with_reports, batches()]) {
        let workload = &*workload;
        let without_sql =
            |kind: &&DatabaseKind| ["libmdbx", "lmdb", "rocksdb"].contains(&kind.name);
        let kinds = [registry.default_kind()].into_iter();
        let kinds = kinds.chain(registry.iter().filter(without_sql));
        let databases = kinds.map(|kind| octavo_database::choose(kind.name, &[]).unwrap());
        let databases: Vec<_> = databases
            .filter(|database| database.accept_workload(workload).is_ok())
            .collect();
        let (alone, beside): (Vec<_>, Vec<_>) = databases
            .iter()
            .partition(|database| limits_this_process(&***database));
        let mut left: Vec<String> = thread::scope(|scope| {
            let threads: Vec<_> = beside
                .iter()
                .map(|database| scope.spawn(|| after(&***database, workload, 2_000)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        left.extend(
            alone
                .iter()
                .map(|database| after(&***database, workload, 2_000)),
        );
        let databases = beside.iter().chain(&alone);
        for (database, left_by) in databases.zip(&left) {
            let difference = difference(&left[0], left_by);
            assert!(difference.is_empty(), "{}:\n{difference}", database.name());
        }
    }
}

/// Keys and values in transactions of several operations, with values on one page and on several.
fn batches() -> Box<dyn Workload> {
    let table = |name, order, values| ShapeTable {
        order,
        get: 3,
        get_absent: 1,
        put: 4,
        insert: 3,
        delete: 3,
        range: 1,
        ..ShapeTable::new(name, 1000, 20, values)
    };
    let values = |least, most| Spread::new(least, most).unwrap();
    let tables = vec![
        table("hashed", KeyOrder::Hashed, values(1, 40)),
        table("counted", KeyOrder::Sequential, values(1, 9000)),
    ];
    let shape = Shape::new(20, tables).unwrap();
    let registry = octavo_workload::Registry::standard();
    let name = registry.find("key-value").unwrap();
    let data = name.data_spec(&shape.rows()).unwrap();
    let spec = WorkloadSpec {
        shape: Some(Arc::new(shape)),
        ..WorkloadSpec::new(name, data, SEED)
    };
    spec.build().unwrap()
}

/// Whether a database runs in this process and limits what that holds. While it does, the threads of
/// other databases must not take memory: under control groups of version 1 the kernel then ends the
/// process.
fn limits_this_process(database: &dyn Database) -> bool {
    ["libmdbx", "lmdb"].contains(&database.name())
}

/// What so many transactions leave at the default page size.
fn after(database: &dyn Database, workload: &dyn Workload, transactions: u32) -> String {
    let directory = open_directory();
    let (snapshot, run) = (directory.path().join("0"), directory.path().join("run"));
    fs::create_dir(&snapshot).unwrap();
    fs::create_dir(&run).unwrap();
    let size = database.default_page_size();
    let mut go_on = |_| ControlFlow::Continue(());
    let loaded = database.load(&snapshot, size, workload, &mut go_on);
    loaded.unwrap();
    run_and_check(database, &snapshot, &run, size, workload, transactions)
}

/// What knows no SQL runs the workloads that say what their statements do, and refuses others with
/// the names of these.
#[test]
fn databases_without_sql_run_what_is_said_without_it() {
    let database = octavo_database::choose("libmdbx", &[]).unwrap();
    let registry = octavo_workload::Registry::standard().with(&TALLY);
    for family in registry.families() {
        let workload = family.trial(SEED).unwrap();
        let accepted = database.accept_workload(&*workload);
        let runs = ["tpcc", "ycsb", "pgbench", "key-value"].contains(&family.data.name);
        match accepted {
            Ok(()) => assert!(runs, "{}", family.data.name),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !runs && text.contains("TPC-C, YCSB, pgbench or Key-value"),
                    "{text}"
                );
            }
        }
    }
}

/// Of the data and, derived from it, of the transactions.
const SEED: Seed = Seed::new(20_260_101);

/// A quarter of TPC-C's data, so that pages leave the buffer and come back.
/// InnoDB works with 21 MiB or more of pages of 64 KiB.
const MEMORY: ByteCount = ByteCount::mib(24);

/// All of TPC-C's data. libmdbx and LMDB work on mapped pages, and the kernel reads 128 KiB around each that it lacks:
/// with [`MEMORY`] that was 20 GB.
const MEMORY_OF_THIS_PROCESS: ByteCount = ByteCount::mib(512);

/// Runs `transactions` transactions of one client on all candidates, each on a
/// thread of its own; those that limit this process after the others.
fn conform(name: &str, workload: &dyn Workload, transactions: u32) {
    let generated = expected_contents(workload);
    let runs = |(_, database, _): &Candidate| database.accept_workload(workload).is_ok();
    let (alone, beside): (Vec<_>, Vec<_>) = candidates()
        .into_iter()
        .filter(runs)
        .partition(|(_, database, _)| limits_this_process(&**database));
    let mut found = Vec::new();
    for candidates in [beside, alone] {
        found.extend(thread::scope(|scope| {
            let threads: Vec<_> = candidates
                .into_iter()
                .map(|candidate| {
                    scope.spawn(|| try_out(candidate, workload, transactions, &generated))
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.flatten().collect::<Vec<(String, String)>>()
        }));
    }
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/conformance/{name}.txt"));
    if env::var_os("OCTAVO_TEST_RENEW").is_some() {
        fs::write(&golden, &found[0].1).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap();
    for (candidate, found) in found {
        assert!(
            found == wanted,
            "{candidate} does not agree with {}:\n{}",
            golden.display(),
            difference(&wanted, &found)
        );
    }
}

/// The lines that are not the same.
fn difference(wanted: &str, found: &str) -> String {
    let pairs = wanted.lines().zip(found.lines());
    pairs
        .filter(|(wanted, found)| wanted != found)
        .map(|(wanted, found)| format!("wanted {wanted}\nfound  {found}\n"))
        .collect()
}

/// Tells for each page size of a candidate what was loaded, and then what
/// [`run_and_check`] does. What a derived snapshot holds shows after the run.
fn try_out(
    (name, database, page_sizes): Candidate,
    workload: &dyn Workload,
    transactions: u32,
    generated: &[TableContent],
) -> Vec<(String, String)> {
    let directory = open_directory();
    let loaded = directory.path().join("0");
    let mut go_on = |_: &str| ControlFlow::Continue(());
    database.prepare(&page_sizes, &mut go_on).unwrap();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (position, &size) in page_sizes.iter().enumerate() {
            let snapshot = directory.path().join(position.to_string());
            let run = directory.path().join(format!("run-{position}"));
            fs::create_dir(&snapshot).unwrap();
            fs::create_dir(&run).unwrap();
            let mut go_on = |_| ControlFlow::Continue(());
            let made = match position {
                0 => database.load(&snapshot, size, workload, &mut go_on),
                _ => match database.derivation(workload) {
                    Some(derivation) => derivation.derive(&loaded, &snapshot, size, &mut go_on),
                    None => database.load(&snapshot, size, workload, &mut go_on),
                },
            };
            let rows: u64 = generated.iter().map(|table| table.rows).sum();
            assert_eq!(made.unwrap().rows, rows);
            let (database, name) = (&*database, &name);
            threads.push(scope.spawn(move || {
                let name = format!("{name} at {size} pages");
                if position == 0 {
                    let mut inspection = database.inspect(&snapshot, workload).unwrap();
                    let initial = contents(&mut *inspection, workload).unwrap();
                    assert_eq!(initial, generated, "{name} after loading");
                }
                let after = run_and_check(database, &snapshot, &run, size, workload, transactions);
                (name, describe("loaded", generated) + &after)
            }));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Runs the transactions on a copy of `snapshot`; tells their outcomes and what
/// the tables hold afterwards, a line each.
fn run_and_check(
    database: &dyn Database,
    snapshot: &Path,
    run: &Path,
    page_size: PageSize,
    workload: &dyn Workload,
    transactions: u32,
) -> String {
    database.restore(snapshot, run).unwrap();
    let memory = match limits_this_process(database) {
        true => MEMORY_OF_THIS_PROCESS,
        false => MEMORY,
    };
    let settings = settings(page_size.get(), memory, 1);
    let running = database.start(run, &settings, workload).unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut clients = workload.clients(SEED.derive("conformance", 0), 1);
    let mut outcomes = SipHasher24::new();
    let mut rolled_back = 0;
    for _ in 0..transactions {
        let kind = clients[0].draw();
        let is_committed = match clients[0].run(&mut *connection).unwrap() {
            Outcome::Committed => true,
            Outcome::RolledBack => false,
        };
        rolled_back += u32::from(!is_committed);
        outcomes.write(&[kind as u8, u8::from(is_committed)]);
    }
    drop(connection);
    running.stop().unwrap();

    let mut inspection = database.inspect(run, workload).unwrap();
    for condition in workload.check(&mut *inspection).unwrap() {
        assert_eq!(condition.violations, 0, "{condition:?}");
    }
    let outcomes = outcomes.finish128();
    let after = contents(&mut *inspection, workload).unwrap();
    format!(
        "outcomes {transactions} {rolled_back} {:016x}{:016x}\n{}",
        outcomes.h2,
        outcomes.h1,
        describe("after", &after)
    )
}

fn describe(when: &str, contents: &[TableContent]) -> String {
    let mut lines = String::new();
    for TableContent { table, rows, hash } in contents {
        writeln!(lines, "{when} {table} {rows} {hash}").unwrap();
    }
    lines
}
