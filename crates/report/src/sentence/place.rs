//! The outcome of a cell, for a table.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    lockstep::DepartureReason,
    statistics::{Decision, Interval},
    verdict::Verdict,
};
use octavo_units::ByteCount;

use super::standing;
use crate::{
    document::{Cell, Tone},
    naming,
    number::{counted, join, percent, seconds, signed, was},
};

/// How a cell compares, and when and why it was dropped.
pub(crate) fn place(findings: &Findings, group: &GroupFindings, cell: &CellFindings) -> Cell {
    let reference = cell.reference.then(|| naming::reference_word(findings));
    let own = naming::own_level(findings, cell);
    if let Verdict::Cold { cold, .. } = &group.verdict {
        let what = match (reference, cold.contains(&own)) {
            (Some(name), true) => format!("{name}, not warm"),
            (Some(name), false) => name.into(),
            (None, true) => "not warm".into(),
            (None, false) => "no answer".into(),
        };
        return Cell::toned(what, Tone::Open);
    }
    let mut said = standing(cell.decision, cell.ratio, cell.likely, reference);
    if matches!(&group.verdict, Verdict::Use { level, .. } if *level == own) {
        said.text += ", winner";
    }
    if let Some(expected) = cell.expected.filter(|_| !cell.reference) {
        said.text += &format!(", predicted {}", signed(expected.ratio));
        if expected.is_left_out && cell.throughput.is_none() {
            return said;
        }
    }
    if let Some(left) = cell.left {
        match left.why {
            DepartureReason::Behind { leader } => {
                let leader = group.cells.get(leader);
                let leader = leader.map_or("the leader".into(), |of| naming::cell(findings, of));
                said.text += &format!(", behind {leader}");
            }
            DepartureReason::NoResult => said.text += ", no result",
            DepartureReason::Slower | DepartureReason::Equal => {}
        }
        if is_out(cell) {
            let measured = seconds(left.measured.as_secs_f64());
            said.text += &format!(", out after {measured}");
        }
    }
    said
}

/// Whether a cell left before the end. What left at the last look was not missed.
pub(crate) fn is_out(cell: &CellFindings) -> bool {
    cell.left.is_some() && (cell.passes_missed > 0 || cell.throughput.is_none())
}

/// What leaving decided cells out saved; `None` while nothing is saved.
pub(crate) fn saved(findings: &Findings) -> Option<String> {
    let saved = findings.saved_s;
    (saved >= 1.0).then(|| format!("Dropping losers early saved {}.", seconds(saved)))
}

/// What was left out and why; `None` where nothing was.
pub(crate) fn screened(findings: &Findings) -> Option<String> {
    let out = findings.screened;
    let reasons = [
        (
            out.slow,
            match naming::times_checkpoints(findings) {
                true => "took more than 1.5 times as long as usual, checkpoints aside",
                false => "took more than 1.5 times as long as usual",
            },
        ),
        (
            out.foreign_traffic,
            "had more disk traffic of other programs than usual",
        ),
    ];
    let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
    let reasons = join(reasons.map(|(count, why)| format!("{count} {why}")), ", ");
    let disturbed = (!reasons.is_empty()).then(|| {
        let passes = counted(findings.passes, "pass");
        format!(
            "{} of {passes} {} left out: {reasons}.",
            out.disturbed(),
            was(out.disturbed())
        )
    });
    let decided = (out.decided > 0).then(|| {
        let passes = counted(out.decided, "pass");
        format!("Not counted: {passes} after all was decided.")
    });
    let said: Vec<String> = disturbed.into_iter().chain(decided).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// What is decided of the ratio of two stores.
pub(crate) fn decision(decision: Decision, ratio: Interval) -> Cell {
    standing(Some(decision), Some(ratio), None, None)
}

/// `11% of the data`, of a group's memory; `None` where its data is not known.
pub(crate) fn share_of_data(findings: &Findings, group: &GroupFindings) -> Option<String> {
    let memory = naming::reference_cell(group)?.cell.memory;
    let share = memory.get() as f64 / size_of_data(findings, group)?.get() as f64;
    (share > 0.0 && share < 1.0).then(|| format!("{} of the data", percent(share)))
}

/// Size of a group's data: of the copy that its reference uses. Those of other page sizes are
/// a little larger or smaller.
fn size_of_data(findings: &Findings, group: &GroupFindings) -> Option<ByteCount> {
    let key = naming::reference_cell(group)?.cell.snapshot();
    let snapshot = findings.snapshots.iter().find(|of| of.key == key)?;
    Some(snapshot.size)
}

/// Size of the data of all groups, where any is known: `299.0 MiB`, or from the least to the
/// most. Shares of the data are of the same sizes.
pub(crate) fn data(findings: &Findings) -> Option<String> {
    let groups = findings.groups.iter();
    let mut sizes: Vec<ByteCount> = groups
        .filter_map(|group| size_of_data(findings, group))
        .collect();
    if sizes.is_empty() {
        // Ramps are in no group.
        sizes.extend(findings.snapshots.iter().map(|of| of.size));
    }
    let (least, most) = (sizes.iter().min()?, sizes.iter().max()?);
    Some(match least == most {
        true => most.to_string(),
        false => format!("{least} to {most}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn shares_of_the_data_are_of_the_size_in_the_heading() {
        let mut findings = fixture::findings();
        for (place, snapshot) in findings.snapshots.iter_mut().enumerate() {
            let is_default = snapshot.key.page_size == octavo_units::PageSize::kib(4);
            snapshot.size = match is_default {
                true => ByteCount::mib(80),
                false => ByteCount::mib(160 + place as u64),
            };
        }
        assert_eq!(data(&findings).unwrap(), ByteCount::mib(80).to_string());
        let heading = crate::experiment::findings(&findings).terminal(200, false);
        let heading = heading.replace('\u{a0}', " ");
        assert!(heading.contains(", 80 MiB of data · "), "{heading}");
        let shares = naming::groups(&findings)
            .into_iter()
            .map(|group| share_of_data(&findings, group).unwrap());
        assert_eq!(
            shares.collect::<Vec<_>>(),
            ["40% of the data", "10% of the data"]
        );
    }

    #[test]
    fn what_was_saved_is_not_rounded_twice() {
        let mut findings = fixture::findings();
        findings.saved_s = 4.146;
        assert_eq!(
            saved(&findings).unwrap(),
            "Dropping losers early saved 4.15 s."
        );
    }
}
