//! Clients that take turns on one connection, by their shares where they have any: what they do is
//! recorded one transaction after the other.

use octavo_workload::{Audit, Client, Connection, Outcome};

use crate::{PagesWanted, Result};

/// See the module.
pub(crate) struct ClientTurns {
    clients: Vec<Box<dyn Client>>,
    shares: Vec<u64>,
    /// Transactions of each, over its share.
    done: Vec<u64>,
}

impl ClientTurns {
    pub(crate) fn new(wanted: &PagesWanted<'_>) -> Self {
        let clients = wanted.workload.clients(wanted.seed, wanted.clients.max(1));
        let shares = clients.iter().map(|client| client.share().unwrap_or(1));
        Self {
            shares: shares.map(|share| share.max(1)).collect(),
            done: vec![0; clients.len()],
            clients,
        }
    }

    /// Has the client execute a transaction that is the furthest behind its share; its kind and how
    /// it ended.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn next(&mut self, connection: &mut dyn Connection) -> Result<(usize, Outcome)> {
        let behind = |&client: &usize| {
            let (done, share) = (
                u128::from(self.done[client]),
                u128::from(self.shares[client]),
            );
            // The end of its next one, on a scale that all have.
            ((done + 1) << 64) / share
        };
        let next = (0..self.clients.len()).min_by_key(behind).unwrap_or(0);
        self.done[next] += 1;
        let client = &mut self.clients[next];
        let kind = client.draw();
        let outcome = client.run(connection)?;
        Ok((kind, outcome))
    }

    pub(crate) fn audit(&self) -> Audit {
        let mut audit = Audit::default();
        for client in &self.clients {
            audit.merge(&client.audit());
        }
        audit
    }
}
