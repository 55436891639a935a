//! Cells as rows of a chart, under the names of their groups.

use octavo_experiment::findings::{CellFindings, Findings, GroupFindings};

use super::plot::Mark;
use crate::naming;

/// A cell in its row.
pub(super) struct CellRow<'a> {
    /// Its place on the vertical scale.
    pub(super) place: f64,
    /// The number of its group.
    pub(super) group: usize,
    pub(super) cell: &'a CellFindings,
}

/// The names of all rows, the rows of cells, and the headings of groups.
pub(super) fn rows<'a>(
    findings: &Findings,
    groups: &[&'a GroupFindings],
) -> (Vec<String>, Vec<CellRow<'a>>, Vec<Mark>) {
    let (mut names, mut rows, mut headings) = (Vec::new(), Vec::new(), Vec::new());
    for (number, group) in groups.iter().enumerate() {
        if !group.name.is_empty() {
            headings.push(Mark::Heading(names.len() as f64, group.name.clone()));
            names.push(String::new());
        }
        for cell in &group.cells {
            rows.push(CellRow {
                place: names.len() as f64,
                group: number,
                cell,
            });
            names.push(naming::cell(findings, cell));
        }
    }
    (names, rows, headings)
}
