//! The core of all charts: two scales, marks at values of both, and around
//! them frame, labels, legend and notes. A chart says what is where; sizes
//! and places on the page follow from that here.

use super::scale::Scale;
use crate::{
    document::Figure,
    svg::{Anchor, At, Series, Svg, text_width},
};

/// A chart under construction.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// What it shows, with its unit.
    pub(crate) title: String,
    pub(crate) caption: String,
    /// To the right; its label may be empty.
    pub(crate) x: (Scale, String),
    /// Upwards, but downwards where it has places.
    pub(crate) y: (Scale, String),
    /// What colors mean.
    pub(crate) legend: Vec<(LegendKey, String)>,
    pub(crate) marks: Vec<Mark>,
}

/// What stands for something in the legend.
#[derive(Clone, Debug)]
pub(crate) enum LegendKey {
    Series(Series),
    /// A class of areas.
    Area(&'static str),
}

/// Something at values of both scales.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// Points joined by lines.
    Curve(Series, Vec<At>),
    /// A data point, with what to say on hovering.
    Dot(Series, At, String),
    /// An interval with caps, or arrows where it goes beyond the scale.
    Interval(Series, At, At),
    /// A rectangle between two corners.
    Area(Area),
    /// A line upwards at this value.
    Rule(f64),
    /// A text right of the plot, in its class, at this height.
    Note(&'static str, f64, String),
    /// A text left of the plot, over the rows that follow.
    Heading(f64, String),
}

/// A rectangle between two corners.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) class: &'static str,
    pub(crate) from: At,
    pub(crate) to: At,
    /// 0 to 1.
    pub(crate) opacity: f64,
    /// In its middle; may be empty.
    pub(crate) text: String,
    pub(crate) tip: String,
}

impl Mark {
    /// An area of all the plot's height between two values of the scale to the right.
    pub(crate) fn upright(class: &'static str, from: f64, to: f64, tip: String) -> Self {
        Self::Area(Area {
            class,
            from: (from, 0.0),
            // Values beyond a scale lie at its end.
            to: (to, f64::MAX),
            opacity: 1.0,
            text: String::new(),
            tip,
        })
    }
}

/// Narrow charts stand side by side, and fill a phone.
const NARROW: f64 = 460.0;
const WIDE: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// Of a row, where the vertical scale has places.
const ROW: f64 = 24.0;
const LEGEND_ROW: f64 = 20.0;
/// Names at the left are cut where they would need more.
const NAMES_MAX: f64 = 190.0;

/// How much wider bold letters are, in which notes may be: DejaVu Sans has the widest, 1.16
/// times as wide in the mean.
const BOLD: f64 = 1.16;

impl Plot {
    /// Whether nothing is to be seen.
    fn is_empty(&self) -> bool {
        !self
            .marks
            .iter()
            .any(|mark| matches!(mark, Mark::Curve(..) | Mark::Dot(..) | Mark::Area(_)))
    }

    /// Draws it; `None` where there is nothing to see.
    pub(crate) fn draw(self) -> Option<Figure> {
        if self.is_empty() {
            return None;
        }
        let rows = self.y.0.place_count();
        let is_narrow = rows.is_some() && self.x.0.place_count().is_none();
        let width = if is_narrow { NARROW } else { WIDE };
        let plot_height = rows.map_or(HEIGHT, |rows| ROW * rows as f64);
        let y_ticks = self.y.0.ticks(plot_height);
        let names = y_ticks.iter().map(|(_, label)| text_width(label));
        let names = names.fold(0.0, f64::max).min(NAMES_MAX);
        let notes = self.marks.iter().filter_map(|mark| match mark {
            Mark::Note(_, _, text) => Some(BOLD * text_width(text) + 10.0),
            _ => None,
        });
        let left = names + 14.0 + if self.y.1.is_empty() { 0.0 } else { 18.0 };
        // Half of the last label stands right of its value.
        let ticks = self.x.0.ticks(width);
        let last = ticks
            .last()
            .map_or(0.0, |(_, label)| text_width(label) / 2.0 + 2.0);
        let right = width - notes.fold(last.max(12.0), f64::max);
        let legend = legend_rows(&self.legend, width);
        let top = 6.0 + legend.len() as f64 * LEGEND_ROW;
        let bottom = top + plot_height;
        let x_label = if self.x.1.is_empty() { 0.0 } else { 18.0 };
        let frame = PlotFrame {
            plot: &self,
            area: (left, top, right, bottom),
            names,
        };
        let mut svg = Svg::new(width, bottom + 24.0 + x_label);
        frame.legend(&mut svg, &legend);
        frame.axes(&mut svg, &y_ticks);
        for mark in &self.marks {
            frame.mark(&mut svg, mark);
        }
        Some(Figure {
            drawing: svg.finish(&self.title),
            title: self.title,
            caption: self.caption,
        })
    }
}

/// The entries of a legend, by row.
fn legend_rows(
    legend: &[(LegendKey, String)],
    width: f64,
) -> Vec<Vec<(f64, &(LegendKey, String))>> {
    let mut rows: Vec<Vec<(f64, &(LegendKey, String))>> = Vec::new();
    let mut x = width;
    for entry in legend {
        let own = 32.0 + text_width(&entry.1);
        if x + own > width {
            rows.push(Vec::new());
            x = 4.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, entry));
        }
        x += own + 10.0;
    }
    rows
}

/// A plot in its place.
struct PlotFrame<'a> {
    plot: &'a Plot,
    /// Left, top, right, bottom.
    area: (f64, f64, f64, f64),
    /// How wide names at the left may be.
    names: f64,
}

impl PlotFrame<'_> {
    fn x(&self, value: f64) -> f64 {
        let (left, _, right, _) = self.area;
        left + self.plot.x.0.share(value) * (right - left)
    }

    fn y(&self, value: f64) -> f64 {
        let (_, top, _, bottom) = self.area;
        let share = self.plot.y.0.share(value);
        match self.plot.y.0.place_count() {
            Some(_) => top + share * (bottom - top),
            None => bottom - share * (bottom - top),
        }
    }

    fn at(&self, at: At) -> At {
        (self.x(at.0), self.y(at.1))
    }

    fn legend(&self, svg: &mut Svg, rows: &[Vec<(f64, &(LegendKey, String))>]) {
        for (number, row) in rows.iter().enumerate() {
            let y = 10.0 + LEGEND_ROW * number as f64;
            for (x, (key, name)) in row {
                match key {
                    LegendKey::Series(series) => {
                        svg.path(*series, &[(*x, y), (x + 24.0, y)]);
                        svg.mark(*series, (x + 12.0, y), "");
                    }
                    LegendKey::Area(class) => {
                        svg.rect(class, 1.0, (x + 12.0, y - 6.0), (12.0, 12.0), "")
                    }
                }
                svg.text("label", (x + 29.0, y + 4.0), Anchor::Start, name);
            }
        }
    }

    fn axes(&self, svg: &mut Svg, y_ticks: &[(f64, String)]) {
        let (left, top, right, bottom) = self.area;
        let has_rows = self.plot.y.0.place_count().is_some();
        let has_columns = self.plot.x.0.place_count().is_some();
        for (value, label) in y_ticks {
            let y = self.y(*value);
            if !has_rows {
                svg.line("grid", (left, y), (right, y));
            }
            let label = shortened(label, (self.names / text_width("x")).ceil() as usize);
            svg.text("tick", (left - 7.0, y + 4.0), Anchor::End, &label);
        }
        let x_ticks = self.plot.x.0.ticks(right - left);
        let room = (right - left) / x_ticks.len().max(1) as f64;
        let labels: Vec<String> = x_ticks.iter().map(|(_, label)| label.clone()).collect();
        let labels = match has_columns {
            true => fitting(&labels, (room / text_width("x")) as usize),
            false => labels,
        };
        for ((value, _), label) in x_ticks.iter().zip(labels) {
            let x = self.x(*value);
            let from = if has_columns { bottom } else { top };
            svg.line("grid", (x, from), (x, bottom + 4.0));
            svg.text("tick", (x, bottom + 17.0), Anchor::Middle, &label);
        }
        svg.line("axis", (left, bottom), (right, bottom));
        if !self.plot.x.1.is_empty() {
            let middle = (left + right) / 2.0;
            svg.text(
                "name",
                (middle, bottom + 36.0),
                Anchor::Middle,
                &self.plot.x.1,
            );
        }
        if !self.plot.y.1.is_empty() {
            svg.text_upwards("name", (14.0, (top + bottom) / 2.0), &self.plot.y.1);
        }
    }

    fn mark(&self, svg: &mut Svg, mark: &Mark) {
        let (_, top, right, bottom) = self.area;
        match mark {
            Mark::Curve(series, points) => {
                let points: Vec<At> = points.iter().map(|&point| self.at(point)).collect();
                svg.path(*series, &points);
            }
            Mark::Dot(series, at, tip) => {
                if self.plot.x.0.beyond(at.0) == 0.0 {
                    svg.mark(*series, self.at(*at), tip);
                }
            }
            Mark::Interval(series, from, to) => self.interval(svg, *series, *from, *to),
            Mark::Area(area) => {
                let (from, to) = (self.at(area.from), self.at(area.to));
                let corner = (from.0.min(to.0), from.1.min(to.1));
                let size = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
                svg.rect(area.class, area.opacity, corner, size, &area.tip);
                if !area.text.is_empty() {
                    let middle = (corner.0 + size.0 / 2.0, corner.1 + size.1 / 2.0 + 4.0);
                    svg.text("label", middle, Anchor::Middle, &area.text);
                }
            }
            Mark::Rule(value) => {
                let x = self.x(*value);
                svg.line("one", (x, top), (x, bottom));
            }
            Mark::Note(class, height, text) => {
                let at = (right + 10.0, self.y(*height) + 4.0);
                svg.text(&format!("label {class}"), at, Anchor::Start, text);
            }
            Mark::Heading(height, text) => {
                svg.text(
                    "label strong",
                    (2.0, self.y(*height) + 4.0),
                    Anchor::Start,
                    text,
                );
            }
        }
    }

    fn interval(&self, svg: &mut Svg, series: Series, from: At, to: At) {
        let is_flat = self.plot.y.0.place_count().is_some();
        let cap = if is_flat { (0.0, 4.0) } else { (4.0, 0.0) };
        let class = format!("whisker {}", series.class());
        svg.line(&class, self.at(from), self.at(to));
        for end in [from, to] {
            let (x, y) = self.at(end);
            let beyond = self.plot.x.0.beyond(end.0);
            if beyond != 0.0 {
                svg.arrow(series, (x - 8.0 * beyond, y), beyond);
            } else {
                svg.line(&class, (x - cap.0, y - cap.1), (x + cap.0, y + cap.1));
            }
        }
    }
}

/// The text in at most so many characters.
fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.into();
    }
    let kept: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Labels of at most so many characters: without the words with which all of
/// them begin, then by their ends, which is where paths differ.
fn fitting(labels: &[String], room: usize) -> Vec<String> {
    let room = room.max(4);
    if labels.iter().all(|label| label.chars().count() <= room) {
        return labels.to_vec();
    }
    let all: Vec<Vec<&str>> = labels
        .iter()
        .map(|label| label.split(' ').collect())
        .collect();
    let is_shared = |place: &usize| {
        // Something has to be left.
        let has_more = |words: &Vec<&str>| place + 1 < words.len();
        let is_same = |words: &Vec<&str>| words[*place] == all[0][*place];
        all.len() > 1 && all.iter().all(has_more) && all.iter().all(is_same)
    };
    let shared = (0..).take_while(is_shared).count();
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
    use crate::number::plain;

    fn forest(low: f64) -> String {
        let plot = Plot {
            title: "Ratio".into(),
            caption: String::new(),
            x: (Scale::around_one(0.5, 2.0, plain), String::new()),
            y: (Scale::places(vec!["4 KiB".into()]), String::new()),
            legend: Vec::new(),
            marks: vec![
                Mark::Interval(Series(0), (low, 0.0), (1.2, 0.0)),
                Mark::Dot(Series(0), (0.9, 0.0), "tip".into()),
            ],
        };
        plot.draw().unwrap().drawing.as_str().to_owned()
    }

    #[test]
    fn clipped_interval_ends_in_an_arrow() {
        assert!(!forest(0.6).contains("<polygon"));
        assert!(forest(0.3).contains("<polygon"));
        assert!(!forest(0.0).contains("NaN"));
    }

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
        assert_eq!(shortened("ärgerlich", 6), "ärger…");
    }
}
