//! The sessions of clients: one shared writer and a reader a client.
//!
//! SQLite has one writer at a time, and each of its connections has a buffer
//! of its own, which the commit of another connection empties
//! (<https://www.sqlite.org/pragma.html#pragma_cache_size>,
//! <https://www.sqlite.org/isolation.html>). Clients that each wrote through
//! a connection of their own would divide the memory, throw away each other's
//! pages and collide. So all write transactions go through one connection, in
//! the order in which they asked for it, as an application with a writer
//! thread does. A statement outside of a transaction is one of its own: a
//! change takes its turn at the writer, a query goes to the client's reader
//! and waits for nobody.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use octavo_workload::{
    ConnectionError, Result,
    connection::{Access, Connection, RowVisitor, StatementId, Value},
};

use super::session::Session;

/// A session that its users take in turn, first come, first served.
pub(crate) struct Turns {
    state: Mutex<State>,
    /// Where the holder of ticket `t` waits: place `t % places.len()`, a power of two.
    /// With a place for each client no two wait at the same one.
    places: Vec<Condvar>,
}

struct State {
    next_ticket: usize,
    now_serving: usize,
    /// Absent while it is out.
    session: Option<Box<Session>>,
}

impl Turns {
    /// Turns of up to `users` users at the same time.
    pub(crate) fn new(session: Session, users: usize) -> Self {
        Self {
            state: Mutex::new(State {
                next_ticket: 0,
                now_serving: 0,
                session: Some(Box::new(session)),
            }),
            places: (0..users.next_power_of_two())
                .map(|_| Condvar::new())
                .collect(),
        }
    }

    fn take(&self) -> Box<Session> {
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let place = self.place(ticket);
        loop {
            if state.now_serving == ticket
                && let Some(session) = state.session.take()
            {
                return session;
            }
            state = place.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, session: Box<Session>) {
        let mut state = self.lock();
        state.session = Some(session);
        state.now_serving += 1;
        let waits = state.now_serving < state.next_ticket;
        let place = self.place(state.now_serving);
        drop(state);
        if waits {
            place.notify_all();
        }
    }

    fn place(&self, ticket: usize) -> &Condvar {
        &self.places[ticket & (self.places.len() - 1)]
    }

    /// Takes the session away for good, or answers `None` while it is out.
    pub(crate) fn retire(&self) -> Option<Box<Session>> {
        self.lock().session.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's way to the database.
pub(crate) struct ClientConnection {
    writer: Arc<Turns>,
    /// For transactions that only read and single queries; without one they
    /// take their turn too.
    reader: Option<Session>,
    open: Open,
}

/// The transaction that is open.
enum Open {
    None,
    OnReader,
    OnWriter(Box<Session>),
}

impl ClientConnection {
    pub(crate) fn new(writer: Arc<Turns>, reader: Option<Session>) -> Self {
        Self {
            writer,
            reader,
            open: Open::None,
        }
    }

    /// Runs `work` on the session of the open transaction, or else on the
    /// writer for this once.
    fn with_session<R>(&mut self, work: impl FnOnce(&mut Session) -> R) -> R {
        match (&mut self.open, &mut self.reader) {
            (Open::OnWriter(session), _) => work(session),
            (Open::OnReader, Some(session)) => work(session),
            (Open::None, _) | (Open::OnReader, None) => {
                let mut session = self.writer.take();
                let result = work(&mut session);
                session.publish();
                self.writer.give_back(session);
                result
            }
        }
    }

    /// Ends the transaction's hold on its session.
    fn close(&mut self) {
        if let Open::OnWriter(session) = std::mem::replace(&mut self.open, Open::None) {
            self.writer.give_back(session);
        }
    }
}

impl Connection for ClientConnection {
    fn begin(&mut self, access: Access) -> Result<()> {
        if !matches!(self.open, Open::None) {
            return Err(ConnectionError::other(
                "begin a transaction",
                "the one before was neither committed nor rolled back",
            ));
        }
        if access == Access::Read
            && let Some(reader) = &mut self.reader
        {
            reader.begin(access)?;
            self.open = Open::OnReader;
            return Ok(());
        }
        let mut session = self.writer.take();
        match session.begin(access) {
            Ok(()) => {
                self.open = Open::OnWriter(session);
                Ok(())
            }
            Err(error) => {
                self.writer.give_back(session);
                Err(error)
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.with_session(Session::commit)?;
        self.close();
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        if matches!(self.open, Open::None) {
            return Ok(());
        }
        let result = self.with_session(Session::rollback);
        self.close();
        result
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        self.with_session(|session| session.execute(statement, parameters))
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        if let (Open::None, Some(reader)) = (&self.open, &mut self.reader) {
            let result = reader.query(statement, parameters, visit);
            reader.publish();
            return result;
        }
        self.with_session(|session| session.query(statement, parameters, visit))
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        // SQLite rolls back by itself when a connection closes; the writer
        // does not close, so it must not go back with a transaction open.
        let _nothing_to_tell = self.rollback();
    }
}
