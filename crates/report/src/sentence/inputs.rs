//! What predicted figures follow.

use octavo_experiment::{
    findings::{CellFindings, Findings},
    inputs::{Input, InputName},
};

use crate::number::{list, percent};

/// Explains the table of inputs and their uncertainty; empty for measurements.
pub(crate) fn inputs(findings: &Findings) -> Vec<String> {
    let cells = findings.groups.iter().flat_map(|group| &group.cells);
    // Of one page size, what it has for itself is in no ratio.
    let has_sizes = findings.plan.page_sizes.len() > 1;
    // The one with the largest error of its own is not the default.
    let of = |name: InputName| {
        let inputs = cells.clone().flat_map(|cell: &CellFindings| &cell.inputs);
        let named = inputs.filter(move |input: &&Input| input.name == name);
        named.max_by(|a, b| a.uncertainty.own.total_cmp(&b.uncertainty.own))
    };
    let known = InputName::ALL.into_iter().filter_map(of).map(|input| {
        let [shared, own] = [input.uncertainty.shared, input.uncertainty.own].map(percent);
        match has_sizes {
            true => format!("{} to {shared} ({own})", named(input.name)),
            false => format!("{} to {shared}", named(input.name)),
        }
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() {
        return Vec::new();
    }
    let each = match has_sizes {
        true => "in parentheses what each page size has for itself; ",
        false => "",
    };
    vec![format!(
        "Sensitivity: 0.5 means +10% in this input adds 5% to transaction time. Intervals allow for \
         what is not known of inputs: {} ({each}standard deviations).",
        list(&known, "and")
    )]
}

/// As in a sentence.
fn named(name: InputName) -> &'static str {
    match name {
        InputName::Processor => "the processor's time",
        InputName::Reads => "reads",
        InputName::Writes => "writes and flushes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn how_well_inputs_are_known_is_said_once() {
        let mut findings = fixture::findings();
        assert!(inputs(&findings).is_empty());
        fixture::predict(&mut findings);
        let said = inputs(&findings);
        assert_eq!(
            said,
            [
                "Sensitivity: 0.5 means +10% in this input adds 5% to transaction time. Intervals \
                 allow for what is not known of inputs: the processor's time to 10% (10%), reads to \
                 12% (6%) and writes and flushes to 12% (9%) (in parentheses what each page size \
                 has for itself; standard deviations)."
            ]
        );
    }
}
