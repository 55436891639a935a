//! Files of requests that people have: a block or an object each, in the formats of
//! published traces and of `blkparse`.
//!
//! [`Requests`] reads one request after the other from a [`BufRead`] and never holds more
//! than a line. Which pages a request touches is asked of it ([`Request::pages`]). Files
//! themselves, and compressed ones, are not opened here.

mod blkparse;
mod csv;
mod error;
mod input;
mod lis;
mod msr;
mod oracle_general;
mod request;

use std::{fmt, io::BufRead, str::FromStr};

pub use csv::Columns;
pub use error::{Problem, TraceFileError};
pub use request::{Place, Request};

use blkparse::Blkparse;
use csv::Csv;
use input::Input;

/// How a file says what was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// libCacheSim's binary records of 24 bytes.
    OracleGeneral,
    /// Columns with a header, such as libCacheSim reads them.
    Csv,
    /// MSR Cambridge's seven columns.
    Msr,
    /// The four columns of ARC's authors.
    Lis,
    /// The text of blkparse(1).
    Blkparse,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::OracleGeneral,
        Self::Csv,
        Self::Msr,
        Self::Lis,
        Self::Blkparse,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OracleGeneral => "oracle-general",
            Self::Csv => "csv",
            Self::Msr => "msr",
            Self::Lis => "lis",
            Self::Blkparse => "blkparse",
        }
    }

    /// The format of a file that begins with these bytes, if any fits.
    fn detect(beginning: &[u8]) -> Option<Self> {
        let head = &beginning[..beginning.len().min(4096)];
        if head.contains(&0) {
            return oracle_general::fits(beginning).then_some(Self::OracleGeneral);
        }
        let end = head.iter().position(|&byte| byte == b'\n');
        let first = head.split(|&byte| byte == b'\n');
        let mut lines = first.filter_map(|line| str::from_utf8(line).ok());
        let line = lines.find(|line| !line.trim().is_empty() && !blkparse::is_notice(line))?;
        // A first line without an end may be cut anywhere.
        if end.is_none() && beginning.len() > head.len() {
            return None;
        }
        if blkparse::fits(line) {
            Some(Self::Blkparse)
        } else if lis::fits(line) {
            Some(Self::Lis)
        } else if msr::fits(line) {
            Some(Self::Msr)
        } else {
            Columns::of_header(line).map(|_| Self::Csv)
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.name() == text)
            .ok_or("no such format")
    }
}

/// What the user says of a file. By default nothing, and events of the action `Q`.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its format, where its content does not tell it.
    pub format: Option<Format>,
    /// The columns of a CSV file without a header.
    pub columns: Option<Columns>,
    /// The action of blkparse's events that count: each request has one event of most
    /// actions.
    pub action: String,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            format: None,
            columns: None,
            action: "Q".into(),
        }
    }
}

/// The requests of a file, in their order. Ends at the first error.
#[derive(Debug)]
pub struct Requests<R> {
    input: Input<R>,
    parser: Parser,
    is_done: bool,
}

/// What is kept of a file between two requests.
#[derive(Debug)]
enum Parser {
    OracleGeneral,
    Csv(Csv),
    Msr,
    Lis,
    Blkparse(Blkparse),
}

impl<R: BufRead> Requests<R> {
    /// Those of `input`, which `name` calls in errors.
    ///
    /// # Errors
    /// It cannot be read, is compressed, or has no format that is known; a CSV file's header
    /// names no column with what was requested.
    pub fn new(name: &str, input: R, given: &Given) -> Result<Self, TraceFileError> {
        let mut input = Input::new(name, input);
        let beginning = input.beginning()?;
        if beginning.is_empty() {
            return Err(TraceFileError::Empty { name: name.into() });
        }
        let compressed = COMPRESSED.iter();
        let mut compressed = compressed.filter(|(magic, _)| beginning.starts_with(magic));
        if let Some(&(_, command)) = compressed.next() {
            return Err(TraceFileError::Compressed {
                name: name.into(),
                command,
            });
        }
        let format = match (&given.columns, given.format) {
            (_, Some(format)) => Some(format),
            (Some(_), None) => Some(Format::Csv),
            (None, None) => Format::detect(beginning),
        };
        let parser = match format {
            Some(Format::OracleGeneral) => Parser::OracleGeneral,
            Some(Format::Csv) => Parser::Csv(Csv::new(given.columns.clone(), &mut input)?),
            Some(Format::Msr) => Parser::Msr,
            Some(Format::Lis) => Parser::Lis,
            Some(Format::Blkparse) => Parser::Blkparse(Blkparse::new(&given.action)),
            None => return Err(TraceFileError::Unknown { name: name.into() }),
        };
        Ok(Self {
            input,
            parser,
            is_done: false,
        })
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        match self.parser {
            Parser::OracleGeneral => Format::OracleGeneral,
            Parser::Csv(_) => Format::Csv,
            Parser::Msr => Format::Msr,
            Parser::Lis => Format::Lis,
            Parser::Blkparse(_) => Format::Blkparse,
        }
    }

    /// Whether requests are for addresses, of which neighbors are known.
    pub fn has_addresses(&self) -> bool {
        match &self.parser {
            Parser::OracleGeneral => false,
            Parser::Csv(csv) => csv.has_addresses(),
            Parser::Msr | Parser::Lis | Parser::Blkparse(_) => true,
        }
    }

    /// Whether the file says which requests write.
    pub fn has_writes(&self) -> bool {
        match &self.parser {
            Parser::OracleGeneral | Parser::Lis => false,
            Parser::Csv(csv) => csv.has_writes(),
            Parser::Msr | Parser::Blkparse(_) => true,
        }
    }

    /// How many bytes of the file were read.
    pub const fn position(&self) -> u64 {
        self.input.position()
    }

    fn read(&mut self) -> Result<Option<Request>, TraceFileError> {
        if matches!(self.parser, Parser::OracleGeneral) {
            return oracle_general::next(&mut self.input);
        }
        while let Some(line) = self.input.line()? {
            let parsed = match &mut self.parser {
                _ if line.trim().is_empty() => Ok(None),
                Parser::Csv(csv) => csv.request(line),
                Parser::Msr => msr::request(line),
                Parser::Lis => lis::request(line).map(Some),
                Parser::Blkparse(blkparse) if blkparse.is_end(line) => break,
                Parser::Blkparse(blkparse) => blkparse.request(line),
                Parser::OracleGeneral => Ok(None),
            };
            match parsed {
                Ok(Some(request)) => return Ok(Some(request)),
                Ok(None) => {}
                Err(problem) => return Err(self.input.refuse(problem)),
            }
        }
        match &self.parser {
            Parser::Blkparse(blkparse) => blkparse.check(self.input.name()).map(|()| None),
            _ => Ok(None),
        }
    }
}

impl<R: BufRead> Iterator for Requests<R> {
    type Item = Result<Request, TraceFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let read = self.read().transpose();
        self.is_done = !matches!(read, Some(Ok(_)));
        read
    }
}

/// How compressed files begin, and what makes them readable: Zstandard (RFC 8878, 3.1.1),
/// gzip (RFC 1952, 2.3.1), xz (its format's 2.1.1.1) and bzip2.
const COMPRESSED: [(&[u8], &str); 4] = [
    (b"\x28\xb5\x2f\xfd", "zstd -d"),
    (b"\x1f\x8b\x08", "gunzip -k"),
    (b"\xfd7zXZ\0", "unxz -k"),
    (b"BZh", "bunzip2 -k"),
];

#[cfg(test)]
mod tests;
