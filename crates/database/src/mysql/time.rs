//! Times as the protocol and the texts of loading write them, of UTC.

use jiff::{SignedDuration, civil::DateTime};

use super::failure::Failure;

/// The beginning of 1970, which workloads count from.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The time at `microseconds` since 1970; refuses what is outside of the years
/// 0 to 9999, which is all that DATETIME holds.
pub(crate) fn time_at(microseconds: i64) -> Result<DateTime, Failure> {
    EPOCH
        .checked_add(SignedDuration::from_micros(microseconds))
        .ok()
        .filter(|time| time.year() >= 0)
        .ok_or_else(|| {
            Failure::Refused(format!(
                "{microseconds} microseconds since 1970 are outside of the years 0 to 9999"
            ))
        })
}

/// Microseconds since 1970.
pub(crate) fn microseconds(time: DateTime) -> i64 {
    // Some 2^58 are between the first year and the last.
    time.duration_since(EPOCH).as_micros() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (microseconds, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (951_782_400_000_000, (2000, 2, 29)),
            (1_767_225_600_000_000, (2026, 1, 1)),
        ] {
            let time = time_at(microseconds).unwrap();
            assert_eq!((time.year(), time.month(), time.day()), date);
        }
        for never in [
            i64::MIN,
            -62_167_219_200_000_001,
            253_402_300_800_000_000,
            i64::MAX,
        ] {
            time_at(never).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn times_convert_both_ways(time in -62_167_219_200_000_000i64..253_402_300_800_000_000) {
            prop_assert_eq!(microseconds(time_at(time).unwrap()), time);
        }
    }
}
