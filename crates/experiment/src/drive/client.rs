//! A client's thread: draws transactions, runs them, counts what is measured.

use std::{sync::atomic::Ordering, time::Instant};

use hdrhistogram::Histogram;
use octavo_workload::{
    Audit, Client, Connection, ConnectionError, Outcome,
    connection::{Access, RowVisitor, Statement, StatementId, Value},
};

use super::{DriveError, DriveSettings, ENDING, MEASURING, Shared, new_histogram};
use crate::plan::RunLength;

/// How often a transaction is tried again after conflicts.
const RETRIES_MAX: u32 = 20;

/// What one client has counted in the measured part.
pub(super) struct Tally {
    pub(super) committed: Vec<u64>,
    pub(super) rolled_back: Vec<u64>,
    pub(super) retries: Vec<u64>,
    pub(super) latency_us: Vec<Histogram<u64>>,
    pub(super) changed_bytes: u64,
    pub(super) audit: Audit,
}

pub(super) struct Worker<'a> {
    index: u32,
    client: Box<dyn Client>,
    settings: DriveSettings<'a>,
    shared: &'a Shared,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    tally: Tally,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        index: u32,
        client: Box<dyn Client>,
        settings: DriveSettings<'a>,
        shared: &'a Shared,
        interrupted: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let kinds = settings.workload.transactions().len();
        Self {
            index,
            client,
            settings,
            shared,
            interrupted,
            tally: Tally {
                committed: vec![0; kinds],
                rolled_back: vec![0; kinds],
                retries: vec![0; kinds],
                latency_us: (0..kinds).map(|_| new_histogram()).collect(),
                changed_bytes: 0,
                audit: Audit::default(),
            },
        }
    }

    pub(super) fn work(mut self, connection: Box<dyn Connection + Send>) -> Tally {
        let mut metered = Metered {
            connection,
            statements: self.settings.workload.statements(),
            changed_bytes: 0,
        };
        let result = match self.settings.length {
            RunLength::Time { .. } => self.until_told(&mut metered),
            RunLength::Transactions { warm_up, measured } => {
                self.so_many(&mut metered, warm_up, measured)
            }
        };
        if let Err(error) = result {
            self.shared.failed.store(true, Ordering::Relaxed);
            self.shared
                .failure
                .lock()
                .expect("no thread panics while holding the failure")
                .get_or_insert(error);
        }
        self.tally.audit = self.client.audit();
        self.tally
    }

    fn stopped(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
            || self.shared.phase.load(Ordering::Acquire) == ENDING
    }

    fn until_told(&mut self, connection: &mut Metered<'_>) -> Result<(), DriveError> {
        while !self.stopped() && !(self.interrupted)() {
            self.turn(connection)?;
        }
        Ok(())
    }

    fn so_many(
        &mut self,
        connection: &mut Metered<'_>,
        warm_up: u64,
        measured: u64,
    ) -> Result<(), DriveError> {
        let mut result = Ok(());
        for transactions in [warm_up, measured] {
            for _ in 0..transactions {
                if result.is_err() || self.stopped() || (self.interrupted)() {
                    break;
                }
                result = self.turn(connection);
            }
            if result.is_err() {
                self.shared.failed.store(true, Ordering::Relaxed);
            }
            // Twice: the sampler reads its counters while all clients wait.
            self.shared.turn.wait();
            self.shared.turn.wait();
        }
        result
    }

    /// One transaction.
    fn turn(&mut self, connection: &mut Metered<'_>) -> Result<(), DriveError> {
        let kind = self.client.draw();
        self.finish(kind, Instant::now(), connection)
    }

    fn finish(
        &mut self,
        kind: usize,
        start: Instant,
        connection: &mut Metered<'_>,
    ) -> Result<(), DriveError> {
        connection.changed_bytes = 0;
        let mut retries = 0;
        let outcome = loop {
            match self.client.run(connection) {
                Err(ConnectionError::Conflict { .. }) if retries < RETRIES_MAX => retries += 1,
                Err(source) => {
                    return Err(DriveError::Transaction {
                        transaction: self.settings.workload.transactions()[kind].name,
                        client: self.index,
                        source,
                    });
                }
                Ok(outcome) => break outcome,
            }
        };
        let latency = start.elapsed();
        let counted =
            outcome == Outcome::Committed && self.settings.workload.transactions()[kind].counted;
        self.shared.transactions.fetch_add(1, Ordering::Relaxed);
        self.shared
            .counted
            .fetch_add(u64::from(counted), Ordering::Relaxed);
        if self.shared.phase.load(Ordering::Acquire) == MEASURING {
            match outcome {
                Outcome::Committed => {
                    self.tally.committed[kind] += 1;
                    self.tally.changed_bytes += connection.changed_bytes;
                }
                Outcome::RolledBack => self.tally.rolled_back[kind] += 1,
            }
            self.tally.retries[kind] += u64::from(retries);
            let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
            self.tally.latency_us[kind].saturating_record(latency_us);
        }
        Ok(())
    }
}
/// Counts the bytes of the values that statements change.
struct Metered<'a> {
    connection: Box<dyn Connection + Send>,
    statements: &'a [Statement],
    changed_bytes: u64,
}

impl Connection for Metered<'_> {
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
        let changed = self.statements[statement.0].changed_parameters;
        let bytes: u64 = parameters[..changed].iter().map(Value::byte_length).sum();
        let rows = self.connection.execute(statement, parameters)?;
        self.changed_bytes += bytes * rows;
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
}
