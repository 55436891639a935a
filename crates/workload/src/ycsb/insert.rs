//! The record that a client inserts next.

use octavo_units::Seed;

use super::{
    answer::{UnexpectedAnswer, expect, failed},
    key::push_key,
    population::row_draws,
    run_keys::RunKeys,
    schema::FIELDS,
    statements::{FIND, INSERT},
};
use crate::{
    Connection, ConnectionError,
    connection::Value,
    keys::{AcknowledgedKeys, OpenKeys},
};

/// A record with its key number, kept until it is in the database or left to another client.
/// Whatever fails, no key number is skipped.
#[derive(Debug)]
pub(super) struct NewRecord {
    seed: Seed,
    pub(super) field_length: usize,
    /// `None` before the first, after success, once given up, and while the
    /// window of the run's keys is full.
    number: Option<u64>,
    key: String,
    /// All fields, one after the other.
    fields: String,
    /// Whether an insert of it failed, so that it may be there or not: the
    /// connection may have been lost after the commit.
    is_doubtful: bool,
}

impl NewRecord {
    pub(super) fn new(seed: Seed, field_length: usize) -> Self {
        Self {
            seed,
            field_length,
            number: None,
            key: String::new(),
            fields: String::new(),
            is_doubtful: false,
        }
    }

    /// Leaves the record whose insert failed, if there is one, to the next
    /// insert of any client: this one may not insert for long.
    pub(super) fn give_up(&mut self, open_keys: &OpenKeys) {
        if let Some(number) = self.number.take() {
            open_keys.push(number);
        }
    }

    /// Makes the record, unless one is still to be inserted.
    fn prepare(&mut self, keys: &RunKeys) {
        if self.number.is_some() {
            return;
        }
        let open = keys.open.pop();
        self.is_doubtful = open.is_some();
        self.number = open.or_else(|| keys.acknowledged.next());
        if let Some(number) = self.number {
            self.key.clear();
            push_key(&mut self.key, number);
            self.fields.clear();
            // Once a client, and only in those that insert.
            self.fields.reserve_exact(FIELDS * self.field_length);
            let mut draws = row_draws(self.seed, number);
            // One by one, as the population does.
            for _ in 0..FIELDS {
                draws.text(&mut self.fields, self.field_length);
            }
        }
    }

    /// Inserts the record.
    pub(super) fn insert(
        &mut self,
        connection: &mut dyn Connection,
        keys: &RunKeys,
    ) -> Result<(), ConnectionError> {
        self.prepare(keys);
        let Some(number) = self.number else {
            let window = AcknowledgedKeys::WINDOW;
            return Err(failed(INSERT, UnexpectedAnswer::WindowFull { window }));
        };
        let key = Value::Text(&self.key);
        let is_there = self.is_doubtful && connection.query(FIND, &[key], &mut |_row| {})? > 0;
        if !is_there {
            self.is_doubtful = true;
            let mut values = [key; 1 + FIELDS];
            for (field, value) in values[1..].iter_mut().enumerate() {
                let start = field * self.field_length;
                *value = Value::Text(&self.fields[start..start + self.field_length]);
            }
            let changed = connection.execute(INSERT, &values)?;
            expect(INSERT, &self.key, 1..=1, changed)?;
        }
        self.is_doubtful = false;
        self.number = None;
        keys.acknowledged.acknowledge(number);
        Ok(())
    }
}
