//! A client that runs recorded transactions in their order.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_recording::{Datum, End, Pause, Recording, Transaction};
use octavo_script::{Access as Wanted, PARAMETERS_MAX};

use super::call::{FEW, call, no_counts};
use crate::{
    Audit, AuditLine, Client, Connection, ConnectionError, Dues, Outcome, Result, Rounds,
    StatementCount, TransactionKind,
    connection::{Access, Real, StatementId, Value},
    user::{RecordedKind, Replayed},
};

/// One client.
pub(super) struct RecordedClient {
    replayed: Arc<Replayed>,
    kinds: &'static [TransactionKind],
    /// Its transactions, by their positions. Behind the last one it begins again.
    order: Vec<u32>,
    next: usize,
    /// Whether the transaction drawn last was counted, at its first try.
    is_counted: bool,
    ran: Vec<u64>,
    /// By form.
    found: Vec<StatementCount>,
}

impl RecordedClient {
    pub(super) fn new(
        replayed: &Arc<Replayed>,
        kinds: &'static [TransactionKind],
        order: Vec<u32>,
    ) -> Self {
        Self {
            replayed: Arc::clone(replayed),
            kinds,
            order,
            next: 0,
            is_counted: false,
            ran: vec![0; RecordedKind::NAMES.len()],
            found: no_counts(&replayed.calls),
        }
    }

    /// How many of each kind there are in the order, as far as it was drawn.
    fn wanted(&self) -> [u64; RecordedKind::NAMES.len()] {
        let mut wanted = [0; RecordedKind::NAMES.len()];
        for transaction in self.order.iter().cycle().take(self.next) {
            wanted[self.replayed.kinds[*transaction as usize] as usize] += 1;
        }
        wanted
    }

    /// The transaction drawn last.
    fn drawn(&self) -> usize {
        let last = self.next.checked_sub(1);
        let last = last.expect("a transaction is drawn before it runs");
        self.order[last % self.order.len()] as usize
    }
}

impl Client for RecordedClient {
    /// # Panics
    /// When it has no transactions: there are as many sessions as clients at least.
    fn draw(&mut self) -> usize {
        assert!(!self.order.is_empty(), "a client has transactions");
        self.next += 1;
        self.is_counted = false;
        self.replayed.kinds[self.drawn()] as usize
    }

    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let drawn = self.drawn();
        // Neither is a retry: how many there are is another cell's chance.
        let is_first = !std::mem::replace(&mut self.is_counted, true);
        self.ran[self.replayed.kinds[drawn] as usize] += u64::from(is_first);
        let transaction = &self.replayed.recording.transactions[drawn];
        let mut at = 0;
        let counts = is_first.then_some(&mut self.found[..]);
        let result = run(&self.replayed, transaction, connection, counts, &mut at);
        let Err(error) = result else { return result };
        connection.rollback()?;
        let step = self.replayed.recording.steps(transaction).get(at);
        let form = step.map_or(0, |step| step.form as usize);
        match error {
            // What was recorded worked on other rows: those of the moment.
            ConnectionError::Other { .. } => {
                self.found[form].failed += u64::from(is_first);
                Ok(Outcome::RolledBack)
            }
            // Each of the same kind would take as long.
            ConnectionError::Timeout(source) => {
                let name = self.replayed.calls[form].counted.as_deref();
                let name = name.unwrap_or("a recorded statement");
                Err(ConnectionError::Other {
                    context: format!("{name}: a statement took longer than its limit"),
                    source,
                })
            }
            other => Err(other),
        }
    }

    fn dues(&self) -> Option<Dues> {
        let pace = self.replayed.pace?;
        let recording = &self.replayed.recording;
        let begun = self.order.iter().map(|position| {
            let transaction = &recording.transactions[*position as usize];
            transaction.begun.map(|begun| pace.scale(begun))
        });
        Dues::new(begun.collect::<Option<_>>()?, pace.scale(round(recording)))
    }

    /// As many as it has, so that all come to their end together.
    fn share(&self) -> Option<u64> {
        Some(self.order.len() as u64)
    }

    fn audit(&self) -> Audit {
        let wanted = self.wanted();
        let all: u64 = self.ran.iter().sum();
        let lines = self.kinds.iter().zip(self.ran.iter().zip(wanted));
        let lines = lines.map(|(kind, (ran, wanted))| {
            let name = format!("{} among transactions", kind.name);
            AuditLine::independent(&name, *ran, all, wanted as f64 / all.max(1) as f64)
        });
        // A client without any of a kind has all of its transactions among those of others.
        let is_recorded = |kind: usize| {
            let mut kinds = self.replayed.kinds.iter();
            kinds.any(|of| *of as usize == kind)
        };
        let lines = lines.enumerate().filter(|(kind, _)| is_recorded(*kind));
        Audit {
            lines: lines.map(|(_, line)| line).collect(),
            rounds: Some(Rounds::of(
                self.next as f64 / self.order.len().max(1) as f64,
            )),
            statements: self
                .found
                .iter()
                .filter(|of| of.runs + of.failed > 0)
                .cloned()
                .collect(),
            ..Audit::default()
        }
    }
}

/// From the beginning of a recording to that of the next one: what its transactions take, and one
/// distance more.
fn round(recording: &Recording) -> Duration {
    let begun = recording.transactions.iter().filter_map(|of| of.begun);
    let span = begun.max().unwrap_or_default();
    let distances = u32::try_from(recording.transactions.len().saturating_sub(1));
    let one = span.checked_div(distances.unwrap_or(u32::MAX));
    span.saturating_add(one.unwrap_or_default())
}

/// Waits as the session did; `sent` is when it sent the statement before.
fn wait(replayed: &Replayed, connection: &mut dyn Connection, pause: Pause, sent: Instant) {
    let Some(pace) = replayed.pace else { return };
    let time = pace.scale(pause.time());
    let left = match pause.is_from_begin {
        true => time.saturating_sub(sent.elapsed()),
        false => time,
    };
    if !left.is_zero() {
        connection.pause(left);
    }
}

/// Runs a transaction; `at` is left at the statement that failed.
fn run(
    replayed: &Replayed,
    transaction: &Transaction,
    connection: &mut dyn Connection,
    mut counts: Option<&mut [StatementCount]>,
    at: &mut usize,
) -> Result<Outcome> {
    let recording = &replayed.recording;
    let steps = recording.steps(transaction);
    let is_open = transaction.end != End::Alone;
    let mut sent = Instant::now();
    if is_open {
        let reads = || steps.iter().all(|step| replayed.reads[step.form as usize]);
        connection.begin(match transaction.access {
            None if reads() => Access::Read,
            Some(Wanted::Read) => Access::Read,
            None | Some(Wanted::Write) => Access::Write,
            Some(Wanted::WriteRepeatable) => Access::WriteRepeatable,
            Some(Wanted::WriteSerializable) => Access::WriteSerializable,
        })?;
    }
    for (position, step) in steps.iter().enumerate() {
        *at = position;
        wait(replayed, connection, step.pause, sent);
        sent = Instant::now();
        let form = step.form as usize;
        let given = recording.values(step);
        let mut few = [Value::Null; FEW];
        let mut many;
        let values = if given.len() <= FEW {
            &mut few[..given.len()]
        } else {
            many = [Value::Null; PARAMETERS_MAX];
            &mut many[..given.len()]
        };
        for (value, given) in values.iter_mut().zip(given) {
            *value = match given {
                Datum::Null => Value::Null,
                Datum::Integer(number) => Value::Integer(number),
                Datum::Real(number) => Value::Real(Real::new(number)),
                Datum::Text(text) => Value::Text(text),
            };
        }
        let rows = call(
            connection,
            &replayed.calls[form],
            StatementId(replayed.first_statement + form),
            values,
            is_open,
            &mut |_| {},
        )?;
        if let Some(counts) = &mut counts {
            counts[form].ran(rows);
        }
    }
    wait(replayed, connection, transaction.last_pause, sent);
    match transaction.end {
        End::Alone => Ok(Outcome::Committed),
        End::Commit => connection.commit().map(|()| Outcome::Committed),
        End::Rollback => connection.rollback().map(|()| Outcome::RolledBack),
    }
}
