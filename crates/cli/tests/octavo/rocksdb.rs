//! Experiments on RocksDB: each cell works in a process of its own.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// An experiment of some seconds.
fn experiment(work: &Path, passes: u32) -> Command {
    let mut octavo = crate::octavo();
    octavo
        .arg("advise")
        .arg(work)
        .args(["--database=rocksdb", "--workload=ycsb-a", "--records=20000"])
        .args(["--page-sizes=4K,16K", "--memory=8MiB", "--no-calibrate"])
        .args(["--transactions=100", "--warm-up=200", "--json"])
        .arg(format!("--passes={passes}"));
    octavo
}

/// The processes that run databases for another.
fn hosts_of(parent: u32) -> Vec<Pid> {
    let wanted = format!("PPid:\t{parent}");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let hosts = processes.filter(|process| {
        let read = |name: &str| fs::read_to_string(process.path().join(name)).unwrap_or_default();
        read("cmdline").ends_with("octavo\0host\0")
            && read("status").lines().any(|line| line == wanted)
    });
    let number = |name: &str| name.parse().ok().and_then(Pid::from_raw);
    hosts
        .filter_map(|process| number(process.file_name().to_str()?))
        .collect()
}

/// Waits until both cells have their processes.
fn two_hosts(child: &mut Child) -> Vec<Pid> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let hosts = hosts_of(child.id());
        if hosts.len() == 2 {
            return hosts;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        assert!(Instant::now() < deadline, "{hosts:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process runs: one that has ended and was not waited for does not.
fn runs(pid: Pid) -> bool {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = fs::read_to_string(stat).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, state)| state);
    state.is_some_and(|state| !state.starts_with('Z'))
}

#[test]
fn each_cell_is_a_process_that_executes_the_same_and_ends() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mut child = experiment(&work, 8)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hosts = two_hosts(&mut child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
    assert!(!hosts.into_iter().any(runs));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = found["groups"][0]["cells"].as_array().unwrap();
    let committed = |cell: &Value| -> Vec<u64> {
        let kinds = cell["kinds"].as_array().unwrap().iter();
        kinds
            .map(|kind| kind["committed"].as_u64().unwrap())
            .collect()
    };
    let committed: Vec<Vec<u64>> = cells.iter().map(committed).collect();
    assert_eq!(committed.len(), 2);
    assert_eq!(committed[0], committed[1]);
    assert!(committed[0].iter().sum::<u64>() >= 8 * 100, "{committed:?}");
    let text = found.to_string();
    // Half a megabyte fills no write buffer.
    let caveats = found["caveats"].to_string();
    assert!(caveats.contains("hardly_merged"), "{caveats}");
    for condition in ["block cache", "column family", "snapshots"] {
        assert!(text.contains(condition), "{condition}");
    }
}

#[test]
fn a_cell_whose_process_is_killed_is_lost_and_the_other_one_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mut child = experiment(&work, 60)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hosts = two_hosts(&mut child);
    thread::sleep(Duration::from_millis(300));
    kill_process(hosts[0], Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("SIGKILL"), "{said}");
    assert!(!hosts.into_iter().any(runs));
}

#[test]
fn an_experiment_that_is_killed_leaves_no_process_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mut child = experiment(&work, 200)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hosts = two_hosts(&mut child);
    thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while hosts.iter().any(|host| runs(*host)) {
        assert!(Instant::now() < deadline, "they stay");
        thread::sleep(Duration::from_millis(5));
    }
    let output = experiment(&work, 4).output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
}

/// RocksDB's threads see what is mounted: nothing of it has begun before.
#[test]
fn an_emulated_device_has_its_files() {
    if !crate::emulate::can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let output = experiment(&home.path().join("work"), 4)
        .args(["--device", "instant"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
}

/// A process that answers nothing is not waited for once the experiment is interrupted.
#[test]
fn an_interrupt_ends_an_experiment_whose_process_is_held() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mut child = experiment(&work, 20_000)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hosts = two_hosts(&mut child);
    thread::sleep(Duration::from_millis(500));
    for _ in 0..50 {
        for host in &hosts {
            kill_process(*host, Signal::STOP).unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    }
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    // Three waits of 10 s each for what answers nothing, on a quiet machine.
    let deadline = Instant::now() + Duration::from_secs(300);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it waits");
        thread::sleep(Duration::from_millis(10));
    }
    assert!(!hosts.into_iter().any(runs));
}

#[test]
fn a_library_that_is_not_there_is_bad_input() {
    let home = tempfile::tempdir().unwrap();
    crate::refused(
        &[
            "advise",
            "--database=rocksdb",
            "--library=/no/librocksdb.so",
        ],
        &home.path().join("work"),
        &["/no/librocksdb.so"],
    );
    assert!(!home.path().join("work").exists());
}
