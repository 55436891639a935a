//! How far an answer can be trusted: by what a person who follows it risks.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    caveats::Severity,
    findings::{CellFindings, Findings, GroupFindings},
    plan::Level,
    record::Source,
    statistics::Interval,
    verdict::Verdict,
};

/// The most throughput that an answer of medium confidence puts at stake. Chosen: as far as
/// sittings may lie apart ([`SITTINGS_TOLERATED`](crate::findings::SITTINGS_TOLERATED)).
pub const MEDIUM_STAKE: f64 = 0.1;

/// Sittings in which something is repeated.
const REPEATED: usize = 2;

/// Batches from which on a sitting alone speaks against the answer: with fewer its interval
/// hangs on how little two or three batches happen to differ.
const BATCHES_OF_SITTING: usize = 4;

/// The ratio of the reference to itself.
const EXACTLY_1: Interval = Interval {
    estimate: 1.0,
    low: 1.0,
    high: 1.0,
    batches: usize::MAX,
};

/// What a person risks who follows the answer; the least trust comes first. [`confidence`] has
/// the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceLevel {
    /// As much as models are off, which intervals do not show.
    PredictedOnly,
    /// More than [`MEDIUM_STAKE`], or nobody knows how much: another choice may be the best.
    Low,
    /// At most [`MEDIUM_STAKE`], or that the gain is another one than said.
    Medium,
    /// At most the margin.
    High,
}

/// Why it is not more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum ConfidenceLimit {
    /// Models said all of it.
    Models,
    /// A caveat, the worst of [`Findings::caveats`].
    Caveat {
        /// What it does to the verdict.
        severity: Severity,
    },
    /// Too few passes for any interval.
    TooFew,
    /// A level may still be better than what is advised.
    Open {
        /// The group's name; empty when there is one.
        group: String,
        /// The level of which most is at stake.
        level: Level,
        /// Its throughput over that of what is advised.
        ratio: Interval,
        /// By the upper end of that it may be better by this share, 0 to 1.
        stake: f64,
    },
    /// In one sitting a level was better than what is advised.
    Sitting {
        /// The group's name; empty when there is one.
        group: String,
        /// The level.
        level: Level,
        /// The sitting, from 1.
        sitting: u32,
        /// By this share, 0 to 1.
        stake: f64,
    },
    /// Nothing was repeated on fresh copies.
    OneSitting,
}

/// How far the answer can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Confidence {
    /// What is risked.
    pub trust: ConfidenceLevel,
    /// Why it is not more, each reason enough alone; none of the highest.
    pub doubts: Vec<ConfidenceLimit>,
}

/// How far the answer can be trusted; `None` where there is none: before anything was
/// compared, and of ramps, which are compared with nothing.
///
/// | trust | when |
/// |---|---|
/// | predicted only | models said all of it |
/// | low | a caveat is [`Severity::Void`] or [`Severity::Choice`]; or a level may be better than what is advised by more than [`MEDIUM_STAKE`] (the margin, where that is more), or has no interval yet |
/// | medium | a caveat is [`Severity::Amount`]; or a level may be better by more than the margin; or the answer was found in one sitting, so that start-up and placement are not known |
/// | high | else: nothing can be better by more than the margin, and nothing was beyond chance in any sitting |
///
/// By how much a level may be better is the upper end of its ratio to what is advised, asked of
/// levels that are open or tied; or its ratio to that within a sitting, asked of all levels.
pub fn confidence(findings: &Findings) -> Option<Confidence> {
    let groups = || findings.groups.iter().filter(|group| group.cells.len() > 1);
    let is_known = |cell: &CellFindings| cell.throughput.is_some();
    if !groups().any(|group| group.cells.iter().any(is_known)) {
        return None;
    }
    if findings.source == Source::Predicted {
        return Some(Confidence {
            trust: ConfidenceLevel::PredictedOnly,
            doubts: vec![ConfidenceLimit::Models],
        });
    }
    let severities = findings.caveats.iter().map(|caveat| caveat.severity());
    let severity = severities.max().unwrap_or(Severity::Note);
    let by_caveats = match severity {
        Severity::Void | Severity::Choice => Some(ConfidenceLevel::Low),
        Severity::Amount => Some(ConfidenceLevel::Medium),
        Severity::Note => None,
    };
    let by_caveats = by_caveats.map(|trust| (trust, ConfidenceLimit::Caveat { severity }));
    let all = [by_caveats, of_levels(findings)].into_iter().flatten();
    let all: Vec<(ConfidenceLevel, ConfidenceLimit)> = all.collect();
    let trust = all.iter().map(|(trust, _)| *trust).min();
    let trust = trust.unwrap_or(ConfidenceLevel::High);
    let doubts = all.into_iter().filter(|(of, _)| *of == trust);
    Some(Confidence {
        trust,
        doubts: doubts.map(|(_, doubt)| doubt).collect(),
    })
}

/// What is risked by what the levels may be, caveats aside; `None` where that is no more than
/// the margin.
fn of_levels(findings: &Findings) -> Option<(ConfidenceLevel, ConfidenceLimit)> {
    let groups = || findings.groups.iter().filter(|group| group.cells.len() > 1);
    let mut most: Option<(f64, ConfidenceLimit)> = None;
    let mut add = |stake: f64, doubt: ConfidenceLimit| {
        if most.as_ref().is_none_or(|(least, _)| stake > *least) {
            most = Some((stake, doubt));
        }
    };
    for group in groups() {
        for (level, cell) in contenders(group) {
            let Some(ratio) = over_advised(group, cell) else {
                return Some((ConfidenceLevel::Low, ConfidenceLimit::TooFew));
            };
            let stake = (ratio.high - 1.0).max(0.0);
            let doubt = ConfidenceLimit::Open {
                group: group.name.clone(),
                level: level.clone(),
                ratio,
                stake,
            };
            add(stake, doubt);
        }
        // Over hosts, who is against it is a caveat.
        if let Some((stake, cell, sitting)) = against(group).filter(|_| !findings.is_over_hosts()) {
            let doubt = ConfidenceLimit::Sitting {
                group: group.name.clone(),
                level: findings.plan.level(&cell.cell, findings.plan.compare),
                sitting: sitting + 1,
                stake,
            };
            add(stake, doubt);
        }
    }
    let margin = findings.plan.margin;
    match most {
        Some((stake, open)) if stake > MEDIUM_STAKE.max(margin) => {
            Some((ConfidenceLevel::Low, open))
        }
        Some((stake, open)) if stake > margin => Some((ConfidenceLevel::Medium, open)),
        _ if !groups().all(is_repeated) && !findings.is_over_hosts() => {
            Some((ConfidenceLevel::Medium, ConfidenceLimit::OneSitting))
        }
        _ => None,
    }
}

/// Levels that may be better than what is advised, with their cells.
fn contenders(group: &GroupFindings) -> impl Iterator<Item = (&Level, &CellFindings)> {
    let (open, ties) = match &group.verdict {
        Verdict::Use { open, ties, .. } => (open.as_slice(), ties.as_slice()),
        Verdict::Inconclusive { open, .. } => (open.as_slice(), [].as_slice()),
        Verdict::Keep { .. } | Verdict::Alone { .. } | Verdict::Cold { .. } => {
            ([].as_slice(), [].as_slice())
        }
    };
    open.iter().chain(ties).filter_map(|level| {
        let mut cells = group.cells.iter();
        let cell = cells.find(|cell| cell.level == level.to_string())?;
        // Predicted to be slow, and therefore not measured.
        let is_left_out = cell.expected.is_some_and(|expected| expected.is_left_out);
        (cell.ratio.is_some() || !is_left_out).then_some((level, cell))
    })
}

/// The throughput of a level over that of what its group is advised; `None` where an interval
/// says nothing.
///
/// It is not made from the two ratios to the reference where the two can be compared directly:
/// what the reference did in some batches makes both ratios uncertain, and theirs not at all.
fn over_advised(group: &GroupFindings, cell: &CellFindings) -> Option<Interval> {
    let over_reference = cell.ratio.filter(Interval::says_something)?;
    let over_advised = match (&group.verdict, cell.over_advised) {
        (Verdict::Use { .. }, Some(over)) => over,
        (Verdict::Use { ratio, .. }, None) => over_reference.over(ratio),
        _ => over_reference,
    };
    Some(over_advised).filter(Interval::says_something)
}

/// The level that was better than what is advised by the largest share in one sitting, with
/// that sitting; `None` where none was beyond chance: where intervals overlap, and in sittings
/// of fewer than [`BATCHES_OF_SITTING`] batches.
fn against(group: &GroupFindings) -> Option<(f64, &CellFindings, u32)> {
    let advised = advised(group)?;
    let sittings = group.cells.iter().flat_map(|cell| &cell.by_sitting);
    let sittings: BTreeSet<u32> = sittings.map(|&(sitting, _)| sitting).collect();
    let ratio = |cell: &CellFindings, sitting: u32| match cell.reference {
        true => Some(EXACTLY_1),
        false => {
            let known = cell.by_sitting.iter().find(|(of, _)| *of == sitting);
            known.map(|(_, ratio)| *ratio)
        }
    };
    let of_sitting = |sitting: u32| {
        let usual = ratio(advised, sitting)?;
        let over = |cell| {
            let own = ratio(cell, sitting)?;
            let is_known = own.batches.min(usual.batches) >= BATCHES_OF_SITTING;
            let is_above = own.low > usual.high;
            (is_known && is_above).then(|| (own.estimate / usual.estimate - 1.0, cell))
        };
        let over = group.cells.iter().filter_map(over);
        let (stake, cell) = over.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        Some((stake, cell, sitting))
    };
    let found = sittings.into_iter().filter_map(of_sitting);
    found.max_by(|(one, ..), (other, ..)| one.total_cmp(other))
}

/// The cell of what a group is advised.
pub fn advised(group: &GroupFindings) -> Option<&CellFindings> {
    let level = match &group.verdict {
        Verdict::Use { level, .. } => Some(level.to_string()),
        Verdict::Keep { .. }
        | Verdict::Alone { .. }
        | Verdict::Cold { .. }
        | Verdict::Inconclusive { .. } => None,
    };
    let is_advised = |cell: &&CellFindings| match &level {
        Some(level) => cell.level == *level,
        None => cell.reference,
    };
    group.cells.iter().find(is_advised)
}

/// Whether what a group is advised was compared in several sittings: the reference with any
/// other level.
pub fn is_repeated(group: &GroupFindings) -> bool {
    advised(group).is_some_and(|advised| match advised.reference {
        true => group
            .cells
            .iter()
            .any(|cell| cell.sittings_compared() >= REPEATED),
        false => advised.sittings_compared() >= REPEATED,
    })
}
