//! Marks of parameters in statements: workloads number them (`?1`), servers
//! have marks of their own.

/// The statement with what `mark` appends for each `?1`, by its number; what
/// stands in quotes stays.
pub(crate) fn rewrite(sql: &str, mut mark: impl FnMut(&mut String, usize)) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut quote = None;
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '?') if characters.peek().is_some_and(char::is_ascii_digit) => {
                let mut number = 0usize;
                while let Some(digit) = characters.peek().and_then(|c| c.to_digit(10)) {
                    number = number.saturating_mul(10).saturating_add(digit as usize);
                    characters.next();
                }
                mark(&mut out, number);
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_repeat_and_quotes_stay() {
        let mut numbers = Vec::new();
        let sql = rewrite(
            "SET a = ?1, b = a - ?1 WHERE c = '?9 it''s' AND `d?` = ?12 AND \"?2\" = ?2 OR e ? 'x'",
            |out, number| {
                out.push('$');
                numbers.push(number);
            },
        );
        assert_eq!(
            sql,
            "SET a = $, b = a - $ WHERE c = '?9 it''s' AND `d?` = $ AND \"?2\" = $ OR e ? 'x'"
        );
        assert_eq!(numbers, [1, 1, 12, 2]);
    }
}
