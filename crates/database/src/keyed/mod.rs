//! Tables and statements on ordered stores of keys and values, which know no SQL.
//!
//! A table is a tree: its key's columns are the key, and the others the value. An index is a tree
//! of keys without values: its columns and those of the table's key. A table without a key has
//! numbers for keys, which count up. A [`plan`] is made of each statement once, from the tables and
//! columns that it declares; a [`Session`] carries plans out on an [`Engine`]. Nothing checks
//! foreign keys, or any other condition of a table than its key.

pub(crate) mod engine;
pub(crate) mod fill;
pub(crate) mod layout;
pub(crate) mod session;

mod aggregate;
mod field;
mod key;
mod plan;
mod row;
mod search;
mod size;

pub(crate) use engine::{Engine, Order, TreeId, Visit};
pub(crate) use layout::Layout;
pub(crate) use plan::Plans;
pub(crate) use session::Session;
pub(crate) use size::{bytes_of_entry, bytes_of_row, trees};

use octavo_workload::Workload;

use crate::{DatabaseKind, Result};

/// As [`crate::Database::accept_workload`], of a store.
pub(crate) fn accept_workload(kind: &DatabaseKind, workload: &dyn Workload) -> Result<()> {
    let plans = Plans::new(workload, &Layout::new(workload));
    plans.map(|_| ()).map_err(|_| {
        let reason = format!("it knows no SQL; choose {}", workloads());
        kind.refuse("workload", workload.name(), reason)
    })
}

/// The families of workloads that say what their statements do without SQL, as a list to choose from.
fn workloads() -> String {
    let registry = octavo_workload::Registry::standard();
    let runs = |family: &&&'static octavo_workload::Family| {
        // Any rows do: statements are the same.
        let trial = family.trial(octavo_units::Seed::new(1));
        trial.is_ok_and(|trial| Plans::new(&*trial, &Layout::new(&*trial)).is_ok())
    };
    let families = registry.families().iter().filter(runs);
    let titles: Vec<&str> = families.map(|family| family.data.title).collect();
    match &titles[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        titles => titles.concat(),
    }
}
