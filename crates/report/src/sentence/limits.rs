//! What has to be known before a page size is changed.

use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::Level,
    verdict::Verdict,
};
use octavo_units::PageSize;
use octavo_workload::Limit;

use crate::{document::Block, naming, number::list};

/// The page size that a group's answer is to use instead of the present one.
pub(super) fn wanted(group: &GroupFindings) -> Option<PageSize> {
    match group.verdict {
        Verdict::Use {
            level: Level::PageSize(page_size),
            ..
        } => Some(page_size),
        _ => None,
    }
}

/// What the user's schema and settings say of the page size that a group's answer is to use.
pub(crate) fn before_change(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let lines = lines(findings, group);
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![
            Block::Heading(format!("Before you change it{}", naming::in_group(group))),
            Block::List(lines),
        ],
    }
}

fn lines(findings: &Findings, group: &GroupFindings) -> Vec<String> {
    let (Some(own), Some(page_size)) = (&findings.plan.own, wanted(group)) else {
        return Vec::new();
    };
    let limits = own.limits.iter();
    let of_it = limits.filter(|limit| !limit.forbids && limit.is_of(page_size));
    of_it.map(|limit| format!("{}.", limit.what)).collect()
}

/// The page sizes that a limit is about.
pub(crate) fn page_sizes(limit: &Limit) -> String {
    let sizes: Vec<String> = limit.page_sizes.iter().map(ToString::to_string).collect();
    list(&sizes, "and")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_units::{ByteCount, Seed};
    use octavo_workload::user::{CopyOf, Own};

    use super::*;
    use crate::fixture;

    #[test]
    fn what_is_said_of_the_page_size_to_use_is_told() {
        let mut findings = fixture::findings();
        let limit = |kib: &[u32], what: &str| {
            let sizes = kib.iter().copied().map(PageSize::kib);
            Limit::new(sizes, what, "a manual")
        };
        findings.plan.own = Some(Arc::new(Own {
            limits: vec![
                limit(&[2, 8], "Close it"),
                limit(&[8], "Pay"),
                limit(&[2], "No").forbidding(),
            ],
            ..Own::new(
                CopyOf {
                    state: Seed::new(1).get(),
                    ..CopyOf::whole("my.db", ByteCount::mib(1), PageSize::kib(4), "my.db")
                },
                Vec::new(),
            )
        }));
        let group = &mut findings.groups[0];
        let cell = group.cells.iter().find(|cell| !cell.reference).unwrap();
        let ratio = cell.ratio.unwrap();
        let mut say = |kib| {
            findings.groups[0].verdict = Verdict::Use {
                level: Level::PageSize(PageSize::kib(kib)),
                ratio,
                ties: Vec::new(),
                open: Vec::new(),
            };
            lines(&findings, &findings.groups[0])
        };
        assert_eq!(say(8), ["Close it.", "Pay."]);
        assert_eq!(say(2), ["Close it."]);
        assert!(say(16).is_empty());
        findings.groups[0].verdict = Verdict::Alone {
            level: Level::PageSize(PageSize::kib(8)),
        };
        assert!(before_change(&findings, &findings.groups[0]).is_empty());
        let limits = &findings.plan.own.as_ref().unwrap().limits;
        assert_eq!(page_sizes(&limits[0]), "2 KiB and 8 KiB");
    }
}
