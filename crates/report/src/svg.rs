//! What charts are drawn with: an SVG under construction, scales, axes,
//! marks and legends.
//!
//! Nothing that is not finite is ever drawn: a shape with such a coordinate
//! is left out, since browsers drop the whole attribute and say nothing.

use crate::markup::{Markup, Tag, tag};

/// How texts are placed at their point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A place in a drawing: to the right, and down.
pub(crate) type At = (f64, f64);

/// How series are told apart: color, dash and mark together, so that color
/// alone never matters. There are [`Series::COUNT`] of them; more repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series(pub(crate) usize);

impl Series {
    /// Six colors of Okabe and Ito's palette
    /// (<https://jfly.uni-koeln.de/color/>); style.css names them.
    const COUNT: usize = 6;

    fn class(self) -> String {
        format!("s{}", self.0 % Self::COUNT)
    }
}

/// The height of a row of a legend.
pub(crate) const LEGEND_ROW: f64 = 20.0;

/// An SVG whose elements are added one by one.
#[derive(Debug)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: Markup,
}

impl Svg {
    /// An empty drawing in its own units, which style.css takes for pixels.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: Markup::default(),
        }
    }

    /// Makes it higher, at the bottom.
    pub(crate) fn grow(&mut self, more: f64) {
        self.height += more;
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: At, to: At) {
        let line = tag("line").class(class);
        let places = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
        if let Some(line) = placed(line, places) {
            self.body.push(line.empty());
        }
    }

    /// A rectangle by its upper left corner, with what to say on hovering.
    pub(crate) fn rect(&mut self, class: &str, at: At, size: At, tip: &str) {
        let rect = said(tag("rect").class(class), tip);
        let places = [
            ("x", at.0),
            ("y", at.1),
            ("width", size.0),
            ("height", size.1),
        ];
        if let Some(rect) = placed(rect, places).filter(|_| size.0 >= 0.0 && size.1 >= 0.0) {
            self.body.push(rect.empty());
        }
    }

    /// A text.
    pub(crate) fn text(&mut self, class: &str, at: At, anchor: Anchor, text: &str) {
        self.placed_text(tag("text").class(class), at, anchor, text);
    }

    /// A text that reads upwards.
    pub(crate) fn text_upwards(&mut self, class: &str, at: At, text: &str) {
        let turn = format!("rotate(-90 {:.1} {:.1})", at.0, at.1);
        let element = tag("text").class(class).attr("transform", turn);
        self.placed_text(element, at, Anchor::Middle, text);
    }

    fn placed_text(&mut self, element: Tag, at: At, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        if let Some(element) = placed(element, [("x", at.0), ("y", at.1)]) {
            self.body
                .push(element.attr("text-anchor", anchor).text(text));
        }
    }

    /// Points joined by lines.
    pub(crate) fn path(&mut self, series: Series, thin: bool, points: &[At]) {
        let finite: Vec<At> = points.iter().copied().filter(is_finite).collect();
        if finite.len() > 1 {
            let thin = if thin { " thin" } else { "" };
            let line = tag("polyline").class(format!("curve {}{thin}", series.class()));
            self.body.push(line.attr("points", joined(&finite)).empty());
        }
    }

    /// A data point in the series' own shape.
    pub(crate) fn mark(&mut self, series: Series, at: At, tip: &str) {
        if !is_finite(&at) {
            return;
        }
        let corners: &[At] = match series.0 % Series::COUNT {
            0 => &[],
            1 => &[(-4.2, -4.2), (4.2, -4.2), (4.2, 4.2), (-4.2, 4.2)],
            2 => &[(0.0, -5.5), (5.2, 4.0), (-5.2, 4.0)],
            3 => &[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)],
            4 => &[(0.0, 5.5), (5.2, -4.0), (-5.2, -4.0)],
            _ => &[(-6.0, -2.5), (6.0, -2.5), (6.0, 2.5), (-6.0, 2.5)],
        };
        let shape = if corners.is_empty() {
            placed(tag("circle"), [("cx", at.0), ("cy", at.1), ("r", 4.5)])
        } else {
            let corners: Vec<At> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
            Some(tag("polygon").attr("points", joined(&corners)))
        };
        if let Some(shape) = shape {
            let shape = shape.class(format!("mark {}", series.class()));
            self.body.push(said(shape, tip).empty());
        }
    }

    /// A vertical or horizontal interval with caps.
    pub(crate) fn whisker(&mut self, series: Series, from: At, to: At) {
        let class = format!("whisker {}", series.class());
        self.line(&class, from, to);
        let cap = if (from.0 - to.0).abs() < (from.1 - to.1).abs() {
            (4.0, 0.0)
        } else {
            (0.0, 4.0)
        };
        for end in [from, to] {
            self.line(
                &class,
                (end.0 - cap.0, end.1 - cap.1),
                (end.0 + cap.0, end.1 + cap.1),
            );
        }
    }

    /// Names of series from left to right, from this corner on; wraps at the
    /// right edge. Returns the height that it took.
    pub(crate) fn legend(&mut self, at: At, names: &[String]) -> f64 {
        let (mut x, mut y) = at;
        for (index, name) in names.iter().enumerate() {
            let width = 44.0 + text_width(name);
            if x > at.0 && x + width > self.width {
                x = at.0;
                y += LEGEND_ROW;
            }
            let series = Series(index);
            self.path(series, false, &[(x, y), (x + 28.0, y)]);
            self.mark(series, (x + 14.0, y), "");
            self.text("label", (x + 34.0, y + 4.0), Anchor::Start, name);
            x += width + 12.0;
        }
        if names.is_empty() {
            0.0
        } else {
            y - at.1 + LEGEND_ROW
        }
    }

    /// The drawing as an element; `name` is what a screen reader says.
    pub(crate) fn finish(self, name: &str) -> Markup {
        let (width, height) = (self.width, self.height);
        tag("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .attr("viewBox", format!("0 0 {width:.0} {height:.0}"))
            .attr("width", format!("{width:.0}"))
            .attr("height", format!("{height:.0}"))
            .attr("role", "img")
            .attr("aria-label", name)
            .around([self.body])
    }
}

/// The element at these places; `None` where one is not finite.
fn placed<const PLACES: usize>(element: Tag, places: [(&'static str, f64); PLACES]) -> Option<Tag> {
    places
        .into_iter()
        .try_fold(element, |element, (name, place)| {
            place
                .is_finite()
                .then(|| element.attr(name, format!("{place:.1}")))
        })
}

fn joined(points: &[At]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    points.join(" ")
}

fn said(element: Tag, tip: &str) -> Tag {
    if tip.is_empty() {
        element
    } else {
        element.attr("data-tip", tip)
    }
}

fn is_finite(at: &At) -> bool {
    at.0.is_finite() && at.1.is_finite()
}

/// About how wide a label is: the mean of sans-serif letters at the size of
/// style.css.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.8
}

/// From values to places along one axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    kind: Kind,
    round: Round,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Logarithmic,
    AroundOne,
}

/// What makes a round tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Powers of ten, and 2 and 5 times these.
    Tens,
    /// Powers of two, for bytes.
    Twos,
}

impl Axis {
    /// From 0 to at least the largest value, over these places.
    pub(crate) fn from_zero(largest: f64, round: Round, from: f64, to: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 {
            largest
        } else {
            1.0
        };
        let step = step(largest, round);
        Self {
            kind: Kind::Linear,
            round,
            low: 0.0,
            high: (largest / step).ceil() * step,
            from,
            to,
        }
    }

    /// Logarithmic from at most the smallest to at least the largest value.
    /// Values that are not positive and finite do not count.
    pub(crate) fn logarithmic(
        values: impl Iterator<Item = f64>,
        round: Round,
        from: f64,
        to: f64,
    ) -> Self {
        let (low, high) = values
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
            kind: Kind::Logarithmic,
            round,
            low: low / air,
            high: high * air,
            from,
            to,
        }
    }

    /// Logarithmic over ratios from `low`, below 1, to `high`, above it.
    pub(crate) fn around_one(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self {
            kind: Kind::AroundOne,
            round: Round::Tens,
            low,
            high,
            from,
            to,
        }
    }

    /// The place of a value; beyond the ends at the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic | Kind::AroundOne => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values to label: about five.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = step(self.high, self.round);
                (0..=(self.high / step).round() as u32)
                    .map(|index| f64::from(index) * step)
                    .collect()
            }
            Kind::Logarithmic => self.logarithmic_ticks(),
            Kind::AroundOne => self.ticks_around_one(),
        }
    }

    /// 1, and round ratios on either side, the farthest first, as long as
    /// their labels have room.
    fn ticks_around_one(&self) -> Vec<f64> {
        const BELOW: [f64; 10] = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
        const ABOVE: [f64; 10] = [10.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.1, 1.05, 1.02, 1.01];
        const ROOM: f64 = 40.0;
        let mut ticks = vec![1.0];
        for tick in BELOW.into_iter().chain(ABOVE) {
            let place = self.at(tick);
            let free = ticks
                .iter()
                .all(|other| (self.at(*other) - place).abs() >= ROOM);
            if free && (self.low..=self.high).contains(&tick) {
                ticks.push(tick);
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    fn logarithmic_ticks(&self) -> Vec<f64> {
        if self.round == Round::Twos {
            let (first, last) = (self.low.log2().ceil() as i32, self.high.log2() as i32);
            let skip = ((last - first) / 6 + 1).unsigned_abs() as usize;
            return (first..=last)
                .step_by(skip)
                .map(|power| 2f64.powi(power))
                .collect();
        }
        // The coarsest set of round digits that gives enough of them.
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
                .filter(|tick| (self.low..=self.high).contains(tick))
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

/// Frame, grid and labels around a plot.
pub(crate) struct Frame<'a> {
    /// Left, top, right, bottom of the plot.
    pub(crate) area: (f64, f64, f64, f64),
    /// Places and labels below.
    pub(crate) x_ticks: &'a [(f64, String)],
    /// Places and labels at the left.
    pub(crate) y_ticks: &'a [(f64, String)],
    /// What runs to the right, with its unit.
    pub(crate) x_label: &'a str,
    /// What runs upwards, with its unit.
    pub(crate) y_label: &'a str,
}

impl Frame<'_> {
    /// Draws it.
    pub(crate) fn draw(&self, svg: &mut Svg) {
        let (left, top, right, bottom) = self.area;
        for (y, label) in self.y_ticks {
            svg.line("grid", (left, *y), (right, *y));
            svg.text("tick", (left - 6.0, y + 4.0), Anchor::End, label);
        }
        for (x, label) in self.x_ticks {
            svg.line("grid", (*x, bottom), (*x, bottom + 4.0));
            svg.text("tick", (*x, bottom + 18.0), Anchor::Middle, label);
        }
        svg.line("axis", (left, bottom), (right, bottom));
        svg.line("axis", (left, top), (left, bottom));
        let middle = (left + right) / 2.0;
        svg.text(
            "name",
            (middle, bottom + 38.0),
            Anchor::Middle,
            self.x_label,
        );
        svg.text_upwards("name", (14.0, (top + bottom) / 2.0), self.y_label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            Axis::from_zero(6910.0, Round::Tens, 0.0, 100.0).ticks(),
            [0.0, 2000.0, 4000.0, 6000.0, 8000.0]
        );
        let decades = Axis::logarithmic([90.0, 12_000.0].into_iter(), Round::Tens, 0.0, 100.0);
        assert_eq!(decades.ticks(), [100.0, 1000.0, 10_000.0]);
        let narrow = Axis::logarithmic([1.1, 1.9].into_iter(), Round::Tens, 0.0, 100.0);
        assert_eq!(narrow.ticks(), [1.5, 2.0]);
        let bytes = Axis::logarithmic([3000.0, 99_000.0].into_iter(), Round::Twos, 0.0, 1.0);
        assert_eq!(bytes.ticks(), [4096.0, 8192.0, 16384.0, 32768.0, 65536.0]);
        assert_eq!(
            Axis::from_zero(20_000.0, Round::Twos, 0.0, 1.0).ticks(),
            [0.0, 4096.0, 8192.0, 12288.0, 16384.0, 20480.0]
        );
        let ratios = Axis::around_one(0.6, 1.2, 0.0, 370.0);
        assert_eq!(ratios.ticks(), [0.7, 0.8, 0.9, 1.0, 1.1, 1.2]);
    }

    #[test]
    fn places_stay_on_the_axis() {
        let axis = Axis::around_one(0.5, 2.0, 0.0, 100.0);
        assert_eq!(axis.at(1.0), 50.0);
        assert_eq!(axis.at(f64::INFINITY), 100.0);
        assert_eq!(axis.at(0.0), 0.0);
        let nothing = Axis::from_zero(f64::NAN, Round::Tens, 0.0, 100.0);
        assert_eq!(nothing.at(1.0), 100.0);
    }

    #[test]
    fn values_that_are_not_finite_are_not_drawn() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.mark(Series(0), (f64::NAN, 1.0), "x");
        svg.line("grid", (0.0, f64::INFINITY), (1.0, 1.0));
        svg.rect("cell", (0.0, 0.0), (f64::NAN, 1.0), "");
        svg.path(Series(0), false, &[(0.0, 0.0), (1.0, f64::NAN)]);
        assert_eq!(svg.body.as_str(), "");
    }
}
