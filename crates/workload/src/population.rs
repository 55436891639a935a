//! The initial rows of a workload, as a stream in parts.
//!
//! A population is cut into [`Partition`]s. Each is generated from its own
//! seed, so they can be made in any order and by any number of threads and
//! the rows stay the same; within one partition the rows come in key order.
//! Memory is one [`RowBatch`] a thread, whatever the scale.

use std::ops::{ControlFlow, Range};

use crate::{connection::Value, schema::TableId};

/// A part of one table's initial rows.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The table.
    pub table: TableId,
    /// Which part of it, in the workload's sense (for TPC-C a warehouse).
    pub part: u32,
    /// How many rows it has, or about how many where the rows themselves
    /// decide (order lines).
    pub rows_about: u64,
}

/// Makes the rows of a workload.
pub trait Population: Sync {
    /// All partitions in the order in which loading them one after the other
    /// fills each table in key order.
    fn partitions(&self) -> Vec<Partition>;

    /// Generates one partition into `batch`, whatever that held before. Hands it to `consume`
    /// each time it is full and once at the end, and clears it itself. Stops when `consume`
    /// returns `false`.
    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    );
}

#[derive(Clone, Copy, Debug)]
enum StoredValue {
    Null,
    Integer(i64),
    Decimal { unscaled: i64, scale: u8 },
    Text { start: u32, end: u32 },
    Timestamp(i64),
}

/// Some rows of one table, in two allocations that are reused.
#[derive(Debug)]
pub struct RowBatch {
    table: TableId,
    /// Columns of a row; at least one.
    columns: usize,
    values: Vec<StoredValue>,
    text: String,
}

impl RowBatch {
    /// Rows in a full batch.
    pub const ROWS: usize = 512;

    /// Bytes of texts in a full batch: few rows are enough where these are long.
    pub const TEXT_BYTES: usize = 1 << 20;

    /// An empty batch; a population makes it one of its tables.
    pub fn new() -> Self {
        Self {
            table: TableId(0),
            columns: 1,
            values: Vec::new(),
            text: String::new(),
        }
    }

    /// Empties the batch for rows of `table`, which has `columns` columns,
    /// keeping its memory.
    pub fn reset(&mut self, table: TableId, columns: usize) {
        self.table = table;
        self.columns = columns.max(1);
        self.clear();
    }

    /// Empties the batch for further rows of the same table.
    pub fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
    }

    /// The table that the rows belong to.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of whole rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.columns
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether the batch is due to be handed over.
    pub fn is_full(&self) -> bool {
        // Asked after every row, so without the division of `len`.
        self.values.len() >= Self::ROWS * self.columns || self.text.len() >= Self::TEXT_BYTES
    }

    /// After a row: hands a full batch over and empties it. Breaks when no
    /// more is wanted.
    #[inline]
    pub fn end_row(&mut self, consume: &mut dyn FnMut(&mut Self) -> bool) -> ControlFlow<()> {
        if self.is_full() {
            if !consume(self) {
                return ControlFlow::Break(());
            }
            self.clear();
        }
        ControlFlow::Continue(())
    }

    /// After the last row: hands over what is left.
    pub fn end(&mut self, consume: &mut dyn FnMut(&mut Self) -> bool) {
        if !self.is_empty() {
            consume(self);
        }
    }

    /// Appends NULL as the next column.
    pub fn push_null(&mut self) {
        self.values.push(StoredValue::Null);
    }

    /// Appends a whole number as the next column.
    pub fn push_integer(&mut self, value: i64) {
        self.values.push(StoredValue::Integer(value));
    }

    /// Appends a decimal as the next column.
    pub fn push_decimal(&mut self, unscaled: i64, scale: u8) {
        self.values.push(StoredValue::Decimal { unscaled, scale });
    }

    /// Appends a time as the next column.
    pub fn push_timestamp(&mut self, microseconds: i64) {
        self.values.push(StoredValue::Timestamp(microseconds));
    }

    /// Appends a text, which `write` adds to the string, as the next column.
    pub fn push_text(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        let Range { start, end } = offset(start)..offset(self.text.len());
        self.values.push(StoredValue::Text { start, end });
    }

    /// The value at a row and column.
    ///
    /// # Panics
    /// When there is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> Value<'_> {
        match self.values[row * self.columns + column] {
            StoredValue::Null => Value::Null,
            StoredValue::Integer(value) => Value::Integer(value),
            StoredValue::Decimal { unscaled, scale } => Value::Decimal { unscaled, scale },
            StoredValue::Text { start, end } => {
                Value::Text(&self.text[start as usize..end as usize])
            }
            StoredValue::Timestamp(microseconds) => Value::Timestamp(microseconds),
        }
    }
}

impl Default for RowBatch {
    fn default() -> Self {
        Self::new()
    }
}

fn offset(position: usize) -> u32 {
    u32::try_from(position).expect("a batch is far below 4 GiB")
}
