//! Page size by memory as a map of shaded cells with their numbers.

use octavo_experiment::{
    findings::{CellFindings, Findings, throughput_mean},
    plan::Factor,
};
use octavo_units::{ByteCount, PageSize};

use crate::{
    document::Figure,
    naming,
    number::{UNKNOWN, bytes, number},
    svg::{Anchor, Svg},
};

/// Steps of the ramp in style.css, from light to dark.
const STEPS: usize = 6;
const LEFT: f64 = 92.0;
const TOP: f64 = 10.0;
const ROW: f64 = 54.0;
const WIDTH: f64 = 720.0;

pub(super) fn throughput(findings: &Findings) -> Option<Figure> {
    let title = format!(
        "Throughput by page size and memory, in {}",
        naming::rate_in_full(findings)
    );
    map(findings, title, Shade::Linear, throughput_mean, number)
}

pub(super) fn read_bytes(findings: &Findings) -> Option<Figure> {
    let title = "Bytes read per transaction, by page size and memory".into();
    let of = |cell: &CellFindings| Some(cell.per_transaction?.read_bytes);
    map(findings, title, Shade::Logarithmic, of, bytes)
}

/// How values become shades between the smallest and the largest.
#[derive(Clone, Copy)]
enum Shade {
    Linear,
    /// For values that differ by factors.
    Logarithmic,
}

fn map(
    findings: &Findings,
    title: String,
    shade: Shade,
    value: impl Fn(&CellFindings) -> Option<f64>,
    label: fn(f64) -> String,
) -> Option<Figure> {
    let plan = &findings.plan;
    let mut varied = plan.varied();
    varied.push(plan.compare);
    // A map has two sides.
    if varied.len() != 2
        || [Factor::PageSize, Factor::Memory]
            .into_iter()
            .any(|factor| !varied.contains(&factor) || plan.count(factor) < 2)
    {
        return None;
    }
    let mut memories: Vec<ByteCount> = plan.memories.clone();
    memories.sort_unstable_by(|a, b| b.cmp(a));
    let cells = || findings.groups.iter().flat_map(|group| &group.cells);
    let at = |page_size: PageSize, memory: ByteCount| {
        cells().find(|cell| cell.cell.page_size == page_size && cell.cell.memory == memory)
    };
    let known = |cell: &CellFindings| value(cell).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = cells()
        .filter_map(known)
        .fold((f64::INFINITY, 0.0f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low > high {
        return None;
    }
    let columns = plan.page_sizes.len().max(1) as f64;
    let column = (WIDTH - LEFT - 8.0) / columns;
    let height = TOP + ROW * memories.len() as f64;
    let mut svg = Svg::new(WIDTH, height + 48.0);
    for (row, &memory) in memories.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        svg.text(
            "tick",
            (LEFT - 8.0, y + ROW / 2.0 + 4.0),
            Anchor::End,
            &memory.to_string(),
        );
        for (index, &page_size) in plan.page_sizes.iter().enumerate() {
            let x = LEFT + column * index as f64;
            let value = at(page_size, memory).and_then(known);
            let text = value.map_or_else(|| UNKNOWN.to_owned(), label);
            let step = value.map(|value| {
                let share = match shade {
                    _ if high <= low => 0.5,
                    Shade::Linear => (value - low) / (high - low),
                    Shade::Logarithmic => (value / low).ln() / (high / low).ln(),
                };
                ((share * STEPS as f64) as usize).min(STEPS - 1)
            });
            let class = step.map_or_else(|| "h-none".into(), |step| format!("h{step}"));
            svg.rect(
                &format!("heat {class}"),
                (x + 1.5, y + 1.5),
                (column - 3.0, ROW - 3.0),
                &format!("{page_size} pages, {memory}: {text}"),
            );
            svg.text(
                &format!("heat-text t-{class}"),
                (x + column / 2.0, y + ROW / 2.0 + 5.0),
                Anchor::Middle,
                &text,
            );
        }
    }
    for (index, page) in plan.page_sizes.iter().enumerate() {
        let x = LEFT + column * (index as f64 + 0.5);
        svg.text(
            "tick",
            (x, height + 18.0),
            Anchor::Middle,
            &page.to_string(),
        );
    }
    svg.text(
        "name",
        ((LEFT + WIDTH) / 2.0, height + 40.0),
        Anchor::Middle,
        "page size",
    );
    svg.text_upwards("name", (14.0, (TOP + height) / 2.0), "memory");
    Some(Figure {
        drawing: svg.finish(&title),
        title,
        caption: "Means. Darker cells are larger values (lighter ones in dark mode).".into(),
    })
}
