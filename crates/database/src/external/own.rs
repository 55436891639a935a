//! Which tables in its schema are Octavo's.

use octavo_units::Seed;
use octavo_workload::Registry;

/// Whether a workload has a table of this name.
pub(crate) fn is_own_table(name: &str) -> bool {
    // Small ones: the names do not depend on the scale.
    Registry::standard().families().iter().any(|family| {
        family
            .trial(Seed::new(1))
            .is_ok_and(|workload| workload.tables().iter().any(|table| table.name == name))
    })
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
