//! Tables and indexes of workloads in the SQL that all databases understand.
//!
//! Names stand without quotes: workloads write them so in their statements.

use std::fmt::Display;

use octavo_workload::{
    Workload,
    schema::{Column, Index, Table},
};

/// The statement that creates `table`, with its key or without.
pub(crate) fn create_table<T: Display>(
    table: &Table,
    type_of: impl Fn(&Column) -> T,
    with_key: bool,
) -> String {
    let column = |column: &Column| {
        let null = if column.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, type_of(column))
    };
    let mut parts: Vec<String> = table.columns.iter().map(column).collect();
    if with_key && !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", table.primary_key.join(", ")));
    }
    parts.extend(table.checks.iter().map(|check| format!("CHECK ({check})")));
    format!("CREATE TABLE {} ({})", table.name, parts.join(", "))
}

/// The statements that have the database watch over references between tables that have
/// their rows and keys.
pub(crate) fn references(workload: &dyn Workload) -> impl Iterator<Item = String> {
    let tables = workload.tables();
    tables
        .iter()
        .filter_map(|table| add_references(table, tables))
}

fn add_references(table: &Table, tables: &[Table]) -> Option<String> {
    let added = table.references.iter().map(|reference| {
        let referred = tables.iter().find(|other| other.name == reference.table);
        format!(
            "ADD FOREIGN KEY ({}) REFERENCES {} ({})",
            reference.columns.join(", "),
            reference.table,
            referred
                .map_or(&[][..], |other| other.primary_key)
                .join(", ")
        )
    });
    let added: Vec<String> = added.collect();
    (!added.is_empty()).then(|| format!("ALTER TABLE {} {}", table.name, added.join(", ")))
}

/// The statement that creates `index` of `table`.
pub(crate) fn create_index(table: &Table, index: &Index) -> String {
    format!(
        "CREATE INDEX {} ON {} ({})",
        index.name,
        table.name,
        index.columns.join(", ")
    )
}

/// The statement that reads all rows with all columns.
pub(crate) fn select(table: &Table) -> String {
    format!("SELECT {} FROM {}", columns(table), table.name)
}

/// The names of all columns, in their order.
pub(crate) fn columns(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    names.join(", ")
}
