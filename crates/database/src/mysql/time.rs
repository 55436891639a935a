//! Times as the protocol and the texts of loading write them. Days are the
//! proleptic Gregorian calendar's, of UTC.

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A time of day on a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateTime {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    pub(crate) microsecond: u32,
}

impl DateTime {
    /// The time at `microseconds` since 1970; `None` outside of the years
    /// 0 to 9999, which is all that DATETIME holds.
    pub(crate) fn of(microseconds: i64) -> Option<Self> {
        let (year, month, day) = date_of(microseconds.div_euclid(DAY));
        let within = microseconds.rem_euclid(DAY);
        let seconds = within / 1_000_000;
        Some(Self {
            year: u16::try_from(year).ok().filter(|&year| year <= 9999)?,
            month,
            day,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (within % 1_000_000) as u32,
        })
    }

    /// Microseconds since 1970; `None` for an impossible time, such as month 0.
    pub(crate) fn microseconds(self) -> Option<i64> {
        let is_time = (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.microsecond < 1_000_000;
        let days = days_of(i64::from(self.year), self.month, self.day);
        let seconds =
            i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        is_time.then(|| days * DAY + seconds * 1_000_000 + i64::from(self.microsecond))
    }
}

/// Days since 1970 of a date: Howard Hinnant's `days_from_civil`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn days_of(year: i64, month: u8, day: u8) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse: `civil_from_days`.
fn date_of(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month + 2) / 5 + 1) as u8;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u8, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (microseconds, year, month, day) in [
            (0, 1970, 1, 1),
            (-1, 1969, 12, 31),
            (951_782_400_000_000, 2000, 2, 29),
            (951_868_800_000_000, 2000, 3, 1),
            (1_767_225_600_000_000, 2026, 1, 1),
        ] {
            let time = DateTime::of(microseconds).unwrap();
            assert_eq!((time.year, time.month, time.day), (year, month, day));
        }
        assert_eq!(DateTime::of(i64::MAX), None);
        assert_eq!(DateTime::of(i64::MIN), None);
        let zero = DateTime {
            month: 0,
            ..DateTime::of(0).unwrap()
        };
        assert_eq!(zero.microseconds(), None);
    }

    proptest! {
        #[test]
        fn times_convert_both_ways(microseconds in -62_167_219_200_000_000i64..253_402_300_800_000_000) {
            let time = DateTime::of(microseconds).unwrap();
            prop_assert_eq!(time.microseconds(), Some(microseconds));
        }
    }
}
