//! A connection that counts the bytes of the values that statements change, and how long whoever sends
//! them waits by itself.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_workload::{
    Connection, ConnectionError,
    connection::{Access, Batch, BatchVisitor, RowVisitor, Statement, StatementId, Value, Wants},
};

/// The longest sleep of a pause, so that a load which has to end does so soon.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct Metered<'a> {
    connection: Box<dyn Connection + Send>,
    statements: &'static [Statement],
    /// Of the transaction that is open or ended last.
    changed_bytes: u64,
    /// Pauses since they were last forgotten.
    paused: Duration,
    /// Whether to wait no longer.
    stop: &'a AtomicBool,
}

impl<'a> Metered<'a> {
    pub(crate) fn new(
        connection: Box<dyn Connection + Send>,
        statements: &'static [Statement],
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            connection,
            statements,
            changed_bytes: 0,
            paused: Duration::ZERO,
            stop,
        }
    }

    /// What was waited since a transaction began, which is no time of the database's.
    pub(crate) fn paused(&self) -> Duration {
        self.paused
    }

    /// A transaction begins.
    pub(crate) fn forget_pauses(&mut self) {
        self.paused = Duration::ZERO;
    }

    /// The bytes of the values that a statement gives each row that it meets.
    fn new_bytes(&self, statement: StatementId, parameters: &[Value<'_>]) -> u64 {
        let changed = self.statements[statement.0].changed_parameters;
        parameters[..changed].iter().map(Value::byte_length).sum()
    }

    /// The bytes changed since the last time.
    pub(crate) fn take_changed_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.changed_bytes)
    }
}

impl Connection for Metered<'_> {
    fn sleep(&mut self, time: Duration) {
        let begin = Instant::now();
        while !self.stop.load(Ordering::Acquire) {
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(STOP_POLL_INTERVAL));
        }
    }

    fn pause(&mut self, time: Duration) {
        let begin = Instant::now();
        self.sleep(time);
        self.paused += begin.elapsed();
    }

    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        self.connection.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.changed_bytes = 0;
        self.connection.rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let rows = self.connection.execute(statement, parameters)?;
        self.changed_bytes += self.new_bytes(statement, parameters) * rows;
        Ok(rows)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.connection.query(statement, parameters, visit)
    }

    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<(), ConnectionError> {
        let before = counts.len();
        self.connection.run_batch(batch, visit, counts)?;
        for (call, rows) in batch.calls().zip(&counts[before..]) {
            if call.wants == Wants::Changes {
                self.changed_bytes += self.new_bytes(call.statement, call.parameters) * rows;
            }
        }
        Ok(())
    }
}
