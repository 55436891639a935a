//! Figures as text: three significant digits, commas between thousands, KiB
//! and MiB as powers of two, and nouns that agree with their number.

use std::time::Duration;

use octavo_experiment::statistics::Interval;

/// What stands for a figure that is not known.
pub(crate) const UNKNOWN: &str = "–";

/// Three significant digits: `1.23`, `45.6`, `12,300`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    // Rounding first: 999.6 has to become 1,000, not 1000.0.
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

/// A number without needless decimals, as at an axis: `2,000`, `0.5`.
pub(crate) fn plain(value: f64) -> String {
    let text = number(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A whole number, all digits: `12,345`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number with its noun: `1 run`, `2,000 runs`, `8 passes`.
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number if noun.ends_with('s') => format!("{} {noun}es", count(number)),
        number => format!("{} {noun}s", count(number)),
    }
}

fn grouped(digits: &str) -> String {
    let (whole, fraction) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if left.is_multiple_of(3) && text.ends_with(|c: char| c.is_ascii_digit()) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

/// The value in the largest of these units, which ascend, that leaves at least
/// 1 after rounding; each with what it has of the unit of `value`.
fn scaled(value: f64, units: &[(f64, &str)], digits: fn(f64) -> String) -> String {
    let fits = |(size, _): &&(f64, &str)| value.abs() >= 0.9995 * size;
    match units.iter().rev().find(fits).or(units.first()) {
        Some((size, unit)) if value.is_finite() => format!("{} {unit}", digits(value / size)),
        _ => UNKNOWN.into(),
    }
}

const KIB: f64 = 1024.0;

/// An amount of bytes: `812 B`, `6.30 KiB`, `1.20 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    // From 1,000 on the next unit: three digits of 1.00 KiB say more than
    // four of 1023 B.
    let larger = |power: &i32| value >= 999.5 * KIB.powi(power - 1);
    let power = (1..4).rev().find(larger).unwrap_or(0);
    format!(
        "{} {}",
        number(value / KIB.powi(power)),
        UNITS[power as usize]
    )
}

/// Bytes at an axis, which are round: `500 B`, `20 KiB`.
pub(crate) fn plain_bytes(value: f64) -> String {
    let units = [
        (1.0, "B"),
        (KIB, "KiB"),
        (KIB * KIB, "MiB"),
        (KIB * KIB * KIB, "GiB"),
    ];
    scaled(value, &units, plain)
}

const TIMES: [(f64, &str); 3] = [(1.0, "µs"), (1e3, "ms"), (1e6, "s")];

/// A time given in microseconds: `85.0 µs`, `1.23 ms`, `2.50 s`.
pub(crate) fn time(microseconds: f64) -> String {
    if microseconds == 0.0 {
        // Times are recorded in whole microseconds, rounded down.
        return "under 1 µs".into();
    }
    scaled(microseconds, &TIMES, number)
}

/// A time in microseconds at an axis: `100 µs`, `2 ms`.
pub(crate) fn plain_time(microseconds: f64) -> String {
    scaled(microseconds, &TIMES, plain)
}

/// An energy: `85.0 µJ`, `12.3 mJ`, `1.23 J`, `4.20 kJ`.
pub(crate) fn joules(value: f64) -> String {
    let units = [(1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J"), (1e3, "kJ")];
    scaled(value, &units, number)
}

/// Seconds as people say them: `4.50 s`, `45 s`, `4 min 30 s`, `2 h 5 min`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return UNKNOWN.into();
    }
    if value < 10.0 {
        return format!("{} s", number(value));
    }
    let whole = whole_seconds(value);
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes, seconds) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// Rounded to seconds, and from an hour on to minutes, which are what is told then.
fn whole_seconds(value: f64) -> u64 {
    match value.round() as u64 {
        hours if hours >= 3600 => hours.saturating_add(30) / 60 * 60,
        seconds => seconds,
    }
}

/// A moment to the minute, of a text such as 2026-03-01T12:00:07.5Z.
pub(crate) fn moment(rfc_3339: &str) -> String {
    let [day, minute] = [rfc_3339.get(..10), rfc_3339.get(11..16)];
    format!(
        "{} {} UTC",
        day.unwrap_or_default(),
        minute.unwrap_or_default()
    )
}

/// A time in a heading: `4m 53s`, `2h 5m`. As [`seconds`] rounds it.
pub(crate) fn clock(value: f64) -> String {
    let whole = whole_seconds(value);
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, 0) if value > 0.0 => "under 1s".into(),
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// An estimated time, rounded: `2.3 s`, `96 s`, `3 min`, `2.5 h`.
pub(crate) fn estimate(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min", whole.saturating_add(30) / 60),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A share, 0 to 1, in percent: `12%`, `3.4%`.
pub(crate) fn percent(share: f64) -> String {
    let decimals = usize::from((share * 100.0).abs() < 9.95);
    let text = percent_with(share, decimals);
    let text = text.replace(".0%", "%");
    if text == "-0%" { "0%".into() } else { text }
}

/// Shares of one whole in whole percent, which come to the sum of all rounded once: to 100 where
/// the shares come to 1. Of parts rounded down, those with the largest rest have one more (the
/// method of the largest remainder).
pub(crate) fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let exact: Vec<f64> = shares
        .iter()
        .map(|share| (share * 100.0).max(0.0))
        .collect();
    let mut whole: Vec<u32> = exact.iter().map(|part| part.floor() as u32).collect();
    let sum = exact.iter().sum::<f64>().round() as u32;
    let missing = sum.saturating_sub(whole.iter().sum());
    let rest = |place: usize| exact[place].fract();
    let mut places: Vec<usize> = (0..exact.len()).collect();
    places.sort_by(|&one, &other| rest(other).total_cmp(&rest(one)));
    for place in places.into_iter().take(missing as usize) {
        whole[place] += 1;
    }
    whole
}

/// A hit rate and the like, 0 to 1, in percent with one decimal, which near
/// 100% is what differs.
pub(crate) fn percent_fine(share: f64) -> String {
    percent_with(share, 1)
}

fn percent_with(share: f64, decimals: usize) -> String {
    if share.is_finite() {
        format!("{:.decimals$}%", share * 100.0)
    } else {
        UNKNOWN.into()
    }
}

/// A ratio as a difference in whole percent: `+7%`, `-55%`, `0%`.
pub(crate) fn signed(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        percent if !percent.is_finite() => UNKNOWN.into(),
        percent if percent.abs() < 0.5 => "0%".into(),
        percent => format!("{percent:+.0}%"),
    }
}

/// A difference from what was expected: `+3.1%`, `-0.4%`.
pub(crate) fn off_by(error: f64) -> String {
    format!("{:+.1}%", error * 100.0)
}

/// A ratio with three decimals, with more where these would say 1 of another: whether an end of
/// an interval is 1 decides.
pub(crate) fn ratio(value: f64) -> String {
    if !value.is_finite() || value.abs() >= 9.9995 {
        return number(value);
    }
    let off = (value - 1.0).abs();
    let decimals = (3..=6).find(|&decimals| off == 0.0 || off >= 0.5 * 10_f64.powi(-decimals));
    let decimals = decimals.unwrap_or(6) as usize;
    format!("{value:.decimals$}")
}

/// A ratio as a factor: `0.95x`, `1.07x`, `1.8x`, `12x`. Below 1.5 with two decimals, so that
/// what is near 1 can be told from it.
pub(crate) fn factor(ratio: f64) -> String {
    match ratio {
        ratio if !ratio.is_finite() => UNKNOWN.into(),
        ratio if ratio < 1.495 => format!("{ratio:.2}x"),
        ratio if ratio < 9.95 => format!("{ratio:.1}x"),
        ratio => format!("{ratio:.0}x"),
    }
}

/// Ratios of one sentence as factors, with the decimals of the least: `1.66x`, `1.41x`, `1.95x`.
pub(crate) fn factors<const N: usize>(ratios: [f64; N]) -> [String; N] {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let decimals = match least {
        least if least < 1.495 => 2,
        least if least < 9.95 => 1,
        _ => 0,
    };
    ratios.map(|ratio| match ratio.is_finite() {
        true => format!("{ratio:.decimals$}x"),
        false => UNKNOWN.into(),
    })
}

/// `was` of one, `were` of other counts.
pub(crate) fn was(count: usize) -> &'static str {
    match count {
        1 => "was",
        _ => "were",
    }
}

/// Whether an interval has finite ends: too few batches give none.
pub(crate) fn is_bounded(interval: &Interval) -> bool {
    interval.says_something()
}

/// The ends of an interval in these words, `9% to 15%`, or why there are none.
pub(crate) fn ends(interval: &Interval, words: impl Fn(f64) -> String) -> String {
    if is_bounded(interval) {
        format!("{} to {}", words(interval.low), words(interval.high))
    } else {
        "no interval yet".into()
    }
}

/// A ratio with its interval: `1.118 (1.081 to 1.157)`.
pub(crate) fn ratio_interval(interval: &Interval) -> String {
    format!("{} ({})", ratio(interval.estimate), ends(interval, ratio))
}

/// The change that a ratio is: `12% more`, `8% fewer`.
pub(crate) fn change(ratio: f64) -> String {
    if ratio >= 1.0 {
        format!("{} more", share_of_change(ratio - 1.0))
    } else {
        format!("{} fewer", share_of_change(1.0 - ratio))
    }
}

/// The interval of a change: `95% CI 8% to 16%`, `95% CI -2% to 16%`.
pub(crate) fn change_interval(interval: &Interval) -> String {
    let ends = ends(interval, |end| share_of_change(end - 1.0));
    if is_bounded(interval) {
        format!("95% CI {ends}")
    } else {
        ends
    }
}

/// A change as a share: small ones keep digits instead of becoming 0.
pub(crate) fn share_of_change(change: f64) -> String {
    let text = percent(change);
    match change == 0.0 || text != "0%" {
        true => text,
        false => format!("{:.1e}", change * 100.0)
            .parse()
            .map_or(text, |rounded: f64| format!("{rounded}%")),
    }
}

/// The text with unbreakable spaces between figures and their units.
pub(crate) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 8] = ["B", "KiB", "MiB", "GiB", "µs", "ms", "s", "min"];
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

/// The items without repetitions.
pub(crate) fn distinct(items: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// Items with a separator between them.
pub fn join<T: ToString>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(separator)
}

/// Items as a sentence lists them: `a`, `a and b`, `a, b and c`.
pub fn list<T: ToString>(items: impl IntoIterator<Item = T>, last: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

/// Names that a sentence lists. Chosen.
const NAMED: usize = 12;

/// The first of many items as a sentence lists them: `a, b and 98 more`.
pub(crate) fn first_of<T: ToString>(items: &[T]) -> String {
    match items.len().saturating_sub(NAMED) {
        0 | 1 => list(items.iter().map(T::to_string), "and"),
        more => {
            let first = items.iter().take(NAMED).map(T::to_string);
            list(first.chain([format!("{} more", count(more as u64))]), "and")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_items_the_first_are_listed() {
        let numbers: Vec<u32> = (0..40).collect();
        assert_eq!(first_of(&numbers[..2]), "0 and 1");
        assert!(first_of(&numbers[..13]).ends_with("11 and 12"));
        assert!(first_of(&numbers).ends_with("10, 11 and 28 more"));
    }

    #[test]
    fn factors_of_one_sentence_have_the_same_decimals() {
        assert_eq!(factors([1.664, 1.41, 1.951]), ["1.66x", "1.41x", "1.95x"]);
        assert_eq!(factors([1.8, 1.6, 11.2]), ["1.8x", "1.6x", "11.2x"]);
        assert_eq!(factors([12.3, f64::INFINITY]), ["12x", "–"]);
    }

    #[test]
    fn whole_percents_come_to_all_of_it() {
        // Each rounded by itself: 66, 18, 10 and 7.
        assert_eq!(
            whole_percents(&[0.656, 0.175, 0.0955, 0.0735]),
            [66, 17, 10, 7]
        );
        assert_eq!(whole_percents(&[1.0 / 3.0; 3]), [34, 33, 33]);
        assert_eq!(whole_percents(&[0.304, 0.003]), [31, 0]);
        assert_eq!(whole_percents(&[]), [0; 0]);
    }

    #[test]
    fn three_digits_remain() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (999.6, "1,000"),
            (12_345.0, "12,300"),
            (1_234_567.0, "1,230,000"),
            (-123_456.0, "-123,000"),
            (0.000_123_4, "0.000123"),
            (-45.67, "-45.7"),
            (f64::NAN, UNKNOWN),
            (f64::INFINITY, UNKNOWN),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(count(12_345), "12,345");
        assert_eq!(counted(1_usize, "run"), "1 run");
        assert_eq!(counted(0_u32, "run"), "0 runs");
        assert_eq!(counted(8_u32, "pass"), "8 passes");
        assert_eq!(plain(2000.0), "2,000");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(100.0), "100");
    }

    #[test]
    fn energies_have_the_unit_of_their_size() {
        for (value, text) in [
            (0.0, "0 µJ"),
            (85e-6, "85.0 µJ"),
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
        assert_eq!(bytes(0.5), "0.500 B");
        assert_eq!(bytes(6.3 * 1024.0), "6.30 KiB");
        assert_eq!(bytes(1023.0), "0.999 KiB");
        assert_eq!(bytes(1000.0 * 1024.0), "0.977 MiB");
        assert_eq!(plain_bytes(2048.0), "2 KiB");
        assert_eq!(plain_bytes(500.0), "500 B");
        assert_eq!(time(85.0), "85.0 µs");
        assert_eq!(time(1234.0), "1.23 ms");
        assert_eq!(plain_time(2000.0), "2 ms");
        assert_eq!(seconds(270.0), "4 min 30 s");
        assert_eq!(seconds(7500.0), "2 h 5 min");
        assert_eq!((clock(10.6), seconds(10.6)), ("11s".into(), "11 s".into()));
        assert_eq!(clock(292.6), "4m 53s");
        // 1 h 43 min 50 s: as estimates round it.
        let long = 6230.0;
        assert_eq!(
            [
                seconds(long),
                clock(long),
                estimate(Duration::from_secs(6230))
            ],
            ["1 h 44 min", "1h 44m", "104 min"]
        );
        assert_eq!([seconds(3599.6), seconds(7199.0)], ["1 h", "2 h"]);
        assert_eq!([0.4, f64::NAN].map(clock), ["under 1s", "0s"]);
        assert_eq!(percent(0.034), "3.4%");
        assert_eq!(percent(0.03), "3%");
        assert_eq!(percent(0.1249), "12%");
        assert_eq!(percent(-0.0001), "0%");
        assert_eq!(
            [1.84, 0.954, 12.3, 1.0, 1.04].map(factor),
            ["1.8x", "0.95x", "12x", "1.00x", "1.04x"]
        );
        assert_eq!([1.07, 0.45, 0.999].map(signed), ["+7%", "-55%", "0%"]);
    }

    #[test]
    fn estimates_have_few_digits() {
        for (seconds, text) in [
            (0.0, "0.0 s"),
            (2.34, "2.3 s"),
            (9.7, "10 s"),
            (96.4, "96 s"),
            (150.0, "3 min"),
            (7199.0, "120 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(estimate(Duration::from_secs_f64(seconds)), text);
        }
    }

    #[test]
    fn interval_without_ends_is_not_printed_as_infinite() {
        let interval = Interval {
            estimate: 1.2,
            low: 0.0,
            high: f64::INFINITY,
            batches: 1,
        };
        assert_eq!(ratio_interval(&interval), "1.200 (no interval yet)");
        // Two batches of four passes on a busy machine.
        let wide = Interval {
            low: 0.000_2,
            high: 7748.0,
            ..interval
        };
        assert_eq!(ratio_interval(&wide), "1.200 (no interval yet)");
        assert_eq!(change_interval(&interval), "no interval yet");
    }

    #[test]
    fn units_stay_with_their_figures() {
        assert_eq!(
            unbroken("8% of 32 MiB, or 4 more"),
            "8% of 32\u{a0}MiB, or 4 more"
        );
    }

    #[test]
    fn ends_beside_no_difference_are_not_told_as_it() {
        assert_eq!(
            [1.0, 1.0004, 0.9996, 1.000_04, 0.999_4, 12.3].map(ratio),
            ["1.000", "1.0004", "0.9996", "1.00004", "0.999", "12.3"]
        );
        let interval = |low, high| Interval {
            estimate: 1.02,
            low,
            high,
            batches: 9,
        };
        assert_eq!(
            change_interval(&interval(1.000_4, 1.04)),
            "95% CI 0.04% to 4%"
        );
        assert_eq!(
            change_interval(&interval(0.999_97, 1.04)),
            "95% CI -0.003% to 4%"
        );
        assert_eq!(change_interval(&interval(1.0, 1.04)), "95% CI 0% to 4%");
    }

    #[test]
    fn changes_read_naturally() {
        assert_eq!(change(1.118), "12% more");
        assert_eq!(change(0.95), "5% fewer");
        assert_eq!(change(1.000_3), "0.03% more");
        assert_eq!(change(2.4), "140% more");
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items, "and"), "a, b and c");
    }
}
