//! What buffers miss of a trace, by their size.

use octavo_buffer::{
    NamedPolicy,
    trace_curves::{PageSizeCurves, Point, TraceCurves},
};

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{percent, percent_fine, plain_bytes},
    svg::Series,
};

/// Curves that can be told apart in one chart. Chosen.
const CURVES_MAX: usize = 6;

/// Points of a curve. More would not be seen. Chosen.
const POINTS_MAX: usize = 200;

pub(super) fn draw(curves: &TraceCurves) -> Option<Figure> {
    match &curves.page_sizes[..] {
        [one] => by_policy(one),
        _ => by_page_size(curves),
    }
}

/// A curve of LRU, and the other policies with the buffers of the table.
fn by_policy(of: &PageSizeCurves) -> Option<Figure> {
    let mut chart = Chart::default();
    for (place, own) in of.policies.iter().take(CURVES_MAX).enumerate() {
        let (series, title) = (Series(place), own.policy.title());
        if own.policy == NamedPolicy::Lru {
            chart.add(series, title.into(), thinned(&of.lru));
            continue;
        }
        chart.add(series, title.into(), own.points.clone());
        chart.marks.extend(own.points.iter().map(|point| {
            let ratio = percent_fine(point.miss_ratio);
            Mark::Dot(
                series,
                at(point),
                format!("{title}, {}: {ratio}", point.memory),
            )
        }));
    }
    chart.draw(format!("Miss ratio of {} pages, by memory", of.page_size))
}

/// LRU's curve of each page size.
fn by_page_size(curves: &TraceCurves) -> Option<Figure> {
    let mut chart = Chart::default();
    for (place, of) in curves.page_sizes.iter().take(CURVES_MAX).enumerate() {
        let name = format!("{} pages", of.page_size);
        chart.add(Series(place), name, thinned(&of.lru));
    }
    chart.draw("Miss ratio with LRU, by memory".into())
}

/// Few enough of a curve's points, the last one among them.
fn thinned(points: &[Point]) -> Vec<Point> {
    let step = points.len().div_ceil(POINTS_MAX).max(1);
    points.iter().rev().step_by(step).rev().copied().collect()
}

/// Curves over memory.
#[derive(Default)]
struct Chart {
    legend: Vec<(LegendKey, String)>,
    marks: Vec<Mark>,
    memories: Vec<f64>,
    values: Vec<f64>,
}

fn at(point: &Point) -> (f64, f64) {
    (point.memory.get() as f64, point.miss_ratio)
}

impl Chart {
    fn add(&mut self, series: Series, name: String, points: Vec<Point>) {
        let points: Vec<(f64, f64)> = points.iter().map(at).collect();
        self.memories
            .extend(points.iter().map(|(memory, _)| memory));
        self.values.extend(points.iter().map(|(_, value)| value));
        self.legend.push((LegendKey::Series(series), name));
        self.marks.push(Mark::Curve(series, points));
    }

    fn draw(self, title: String) -> Option<Figure> {
        let plot = Plot {
            title,
            caption: "Memory on a logarithmic scale. LRU has all sizes, other policies those of \
                      the table."
                .into(),
            x: (
                Scale::logarithmic(self.memories, Round::Twos, plain_bytes),
                "memory".into(),
            ),
            y: (
                Scale::from_zero(self.values, Round::Tens, percent),
                "miss ratio".into(),
            ),
            legend: self.legend,
            marks: self.marks,
        };
        plot.draw()
    }
}
