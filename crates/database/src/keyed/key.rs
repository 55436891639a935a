//! Keys as bytes that compare as their values do, written as FoundationDB's tuple layer does
//! (<https://github.com/apple/foundationdb/blob/main/design/tuple.md>): a number takes the bytes
//! that it needs and one more.

use octavo_workload::connection::Value;

use super::field::Field;

const NULL: u8 = 0x00;
const TEXT: u8 = 0x02;
const TEXT_END: u8 = 0x00;
/// The number 0; with `n` bytes, a positive one has `n` more and a negative one `n` less.
const ZERO: u8 = 0x14;

/// Above the first byte of every value: what comes behind all keys that go on.
pub(super) const ABOVE: u8 = 0xff;

/// Why a value cannot be a part of a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    /// It would end the text.
    #[error("a text in a key has the character NUL")]
    Nul,
    /// The key is a text as it is.
    #[error("a key that is a text as it is cannot be anything else")]
    NoText,
    /// No table of Octavo's has one in a key.
    #[error("a number with double precision is no part of a key")]
    Real,
}

/// Appends a value.
pub(super) fn push(key: &mut Vec<u8>, value: Value<'_>) -> Result<(), KeyError> {
    match value {
        Value::Null => key.push(NULL),
        Value::Integer(number)
        | Value::Timestamp(number)
        | Value::Decimal {
            unscaled: number, ..
        } => push_number(key, number),
        Value::Text(text) if text.as_bytes().contains(&TEXT_END) => return Err(KeyError::Nul),
        Value::Text(text) => {
            key.push(TEXT);
            key.extend_from_slice(text.as_bytes());
            key.push(TEXT_END);
        }
        Value::Real(_) => return Err(KeyError::Real),
    }
    Ok(())
}

/// Appends a number.
pub(super) fn push_number(key: &mut Vec<u8>, number: i64) {
    let magnitude = number.unsigned_abs();
    let count = 8 - magnitude.leading_zeros() as usize / 8;
    // At most 8.
    let width = u8::try_from(count).unwrap_or(8);
    let bytes = match number {
        0.. => {
            key.push(ZERO + width);
            magnitude
        }
        // All bits turned over: the larger the magnitude, the smaller the bytes.
        _ => {
            key.push(ZERO - width);
            !magnitude
        }
    };
    key.extend_from_slice(&bytes.to_be_bytes()[8 - count..]);
}

/// The value at a place, and where the next one begins. `None` for bytes that are no key.
pub(super) fn read(key: &[u8], at: usize) -> Option<(Field, usize)> {
    let code = *key.get(at)?;
    let start = at + 1;
    match code {
        NULL => Some((Field::Null, start)),
        TEXT => {
            let length = key[start..].iter().position(|byte| *byte == TEXT_END)?;
            let end = start + length;
            Some((Field::in_key(start, end)?, end + 1))
        }
        _ => {
            let count = usize::from(code.abs_diff(ZERO));
            let is_negative = code < ZERO;
            let bytes = key.get(start..start + count)?;
            if count > 8 {
                return None;
            }
            let mut all = [if is_negative { 0xff } else { 0 }; 8];
            all[8 - count..].copy_from_slice(bytes);
            let read = u64::from_be_bytes(all);
            let number = match is_negative {
                false => i64::try_from(read).ok()?,
                true => 0_i64.checked_sub_unsigned(!read)?,
            };
            Some((Field::Integer(number), start + count))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key_of(values: &[Value<'_>]) -> Vec<u8> {
        let mut key = Vec::new();
        for value in values {
            push(&mut key, *value).unwrap();
        }
        key
    }

    /// The examples of FoundationDB's page, and the ends of the range.
    #[test]
    fn numbers_are_written_as_tuples() {
        let written = |number| key_of(&[Value::Integer(number)]);
        assert_eq!(written(-5_551_212), [0x11, 0xab, 0x4b, 0x93]);
        assert_eq!(written(0), [0x14]);
        assert_eq!(written(-1), [0x13, 0xfe]);
        assert_eq!(written(255), [0x15, 0xff]);
        assert_eq!(written(256), [0x16, 1, 0]);
        for number in [i64::MIN, i64::MIN + 1, -256, -255, 1, i64::MAX] {
            let key = written(number);
            assert_eq!(read(&key, 0), Some((Field::Integer(number), key.len())));
        }
    }

    #[test]
    fn a_text_with_its_end_is_refused() {
        assert!(push(&mut Vec::new(), Value::Text("a\0b")).is_err());
        let real = Value::Real(octavo_workload::connection::Real::new(1.0));
        assert!(push(&mut Vec::new(), real).is_err());
    }

    #[test]
    fn damaged_bytes_are_no_key() {
        for bytes in [
            &[][..],
            &[0x16, 1],
            &[TEXT, b'a'],
            &[0x40, 1, 2],
            &[0x1c; 9],
            &[0xff],
        ] {
            let is_none = read(bytes, 0).is_none();
            // Eight bytes of 0x1c are a number; nine with its code are.
            assert!(is_none || bytes.len() == 9, "{bytes:?}");
        }
        assert_eq!(
            read(&[0x1c, 0xff, 0, 0, 0, 0, 0, 0, 0], 0),
            None,
            "above 63 bits"
        );
        assert_eq!(read(&[0x14], 1), None);
    }

    proptest! {
        #[test]
        fn keys_compare_as_their_values(
            a: (i64, String, i32), b: (i64, String, i32)
        ) {
            let text = |text: &str| text.replace('\0', "");
            let (ta, tb) = (text(&a.1), text(&b.1));
            let key = |number: i64, text: &str, last: i32| key_of(&[
                Value::Integer(number), Value::Text(text), Value::Timestamp(last.into())
            ]);
            let (ka, kb) = (key(a.0, &ta, a.2), key(b.0, &tb, b.2));
            prop_assert_eq!(ka.cmp(&kb), (a.0, &ta, a.2).cmp(&(b.0, &tb, b.2)));
            let (_, at) = read(&ka, 0).unwrap();
            let (_, at) = read(&ka, at).unwrap();
            prop_assert_eq!(read(&ka, at), Some((Field::Integer(a.2.into()), ka.len())));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>, at in 0_usize..20) {
            if let Some((_, next)) = read(&bytes, at) {
                prop_assert!(next <= bytes.len());
            }
        }
    }
}
