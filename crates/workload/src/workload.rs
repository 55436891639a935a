//! The boundary of workloads.

use std::sync::Arc;

use octavo_units::Seed;

use crate::{
    Audit, Condition, Connection, DataSpec, Deviation, Mix, Outcome, Result, TransactionKind,
    connection::Statement, population::Population, schema::Table, touch::TouchTracer,
};

/// A source of transactions: one terminal, or several that take turns.
///
/// The inputs of the transaction drawn last stay inside until it has run, so
/// that a conflict is retried with the same inputs; nothing is allocated a
/// transaction.
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

    /// The transactions drawn and run so far, for the audit: each counts at its
    /// first try, however that ends. Neither retries nor transactions that are
    /// drawn and never run count.
    fn audit(&self) -> Audit;
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
    /// What its initial rows depend on, apart from the seed.
    fn data_spec(&self) -> DataSpec;
    /// Its tables in the order in which they are created.
    fn tables(&self) -> &[Table];
    /// All statements that its transactions and checks use.
    fn statements(&self) -> &'static [Statement];
    /// Its kinds of transactions.
    fn transactions(&self) -> &'static [TransactionKind];
    /// In which shares they are drawn.
    fn mix(&self) -> &Mix;
    /// What its counted transactions are called in the plural, such as "new
    /// orders".
    fn counted_name(&self) -> &'static str;
    /// How many terminals the specification wants at this scale, if it wants
    /// any.
    fn terminals(&self) -> Option<u32> {
        None
    }
    /// Its initial rows.
    fn population(&self) -> Arc<dyn Population + Send>;
    /// The sources of one run, `count` of them, drawing from `seed`. They may
    /// share what they know of the data, and a new run needs new ones.
    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>>;
    /// The sources of one run in which clients begin one after the other: each works in all
    /// of the data, so that what the first few do is what all do.
    fn joining_clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        self.clients(seed, count)
    }
    /// The sources of one paced run: each is one terminal, whose home never
    /// changes (TPC-C, clause 2.4.1.1).
    fn operators(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        self.clients(seed, count)
    }
    /// A connection to its initial rows as far as their places go: what clients
    /// touch on it is what they would touch in a database.
    fn touch_tracer(&self) -> TouchTracer;
    /// In what a run with this many connections differs from what the name
    /// promises.
    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        Vec::new()
    }
    /// All consistency conditions, on a database at rest.
    ///
    /// # Errors
    /// When the database fails or answers with rows that are not the
    /// workload's.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>>;
}
