//! Values of expressions and of parameters.

use std::fmt::Write as _;

/// A value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with double precision.
    Double(f64),
}

/// A value as a statement's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// A value of an expression.
    Value(Value),
    /// A text: what a query answered, or what was given for a variable.
    Text(&'a str),
}

/// What went wrong with values, in words.
pub(crate) type Result<T> = std::result::Result<T, String>;

impl Value {
    /// What it is called in messages, as pgbench calls it.
    fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    pub(crate) fn boolean(self) -> Result<bool> {
        match self {
            Self::Boolean(value) => Ok(value),
            other => Err(format!("cannot coerce {} to boolean", other.kind())),
        }
    }

    /// As a whole number; a double is rounded to the nearest, halves to the even one
    /// (`coerceToInt`).
    pub(crate) fn integer(self) -> Result<i64> {
        match self {
            Self::Integer(value) => Ok(value),
            Self::Double(value) => {
                let value = value.round_ties_even();
                // 2^63 itself is the first double beyond.
                let limit = 63f64.exp2();
                if (-limit..limit).contains(&value) {
                    Ok(value as i64)
                } else {
                    Err(format!("double to int overflow for {value}"))
                }
            }
            other => Err(format!("cannot coerce {} to int", other.kind())),
        }
    }

    pub(crate) fn double(self) -> Result<f64> {
        match self {
            Self::Double(value) => Ok(value),
            Self::Integer(value) => Ok(value as f64),
            other => Err(format!("cannot coerce {} to double", other.kind())),
        }
    }

    /// Whether a condition with this value holds: NULL and zero do not (`valueTruth`).
    pub(crate) fn holds(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(value) => value,
            Self::Integer(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// Appends it as pgbench puts it into a statement (`valueToText`): doubles with 15 digits.
    pub fn append(self, text: &mut String) {
        // Writing into a string cannot fail.
        let _ = match self {
            Self::Null => write!(text, "NULL"),
            Self::Boolean(value) => write!(text, "{value}"),
            Self::Integer(value) => write!(text, "{value}"),
            Self::Double(value) => write!(text, "{}", general(value)),
        };
    }

    /// A variable's text as a value (`makeVariableValue`): NULL, a boolean by its first
    /// letters, a whole number, or a double.
    pub(crate) fn of_text(name: &str, text: &str) -> Result<Self> {
        let is_start = |word: &str| {
            !text.is_empty()
                && word
                    .get(..text.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(text))
        };
        if text.eq_ignore_ascii_case("null") {
            return Ok(Self::Null);
        }
        // "o" may become both "on" and "off".
        if is_start("true") || is_start("yes") || text.eq_ignore_ascii_case("on") {
            return Ok(Self::Boolean(true));
        }
        if is_start("false") || is_start("no") || (text.len() > 1 && is_start("off")) {
            return Ok(Self::Boolean(false));
        }
        let number = text.trim();
        if let Ok(value) = number.parse() {
            return Ok(Self::Integer(value));
        }
        let is_number = number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        match number.parse() {
            Ok(value) if is_number => Ok(Self::Double(value)),
            _ => Err(format!(
                "the value of {name} is no number: it cannot be used in an expression"
            )),
        }
    }
}

/// A number as `printf("%.15g")` has it.
fn general(value: f64) -> String {
    const DIGITS: i32 = 15;
    if !value.is_finite() {
        let sign = if value < 0.0 { "-" } else { "" };
        return if value.is_nan() {
            "NaN".into()
        } else {
            format!("{sign}Infinity")
        };
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..DIGITS).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or_default();
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values() {
        for (text, wanted) in [
            ("NULL", Value::Null),
            ("t", Value::Boolean(true)),
            ("Yes", Value::Boolean(true)),
            ("ON", Value::Boolean(true)),
            ("off", Value::Boolean(false)),
            ("n", Value::Boolean(false)),
            (" -12", Value::Integer(-12)),
            ("1.5e3", Value::Double(1500.0)),
            ("9223372036854775808", Value::Double(63f64.exp2())),
        ] {
            assert_eq!(Value::of_text("x", text), Ok(wanted), "{text}");
        }
        for text in ["", "o", "x", "truely", "inf", "nan", "1 2", "\u{e4}"] {
            assert!(Value::of_text("x", text).is_err(), "{text}");
        }
    }

    #[test]
    fn doubles_are_written_as_c_writes_them() {
        for (value, wanted) in [
            (10.0 / 2.0, "5"),
            (1.0 / 3.0, "0.333333333333333"),
            (1e15, "1e+15"),
            (123_456_789.25, "123456789.25"),
            (-1.5e-5, "-1.5e-05"),
            (0.0001, "0.0001"),
            (2e300, "2e+300"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(general(value), wanted);
        }
    }

    #[test]
    fn doubles_become_whole_numbers_in_their_range() {
        for (double, wanted) in [(2.5, 2), (3.5, 4), (-0.5, 0), (-(63f64.exp2()), i64::MIN)] {
            assert_eq!(Value::Double(double).integer(), Ok(wanted));
        }
        for double in [63f64.exp2(), f64::NAN, f64::NEG_INFINITY] {
            assert!(Value::Double(double).integer().is_err(), "{double}");
        }
        assert!(Value::Boolean(true).integer().is_err());
        assert!(Value::Null.double().is_err());
    }
}
