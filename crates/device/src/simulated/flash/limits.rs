//! What the parameters of a drive may be, and their units.

use crate::sourced::Impossible;

/// Times and rates that no device exceeds: an hour, and 1 TB/s.
const US_MAX: f64 = 3.6e9;
const MB_PER_S_MAX: f64 = 1e6;

/// Microseconds from 0 up.
pub(super) fn check_us(key: &'static str, value: f64) -> Result<(), Impossible> {
    if (0.0..=US_MAX).contains(&value) {
        Ok(())
    } else {
        Err(Impossible::new(
            key,
            value,
            "it takes from 0 to 3.6 x 10^9 us",
        ))
    }
}

/// MB/s above 0.
pub(super) fn check_rate(key: &'static str, value: f64) -> Result<(), Impossible> {
    if (0.001..=MB_PER_S_MAX).contains(&value) {
        Ok(())
    } else {
        Err(Impossible::new(
            key,
            value,
            "a bus moves from 0.001 to 10^6 MB/s",
        ))
    }
}

/// A count from 1 up to `most`.
pub(super) fn check_count(key: &'static str, value: u32, most: u32) -> Result<(), Impossible> {
    if (1..=most).contains(&value) {
        Ok(())
    } else {
        Err(Impossible::new(
            key,
            value,
            format!("there are 1 to {most}"),
        ))
    }
}

/// Whole nanoseconds.
pub(super) fn ns(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

/// Picoseconds a byte.
pub(super) fn ps_per_byte(mb_per_s: f64) -> u64 {
    (1e6 / mb_per_s).round() as u64
}
