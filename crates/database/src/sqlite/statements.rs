//! The statements of scripts in SQLite's words, tried on the user's database without being run.

use std::path::Path;

use octavo_script::Described;
use octavo_workload::user::OwnStatement;

use super::source::{Source, message, refusal};
use crate::own::{
    self, NO_ROWS, NO_VARIABLE, OwnError, Refused, Runnable, Shown, Statements, first_word,
    numbered,
};

/// A query whose rows say what is wrong with the data, or "ok"
/// (<https://www.sqlite.org/pragma.html#pragma_quick_check>).
pub(super) const CHECK: &str = "PRAGMA quick_check(10)";

/// Statements that would change what is measured, or reach other files. Savepoints outside of a
/// transaction would be one that never ends.
const REFUSED: [&str; 5] = ["ATTACH", "DETACH", "RELEASE", "SAVEPOINT", "VACUUM"];

/// Settings and questions that change nothing of what is measured. SQLite carries out many others
/// when a statement is prepared, some for the whole process.
const ALLOWED_PRAGMAS: [&str; 17] = [
    "application_id",
    "case_sensitive_like",
    "count_changes",
    "data_version",
    "defer_foreign_keys",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "freelist_count",
    "index_info",
    "index_list",
    "index_xinfo",
    "recursive_triggers",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];

/// Functions that answer of the statement before on the same connection.
const OF_CONNECTION: [&str; 3] = ["last_insert_rowid", "changes", "total_changes"];

pub(super) fn prepare(path: &Path, statements: Statements<'_>) -> Result<Runnable, OwnError> {
    let source = Source::open(path)?;
    // Nothing but the schema is asked, which does not change under us.
    own::preparation::prepare(statements, Some(CHECK), &mut |shown| {
        on_source(&source, path, shown)
    })
}

fn on_source(
    source: &Source,
    path: &Path,
    shown: &Shown<'_>,
) -> Result<(OwnStatement, Described), Refused> {
    let sql = numbered(shown.parts, '?');
    if let Some(reason) = forbidden(&sql) {
        return Err(Refused::whole(reason));
    }
    let prepared = match source.connection().prepare(&sql) {
        Ok(prepared) => prepared,
        Err(failure)
            if failure
                .sqlite_error_code()
                .is_some_and(|code| code != rusqlite::ErrorCode::Unknown) =>
        {
            return Err(Refused::Database(refusal(path, &failure)));
        }
        Err(failure) => {
            return Err(Refused::Statement {
                message: format!("SQLite: {}", message(&failure)),
                at: stopped_at(&failure),
            });
        }
    };
    if prepared.parameter_count() != shown.parameters {
        return Err(Refused::whole(NO_VARIABLE));
    }
    let names: Vec<String> = match shown.wants_columns {
        true => prepared.column_names().map(str::to_owned).collect(),
        false => Vec::new(),
    };
    if shown.wants_columns && names.is_empty() {
        return Err(Refused::whole(NO_ROWS));
    }
    let own = OwnStatement {
        parameters: shown.parameters,
        columns: names.len(),
        line: shown.line,
        writes: !prepared.readonly(),
        answers: prepared.column_count() > 0,
        needs_one_client: shown.is_alone && OF_CONNECTION.iter().any(|name| asks(&sql, name)),
        sql: sql.clone(),
    };
    let described = Described {
        columns: names,
        reads: !own.writes,
    };
    Ok((own, described))
}

/// Whether a statement calls a function, as far as its words say.
fn asks(sql: &str, function: &str) -> bool {
    let words = words(sql);
    words.iter().any(|word| word.eq_ignore_ascii_case(function))
}

/// Why a statement is not run, if it is not.
fn forbidden(sql: &str) -> Option<String> {
    let words = words(sql);
    let mut words = words.iter().map(String::as_str);
    let mut first = words.next()?;
    // SQLite carries out a PRAGMA that it is to explain.
    while matches!(first, "EXPLAIN" | "QUERY" | "PLAN") {
        first = words.next()?;
    }
    if REFUSED.contains(&first) {
        return Some(format!("{first} is not supported in a script"));
    }
    if first != "PRAGMA" {
        return None;
    }
    // A schema's name may stand before the setting's.
    let name = words
        .find(|word| !matches!(*word, "MAIN" | "TEMP"))?
        .to_ascii_lowercase();
    (!ALLOWED_PRAGMAS.contains(&name.as_str()))
        .then(|| format!("PRAGMA {name} is not supported in a script: Octavo makes the settings"))
}

/// The words of a statement in upper case, those in quotes too.
fn words(sql: &str) -> Vec<String> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let words = sql.split(|character: char| !is_word(character));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect()
}

/// What SQLite stopped at, or what it names ("no such table: t").
fn stopped_at(failure: &rusqlite::Error) -> Option<String> {
    match failure {
        rusqlite::Error::SqlInputError { sql, offset, .. } => {
            let offset = usize::try_from(*offset).ok();
            let behind = offset.and_then(|offset| sql.get(offset..));
            behind.map(|behind| first_word(behind).to_owned())
        }
        _ => {
            let said = message(failure);
            said.rsplit_once(": ").map(|(_, name)| name.to_owned())
        }
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
            "savepoint x",
            "PRAGMA main.journal_mode = wal",
            "pragma \"Synchronous\"(off)",
            "EXPLAIN QUERY PLAN pragma cache_size=1",
            "PRAGMA hard_heap_limit=1",
        ] {
            assert!(forbidden(sql).is_some(), "{sql}");
        }
        for sql in [
            "PRAGMA foreign_keys=ON",
            "SELECT 'VACUUM'",
            "EXPLAIN SELECT 1",
            "PRAGMA main.user_version",
        ] {
            assert_eq!(forbidden(sql), None, "{sql}");
        }
    }
}
