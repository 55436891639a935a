//! Page size by memory as a map of shaded cells with their numbers.

use octavo_experiment::{findings::Findings, plan::Factor};
use octavo_units::ByteCount;

use super::{
    plot::{Area, Mark, Plot},
    scale::Scale,
};
use crate::{document::Figure, naming, number::number};

/// The shades of the smallest and the largest value: on either of them text
/// can be read.
const SHADES: (f64, f64) = (0.06, 0.5);

pub(super) fn throughput(findings: &Findings) -> Option<Figure> {
    let plan = &findings.plan;
    let mut varied = plan.varied();
    varied.push(plan.compare);
    let is_side = |factor| varied.contains(&factor) && plan.count(factor) > 1;
    if varied.len() != 2 || !is_side(Factor::PageSize) || !is_side(Factor::Memory) {
        return None;
    }
    let mut memories: Vec<ByteCount> = plan.memories.clone();
    memories.sort_unstable_by(|a, b| b.cmp(a));
    let shown = naming::shown(findings);
    let values = naming::cells(findings).filter_map(|cell| Some(shown.of(cell)?.estimate));
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let areas = naming::cells(findings).filter_map(|cell| {
        let value = shown.of(cell)?.estimate;
        let own = &cell.cell;
        let x = plan.page_sizes.iter().position(|of| *of == own.page_size)? as f64;
        let y = memories.iter().position(|of| *of == own.memory)? as f64;
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.5
        };
        let text = number(value);
        Some(Mark::Area(Area {
            class: "heat",
            from: (x - 0.49, y - 0.45),
            to: (x + 0.49, y + 0.45),
            opacity: SHADES.0 + share * (SHADES.1 - SHADES.0),
            text,
            // The text says it.
            tip: String::new(),
        }))
    });
    let names = |sizes: Vec<String>| Scale::places(sizes);
    let plot = Plot {
        title: format!(
            "{} by page size and memory, in {}",
            shown.what, shown.in_full
        ),
        caption: "More intense cells are larger values.".into(),
        marks: areas.collect(),
        x: (
            names(plan.page_sizes.iter().map(ToString::to_string).collect()),
            "page size".into(),
        ),
        y: (
            names(memories.iter().map(ToString::to_string).collect()),
            String::new(),
        ),
        legend: Vec::new(),
    };
    plot.draw()
}
