//! Lines and records of a file, of which one is held at a time.

use std::io::{self, BufRead, Read};

use octavo_units::ByteCount;

use super::error::{Problem, TraceFileError};

/// The longest line. Those of published traces have under 200 bytes. Chosen.
const LINE_MAX: ByteCount = ByteCount::kib(64);

/// A file that is read from its beginning to its end.
#[derive(Debug)]
pub(super) struct Input<R> {
    name: String,
    input: R,
    line: Vec<u8>,
    /// The number of [`Self::line`], from 1.
    number: u64,
    position: u64,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(name: &str, input: R) -> Self {
        Self {
            name: name.into(),
            input,
            line: Vec::new(),
            number: 0,
            position: 0,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes, as many as are at hand.
    pub(super) fn beginning(&mut self) -> Result<&[u8], TraceFileError> {
        let name = &self.name;
        self.input.fill_buf().map_err(|source| failed(name, source))
    }

    /// The next line without its end; `None` behind the last.
    pub(super) fn line(&mut self) -> Result<Option<&str>, TraceFileError> {
        self.line.clear();
        let mut limited = (&mut self.input).take(LINE_MAX.get());
        let read = limited.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| failed(&self.name, source))? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.position += read;
        self.number += 1;
        if read == LINE_MAX.get() && !self.line.ends_with(b"\n") {
            return Err(self.refuse(Problem::LongLine { max: LINE_MAX }));
        }
        while self.line.ends_with(b"\n") || self.line.ends_with(b"\r") {
            self.line.pop();
        }
        match str::from_utf8(&self.line) {
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(self.refuse(Problem::NotText)),
        }
    }

    /// The next bytes into `record`, fewer at the end of the file: how many.
    pub(super) fn record(&mut self, record: &mut [u8]) -> Result<usize, TraceFileError> {
        let mut filled = 0;
        while filled < record.len() {
            match self.input.read(&mut record[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(failed(&self.name, source)),
            }
        }
        self.position += filled as u64;
        Ok(filled)
    }

    /// Refuses the line that was read last.
    pub(super) fn refuse(&self, problem: Problem) -> TraceFileError {
        TraceFileError::Line {
            name: self.name.clone(),
            line: self.number,
            problem,
        }
    }
}

impl<R> Input<R> {
    /// How many bytes were read.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }
}

fn failed(name: &str, source: io::Error) -> TraceFileError {
    TraceFileError::Read {
        name: name.into(),
        source,
    }
}
