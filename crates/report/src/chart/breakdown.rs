//! Where a transaction's time goes, a stacked bar a cell. What a database does not time is a
//! part of the rest.

use std::collections::BTreeSet;

use octavo_experiment::findings::{Findings, GroupFindings, TransactionTime};

use super::{
    plot::{Area, LegendKey, Mark, Plot},
    rows::{CellRow, rows},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    naming,
    number::{list, plain_time, time},
};

/// A part's class in style.css, its name, and the part in microseconds.
type TimePart = (
    &'static str,
    &'static str,
    fn(&TransactionTime) -> Option<f64>,
);

const PARTS: [TimePart; 7] = [
    ("read", "read", |of| of.read_us),
    ("log-write", "log write", |of| of.log_write_us),
    ("log-fsync", "log fsync", |of| of.log_sync_us),
    ("checkpoint", "checkpoint", |of| of.checkpoint_us),
    ("cpu", "CPU", |of| of.cpu_us),
    ("others", "waiting for others", |of| {
        Some(of.waits?.all_us())
    }),
    ("waiting", "other", |of| Some(of.other_us)),
];

/// Half of a bar's height, in rows.
const HALF: f64 = 0.34;

/// The times of these groups' cells, one above the other.
pub(crate) fn draw(findings: &Findings, groups: &[&GroupFindings]) -> Option<Figure> {
    let parts = PARTS.map(|(class, name, part)| match class {
        "checkpoint" => (class, naming::of_data_files(findings), part),
        _ => (class, name, part),
    });
    let (names, rows, mut marks) = rows(findings, groups);
    let mut longest = 0.0f64;
    let (mut timed, mut untimed) = (BTreeSet::new(), BTreeSet::new());
    for CellRow { place, cell, .. } in rows {
        let Some(spent) = cell.time else {
            continue;
        };
        let mut from = 0.0;
        for (number, (class, name, part)) in parts.into_iter().enumerate() {
            let Some(part) = part(&spent) else {
                untimed.insert(number);
                continue;
            };
            timed.insert(number);
            // Parts are measured apart: what the rest comes to may be below 0.
            let part = part.max(0.0);
            if part == 0.0 {
                continue;
            }
            marks.push(Mark::Area(Area {
                class,
                from: (from, place - HALF),
                to: (from + part, place + HALF),
                opacity: 1.0,
                text: String::new(),
                tip: format!(
                    "{}: {} {name}",
                    findings.plan.cell_name(&cell.cell),
                    time(part)
                ),
            }));
            from += part;
        }
        longest = longest.max(from);
        marks.push(Mark::Note("", place, time(spent.total_us)));
    }
    let of = |numbers: BTreeSet<usize>| numbers.into_iter().map(|number| parts[number]);
    let legend = of(timed).map(|(class, name, _)| (LegendKey::Area(class), name.to_owned()));
    // Models alone know waits for others; in all that is measured these are in the rest.
    let untimed = of(untimed).filter(|(class, ..)| *class != "others");
    let untimed = list(untimed.map(|(_, name, _)| name), "and");
    let plot = Plot {
        title: "Where the time goes, per transaction".into(),
        caption: match untimed.as_str() {
            "" => String::new(),
            untimed => format!(
                "Not timed, or too short to be, in at least one bar, and therefore in its other: \
                 {untimed}."
            ),
        },
        x: (
            Scale::from_zero([longest], Round::Tens, plain_time),
            String::new(),
        ),
        y: (Scale::places(names), String::new()),
        legend: legend.collect(),
        marks,
    };
    plot.draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, naming};

    #[test]
    fn what_is_not_timed_is_in_the_rest_and_said() {
        let mut findings = fixture::findings();
        let drawn = |findings: &Findings| draw(findings, &naming::groups(findings)).unwrap();
        let timed = drawn(&findings);
        assert_eq!(timed.caption, "");
        assert!(timed.drawing.as_str().contains("log fsync"));
        fixture::times_nothing(&mut findings);
        let figure = drawn(&findings);
        assert_eq!(
            figure.caption,
            "Not timed, or too short to be, in at least one bar, and therefore in its other: read, \
             log write, log fsync and checkpoint."
        );
        let drawing = figure.drawing.as_str();
        assert!(drawing.contains("CPU") && !drawing.contains("log fsync"));
        assert!(!drawing.contains("under 1 µs"), "{drawing}");
    }
}
