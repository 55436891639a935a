//! Printed figures, with what rounding may have hidden.

/// A printed figure: what it was before it was rounded lies from `low` to `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Printed {
    /// Of a number such as `1,230`, `-15`, `0.95` or `6.30`, which has three significant
    /// digits at most where it has no decimals.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let digits = text.replace(',', "");
        let value: f64 = digits.parse().ok()?;
        let half = match digits.split_once('.') {
            Some((_, decimals)) => 0.5 * 10_f64.powi(-(decimals.len() as i32)),
            // 12,300 may be 12,251; 123 may be 122.5.
            None => {
                let whole = digits.trim_start_matches(['-', '+']).len() as i32;
                0.5 * 10_f64.powi((whole - 3).max(0))
            }
        };
        // Half a unit may be rounded to either side.
        let half = half * (1.0 + 1e-9);
        Some(Self {
            low: value - half,
            high: value + half,
        })
    }

    pub(crate) fn over(self, other: Self) -> Self {
        Self {
            low: self.low / other.high,
            high: self.high / other.low,
        }
    }

    pub(crate) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (of(self.low), of(self.high));
        Self {
            low: one.min(other),
            high: one.max(other),
        }
    }

    /// Whether both may have been one number.
    pub(crate) fn agrees(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The number at the end of a text, with the unit behind it: `keep 65%` is `65` and `%`,
/// `12% more` is `12` and `% more`.
pub(crate) fn number_and_unit(word: &str) -> Option<(&str, &str)> {
    let end = word
        .char_indices()
        .find(|(_, letter)| !(letter.is_ascii_digit() || ",.-+".contains(*letter)))
        .map_or(word.len(), |(at, _)| at);
    let (number, unit) = word.split_at(end);
    let number_ends = number.trim_end_matches([',', '.']);
    number_ends
        .contains(|letter: char| letter.is_ascii_digit())
        .then(|| (number_ends, unit.trim_end_matches([',', '.', ';', ':'])))
}

#[test]
fn printed_figures_know_what_rounding_hides() {
    let of = |text| Printed::of(text).unwrap();
    assert!(of("12,300").agrees(of("12,260")));
    assert!(!of("12,300").agrees(of("12,100")));
    assert!(of("0.95").agrees(of("0.954")));
    assert!(!of("0.95").agrees(of("0.97")));
    assert_eq!(number_and_unit("65%"), Some(("65", "%")));
    assert_eq!(number_and_unit("1.8x"), Some(("1.8", "x")));
    assert_eq!(number_and_unit("pages"), None);
}
