//! A disk that fills up while loading: a clean stop, and the same command
//! goes on once there is room.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// Set in the copy of this test that runs inside a namespace of its own,
/// where a small file system can be mounted without being root outside.
const INSIDE: &str = "OCTAVO_TEST_DISK_FULL";

#[test]
fn a_full_disk_stops_cleanly_and_resumes() {
    if let Some(mount) = std::env::var_os(INSIDE) {
        return inside(Path::new(&mount));
    }
    let mount = tempfile::tempdir().unwrap();
    let can_mount = Command::new("unshare")
        .args(["--mount", "--map-root-user", "mount", "-t", "tmpfs", "none"])
        .arg(mount.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !can_mount {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    }
    let status = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c"])
        .arg("mount -t tmpfs -o size=700m none \"$0\" && exec \"$@\"")
        .arg(mount.path())
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "disk_full::a_full_disk_stops_cleanly_and_resumes",
            "--nocapture",
        ])
        .env(INSIDE, mount.path())
        .status()
        .unwrap();
    assert!(status.success());
}

fn inside(mount: &Path) {
    let directory = mount.join("advice");
    let filler = mount.join("filler");
    let mut child = crate::small_advise(&directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The room was there when octavo looked; it goes once loading has begun.
    while !fs::exists(directory.join("data")).unwrap() {
        assert!(child.try_wait().unwrap().is_none(), "ended before loading");
        std::thread::yield_now();
    }
    // As much as there is room for.
    let filled = fs::write(&filler, vec![1; 700 << 20]);
    assert!(filled.is_err(), "the file system is smaller than that");
    let output = child.wait_with_output().unwrap();
    let complaint = crate::complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("no space left"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");

    fs::remove_file(&filler).unwrap();
    let output = crate::small_advise(&directory).output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
    assert!(fs::exists(directory.join("report.html")).unwrap());
}
