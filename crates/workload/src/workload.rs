//! The interface of workloads.

use std::{sync::Arc, time::Duration};

use octavo_units::Seed;

use crate::{
    Audit, Condition, Connection, DataSpec, Deviation, Mix, Outcome, PageTrace, Result,
    TransactionKind,
    connection::{Statement, StatementId},
    keyed::Keyed,
    population::Population,
    schema::Table,
    shape::Shape,
    touch::TouchTracer,
    user::{CopyOf, Own},
};

/// A source of transactions: one terminal, or several that take turns.
///
/// It keeps the inputs of the transaction drawn last until that has run, so that a conflict is
/// retried with the same inputs. Transactions allocate nothing.
pub trait Client: Send {
    /// Draws the inputs of the next transaction; returns its position in
    /// [`Workload::transactions`].
    fn draw(&mut self) -> usize;

    /// Runs the transaction drawn last. After an error it has been rolled
    /// back and can be run again with the same inputs, or another one can be
    /// drawn; after [`crate::ConnectionError::Lost`] on another connection.
    ///
    /// # Errors
    /// The connection's, and [`crate::ConnectionError::Other`] for answers that a
    /// database with the workload's rows does not give.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome>;

    /// Its share of the transactions of all clients, as a weight, where it is not as many as it
    /// comes to: clients whose transactions differ would else run more of those that a database is
    /// good at.
    fn share(&self) -> Option<u64> {
        None
    }

    /// When its transactions are due; `None` where each is as soon as the one before has ended.
    fn dues(&self) -> Option<Dues> {
        None
    }

    /// The transactions drawn and run so far, for the audit: each counts at its
    /// first try, however that ends. Neither retries nor transactions that are
    /// drawn and never run count.
    fn audit(&self) -> Audit;
}

/// When a client's transactions are due, in the order in which it draws them, since the load began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dues {
    /// Of the first ones, at least one; none is before the one before.
    times: Vec<Duration>,
    /// How much later all of them are due again.
    round: Duration,
}

impl Dues {
    /// With the times of the first transactions, which are put in order. `None` without any.
    pub fn new(mut times: Vec<Duration>, round: Duration) -> Option<Self> {
        times.sort_unstable();
        let last = *times.last()?;
        let round = round.max(last);
        Some(Self { times, round })
    }

    /// When the transaction of this number is due, from 0.
    pub fn of(&self, number: u64) -> Duration {
        let count = self.times.len() as u64;
        let rounds = u32::try_from(number / count).unwrap_or(u32::MAX);
        let position = usize::try_from(number % count).unwrap_or_default();
        let before = self.round.saturating_mul(rounds);
        before.saturating_add(self.times[position])
    }
}

/// One client for each index below `count`.
pub(crate) fn boxed<C: Client + 'static>(
    count: u32,
    client: impl FnMut(u32) -> C,
) -> Vec<Box<dyn Client>> {
    let clients = (0..count).map(client);
    clients.map(|client| Box::new(client) as _).collect()
}

/// A workload at one scale.
pub trait Workload: Send + Sync {
    /// Its short name, as the flags write it.
    fn name(&self) -> &'static str;
    /// The parameters of its initial rows, apart from the seed.
    fn data_spec(&self) -> DataSpec;
    /// Its tables in the order in which they are created.
    fn tables(&self) -> &[Table];
    /// All statements that its transactions and checks use.
    fn statements(&self) -> &'static [Statement];
    /// What a statement does with rows, for databases that know keys and no SQL; `None` where that
    /// is said of none of them.
    fn keyed(&self, _statement: StatementId) -> Option<Keyed> {
        None
    }
    /// Its kinds of transactions.
    fn transactions(&self) -> &'static [TransactionKind];
    /// The shares in which they are drawn.
    fn mix(&self) -> &Mix;
    /// What transactions of this kind consist of, by the names of operations, with how many of each in the
    /// mean, which is negative where another one has too much of it: where there are as many kinds as anybody
    /// thinks of, what they take is known by these.
    fn operations_of(&self, _kind: usize) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// What its counted transactions are called in the plural, such as "new
    /// orders".
    fn counted_name(&self) -> &'static str;
    /// Terminals that the specification requires at this scale, if any.
    fn terminals(&self) -> Option<u32> {
        None
    }
    /// The user's own rows and statements, if it runs these.
    fn own(&self) -> Option<&Own> {
        None
    }
    /// What describes its tables and operations, where that is no part of its family.
    fn shape(&self) -> Option<&Arc<Shape>> {
        None
    }
    /// The database whose rows it runs on, where it makes none itself.
    fn copy_of(&self) -> Option<&CopyOf> {
        self.own().map(|own| &own.copy)
    }
    /// Its initial rows.
    fn population(&self) -> Arc<dyn Population + Send>;
    /// The sources of one run, `count` of them, drawing from `seed`. They may
    /// share what they know of the data, and a new run needs new ones.
    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>>;
    /// The sources of one run in which clients begin one after the other. Each works on all of
    /// the data, so that the first few do what all do.
    fn joining_clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        self.clients(seed, count)
    }
    /// The sources of one paced run: each is one terminal, whose home never
    /// changes (TPC-C, clause 2.4.1.1).
    fn operators(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        self.clients(seed, count)
    }
    /// The pages that its transactions refer to, where these were recorded because nobody knows
    /// the rows that they touch. Predictions execute these instead of clients'.
    fn page_trace(&self) -> Option<&Arc<PageTrace>> {
        None
    }
    /// A connection that traces the rows that clients would touch in a database with the
    /// initial rows.
    ///
    /// # Panics
    /// Where nobody knows them: [`Self::page_trace`] has pages then.
    fn touch_tracer(&self) -> TouchTracer;
    /// Deviations from the specification of a run with this many connections.
    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        Vec::new()
    }
    /// Checks all consistency conditions, on a database at rest.
    ///
    /// # Errors
    /// When the database fails or answers with rows that are not the
    /// workload's.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>>;
}
