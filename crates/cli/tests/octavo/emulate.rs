//! A device under files: what programs may do there, what it costs them, what
//! a power cut leaves, and that nothing stays behind however it ends.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use rustix::{
    fs::OFlags,
    process::{Pid, Signal, kill_process},
};

/// Whether file systems can be mounted here; says so where not.
pub(crate) fn can_mount() -> bool {
    let can = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_ok()
        && (rustix::process::geteuid().is_root()
            || fs::read_to_string("/etc/fuse.conf")
                .is_ok_and(|text| text.lines().any(|line| line.trim() == "user_allow_other")));
    if !can {
        eprintln!("skipped: FUSE file systems cannot be mounted here");
    }
    can
}

/// A running `octavo emulate`.
pub(crate) struct Emulator {
    child: Child,
    pub(crate) mount: PathBuf,
    backing: PathBuf,
}

impl Emulator {
    pub(crate) fn start(home: &Path, device: &str, more: &[&str]) -> Self {
        let (backing, mount) = (home.join("backing"), home.join("mount"));
        let mut child = crate::octavo()
            .args(["emulate", device, "--json"])
            .arg("--backing")
            .arg(&backing)
            .arg("--mount")
            .arg(&mount)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.contains("is mounted at"), "{line}");
        Self {
            child,
            mount,
            backing,
        }
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Ends it in order and gives what it said of what was done.
    pub(crate) fn end(mut self) -> serde_json::Value {
        self.signal(Signal::TERM);
        let mut said = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert!(self.child.wait().unwrap().success());
        assert!(!mounted(&self.mount));
        crate::schema::conforms("emulate", said.as_bytes());
        serde_json::from_str(&said).unwrap()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // After a failed assertion; the watcher unmounts.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(Signal::TERM);
            let _ended = self.child.wait();
        }
    }
}

fn mounted(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table
        .lines()
        .any(|line| line.split(' ').nth(4) == path.to_str())
}

/// A device of which every request takes `latency_us`.
fn constant(home: &Path, latency_us: u32) -> String {
    let path = home.join("constant.toml");
    fs::write(
        &path,
        format!(
            "name = \"constant\"\ntitle = \"for a test\"\n[constant]\n\
             capacity_bytes = [1073741824, \"assumed: room for a test\"]\n\
             latency_us = [{latency_us}, \"assumed: more than the way takes\"]\n"
        ),
    )
    .unwrap();
    path.to_str().unwrap().to_owned()
}

/// A file, made where there is none, whose requests pass the page cache by.
fn direct(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OFlags::DIRECT.bits().cast_signed())
        .open(path)
        .unwrap()
}

#[test]
fn programs_find_a_file_system() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(home.path(), "instant", &[]);
    let at = |name: &str| emulator.mount.join(name);

    // Names: make, link, replace, list, remove; an open file outlives its name.
    fs::create_dir_all(at("a/b")).unwrap();
    fs::write(at("a/one"), "one").unwrap();
    fs::hard_link(at("a/one"), at("a/two")).unwrap();
    assert_eq!(fs::metadata(at("a/two")).unwrap().nlink(), 2);
    symlink("two", at("a/soft")).unwrap();
    assert_eq!(fs::read_to_string(at("a/soft")).unwrap(), "one");
    fs::write(at("a/new"), "replaced").unwrap();
    fs::rename(at("a/new"), at("a/one")).unwrap();
    assert_eq!(fs::read_to_string(at("a/one")).unwrap(), "replaced");
    assert_eq!(fs::read_to_string(at("a/two")).unwrap(), "one");
    let mut open = File::open(at("a/one")).unwrap();
    fs::remove_file(at("a/one")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "replaced");
    let mut names: Vec<_> = fs::read_dir(at("a"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["b", "soft", "two"]);
    assert!(fs::remove_dir(at("a")).is_err());
    fs::set_permissions(at("a/two"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fs::metadata(at("a/two")).unwrap().mode() & 0o777, 0o640);

    // Many names are listed in several pieces.
    fs::create_dir(at("many")).unwrap();
    for index in 0..1000 {
        File::create(at(&format!("many/{index:04}"))).unwrap();
    }
    assert_eq!(fs::read_dir(at("many")).unwrap().count(), 1000);
    fs::remove_dir_all(at("many")).unwrap();

    // Content: what is written direct is read cached, and the other way round.
    let mut cached = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(at("data"))
        .unwrap();
    cached.write_all(&[1; 10_000]).unwrap();
    let direct = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::DIRECT.bits().cast_signed())
        .open(at("data"))
        .unwrap();
    let mut page = [0; 4096];
    direct.read_exact_at(&mut page, 4096).unwrap();
    assert_eq!(page, [1; 4096]);
    direct.write_all_at(&[2; 4096], 4096).unwrap();
    cached.read_exact_at(&mut page, 4096).unwrap();
    assert_eq!(page, [2; 4096]);
    cached.set_len(5000).unwrap();
    assert_eq!(cached.seek(SeekFrom::End(0)).unwrap(), 5000);
    cached.sync_all().unwrap();
    rustix::fs::fallocate(&cached, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
    assert_eq!(fs::metadata(at("data")).unwrap().len(), 1 << 20);

    let stored = fs::read(emulator.backing.join("files/data")).unwrap();
    assert_eq!((stored.len(), stored[4500], stored[5500]), (1 << 20, 2, 0));
    drop((cached, direct));
    let said = emulator.end();
    assert_eq!(said["flushes"]["requests"], 1);
    assert_eq!(said["power_cut"], false);

    // The files are there again.
    let again = Emulator::start(home.path(), "instant", &[]);
    assert_eq!(fs::read(again.mount.join("data")).unwrap(), stored);
    again.end();
    assert!(!home.path().join("mount").exists());
}

#[test]
fn requests_take_the_models_time() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let device = constant(home.path(), 2000);
    let emulator = Emulator::start(home.path(), &device, &["--time-scale", "2"]);
    let file = direct(&emulator.mount.join("data"));
    let timed = |count: u32, request: &dyn Fn()| {
        let began = Instant::now();
        (0..count).for_each(|_| request());
        began.elapsed()
    };
    // Never sooner than the model, twice 2 ms by the time scale; the lead is
    // taken from the way, not from the model.
    let margin = 0.95;
    for (count, took) in [
        (20, timed(20, &|| file.write_all_at(&[1; 4096], 0).unwrap())),
        (
            20,
            timed(20, &|| file.read_exact_at(&mut [0; 4096], 0).unwrap()),
        ),
        (5, timed(5, &|| file.sync_data().unwrap())),
    ] {
        assert!(
            took.as_secs_f64() > f64::from(count) * 4e-3 * margin,
            "{took:?}"
        );
    }
    drop(file);
    let said = emulator.end();
    for (kind, count) in [("reads", 20), ("writes", 20), ("flushes", 5)] {
        assert_eq!(said[kind]["requests"], count);
        let modelled = said[kind]["modelled"]["us_p50"].as_f64().unwrap();
        assert!((modelled - 2000.0).abs() < 2.0, "{kind}: {modelled}");
        assert_eq!(said["device"][kind], count);
    }
}

#[test]
fn faults_strike() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(
        home.path(),
        "instant",
        &["--faults", "eio=read:2,eio=flush:1,full=1MiB"],
    );
    let file = direct(&emulator.mount.join("data"));
    file.write_all_at(&[1; 4096], 0).unwrap();
    let mut data = [0; 4096];
    file.read_exact_at(&mut data, 0).unwrap();
    let errno = |result: std::io::Result<()>| result.unwrap_err().raw_os_error();
    assert_eq!(errno(file.read_exact_at(&mut data, 0)), Some(5));
    file.read_exact_at(&mut data, 0).unwrap();
    assert_eq!(errno(file.sync_all()), Some(5));
    file.sync_all().unwrap();
    // A hole takes no room; what is written does.
    file.write_all_at(&[1; 4096], 64 << 20).unwrap();
    assert_eq!(errno(file.write_all_at(&[1; 1 << 20], 4096)), Some(28));
    drop(file);
    fs::remove_file(emulator.mount.join("data")).unwrap();
    // Its room is free again.
    let deadline = Instant::now() + Duration::from_secs(10);
    while rustix::fs::statvfs(&emulator.mount).unwrap().f_bfree < 256 {
        assert!(Instant::now() < deadline, "no room came back");
        thread::sleep(Duration::from_millis(5));
    }
    emulator.end();
}

#[test]
fn synced_data_survives_a_power_cut_without_synced_backing() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(
        home.path(),
        "instant",
        &["--volatile-backing", "--faults", "cut=signal,lose=1/1"],
    );
    let path = emulator.mount.join("data");
    let file = File::create_new(&path).unwrap();
    file.write_all_at(&[1; 4096], 0).unwrap();
    file.sync_all().unwrap();
    File::open(&emulator.mount).unwrap().sync_all().unwrap();
    // By a way of its own, as the page cache would keep it.
    let past_the_cache = direct(&path);
    past_the_cache.write_all_at(&[2; 4096], 4096).unwrap();
    emulator.signal(Signal::USR1);
    while past_the_cache.write_all_at(&[3; 4096], 8192).is_ok() {}
    drop((file, past_the_cache));
    let left = emulator.backing.join("files/data");
    let said = emulator.end();
    assert_eq!(said["flushes"]["requests"], 2);
    assert!(said["pace"]["cores_awake"].is_boolean());
    let left = fs::read(left).unwrap();
    assert_eq!(left[..4096], [1; 4096]);
    assert!(left[4096..].iter().all(|byte| *byte == 0), "it was lost");
}

/// Commits rows until the power is gone; tells how many were acknowledged.
fn commit_until_cut(database: &Path, journal: &str) -> u32 {
    let Ok(connection) = Connection::open(database) else {
        return 0;
    };
    let prepared = connection
        .execute_batch(&format!(
            "PRAGMA journal_mode={journal}; PRAGMA synchronous=FULL; PRAGMA cache_size=10;
             CREATE TABLE IF NOT EXISTS counter (n INTEGER);
             CREATE TABLE IF NOT EXISTS filler (n INTEGER PRIMARY KEY, text TEXT);
             INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter);"
        ))
        .is_ok();
    let mut acknowledged = 0;
    while prepared
        && connection
            .execute_batch(
                "BEGIN; UPDATE counter SET n = n + 1;
                 REPLACE INTO filler
                 SELECT abs(random()) % 400, hex(randomblob(700)) FROM
                 (WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 12)
                  SELECT n FROM i);
                 COMMIT",
            )
            .is_ok()
    {
        acknowledged += 1;
    }
    // The connection cannot be closed in order, and must not hold the files.
    drop(connection);
    acknowledged
}

/// What is wrong with the database that a cut left, if anything.
fn complaint_of(database: &Path, acknowledged: u32) -> Option<String> {
    let connection = Connection::open(database).ok()?;
    let check: rusqlite::Result<String> =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
    match check {
        Ok(text) if text == "ok" => {}
        other => return Some(format!("integrity check: {other:?}")),
    }
    let tables: u32 = connection
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE name = 'counter'",
            [],
            |row| row.get(0),
        )
        .ok()?;
    let found: u32 = match tables {
        0 => 0,
        _ => connection
            .query_row("SELECT coalesce(max(n), 0) FROM counter", [], |row| {
                row.get(0)
            })
            .unwrap_or(0),
    };
    (found < acknowledged || found > acknowledged + 1)
        .then(|| format!("{acknowledged} commits were acknowledged, {found} are there"))
}

/// Cuts the power of a database at work; tells what is wrong afterwards.
fn cut_database(home: &Path, journal: &str, cut: u32, more: &str) -> (u32, Option<String>) {
    let faults = format!("cut={cut}{more}");
    let seed = cut.to_string();
    let emulator = Emulator::start(home, "instant", &["--faults", &faults, "--seed", &seed]);
    let acknowledged = commit_until_cut(&emulator.mount.join("test.db"), journal);
    assert_eq!(emulator.end()["power_cut"], true);
    // What the device holds, opened by a database after the power came back.
    let complaint = complaint_of(&home.join("backing/files/test.db"), acknowledged);
    (acknowledged, complaint)
}

#[test]
fn sqlite_survives_power_cuts() {
    if !can_mount() {
        return;
    }
    let mut acknowledged_in_all = 0;
    for (journal, cuts) in [("WAL", [301, 733, 1212]), ("DELETE", [157, 402, 1001])] {
        for cut in cuts {
            let home = tempfile::tempdir().unwrap();
            let (acknowledged, complaint) = cut_database(home.path(), journal, cut, "");
            assert_eq!(complaint, None, "{journal} cut={cut}");
            acknowledged_in_all += acknowledged;
        }
    }
    assert!(acknowledged_in_all > 50, "{acknowledged_in_all}");
}

#[test]
fn a_lying_device_is_found_out() {
    if !can_mount() {
        return;
    }
    let complaints = [811, 812, 813].map(|cut| {
        let home = tempfile::tempdir().unwrap();
        cut_database(home.path(), "WAL", cut, ",lie").1
    });
    assert!(complaints.iter().any(Option::is_some), "{complaints:?}");
}

#[test]
fn nothing_stays_behind() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let gone = |path: &Path| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while mounted(path) {
            assert!(Instant::now() < deadline, "{} stays", path.display());
            thread::sleep(Duration::from_millis(5));
        }
    };
    // Killed, while a file is open.
    let mut emulator = Emulator::start(home.path(), "instant", &[]);
    let open = File::create(emulator.mount.join("data")).unwrap();
    emulator.child.kill().unwrap();
    emulator.child.wait().unwrap();
    gone(&emulator.mount);
    drop(open);
    // Asked to end, while a file is open and the disk is slow.
    let emulator = Emulator::start(home.path(), "instant", &[]);
    let open = File::create(emulator.mount.join("data")).unwrap();
    (&open).write_all(b"kept").unwrap();
    emulator.end();
    assert_eq!(
        fs::read(home.path().join("backing/files/data")).unwrap(),
        b"kept"
    );
    drop(open);
    // Unmounted by somebody else.
    let mut emulator = Emulator::start(home.path(), "instant", &[]);
    let unmounted = Command::new("umount")
        .arg(&emulator.mount)
        .status()
        .unwrap();
    if unmounted.success() {
        assert!(emulator.child.wait().unwrap().success());
    }
    // The parent is gone.
    let mount = home.path().join("mount");
    let script = "\"$@\" & while ! grep -q \"$0\" /proc/self/mountinfo; do :; done; kill -9 $$";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(&mount)
        .args([
            env!("CARGO_BIN_EXE_octavo"),
            "emulate",
            "instant",
            "--end-with-parent",
        ])
        .arg("--backing")
        .arg(home.path().join("backing"))
        .arg("--mount")
        .arg(&mount)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    gone(&mount);
}

/// The processes whose command line has both.
fn processes_with(one: &str, other: &str) -> Vec<Pid> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(one) && line.contains(other)
        })
        .filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
        .collect()
}

#[test]
fn an_emulator_that_is_killed_while_it_mounts_ends_and_the_next_one_mounts() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // Slow enough that most of these find it timing its requests.
    let device = constant(home.path(), 2000);
    let (backing, mount) = (home.path().join("backing"), home.path().join("mount"));
    for delay in [0, 20, 40, 80, 120, 160, 240, 320, 480] {
        let mut child = crate::octavo()
            .args(["emulate", &device, "--backing"])
            .arg(&backing)
            .arg("--mount")
            .arg(&mount)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while child.try_wait().unwrap().is_none() {
            assert!(
                Instant::now() < deadline,
                "it hangs, killed after {delay} ms"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
    Emulator::start(home.path(), &device, &[]).end();
}

/// One whose emulator was killed would remove the file of the next emulator's, or leave
/// its own where nothing is mounted any more.
#[test]
fn requests_are_timed_only_on_the_mount_of_who_wants_to_know() {
    let mount = tempfile::tempdir().unwrap();
    let file = mount.path().join(".octavo-lead");
    fs::write(&file, "of another").unwrap();
    for process in ["1", &std::process::id().to_string()] {
        let mut lead = crate::octavo();
        let output = lead.arg("lead").arg(mount.path()).arg(process).output();
        let output = output.unwrap();
        let complaint = crate::complaint(&output);
        assert!(
            complaint.contains("who mounted it has ended"),
            "{complaint}"
        );
        assert_eq!(fs::read(&file).unwrap(), b"of another");
    }
}

#[test]
fn the_mount_of_a_dead_emulator_without_its_watcher_is_cleared_by_the_next() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut emulator = Emulator::start(home.path(), "instant", &[]);
    let watchers = processes_with("octavo-reaper", emulator.mount.to_str().unwrap());
    assert_eq!(watchers.len(), 1);
    for watcher in watchers {
        kill_process(watcher, Signal::KILL).unwrap();
    }
    emulator.child.kill().unwrap();
    emulator.child.wait().unwrap();
    assert!(mounted(&emulator.mount), "nobody unmounts it");
    Emulator::start(home.path(), "instant", &[]).end();
}

/// Waits until a process brings a device to its state: the thread that does it
/// has this name, of which the kernel keeps 15 characters.
fn wait_until_conditioning(octavo: u32) {
    let conditioning = || {
        fs::read_dir(format!("/proc/{octavo}/task"))
            .unwrap()
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .any(|name| name.trim() == "octavo-conditio")
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !conditioning() {
        assert!(Instant::now() < deadline, "no device is conditioned");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The only child of a process, once it is there.
fn child_of(parent: u32) -> u32 {
    let wanted = format!("PPid:\t{parent}");
    let is_child = |status: String| status.lines().any(|line| line == wanted);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let found = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .find(|process| fs::read_to_string(process.path().join("status")).is_ok_and(is_child));
        if let Some(found) = found {
            return found.file_name().to_str().unwrap().parse().unwrap();
        }
        assert!(Instant::now() < deadline, "{parent} has no child");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Bringing this device to its state takes seconds at least: nothing of what
/// follows may have begun when it is interrupted.
const SLOW: &str = "sata-tlc";

#[test]
fn an_interrupt_is_heard_while_a_device_starts() {
    let home = tempfile::tempdir().unwrap();
    let (backing, mount) = (home.path().join("backing"), home.path().join("mount"));
    let child = crate::octavo()
        .args(["emulate", SLOW, "--precondition=8K"])
        .arg("--backing")
        .arg(&backing)
        .arg("--mount")
        .arg(&mount)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    wait_until_conditioning(child.id());
    kill_process(id, Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = crate::complaint(&output);
    assert_eq!(output.status.code(), Some(130), "{complaint}");
    assert!(complaint.contains("nothing was mounted yet"), "{complaint}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_is_heard_while_an_experiments_device_starts() {
    let home = tempfile::tempdir().unwrap();
    let child = crate::octavo()
        .arg("advise")
        .arg(home.path().join("work"))
        .args(["--device", SLOW])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    let emulator = child_of(child.id());
    wait_until_conditioning(emulator);
    kill_process(id, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = crate::complaint(&output);
    assert_eq!(output.status.code(), Some(130), "{complaint}");
    assert!(
        complaint.contains("nothing was measured yet"),
        "{complaint}"
    );
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    assert!(!fs::exists(format!("/proc/{emulator}")).unwrap());
}

/// An experiment of a second or two on an emulated device.
fn experiment(work: &Path, device: &str) -> Command {
    let mut octavo = crate::octavo();
    octavo
        .arg("advise")
        .arg(work)
        .args(["--device", device, "--no-calibrate", "--json"])
        .args(["--workload", "pgbench", "--scale", "1"])
        .args(["--page-sizes", "4K,16K", "--memory", "4MiB"])
        .args(["--passes", "4", "--transactions", "50", "--warm-up", "50"]);
    octavo
}

#[test]
fn the_mount_of_an_experiment_is_its_own_and_ends_with_all_of_its_processes() {
    // Who is not root shares mounts with everybody.
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mount = work.join("devices/instant");
    let mut child = experiment(&work, "instant")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mounts = format!("/proc/{}/mountinfo", child.id());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&mounts).is_ok_and(|table| table.contains(mount.to_str().unwrap())) {
        assert!(Instant::now() < deadline, "it has no device");
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!mounted(&mount), "others see it");
    // A process that is just being started has no command line yet.
    let all = loop {
        let all = processes_with(work.to_str().unwrap(), "");
        if all.len() >= 3 {
            break all;
        }
        assert!(
            Instant::now() < deadline,
            "octavo, the emulator and its watcher: {all:?}"
        );
        thread::sleep(Duration::from_millis(1));
    };
    for one in all {
        kill_process(one, Signal::KILL).unwrap();
    }
    child.wait().unwrap();
    assert!(!mounted(&mount));
    let output = experiment(&work, "instant").output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
}

#[test]
fn an_experiment_whose_emulator_is_killed_while_it_mounts_can_be_repeated() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // Slow enough that most of these find it timing its requests.
    let device = constant(home.path(), 2000);
    let work = home.path().join("work");
    for delay in [0, 20, 40, 80, 120, 160, 240] {
        let mut child = experiment(&work, &device)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let emulator = Pid::from_raw(child_of(child.id()).try_into().unwrap()).unwrap();
        thread::sleep(Duration::from_millis(delay));
        kill_process(emulator, Signal::KILL).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(
            !work.exists() || work.join("OCTAVO").exists(),
            "killed after {delay} ms, it leaves a directory without its mark"
        );
    }
    let output = experiment(&work, &device).output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
}

#[test]
fn an_experiment_goes_on_where_a_dead_mount_is_in_its_way() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mount = work.join("devices/instant");
    let made = experiment(&work, "instant")
        .args(["--budget", "1m"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", crate::complaint(&made));
    let mut dead = Emulator::start(home.path(), "instant", &[]);
    for watcher in processes_with("octavo-reaper", dead.mount.to_str().unwrap()) {
        kill_process(watcher, Signal::KILL).unwrap();
    }
    fs::create_dir_all(&mount).unwrap();
    let moved = Command::new("mount")
        .args(["--bind"])
        .args([&dead.mount, &mount])
        .status()
        .unwrap();
    if !moved.success() {
        eprintln!("skipped: mounting is not allowed here");
        return;
    }
    // The kernel keeps the answer, and says later that there is a directory.
    fs::metadata(&mount).unwrap();
    dead.child.kill().unwrap();
    dead.child.wait().unwrap();
    assert!(mounted(&mount));
    let output = experiment(&work, "instant")
        .args(["--budget", "2m"])
        .output()
        .unwrap();
    let _unmounted = Command::new("umount").arg("-l").arg(&dead.mount).status();
    assert!(output.status.success(), "{}", crate::complaint(&output));
    assert!(!mounted(&mount));
}

#[test]
fn unfit_devices_and_directories_are_refused_in_one_line() {
    let home = tempfile::tempdir().unwrap();
    let (full, empty) = (home.path().join("full"), home.path().join("empty"));
    fs::create_dir(&full).unwrap();
    fs::write(full.join("mine"), "precious").unwrap();
    let within = full.join("within");
    let cases: [(&str, &Path, &Path, &[&str], &str); 7] = [
        (
            "instnat",
            &empty,
            &home.path().join("m"),
            &[],
            "did you mean instant?",
        ),
        ("instant", &full, &home.path().join("m"), &[], "mine"),
        ("instant", &empty, &full, &[], "not empty"),
        (
            "instant",
            &empty,
            &within.join("x"),
            &["--faults", "melt"],
            "melt",
        ),
        (
            "instant",
            &within,
            &within.join("x"),
            &[],
            "one in the other",
        ),
        (
            "instant",
            &empty,
            &home.path().join("m"),
            &["--time-scale", "0"],
            "time scale 0",
        ),
        (
            "instant",
            &empty,
            &home.path().join("m"),
            &["--precondition", "4K", "--precondition-range", "2TiB"],
            "2048 GiB",
        ),
    ];
    for (device, backing, mount, more, named) in cases {
        let Output { status, stderr, .. } = crate::octavo()
            .args(["emulate", device])
            .arg("--backing")
            .arg(backing)
            .arg("--mount")
            .arg(mount)
            .args(more)
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(2), "{named}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains(named), "{named} in {complaint}");
    }
    assert_eq!(fs::read_to_string(full.join("mine")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
    assert!(!home.path().join("m").exists());
}
