//! A device's profile for a terminal.

use octavo_device::{
    profile::{Means, Point, Profile, table},
    request::{Mix, Pattern},
};

use crate::{
    number::{number, time},
    page::grid,
};

/// The profile's conditions and tables as text of at most `width` columns
/// where the tables' first column fits. Ends with a line break.
pub fn device(profile: &Profile, width: usize) -> String {
    let mut text = format!("{}\n", summary(profile));
    for table in table::all(profile) {
        text.push_str(&format!("\n{}\n", table.title));
        for line in grid(&table.header, &table.rows, width).lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// The profile in a few sentences.
pub(crate) fn summary(profile: &Profile) -> String {
    let storage = &profile.storage;
    let name = format!(
        "{}{}",
        storage.device.as_deref().unwrap_or("storage"),
        storage
            .model
            .as_deref()
            .map_or_else(String::new, |model| format!(" ({model})")),
    );
    let mut parts = vec![match profile.engine {
        Means::Simulation => format!("{name}, simulated, over {}.", profile.file_bytes),
        means => format!(
            "{name} on {}, {} by {means}, file of {}{}.",
            storage
                .file_system
                .as_deref()
                .unwrap_or("an unknown file system"),
            profile.access,
            profile.file_bytes,
            profile
                .kernel
                .as_deref()
                .map_or_else(String::new, |kernel| format!(", {kernel}")),
        ),
    }];
    let reads: Vec<String> = [(4096, 1), (4096, 32), (65536, 32)]
        .into_iter()
        .filter_map(|(bytes, depth)| profile.point(Mix::READ, Pattern::Random, bytes, depth))
        .map(|point| {
            format!(
                "{} IOPS at {} and depth {}",
                number(point.iops.get()),
                point.spec.request_size,
                point.spec.depth
            )
        })
        .collect();
    if !reads.is_empty() {
        parts.push(format!("Random reads: {}.", reads.join(", ")));
    }
    if let Some(commit) = profile.commit() {
        parts.push(format!(
            "A commit (write of {} and fdatasync): {} in the middle, {} at 99 %.",
            commit.spec.request_size,
            time(commit.latency.us_p50),
            time(commit.latency.us_p99)
        ));
    }
    if profile
        .points
        .iter()
        .any(|point: &Point| !point.is_steady())
    {
        parts.push("Some points were not steady.".into());
    }
    if let Some(apart) = profile.passes_apart() {
        parts.push(format!(
            "All is the median of passes, of which the fastest was {:.0} % above the slowest at half \
             of the points.",
            apart * 100.0
        ));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn tables_and_summary_name_their_conditions() {
        let profile = fixture::profile();
        let text = device(&profile, 100);
        assert!(
            text.starts_with("vda on ext4, direct I/O by io_uring, file of 512 MiB, Linux 6.18."),
            "{text}"
        );
        assert!(text.contains("Random reads: 15\u{202f}700 IOPS at 4 KiB and depth 1"));
        assert!(
            text.contains("A commit (write of 4 KiB and fdatasync)"),
            "{text}"
        );
        assert!(text.contains("read IOPS"), "{text}");
    }
}
