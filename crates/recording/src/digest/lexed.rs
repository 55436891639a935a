//! The text of a digest in words and signs, with one parameter for each value.

use std::ops::Range;

use crate::{
    dialect::Dialect,
    left::Left,
    token::{Kind, Tokens},
};

/// How a server writes digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The program's text with `$1` in the places of values (PostgreSQL).
    Numbered,
    /// Words and names with a blank between them, `?` in the places of values, and `...` for
    /// values beside each other (MySQL, MariaDB).
    Marked,
}

/// A word, a name, a sign or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A word outside of quotes.
    Word(String),
    /// A name in quotes, with them.
    Name(String),
    /// An operator of one or more characters.
    Operator(String),
    /// A bracket, comma, point, or another sign.
    Sign(u8),
    /// A literal, or what else stays as it is.
    Other(String),
    /// A parameter, by its position from 0.
    Parameter(usize),
}

/// What PostgreSQL 18 writes behind the first value of a list of several (pg_stat_statements' test
/// squashing.out).
const SQUASHED: &str = "/*, ... */";

/// Values of a list whose length a server does not keep. Chosen.
pub(crate) const LIST: usize = 4;

impl Item {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text) if text.eq_ignore_ascii_case(word))
    }

    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_sign(&self, sign: u8) -> bool {
        *self == Self::Sign(sign)
    }

    /// What it names, if it may be a name: as the server compares names.
    pub(crate) fn name(&self, style: Style) -> Option<String> {
        match self {
            Self::Word(text) if style == Style::Numbered => Some(text.to_lowercase()),
            Self::Word(text) => Some(text.clone()),
            Self::Name(text) => {
                let quote = text.chars().next()?;
                let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
                Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
            }
            _ => None,
        }
    }
}

/// Cuts a digest.
///
/// # Errors
/// [`Left::NoEnd`] where the server cut it.
pub(crate) fn lex(text: &str, dialect: &Dialect, style: Style) -> Result<Vec<Item>, Left> {
    // What a server cut at its limit, not a list.
    if style == Style::Marked
        && text.trim_end().ends_with("...")
        && !text.trim_end().ends_with("?, ...")
    {
        return Err(Left::NoEnd);
    }
    let text = match style {
        // What MariaDB does not know how to write is a value in another notation.
        Style::Marked => text.replace("(unknown)", " ? "),
        Style::Numbered => text.to_owned(),
    };
    let mut items: Vec<Item> = Vec::new();
    let mut before: Option<Range<usize>> = None;
    // Numbers that no value has.
    let mut squashed = usize::MAX;
    let mut tokens = Tokens::new(&text, dialect);
    for token in &mut tokens {
        let written = &text[token.range.clone()];
        let is_beside = before.is_some_and(|before| before.end == token.range.start);
        before = Some(token.range.clone());
        let item = match token.kind {
            // PostgreSQL 18 keeps the first value of a list, and this for all others.
            Kind::Comment if written == SQUASHED && style == Style::Numbered => {
                for _ in 1..LIST {
                    items.extend([Item::Sign(b','), Item::Parameter(squashed)]);
                    squashed -= 1;
                }
                continue;
            }
            Kind::Comment => continue,
            Kind::Word if written.starts_with('$') || written.contains('\'') => {
                Item::Other(written.to_owned())
            }
            Kind::Word => Item::Word(written.to_owned()),
            Kind::Name => Item::Name(written.to_owned()),
            Kind::Number | Kind::Text | Kind::Bytes | Kind::Hint => Item::Other(written.to_owned()),
            Kind::Parameter => match style {
                Style::Marked => Item::Parameter(0),
                Style::Numbered => {
                    let number: usize = written[1..].parse().map_err(|_| Left::NoColumn)?;
                    Item::Parameter(number.checked_sub(1).ok_or(Left::NoColumn)?)
                }
            },
            Kind::Symbol(b':') if written.len() == 2 => Item::Operator(written.to_owned()),
            Kind::Symbol(sign) if is_of_operator(sign) => match items.last_mut() {
                Some(Item::Operator(last)) if is_beside && last != "::" => {
                    last.push_str(written);
                    continue;
                }
                _ => Item::Operator(written.to_owned()),
            },
            Kind::Symbol(sign) => Item::Sign(sign),
        };
        items.push(item);
    }
    if tokens.has_no_end {
        return Err(Left::NoEnd);
    }
    while items.last().is_some_and(|item| item.is_sign(b';')) {
        items.pop();
    }
    Ok(items)
}

/// Bytes that a name can take of a server's room for a digest: 64 characters, with 4 bytes of its own.
const NAME_MAX: usize = 4 * 64 + 4;

/// Whether a server that keeps so many bytes of a digest's words and signs may have cut this one. It
/// stores nothing more when the next one does not fit, and says so nowhere: two bytes for each word or
/// sign, and four and its text for a name (`store_token_identifier` in sql_digest.cc, MySQL 8.4 and
/// MariaDB 10.11).
pub(crate) fn may_be_cut(items: &[Item], most: usize) -> bool {
    let stored = |item: &Item| match item {
        Item::Name(text) => 4 + text.len().saturating_sub(2),
        _ => 2,
    };
    items.iter().map(stored).sum::<usize>() + NAME_MAX > most
}

/// The signs of operators, those of PostgreSQL's and MySQL's.
fn is_of_operator(sign: u8) -> bool {
    b"+-*/<>=~!@#%^&|?".contains(&sign)
}

/// The position of the bracket that ends what begins at `open`.
pub(crate) fn closing(items: &[Item], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, item) in items.iter().enumerate().skip(open) {
        match item {
            Item::Sign(b'(' | b'[') => depth += 1,
            Item::Sign(b')' | b']') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The position of the bracket that `at` is directly within.
pub(crate) fn opening(items: &[Item], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for position in (0..at).rev() {
        match items[position] {
            Item::Sign(b')' | b']') => depth += 1,
            Item::Sign(b'(' | b'[') if depth == 0 => return Some(position),
            Item::Sign(b'(' | b'[') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// How many commas stand between a bracket and a place directly within it.
pub(crate) fn commas(items: &[Item], open: usize, at: usize) -> usize {
    let mut depth = 0usize;
    let mut count = 0;
    for item in &items[open + 1..at] {
        match item {
            Item::Sign(b'(' | b'[') => depth += 1,
            Item::Sign(b')' | b']') => depth = depth.saturating_sub(1),
            Item::Sign(b',') if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}
