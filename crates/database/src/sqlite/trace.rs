//! Statements that programs traced with `sqlite3_trace_v2`, or the shell with `.trace FILE`: their
//! texts with the values in them (`sqlite3_expanded_sql`), each with a semicolon behind it. A file
//! is one connection. The shell's `--profile` adds how long each took.

use std::{io::Read as _, path::PathBuf, time::Duration};

use octavo_recording::{Dialect, Left, Mark, Recording, Type, split};

use crate::{
    Result, files,
    own::recorded::{gather, refuse},
};

const DIALECT: Dialect = Dialect {
    has_backslashes: false,
    has_double_quoted_texts: false,
    has_hash_comments: false,
    has_spaced_comments: false,
    has_whole_texts: false,
    has_text_transactions: false,
    // <https://www.sqlite.org/lang_savepoint.html>
    has_outer_savepoints: true,
    session_functions: &[],
    has_dollar_quotes: false,
    has_bracketed_names: true,
    has_autocommit: false,
    parameter_marks: b"?:@$",
    // <https://www.sqlite.org/lang_expr.html#literal_values_constants_>
    parameter: |class| {
        Some(match class {
            Type::Integer | Type::Long | Type::Text => Mark::PLAIN,
            Type::Decimal { .. } | Type::Double => Mark::PLAIN.real(),
            Type::Bytes => Mark::within("unhex(", ")"),
            Type::Null => return None,
        })
    },
};

/// The most bytes of a file.
const FILE_MAX: u64 = 1 << 30;

/// Reads a connection from each file.
pub(super) fn read(paths: &[PathBuf]) -> Result<Recording> {
    gather(paths, &DIALECT, &mut |path, reader, gathering| {
        let mut bytes = Vec::new();
        reader
            .take(FILE_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(files::named("read", path))?;
        if bytes.len() as u64 > FILE_MAX {
            return Err(refuse(path, "is larger than 1 GiB: give a part of it"));
        }
        let session = path.to_string_lossy();
        gathering.began(&session);
        let text = String::from_utf8_lossy(&bytes);
        let mut line = 1u64;
        let mut counted = 0;
        let mut statements = 0u64;
        for range in split(&text, &DIALECT) {
            let statement = &text[range.clone()];
            let blank = statement.len() - statement.trim_start().len();
            let begin = range.start + blank;
            let newlines = text.as_bytes()[counted..begin].iter();
            line += newlines.filter(|byte| **byte == b'\n').count() as u64;
            counted = begin;
            statements += 1;
            let took = text.get(range.end + 1..).and_then(profiled);
            // What is no text was replaced.
            match statement.contains('\u{fffd}') {
                true => gathering.left(&session, &Left::NoText, took),
                false => gathering.statement(&session, line, statement, None, took),
            }
        }
        match statements {
            0 => Err(refuse(
                path,
                "has no statement: write one with sqlite3_trace_v2",
            )),
            _ => Ok(()),
        }
    })
}

/// The time behind a statement's semicolon: ` -- 1200 ns`.
fn profiled(behind: &str) -> Option<Duration> {
    let behind = behind.strip_prefix(" -- ")?;
    let (nanoseconds, _) = behind.split_once(" ns")?;
    nanoseconds.parse().ok().map(Duration::from_nanos)
}
