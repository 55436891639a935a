//! What transactions took of the energy of emulated devices.

use octavo_experiment::{
    energy::CellEnergy,
    findings::{CellFindings, Findings, GroupFindings},
};

use crate::{naming, number::joules};

/// One sentence for each group of which it is known, then how it is known.
pub(crate) fn energy(findings: &Findings) -> Vec<String> {
    let mut sentences: Vec<String> = naming::groups(findings)
        .into_iter()
        .filter_map(|group| least(findings, group))
        .collect();
    if !sentences.is_empty() {
        sentences.push(
            "Calculated from the device's idle and active power and its busy time. The rest of \
             the machine is not included."
                .into(),
        );
    }
    sentences
}

/// The cell of the least energy, and what is told beside it.
fn least(findings: &Findings, group: &GroupFindings) -> Option<String> {
    let known: Vec<(&CellFindings, CellEnergy)> = group
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.energy?)))
        .collect();
    let (cell, energy) = known.iter().min_by(|(_, a), (_, b)| {
        a.joules_per_transaction
            .total_cmp(&b.joules_per_transaction)
    })?;
    let with = |cell: &CellFindings| naming::own_level(findings, cell).with_noun();
    let mut sentence = match known.len() {
        1 if group.cells.len() == 1 => "the device alone took".to_owned(),
        1 => format!("with {} the device alone took", with(cell)),
        _ => format!(
            "the device alone took the least energy with {},",
            with(cell)
        ),
    };
    sentence += &format!(
        " {} per transaction ({} idle)",
        joules(energy.joules_per_transaction),
        joules(energy.idle_joules_per_transaction)
    );
    if let Some((other, most, energy)) = beside(&known, cell) {
        let most = if most { "the most " } else { "" };
        sentence += &format!(
            "; {most}with {}, {} ({} idle)",
            with(other),
            joules(energy.joules_per_transaction),
            joules(energy.idle_joules_per_transaction)
        );
    }
    sentence.push('.');
    Some(naming::with(&group.name, &sentence))
}

/// What to tell beside the cell of the least energy: the reference, or, where it
/// is that itself, the cell of the most, then true.
fn beside<'a>(
    known: &'a [(&'a CellFindings, CellEnergy)],
    least: &CellFindings,
) -> Option<(&'a CellFindings, bool, &'a CellEnergy)> {
    let by_joules = |a: &&(&CellFindings, CellEnergy), b: &&(&CellFindings, CellEnergy)| {
        a.1.joules_per_transaction
            .total_cmp(&b.1.joules_per_transaction)
    };
    let (other, most) = if least.reference {
        (known.iter().max_by(by_joules), known.len() > 2)
    } else {
        (known.iter().find(|(cell, _)| cell.reference), false)
    };
    other
        .filter(|(cell, _)| cell.cell != least.cell)
        .map(|(cell, energy)| (*cell, most, energy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn least_energy_is_compared_with_the_reference() {
        assert_eq!(energy(&fixture::findings()), [""; 0]);
        let mut findings = fixture::one_memory();
        fixture::give_energy(&mut findings);
        assert_eq!(
            energy(&findings)[0],
            "The device alone took the least energy with 8 KiB pages, 12.3 mJ per \
             transaction (10.1 mJ idle); with 4 KiB pages, 15.0 mJ (12.0 mJ idle)."
        );
        let cells = &mut findings.groups[0].cells;
        cells.retain(|cell| cell.cell.page_size.get() != 8192);
        assert_eq!(
            energy(&findings)[0],
            "The device alone took the least energy with 4 KiB pages, 15.0 mJ per \
             transaction (12.0 mJ idle); the most with 64 KiB pages, 123 mJ (100 mJ idle)."
        );
        let cells = &mut findings.groups[0].cells;
        cells.retain(|cell| cell.reference);
        assert_eq!(
            energy(&findings)[0],
            "The device alone took 15.0 mJ per transaction (12.0 mJ idle)."
        );
    }

    #[test]
    fn one_of_several_cells_is_named() {
        let mut findings = fixture::one_memory();
        fixture::give_energy(&mut findings);
        for cell in &mut findings.groups[0].cells {
            cell.energy = cell.energy.filter(|_| cell.reference);
        }
        assert_eq!(
            energy(&findings)[0],
            "With 4 KiB pages the device alone took 15.0 mJ per transaction (12.0 mJ idle)."
        );
    }
}
