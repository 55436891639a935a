//! One session with a server: statements that are prepared once, and
//! transactions that cost no message of their own to begin.
//!
//! A transaction runs with `autocommit=0` rather than between `BEGIN` and
//! `COMMIT`. Statements are sent without waiting for the answers of those
//! before, and InnoDB undoes a whole transaction at a deadlock: what was sent
//! behind it would be committed on its own under `autocommit=1`, while here it
//! begins another transaction, which [`Connection::rollback`] undoes. The
//! switch goes in front of the next statement, in the same write, and stays
//! until a statement outside of a transaction wants the other mode. `COMMIT`
//! is sent once the answers of all statements are known, and never after one
//! that failed.

use std::{
    thread,
    time::{Duration, Instant},
};

use octavo_workload::{
    ConnectionError, Result,
    connection::{
        Access, Batch, BatchVisitor, Connection, RowVisitor, Statement, StatementId, Value, Wants,
    },
    schema::ColumnKind,
};

use super::{
    adaptive_wait::AdaptiveWait,
    channel::{Channel, Head, Next},
    failure::Failure,
    fields::Fields,
    handshake::{self, Greeting, Login},
    value::{BinaryRow, ServerColumn, parameter_type, push_parameter},
};
use crate::{marks::rewrite, settings::Isolation, shown::shown, wire::Stream};

/// Commands (<https://mariadb.com/kb/en/2-text-protocol/>).
mod command {
    pub(super) const QUIT: u8 = 1;
    pub(super) const QUERY: u8 = 3;
    pub(super) const STMT_PREPARE: u8 = 0x16;
    pub(super) const STMT_EXECUTE: u8 = 0x17;
    pub(super) const STMT_CLOSE: u8 = 0x19;
}

/// A statement that the server has prepared.
#[derive(Debug)]
struct Prepared {
    statement: &'static Statement,
    /// The server's number for it.
    id: u32,
    /// For each mark the parameter that it takes and how that is sent.
    marks: Box<[(usize, ColumnKind)]>,
    parameters: usize,
    columns: Vec<ServerColumn>,
    /// Whether the server was told the parameters' types.
    has_types: bool,
}

/// The transaction that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    None,
    /// Begun, and the server does not know yet.
    Begun(Access),
    /// The server has seen a statement of it.
    Running,
    /// A statement failed: only a rollback can follow.
    Failed,
}

/// What rows are decoded with, kept for its memory.
#[derive(Debug, Default)]
struct Scratch {
    places: Vec<Option<(u32, u32)>>,
    columns: Vec<ServerColumn>,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    channel: Channel,
    greeting: Greeting,
    prepared: Vec<Prepared>,
    scratch: Scratch,
    /// What the server has once all that was sent is done.
    is_autocommit: bool,
    /// The isolation level of transactions that ask for no higher one.
    level: Isolation,
    transaction: Transaction,
    adaptive_wait: AdaptiveWait,
    /// Whether what the server says of an error may have the user's own values in it.
    is_private: bool,
    /// Why the session ended, once it has.
    ended: Option<String>,
}

impl Session {
    /// Logs in over `stream`, which may take as long as `limit`, and runs
    /// `setup`. Errors of the server are [`ConnectionError::Other`], such as a
    /// wrong password.
    pub(crate) fn open(
        stream: Stream,
        user: &str,
        password: &str,
        database: Option<&str>,
        setup: &[String],
        limit: Duration,
    ) -> Result<Self> {
        let logging_in = || format!("log in as {user}");
        let mut channel = Channel::new(stream);
        let waiting = |channel: &Channel, limit| {
            let set = channel.stream().set_read_timeout(limit);
            set.map_err(|error| Failure::from(error).sort(logging_in))
        };
        waiting(&channel, Some(limit))?;
        let login = Login {
            user,
            password,
            database,
        };
        let greeting =
            handshake::log_in(&mut channel, login).map_err(|failure| failure.sort(logging_in))?;
        let mut session = Self {
            channel,
            greeting,
            prepared: Vec::new(),
            scratch: Scratch::default(),
            is_autocommit: true,
            level: Isolation::RepeatableRead,
            transaction: Transaction::None,
            adaptive_wait: AdaptiveWait::default(),
            is_private: false,
            ended: None,
        };
        for sql in setup {
            session.simple(sql)?;
        }
        waiting(&session.channel, None)?;
        Ok(session)
    }

    /// What the server said of itself.
    pub(crate) fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Prepares the statements that [`StatementId`]s name from now on, all of
    /// them in one exchange.
    pub(crate) fn prepare_all(&mut self, statements: &'static [Statement]) -> Result<()> {
        self.check_open()?;
        self.is_private = statements.iter().any(|statement| statement.is_private);
        let marked: Vec<_> = statements.iter().map(|s| with_marks(s.sql)).collect();
        for (sql, _) in &marked {
            let sent = self.queue(command::STMT_PREPARE, sql);
            if let Err(refused) = sent {
                self.channel.forget();
                return self.conclude(Err(refused), || "prepare the statements".into());
            }
        }
        let flushed = self.channel.flush().map_err(Failure::from);
        self.conclude(flushed, || "prepare the statements".into())?;
        // All are answered, also behind one that is refused.
        let mut first_error = None;
        self.prepared.clear();
        for (statement, (_, numbers)) in statements.iter().zip(marked) {
            let prepared = self.take_prepared(statement, &numbers);
            match self.conclude(prepared, || format!("prepare {}", shown(statement))) {
                Ok(prepared) => self.prepared.push(prepared),
                Err(lost @ ConnectionError::Lost(_)) => return Err(lost),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    fn take_prepared(
        &mut self,
        statement: &'static Statement,
        numbers: &[usize],
    ) -> Result<Prepared, Failure> {
        let mut columns = Vec::with_capacity(statement.result.len());
        let (id, parameters) =
            take_preparation(&mut self.channel, |column, _| columns.push(column))?;
        let kinds = numbers.iter().map(|number| {
            let parameter = number.checked_sub(1)?;
            let kind = statement.parameters.get(parameter)?;
            Some((parameter, *kind))
        });
        let marks: Option<Box<[_]>> = kinds.collect();
        let marks = marks.filter(|marks| marks.len() == parameters);
        let fits = columns.len() == statement.result.len() || statement.result.is_empty();
        match (marks, fits) {
            (Some(marks), true) => Ok(Prepared {
                statement,
                id,
                marks,
                parameters: statement.parameters.len(),
                columns,
                has_types: false,
            }),
            _ => Err(Failure::Refused(format!(
                "the server finds {parameters} parameters and {} columns in it, which is not what \
                 the workload declares",
                columns.len()
            ))),
        }
    }

    /// What a statement takes and gives, without running it: how many parameters, and the names
    /// of its columns with what the server says of them.
    pub(crate) fn describe(&mut self, sql: &str) -> Result<(usize, Vec<(String, ServerColumn)>)> {
        self.check_open()?;
        let described = self.describe_exchange(sql);
        self.conclude(described, || "prepare a statement".into())
    }

    fn describe_exchange(
        &mut self,
        sql: &str,
    ) -> Result<(usize, Vec<(String, ServerColumn)>), Failure> {
        self.send(|session| session.queue(command::STMT_PREPARE, &with_marks(sql).0))?;
        let mut columns = Vec::new();
        let (id, parameters) = take_preparation(&mut self.channel, |column, definition| {
            columns.push((name_of(definition), column));
        })?;
        self.close(id)?;
        Ok((parameters, columns))
    }

    /// Has the server forget a statement, which it does not answer.
    fn close(&mut self, id: u32) -> Result<(), Failure> {
        self.channel.command(|out| {
            out.push(command::STMT_CLOSE);
            out.extend_from_slice(&id.to_le_bytes());
            Ok(())
        })?;
        Ok(self.channel.flush()?)
    }

    /// Runs a statement as it stands, and drops its rows.
    pub(crate) fn simple(&mut self, sql: &str) -> Result<()> {
        self.plain(sql, &mut |_| Ok(()))
    }

    /// Runs a query as it stands; returns its rows as texts.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        self.plain(sql, &mut |row| {
            rows.push(text_row(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs a statement in the text protocol.
    fn plain(
        &mut self,
        sql: &str,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<()> {
        self.check_open()?;
        let result = self.plain_exchange(sql, visit);
        self.conclude(result, || format!("run {sql}"))
    }

    fn plain_exchange(
        &mut self,
        sql: &str,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.send(|session| session.queue(command::QUERY, sql))?;
        match self.channel.head()? {
            Head::Done(_) => Ok(()),
            Head::File => Err(Failure::Malformed("it asks for a file")),
            Head::Rows { columns, defined } => {
                let defined = if defined { columns } else { 0 };
                self.channel.definitions(defined, |_, _| {})?;
                while self.channel.row()? == Next::Row {
                    visit(self.channel.payload())?;
                }
                Ok(())
            }
        }
    }

    /// Runs a query that was not prepared, hands over its rows as they arrive
    /// and returns how many there were. `kinds` are the columns'.
    pub(crate) fn scan(
        &mut self,
        sql: &str,
        kinds: &[ColumnKind],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.check_open()?;
        let result = self.scan_exchange(sql, kinds, visit);
        self.conclude(result, || format!("run {sql}"))
    }

    fn scan_exchange(
        &mut self,
        sql: &str,
        kinds: &[ColumnKind],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, Failure> {
        self.send(|session| session.queue(command::STMT_PREPARE, sql))?;
        let mut columns = Vec::new();
        let (id, parameters) =
            take_preparation(&mut self.channel, |column, _| columns.push(column))?;
        let result = if parameters == 0 && columns.len() == kinds.len() {
            self.scan_prepared(id, kinds, &mut columns, visit)
        } else {
            Err(Failure::Refused(format!(
                "it has {parameters} parameters and {} columns instead of none and {}",
                columns.len(),
                kinds.len()
            )))
        };
        self.close(id)?;
        result
    }

    fn scan_prepared(
        &mut self,
        id: u32,
        kinds: &[ColumnKind],
        columns: &mut Vec<ServerColumn>,
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, Failure> {
        self.channel.command(|out| {
            push_execution(out, id);
            Ok(())
        })?;
        self.channel.flush()?;
        take_answer(
            &mut self.channel,
            columns,
            kinds,
            &mut self.scratch,
            &mut |row| {
                visit(row);
            },
        )
    }

    /// With this isolation level, which the session was set to.
    pub(crate) fn at_level(mut self, level: Isolation) -> Self {
        self.level = level;
        self
    }

    /// Sends the statement of a load, up to the server's question for the
    /// file.
    pub(super) fn begin_load(&mut self, sql: &str) -> Result<()> {
        self.check_open()?;
        let started = self
            .send(|session| session.queue(command::QUERY, sql))
            .and_then(|()| match self.channel.head()? {
                Head::File => Ok(()),
                _ => Err(Failure::Malformed("no question for the file")),
            });
        self.conclude(started, || format!("run {sql}"))
    }

    /// The packets.
    pub(super) fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Fails when the session has ended before.
    pub(super) fn check_open(&self) -> Result<()> {
        match &self.ended {
            None => Ok(()),
            Some(why) => Err(Failure::Ended(why.clone()).sort(String::new)),
        }
    }

    /// Remembers what a failure means for what follows, and makes it an error
    /// for callers.
    pub(super) fn conclude<T>(
        &mut self,
        result: Result<T, Failure>,
        context: impl FnOnce() -> String,
    ) -> Result<T> {
        result.map_err(|failure| {
            if failure.is_end() {
                self.ended.get_or_insert_with(|| failure.to_string());
            }
            if self.transaction == Transaction::Running {
                self.transaction = Transaction::Failed;
            }
            // Whether the server took note of types before it failed is not
            // known.
            for prepared in &mut self.prepared {
                prepared.has_types = false;
            }
            match self.is_private {
                true => failure.without_words().sort(context),
                false => failure.sort(context),
            }
        })
    }

    /// Sends commands in one write, in front of them what the transaction's
    /// state asks for, and takes the answers to that.
    fn send(
        &mut self,
        commands: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let before = (self.is_autocommit, self.transaction);
        let queued = self.queue_controls().and_then(|controls| {
            commands(self)?;
            Ok(controls)
        });
        let controls = match queued {
            Ok(controls) => controls,
            Err(refused) => {
                // Nothing was sent.
                self.channel.forget();
                (self.is_autocommit, self.transaction) = before;
                return Err(refused);
            }
        };
        self.channel.flush()?;
        for _ in 0..controls {
            match self.channel.head() {
                Ok(Head::Done(_)) => {}
                // The statements behind it ran in a mode that is not known.
                Err(Failure::Server(error)) => {
                    return Err(Failure::Ended(format!(
                        "the switch of autocommit failed: {error}"
                    )));
                }
                Err(failure) => return Err(failure),
                Ok(_) => return Err(Failure::Malformed("rows of a statement without any")),
            }
        }
        Ok(())
    }

    /// Adds a command whose argument is a text.
    fn queue(&mut self, command: u8, text: &str) -> Result<(), Failure> {
        self.channel.command(|out| {
            out.push(command);
            out.extend_from_slice(text.as_bytes());
            Ok(())
        })
    }

    /// Adds what has to go in front of a statement; returns how many answers
    /// that has.
    fn queue_controls(&mut self) -> Result<usize, Failure> {
        let mut controls = 0;
        let control = match self.transaction {
            Transaction::None if !self.is_autocommit => {
                self.is_autocommit = true;
                Some("SET autocommit=1")
            }
            Transaction::Begun(
                access @ (Access::Write | Access::WriteRepeatable | Access::WriteSerializable),
            ) => {
                self.transaction = Transaction::Running;
                let is_autocommit = std::mem::replace(&mut self.is_autocommit, false);
                if let Some(raised) = self.level.raised(access) {
                    let sql = match raised {
                        Isolation::Serializable => "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                        _ => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                    };
                    self.queue(command::QUERY, sql)?;
                    controls += 1;
                }
                is_autocommit.then_some("SET autocommit=0")
            }
            Transaction::Begun(Access::Read) => {
                self.transaction = Transaction::Running;
                Some("START TRANSACTION READ ONLY")
            }
            Transaction::Failed => {
                return Err(Failure::Refused(
                    "a statement of this transaction failed: it can only be rolled back".into(),
                ));
            }
            Transaction::None | Transaction::Running => None,
        };
        if let Some(sql) = control {
            self.queue(command::QUERY, sql)?;
            controls += 1;
        }
        Ok(controls)
    }

    /// Adds the execution of a prepared statement.
    #[inline]
    fn queue_execution(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<(), Failure> {
        let prepared = &mut self.prepared[statement.0];
        assert_eq!(
            parameters.len(),
            prepared.parameters,
            "parameters of {}",
            shown(prepared.statement)
        );
        self.channel
            .command(|out| push_bound_execution(out, prepared, parameters))?;
        // Those of the user's own values follow the values.
        prepared.has_types = !prepared.statement.is_private;
        Ok(())
    }

    /// Takes the answer to an execution; returns the rows that it has or met.
    #[inline]
    fn take_execution(
        &mut self,
        statement: StatementId,
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, Failure> {
        let prepared = &mut self.prepared[statement.0];
        take_answer(
            &mut self.channel,
            &mut prepared.columns,
            prepared.statement.result,
            &mut self.scratch,
            visit,
        )
    }

    fn run(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.check_open()?;
        let of = self.prepared[statement.0].statement;
        let result = self
            .send(|session| session.queue_execution(statement, parameters))
            .and_then(|()| self.take_execution(statement, visit));
        self.conclude(result, || format!("run {}", shown(of)))
    }

    /// Ends the transaction on the server, if it has seen it.
    fn end(&mut self, sql: &'static str) -> Result<()> {
        let result = match self.transaction {
            Transaction::Running | Transaction::Failed => {
                let sent = self.queue(command::QUERY, sql);
                sent.and_then(|()| Ok(self.channel.flush()?))
                    .and_then(|()| self.channel.head().map(drop))
            }
            Transaction::None | Transaction::Begun(_) => Ok(()),
        };
        if result.is_ok() {
            self.transaction = Transaction::None;
        }
        self.conclude(result, || format!("run {sql}"))
    }
}

impl Connection for Session {
    /// Sends nothing: the transaction begins with its first statement.
    fn begin(&mut self, access: Access) -> Result<()> {
        self.check_open()?;
        if self.transaction != Transaction::None {
            return Err(ConnectionError::other(
                "begin a transaction",
                "the one before was neither committed nor rolled back",
            ));
        }
        self.transaction = Transaction::Begun(access);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.check_open()?;
        if self.transaction == Transaction::Failed {
            return Err(ConnectionError::other(
                "run COMMIT",
                "a statement of this transaction failed: it can only be rolled back",
            ));
        }
        self.end("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.check_open()?;
        self.end("ROLLBACK")
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        self.run(statement, parameters, &mut |_| {})
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.run(statement, parameters, visit)
    }

    /// Sends all statements at once and reads their answers in order. The server runs all of
    /// them, even after one fails. Returns the first error.
    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<()> {
        self.check_open()?;
        if batch.is_empty() {
            return Ok(());
        }
        let sent = self.send(|session| {
            batch
                .calls()
                .try_for_each(|call| session.queue_execution(call.statement, call.parameters))
        });
        self.conclude(sent, || "send statements together".into())?;
        let begin = Instant::now();
        let mut first_error = None;
        for (position, call) in batch.calls().enumerate() {
            if self.channel.is_dry()
                && let Some(sleep) = self.adaptive_wait.sleep(batch.len() - position)
            {
                thread::sleep(sleep);
            }
            let is_wanted = first_error.is_none() && call.wants == Wants::Rows;
            let result = self.take_execution(call.statement, &mut |row| {
                if is_wanted {
                    visit(position, row);
                }
            });
            let of = self.prepared[call.statement.0].statement;
            match self.conclude(result, || format!("run {}", shown(of))) {
                Ok(count) => counts.push(count),
                Err(lost @ ConnectionError::Lost(_)) => return Err(lost),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        self.adaptive_wait.learn(batch.len(), begin.elapsed());
        first_error.map_or(Ok(()), Err)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // Without it the server logs a connection that broke.
            self.channel.forget();
            let _unsent = self.channel.command(|out| {
                out.push(command::QUIT);
                Ok(())
            });
            let _gone = self.channel.flush();
        }
    }
}

/// Appends an execution without a cursor, up to its parameters.
#[inline]
fn push_execution(out: &mut Vec<u8>, id: u32) {
    let [a, b, c, d] = id.to_le_bytes();
    out.extend_from_slice(&[command::STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
}

/// Appends an execution with its parameters. A NULL is one by its bit alone,
/// so declared types never change and are sent once.
#[inline]
fn push_bound_execution(
    out: &mut Vec<u8>,
    prepared: &Prepared,
    parameters: &[Value<'_>],
) -> Result<(), Failure> {
    push_execution(out, prepared.id);
    let marks = &prepared.marks;
    if marks.is_empty() {
        return Ok(());
    }
    let nulls = out.len();
    out.resize(nulls + marks.len().div_ceil(8), 0);
    out.push(u8::from(!prepared.has_types));
    if !prepared.has_types {
        for &(parameter, kind) in marks {
            // Signed.
            out.extend_from_slice(&[parameter_type(kind, parameters[parameter]), 0]);
        }
    }
    for (mark, &(parameter, kind)) in marks.iter().enumerate() {
        match parameters[parameter] {
            Value::Null => out[nulls + mark / 8] |= 1 << (mark % 8),
            value => push_parameter(out, kind, value)?,
        }
    }
    Ok(())
}

/// Takes the answer to a preparation; returns the statement's number and how
/// many parameters it has. `each` gets its columns, with their definitions.
fn take_preparation(
    channel: &mut Channel,
    mut each: impl FnMut(ServerColumn, &[u8]),
) -> Result<(u32, usize), Failure> {
    channel.preparation()?;
    let mut fields = Fields(channel.payload());
    fields.u8()?;
    let id = fields.u32()?;
    let column_count = usize::from(fields.u16()?);
    let parameters = usize::from(fields.u16()?);
    channel.definitions(parameters, |_, _| {})?;
    channel.definitions(column_count, &mut each)?;
    Ok((id, parameters))
}

/// The name in a column's definition: the fifth of its texts.
fn name_of(definition: &[u8]) -> String {
    let mut fields = Fields(definition);
    let mut name = &[][..];
    for _ in 0..5 {
        name = fields.text().unwrap_or_default();
    }
    String::from_utf8_lossy(name).into_owned()
}

/// The statement with the server's marks for parameters, `?` for `?1`, and the
/// numbers that they had.
fn with_marks(sql: &str) -> (String, Vec<usize>) {
    let mut numbers = Vec::new();
    let sql = rewrite(sql, |out, number| {
        out.push('?');
        numbers.push(number);
    });
    (sql, numbers)
}

/// Takes the answer to an execution; returns the rows that it has or met.
/// `columns` are as the server defined them last.
#[inline]
fn take_answer(
    channel: &mut Channel,
    columns: &mut Vec<ServerColumn>,
    kinds: &[ColumnKind],
    scratch: &mut Scratch,
    visit: &mut RowVisitor<'_>,
) -> Result<u64, Failure> {
    let (count, defined) = match channel.head()? {
        Head::Done(met) => return Ok(met),
        Head::File => return Err(Failure::Malformed("it asks for a file")),
        Head::Rows { columns, defined } => (columns, defined),
    };
    if defined {
        scratch.columns.clear();
        let found = &mut scratch.columns;
        channel.definitions(count, |column, _| found.push(column))?;
        std::mem::swap(columns, &mut scratch.columns);
    }
    if count != columns.len() || (count != kinds.len() && !kinds.is_empty()) {
        return Err(Failure::Malformed("rows with other columns than prepared"));
    }
    let mut rows = 0;
    while channel.row()? == Next::Row {
        rows += 1;
        // A statement that is declared to have no rows has none that are
        // wanted.
        if !kinds.is_empty() {
            let packet = channel.payload();
            visit(&BinaryRow::parse(
                packet,
                columns,
                kinds,
                &mut scratch.places,
            )?);
        }
    }
    Ok(rows)
}

/// Reads a row of the text protocol.
fn text_row(packet: &[u8]) -> Result<Vec<Option<String>>, Failure> {
    let mut fields = Fields(packet);
    let mut row = Vec::new();
    while let Some(&first) = fields.0.first() {
        row.push(if first == 0xfb {
            fields.u8()?;
            None
        } else {
            Some(String::from_utf8_lossy(fields.text()?).into_owned())
        });
    }
    Ok(row)
}
