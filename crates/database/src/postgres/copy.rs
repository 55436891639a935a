//! Rows in bulk: `COPY … FROM STDIN (FORMAT binary)`
//! (<https://www.postgresql.org/docs/current/sql-copy.html>).

use octavo_workload::{ConnectionError, Result, population::RowBatch, schema::ColumnKind};

use super::{
    failure::Failure,
    messages::{COPY_FAIL, Channel},
    session::Session,
    statement::close,
    value::{Encoder, Unsuitable},
};
use crate::shown::start_of;

/// Before the first row: a signature, no flags, no further header.
const HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// After the last row, in a message of its own, and that there are no more.
const TRAILER: [u8; 12] = [b'd', 0, 0, 0, 6, 0xff, 0xff, b'c', 0, 0, 0, 4];

/// Messages are sent once they have this many bytes.
const MESSAGE_BYTES: usize = 64 * 1024;

/// A COPY that takes rows. Dropped before [`CopyIn::finish`] it stores none of
/// them, and the session can go on.
pub(crate) struct CopyIn<'s> {
    session: &'s mut Session,
    /// For messages of errors.
    sql: String,
    /// How the columns of a row are written.
    encoders: Vec<Encoder>,
    /// Whether the server still takes rows.
    open: bool,
}

impl<'s> CopyIn<'s> {
    /// Starts a `COPY … FROM STDIN (FORMAT binary)` of columns of these kinds
    /// and waits until the server wants its rows.
    pub(super) fn start(session: &'s mut Session, sql: &str, kinds: &[ColumnKind]) -> Result<Self> {
        session.put_text(sql)?;
        let channel = &mut session.channel;
        let begin = |channel: &mut Channel| {
            channel.send()?;
            let message = channel.message()?;
            if message.tag == b'E' {
                let refused = Err(channel.refusal(message));
                return channel.until_ready(refused, 1);
            }
            // Whether all of it is binary, and how many columns there are.
            let fits = match channel.body(message) {
                [1, high, low, ..] if message.tag == b'G' => {
                    usize::from(u16::from_be_bytes([*high, *low])) == kinds.len()
                }
                _ => false,
            };
            channel.done(message);
            let unfit = Failure::Protocol("it copies no rows of these columns from us");
            fits.then_some(()).ok_or(unfit)
        };
        let begun = begin(channel);
        let mut copy = Self {
            session,
            sql: start_of(sql),
            encoders: kinds.iter().map(|&kind| Encoder::of_column(kind)).collect(),
            open: false,
        };
        begun.map_err(|failure| copy.fail(failure))?;
        copy.open = true;
        copy.open_message();
        copy.session
            .channel
            .wire
            .output()
            .extend_from_slice(&HEADER);
        Ok(copy)
    }

    /// Adds the rows of a batch, which has the columns of the COPY. After an
    /// error that stores nothing.
    pub(crate) fn batch(&mut self, batch: &RowBatch) -> Result<()> {
        self.session.usable()?;
        if !self.open {
            return Err(self.refused("it ended with an earlier error"));
        }
        assert_eq!(
            batch.columns(),
            self.encoders.len(),
            "columns of {}",
            self.sql
        );
        let count = (self.encoders.len() as u16).to_be_bytes();
        for row in 0..batch.len() {
            let output = self.session.channel.wire.output();
            output.extend_from_slice(&count);
            for (column, encoder) in self.encoders.iter().enumerate() {
                if let Err(unsuitable) = encoder.encode(batch.value(row, column), output) {
                    return Err(self.unsuitable(column, unsuitable));
                }
            }
            if output.len() >= MESSAGE_BYTES {
                self.send()?;
                self.open_message();
            }
        }
        Ok(())
    }

    /// Ends the COPY; returns how many rows the server stored.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.session.usable()?;
        if !self.open {
            return Err(self.refused("it ended with an earlier error"));
        }
        close(self.session.channel.wire.output(), 0);
        self.session
            .channel
            .wire
            .output()
            .extend_from_slice(&TRAILER);
        self.open = false;
        let channel = &mut self.session.channel;
        let result = channel
            .send()
            .and_then(|()| channel.answer(&[], &mut |_| {}));
        match channel.until_ready(result, 1) {
            Ok(answer) => Ok(answer.affected),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    /// Begins a message of rows at the start of the output.
    fn open_message(&mut self) {
        self.session
            .channel
            .wire
            .output()
            .extend_from_slice(&[b'd', 0, 0, 0, 0]);
    }

    /// Sends the message of rows, and notices when the server has refused
    /// earlier ones.
    fn send(&mut self) -> Result<()> {
        let channel = &mut self.session.channel;
        close(channel.wire.output(), 0);
        // Before the end it has nothing to answer but that it failed; it then
        // drops our rows until it is ready.
        let result = channel.send().and_then(|()| match channel.arrived()? {
            None => Ok(()),
            Some(message) if message.tag == b'E' => {
                let refused = Err(channel.refusal(message));
                channel.until_ready(refused, 1)
            }
            Some(_) => Err(Failure::Protocol("it answers in the middle of a COPY")),
        });
        result.map_err(|failure| {
            self.open = false;
            self.fail(failure)
        })
    }

    fn fail(&mut self, failure: Failure) -> ConnectionError {
        let context = format!("run {}", self.sql);
        self.session.fail(failure, || context)
    }

    fn refused(
        &self,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ConnectionError {
        ConnectionError::other(format!("run {}", self.sql), reason)
    }

    #[cold]
    fn unsuitable(&mut self, column: usize, unsuitable: Unsuitable) -> ConnectionError {
        // The row is there in part.
        self.abort();
        self.refused(format!("column {column}: {unsuitable}"))
    }

    /// Takes back what was not sent and lets the server forget the rest.
    fn abort(&mut self) {
        if !std::mem::take(&mut self.open) || self.session.usable().is_err() {
            return;
        }
        let channel = &mut self.session.channel;
        channel.wire.output().clear();
        channel.wire.output().extend_from_slice(&COPY_FAIL);
        let result = channel.send().and_then(|()| channel.results(&mut |_| {}));
        if let Err(failure) = result {
            // That it was told to fail is the server's answer here.
            let _wanted = self.fail(failure);
        }
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        self.abort();
    }
}
