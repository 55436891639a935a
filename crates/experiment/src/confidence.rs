//! How far an answer can be trusted: by what a person who follows it risks.

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

/// An interval says nothing whose ends are farther apart than this factor: few batches give such
/// ones. Chosen.
const WIDEST: f64 = 100.0;

/// Whether an interval says anything: it has two ends, and these are not so far apart that
/// everything is between them.
pub fn says_something(interval: &Interval) -> bool {
    let Interval { low, high, .. } = *interval;
    low > 0.0 && high.is_finite() && high / low <= WIDEST
}

/// Sittings in which something is repeated.
const REPEATED: usize = 2;

/// What a person risks who follows the answer; the least trust comes first. [`confidence`] has
/// the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Doubt {
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
        /// By its interval it may be better by this share, 0 to 1.
        stake: f64,
    },
    /// Nothing was repeated on fresh copies.
    OneSitting,
}

/// How far the answer can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confidence {
    /// What is risked.
    pub trust: Trust,
    /// Why it is not more; `None` of the highest.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

/// How far the answer can be trusted; `None` where there is none: before anything was
/// compared, and of ramps, which are compared with nothing.
///
/// | trust | when |
/// |---|---|
/// | predicted only | models said all of it |
/// | low | a caveat is [`Severity::Void`] or [`Severity::Choice`]; or a level may be better than what is advised by more than [`MEDIUM_STAKE`] (the margin, where that is more), or has no interval yet |
/// | medium | a caveat is [`Severity::Amount`]; or a level may be better by more than the margin; or there was one sitting, so that start-up and placement are not known |
/// | high | else: nothing can be better by more than the margin |
///
/// By how much a level may be better is the upper end of its interval over the estimate of what
/// is advised. It is asked of levels that are open or tied.
pub fn confidence(findings: &Findings) -> Option<Confidence> {
    let groups = || findings.groups.iter().filter(|group| group.cells.len() > 1);
    let is_known = |cell: &CellFindings| cell.throughput.is_some();
    if !groups().any(|group| group.cells.iter().any(is_known)) {
        return None;
    }
    let is = |trust, doubt| Some(Confidence { trust, doubt });
    if findings.source == Source::Predicted {
        return is(Trust::PredictedOnly, Some(Doubt::Models));
    }
    let severities = findings.caveats.iter().map(|caveat| caveat.severity());
    let severity = severities.max().unwrap_or(Severity::Note);
    let caveat = Some(Doubt::Caveat { severity });
    if severity >= Severity::Choice {
        return is(Trust::Low, caveat);
    }
    let mut most: Option<(f64, Doubt)> = None;
    for group in groups() {
        for (level, ratio) in contenders(group) {
            let Some(stake) = ratio.and_then(|ratio| stake(group, ratio)) else {
                return is(Trust::Low, Some(Doubt::TooFew));
            };
            if most.as_ref().is_none_or(|(least, _)| stake > *least) {
                let (group, level) = (group.name.clone(), level.clone());
                most = Some((
                    stake,
                    Doubt::Open {
                        group,
                        level,
                        stake,
                    },
                ));
            }
        }
    }
    let margin = findings.plan.margin;
    match most {
        Some((stake, open)) if stake > MEDIUM_STAKE.max(margin) => is(Trust::Low, Some(open)),
        _ if severity == Severity::Amount => is(Trust::Medium, caveat),
        Some((stake, open)) if stake > margin => is(Trust::Medium, Some(open)),
        _ if findings.sittings < REPEATED => is(Trust::Medium, Some(Doubt::OneSitting)),
        _ => is(Trust::High, None),
    }
}

/// Levels that may be better than what is advised, with their ratios.
fn contenders(group: &GroupFindings) -> impl Iterator<Item = (&Level, Option<Interval>)> {
    let (open, ties) = match &group.verdict {
        Verdict::Use { open, ties, .. } => (open.as_slice(), ties.as_slice()),
        Verdict::Inconclusive { open, .. } => (open.as_slice(), [].as_slice()),
        Verdict::Keep { .. } => ([].as_slice(), [].as_slice()),
    };
    open.iter().chain(ties).filter_map(|level| {
        let mut cells = group.cells.iter();
        let cell = cells.find(|cell| cell.level == level.to_string())?;
        // Predicted to be slow, and therefore not measured.
        let is_left_out = cell.expected.is_some_and(|expected| expected.is_left_out);
        (cell.ratio.is_some() || !is_left_out).then_some((level, cell.ratio))
    })
}

/// By which share a level of this ratio may be better than what its group is advised; `None`
/// of an interval that says nothing.
fn stake(group: &GroupFindings, ratio: Interval) -> Option<f64> {
    let advised = match &group.verdict {
        Verdict::Use { ratio, .. } => ratio.estimate,
        Verdict::Keep { .. } | Verdict::Inconclusive { .. } => 1.0,
    };
    let stake = ratio.high / advised - 1.0;
    says_something(&ratio).then(|| stake.max(0.0))
}
