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
    /// Whether it has parameters whose values are not here.
    pub(crate) has_parameters: bool,
}

/// A value in a statement that may become a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// As it is written, with its sign.
    pub(crate) range: Range<usize>,
    pub(crate) class: Type,
    pub(crate) mark: Mark,
}

/// The places of the statements in a text, without the semicolons behind them.
pub fn split(text: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut begin = 0;
    let mut is_empty = true;
    for token in Tokens::new(text, dialect) {
        match token.kind {
            Kind::Symbol(b';') => {
                if !is_empty {
                    ranges.push(begin..token.range.start);
                }
                (begin, is_empty) = (token.range.end, true);
            }
            Kind::Comment => {}
            _ => is_empty = false,
        }
    }
    if !is_empty {
        ranges.push(begin..text.len());
    }
    ranges
}

/// Behind these words stands a value, never a part of the statement's structure.
const BEFORE_VALUES: [&str; 14] = [
    "AND", "BETWEEN", "ELSE", "GLOB", "ILIKE", "LIKE", "LIMIT", "OFFSET", "OR", "REGEXP", "RLIKE",
    "THEN", "WHEN", "WHERE",
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
        has_parameters: false,
    };
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    let mut before = Before::Other;
    let mut sign: Option<(usize, usize)> = None;
    for token in Tokens::new(text, dialect) {
        let Token { kind, range } = token;
        if kind == Kind::Comment {
            continue;
        }
        if end < range.start && !out.is_empty() | !cut.texts.is_empty() {
            out.push(' ');
        }
        let literal = (before != Before::Other)
            .then(|| class(text, kind, &range))
            .flatten()
            .filter(|class| before != Before::Sign || !matches!(class, Type::Text | Type::Bytes))
            .and_then(|class| Some((class, (dialect.parameter)(class)?)));
        match literal {
            Some((class, mark)) => {
                let mut range = range.clone();
                if let Some((begin, written)) = sign.filter(|_| before == Before::Sign) {
                    range.start = begin;
                    out.truncate(written);
                }
                cut.texts.push(std::mem::take(&mut out));
                cut.literals.push(Literal { range, class, mark });
            }
            None => {
                if kind == Kind::Symbol(b'-') && before == Before::Opening {
                    sign = Some((range.start, out.len()));
                }
                out.push_str(&text[range.clone()]);
                cut.has_parameters |= kind == Kind::Parameter;
            }
        }
        end = range.end;
        before = match kind {
            Kind::Symbol(b'-') if before == Before::Opening => Before::Sign,
            Kind::Symbol(
                b'=' | b'<' | b'>' | b',' | b'(' | b'+' | b'-' | b'*' | b'/' | b'%' | b'|' | b'~'
                | b'&',
            ) => Before::Opening,
            Kind::Word if is_before_values(&text[range]) => Before::Opening,
            _ => Before::Other,
        };
    }
    cut.texts.push(out);
    cut
}

fn is_before_values(word: &str) -> bool {
    BEFORE_VALUES.iter().any(|of| word.eq_ignore_ascii_case(of))
}

/// The type of a literal, if it is one.
fn class(text: &str, kind: Kind, range: &Range<usize>) -> Option<Type> {
    let written = &text[range.clone()];
    Some(match kind {
        Kind::Text if written.len() >= 2 => Type::Text,
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
