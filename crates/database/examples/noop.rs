//! How fast workloads draw and run their transactions against no database: the
//! most that a driver can reach with one thread, before its own clocks.
//!
//! ```text
//! taskset -c 0 noop [TRANSACTIONS]
//! ```
//!
//! Prints one JSON object a workload.

use std::{env, time::Instant};

use octavo_database::{Noop, Running};
use octavo_units::Seed;
use octavo_workload::{Pgbench, Tpcc, Tpce, Workload, Ycsb, pgbench::Script, ycsb::Core};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let transactions = match env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 2_000_000,
    };
    let seed = Seed::new(1);
    measure(&Tpcc::new(1, seed)?, transactions)?;
    measure(&Tpce::new(1000, 1, 500, seed)?, transactions)?;
    for core in Core::ALL {
        measure(&Ycsb::new(1_000_000, seed)?.with_core(core), transactions)?;
    }
    for script in Script::ALL {
        measure(&Pgbench::new(10, seed)?.with_script(script), transactions)?;
    }
    Ok(())
}

fn measure(workload: &dyn Workload, transactions: u64) -> Result<(), Failure> {
    let noop = Noop::new(workload);
    let mut connection = noop.connect(0)?;
    let mut client = workload.clients(Seed::new(2), 1).remove(0);
    let start = Instant::now();
    for _ in 0..transactions {
        client.draw();
        client.run(&mut *connection)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"workload\":\"{}\",\"transactions\":{transactions},\"seconds\":{seconds:.3},\
         \"transactions_per_second\":{:.0}}}",
        workload.name(),
        transactions as f64 / seconds
    );
    Ok(())
}
