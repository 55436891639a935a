//! Every second of every run, as small multiples: to see whether runs were
//! steady, not to compare cells.

use octavo_experiment::findings::{CellFindings, Findings, GroupFindings};

use crate::{
    document::Figure,
    naming,
    number::plain,
    svg::{Anchor, Axis, Round, Series, Svg},
};

const WIDTH: f64 = 720.0;
const COLUMNS: usize = 3;
const LEFT: f64 = 66.0;
const PANEL: (f64, f64) = (206.0, 110.0);
const GAP: (f64, f64) = (12.0, 46.0);

/// One figure a group.
pub(super) fn draw(findings: &Findings) -> Vec<Figure> {
    naming::groups(findings)
        .into_iter()
        .filter_map(|group| panels(findings, group))
        .collect()
}

fn rate(sample: &octavo_driver::Sample) -> f64 {
    sample.counted as f64 / sample.length.as_secs_f64() * 60.0
}

fn panels(findings: &Findings, group: &GroupFindings) -> Option<Figure> {
    let samples = || {
        group
            .cells
            .iter()
            .flat_map(|cell| &cell.series)
            .flatten()
            // A last sample of a few milliseconds is all noise.
            .filter(|sample| sample.length.as_secs_f64() >= 0.5)
    };
    let longest = samples()
        .map(|sample| sample.at.as_secs_f64())
        .fold(0.0, f64::max);
    let highest = samples()
        .map(rate)
        .filter(|r| r.is_finite())
        .fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let rows = group.cells.len().div_ceil(COLUMNS);
    let height = 24.0 + (PANEL.1 + GAP.1) * rows as f64 + 12.0;
    let mut svg = Svg::new(WIDTH, height);
    for (index, cell) in group.cells.iter().enumerate() {
        let column = index % COLUMNS;
        let left = LEFT + (PANEL.0 + GAP.0) * column as f64;
        let top = 24.0 + (PANEL.1 + GAP.1) * (index / COLUMNS) as f64;
        let name = if cell.reference {
            format!(
                "{} ({})",
                naming::short(&naming::cell(findings, cell), 18),
                naming::reference_word(findings)
            )
        } else {
            naming::short(&naming::cell(findings, cell), 28)
        };
        panel(
            &mut svg,
            cell,
            &name,
            (left, top),
            (longest, highest),
            column == 0,
        );
    }
    svg.text(
        "name",
        ((LEFT + WIDTH) / 2.0, height - 6.0),
        Anchor::Middle,
        "seconds since the clients started",
    );
    let unit = naming::rate_in_short(findings);
    svg.text_upwards("name", (14.0, height / 2.0), &unit);
    let title = format!("Throughput by second{}, in {unit}", naming::in_group(group));
    Some(Figure {
        drawing: svg.finish(&title),
        title,
        caption: format!(
            "One panel per {}, one thin line per run. Shaded: the longest warm-up. Seconds of a \
             run depend on each other and are never counted as samples. Look for lines that still \
             climb or sag after the warm-up.",
            findings.plan.compare.noun()
        ),
    })
}

fn panel(
    svg: &mut Svg,
    cell: &CellFindings,
    name: &str,
    (left, top): (f64, f64),
    (longest, highest): (f64, f64),
    labelled: bool,
) {
    let (right, bottom) = (left + PANEL.0, top + PANEL.1);
    let x = Axis::from_zero(longest, Round::Tens, left, right);
    let y = Axis::from_zero(highest, Round::Tens, bottom, top);
    let warm_up = cell
        .series
        .iter()
        .flatten()
        .filter(|sample| !sample.measured)
        .map(|sample| sample.at.as_secs_f64())
        .fold(0.0, f64::max);
    svg.rect(
        "warm-up",
        (left, top),
        (x.at(warm_up) - left, PANEL.1),
        "warm-up",
    );
    for tick in y.ticks() {
        let place = y.at(tick);
        svg.line("grid", (left, place), (right, place));
        if labelled {
            svg.text("tick", (left - 5.0, place + 4.0), Anchor::End, &plain(tick));
        }
    }
    let ticks = x.ticks();
    for (index, tick) in ticks.iter().enumerate() {
        // The ends turn inwards, away from the next panel's.
        let anchor = match index {
            0 => Anchor::Start,
            _ if index + 1 == ticks.len() => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text("tick", (x.at(*tick), bottom + 16.0), anchor, &plain(*tick));
    }
    svg.line("axis", (left, bottom), (right, bottom));
    svg.text("label strong", (left + 4.0, top - 6.0), Anchor::Start, name);
    for (run, series) in cell.series.iter().enumerate() {
        let points: Vec<(f64, f64)> = series
            .iter()
            .filter(|sample| sample.length.as_secs_f64() >= 0.5)
            .map(|sample| (x.at(sample.at.as_secs_f64()), y.at(rate(sample))))
            .collect();
        svg.path(Series(run), true, &points);
    }
    if cell.series.is_empty() {
        svg.text(
            "tick",
            ((left + right) / 2.0, (top + bottom) / 2.0),
            Anchor::Middle,
            "no run",
        );
    }
}
