//! The report of what buffers miss of a trace.

use octavo_buffer::{
    NamedPolicy,
    trace_curves::{FRAMES_MIN, PageSizeCurves, Point, TraceCurves},
};
use octavo_units::ByteCount;

use crate::{
    chart,
    document::{Block, Depth, Document, EXTRA, Section, Table},
    number::{UNKNOWN, bytes, count, counted, join, list, number, percent, percent_fine},
    ramp::bar,
};

/// Rows of the short tables: those of the largest buffers.
const FIRST_ROWS: usize = 12;

/// A buffer is large enough if it saves this share of the reads that a buffer of any size
/// saves.
const ENOUGH: f64 = 0.9;

/// What buffers miss of a trace.
pub fn curve(curves: &TraceCurves) -> Document {
    let sections = [summary, all_sizes, method].map(|section| section(curves));
    Document {
        origin: origin(curves),
        ..Document::new("What buffers miss of a trace", sections)
    }
}

fn origin(curves: &TraceCurves) -> String {
    let files = match &curves.files[..] {
        [one] => format!("{} ({})", one.name, one.format),
        all => counted(all.len(), "file"),
    };
    let sizes = curves.page_sizes.iter().map(|of| {
        let all = of.page_size.bytes().saturating_mul(of.pages);
        let about = if of.sample.is_some() { "about " } else { "" };
        format!(
            "{about}{} pages of {} ({all})",
            count(of.pages),
            of.page_size
        )
    });
    let requests = counted(curves.requested.requests, "request");
    format!("{files} · {requests} · {}", join(sizes, ", "))
}

/// What was found and what to know before, in words.
pub(crate) fn sentences(curves: &TraceCurves) -> Vec<String> {
    let answers = answers(curves).into_iter();
    answers.map(|(what, why)| format!("{what} {why}")).collect()
}

fn answers(curves: &TraceCurves) -> Vec<(String, String)> {
    let Some(base) = curves.page_sizes.first() else {
        return Vec::new();
    };
    let Some(enough) = enough(base) else {
        return vec![(
            "No buffer saves a read.".into(),
            format!(
                "No {} page is referenced twice, or a buffer of one page has it.",
                base.page_size
            ),
        )];
    };
    let first = (
        format!(
            "{} of LRU buffer saves {} of the reads that a buffer can save.",
            enough.memory,
            percent(ENOUGH)
        ),
        format!(
            "It misses {} of references to {} pages. Room for all pages misses {}: the first \
             reference to each.",
            ratio(enough),
            base.page_size,
            percent_fine(base.least()),
        ),
    );
    let mut answers = vec![first];
    answers.extend(best_policy(curves, base, enough.memory));
    let others = curves.page_sizes.iter().skip(1);
    answers.extend(others.map(|other| equal_misses(base, enough, other)));
    answers
}

/// The smallest buffer that saves [`ENOUGH`] of the reads that a buffer can save.
fn enough(curves: &PageSizeCurves) -> Option<Point> {
    let most = curves.lru.first()?.miss_ratio;
    let least = curves.least();
    (most > least)
        .then(|| curves.lru_for(least + (1.0 - ENOUGH) * (most - least)))
        .flatten()
}

/// Which policy misses least with the table's buffer that is nearest below this memory.
fn best_policy(
    curves: &TraceCurves,
    of: &PageSizeCurves,
    memory: ByteCount,
) -> Option<(String, String)> {
    let fitting = curves.memories.iter().rev().find(|own| **own <= memory);
    let memory = *fitting.or(curves.memories.first())?;
    let mut found: Vec<(NamedPolicy, Point)> = of
        .policies
        .iter()
        .filter_map(|own| Some((own.policy, of.at(own.policy, memory)?)))
        .collect();
    let bound = found.iter().find(|(policy, _)| *policy == NamedPolicy::Opt);
    let bound = bound.map(|(_, point)| *point);
    found.retain(|(policy, _)| *policy != NamedPolicy::Opt);
    found.sort_by(|(_, a), (_, b)| a.miss_ratio.total_cmp(&b.miss_ratio));
    let ((best, least), others) = found.split_first()?;
    let what = match others {
        [] => format!("{} misses {} with {memory}.", best.title(), ratio(*least)),
        others => {
            let others = others
                .iter()
                .map(|(policy, point)| format!("{} {}", policy.title(), ratio(*point)));
            format!(
                "{} misses least with {memory}: {}; {}.",
                best.title(),
                ratio(*least),
                join(others, ", ")
            )
        }
    };
    let why = bound.map(|bound| {
        format!(
            "OPT, which knows the future, misses {}: no policy can miss less.",
            ratio(bound)
        )
    });
    (!others.is_empty() || bound.is_some()).then(|| (what, why.unwrap_or_default()))
}

/// How much memory another page size needs to miss as little.
fn equal_misses(base: &PageSizeCurves, with: Point, other: &PageSizeCurves) -> (String, String) {
    let as_little = format!(
        "miss as little as {} pages with {}",
        base.page_size, with.memory
    );
    let what = match other.lru_for(with.miss_ratio) {
        Some(point) => format!(
            "{} pages need {} to {as_little}.",
            other.page_size, point.memory
        ),
        None => format!("{} pages never {as_little}.", other.page_size),
    };
    (what, String::new())
}

/// A miss ratio, with its error where it has one.
fn ratio(point: Point) -> String {
    let percent = percent_fine(point.miss_ratio);
    match point.half_width > 0.0 {
        true => format!("{percent} (+-{})", percent_fine(point.half_width)),
        false => percent,
    }
}

/// What a trace cannot tell.
pub(crate) fn warnings(curves: &TraceCurves) -> Vec<String> {
    let mut all = Vec::new();
    let requested = curves.requested;
    all.push(match curves.has_writes {
        true => format!(
            "{} of requests write. A write counts as a reference; writing dirty pages back is \
             not counted.",
            percent(requested.writes as f64 / requested.requests.max(1) as f64)
        ),
        false => "The files do not say which requests write: writing dirty pages back is not \
                  counted."
            .into(),
    });
    all.push(
        "A miss ratio is no throughput: every miss counts the same, and time does not count."
            .into(),
    );
    if curves.has_addresses {
        all.push(
            "A block trace is what the caches above it missed. These are curves of a second \
             buffer below them, not of a larger first one."
                .into(),
        );
    } else {
        all.push(
            "Each object counts as one page, whatever its size. Which objects are neighbors is \
             not known, so larger pages cannot be told."
                .into(),
        );
    }
    if curves.page_sizes.len() > 1 {
        all.push(
            "Larger pages are neighboring blocks together: that holds only where the same data \
             stays side by side. A miss of a larger page reads more bytes."
                .into(),
        );
    }
    for of in &curves.page_sizes {
        if let Some(sample) = of.sample {
            all.push(format!(
                "{} pages: a sample of {} of the pages ({}). +- is half of an interval meant for \
                 95%, by the scatter of 8 parts. What these share is not in it: buffers near the \
                 size of all pages, or of some tens of sampled ones, can be further off. Policies but LRU have no figure where a part's buffer \
                 has fewer than {FRAMES_MIN} pages.",
                of.page_size,
                percent_of_sample(sample.rate),
                count(sample.pages)
            ));
        }
    }
    if requested.empty > 0 {
        all.push(format!(
            "Left out: {} without bytes.",
            counted(requested.empty, "request")
        ));
    }
    all
}

/// A share that may be small.
fn percent_of_sample(rate: f64) -> String {
    format!("{}%", number(rate * 100.0))
}

fn summary(curves: &TraceCurves) -> Section {
    let mut section = Section::new("answer", "Summary");
    section.extend(
        answers(curves)
            .into_iter()
            .map(|(what, why)| Block::Decision { what, why }),
    );
    section.spare(1, [Block::Warnings(warnings(curves))]);
    section.extend(chart::curve(curves).map(Block::Figure));
    let memories = &curves.memories[curves.memories.len().saturating_sub(FIRST_ROWS)..];
    let tables = tables(curves, memories);
    let is_single = curves.page_sizes.len() == 1;
    for (place, table) in tables.into_iter().enumerate() {
        match place {
            0 => section.push(Block::Table(table)),
            _ if is_single => section.push(Block::Table(table)),
            _ => section.spare(2, [Block::Table(table)]),
        }
    }
    section
}

/// The tables of several page sizes, then one for each of them.
fn tables(curves: &TraceCurves, memories: &[ByteCount]) -> Vec<Table> {
    let mut tables = Vec::new();
    if let [base, others @ ..] = curves.page_sizes.as_slice()
        && !others.is_empty()
    {
        tables.push(memory_for_equal_misses(base, others, memories));
        tables.push(by_page_size(curves, memories));
    }
    tables.extend(curves.page_sizes.iter().map(|of| by_policy(of, memories)));
    tables
}

fn memory_for_equal_misses(
    base: &PageSizeCurves,
    others: &[PageSizeCurves],
    memories: &[ByteCount],
) -> Table {
    let misses = |memory: &ByteCount| base.lru_at(*memory).map(|point| point.miss_ratio);
    let caption = format!(
        "Memory that misses as little as {} pages do, with LRU",
        base.page_size
    );
    let mut table = Table::with_rows(caption, memories)
        .label(format!("{} pages with", base.page_size), |memory| {
            memory.to_string()
        })
        .figure("miss ratio", |memory| {
            misses(memory).map_or(UNKNOWN.into(), percent_fine)
        });
    for other in others {
        table = table.figure(format!("{} pages", other.page_size), |memory| {
            let point = misses(memory).and_then(|misses| other.lru_for(misses));
            point.map_or("never".into(), |point| bytes(point.memory.get() as f64))
        });
    }
    table.build()
}

fn by_page_size(curves: &TraceCurves, memories: &[ByteCount]) -> Table {
    let mut table =
        Table::with_rows("Miss ratio with LRU", memories).label("memory", ToString::to_string);
    for of in &curves.page_sizes {
        table = table.figure(format!("{} pages", of.page_size), |memory| {
            let point = of.lru_at(*memory);
            point.map_or(UNKNOWN.into(), |point| percent_fine(point.miss_ratio))
        });
    }
    table.build()
}

fn by_policy(of: &PageSizeCurves, memories: &[ByteCount]) -> Table {
    let caption = format!("Miss ratio, {} pages", of.page_size);
    let mut table = Table::with_rows(caption, memories)
        .label("memory", ToString::to_string)
        .figure(("pages", EXTRA), |memory| {
            count(memory.get() / of.page_size.bytes().get())
        });
    for own in &of.policies {
        table = table.figure(own.policy.title(), |memory| {
            let point = of.at(own.policy, *memory);
            point.map_or(UNKNOWN.into(), |point| percent_fine(point.miss_ratio))
        });
    }
    if of.sample.is_some() {
        table = table.figure(("+- at most", 1), |memory| {
            let points = of.policies.iter();
            let points = points.filter_map(|own| of.at(own.policy, *memory));
            percent_fine(points.map(|point| point.half_width).fold(0.0, f64::max))
        });
    }
    if let Some(first) = of.policies.first() {
        table = table.drawing(("", 2), |memory| {
            let point = of.at(first.policy, *memory);
            point.map_or(String::new(), |point| bar(point.miss_ratio))
        });
    }
    table.build()
}

fn all_sizes(curves: &TraceCurves) -> Section {
    let mut section = Section::new("sizes", "All buffer sizes").at(Depth::Evidence);
    let is_short = curves.memories.len() > FIRST_ROWS;
    if is_short {
        section.extend(
            tables(curves, &curves.memories)
                .into_iter()
                .map(Block::Table),
        );
    }
    section
}

fn method(curves: &TraceCurves) -> Section {
    let mut section = Section::new("method", "Method").at(Depth::Method);
    let policies = curves.page_sizes.first().map(|of| &of.policies[..]);
    let policies = policies.unwrap_or_default().iter();
    let policies = policies.map(|own| own.policy.title());
    let mut values = vec![("policies", list(policies, "and"))];
    values.push((
        "LRU",
        "all sizes at once by stack distances (Mattson et al. 1970)".into(),
    ));
    if curves.page_sizes.iter().any(|of| of.sample.is_some()) {
        values.push((
            "sample",
            "pages by their hash; buffers scaled down as much (SHARDS, Waldspurger et al. 2015)"
                .into(),
        ));
    }
    section.values(values);
    let files = Table::with_rows("Files", &curves.files)
        .label("file", |file| file.name.clone())
        .words("format", |file| file.format);
    section.push(Block::Table(files.build()));
    let sizes = Table::with_rows("References", &curves.page_sizes)
        .label("pages of", |of| of.page_size.to_string())
        .figure("references", |of| count(of.references))
        .figure("a request", |of| number(of.references_per_request))
        .figure("distinct pages", |of| count(of.pages))
        .figure("first references", |of| percent_fine(of.least()));
    section.push(Block::Table(sizes.build()));
    section
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use octavo_buffer::{
        Access, Keep, Room,
        trace_curves::{Collector, TraceFile},
        trace_file::{Place, Request},
    };
    use octavo_units::{PageSize, Seed, mix};

    use super::*;
    use crate::fixture;

    fn found(sizes: &[u32], keep: Keep, place: fn(u64) -> Place) -> TraceCurves {
        let mut all = TraceCurves {
            files: vec![TraceFile {
                name: "a\u{1b}[31m.lis".into(),
                format: "lis",
            }],
            has_addresses: matches!(place(0), Place::Address { .. }),
            has_writes: false,
            requested: Default::default(),
            memories: Vec::new(),
            page_sizes: Vec::new(),
        };
        for &size in sizes {
            let size = PageSize::new(size).unwrap();
            let mut collector = Collector::new(size, keep, Room::SMALL, Seed::new(1));
            for n in 0..20_000_u64 {
                let block = (mix(n) % 4096).min(mix(n ^ 1 << 40) % 4096);
                let request = Request {
                    place: place(block),
                    length: 4096,
                    access: Access::Read,
                };
                collector.add(request).unwrap();
            }
            let collected = collector.finish();
            all.requested = collected.requested();
            if all.memories.is_empty() {
                all.memories = collected.doubling(ByteCount::kib(16));
            }
            let policies = [NamedPolicy::Lru, NamedPolicy::Arc, NamedPolicy::Opt];
            let mut on = |_, _| ControlFlow::Continue(());
            let curves = collected.curves(&all.memories, &policies, &mut on);
            all.page_sizes.push(curves.unwrap());
        }
        all
    }

    fn address(block: u64) -> Place {
        Place::Address {
            device: 0,
            offset: block * 4096,
        }
    }

    /// All that is printed, without line breaks.
    fn words(curves: &TraceCurves) -> String {
        fixture::words(&curve(curves).verbose(120, false))
    }

    #[test]
    fn a_curve_is_told_in_a_screen_and_drawn() {
        let curves = found(&[4096], Keep::All, address);
        let document = curve(&curves);
        let text = document.terminal(100, false);
        assert!(text.lines().count() <= 40, "{text}");
        for wanted in [
            "of LRU buffer saves 90%",
            "ARC",
            "OPT",
            "16 MiB",
            "second buffer",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        let page = document.html();
        assert!(page.contains("<svg") && page.contains("generator\" content=\"Octavo\""));
        let [first, ..] = &sentences(&curves)[..] else {
            panic!("no sentence");
        };
        let enough = enough(&curves.page_sizes[0]).unwrap();
        assert!(first.starts_with(&enough.memory.to_string()), "{first}");
    }

    #[test]
    fn page_sizes_are_told_by_the_memory_that_they_need() {
        let curves = found(&[4096, 16384], Keep::All, address);
        let text = words(&curves);
        assert!(text.contains("side by side"), "{text}");
        let [small, large] = &curves.page_sizes[..] else {
            panic!("two sizes");
        };
        let with = enough(small).unwrap();
        let other = large.lru_for(with.miss_ratio).unwrap();
        assert!(other.memory != with.memory);
        let wanted = format!(
            "16 KiB pages need {} to miss as little as 4 KiB pages with {}.",
            other.memory, with.memory
        );
        assert!(text.contains(&wanted), "{wanted}: {text}");
    }

    #[test]
    fn samples_and_objects_are_told() {
        let curves = found(&[4096], Keep::Share(0.5), Place::Object);
        let text = curve(&curves).verbose(120, false);
        for wanted in [
            "+-",
            "sample of 50.0% of the pages",
            "Each object",
            "about ",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains("second buffer"));
    }

    #[test]
    fn a_buffer_that_saves_nothing_is_said_to() {
        let mut curves = found(&[4096], Keep::All, address);
        let all = &mut curves.page_sizes[0];
        let last = *all.lru.last().unwrap();
        all.lru = vec![last];
        assert_eq!(sentences(&curves).len(), 1);
        assert!(sentences(&curves)[0].starts_with("No buffer saves a read"));
    }
}
