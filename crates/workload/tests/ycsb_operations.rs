//! YCSB's operations do what they say, against a model of the table.

mod sqlite;

use std::collections::BTreeMap;

use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    Audit, Client, Connection, ConnectionError, Mix, Outcome, Workload, Ycsb,
    connection::{Access, Conflict, Row, RowVisitor, StatementId, Value},
    population::RowBatch,
    ycsb::{Core, Distribution},
};
use sqlite::Sqlite;

const RECORDS: u64 = 501;

type Fields = Vec<String>;

/// A database whose every answer is compared with a map of its rows.
struct Modelled {
    database: Sqlite,
    statements: Vec<&'static str>,
    rows: BTreeMap<String, Fields>,
    /// How the next statements end, the last first; then all succeed.
    faults: Vec<Fault>,
    /// The keys that statements were run for.
    keys: Vec<String>,
    /// Statements that were run, by the first word.
    ran: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// It conflicts and is not done.
    Conflict,
    /// It is done and then the connection is lost.
    LostAfter,
}

fn owned(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.into(),
        other => panic!("{other:?} is no text"),
    }
}

fn population(workload: &Ycsb) -> BTreeMap<String, Fields> {
    let population = workload.population();
    let mut rows = BTreeMap::new();
    for partition in population.partitions() {
        population.generate(&partition, &mut RowBatch::new(), &mut |batch| {
            for row in 0..batch.len() {
                let column = |column| owned(batch.value(row, column));
                rows.insert(column(0), (1..11).map(column).collect());
            }
            true
        });
    }
    rows
}

impl Modelled {
    fn loaded(workload: &Ycsb) -> Self {
        Self {
            database: Sqlite::loaded(workload),
            statements: workload
                .statements()
                .iter()
                .map(|statement| statement.sql)
                .collect(),
            rows: population(workload),
            faults: Vec::new(),
            keys: Vec::new(),
            ran: BTreeMap::new(),
        }
    }

    /// What is to happen to this statement, before it runs.
    fn begin(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<Fault, ConnectionError> {
        let word = self.statements[statement.0].split(' ').next().unwrap();
        // An update's new value comes first.
        self.keys
            .push(owned(parameters[usize::from(word == "UPDATE")]));
        *self.ran.entry(word).or_default() += 1;
        match self.faults.pop().unwrap_or(Fault::Nothing) {
            Fault::Conflict => Err(ConnectionError::Conflict {
                kind: Conflict::LockTimeout,
                source: "planted".into(),
            }),
            fault => Ok(fault),
        }
    }

    fn end<T>(fault: Fault, result: T) -> Result<T, ConnectionError> {
        match fault {
            Fault::LostAfter => Err(ConnectionError::Lost("planted".into())),
            _ => Ok(result),
        }
    }

    fn ran(&self, word: &str) -> u64 {
        self.ran.get(word).copied().unwrap_or(0)
    }

    /// The rows that the database really holds.
    fn held(&self) -> BTreeMap<String, Fields> {
        let mut select = self
            .database
            .raw
            .prepare("SELECT * FROM usertable")
            .unwrap();
        let rows = select.query_map([], |row| {
            let fields = (1..11).map(|column| row.get(column)).collect();
            Ok((row.get(0)?, fields))
        });
        rows.unwrap()
            .map(|row| row.map(|(key, fields): (String, Result<_, _>)| (key, fields.unwrap())))
            .collect::<Result<_, _>>()
            .unwrap()
    }
}

impl Connection for Modelled {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let fault = self.begin(statement, parameters)?;
        let sql = self.statements[statement.0];
        let mut values: Vec<String> = parameters.iter().map(|value| owned(*value)).collect();
        if let Some(rest) = sql.strip_prefix("UPDATE usertable SET field") {
            let field: usize = rest[..1].parse().unwrap();
            let value = values.remove(0);
            self.rows.get_mut(&values[0]).unwrap()[field] = value;
        } else {
            assert!(sql.starts_with("INSERT"));
            let key = values.remove(0);
            assert_eq!(self.rows.insert(key, values), None, "inserted twice");
        }
        let changed = self.database.execute(statement, parameters)?;
        Self::end(fault, changed)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        let fault = self.begin(statement, parameters)?;
        let sql = self.statements[statement.0];
        let mut found: Vec<Vec<String>> = Vec::new();
        let columns = self.database.raw.prepare(sql).unwrap().column_count();
        let count = self
            .database
            .query(statement, parameters, &mut |row: &dyn Row| {
                found.push(
                    (0..columns)
                        .map(|column| owned(row.value(column)))
                        .collect(),
                );
                visit(row);
            })?;
        let key = owned(parameters[0]);
        let one = self.rows.get(&key);
        let wanted: Vec<Vec<String>> = match (columns, parameters) {
            (1, _) => one.map(|_| vec![key]).into_iter().collect(),
            (10, _) => one.cloned().into_iter().collect(),
            (11, [_, Value::Integer(limit)]) => self
                .rows
                .range(key..)
                .take(*limit as usize)
                .map(|(key, fields)| [vec![key.clone()], fields.clone()].concat())
                .collect(),
            _ => panic!("{sql} is no query of an operation"),
        };
        assert_eq!(found, wanted, "{sql}");
        Self::end(fault, count)
    }
}

/// Answers at once, as a database that holds every key.
struct Answering;

/// A row; a scan's begins with its key.
struct Found<'v>(Option<Value<'v>>);

impl Row for Found<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        match (self.0, column) {
            (Some(key), 0) => key,
            _ => Value::Text("field"),
        }
    }
}

impl Connection for Answering {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        panic!("YCSB opens no transaction")
    }

    fn execute(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        Ok(1)
    }

    fn query(
        &mut self,
        _statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        visit(&Found(match parameters {
            [key, _limit] => Some(*key),
            _ => None,
        }));
        Ok(1)
    }
}

fn ycsb(core: Core) -> Ycsb {
    Ycsb::new(RECORDS, Seed::new(3))
        .unwrap()
        .with_row(ByteCount::new(50))
        .unwrap()
        .with_core(core)
}

fn run(client: &mut dyn Client, database: &mut dyn Connection) -> usize {
    let kind = client.draw();
    assert_eq!(client.run(database).unwrap(), Outcome::Committed);
    kind
}

fn assert_sound(workload: &Ycsb, database: &mut Sqlite) {
    for condition in workload.check(database).unwrap() {
        assert!(condition.checked > 0, "{condition:?}");
        assert_eq!(condition.violations, 0, "{condition:?}");
    }
}

#[test]
fn every_core_workload_reads_what_was_written() {
    for core in Core::ALL {
        let workload = ycsb(core);
        let mut database = Modelled::loaded(&workload);
        let mut clients = workload.clients(Seed::new(4), 2);
        let mut kinds = [0u64; 5];
        for turn in 0..1500 {
            // Not one after the other, so that neither is always ahead.
            let client = &mut clients[usize::from(turn % 3 == 0)];
            kinds[run(&mut **client, &mut database)] += 1;
        }
        assert!(database.held() == database.rows);
        assert_eq!(database.rows.len() as u64, RECORDS + kinds[2]);
        for (kind, count) in kinds.into_iter().enumerate() {
            assert_eq!(count > 0, workload.mix().weights()[kind] > 0, "{core:?}");
        }
        let [reads, updates, inserts, scans, both] = kinds;
        assert_eq!(database.ran("SELECT"), reads + scans + both);
        assert_eq!(database.ran("UPDATE"), updates + both);
        assert_eq!(database.ran("INSERT"), inserts);
        // What was inserted is what a larger population begins with.
        let larger = Ycsb::new(RECORDS + inserts, Seed::new(3)).unwrap();
        let larger = population(&larger.with_row(ByteCount::new(50)).unwrap());
        assert!(database.rows.keys().eq(larger.keys()));
        if core == Core::E {
            assert!(database.rows == larger);
        }
        assert_sound(&workload, &mut database.database);
    }
}

#[test]
fn audits_fit_for_every_mix_and_distribution() {
    let distributions = [
        "uniform",
        "sequential",
        "zipfian",
        "true-zipfian",
        "latest",
        "hotspot",
    ];
    for text in distributions {
        let distribution: Distribution = text.parse().unwrap();
        // So many that the inserts change no range's share by much.
        let workload = Ycsb::new(100_000, Seed::new(3))
            .unwrap()
            .with_row(ByteCount::new(50))
            .unwrap()
            .with_distribution(distribution)
            .with_mix(Mix::new(&[2, 1, 1, 2, 1]));
        let mut audit = Audit::default();
        for mut client in workload.clients(Seed::new(5), 2) {
            for _ in 0..20_000 {
                run(&mut *client, &mut Answering);
            }
            audit.merge(&client.audit());
        }
        assert_eq!(audit.lines.len(), 5);
        for line in &audit.lines {
            assert_eq!(line.total, 40_000);
            let wanted = line.wanted * 40_000.0;
            let deviation = (wanted * (1.0 - line.wanted)).sqrt();
            assert!(
                (line.count as f64 - wanted).abs() < 4.0 * deviation,
                "{line:?}"
            );
        }
        let names: Vec<&str> = audit
            .distributions
            .iter()
            .map(|distribution| distribution.name.as_str())
            .collect();
        assert_eq!(names.len(), if text == "sequential" { 2 } else { 3 });
        for distribution in &audit.distributions {
            let sum: f64 = distribution.wanted.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{distribution:?}");
            assert!(distribution.counts.iter().sum::<u64>() > 10_000);
            // At most 32 degrees of freedom: above 70 once in 10,000 seeds.
            let chi_square = distribution.chi_square();
            assert!(chi_square < 70.0, "{text}: {chi_square} {distribution:?}");
        }
    }
    // What a mix does not draw is not audited.
    let client = &ycsb(Core::C).clients(Seed::new(5), 1)[0];
    let audit = client.audit();
    assert_eq!((audit.lines.len(), audit.distributions.len()), (1, 1));
}

#[test]
fn a_failed_insert_leaves_no_hole_and_no_second_row() {
    let workload = ycsb(Core::D).with_mix(Mix::new(&[0, 0, 1, 0, 0]));
    for fault in [Fault::Conflict, Fault::LostAfter] {
        let mut database = Modelled::loaded(&workload);
        let mut clients = workload.clients(Seed::new(6), 2);
        for turn in 0..20 {
            let client = &mut clients[turn % 2];
            client.draw();
            if turn % 3 == 0 {
                database.faults = vec![fault];
                assert!(client.run(&mut database).is_err());
                if turn % 2 == 0 {
                    // The other client is not held up by the open key.
                    clients[1].draw();
                    clients[1].run(&mut database).unwrap();
                    // Half of the time it is drawn again rather than retried.
                    clients[0].draw();
                }
            }
            clients[turn % 2].run(&mut database).unwrap();
        }
        assert!(database.held() == database.rows);
        let inserted = database.rows.len() as u64 - RECORDS;
        let larger = Ycsb::new(RECORDS + inserted, Seed::new(3)).unwrap();
        let larger = population(&larger.with_row(ByteCount::new(50)).unwrap());
        assert!(database.rows == larger);
        // Each failed one was looked for once.
        assert_eq!(database.ran("SELECT"), 7);
        let repeated = if fault == Fault::Conflict { 7 } else { 0 };
        assert_eq!(database.ran("INSERT"), inserted + repeated);
    }
}

#[test]
fn latest_reads_no_key_whose_insert_is_open() {
    let workload = ycsb(Core::D).with_mix(Mix::new(&[1, 0, 1, 0, 0]));
    let mut database = Modelled::loaded(&workload);
    let mut clients = workload.clients(Seed::new(7), 2);
    // One client's insert fails and is not retried yet.
    while clients[0].draw() != 2 {}
    database.faults = vec![Fault::Conflict];
    assert!(clients[0].run(&mut database).is_err());
    for _ in 0..1000 {
        run(&mut *clients[1], &mut database);
    }
    let inserted = database.rows.len() as u64 - RECORDS;
    assert!(inserted > 400, "{inserted}");
    // All of these reads found their key, and the open one is still free.
    clients[0].run(&mut database).unwrap();
    assert_sound(&workload, &mut database.database);
}

#[test]
fn an_insert_that_was_given_up_is_the_next_of_any_client() {
    let workload = ycsb(Core::D).with_mix(Mix::new(&[1, 0, 1, 0, 0]));
    for fault in [Fault::Conflict, Fault::LostAfter] {
        let mut database = Modelled::loaded(&workload);
        let mut clients = workload.clients(Seed::new(7), 2);
        while clients[0].draw() != 2 {}
        database.faults = vec![fault];
        assert!(clients[0].run(&mut database).is_err());
        // It goes on with a read, and never inserts again.
        while clients[0].draw() != 0 {}
        while run(&mut *clients[1], &mut database) != 2 {}
        let larger = Ycsb::new(RECORDS + 1, Seed::new(3)).unwrap();
        let larger = population(&larger.with_row(ByteCount::new(50)).unwrap());
        assert!(database.rows == larger);
        assert!(database.held() == database.rows);
    }
}

#[test]
fn keys_are_chosen_among_the_records_there_are_at_the_first_try() {
    let workload = ycsb(Core::D).with_mix(Mix::new(&[1, 0, 1, 0, 0]));
    let mut database = Sqlite::loaded(&workload);
    let mut clients = workload.clients(Seed::new(10), 102);
    let mut inserting = clients.pop().unwrap();
    // This one's insert is drawn and never runs: it holds nothing back.
    let mut idle = clients.pop().unwrap();
    while idle.draw() != 2 {}
    for client in &mut clients {
        while client.draw() != 0 {}
    }
    for _ in 0..1000 {
        run(&mut *inserting, &mut database);
    }
    let loaded = format!("DELETE FROM usertable WHERE rowid <= {RECORDS}");
    database.raw.execute(&loaded, []).unwrap();
    let run = |client: &mut Box<dyn Client>| client.run(&mut database).is_ok();
    let of_later = clients.iter_mut().map(run).filter(|found| *found).count();
    // `latest` gives about 90 % to the later half of the records; the standard
    // deviation is 3.
    assert!(of_later > 75, "{of_later}");
}

#[test]
fn a_retry_keeps_its_key() {
    for weights in [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]] {
        let workload = ycsb(Core::A).with_mix(Mix::new(&weights));
        let mut database = Modelled::loaded(&workload);
        let mut clients = workload.clients(Seed::new(11), 1);
        for turn in 0..20 {
            clients[0].draw();
            database.faults = vec![Fault::Conflict; 2];
            assert!(clients[0].run(&mut database).is_err());
            assert!(clients[0].run(&mut database).is_err());
            clients[0].run(&mut database).unwrap();
            let keys = &database.keys[3 * turn..];
            assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]));
        }
        database.keys.dedup();
        assert!(database.keys.len() > 10, "{:?}", database.keys);
    }
}

#[test]
fn a_read_modify_write_is_retried_from_its_read() {
    let workload = ycsb(Core::F).with_mix(Mix::new(&[0, 0, 0, 0, 1]));
    let mut database = Modelled::loaded(&workload);
    let mut clients = workload.clients(Seed::new(8), 1);
    clients[0].draw();
    database.faults = vec![Fault::Conflict, Fault::Nothing];
    assert!(clients[0].run(&mut database).is_err());
    clients[0].run(&mut database).unwrap();
    assert_eq!((database.ran("SELECT"), database.ran("UPDATE")), (2, 2));
    assert!(database.held() == database.rows);
}

#[test]
fn a_record_that_is_missing_or_of_another_width_is_an_error() {
    let workload = ycsb(Core::A);
    for (sql, reason) in [
        ("DELETE FROM usertable", "0 rows instead of 1 for key user"),
        (
            "UPDATE usertable SET field7 = 'four'",
            "not ten fields of 5 characters",
        ),
    ] {
        for mix in [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]] {
            let workload = workload.clone().with_mix(Mix::new(&mix));
            let mut database = Sqlite::loaded(&workload);
            database.raw.execute(sql, []).unwrap();
            let mut clients = workload.clients(Seed::new(9), 1);
            clients[0].draw();
            let error = clients[0].run(&mut database).unwrap_err();
            assert!(error.to_string().contains("FROM usertable WHERE ycsb_key"));
            let ConnectionError::Other { source, .. } = error else {
                panic!("{error}");
            };
            let text = source.to_string();
            let matches = text.contains(reason) || text.contains("0 rows instead of");
            assert!(matches, "{text}");
        }
    }
    // The same of an update.
    let workload = workload.with_mix(Mix::new(&[0, 1, 0, 0, 0]));
    let mut database = Sqlite::loaded(&workload);
    database.raw.execute("DELETE FROM usertable", []).unwrap();
    let mut clients = workload.clients(Seed::new(9), 1);
    clients[0].draw();
    assert!(clients[0].run(&mut database).is_err());
}

#[test]
fn checks_find_what_does_not_hold() {
    // Two ranges of the checks.
    let workload = Ycsb::new(40_001, Seed::new(3)).unwrap();
    let workload = workload.with_row(ByteCount::new(10)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    assert_sound(&workload, &mut database);
    for (clause, sql) in [
        (
            "records",
            "DELETE FROM usertable WHERE ycsb_key = 'user6284781860667377211'",
        ),
        (
            "keys",
            "UPDATE usertable SET ycsb_key = 'xser1' WHERE rowid = 7",
        ),
        (
            "field lengths",
            "UPDATE usertable SET field9 = '' WHERE rowid = 7",
        ),
    ] {
        database.begin(Access::Write).unwrap();
        assert_eq!(database.raw.execute(sql, []).unwrap(), 1);
        for condition in workload.check(&mut database).unwrap() {
            let violations = u64::from(condition.clause == clause);
            assert_eq!(condition.violations, violations, "{condition:?}");
            assert_eq!(condition.first_violation.is_some(), violations > 0);
        }
        database.rollback().unwrap();
    }
    // Only without its primary key can a table hold a key twice.
    database
        .raw
        .execute_batch(
            "CREATE TABLE other AS SELECT * FROM usertable; \
             INSERT INTO other SELECT * FROM usertable WHERE rowid = 7; \
             DROP TABLE usertable; ALTER TABLE other RENAME TO usertable",
        )
        .unwrap();
    for condition in workload.check(&mut database).unwrap() {
        let violations = u64::from(condition.clause == "distinct keys");
        assert_eq!(condition.violations, violations, "{condition:?}");
    }
}

#[test]
fn one_seed_gives_one_sequence_and_another_client_another() {
    let sequence = |seed, index: usize| {
        let workload = ycsb(Core::A);
        let mut database = Modelled::loaded(&workload);
        let mut clients = workload.clients(Seed::new(seed), 2);
        for _ in 0..200 {
            run(&mut *clients[index], &mut database);
        }
        database.held()
    };
    assert!(sequence(1, 0) == sequence(1, 0));
    assert!(sequence(1, 0) != sequence(1, 1));
    assert!(sequence(1, 0) != sequence(2, 0));
}
