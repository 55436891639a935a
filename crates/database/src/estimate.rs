//! How many bytes a workload's rows will have, as far as databases agree on it.

use octavo_units::ByteCount;
use octavo_workload::{
    Workload,
    schema::{Column, Table},
    user::CopyOf,
};

/// The sum over a workload's tables of the bytes of each, by the table and
/// about how many rows it has.
pub(crate) fn sum_of_tables(workload: &dyn Workload, bytes: impl Fn(&Table, u64) -> u64) -> u64 {
    let tables = workload.tables().iter().zip(rows_of_tables(workload));
    tables.map(|(table, rows)| bytes(table, rows)).sum()
}

/// About how many rows each of a workload's tables has after loading.
pub(crate) fn rows_of_tables(workload: &dyn Workload) -> Vec<u64> {
    let mut rows = vec![0; workload.tables().len()];
    for partition in workload.population().partitions() {
        rows[partition.table.0] += partition.rows_about;
    }
    rows
}

/// The columns of a table by their names.
pub(crate) fn columns<'t>(
    table: &'t Table,
    names: &'t [&str],
) -> impl Iterator<Item = &'t Column> + 't {
    let column = |name: &&str| table.columns.iter().find(|column| column.name == *name);
    names.iter().filter_map(column)
}

/// Room for a copy with any page size: rows just longer than half a page leave the other half
/// empty, but in most databases a change of the page size moves some percent. Chosen.
pub(crate) fn of_copy(copy: &CopyOf) -> ByteCount {
    ByteCount::new(copy.size.get() + copy.size.get() / 4)
}
