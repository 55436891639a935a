//! Ratios to the default with their intervals, and the margin around 1.

use octavo_experiment::findings::Findings;

use super::{Figure, lines::plain};
use crate::{
    number::{is_bounded, percent, ratio_interval},
    sentence::standing,
    svg::{Anchor, Axis, Series, Svg},
};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 452.0;
const ROW: f64 = 26.0;
/// The axis ends at this factor from 1.
const FARTHEST: f64 = 1.6;

pub(super) fn draw(findings: &Findings, conditions: &str) -> Option<Figure> {
    let margin = 1.0 + findings.plan.margin;
    let ratios = findings
        .memories
        .iter()
        .flat_map(|memory| &memory.cells)
        .filter_map(|cell| cell.ratio);
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
        LEFT,
        RIGHT,
    );
    let rows: usize = findings
        .memories
        .iter()
        .map(|memory| memory.cells.len() + 1)
        .sum();
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
    svg.line("axis", (LEFT, bottom), (RIGHT, bottom));
    let mut y = 16.0;
    for (index, memory) in findings.memories.iter().enumerate() {
        svg.text(
            "label strong",
            (4.0, y + 14.0),
            Anchor::Start,
            &format!("{}, page size", memory.memory),
        );
        y += ROW;
        for cell in &memory.cells {
            let middle = y + ROW / 2.0 - 4.0;
            let page = cell.cell.page_size.get().to_string();
            svg.text("tick", (LEFT - 10.0, middle + 4.0), Anchor::End, &page);
            let said = standing(cell.standing, cell.reference);
            let text = match &cell.ratio {
                Some(ratio) => {
                    let (low, high) = if is_bounded(ratio) {
                        (axis.at(ratio.low), axis.at(ratio.high))
                    } else {
                        (LEFT, RIGHT)
                    };
                    let series = Series(index);
                    svg.whisker(series, (low, middle), (high, middle));
                    let place = axis.at(ratio.estimate);
                    svg.mark(
                        series,
                        (place, middle),
                        &format!(
                            "page size {page}, {}: {}, {said}",
                            memory.memory,
                            ratio_interval(ratio)
                        ),
                    );
                    if ratio.estimate < 1.0 / FARTHEST {
                        svg.text(
                            "label",
                            (place + 8.0, middle + 4.0),
                            Anchor::Start,
                            "◂ farther",
                        );
                    } else if ratio.estimate > FARTHEST {
                        svg.text(
                            "label",
                            (place - 8.0, middle + 4.0),
                            Anchor::End,
                            "farther ▸",
                        );
                    }
                    format!("{}: {said}", ratio_interval(ratio))
                }
                None if cell.reference => said.into(),
                None => "no run to compare".into(),
            };
            svg.text("label", (RIGHT + 16.0, middle + 4.0), Anchor::Start, &text);
            y += ROW;
        }
    }
    svg.text(
        "name",
        ((LEFT + RIGHT) / 2.0, bottom + 40.0),
        Anchor::Middle,
        "throughput ÷ that of the default (logarithmic)",
    );
    let title = format!(
        "Ratio of throughput to the default page size {}",
        findings.plan.reference.get()
    );
    Some(Figure::new(
        title.clone(),
        svg.finish(&title),
        format!(
            "Ratios within rounds; 95 % Student-t intervals over their logarithms, for all page \
             sizes of a memory together (Bonferroni). Page sizes in bytes. The shaded band is the margin of {} around \
             1: an interval inside it is no difference, one clear of 1 is better (right) or worse \
             (left). Conditions: {conditions}.",
            percent(findings.plan.margin)
        ),
    ))
}
