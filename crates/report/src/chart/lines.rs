//! Curves of several series over one axis, with intervals where known: the
//! shape of most charts here.

use crate::{
    document::Figure,
    svg::{Axis, Frame, LEGEND_ROW, Round, Series, Svg, text_width},
};

/// One value of a curve.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    /// Where, as an index into the chart's places.
    pub(super) place: usize,
    /// The value.
    pub(super) value: f64,
    /// The ends of its interval, if it has two.
    pub(super) interval: Option<(f64, f64)>,
    /// What is said on hovering.
    pub(super) tip: String,
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Its name in the legend.
    pub(super) name: String,
    /// Its values.
    pub(super) dots: Vec<Dot>,
}

/// How values are placed on the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Proportional, from 0.
    FromZero,
    /// Logarithmic.
    Logarithmic,
}

/// A chart of curves over evenly spaced places.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    /// What it shows, with its unit.
    pub(super) title: String,
    /// Labels of the places.
    pub(super) places: Vec<String>,
    /// What the places are.
    pub(super) x_label: &'a str,
    /// What the values are, with their unit.
    pub(super) y_label: &'a str,
    /// How values are placed.
    pub(super) scale: Scale,
    /// Which values are labelled at the axis.
    pub(super) round: Round,
    /// How a value is written at the axis.
    pub(super) label: fn(f64) -> String,
    /// The series.
    pub(super) curves: Vec<Curve>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 704.0;

impl Lines<'_> {
    /// Draws it. `None` without values.
    pub(super) fn draw(self, caption: String) -> Option<Figure> {
        let values: Vec<f64> = self
            .curves
            .iter()
            .flat_map(|curve| &curve.dots)
            .flat_map(|dot| {
                let (low, high) = dot.interval.unwrap_or((dot.value, dot.value));
                [dot.value, low, high]
            })
            .filter(|value| value.is_finite())
            .collect();
        if values.is_empty() {
            return None;
        }
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let names: Vec<String> = self.curves.iter().map(|curve| curve.name.clone()).collect();
        let legend = svg.legend((LEFT, 14.0), &names);
        // Further rows of the legend add to the height: curves keep theirs.
        svg.grow((legend - LEGEND_ROW).max(0.0));
        let top = 14.0 + legend;
        let bottom = HEIGHT + (legend - LEGEND_ROW).max(0.0) - 50.0;
        let y = match self.scale {
            Scale::FromZero => Axis::from_zero(
                values.iter().copied().fold(0.0, f64::max),
                self.round,
                bottom,
                top,
            ),
            Scale::Logarithmic => {
                Axis::logarithmic(values.iter().copied(), self.round, bottom, top)
            }
        };
        let gap = (RIGHT - LEFT) / self.places.len().max(1) as f64;
        let place = |index: usize| LEFT + gap * (index as f64 + 0.5);
        let x_ticks: Vec<(f64, String)> = fitting(&self.places, (gap / text_width("x")) as usize)
            .into_iter()
            .enumerate()
            .map(|(index, label)| (place(index), label))
            .collect();
        let y_ticks: Vec<(f64, String)> = y
            .ticks()
            .into_iter()
            .map(|tick| (y.at(tick), (self.label)(tick)))
            .collect();
        Frame {
            area: (LEFT, top, RIGHT, bottom),
            x_ticks: &x_ticks,
            y_ticks: &y_ticks,
            x_label: self.x_label,
            y_label: self.y_label,
        }
        .draw(&mut svg);
        // Side by side, or whiskers of one place hide each other; many of them
        // closer, to stay at their place.
        let step = (gap * 0.8 / self.curves.len().max(1) as f64).min(9.0);
        for (index, curve) in self.curves.iter().enumerate() {
            let aside = (index as f64 - (self.curves.len() as f64 - 1.0) / 2.0) * step;
            let series = Series(index);
            let at = |dot: &Dot| {
                let value = if dot.value.is_finite() {
                    y.at(dot.value)
                } else {
                    f64::NAN
                };
                (place(dot.place) + aside, value)
            };
            let points: Vec<(f64, f64)> = curve.dots.iter().map(at).collect();
            svg.path(series, false, &points);
            for dot in &curve.dots {
                if let Some((low, high)) = dot.interval {
                    let x = at(dot).0;
                    svg.whisker(series, (x, y.at(low)), (x, y.at(high)));
                }
            }
            for dot in &curve.dots {
                svg.mark(series, at(dot), &dot.tip);
            }
        }
        Some(Figure {
            drawing: svg.finish(&self.title),
            title: self.title,
            caption,
        })
    }
}

/// Labels of at most so many characters: without the words with which all of
/// them begin, then by their ends, which is where paths differ.
fn fitting(labels: &[String], room: usize) -> Vec<String> {
    let room = room.max(4);
    let words = |label: &String| -> Vec<String> { label.split(' ').map(str::to_owned).collect() };
    let fits = |labels: &[String]| labels.iter().all(|label| label.chars().count() <= room);
    if fits(labels) {
        return labels.to_vec();
    }
    let all: Vec<Vec<String>> = labels.iter().map(words).collect();
    let shared = (0..)
        .take_while(|&place| {
            all.iter().all(|words| {
                // Something has to be left.
                place + 1 < words.len() && words[place] == all[0][place]
            })
        })
        .count();
    let shared = if labels.len() > 1 { shared } else { 0 };
    all.iter()
        .map(|words| {
            let label = words[shared..].join(" ");
            let length = label.chars().count();
            if length <= room {
                return label;
            }
            let end: String = label.chars().skip(length - (room - 1)).collect();
            format!("…{}", end.trim_start())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_what_tells_them_apart() {
        let fitted = |labels: &[&str], room| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            fitting(&labels, room)
        };
        let modes = ["journal mode wal", "journal mode delete"];
        assert_eq!(fitted(&modes, 20), modes);
        assert_eq!(fitted(&modes, 10), ["wal", "delete"]);
        assert_eq!(
            fitted(&["/mnt/storage/a", "/mnt/storage/b"], 6),
            ["…age/a", "…age/b"]
        );
        assert_eq!(fitted(&["journal mode wal"], 8), ["…ode wal"]);
        assert!(fitted(&[], 8).is_empty());
    }
}
