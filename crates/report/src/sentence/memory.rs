//! What more memory is worth, and which group to follow.

use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::Level,
    statistics::Interval,
    verdict::{BufferFinding, Verdict},
};
use octavo_units::ByteCount;

use super::{Answer, on_hosts};
use crate::{
    naming,
    number::{ends, factors, is_bounded, percent},
};

/// What more cache is worth, with the page size that is to be used with the
/// largest memory.
pub(crate) fn memory(findings: &Findings) -> Option<Answer> {
    let (buffer, page_size) = compared_memories(findings)?;
    let small = buffer.small_over_large.filter(is_bounded)?;
    let (low, high) = (1.0 / small.high, 1.0 / small.low);
    let (small_size, large_size) = (buffer.small, buffer.large);
    let [ratio, from, to] = factors([1.0 / small.estimate, low, high]);
    // Where another memory is advised another page size, both are of this one.
    let is_other = |group: &&GroupFindings| match &group.verdict {
        Verdict::Use { level, .. } => *level != page_size,
        _ => naming::reference(findings, group).is_some_and(|level| level != page_size),
    };
    // And where it is not decided of all page sizes alike.
    let is_more = |of: &BufferFinding| {
        let small = of.small_over_large.filter(is_bounded);
        small.is_some_and(|small| small.high < 1.0)
    };
    let differs = |of: &BufferFinding| is_more(of) != is_more(buffer);
    let is_named =
        naming::groups(findings).iter().any(is_other) || findings.buffers.iter().any(differs);
    let with = match is_named {
        true => format!(" with {}", page_size.with_noun()),
        false => String::new(),
    };
    let runs = match findings.plan.pace() {
        Some(_) => format!(
            "{large_size} has {} of {small_size}'s mean response time{with} (95% CI {}).",
            percent(small.estimate),
            ends(&small, percent)
        ),
        None => format!(
            "{large_size} runs {ratio} as fast as {small_size}{with} (95% CI {from} to {to}{}).",
            on_hosts(findings, &small)
        ),
    };
    Some(match MoreCache::of(findings, small) {
        MoreCache::Helps => Answer::new("give it cache", runs),
        MoreCache::ChangesNothing => Answer::new(
            &format!("{small_size} of cache is enough"),
            format!(
                "{large_size} changes less than {}.",
                percent(findings.plan.margin)
            ),
        ),
        MoreCache::MayNotHelp => Answer::new("more cache may not help", runs),
        MoreCache::Open => Answer::new("not decided whether more cache helps", runs),
    })
}

/// What is known of more cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreCache {
    Helps,
    ChangesNothing,
    /// It does not help, or slows down.
    MayNotHelp,
    Open,
}

impl MoreCache {
    /// By throughput with less memory over that with more.
    fn of(findings: &Findings, small_over_large: Interval) -> Self {
        let margin = 1.0 + findings.plan.margin;
        let (low, high) = (1.0 / small_over_large.high, 1.0 / small_over_large.low);
        if low > 1.0 && high > margin {
            Self::Helps
        } else if high <= margin && low >= 1.0 / margin {
            Self::ChangesNothing
        } else if high <= margin {
            Self::MayNotHelp
        } else {
            Self::Open
        }
    }
}

/// What is known of more cache, and the less of it, where two were compared.
pub(super) fn more_cache(findings: &Findings) -> Option<(MoreCache, ByteCount)> {
    let (buffer, _) = compared_memories(findings)?;
    let small = buffer.small_over_large.filter(is_bounded)?;
    Some((MoreCache::of(findings, small), buffer.small))
}

/// Two memories with the page size that the largest is advised, and that one.
fn compared_memories(findings: &Findings) -> Option<(&BufferFinding, Level)> {
    let largest = *naming::groups(findings).first()?;
    let page_size = match &largest.verdict {
        Verdict::Use { level, .. } => level.clone(),
        _ => naming::reference(findings, largest)?,
    };
    let is_meant = |of: &&BufferFinding| Level::PageSize(of.page_size) == page_size;
    let buffer = findings.buffers.iter().find(is_meant)?;
    Some((buffer, page_size))
}

/// The group to follow: the first, or the one with less memory that is said to be enough.
pub(crate) fn to_follow<'a>(
    findings: &Findings,
    groups: &[&'a GroupFindings],
) -> Option<&'a GroupFindings> {
    let known = more_cache(findings);
    let enough = known.filter(|(more, _)| *more == MoreCache::ChangesNothing);
    let enough = enough.map(|(_, small)| small);
    let is_meant = |group: &&&GroupFindings| {
        let memory = group.cells.first().map(|cell| cell.cell.memory);
        memory.is_some() && memory == enough
    };
    let meant = groups.iter().find(is_meant);
    meant.or(groups.first()).copied()
}
