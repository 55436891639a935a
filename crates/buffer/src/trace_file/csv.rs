//! Columns by their names, which the first line has or the user says.
//!
//! libCacheSim's CSV files have time, id and size, in any order (`csv.c` of
//! <https://github.com/1a1a11a/libCacheSim>); others have an address. A name counts without
//! its case, quotes and `_` or `-`:
//!
//! | names | what |
//! |---|---|
//! | `id`, `objid`, `objectid`, `object`, `key` | an object: a number, or any text |
//! | `offset` | an address in bytes |
//! | `lbn`, `lba`, `sector` | an address in sectors of 512 bytes |
//! | `size`, `objsize`, `length`, `bytes` | how many bytes; without it one page |
//! | `op`, `type`, `rw` | a write where it begins with `w`, or is SCSI's code of one |
//!
//! An address goes before an id. All other columns are ignored.

use std::{io::BufRead, str::FromStr};

use octavo_units::Seed;

use super::{
    error::{Problem, TraceFileError, shortened},
    input::Input,
    request::{Place, Request, SECTOR, number},
};
use crate::trace::Access;

/// Between two fields: the first of these that a line has.
const DELIMITERS: [char; 4] = [',', ';', '\t', ' '];

/// Which column has what, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    what: (What, usize),
    size: Option<usize>,
    op: Option<usize>,
}

/// How a column says what was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Id,
    Bytes,
    Sectors,
}

impl Columns {
    /// Those that a header names; `None` where nothing says what was requested.
    pub(super) fn of_header(header: &str) -> Option<Self> {
        let names: Vec<String> = fields(header, delimiter(header)).map(plain).collect();
        let place = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let whats = [
            (What::Bytes, place(&["offset"])),
            (What::Sectors, place(&["lbn", "lba", "sector"])),
            (
                What::Id,
                place(&["id", "objid", "objectid", "object", "key"]),
            ),
        ];
        let mut whats = whats.into_iter();
        Some(Self {
            what: whats.find_map(|(what, place)| Some((what, place?)))?,
            size: place(&["size", "objsize", "length", "bytes"]),
            op: place(&["op", "type", "rw"]),
        })
    }
}

impl FromStr for Columns {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of_header(text).ok_or("has none of id, offset and lbn; write it like time,id,size")
    }
}

/// A name without case, quotes and signs.
fn plain(name: &str) -> String {
    let name = name.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\u{feff}');
    name.to_ascii_lowercase().replace(['_', '-'], "")
}

fn delimiter(line: &str) -> char {
    let mut known = DELIMITERS.into_iter();
    known.find(|&one| line.contains(one)).unwrap_or(',')
}

/// Blanks may be several.
fn fields(line: &str, delimiter: char) -> impl Iterator<Item = &str> {
    let fields = line.split(delimiter);
    fields.filter(move |field| delimiter != ' ' || !field.is_empty())
}

/// What writes, beside words that begin with a w: SCSI's WRITE of 6, 10, 12 and 16 bytes
/// (SBC-4), as vSCSI traces have them, and what stores put into caches.
const WRITES: [&str; 12] = [
    "0a", "2a", "aa", "8a", "set", "put", "add", "replace", "cas", "append", "prepend", "update",
];

/// What reads, beside words that begin with an r: SCSI's READ, and what asks caches.
const READS: [&str; 8] = ["08", "28", "a8", "88", "get", "gets", "select", "load"];

/// What a field says is done.
fn access(op: &str) -> Result<Access, Problem> {
    let word = op.to_ascii_lowercase();
    let is_one_of = |words: &[&str]| words.contains(&word.as_str());
    // Not all that begins with an r reads.
    match word.chars().next() {
        _ if is_one_of(&WRITES) => Ok(Access::Change),
        _ if is_one_of(&READS) => Ok(Access::Read),
        Some('w') => Ok(Access::Change),
        Some('r') => Ok(Access::Read),
        _ => Err(Problem::Operation {
            found: shortened(op),
        }),
    }
}

/// What is known of a file.
#[derive(Debug)]
pub(super) struct Csv {
    columns: Columns,
    delimiter: Option<char>,
    /// Whether the first line may name the columns again.
    may_be_header: bool,
}

impl Csv {
    /// A file whose columns were given, or else are in its first line.
    pub(super) fn new<R: BufRead>(
        given: Option<Columns>,
        input: &mut Input<R>,
    ) -> Result<Self, TraceFileError> {
        if let Some(columns) = given {
            return Ok(Self {
                columns,
                delimiter: None,
                may_be_header: true,
            });
        }
        let header = input.line()?.unwrap_or_default().to_owned();
        match Columns::of_header(&header) {
            None => Err(input.refuse(Problem::Header)),
            Some(columns) => Ok(Self {
                columns,
                delimiter: Some(delimiter(&header)),
                may_be_header: false,
            }),
        }
    }

    pub(super) fn has_addresses(&self) -> bool {
        self.columns.what.0 != What::Id
    }

    pub(super) fn has_writes(&self) -> bool {
        self.columns.op.is_some()
    }

    /// The request of a line; none of a header.
    pub(super) fn request(&mut self, line: &str) -> Result<Option<Request>, Problem> {
        let delimiter = *self.delimiter.get_or_insert_with(|| delimiter(line));
        if std::mem::take(&mut self.may_be_header) && Columns::of_header(line).is_some() {
            return Ok(None);
        }
        let (kind, what_at) = self.columns.what;
        let (mut what, mut size, mut op) = (None, None, None);
        let mut found = 0;
        for field in fields(line, delimiter) {
            let field = field.trim_matches(|c: char| c.is_whitespace() || c == '"');
            if found == what_at {
                what = Some(field);
            }
            if Some(found) == self.columns.size {
                size = Some(field);
            }
            if Some(found) == self.columns.op {
                op = Some(field);
            }
            found += 1;
        }
        let (Some(what), true, true) = (
            what,
            size.is_some() == self.columns.size.is_some(),
            op.is_some() == self.columns.op.is_some(),
        ) else {
            return Err(Problem::Fields {
                found,
                format: "the header",
                wanted: "more",
            });
        };
        let access = op.map_or(Ok(Access::Read), access)?;
        let size = size.map(|size| number("size", size)).transpose()?;
        match kind {
            What::Bytes => Request::at(0, number("offset", what)?, size.unwrap_or(1), access),
            What::Sectors => {
                let sector = number("sector", what)?;
                let offset = sector.checked_mul(SECTOR).ok_or(Problem::BeyondEnd)?;
                Request::at(0, offset, size.unwrap_or(SECTOR), access)
            }
            What::Id if what.is_empty() => Err(Problem::NoId),
            What::Id => Ok(Request {
                place: Place::Object(match what.parse() {
                    Ok(id) => id,
                    Err(_) => Seed::new(0).derive(what, 0).get(),
                }),
                length: size.unwrap_or(1),
                access,
            }),
        }
        .map(Some)
    }
}
