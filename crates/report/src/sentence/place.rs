//! The outcome of a cell, for a table.

use octavo_experiment::{
    confidence::advised,
    findings::{CellFindings, Findings, GroupFindings},
    lockstep::DepartureReason,
    statistics::{self, Decision, Interval},
    verdict::Verdict,
};
use octavo_units::ByteCount;

use super::standing::{standing, standing_of};
use crate::{
    document::{Cell, Tone},
    naming,
    number::{counted, is_bounded, join, percent, seconds, signed, was},
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
    let mut said = standing_of(findings, cell, reference);
    if matches!(&group.verdict, Verdict::Use { level, .. } if *level == own) {
        said.text += ", winner";
    }
    if let Some(expected) = cell.expected.filter(|_| !cell.reference) {
        said.text += &format!(", predicted {}", signed(expected.ratio));
        if expected.is_left_out && cell.throughput.is_none() {
            return said;
        }
    }
    let beside = beside_winner(findings, group, cell);
    if let (Some(beside), Some(winner)) = (beside, advised(group)) {
        let winner = naming::cell(findings, winner);
        said.text += &format!(", {} {winner}", beside.words());
    }
    if let Some(left) = cell.left {
        match left.why {
            // Another one may have led then.
            DepartureReason::Behind { leader } if beside.is_none() => {
                let leader = group.cells.get(leader);
                let leader = leader.map_or("the leader".into(), |of| naming::cell(findings, of));
                said.text += &format!(", behind {leader}");
            }
            DepartureReason::NoResult => said.text += ", no result",
            DepartureReason::Behind { .. } | DepartureReason::Slower | DepartureReason::Equal => {}
        }
        if is_out(cell) {
            let measured = seconds(left.measured.as_secs_f64());
            said.text += &format!(", out after {measured}");
        }
    }
    said
}

/// How a cell compares with the winner of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Faster,
    MayBeFaster,
    AtMostAsFast,
    AsFast,
    Behind,
}

impl Beside {
    /// The words before the winner's name.
    fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster than",
            Self::MayBeFaster => "may be faster than",
            Self::AtMostAsFast => "at most as fast as",
            Self::AsFast => "as fast as",
            Self::Behind => "behind",
        }
    }
}

/// How a cell compares with the winner of its group directly: of what is faster than the
/// reference, or may be. `None` of others, and where that is not known.
///
/// Both move alike from batch to batch, so that a cell which differs from the reference by
/// nobody knows how much may well be known to be behind the winner.
pub(crate) fn beside_winner(
    findings: &Findings,
    group: &GroupFindings,
    cell: &CellFindings,
) -> Option<Beside> {
    let may_win = matches!(cell.decision, Some(Decision::Better | Decision::Open));
    let over = cell.over_advised.filter(is_bounded).filter(|_| may_win)?;
    let margin = findings.plan.margin;
    let has_winner = matches!(group.verdict, Verdict::Use { .. });
    has_winner.then(|| match statistics::decision(&over, margin) {
        Decision::Better => Beside::Faster,
        Decision::Worse => Beside::Behind,
        Decision::Equivalent => Beside::AsFast,
        Decision::Open if over.high <= 1.0 + margin => Beside::AtMostAsFast,
        Decision::Open => Beside::MayBeFaster,
    })
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
                true => "took more than 1.5 times as long as their work, checkpoints aside",
                false => "took more than 1.5 times as long as their work",
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

/// `11% of the data`, of a group's memory; `None` where its data is not known, and where the OS
/// holds all of it.
pub(crate) fn share_of_data(findings: &Findings, group: &GroupFindings) -> Option<String> {
    let cell = &naming::reference_cell(group)?.cell;
    let kind = cell.database.kind().ok()?;
    if kind.is_held_by_os(&cell.database.options) {
        return None;
    }
    let memory = cell.memory;
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
    Some(least.up_to(*most))
}

/// Passes of copies that were young, which do not count for any group.
pub(super) fn young_passes(findings: &Findings) -> usize {
    let young = findings.groups.iter().map(|group| {
        let young = group.young.as_ref();
        young.map_or(0, |young| young.all_passes)
    });
    young.min().unwrap_or(0)
}

/// `88 passes`, or how many of them count.
pub(super) fn counted_passes(findings: &Findings) -> String {
    match findings.screened.all() + young_passes(findings) {
        0 => counted(findings.passes, "pass"),
        out => format!(
            "{} of {}",
            findings.passes.saturating_sub(out),
            counted(findings.passes, "pass")
        ),
    }
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
    fn rows_stand_beside_the_winner() {
        let mut findings = fixture::one_memory();
        let said = |findings: &Findings| {
            let group = &findings.groups[0];
            place(findings, group, &group.cells[3]).text
        };
        let cell = &mut findings.groups[0].cells[3];
        cell.passes_missed = 0;
        let left = cell.left.as_mut().unwrap();
        // 4 KiB led then, and 8 KiB won.
        left.why = DepartureReason::Behind { leader: 1 };
        (cell.decision, cell.likely) = (Some(Decision::Better), None);
        assert_eq!(said(&findings), "faster, behind 4 KiB");
        for (estimate, low, high, stands) in [
            (0.9, 0.85, 0.95, "behind"),
            (1.0, 0.98, 1.02, "as fast as"),
            (0.95, 0.89, 1.02, "at most as fast as"),
            (0.95, 0.8, 1.14, "may be faster than"),
            (1.1, 1.05, 1.14, "faster than"),
        ] {
            findings.groups[0].cells[3].over_advised = Some(Interval {
                estimate,
                low,
                high,
                batches: 6,
            });
            assert_eq!(said(&findings), format!("faster, {stands} 8 KiB"));
        }
        let cell = &mut findings.groups[0].cells[3];
        (cell.left, cell.decision) = (None, Some(Decision::Open));
        assert_eq!(said(&findings), "too close to call, faster than 8 KiB");
        // Slower than the reference is slower than the winner.
        findings.groups[0].cells[3].decision = Some(Decision::Worse);
        assert_eq!(said(&findings), "slower");
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
