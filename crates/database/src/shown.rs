//! What errors show of statements.

use octavo_workload::connection::Statement;

/// The start of a statement, enough to recognise it.
pub(crate) fn start_of(sql: &str) -> String {
    const CHARACTERS: usize = 72;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A statement in errors: its beginning, and nothing of the user's own.
pub(crate) fn shown(statement: &Statement) -> String {
    match statement.is_private {
        true => "a statement".into(),
        false => start_of(statement.sql),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut() {
        assert_eq!(start_of("SELECT  a\n FROM t"), "SELECT a FROM t");
        let long = start_of(&"ä ".repeat(90));
        assert_eq!(long.chars().count(), 73);
    }
}
