//! Dates of the initial trades and of the tables of prices.
//!
//! Trading has eight hours from nine o'clock on Mondays to Fridays. Times are counted as
//! EGen does: a day has 86,400 seconds of which the first 28,800 are trading, and days are
//! days of trading.

/// Microseconds of a second.
pub(super) const SECOND: i64 = 1_000_000;
/// Microseconds of a calendar day, and of a day as trading counts it.
pub(super) const DAY: i64 = 86_400 * SECOND;
/// Microseconds of a day's trading hours.
pub(super) const TRADING_DAY: i64 = 28_800 * SECOND;

/// Monday, 2005-01-03, in days since 1970: initial trades begin at nine (EGen 1.14,
/// `MiscConsts.h`).
const TRADES_BEGIN: i64 = 12_786;
/// Monday, 2000-01-03: DAILY_MARKET begins.
const MARKET_BEGINS: i64 = 10_959;
/// Nine o'clock.
const OPENING: i64 = 9 * 3600 * SECOND;

/// Days of DAILY_MARKET: Mondays to Fridays of five years.
pub(super) const MARKET_DAYS: i64 = 5 * 261;

/// The date of a moment of trading, in microseconds since 1970.
pub(super) const fn date(moment: i64) -> i64 {
    let days = moment.div_euclid(DAY);
    let calendar_days = days.div_euclid(5) * 7 + days.rem_euclid(5);
    (TRADES_BEGIN + calendar_days) * DAY + OPENING + moment.rem_euclid(DAY)
}

/// The moment when as much trading has passed, in microseconds.
pub(super) const fn moment(trading: i64) -> i64 {
    trading.div_euclid(TRADING_DAY) * DAY + trading.rem_euclid(TRADING_DAY)
}

/// How much trading has passed at a date: the inverse of [`date`] and [`moment`], and on
/// evenings and weekends what has passed before them.
pub(super) const fn trading(date: i64) -> i64 {
    let since = date - TRADES_BEGIN * DAY;
    let (days, of_day) = (since.div_euclid(DAY), since.rem_euclid(DAY));
    let (weeks, weekday) = (days.div_euclid(7), days.rem_euclid(7));
    if weekday > 4 {
        return (weeks + 1) * 5 * TRADING_DAY;
    }
    let of_day = match of_day - OPENING {
        before if before < 0 => 0,
        after if after > TRADING_DAY => TRADING_DAY,
        within => within,
    };
    (weeks * 5 + weekday) * TRADING_DAY + of_day
}

/// Midnight of a date.
pub(super) const fn day_of(date: i64) -> i64 {
    date.div_euclid(DAY) * DAY
}

/// The date of a day of DAILY_MARKET, from 0.
pub(super) const fn market_day(day: i64) -> i64 {
    market_date(day.div_euclid(5) * 7 + day.rem_euclid(5))
}

/// The date so many days of the calendar after DAILY_MARKET begins.
pub(super) const fn market_date(calendar_days: i64) -> i64 {
    (MARKET_BEGINS + calendar_days) * DAY
}

/// Midnight of a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level
/// date algorithms", `days_from_civil`).
pub(super) const fn civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) * DAY
}

/// Year, month and day of a date (the same, `civil_from_days`).
pub(super) const fn year_month_day(date: i64) -> (i64, i64, i64) {
    let days = date.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = year_of_era + era * 400;
    match month {
        10.. => (year + 1, month - 9, day),
        _ => (year, month + 3, day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil(1970, 1, 1), 0);
        assert_eq!(civil(2005, 1, 3), TRADES_BEGIN * DAY);
        assert_eq!(civil(2000, 1, 3), market_day(0));
        assert_eq!(civil(2004, 12, 31), market_day(MARKET_DAYS - 1));
        assert_eq!(civil(2000, 2, 29) + DAY, civil(2000, 3, 1));
        assert_eq!(civil(1800, 1, 1), -62_091 * DAY);
        for days in (-70_000..70_000).step_by(13) {
            let (year, month, day) = year_month_day(days * DAY);
            assert_eq!(civil(year, month, day), days * DAY);
        }
    }

    #[test]
    fn trading_is_found_again_from_its_date() {
        for hours in 0..8 * 5 * 4 {
            let passed = hours * 3600 * SECOND + 7;
            assert_eq!(trading(date(moment(passed))), passed);
        }
        let saturday = civil(2005, 1, 8) + 3 * 3600 * SECOND;
        assert_eq!(trading(saturday), 5 * TRADING_DAY);
        assert_eq!(trading(civil(2005, 1, 3)), 0);
        let evening = civil(2005, 1, 3) + 20 * 3600 * SECOND;
        assert_eq!(trading(evening), TRADING_DAY);
    }

    #[test]
    fn three_hundred_days_of_trading_end_on_a_friday() {
        let end = moment(300 * TRADING_DAY);
        assert_eq!(date(end), civil(2006, 2, 27) + OPENING);
        let last = moment(300 * TRADING_DAY - SECOND);
        assert_eq!(
            date(last),
            civil(2006, 2, 24) + OPENING + TRADING_DAY - SECOND
        );
        assert_eq!(date(0), civil(2005, 1, 3) + OPENING);
        assert_eq!(date(5 * DAY), civil(2005, 1, 10) + OPENING);
    }
}
