//! Curves over evenly spaced places, with intervals where known.

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::Scale,
};
use crate::{document::Figure, svg::Series};

/// One value of a curve.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    /// Where, as an index into the chart's places.
    pub(super) place: usize,
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
    pub(super) dots: Vec<Dot>,
}

/// What a chart of curves shows.
pub(super) struct Lines<'a> {
    /// With its unit.
    pub(super) title: String,
    pub(super) caption: String,
    /// What the places are, and their names.
    pub(super) places: (&'a str, Vec<String>),
    /// What the values are, with their unit.
    pub(super) values: &'a str,
    pub(super) curves: Vec<Curve>,
}

impl Lines<'_> {
    /// Draws it on a scale for these values; `None` without any.
    pub(super) fn draw(self, scale: impl FnOnce(Vec<f64>) -> Scale) -> Option<Figure> {
        let dots = self.curves.iter().flat_map(|curve| &curve.dots);
        let values = dots.flat_map(|dot| {
            let (low, high) = dot.interval.unwrap_or((dot.value, dot.value));
            [low, dot.value, high]
        });
        let y = scale(values.collect());
        let count = self.curves.len() as f64;
        // Side by side, or whiskers of one place hide each other; many of them
        // closer, to stay at their place.
        let step = (0.8 / count).min(0.07);
        let mut marks = Vec::new();
        let mut legend = Vec::new();
        for (index, mut curve) in self.curves.into_iter().enumerate() {
            let series = Series(index);
            legend.push((LegendKey::Series(series), curve.name));
            curve.dots.sort_by_key(|dot| dot.place);
            let aside = (index as f64 - (count - 1.0) / 2.0) * step;
            let x = |dot: &Dot| dot.place as f64 + aside;
            let points = curve.dots.iter().map(|dot| (x(dot), dot.value));
            marks.push(Mark::Curve(series, points.collect()));
            for dot in &curve.dots {
                let ends = dot.interval.into_iter();
                marks.extend(
                    ends.map(|(low, high)| Mark::Interval(series, (x(dot), low), (x(dot), high))),
                );
            }
            let dots = curve.dots.into_iter();
            marks.extend(dots.map(|dot| Mark::Dot(series, (x(&dot), dot.value), dot.tip)));
        }
        let plot = Plot {
            title: self.title,
            caption: self.caption,
            x: (Scale::places(self.places.1), self.places.0.into()),
            y: (y, self.values.into()),
            legend,
            marks,
        };
        plot.draw()
    }
}
