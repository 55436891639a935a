//! Several databases of one kind, open at the same time in one process, of
//! which one works while the others are held still.

mod support;

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, Database, Running, choose};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Client, Connection, Outcome, Workload};
use support::{open_directory, settings};

const COPIES: usize = 3;
const CLIENTS: u32 = 2;
const SEED: Seed = Seed::new(15);

/// One copy, with its clients.
struct Cell {
    running: Box<dyn Running>,
    connections: Vec<Box<dyn Connection + Send>>,
    clients: Vec<Box<dyn Client>>,
}

impl Cell {
    fn start(database: &dyn Database, run: &Path, page: PageSize, workload: &dyn Workload) -> Self {
        let memory = ByteCount::mib(24);
        let running = database
            .start(run, &settings(page.get(), memory, CLIENTS), workload)
            .unwrap();
        let connections = (0..CLIENTS).map(|client| running.connect(client).unwrap());
        Self {
            connections: connections.collect(),
            running,
            clients: workload.clients(SEED.derive("lockstep", 0), CLIENTS),
        }
    }

    /// The next transactions, one client after the other, and what they took.
    fn slice(&mut self, transactions: u32) -> Counters {
        let time = |name: &str, step: &dyn Fn()| {
            let since = Instant::now();
            step();
            println!("{name} {:?}", since.elapsed());
        };
        time("thaw", &|| self.running.thaw().unwrap());
        let before = self.running.counters();
        for _ in 0..transactions {
            for (client, connection) in self.clients.iter_mut().zip(&mut self.connections) {
                client.draw();
                let outcome = client.run(&mut **connection).unwrap();
                assert!(matches!(outcome, Outcome::Committed | Outcome::RolledBack));
            }
        }
        time("flush", &|| self.running.flush().unwrap());
        let after = self.running.counters();
        time("freeze", &|| self.running.freeze().unwrap());
        after - before
    }
}

/// Processes whose working directory or arguments name this directory.
fn processes_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let names = |path: &Path| path.starts_with(directory);
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.parse::<u32>().is_ok())
        })
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| names(&cwd)))
        .map(|entry| fs::read_to_string(entry.path().join("stat")).unwrap_or_default())
        .collect()
}

/// Runs three copies in turn; returns what the slices of each took.
fn in_turn(name: &str, options: &[(&str, &str)]) -> Vec<Vec<Counters>> {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let database = choose(name, &options.iter().map(own).collect::<Vec<_>>()).unwrap();
    let database = &*database;
    let registry = octavo_workload::Registry::standard();
    let mut families = registry.families().iter();
    let family = families.find(|family| family.data.name == "tpcc").unwrap();
    let workload = family.trial(SEED).unwrap();
    let page = database.default_page_size();
    let directory = open_directory();
    let snapshot = directory.path().join("snapshot");
    fs::create_dir(&snapshot).unwrap();
    database
        .prepare(&[page], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let loaded = database
        .load(&snapshot, page, &*workload, &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
    let rows = database.estimate_rows(&*workload, page);
    let is_server = database.kind().is_server;
    assert_eq!(rows < database.estimate(&*workload, page), is_server);
    assert!(rows < loaded.size || !is_server, "{name}: {rows}");
    let runs: Vec<_> = (0..COPIES)
        .map(|copy| directory.path().join(format!("run-{copy}")))
        .collect();
    let mut cells: Vec<Cell> = runs
        .iter()
        .map(|run| {
            fs::create_dir(run).unwrap();
            database.restore(&snapshot, run).unwrap();
            let cell = Cell::start(database, run, page, &*workload);
            cell.running.freeze().unwrap();
            cell
        })
        .collect();
    let mut took = vec![Vec::new(); COPIES];
    for pass in 0..4 {
        for place in 0..COPIES {
            let copy = (place + pass) % COPIES;
            let others: Vec<Counters> = cells.iter().map(|cell| cell.running.counters()).collect();
            took[copy].push(cells[copy].slice(40));
            for (other, before) in others.into_iter().enumerate() {
                let moved = cells[other].running.counters() - before;
                assert_eq!(
                    moved == Counters::default(),
                    other != copy,
                    "{name}: {moved:?}"
                );
            }
        }
    }
    for run in &runs {
        let processes = processes_in(run);
        let still = processes.iter().all(|stat| stat.contains(") T "));
        assert!(still && processes.is_empty() != is_server, "{processes:?}");
    }
    assert!(cells.iter().all(|cell| cell.running.death().is_none()));
    // One is stopped as it is held, one after it was let go, one is dropped.
    for (number, mut cell) in cells.into_iter().enumerate() {
        cell.connections.clear();
        match number {
            0 => cell.running.stop().unwrap(),
            1 => {
                cell.running.thaw().unwrap();
                cell.running.stop().unwrap();
            }
            _ => drop(cell),
        }
    }
    let left = (0..500).map(|_| {
        thread::sleep(Duration::from_millis(10));
        processes_in(directory.path())
    });
    let left = left.take_while(|left| !left.is_empty()).last();
    assert_eq!(processes_in(directory.path()), [""; 0], "{name}: {left:?}");
    // The first two hold what was committed, and are the same.
    let mut after = runs[..2].iter().map(|run| {
        let mut inspection = database.inspect(run, &*workload).unwrap();
        octavo_database::contents(&mut *inspection, &*workload).unwrap()
    });
    assert_eq!(after.next(), after.next(), "{name}");
    took
}

#[test]
fn postgres_servers_work_in_turn() {
    let took = in_turn("postgres", &[("bin", "8K=installed")]);
    for slices in &took {
        for slice in slices {
            println!("{slice:?}");
            // Sessions were asked to report, so nothing is missing.
            assert!(slice.buffer_hits > 1000, "{slice:?}");
            assert!(
                slice.log_writes > 0 && slice.log_written_bytes.get() > 0,
                "{slice:?}"
            );
            assert!(slice.log_sync_time > Duration::ZERO, "{slice:?}");
            assert!(slice.sync_time >= slice.log_sync_time);
        }
        let total = |of: fn(&Counters) -> Duration| slices.iter().map(of).sum::<Duration>();
        assert!(
            total(|slice| slice.read_time) > Duration::ZERO,
            "{slices:?}"
        );
        assert!(total(|slice| slice.cpu_time) > Duration::ZERO, "{slices:?}");
    }
}

#[test]
fn mariadb_servers_work_in_turn() {
    let took = in_turn("mariadb", &[]);
    for slices in &took {
        for slice in slices {
            println!("{slice:?}");
            assert!(slice.buffer_hits > 1000, "{slice:?}");
            assert!(slice.log_written_bytes.get() > 0, "{slice:?}");
        }
        let cpu: Duration = slices.iter().map(|slice| slice.cpu_time).sum();
        assert!(cpu > Duration::ZERO, "{slices:?}");
    }
}

/// The buffers of several databases in one process share nothing: the same
/// transactions on identical copies find and miss the same pages.
#[test]
fn sqlite_databases_work_in_turn() {
    let took = in_turn("sqlite", &[]);
    let misses = |slices: &[Counters]| -> Vec<_> {
        let of = |slice: &Counters| {
            let pages = (slice.buffer_hits, slice.buffer_misses, slice.buffer_spills);
            let calls = (
                slice.reads,
                slice.data_writes,
                slice.log_writes,
                slice.syncs,
            );
            (
                pages,
                calls,
                slice.read_bytes,
                slice.written_bytes(),
                slice.checkpoints,
            )
        };
        slices.iter().map(of).collect()
    };
    let first = misses(&took[0]);
    println!("{first:?}");
    assert!(first.iter().any(|((_, misses, _), ..)| *misses > 0));
    for slices in &took[1..] {
        assert_eq!(misses(slices), first);
    }
}

/// The page caches of several databases in one process share nothing either, though other tests of
/// this program move the process too: identical copies refer to as many pages.
#[cfg(feature = "libmdbx")]
#[test]
fn libmdbx_databases_work_in_turn() {
    let took = in_turn("libmdbx", &[]);
    let written = |slices: &[Counters]| -> Vec<_> {
        let of = |slice: &Counters| (slice.syncs, slice.data_written_bytes);
        slices.iter().map(of).collect()
    };
    assert!(
        written(&took[0])
            .iter()
            .all(|(syncs, bytes)| *syncs > 0 && bytes.get() > 0)
    );
    assert!(
        took.iter()
            .all(|slices| written(slices) == written(&took[0])),
        "{took:?}"
    );
}
