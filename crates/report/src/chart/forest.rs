//! Ratios to the reference with their intervals, and the margin around 1.

use octavo_experiment::findings::{Findings, GroupFindings};

use crate::{
    document::Figure,
    naming,
    number::{is_bounded, percent, plain, ratio_interval},
    sentence::decision,
    svg::{Anchor, Axis, Series, Svg, text_width},
};

const WIDTH: f64 = 720.0;
/// Where the axis begins: farther right where levels have long names.
const LEFT: (f64, f64) = (84.0, 210.0);
const RIGHT: f64 = 452.0;
const ROW: f64 = 26.0;
/// The axis ends at this factor from 1.
const FARTHEST: f64 = 1.6;
/// What the word for a point beyond the axis needs beside the whisker.
const ROOM: f64 = 64.0;

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let margin = 1.0 + findings.plan.margin;
    let groups = naming::groups(findings);
    let cells = || groups.iter().flat_map(|group| &group.cells);
    let ratios = cells().filter_map(|cell| cell.ratio);
    let reference = naming::reference_word(findings);
    let widest = cells()
        .map(|cell| text_width(&naming::cell(findings, cell)))
        .fold(0.0, f64::max);
    let left = (widest + 20.0).clamp(LEFT.0, LEFT.1);
    let letters = ((left - 14.0) / text_width("x")) as usize;
    // An interval that is far off would squeeze all that matters together, so
    // the axis ends at FARTHEST and such an interval in an arrow.
    let air = (margin.ln() * 2.5).exp();
    let (mut low, mut high) = (1.0 / air, air);
    let mut any = false;
    for ratio in ratios {
        any = true;
        low = low.min(ratio.estimate);
        high = high.max(ratio.estimate);
        if is_bounded(&ratio) {
            low = low.min(ratio.low);
            high = high.max(ratio.high);
        }
    }
    if !any {
        return None;
    }
    let axis = Axis::around_one(
        (low / 1.02).max(1.0 / FARTHEST),
        (high * 1.02).min(FARTHEST),
        left,
        RIGHT,
    );
    let rows: usize = groups.iter().map(|group| group.cells.len() + 1).sum();
    let bottom = 16.0 + ROW * rows as f64;
    let mut svg = Svg::new(WIDTH, bottom + 48.0);
    svg.rect(
        "band",
        (axis.at(1.0 / margin), 8.0),
        (axis.at(margin) - axis.at(1.0 / margin), bottom - 8.0),
        &format!(
            "within {} of 1: no difference",
            percent(findings.plan.margin)
        ),
    );
    for tick in axis.ticks() {
        let x = axis.at(tick);
        svg.line("grid", (x, 8.0), (x, bottom));
        svg.text("tick", (x, bottom + 18.0), Anchor::Middle, &plain(tick));
    }
    svg.line("one", (axis.at(1.0), 8.0), (axis.at(1.0), bottom));
    svg.line("axis", (left, bottom), (RIGHT, bottom));
    let mut y = 16.0;
    for (index, group) in groups.iter().enumerate() {
        svg.text(
            "label strong",
            (4.0, y + 14.0),
            Anchor::Start,
            &format!("{}, by {}", naming::group(group), findings.plan.compare),
        );
        y += ROW;
        for cell in &group.cells {
            let middle = y + ROW / 2.0 - 4.0;
            let level = naming::short(&naming::cell(findings, cell), letters);
            svg.text("tick", (left - 10.0, middle + 4.0), Anchor::End, &level);
            let said = decision(cell.decision, cell.reference.then_some(reference)).text;
            let text = match &cell.ratio {
                Some(ratio) => {
                    let (low, high) = if is_bounded(ratio) {
                        (axis.at(ratio.low), axis.at(ratio.high))
                    } else {
                        (left, RIGHT)
                    };
                    let series = Series(index);
                    svg.whisker(series, (low, middle), (high, middle));
                    let place = axis.at(ratio.estimate);
                    svg.mark(
                        series,
                        (place, middle),
                        &format!(
                            "{}: {}, {said}",
                            findings.plan.cell_name(&cell.cell),
                            ratio_interval(ratio)
                        ),
                    );
                    // Beside the whisker, or it would cross the word; where there
                    // is no room for it, the figure to the right has to do.
                    let room = if ratio.estimate < 1.0 {
                        RIGHT - high.max(place)
                    } else {
                        low.min(place) - left
                    };
                    let farther = if room < ROOM {
                        None
                    } else if ratio.estimate < 1.0 / FARTHEST {
                        Some((high.max(place) + 8.0, Anchor::Start, "◂ farther"))
                    } else if ratio.estimate > FARTHEST {
                        Some((low.min(place) - 8.0, Anchor::End, "farther ▸"))
                    } else {
                        None
                    };
                    if let Some((x, anchor, text)) = farther {
                        svg.text("label", (x, middle + 4.0), anchor, text);
                    }
                    format!("{}: {said}", ratio_interval(ratio))
                }
                None if cell.reference => said,
                None => "no run".into(),
            };
            svg.text("label", (RIGHT + 16.0, middle + 4.0), Anchor::Start, &text);
            y += ROW;
        }
    }
    svg.text(
        "name",
        ((left + RIGHT) / 2.0, bottom + 40.0),
        Anchor::Middle,
        &format!("throughput ÷ throughput of the {reference} (logarithmic)"),
    );
    let title = match groups
        .first()
        .map(|group| naming::reference(findings, group))
    {
        Some(Some(level)) if same_reference(findings, &groups) => {
            format!(
                "Ratio of throughput to the {reference} {}",
                level.with_noun()
            )
        }
        _ => format!("Ratio of throughput to the {reference}"),
    };
    let together = if naming::is_race(findings) {
        "95% repeated confidence intervals for all comparisons and looks of a group together. \
         After a final, its fresh rounds alone count."
    } else {
        "95% intervals for all comparisons and looks of a group together (Bonferroni)."
    };
    Some(Figure {
        drawing: svg.finish(&title),
        title,
        caption: format!(
            "Ratios within rounds. {together} The shaded band is the margin of {} around 1. An \
             interval inside the band means no difference, one clear of 1 faster (right) or \
             slower (left).",
            percent(findings.plan.margin)
        ),
    })
}

/// Whether all groups are compared with the same level.
fn same_reference(findings: &Findings, groups: &[&GroupFindings]) -> bool {
    groups
        .windows(2)
        .all(|pair| naming::reference(findings, pair[0]) == naming::reference(findings, pair[1]))
}
