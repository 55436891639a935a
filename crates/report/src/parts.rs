//! Parts of a plan and hosts by their numbers, in words.

use octavo_experiment::{findings::ClassFindings, part::PartKind};

use crate::number::{count, counted};

/// Ranges of numbers that are written out.
const RANGES: usize = 8;

/// Parts with their numbers: `sitting 3`, `sittings 3, 7 to 9`. Shards have the numbers of their array indices, too.
pub(crate) fn named(kind: PartKind, parts: &[u32]) -> String {
    let indices = match (kind, parts) {
        (PartKind::Sitting, _) => String::new(),
        (PartKind::Shard, [only]) => format!(" (array index {only}, which counts from 0)"),
        (PartKind::Shard, _) => format!(
            " (array indices {}, which count from 0)",
            numbers(PartKind::Sitting, parts)
        ),
    };
    let many = if parts.len() == 1 { "" } else { "s" };
    format!("{}{many} {}{indices}", kind.name(), numbers(kind, parts))
}

/// Numbers of parts, in ranges: `3, 7 to 9`; of many ranges the first ones.
pub(crate) fn numbers(kind: PartKind, numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown_ranges = ranges
        .iter()
        .take(RANGES)
        .map(|&(first, last)| match last - first {
            0 => shown(kind, first),
            1 => format!("{}, {}", shown(kind, first), shown(kind, last)),
            _ => format!("{} to {}", shown(kind, first), shown(kind, last)),
        });
    let shown_ranges = shown_ranges.collect::<Vec<_>>().join(", ");
    let hidden = ranges
        .iter()
        .skip(RANGES)
        .map(|(first, last)| (last - first) as usize + 1);
    match hidden.sum::<usize>() {
        0 => shown_ranges,
        hidden => format!("{shown_ranges} and {} more", count(hidden as u64)),
    }
}

/// A part's number as people write it: sittings as `--sitting` does, shards as `--shard`.
pub(crate) fn shown(kind: PartKind, number: u32) -> String {
    match kind {
        PartKind::Sitting => number.to_string(),
        PartKind::Shard => number.saturating_add(1).to_string(),
    }
}

/// Over how many hosts the ratios of a class are: `3 to 4 hosts` where a level has no figures on some.
pub(crate) fn compared_hosts(class: &ClassFindings) -> String {
    let cells = class.groups.iter().flat_map(|group| &group.cells);
    let ratios = cells.filter_map(|cell| cell.ratio);
    let hosts: Vec<usize> = ratios.map(|ratio| ratio.batches).collect();
    match (hosts.iter().min(), hosts.iter().max()) {
        (Some(fewest), Some(most)) if fewest < most => {
            format!("{fewest} to {}", counted(*most, "host"))
        }
        (Some(all), _) => counted(*all, "host"),
        _ => counted(class.hosts.len(), "host"),
    }
}
