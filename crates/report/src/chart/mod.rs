//! The page's charts, one file each, all drawn by [`plot`]. Every chart is a
//! figure: a title that says what it shows with its unit, a static SVG, and a
//! caption.

pub(crate) mod breakdown;
mod bytes;
mod curve;
mod device;
pub(crate) mod forest;
mod heat;
mod lines;
mod plot;
mod ramp;
mod rows;
mod scale;
mod seconds;
mod study;
mod throughput;
mod timeline;
mod value;

use octavo_buffer::trace_curves::TraceCurves;
use octavo_experiment::{bench::BenchResult, findings::Findings, ramp::RampFinding, value::Value};

use crate::{document::Figure, naming};

/// Charts of throughput itself. Empty without runs.
pub(crate) fn throughput(findings: &Findings) -> Vec<Figure> {
    let charts = [throughput::draw, throughput::by_clients, heat::throughput];
    let charts = charts.into_iter().filter_map(|draw| draw(findings));
    charts.collect()
}

/// What each group's throughput was over time; at a pace nothing.
pub(crate) fn throughput_over_time(findings: &Findings) -> Vec<Figure> {
    match findings.plan.pace() {
        Some(_) => Vec::new(),
        None => over_time(findings, timeline::Drawn::Throughput),
    }
}

/// … and its mean response times.
pub(crate) fn response_over_time(findings: &Findings) -> Vec<Figure> {
    over_time(findings, timeline::Drawn::ResponseTime)
}

fn over_time(findings: &Findings, drawn: timeline::Drawn) -> Vec<Figure> {
    let groups = naming::groups(findings).into_iter();
    let figures = groups.filter_map(|group| timeline::draw(findings, group, drawn));
    figures.collect()
}

/// Throughput by clients of a ramp, in a unit of which a second has so many; `of` the cell
/// that it is, if there are several.
pub(crate) fn ramp(found: &RampFinding, of: &str, unit: &str, per: f64) -> Option<Figure> {
    (!found.steps.is_empty())
        .then(|| ramp::draw(found, of, unit, per))
        .flatten()
}

/// Throughput while a ramp's steps followed each other, and response times by its clients.
pub(crate) fn ramp_over_time(
    found: &RampFinding,
    of: &str,
    unit: &str,
    per: f64,
) -> impl Iterator<Item = Figure> {
    let all = [
        ramp::over_time(found, of, unit, per),
        ramp::response_times(found, of),
    ];
    all.into_iter().flatten()
}

/// A bench by second. `per` converts a rate a second to `unit`.
pub(crate) fn seconds(result: &BenchResult, unit: &str, per: f64) -> Vec<Figure> {
    seconds::draw(result, unit, per)
}

/// A figure of a study; `None` where nothing is known of it.
pub(crate) fn study(drawn: &octavo_study::Drawn) -> Option<Figure> {
    study::draw(drawn)
}

/// Bytes read and written.
pub(crate) fn bytes(findings: &Findings) -> Option<Figure> {
    bytes::draw(findings)
}

/// What buffers miss of a trace.
pub(crate) fn curve(curves: &TraceCurves) -> Option<Figure> {
    curve::draw(curves)
}

/// What throughput is worth.
pub(crate) fn value(value: &Value) -> Vec<Figure> {
    value::draw(value)
}

/// The device's curves.
pub(crate) fn device(findings: &Findings) -> Vec<Figure> {
    findings
        .calibration
        .as_ref()
        .map(device::draw)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn first_screen(findings: &Findings) -> Vec<Figure> {
        let groups = naming::groups(findings);
        let figures = [forest::draw, breakdown::draw].map(|draw| draw(findings, &groups));
        figures.into_iter().flatten().collect()
    }

    fn all(findings: &Findings) -> Vec<Figure> {
        let mut all = first_screen(findings);
        all.extend(throughput(findings));
        all.extend(bytes(findings));
        all.extend(device(findings));
        all
    }

    fn titles(findings: &Findings) -> Vec<String> {
        all(findings).into_iter().map(|of| of.title).collect()
    }

    #[test]
    fn every_chart_is_drawn_where_it_makes_sense() {
        let count = |findings: &Findings, part: &str| {
            let titles = titles(findings).into_iter();
            titles.filter(|title| title.contains(part)).count()
        };
        let (two, one) = (fixture::findings(), fixture::one_memory());
        assert_eq!(all(&two).len(), 8);
        assert_eq!(count(&two, "page size and memory"), 1);
        assert_eq!(count(&one, "page size and memory"), 0);
        assert_eq!(count(&two, "Throughput by clients"), 0);
        // Compared, and varied.
        assert_eq!(count(&fixture::clients(), "Throughput by clients"), 1);
        assert_eq!(count(&fixture::many_groups(), "Throughput by clients"), 1);
    }

    #[test]
    fn more_groups_make_a_chart_higher() {
        let height = |findings: &Findings| -> f64 {
            let figures = first_screen(findings);
            let svg = figures[0].drawing.as_str();
            let (_, rest) = svg.split_once("height=\"").unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        assert!(height(&fixture::many_groups()) > 2.0 * height(&fixture::findings()));
    }

    #[test]
    fn figures_that_are_not_known_are_not_drawn() {
        let mut broken = fixture::findings();
        let cell = &mut broken.groups[0].cells[0];
        let figures = cell.per_transaction.as_mut().unwrap();
        figures.read_bytes = f64::NAN;
        figures.written_bytes = f64::INFINITY;
        cell.time.as_mut().unwrap().read_us = Some(f64::NAN);
        for findings in [fixture::one_pass(), fixture::empty(), broken] {
            for figure in all(&findings) {
                assert!(!figure.drawing.as_str().contains("NaN"), "{}", figure.title);
                assert!(!figure.drawing.as_str().contains("inf"), "{}", figure.title);
            }
        }
        assert!(first_screen(&fixture::empty()).is_empty());
    }
}
