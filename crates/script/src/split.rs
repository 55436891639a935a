//! A script's text, cut into SQL statements and commands.
//!
//! A statement ends with a semicolon outside of quotes, comments and parentheses, at a
//! backslash, or at the script's end, as psql's scanner has it. Comments are left out, but for
//! those that servers read: hints (`/*+ ... */`) and what only MySQL or MariaDB runs (`/*! ... */`).

use crate::error::SyntaxError;

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A statement without its semicolon.
    Sql(Sql),
    /// A command.
    Meta(Meta),
}

/// A statement's text, and where each byte of it stands in the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sql {
    pub(crate) text: String,
    /// Runs of bytes: where one begins in the text, and where in the script.
    runs: Vec<(usize, usize)>,
}

impl Sql {
    fn push(&mut self, source: &str, begin: usize, end: usize) {
        if begin < end {
            self.runs.push((self.text.len(), begin));
            self.text.push_str(&source[begin..end]);
        }
    }

    /// Where a byte of the text stands in the script.
    pub(crate) fn offset(&self, byte: usize) -> usize {
        let run = self.runs.partition_point(|(begin, _)| *begin <= byte);
        match self.runs.get(run.saturating_sub(1)) {
            Some((begin, offset)) => offset + (byte - begin),
            None => 0,
        }
    }
}

/// A command: what stands behind the backslash, to the line's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The command's name, in lower case.
    pub(crate) name: String,
    /// Where the backslash stands in the script.
    pub(crate) offset: usize,
    /// Its arguments: a range of the script. A backslash at a line's end goes on in the next.
    pub(crate) arguments: std::ops::Range<usize>,
}

/// Cuts a script.
pub(crate) fn split(script: &str, source: &str) -> Result<Vec<Piece>, SyntaxError> {
    let bytes = source.as_bytes();
    let mut pieces = Vec::new();
    let mut sql = Sql::default();
    // Where the part of the statement begins that is not copied yet.
    let mut begin = 0;
    let mut at = 0;
    let mut depth = 0usize;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' => {
                let takes_backslash = bytes[at] == b'\'' && is_escape_string(bytes, at);
                at = end_of_quoted(bytes, at, takes_backslash)
                    .ok_or_else(|| SyntaxError::at(script, source, at, "this quote has no end"))?;
            }
            b'`' => at = end_of_name(bytes, at).unwrap_or(at + 1),
            b'$' => {
                at = end_of_dollar_quoted(source, at).map_err(|offset| {
                    SyntaxError::at(script, source, offset, "this dollar quote has no end")
                })?
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                sql.push(source, begin, at);
                at = end_of_line(bytes, at);
                begin = at;
            }
            b'/' if is_for_servers(&bytes[at..]) => {
                at = end_of_comment(bytes, at).ok_or_else(|| {
                    SyntaxError::at(script, source, at, "this comment has no end")
                })?;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                sql.push(source, begin, at);
                at = end_of_comment(bytes, at).ok_or_else(|| {
                    SyntaxError::at(script, source, at, "this comment has no end")
                })?;
                // A comment keeps words apart.
                sql.runs.push((sql.text.len(), at - 1));
                sql.text.push(' ');
                begin = at;
            }
            b'(' => {
                depth += 1;
                at += 1;
            }
            b')' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b';' if depth == 0 => {
                sql.push(source, begin, at);
                end(&mut sql, &mut pieces);
                at += 1;
                begin = at;
            }
            b'\\' => {
                sql.push(source, begin, at);
                end(&mut sql, &mut pieces);
                depth = 0;
                let meta = meta(script, source, at)?;
                at = meta.arguments.end;
                begin = at;
                pieces.push(Piece::Meta(meta));
            }
            _ => at += 1,
        }
    }
    sql.push(source, begin, at);
    end(&mut sql, &mut pieces);
    Ok(pieces)
}

/// Ends a statement, if there is one.
fn end(sql: &mut Sql, pieces: &mut Vec<Piece>) {
    let sql = std::mem::take(sql);
    if !sql.text.trim().is_empty() {
        pieces.push(Piece::Sql(sql));
    }
}

fn meta(script: &str, source: &str, offset: usize) -> Result<Meta, SyntaxError> {
    let bytes = source.as_bytes();
    let name_begin = offset + 1;
    let length = bytes[name_begin..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    if length == 0 {
        let message = match bytes.get(name_begin) {
            Some(b';') => "\\; is not supported: write BEGIN and COMMIT around the statements",
            _ => "a command's name is missing behind \\",
        };
        return Err(SyntaxError::at(script, source, offset, message));
    }
    let arguments = name_begin + length;
    let mut end = end_of_line(bytes, arguments);
    // A backslash before the line's end continues the command.
    while end < bytes.len()
        && source[arguments..end]
            .trim_end_matches('\r')
            .ends_with('\\')
    {
        end = end_of_line(bytes, end + 1);
    }
    Ok(Meta {
        name: source[name_begin..arguments].to_ascii_lowercase(),
        offset,
        arguments: arguments..end,
    })
}

/// The end of a name in backticks, as MySQL, MariaDB and SQLite have them: on the same line. Without
/// an end there it is no name, but a part of an operator of PostgreSQL's.
pub(crate) fn end_of_name(bytes: &[u8], begin: usize) -> Option<usize> {
    let line = &bytes[begin..end_of_line(bytes, begin)];
    let mut at = 1;
    loop {
        at += line[at..].iter().position(|byte| *byte == b'`')? + 1;
        // A doubled one is a part of the name.
        match line.get(at) {
            Some(b'`') => at += 1,
            _ => return Some(begin + at),
        }
    }
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..].iter().position(|byte| *byte == b'\n');
    length.map_or(bytes.len(), |length| at + length)
}

/// Whether a comment begins that a server reads.
pub(crate) fn is_for_servers(text: &[u8]) -> bool {
    let begins = [&b"/*+"[..], b"/*!", b"/*M!"];
    begins.iter().any(|begin| text.starts_with(begin))
}

/// Comments nest, as in PostgreSQL.
pub(crate) fn end_of_comment(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = begin;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Whether a quote is one of `E'...'`.
fn is_escape_string(bytes: &[u8], quote: usize) -> bool {
    let is_e = |at: usize| matches!(bytes[at], b'e' | b'E');
    let is_word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    quote >= 1 && is_e(quote - 1) && !(quote >= 2 && is_word(quote - 2))
}

fn end_of_quoted(bytes: &[u8], begin: usize, takes_backslash: bool) -> Option<usize> {
    let quote = bytes[begin];
    let mut at = begin + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if takes_backslash => at += 2,
            // A doubled quote is one in the text, and needs no other treatment: the second one
            // begins another text.
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The end of `$tag$...$tag$`, or the place behind a `$` that begins no quote. An error is
/// where a quote begins that has no end.
pub(crate) fn end_of_dollar_quoted(source: &str, begin: usize) -> Result<usize, usize> {
    let bytes = source.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    if begin > 0 && is_word(bytes[begin - 1]) {
        return Ok(begin + 1);
    }
    let length = bytes[begin + 1..]
        .iter()
        .take_while(|byte| is_word(**byte))
        .count();
    let tag_end = begin + 1 + length;
    let begins_with_digit = bytes.get(begin + 1).is_some_and(u8::is_ascii_digit);
    if bytes.get(tag_end) != Some(&b'$') || begins_with_digit {
        return Ok(begin + 1);
    }
    let tag = &source[begin..=tag_end];
    let content = tag_end + 1;
    match source[content..].find(tag) {
        Some(length) => Ok(content + length + tag.len()),
        None => Err(begin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str) -> Vec<String> {
        let pieces = split("s", source).unwrap();
        let text = |piece: Piece| match piece {
            Piece::Sql(sql) => sql.text.trim().to_owned(),
            Piece::Meta(meta) => format!("\\{}|{}", meta.name, source[meta.arguments].trim()),
        };
        pieces.into_iter().map(text).collect()
    }

    #[test]
    fn statements_end_where_psql_ends_them() {
        for (source, wanted) in [
            ("SELECT 1; SELECT\n2 ;\n;", vec!["SELECT 1", "SELECT\n2"]),
            (
                "SELECT ';''\"', \";\", $$;$$, $a$;$$;$a$, E'\\';' -- ;\n;",
                vec!["SELECT ';''\"', \";\", $$;$$, $a$;$$;$a$, E'\\';'"],
            ),
            ("SELECT a/* ; /* */ \\set */b", vec!["SELECT a b"]),
            (
                "/*+ SeqScan(t); */ SELECT /*! x */ a /* b */",
                vec!["/*+ SeqScan(t); */ SELECT /*! x */ a"],
            ),
            ("SELECT $1, a$1; x", vec!["SELECT $1, a$1", "x"]),
            (
                "-- only\n\\SET aid random(1, \\\n 10)\nSELECT :aid \\gset p_\nEND",
                vec![
                    "\\set|aid random(1, \\\n 10)",
                    "SELECT :aid",
                    "\\gset|p_",
                    "END",
                ],
            ),
            (
                "CREATE RULE r AS (a; b); SELECT 1",
                vec!["CREATE RULE r AS (a; b)", "SELECT 1"],
            ),
            (
                "\\if 1\r\nSELECT 1;\r\n\\endif\r\n",
                vec!["\\if|1", "SELECT 1", "\\endif|"],
            ),
            (
                "SELECT `a;--b`, `it's``\"/*` FROM t; SELECT 1 ` 2; x",
                vec!["SELECT `a;--b`, `it's``\"/*` FROM t", "SELECT 1 ` 2", "x"],
            ),
            ("", vec![]),
        ] {
            assert_eq!(pieces(source), wanted, "{source}");
        }
    }

    #[test]
    fn places_are_those_of_the_script() {
        let source = "/* a */ SELECT /* b */ 1, -- c\n :x;";
        let Piece::Sql(sql) = &split("s", source).unwrap()[0] else {
            panic!("a statement");
        };
        let place = sql.text.find(":x").unwrap();
        assert_eq!(&source[sql.offset(place)..], ":x;");
        let one = sql.text.find('1').unwrap();
        assert_eq!(&source[sql.offset(one)..=sql.offset(one)], "1");
    }

    #[test]
    fn what_has_no_end_is_told_with_its_place() {
        for (source, column) in [
            ("SELECT 'a", 8),
            ("SELECT \"a", 8),
            ("SELECT $b$ $$", 8),
            ("a /* /* */", 3),
            ("\\ set", 1),
            ("E'\\'", 2),
        ] {
            assert_eq!(split("s", source).unwrap_err().column, column, "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_or_refused(source in "[\\\\;'\"`$a-c/*\n (-]{0,40}") {
            if let Ok(pieces) = split("s", &source) {
                for piece in pieces {
                    if let Piece::Sql(sql) = piece {
                        for byte in 0..sql.text.len() {
                            proptest::prop_assert!(sql.offset(byte) < source.len());
                        }
                    }
                }
            }
        }
    }
}
