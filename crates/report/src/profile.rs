//! The report of a device's profile.

use octavo_device::{
    facts::misaligned_block,
    limit::{Limit, Quantity},
    profile::{Access, Means, Profile, table},
    request::{Mix, Pattern},
};
use octavo_units::ByteCount;

use crate::{
    document::{Block, Cell, Column, ColumnKind, Document, Section, Table},
    number::{bytes, count, number, percent, time},
};

/// The report of a device's profile.
pub fn profile(profile: &Profile) -> Document {
    let mut section = Section::new("device", "");
    section.extend(summary(profile));
    section.extend(tables(profile));
    Document::new(format!("Storage {}", name(profile)), [section])
}

fn name(profile: &Profile) -> String {
    let storage = &profile.storage;
    let device = storage.device.as_deref().unwrap_or("storage");
    match &storage.model {
        Some(model) => format!("{device} ({model})"),
        None => device.into(),
    }
}

/// All points as tables.
pub(crate) fn tables(profile: &Profile) -> Vec<Block> {
    let tables = table::all(profile).into_iter().map(|table| Table {
        caption: table.title,
        columns: table
            .header
            .into_iter()
            .enumerate()
            .map(|(place, name)| Column {
                name,
                kind: if place == 0 {
                    ColumnKind::Label
                } else {
                    ColumnKind::Figure
                },
                rank: 0,
            })
            .collect(),
        rows: table
            .rows
            .into_iter()
            .map(|row| row.into_iter().map(Cell::from).collect())
            .collect(),
    });
    tables.map(Block::Table).collect()
}

/// The share of the wanted requests in flight below which a point had a stall. Chosen: others
/// are within 4%.
const IN_FLIGHT_LEAST: f64 = 0.8;

/// The rate of a limit: `3,000 requests/s`, `125 MiB/s`.
pub(crate) fn rate(limit: &Limit) -> String {
    match limit.of {
        Quantity::Requests => format!("{} requests/s", number(limit.per_second)),
        Quantity::Bytes => format!("{}/s", bytes(limit.per_second)),
    }
}

/// What a limit lets through at once after a rest: `150 requests`, `6.25 MiB`.
pub(crate) fn credit(limit: &Limit) -> String {
    match limit.of {
        Quantity::Requests => format!("{} requests", number(limit.credit())),
        Quantity::Bytes => bytes(limit.credit()),
    }
}

/// Limits with what is served at once after a rest.
fn limits_found(limits: &[Limit]) -> Vec<(String, String)> {
    if limits.is_empty() {
        return vec![("limit".into(), "none found".into())];
    }
    let named = limits.iter().map(|limit| {
        let refill = time(limit.refill_s * 1e6);
        let said = format!(
            "{}, {} at once after {refill} of rest",
            rate(limit),
            credit(limit)
        );
        ("limit".into(), said)
    });
    named.collect()
}

/// What was measured, and the figures that most people want.
pub(crate) fn summary(profile: &Profile) -> Vec<Block> {
    let storage = &profile.storage;
    let file = profile.file_bytes;
    let what = match profile.engine {
        Means::Simulation => format!("{}, simulated, over {file}.", name(profile)),
        means => format!(
            "{} on {}, {} by {means}, file of {file}{}.",
            name(profile),
            storage
                .file_system
                .as_deref()
                .unwrap_or("an unknown file system"),
            profile.access,
            profile
                .kernel
                .as_deref()
                .map_or_else(String::new, |kernel| format!(", {kernel}")),
        ),
    };
    let mut values: Vec<(String, String)> = [(4096, 1), (4096, 32), (65536, 32)]
        .into_iter()
        .filter_map(|(bytes, depth)| profile.point(Mix::READ, Pattern::Random, bytes, depth))
        .map(|point| {
            (
                format!(
                    "{} reads, depth {}",
                    point.spec.request_size, point.spec.depth
                ),
                format!("{} IOPS", number(point.iops.get())),
            )
        })
        .collect();
    if let Some(commit) = profile.commit() {
        let latency = &commit.latency;
        values.push((
            format!("{} commit", commit.spec.request_size),
            format!("p50 {}, p99 {}", time(latency.us_p50), time(latency.us_p99)),
        ));
    }
    values.extend(
        profile
            .limits
            .iter()
            .flat_map(|limits| limits_found(limits)),
    );
    let begins = storage.offset_bytes.map(ByteCount::new);
    let physical = storage.physical_block_bytes.map(ByteCount::new);
    if let Some(offset) = begins
        && let Some(block) = misaligned_block(offset, physical)
    {
        values.push((
            "not aligned".into(),
            format!(
                "begins {} bytes into its device, so pages may lie across blocks of {block}",
                count(offset.get())
            ),
        ));
    }
    let points = profile.every_point().count();
    let unsteady = profile.every_point().filter(|of| profile.is_unsteady(of));
    match unsteady.count() {
        0 => {}
        unsteady => values.push((
            "not steady".into(),
            format!("{unsteady} of {points} points"),
        )),
    }
    let mut margins: Vec<f64> = profile
        .every_point()
        .filter_map(|of| profile.margin(of))
        .collect();
    margins.sort_by(f64::total_cmp);
    if let Some(widest) = margins.last() {
        let median = margins[(margins.len() - 1) / 2];
        values.push((
            "95% interval".into(),
            format!(
                "{} or less at half of the points, {} at the widest",
                plus_minus(median),
                plus_minus(*widest)
            ),
        ));
    }
    // By Little's law as many are in flight as were wanted, unless some took longer than the
    // measurement, or begun before it.
    let stalled = profile.every_point().filter(|of| {
        let wanted = f64::from(of.spec.depth.get());
        !(IN_FLIGHT_LEAST * wanted..=wanted / IN_FLIGHT_LEAST).contains(&of.in_flight)
    });
    let stalled = stalled.count();
    if stalled > 0 {
        values.push((
            "stalls".into(),
            format!(
                "at {stalled} of {points} points requests stalled: rate and latency there are of \
                 different moments"
            ),
        ));
    }
    if let Some(apart) = profile.passes_apart() {
        let spread = format!(
            "medians; fastest pass {} above the slowest at half of the points",
            percent(apart)
        );
        values.push(("passes".into(), spread));
    }
    let mut blocks = vec![Block::Paragraph(what), Block::Values(values)];
    if profile.access == Access::Memory {
        let remedy = "This is the speed of memory. Name a directory on a disk to measure that.";
        blocks.insert(1, Block::Paragraph(remedy.into()));
    }
    blocks
}

/// A margin as a share. One of 1 reaches down to no requests at all.
pub(crate) fn plus_minus(margin: f64) -> String {
    match margin < 1.0 {
        true => format!("±{}", percent(margin)),
        false => "±100% or more".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn tables_and_summary_name_their_conditions() {
        let text = profile(&fixture::profile()).terminal(100, false);
        let text = text.replace('\u{a0}', " ");
        assert!(
            text.starts_with("vda on ext4, direct I/O by io_uring, file of 512 MiB, Linux 6.18."),
            "{text}"
        );
        assert!(
            text.contains("4 KiB reads, depth 1    15,700 IOPS\n"),
            "{text}"
        );
        assert!(text.contains("4 KiB commit            p50 "), "{text}");
        assert!(text.contains("read IOPS"), "{text}");
        assert!(
            !text.contains("MEMORY") && !text.contains("steady"),
            "{text}"
        );
        let mut misaligned = fixture::profile();
        for (offset, physical, said) in [
            (0, None, None),
            (1 << 20, Some(4096), None),
            (32_256, Some(512), Some("begins 32,256 bytes into")),
            (4096, Some(16_384), Some("across blocks of 16 KiB")),
        ] {
            misaligned.storage.offset_bytes = Some(offset);
            misaligned.storage.physical_block_bytes = physical;
            let text = profile(&misaligned).terminal(200, false);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text.contains("not aligned"), said.is_some(), "{text}");
            assert!(said.is_none_or(|said| text.contains(said)), "{text}");
        }
        let mut limited = fixture::profile();
        let (requests, bytes) = (Quantity::Requests, Quantity::Bytes);
        for (limits, said) in [
            (vec![], "limit                   none found\n"),
            (
                vec![
                    Limit::with_credit(requests, 3_000, 150),
                    Limit::with_credit(bytes, 125 << 20, 6_553_600),
                ],
                "limit                   3,000 requests/s, 150 requests at once after 50.0 ms of rest\n\
                 limit                   125 MiB/s, 6.25 MiB at once after 50.0 ms of rest\n",
            ),
        ] {
            limited.limits = Some(limits);
            let text = profile(&limited)
                .terminal(160, false)
                .replace('\u{a0}', " ");
            assert!(text.contains(said), "{text}");
        }
        let mut memory = fixture::profile();
        memory.access = Access::Memory;
        memory.storage.file_system = Some("tmpfs".into());
        memory.points[0].iops_margin = Some(0.4);
        memory.points[0].duration_s = 0.5;
        let text = profile(&memory).terminal(100, false).replace('\u{a0}', " ");
        assert!(
            text.contains("on tmpfs, I/O to MEMORY and no disk by io_uring"),
            "{text}"
        );
        assert!(text.contains("This is the speed of memory."), "{text}");
        let margins =
            "95% interval            ±1% or less at half of the points, ±40% at the widest";
        assert!(text.contains(margins), "{text}");
        assert!(!text.contains("stalled"), "{text}");
        memory.points[0].in_flight = 0.5 * f64::from(memory.points[0].spec.depth.get());
        let text = profile(&memory).terminal(100, false).replace('\u{a0}', " ");
        assert!(
            text.contains("points requests stalled: rate and latency"),
            "{text}"
        );
    }
}
