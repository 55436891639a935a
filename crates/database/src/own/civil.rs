//! Times as logs write them.

use std::time::Duration;

use jiff::civil::DateTime;

/// A time of the form `2026-11-27 08:00:00.123 UTC` or `2026-11-27T08:00:00.123456Z`, since 1970 in
/// its own time zone: a server writes all of a log in one. `None` for what is none.
///
/// Where a log goes on over the end of daylight-saving time, an hour of it is there twice.
pub(crate) fn since_1970(text: &str) -> Option<Duration> {
    let mut parts = text.trim().splitn(3, ['T', ' ']);
    let (date, time) = (parts.next()?, parts.next()?);
    let is_time = |character: &char| character.is_ascii_digit() || ":.".contains(*character);
    let time: String = time.chars().take_while(is_time).collect();
    since(format!("{date}T{time}").parse().ok()?)
}

/// A time of the form `261127  8:00:00`, as MariaDB and MySQL before 5.7 write it, in the same way.
pub(crate) fn since_1970_of_short(text: &str) -> Option<Duration> {
    let (date, time) = text.trim().split_at_checked(6)?;
    let number = |text: &str| text.parse::<i8>().ok();
    let [year, month, day] = [0, 2, 4].map(|at| number(date.get(at..at + 2)?));
    let mut parts = time.trim().split(':').map(number);
    let mut next = || parts.next().flatten();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let year = 2000 + i16::from(year?);
    since(DateTime::new(year, month?, day?, hour, minute, second, 0).ok()?)
}

fn since(time: DateTime) -> Option<Duration> {
    let since = time.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
    Duration::try_from(since).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs_are_read() {
        let second = Duration::from_secs(1_795_766_400);
        let ms = Duration::from_millis;
        for (text, wanted) in [
            ("2026-11-27 08:00:00.123 UTC", Some(second + ms(123))),
            ("2026-11-27 08:00:00 CEST", Some(second)),
            ("2026-11-27T08:00:00.123000Z", Some(second + ms(123))),
            ("2026-11-27T08:00:00.123+01:00", Some(second + ms(123))),
            ("2026-11-27", None),
            ("2026-13-27 08:00:00", None),
            ("1969-12-31 08:00:00", None),
            ("é 2026", None),
            ("", None),
        ] {
            assert_eq!(since_1970(text), wanted, "{text}");
        }
        for (text, wanted) in [
            ("261127  8:00:00", Some(second)),
            ("261127 08:00:01", Some(second + ms(1000))),
            ("261127", None),
            ("26112é 8:00:00", None),
            ("261327 8:00:00", None),
            ("", None),
        ] {
            assert_eq!(since_1970_of_short(text), wanted, "{text}");
        }
    }
}
