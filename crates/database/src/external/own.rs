//! Which tables in its schema are Octavo's.

use octavo_units::Seed;
use octavo_workload::{Pgbench, Tpcc, Workload, Ycsb};

/// Whether a workload has a table of this name.
pub(crate) fn is_own_table(name: &str) -> bool {
    // The smallest of each: the names do not depend on the scale.
    let seed = Seed::new(1);
    let has = |workload: &dyn Workload| workload.tables().iter().any(|table| table.name == name);
    Tpcc::new(1, seed).is_ok_and(|tpcc| has(&tpcc))
        || Ycsb::new(1, seed).is_ok_and(|ycsb| has(&ycsb))
        || Pgbench::new(1, seed).is_ok_and(|pgbench| has(&pgbench))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_workloads_are_own_and_no_others() {
        for own in ["warehouse", "order_line", "usertable", "pgbench_accounts"] {
            assert!(is_own_table(own), "{own}");
        }
        for other in ["", "customers", "Warehouse", "octavo_mark"] {
            assert!(!is_own_table(other), "{other}");
        }
    }
}
