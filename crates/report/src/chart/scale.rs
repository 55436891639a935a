//! From values to places along a side of a plot, and the values to label.

/// How the values of one side are placed.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
    /// How a value is written.
    words: fn(f64) -> String,
}

#[derive(Clone, Debug)]
enum ScaleKind {
    /// Names at 0, 1, 2 and so on; what is not labelled has an empty name.
    Places(Vec<String>),
    Linear(Round),
    Logarithmic(Round),
    AroundOne,
}

/// What makes a round value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Powers of ten, and 2 and 5 times these.
    Tens,
    /// Powers of two, for bytes.
    Twos,
}

impl Scale {
    /// Evenly spaced places with names: 0 is the middle of the first.
    pub(crate) fn places(names: Vec<String>) -> Self {
        Self {
            low: -0.5,
            high: names.len().max(1) as f64 - 0.5,
            kind: ScaleKind::Places(names),
            words: |value| value.to_string(),
        }
    }

    /// Proportional, from 0 to at least the largest value.
    pub(crate) fn from_zero(
        values: impl IntoIterator<Item = f64>,
        round: Round,
        words: fn(f64) -> String,
    ) -> Self {
        let values = values.into_iter().filter(|value| value.is_finite());
        let largest = values.fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let step = step(largest, round);
        Self {
            kind: ScaleKind::Linear(round),
            low: 0.0,
            high: (largest / step).ceil() * step,
            words,
        }
    }

    /// Logarithmic from at most the smallest to at least the largest value.
    /// Values that are not positive and finite do not count.
    pub(crate) fn logarithmic(
        values: impl IntoIterator<Item = f64>,
        round: Round,
        words: fn(f64) -> String,
    ) -> Self {
        let (low, high) = values
            .into_iter()
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low <= high {
            (low, high)
        } else {
            (1.0, 10.0)
        };
        // Some air, so that no mark lies on the frame.
        let air = (high / low).powf(0.06).max(1.08);
        Self {
            kind: ScaleKind::Logarithmic(round),
            low: low / air,
            high: high * air,
            words,
        }
    }

    /// Logarithmic over ratios from `low`, below 1, to `high`, above it.
    pub(crate) fn around_one(low: f64, high: f64, words: fn(f64) -> String) -> Self {
        Self {
            kind: ScaleKind::AroundOne,
            low,
            high,
            words,
        }
    }

    /// How many places it has; `None` of values.
    pub(crate) fn place_count(&self) -> Option<usize> {
        match &self.kind {
            ScaleKind::Places(names) => Some(names.len()),
            _ => None,
        }
    }

    /// Which side of the scale a value lies beyond: -1, 1, or 0 for neither.
    pub(crate) fn beyond(&self, value: f64) -> f64 {
        if value < self.low {
            -1.0
        } else if value > self.high {
            1.0
        } else {
            0.0
        }
    }

    /// Where a value lies, as a share of the way; beyond the ends at the ends.
    /// NaN of a value that is none.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = match self.kind {
            ScaleKind::Places(_) | ScaleKind::Linear(_) => {
                (value - self.low) / (self.high - self.low)
            }
            ScaleKind::Logarithmic(_) | ScaleKind::AroundOne => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
        };
        share.clamp(0.0, 1.0)
    }

    /// The values to label, with their labels, on a side of this length.
    pub(crate) fn ticks(&self, length: f64) -> Vec<(f64, String)> {
        let values = match &self.kind {
            ScaleKind::Places(names) => {
                let named = names.iter().enumerate();
                return named
                    .map(|(place, name)| (place as f64, name.clone()))
                    .collect();
            }
            ScaleKind::Linear(round) => {
                let step = step(self.high, *round);
                (0..=(self.high / step).round() as u32)
                    .map(|index| f64::from(index) * step)
                    .collect()
            }
            ScaleKind::Logarithmic(Round::Twos) => self.powers_of_two(),
            ScaleKind::Logarithmic(Round::Tens) => self.round_numbers(),
            ScaleKind::AroundOne => self.ratios(length),
        };
        let labelled = values.into_iter().map(|value| (value, (self.words)(value)));
        labelled.collect()
    }

    /// 1, and round ratios on either side, the farthest first, as long as
    /// their labels have room.
    fn ratios(&self, length: f64) -> Vec<f64> {
        const BELOW: [f64; 10] = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
        const ABOVE: [f64; 10] = [10.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.1, 1.05, 1.02, 1.01];
        const ROOM: f64 = 40.0;
        let place = |value| self.share(value) * length;
        let mut ticks: Vec<f64> = vec![1.0];
        for tick in BELOW.into_iter().chain(ABOVE) {
            let is_free = |other: &f64| (place(*other) - place(tick)).abs() >= ROOM;
            if ticks.iter().all(is_free) && self.beyond(tick) == 0.0 {
                ticks.push(tick);
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    fn powers_of_two(&self) -> Vec<f64> {
        let (first, last) = (self.low.log2().ceil() as i32, self.high.log2() as i32);
        let skip = ((last - first) / 6 + 1).unsigned_abs() as usize;
        let powers = (first..=last).step_by(skip);
        powers.map(|power| 2f64.powi(power)).collect()
    }

    /// The coarsest set of round digits that gives enough values.
    fn round_numbers(&self) -> Vec<f64> {
        let sets: [&[f64]; 3] = [
            &[1.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        ];
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let ticks = |digits: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
                .filter(|tick| self.beyond(*tick) == 0.0)
                .collect()
        };
        sets.iter()
            .map(|digits| ticks(digits))
            .find(|ticks| ticks.len() >= 3)
            .unwrap_or_else(|| ticks(sets[2]))
    }
}

/// A round step that goes about five times into `largest`.
fn step(largest: f64, round: Round) -> f64 {
    let rough = largest / 5.0;
    if round == Round::Twos {
        return 2f64.powf(rough.log2().ceil());
    }
    let power = 10f64.powf(rough.log10().floor());
    let digit = rough / power;
    let digit = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|round| digit <= *round + 1e-9)
        .unwrap_or(10.0);
    digit * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::plain;

    fn ticks(scale: &Scale) -> Vec<f64> {
        scale
            .ticks(370.0)
            .into_iter()
            .map(|(value, _)| value)
            .collect()
    }

    #[test]
    fn ticks_are_round() {
        let from_zero = |largest, round| ticks(&Scale::from_zero([largest], round, plain));
        let logarithmic =
            |values: [f64; 2], round| ticks(&Scale::logarithmic(values, round, plain));
        assert_eq!(
            from_zero(6910.0, Round::Tens),
            [0.0, 2000.0, 4000.0, 6000.0, 8000.0]
        );
        assert_eq!(
            from_zero(20_000.0, Round::Twos),
            [0.0, 4096.0, 8192.0, 12288.0, 16384.0, 20480.0]
        );
        assert_eq!(
            logarithmic([90.0, 12_000.0], Round::Tens),
            [100.0, 1000.0, 10_000.0]
        );
        assert_eq!(logarithmic([1.1, 1.9], Round::Tens), [1.5, 2.0]);
        assert_eq!(
            logarithmic([3000.0, 99_000.0], Round::Twos),
            [4096.0, 8192.0, 16384.0, 32768.0, 65536.0]
        );
        assert_eq!(
            ticks(&Scale::around_one(0.6, 1.2, plain)),
            [0.7, 0.8, 0.9, 1.0, 1.1, 1.2]
        );
    }

    #[test]
    fn values_beyond_the_ends_are_placed_at_the_ends() {
        let ratios = Scale::around_one(0.5, 2.0, plain);
        assert!((ratios.share(1.0) - 0.5).abs() < 1e-12);
        assert_eq!((ratios.share(f64::INFINITY), ratios.share(0.0)), (1.0, 0.0));
        assert_eq!((ratios.beyond(2.1), ratios.beyond(0.4)), (1.0, -1.0));
        assert_eq!(ratios.beyond(2.0), 0.0);
        let places = Scale::places(vec!["a".into(), "b".into()]);
        assert_eq!((places.share(0.0), places.share(1.0)), (0.25, 0.75));
        let nothing = Scale::from_zero([f64::NAN], Round::Tens, plain);
        assert_eq!(nothing.share(1.0), 1.0);
        assert!(nothing.share(f64::NAN).is_nan());
    }
}
