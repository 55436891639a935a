//! Whether the sizes that were measured go on behind the one of an answer.

use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::Level,
    verdict::Verdict,
};
use octavo_units::PageSize;

use crate::{naming, number::list};

/// That an answer is the smallest or the largest size that was measured, and what lies beyond.
pub(crate) fn beyond_range(findings: &Findings) -> Vec<String> {
    let edges = findings.groups.iter().filter_map(|group| {
        let (size, what) = match &group.verdict {
            Verdict::Use {
                level: Level::PageSize(size),
                ..
            } => (size, "best page size"),
            // What lies beyond may be better.
            Verdict::Keep {
                level: Level::PageSize(size),
                ..
            } => (size, "page size to keep"),
            _ => return None,
        };
        Some((
            (next_size(findings, group, *size)?, what),
            group.name.as_str(),
        ))
    });
    let mut groups: Vec<((PageSize, &str), Vec<&str>)> = Vec::new();
    for (edge, name) in edges {
        match groups.iter_mut().find(|(of, _)| *of == edge) {
            Some((_, names)) => names.push(name),
            None => groups.push((edge, vec![name])),
        }
    }
    let said = groups.into_iter().map(|((edge, what), names)| {
        let end = match findings.plan.page_sizes.iter().all(|size| edge < *size) {
            true => "smallest",
            false => "largest",
        };
        let sentence = format!(
            "the {what} is the {end} that was {}. Try {edge} too, in a new directory.",
            findings.source.name()
        );
        // Of all groups none is named.
        let all = names.len() == findings.groups.len();
        let name = if all {
            String::new()
        } else {
            list(&names, "and")
        };
        naming::with(&name, &sentence)
    });
    said.collect()
}

/// What lies beyond the last size that was measured, if the database has it.
fn next_size(findings: &Findings, group: &GroupFindings, size: PageSize) -> Option<PageSize> {
    let kind = group.cells.first()?.cell.database.kind().ok()?;
    beyond(&findings.plan.page_sizes, size).filter(|size| kind.page_sizes.contains(*size))
}

/// That nothing smaller or larger than a size was measured, where the database has such.
pub(super) fn ends_here(
    findings: &Findings,
    group: &GroupFindings,
    size: PageSize,
) -> Option<String> {
    let next = next_size(findings, group, size)?;
    let which = if next < size { "smaller" } else { "larger" };
    Some(format!("Nothing {which} was {}.", findings.source.name()))
}

/// The next page size beyond those that were measured, if this is the last.
pub(super) fn beyond(measured: &[PageSize], size: PageSize) -> Option<PageSize> {
    let bytes = if measured.iter().max() == Some(&size) {
        size.get().checked_mul(2)?
    } else if measured.iter().min() == Some(&size) {
        size.get() / 2
    } else {
        return None;
    };
    PageSize::new(bytes).ok()
}
