//! PostgreSQL's binary `numeric`, from and to a whole number and a scale.
//!
//! Four words: how many digits follow, the weight of the first one, the sign,
//! and the number of decimal places to show. Then the digits, each of four
//! decimal ones: digit `i` counts `10000^(weight - i)`. Zeros at either end
//! are left out (`numeric_send` in the server's `numeric.c`).

const BASE: u64 = 10_000;
/// Decimal digits in one of the base.
const BASE_DIGITS: i32 = 4;
const NEGATIVE: u16 = 0x4000;

/// An `i64` has 19 decimal digits, at most 3 more align them: 6 of the base.
const DIGITS_MAX: usize = 6;
const HEAD_BYTES: usize = 8;

/// Appends `unscaled / 10^scale`, after its length in bytes.
pub(crate) fn encode(unscaled: i64, scale: u8, out: &mut Vec<u8>) {
    let magnitude = unscaled.unsigned_abs();
    let places = i32::from(scale);
    // Digits of the base stand on either side of the point, none across it.
    let padding = (BASE_DIGITS - places % BASE_DIGITS) % BASE_DIGITS;
    let behind_point = (places + padding) / BASE_DIGITS;
    let pad = 10_u64.pow(padding.unsigned_abs());

    // From the last digit to the first.
    let mut digits = [0_u16; DIGITS_MAX];
    let mut count = 0;
    match magnitude.checked_mul(pad) {
        Some(mut rest) => {
            while rest > 0 {
                digits[count] = (rest % BASE) as u16;
                rest /= BASE;
                count += 1;
            }
        }
        None => {
            let mut rest = u128::from(magnitude) * u128::from(pad);
            while rest > 0 {
                digits[count] = (rest % u128::from(BASE)) as u16;
                rest /= u128::from(BASE);
                count += 1;
            }
        }
    }
    let zeros = digits[..count]
        .iter()
        .take_while(|&&digit| digit == 0)
        .count();
    let digits = &digits[zeros..count];

    let weight = match digits.len() {
        0 => 0,
        // At most 6 digits, of which at most 64 places behind the point.
        _ => count as i32 - 1 - behind_point,
    } as i16;
    let sign = if unscaled < 0 { NEGATIVE } else { 0 };
    let length = HEAD_BYTES + 2 * digits.len();

    let mut bytes = [0; 4 + HEAD_BYTES + 2 * DIGITS_MAX];
    bytes[0..4].copy_from_slice(&(length as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&(digits.len() as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&weight.to_be_bytes());
    bytes[8..10].copy_from_slice(&sign.to_be_bytes());
    bytes[10..12].copy_from_slice(&u16::from(scale).to_be_bytes());
    for (place, digit) in bytes[12..].chunks_exact_mut(2).zip(digits.iter().rev()) {
        place.copy_from_slice(&digit.to_be_bytes());
    }
    out.extend_from_slice(&bytes[..4 + length]);
}

/// The number times `10^scale`. `None` when that is no whole number, does not
/// fit, or the bytes are no finite number.
pub(crate) fn decode(bytes: &[u8], scale: u8) -> Option<i64> {
    let (head, digits) = bytes.split_at_checked(HEAD_BYTES)?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign) = (usize::from(word(0)), word(2) as i16, word(4));
    if digits.len() != 2 * count || (sign != 0 && sign != NEGATIVE) {
        return None;
    }
    let mut magnitude = 0_u64;
    for digit in digits.chunks_exact(2) {
        let digit = u64::from(u16::from_be_bytes([digit[0], digit[1]]));
        if digit >= BASE {
            return None;
        }
        // The aligning zeros may be what does not fit.
        match magnitude
            .checked_mul(BASE)
            .and_then(|m| m.checked_add(digit))
        {
            Some(longer) => magnitude = longer,
            None => return decode_long(digits, weight, sign, scale),
        }
    }
    let magnitude = shift(u128::from(magnitude), exponent(weight, count, scale))?;
    signed(magnitude, sign)
}

/// As [`decode`], for digits that exceed 64 bits until trailing zeros are gone.
#[cold]
fn decode_long(digits: &[u8], weight: i16, sign: u16, scale: u8) -> Option<i64> {
    let mut magnitude = 0_u128;
    for digit in digits.chunks_exact(2) {
        let digit = u16::from_be_bytes([digit[0], digit[1]]);
        if u64::from(digit) >= BASE {
            return None;
        }
        magnitude = magnitude
            .checked_mul(u128::from(BASE))?
            .checked_add(u128::from(digit))?;
    }
    let magnitude = shift(magnitude, exponent(weight, digits.len() / 2, scale))?;
    signed(magnitude, sign)
}

/// The power of ten that the digits, read as one whole number, stand for.
fn exponent(weight: i16, count: usize, scale: u8) -> i32 {
    // A count is of 16 bits.
    BASE_DIGITS * (i32::from(weight) + 1 - count as i32) + i32::from(scale)
}

/// `magnitude * 10^exponent`, when it is whole and fits.
fn shift(magnitude: u128, exponent: i32) -> Option<u128> {
    if magnitude == 0 {
        return Some(0);
    }
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    if exponent >= 0 {
        magnitude.checked_mul(power?)
    } else {
        // A divisor that does not fit is larger than any magnitude.
        let power = power?;
        magnitude.is_multiple_of(power).then(|| magnitude / power)
    }
}

fn signed(magnitude: u128, sign: u16) -> Option<i64> {
    let magnitude = i128::try_from(magnitude).ok()?;
    i64::try_from(if sign == NEGATIVE {
        -magnitude
    } else {
        magnitude
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(unscaled: i64, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        encode(unscaled, scale, &mut out);
        let length = u32::from_be_bytes(out[..4].try_into().unwrap());
        assert_eq!(length as usize, out.len() - 4);
        out.split_off(4)
    }

    /// As `numeric_send` writes them.
    #[test]
    fn known_numbers_have_the_servers_bytes() {
        let words = |words: &[u16]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_be_bytes()).collect()
        };
        assert_eq!(encoded(0, 0), words(&[0, 0, 0, 0]));
        assert_eq!(encoded(0, 2), words(&[0, 0, 0, 2]));
        assert_eq!(encoded(1, 0), words(&[1, 0, 0, 0, 1]));
        assert_eq!(encoded(10_000, 0), words(&[1, 1, 0, 0, 1]));
        assert_eq!(
            encoded(-123_456, 2),
            words(&[2, 0, NEGATIVE, 2, 1234, 5600])
        );
        assert_eq!(encoded(5, 4), words(&[1, 0xffff, 0, 4, 5]));
        assert_eq!(encoded(5, 5), words(&[1, 0xfffe, 0, 5, 5000]));
    }

    #[test]
    fn fractions_and_overflows_decode_to_none() {
        assert_eq!(decode(&encoded(12_345, 3), 2), None);
        assert_eq!(decode(&encoded(12_340, 3), 2), Some(1_234));
        assert_eq!(decode(&encoded(i64::MAX, 0), 1), None);
        assert_eq!(decode(&encoded(i64::MIN, 0), 0), Some(i64::MIN));
        assert_eq!(decode(&encoded(i64::MIN, 5), 5), Some(i64::MIN));
        assert_eq!(decode(&encoded(1, 0), 255), None);
        assert_eq!(decode(&encoded(1, 255), 255), Some(1));
        let mut not_a_number = encoded(0, 0);
        not_a_number[4..6].copy_from_slice(&0xc000_u16.to_be_bytes());
        assert_eq!(decode(&not_a_number, 0), None);
    }

    proptest! {
        #[test]
        fn numbers_decode_to_the_same_values(unscaled: i64, scale in 0_u8..40) {
            prop_assert_eq!(decode(&encoded(unscaled, scale), scale), Some(unscaled));
        }

        #[test]
        fn a_larger_scale_adds_zeros(unscaled in -1_000_000_000_i64..1_000_000_000, scale in 0_u8..20, more in 0_u8..9) {
            let bytes = encoded(unscaled, scale);
            let wanted = unscaled * 10_i64.pow(u32::from(more));
            prop_assert_eq!(decode(&bytes, scale + more), Some(wanted));
            prop_assert_eq!(decode(&encoded(wanted, scale + more), scale), Some(unscaled));
        }

        #[test]
        fn arbitrary_bytes_decode_to_a_number_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64), scale: u8) {
            let _number = decode(&bytes, scale);
        }

        #[test]
        fn arbitrary_digits_decode_to_a_number_or_none(
            digits in prop::collection::vec(0_u16..10_001, 0..12),
            weight: i16,
            sign in prop::sample::select(vec![0, NEGATIVE, 0xc000]),
            scale: u8,
        ) {
            let mut bytes = (digits.len() as u16).to_be_bytes().to_vec();
            bytes.extend(weight.to_be_bytes());
            bytes.extend(sign.to_be_bytes());
            bytes.extend([0; 2]);
            bytes.extend(digits.iter().flat_map(|digit| digit.to_be_bytes()));
            let _number = decode(&bytes, scale);
        }
    }
}
