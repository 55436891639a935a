//! The transactions of clause 3.3 as SQL.
//!
//! Each runs at the isolation level of clause 7.4.1.3: Trade-Result as if it were alone,
//! Market-Feed, Trade-Order and Trade-Update so that what they read stays, and all others
//! at the database's default. What does not depend on an earlier answer is asked together,
//! as one exchange where the database is behind a wire. The statements are the same as if
//! they were asked one by one.

mod begin;
mod feed;
mod look;
mod maintain;
mod order;
mod reads;
mod result;

use crate::{
    answer::{Pipeline, text},
    connection::Row,
};

pub(super) use begin::{RunStart, begin};

/// Buffers that a client's transactions reuse, so that none allocates.
#[derive(Debug)]
pub(super) struct Runner {
    pipeline: Pipeline<'static>,
    names: Vec<String>,
    name: String,
    other: String,
    symbol: String,
    kind: String,
    exchange: String,
    tax_ident: String,
    /// The tax number of the person who orders.
    executor: String,
    trades: Vec<FoundTrade>,
    lots: Vec<(i64, i64, i64)>,
    requests: Vec<super::exchange::Order>,
    dates: Vec<(i64, i64, i64)>,
    /// Entries of the feed that are committed.
    told: usize,
}

/// Texts of a transaction that are needed at the same time: those of a watch list.
const TEXTS: usize = 150;
/// Initial capacity of each text in bytes, and of lists in rows.
const TEXT_BYTES: usize = 256;
const ROWS: usize = 64;

impl Runner {
    pub(super) fn new() -> Self {
        let text = || String::with_capacity(TEXT_BYTES);
        Self {
            pipeline: Pipeline::default(),
            names: std::iter::repeat_with(text).take(TEXTS).collect(),
            name: text(),
            other: text(),
            symbol: text(),
            kind: text(),
            exchange: text(),
            tax_ident: text(),
            executor: text(),
            trades: Vec::with_capacity(ROWS),
            lots: Vec::with_capacity(ROWS),
            requests: Vec::with_capacity(ROWS),
            dates: Vec::with_capacity(ROWS),
            told: 0,
        }
    }
}

/// A trade found by Trade-Lookup or Trade-Update.
#[derive(Clone, Copy, Debug, Default)]
struct FoundTrade {
    id: i64,
    is_cash: bool,
    quantity: i64,
}

/// Copies a text of a row.
fn copy(row: &dyn Row, column: usize, into: &mut String) -> Option<()> {
    into.clear();
    into.push_str(text(row, column)?);
    Some(())
}
