//! The statements of scripts in SQLite's words, tried on the user's database without being run.

use std::path::Path;

use octavo_script::{Part, Script, StatementText, SyntaxError};
use octavo_workload::own::{OwnStatement, OwnStatements, Prepared};

use super::source::{Source, message, refusal};
use crate::own::OwnError;

/// A query whose rows say what is wrong with the data, or "ok"
/// (<https://www.sqlite.org/pragma.html#pragma_quick_check>).
const CHECK: &str = "PRAGMA quick_check(10)";

/// Statements that would change what is measured, or reach other files.
const REFUSED: [&str; 3] = ["ATTACH", "DETACH", "VACUUM"];

/// Settings that Octavo makes itself, so that all page sizes have the same.
const OWN_PRAGMAS: [&str; 10] = [
    "auto_vacuum",
    "cache_size",
    "journal_mode",
    "locking_mode",
    "mmap_size",
    "page_size",
    "synchronous",
    "temp_store",
    "wal_autocheckpoint",
    "wal_checkpoint",
];

pub(super) fn prepare(path: &Path, scripts: &[Script]) -> Result<Prepared, OwnError> {
    let source = Source::open(path)?;
    let mut prepared = Vec::new();
    for script in scripts {
        let mut statements = Vec::new();
        let mut columns = Vec::new();
        for statement in script.statements() {
            let (own, names) = on_source(&source, path, script, statement)?;
            statements.push(own);
            columns.push(names);
        }
        let program = script.compile(&|statement| columns[statement].clone());
        prepared.push(OwnStatements {
            name: script.name().to_owned(),
            program: program.map_err(Box::new)?,
            statements,
        });
    }
    source.close()?;
    Ok(Prepared::new(prepared, Some(CHECK)))
}

/// A statement, and the names of its columns where these become variables.
fn on_source(
    source: &Source,
    path: &Path,
    script: &Script,
    statement: &StatementText,
) -> Result<(OwnStatement, Vec<String>), OwnError> {
    let sql = sql(&statement.parts);
    let refused = |error: SyntaxError| OwnError::Script(Box::new(error));
    if let Some(reason) = forbidden(&sql) {
        return Err(refused(script.error(statement.offset, reason)));
    }
    let prepared = match source.connection().prepare(&sql) {
        Ok(prepared) => prepared,
        Err(failure)
            if failure
                .sqlite_error_code()
                .is_some_and(|code| code != rusqlite::ErrorCode::Unknown) =>
        {
            return Err(refusal(path, &failure).into());
        }
        Err(failure) => {
            let offset = place(script, statement, &failure);
            return Err(refused(
                script.error(offset, format!("SQLite: {}", message(&failure))),
            ));
        }
    };
    let names: Vec<String> = match statement.wants_columns {
        true => prepared.column_names().map(str::to_owned).collect(),
        false => Vec::new(),
    };
    if statement.wants_columns && names.is_empty() {
        let message = "this statement has no rows for \\gset or \\aset";
        return Err(refused(script.error(statement.offset, message)));
    }
    let own = OwnStatement {
        parameters: statement.parameters,
        columns: names.len(),
        reads: prepared.readonly(),
        sql: sql.clone(),
    };
    Ok((own, names))
}

/// A statement's SQL: parameters are `?1` and on, and a quoted text with variables in it is
/// joined.
pub(super) fn sql(parts: &[Part]) -> String {
    let mut sql = String::new();
    for part in parts {
        match part {
            Part::Text(text) => sql.push_str(text),
            Part::Parameter(position) => sql.push_str(&format!("?{}", position + 1)),
            Part::Joined(parts) => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|part| self::sql(std::slice::from_ref(part)))
                    .collect();
                sql.push_str(&format!("({})", parts.join(" || ")));
            }
        }
    }
    sql
}

/// Why a statement is not run, if it is not.
fn forbidden(sql: &str) -> Option<String> {
    let mut words = sql
        .split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| !word.is_empty());
    let first = words.next()?.to_ascii_uppercase();
    if REFUSED.contains(&first.as_str()) {
        return Some(format!("{first} is not supported in a script"));
    }
    if first != "PRAGMA" {
        return None;
    }
    // A schema's name may stand before the setting's.
    let named = words.take(2).map(str::to_ascii_lowercase);
    let own = named
        .into_iter()
        .find(|word| OWN_PRAGMAS.contains(&word.as_str()))?;
    Some(format!(
        "{own} is a setting that Octavo makes: leave it out"
    ))
}

/// Where in the script SQLite stopped: what it stopped at, or what it names ("no such table:
/// t"), if that is found behind the statement's beginning.
fn place(script: &Script, statement: &StatementText, failure: &rusqlite::Error) -> usize {
    let said = message(failure);
    let stopped_at = match failure {
        rusqlite::Error::SqlInputError { sql, offset, .. } => {
            let offset = usize::try_from(*offset).ok();
            offset.and_then(|offset| sql.get(offset..)).map(first_word)
        }
        _ => said.rsplit_once(": ").map(|(_, name)| name),
    };
    let behind = &script.source()[statement.offset..];
    let found = stopped_at
        .filter(|word| !word.is_empty())
        .and_then(|word| behind.find(word));
    statement.offset + found.unwrap_or_default()
}

/// The word that a text begins with, or its first character.
fn first_word(text: &str) -> &str {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    match text.find(|character| !is_word(character)) {
        Some(0) => &text[..text.chars().next().map_or(0, char::len_utf8)],
        Some(length) => &text[..length],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_other_files_are_left_alone() {
        for sql in [
            "attach 'x' as y",
            "VACUUM INTO 'x'",
            "PRAGMA main.journal_mode = wal",
            "pragma Synchronous(off)",
        ] {
            assert!(forbidden(sql).is_some(), "{sql}");
        }
        for sql in [
            "PRAGMA foreign_keys=ON",
            "SELECT 'VACUUM'",
            "PRAGMA user_version",
        ] {
            assert_eq!(forbidden(sql), None, "{sql}");
        }
    }
}
