//! The kernel's two interfaces to groups of processes, as text: where they
//! are mounted, and what their files say (cgroups(7)).

use std::path::{Path, PathBuf};

use octavo_storage::procfs::mounts;

/// Which interface limits memory on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// One hierarchy a controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// The files of a group that have other names in each version.
pub(super) struct Files {
    /// Takes the limit in bytes.
    pub(super) limit: &'static str,
    /// Says the bytes in use.
    pub(super) usage: &'static str,
    /// Takes 0 so that nothing is swapped out.
    pub(super) swap: &'static str,
    /// Says how many processes were killed for want of memory.
    pub(super) kills: &'static str,
    /// The name of the page cache's bytes, shared memory among them, in
    /// `memory.stat`.
    pub(super) cache: &'static str,
    /// The name of the bytes of shared memory.
    pub(super) shared: &'static str,
    /// The names of those of these bytes that are not on storage yet.
    pub(super) unwritten: [&'static str; 2],
}

impl Version {
    /// Its files.
    pub(super) const fn files(self) -> Files {
        match self {
            Self::V1 => Files {
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                swap: "memory.swappiness",
                kills: "memory.oom_control",
                cache: "total_cache",
                shared: "total_shmem",
                unwritten: ["total_dirty", "total_writeback"],
            },
            Self::V2 => Files {
                limit: "memory.max",
                usage: "memory.current",
                swap: "memory.swap.max",
                kills: "memory.events",
                cache: "file",
                shared: "shmem",
                unwritten: ["file_dirty", "file_writeback"],
            },
        }
    }
}

/// The group of this process, of the interface whose groups are below `root`; `None` where it is not
/// there, as in a container that has another one's mounts.
#[cfg(feature = "keyed")]
pub(super) fn place_of_this_process(root: Option<(Version, &std::path::Path)>) -> Option<PathBuf> {
    let (version, root) = root?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let place = root.join(group_in(&groups, version)?.trim_start_matches('/'));
    place.join("cgroup.procs").exists().then_some(place)
}

/// The path of the group of an interface, from the text of `/proc/self/cgroup` (cgroups(7)).
#[cfg(feature = "keyed")]
fn group_in(groups: &str, version: Version) -> Option<&str> {
    let mut groups = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?, parts.next()?, parts.next()?))
    });
    let group = groups.find(|(number, controllers, _)| match version {
        Version::V1 => controllers
            .split(',')
            .any(|controller| controller == "memory"),
        Version::V2 => *number == "0" && controllers.is_empty(),
    });
    group.map(|(_, _, path)| path)
}

/// Where the memory controller is, from the text of `/proc/self/mountinfo`
/// (proc_pid_mountinfo(5)). Version 1 where both are there, since a controller
/// belongs to one of them only, and a mount of version 1 that names memory
/// shows that it has it.
pub(super) fn find_mount(mountinfo: &str) -> Option<(Version, PathBuf)> {
    let mut unified = None;
    for mount in mounts(mountinfo.as_bytes()) {
        match mount.file_system.as_str() {
            "cgroup"
                if mount
                    .own_options
                    .split(',')
                    .any(|option| option == "memory") =>
            {
                return Some((Version::V1, mount.point));
            }
            "cgroup2" if unified.is_none() => unified = Some((Version::V2, mount.point)),
            _ => {}
        }
    }
    unified
}

/// The number behind a name in a file of lines such as `oom_kill 3`.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, number) = line.split_once(' ')?;
        (found == name).then(|| number.trim().parse().ok())?
    })
}

/// Whether a list of controllers, such as that of `cgroup.subtree_control`,
/// has memory.
pub(super) fn has_memory(controllers: &str) -> bool {
    controllers.split_whitespace().any(|name| name == "memory")
}

/// The numbers of the processes that `cgroup.procs` lists.
pub(super) fn processes(text: &str) -> Vec<i32> {
    // A process of another namespace is listed as 0.
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .filter(|pid| *pid > 0)
        .collect()
}

/// Whose a group of ours is, told by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The namespace that its number is of: a group's directory can be seen
    /// from other ones, where the number means another process.
    pub(super) namespace: u64,
    /// Its number.
    pub(super) pid: i32,
    /// Its start in clock ticks: numbers are used again.
    pub(super) start: u64,
}

impl Owner {
    /// The name of its group number `count`.
    pub(super) fn group_name(self, count: u64) -> String {
        let Self {
            namespace,
            pid,
            start,
        } = self;
        format!("octavo-{namespace}-{pid}-{start}-{count}")
    }

    /// The owner of a group of this name; `None` for a group of others.
    pub(super) fn of_group(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix("octavo-")?;
        let numbers: Vec<&str> = name.split('-').collect();
        let &[namespace, pid, start, count] = numbers.as_slice() else {
            return None;
        };
        let _count: u64 = count.parse().ok()?;
        Some(Self {
            namespace: namespace.parse().ok()?,
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "keyed")]
    #[test]
    fn the_group_of_a_process_is_that_of_the_controller() {
        let groups = "9:name=systemd:/\n4:cpu,memory:/a/b:c\n0::/user.slice\n";
        assert_eq!(group_in(groups, Version::V1), Some("/a/b:c"));
        assert_eq!(group_in(groups, Version::V2), Some("/user.slice"));
        assert_eq!(group_in("1:cpu:/", Version::V1), None);
    }

    const V1: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 22 0:23 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
26 22 0:24 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
27 22 0:25 / /sys/fs/cgroup/a\\040b rw,relatime shared:9 master:1 - cgroup cgroup rw,memory
";

    #[test]
    fn the_mount_is_found_in_either_version() {
        let found = find_mount(V1).unwrap();
        assert_eq!(found, (Version::V1, "/sys/fs/cgroup/a b".into()));
        let only_unified: String = V1.lines().take(3).map(|l| format!("{l}\n")).collect();
        let found = find_mount(&only_unified).unwrap();
        assert_eq!(found, (Version::V2, "/sys/fs/cgroup/unified".into()));
        assert_eq!(find_mount("nonsense\n1 2 - cgroup\n"), None);
        assert_eq!(find_mount(""), None);
    }

    #[test]
    fn numbers_are_found_by_their_full_name() {
        let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(number(control, "oom_kill"), Some(3));
        let events = "low 0\nhigh 0\nmax 51\noom 2\noom_kill 1\noom_group_kill 0\n";
        assert_eq!(number(events, "oom_kill"), Some(1));
        let stat = "cache 4096\nfile 8192\ntotal_cache 12288\n";
        assert_eq!(number(stat, Version::V1.files().cache), Some(12288));
        assert_eq!(number(stat, Version::V2.files().cache), Some(8192));
        assert_eq!(number("oom_kill x", "oom_kill"), None);
        assert_eq!(number(stat, "absent"), None);
    }

    #[test]
    fn lists_are_read() {
        assert!(has_memory("cpu io memory pids\n"));
        assert!(!has_memory("cpu memory_not\n"));
        assert_eq!(processes("12\n0\n345\n"), [12, 345]);
        assert_eq!(processes(""), [0; 0]);
    }

    #[test]
    fn a_group_name_holds_its_owner() {
        let owner = Owner {
            namespace: 4_026_531_836,
            pid: 812,
            start: 5566,
        };
        let name = owner.group_name(3);
        assert_eq!(name, "octavo-4026531836-812-5566-3");
        assert_eq!(Owner::of_group(&Path::new("/x").join(&name)), Some(owner));
        for other in [
            "octavo",
            "octavo-1-2-3",
            "octavo-1-2-3-x",
            "octavo-1-2-3-4-5",
            "x-1-2-3-4",
        ] {
            assert_eq!(Owner::of_group(Path::new(other)), None, "{other}");
        }
    }
}
