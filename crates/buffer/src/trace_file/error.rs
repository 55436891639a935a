//! Why a file of requests is not read.

use std::io;

use octavo_units::ByteCount;

/// Why a file of requests is not read, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFileError {
    /// The system refuses.
    #[error("cannot read {name}")]
    Read {
        /// The file.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It has no bytes.
    #[error("{name} is empty; name another file")]
    Empty {
        /// The file.
        name: String,
    },
    /// It is compressed.
    #[error("{name} is compressed; unpack it with {command}, and name the file that makes")]
    Compressed {
        /// The file.
        name: String,
        /// What makes it readable, without the file's name.
        command: &'static str,
    },
    /// No format fits.
    #[error(
        "{name} is in no format that Octavo recognizes; add --format, or --columns for a CSV \
         file without a header"
    )]
    Unknown {
        /// The file.
        name: String,
    },
    /// A line does not have what its format says.
    #[error("{name}:{line}: {problem}; {}", problem.remedy())]
    Line {
        /// The file.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A binary file ends before its last record does.
    #[error(
        "{name} ends after {found} of the 24 bytes of record {record}; copy it again, or keep \
         the whole records, which are its first {whole} bytes (head -c {whole})"
    )]
    Truncated {
        /// The file.
        name: String,
        /// The record, from 1.
        record: u64,
        /// The bytes that it has.
        found: usize,
        /// The bytes of all records before it.
        whole: u64,
    },
    /// No event has the action that counts.
    #[error("{name} has no events of action {action}, but of {found}; choose one with --action")]
    Action {
        /// The file.
        name: String,
        /// What was asked for.
        action: String,
        /// The actions that it has.
        found: String,
    },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It has another number of fields.
    #[error("{format} has {wanted} fields, not {found}")]
    Fields {
        /// How many.
        found: usize,
        /// The format.
        format: &'static str,
        /// How many there must be.
        wanted: &'static str,
    },
    /// A field is no whole number.
    #[error("{what} '{found}' is not a whole number below 2^64")]
    Number {
        /// The field.
        what: &'static str,
        /// What it has.
        found: String,
    },
    /// A field is neither of two words.
    #[error("type '{found}' is neither Read nor Write")]
    Type {
        /// What it has.
        found: String,
    },
    /// What is done is no word that is known.
    #[error(
        "op '{found}' is neither a read nor a write (r…, get, select, load; w…, set, put, add)"
    )]
    Operation {
        /// What it has.
        found: String,
    },
    /// An id has no characters.
    #[error("the id is empty")]
    NoId,
    /// A header names nothing that was requested.
    #[error("no column is called id, offset or lbn")]
    Header,
    /// The line is no event of blkparse.
    #[error("'{found}' is not an event of blkparse")]
    Event {
        /// Its beginning.
        found: String,
    },
    /// A request is longer than is believed.
    #[error("a request of {length} bytes, where {max} is the most")]
    LongRequest {
        /// Its bytes.
        length: u64,
        /// The most.
        max: ByteCount,
    },
    /// A request ends where no device does.
    #[error("the request ends beyond 2^64 bytes")]
    BeyondEnd,
    /// A line is longer than any format's.
    #[error("the line is longer than {max}")]
    LongLine {
        /// The most.
        max: ByteCount,
    },
    /// A line is no text.
    #[error("the line is not UTF-8 text")]
    NotText,
}

impl Problem {
    fn remedy(&self) -> &'static str {
        match self {
            Self::Header => "name the columns in their order, such as --columns time,id,size",
            Self::Fields { .. } | Self::Event { .. } | Self::LongLine { .. } | Self::NotText => {
                "remove the line, or choose another --format"
            }
            _ => "correct or remove the line, or choose another --format",
        }
    }
}

/// The first characters of what a file has.
pub(super) fn shortened(found: &str) -> String {
    const MOST: usize = 32;
    match found.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}
