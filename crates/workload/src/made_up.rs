//! A workload for tests, which no registry has by itself. It is the smallest that
//! a family can have: one table of counters, and one transaction that adds to
//! one of them.

use std::sync::{Arc, LazyLock};

use octavo_units::Seed;

use crate::{
    Audit, Client, Condition, Connection, ConnectionError, DataKind, DataSpec, Family, KindTrial,
    Member, Mix, Outcome, Parameter, TransactionKind, Trial, Unit, Workload, boxed,
    connection::{Access, Statement, StatementId, Value, statements},
    population::{Partition, Population, RowBatch},
    schema::{ColumnKind::Integer, Table, TableId, tables},
    touch::{Hits, Place, RowModel, TouchTracer, integers},
};

/// The family, as it would be registered.
pub static TALLY: Family = Family {
    data: DataKind {
        name: "tally",
        title: "Tally",
        parameters: &[Parameter {
            name: "counters",
            unit: Unit::Count,
            help: "Counters of a tally",
            noun: Some("counter"),
            label: ", counters: ",
            default: |_| 100,
            min: |_| 1,
            max: 1000,
            multiple_of: 1,
        }],
    },
    members: &[Member {
        name: "tally",
        title: "Tally",
        help: "Adds one to a counter",
    }],
    takes_distribution: false,
    takes_shape: false,
    is_divisible: false,
    trial: Trial {
        data: &[],
        mix: None,
        transactions: 50,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: true,
        mix: None,
    },
    make: |spec| {
        Ok(Box::new(Tally {
            data: spec.data,
            mix: spec
                .mix
                .as_ref()
                .map_or(Ok(Mix::new(&[1])), |mix| Mix::parse(mix, TRANSACTIONS))?,
        }))
    },
};

static TRANSACTIONS: &[TransactionKind] = &[TransactionKind::plain("Add")];

static TABLES: LazyLock<[Table; 1]> = LazyLock::new(|| {
    tables! {
        tally(16) key [id] {
            id: Integer,
            value: Integer,
        }
    }
});

statements! {
    /// The transaction.
    Transaction {
        ADD: [Integer, Integer] = "UPDATE tally SET value = value + ?1 WHERE id = ?2"
            updates tally of [value, id] sets [value];
    }
    /// The condition.
    Checks {
        COUNT: [] -> [Integer] = "SELECT COUNT(*) FROM tally" reads tally;
    }
}

#[derive(Clone)]
struct Tally {
    data: DataSpec,
    mix: Mix,
}

impl Workload for Tally {
    fn name(&self) -> &'static str {
        "tally"
    }
    fn data_spec(&self) -> DataSpec {
        self.data
    }
    fn tables(&self) -> &[Table] {
        &*TABLES
    }
    fn statements(&self) -> &'static [Statement] {
        STATEMENTS
    }
    fn transactions(&self) -> &'static [TransactionKind] {
        TRANSACTIONS
    }
    fn mix(&self) -> &Mix {
        &self.mix
    }
    fn counted_name(&self) -> &'static str {
        "additions"
    }
    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(self.clone())
    }
    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        boxed(count, |index| Adder {
            counters: self.data.scale(),
            drawn: seed.derive("client", u64::from(index)).get(),
        })
    }
    fn touch_tracer(&self) -> TouchTracer {
        TouchTracer::new(TouchedCounters, STATEMENTS, self.tables())
    }
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        let mut found = false;
        let all = Value::Integer(self.data.scale().cast_signed());
        connection.query(COUNT, &[], &mut |row| found = row.value(0) == all)?;
        Ok(vec![Condition {
            clause: "counters".into(),
            checked: 1,
            violations: u64::from(!found),
            first_violation: None,
        }])
    }
}

impl Population for Tally {
    fn partitions(&self) -> Vec<Partition> {
        vec![Partition {
            table: TableId(0),
            part: 0,
            rows_about: self.data.scale(),
        }]
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        batch.reset(partition.table, TABLES[0].columns.len());
        for id in 1..=self.data.scale().cast_signed() {
            batch.push_integer(id);
            batch.push_integer(0);
            if batch.end_row(consume).is_break() {
                return;
            }
        }
        batch.end(consume);
    }
}

struct TouchedCounters;

impl RowModel for TouchedCounters {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let [_one, id]: [i64; 2] = integers(parameters);
        match StatementName::from(statement) {
            StatementName::Transaction(Transaction::ADD) => {
                hits.grow(Place::initial(id.unsigned_abs() - 1), 1, 1);
                1
            }
            StatementName::Checks(_) => unreachable!("checks are not run on a tracer"),
        }
    }
}

struct Adder {
    counters: u64,
    drawn: u64,
}

impl Client for Adder {
    fn draw(&mut self) -> usize {
        // Knuth's MMIX generator.
        self.drawn = self
            .drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        0
    }

    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
        let id = (self.drawn >> 33) % self.counters + 1;
        let parameters = [Value::Integer(1), Value::Integer(id.cast_signed())];
        connection.begin(Access::Write)?;
        assert_eq!(connection.execute(ADD, &parameters)?, 1);
        connection.commit()?;
        Ok(Outcome::Committed)
    }

    fn audit(&self) -> Audit {
        Audit::default()
    }
}
