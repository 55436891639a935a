//! A disk that fills up: while loading it is a clean stop, and the same command goes on once
//! there is room; while measuring, what was measured stays.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

/// Set in the copy of this test that runs inside a namespace of its own,
/// where a small file system can be mounted without being root outside.
const INSIDE: &str = "OCTAVO_TEST_DISK_FULL";

#[test]
fn a_full_disk_stops_cleanly_and_resumes() {
    on_a_small_disk(
        "disk_full::a_full_disk_stops_cleanly_and_resumes",
        stops_and_resumes,
    );
}

#[test]
fn a_bench_keeps_what_it_measured_before_the_disk_was_full() {
    on_a_small_disk(
        "disk_full::a_bench_keeps_what_it_measured_before_the_disk_was_full",
        bench_keeps,
    );
}

/// Runs the test `name` again where a small file system is mounted, and there `inside`.
fn on_a_small_disk(name: &str, inside: impl Fn(&Path)) {
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
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, mount.path())
        .status()
        .unwrap();
    assert!(status.success());
}

/// Writes a file until there is no room for more.
fn fill(filler: &Path) {
    let filled = fs::write(filler, vec![1; 700 << 20]);
    assert!(filled.is_err(), "the file system is smaller than that");
}

fn stops_and_resumes(mount: &Path) {
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
    fill(&filler);
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

fn bench_keeps(mount: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let csv = elsewhere.path().join("seconds.csv");
    let page = elsewhere.path().join("report.html");
    let mut child = crate::octavo()
        .arg("bench")
        .arg(mount.join("rows"))
        // A write-ahead log that is restarted is not made longer: rows are.
        .args(["--workload=ycsb-a", "--mix=insert=100", "--records=1000"])
        .args(["--duration=5m", "--warm-up-time=0s", "--progress=1"])
        .arg("--csv")
        .arg(&csv)
        .arg("--html")
        .arg(&page)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let measuring = said.find(|line| line.as_ref().unwrap().contains("measuring"));
    assert!(measuring.is_some(), "ended before measuring");
    fill(&mount.join("filler"));
    let complaint = said
        .map(Result::unwrap)
        .filter(|line| line.starts_with("octavo: "));
    let complaint: Vec<String> = complaint.collect();
    let output = child.wait_with_output().unwrap();
    let [complaint] = &complaint[..] else {
        panic!("{complaint:?}");
    };
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    let words = "the run ended early, and the rows were not checked: ";
    assert!(complaint.contains(words), "{complaint}");
    assert_eq!(complaint.matches("space left").count(), 1, "{complaint}");
    assert!(!complaint.contains("disk is full"), "{complaint}");
    let found = String::from_utf8(output.stdout).unwrap();
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(found.contains("and the rows were not checked"), "{found}");
    assert_eq!(found.matches("space left").count(), 1, "{found}");
    assert!(fs::read_to_string(csv).unwrap().lines().count() > 1);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("the rows were not checked"));
}
