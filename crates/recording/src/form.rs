//! The form of a statement: its text without the values that may differ from run to run.

use std::ops::Range;

use crate::{
    dialect::{Dialect, Mark, Type},
    token::{Kind, Token, Tokens},
};

/// A statement, cut at its literals.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Texts, one more than literals: comments are left out, and white space is one blank.
    pub(crate) texts: Vec<String>,
    /// The literals between them.
    pub(crate) literals: Vec<Literal>,
    /// The highest number of a parameter whose value is not here, or 1 for one without a number.
    pub(crate) parameters: usize,
    /// Whether a quote or comment has no end.
    pub(crate) has_no_end: bool,
}

/// A value in a statement that may become a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// As it is written, with its sign.
    pub(crate) range: Range<usize>,
    pub(crate) class: Type,
}

/// How a parameter is written in the place of a literal; `None` where that has to stay.
pub(crate) fn mark(class: Type, dialect: &Dialect) -> Option<Mark> {
    match class {
        Type::Null => Some(Mark::PLAIN),
        class => (dialect.parameter)(class),
    }
}

/// The places of the statements in a text, without the semicolons behind them.
pub fn split(text: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut begin = 0;
    let mut words = 0;
    // Whether the statement defines something, and whether what it defines has a body.
    let (mut defines, mut has_body) = (false, false);
    // Whether a body may end here: behind `; END`.
    let (mut is_behind_semicolon, mut is_at_end) = (false, false);
    for token in Tokens::new(text, dialect) {
        let is = |word: &str| text[token.range.clone()].eq_ignore_ascii_case(word);
        match token.kind {
            Kind::Comment => continue,
            Kind::Symbol(b';') if !has_body || (is_at_end && !dialect.has_whole_texts) => {
                if words > 0 {
                    ranges.push(begin..token.range.start);
                }
                (begin, words) = (token.range.end, 0);
                (defines, has_body, is_at_end) = (false, false, false);
            }
            Kind::Symbol(b';') => is_behind_semicolon = true,
            kind => {
                is_at_end = is_behind_semicolon && is("END");
                is_behind_semicolon = false;
                if words == 0 {
                    begin = token.range.start;
                }
                defines |= words == 0 && is("CREATE");
                has_body |= defines && kind == Kind::Word && is("BEGIN");
                words += 1;
            }
        }
    }
    if words > 0 {
        ranges.push(begin..text.len());
    }
    ranges
}

/// Whether a quote or comment of a text has no end.
pub(crate) fn has_no_end(text: &str, dialect: &Dialect) -> bool {
    let mut tokens = Tokens::new(text, dialect);
    tokens.by_ref().for_each(drop);
    tokens.has_no_end
}

/// Behind these words stands a value, never a part of the statement's structure.
const BEFORE_VALUES: [&str; 14] = [
    "AND", "BETWEEN", "ELSE", "GLOB", "ILIKE", "LIKE", "LIMIT", "OFFSET", "OR", "REGEXP", "RLIKE",
    "THEN", "WHEN", "WHERE",
];

/// What ends the columns of ORDER BY and GROUP BY.
const BEHIND_COLUMNS: [&str; 12] = [
    "EXCEPT",
    "FETCH",
    "FOR",
    "HAVING",
    "INTERSECT",
    "LIMIT",
    "OFFSET",
    "ON",
    "RANGE",
    "ROWS",
    "UNION",
    "WINDOW",
];

/// What stood before a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Something that a value may follow.
    Opening,
    /// A sign that belongs to the number behind it.
    Sign,
    /// Anything else.
    Other,
}

/// Cuts a statement.
pub(crate) fn cut(text: &str, dialect: &Dialect) -> Cut {
    let mut cut = Cut {
        texts: Vec::new(),
        literals: Vec::new(),
        parameters: 0,
        has_no_end: false,
    };
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    let mut before = Before::Other;
    let mut sign: Option<(usize, usize)> = None;
    let mut depth = 0usize;
    // Where ORDER BY or GROUP BY names columns, by numbers too.
    let mut ordered_at = None;
    let mut tokens = Tokens::new(text, dialect);
    for Token { kind, range } in &mut tokens {
        if kind == Kind::Comment {
            continue;
        }
        let is_first = out.is_empty() && cut.texts.is_empty();
        if end < range.start && !is_first {
            out.push(' ');
        }
        let written = &text[range.clone()];
        match kind {
            Kind::Symbol(b'(') => depth += 1,
            Kind::Symbol(b')') => {
                depth = depth.saturating_sub(1);
                ordered_at = ordered_at.filter(|at| *at <= depth);
            }
            Kind::Word if written.eq_ignore_ascii_case("BY") => ordered_at = Some(depth),
            Kind::Word if is_one_of(written, &BEHIND_COLUMNS) => ordered_at = None,
            _ => {}
        }
        let literal = (before != Before::Other && ordered_at != Some(depth))
            .then(|| class(text, kind, &range))
            .flatten()
            .filter(|class| {
                let is_number = !matches!(class, Type::Text | Type::Bytes | Type::Null);
                before != Before::Sign || is_number
            })
            .filter(|class| mark(*class, dialect).is_some());
        match literal {
            Some(class) => {
                let mut range = range.clone();
                if let Some((begin, written)) = sign.filter(|_| before == Before::Sign) {
                    range.start = begin;
                    out.truncate(written);
                }
                cut.texts.push(std::mem::take(&mut out));
                cut.literals.push(Literal { range, class });
            }
            None => {
                if kind == Kind::Symbol(b'-') && before == Before::Opening {
                    sign = Some((range.start, out.len()));
                }
                out.push_str(&text[range.clone()]);
                if kind == Kind::Parameter {
                    let number = written[1..].parse().unwrap_or(1);
                    cut.parameters = cut.parameters.max(number);
                }
            }
        }
        end = range.end;
        before = match kind {
            Kind::Symbol(b'-') if before == Before::Opening => Before::Sign,
            Kind::Symbol(
                b'=' | b'<' | b'>' | b',' | b'(' | b'+' | b'-' | b'*' | b'/' | b'%' | b'|' | b'~'
                | b'&',
            ) => Before::Opening,
            Kind::Word if is_one_of(&text[range], &BEFORE_VALUES) => Before::Opening,
            _ => Before::Other,
        };
    }
    cut.texts.push(out);
    cut.has_no_end = tokens.has_no_end;
    cut
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|of| word.eq_ignore_ascii_case(of))
}

/// The type of a literal, if it is one.
fn class(text: &str, kind: Kind, range: &Range<usize>) -> Option<Type> {
    let written = &text[range.clone()];
    Some(match kind {
        Kind::Text if written.len() >= 2 => Type::Text,
        Kind::Word if written.eq_ignore_ascii_case("NULL") => Type::Null,
        Kind::Bytes if is_hexadecimal(written) => Type::Bytes,
        Kind::Number if written.contains(['e', 'E']) => Type::Double,
        Kind::Number if written.contains('.') => {
            let scale = written.len() - written.find('.')? - 1;
            Type::Decimal {
                digits: u32::try_from(written.len() - 1).ok()?,
                scale: u32::try_from(scale).ok()?,
            }
        }
        Kind::Number => match written.parse::<i64>() {
            Ok(number) if i32::try_from(number).is_ok() => Type::Integer,
            Ok(_) => Type::Long,
            Err(_) => Type::Decimal {
                digits: u32::try_from(written.len()).ok()?,
                scale: 0,
            },
        },
        _ => return None,
    })
}

/// Whether `x'...'` has whole bytes.
fn is_hexadecimal(written: &str) -> bool {
    let digits = written.get(2..written.len() - 1).unwrap_or_default();
    digits.len().is_multiple_of(2) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text of a quoted literal.
pub(crate) fn unquoted(written: &str, dialect: &Dialect) -> String {
    let quote = written.chars().next().unwrap_or('\'');
    let inner = &written[1..written.len() - 1];
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            // It stands doubled.
            characters.next();
            text.push(quote);
        } else if character == '\\' && dialect.has_backslashes {
            match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('b') => text.push('\u{8}'),
                Some('0') => text.push('\0'),
                Some('Z') => text.push('\u{1a}'),
                // They keep their backslash, which patterns need.
                Some(other @ ('%' | '_')) => text.extend(['\\', other]),
                Some(other) => text.push(other),
                None => {}
            }
        } else {
            text.push(character);
        }
    }
    text
}
