//! Filling the tables of a server, several at the same time.
//!
//! Each table is filled by one thread through one connection, in key order:
//! rows then lie in the order of their keys, and the server can take its short
//! way for a table that nobody else sees yet.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use octavo_workload::{
    Workload,
    population::{Population, RowBatch},
    schema::{Table, TableId},
};

use crate::{DatabaseError, Progress, Result};

/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// The rows of one table, made while they are sent.
pub(crate) struct Feed<'f> {
    population: &'f dyn Population,
    table: TableId,
    sent: &'f AtomicU64,
    stop: &'f AtomicBool,
}

impl Feed<'_> {
    /// Hands over all rows of the table in key order, in batches; returns how
    /// many there were. [`DatabaseError::Stopped`] when nobody wants more.
    pub(crate) fn send(&mut self, mut sink: impl FnMut(&RowBatch) -> Result<()>) -> Result<u64> {
        let mut batch = RowBatch::new();
        let mut rows = 0;
        for partition in self.population.partitions() {
            if partition.table != self.table {
                continue;
            }
            let mut result = Ok(());
            self.population
                .generate(&partition, &mut batch, &mut |batch| {
                    rows += batch.len() as u64;
                    self.sent.fetch_add(batch.len() as u64, Relaxed);
                    result = if self.stop.load(Relaxed) {
                        Err(DatabaseError::Stopped)
                    } else {
                        sink(batch)
                    };
                    result.is_ok()
                });
            result?;
        }
        Ok(rows)
    }
}

/// Fills all tables of a workload: `fill` does one table, called from several
/// threads at the same time, the largest tables first. Returns the rows of
/// all. After the first error no further table is begun, and that error is
/// the answer.
pub(crate) fn fill(
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
    fill: impl Fn(&Table, &mut Feed<'_>) -> Result<u64> + Sync,
) -> Result<u64> {
    let population = workload.population();
    let tables = workload.tables();
    let queue = Mutex::new(smallest_first(tables, &*population));
    let (sent, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (tell, told) = channel();
    thread::scope(|scope| {
        for _ in 0..threads().min(tables.len()) {
            let (population, queue, sent, stop, fill) = (&*population, &queue, &sent, &stop, &fill);
            let tell = tell.clone();
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some(table) = next else {
                        break;
                    };
                    let mut feed = Feed {
                        population,
                        table,
                        sent,
                        stop,
                    };
                    let filled = fill(&tables[table.0], &mut feed);
                    stop.fetch_or(filled.is_err(), Relaxed);
                    // The other end listens until all threads are done.
                    let _heard = tell.send(filled);
                }
            });
        }
        drop(tell);
        let (mut rows, mut first_error) = (0, None);
        loop {
            match told.recv_timeout(TELL) {
                Ok(Ok(filled)) => rows += filled,
                Ok(Err(error)) => {
                    first_error.get_or_insert(error);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if let ControlFlow::Break(()) = progress(sent.load(Relaxed)) {
                stop.store(true, Relaxed);
                first_error.get_or_insert(DatabaseError::Stopped);
            }
        }
        first_error.map_or(Ok(rows), Err)
    })
}

/// One for each processor: a stream keeps a session of the server busy and
/// itself half as much.
fn threads() -> usize {
    thread::available_parallelism().map_or(2, |count| count.get().max(2))
}

/// The tables by the bytes of their rows, so that the last of the list, which
/// is taken first, is the largest.
fn smallest_first(tables: &[Table], population: &dyn Population) -> Vec<TableId> {
    let mut bytes = vec![0; tables.len()];
    for partition in population.partitions() {
        let table = partition.table.0;
        bytes[table] += partition.rows_about * u64::from(tables[table].row_bytes_mean);
    }
    let mut order: Vec<TableId> = (0..tables.len()).map(TableId).collect();
    order.sort_by_key(|table| bytes[table.0]);
    order
}
