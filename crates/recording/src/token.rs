//! Words, names, literals and parameters of a statement.

use std::ops::Range;

use crate::dialect::Dialect;

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword, a name, or a function's.
    Word,
    /// A name in quotes.
    Name,
    /// A number, without a sign.
    Number,
    /// A quoted text without anything before it.
    Text,
    /// `x'...'`.
    Bytes,
    /// A parameter.
    Parameter,
    /// Any other character.
    Symbol(u8),
    /// A comment that servers read, which is a part of the statement.
    Hint,
    /// A comment.
    Comment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

/// The tokens of a text; white space is between them. What has no end goes to the text's end.
pub(crate) struct Tokens<'t> {
    text: &'t str,
    dialect: &'t Dialect,
    at: usize,
    /// Whether a quote or a comment had no end.
    pub(crate) has_no_end: bool,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str, dialect: &'t Dialect) -> Self {
        Self {
            text,
            dialect,
            at: 0,
            has_no_end: false,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    fn begins(&self, at: usize, with: &str) -> bool {
        self.text.as_bytes()[at..].starts_with(with.as_bytes())
    }

    /// The end of what is quoted from `begin`, with a doubled quote within.
    fn quoted(&mut self, begin: usize, end: u8, has_backslashes: bool) -> usize {
        let mut at = begin + 1;
        while at < self.text.len() {
            match self.byte(at) {
                b'\\' if has_backslashes => at += 2,
                byte if byte == end => match self.byte(at + 1) == end && end != b']' {
                    true => at += 2,
                    false => return at + 1,
                },
                _ => at += 1,
            }
        }
        self.has_no_end = true;
        self.text.len()
    }

    fn line(&self, begin: usize) -> usize {
        self.text[begin..]
            .find('\n')
            .map_or(self.text.len(), |length| begin + length)
    }

    fn number(&self, begin: usize) -> usize {
        let digits = |from: usize| {
            let of = self.text.as_bytes()[from..].iter();
            from + of.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut at = digits(begin);
        if self.byte(at) == b'.' {
            at = digits(at + 1);
        }
        if matches!(self.byte(at), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            if self.byte(at + 1 + sign).is_ascii_digit() {
                at = digits(at + 1 + sign);
            }
        }
        at
    }

    fn word(&self, begin: usize) -> usize {
        // Names may have dollars in them.
        let of = self.text.as_bytes()[begin..].iter();
        let is_of = |byte: &&u8| is_word(**byte) || **byte == b'$';
        begin + of.take_while(is_of).count()
    }

    fn comment(&mut self, begin: usize) -> usize {
        let mut depth = 0usize;
        let mut at = begin;
        while at < self.text.len() {
            if self.begins(at, "/*") {
                // They nest in servers with dollar quotes, and nowhere else.
                depth += usize::from(depth == 0 || self.dialect.has_dollar_quotes);
                at += 2;
            } else if self.begins(at, "*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            } else {
                at += 1;
            }
        }
        self.has_no_end = true;
        self.text.len()
    }

    /// The end of a text in dollar quotes, if one begins here.
    fn dollar_quoted(&mut self, begin: usize) -> Option<usize> {
        let of = self.text.as_bytes()[begin + 1..].iter();
        let end = begin + 1 + of.take_while(|byte| is_word(**byte)).count();
        if self.byte(end) != b'$' || self.byte(begin + 1).is_ascii_digit() {
            return None;
        }
        let tag = &self.text[begin..=end];
        let content = end + 1;
        let length = self.text[content..].find(tag);
        self.has_no_end |= length.is_none();
        Some(length.map_or(self.text.len(), |length| content + length + tag.len()))
    }
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while self.byte(self.at).is_ascii_whitespace() {
            self.at += 1;
        }
        let begin = self.at;
        let dialect = self.dialect;
        if begin >= self.text.len() {
            return None;
        }
        let second = self.byte(begin + 1);
        let (kind, end) = match self.byte(begin) {
            b'-' if second == b'-'
                && (!dialect.has_spaced_comments
                    || self.byte(begin + 2).is_ascii_whitespace()
                    || self.byte(begin + 2).is_ascii_control()) =>
            {
                (Kind::Comment, self.line(begin))
            }
            b'#' if dialect.has_hash_comments => (Kind::Comment, self.line(begin)),
            b'/' if ["/*+", "/*!", "/*M!"]
                .iter()
                .any(|hint| self.begins(begin, hint)) =>
            {
                (Kind::Hint, self.comment(begin))
            }
            b'/' if second == b'*' => (Kind::Comment, self.comment(begin)),
            b'\'' => (
                Kind::Text,
                self.quoted(begin, b'\'', dialect.has_backslashes),
            ),
            b'"' if dialect.has_double_quoted_texts => (
                Kind::Text,
                self.quoted(begin, b'"', dialect.has_backslashes),
            ),
            quote @ (b'"' | b'`') => (Kind::Name, self.quoted(begin, quote, false)),
            b'[' if dialect.has_bracketed_names => (Kind::Name, self.quoted(begin, b']', false)),
            b'x' | b'X' if second == b'\'' => (Kind::Bytes, self.quoted(begin + 1, b'\'', false)),
            b'e' | b'E' if second == b'\'' => {
                // A text with backslashes, whatever stands in it: left as it is.
                (Kind::Word, self.quoted(begin + 1, b'\'', true))
            }
            b'$' if dialect.has_dollar_quotes && !second.is_ascii_digit() => {
                match self.dollar_quoted(begin) {
                    Some(end) => (Kind::Word, end),
                    None => (Kind::Symbol(b'$'), begin + 1),
                }
            }
            b':' if second == b':' => (Kind::Symbol(b':'), begin + 2),
            mark if dialect.parameter_marks.contains(&mark)
                && (mark == b'?' || is_word(second)) =>
            {
                (Kind::Parameter, self.word(begin + 1))
            }
            b'.' if second.is_ascii_digit() => (Kind::Number, self.number(begin)),
            byte if byte.is_ascii_digit() => {
                let end = self.number(begin);
                // 0x1f, 1st, 12_000.
                let word = self.word(begin);
                match word > end {
                    true => (Kind::Word, word),
                    false => (Kind::Number, end),
                }
            }
            byte if is_word(byte) => {
                let end = self.word(begin);
                // n'text', _utf8'text', b'01'
                match self.byte(end) == b'\'' {
                    true => (Kind::Word, self.quoted(end, b'\'', dialect.has_backslashes)),
                    false => (Kind::Word, end),
                }
            }
            byte => (Kind::Symbol(byte), begin + 1),
        };
        self.at = end.min(self.text.len());
        // What a backslash hides may be a character of several bytes.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        Some(Token {
            kind,
            range: begin..self.at,
        })
    }
}
