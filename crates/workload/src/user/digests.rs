//! Digests as statements whose values are drawn from the rows of the copy.
//!
//! The values are asked of the first copy that runs, before anything else is, and are the same for
//! all that run after it. So they are those of rows that the copy has, in a sample too.

use std::sync::{Arc, Mutex};

use octavo_recording::digest::{Class, Draw, Expression, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::statement::{LeftOut, OwnCall, OwnStatement};

/// Digests that run: what may be told of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnDigests {
    /// How many run.
    pub digests: u64,
    /// How many there are, but for those that begin and end transactions.
    pub of: u64,
    /// How often those ran on the server that run here.
    pub calls: u64,
    /// How often all of them ran.
    pub of_calls: u64,
    /// The share of the time of all that those took that run, 0 to 1; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// How often transactions were begun and ended, which is left out.
    pub ends: u64,
    /// Runs on the server of those that do not run here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftOut>,
}

/// The kinds of digests. Their position is that of their name in [`DigestKind::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestKind {
    /// They begin with SELECT, VALUES or TABLE.
    Reads,
    /// Others.
    Writes,
}

impl DigestKind {
    /// What they are called.
    pub const NAMES: [&str; 2] = ["digest reads", "digest writes"];
}

/// A digest in the words of one database.
#[derive(Clone, Debug)]
pub struct DrawnDigest {
    /// Its statement.
    pub statement: OwnStatement,
    /// What it is called in warnings: "digest 3fa2c1".
    pub name: String,
    /// What each of its parameters is drawn from.
    pub draws: Vec<Draw>,
    /// The rows that these are of.
    pub rows: Vec<Row>,
    /// How often it ran.
    pub calls: u64,
}

/// Where values of a table come from.
#[derive(Clone, Debug)]
pub struct ValueSource {
    /// The position of the table in the catalog.
    pub table: usize,
    /// A query that answers with some rows, always the same ones. Each column is a text or NULL:
    /// first those of `columns`, then the largest values of `largest`.
    pub statement: OwnStatement,
    /// The columns, with what is drawn of them.
    pub columns: Vec<(usize, Expression, Class)>,
    /// The columns that new values are made for.
    pub largest: Vec<(usize, Class)>,
}

/// All that digests need to run.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) calls: Vec<DrawnCall>,
    /// The digests of each kind with the sums of their calls up to them.
    pub(crate) of_kinds: [Vec<(usize, u64)>; DigestKind::NAMES.len()],
    pub(crate) sources: Vec<Source>,
    pub(crate) first_source: usize,
    pub(crate) first_statement: usize,
    /// What was read of the sources, once the first copy was asked.
    pub(crate) values: Mutex<Option<Arc<DrawnValues>>>,
}

/// A digest, with its values by their places.
#[derive(Debug)]
pub(crate) struct DrawnCall {
    pub(crate) call: OwnCall,
    pub(crate) values: Vec<Place>,
    /// The source of each row, and the columns that may not be NULL.
    pub(crate) rows: Vec<(usize, Vec<usize>)>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A column of a row.
    Column { row: usize, column: usize },
    /// The next higher value.
    Next { row: usize, column: usize },
    /// Several values in an array.
    Several {
        source: usize,
        column: usize,
        count: usize,
    },
    /// A new value.
    New { source: usize, largest: usize },
    /// A small number.
    Amount,
    /// A number.
    Whole(i64),
    /// A word.
    Word(&'static str),
}

/// A source as it runs.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) columns: Vec<Class>,
    pub(crate) largest: Vec<Class>,
}

/// Values that were read, by source.
#[derive(Debug)]
pub(crate) struct DrawnValues {
    pub(crate) sources: Vec<SourceValues>,
    /// The rows that each row of each digest may be.
    pub(crate) rows: Vec<Vec<Vec<u32>>>,
}

/// Values of a source.
#[derive(Debug, Default)]
pub(crate) struct SourceValues {
    pub(crate) rows: usize,
    /// By column and row.
    pub(crate) columns: Vec<Vec<HeldValue>>,
    /// By column and row the row with the next higher value.
    pub(crate) next: Vec<Vec<u32>>,
    /// The largest number of each column that new values are made for.
    pub(crate) largest: Vec<i64>,
}

/// A value that is held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HeldValue {
    Null,
    Integer(i64),
    Text(Box<str>),
}
