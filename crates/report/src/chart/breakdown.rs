//! Where a transaction's time goes, a stacked bar a cell.

use octavo_experiment::findings::{Findings, GroupFindings, TransactionTime};

use super::{
    plot::{Area, Key, Mark, Plot},
    rows::{Row, rows},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{plain_time, time},
};

/// A part's class in style.css, its name, and the part in microseconds.
type Part = (&'static str, &'static str, fn(&TransactionTime) -> f64);

const PARTS: [Part; 6] = [
    ("read", "read", |of| of.read_us),
    ("log-write", "log write", |of| of.log_write_us),
    ("log-fsync", "log fsync", |of| of.log_sync_us),
    ("checkpoint", "checkpoint", |of| of.checkpoint_us),
    ("cpu", "CPU", |of| of.cpu_us),
    ("waiting", "other", |of| of.other_us),
];

/// Half of a bar's height, in rows.
const HALF: f64 = 0.34;

/// The times of these groups' cells, one above the other.
pub(crate) fn draw(findings: &Findings, groups: &[&GroupFindings]) -> Option<Figure> {
    let (names, rows, mut marks) = rows(findings, groups);
    let mut longest = 0.0f64;
    for Row { place, cell, .. } in rows {
        let Some(spent) = cell.time else {
            continue;
        };
        let mut from = 0.0;
        for (class, name, part) in PARTS {
            // Parts are measured apart: what the rest comes to may be below 0.
            let part = part(&spent).max(0.0);
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
    let legend = PARTS.map(|(class, name, _)| (Key::Area(class), name.to_owned()));
    let plot = Plot {
        title: "Where the time goes, per transaction".into(),
        caption: String::new(),
        x: (
            Scale::from_zero([longest], Round::Tens, plain_time),
            String::new(),
        ),
        y: (Scale::places(names), String::new()),
        legend: legend.into(),
        marks,
    };
    plot.draw()
}
