//! What throughput is worth: throughput per money by memory, throughput by cost, and how
//! often pages have to be read to belong in memory.

use octavo_experiment::value::{Value, ValuedCell};
use octavo_units::{ByteCount, PageSize};

use super::{
    lines::{Curve, Dot, Lines},
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{number, plain, seconds},
    sentence::{money, per_money, worth_rate},
    svg::Series,
};

/// Curves that can be told apart in one chart. Chosen.
const CURVES_MAX: usize = 6;

/// All of them that make sense.
pub(crate) fn draw(value: &Value) -> Vec<Figure> {
    let all = [per_memory(value), by_cost(value), break_even(value)];
    all.into_iter().flatten().collect()
}

/// The cells that are drawn: those of the best one's setting.
fn cells(value: &Value) -> impl Iterator<Item = &ValuedCell> {
    let setting = value.best.map(|place| &value.cells[place].setting);
    let cells = value.cells.iter();
    cells.filter(move |cell| Some(&cell.setting) == setting && cell.cost.is_some())
}

fn is_several<T: PartialEq>(mut all: impl Iterator<Item = T>) -> bool {
    let first = all.next();
    all.any(|one| Some(&one) != first.as_ref())
}

/// The cells of curves: one for each storage and page size where these are few, else of each
/// storage the best page size with each memory.
fn curves(value: &Value) -> Vec<(String, Vec<&ValuedCell>)> {
    let several_sizes = is_several(cells(value).map(|cell| cell.page_size));
    let all = grouped(cells(value), |cell| match several_sizes {
        true => format!("{}, {} pages", cell.storage, cell.page_size),
        false => cell.storage.clone(),
    });
    if all.len() <= CURVES_MAX {
        return all;
    }
    let mut best = grouped(best_pages(value).into_iter(), |cell| cell.storage.clone());
    best.truncate(CURVES_MAX);
    best
}

fn grouped<'a>(
    cells: impl Iterator<Item = &'a ValuedCell>,
    name: impl Fn(&ValuedCell) -> String,
) -> Vec<(String, Vec<&'a ValuedCell>)> {
    let mut all: Vec<(String, Vec<&ValuedCell>)> = Vec::new();
    for cell in cells {
        let name = name(cell);
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => all.push((name, vec![cell])),
        }
    }
    all
}

/// Of each storage and memory the cell with the most throughput.
fn best_pages(value: &Value) -> Vec<&ValuedCell> {
    let mut best: Vec<&ValuedCell> = Vec::new();
    for cell in cells(value) {
        let own = best
            .iter_mut()
            .find(|of| of.storage == cell.storage && of.memory == cell.memory);
        match own {
            None => best.push(cell),
            Some(known) if cell.throughput.estimate > known.throughput.estimate => *known = cell,
            Some(_) => {}
        }
    }
    best
}

fn tip(value: &Value, cell: &ValuedCell) -> String {
    let cost = cell
        .cost
        .map_or_else(String::new, |cost| money(value, cost));
    format!(
        "{} pages, {} of memory on {}: {} {} for {cost}",
        cell.page_size,
        cell.memory,
        cell.storage,
        number(cell.throughput.estimate),
        worth_rate(value),
    )
}

fn per_memory(value: &Value) -> Option<Figure> {
    let mut memories: Vec<ByteCount> = cells(value).map(|cell| cell.memory).collect();
    memories.sort_unstable();
    memories.dedup();
    let curve = |(name, cells): (String, Vec<&ValuedCell>)| {
        let dots = cells.into_iter().filter_map(|cell| {
            Some(Dot {
                place: memories.iter().position(|of| *of == cell.memory)?,
                value: cell.per_thousand?,
                interval: None,
                tip: tip(value, cell),
            })
        });
        Curve {
            name,
            dots: dots.collect(),
        }
    };
    let curves: Vec<Curve> = curves(value).into_iter().map(curve).collect();
    let drawn = curves.iter().flat_map(|curve| &curve.dots);
    let is_logarithmic = is_wide(drawn.map(|dot| dot.value));
    let values = format!("{} {}", worth_rate(value), per_money(value));
    let chart = Lines {
        title: format!("Throughput for the money by memory, in {values}"),
        caption: format!(
            "{}More memory pays as long as the curve rises.",
            scale_in_words(is_logarithmic)
        ),
        places: ("memory", memories.iter().map(ToString::to_string).collect()),
        values: &values,
        curves,
    };
    chart.draw(scale)
}

/// Values farther apart than this are drawn on a logarithmic scale: small ones would lie on
/// the axis. Chosen.
const WIDE: f64 = 8.0;

fn is_wide(values: impl Iterator<Item = f64>) -> bool {
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    high > WIDE * low
}

fn scale(values: Vec<f64>) -> Scale {
    match is_wide(values.iter().copied()) {
        true => Scale::logarithmic(values, Round::Tens, plain),
        false => Scale::from_zero(values, Round::Tens, plain),
    }
}

fn scale_in_words(is_logarithmic: bool) -> &'static str {
    match is_logarithmic {
        true => "Logarithmic scale. ",
        false => "",
    }
}

/// What can be had for how much: of each storage its best page size with each memory.
fn by_cost(value: &Value) -> Option<Figure> {
    let all = best_pages(value);
    if all.len() < 2 {
        return None;
    }
    let costs = all.iter().filter_map(|cell| cell.cost);
    let x = Scale::logarithmic(costs, Round::Tens, plain);
    let throughput = all.iter().map(|cell| cell.throughput.estimate);
    let y = scale(throughput.collect());
    let (mut marks, mut legend) = (Vec::new(), Vec::new());
    let storages = grouped(all.into_iter(), |cell| cell.storage.clone());
    for (index, (name, mut cells)) in storages.into_iter().enumerate() {
        let series = Series(index);
        cells.sort_by_key(|cell| cell.memory);
        let at = |cell: &ValuedCell| Some((cell.cost?, cell.throughput.estimate));
        let points = cells.iter().filter_map(|cell| at(cell));
        marks.push(Mark::Curve(series, points.collect()));
        let dots = cells.iter().filter_map(|cell| Some((at(cell)?, cell)));
        marks.extend(dots.map(|(at, cell)| Mark::Dot(series, at, tip(value, cell))));
        legend.push((LegendKey::Series(series), name));
    }
    let currency = value.prices.currency.as_ref();
    let cost = currency.map_or_else(|| "cost".into(), |of| format!("cost in {of}"));
    Plot {
        title: format!("Throughput by cost, in {}", worth_rate(value)),
        caption: "Each point is a memory with its best page size, on logarithmic scales where \
                  they are far apart. The cheapest way to a throughput is the leftmost point that is as high."
            .into(),
        x: (x, cost),
        y: (y, worth_rate(value)),
        legend,
        marks,
    }
    .draw()
}

fn break_even(value: &Value) -> Option<Figure> {
    let pages = value.break_even.iter().flat_map(|of| &of.pages);
    let mut sizes: Vec<PageSize> = pages.map(|page| page.reads.page_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 {
        return None;
    }
    let curve = |of: &octavo_experiment::value::BreakEven| Curve {
        name: of.storage.clone(),
        dots: of
            .pages
            .iter()
            .filter_map(|page| {
                Some(Dot {
                    place: sizes.iter().position(|of| *of == page.reads.page_size)?,
                    value: page.interval_s,
                    interval: None,
                    tip: format!(
                        "{} pages on {}: every {} ({} random reads a second)",
                        page.reads.page_size,
                        of.storage,
                        seconds(page.interval_s),
                        number(page.reads.per_s)
                    ),
                })
            })
            .collect(),
    };
    let curves = value.break_even.iter().filter(|of| !of.pages.is_empty());
    let chart = Lines {
        title: "Break-even interval by page size".into(),
        caption: "Logarithmic scale. A page that is read more often than this is cheaper to keep \
                  in memory than to read again."
            .into(),
        places: ("page size", sizes.iter().map(ToString::to_string).collect()),
        values: "break-even interval",
        curves: curves.map(curve).collect(),
    };
    chart.draw(|values| Scale::logarithmic(values, Round::Tens, plain_seconds))
}

/// Seconds at an axis, which are round.
fn plain_seconds(value: f64) -> String {
    format!("{} s", plain(value))
}
