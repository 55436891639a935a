//! Logarithms and powers of two by basic operations alone, so that tables made
//! with them are the same bits on every machine: the standard library's call
//! the platform's, which differ in the last place.

/// The logarithm of `x` to base 2, to about 1e-15. `x` is positive and normal.
pub(crate) fn log2(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0, "{x}");
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    // In [1, 2), then in [2/3, 4/3] so that the series converges fast.
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let mut whole = exponent as f64;
    if mantissa > 4.0 / 3.0 {
        mantissa /= 2.0;
        whole += 1.0;
    }
    // ln m = 2 (z + z^3/3 + z^5/5 + ...), z = (m - 1) / (m + 1), |z| <= 1/5:
    // the term after z^21 is below 1e-17.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = (0..=10).rev().fold(0.0, |sum, term| {
        sum * square + 1.0 / f64::from(2 * term + 1)
    });
    whole + 2.0 * z * series * std::f64::consts::LOG2_E
}

/// Two to the power of `x`, to about 1e-15 of it. `x` is from -1000 to 1000.
pub(crate) fn exp2(x: f64) -> f64 {
    debug_assert!((-1000.0..=1000.0).contains(&x), "{x}");
    let whole = x.round();
    // e^y for |y| <= ln 2 / 2: the term after y^17 / 17! is below 1e-23.
    let y = (x - whole) * std::f64::consts::LN_2;
    let series = (1..=17)
        .rev()
        .fold(1.0, |sum, term| 1.0 + sum * y / f64::from(term));
    series * f64::from_bits(((whole as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_agree_with_the_platform() {
        for step in 1..2000 {
            let x = f64::from(step) * 0.37;
            assert!((log2(x) - x.log2()).abs() < 1e-14, "{x}");
            assert!((log2(1.0 / x) + x.log2()).abs() < 1e-14, "{x}");
            let y = f64::from(step - 1000) * 0.0237;
            assert!((exp2(y) / y.exp2() - 1.0).abs() < 1e-14, "{y}");
        }
        assert_eq!(log2(1024.0), 10.0);
        assert_eq!(exp2(-3.0), 0.125);
    }
}
