//! Filling trees with a workload's initial rows.

use std::ops::ControlFlow;

use octavo_workload::{ConnectionError, Result, Workload, population::RowBatch};

use super::{Layout, TreeId};
use crate::{DatabaseError, Progress};

/// Bytes of keys and values between two calls of [`Sink::settle`].
pub(crate) const BATCH_BYTES: usize = 1 << 26;

/// What is filled: trees without a client.
pub(crate) trait Sink {
    /// Adds a key that is not there; mostly behind all others of its tree.
    fn add(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;

    /// Called now and then, so that what was added since the last time needs no memory.
    fn settle(&mut self) -> Result<()>;
}

/// Adds all rows and the entries of their indexes; answers how many rows there were.
///
/// # Errors
/// [`DatabaseError::Stopped`] when `progress` stopped it; else the sink's.
pub(crate) fn fill(
    workload: &dyn Workload,
    layout: &Layout,
    sink: &mut impl Sink,
    progress: &mut Progress<'_>,
) -> Result<u64, DatabaseError> {
    let population = workload.population();
    let mut batch = RowBatch::new();
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let (mut rows, mut bytes) = (0, 0);
    let mut next = vec![0_i64; layout.tables_len()];
    for partition in population.partitions() {
        let table = &layout.tables[partition.table.0];
        let next = &mut next[partition.table.0];
        let mut result = Ok(());
        let mut add = |batch: &RowBatch| -> Result<(), DatabaseError> {
            for row in 0..batch.len() {
                *next += 1;
                let of = |column| batch.value(row, column);
                let refused = |error| ConnectionError::other(format!("fill {}", table.name), error);
                table.write_key(&mut key, *next, of).map_err(refused)?;
                table.write_value(&mut value, of);
                sink.add(table.tree, &key, &value)?;
                bytes += key.len() + value.len();
                for index in &table.indexes {
                    table
                        .write_entry(index, &mut key, *next, of)
                        .map_err(refused)?;
                    sink.add(index.tree, &key, &[])?;
                    bytes += key.len();
                }
            }
            rows += batch.len() as u64;
            if bytes >= BATCH_BYTES {
                sink.settle()?;
                bytes = 0;
            }
            match progress(rows) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(DatabaseError::Stopped),
            }
        };
        population.generate(&partition, &mut batch, &mut |batch| {
            result = add(batch);
            result.is_ok()
        });
        result?;
    }
    sink.settle()?;
    Ok(rows)
}
