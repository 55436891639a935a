//! What is predicted of statements on MariaDB whose pages were recorded, beside a server.
//!
//! Keys are uniform. What the list of InnoDB's pool keeps depends on how fast a machine is, since a
//! page that is wanted again within a second stays old: the prediction has the same pace.

mod recorded;

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Pgbench, Workload, Ycsb,
    ycsb::{Core, Distribution},
};
use recorded::{Server, compare};

fn server(page_size: PageSize) -> Server {
    Server {
        name: "mariadb",
        options: &[],
        page_size,
        memory: ByteCount::mib(16),
    }
}

fn ycsb(core: Core) -> impl Workload {
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    workload
        .with_core(core)
        .with_distribution(Distribution::Uniform)
}

/// Purge writes its part of the log in bursts, about one a second; what is measured waits for it. YCSB A with 4
/// KiB pages had 215.7 bytes a transaction in each of three runs, and 252 to 257 were predicted. Why those are 17 to 19%
/// more is not known.
const LOG: f64 = 0.25;
/// With some thousand pages misses were 0 to 9% off. Pages are written in a few batches a run, 4 to 46%
/// off: the bound is a factor of 2.2 either way.
const UPDATED: [f64; 3] = [0.15, LOG, 1.20];
/// A pool of a thousand pages reads those of rollback segments again and again unless they live in it
/// for a second, and that hangs on the pace of each moment. Misses were 5 to 17% off, and once 37%. Where
/// a loaded machine took 2.4 ms for a transaction, they were 39% and pages written 92% too many.
const UPDATED_IN_FEW: [f64; 3] = [0.55, LOG, 1.50];

#[test]
fn reads_by_key() {
    compare(&server(PageSize::kib(16)), &ycsb(Core::C), [0.05, 0.0, 0.0]);
}

#[test]
fn reads_and_updates() {
    compare(&server(PageSize::kib(16)), &ycsb(Core::A), UPDATED_IN_FEW);
}

#[test]
fn reads_and_updates_of_small_pages() {
    compare(&server(PageSize::kib(4)), &ycsb(Core::A), UPDATED);
}

#[test]
fn updates_and_inserts_in_transactions() {
    let workload = Pgbench::new(3, Seed::new(1)).unwrap();
    // Of pgbench's transactions bursts are a smaller part: bytes of the log were 0 to 7% off.
    compare(&server(PageSize::kib(4)), &workload, [0.15, 0.10, 1.20]);
}
