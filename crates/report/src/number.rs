//! Figures as text: three significant digits, thin spaces between thousands,
//! KiB and MiB as powers of two.

use octavo_experiment::statistics::Interval;

/// What stands for a figure that is not known.
pub(crate) const UNKNOWN: &str = "–";

/// Between thousands, and between a figure and its unit: narrow, and no line
/// breaks at it.
const THIN: char = '\u{202f}';

/// Three significant digits: `1.23`, `45.6`, `12 300`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    // Rounding first: 999.6 has to become 1 000, not 1000.0.
    let rounded = format!("{value:.2e}");
    let (_, exponent) = rounded.split_once('e').unwrap_or(("", "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let decimals = usize::try_from(2 - exponent).unwrap_or(0).min(9);
    let value: f64 = rounded.parse().unwrap_or(value);
    if value == 0.0 {
        return "0".into();
    }
    grouped(&format!("{value:.decimals$}"))
}

/// A whole number, all digits: `12 345`.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        // Four digits are read at a glance; five are not.
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 3 {
            text.push(THIN);
        }
        text.push(digit);
    }
    text + fraction
}

/// An amount of bytes: `812 B`, `6.30 KiB`, `1.20 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    let mut scaled = value;
    let mut unit = 0;
    // From 1,000 on the next unit: three digits of 1.00 KiB say more than
    // four of 1023 B.
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(scaled), UNITS[unit])
}

/// A time given in microseconds: `85 us`, `1.23 ms`, `2.50 s`.
pub(crate) fn time(microseconds: f64) -> String {
    if !microseconds.is_finite() {
        UNKNOWN.into()
    } else if microseconds == 0.0 {
        // Times are recorded in whole microseconds, rounded down.
        "under 1 us".into()
    } else if microseconds < 1e3 {
        format!("{} us", number(microseconds))
    } else if microseconds < 1e6 {
        format!("{} ms", number(microseconds / 1e3))
    } else {
        format!("{} s", number(microseconds / 1e6))
    }
}

/// An energy: `85 uJ`, `12.3 mJ`, `1.23 J`, `4.20 kJ`.
pub(crate) fn joules(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    // A little less than a whole unit, so that what is rounded up to a thousand
    // is one of the next.
    let (scale, unit) = match value.abs() {
        small if small < 0.999_5e-3 => (1e6, "uJ"),
        small if small < 0.999_5 => (1e3, "mJ"),
        usual if usual < 999.5 => (1.0, "J"),
        _ => (1e-3, "kJ"),
    };
    format!("{} {unit}", number(value * scale))
}

/// Seconds as people say them: `45 s`, `4 min 30 s`, `2 h 5 min`.
pub(crate) fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return UNKNOWN.into();
    }
    if value < 10.0 {
        return format!("{} s", number(value));
    }
    let whole = value.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes, seconds) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// A share, 0 to 1, in percent: `12 %`, `3.4 %`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return UNKNOWN.into();
    }
    let value = share * 100.0;
    let text = if value.abs() < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    };
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let text = if text == "-0" { "0" } else { text };
    format!("{text} %")
}

/// A hit ratio and the like, 0 to 1, in percent with one decimal, which near
/// 100 % is what differs.
pub(crate) fn percent_fine(share: f64) -> String {
    if share.is_finite() {
        format!("{:.1} %", share * 100.0)
    } else {
        UNKNOWN.into()
    }
}

/// A ratio with three decimals, so that ends near 1 can be told from it.
pub(crate) fn ratio(value: f64) -> String {
    if !value.is_finite() {
        UNKNOWN.into()
    } else if value.abs() < 9.9995 {
        format!("{value:.3}")
    } else {
        number(value)
    }
}

/// Whether an interval has two ends: too few rounds give none.
pub(crate) fn is_bounded(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite() && interval.low > 0.0
}

/// A ratio with its interval: `1.118 (1.081 to 1.157)`, `1.118 (one round)`.
pub(crate) fn ratio_interval(interval: &Interval) -> String {
    if is_bounded(interval) {
        format!(
            "{} ({} to {})",
            ratio(interval.estimate),
            ratio(interval.low),
            ratio(interval.high)
        )
    } else {
        format!("{} ({})", ratio(interval.estimate), too_few(interval))
    }
}

/// How many rounds gave no interval: one gives none ever, and a race looks at
/// more than that first.
fn too_few(interval: &Interval) -> String {
    if interval.rounds == 1 {
        "one round".into()
    } else {
        format!("{}, too few", rounds(interval.rounds))
    }
}

/// The change that a ratio is: `12 % more`, `8 % fewer`, `2.40 times as many`.
pub(crate) fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        UNKNOWN.into()
    } else if ratio >= 2.0 {
        format!("{} times as many", number(ratio))
    } else if ratio >= 1.0 {
        format!("{} more", percent(ratio - 1.0))
    } else {
        format!("{} fewer", percent(1.0 - ratio))
    }
}

/// The interval of a change in percent: `8 % to 16 %`, `-2 % to 16 %`.
pub(crate) fn change_interval(interval: &Interval) -> String {
    if !is_bounded(interval) {
        return format!("interval not known from {}", rounds(interval.rounds));
    }
    if interval.estimate >= 2.0 {
        return format!(
            "{} to {} times",
            number(interval.low),
            number(interval.high)
        );
    }
    format!(
        "{} to {}",
        percent(interval.low - 1.0),
        percent(interval.high - 1.0)
    )
}

/// `one round`, `5 rounds`.
pub(crate) fn rounds(count: usize) -> String {
    if count == 1 {
        "one round".into()
    } else {
        format!("{count} rounds")
    }
}

/// The text with figures held to their units, where a line must not break.
pub(crate) fn held(text: &str) -> String {
    const UNITS: [&str; 9] = ["%", "B", "KiB", "MiB", "GiB", "us", "ms", "s", "min"];
    let mut held = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let unit = word.trim_end_matches([',', '.', ')', ':', ';']);
            let figure = held.ends_with(|c: char| c.is_ascii_digit());
            held.push(if figure && UNITS.contains(&unit) {
                '\u{a0}'
            } else {
                ' '
            });
        }
        held.push_str(word);
    }
    held
}

/// Items as a sentence lists them: `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_remain() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (999.6, "1\u{202f}000"),
            (12_345.0, "12\u{202f}300"),
            (1_234_567.0, "1\u{202f}230\u{202f}000"),
            (0.000_123_4, "0.000123"),
            (-45.67, "-45.7"),
            (f64::NAN, UNKNOWN),
            (f64::INFINITY, UNKNOWN),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(count(12_345), "12\u{202f}345");
    }

    #[test]
    fn energies_have_the_unit_of_their_size() {
        for (value, text) in [
            (0.0, "0 uJ"),
            (85e-6, "85.0 uJ"),
            (0.999_6e-3, "1.00 mJ"),
            (0.012_34, "12.3 mJ"),
            (0.999_7, "1.00 J"),
            (14.5, "14.5 J"),
            (999.7, "1.00 kJ"),
            (f64::NAN, UNKNOWN),
        ] {
            assert_eq!(joules(value), text);
        }
    }

    #[test]
    fn units_fit_the_size() {
        assert_eq!(bytes(812.0), "812 B");
        assert_eq!(bytes(6.3 * 1024.0), "6.30 KiB");
        assert_eq!(bytes(1023.0), "0.999 KiB");
        assert_eq!(time(85.0), "85.0 us");
        assert_eq!(time(1234.0), "1.23 ms");
        assert_eq!(seconds(270.0), "4 min 30 s");
        assert_eq!(seconds(7500.0), "2 h 5 min");
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(0.1249), "12 %");
        assert_eq!(percent(-0.0001), "0 %");
    }

    #[test]
    fn an_interval_of_one_round_is_not_printed_as_infinite() {
        let interval = Interval {
            estimate: 1.2,
            low: 0.0,
            high: f64::INFINITY,
            rounds: 1,
        };
        assert_eq!(ratio_interval(&interval), "1.200 (one round)");
        assert_eq!(
            change_interval(&interval),
            "interval not known from one round"
        );
        let two = Interval {
            rounds: 2,
            ..interval
        };
        assert_eq!(ratio_interval(&two), "1.200 (2 rounds, too few)");
        assert_eq!(change_interval(&two), "interval not known from 2 rounds");
    }

    #[test]
    fn units_stay_with_their_figures() {
        assert_eq!(
            held("8 % of 32 MiB, or 4 more rounds"),
            "8\u{a0}% of 32\u{a0}MiB, or 4 more rounds"
        );
    }

    #[test]
    fn changes_read_naturally() {
        assert_eq!(change(1.118), "12 % more");
        assert_eq!(change(0.95), "5 % fewer");
        assert_eq!(change(2.4), "2.40 times as many");
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items, "and"), "a, b and c");
    }
}
