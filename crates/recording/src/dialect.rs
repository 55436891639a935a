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
    /// Whether `--` begins a comment only with white space behind it.
    pub has_spaced_comments: bool,
    /// Whether `$tag$` begins a quoted text.
    pub has_dollar_quotes: bool,
    /// Whether `[` begins a quoted name.
    pub has_bracketed_names: bool,
    /// Whether sessions can begin transactions by themselves (`SET autocommit = 0`).
    pub has_autocommit: bool,
    /// Whether a text is what a program sent at once, so that it is one statement with all that
    /// stands in the body of a routine. In other recordings a body ends with `; END`.
    pub has_whole_texts: bool,
    /// Whether statements of one text are one transaction.
    pub has_text_transactions: bool,
    /// Whether a savepoint outside of a transaction begins one.
    pub has_outer_savepoints: bool,
    /// Functions in capitals whose effect lasts as long as the session, which does not end when
    /// statements are sent again.
    pub session_functions: &'static [&'static str],
    /// What parameters begin with that have no value here.
    pub parameter_marks: &'static [u8],
    /// How a parameter is written in the place of a literal of this type, so that it has the same
    /// type; `None` where the literal has to stay. It is not asked for NULL.
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
    /// NULL, which is of any type.
    Null,
}

impl Type {
    /// The type of a parameter that stands for values of both, if there is one.
    pub(crate) fn join(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (one, other) if one == other => one,
            (Self::Null, other) | (other, Self::Null) => other,
            (Self::Integer, Self::Long) | (Self::Long, Self::Integer) => Self::Long,
            (
                Self::Decimal { digits, scale },
                Self::Decimal {
                    digits: other_digits,
                    scale: other_scale,
                },
            ) => {
                let whole = (digits - scale).max(other_digits - other_scale);
                let scale = scale.max(other_scale);
                Self::Decimal {
                    digits: whole + scale,
                    scale,
                }
            }
            _ => return None,
        })
    }
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
