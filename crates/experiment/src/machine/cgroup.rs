//! Control groups: which one this process is in, and what it limits.
//!
//! Sources: cgroups(7), `Documentation/admin-guide/cgroup-v2.rst`,
//! `Documentation/scheduler/sched-bwc.rst` (version 1's CPU limit) and
//! `Documentation/admin-guide/cgroup-v1/memory.rst` of the kernel.

use std::path::{Component, Path, PathBuf};

use octavo_storage::procfs::mounts;
use octavo_units::ByteCount;

use super::source::text;

/// What the groups above this process allow it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    /// CPUs' worth of time; `None` without a limit.
    pub cpus: Option<f64>,
    /// Memory, page cache included; `None` without a limit.
    pub memory: Option<ByteCount>,
    /// Whether a group could be read at all.
    pub known: bool,
}

impl Limits {
    /// The narrowest limits of the process's group and those above it.
    pub(super) fn read(root: &Path) -> Self {
        let cpu = groups(root, "cpu");
        let memory = groups(root, "memory");
        Self {
            cpus: cpu
                .iter()
                .filter_map(|group| cpus(group))
                .min_by(f64::total_cmp),
            memory: memory.iter().filter_map(|group| memory_limit(group)).min(),
            known: cpu.iter().chain(&memory).any(|group| group.is_dir()),
        }
    }
}

/// The group whose CPU limit is the narrowest above this process, as its
/// directory.
pub(super) fn narrowest_cpu_group(root: &Path) -> Option<PathBuf> {
    groups(root, "cpu")
        .into_iter()
        .filter_map(|group| Some((cpus(&group)?, group)))
        .min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, group)| group)
}

/// How often a group's CPU time was shared out and how often it ran out:
/// `nr_periods` and `nr_throttled` of `cpu.stat`, in both versions.
pub(super) fn throttling(group: &Path) -> Option<(u64, u64)> {
    let stat = text(group, "cpu.stat")?;
    let count = |name: &str| {
        stat.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some((count("nr_periods ")?, count("nr_throttled ")?))
}

/// Version 2: `cpu.max`, "quota period" or "max period". Version 1:
/// `cpu.cfs_quota_us`, -1 without a limit, and `cpu.cfs_period_us`.
fn cpus(group: &Path) -> Option<f64> {
    let (quota, period) = match text(group, "cpu.max") {
        Some(line) => {
            let (quota, period) = line.split_once(' ')?;
            (
                quota.parse::<u64>().ok()?,
                period.trim().parse::<u64>().ok()?,
            )
        }
        None => (
            text(group, "cpu.cfs_quota_us")?.parse().ok()?,
            text(group, "cpu.cfs_period_us")?.parse().ok()?,
        ),
    };
    (period > 0).then(|| quota as f64 / period as f64)
}

/// Version 1 writes its largest page count where there is no limit: 2^63
/// rounded down to a page, of whatever size pages are.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// Version 2: `memory.max`, and `memory.high` above which a group is slowed
/// down; "max" without a limit. Version 1: `memory.limit_in_bytes`.
fn memory_limit(group: &Path) -> Option<ByteCount> {
    ["memory.max", "memory.high", "memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|file| text(group, file)?.parse::<u64>().ok())
        .filter(|&bytes| bytes < UNLIMITED_BYTES)
        .min()
        .map(ByteCount::new)
}

/// The directories of the process's group for a controller and of those above
/// it that can be seen, the process's first.
fn groups(root: &Path, controller: &str) -> Vec<PathBuf> {
    find(root, controller).unwrap_or_default()
}

fn find(root: &Path, controller: &str) -> Option<Vec<PathBuf>> {
    let membership = text(root, "proc/self/cgroup")?;
    let table = text(root, "proc/self/mountinfo")?;
    let own = |wanted: &dyn Fn(&str) -> bool| {
        membership.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let controllers = fields.nth(1)?;
            wanted(controllers).then(|| fields.next()).flatten()
        })
    };
    let has = |list: &str| list.split(',').any(|name| name == controller);
    // Each controller is either in a hierarchy of version 1 or in the one of
    // version 2, which has no controllers in its line.
    let (path, mounted) = match own(&has) {
        Some(path) => (
            path,
            mount(&table, |kind, options| kind == "cgroup" && has(options))?,
        ),
        None => (
            own(&str::is_empty)?,
            mount(&table, |kind, _| kind == "cgroup2")?,
        ),
    };
    let (shown, point) = mounted;
    // A container may see its group as the root of the mount, whatever the
    // path says; and a path out of the namespace begins with "..".
    let below = Path::new(path)
        .strip_prefix(shown)
        .ok()
        .filter(|path| {
            path.components()
                .all(|part| matches!(part, Component::Normal(_)))
        })
        .unwrap_or(Path::new(""));
    let top = root.join(point.strip_prefix("/").unwrap_or(&point));
    let own = top.join(below);
    Some(
        own.ancestors()
            .take(below.components().count() + 1)
            .map(Path::to_owned)
            .collect(),
    )
}

/// Root within the file system and mount point of the first mount that is
/// wanted by its type and the file system's options.
fn mount(table: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<(PathBuf, PathBuf)> {
    mounts(table.as_bytes())
        .find(|mount| wanted(&mount.file_system, &mount.own_options))
        .map(|mount| (mount.root, mount.point))
}
