//! Statements that the server has prepared, and the requests that run them.

use std::borrow::Cow;

use octavo_workload::{
    ConnectionError,
    connection::{Statement, Value},
    schema::ColumnKind,
};

use super::{
    failure::Failure,
    messages::Channel,
    value::{Decoder, Encoder, Unsuitable},
};
use crate::{marks::rewrite, shown::shown};

/// Execute of the unnamed portal without a limit of rows.
const EXECUTE: [u8; 10] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];
/// How values are written, the same for all of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As their texts.
    Text = 0,
    /// In the types' own form.
    Binary = 1,
}

impl Format {
    /// One format for all: their number, and its code.
    const fn for_all(self) -> [u8; 4] {
        [0, 1, 0, self as u8]
    }
}

/// A statement that the server knows by name.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// A Bind up to its parameters' values.
    head: Box<[u8]>,
    parameters: Box<[Encoder]>,
    /// Of the rows that it asks for.
    format: Format,
    /// How the columns of its rows are read.
    pub(crate) columns: Box<[Decoder]>,
}

/// A Bind of the unnamed portal up to the values.
pub(crate) fn bind_head(name: &str, format: Format, parameters: usize) -> Box<[u8]> {
    let mut head = vec![b'B', 0, 0, 0, 0, 0];
    head.extend_from_slice(name.as_bytes());
    head.push(0);
    head.extend_from_slice(&format.for_all());
    let count = u16::try_from(parameters).expect("the server counted them in 16 bits");
    head.extend_from_slice(&count.to_be_bytes());
    head.into()
}

impl Prepared {
    /// A statement without parameters or rows.
    pub(crate) fn control(name: &str) -> Self {
        Self {
            head: bind_head(name, Format::Binary, 0),
            parameters: [].into(),
            format: Format::Binary,
            columns: [].into(),
        }
    }

    /// A statement as the server described it; fails where that is not what
    /// the workload declared.
    pub(crate) fn new(
        name: &str,
        statement: &Statement,
        description: &Description,
    ) -> Result<Self, ConnectionError> {
        let unfit = |reason: String| {
            ConnectionError::other(format!("prepare {}", shown(statement)), reason)
        };
        let types = &description.parameters;
        if types.len() != statement.parameters.len() {
            return Err(unfit(format!(
                "the server found {} parameters, the workload declares {}",
                types.len(),
                statement.parameters.len()
            )));
        }
        if statement.is_private {
            return Ok(Self {
                head: bind_head(name, Format::Text, types.len()),
                parameters: vec![Encoder::Written; types.len()].into(),
                format: Format::Text,
                columns: vec![Decoder::Text; description.columns.len()].into(),
            });
        }
        let parameters = types
            .iter()
            .zip(statement.parameters)
            .zip(1..)
            .map(|((&oid, &kind), position)| {
                Encoder::of_type(oid)
                    .filter(|encoder| encoder.takes(kind))
                    .ok_or_else(|| {
                        unfit(format!(
                            "parameter {position} has the type with OID {oid}, which a value of \
                             kind {kind:?} is not written as: the tables are not those that \
                             Octavo made"
                        ))
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            head: bind_head(name, Format::Binary, types.len()),
            parameters,
            format: Format::Binary,
            columns: decoders(&description.columns, statement.result).map_err(unfit)?,
        })
    }

    /// Appends what runs the statement, which has no parameters.
    #[inline]
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&self.format.for_all());
        close(out, start);
        out.extend_from_slice(&EXECUTE);
    }

    /// How many parameters it has.
    pub(crate) fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    /// Appends what binds the values and runs the statement. When it fails,
    /// what was appended has to be taken away again.
    #[inline]
    pub(crate) fn call(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Unfit> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        for (position, (encoder, &value)) in self.parameters.iter().zip(values).enumerate() {
            encoder.encode(value, out).map_err(|reason| Unfit {
                position: position + 1,
                reason,
            })?;
        }
        out.extend_from_slice(&self.format.for_all());
        close(out, start);
        out.extend_from_slice(&EXECUTE);
        Ok(())
    }
}

/// Writes the length of the message that begins at `start` and ends here.
/// Messages beyond what 32 bits count do not occur: a text has at most 2 GiB,
/// and the server refuses what is longer than 1 GiB.
#[inline]
pub(crate) fn close(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

/// A parameter that cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("parameter {position} cannot be sent: {reason}")]
pub(crate) struct Unfit {
    position: usize,
    reason: Unsuitable,
}

/// What the server says a statement takes and gives: types by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub(crate) parameters: Vec<u32>,
    pub(crate) columns: Vec<Column>,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The number of its type.
    pub(crate) oid: u32,
}

impl Description {
    /// Reads the answer to a Describe, and those to a Parse and a Bind before
    /// it.
    pub(crate) fn read(channel: &mut Channel) -> Result<Self, Failure> {
        let mut description = Self::default();
        loop {
            let message = channel.message()?;
            match message.tag {
                // ParseComplete, BindComplete.
                b'1' | b'2' => {}
                b't' => {
                    description.parameters = parameter_types(channel.body(message))
                        .ok_or(Failure::Protocol("a list of parameters is damaged"))?;
                }
                b'T' => {
                    description.columns = columns(channel.body(message))
                        .ok_or(Failure::Protocol("a list of columns is damaged"))?;
                    channel.done(message);
                    return Ok(description);
                }
                b'n' => {
                    channel.done(message);
                    return Ok(description);
                }
                b'E' => return Err(channel.refusal(message)),
                _ => return Err(Failure::Protocol("a description holds another message")),
            }
            channel.done(message);
        }
    }
}

/// The types in a ParameterDescription.
fn parameter_types(body: &[u8]) -> Option<Vec<u32>> {
    let (count, types) = body.split_first_chunk::<2>()?;
    let (types, rest) = types.as_chunks::<4>();
    (rest.is_empty() && types.len() == usize::from(u16::from_be_bytes(*count)))
        .then(|| types.iter().map(|oid| u32::from_be_bytes(*oid)).collect())
}

/// The columns in a RowDescription.
fn columns(body: &[u8]) -> Option<Vec<Column>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut columns = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let (name, behind) = rest.split_at(end);
        // The name's end; table, column, type, length, modifier, format.
        let (field, after) = behind.split_first_chunk::<19>()?;
        columns.push(Column {
            name: String::from_utf8_lossy(name).into_owned(),
            oid: u32::from_be_bytes([field[7], field[8], field[9], field[10]]),
        });
        rest = after;
    }
    rest.is_empty().then_some(columns)
}

/// The decoders of columns of these types for the declared kinds, or the
/// mismatch in words.
pub(crate) fn decoders(columns: &[Column], kinds: &[ColumnKind]) -> Result<Box<[Decoder]>, String> {
    if columns.len() != kinds.len() {
        return Err(format!(
            "the server gives {} columns, the workload declares {}",
            columns.len(),
            kinds.len()
        ));
    }
    columns
        .iter()
        .zip(kinds)
        .zip(1..)
        .map(|((column, &kind), position)| {
            Decoder::for_column(column.oid, kind).ok_or_else(|| {
                let oid = column.oid;
                format!(
                    "column {position} has the type with OID {oid}, which is not read as \
                     {kind:?}: the tables are not those that Octavo made"
                )
            })
        })
        .collect()
}

/// The statement with PostgreSQL's marks for parameters: `$1` for `?1`. Those of the user's own
/// statements are PostgreSQL's already.
pub(crate) fn with_marks(statement: &Statement) -> Cow<'static, str> {
    if statement.is_private {
        return statement.sql.into();
    }
    rewrite(statement.sql, |out, number| {
        out.push_str(&format!("${number}"));
    })
    .into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn column(oid: u32) -> Column {
        Column {
            name: "a".into(),
            oid,
        }
    }

    #[test]
    fn marks_become_the_servers() {
        let statement = |sql, is_private| Statement {
            sql,
            parameters: &[],
            result: &[],
            changed_parameters: 0,
            is_private,
            is_planned_by_values: false,
            tables: &[],
        };
        let sql = "a = ?1 AND b = ?12";
        assert_eq!(with_marks(&statement(sql, false)), "a = $1 AND b = $12");
        assert_eq!(with_marks(&statement(sql, true)), sql, "an operator ?");
    }

    #[test]
    fn a_call_is_a_bind_and_an_execute() {
        let statement = Statement {
            sql: "SELECT a FROM t WHERE b = ?1",
            parameters: &[ColumnKind::Integer],
            result: &[ColumnKind::Integer],
            changed_parameters: 0,
            is_private: false,
            is_planned_by_values: false,
            tables: &[],
        };
        let description = Description {
            parameters: vec![23],
            columns: vec![column(20)],
        };
        let prepared = Prepared::new("7", &statement, &description).unwrap();
        let mut out = vec![b'?'];
        prepared.call(&[Value::Integer(258)], &mut out).unwrap();
        let mut wanted = b"?B\0\0\0\x19\x007\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\x01\x02".to_vec();
        wanted.extend(b"\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0");
        assert_eq!(out, wanted);

        let error = prepared
            .call(&[Value::Integer(1 << 40)], &mut out)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter 1 cannot be sent: 1099511627776 is beyond the range of PostgreSQL's integer"
        );
        let text = Description {
            parameters: vec![25],
            columns: vec![column(20)],
        };
        Prepared::new("7", &statement, &text).unwrap_err();
        let too_few = Description::default();
        Prepared::new("7", &statement, &too_few).unwrap_err();
    }

    #[test]
    fn descriptions_are_read_to_their_end() {
        assert_eq!(parameter_types(b"\0\x01\0\0\0\x17"), Some(vec![23]));
        assert_eq!(parameter_types(b"\0\x01\0\0\0\x17\0"), None);
        assert_eq!(parameter_types(b"\0\x02\0\0\0\x17"), None);
        let row = b"\0\x01ab\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
        let found = columns(row).unwrap();
        assert_eq!((found[0].name.as_str(), found[0].oid), ("ab", 25));
        assert_eq!(columns(&row[..row.len() - 1]), None);
        assert_eq!(columns(b"\0\x01ab"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_decode_to_a_description_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _lists = (parameter_types(&bytes), columns(&bytes));
        }
    }
}
