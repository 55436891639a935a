//! One client's operations.

use std::sync::Arc;

use octavo_units::Seed;

use super::{
    Shared, Ycsb,
    answer::{UnexpectedAnswer, failed, has_fields, one},
    audit::Counts,
    core::Kind,
    field_length,
    insert::NewRecord,
    key::{LENGTH_MAX, push_key},
    schema::FIELDS,
    statements::{READ, SCAN, update_of},
};
use crate::{
    Audit, Client, Connection, ConnectionError, Mix, Outcome,
    connection::{StatementId, Value},
    keys::Chooser,
    random::Draws,
};

/// The most records that a scan returns; their number is uniform from 1 on
/// (`workloade`).
pub(super) const SCAN_MAX: usize = 100;

/// One client.
#[derive(Debug)]
pub(super) struct YcsbClient {
    shared: Arc<Shared>,
    mix: Mix,
    field_length: usize,
    draws: Draws,
    chooser: Chooser,
    drawn: Option<Drawn>,
    /// The key of the operation drawn last; an insert has its own.
    key: String,
    /// What an update writes.
    value: String,
    record: NewRecord,
    counts: Counts,
}

/// The operation drawn last, beside its key and value.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Read,
    Update { field: usize },
    Insert,
    Scan { records: usize },
    ReadModifyWrite { field: usize },
}

impl YcsbClient {
    pub(super) fn new(workload: &Ycsb, seed: Seed, index: u32, shared: Arc<Shared>) -> Self {
        let field_length = field_length(workload.row);
        Self {
            chooser: Chooser::new(
                workload.distribution,
                workload.records,
                workload.growth(),
                &shared.turn,
            ),
            shared,
            mix: workload.mix.clone(),
            field_length,
            draws: Draws::new(seed.derive("client", u64::from(index))),
            drawn: None,
            key: String::with_capacity(LENGTH_MAX),
            value: String::with_capacity(field_length),
            record: NewRecord::new(workload.seed, field_length),
            counts: Counts::default(),
        }
    }

    /// Draws the key of an operation on a record that exists.
    fn draw_key(&mut self) {
        let limit = self.shared.keys.limit();
        let number = self.chooser.draw(&mut self.draws, limit);
        self.key.clear();
        push_key(&mut self.key, number);
    }

    /// Draws which field is written and what; returns the field.
    fn draw_field(&mut self) -> usize {
        let field = self.draws.position(0, FIELDS - 1);
        self.counts.field(field);
        self.value.clear();
        self.draws.text(&mut self.value, self.field_length);
        field
    }

    fn read(&self, connection: &mut dyn Connection) -> Result<(), ConnectionError> {
        let mut is_sound = true;
        let found = connection.query(READ, &[Value::Text(&self.key)], &mut |row| {
            is_sound &= has_fields(row, 0, self.field_length);
        })?;
        one(READ, &self.key, found)?;
        self.sound(READ, is_sound)
    }

    fn update(&self, connection: &mut dyn Connection, field: usize) -> Result<(), ConnectionError> {
        let statement = update_of(field);
        let values = [Value::Text(&self.value), Value::Text(&self.key)];
        let changed = connection.execute(statement, &values)?;
        one(statement, &self.key, changed)
    }

    fn scan(&self, connection: &mut dyn Connection, records: usize) -> Result<(), ConnectionError> {
        let mut is_sound = true;
        let mut is_first = true;
        let values = [Value::Text(&self.key), Value::Integer(records as i64)];
        let found = connection.query(SCAN, &values, &mut |row| {
            is_sound &= has_fields(row, 1, self.field_length);
            // The key was drawn among those that exist.
            is_sound &= !is_first || row.value(0) == Value::Text(&self.key);
            is_first = false;
        })?;
        if found == 0 || found > records as u64 {
            let answer = UnexpectedAnswer::Rows {
                key: self.key.clone(),
                wanted: records as u64,
                found,
            };
            return Err(failed(SCAN, answer));
        }
        self.sound(SCAN, is_sound)
    }

    /// Says that a row was not as it has to be.
    fn sound(&self, statement: StatementId, is_sound: bool) -> Result<(), ConnectionError> {
        match is_sound {
            true => Ok(()),
            false => Err(failed(
                statement,
                UnexpectedAnswer::Row {
                    key: self.key.clone(),
                    field_length: self.field_length,
                },
            )),
        }
    }
}

impl Client for YcsbClient {
    fn draw(&mut self) -> usize {
        let point = self.draws.uniform(0, i64::from(self.mix.sum()) - 1);
        let kind = Kind::ALL[self.mix.kind_at(point as u32)];
        self.counts.drawn(kind);
        match kind {
            Kind::Insert => self.record.prepare(&self.shared.keys),
            _ => self.draw_key(),
        }
        self.drawn = Some(match kind {
            Kind::Read => Drawn::Read,
            Kind::Update => Drawn::Update {
                field: self.draw_field(),
            },
            Kind::Insert => Drawn::Insert,
            Kind::Scan => {
                let records = self.draws.position(1, SCAN_MAX);
                self.counts.scan(records);
                Drawn::Scan { records }
            }
            Kind::ReadModifyWrite => Drawn::ReadModifyWrite {
                field: self.draw_field(),
            },
        });
        kind as usize
    }

    /// No transaction is opened, as in YCSB, so there is nothing to roll back:
    /// a read-modify-write whose update failed is run again from its read.
    ///
    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
        match self.drawn.expect("an operation is drawn before it runs") {
            Drawn::Read => self.read(connection)?,
            Drawn::Update { field } => self.update(connection, field)?,
            Drawn::Insert => self.record.insert(connection, &self.shared)?,
            Drawn::Scan { records } => self.scan(connection, records)?,
            Drawn::ReadModifyWrite { field } => {
                self.read(connection)?;
                self.update(connection, field)?;
            }
        }
        Ok(Outcome::Committed)
    }

    fn audit(&self) -> Audit {
        let keys = self.chooser.audit(self.shared.keys.limit());
        self.counts.audit(&self.mix, keys)
    }
}
