//! Key-value workloads: tables of keys and values as a [`Shape`] describes them.
//!
//! A table has two columns, a key and a value, both text. An operation is one statement: a read of
//! a key (which may be one that was never there), a new value, a new key, the removal of the oldest
//! key, or a read of keys beside each other. A transaction has as many as the shape says; one alone is a
//! statement outside of any transaction.

mod answer;
mod check;
mod client;
mod contents;
mod key;
mod keyed;
mod population;
mod touched;
mod window;

use std::sync::Arc;

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, ConnectionError, DataKind, DataSpec, Family, KindTrial, Member,
    Mix, Parameter, TransactionKind, Trial, Unit, Workload, WorkloadError, WorkloadSpec, boxed,
    connection::{Statement, StatementId},
    keyed::Keyed,
    keys::Distribution,
    population::Population,
    schema::{Column, ColumnKind, Table},
    shape::{Declared, KEY, KeyOrder, Operation, Shape, ShapeError, ShapeTable, VALUE},
    touch::TouchTracer,
};
use client::{KeyValueClient, Run};
use contents::Contents;
use population::KeyValuePopulation;
use touched::TouchedRows;
use window::{Use, Window};

/// Key-value workloads, scaled by the keys of all tables.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "key-value",
        title: "Key-value",
        parameters: &[KEYS, SHAPE],
    },
    members: &[Member {
        name: "key-value",
        title: "Key-value",
        help: "Tables of keys and values, as a file of your own says",
    }],
    takes_distribution: true,
    takes_shape: true,
    is_divisible: false,
    trial: Trial {
        data: &[("keys", 10_000)],
        mix: None,
        transactions: 400,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: true,
        mix: None,
    },
    make: |spec| Ok(Box::new(KeyValue::new(spec)?)),
};

const KEYS: Parameter = Parameter {
    name: Shape::KEYS,
    unit: Unit::Count,
    help: "Keys of a key-value workload, all its tables together",
    noun: Some("key"),
    label: ", keys: ",
    default: |_| Shape::standard().keys(),
    min: |_| 1,
    max: ShapeTable::KEYS_MAX * Shape::TABLES_MAX as u64,
    multiple_of: 1,
};

/// What tells the rows of one shape from those of another.
const SHAPE: Parameter = Parameter {
    name: Shape::FINGERPRINT,
    unit: Unit::Fingerprint,
    help: "Fingerprint of the shape",
    noun: None,
    label: "",
    default: |_| Shape::standard().fingerprint(),
    min: |_| 0,
    max: u64::MAX,
    multiple_of: 1,
};

/// The kind of transactions of several operations.
static TRANSACTION: [TransactionKind; 1] = [TransactionKind::plain("Transaction")];

struct KeyValue {
    data: DataSpec,
    shape: Arc<Shape>,
    /// Of transactions.
    mix: Mix,
    /// Of operations.
    operations: Mix,
    /// In place of those of the tables.
    distribution: Option<Distribution>,
    contents: Arc<Contents>,
    tables: Vec<Table>,
}

impl KeyValue {
    fn new(spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        let shape = Arc::clone(spec.shape.as_ref().unwrap_or(Shape::standard()));
        if spec.data.get(SHAPE.name) != Some(shape.fingerprint()) {
            return Err(WorkloadError::OtherShape);
        }
        let keys = scaled(&shape, spec.data.scale())?;
        let declared = shape.declared();
        // A shape has weights.
        let operations = declared.mix().ok_or(WorkloadError::OtherShape)?;
        let tables = shape.tables().iter().zip(&declared.names);
        let tables = tables.map(|(table, name)| Table {
            name,
            columns: vec![
                Column::new(KEY, ColumnKind::Char(table.key_bytes)),
                Column::new(VALUE, ColumnKind::Varchar(table.value_bytes.most())),
            ]
            .into(),
            primary_key: &[KEY],
            indexes: &[],
            references: &[],
            checks: &[],
            row_bytes_mean: table.key_bytes + table.value_bytes.mean(),
        });
        let is_single = shape.operations() == 1;
        let mut workload = Self {
            data: spec.data,
            mix: match is_single {
                true => operations.clone(),
                false => Mix::new(&[1]),
            },
            operations,
            distribution: spec.distribution,
            contents: Contents::new(&shape, &keys, spec.seed),
            tables: tables.collect(),
            shape,
        };
        workload.mix = spec.mix_for(&workload)?;
        if is_single {
            workload.operations = workload.mix.clone();
        }
        Ok(workload)
    }

    fn declared(&self) -> &Declared {
        self.shape.declared()
    }

    /// What is done with a table's keys.
    fn use_of(&self, position: usize) -> Use {
        let table = &self.shape.tables()[position];
        let mut operations = self.declared().operations.iter();
        let draws = operations.any(|&(of, operation)| {
            let draws = [Operation::Get, Operation::Put, Operation::Range];
            of == position && draws.contains(&operation)
        });
        Use {
            distribution: self.distribution.unwrap_or(table.distribution),
            inserts: table.insert > 0,
            deletes: table.delete > 0,
            draws,
        }
    }
}

/// As many keys in each table as it has of the shape's.
fn scaled(shape: &Shape, keys: u64) -> Result<Vec<u64>, WorkloadError> {
    let all = u128::from(shape.keys());
    let tables = shape.tables().iter();
    let each = tables.map(|table| {
        let own = u128::from(table.keys) * u128::from(keys) / all;
        let own = u64::try_from(own).unwrap_or(u64::MAX).max(1);
        if own > table.keys_max() {
            let reason = format!(
                "{keys} keys are {own} of table {}, which can have {} with key-bytes = {}",
                table.name,
                table.keys_max(),
                table.key_bytes
            );
            return Err(WorkloadError::Shape(ShapeError::of_all(KEYS.name, reason)));
        }
        Ok(own)
    });
    each.collect()
}

impl Workload for KeyValue {
    fn name(&self) -> &'static str {
        FAMILY.first().name()
    }

    fn data_spec(&self) -> DataSpec {
        self.data
    }

    fn shape(&self) -> Option<&Arc<Shape>> {
        Some(&self.shape)
    }

    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn statements(&self) -> &'static [Statement] {
        self.declared().statements
    }

    fn keyed(&self, statement: StatementId) -> Option<Keyed> {
        Some(keyed::keyed(statement))
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        match self.shape.operations() {
            1 => self.declared().kinds,
            _ => &TRANSACTION,
        }
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }

    fn operations_of(&self, kind: usize) -> Vec<(&'static str, f64)> {
        let mut each = Vec::new();
        for (place, (table, operation)) in self.declared().operations.iter().enumerate() {
            let count = match self.shape.operations() {
                1 => f64::from(u8::from(place == kind)),
                count => f64::from(count) * self.operations.share(place),
            };
            if *operation != Operation::Range {
                each.push((operation.name(), count));
                continue;
            }
            // A range finds its first key as a get does, and each key beyond that costs what it costs in the
            // ranges that were measured.
            let length = self.shape.tables()[*table].range_length.mean();
            let ranges = f64::from(length) / f64::from(Shape::standard().range_length());
            each.push((Operation::Range.name(), count * ranges));
            each.push((Operation::Get.name(), count * (1.0 - ranges)));
        }
        each.retain(|(_, count)| *count != 0.0);
        each
    }

    fn counted_name(&self) -> &'static str {
        match self.shape.operations() {
            1 => "operations",
            _ => "transactions",
        }
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(KeyValuePopulation {
            contents: Arc::clone(&self.contents),
        })
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        let declared = self.declared();
        let tables = self.contents.tables.iter().enumerate();
        let windows = tables.map(|(position, table)| {
            Window::new(
                table.keys,
                table.form.capacity(),
                self.use_of(position),
                count,
            )
        });
        let windows: Vec<Window> = windows.collect();
        let choosers = windows.iter().enumerate();
        let choosers: Vec<_> = choosers
            .map(|(position, window)| window.chooser(self.use_of(position)))
            .collect();
        let tables = self.shape.tables().iter();
        let run = Arc::new(Run {
            windows,
            contents: Arc::clone(&self.contents),
            statements: declared.statements,
            operations: declared.operations.clone(),
            kinds: declared.kinds,
            mix: self.operations.clone(),
            count: self.shape.operations(),
            lengths: tables.clone().map(|table| table.range_length).collect(),
            are_sequential: tables
                .map(|table| table.order == KeyOrder::Sequential)
                .collect(),
            names: declared.names.clone(),
        });
        boxed(count, |index| {
            KeyValueClient::new(Arc::clone(&run), choosers.clone(), seed, index)
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        let rows = TouchedRows::new(Arc::clone(&self.contents));
        TouchTracer::new(rows, self.statements(), self.tables())
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        check::check(
            connection,
            self.statements(),
            &self.contents,
            self.shape.tables(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        WorkloadName,
        connection::{Access, ConnectionError, Row, RowVisitor, Value},
        population::RowBatch,
        refusing::RefusingConnection,
        shape::{KeyOrder, Spread, TableStatement},
    };

    fn spec(shape: Shape) -> WorkloadSpec {
        let name: WorkloadName = FAMILY.first();
        let data = name.data_spec(&shape.rows()).unwrap();
        WorkloadSpec {
            shape: Some(Arc::new(shape)),
            ..WorkloadSpec::new(name, data, Seed::new(1))
        }
    }

    fn shape(operations: u32) -> Shape {
        let values = Spread::new(5, 90).unwrap();
        let table = |name, order| ShapeTable {
            order,
            get: 3,
            get_absent: 1,
            put: 2,
            insert: 3,
            delete: 3,
            range: 1,
            ..ShapeTable::new(name, 3000, 20, values)
        };
        let tables = vec![
            table("hashed", KeyOrder::Hashed),
            table("counted", KeyOrder::Sequential),
        ];
        Shape::new(operations, tables).unwrap()
    }

    /// Rows in memory.
    #[derive(Default)]
    struct Memory {
        tables: Vec<BTreeMap<String, String>>,
        /// Before an open transaction.
        before: Option<Vec<BTreeMap<String, String>>>,
        /// Statements after which it refuses one.
        fails_after: Option<u32>,
        calls: u64,
    }

    impl Memory {
        fn loaded(workload: &dyn Workload) -> Self {
            let mut tables = vec![BTreeMap::new(); workload.tables().len()];
            let population = workload.population();
            let mut batch = RowBatch::new();
            for partition in population.partitions() {
                let table: &mut BTreeMap<String, String> = &mut tables[partition.table.0];
                population.generate(&partition, &mut batch, &mut |batch| {
                    for row in 0..batch.len() {
                        let text = |column| match batch.value(row, column) {
                            Value::Text(text) => text.to_owned(),
                            _ => panic!("no text"),
                        };
                        let key = text(0);
                        let last = table.last_key_value();
                        assert!(last.is_none_or(|(last, _)| *last < key), "in order");
                        table.insert(key, text(1));
                    }
                    true
                });
            }
            Self {
                tables,
                ..Self::default()
            }
        }

        fn call(&mut self) -> crate::Result<()> {
            self.calls += 1;
            match &mut self.fails_after {
                Some(0) => {
                    self.fails_after = None;
                    Err(ConnectionError::Timeout("planted".into()))
                }
                Some(left) => {
                    *left -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }
    }

    struct Shown<'r>(&'r str, &'r str, bool);

    impl Row for Shown<'_> {
        fn value(&self, column: usize) -> Value<'_> {
            Value::Text(if column == 0 && self.2 {
                self.0
            } else {
                self.1
            })
        }
    }

    fn text<'v>(value: &Value<'v>) -> &'v str {
        match value {
            Value::Text(text) => text,
            _ => panic!("no text"),
        }
    }

    impl Connection for Memory {
        fn begin(&mut self, _access: Access) -> crate::Result<()> {
            self.before = Some(self.tables.clone());
            Ok(())
        }
        fn commit(&mut self) -> crate::Result<()> {
            self.call()?;
            self.before = None;
            Ok(())
        }
        fn rollback(&mut self) -> crate::Result<()> {
            if let Some(before) = self.before.take() {
                self.tables = before;
            }
            Ok(())
        }
        fn execute(
            &mut self,
            statement: StatementId,
            parameters: &[Value<'_>],
        ) -> crate::Result<u64> {
            self.call()?;
            let (table, statement) = TableStatement::named(statement);
            let table = &mut self.tables[table];
            let done = match statement {
                TableStatement::Put => {
                    let value = table.get_mut(text(&parameters[1]));
                    value.map(|value| text(&parameters[0]).clone_into(value))
                }
                TableStatement::Insert => {
                    let (key, value) = (text(&parameters[0]), text(&parameters[1]));
                    assert_eq!(table.insert(key.into(), value.into()), None, "twice");
                    Some(())
                }
                TableStatement::Delete => table.remove(text(&parameters[0])).map(drop),
                _ => panic!("{statement:?} writes nothing"),
            };
            Ok(u64::from(done.is_some()))
        }
        fn query(
            &mut self,
            statement: StatementId,
            parameters: &[Value<'_>],
            visit: &mut RowVisitor<'_>,
        ) -> crate::Result<u64> {
            self.call()?;
            let (table, statement) = TableStatement::named(statement);
            let from = text(&parameters[0]).to_owned();
            let rows = self.tables[table].range(from.clone()..);
            let limit = match parameters.get(1) {
                Some(Value::Integer(limit)) => usize::try_from(*limit).unwrap(),
                _ => 1,
            };
            let is_range = statement == TableStatement::Range;
            let rows = rows
                .take(limit)
                .filter(|(key, _)| is_range || **key == from);
            let mut count = 0;
            for (key, value) in rows {
                visit(&Shown(key, value, is_range));
                count += 1;
            }
            Ok(count)
        }
    }

    fn run(client: &mut dyn Client, memory: &mut Memory, transactions: u32) {
        for _ in 0..transactions {
            client.draw();
            client.run(memory).unwrap();
        }
    }

    fn violations(workload: &dyn Workload, memory: &mut Memory) -> Vec<String> {
        let conditions = workload.check(memory).unwrap();
        assert!(conditions.iter().all(|of| of.checked > 0));
        let broken = conditions.into_iter().filter(|of| of.violations > 0);
        broken
            .map(|of| format!("{}: {:?}", of.clause, of.first_violation))
            .collect()
    }

    #[test]
    fn rows_have_exactly_their_bytes() {
        let workload = spec(shape(1)).build().unwrap();
        let memory = Memory::loaded(&*workload);
        for table in &memory.tables {
            assert_eq!(table.len(), 3000);
            for (key, value) in table {
                assert_eq!(key.len(), 20);
                assert!((5..=90).contains(&value.len()), "{value}");
            }
            let bytes: usize = table.values().map(String::len).sum();
            // The mean is 47.5 with a deviation of 0.45.
            assert!((45..50).contains(&(bytes / 3000)), "{bytes}");
        }
    }

    #[test]
    fn keys_that_are_left_are_loaded_and_inserted_less_deleted() {
        for operations in [1, 25] {
            let workload = spec(shape(operations)).build().unwrap();
            let mut memory = Memory::loaded(&*workload);
            assert!(violations(&*workload, &mut memory).is_empty());
            let mut client = workload.clients(Seed::new(2), 1).remove(0);
            run(&mut *client, &mut memory, 40_000 / operations);
            let audit = client.audit();
            let count = |name: &str| {
                let line = audit.lines.iter().find(|line| line.name.starts_with(name));
                line.unwrap().count as usize
            };
            for (table, name) in memory.tables.iter().zip(["hashed", "counted"]) {
                let (inserted, deleted) = (
                    count(&format!("insert {name} among")),
                    count(&format!("delete {name} among")),
                );
                assert!(inserted > 4000 && deleted > 4000, "{inserted} {deleted}");
                assert_eq!(table.len(), 3000 + inserted - deleted);
            }
            assert!(violations(&*workload, &mut memory).is_empty());
            for line in &audit.lines {
                let share = line.count as f64 / line.total as f64;
                assert!((share - line.wanted).abs() < 0.01, "{line:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_leaves_the_same_rows() {
        let after = |seed: u64| {
            let workload = spec(shape(5)).build().unwrap();
            let mut memory = Memory::loaded(&*workload);
            let mut client = workload.clients(Seed::new(seed), 1).remove(0);
            run(&mut *client, &mut memory, 500);
            memory.tables
        };
        assert_eq!(after(1), after(1));
        assert_ne!(after(1), after(2));
    }

    #[test]
    fn transactions_that_fail_are_run_again_or_left_to_others() {
        for operations in [1, 25] {
            let workload = spec(shape(operations)).build().unwrap();
            let mut memory = Memory::loaded(&*workload);
            let mut clients = workload.clients(Seed::new(2), 2);
            let mut failures = 0;
            for step in 0..4000_u32 {
                let client = &mut clients[(step % 2) as usize];
                client.draw();
                memory.fails_after = step.is_multiple_of(3).then_some(step % operations);
                if client.run(&mut memory).is_err() {
                    failures += 1;
                    // Half of them are given up.
                    if step.is_multiple_of(2) {
                        client.run(&mut memory).unwrap();
                    }
                }
            }
            assert!(failures > 1000, "{failures}");
            assert!(violations(&*workload, &mut memory).is_empty());
        }
    }

    #[test]
    fn only_what_was_tried_is_counted_and_once() {
        let workload = spec(shape(10)).build().unwrap();
        let mut client = workload.clients(Seed::new(2), 1).remove(0);
        for _ in 0..20 {
            client.draw();
        }
        assert!(client.audit().lines.iter().all(|line| line.total == 0));
        for _ in 0..3 {
            assert!(client.run(&mut RefusingConnection).is_err());
        }
        assert!(client.audit().lines.iter().all(|line| line.total == 10));
    }

    #[test]
    fn planted_faults_are_found() {
        let workload = spec(shape(1)).build().unwrap();
        let loaded = || Memory::loaded(&*workload);
        let key = |memory: &Memory, table: usize, place: usize| {
            memory.tables[table].keys().nth(place).unwrap().clone()
        };
        let check = |memory: &mut Memory, wanted: &str| {
            let found = violations(&*workload, memory);
            assert!(
                matches!(&found[..], [one] if one.contains(wanted)),
                "{found:?}"
            );
            // A read of the same finds it too, but for rows that nobody reads.
            let mut client = workload.clients(Seed::new(2), 1).remove(0);
            (0..200_000).any(|_| {
                client.draw();
                client.run(memory).is_err()
            })
        };
        for table in 0..2 {
            let mut memory = loaded();
            let gone = key(&memory, table, 1500);
            memory.tables[table].remove(&gone);
            check(&mut memory, "1 keys of");

            let mut memory = loaded();
            let (one, other) = (key(&memory, table, 10), key(&memory, table, 11));
            let value = memory.tables[table][&one].clone();
            memory.tables[table].insert(other, value);
            check(&mut memory, "that was never written");

            let mut memory = loaded();
            let changed = key(&memory, table, 10).replace(|_| true, "g");
            memory.tables[table].insert(changed, "12345678".into());
            check(&mut memory, "which was never written");
        }
    }

    #[test]
    fn keys_are_divided_as_the_shape_says() {
        let shape = shape(1);
        assert_eq!(scaled(&shape, 6000).unwrap(), [3000, 3000]);
        assert_eq!(scaled(&shape, 61).unwrap(), [30, 30]);
        assert_eq!(scaled(&shape, 1).unwrap(), [1, 1]);
        let error = scaled(&shape, 3_000_000_000).unwrap_err().to_string();
        assert!(error.contains("which can have 1000000000"), "{error}");
    }

    #[test]
    fn rows_of_another_shape_are_refused() {
        let other = WorkloadSpec {
            shape: None,
            ..spec(shape(1))
        };
        let error = other.build().map(drop).unwrap_err();
        assert!(matches!(error, WorkloadError::OtherShape), "{error}");
    }

    #[test]
    fn touched_rows_answer_as_a_database_does() {
        for operations in [1, 25] {
            let workload = spec(shape(operations)).build().unwrap();
            let mut client = workload.clients(Seed::new(1), 1).remove(0);
            let mut tracer = workload.touch_tracer();
            for _ in 0..2000 / operations {
                client.draw();
                client.run(&mut tracer).unwrap();
                assert!(!tracer.touches().is_empty());
                tracer.forget();
            }
        }
    }
}
