//! A session: the workload's statements, prepared, and the transaction that
//! is open.
//!
//! An exchange is one write of all its requests and as few reads as the
//! answers need. A transaction's BEGIN waits for its first statement and is
//! sent with it.

#[cfg(test)]
pub(super) mod tests;

use std::time::Duration;

use octavo_workload::{
    ConnectionError, Result,
    connection::{
        Access, Batch, BatchVisitor, Connection, RowVisitor, Statement, StatementId, Value, Wants,
    },
    schema::ColumnKind,
};
use postgres_protocol::message::frontend;

use super::{
    failure::Failure,
    login::{Login, put},
    messages::{Answer, Channel, SYNC, Status},
    statement::{Description, Prepared, decoders, with_marks},
};
use crate::{
    settings::Isolation,
    shown::{shown, start_of},
    wire::Stream,
};

/// The parameters that go with the login. A pooler (PgBouncer) refuses a login
/// with others, which are set behind it.
const AT_LOGIN: [&str; 3] = ["application_name", "client_encoding", "timezone"];

/// The session's own statements: name and text.
const CONTROLS: [(&str, &str); 6] = [
    ("r", "BEGIN READ ONLY"),
    ("b", "BEGIN"),
    ("c", "COMMIT"),
    ("a", "ROLLBACK"),
    ("p", "BEGIN ISOLATION LEVEL REPEATABLE READ"),
    ("s", "BEGIN ISOLATION LEVEL SERIALIZABLE"),
];

/// One session of a PostgreSQL server, version 14 or later.
///
/// The isolation level is the server's default, which the options of
/// [`Session::open`] can set, and a higher one for transactions that ask for it. The limit
/// of a statement's time is the server's default as well: a session itself waits for its
/// answers as long as it takes.
pub(crate) struct Session {
    pub(super) channel: Channel,
    statements: &'static [Statement],
    prepared: Vec<Prepared>,
    controls: [Prepared; CONTROLS.len()],
    /// A transaction that was begun and whose BEGIN was not sent.
    queued: Option<Access>,
    /// The isolation level of transactions that ask for no higher one.
    level: Isolation,
    /// Whether what the server says of an error may have the user's own values in it.
    is_private: bool,
    /// What ended the session, if anything did.
    lost: Option<String>,
}

/// The error of a session that was let in: a pooler does so although it has no
/// connection of the server left, and the first question then waits.
pub(super) fn unanswered(error: ConnectionError) -> ConnectionError {
    let is_silence = |source: &(dyn std::error::Error + 'static)| {
        let error = source.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut)
    };
    match error {
        ConnectionError::Lost(source) if is_silence(source.as_ref()) => ConnectionError::Lost(
            "it let us in and did not answer in time: a pooler may have no connection left for \
             this client (PgBouncer: default_pool_size)"
                .into(),
        ),
        other => other,
    }
}

/// Positions in [`CONTROLS`].
mod control {
    pub(super) const BEGIN_READ: usize = 0;
    pub(super) const BEGIN_WRITE: usize = 1;
    pub(super) const COMMIT: usize = 2;
    pub(super) const ROLLBACK: usize = 3;
    pub(super) const BEGIN_REPEATABLE: usize = 4;
    pub(super) const BEGIN_SERIALIZABLE: usize = 5;
}

impl Session {
    /// Logs in as `user` over `stream`, with `options` as the session's
    /// parameters. Each answer of the server is awaited for at most `limit`
    /// until the session is open.
    pub(crate) fn open(
        stream: Stream,
        user: &str,
        password: Option<&str>,
        database: &str,
        options: &[(&str, String)],
        limit: Duration,
    ) -> Result<Self> {
        let (at_login, later): (Vec<_>, Vec<_>) = options
            .iter()
            .cloned()
            .partition(|(name, _)| AT_LOGIN.contains(name));
        let mut session = Self::log_in(stream, user, password, database, &at_login, limit)?;
        session.make_ready(&later).map_err(unanswered)?;
        session.wait_at_most(None)?;
        Ok(session)
    }

    /// Sets parameters, and prepares what every session needs.
    fn make_ready(&mut self, parameters: &[(&str, String)]) -> Result<()> {
        let set: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("SET {name} TO '{}'", value.replace('\'', "''")))
            .collect();
        if !set.is_empty() {
            self.simple(&set.join("; "))?;
        }
        self.prepare_controls()
    }

    /// How long answers are awaited; `None` for ever.
    fn wait_at_most(&self, limit: Option<Duration>) -> Result<()> {
        let stream = self.channel.wire.stream();
        let set = stream.set_read_timeout(limit);
        set.map_err(|error| Failure::from(error).into_error(String::new))
    }

    /// As [`Self::open`], with nothing done behind the login: no transaction
    /// can be begun, and each answer is awaited for at most `limit`. `options`
    /// are of those that every server takes with a login.
    pub(crate) fn log_in(
        stream: Stream,
        user: &str,
        password: Option<&str>,
        database: &str,
        options: &[(&str, String)],
        limit: Duration,
    ) -> Result<Self> {
        let is_local = matches!(stream, Stream::Unix(_));
        let mut session = Self {
            channel: Channel::new(stream),
            statements: &[],
            prepared: Vec::new(),
            controls: CONTROLS.map(|(name, _)| Prepared::control(name)),
            queued: None,
            level: Isolation::ReadCommitted,
            is_private: false,
            lost: None,
        };
        session.wait_at_most(Some(limit))?;
        let login = Login {
            user,
            password,
            database,
            is_local,
            options,
        };
        login.perform(&mut session.channel)?;
        Ok(session)
    }

    /// With this isolation level, which the session's options have set.
    pub(crate) fn at_level(mut self, level: Isolation) -> Self {
        self.level = level;
        self
    }

    fn prepare_controls(&mut self) -> Result<()> {
        for (name, sql) in CONTROLS {
            self.put(sql, |bytes| frontend::parse(name, sql, None, bytes))?;
        }
        self.channel.wire.output().extend_from_slice(&SYNC);
        let result = self
            .channel
            .send()
            .and_then(|()| self.channel.results(&mut |_| {}));
        result.map_err(|failure| self.fail(failure, || "prepare BEGIN and COMMIT".into()))
    }

    /// Prepares the statements that [`StatementId`]s name from now on, in one
    /// exchange. A session does so once.
    pub(crate) fn prepare_all(&mut self, statements: &'static [Statement]) -> Result<()> {
        self.usable()?;
        self.begin_now()?;
        self.statements = statements;
        self.is_private = statements.iter().any(|statement| statement.is_private);
        for (position, statement) in statements.iter().enumerate() {
            let name = position.to_string();
            let sql = with_marks(statement);
            self.put(statement.sql, |bytes| {
                frontend::parse(&name, &sql, None, bytes)?;
                frontend::describe(b'S', &name, bytes)
            })?;
        }
        self.channel.wire.output().extend_from_slice(&SYNC);

        let mut descriptions = Vec::with_capacity(statements.len());
        let result = self.channel.send().and_then(|()| {
            for _ in statements {
                descriptions.push(Description::read(&mut self.channel)?);
            }
            Ok(())
        });
        if let Err(failure) = self.channel.until_ready(result, 1) {
            let failed = statements.get(descriptions.len());
            let what = failed.map_or_else(String::new, shown);
            return Err(self.fail(failure, || format!("prepare {what}")));
        }
        self.prepared = statements
            .iter()
            .zip(&descriptions)
            .enumerate()
            .map(|(position, (statement, description))| {
                Prepared::new(&position.to_string(), statement, description)
            })
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// What a statement takes and gives, without running it.
    ///
    /// # Errors
    /// What the server says of it, as the source of [`ConnectionError::Other`].
    pub(crate) fn describe(&mut self, sql: &str) -> Result<Description> {
        self.usable()?;
        self.put(sql, |bytes| {
            frontend::parse("", sql, None, bytes)?;
            frontend::describe(b'S', "", bytes)
        })?;
        self.channel.wire.output().extend_from_slice(&SYNC);
        let result = self
            .channel
            .send()
            .and_then(|()| Description::read(&mut self.channel));
        self.channel
            .until_ready(result, 1)
            .map_err(|failure| self.fail(failure, || "prepare a statement".into()))
    }

    /// Runs a text of one or more statements and drops their rows.
    pub(crate) fn simple(&mut self, sql: &str) -> Result<()> {
        self.run_text(sql, &mut |_| {})
    }

    /// The first column of a query's first row; `None` without rows, or for NULL.
    pub(crate) fn one(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(self.texts(sql)?.into_iter().flatten().next().flatten())
    }

    /// Runs a text of one or more statements; returns all their rows, each
    /// column as the server writes it, or `None` for NULL.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        self.run_text(sql, &mut |row| rows.push(row))?;
        Ok(rows)
    }

    fn run_text(&mut self, sql: &str, visit: &mut dyn FnMut(Vec<Option<String>>)) -> Result<()> {
        self.put_text(sql)?;
        let result = self
            .channel
            .send()
            .and_then(|()| self.channel.results(visit));
        result.map_err(|failure| self.fail(failure, || running(sql)))
    }

    /// Puts a statement's text into the output, after sending a BEGIN that
    /// waits.
    pub(super) fn put_text(&mut self, sql: &str) -> Result<()> {
        self.usable()?;
        self.begin_now()?;
        self.put(sql, |bytes| frontend::query(sql, bytes))
    }

    /// Runs a query that is not prepared and hands over its rows as they
    /// arrive; `kinds` are its columns'. Returns how many rows there were.
    pub(crate) fn scan(
        &mut self,
        sql: &str,
        kinds: &[ColumnKind],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.usable()?;
        self.begin_now()?;
        let binary = [1];
        self.put(sql, |bytes| {
            frontend::parse("", sql, None, bytes)?;
            frontend::bind(
                "",
                "",
                binary,
                [(); 0],
                |(), _| unreachable!("there are no parameters"),
                binary,
                bytes,
            )
            .map_err(|_| std::io::Error::other("the statement cannot be bound"))?;
            frontend::describe(b'P', "", bytes)?;
            frontend::execute("", 0, bytes)
        })?;
        self.channel.wire.output().extend_from_slice(&SYNC);

        let mut unfit = None;
        let result = self.channel.send().and_then(|()| {
            let description = Description::read(&mut self.channel)?;
            match decoders(&description.columns, kinds) {
                Ok(columns) => self.channel.answer(&columns, visit),
                Err(reason) => {
                    unfit = Some(reason);
                    Ok(Answer::default())
                }
            }
        });
        let answer = self
            .channel
            .until_ready(result, 1)
            .map_err(|failure| self.fail(failure, || running(sql)))?;
        if let Some(reason) = unfit {
            return Err(ConnectionError::other(running(sql), reason));
        }
        fitting(answer, || start_of(sql))?;
        Ok(answer.rows)
    }

    /// Puts a message of `sql` into the output; nothing of it when that fails.
    fn put(
        &mut self,
        sql: &str,
        message: impl FnOnce(&mut bytes::BytesMut) -> std::io::Result<()>,
    ) -> Result<()> {
        put(&mut self.channel.wire, message).map_err(|error| {
            self.channel.wire.output().clear();
            ConnectionError::other(running(sql), error)
        })
    }

    /// Refuses to go on after the connection was lost.
    #[inline]
    pub(super) fn usable(&self) -> Result<()> {
        match &self.lost {
            Some(first) => Err(ConnectionError::Lost(
                format!("the session ended with an earlier error: {first}").into(),
            )),
            None => Ok(()),
        }
    }

    /// The error of something that was `context`, after which the session may
    /// be lost.
    #[cold]
    pub(super) fn fail(
        &mut self,
        failure: Failure,
        context: impl FnOnce() -> String,
    ) -> ConnectionError {
        let ends = failure.ends_session();
        let error = match self.is_private {
            true => failure.without_words().into_error(context),
            false => failure.into_error(context),
        };
        if ends && self.lost.is_none() {
            self.lost = Some(match &error {
                ConnectionError::Lost(source) => source.to_string(),
                other => other.to_string(),
            });
        }
        error
    }

    /// Puts a BEGIN that waits into the output; whether there was one.
    #[inline]
    fn put_begin(&mut self) -> bool {
        let position = match self.queued {
            None => return false,
            Some(Access::Read) => control::BEGIN_READ,
            Some(access) => match self.level.raised(access) {
                Some(Isolation::Serializable) => control::BEGIN_SERIALIZABLE,
                Some(_) => control::BEGIN_REPEATABLE,
                None => control::BEGIN_WRITE,
            },
        };
        self.controls[position].put(self.channel.wire.output());
        true
    }

    /// Sends a BEGIN that waits by itself, for what does not go with it.
    fn begin_now(&mut self) -> Result<()> {
        if !self.put_begin() {
            return Ok(());
        }
        self.queued = None;
        self.finish_control(|| "begin a transaction".into())
    }

    fn control(&mut self, position: usize, context: impl FnOnce() -> String) -> Result<()> {
        self.controls[position].put(self.channel.wire.output());
        self.finish_control(context)
    }

    fn finish_control(&mut self, context: impl FnOnce() -> String) -> Result<()> {
        self.channel.wire.output().extend_from_slice(&SYNC);
        let result = self
            .channel
            .send()
            .and_then(|()| self.channel.answer(&[], &mut |_| {}));
        match self.channel.until_ready(result, 1) {
            Ok(_) => Ok(()),
            Err(failure) => Err(self.fail(failure, context)),
        }
    }

    /// Puts a call of a statement into the output; clears that when it fails.
    #[inline]
    fn put_call(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<()> {
        let prepared = &self.prepared[statement.0];
        assert_eq!(
            parameters.len(),
            prepared.parameter_count(),
            "parameters of {}",
            self.statements[statement.0].sql
        );
        let output = self.channel.wire.output();
        prepared.call(parameters, output).map_err(|unfit| {
            output.clear();
            ConnectionError::other(running_of(&self.statements[statement.0]), unfit)
        })
    }

    #[inline]
    fn run(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<Answer> {
        self.usable()?;
        let begins = self.put_begin();
        self.put_call(statement, parameters)?;
        self.channel.wire.output().extend_from_slice(&SYNC);
        self.queued = None;

        let columns = &self.prepared[statement.0].columns;
        let channel = &mut self.channel;
        let result = channel.send().and_then(|()| {
            if begins {
                channel.answer(&[], &mut |_| {})?;
            }
            channel.answer(columns, visit)
        });
        match channel.until_ready(result, 1) {
            Ok(answer) => {
                fitting(answer, || shown(&self.statements[statement.0]))?;
                Ok(answer)
            }
            Err(failure) => {
                let statement = &self.statements[statement.0];
                Err(self.fail(failure, || running_of(statement)))
            }
        }
    }
}

fn running(sql: &str) -> String {
    format!("run {}", start_of(sql))
}

fn running_of(statement: &Statement) -> String {
    format!("run {}", shown(statement))
}

/// Refuses an answer of whose columns one did not hold what was declared.
#[inline]
fn fitting(answer: Answer, statement: impl FnOnce() -> String) -> Result<()> {
    match answer.unfit {
        None => Ok(()),
        Some(column) => Err(ConnectionError::other(
            format!(
                "read column {column} of {}: it does not hold what the workload declared",
                statement()
            ),
            "the database is damaged or belongs to another workload",
        )),
    }
}

impl Connection for Session {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.usable()?;
        if self.queued.is_some() || self.channel.status != Status::Idle {
            return Err(ConnectionError::other(
                "begin a transaction",
                "the one before was neither committed nor rolled back",
            ));
        }
        self.queued = Some(access);
        Ok(())
    }

    /// Fails if a statement of the transaction failed, and leaves it open. A conflict at the
    /// commit itself closes it.
    fn commit(&mut self) -> Result<()> {
        self.usable()?;
        let refused = match self.channel.status {
            _ if self.queued.take().is_some() => return Ok(()),
            Status::Open => return self.control(control::COMMIT, || "commit".into()),
            // The server would roll back and call that a success.
            Status::Failed => "a statement of the transaction failed: roll it back",
            Status::Idle => "no transaction is open",
        };
        Err(ConnectionError::other("commit", refused))
    }

    fn rollback(&mut self) -> Result<()> {
        self.usable()?;
        if self.queued.take().is_some() || self.channel.status == Status::Idle {
            return Ok(());
        }
        self.control(control::ROLLBACK, || "roll back".into())
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        self.run(statement, parameters, &mut |_| {})
            .map(|answer| answer.affected)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.run(statement, parameters, visit)
            .map(|answer| answer.rows)
    }

    /// Within a transaction the server skips what follows a statement that
    /// failed. Outside of one each statement is a transaction of its own, and
    /// those that follow run all the same.
    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<()> {
        self.usable()?;
        if batch.is_empty() {
            return Ok(());
        }
        let begins = self.put_begin();
        let one_transaction = begins || self.channel.status != Status::Idle;
        for call in batch.calls() {
            self.put_call(call.statement, call.parameters)?;
            if !one_transaction {
                self.channel.wire.output().extend_from_slice(&SYNC);
            }
        }
        if one_transaction {
            self.channel.wire.output().extend_from_slice(&SYNC);
        }
        self.queued = None;

        let channel = &mut self.channel;
        let mut syncs = if one_transaction { 1 } else { batch.len() };
        let mut current = None;
        let mut unfit = None;
        let result = channel.send().and_then(|()| {
            if begins {
                channel.answer(&[], &mut |_| {})?;
            }
            for (position, call) in batch.calls().enumerate() {
                current = Some(call.statement);
                let columns = &self.prepared[call.statement.0].columns;
                let answer = channel.answer(columns, &mut |row| visit(position, row))?;
                if answer.unfit.is_some() {
                    unfit.get_or_insert((answer, call.statement));
                }
                counts.push(match call.wants {
                    Wants::Rows => answer.rows,
                    Wants::Changes => answer.affected,
                });
                if !one_transaction {
                    channel.ready(1)?;
                    syncs -= 1;
                }
            }
            Ok(())
        });
        if let Err(failure) = channel.until_ready(result, syncs) {
            let current = current.map(|statement| &self.statements[statement.0]);
            let what = || current.map_or_else(|| running("BEGIN"), running_of);
            return Err(self.fail(failure, what));
        }
        match unfit {
            Some((answer, statement)) => fitting(answer, || shown(&self.statements[statement.0])),
            None => Ok(()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.lost.is_none() {
            // The server would find out by itself, but later.
            self.channel.wire.output().clear();
            self.channel
                .wire
                .output()
                .extend_from_slice(&[b'X', 0, 0, 0, 4]);
            let _gone_anyway = self.channel.wire.flush();
        }
    }
}
