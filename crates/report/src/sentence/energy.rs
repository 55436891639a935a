//! What transactions took of energy: of emulated and modeled devices, and of machines.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    machine::EnergyScope,
    verdict::Verdict,
};

use crate::{naming, number::joules};

/// One sentence for each group of which it is known, then how it is known: first of the
/// device alone, then of the machine.
pub(crate) fn energy(findings: &Findings) -> Vec<String> {
    let mut sentences = told(findings, device);
    if !sentences.is_empty() {
        sentences.push(
            "Calculated from the device's idle and active power and its busy time. The rest of \
             the machine is not included."
                .into(),
        );
    }
    sentences.extend(told(findings, machine));
    let cells = findings.groups.iter().flat_map(|group| &group.cells);
    let mut seen = Vec::new();
    for covers in cells.filter_map(|cell| Some(cell.machine_energy?.covers)) {
        if !seen.contains(&covers) {
            seen.push(covers);
            sentences.push(how(covers).into());
        }
    }
    sentences
}

/// What an energy covers, for the beginning of a table.
pub(crate) fn covered(covers: EnergyScope) -> &'static str {
    match covers {
        EnergyScope::Machine => "the whole machine",
        EnergyScope::MachineWithoutStorage => "the machine without its storage",
        EnergyScope::PackagesAndMemory => "processors and memory",
        EnergyScope::Packages => "the processors",
    }
}

/// How the energy was found, and what it leaves out.
fn how(covers: EnergyScope) -> &'static str {
    match covers {
        EnergyScope::Machine => {
            "The machine's energy is calculated: its idle power for all of the time, the power of \
             each busy processor, and the device's energy."
        }
        EnergyScope::MachineWithoutStorage => {
            "The machine's energy is calculated: its idle power for all of the time, and the \
             power of each busy processor. The storage is not included: its power is not known."
        }
        EnergyScope::PackagesAndMemory => {
            "Processors and memory counted their energy themselves (RAPL) while the transactions \
             ran, other programs included. Disks, fans, network and power supplies are not."
        }
        EnergyScope::Packages => {
            "The processors counted their energy themselves (RAPL) while the transactions ran, \
             other programs included. Memory, disks, fans, network and power supplies are not."
        }
    }
}

/// The energy of a cell's transaction.
#[derive(Clone, Copy)]
struct CellEnergy {
    /// Whose energy it is.
    whose: &'static str,
    joules: f64,
    idle_joules: Option<f64>,
}

fn device(cell: &CellFindings) -> Option<CellEnergy> {
    let energy = cell.energy?;
    Some(CellEnergy {
        whose: "the device alone",
        joules: energy.joules_per_transaction,
        idle_joules: Some(energy.idle_joules_per_transaction),
    })
}

fn machine(cell: &CellFindings) -> Option<CellEnergy> {
    let energy = cell.machine_energy?;
    Some(CellEnergy {
        whose: covered(energy.covers),
        joules: energy.joules_per_transaction,
        idle_joules: energy.idle_joules_per_transaction,
    })
}

fn told(findings: &Findings, of: fn(&CellFindings) -> Option<CellEnergy>) -> Vec<String> {
    let groups = naming::groups(findings).into_iter();
    groups
        .filter_map(|group| least(findings, group, of))
        .collect()
}

/// The cell of the least energy, and what is told beside it.
fn least(
    findings: &Findings,
    group: &GroupFindings,
    of: fn(&CellFindings) -> Option<CellEnergy>,
) -> Option<String> {
    if matches!(group.verdict, Verdict::Cold { .. }) {
        return None;
    }
    let known: Vec<(&CellFindings, CellEnergy)> = group
        .cells
        .iter()
        // No database has what a bound has.
        .filter(|cell| !cell.cell.database.is_bound())
        .filter_map(|cell| Some((cell, of(cell)?)))
        .collect();
    let (cell, energy) = known
        .iter()
        .min_by(|(_, a), (_, b)| a.joules.total_cmp(&b.joules))?;
    let with = |cell: &CellFindings| naming::own_level(findings, cell).with_noun();
    let whose = energy.whose;
    let mut sentence = match known.len() {
        1 if group.cells.len() == 1 => format!("{whose} took"),
        1 => format!("with {} {whose} took", with(cell)),
        _ => format!("{whose} took the least energy with {},", with(cell)),
    };
    let each = |energy: &CellEnergy, unit: &str| {
        let idle = energy.idle_joules.map(joules);
        let idle = idle.map_or_else(String::new, |idle| format!(" ({idle} idle)"));
        format!("{}{unit}{idle}", joules(energy.joules))
    };
    sentence += &format!(" {}", each(energy, " per transaction"));
    if let Some((other, most, energy)) = beside(&known, cell) {
        let most = if most { "the most " } else { "" };
        sentence += &format!("; {most}with {}, {}", with(other), each(energy, ""));
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
        a.1.joules.total_cmp(&b.1.joules)
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

    #[test]
    fn machines_are_told_with_what_they_cover() {
        let mut findings = fixture::one_memory();
        fixture::give_machine_energy(&mut findings, EnergyScope::Machine);
        let said = energy(&findings);
        assert_eq!(
            said[0],
            "The whole machine took the least energy with 8 KiB pages, 123 mJ per transaction \
             (101 mJ idle); with 4 KiB pages, 150 mJ (120 mJ idle)."
        );
        assert!(said[1].contains("is calculated"), "{said:?}");
        assert_eq!(said.len(), 2);
        let mut findings = fixture::one_memory();
        fixture::give_machine_energy(&mut findings, EnergyScope::PackagesAndMemory);
        let said = energy(&findings);
        assert_eq!(
            said[0],
            "Processors and memory took the least energy with 8 KiB pages, 123 mJ per \
             transaction; with 4 KiB pages, 150 mJ."
        );
        assert!(said[1].contains("RAPL"), "{said:?}");
        assert!(said[1].contains("Disks, fans"), "{said:?}");
    }
}
