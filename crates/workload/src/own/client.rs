//! A client that runs the user's scripts.

use std::{sync::Arc, time::Duration};

use octavo_script::{
    Access as Wanted, Control, Host, PARAMETERS_MAX, Parameter, Random, RunError, State,
};
use octavo_units::Seed;

use super::call::{FEW, call, no_counts};
use crate::{
    Audit, AuditLine, Client, Connection, ConnectionError, Mix, Outcome, Result, StatementCount,
    TransactionKind,
    connection::{Access, Real, StatementId, Value},
    random::Draws,
    user::OwnProgram,
};

/// One client.
pub(super) struct OwnClient {
    programs: Arc<[OwnProgram]>,
    kinds: &'static [TransactionKind],
    mix: Mix,
    draws: Draws,
    /// What the transaction draws.
    transaction: Draws,
    /// The variables of each script.
    states: Vec<State>,
    /// The script drawn last.
    drawn: Option<usize>,
    /// Where its random numbers begin: a retry has the same.
    begin: Seed,
    /// Draws so far, which number the seeds.
    number: u64,
    /// Whether the transaction drawn last was counted, at its first try.
    is_counted: bool,
    ran: Vec<u64>,
    /// What the statements of each script found.
    found: Vec<Vec<StatementCount>>,
    seed: Seed,
}

impl OwnClient {
    /// Client `index`, which draws from its own part of `seed`.
    pub(super) fn new(
        programs: &Arc<[OwnProgram]>,
        kinds: &'static [TransactionKind],
        mix: &Mix,
        seed: Seed,
        index: u32,
    ) -> Self {
        let own = seed.derive("client", u64::from(index));
        // pgbench's `default_seed` is one for all clients.
        let default_seed = seed.derive("default_seed", 0).get().cast_signed();
        let states = programs.iter();
        let states: Vec<State> = states
            .map(|own| own.program.state(index, default_seed))
            .collect();
        Self {
            programs: Arc::clone(programs),
            kinds,
            mix: mix.clone(),
            draws: Draws::new(own),
            transaction: Draws::new(own),
            ran: vec![0; states.len()],
            found: programs
                .iter()
                .map(|own| no_counts(&own.statements))
                .collect(),
            states,
            drawn: None,
            begin: own,
            number: 0,
            is_counted: false,
            seed: own,
        }
    }
}

impl Client for OwnClient {
    fn draw(&mut self) -> usize {
        let script = self.mix.draw(&mut self.draws);
        self.number += 1;
        self.begin = self.seed.derive("transaction", self.number);
        self.is_counted = false;
        self.drawn = Some(script);
        script
    }

    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let script = self.drawn.expect("a transaction is drawn before it runs");
        // Neither is a retry: how many there are is another cell's chance.
        let is_first = !std::mem::replace(&mut self.is_counted, true);
        self.ran[script] += u64::from(is_first);
        let own = &self.programs[script];
        self.transaction.restart(self.begin);
        let mut host = OnConnection {
            connection,
            draws: &mut self.transaction,
            own,
            found: is_first.then_some(&mut self.found[script][..]),
            is_open: false,
        };
        match own.program.run(&mut self.states[script], &mut host) {
            Ok(true) => Ok(Outcome::Committed),
            Ok(false) => Ok(Outcome::RolledBack),
            Err(error) => {
                connection.rollback()?;
                Err(match error {
                    // Conflicts and the like are acted on.
                    RunError::Host {
                        script,
                        line,
                        error: ConnectionError::Other { context, source },
                    } => ConnectionError::Other {
                        context: format!("{script}, line {line}: {context}"),
                        source,
                    },
                    // Each of the same kind would take as long.
                    RunError::Host {
                        script,
                        line,
                        error: ConnectionError::Timeout(source),
                    } => ConnectionError::Other {
                        context: format!(
                            "{script}, line {line}: a statement took longer than its limit"
                        ),
                        source,
                    },
                    RunError::Host { error, .. } => error,
                    other => ConnectionError::other("run a script", other),
                })
            }
        }
    }

    fn audit(&self) -> Audit {
        let kinds = AuditLine::of_kinds(self.kinds, &self.ran, &self.mix, "transactions");
        Audit {
            lines: kinds.filter(|line| line.wanted > 0.0).collect(),
            // Those too that never ran: somebody wonders why.
            statements: self.found.iter().flatten().cloned().collect(),
            ..Audit::default()
        }
    }
}

/// A connection as what a script runs against.
struct OnConnection<'c> {
    connection: &'c mut dyn Connection,
    draws: &'c mut Draws,
    own: &'c OwnProgram,
    /// At the first try.
    found: Option<&'c mut [StatementCount]>,
    is_open: bool,
}

impl OnConnection<'_> {
    fn count(&mut self, statement: usize, rows: u64) {
        if let Some(found) = &mut self.found {
            found[statement].ran(rows);
        }
    }
}

impl Random for OnConnection<'_> {
    fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.draws.uniform(low, high)
    }

    fn fraction(&mut self) -> f64 {
        self.draws.fraction()
    }
}

impl Host for OnConnection<'_> {
    type Error = ConnectionError;

    fn control(&mut self, control: Control) -> Result<()> {
        self.is_open = matches!(control, Control::Begin(_));
        match control {
            Control::Begin(wanted) => self.connection.begin(match wanted {
                Wanted::Read => Access::Read,
                Wanted::Write => Access::Write,
                Wanted::WriteRepeatable => Access::WriteRepeatable,
                Wanted::WriteSerializable => Access::WriteSerializable,
            }),
            Control::Commit => self.connection.commit(),
            Control::Rollback => self.connection.rollback(),
        }
    }

    fn statement(
        &mut self,
        statement: usize,
        parameters: &[Parameter<'_>],
        column: &mut dyn FnMut(usize, Parameter<'_>),
    ) -> Result<()> {
        let mut few = [Value::Null; FEW];
        let mut many;
        let values = if parameters.len() <= FEW {
            &mut few[..parameters.len()]
        } else {
            many = [Value::Null; PARAMETERS_MAX];
            &mut many[..parameters.len()]
        };
        for (value, parameter) in values.iter_mut().zip(parameters) {
            *value = as_value(*parameter);
        }
        let own = &self.own.statements[statement];
        let columns = own.columns;
        let id = StatementId(self.own.first_statement + statement);
        let rows = call(self.connection, own, id, values, self.is_open, &mut |row| {
            for position in 0..columns {
                column(position, as_parameter(row.value(position)));
            }
        })?;
        self.count(statement, rows);
        Ok(())
    }

    fn sleep(&mut self, time: Duration) {
        self.connection.sleep(time);
    }
}

fn as_value(parameter: Parameter<'_>) -> Value<'_> {
    use octavo_script::Value as Own;
    match parameter {
        Parameter::Text(text) => Value::Text(text),
        Parameter::Value(Own::Null) => Value::Null,
        Parameter::Value(Own::Boolean(value)) => Value::Integer(value.into()),
        Parameter::Value(Own::Integer(value)) => Value::Integer(value),
        Parameter::Value(Own::Double(value)) => Value::Real(Real::new(value)),
    }
}

fn as_parameter(value: Value<'_>) -> Parameter<'_> {
    use octavo_script::Value as Own;
    match value {
        Value::Null => Parameter::Value(Own::Null),
        Value::Integer(value) | Value::Timestamp(value) => Parameter::Value(Own::Integer(value)),
        Value::Decimal { unscaled, scale } => {
            Parameter::Value(Own::Double(unscaled as f64 / 10f64.powi(i32::from(scale))))
        }
        Value::Real(value) => Parameter::Value(Own::Double(value.get())),
        Value::Text(text) => Parameter::Text(text),
    }
}
