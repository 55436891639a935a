//! Files with recorded statements, opened and read by lines.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use octavo_recording::{Dialect, Gathering, Recording};

use crate::{DatabaseError, Result, files};

/// Reads one file.
pub(crate) type Each<'e> = dyn FnMut(&Path, BufReader<File>, &mut Gathering) -> Result<()> + 'e;

/// Reads files one after the other, `each` with what a database finds there.
///
/// # Errors
/// Those of `each`; [`DatabaseError::File`] when one cannot be opened.
pub(crate) fn gather(
    paths: &[PathBuf],
    dialect: &'static Dialect,
    each: &mut Each<'_>,
) -> Result<Recording> {
    let mut gathering = Gathering::new(dialect);
    for (position, path) in paths.iter().enumerate() {
        if position > 0 {
            gathering.next_file();
        }
        let about = fs::metadata(path).map_err(files::named("open", path))?;
        // A pipe may never end.
        if !about.is_file() {
            return Err(refuse(path, "is no file: write the recording into one"));
        }
        let file = File::open(path).map_err(files::named("open", path))?;
        // Any size will do: it is a log.
        each(
            path,
            BufReader::with_capacity(1 << 20, file),
            &mut gathering,
        )?;
    }
    Ok(gathering.finish())
}

/// What is wrong with a file.
pub(crate) fn refuse(path: &Path, reason: impl Into<String>) -> DatabaseError {
    DatabaseError::Recording {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// The lines of a file, with their numbers from 1 and without their ends.
pub(crate) struct Lines<'p> {
    path: &'p Path,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    /// Whether the last line has an end.
    is_ended: bool,
}

/// The longest line. Chosen: far beyond what statements have.
const LINE_MAX: usize = 64 << 20;

impl<'p> Lines<'p> {
    pub(crate) fn new(path: &'p Path, reader: BufReader<File>) -> Self {
        Self {
            path,
            reader,
            line: Vec::new(),
            number: 0,
            is_ended: false,
        }
    }

    /// Whether the line read last has an end, so that no writer is at it.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        self.line.clear();
        loop {
            let named = files::named("read", self.path);
            let bytes = self.reader.fill_buf().map_err(named)?;
            if bytes.is_empty() {
                if self.line.is_empty() {
                    return Ok(None);
                }
                self.is_ended = false;
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            self.line
                .extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if self.line.len() > LINE_MAX {
                return Err(refuse(
                    self.path,
                    "has a line of more than 64 MiB: is it a log?",
                ));
            }
            if end.is_some() {
                self.is_ended = true;
                break;
            }
        }
        self.number += 1;
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some((self.number, &self.line)))
    }
}

/// A reader that gives at most [`LINE_MAX`] bytes, and what was read ahead, between two marks.
pub(crate) struct Capped {
    reader: BufReader<File>,
    left: usize,
}

impl Capped {
    pub(crate) fn new(reader: BufReader<File>) -> Self {
        Self {
            reader,
            left: LINE_MAX,
        }
    }

    /// Marks the beginning of what is read as a whole.
    pub(crate) fn begin(&mut self) {
        self.left = LINE_MAX;
    }
}

impl Read for Capped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(
                "a line or a text of more than 64 MiB: is it a log?",
            ));
        }
        let count = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(count);
        Ok(count)
    }
}
