//! The server's messages, read where they arrived
//! (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).

use std::cell::Cell;

use octavo_workload::connection::{Row, RowVisitor, Value};

use super::{
    failure::{Failure, ServerError},
    value::Decoder,
};
use crate::wire::{INPUT_BYTES_MAX, Stream, Wire};

/// A letter and a length, which counts itself but not the letter.
const HEAD_BYTES: usize = 5;

/// Ends a row of requests: the server answers with whether a transaction is
/// open, and takes up again after an error.
pub(crate) const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];

/// Ends a COPY from us without its rows; an empty reason.
pub(crate) const COPY_FAIL: [u8; 6] = [b'f', 0, 0, 0, 5, 0];

/// Whether the server has a transaction open, as it last said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// None.
    Idle,
    /// One that works.
    Open,
    /// One that can only be rolled back.
    Failed,
}

/// A message that has arrived, at the start of the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Its letter.
    pub(crate) tag: u8,
    /// Bytes, the letter and the length among them.
    length: usize,
}

/// The result of one statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    /// Rows handed over.
    pub(crate) rows: u64,
    /// Rows that the server says it found, changed or copied.
    pub(crate) affected: u64,
    /// A column that held something else than was declared.
    pub(crate) unfit: Option<usize>,
}

/// The connection as a stream of messages.
pub(crate) struct Channel {
    /// The bytes of both ways.
    pub(crate) wire: Wire,
    /// Whether a transaction is open.
    pub(crate) status: Status,
    /// Where the columns of the current row lie.
    fields: Vec<Field>,
}

/// Where a column's bytes lie in the row's message.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: u32,
    /// `NULL` for NULL.
    length: u32,
}

const NULL: u32 = u32::MAX;

impl Channel {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            wire: Wire::new(stream),
            status: Status::Idle,
            fields: Vec::new(),
        }
    }

    /// Sends what was put into the output. When that fails, tries to learn
    /// why from what the server sent last.
    pub(crate) fn send(&mut self) -> Result<(), Failure> {
        self.wire.flush().map_err(|error| self.last_words(error))
    }

    #[cold]
    fn last_words(&mut self, error: std::io::Error) -> Failure {
        // A broken stream has an end, so this does not wait.
        loop {
            match self.message() {
                Ok(message) if message.tag == b'E' => return self.refusal(message),
                Ok(message) => self.done(message),
                Err(failure @ Failure::Server(_)) => return failure,
                Err(_) => return Failure::Stream(error),
            }
        }
    }

    /// Waits until the next message is there as a whole. What may come at any
    /// time and says nothing about an answer is skipped.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.arrived()? {
                return Ok(message);
            }
            self.wire.fill()?;
        }
    }

    /// As [`Channel::message`], without waiting: `None` when the next message
    /// is not there as a whole.
    #[inline]
    pub(crate) fn arrived(&mut self) -> Result<Option<Message>, Failure> {
        loop {
            let buffered = self.wire.buffered();
            let Some(&[tag, a, b, c, d]) = buffered.first_chunk::<HEAD_BYTES>() else {
                return Ok(None);
            };
            let said = u32::from_be_bytes([a, b, c, d]) as usize;
            if !(4..INPUT_BYTES_MAX).contains(&said) {
                return Err(Failure::Protocol("a message has an impossible length"));
            }
            let message = Message {
                tag,
                length: said + 1,
            };
            if buffered.len() < message.length {
                return Ok(None);
            }
            match tag {
                // ParameterStatus and NotificationResponse.
                b'S' | b'A' => self.done(message),
                b'N' => {
                    // A server that crashes says so in a warning.
                    let notice = ServerError::parse(self.body(message));
                    self.done(message);
                    if notice.ends_session() {
                        return Err(Failure::Server(Box::new(notice)));
                    }
                }
                _ => return Ok(Some(message)),
            }
        }
    }

    /// The bytes of a message that was not yet [`Channel::done`].
    #[inline]
    pub(crate) fn body(&self, message: Message) -> &[u8] {
        self.wire
            .buffered()
            .get(HEAD_BYTES..message.length)
            .unwrap_or_default()
    }

    /// Forgets a message.
    #[inline]
    pub(crate) fn done(&mut self, message: Message) {
        self.wire.consume(message.length);
    }

    /// Takes an ErrorResponse.
    #[cold]
    pub(crate) fn refusal(&mut self, message: Message) -> Failure {
        let error = ServerError::parse(self.body(message));
        self.done(message);
        Failure::Server(Box::new(error))
    }

    /// Reads the answer to one Execute, and hands over its rows.
    pub(crate) fn answer(
        &mut self,
        columns: &[Decoder],
        visit: &mut RowVisitor<'_>,
    ) -> Result<Answer, Failure> {
        let unfit = Cell::new(None);
        let mut rows = 0;
        loop {
            let message = self.message()?;
            match message.tag {
                b'D' => {
                    rows += 1;
                    self.row(message, columns, &unfit, visit)?;
                }
                // ParseComplete, BindComplete, CloseComplete, NoData.
                b'1' | b'2' | b'n' => {}
                b'C' => {
                    let affected = affected(self.body(message));
                    self.done(message);
                    return Ok(Answer {
                        rows,
                        affected,
                        unfit: unfit.get(),
                    });
                }
                b'E' => return Err(self.refusal(message)),
                _ => return Err(Failure::Protocol("an answer holds another one's message")),
            }
            self.done(message);
        }
    }

    #[inline]
    fn row(
        &mut self,
        message: Message,
        columns: &[Decoder],
        unfit: &Cell<Option<usize>>,
        visit: &mut RowVisitor<'_>,
    ) -> Result<(), Failure> {
        // Not by `body`: the fields are borrowed besides.
        let body = self
            .wire
            .buffered()
            .get(HEAD_BYTES..message.length)
            .unwrap_or_default();
        if !locate(body, columns.len(), &mut self.fields) {
            return Err(Failure::Protocol(
                "a row has other columns than were announced",
            ));
        }
        visit(&WireRow {
            body,
            fields: &self.fields,
            columns,
            unfit,
        });
        Ok(())
    }

    /// Reads what a text of statements, or a row of requests without rows,
    /// results in, until the server is ready. Rows are handed over as texts.
    pub(crate) fn results(
        &mut self,
        visit: &mut dyn FnMut(Vec<Option<String>>),
    ) -> Result<(), Failure> {
        loop {
            let message = self.message()?;
            match message.tag {
                b'D' => {
                    let row = texts(self.body(message));
                    visit(row.ok_or(Failure::Protocol("a row is damaged"))?);
                }
                b'E' => {
                    let refused = Err(self.refusal(message));
                    return self.until_ready(refused, 1);
                }
                // It would wait for rows.
                b'G' | b'W' => return Err(Failure::Protocol("a text of statements copies")),
                b'Z' => return self.ready(1),
                _ => {}
            }
            self.done(message);
        }
    }

    /// Reads on until the server is ready, for as many times as it was asked
    /// to be; everything else is dropped.
    #[inline]
    pub(crate) fn ready(&mut self, syncs: usize) -> Result<(), Failure> {
        for _ in 0..syncs {
            loop {
                let message = self.message()?;
                match message.tag {
                    b'Z' => {
                        self.status = match self.body(message) {
                            b"I" => Status::Idle,
                            b"T" => Status::Open,
                            b"E" => Status::Failed,
                            _ => return Err(Failure::Protocol("its state has no name")),
                        };
                        self.done(message);
                        break;
                    }
                    b'E' => match self.refusal(message) {
                        failure if failure.ends_session() => return Err(failure),
                        // Of a statement whose answer nobody waits for.
                        _ => {}
                    },
                    _ => self.done(message),
                }
            }
        }
        Ok(())
    }

    /// Ends an exchange in which the server is still to be ready `syncs`
    /// times, whatever came of it.
    #[inline]
    pub(crate) fn until_ready<T>(
        &mut self,
        result: Result<T, Failure>,
        syncs: usize,
    ) -> Result<T, Failure> {
        if let Err(failure) = &result
            && failure.ends_session()
        {
            return result;
        }
        self.ready(syncs)?;
        result
    }
}

/// Finds the columns of a row; whether it has `count` of them and no more
/// bytes.
#[inline]
fn locate(body: &[u8], count: usize, fields: &mut Vec<Field>) -> bool {
    fields.clear();
    let Some((said, _)) = body.split_first_chunk::<2>() else {
        return false;
    };
    if usize::from(u16::from_be_bytes(*said)) != count {
        return false;
    }
    let mut at = 2;
    for _ in 0..count {
        let Some(length) = body.get(at..).and_then(<[u8]>::first_chunk::<4>) else {
            return false;
        };
        let length = u32::from_be_bytes(*length);
        at += 4;
        fields.push(Field {
            start: at as u32,
            length,
        });
        if length != NULL {
            at += length as usize;
            if at > body.len() {
                return false;
            }
        }
    }
    at == body.len()
}

/// The columns of a row that came as texts.
fn texts(body: &[u8]) -> Option<Vec<Option<String>>> {
    let count = usize::from(u16::from_be_bytes(*body.first_chunk::<2>()?));
    let mut fields = Vec::new();
    locate(body, count, &mut fields).then(|| {
        let text = |field: &Field| {
            let start = field.start as usize;
            (field.length != NULL).then(|| {
                let bytes = &body[start..start + field.length as usize];
                String::from_utf8_lossy(bytes).into_owned()
            })
        };
        fields.iter().map(text).collect()
    })
}

/// The number at the end of a command's tag, such as `INSERT 0 5`; 0 where
/// there is none.
fn affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let (mut number, mut unit) = (0_u64, 1_u64);
    for &byte in tag.iter().rev() {
        match byte {
            b'0'..=b'9' => {
                number = number.wrapping_add(unit.wrapping_mul(u64::from(byte - b'0')));
                unit = unit.wrapping_mul(10);
            }
            _ => break,
        }
    }
    number
}

/// A row in its message.
struct WireRow<'r> {
    body: &'r [u8],
    fields: &'r [Field],
    columns: &'r [Decoder],
    /// A column whose bytes are not what was declared. Tables can hold
    /// anything, so this ends the query with an error rather than a panic.
    unfit: &'r Cell<Option<usize>>,
}

impl Row for WireRow<'_> {
    #[inline]
    fn value(&self, column: usize) -> Value<'_> {
        let Field { start, length } = self.fields[column];
        if length == NULL {
            return Value::Null;
        }
        let start = start as usize;
        self.body
            .get(start..start + length as usize)
            .and_then(|bytes| self.columns[column].decode(bytes))
            .unwrap_or_else(|| {
                self.unfit.set(Some(column));
                Value::Null
            })
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream};

    use proptest::prelude::*;

    use super::*;

    /// A channel to a server that sent `bytes` and is gone.
    fn channel(bytes: &[u8]) -> Channel {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        Channel::new(Stream::Unix(ours))
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend((body.len() as u32 + 4).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn an_answer_is_its_rows_and_its_tag() {
        let mut bytes = message(b'2', b"");
        bytes.extend(message(b'N', b"VNOTICE\0C00000\0Mhello\0\0"));
        bytes.extend(message(b'D', b"\0\x02\0\0\0\x02\0\x07\xff\xff\xff\xff"));
        bytes.extend(message(b'D', b"\0\x02\0\0\0\x03abc\0\0\0\x02hi"));
        bytes.extend(message(b'C', b"SELECT 2\0"));
        bytes.extend(message(b'Z', b"T"));
        let mut channel = channel(&bytes);
        let mut seen = Vec::new();
        let answer = channel
            .answer(&[Decoder::Integer, Decoder::Text], &mut |row| {
                seen.push(format!("{:?} {:?}", row.value(0), row.value(1)));
            })
            .unwrap();
        assert_eq!(seen, ["Integer(7) Null", "Null Text(\"hi\")"]);
        assert_eq!((answer.rows, answer.affected), (2, 2));
        assert_eq!(answer.unfit, Some(0), "three bytes are no integer");
        channel.ready(1).unwrap();
        assert_eq!(channel.status, Status::Open);
        assert!(channel.wire.buffered().is_empty());
    }

    #[test]
    fn tags_end_in_their_count() {
        for (tag, wanted) in [
            (&b"INSERT 0 5\0"[..], 5),
            (b"UPDATE 1203\0", 1203),
            (b"BEGIN\0", 0),
            (b"", 0),
            (
                b"SELECT 99999999999999999999999999\0",
                99999999999999999999999999_u128 as u64,
            ),
        ] {
            assert_eq!(affected(tag), wanted);
        }
    }

    #[test]
    fn damaged_messages_are_errors() {
        let is_protocol = |bytes: &[u8]| {
            matches!(
                channel(bytes).answer(&[Decoder::Text], &mut |_| {}),
                Err(Failure::Protocol(_))
            )
        };
        assert!(is_protocol(b"D\0\0\0\x03"));
        assert!(is_protocol(b"D\xff\xff\xff\xff"));
        assert!(is_protocol(&message(b'D', b"\0")));
        assert!(is_protocol(&message(b'D', b"\0\x02")));
        assert!(is_protocol(&message(b'D', b"\0\x01\0\0\0\x09a")));
        assert!(is_protocol(&message(b'D', b"\0\x01\0\0\0\x01ab")));
        assert!(is_protocol(&message(b'D', b"\0\x01\xff\xff\xff\xfe")));
        assert!(is_protocol(&message(b'?', b"")));
        assert!(matches!(
            channel(b"D\0\0").answer(&[], &mut |_| {}),
            Err(Failure::Stream(_))
        ));
    }

    #[test]
    fn a_crash_that_is_announced_as_a_warning_ends_the_session() {
        let bytes = message(b'N', b"VWARNING\0C57P02\0Mterminating\0\0");
        let Err(Failure::Server(error)) = channel(&bytes).answer(&[], &mut |_| {}) else {
            panic!()
        };
        assert_eq!(error.code, "57P02");
    }

    proptest! {
        #[test]
        fn arbitrary_answers_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let columns = [Decoder::Integer, Decoder::Text];
            let mut channel = channel(&bytes);
            while channel.answer(&columns, &mut |row| {
                let _values = (row.value(0), row.value(1));
            }).is_ok() {}
        }

        /// Well-formed heads, so that the bodies are reached.
        #[test]
        fn arbitrary_messages_do_not_panic(
            messages in prop::collection::vec(
                (prop::sample::select(b"DCEZNSA12nT".to_vec()),
                 prop::collection::vec(prop::sample::select(vec![0_u8, 1, 2, 4, b'C', 0xff]), 0..24)),
                0..12,
            )
        ) {
            let mut bytes = Vec::new();
            for (tag, body) in &messages {
                bytes.extend(message(*tag, body));
            }
            let columns = [Decoder::Decimal(2)];
            let mut channel = channel(&bytes);
            loop {
                let result = channel.answer(&columns, &mut |row| {
                    let _value = row.value(0);
                });
                if channel.until_ready(result, 1).is_err_and(|failure| failure.ends_session()) {
                    break;
                }
            }
        }
    }
}
