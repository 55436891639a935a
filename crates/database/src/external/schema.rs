//! Octavo's schema on a server: its name, the mark that says whose it is, and which
//! tables in it are Octavo's.

use octavo_units::Seed;
use octavo_workload::Registry;

/// The schema that is Octavo's; for MySQL, where the two are one, the
/// database.
pub const SCHEMA: &str = "octavo";

/// How the mark of the schema begins; what was loaded follows.
pub(crate) const MARK: &str = "octavo: ";

/// The mark while rows are being loaded.
pub(crate) const LOADING: &str = "octavo: loading";

/// The note in a mark; `None` while rows are being loaded.
pub(crate) fn note_of(mark: &str) -> Option<&str> {
    mark.strip_prefix(MARK).filter(|_| mark != LOADING)
}

/// Whether a workload has a table of this name.
pub(crate) fn is_own_table(name: &str) -> bool {
    own_position(name).is_some()
}

/// Where a workload's table of this name stands among all of its tables: those that it
/// refers to stand before it. Of several the last, since only one workload's tables refer
/// to others.
pub(crate) fn own_position(name: &str) -> Option<usize> {
    // Small ones: the names do not depend on the scale.
    let families = Registry::standard();
    let found = families.families().iter().filter_map(|family| {
        let workload = family.trial(Seed::new(1)).ok()?;
        let mut tables = workload.tables().iter();
        tables.position(|table| table.name == name)
    });
    found.max()
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
