//! Why driving ends without a result.

use std::io;

use octavo_database::DatabaseError;
use octavo_workload::ConnectionError;

/// Why driving ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The database refused or died.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The system has no room for a session's thread.
    #[error("start a thread for each of {connections} clients: choose fewer --clients")]
    Thread {
        /// Sessions wanted.
        connections: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A client's transaction failed.
    #[error("{transaction} of client {client} failed")]
    Transaction {
        /// The transaction's name.
        transaction: &'static str,
        /// The client's number.
        client: u32,
        /// What the database said.
        #[source]
        source: ConnectionError,
    },
    /// A lost connection could not be replaced.
    #[error("client {client} lost its connection and could not connect again in {seconds} s")]
    Reconnect {
        /// The client's number.
        client: u32,
        /// How long it tried.
        seconds: u64,
        /// What the database said last.
        #[source]
        source: ConnectionError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl DriverError {
    /// Whether the storage is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database(error) => error.is_full(),
            Self::Transaction { source, .. } => matches!(source, ConnectionError::Full(_)),
            _ => false,
        }
    }

    /// Whether the database was lost and did not come back.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Reconnect { .. })
    }
}
