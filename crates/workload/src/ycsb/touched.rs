//! The rows that YCSB's statements touch.

use std::collections::HashMap;

use super::{
    key::KeyPlace,
    schema::FIELDS,
    statements::{INSERT, READ, SCAN, STATEMENTS},
};
use crate::{
    connection::{RowVisitor, StatementId, Value},
    schema::TableId,
    touch::{Action, Answer, By, Columns, Place, RowModel, Touch},
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
            .map(|number| KeyPlace::of(number).digits)
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
        touches: &mut Vec<Touch>,
        visit: &mut RowVisitor<'_>,
    ) -> u64 {
        let (key, rows, action) = match (statement, parameters) {
            (SCAN, [Value::Text(key), Value::Integer(records)]) => (*key, *records, Action::Read),
            (READ, [Value::Text(key)]) => (*key, 1, Action::Read),
            (INSERT, [Value::Text(key), ..]) => (*key, 1, Action::Insert),
            (_, [.., Value::Text(key)]) => (*key, 1, Action::Update { grows: 0 }),
            _ => unreachable!("checks are not run on a pretence"),
        };
        let first = self.place(key);
        let left = self.digits.len() as u64 - first.initial;
        let rows = (rows.unsigned_abs()).min(left.max(1)) as u32;
        touches.push(Touch {
            table: TableId(0),
            by: By::Key,
            first,
            rows,
            action,
            columns: Columns::NONE,
            changed: 0,
        });
        if action == Action::Read {
            let mut given = [Value::Text(&self.field); 1 + FIELDS];
            if statement == SCAN {
                given[0] = Value::Text(key);
            }
            for _ in 0..rows {
                visit(&Answer::new(&STATEMENTS[statement.0], &given));
                // What the first row has to be is the key that was asked for.
                if statement == SCAN {
                    given[0] = Value::Text("user");
                }
            }
        }
        u64::from(rows)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Workload, Ycsb, ycsb::Core};

    #[test]
    fn places_are_those_of_the_keys_in_order() {
        let records = 5000;
        let mut numbers: Vec<u64> = (0..records).collect();
        numbers.sort_by_key(|&number| KeyPlace::of(number));
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
        let mut pretence = workload.pretence();
        let mut inserted = 0;
        for _ in 0..2000 {
            client.draw();
            client.run(&mut pretence).unwrap();
            inserted += pretence
                .touches()
                .iter()
                .filter(|touch| touch.action == Action::Insert)
                .count();
            pretence.forget();
        }
        assert!((50..200).contains(&inserted), "{inserted} of 100");
    }
}
