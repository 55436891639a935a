//! What charts are drawn with: shapes and texts of an SVG under construction.
//!
//! Nothing that is not finite is ever drawn: a shape with such a coordinate
//! is left out, since browsers drop the whole attribute and say nothing.

use crate::{
    markup::{Markup, Tag, tag},
    number::join,
};

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

    pub(crate) fn class(self) -> String {
        format!("s{}", self.0 % Self::COUNT)
    }
}

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

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: At, to: At) {
        let line = tag("line").class(class);
        let places = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
        if let Some(line) = placed(line, places) {
            self.body.push(line.empty());
        }
    }

    /// A rectangle by its upper left corner, as opaque as that, with what to say
    /// on hovering.
    pub(crate) fn rect(&mut self, class: &str, opacity: f64, at: At, size: At, tip: &str) {
        let rect = tag("rect").class(class);
        let rect = said(rect.attr("fill-opacity", format!("{opacity:.2}")), tip);
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
    pub(crate) fn path(&mut self, series: Series, points: &[At]) {
        let finite: Vec<At> = points.iter().copied().filter(is_finite).collect();
        if finite.len() > 1 {
            let line = tag("polyline").class(format!("curve {}", series.class()));
            self.body.push(line.attr("points", joined(&finite)).empty());
        }
    }

    /// A shape that points from there to where an interval goes on.
    pub(crate) fn arrow(&mut self, series: Series, at: At, towards: f64) {
        let corners = [(0.0, -5.0), (9.0 * towards, 0.0), (0.0, 5.0)];
        self.polygon(series, at, &corners, "");
    }

    fn polygon(&mut self, series: Series, at: At, corners: &[At], tip: &str) {
        let corners: Vec<At> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        if corners.iter().all(is_finite) {
            let shape = tag("polygon").attr("points", joined(&corners));
            let shape = shape.class(format!("mark {}", series.class()));
            self.body.push(said(shape, tip).empty());
        }
    }

    /// A data point in the series' own shape.
    pub(crate) fn mark(&mut self, series: Series, at: At, tip: &str) {
        let corners: &[At] = match series.0 % Series::COUNT {
            0 => &[],
            1 => &[(-4.2, -4.2), (4.2, -4.2), (4.2, 4.2), (-4.2, 4.2)],
            2 => &[(0.0, -5.5), (5.2, 4.0), (-5.2, 4.0)],
            3 => &[(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)],
            4 => &[(0.0, 5.5), (5.2, -4.0), (-5.2, -4.0)],
            _ => &[(-6.0, -2.5), (6.0, -2.5), (6.0, 2.5), (-6.0, 2.5)],
        };
        if !corners.is_empty() {
            return self.polygon(series, at, corners, tip);
        }
        if let Some(dot) = placed(tag("circle"), [("cx", at.0), ("cy", at.1), ("r", 4.5)]) {
            let dot = dot.class(format!("mark {}", series.class()));
            self.body.push(said(dot, tip).empty());
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
    join(points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")), " ")
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

/// About how wide a label is: the mean of letters of a wide sans-serif at the
/// size of style.css.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_finite_are_not_drawn() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.mark(Series(0), (f64::NAN, 1.0), "x");
        svg.line("grid", (0.0, f64::INFINITY), (1.0, 1.0));
        svg.rect("cell", 1.0, (0.0, 0.0), (f64::NAN, 1.0), "");
        svg.arrow(Series(0), (f64::NAN, 1.0), 1.0);
        svg.path(Series(0), &[(0.0, 0.0), (1.0, f64::NAN)]);
        assert_eq!(svg.body.as_str(), "");
    }
}
