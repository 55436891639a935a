//! The report of what throughput is worth.

use octavo_experiment::{
    record::Source,
    statistics::Interval,
    value::{
        BreakEven, BreakEvenPage, BufferCurve, CellHolds, Configuration, Holds, MemoryStep,
        RateSource, Setting, Value, ValuedCell,
    },
};
use octavo_units::PageSize;

use crate::{
    chart,
    document::{Block, Cell, Depth, Document, EXTRA, Section, Table, Tone},
    naming,
    number::{UNKNOWN, distinct, ends, join, number, seconds},
    ramp::bar,
    sentence::{
        before, demand, does, is_predicted, money, per_money, share, value_answers, value_warnings,
        worth_rate,
    },
};

/// Rows of the short table.
const FIRST_ROWS: usize = 16;

/// What throughput is worth.
pub fn value(value: &Value) -> Document {
    let sections = [
        summary, holds, all_cells, steps, frontier, intervals, prices, method,
    ];
    let mut document = Document {
        origin: origin(value),
        ..Document::new(title(value), sections.map(|section| section(value)))
    };
    if is_predicted(value) {
        document.mark("predicted", &[]);
    }
    document
}

fn title(value: &Value) -> String {
    format!("What throughput is worth: {}", value.workload)
}

fn origin(value: &Value) -> String {
    let results = value.results.iter().map(|of| match of.source {
        Source::Predicted => format!("{} (predicted, not measured)", of.name),
        Source::Measured => format!("{} (measured)", of.name),
    });
    format!("{}: {}", join(distinct(results), ", "), value.workload)
}

fn summary(value: &Value) -> Section {
    let mut section = Section::new("answer", "Summary");
    section.extend(
        value_answers(value)
            .into_iter()
            .map(|answer| Block::Decision {
                what: answer.what,
                why: answer.why,
            }),
    );
    let figures = chart::value(value).into_iter().map(Block::Figure);
    section.push(Block::Columns(figures.collect()));
    section.push(Block::Brief(brief(value)));
    section.push(Block::Brief(rules(value)));
    section.push(Block::Warnings(value_warnings(value)));
    section
}

/// Of each setting, storage and memory the page size with the most throughput; those of the
/// most throughput per money where they are too many.
fn brief(value: &Value) -> Table {
    let mut best: Vec<(usize, &ValuedCell)> = Vec::new();
    for one in value.cells.iter().enumerate() {
        let (_, cell) = one;
        let own = best.iter_mut().find(|(_, of)| {
            (&of.setting, &of.storage, of.memory) == (&cell.setting, &cell.storage, cell.memory)
        });
        match own {
            None => best.push(one),
            Some(known) if cell.throughput.estimate > known.1.throughput.estimate => *known = one,
            Some(_) => {}
        }
    }
    let rate = |cell: &ValuedCell| cell.per_thousand.unwrap_or(0.0);
    if best.len() > FIRST_ROWS {
        best.sort_by(|(_, a), (_, b)| rate(b).total_cmp(&rate(a)));
        best.truncate(FIRST_ROWS);
    }
    let most = best.iter().map(|(_, cell)| rate(cell)).fold(0.0, f64::max);
    let caption = "Best page size of each storage and memory".to_owned();
    let mut table = Table::with_rows(caption, &best)
        .label("storage", |(_, cell)| cell.storage.clone())
        .figure("memory", |(_, cell)| cell.memory.to_string())
        .figure("page", |(_, cell)| cell.page_size.to_string());
    if best.iter().any(|(_, cell)| !cell.setting.is_empty()) {
        table = table.prose("with", |(_, cell)| cell.setting.clone());
    }
    table
        .figure(worth_rate(value), |(_, cell)| {
            number(cell.throughput.estimate)
        })
        .figure("cost", |(_, cell)| cost(value, cell))
        .figure(per_money(value), |&(place, cell)| {
            per_thousand(value, place, cell)
        })
        .drawing(("", 1), |(_, cell)| bar(rate(cell) / most.max(1e-300)))
        .build()
}

fn cost(value: &Value, cell: &ValuedCell) -> String {
    cell.cost
        .map_or_else(|| UNKNOWN.into(), |cost| money(value, cost))
}

/// Throughput per money; what is best stands out.
fn per_thousand(value: &Value, place: usize, cell: &ValuedCell) -> Cell {
    let text = cell.per_thousand.map_or_else(|| UNKNOWN.into(), number);
    let is_best = value.best == Some(place) || value.as_good.contains(&place);
    Cell::toned(text, if is_best { Tone::Good } else { Tone::Plain })
}

fn all_cells(value: &Value) -> Section {
    let mut section = Section::new("cells", "Throughput for the money").at(Depth::Evidence);
    let cells: Vec<(usize, &ValuedCell)> = value.cells.iter().enumerate().collect();
    let mut table = Table::with_rows("All cells", &cells)
        .label("storage", |(_, cell)| cell.storage.clone())
        .figure("memory", |(_, cell)| cell.memory.to_string())
        .figure("page", |(_, cell)| cell.page_size.to_string());
    if value.scale != 1.0 {
        table = table.figure(("tested with", 2), |(_, cell)| {
            cell.tested_memory.to_string()
        });
    }
    if cells.iter().any(|(_, cell)| !cell.setting.is_empty()) {
        table = table.prose("with", |(_, cell)| cell.setting.clone());
    }
    let sources = cells.iter().map(|(_, cell)| cell.source);
    if sources
        .clone()
        .any(|source| Some(source) != sources.clone().next())
    {
        table = table.words("source", |(_, cell)| cell.source.name());
    }
    table = table.figure(per_money(value), |&(place, cell)| {
        per_thousand(value, place, cell)
    });
    let part = |part: Option<f64>| part.map_or_else(|| UNKNOWN.into(), |of| money(value, of));
    let table = table
        .words(("95% CI for the money", EXTRA), |(_, cell)| {
            worth(cell).map_or_else(|| UNKNOWN.into(), |of| ends(&of, number))
        })
        .figure(worth_rate(value), |(_, cell)| {
            number(cell.throughput.estimate)
        })
        .words(("95% CI of it alone", EXTRA), |(_, cell)| {
            ends(&cell.throughput, number)
        })
        .figure("cost", |(_, cell)| cost(value, cell))
        .figure(("machine", EXTRA), |(_, cell)| part(cell.bill.machine))
        .figure(("memory costs", EXTRA), |(_, cell)| part(cell.bill.memory))
        .figure(("storage costs", EXTRA), |(_, cell)| {
            part(cell.bill.storage)
        });
    section.push(Block::Table(table.build()));
    section
}

/// Throughput per money with the interval of the cell alone: its cost is exact.
fn worth(cell: &ValuedCell) -> Option<Interval> {
    let per_thousand = cell.per_thousand?;
    let each = per_thousand / cell.throughput.estimate;
    Some(Interval {
        estimate: per_thousand,
        low: cell.throughput.low * each,
        high: cell.throughput.high * each,
        ..cell.throughput
    })
}

/// What each cell does of what is wanted.
fn holds(value: &Value) -> Section {
    let mut section = Section::new("holds", "What holds it").at(Depth::Evidence);
    let Some(found) = &value.demand else {
        return section;
    };
    let mut cells: Vec<(&ValuedCell, &CellHolds)> = value.cells.iter().zip(&found.cells).collect();
    let cost_of = |cell: &ValuedCell| cell.cost.unwrap_or(f64::INFINITY);
    cells.sort_by(|(one, _), (other, _)| cost_of(one).total_cmp(&cost_of(other)));
    let mut table = Table::with_rows(
        format!(
            "{}, the cheapest first",
            naming::capital(&demand(value, found))
        ),
        &cells,
    )
    .label("storage", |(cell, _)| cell.storage.clone())
    .figure("memory", |(cell, _)| cell.memory.to_string())
    .figure("page", |(cell, _)| cell.page_size.to_string());
    if cells.iter().any(|(cell, _)| !cell.setting.is_empty()) {
        table = table.prose("with", |(cell, _)| cell.setting.clone());
    }
    let table = table
        .figure("cost", |(cell, _)| cost(value, cell))
        .words("holds it", |(_, found)| match found.holds {
            Holds::Yes => Cell::toned("yes", Tone::Good),
            Holds::Open => Cell::toned("not decided", Tone::Plain),
            Holds::No => Cell::toned("no", Tone::Plain),
        })
        .prose("does", |(_, found)| does(&found.at))
        .build();
    section.push(Block::Table(table));
    section.paragraph(
        "Intervals of throughput hold at 95% for all loads of all cells together, those of p99 at 95% each. Over \
         three hosts or more they are of one more host. p99 is of all hosts' transactions together.",
    );
    section
}

fn steps(value: &Value) -> Section {
    let mut section = Section::new("steps", "What each step of memory gives").at(Depth::Evidence);
    let mut steps: Vec<(&Setting, &BufferCurve, &MemoryStep)> = Vec::new();
    for setting in &value.settings {
        for curve in &setting.curves {
            let own = curve.knee.iter().flat_map(|knee| &knee.steps);
            steps.extend(own.map(|step| (setting, curve, step)));
        }
    }
    let base = |setting, curve, step: &MemoryStep| before(value, setting, curve, step.from);
    let of_before = |of: Option<f64>| of.map_or_else(|| UNKNOWN.into(), share);
    let caption = "A step pays if it gives at least as much for its money as everything before it";
    let mut table = Table::with_rows(caption, &steps)
        .label("storage", |(_, curve, _)| curve.storage.clone())
        .figure("page", |(_, curve, _)| curve.page_size.to_string());
    if steps.iter().any(|(setting, ..)| !setting.name.is_empty()) {
        table = table.prose("with", |(setting, ..)| setting.name.clone());
    }
    let table = table
        .words("memory", |(_, _, step)| {
            format!("{} to {}", step.from, step.to)
        })
        .figure("throughput", |(setting, curve, step)| {
            of_before(base(setting, curve, step).map(|(throughput, _)| step.gain / throughput))
        })
        .figure("money", |(setting, curve, step)| {
            of_before(base(setting, curve, step).map(|(_, cost)| step.cost / cost))
        })
        .figure((per_money(value), 2), |(_, _, step)| {
            number(step.per_thousand)
        })
        .words("pays", |(_, _, step)| match step.pays {
            true => Cell::toned("yes", Tone::Good),
            false => Cell::toned("no", Tone::Plain),
        });
    section.push(Block::Table(table.build()));
    section
}

fn frontier(value: &Value) -> Section {
    let mut section =
        Section::new("frontier", "The cheapest way to each throughput").at(Depth::Evidence);
    for setting in &value.settings {
        let caption = match setting.name.as_str() {
            "" => String::new(),
            name => format!("With {name}"),
        };
        let table = Table::with_rows(caption, &setting.frontier)
            .figure("cost", |of: &Configuration| money(value, of.cost))
            .figure(worth_rate(value), |of| number(of.throughput))
            .words("storage", |of| of.storage.clone())
            .figure("memory", |of| of.memory.to_string())
            .figure("page", |of| of.page_size.to_string());
        section.push(Block::Table(table.build()));
    }
    section
}

/// Break-even intervals, a column for each storage.
fn rules(value: &Value) -> Table {
    let known: Vec<&BreakEven> = value
        .break_even
        .iter()
        .filter(|of| !of.pages.is_empty())
        .collect();
    let mut sizes: Vec<PageSize> = known
        .iter()
        .flat_map(|of| &of.pages)
        .map(|page| page.reads.page_size)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let caption = "Five-minute rule: keep a page in memory if it is read at least every";
    let mut table = Table::with_rows(caption, &sizes).label("page", PageSize::to_string);
    for of in known {
        table = table.figure(of.storage.as_str(), |size| {
            let mut pages = of.pages.iter();
            let page = pages.find(|page| page.reads.page_size == *size);
            page.map_or_else(|| UNKNOWN.into(), |page| seconds(page.interval_s))
        });
    }
    table.build()
}

fn intervals(value: &Value) -> Section {
    let mut section = Section::new("intervals", "Five-minute rule").at(Depth::Evidence);
    let pages: Vec<(&BreakEven, &BreakEvenPage)> = value
        .break_even
        .iter()
        .flat_map(|of| of.pages.iter().map(move |page| (of, page)))
        .collect();
    let table = Table::with_rows(
        "A page that is read more often than its break-even interval is cheaper to keep in memory",
        &pages,
    )
    .label("storage", |(of, _)| of.storage.clone())
    .figure("costs", |(of, _)| money(value, of.price))
    .figure("page", |(_, page)| page.reads.page_size.to_string())
    .figure("random reads/s", |(_, page)| number(page.reads.per_s))
    .figure(("depth", 3), |(_, page)| page.reads.depth.to_string())
    .figure(("over", 4), |(_, page)| page.reads.range.to_string())
    .words(("rate is", 5), |(_, page)| match page.rate {
        RateSource::Calibrated => "calibrated",
        RateSource::Interpolated => "interpolated",
        RateSource::Model => "of its model",
    })
    .figure("break-even interval", |(_, page)| seconds(page.interval_s));
    section.push(Block::Table(table.build()));
    section
}

fn prices(value: &Value) -> Section {
    let mut section = Section::new("prices", "Prices").at(Depth::Evidence);
    let prices = &value.prices;
    let unknown = || "not known".to_owned();
    let mut values = vec![
        (
            "memory".to_owned(),
            prices
                .memory
                .map_or_else(unknown, |of| format!("{} per GiB", money(value, of.get()))),
        ),
        (
            "machine".to_owned(),
            prices
                .machine
                .map_or_else(unknown, |of| money(value, of.get())),
        ),
    ];
    values.extend(
        prices
            .hosts
            .iter()
            .map(|(host, price)| (format!("machine like {host}"), money(value, price.get()))),
    );
    values.extend(value.storages.iter().map(|of| {
        let price = of.price.map_or_else(unknown, |of| money(value, of));
        (of.name.clone(), price)
    }));
    let others = value.break_even.iter();
    let others = others.filter(|of| value.storages.iter().all(|own| own.name != of.storage));
    values.extend(others.map(|of| (of.storage.clone(), money(value, of.price))));
    section.values(values);
    section
}

fn method(_: &Value) -> Section {
    let mut section = Section::new("method", "Method").at(Depth::Method);
    for sentence in [
        "A cell costs the machine, its memory (all that may hold data) and its storage. What has \
         no price is not counted. Power, space and people are not counted either.",
        "The knee is the memory with the most throughput for the money. A step of memory pays if \
         its throughput for its money is at least the average of everything before it.",
        "Another storage is compared with more memory on the cheapest one, from the cheapest cell \
         on.",
        "Break-even interval = (pages per MiB of memory ÷ random reads per second of the storage) \
         × (price of the storage ÷ price of a MiB of memory). Gray and Putzolu, SIGMOD 1987; Gray \
         and Graefe, SIGMOD Record 26(4), 1997.",
        "Random reads are of one page each, with 32 in flight, over 16 GiB or all of a smaller \
         range: calibrated at this size, interpolated between the sizes that were calibrated, or \
         by the device's model in virtual time.",
    ] {
        section.paragraph(sentence);
    }
    section
}

#[cfg(test)]
mod tests {
    use octavo_experiment::{
        caveats::Caveat,
        findings::Findings,
        prices::Prices,
        value::{Demand, Results},
    };

    use super::*;
    use crate::{
        fixture::{self, words},
        json::value_json,
    };

    fn value_at(findings: &Findings, machine: Option<&str>) -> Value {
        let prices = Prices {
            currency: "EUR".parse().ok(),
            memory: "5/GiB".parse().ok(),
            machine: machine.map(|price| price.parse().unwrap()),
            hosts: Vec::new(),
            storages: vec![(String::new(), "90".parse().unwrap())],
        };
        let results = [Results {
            name: "here",
            findings,
        }];
        Value::of_results(&results, prices, &[], 1024.0, None).unwrap()
    }

    #[test]
    fn rates_of_sizes_that_were_not_calibrated_say_so() {
        let mut findings = fixture::findings();
        let profile = findings.calibration.as_mut().unwrap();
        profile
            .points
            .retain(|of| of.spec.request_size.get() != 2048);
        let text = value(&value_at(&findings, Some("500"))).verbose(140, false);
        let said = words(&text);
        let wanted = "(interpolated from the calibration, queue depth 32); memory costs 5 EUR";
        assert!(said.contains(wanted), "{said}");
        for (size, rate) in [("2 KiB", "interpolated"), ("4 KiB", "calibrated")] {
            let mut rows = text.lines().map(words);
            let is_wanted = |row: String| row.contains(size) && row.contains(rate);
            assert!(rows.any(is_wanted), "{size} {rate}: {text}");
        }
    }

    #[test]
    fn measured_results_have_answers_tables_and_charts() {
        let found = value_at(&fixture::findings(), Some("500"));
        let text = value(&found).verbose(100, false);
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        let said = words(&text);
        for wanted in [
            "here (measured): TPC-C",
            // 500, 32 GiB and the storage.
            "8 KiB pages with 32 GiB of memory on here.",
            "and costs 750 EUR.",
            "On here, the knee of memory is not known yet. Only 2 cache sizes of 8 KiB pages have",
            "On here, keep a 2 KiB page in memory if it is read every",
            "(calibrated, queue depth 32); memory costs 5 EUR per GiB.",
            "stands for 1,024 times its memory and data",
            "Best page size of each storage and memory storage",
            "█",
        ] {
            assert!(said.contains(wanted), "{wanted} in {said}");
        }
        assert!(!said.contains("redicted"), "{said}");
        // 262,144 pages of 4 KiB a GiB, about 69,000 reads a second, 90 for 5.
        let page = found.break_even[0].pages[1];
        // As the profile has it.
        assert_eq!(page.reads.per_s, 69_000.0);
        assert!((page.interval_s / 68.4 - 1.0).abs() < 0.05, "{page:?}");
        let html = value(&found).html();
        assert_eq!(html.matches("<svg").count(), 3);
        assert!(!html.contains("NaN"));
        // 750 EUR are exact, so the interval is that of throughput.
        let best = &found.cells[found.best.unwrap()];
        let low = number(best.throughput.low / 0.750);
        assert!(words(&html).contains(&format!("{low} to ")), "{low}");
    }

    #[test]
    fn what_has_no_price_and_what_is_predicted_is_said() {
        let mut findings = fixture::findings();
        fixture::predict(&mut findings);
        findings.calibration = None;
        let found = value_at(&findings, None);
        let said = words(&value(&found).terminal(100, false));
        for wanted in [
            "Predicted, not measured",
            "The machine has no price",
            "No five-minute rule of here at all: it was not calibrated",
            "(predicted)",
        ] {
            assert!(said.contains(wanted), "{wanted} in {said}");
        }
        let json: serde_json::Value = serde_json::from_str(&value_json(&found)).unwrap();
        assert_eq!(json["format"], crate::json::FORMAT);
        let warnings = json["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert_eq!(json["settings"][0]["curves"][0]["lacks"]["found"], 2);
        assert_eq!(json["cells"][0]["bill"]["machine"], serde_json::Value::Null);
    }

    #[test]
    fn classes_without_a_price_and_with_doubts_are_named_by_their_hosts() {
        let classes = ["n1", "n7"].map(|host| {
            let mut findings = fixture::findings();
            let others = [format!("{host}b"), format!("{host}c")];
            let names = [host, &others[0], &others[1]];
            let class = fixture::hosts::class(&findings, &format!("class of {host}"), &names);
            findings.fleet = Some(fixture::hosts::fleet(vec![class]));
            findings.caveats.clear();
            if host == "n7" {
                findings.caveats = vec![Caveat::NothingSent];
            }
            findings
        });
        let results = [0, 1].map(|place| Results {
            name: "all",
            findings: &classes[place],
        });
        let price = |host: &str| Prices {
            memory: "5/GiB".parse().ok(),
            hosts: vec![(host.to_owned(), "900".parse().unwrap())],
            ..Prices::default()
        };
        let demand = Demand {
            rate: octavo_units::Rate::per_second(1.0).unwrap(),
            p99: None,
        };
        let found = Value::of_results(&results, price("n1"), &[], 1.0, Some(demand)).unwrap();
        let said = words(&value(&found).terminal(200, false));
        for wanted in [
            "KiB pages on hosts like n7 (",
            "Hosts like n7 have no price, which favors small memories and cheap storage: add \
             --machine-price n7=2000",
            "The answer of all for hosts like n7 has low confidence, and so have these figures: octavo \
             report all --verbose says why.",
        ] {
            assert!(said.contains(wanted), "{wanted} in {said}");
        }
        assert!(!said.contains("for hosts like n1 has low"), "{said}");
        let refused = Value::of_results(&results, price("x"), &[], 1.0, None).map(|_| ());
        let refused = refused.err().map(|error| error.to_string());
        let hosts = Results::hosts_of_classes(&results);
        assert_eq!(
            hosts,
            "name one of n1, n1b, n1c (class of n1); or of n7, n7b, n7c (class of n7)"
        );
        assert!(refused.is_none_or(|said| said.contains(&hosts)));
    }
}
