//! One client's operations. As in YCSB's clients, each statement is sent alone and
//! its answer awaited: a read-modify-write asks twice.

use std::{mem, sync::Arc};

use super::{
    answer::{UnexpectedAnswer, expect, failed, has_fields},
    audit::Counts,
    core::{Kind, SCAN_MAX},
    insert::NewRecord,
    key::{LENGTH_MAX, push_key},
    run_keys::RunKeys,
    schema::FIELDS,
    statements::{READ, SCAN, update_of},
};
use crate::{
    Audit, Client, Connection, Mix, Outcome, Result,
    connection::{StatementId, Value},
    keys::Chooser,
    random::Draws,
};

/// One client.
#[derive(Debug)]
pub(super) struct YcsbClient {
    keys: Arc<RunKeys>,
    mix: Mix,
    field_length: usize,
    draws: Draws,
    chooser: Chooser,
    /// The kind of the operation drawn last, with the field that it writes or
    /// the records that it scans.
    drawn: Option<(Kind, usize)>,
    /// Whether the operation drawn last was tried: it is counted then, and has
    /// its key.
    is_tried: bool,
    /// The key of the operation tried last; an insert has its own.
    key: String,
    /// What an update writes.
    value: String,
    record: NewRecord,
    counts: Counts,
}

impl YcsbClient {
    /// A client with its own draws and its own clone of the run's `chooser`.
    pub(super) fn new(
        mix: Mix,
        draws: Draws,
        record: NewRecord,
        keys: Arc<RunKeys>,
        chooser: Chooser,
    ) -> Self {
        let field_length = record.field_length;
        Self {
            chooser,
            keys,
            mix,
            field_length,
            draws,
            drawn: None,
            is_tried: false,
            key: String::with_capacity(LENGTH_MAX),
            value: String::with_capacity(field_length),
            record,
            counts: Counts::default(),
        }
    }

    /// Draws the key of an operation on a record that exists.
    fn draw_key(&mut self) {
        let limit = self.keys.acknowledged.limit();
        let number = self.chooser.draw(&mut self.draws, limit);
        self.key.clear();
        push_key(&mut self.key, number);
    }

    /// Draws which field is written and what; returns the field.
    fn draw_field(&mut self) -> usize {
        let field = self.draws.position(0, FIELDS - 1);
        self.value.clear();
        self.draws.text(&mut self.value, self.field_length);
        field
    }

    fn read(&self, connection: &mut dyn Connection) -> Result<()> {
        let mut is_sound = true;
        let found = connection.query(READ, &[Value::Text(&self.key)], &mut |row| {
            is_sound &= has_fields(row, 0, self.field_length);
        })?;
        expect(READ, &self.key, 1..=1, found)?;
        self.sound(READ, is_sound)
    }

    fn update(&self, connection: &mut dyn Connection, field: usize) -> Result<()> {
        let statement = update_of(field);
        let values = [Value::Text(&self.value), Value::Text(&self.key)];
        let changed = connection.execute(statement, &values)?;
        expect(statement, &self.key, 1..=1, changed)
    }

    fn scan(&self, connection: &mut dyn Connection, records: usize) -> Result<()> {
        let mut is_sound = true;
        let mut is_first = true;
        let values = [Value::Text(&self.key), Value::Integer(records as i64)];
        let found = connection.query(SCAN, &values, &mut |row| {
            is_sound &= has_fields(row, 1, self.field_length);
            // The key was drawn among those that exist.
            is_sound &= !is_first || row.value(0) == Value::Text(&self.key);
            is_first = false;
        })?;
        expect(SCAN, &self.key, 1..=records as u64, found)?;
        self.sound(SCAN, is_sound)
    }

    /// Says that a row was not as it has to be.
    fn sound(&self, statement: StatementId, is_sound: bool) -> Result<()> {
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
    /// The key is left to the first try, which may come much later: only then
    /// is it known which records there are.
    fn draw(&mut self) -> usize {
        let kind = Kind::ALL[self.mix.draw(&mut self.draws)];
        self.record.give_up(&self.keys.open);
        self.is_tried = false;
        let argument = match kind {
            Kind::Update | Kind::ReadModifyWrite => self.draw_field(),
            Kind::Scan => self.draws.position(1, SCAN_MAX),
            Kind::Read | Kind::Insert => 0,
        };
        self.drawn = Some((kind, argument));
        kind as usize
    }

    /// No transaction is opened, as in YCSB, so there is nothing to roll back:
    /// a read-modify-write whose update failed is run again from its read.
    ///
    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let (kind, argument) = self.drawn.expect("an operation is drawn before it runs");
        if !mem::replace(&mut self.is_tried, true) {
            self.counts.tried(kind, argument);
            // An insert takes its own.
            if kind != Kind::Insert {
                self.draw_key();
            }
        }
        match kind {
            Kind::Read => self.read(connection)?,
            Kind::Update => self.update(connection, argument)?,
            Kind::Insert => self.record.insert(connection, &self.keys)?,
            Kind::Scan => self.scan(connection, argument)?,
            Kind::ReadModifyWrite => {
                self.read(connection)?;
                self.update(connection, argument)?;
            }
        }
        Ok(Outcome::Committed)
    }

    fn audit(&self) -> Audit {
        let keys = self.chooser.audit(self.keys.acknowledged.limit());
        self.counts.audit(&self.mix, keys)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Workload, Ycsb, keys::Distribution, refusing::RefusingConnection};

    #[test]
    fn only_what_was_tried_is_counted_and_once() {
        // Uniform, since the audit of the scrambled Zipf counts draws that are
        // drawn again.
        let workload = Ycsb::new(1000, Seed::new(1))
            .unwrap()
            .with_mix(Mix::new(&[1, 1, 1, 1, 1]))
            .with_distribution(Distribution::Uniform);
        let client = || workload.clients(Seed::new(2), 1).remove(0);
        let mut own = client();
        for _ in 0..200 {
            own.draw();
        }
        assert_eq!(own.audit(), client().audit());
        let mut tried = [0; Kind::ALL.len()];
        for _ in 0..200 {
            own.draw();
            tried[own.draw()] += 1;
            assert!(own.run(&mut RefusingConnection).is_err());
            let audit = own.audit();
            assert!(own.run(&mut RefusingConnection).is_err());
            assert_eq!(own.audit(), audit);
        }
        let audit = own.audit();
        let counts: Vec<u64> = audit.lines.iter().map(|line| line.count).collect();
        assert_eq!(counts, tried);
        let [_, updates, inserts, scans, both] = tried;
        let wanted = [200 - inserts, updates + both, scans];
        for (distribution, count) in audit.distributions.iter().zip(wanted) {
            assert_eq!(distribution.counts.iter().sum::<u64>(), count);
        }
    }
}
