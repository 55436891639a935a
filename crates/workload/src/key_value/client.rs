//! One client's operations. Each is sent alone and its answer awaited.

use std::{mem, sync::Arc};

use octavo_units::Seed;

use super::{
    answer::UnexpectedAnswer,
    contents::{Contents, Version},
    key::KeyId,
    window::Window,
};
use crate::{
    Audit, AuditLine, Client, Connection, Mix, Outcome, Result, TransactionKind,
    connection::{Access, ConnectionError, Row, Statement, Value},
    keys::Chooser,
    random::Draws,
    shape::{Operation, Spread, TableStatement},
};

/// What all clients of a run share.
#[derive(Debug)]
pub(super) struct Run {
    /// By table.
    pub(super) windows: Vec<Window>,
    pub(super) contents: Arc<Contents>,
    pub(super) statements: &'static [Statement],
    /// The operations that are drawn, by their table, in the order of the mix.
    pub(super) operations: Vec<(usize, Operation)>,
    /// Their names.
    pub(super) kinds: &'static [TransactionKind],
    pub(super) mix: Mix,
    /// Operations of a transaction.
    pub(super) count: u32,
    /// Keys that ranges read, by table.
    pub(super) lengths: Vec<Spread>,
    /// Of each table, whether new keys come behind all others.
    pub(super) are_sequential: Vec<bool>,
    /// The tables' names.
    pub(super) names: Vec<&'static str>,
}

impl Run {
    fn failed(
        &self,
        table: usize,
        statement: TableStatement,
        answer: UnexpectedAnswer,
    ) -> ConnectionError {
        crate::answer::failed(self.statements, statement.of(table), answer)
    }
}

/// One operation with its inputs.
#[derive(Clone, Copy, Debug)]
struct Step {
    table: usize,
    operation: Operation,
    /// Whether it has its key.
    number: Option<u64>,
    /// Keys that a range reads.
    length: u32,
    version: Version,
    /// Whether an insert or a removal may have been done already.
    is_doubtful: bool,
}

/// One client.
#[derive(Debug)]
pub(super) struct KeyValueClient {
    run: Arc<Run>,
    index: usize,
    draws: Draws,
    /// By table; none where no keys are drawn.
    choosers: Vec<Option<Chooser>>,
    /// The transaction drawn last, until it has run.
    steps: Vec<Step>,
    /// The positions of its operations.
    drawn: Vec<usize>,
    is_tried: bool,
    counts: Vec<u64>,
    texts: Texts,
}

/// Memory that is used again for each operation.
#[derive(Debug, Default)]
struct Texts {
    key: String,
    value: String,
    again: String,
}

impl KeyValueClient {
    /// A client with its own draws and its own clones of the run's choosers.
    pub(super) fn new(
        run: Arc<Run>,
        choosers: Vec<Option<Chooser>>,
        seed: Seed,
        index: u32,
    ) -> Self {
        Self {
            draws: Draws::new(seed.derive("client", u64::from(index))),
            index: index as usize,
            choosers,
            steps: Vec::with_capacity(run.count as usize),
            drawn: Vec::with_capacity(run.count as usize),
            is_tried: false,
            counts: vec![0; run.operations.len()],
            texts: Texts::default(),
            run,
        }
    }

    /// Leaves what the transaction drawn last has not done to others, and lets go of its keys.
    fn leave(&mut self) {
        for step in self.steps.drain(..) {
            let window = &self.run.windows[step.table];
            match (step.operation, step.number) {
                (Operation::Insert, Some(number)) => window.give_up_new(number),
                (Operation::Delete, Some(number)) => window.give_up_oldest(number),
                (Operation::Put, Some(_)) => window.release(self.index),
                _ => {}
            }
        }
    }

    /// Draws the inputs of all steps. Which keys there are is known only now: a transaction may wait
    /// for long before its first try.
    fn draw_inputs(&mut self) -> Result<()> {
        let Self {
            run,
            index,
            draws,
            choosers,
            steps,
            ..
        } = self;
        for step in steps {
            let window = &run.windows[step.table];
            let no_chooser =
                || run.failed(step.table, TableStatement::Get, UnexpectedAnswer::NoKey);
            let chooser = choosers[step.table].as_mut();
            match step.operation {
                Operation::Get | Operation::Range => {
                    let chooser = chooser.ok_or_else(no_chooser)?;
                    let number = window.draw(chooser, draws);
                    step.number = Some(number);
                    if step.operation == Operation::Range {
                        let lengths = run.lengths[step.table];
                        step.length = lengths.by_bits(bits(draws));
                        if run.are_sequential[step.table] {
                            step.number = Some(window.back_from_the_end(number, step.length));
                        }
                    }
                }
                Operation::GetAbsent => {
                    let (first, end) = window.bounds();
                    let within = end.saturating_sub(first).max(1).cast_signed();
                    step.number = Some(first + draws.uniform(0, within - 1).unsigned_abs());
                }
                Operation::Put => {
                    let chooser = chooser.ok_or_else(no_chooser)?;
                    step.number = Some(window.draw_to_write(*index, chooser, draws));
                    let version = u64::from(bits(draws)) << 32 | u64::from(bits(draws));
                    step.version = Version::new(version);
                }
                Operation::Delete | Operation::Insert => {
                    let oldest = match step.operation {
                        Operation::Delete => window.take_oldest(*index),
                        _ => None,
                    };
                    let taken = match oldest {
                        Some(oldest) => oldest,
                        None => {
                            step.operation = Operation::Insert;
                            let none = || {
                                let insert = TableStatement::Insert;
                                run.failed(step.table, insert, UnexpectedAnswer::NoKey)
                            };
                            window.take_new().ok_or_else(none)?
                        }
                    };
                    step.number = Some(taken.number);
                    step.is_doubtful = taken.is_doubtful;
                    step.version = run.contents.first_version(step.table, taken.number);
                }
            }
        }
        Ok(())
    }

    /// Runs all steps, as one transaction where there are several.
    fn run_steps(&mut self, connection: &mut dyn Connection) -> Result<()> {
        let Self {
            run, steps, texts, ..
        } = self;
        if run.count == 1 {
            return steps
                .iter()
                .try_for_each(|step| step.run(run, texts, connection));
        }
        let access = match steps.iter().all(|step| step.operation.reads()) {
            true => Access::Read,
            false => Access::Write,
        };
        connection.begin(access)?;
        let mut each = steps.iter();
        let done = each
            .try_for_each(|step| step.run(run, texts, connection))
            .and_then(|()| connection.commit());
        if done.is_err() {
            // The first error says what went wrong.
            let _second = connection.rollback();
        }
        done
    }
}

/// 32 random bits.
fn bits(draws: &mut Draws) -> u32 {
    let number = draws.uniform(0, i64::from(u32::MAX));
    u32::try_from(number).unwrap_or_default()
}

impl Step {
    fn run(&self, run: &Run, texts: &mut Texts, connection: &mut dyn Connection) -> Result<()> {
        let Self { table, number, .. } = *self;
        let Some(number) = number else {
            return Ok(());
        };
        let (window, contents) = (&run.windows[table], &*run.contents);
        let form = &contents.tables[table].form;
        let Texts { key, value, again } = texts;
        key.clear();
        form.push(
            key,
            match self.operation {
                Operation::GetAbsent => KeyId::absent(number),
                _ => KeyId::of(number),
            },
        );
        let rows = |statement, wanted, found| {
            let key = key.clone();
            let answer = UnexpectedAnswer::Rows { key, wanted, found };
            Err(run.failed(table, statement, answer))
        };
        let is_there = |connection: &mut dyn Connection| -> Result<bool> {
            let find = TableStatement::Find.of(table);
            Ok(connection.query(find, &[Value::Text(key)], &mut |_| {})? > 0)
        };
        match self.operation {
            Operation::Get | Operation::GetAbsent => {
                let statement = TableStatement::Get;
                let (mut is_sound, mut is_made_up) = (true, false);
                let mut look = |row: &dyn Row| {
                    let Value::Text(value) = row.value(0) else {
                        is_sound = false;
                        return;
                    };
                    is_made_up = Contents::is_made_up(value);
                    is_sound &= is_made_up || contents.is_value(table, number, value);
                };
                let found =
                    connection.query(statement.of(table), &[Value::Text(key)], &mut look)?;
                let wanted = u64::from(self.operation == Operation::Get);
                match found {
                    _ if !is_sound && wanted == 1 => {
                        let key = key.clone();
                        Err(run.failed(table, statement, UnexpectedAnswer::Value { key }))
                    }
                    0 if window.may_be_gone(number) => Ok(()),
                    _ if is_made_up => Ok(()),
                    found if found != wanted => rows(statement, wanted, found),
                    _ => Ok(()),
                }
            }
            Operation::Range => {
                let statement = TableStatement::Range;
                let (mut is_sound, mut is_first, mut begins) = (true, true, false);
                let mut look = |row: &dyn Row| {
                    let (Value::Text(found), Value::Text(value)) = (row.value(0), row.value(1))
                    else {
                        is_sound = false;
                        return;
                    };
                    if mem::take(&mut is_first) {
                        begins = found == key;
                    }
                    let number = form.read(found, again).and_then(KeyId::number);
                    is_sound &= number
                        .is_some_and(|number| contents.is_value(table, number, value))
                        || Contents::is_made_up(value);
                };
                let parameters = [Value::Text(key), Value::Integer(self.length.into())];
                let found = connection.query(statement.of(table), &parameters, &mut look)?;
                if found > self.length.into() {
                    return rows(statement, self.length.into(), found);
                }
                match is_sound && (begins || window.may_be_gone(number)) {
                    true => Ok(()),
                    false => {
                        let key = key.clone();
                        Err(run.failed(table, statement, UnexpectedAnswer::Range { key }))
                    }
                }
            }
            Operation::Put => {
                value.clear();
                contents.push(value, table, number, self.version);
                let parameters = [Value::Text(value), Value::Text(key)];
                match connection.execute(TableStatement::Put.of(table), &parameters)? {
                    1 => Ok(()),
                    found => rows(TableStatement::Put, 1, found),
                }
            }
            Operation::Insert => {
                if self.is_doubtful && is_there(connection)? {
                    return Ok(());
                }
                value.clear();
                contents.push(value, table, number, self.version);
                let parameters = [Value::Text(key), Value::Text(value)];
                match connection.execute(TableStatement::Insert.of(table), &parameters)? {
                    1 => Ok(()),
                    found => rows(TableStatement::Insert, 1, found),
                }
            }
            Operation::Delete => {
                if self.is_doubtful && !is_there(connection)? {
                    return Ok(());
                }
                let delete = TableStatement::Delete;
                match connection.execute(delete.of(table), &[Value::Text(key)])? {
                    1 => Ok(()),
                    found => rows(delete, 1, found),
                }
            }
        }
    }
}

impl Client for KeyValueClient {
    /// Keys are left to the first try, which may come much later: only then is it known which there
    /// are.
    fn draw(&mut self) -> usize {
        self.leave();
        self.is_tried = false;
        self.drawn.clear();
        for _ in 0..self.run.count {
            let position = self.run.mix.draw(&mut self.draws);
            let (table, operation) = self.run.operations[position];
            self.drawn.push(position);
            self.steps.push(Step {
                table,
                operation,
                number: None,
                length: 0,
                version: Version::default(),
                is_doubtful: false,
            });
        }
        match (self.run.count, self.drawn.first()) {
            (1, Some(&position)) => position,
            _ => 0,
        }
    }

    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        if !mem::replace(&mut self.is_tried, true) {
            for &position in &self.drawn {
                self.counts[position] += 1;
            }
            self.draw_inputs()?;
        }
        if let Err(error) = self.run_steps(connection) {
            // The connection may have been lost after the commit.
            for step in &mut self.steps {
                step.is_doubtful = true;
            }
            return Err(error);
        }
        for step in self.steps.drain(..) {
            let window = &self.run.windows[step.table];
            match (step.operation, step.number) {
                (Operation::Insert, Some(number)) => window.inserted(number),
                (Operation::Put, _) => window.release(self.index),
                _ => {}
            }
        }
        Ok(Outcome::Committed)
    }

    fn audit(&self) -> Audit {
        let run = &self.run;
        let lines = AuditLine::of_kinds(run.kinds, &self.counts, &run.mix, "operations");
        let tables = self.choosers.iter().enumerate();
        let distributions = tables.filter_map(|(position, chooser)| {
            let mut audit = chooser.as_ref()?.audit(run.windows[position].choice())?;
            audit.name = format!("{} of {}", audit.name, run.names[position]);
            Some(audit)
        });
        Audit {
            lines: lines.filter(|line| line.wanted > 0.0).collect(),
            distributions: distributions.collect(),
            ..Audit::default()
        }
    }
}
