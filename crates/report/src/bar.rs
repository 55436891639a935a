//! Intervals drawn with characters, for terminals.

use octavo_experiment::{findings::GroupFindings, statistics::Interval};

use crate::number::{factor, is_bounded};

/// Intervals drawn with characters, on a logarithmic scale around 1.
pub(crate) struct IntervalBar {
    /// The logarithm at the right end; its negative at the left one.
    span: f64,
    margin: f64,
}

impl IntervalBar {
    const CELLS: usize = 21;
    const CENTER: usize = Self::CELLS / 2;
    /// Beyond this factor from 1 an arrow stands for the value: one page size that is far off
    /// would squeeze all that matters together.
    const FARTHEST: f64 = 1.6;

    pub(crate) fn over(group: &GroupFindings, margin: f64) -> Self {
        let margin = margin.ln_1p();
        let span = group
            .cells
            .iter()
            .filter_map(|cell| cell.ratio)
            .filter(is_bounded)
            .flat_map(|ratio| [ratio.low, ratio.high])
            .map(|end| end.ln().abs())
            .fold(3.0 * margin, f64::max);
        Self {
            span: span.min(Self::FARTHEST.ln().max(3.0 * margin)),
            margin,
        }
    }

    pub(crate) fn header(&self) -> String {
        let side = |value: f64| factor(value.exp());
        let (low, high) = (side(-self.span), side(self.span));
        let room = Self::CELLS.saturating_sub(low.len() + high.len());
        format!("{low}{:^room$}{high}", "1x")
    }

    fn place(&self, logarithm: f64) -> Option<usize> {
        if self.span <= 0.0 || self.span.is_nan() || logarithm.is_nan() {
            return None;
        }
        let share = (logarithm / self.span).clamp(-1.0, 1.0);
        let place = Self::CENTER as f64 * (1.0 + share);
        Some(place.round() as usize)
    }

    pub(crate) fn draw(&self, ratio: Option<&Interval>, reference: bool) -> String {
        let mut cells = ['·'; Self::CELLS];
        for edge in [-self.margin, self.margin] {
            if let Some(place) = self.place(edge) {
                cells[place] = ':';
            }
        }
        cells[Self::CENTER] = if reference { '●' } else { '│' };
        let Some(ratio) = ratio else {
            return cells.iter().collect();
        };
        let estimate = ratio.estimate.ln();
        // Without an interval an arrow says on which side the estimate is, if it is beyond.
        let (low, high) = match is_bounded(ratio) {
            true => (ratio.low.ln(), ratio.high.ln()),
            false => (estimate, estimate),
        };
        let is_drawn = is_bounded(ratio) || estimate.abs() > self.span;
        if is_drawn && let (Some(from), Some(to)) = (self.place(low), self.place(high)) {
            for cell in &mut cells[from..=to] {
                if *cell == '·' {
                    *cell = '─';
                }
            }
            cells[from] = '├';
            cells[to] = '┤';
            // Last, since both ends may lie beyond the same side.
            if low < -self.span {
                cells[from] = '◄';
            }
            if high > self.span {
                cells[to] = '►';
            }
        }
        if estimate.abs() <= self.span
            && let Some(place) = self.place(estimate)
        {
            // Beside the arrow that says that the interval does not end here.
            let place = match cells[place] {
                '◄' => place + 1,
                '►' => place - 1,
                _ => place,
            };
            cells[place] = '●';
        }
        cells.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_stay_and_what_has_no_interval_is_a_point() {
        let bar = IntervalBar {
            span: 1.2f64.ln(),
            margin: 1.03f64.ln(),
        };
        let draw = |estimate, low, high| {
            let interval = Interval {
                estimate,
                low,
                high,
                batches: 5,
            };
            bar.draw(Some(&interval), false)
        };
        assert_eq!(draw(1.199, 1.1, 1.4), "········:·│·:··├───●►");
        assert_eq!(draw(0.834, 0.7, 0.9), "◄●──┤···:·│·:········");
        // Without batches, and with two that hardly tell anything.
        for (low, high) in [(0.0, f64::INFINITY), (1e-4, 1e4)] {
            assert_eq!(draw(1.1, low, high), "········:·│·:··●·····");
            assert_eq!(draw(0.5, low, high), "◄·······:·│·:········");
        }
    }

    #[test]
    fn bars_mark_one_the_margin_and_the_interval() {
        let bar = IntervalBar {
            span: 1.2f64.ln(),
            margin: 1.03f64.ln(),
        };
        let interval = |estimate, low, high| Interval {
            estimate,
            low,
            high,
            batches: 5,
        };
        assert_eq!(bar.draw(None, true), "········:·●·:········");
        assert_eq!(
            bar.draw(Some(&interval(1.1, 1.05, 1.16)), false),
            "········:·│·:├─●──┤··"
        );
        assert_eq!(
            bar.draw(Some(&interval(0.9, 0.7, 1.4)), false),
            "◄───●───:─│─:───────►"
        );
        assert_eq!(
            bar.draw(Some(&interval(0.5, 0.45, 0.55)), false),
            "◄·······:·│·:········"
        );
        assert_eq!(bar.header().chars().count(), IntervalBar::CELLS);
    }
}
