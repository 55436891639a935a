//! The page's charts, one file each. Every chart is a figure: a title that
//! says what it shows with its unit, a static SVG, and a caption.

mod bytes;
mod clients;
mod device;
mod forest;
mod heat;
mod lines;
mod seconds;
mod throughput;

use octavo_experiment::findings::Findings;

use crate::document::Figure;

/// Charts of the comparison: ratios, throughput, page size by memory, bytes.
/// Empty without runs.
pub(crate) fn comparison(findings: &Findings) -> Vec<Figure> {
    [
        forest::draw,
        throughput::draw,
        clients::draw,
        heat::throughput,
        heat::read_bytes,
        bytes::draw,
    ]
    .into_iter()
    .filter_map(|draw| draw(findings))
    .collect()
}

/// Seconds of every run, as diagnostics.
pub(crate) fn seconds(findings: &Findings) -> Vec<Figure> {
    seconds::draw(findings)
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

    #[test]
    fn every_chart_is_drawn() {
        let findings = fixture::findings();
        assert_eq!(comparison(&findings).len(), 5);
        assert_eq!(seconds(&findings).len(), 2);
        assert_eq!(device(&findings).len(), 3);
    }

    fn titles(findings: &octavo_experiment::findings::Findings) -> Vec<String> {
        comparison(findings)
            .into_iter()
            .map(|figure| figure.title)
            .collect()
    }

    #[test]
    fn a_chart_that_makes_no_sense_is_left_out() {
        let maps = |findings| {
            titles(&findings)
                .iter()
                .filter(|title| title.contains("page size and memory"))
                .count()
        };
        assert_eq!(maps(fixture::findings()), 2);
        assert_eq!(maps(fixture::one_memory()), 0);
        assert_eq!(maps(fixture::clients()), 0);
        assert_eq!(maps(fixture::many_groups()), 0);
    }

    #[test]
    fn clients_are_an_axis_where_they_vary() {
        let over_clients = |findings| {
            titles(&findings)
                .into_iter()
                .filter(|title| title.starts_with("Throughput by clients"))
                .count()
        };
        assert_eq!(over_clients(fixture::findings()), 0);
        // Compared, and varied.
        assert_eq!(over_clients(fixture::clients()), 1);
        assert_eq!(over_clients(fixture::many_groups()), 1);
    }

    #[test]
    fn many_groups_make_charts_higher() {
        let height = |svg: &str| -> f64 {
            let (_, rest) = svg.split_once("height=\"").unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let of = |findings| -> Vec<f64> {
            comparison(&findings)[..2]
                .iter()
                .map(|figure| height(figure.drawing.as_str()))
                .collect()
        };
        let (few, many) = (of(fixture::findings()), of(fixture::many_groups()));
        assert!(many[0] > 2.0 * few[0], "{few:?} {many:?}");
        assert!(many[1] > few[1], "{few:?} {many:?}");
    }

    #[test]
    fn figures_that_are_not_known_are_not_drawn() {
        let mut broken = fixture::findings();
        let figures = broken.groups[0].cells[0].per_transaction.as_mut().unwrap();
        figures.read_bytes = f64::NAN;
        figures.written_bytes = f64::INFINITY;
        for findings in [fixture::one_round(), fixture::empty(), broken] {
            for figure in comparison(&findings).iter().chain(&seconds(&findings)) {
                assert!(!figure.drawing.as_str().contains("NaN"), "{}", figure.title);
                assert!(!figure.drawing.as_str().contains("inf"), "{}", figure.title);
            }
        }
        assert!(comparison(&fixture::empty()).is_empty());
    }
}
