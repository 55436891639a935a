//! The driver allocates nothing a transaction once it is warm, whatever the
//! workload.

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering},
};

use octavo_database::Noop;
use octavo_driver::{DriverObserver, DriverSettings, Load, RunLength, drive};
use octavo_units::Seed;
use octavo_workload::{
    Pgbench, Tpcc, Tpce, Workload, Ycsb,
    ycsb::{Core, Distribution},
};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting.
struct Counting;

// SAFETY: everything is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract for both.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract for both.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations between the ends of the measured part.
#[derive(Default)]
struct Measured {
    begin: u64,
    count: u64,
}

impl DriverObserver for Measured {
    fn begin(&mut self) {
        self.begin = ALLOCATIONS.load(Ordering::Relaxed);
    }

    fn end(&mut self) {
        self.count = ALLOCATIONS.load(Ordering::Relaxed) - self.begin;
    }
}

fn allocations(workload: &dyn Workload) -> u64 {
    let mut measured = Measured::default();
    let drive = drive(
        &Noop::new(workload),
        DriverSettings {
            workload,
            seed: Seed::new(1),
            connections: 1,
            load: Load::Closed { terminals: 1 },
            retries: 0,
            length: RunLength::Transactions {
                warm_up: 5000,
                measured: 50_000,
            },
            keep_interrupted: false,
            frames: 0,
        },
        &mut measured,
        &|| false,
    )
    .unwrap();
    assert_eq!(drive.transactions(), 50_000);
    measured.count
}

// One test: another one beside it would be counted as well.
#[test]
fn nothing_is_allocated_a_transaction() {
    let seed = Seed::new(1);
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(Tpcc::new(3, seed).unwrap()),
        Box::new(Tpce::new(1000, 1, 500, seed).unwrap()),
        Box::new(Pgbench::new(3, seed).unwrap()),
    ];
    for core in Core::ALL {
        workloads.push(Box::new(Ycsb::new(10_000, seed).unwrap().with_core(core)));
    }
    for name in ["uniform", "hotspot", "sequential", "true-zipfian", "latest"] {
        let distribution: Distribution = name.parse().unwrap();
        let ycsb = Ycsb::new(10_000, seed).unwrap();
        workloads.push(Box::new(ycsb.with_distribution(distribution)));
    }
    for workload in workloads {
        let count = allocations(workload.as_ref());
        // Beginning and ending the measured part takes a few.
        assert!(count < 100, "{count} allocations of {}", workload.name());
    }
}
