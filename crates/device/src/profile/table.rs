//! Tables of a profile as text cells, in the shapes of published studies.
//!
//! petrov-2010 gives a device as IOPS and latency of random requests and MB/s
//! of sequential ones by request size; lee-2009 as curves of random IOPS over
//! queue depths and over data ranges. Columns that were not measured show
//! `-`, tables of which nothing was measured are left out.

use std::collections::BTreeSet;

use octavo_units::{ByteCount, QueueDepth, RequestSize};

use super::{Access, Point, Profile};
use crate::{
    point::{Durability, PointSpec},
    request::{Mix, Pattern},
};

/// A table of text cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What is shown and under which conditions, one line.
    pub title: String,
    /// Names of the columns, with units.
    pub header: Vec<String>,
    /// As many cells a row as the header has.
    pub rows: Vec<Vec<String>>,
}

/// Every table of which the profile has points.
pub fn all(profile: &Profile) -> Vec<Table> {
    let mut tables = Vec::new();
    let whole = |spec: &PointSpec| spec.range == profile.file_bytes;
    let depths = keys(profile, Pattern::Random, |spec| {
        whole(spec).then_some(spec.depth)
    });
    // A depth curve measures one size at many depths; as a table by size
    // each of those would be one row.
    for depth in depths {
        let table = by_size(profile, Pattern::Random, depth);
        tables.extend(table.filter(|table| table.rows.len() > 1));
    }
    for depth in keys(profile, Pattern::Sequential, |spec| Some(spec.depth)) {
        tables.extend(by_size(profile, Pattern::Sequential, depth));
    }
    let sizes = keys(profile, Pattern::Random, |spec| Some(spec.request_size));
    for size in sizes.iter().copied() {
        tables.extend(depth_curve(profile, size).filter(|table| table.rows.len() > 2));
    }
    for size in sizes {
        for depth in [1, 32].into_iter().filter_map(QueueDepth::new) {
            tables.extend(range_curve(profile, size, depth).filter(|table| table.rows.len() > 1));
        }
    }
    tables.extend(mixed(profile));
    tables.extend(shifted(profile));
    tables.extend(commit(profile));
    tables.extend(others(profile));
    tables
}

/// Shifted requests, beside those that are not.
fn shifted(profile: &Profile) -> Option<Table> {
    let rows = profile.shifted.iter().map(|point| {
        let usual = profile.points.iter().find(|usual| {
            usual.spec
                == PointSpec {
                    shift: ByteCount::ZERO,
                    ..point.spec
                }
        });
        let ratio = usual.map(|usual| point.iops.get() / usual.iops.get());
        vec![
            point.spec.to_string(),
            iops(profile, usual),
            iops(profile, Some(point)),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            milliseconds(usual),
            milliseconds(Some(point)),
        ]
    });
    table(
        "shifted requests".to_owned(),
        profile,
        ["request", "IOPS", "shifted", "ratio", "ms", "shifted ms"],
        rows.collect(),
    )
}

/// Points that no table of [`all`] has a row for: of one size, depth and range alone.
fn others(profile: &Profile) -> Option<Table> {
    let points = || profile.points.iter().map(|point| &point.spec);
    let whole = |spec: &PointSpec| spec.range == profile.file_bytes;
    let is_alike = |one: &PointSpec, other: &PointSpec| {
        one.pattern == other.pattern
            && other.durability == Durability::Device
            && other.mix.only().is_some()
    };
    let is_shown = |spec: &PointSpec| {
        if spec.mix.only().is_none() || spec.durability == Durability::Synced {
            return true;
        }
        if spec.pattern == Pattern::Sequential {
            return whole(spec);
        }
        let alike = || points().filter(|other| is_alike(spec, other));
        let sizes: BTreeSet<RequestSize> = alike()
            .filter(|other| whole(other) && other.depth == spec.depth)
            .map(|other| other.request_size)
            .collect();
        let depths: BTreeSet<QueueDepth> = alike()
            .filter(|other| whole(other) && other.request_size == spec.request_size)
            .map(|other| other.depth)
            .collect();
        let ranges: BTreeSet<ByteCount> = alike()
            .filter(|other| other.depth == spec.depth && other.request_size == spec.request_size)
            .map(|other| other.range)
            .collect();
        let has_ranges = [1, 32].contains(&spec.depth.get()) && ranges.len() > 1;
        whole(spec) && (sizes.len() > 1 || depths.len() > 2) || has_ranges
    };
    let rows = profile
        .points
        .iter()
        .filter(|point| !is_shown(&point.spec))
        .map(|point| {
            vec![
                point.spec.to_string(),
                iops(profile, Some(point)),
                megabytes(profile, Some(point)),
                milliseconds(Some(point)),
                format!("{:.3}", point.latency.us_p99 / 1e3),
            ]
        });
    table(
        "other points".to_owned(),
        profile,
        ["point", "IOPS", "MB/s", "ms", "p99 ms"],
        rows.collect(),
    )
}

/// petrov-2010's tables: by size, IOPS of random requests or MB/s of
/// sequential ones, and mean latency.
fn by_size(profile: &Profile, pattern: Pattern, depth: QueueDepth) -> Option<Table> {
    let range = profile.file_bytes;
    let title = format!("{pattern} requests, depth {depth}, range {range}");
    by(profile, title, "request", pattern, |spec| {
        (spec.depth == depth && spec.range == range).then_some(spec.request_size)
    })
}

/// lee-2009's curve over queue depths, on the whole file.
fn depth_curve(profile: &Profile, size: RequestSize) -> Option<Table> {
    let range = profile.file_bytes;
    let title = format!("depth curve: random requests of {size}, range {range}");
    by(profile, title, "depth", Pattern::Random, |spec| {
        (spec.request_size == size && spec.range == range).then_some(spec.depth)
    })
}

/// lee-2009's curve over data ranges, at one depth.
fn range_curve(profile: &Profile, size: RequestSize, depth: QueueDepth) -> Option<Table> {
    let title = format!("range curve: random requests of {size}, depth {depth}");
    by(profile, title, "range", Pattern::Random, |spec| {
        (spec.request_size == size && spec.depth == depth).then_some(spec.range)
    })
}

/// Points that read and write.
fn mixed(profile: &Profile) -> Option<Table> {
    let rows = profile
        .points
        .iter()
        .filter(|point| point.spec.mix.only().is_none())
        .map(|point| {
            let p99 = |latency: Option<super::Latency>| {
                latency.map_or("-".to_owned(), |latency| {
                    format!("{:.3}", latency.us_p99 / 1e3)
                })
            };
            vec![
                point.spec.mix.to_string(),
                point.spec.request_size.to_string(),
                point.spec.depth.to_string(),
                iops(profile, Some(point)),
                milliseconds(Some(point)),
                p99(point.read_latency),
                p99(point.write_latency),
            ]
        });
    table(
        format!("mixed random requests, range {}", profile.file_bytes),
        profile,
        [
            "read/write %",
            "request",
            "depth",
            "IOPS",
            "ms",
            "read p99 ms",
            "write p99 ms",
        ],
        rows.collect(),
    )
}

/// What a commit costs: a write and `fdatasync`.
fn commit(profile: &Profile) -> Option<Table> {
    let rows = profile
        .points
        .iter()
        .filter(|point| point.spec.durability == Durability::Synced)
        .map(|point| {
            let us = |value: f64| format!("{value:.0}");
            vec![
                point.spec.request_size.to_string(),
                point.spec.depth.to_string(),
                iops(profile, Some(point)),
                us(point.latency.us_p50),
                us(point.latency.us_p99),
                us(point.latency.us_max),
            ]
        });
    table(
        "commit: sequential pwrite + fdatasync by one thread, whatever the engine".to_owned(),
        profile,
        [
            "request",
            "depth",
            "commits/s",
            "p50 us",
            "p99 us",
            "max us",
        ],
        rows.collect(),
    )
}

/// Points that only read or only write and are not synced.
fn ordinary(profile: &Profile, pattern: Pattern) -> impl Iterator<Item = &Point> {
    profile.points.iter().filter(move |point| {
        point.spec.pattern == pattern
            && point.spec.durability == Durability::Device
            && point.spec.mix.only().is_some()
    })
}

/// The distinct keys of such points, ascending; those that have none are left
/// out.
fn keys<K: Ord>(
    profile: &Profile,
    pattern: Pattern,
    key: impl Fn(&PointSpec) -> Option<K>,
) -> BTreeSet<K> {
    ordinary(profile, pattern)
        .filter_map(|point| key(&point.spec))
        .collect()
}

/// A table with a row for each key in ascending order: the key, then the rates
/// and latencies of the reads and of the writes that have it.
fn by<K: Copy + Ord + ToString>(
    profile: &Profile,
    title: String,
    key_name: &str,
    pattern: Pattern,
    key: impl Fn(&PointSpec) -> Option<K>,
) -> Option<Table> {
    let (unit, rate): (_, fn(&Profile, Option<&Point>) -> String) = match pattern {
        Pattern::Random => ("IOPS", iops),
        Pattern::Sequential => ("MB/s", megabytes),
    };
    let row = |wanted: K| {
        let at = |mix| {
            ordinary(profile, pattern)
                .find(|point| point.spec.mix == mix && key(&point.spec) == Some(wanted))
        };
        let (read, write) = (at(Mix::READ), at(Mix::WRITE));
        vec![
            wanted.to_string(),
            rate(profile, read),
            rate(profile, write),
            milliseconds(read),
            milliseconds(write),
        ]
    };
    let (reads, writes) = (format!("read {unit}"), format!("write {unit}"));
    table(
        title,
        profile,
        [key_name, &reads, &writes, "read ms", "write ms"],
        keys(profile, pattern, &key).into_iter().map(row).collect(),
    )
}

/// `None` when there are no rows. Completes the title with what holds for
/// every row of every table.
fn table<const COLUMNS: usize>(
    title: String,
    profile: &Profile,
    header: [&str; COLUMNS],
    rows: Vec<Vec<String>>,
) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let durations = profile.every_point().map(|point| point.duration_s);
    let (shortest, longest) = durations.fold((f64::INFINITY, 0.0), |(least, most), duration| {
        (duration.min(least), duration.max(most))
    });
    let duration = match (format!("{shortest:.1}"), format!("{longest:.1}")) {
        (least, most) if least == most => most,
        (least, most) => format!("{least} to {most}"),
    };
    let access = match profile.access {
        Access::Direct => "direct".to_owned(),
        other => other.to_string(),
    };
    let is_any = |holds: &dyn Fn(&Point) -> bool| profile.every_point().any(holds);
    let unsteady = match is_any(&|point| profile.is_unsteady(point)) {
        true => "; ~ not steady",
        false => "",
    };
    let wide = match is_any(&|point| wide_margin(profile, point).is_some()) {
        true => "; ± 95% interval where wider than ±10%",
        false => "",
    };
    Some(Table {
        title: format!(
            "{title}; {access}, {}, {duration} s a point, mean latency{unsteady}{wide}",
            profile.engine
        ),
        header: header.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The rate, marked where it was not steady or is not known well.
fn iops(profile: &Profile, point: Option<&Point>) -> String {
    marked(profile, point, |point| point.iops.to_string())
}

fn megabytes(profile: &Profile, point: Option<&Point>) -> String {
    marked(profile, point, |point| {
        format!("{:.0}", point.bytes_per_second.get() / 1e6)
    })
}

fn marked(profile: &Profile, point: Option<&Point>, text: impl Fn(&Point) -> String) -> String {
    let Some(point) = point else {
        return "-".to_owned();
    };
    match wide_margin(profile, point) {
        Some(margin) if margin < 1.0 => format!("{} ±{:.0}%", text(point), margin * 100.0),
        // It reaches down to no requests at all.
        Some(_) => format!("{} ±>100%", text(point)),
        None if profile.is_unsteady(point) => format!("~{}", text(point)),
        None => text(point),
    }
}

/// A confidence interval that is told beside its rate is wider than this to each side.
const MARGIN_TOLD: f64 = 0.10;

fn wide_margin(profile: &Profile, point: &Point) -> Option<f64> {
    profile.margin(point).filter(|margin| *margin > MARGIN_TOLD)
}

fn milliseconds(point: Option<&Point>) -> String {
    point.map_or("-".to_owned(), |point| {
        format!("{:.3}", point.latency.us_mean / 1e3)
    })
}

#[cfg(test)]
mod tests {
    use octavo_units::ByteCount;

    use super::*;
    use crate::profile::tests::{point, profile, spec};

    fn sample() -> Profile {
        let mut points = Vec::new();
        for (bytes, read, write) in [(4096, 50_000.0, 20_000.0), (16384, 32_000.0, 16_000.0)] {
            points.push(point(spec(Mix::READ, Pattern::Random, bytes, 32), read));
            points.push(point(spec(Mix::WRITE, Pattern::Random, bytes, 32), write));
        }
        points.push(point(spec(Mix::READ, Pattern::Random, 4096, 1), 10_000.0));
        points.push(point(
            spec(Mix::READ, Pattern::Sequential, 131_072, 32),
            8_000.0,
        ));
        let mut narrow = spec(Mix::READ, Pattern::Random, 4096, 32);
        narrow.range = ByteCount::mib(32);
        points.push(point(narrow, 64_000.0));
        points.push(point(
            spec(Mix::READ_75, Pattern::Random, 4096, 32),
            40_000.0,
        ));
        profile(points)
    }

    #[test]
    fn shifted_requests_stand_beside_the_others() {
        let mut sample = sample();
        let mut read = spec(Mix::READ, Pattern::Random, 4096, 32);
        read.shift = ByteCount::new(512);
        let mut alone = spec(Mix::WRITE, Pattern::Random, 8192, 1);
        alone.shift = ByteCount::kib(4);
        let narrow = PointSpec {
            range: ByteCount::mib(64),
            ..alone
        };
        let points = [(read, 25_000.0), (alone, 10_000.0), (narrow, 20_000.0)];
        sample.shifted = points.map(|(spec, iops)| point(spec, iops)).to_vec();
        let table = shifted(&sample).unwrap();
        // 1.280 ms to the 0.1 % of the histogram.
        let (first, second, third) = (
            "random read 4 KiB, depth 32, range 1 GiB, shifted 512 B",
            "random write 8 KiB, depth 1, range 1 GiB, shifted 4 KiB",
            "random write 8 KiB, depth 1, range 64 MiB, shifted 4 KiB",
        );
        assert_eq!(
            table.rows,
            [
                [first, "50000", "25000", "0.50", "0.640", "1.281"],
                [second, "-", "10000", "-", "-", "0.100"],
                [third, "-", "20000", "-", "-", "0.050"],
            ]
        );
    }

    #[test]
    fn random_requests_have_petrovs_columns() {
        let table = by_size(&sample(), Pattern::Random, QueueDepth::new(32).unwrap()).unwrap();
        assert_eq!(
            table.title,
            "random requests, depth 32, range 1 GiB; direct, threads, 0.0 s a point, mean latency"
        );
        assert_eq!(
            table.rows,
            [
                ["4 KiB", "50000", "20000", "0.640", "1.600"],
                ["16 KiB", "32000", "16000", "1.000", "2.000"],
            ]
        );
    }

    #[test]
    fn sequential_requests_are_given_in_megabytes() {
        let table = by_size(&sample(), Pattern::Sequential, QueueDepth::new(32).unwrap()).unwrap();
        // 8000 * 131072 B = 1048.576 MB; 32 / 8000 s is 4 ms, to the 0.1 %
        // of the histogram; writes were not measured.
        assert_eq!(table.rows, [["128 KiB", "1049", "-", "4.001", "-"]]);
    }

    #[test]
    fn curves_are_over_depths_and_ranges() {
        let sample = sample();
        let size = RequestSize::new(4096).unwrap();
        let depths = depth_curve(&sample, size).unwrap();
        assert_eq!(depths.rows[0][..3], ["1", "10000", "-"]);
        assert_eq!(depths.rows[1][..3], ["32", "50000", "20000"]);
        let ranges = range_curve(&sample, size, QueueDepth::new(32).unwrap()).unwrap();
        assert_eq!(ranges.rows[0][..2], ["32 MiB", "64000"]);
        assert_eq!(ranges.rows[1][..2], ["1 GiB", "50000"]);
    }

    #[test]
    fn unsteady_and_buffered_figures_say_so() {
        let mut sample = sample();
        sample.access = Access::Buffered;
        sample.points[0].steady_round = None;
        sample.points[0].iops_margin = Some(0.25);
        let title_and_rate = |sample: &Profile| {
            let depth = QueueDepth::new(32).unwrap();
            let table = by_size(sample, Pattern::Random, depth).unwrap();
            (table.title, table.rows[0][1].clone())
        };
        // Rounds of less than half a second are neither steady nor not.
        let (title, rate) = title_and_rate(&sample);
        assert_eq!(rate, "50000 ±25%");
        assert!(
            title.contains("BUFFERED") && title.contains("±10%"),
            "{title}"
        );
        assert!(!title.contains("not steady"), "{title}");
        sample.points[0].iops_margin = Some(0.08);
        let (title, rate) = title_and_rate(&sample);
        assert_eq!(rate, "50000");
        assert!(!title.contains("±"), "{title}");
        sample.points[0].duration_s = 2.5;
        let (title, rate) = title_and_rate(&sample);
        assert_eq!(rate, "~50000");
        assert!(title.contains("not steady"), "{title}");
    }

    #[test]
    fn every_table_is_rectangular_and_empty_ones_are_left_out() {
        let tables = all(&sample());
        assert_eq!(tables.len(), 5);
        for table in tables {
            assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
        }
        assert!(all(&profile(Vec::new())).is_empty());
    }

    #[test]
    fn a_point_that_no_other_table_has_is_told_by_itself() {
        let sample = sample();
        for point in &sample.points {
            let alone = Profile {
                points: vec![point.clone()],
                ..sample.clone()
            };
            let tables = all(&alone);
            assert_eq!(tables.len(), 1, "{}: {tables:?}", point.spec);
            assert_eq!(tables[0].rows.len(), 1, "{}", point.spec);
        }
        let rate = |range: u64| {
            let mut point = sample.points[0].clone();
            point.spec.range = ByteCount::new(range);
            point
        };
        let ranges = all(&Profile {
            points: vec![rate(4 << 20)],
            ..sample.clone()
        });
        assert!(ranges[0].title.starts_with("other points"), "{ranges:?}");
        assert_eq!(ranges[0].rows[0][1], "50000");
    }
}
