//! A limit of memory that holds for a server and the page cache of what it
//! reads: a control group of the kernel, version 1 or 2.
//!
//! A page that was in the page cache before is charged to whom read it first,
//! so files have to be dropped from there before a server starts.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    cgroup::{self, Owner, Version},
    descendants,
    freezer::Means,
};

/// How long the last processes of a group may take to leave it.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);

/// How long a group may be busy after its last process has left. 0.4 s were not always
/// enough on a machine with other load.
const REMOVE_LIMIT: Duration = Duration::from_secs(10);

/// Attempts at what the kernel may find busy for a moment, and the pause
/// between two of them.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(10);

/// Groups that this process has made.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A group of processes whose memory can be limited, page cache included.
/// Dropping it kills the processes that are still in it and removes it.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    path: PathBuf,
    version: Version,
}

/// What a group's memory is taken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// All of the group's memory.
    pub(crate) all: ByteCount,
    /// Neither page cache nor shared memory: what its processes and the kernel
    /// hold for themselves.
    pub(crate) private: ByteCount,
    /// Memory that its processes share, such as a server's buffer.
    pub(crate) shared: ByteCount,
    /// Page cache that is not on storage yet and cannot be dropped before.
    pub(crate) unwritten: ByteCount,
}

impl MemoryGroup {
    /// Makes a group without a limit, after [`sweep`]. The error says why
    /// there can be none, for a run's conditions: mostly that Octavo is not
    /// root.
    pub(crate) fn create() -> Result<Self, String> {
        let (version, root) = controller()?;
        sweep_root(version, &root);
        Self::create_below(version, &root)
    }

    fn create_below(version: Version, root: &Path) -> Result<Self, String> {
        if version == Version::V2 {
            hand_down(root)?;
        }
        let owner = this_process().ok_or("/proc does not tell about this process")?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(owner.group_name(count));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self { path, version };
        // Best effort: a system without swap has no such file.
        let _without_swap = group.write(version.files().swap, "0");
        Ok(group)
    }

    /// The processes that are in it.
    #[cfg(feature = "keyed")]
    pub(super) fn processes(&self) -> Vec<i32> {
        processes(&self.path)
    }

    /// Its directory.
    #[cfg(feature = "keyed")]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the group that all others are below, of the interface that limits memory.
    #[cfg(feature = "keyed")]
    pub(super) fn root(&self) -> Option<(Version, &Path)> {
        Some((self.version, self.path.parent()?))
    }

    /// The interface by name.
    pub(crate) fn kind(&self) -> &'static str {
        match self.version {
            Version::V1 => "cgroup v1",
            Version::V2 => "cgroup v2",
        }
    }

    /// How its processes are held still: version 1 has another hierarchy for
    /// that, which they are not in.
    pub(super) fn freezer(&self) -> Option<Means> {
        (self.version == Version::V2).then(|| Means::Group(self.path.clone()))
    }

    /// The file that a process writes `0` to in order to enter the group.
    pub(crate) fn procs_file(&self) -> io::Result<File> {
        let path = self.path.join("cgroup.procs");
        OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(|error| with_path(&error, &path))
    }

    /// Sets the limit. The kernel drops page cache to get there; below what
    /// else is in use it refuses (version 1).
    pub(crate) fn limit(&self, limit: ByteCount) -> io::Result<()> {
        let name = self.version.files().limit;
        for _ in 1..ATTEMPTS {
            match self.write(name, &limit.get().to_string()) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                result => return result,
            }
        }
        self.write(name, &limit.get().to_string())
    }

    /// Has the kernel drop page cache until the group is at `target`, and
    /// leaves `headroom` above it until the next time: who reads fast finds
    /// memory, and the page cache grows no further than what is read between
    /// two calls.
    ///
    /// A limit alone would be closer, but under one of version 1 the kernel
    /// ends processes while it has page cache that only waits to be written.
    pub(crate) fn shrink(&self, target: ByteCount, headroom: ByteCount) -> io::Result<()> {
        let limit = self.version.files().limit;
        let shrunk = match self.version {
            // Drops pages until the group fits and then lowers the limit, or
            // leaves it where it is; nobody is ended meanwhile.
            Version::V1 => self.write(limit, &target.get().to_string()),
            Version::V2 => {
                let all = self.held()?.all.get();
                match all.saturating_sub(target.get()) {
                    0 => Ok(()),
                    above => self.write("memory.reclaim", &above.to_string()),
                }
            }
        };
        self.write(limit, &target.saturating_add(headroom).get().to_string())?;
        match shrunk {
            // Less than that can be dropped now.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock
                ) =>
            {
                Ok(())
            }
            result => result,
        }
    }

    /// What the group has, which costs much less to ask than what takes it.
    pub(crate) fn all(&self) -> io::Result<ByteCount> {
        let name = self.version.files().usage;
        let usage = self.read(name)?.trim().parse();
        usage.map(ByteCount::new).map_err(|_| {
            let path = self.path.join(name);
            let text = format!("{} has no number of bytes", path.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// What the group's memory is taken by.
    pub(crate) fn held(&self) -> io::Result<Held> {
        let files = self.version.files();
        let usage = self.all()?.get();
        let stat = self.read("memory.stat")?;
        match (
            cgroup::number(&stat, files.cache),
            cgroup::number(&stat, files.shared),
        ) {
            (Some(cache), Some(shared)) => Ok(Held {
                shared: ByteCount::new(shared),
                all: ByteCount::new(usage),
                // The two are read one after the other.
                private: ByteCount::new(usage.saturating_sub(cache)),
                unwritten: files
                    .unwritten
                    .iter()
                    .filter_map(|name| cgroup::number(&stat, name))
                    .map(ByteCount::new)
                    .fold(ByteCount::ZERO, ByteCount::saturating_add),
            }),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{} has no {} or {}",
                    self.path.join("memory.stat").display(),
                    files.cache,
                    files.shared
                ),
            )),
        }
    }

    /// Processes of the group that the kernel has killed for want of memory;
    /// 0 on kernels that do not count them.
    pub(crate) fn kills(&self) -> u64 {
        self.read(self.version.files().kills)
            .ok()
            .and_then(|text| cgroup::number(&text, "oom_kill"))
            .unwrap_or(0)
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let path = self.path.join(name);
        fs::read_to_string(&path).map_err(|error| with_path(&error, &path))
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        let path = self.path.join(name);
        // Without making the file: these are the kernel's.
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
            .map_err(|error| with_path(&error, &path))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Servers were stopped before; their last children leave by themselves.
        if !wait_until_empty(&self.path) {
            end_processes(&self.path);
        }
        remove(self.version, &self.path);
    }
}

/// Ends what an Octavo that was killed has left: processes in its groups, and
/// the groups. Groups of an Octavo that runs are left alone, as are those of
/// any other program.
pub(super) fn sweep() {
    if let Ok((version, root)) = controller() {
        sweep_root(version, &root);
    }
}

fn sweep_root(version: Version, root: &Path) {
    let Some(this) = this_process() else {
        return;
    };
    // What cannot be listed cannot be swept, and creating says why.
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let dead = Owner::of_group(&path).is_some_and(|owner| is_gone(owner, this));
        if dead && path.is_dir() {
            end_processes(&path);
            remove(version, &path);
        }
    }
}

/// Whether an owner that this process can see has ended.
pub(super) fn is_gone(owner: Owner, this: Owner) -> bool {
    owner.namespace == this.namespace
        && descendants::stat(owner.pid).is_none_or(|stat| stat.zombie || stat.start != owner.start)
}

/// Where memory is limited on this system.
fn controller() -> Result<(Version, PathBuf), String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| format!("/proc/self/mountinfo: {error}"))?;
    cgroup::find_mount(&mounts).ok_or_else(|| "no memory controller is mounted".into())
}

/// Lets the groups directly below the root of version 2 have memory limits.
fn hand_down(root: &Path) -> Result<(), String> {
    let control = root.join("cgroup.subtree_control");
    let say = |error: io::Error| with_path(&error, &control).to_string();
    if cgroup::has_memory(&fs::read_to_string(&control).map_err(say)?) {
        return Ok(());
    }
    OpenOptions::new()
        .write(true)
        .open(&control)
        .and_then(|mut file| io::Write::write_all(&mut file, b"+memory"))
        .map_err(say)
}

/// This process as the owner of groups.
pub(super) fn this_process() -> Option<Owner> {
    let pid = i32::try_from(process::id()).ok()?;
    Some(Owner {
        namespace: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
        pid,
        start: descendants::stat(pid)?.start,
    })
}

fn processes(group: &Path) -> Vec<i32> {
    fs::read_to_string(group.join("cgroup.procs"))
        .map(|text| cgroup::processes(&text))
        .unwrap_or_default()
}

fn wait_until_empty(group: &Path) -> bool {
    let since = Instant::now();
    while !processes(group).is_empty() {
        if since.elapsed() >= LEAVE_LIMIT {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Kills all processes of a group, again while they start more.
fn end_processes(group: &Path) {
    for _ in 0..ATTEMPTS {
        let processes = processes(group);
        if processes.is_empty() {
            return;
        }
        // This process may be in one itself, for a database that runs in it.
        let own = i32::try_from(process::id()).unwrap_or_default();
        let others = processes.into_iter().filter(|pid| *pid != own);
        for pid in others.filter_map(Pid::from_raw) {
            // Gone by itself otherwise.
            let _gone = kill_process(pid, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
}

/// Removes a group without processes. One that stays is swept later.
fn remove(version: Version, group: &Path) {
    if version == Version::V1 {
        // Else its page cache would be charged to the group above.
        let _emptied = fs::write(group.join("memory.force_empty"), "0");
    }
    let since = Instant::now();
    while since.elapsed() < REMOVE_LIMIT {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// The same error with the file that it is about.
fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{
        super::process::{Launch, Server},
        *,
    };

    /// A directory that looks like the root of version 2.
    fn unified(control: &str) -> tempfile::TempDir {
        let root = crate::scratch::directory();
        fs::write(root.path().join("cgroup.subtree_control"), control).unwrap();
        root
    }

    #[test]
    fn version_2_is_read_as_the_kernel_writes_it() {
        let root = unified("cpu memory\n");
        let group = MemoryGroup::create_below(Version::V2, root.path()).unwrap();
        assert_eq!(group.kind(), "cgroup v2");
        for (name, text) in [
            ("memory.reclaim", ""),
            ("memory.max", "12345678"),
            ("memory.current", "70000\n"),
            (
                "memory.stat",
                "anon 20000\nfile 50000\nshmem 40000\nfile_dirty 300\nfile_writeback 7\n",
            ),
            ("memory.events", "low 0\noom 1\noom_kill 2\n"),
            ("cgroup.procs", ""),
        ] {
            fs::write(group.path.join(name), text).unwrap();
        }
        group.limit(ByteCount::mib(64)).unwrap();
        let written = |name: &str| fs::read_to_string(group.path.join(name)).unwrap();
        assert_eq!(written("memory.max"), "67108864");
        let (target, headroom) = (ByteCount::new(60_000), ByteCount::mib(64));
        group.shrink(target, headroom).unwrap();
        assert_eq!(written("memory.reclaim"), "10000");
        assert_eq!(written("memory.max"), "67168864");
        let held = group.held().unwrap();
        assert_eq!(held.private, ByteCount::new(20_000));
        assert_eq!(held.shared, ByteCount::new(40_000));
        assert_eq!(held.unwritten, ByteCount::new(307));
        assert_eq!(group.kills(), 2);
        group.procs_file().unwrap();
        fs::write(group.path.join("memory.current"), "lots").unwrap();
        let error = group.held().unwrap_err().to_string();
        assert!(error.contains("memory.current"), "{error}");
    }

    #[test]
    fn version_2_delegates_the_memory_controller() {
        let root = unified("cpu\n");
        hand_down(root.path()).unwrap();
        let control = fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap();
        assert!(control.contains("+memory"), "{control}");
        let error = hand_down(&root.path().join("absent")).unwrap_err();
        assert!(error.contains("subtree_control"), "{error}");
    }

    #[test]
    fn groups_of_ended_processes_are_removed() {
        let root = unified("memory\n");
        let this = this_process().unwrap();
        let dead = Owner {
            start: this.start - 1,
            ..this
        };
        let elsewhere = Owner {
            namespace: this.namespace + 1,
            ..dead
        };
        let make = |name: String| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let swept = make(dead.group_name(0));
        let kept = [
            make(this.group_name(900)),
            make(elsewhere.group_name(0)),
            make("others".into()),
        ];
        sweep_root(Version::V2, root.path());
        assert!(!swept.exists());
        assert!(kept.iter().all(|path| path.exists()));
    }

    /// A group on this machine, unless it lets us make none.
    fn real() -> Option<MemoryGroup> {
        MemoryGroup::create()
            .map_err(|why| eprintln!("skipped: {why}"))
            .ok()
    }

    fn shell<'a>(directory: &'a Path, log: &'a Path, group: &'a MemoryGroup) -> Launch<'a> {
        Launch {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), "sleep 600 & wait".into()],
            directory,
            log,
            account: None,
            group: Some(group),
            on_death: Signal::KILL,
            input: None,
            environment: Vec::new(),
        }
    }

    #[test]
    fn a_group_holds_what_is_started_in_it_and_goes() {
        let Some(group) = real() else { return };
        let scratch = crate::scratch::directory();
        let log = scratch.path().join("log");
        let server = Server::launch(&shell(scratch.path(), &log, &group)).unwrap();
        assert!(processes(&group.path).contains(&server.pid()));
        group.limit(ByteCount::mib(64)).unwrap();
        let private = group.held().unwrap().private.get();
        assert!(private > 0 && private < 64 << 20, "{private}");
        assert_eq!(group.kills(), 0);
        drop(server);
        let path = group.path.clone();
        drop(group);
        assert!(!path.exists());
    }

    #[test]
    fn cache_above_the_target_is_dropped_without_killing() {
        let Some(group) = real() else { return };
        let scratch = crate::scratch::directory();
        let (log, file) = (scratch.path().join("log"), scratch.path().join("file"));
        fs::write(&file, vec![7; 40 << 20]).unwrap();
        crate::files::flush_and_forget(&file).unwrap();
        let mut launch = shell(scratch.path(), &log, &group);
        launch.arguments[1] = "cat file file file > /dev/null; echo read; sleep 600".into();
        let server = Server::launch(&launch).unwrap();
        let usage = || -> u64 {
            let usage = group.read(group.version.files().usage).unwrap();
            usage.trim().parse().unwrap()
        };
        for _ in 0..1500 {
            group
                .shrink(ByteCount::mib(12), ByteCount::mib(64))
                .unwrap();
            thread::sleep(PAUSE);
            if server.last_words() == "read" {
                break;
            }
        }
        assert_eq!(server.last_words(), "read");
        group
            .shrink(ByteCount::mib(12), ByteCount::mib(64))
            .unwrap();
        assert!(usage() < 16 << 20, "{}", usage());
        assert_eq!(group.kills(), 0);
        assert!(server.ended().is_none());
    }

    #[test]
    fn a_program_is_not_charged_to_the_group_and_shared_memory_is() {
        let Some(group) = real() else { return };
        let scratch = crate::scratch::directory();
        let log = scratch.path().join("log");
        // A program of its own, which nobody has read before.
        let program = scratch.path().join("sh");
        let mut large = fs::read("/bin/sh").unwrap();
        large.resize(24 << 20, 7);
        fs::write(&program, large).unwrap();
        fs::set_permissions(&program, fs::metadata("/bin/sh").unwrap().permissions()).unwrap();
        crate::files::flush_and_forget(&program).unwrap();
        let shared = format!("/dev/shm/octavo-test-{}", process::id());
        let mut launch = shell(scratch.path(), &log, &group);
        launch.program = &program;
        launch.arguments[1] = format!(
            "head -c 8000000 /dev/zero > {shared} && cat sh > /dev/null; echo read; sleep 600"
        )
        .into();
        let server = Server::launch(&launch).unwrap();
        for _ in 0..1500 {
            thread::sleep(PAUSE);
            if server.last_words().ends_with("read") {
                break;
            }
        }
        let held = group.held().unwrap();
        fs::remove_file(&shared).unwrap();
        let cache = held.all.get() - held.private.get() - held.shared.get();
        assert!(
            (8_000_000..9_000_000).contains(&held.shared.get()),
            "{held:?}"
        );
        assert!(cache < 4 << 20, "{held:?}");
    }

    #[test]
    fn memory_above_the_limit_is_refused() {
        let Some(group) = real() else { return };
        group.limit(ByteCount::mib(8)).unwrap();
        let scratch = crate::scratch::directory();
        let log = scratch.path().join("log");
        let mut launch = shell(scratch.path(), &log, &group);
        launch.arguments[1] = "head -c 60000000 /dev/zero | sort > /dev/null; exit 1".into();
        let server = Server::launch(&launch).unwrap();
        let ended = (0..6000).any(|_| {
            thread::sleep(PAUSE);
            server.ended().is_some()
        });
        assert!(ended && group.kills() > 0, "{}", server.last_words());
    }

    #[test]
    fn servers_of_a_dead_octavo_are_ended() {
        let Some(group) = real() else { return };
        let scratch = crate::scratch::directory();
        let log = scratch.path().join("log");
        let server = Server::launch(&shell(scratch.path(), &log, &group)).unwrap();
        let this = this_process().unwrap();
        let dead = Owner {
            start: this.start - 1,
            ..this
        };
        let orphaned = group.path.with_file_name(dead.group_name(u64::MAX));
        if fs::create_dir(&orphaned).is_err() {
            return;
        }
        let children = descendants::find(server.pid());
        for pid in [server.pid()].iter().chain(&children) {
            fs::write(orphaned.join("cgroup.procs"), pid.to_string()).unwrap();
        }
        sweep();
        assert!(!orphaned.exists());
        assert!((0..6000).any(|_| {
            thread::sleep(PAUSE);
            server.ended().is_some()
        }));
    }
}
