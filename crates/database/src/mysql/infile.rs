//! The file of `LOAD DATA LOCAL INFILE`, written row by row as the server
//! reads it (<https://mariadb.com/kb/en/load-data-infile/>).
//!
//! Values are in latin1, as the columns are, so the server converts nothing.

use octavo_workload::{
    ConnectionError, Result, connection::Connection, connection::Value, population::RowBatch,
    schema::ColumnKind,
};

use super::{channel::Head, failure::Failure, fields::Fields, session::Session, value::push_value};

/// What tells the server of the format that [`push_row`] writes.
pub(crate) const FORMAT: &str = "CHARACTER SET latin1 FIELDS TERMINATED BY '\\t' \
     ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";

/// Bytes of the file in one packet, about: a batch of rows more at the most.
const CHUNK_BYTES: usize = 128 << 10;

/// A load under way. Dropped before [`Self::finish`] it is undone as far as a
/// rollback can, and the session can be used again.
pub(crate) struct LoadData<'s> {
    session: &'s mut Session,
    sql: String,
    columns: &'s [ColumnKind],
    chunk: Vec<u8>,
    is_done: bool,
}

impl<'s> LoadData<'s> {
    /// Begins a `LOAD DATA LOCAL INFILE` of rows with these columns, up to where
    /// the server waits for the file.
    pub(super) fn begin(
        session: &'s mut Session,
        sql: &str,
        columns: &'s [ColumnKind],
    ) -> Result<Self> {
        session.begin_load(sql)?;
        Ok(Self {
            session,
            sql: sql.to_owned(),
            columns,
            chunk: Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4),
            is_done: false,
        })
    }

    /// Writes rows. After an error the load has to be dropped.
    pub(crate) fn batch(&mut self, batch: &RowBatch) -> Result<()> {
        for row in 0..batch.len() {
            let values = (0..batch.columns()).map(|column| batch.value(row, column));
            if let Err(refused) = push_row(&mut self.chunk, values, self.columns) {
                return Err(refused.sort(|| format!("run {}", self.sql)));
            }
            if self.chunk.len() >= CHUNK_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }

    /// Sends the chunk. A server that has refused a row takes the rest of the
    /// file all the same, and says so at the file's end.
    fn send(&mut self) -> Result<()> {
        let Self { session, chunk, .. } = self;
        let channel = session.channel();
        let sent = channel
            .answer(|out| {
                out.extend_from_slice(chunk);
                Ok(())
            })
            .and_then(|()| Ok(channel.flush()?));
        chunk.clear();
        let sql = &self.sql;
        self.session.conclude(sent, || format!("run {sql}"))
    }

    /// Ends the file; returns how many rows the server took. Of rows from a
    /// client the server only warns, such as of a key that is there twice:
    /// these warnings are errors here.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.finish_statement()
    }

    /// As [`Self::finish`], and begins the same statement anew: rows go in
    /// transactions of a bounded size.
    pub(crate) fn renew(&mut self) -> Result<u64> {
        let rows = self.finish_statement()?;
        self.session.begin_load(&self.sql)?;
        self.is_done = false;
        Ok(rows)
    }

    fn finish_statement(&mut self) -> Result<u64> {
        let (rows, warnings) = self.end()?;
        if warnings == 0 {
            return Ok(rows);
        }
        let first = self.session.texts("SHOW WARNINGS LIMIT 1")?;
        let words: Vec<String> = first.into_iter().flatten().flatten().collect();
        Err(ConnectionError::other(
            format!("run {}", self.sql),
            format!("{warnings} warnings, first: {}", words.join(" ")),
        ))
    }

    /// Returns rows and warnings.
    fn end(&mut self) -> Result<(u64, u16)> {
        self.is_done = true;
        if !self.chunk.is_empty() {
            self.send()?;
        }
        let channel = self.session.channel();
        let result = channel
            // An empty packet ends the file.
            .answer(|_| Ok(()))
            .and_then(|()| Ok(channel.flush()?))
            .and_then(|()| channel.next())
            .and_then(|()| match channel.head_here()? {
                Head::Done(rows) => {
                    let mut fields = Fields(&channel.payload()[1..]);
                    let (_rows, _last_id) = (fields.length()?, fields.length()?);
                    let (_status, warnings) = (fields.u16()?, fields.u16()?);
                    Ok((rows, warnings))
                }
                _ => Err(Failure::Malformed("rows of a load")),
            });
        let sql = &self.sql;
        self.session.conclude(result, || format!("run {sql}"))
    }
}

impl Drop for LoadData<'_> {
    fn drop(&mut self) {
        if self.is_done || self.session.check_open().is_err() {
            return;
        }
        // The protocol has no word for giving up: the file ends here.
        self.chunk.clear();
        let _undone_below = self.end();
        let _lost = self.session.rollback();
    }
}

/// Appends a line.
fn push_row<'v>(
    out: &mut Vec<u8>,
    values: impl Iterator<Item = Value<'v>>,
    kinds: &[ColumnKind],
) -> Result<(), Failure> {
    for (value, &kind) in values.zip(kinds) {
        push_value(out, kind, value, b"\\N", b"", push_escaped)?;
        out.push(b'\t');
    }
    match out.last_mut() {
        Some(last) if *last == b'\t' => *last = b'\n',
        _ => out.push(b'\n'),
    }
    Ok(())
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\\' | 0)
}

fn push_escaped(out: &mut Vec<u8>, text: &str) -> Result<(), Failure> {
    let bytes = text.as_bytes();
    // Not special and ASCII, all at once: the common case.
    if !bytes.iter().fold(false, |any, &byte| {
        any | is_special(byte) | !byte.is_ascii()
    }) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    for character in text.chars() {
        match character {
            '\t' => out.extend_from_slice(b"\\t"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\0' => out.extend_from_slice(b"\\0"),
            // What MySQL calls latin1 is Windows-1252, which agrees with
            // ISO 8859-1 here.
            '\u{1}'..='\u{7f}' | '\u{a0}'..='\u{ff}' => out.push(u32::from(character) as u8),
            _ => {
                return Err(Failure::Refused(format!(
                    "{character:?} is no character of latin1, which the columns are in"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[Value<'_>], kinds: &[ColumnKind]) -> Vec<u8> {
        let mut out = Vec::new();
        push_row(&mut out, values.iter().copied(), kinds).unwrap();
        out
    }

    #[test]
    fn lines_are_escaped() {
        let varchar = ColumnKind::Varchar(20);
        for (text, wanted) in [
            ("", &b"\n"[..]),
            ("abc", b"abc\n"),
            ("a\tb\nc\\d\0", b"a\\tb\\nc\\\\d\\0\n"),
            ("ö ", b"\xf6 \n"),
        ] {
            assert_eq!(line(&[Value::Text(text)], &[varchar]), wanted, "{text:?}");
        }
        let mut out = Vec::new();
        push_escaped(&mut out, "€").unwrap_err();
    }

    #[test]
    fn a_line_has_all_kinds() {
        let decimal = ColumnKind::Decimal {
            precision: 5,
            scale: 2,
        };
        let (unscaled, scale) = (-105, 2);
        assert_eq!(
            line(
                &[
                    Value::Integer(-7),
                    Value::Decimal { unscaled, scale },
                    Value::Null,
                    Value::Text("a  "),
                    Value::Timestamp(951_782_400_000_001),
                    Value::Timestamp(0),
                ],
                &[
                    ColumnKind::Integer,
                    decimal,
                    ColumnKind::Integer,
                    ColumnKind::Char(3),
                    ColumnKind::Timestamp,
                    ColumnKind::Timestamp,
                ]
            ),
            b"-7\t-1.05\t\\N\ta\t20000229000000.000001\t19700101000000\n"
        );
    }
}
