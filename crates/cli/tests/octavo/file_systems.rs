//! File systems that are made for an experiment: what is measured on them, and that nothing of them
//! stays however it ends.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use crate::{complaint, octavo};

/// Whether file systems can be made here; says so where not.
pub(crate) fn can_make() -> bool {
    let can = geteuid().is_root()
        && Path::new("/dev/loop-control").exists()
        && Path::new("/usr/sbin/mkfs.ext4").exists();
    if !can {
        println!("skipped: no loop devices or no mkfs.ext4 here, or not root");
    }
    can
}

const PLAN: &str = r#"
format = 1
[experiment]
passes = 8
[run]
transactions = 20
warm-up = 50
[workload]
name = "ycsb-a"
records = 10000
[cells]
page-size = ["1K", "4K"]
memory = ["1MiB"]
"#;

fn plan(home: &Path, more: &str) {
    fs::write(home.join("plan.toml"), format!("{PLAN}{more}\n")).unwrap();
}

/// Loop devices and mounts, here and of any process, that have to do with a directory.
fn traces(home: &Path) -> Vec<String> {
    let home = home.to_str().unwrap();
    let mut found = Vec::new();
    let loops = fs::read_dir("/sys/block").unwrap().flatten();
    let files = loops.filter_map(|of| fs::read_to_string(of.path().join("loop/backing_file")).ok());
    found.extend(files.filter(|file| file.contains(home)));
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let tables = processes.filter_map(|of| fs::read_to_string(of.path().join("mountinfo")).ok());
    for table in tables {
        found.extend(
            table
                .lines()
                .filter(|line| line.contains(home))
                .map(String::from),
        );
    }
    found
}

/// Waits until nothing is left: a killed process's mounts go when the kernel has ended it.
#[track_caller]
fn await_no_traces(home: &Path) {
    let since = Instant::now();
    while !traces(home).is_empty() {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "{:?}",
            traces(home)
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn report(home: &Path) -> Value {
    let output = octavo()
        .current_dir(home)
        .args(["report", "out", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn pages_are_compared_on_file_systems_of_which_nothing_stays() {
    if !can_make() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    plan(
        home.path(),
        r#"file-system = ["ext4:1K,noatime", "ext4:4K", "here"]"#,
    );
    let output = octavo()
        .current_dir(home.path())
        .args(["run", "plan.toml", "out", "--quiet"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(traces(home.path()), Vec::<String>::new());
    let mut left: Vec<String> = fs::read_dir(home.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["OCTAVO", "octavo.db", "report.html"]);
    let report = report(home.path());
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    let fact = |name: &str| {
        let facts = report["storage"].as_array().unwrap();
        let found = facts.iter().find(|fact| fact[0] == name);
        found.map(|fact| fact[1].as_str().unwrap().to_owned())
    };
    let of_made = |name: &str| fact(&format!("file-system:ext4:1K,noatime: {name}")).unwrap();
    assert_eq!(of_made("file_system"), "ext4");
    assert_eq!(of_made("file_system_block_bytes"), "1024");
    assert!(of_made("mount_options").contains("noatime"));
    // It is another one at each mount.
    assert_eq!(fact("file-system:ext4:1K,noatime: device"), None);
    let block = fact("file-system:ext4:4K: file_system_block_bytes");
    assert_eq!(block.as_deref(), Some("4096"));
    // Reads are counted by the file system's own device.
    for group in groups {
        let cells = group["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            assert!(
                cell["throughput"]["estimate"].as_f64().unwrap() > 0.0,
                "{cell}"
            );
        }
    }
    let caveats = report["caveats"].as_array().unwrap();
    let below = caveats.iter().find(|of| of["caveat"] == "page_below_block");
    assert!(below.is_some(), "{caveats:?}");
}

#[test]
fn a_killed_experiment_leaves_no_mount_and_goes_on() {
    if !can_make() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    plan(home.path(), r#"file-system = ["ext4:4K,offset=512"]"#);
    let run = || {
        let mut command = octavo();
        command
            .current_dir(home.path())
            .args(["run", "plan.toml", "out", "--quiet"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    for _ in 0..2 {
        let child = run().spawn().unwrap();
        let at = home
            .path()
            .join("out/file-systems/ext4-4K-offset-512.backing/image");
        let since = Instant::now();
        while !at.exists() {
            assert!(since.elapsed() < Duration::from_secs(60), "not made");
            thread::sleep(Duration::from_millis(5));
        }
        // Somewhere while it is mounted and loaded.
        thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait_with_output().unwrap();
        await_no_traces(home.path());
    }
    let backing = home
        .path()
        .join("out/file-systems/ext4-4K-offset-512.backing");
    fs::write(backing.join("mine"), "precious").unwrap();
    let output = run().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(traces(home.path()), Vec::<String>::new());
    assert!(!backing.join("image").exists());
    assert!(backing.join("mine").exists());
    let report = report(home.path());
    let caveats = report["caveats"].as_array().unwrap();
    // It was asked for.
    assert!(
        caveats.iter().all(|of| of["caveat"] != "misaligned"),
        "{caveats:?}"
    );
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_is_made() {
    let home = tempfile::tempdir().unwrap();
    let refused = |more: &str, change: &dyn Fn(&mut Command)| {
        plan(home.path(), more);
        let mut command = octavo();
        command
            .current_dir(home.path())
            .args(["run", "plan.toml", "out"]);
        change(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
        assert!(!home.path().join("out").exists());
        complaint(&output)
    };
    for (line, told) in [
        (
            r#"file-system = ["ext4:8K"]"#,
            "plan.toml:14: 'ext4:8K' is no file system",
        ),
        (r#"file-system = ["zfs"]"#, "ext4, xfs, btrfs"),
        (r#"file-system = ["ext4", "ext4"]"#, "twice"),
        (r#"storage = ["file-system:zfs"]"#, "ext4, xfs, btrfs"),
        (
            r#"storage = ["file-system:xfs on file-system:ext4"]"#,
            "not made on another one",
        ),
        (
            "storage = [\"file-system:xfs\"]\nfile-system = [\"ext4\"]",
            "has file system xfs:4K already",
        ),
    ] {
        let said = refused(line, &|_| {});
        assert!(said.contains(told), "{line}: {said}");
    }
    let both = "storage = [\"\", \"device:ec\"]\nfile-system = [\"ext4\", \"xfs\"]";
    let compared = PLAN.replace("passes = 8", "passes = 8\ncompare = \"file-system\"");
    fs::write(home.path().join("plan.toml"), format!("{compared}{both}\n")).unwrap();
    let output = octavo()
        .current_dir(home.path())
        .args(["run", "plan.toml"])
        .output()
        .unwrap();
    assert!(complaint(&output).contains("both storage and file-system are lists"));
    plan(home.path(), r#"file-system = ["ext4"]"#);
    let output = octavo()
        .current_dir(home.path())
        .args(["predict", "plan.toml", "--device=ec"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint(&output).contains("file system ext4:4K cannot be predicted"),
        "{}",
        complaint(&output)
    );
    if geteuid().is_root() {
        // Somebody who may write there, and is not root.
        std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
        let said = refused(r#"file-system = ["ext4"]"#, &|command| {
            command.uid(65534).gid(65534).env("HOME", home.path());
        });
        assert!(said.contains("takes root's rights"), "{said}");
    }
}

#[test]
fn storage_is_calibrated_in_a_file_system_that_is_gone_afterwards() {
    if !can_make() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let calibrate = |more: &[&str]| {
        let mut command = octavo();
        command.arg("calibrate").arg(home.path()).args(more);
        command.args(["--quiet", "--size", "64MiB"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let system = ["--file-system", "ext4:4K,offset=512"];
    // Of one that is killed a directory stays, as nobody else knows whose it is.
    let mut killed = calibrate(&system).spawn().unwrap();
    let since = Instant::now();
    while traces(home.path()).len() < 2 {
        assert!(since.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(20));
    }
    let number = killed.id();
    killed.kill().unwrap();
    killed.wait().unwrap();
    await_no_traces(home.path());
    // Somebody's own, however it is called, and through a link.
    let own = home.path().join("octavo-file-system-7/backing");
    let linked = home.path().join("octavo-file-system-8");
    fs::create_dir_all(&own).unwrap();
    fs::create_dir(&linked).unwrap();
    fs::write(own.join("image"), "mine").unwrap();
    std::os::unix::fs::symlink(&own, linked.join("backing")).unwrap();
    let points = [
        "--json",
        "--point",
        "random write 8K, depth 1, range 64MiB",
        "--point",
        "random write 8K, depth 1, range 64MiB, shifted 512",
    ];
    let done = calibrate(&system).args(points).output().unwrap();
    assert!(done.status.success(), "{}", complaint(&done));
    let profile: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(profile["storage"]["offset_bytes"], 512, "{profile}");
    assert_eq!(profile["storage"]["file_system"], "ext4");
    assert_eq!(profile["points"].as_array().unwrap().len(), 1);
    assert_eq!(profile["shifted"][0]["shift"], 512);
    assert_eq!(fs::read(own.join("image")).unwrap(), b"mine");
    assert!(linked.join("backing").is_symlink());
    let left = fs::read_dir(home.path()).unwrap().flatten();
    let mut left: Vec<String> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    left.sort();
    let mut kept = vec![
        format!("octavo-file-system-{number}"),
        "octavo-file-system-7".into(),
        "octavo-file-system-8".into(),
    ];
    kept.sort();
    assert_eq!(left, kept);
    assert!(traces(home.path()).is_empty());
    let refused = calibrate(&["--file-system", "ext4:3K"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
