//! Values in PostgreSQL's binary formats: how parameters are written for the
//! types that the server wants, and columns read from those that it sends.

use std::io::Write as _;

use octavo_workload::{connection::Value, schema::ColumnKind};

use super::numeric;

/// The types' numbers, the same in every server (`pg_type.dat`).
mod oid {
    pub(super) const INT8: u32 = 20;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const BPCHAR: u32 = 1042;
    pub(super) const VARCHAR: u32 = 1043;
    pub(super) const TIMESTAMP: u32 = 1114;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const NUMERIC: u32 = 1700;
}

/// From 1970-01-01 to 2000-01-01, where the server's times begin.
const EPOCH_US: i64 = 946_684_800_000_000;

/// The length of NULL, which has no bytes.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// How a value is written for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoder {
    Int4,
    Int8,
    /// With the value's own scale.
    Numeric,
    /// With at most this many places behind the point: for a column, which
    /// would round further ones away.
    NumericColumn(u8),
    Text,
    Timestamp,
    /// As its text, which the server reads as whatever it wants there.
    Written,
}

/// Why a value cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsuitable {
    #[error("{value} is beyond the range of PostgreSQL's {wanted}")]
    Range { value: i64, wanted: &'static str },
    #[error("a text holds the character NUL, which PostgreSQL does not store")]
    Nul,
    #[error("a decimal has {found} places behind the point where the column has {wanted}")]
    Scale { found: u8, wanted: u8 },
    #[error("{value} is not what PostgreSQL wants here, which is {wanted}")]
    Kind { value: String, wanted: &'static str },
    #[error("a text of {0} bytes is longer than PostgreSQL's messages")]
    Length(usize),
}

impl Encoder {
    /// For a parameter of the type `oid`; `None` when no value goes there.
    pub(crate) fn of_type(oid: u32) -> Option<Self> {
        Some(match oid {
            oid::INT4 => Self::Int4,
            oid::INT8 => Self::Int8,
            oid::NUMERIC => Self::Numeric,
            oid::TEXT | oid::VARCHAR | oid::BPCHAR => Self::Text,
            oid::TIMESTAMP | oid::TIMESTAMPTZ => Self::Timestamp,
            _ => return None,
        })
    }

    /// For a column of a table that was made for `kind`.
    pub(crate) fn of_column(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Integer => Self::Int8,
            ColumnKind::Integer32 => Self::Int4,
            ColumnKind::Decimal { scale, .. } => Self::NumericColumn(scale),
            ColumnKind::Char(_) | ColumnKind::Varchar(_) | ColumnKind::Any => Self::Text,
            ColumnKind::Timestamp => Self::Timestamp,
        }
    }

    /// Whether values of `kind` can be written like this.
    pub(crate) fn takes(self, kind: ColumnKind) -> bool {
        match kind {
            ColumnKind::Integer | ColumnKind::Integer32 => {
                matches!(self, Self::Int4 | Self::Int8 | Self::Numeric)
            }
            ColumnKind::Decimal { .. } => self == Self::Numeric,
            ColumnKind::Char(_) | ColumnKind::Varchar(_) | ColumnKind::Any => self == Self::Text,
            ColumnKind::Timestamp => self == Self::Timestamp,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Int4 => "integer",
            Self::Int8 => "bigint",
            Self::Numeric | Self::NumericColumn(_) => "numeric",
            Self::Text => "text",
            Self::Timestamp => "timestamp",
            Self::Written => "a text or a number",
        }
    }

    /// Appends the value after its length in bytes; what was appended when it
    /// fails is of no use.
    #[inline]
    pub(crate) fn encode(self, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unsuitable> {
        match (self, value) {
            (_, Value::Null) => out.extend_from_slice(&NULL),
            (Self::Int8, Value::Integer(number)) => put_int8(number, out),
            (Self::Int4, Value::Integer(number)) => {
                let number = i32::try_from(number).map_err(|_| self.beyond(number))?;
                let mut bytes = [0, 0, 0, 4, 0, 0, 0, 0];
                bytes[4..].copy_from_slice(&number.to_be_bytes());
                out.extend_from_slice(&bytes);
            }
            (Self::Numeric, Value::Decimal { unscaled, scale }) => {
                numeric::encode(unscaled, scale, out);
            }
            (Self::NumericColumn(wanted), Value::Decimal { unscaled, scale }) => {
                if scale > wanted {
                    return Err(Unsuitable::Scale {
                        found: scale,
                        wanted,
                    });
                }
                numeric::encode(unscaled, scale, out);
            }
            (Self::Numeric | Self::NumericColumn(_), Value::Integer(number)) => {
                numeric::encode(number, 0, out);
            }
            (Self::Text | Self::Written, Value::Text(text)) => put_text(text, out)?,
            (Self::Written, Value::Integer(number)) => put_written(out, |out| {
                // Writing into memory cannot fail.
                let _written = write!(out, "{number}");
            }),
            (Self::Written, Value::Real(number)) => {
                let mut text = String::new();
                octavo_script::Value::Double(number.get()).append(&mut text);
                put_text(&text, out)?;
            }
            (Self::Timestamp, Value::Timestamp(time)) => {
                // The least number means minus infinity.
                let since_epoch = time
                    .checked_sub(EPOCH_US)
                    .filter(|&since| since != i64::MIN)
                    .ok_or_else(|| self.beyond(time))?;
                put_int8(since_epoch, out);
            }
            (_, value) => {
                return Err(Unsuitable::Kind {
                    value: format!("{value:?}"),
                    wanted: self.name(),
                });
            }
        }
        Ok(())
    }

    #[cold]
    fn beyond(self, value: i64) -> Unsuitable {
        Unsuitable::Range {
            value,
            wanted: self.name(),
        }
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) -> Result<(), Unsuitable> {
    let bytes = text.as_bytes();
    if bytes.contains(&0) {
        return Err(Unsuitable::Nul);
    }
    let length = i32::try_from(bytes.len()).map_err(|_| Unsuitable::Length(bytes.len()))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends what `write` does after its length, of some digits.
fn put_written(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn put_int8(number: i64, out: &mut Vec<u8>) {
    let mut bytes = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// How a column of a result is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoder {
    /// `integer` or `bigint`, as the length tells.
    Integer,
    /// A `numeric` that has to be whole.
    WholeNumeric,
    /// A `numeric`, with this many places behind the point.
    Decimal(u8),
    /// An integer, with this many places behind the point to be added.
    IntegerDecimal(u8),
    Text,
    Timestamp,
}

impl Decoder {
    /// For a column of the type `oid` that was declared as `kind`; `None` when
    /// the one is not read as the other.
    pub(crate) fn for_column(oid: u32, kind: ColumnKind) -> Option<Self> {
        Some(match (oid, kind) {
            (oid::INT4 | oid::INT8, ColumnKind::Integer | ColumnKind::Integer32) => Self::Integer,
            (oid::NUMERIC, ColumnKind::Integer | ColumnKind::Integer32) => Self::WholeNumeric,
            (oid::NUMERIC, ColumnKind::Decimal { scale, .. }) => Self::Decimal(scale),
            (oid::INT4 | oid::INT8, ColumnKind::Decimal { scale, .. }) => {
                Self::IntegerDecimal(scale)
            }
            (
                oid::TEXT | oid::VARCHAR | oid::BPCHAR,
                ColumnKind::Char(_) | ColumnKind::Varchar(_),
            ) => Self::Text,
            (oid::TIMESTAMP | oid::TIMESTAMPTZ, ColumnKind::Timestamp) => Self::Timestamp,
            _ => return None,
        })
    }

    /// The value in `bytes`, which are not NULL; `None` when they hold
    /// something else, or what no [`Value`] holds.
    #[inline]
    pub(crate) fn decode(self, bytes: &[u8]) -> Option<Value<'_>> {
        Some(match self {
            Self::Integer => Value::Integer(integer(bytes)?),
            Self::WholeNumeric => Value::Integer(numeric::decode(bytes, 0)?),
            Self::Decimal(scale) => Value::Decimal {
                unscaled: numeric::decode(bytes, scale)?,
                scale,
            },
            Self::IntegerDecimal(scale) => Value::Decimal {
                unscaled: 10_i64
                    .checked_pow(u32::from(scale))
                    .and_then(|power| power.checked_mul(integer(bytes)?))?,
                scale,
            },
            Self::Text => Value::Text(str::from_utf8(bytes).ok()?),
            Self::Timestamp => {
                let since_epoch = i64::from_be_bytes(bytes.try_into().ok()?);
                if since_epoch == i64::MIN {
                    return None;
                }
                Value::Timestamp(since_epoch.checked_add(EPOCH_US)?)
            }
        })
    }
}

#[inline]
fn integer(bytes: &[u8]) -> Option<i64> {
    Some(match bytes.len() {
        8 => i64::from_be_bytes(bytes.try_into().ok()?),
        4 => i64::from(i32::from_be_bytes(bytes.try_into().ok()?)),
        2 => i64::from(i16::from_be_bytes(bytes.try_into().ok()?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use octavo_workload::connection::Real;
    use proptest::prelude::*;

    use super::*;

    fn encoded(encoder: Encoder, value: Value<'_>) -> Result<Vec<u8>, Unsuitable> {
        let mut out = Vec::new();
        encoder.encode(value, &mut out)?;
        let length = u32::from_be_bytes(out[..4].try_into().unwrap());
        assert_eq!(length as usize, out.len() - 4);
        Ok(out.split_off(4))
    }

    #[test]
    fn integers_are_held_to_their_range() {
        for (encoder, least, largest) in [
            (Encoder::Int4, i64::from(i32::MIN), i64::from(i32::MAX)),
            (Encoder::Int8, i64::MIN, i64::MAX),
        ] {
            for number in [least, -1, 0, 1, largest] {
                let bytes = encoded(encoder, Value::Integer(number)).unwrap();
                assert_eq!(
                    Decoder::Integer.decode(&bytes),
                    Some(Value::Integer(number))
                );
            }
            let beyond = [least.checked_sub(1), largest.checked_add(1)];
            for number in beyond.into_iter().flatten() {
                encoded(encoder, Value::Integer(number)).unwrap_err();
            }
        }
        let error = encoded(Encoder::Int4, Value::Integer(5_000_000_000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "5000000000 is beyond the range of PostgreSQL's integer"
        );
    }

    #[test]
    fn times_count_from_another_day() {
        let start = encoded(Encoder::Timestamp, Value::Timestamp(EPOCH_US)).unwrap();
        assert_eq!(start, [0; 8]);
        for time in [0, -1, 1, EPOCH_US, i64::MAX, i64::MIN + EPOCH_US + 1] {
            let bytes = encoded(Encoder::Timestamp, Value::Timestamp(time)).unwrap();
            assert_eq!(
                Decoder::Timestamp.decode(&bytes),
                Some(Value::Timestamp(time))
            );
        }
        for time in [i64::MIN, i64::MIN + EPOCH_US] {
            encoded(Encoder::Timestamp, Value::Timestamp(time)).unwrap_err();
        }
        for infinity in [i64::MIN, i64::MAX] {
            assert_eq!(Decoder::Timestamp.decode(&infinity.to_be_bytes()), None);
        }
    }

    #[test]
    fn own_statements_get_what_pgbench_would_write() {
        for (value, wanted) in [
            (Value::Integer(-17), "-17"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Real(Real::new(1.0 / 3.0)), "0.333333333333333"),
            (Value::Text("it's"), "it's"),
        ] {
            assert_eq!(encoded(Encoder::Written, value).unwrap(), wanted.as_bytes());
        }
        assert_eq!(
            encoded(Encoder::Written, Value::Text("a\0")),
            Err(Unsuitable::Nul)
        );
    }

    #[test]
    fn unsuitable_values_are_refused() {
        assert_eq!(
            encoded(Encoder::Text, Value::Text("a\0b")),
            Err(Unsuitable::Nul)
        );
        assert_eq!(
            encoded(Encoder::Text, Value::Text("ö")).unwrap(),
            "ö".as_bytes()
        );
        assert!(matches!(
            encoded(Encoder::Int8, Value::Text("1")),
            Err(Unsuitable::Kind { .. })
        ));
        let cents = Value::Decimal {
            unscaled: 5,
            scale: 2,
        };
        assert!(matches!(
            encoded(Encoder::NumericColumn(1), cents),
            Err(Unsuitable::Scale {
                found: 2,
                wanted: 1
            })
        ));
        assert_eq!(
            Decoder::IntegerDecimal(2).decode(&7_i64.to_be_bytes()),
            Some(Value::Decimal {
                unscaled: 700,
                scale: 2
            })
        );
        assert_eq!(
            Decoder::IntegerDecimal(2).decode(&i64::MAX.to_be_bytes()),
            None
        );
        assert_eq!(Decoder::Text.decode(&[0xff]), None);
        assert_eq!(Decoder::for_column(oid::TEXT, ColumnKind::Integer), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_decode_to_a_value_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for decoder in [
                Decoder::Integer,
                Decoder::WholeNumeric,
                Decoder::Decimal(2),
                Decoder::IntegerDecimal(18),
                Decoder::Text,
                Decoder::Timestamp,
            ] {
                let _value = decoder.decode(&bytes);
            }
        }
    }
}
