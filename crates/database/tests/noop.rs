//! The no-op database lets every kind of transaction of every workload end.

use octavo_database::{Noop, Running, StoragePath};
use octavo_units::Seed;
use octavo_workload::{Pgbench, Tpcc, Tpce, Workload, Ycsb, pgbench::Script, ycsb::Core};

/// Enough for each kind and each way through it to come up many times.
const TRANSACTIONS: u32 = 5000;

fn run_all_kinds(workload: &dyn Workload) {
    let noop = Noop::new(workload);
    let mut connection = noop.connect(0).unwrap();
    let mut clients = workload.clients(Seed::new(1), 1);
    let mut runs = vec![0; workload.transactions().len()];
    for _ in 0..TRANSACTIONS {
        let kind = clients[0].draw();
        if let Err(error) = clients[0].run(&mut *connection) {
            let source = std::error::Error::source(&error);
            let kind = workload.transactions()[kind].name;
            panic!("{}: {kind}: {error}: {source:?}", workload.name());
        }
        runs[kind] += 1;
    }
    for (kind, weight) in workload.mix().weights().iter().enumerate() {
        // TPC-E's data is maintained beside the mix.
        let is_beside = workload.transactions()[kind].name == "Data-Maintenance";
        let name = workload.name();
        assert_eq!(runs[kind] > 0, *weight > 0 || is_beside, "{name}");
    }
    drop(connection);
    assert_eq!(noop.counters(), Default::default());
    assert_eq!(noop.storage_path(), StoragePath::None);
    Box::new(noop).stop().unwrap();
}

#[test]
fn tpcc() {
    run_all_kinds(&Tpcc::new(2, Seed::new(7)).unwrap());
}

#[test]
fn tpce() {
    run_all_kinds(&Tpce::new(1000, 1, 500, Seed::new(7)).unwrap());
}

#[test]
fn ycsb() {
    for core in Core::ALL {
        run_all_kinds(&Ycsb::new(3000, Seed::new(7)).unwrap().with_core(core));
    }
}

#[test]
fn pgbench() {
    for script in Script::ALL {
        run_all_kinds(&Pgbench::new(2, Seed::new(7)).unwrap().with_script(script));
    }
}
