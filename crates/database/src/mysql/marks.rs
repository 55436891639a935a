//! Parameters' marks: workloads number them (`?1`), the server counts them as
//! they stand (`?`).

/// A statement as the server wants it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    /// The text with plain marks.
    pub(crate) sql: String,
    /// For each mark the parameter that it takes, from 0.
    pub(crate) parameters: Vec<usize>,
}

/// Rewrites `?1` to `?`; what stands in quotes stays.
pub(crate) fn rewrite(sql: &str) -> Marked {
    let mut marked = Marked {
        sql: String::with_capacity(sql.len()),
        parameters: Vec::new(),
    };
    let mut quote = None;
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        marked.sql.push(character);
        match (quote, character) {
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '?') => {
                let mut number = 0usize;
                while let Some(digit) = characters.peek().and_then(|c| c.to_digit(10)) {
                    number = number.saturating_mul(10).saturating_add(digit as usize);
                    characters.next();
                }
                // Without a number: the next one, as in SQLite.
                let parameter = match number {
                    0 => marked.parameters.iter().max().map_or(0, |&last| last + 1),
                    _ => number - 1,
                };
                marked.parameters.push(parameter);
            }
            _ => {}
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_repeat_and_quotes_stay() {
        let marked = rewrite("SET a = ?1, b = a - ?1 WHERE c = '?9' AND `d?` = ?12 AND e = ?2");
        assert_eq!(
            marked.sql,
            "SET a = ?, b = a - ? WHERE c = '?9' AND `d?` = ? AND e = ?"
        );
        assert_eq!(marked.parameters, [0, 0, 11, 1]);
        assert_eq!(rewrite("? ?").parameters, [0, 1]);
    }
}
