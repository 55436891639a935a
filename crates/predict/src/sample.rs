//! Rows of a workload's tables, a few thousand of each: what layouts are reckoned from.

use octavo_workload::{
    Workload,
    connection::Value,
    population::{Partition, RowBatch},
};

/// About how many rows are drawn of a partition.
const ROWS_A_PARTITION: u64 = 2048;
/// Only so many of its rows are made to draw from.
const MADE_MAX: u64 = 400_000;
/// Partitions of a table that rows are drawn from, evenly: numbers grow from the first to
/// the last, and with them the bytes that they take.
const PARTITIONS: usize = 5;

/// What a column holds, as far as its bytes depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Null,
    Integer(i64),
    /// Of so many digits, unscaled.
    Decimal(i64),
    /// Of so many bytes.
    Text(u32),
    Timestamp(i64),
}

impl From<Value<'_>> for Field {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(value) => Self::Integer(value),
            Value::Decimal { unscaled, .. } => Self::Decimal(unscaled),
            // A row that Octavo makes has no such value; it would take eight bytes.
            Value::Real(_) => Self::Text(8),
            Value::Text(text) => Self::Text(text.len() as u32),
            Value::Timestamp(value) => Self::Timestamp(value),
        }
    }
}

/// Rows of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// How many rows the table has.
    pub(crate) rows: u64,
    columns: usize,
    /// The fields of the rows that were drawn, row by row.
    fields: Vec<Field>,
    /// About which row of the table each of these is.
    numbers: Vec<u64>,
}

impl Sample {
    /// The rows that were drawn, each with about its number in the table.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = (u64, &[Field])> {
        let rows = self.fields.chunks_exact(self.columns.max(1));
        self.numbers.iter().copied().zip(rows)
    }

    fn draw(&mut self, workload: &dyn Workload, partition: &Partition, first: u64) {
        let mut batch = RowBatch::new();
        // Evenly over the partition: numbers grow within it too.
        let made = partition.rows_about.clamp(1, MADE_MAX);
        let stride = made.div_ceil(ROWS_A_PARTITION);
        let mut number = 0;
        let population = workload.population();
        population.generate(partition, &mut batch, &mut |batch| {
            self.columns = batch.columns();
            for row in 0..batch.len() {
                if number % stride == 0 {
                    let field = |column| Field::from(batch.value(row, column));
                    self.fields.extend((0..batch.columns()).map(field));
                    self.numbers.push(first + number);
                }
                number += 1;
            }
            number < MADE_MAX
        });
    }
}

/// A sample of each table, in the order of [`Workload::tables`].
pub(crate) fn samples(workload: &dyn Workload) -> Vec<Sample> {
    let mut samples = vec![Sample::default(); workload.tables().len()];
    let partitions = workload.population().partitions();
    for (table, sample) in samples.iter_mut().enumerate() {
        let own: Vec<&Partition> = partitions
            .iter()
            .filter(|partition| partition.table.0 == table)
            .collect();
        let first = |index: usize| own[..index].iter().map(|part| part.rows_about).sum();
        sample.rows = first(own.len());
        let last = own.len().saturating_sub(1);
        let mut chosen: Vec<usize> = (0..PARTITIONS)
            .map(|n| n * last / (PARTITIONS - 1))
            .collect();
        chosen.dedup();
        for index in chosen.into_iter().filter(|&index| index < own.len()) {
            sample.draw(workload, own[index], first(index));
        }
    }
    samples
}
