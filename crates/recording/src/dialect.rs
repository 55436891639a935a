//! In what the SQL of databases differs for who reads their logs.

use std::borrow::Cow;

/// How a database writes texts, names and values.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Whether a backslash in a quoted text says what the next character means.
    pub has_backslashes: bool,
    /// Whether what stands in double quotes is a text, not a name.
    pub has_double_quoted_texts: bool,
    /// Whether `#` begins a comment.
    pub has_hash_comments: bool,
    /// Whether `$tag$` begins a quoted text.
    pub has_dollar_quotes: bool,
    /// Whether `[` begins a quoted name.
    pub has_bracketed_names: bool,
    /// Whether sessions can begin transactions by themselves (`SET autocommit = 0`).
    pub has_autocommit: bool,
    /// What parameters begin with that have no value here.
    pub parameter_marks: &'static [u8],
    /// How a parameter is written in the place of a literal of this type, so that it has the same
    /// type; `None` where the literal has to stay.
    pub parameter: fn(Type) -> Option<Mark>,
}

/// The type of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A whole number of 32 bits.
    Integer,
    /// One of 64 bits.
    Long,
    /// A number with a point, or a whole one that is longer: how many digits it has, and how many
    /// of them behind the point.
    Decimal {
        /// All digits.
        digits: u32,
        /// Those behind the point.
        scale: u32,
    },
    /// A number with an exponent.
    Double,
    /// A quoted text.
    Text,
    /// Bytes in hexadecimal digits, as in `x'00ff'`.
    Bytes,
}

/// A parameter that stands for a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What is written before it.
    pub before: Cow<'static, str>,
    /// What is written behind it.
    pub behind: Cow<'static, str>,
    /// Whether its value is given as a number with double precision, not as a text. Whole numbers
    /// always are given as such.
    pub is_real: bool,
}

impl Mark {
    /// A parameter alone.
    pub const PLAIN: Self = Self {
        before: Cow::Borrowed(""),
        behind: Cow::Borrowed(""),
        is_real: false,
    };

    /// A parameter with what stands around it.
    pub fn within(
        before: impl Into<Cow<'static, str>>,
        behind: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            before: before.into(),
            behind: behind.into(),
            is_real: false,
        }
    }

    /// The same with a value of double precision.
    pub fn real(self) -> Self {
        Self {
            is_real: true,
            ..self
        }
    }
}
