//! The interface of workloads to a database: numbered statements, values in, rows out, and
//! transactions. Adapters in `octavo-database` implement [`Connection`]; transactions are
//! written once against it.

use std::{error::Error as StdError, fmt, thread, time::Duration};

pub(crate) use crate::statement::statements;
pub use crate::statement::{Path, Statement, StatementId, TableAccess, Verb};

/// A value as a parameter or in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// An exact decimal number: `unscaled / 10^scale`.
    Decimal {
        /// The digits as a whole number.
        unscaled: i64,
        /// How many of them stand behind the point.
        scale: u8,
    },
    /// Text.
    Text(&'a str),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A number with double precision. Only the user's own statements have these.
    Real(Real),
}

/// A number with double precision, equal to another one if its bits are.
#[derive(Clone, Copy, Debug)]
pub struct Real(f64);

impl Real {
    /// Of a number.
    pub fn new(number: f64) -> Self {
        Self(number)
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}

impl Value<'_> {
    /// The bytes of the value itself, without any database's overhead: text
    /// by its length, everything else as 8 bytes, NULL as none.
    pub fn byte_length(&self) -> u64 {
        match self {
            Value::Null => 0,
            Value::Integer(_) | Value::Decimal { .. } | Value::Timestamp(_) | Value::Real(_) => 8,
            Value::Text(text) => text.len() as u64,
        }
    }
}

/// Whether a transaction may write, and how far it has to be kept from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; a snapshot is enough.
    Read,
    /// Reads and writes.
    Write,
    /// Reads and writes, and what it has read stays so: at least REPEATABLE READ.
    WriteRepeatable,
    /// Reads and writes as if it were alone: SERIALIZABLE.
    WriteSerializable,
}

/// The outcome of what a database was asked.
pub type Result<T, E = ConnectionError> = std::result::Result<T, E>;

/// Why a database refused. The workload acts on the kind; the cause is for
/// people.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// A conflict with another transaction: rolled back, can be retried.
    #[error("{kind}: the transaction conflicted with another one")]
    Conflict {
        /// In which way.
        kind: Conflict,
        /// What the database said.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A statement took longer than the database allows: rolled back.
    #[error("a statement took longer than its limit")]
    Timeout(#[source] Box<dyn StdError + Send + Sync>),
    /// The storage is full. What the database said only says the same in other words, so
    /// it is no source.
    #[error("no space left for the database; free some space and run the same command again")]
    Full(Box<dyn StdError + Send + Sync>),
    /// The connection or the server is gone. Whether an open transaction
    /// was committed is not known.
    #[error("the connection to the database was lost")]
    Lost(#[source] Box<dyn StdError + Send + Sync>),
    /// Anything else.
    #[error("{context}")]
    Other {
        /// What was being done.
        context: String,
        /// What the database said.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl ConnectionError {
    /// [`Self::Other`], by what was being done and what the database said.
    ///
    /// An error in a box has to be taken out of it, or it is boxed twice and no
    /// longer found by its type.
    pub fn other(
        context: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Other {
            context: context.into(),
            source: source.into(),
        }
    }
}

/// How two transactions conflicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Both waited for each other.
    Deadlock,
    /// No serial order, or no snapshot, allows both.
    Serialisation,
    /// The other one held a lock for longer than the limit.
    LockTimeout,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Deadlock => "deadlock",
            Self::Serialisation => "serialisation failure",
            Self::LockTimeout => "lock timeout",
        })
    }
}

/// A row of a result.
pub trait Row {
    /// The value of a column by its position, as the statement declared it.
    ///
    /// # Panics
    /// When the statement has no such column: a bug in the workload.
    fn value(&self, column: usize) -> Value<'_>;
}

/// Receives the rows of a query one by one.
pub type RowVisitor<'a> = dyn FnMut(&dyn Row) + 'a;

/// Receives the rows of a batch: the position of the call that they answer,
/// from 0, and the row.
pub type BatchVisitor<'a> = dyn FnMut(usize, &dyn Row) + 'a;

/// Statements in a row with their parameters: what a transaction can ask
/// before it knows any of the answers.
#[derive(Debug, Default)]
pub struct Batch<'v> {
    values: Vec<Value<'v>>,
    calls: Vec<(StatementId, Wants, usize)>,
}

/// What a statement of a [`Batch`] answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Rows: as [`Connection::query`].
    Rows,
    /// The number of rows changed: as [`Connection::execute`].
    Changes,
}

/// One statement of a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub struct Call<'b, 'v> {
    /// The statement.
    pub statement: StatementId,
    /// What it answers with.
    pub wants: Wants,
    /// Its parameters.
    pub parameters: &'b [Value<'v>],
}

impl<'v> Batch<'v> {
    /// Adds a statement at the end.
    pub fn push(&mut self, statement: StatementId, wants: Wants, parameters: &[Value<'v>]) {
        self.values.extend_from_slice(parameters);
        self.calls.push((statement, wants, self.values.len()));
    }

    /// The number of statements.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The statements in their order.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_, 'v>> {
        let mut begin = 0;
        self.calls.iter().map(move |&(statement, wants, end)| {
            let parameters = &self.values[begin..end];
            begin = end;
            Call {
                statement,
                wants,
                parameters,
            }
        })
    }

    /// Without statements, ready for parameters that live as long as others
    /// may. The memory is kept: whoever runs batch after batch allocates none.
    pub fn emptied<'w>(mut self) -> Batch<'w> {
        self.values.clear();
        self.calls.clear();
        Batch {
            // Collecting into a vector of the same layout is done in place.
            values: self.values.into_iter().map(|_| Value::Null).collect(),
            calls: self.calls,
        }
    }
}

/// One session of a database. A statement outside of a transaction is one of
/// its own.
pub trait Connection {
    /// Starts a transaction. The isolation level is the adapter's, which states it, or
    /// that of the access where that is higher.
    ///
    /// # Errors
    /// [`ConnectionError`], by what the database refused.
    fn begin(&mut self, access: Access) -> Result<()>;

    /// Makes the transaction durable.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn commit(&mut self) -> Result<()>;

    /// Undoes the transaction. Harmless when none is open.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn rollback(&mut self) -> Result<()>;

    /// Runs a statement that writes; returns the number of rows changed.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64>;

    /// Runs a query, hands over its rows, returns how many there were.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64>;

    /// Waits for as long within a transaction, of whose time it is a part. A load that has to end does
    /// not wait.
    fn sleep(&mut self, time: Duration) {
        thread::sleep(time);
    }

    /// The same, as whoever sends it does: it is no part of the transaction's time.
    fn pause(&mut self, time: Duration) {
        self.sleep(time);
    }

    /// Runs the statements of a batch in their order, hands over their rows,
    /// and appends to `counts` how many rows each found or changed.
    ///
    /// A database behind a wire is sent all of them before the first answer is
    /// awaited. Each is a statement of its own all the same. At an error the
    /// rest may or may not have run: the transaction has to be rolled back.
    ///
    /// # Errors
    /// As [`Self::begin`], of the first statement that failed.
    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<()> {
        for (position, call) in batch.calls().enumerate() {
            counts.push(match call.wants {
                Wants::Rows => self.query(call.statement, call.parameters, &mut |row| {
                    visit(position, row);
                })?,
                Wants::Changes => self.execute(call.statement, call.parameters)?,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers a query with as many rows as it has parameters, each the
    /// parameter itself, and a change with their number. `fails_at` is the
    /// number of calls after which it refuses.
    struct Echo {
        asked: Vec<(&'static str, StatementId)>,
        fails_at: usize,
    }

    struct Parameter<'a>(Value<'a>);

    impl Row for Parameter<'_> {
        fn value(&self, _column: usize) -> Value<'_> {
            self.0
        }
    }

    impl Echo {
        fn ask(&mut self, how: &'static str, id: StatementId) -> Result<(), ConnectionError> {
            if self.asked.len() == self.fails_at {
                return Err(ConnectionError::Timeout("planted".into()));
            }
            self.asked.push((how, id));
            Ok(())
        }
    }

    impl Connection for Echo {
        fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn commit(&mut self) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn rollback(&mut self) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn execute(
            &mut self,
            statement: StatementId,
            parameters: &[Value<'_>],
        ) -> Result<u64, ConnectionError> {
            self.ask("change", statement)?;
            Ok(parameters.len() as u64)
        }

        fn query(
            &mut self,
            statement: StatementId,
            parameters: &[Value<'_>],
            visit: &mut RowVisitor<'_>,
        ) -> Result<u64, ConnectionError> {
            self.ask("query", statement)?;
            for parameter in parameters {
                visit(&Parameter(*parameter));
            }
            Ok(parameters.len() as u64)
        }
    }

    fn batch<'v>(text: &'v str) -> Batch<'v> {
        let mut batch = Batch::default();
        batch.push(
            StatementId(4),
            Wants::Rows,
            &[Value::Integer(1), Value::Text(text)],
        );
        batch.push(StatementId(2), Wants::Changes, &[Value::Null]);
        batch.push(StatementId(3), Wants::Rows, &[]);
        batch.push(StatementId(4), Wants::Rows, &[Value::Timestamp(5)]);
        batch
    }

    #[test]
    fn a_batch_is_run_in_order_with_the_rows_of_each_call() {
        let text = String::from("text");
        let batch = batch(&text);
        assert_eq!((batch.len(), batch.is_empty()), (4, false));
        let mut echo = Echo {
            asked: Vec::new(),
            fails_at: usize::MAX,
        };
        let mut rows = Vec::new();
        let mut counts = vec![9];
        let mut visit =
            |call: usize, row: &dyn Row| rows.push((call, format!("{:?}", row.value(0))));
        echo.run_batch(&batch, &mut visit, &mut counts).unwrap();
        let wanted = [
            (0, "Integer(1)"),
            (0, "Text(\"text\")"),
            (3, "Timestamp(5)"),
        ];
        assert_eq!(rows, wanted.map(|(call, value)| (call, value.to_owned())));
        assert_eq!(counts, [9, 2, 1, 0, 1], "what is there stays");
        let wanted = [("query", 4), ("change", 2), ("query", 3), ("query", 4)];
        assert_eq!(echo.asked, wanted.map(|(how, id)| (how, StatementId(id))));
    }

    #[test]
    fn an_error_ends_a_batch() {
        let mut echo = Echo {
            asked: Vec::new(),
            fails_at: 2,
        };
        let mut counts = Vec::new();
        let error = echo.run_batch(&batch("text"), &mut |_, _| {}, &mut counts);
        assert!(matches!(error, Err(ConnectionError::Timeout(_))));
        assert_eq!(echo.asked.len(), 2);
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn an_emptied_batch_keeps_its_memory() {
        let full = batch("text");
        let before = (full.values.as_ptr().addr(), full.values.capacity());
        let mut batch = full.emptied();
        assert!(batch.is_empty());
        assert_eq!(batch.calls().count(), 0);
        batch.push(StatementId(1), Wants::Changes, &[Value::Integer(7)]);
        let after = (batch.values.as_ptr().addr(), batch.values.capacity());
        assert_eq!(after, before);
        let call = batch.calls().next().unwrap();
        assert_eq!(call.statement, StatementId(1));
        assert_eq!(call.parameters, [Value::Integer(7)]);
    }
}
