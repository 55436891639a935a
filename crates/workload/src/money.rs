//! Amounts of money, in cents everywhere in memory: as parameters, from rows,
//! and for people.

use std::fmt;

use crate::{
    answer::decimal,
    connection::{Row, Value},
};

/// Scale of money.
pub(crate) const CENTS: u8 = 2;

/// A parameter with cents.
pub(crate) fn money(cents: i64) -> Value<'static> {
    Value::Decimal {
        unscaled: cents,
        scale: CENTS,
    }
}

/// A column with cents; `None` when it cannot be read.
pub(crate) fn cents(row: &dyn Row, column: usize) -> Option<i64> {
    decimal(row, column, CENTS)
}

/// Displays cents as an amount.
pub(crate) struct Money(pub(crate) i64);

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", cents / 100, cents % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_prints_with_cents() {
        for (cents, text) in [
            (0, "0.00"),
            (-5, "-0.05"),
            (-1000, "-10.00"),
            (123_456, "1234.56"),
        ] {
            assert_eq!(Money(cents).to_string(), text);
        }
    }
}
