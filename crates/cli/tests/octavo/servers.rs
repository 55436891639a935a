//! Servers of Octavo's own end with it, whatever ends it, and a run whose
//! server dies costs that run alone.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::statvfs,
    process::{Pid, Signal, geteuid, kill_process},
};
use tempfile::TempDir;

use crate::{complaint, octavo};

/// How long anything here may take.
const LIMIT: Duration = Duration::from_secs(120);

/// PostgreSQL as the distribution has it, and MariaDB.
const SERVERS: [(&str, &[&str]); 2] = [
    ("postgres", &["--database=postgres", "--bin=8K=installed"]),
    ("mariadb", &["--database=mariadb"]),
];

/// Bytes of a file system in memory that takes one loaded server.
const SMALL_DISK: u64 = 2600 << 20;
/// Bytes for a server that starts, and for a part of the 300 MB that are loaded.
const LEFT_ON_A_SMALL_DISK: u64 = 100 << 20;

/// A directory that the servers' user may pass through.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn bench(directory: &Path, options: &[&str], duration: &str) -> Command {
    let mut command = octavo();
    command.arg("bench").arg(directory).args(options).args([
        "--workload=pgbench",
        "--scale=1",
        "--clients=2",
        "--memory=64MiB",
        "--warm-up-time=0s",
        &format!("--duration={duration}"),
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The servers whose directories lie below this one.
fn servers(directory: &Path) -> Vec<Pid> {
    let below = directory.to_str().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let is_server = ["postgres", "mariadbd"].contains(&name.trim());
            (is_server && String::from_utf8_lossy(&line).contains(below))
                .then(|| Pid::from_raw(pid))
                .flatten()
        })
        .collect()
}

/// Whether a server below a directory listens.
fn listens(directory: &Path) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| {
        entry
            .file_type()
            .is_ok_and(|kind| kind.is_socket() || (kind.is_dir() && listens(&entry.path())))
    })
}

/// Waits for the server of the first run, and lets it work for a moment.
#[track_caller]
fn wait_for_run(child: &mut Child, directory: &Path) -> Pid {
    let run = directory.join("data/run");
    let begin = Instant::now();
    loop {
        if let [server, ..] = servers(&run)[..]
            && listens(&run)
        {
            thread::sleep(Duration::from_millis(900));
            return server;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        assert!(begin.elapsed() < LIMIT, "no run began");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The System V segment that a process made (proc(5)).
fn shared_memory_of(maker: Pid) -> Option<String> {
    let maker = maker.as_raw_nonzero().to_string();
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let is_own = |line: &&str| line.split_whitespace().nth(4) == Some(&maker);
    table.lines().find(is_own).map(str::to_owned)
}

#[track_caller]
fn nothing_is_left(directory: &Path, octavo: u32) {
    let begin = Instant::now();
    while !servers(directory).is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "a server is left"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let groups = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"]
        .into_iter()
        .filter_map(|root| fs::read_dir(root).ok())
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("octavo-") && name.contains(&format!("-{octavo}-"))
        })
        .count();
    assert_eq!(groups, 0, "a control group is left");
}

#[test]
fn a_killed_octavo_leaves_no_server_and_the_same_command_works() {
    for (name, options) in SERVERS {
        let place = place();
        let directory = place.path().join(name);
        let mut child = bench(&directory, options, "60s").spawn().unwrap();
        wait_for_run(&mut child, &directory);
        child.kill().unwrap();
        child.wait().unwrap();
        let begin = Instant::now();
        while !servers(&directory).is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{name} is left");
            thread::sleep(Duration::from_millis(20));
        }
        let again = bench(&directory, options, "1s").spawn().unwrap();
        let ids = [child.id(), again.id()];
        let output = again.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", complaint(&output));
        // The group of the one that was killed went with the second start.
        for id in ids {
            nothing_is_left(&directory, id);
        }
    }
}

/// Loads with MariaDB, ended by `signal` when `wait` returns, which is given the directory;
/// what ended then, and what the same command comes to at once.
fn load_ended_by(signal: Signal, wait: impl Fn(&Path)) -> (Output, Output) {
    let place = place();
    let directory = place.path().join("load");
    let load = || {
        let mut command = octavo();
        command.arg("load").arg(&directory).args([
            "--database=mariadb",
            "--workload=ycsb-b",
            "--records=500",
        ]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let child = load().spawn().unwrap();
    wait(&directory);
    let octavo = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(octavo, signal).unwrap();
    let ended = child.wait_with_output().unwrap();
    let again = load().output().unwrap();
    nothing_is_left(&directory, child_id(octavo));
    (ended, again)
}

fn child_id(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

#[test]
fn a_load_is_repeated_at_once_after_a_kill_while_a_tool_works() {
    for milliseconds in [700, 900, 1100] {
        let after = Duration::from_millis(milliseconds);
        let (_, again) = load_ended_by(Signal::KILL, |_| thread::sleep(after));
        assert!(again.status.success(), "{after:?}: {}", complaint(&again));
    }
}

#[test]
fn a_terminal_that_closes_is_an_interrupt() {
    let since = Instant::now();
    let (ended, again) = load_ended_by(Signal::HUP, |directory| {
        while servers(directory).is_empty() {
            assert!(since.elapsed() < LIMIT, "no server begins");
            thread::sleep(Duration::from_millis(1));
        }
    });
    let said = complaint(&ended);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("nothing was loaded"), "{said}");
    assert!(again.status.success(), "{}", complaint(&again));
}

#[test]
fn ctrl_c_stops_the_server_first() {
    for (name, options) in SERVERS {
        let place = place();
        let directory = place.path().join(name);
        let mut child = bench(&directory, options, "60s").spawn().unwrap();
        wait_for_run(&mut child, &directory);
        let octavo = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(octavo, Signal::INT).unwrap();
        let id = child.id();
        let output = child.wait_with_output().unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(130), "{name}: {complaint}");
        assert!(servers(&directory).is_empty(), "{name} outlived octavo");
        nothing_is_left(&directory, id);
    }
}

#[test]
fn a_run_whose_server_dies_is_marked_and_the_plan_goes_on() {
    for (name, database) in [
        (
            "postgres",
            "database = \"postgres\"\nbin = \"8K=installed\"",
        ),
        ("mariadb", "database = \"mariadb\""),
    ] {
        let place = place();
        let directory = place.path().join(name);
        let plan = place.path().join("plan.toml");
        let text = format!(
            "format = 1\n[experiment]\npasses = 8\ndesign = \"full\"\n[run]\n\
             transactions = 200\nwarm-up = 100\n\
             [workload]\nname = \"pgbench\"\nscale = 1\n\
             [cells]\n{database}\nmemory = [\"32MiB\", \"64MiB\"]\nclients = 2\n"
        );
        fs::write(&plan, text).unwrap();
        let mut child = octavo()
            .arg("run")
            .args([&plan, &directory])
            .arg("--verbose")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let server = wait_for_run(&mut child, &directory);
        kill_process(server, Signal::KILL).unwrap();
        let id = child.id();
        let output = child.wait_with_output().unwrap();
        let complaint = complaint(&output);
        assert!(output.status.success(), "{name}: {complaint}");
        assert!(
            complaint.contains("the database died"),
            "{name}: {complaint}"
        );
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(told.contains("the database died"), "{name}: {told}");
        assert_eq!(shared_memory_of(server), None, "{name}");
        nothing_is_left(&directory, id);
    }
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn failed_server_start_prints_its_log() {
    let place = place();
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    for (program, script) in [
        ("postgres", "echo 'postgres (PostgreSQL) 15.99'"),
        ("initdb", "echo 'the moon is in the wrong phase'; exit 3"),
    ] {
        write_program(&programs.join(program), script);
    }
    let directory = place.path().join("bench");
    let bin = format!("--bin=8K={}", programs.display());
    let output = bench(&directory, &["--database=postgres", &bin], "1s")
        .output()
        .unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    for word in ["make a cluster", "initdb", "wrong phase"] {
        assert!(complaint.contains(word), "{word} in: {complaint}");
    }
    assert!(
        !directory.join("data/base").exists(),
        "nothing half-made stays"
    );
}

/// Runs `initdb`, says in a file what segment its last server made (the others
/// only try settings), and kills a process.
const KILLING: &str = r#"
"$BIN/initdb" "$@" &
initdb=$!
while [ $# -gt 1 ]; do [ "$1" = --pgdata ] && data=$2; shift; done
file="$data/postmaster.pid"
until segment=$(sed -n 7p "$file" 2>/dev/null) && [ -n "$segment" ] &&
    server=$(sed -n '1s/^-//p' "$file") && grep -q -e --single "/proc/$server/cmdline"
do
    kill -0 $initdb || exit 1
done
echo "$segment" > "$TOLD"
kill -9 $VICTIM
wait $initdb
"#;

#[test]
fn a_cluster_that_is_not_made_leaves_no_shared_memory() {
    let place = place();
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let told = place.path().join("told");
    fs::create_dir(&told).unwrap();
    fs::set_permissions(&told, fs::Permissions::from_mode(0o777)).unwrap();
    let told = told.join("segment");
    let installed = fs::read_dir("/usr/lib/postgresql").unwrap();
    let bin = installed.flatten().next().unwrap().path().join("bin");
    for victim in ["$server", "$initdb"] {
        let script = KILLING
            .replace("$BIN", bin.to_str().unwrap())
            .replace("$TOLD", told.to_str().unwrap())
            .replace("$VICTIM", victim);
        for (program, script) in [
            (
                "postgres",
                format!("exec {}/postgres \"$@\"", bin.display()),
            ),
            ("initdb", script),
        ] {
            write_program(&programs.join(program), &script);
        }
        let directory = place.path().join("bench");
        let option = format!("--bin=8K={}", programs.display());
        let output = bench(&directory, &["--database=postgres", &option], "1s")
            .output()
            .unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains("make a cluster"), "{complaint}");
        let segment = fs::read_to_string(&told).unwrap();
        let own: Vec<&str> = segment.split_whitespace().collect();
        let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let is_own = |line: &str| line.split_whitespace().take(2).eq(own.iter().copied());
        assert!(!table.lines().any(is_own), "{victim}: {segment}");
        fs::remove_file(&told).unwrap();
    }
}

/// Set in the copy of the test below that runs where a small file system is
/// mounted.
const INSIDE: &str = "OCTAVO_TEST_SERVER_DISK_FULL";

#[test]
fn a_full_disk_ends_a_load_with_one_line() {
    if let Some(mount) = std::env::var_os(INSIDE) {
        return on_a_small_disk(Path::new(&mount));
    }
    // Servers run as another user, whom a namespace of ours would not have.
    if !geteuid().is_root() {
        eprintln!("skipped: only root can mount a small file system for another user");
        return;
    }
    let mount = place();
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(format!(
            "mount -t tmpfs -o size={SMALL_DISK},mode=755 none \"$0\" && exec \"$@\""
        ))
        .arg(mount.path())
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "servers::a_full_disk_ends_a_load_with_one_line",
            "--nocapture",
        ])
        .env(INSIDE, mount.path())
        .status()
        .unwrap();
    assert!(status.success());
}

fn resize(mount: &Path, bytes: u64) {
    let options = format!("remount,size={bytes}");
    let mut command = Command::new("mount");
    let status = command.args(["-o", &options]).arg(mount).status().unwrap();
    assert!(status.success(), "{options}");
}

fn on_a_small_disk(mount: &Path) {
    for (name, options) in SERVERS {
        let directory = mount.join(name);
        let load = || {
            let mut command = octavo();
            command.arg("load").arg(&directory).args(options);
            command.args(["--workload=pgbench", "--scale=20"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command
        };
        let mut child = load().spawn().unwrap();
        let id = child.id();
        while servers(&directory).is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "ended before loading");
            thread::sleep(Duration::from_millis(1));
        }
        // The load waits meanwhile. The disk shrinks rather than fills: it is memory, of
        // which the tests beside this one need some.
        let load_itself = Pid::from_raw(id as i32).unwrap();
        kill_process(load_itself, Signal::STOP).unwrap();
        let room = statvfs(mount).unwrap();
        let used = (room.f_blocks - room.f_bfree) * room.f_frsize;
        resize(mount, used + LEFT_ON_A_SMALL_DISK);
        kill_process(load_itself, Signal::CONT).unwrap();
        let output = child.wait_with_output().unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {complaint}");
        assert!(complaint.contains("pace left"), "{name}: {complaint}");
        nothing_is_left(&directory, id);
        resize(mount, SMALL_DISK);
        let output = load().output().unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            self::complaint(&output)
        );
        fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_missing_server_is_told_once_and_before_anything_is_done() {
    let place = place();
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let directory = place.path().join("advise");
    let refused = |arguments: &[&str], code: i32, named: &[&str]| {
        let mut advise = octavo();
        advise.arg("advise").arg(&directory).arg("--memory=64MiB");
        let output = advise.args(arguments).output().unwrap();
        let told = complaint(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        for word in named {
            assert!(told.contains(word), "{word} in: {told}");
        }
        assert!(!directory.exists(), "{arguments:?}");
    };
    let bin = format!("--bin={}", programs.display());
    let mysql = ["--database=mysql", &bin];
    let missing = "no server program of MySQL was found";
    refused(&mysql, 1, &[missing, "install the package mysql-server"]);

    // One that lacks a library.
    let lacking = "echo \"$0: error while loading shared libraries: libaio.so.9: cannot open \
                   shared object file: No such file or directory\" >&2; exit 127";
    for program in ["mysqld", "postgres", "initdb"] {
        write_program(&programs.join(program), lacking);
    }
    let needed = "needs libaio.so.9, which is not there";
    refused(&mysql, 1, &[needed, "install the package"]);
    let bin = format!("--bin=8K={}", programs.display());
    let postgres = ["--database=postgres", &bin, "--page-sizes=8K"];
    // Its version is asked for what its flags mean.
    refused(&postgres, 2, &[needed, "install the package"]);
}
