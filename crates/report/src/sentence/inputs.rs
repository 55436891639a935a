//! What predicted figures follow.

use octavo_experiment::{
    findings::{CellFindings, Findings},
    inputs::{Input, InputName, Uncertainty},
};

use crate::number::{list, percent};

/// Explains the table of inputs and their uncertainty; empty for measurements.
pub(crate) fn inputs(findings: &Findings) -> Vec<String> {
    let cells = findings.groups.iter().flat_map(|group| &group.cells);
    // Of one page size, what it has for itself is in no ratio.
    let has_sizes = findings.plan.page_sizes.len() > 1;
    let is_alone = cells.clone().all(|cell| cell.reference);
    let known = InputName::ALL.into_iter().filter_map(|name| {
        let rivals = cells.clone().filter(|cell| is_alone || !cell.reference);
        let inputs = rivals.flat_map(|cell: &CellFindings| &cell.inputs);
        let own = inputs.filter(|input: &&Input| input.name == name);
        let own: Vec<Uncertainty> = own.map(|input| input.uncertainty).collect();
        let by_own = |one: &&Uncertainty, other: &&Uncertainty| one.own.total_cmp(&other.own);
        let (least, most) = (own.iter().min_by(by_own)?, own.iter().max_by(by_own)?);
        let [shared, least, most] = [most.shared, least.own, most.own].map(percent);
        // Page sizes may have been timed beside others, or alone.
        Some(match has_sizes {
            true if least == most => format!("{} to {shared} ({most})", named(name)),
            true => format!("{} to {shared} ({least} to {most})", named(name)),
            false => format!("{} to {shared}", named(name)),
        })
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
