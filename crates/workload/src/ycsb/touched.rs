//! The rows that YCSB's statements touch.

use std::collections::HashMap;

use super::{
    key::KeyPlace,
    schema::FIELDS,
    statements::{Operations, StatementName},
};
use crate::{
    connection::{StatementId, Value},
    touch::{Hits, Place, RowModel},
};

/// Where records are in the order of their keys.
#[derive(Debug)]
pub(super) struct TouchedRows {
    /// The digits of all initial keys, in order: the same digits twice are as good
    /// as never.
    digits: Vec<u64>,
    /// What stands in a field.
    field: String,
    /// Records inserted behind each initial one.
    later: HashMap<u64, Vec<u64>>,
}

impl TouchedRows {
    pub(super) fn new(records: u64, field_length: usize) -> Self {
        let mut digits: Vec<u64> = (0..records)
            .map(|number| KeyPlace::new(number).digits)
            .collect();
        digits.sort_unstable();
        Self {
            digits,
            field: "x".repeat(field_length),
            later: HashMap::new(),
        }
    }

    /// Where a record is; it is there, or inserted with that.
    fn place(&mut self, key: &str) -> Place {
        let digits = KeyPlace::digits_of(key);
        match self.digits.binary_search(&digits) {
            Ok(place) => Place::initial(place as u64),
            Err(above) => {
                let initial = (above as u64).saturating_sub(1);
                let later = self.later.entry(initial).or_default();
                let place = later.iter().position(|&other| other == digits);
                let place = place.unwrap_or_else(|| {
                    later.push(digits);
                    later.len() - 1
                });
                Place::behind(initial, place as u64)
            }
        }
    }
}

impl RowModel for TouchedRows {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let text = |position: usize| match parameters.get(position) {
            Some(Value::Text(text)) => *text,
            _ => "",
        };
        let statement = match StatementName::from(statement) {
            StatementName::Operations(statement) => statement,
            StatementName::Updates(_) => return hits.row(self.place(text(1))),
            StatementName::Checks(_) => unreachable!("checks are not run on a tracer"),
        };
        match statement {
            Operations::READ => {
                hits.rows(self.place(text(0)), 1);
                hits.answer(&[Value::Text(&self.field); FIELDS])
            }
            Operations::SCAN => {
                let key = text(0);
                let first = self.place(key);
                let left = self.digits.len() as u64 - first.initial;
                let wanted = match parameters.get(1) {
                    Some(Value::Integer(records)) => records.unsigned_abs(),
                    _ => 0,
                };
                let rows = wanted.min(left.max(1));
                hits.rows(first, rows);
                let mut given = [Value::Text(&self.field); 1 + FIELDS];
                // What the first row has to be is the key that was asked for.
                given[0] = Value::Text(key);
                for _ in 0..rows {
                    hits.answer(&given);
                    given[0] = Value::Text("user");
                }
                rows
            }
            Operations::INSERT => hits.row(self.place(text(0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Workload, Ycsb, touch::Action, ycsb::Core};

    #[test]
    fn places_are_those_of_the_keys_in_order() {
        let records = 5000;
        let mut numbers: Vec<u64> = (0..records).collect();
        numbers.sort_by_key(|&number| KeyPlace::new(number));
        let mut rows = TouchedRows::new(records, 10);
        for (place, number) in numbers.into_iter().enumerate() {
            let mut key = String::new();
            super::super::key::push_key(&mut key, number);
            assert_eq!(rows.place(&key), Place::initial(place as u64));
        }
    }

    #[test]
    fn scans_and_inserts_run() {
        let workload = Ycsb::new(3000, Seed::new(1)).unwrap().with_core(Core::E);
        let mut client = workload.clients(Seed::new(1), 1).remove(0);
        let mut tracer = workload.touch_tracer();
        let mut inserted = 0;
        for _ in 0..2000 {
            client.draw();
            client.run(&mut tracer).unwrap();
            inserted += tracer
                .touches()
                .iter()
                .filter(|touch| touch.action == Action::Insert)
                .count();
            tracer.forget();
        }
        assert!((50..200).contains(&inserted), "{inserted} of 100");
    }
}
