//! What a statement's text says: its variables, and whether it begins or ends a transaction.

use crate::{
    control::{Access, Control},
    split::{Sql, end_of_comment, end_of_dollar_quoted, end_of_name, is_for_servers},
    variables::is_name_byte,
};

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// SQL as it stands.
    Text(String),
    /// A parameter, by its position in the statement from 0.
    Parameter(usize),
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given<V> {
    /// A variable.
    Variable(V),
    /// A quoted text with variables in it: one parameter, so that what a database knows of texts
    /// that it compares with a pattern goes for it too.
    Joined(Vec<Joint<V>>),
}

/// A piece of a quoted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Joint<V> {
    /// A text, without the quotes that stand doubled in it.
    Text(String),
    Variable(V),
}

/// A statement with its variables taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<Part>,
    /// Of each parameter the variable, and where that stands in the script. A variable that
    /// stands twice is one parameter, as in pgbench's prepared statements.
    pub(crate) given: Vec<Given<(String, usize)>>,
}

/// Takes the variables out of a statement. `:name` is one wherever it stands outside of
/// quotes and begins with a letter or an underscore; in a quoted text only if the script or a
/// definition may set it (pgbench replaces them there too, with `-M simple`). A second colon
/// (`::type`) makes it none.
pub(crate) fn template(sql: &Sql, may_be_set: &dyn Fn(&str) -> bool) -> Template {
    let text = &sql.text;
    let bytes = text.as_bytes();
    let mut template = Template {
        parts: Vec::new(),
        given: Vec::new(),
    };
    let mut begin = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' => {
                let end = quote_end(bytes, at);
                if let Some(joined) = joined(sql, at, end, may_be_set) {
                    template.text(&text[begin..at]);
                    template.parts.push(Part::Parameter(template.given.len()));
                    template.given.push(joined);
                    begin = end;
                }
                at = end;
            }
            b'"' => at = quote_end(bytes, at),
            b'`' => at = end_of_name(bytes, at).unwrap_or(at + 1),
            // It was found to have an end when the script was cut.
            b'$' => at = end_of_dollar_quoted(text, at).unwrap_or(bytes.len()),
            b'/' if is_for_servers(&bytes[at..]) => {
                at = end_of_comment(bytes, at).unwrap_or(bytes.len());
            }
            b':' if bytes.get(at + 1) == Some(&b':') => at += 2,
            b':' => match name_at(text, at + 1) {
                Some(name) => {
                    template.text(&text[begin..at]);
                    let parameter = template.variable(name, sql.offset(at));
                    template.parts.push(Part::Parameter(parameter));
                    at += 1 + name.len();
                    begin = at;
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    template.text(&text[begin..]);
    template
}

impl Template {
    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(Part::Text(text.to_owned()));
        }
    }

    /// The position of a variable's parameter.
    fn variable(&mut self, name: &str, offset: usize) -> usize {
        let is_it = |given: &Given<(String, usize)>| matches!(given, Given::Variable((known, _)) if known == name);
        let known = self.given.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.given.push(Given::Variable((name.to_owned(), offset)));
            self.given.len() - 1
        })
    }
}

/// The quoted text from `begin` to `end` in pieces, if it has variables.
fn joined(
    sql: &Sql,
    begin: usize,
    end: usize,
    may_be_set: &dyn Fn(&str) -> bool,
) -> Option<Given<(String, usize)>> {
    let text = &sql.text;
    let mut pieces = Vec::new();
    let mut from = begin + 1;
    let mut at = from;
    let quoted = |part: &str| Joint::Text(part.replace("''", "'"));
    while at + 1 < end {
        let name = (text.as_bytes()[at] == b':')
            .then(|| name_at(text, at + 1))
            .flatten();
        match name {
            Some(name) if may_be_set(name) && at + 1 + name.len() < end => {
                pieces.push(quoted(&text[from..at]));
                pieces.push(Joint::Variable((name.to_owned(), sql.offset(at))));
                at += 1 + name.len();
                from = at;
            }
            _ => at += 1,
        }
    }
    if pieces.is_empty() {
        return None;
    }
    pieces.push(quoted(&text[from..end - 1]));
    pieces.retain(|piece| *piece != Joint::Text(String::new()));
    Some(Given::Joined(pieces))
}

/// The end of what is quoted from `begin`, doubled quotes within; the splitter saw that there
/// is one.
fn quote_end(bytes: &[u8], begin: usize) -> usize {
    let quote = bytes[begin];
    let mut at = begin + 1;
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == quote) {
        at += length + 1;
        match bytes.get(at) {
            Some(byte) if *byte == quote => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// The variable's name at a place: none that begins with a digit, which may be a time's or an
/// array's.
fn name_at(text: &str, at: usize) -> Option<&str> {
    let length = text.as_bytes()[at..]
        .iter()
        .take_while(|byte| is_name_byte(**byte))
        .count();
    let name = &text[at..at + length];
    let begins_well = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    begins_well.then_some(name)
}

/// The words of a statement outside of quotes and hints, in upper case. What only MySQL or MariaDB
/// runs (`/*! ... */`) is a part of it.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' => {
                at = quote_end(bytes, at);
                words.push(std::mem::take(&mut word));
                continue;
            }
            b'`' => {
                // Those of a name count: none shall be hidden by an odd backtick.
                let end = end_of_name(bytes, at).unwrap_or(at + 1);
                words.push(std::mem::take(&mut word));
                let is_between = |one: char| !one.is_ascii_alphanumeric() && one != '_';
                let inside = text[at..end].split(is_between);
                words.extend(inside.map(str::to_ascii_uppercase));
                at = end;
                continue;
            }
            b'/' if bytes[at..].starts_with(b"/*+") => {
                at = end_of_comment(bytes, at).unwrap_or(bytes.len());
                words.push(std::mem::take(&mut word));
                continue;
            }
            // With the number of a version.
            b'/' if is_for_servers(&bytes[at..]) => {
                at += 3;
                let is_mark = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'!' | b'M');
                at += bytes[at..].iter().take_while(is_mark).count();
                words.push(std::mem::take(&mut word));
                continue;
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                word.push(char::from(byte.to_ascii_uppercase()));
            }
            _ => words.push(std::mem::take(&mut word)),
        }
        at += 1;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// What a statement does to transactions and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Begins a transaction; `None` where what follows says whether it writes.
    Begin(Option<Access>),
    /// Ends one.
    End(Control),
    /// Any other.
    Statement,
}

/// The kind of a statement, by its words.
pub fn kind(text: &str) -> Kind {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => Kind::Begin(access(&words)),
        // The name may be in quotes, and is no word then.
        ["ROLLBACK", rest @ ..] if rest.contains(&"TO") => Kind::Statement,
        // Of a transaction that another session may have begun.
        ["COMMIT" | "ROLLBACK", "PREPARED", ..] => Kind::Statement,
        ["COMMIT" | "END", ..] => Kind::End(Control::Commit),
        ["ROLLBACK" | "ABORT", ..] => Kind::End(Control::Rollback),
        _ => Kind::Statement,
    }
}

/// What a statement that begins a transaction says of it.
fn access(words: &[&str]) -> Option<Access> {
    let has = |wanted: &[&str]| words.windows(wanted.len()).any(|of| of == wanted);
    if has(&["READ", "ONLY"]) {
        Some(Access::Read)
    } else if has(&["SERIALIZABLE"]) {
        Some(Access::WriteSerializable)
    } else if has(&["REPEATABLE", "READ"]) {
        Some(Access::WriteRepeatable)
    } else if has(&["IMMEDIATE"]) || has(&["EXCLUSIVE"]) {
        Some(Access::Write)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Piece, split};

    fn of(source: &str) -> Template {
        let Piece::Sql(sql) = split("s", source).unwrap().remove(0) else {
            panic!("a statement");
        };
        template(&sql, &|name| name == "x")
    }

    fn shown(template: &Template) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Parameter(position) => match &template.given[*position] {
                Given::Variable((name, _)) => format!("?{name}"),
                Given::Joined(pieces) => {
                    let piece = |piece: &Joint<(String, usize)>| match piece {
                        Joint::Text(text) => text.clone(),
                        Joint::Variable((name, _)) => format!("?{name}"),
                    };
                    format!(
                        "[{}]",
                        pieces.iter().map(piece).collect::<Vec<_>>().join("|")
                    )
                }
            },
        };
        template.parts.iter().map(part).collect()
    }

    #[test]
    fn variables_become_parameters() {
        for (source, wanted, count) in [
            ("SELECT :a + :b - :a", "SELECT ?a + ?b - ?a", 2),
            (
                "SELECT '2020-01-01'::date, a[1:2], ':y', '12:30'",
                "SELECT '2020-01-01'::date, a[1:2], ':y', '12:30'",
                0,
            ),
            (
                "SELECT 'a :x b', ':x', '::x'",
                "SELECT [a |?x| b], [?x], [:|?x]",
                3,
            ),
            ("SELECT \":a\", ':x''', $1", "SELECT \":a\", [?x|'], $1", 1),
            ("SELECT `a:x`, :x, ` :x", "SELECT `a:x`, ?x, ` ?x", 1),
            ("SELECT :\u{e4}1_, :", "SELECT ?\u{e4}1_, :", 1),
            (
                "SELECT $$it's :x$$, /*+ a :x */ $q$':x'$q$, :x",
                "SELECT $$it's :x$$, /*+ a :x */ $q$':x'$q$, ?x",
                1,
            ),
        ] {
            let template = of(source);
            assert_eq!(shown(&template), wanted, "{source}");
            assert_eq!(template.given.len(), count, "{source}");
        }
        let offset = "/* c */ SELECT ".len();
        assert_eq!(
            of("/* c */ SELECT :a").given,
            [Given::Variable(("a".to_owned(), offset))]
        );
    }

    #[test]
    fn words_are_what_runs() {
        for (text, wanted) in [
            ("select 'a' from \"b\"", &["SELECT", "FROM"][..]),
            ("/*+ SeqScan(t) */ UPDATE t", &["UPDATE", "T"]),
            ("/*!50701 FLUSH*/ TABLES", &["FLUSH", "TABLES"]),
            ("/*M! KILL */ 1", &["KILL", "1"]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn kinds_follow_from_words() {
        for (text, wanted) in [
            ("begin", Kind::Begin(None)),
            (
                "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
                Kind::Begin(Some(Access::WriteRepeatable)),
            ),
            ("BEGIN READ ONLY", Kind::Begin(Some(Access::Read))),
            (
                "BEGIN IMMEDIATE TRANSACTION",
                Kind::Begin(Some(Access::Write)),
            ),
            ("END", Kind::End(Control::Commit)),
            ("commit work", Kind::End(Control::Commit)),
            ("ABORT", Kind::End(Control::Rollback)),
            ("ROLLBACK TO s", Kind::Statement),
            ("ROLLBACK WORK TO \"a-b\"", Kind::Statement),
            ("COMMIT PREPARED 'a'", Kind::Statement),
            ("ROLLBACK TO SAVEPOINT s", Kind::Statement),
            ("SELECT a FROM t WHERE b FOR UPDATE", Kind::Statement),
            ("UPDATE t SET a = 'begin'", Kind::Statement),
        ] {
            assert_eq!(kind(text), wanted, "{text}");
        }
    }
}
