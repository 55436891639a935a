//! Shells as servers, which count in files.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::*;
use crate::server::process::{Launch, Server};

/// Says to the test program, started again, that it is to be killed.
const VICTIM: &str = "OCTAVO_TEST_FREEZER_VICTIM";

/// Two processes that count, one in a session of its own.
const COUNTING: &str = "count() { i=0; while :; do i=$((i+1)); echo $i > $1; done; }; \
                        setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i > below; done' & \
                        echo $$ > pid; count above";

fn launch<'a>(directory: &'a Path, log: &'a Path, on_death: Signal) -> Launch<'a> {
    Launch {
        program: Path::new("/bin/sh"),
        arguments: vec!["-c".into(), COUNTING.into()],
        directory,
        log,
        account: None,
        group: None,
        on_death,
        input: None,
        environment: Vec::new(),
    }
}

/// How often something is looked at that comes soon where nothing else runs: a minute.
const LOOKS: usize = 6000;

/// Waits for what both write to change.
fn moves(directory: &Path) -> bool {
    ["above", "below"].iter().all(|name| {
        let read = || fs::read(directory.join(name)).unwrap_or_default();
        let before = read();
        (0..LOOKS).any(|_| {
            thread::sleep(Duration::from_millis(10));
            let now = read();
            !now.is_empty() && now != before
        })
    })
}

fn what_they_wrote(directory: &Path) -> [Vec<u8>; 2] {
    ["above", "below"].map(|name| fs::read(directory.join(name)).unwrap())
}

fn is_gone(pid: i32) -> bool {
    (0..LOOKS).any(|_| {
        thread::sleep(Duration::from_millis(10));
        descendants::stat(pid).is_none_or(|stat| stat.zombie)
    })
}

#[test]
fn all_processes_stand_still_until_they_are_let_go() {
    let scratch = crate::scratch::directory();
    let (directory, log) = (scratch.path(), scratch.path().join("log"));
    let server = Server::launch(&launch(directory, &log, Signal::KILL)).unwrap();
    for _ in 0..5 {
        assert!(moves(directory));
        server.freeze().unwrap();
        server.freeze().unwrap();
        let all = descendants::with(server.pid());
        assert!(all.len() >= 2 && all.iter().all(|pid| descendants::is_still(*pid)));
        let (wrote, ran) = (
            what_they_wrote(directory),
            descendants::user_time(server.pid()),
        );
        thread::sleep(Duration::from_millis(50));
        assert_eq!(what_they_wrote(directory), wrote);
        assert_eq!(descendants::user_time(server.pid()), ran);
        server.thaw().unwrap();
        server.thaw().unwrap();
    }
    assert!(moves(directory));
    // One that is held can be stopped, and what it started can be killed.
    server.freeze().unwrap();
    let below = descendants::find(server.pid());
    assert!(!below.is_empty());
    let status = server.stop(Signal::TERM, Duration::from_secs(20)).unwrap();
    assert!(!status.success());
    for pid in below {
        signal(pid, Signal::KILL);
        assert!(is_gone(pid));
    }
}

#[test]
fn what_is_held_can_be_killed() {
    let scratch = crate::scratch::directory();
    let (directory, log) = (scratch.path(), scratch.path().join("log"));
    let server = Server::launch(&launch(directory, &log, Signal::KILL)).unwrap();
    assert!(moves(directory));
    server.freeze().unwrap();
    let all = descendants::with(server.pid());
    drop(server);
    assert!(all.into_iter().all(is_gone));
}

#[test]
fn what_a_killed_server_left_held_goes_on() {
    let ends: [fn(Server); 2] = [|server| server.thaw().unwrap(), drop];
    for end in ends {
        let scratch = crate::scratch::directory();
        let (directory, log) = (scratch.path(), scratch.path().join("log"));
        let server = Server::launch(&launch(directory, &log, Signal::KILL)).unwrap();
        assert!(moves(directory));
        server.freeze().unwrap();
        let below = descendants::find(server.pid());
        assert!(!below.is_empty() && below.iter().all(|pid| descendants::is_still(*pid)));
        signal(server.pid(), Signal::KILL);
        assert!(is_gone(server.pid()));
        end(server);
        assert!(!below.iter().any(|pid| descendants::is_still(*pid)));
        for pid in below {
            signal(pid, Signal::KILL);
            assert!(is_gone(pid));
        }
    }
}

#[test]
fn what_is_held_goes_on_when_octavo_dies_and_finds_its_signal() {
    if let Some(directory) = env::var_os(VICTIM) {
        let directory = PathBuf::from(directory);
        let log = directory.join("log");
        let server = Server::launch(&launch(&directory, &log, Signal::TERM)).unwrap();
        assert!(moves(&directory));
        server.freeze().unwrap();
        let below = descendants::find(server.pid());
        fs::write(directory.join("held"), below[0].to_string()).unwrap();
        thread::sleep(Duration::from_secs(60));
        return;
    }
    let scratch = crate::scratch::directory();
    let directory = scratch.path();
    let mut octavo = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "server::freezer::tests::what_is_held_goes_on_when_octavo_dies_and_finds_its_signal",
        ])
        .env(VICTIM, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let number = |name: &str| -> Option<i32> {
        fs::read_to_string(directory.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let below = (0..1000).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        number("held")
    });
    let (below, server) = (below.expect("it is held"), number("pid").unwrap());
    assert!(descendants::is_still(server) && descendants::is_still(below));
    octavo.kill().unwrap();
    octavo.wait().unwrap();
    assert!(is_gone(server));
    // It has no signal to find, and continues.
    let still = || descendants::stat(below).is_some() && descendants::is_still(below);
    assert!((0..LOOKS).any(|_| {
        thread::sleep(Duration::from_millis(10));
        !still()
    }));
    signal(below, Signal::KILL);
}

/// A group of version 2 on this machine, unless it has none.
#[test]
fn a_group_of_version_2_is_frozen_as_a_whole() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let group = octavo_storage::procfs::mounts(mounts.as_bytes())
        .find(|mount| mount.file_system == "cgroup2")
        .map(|mount| {
            mount
                .point
                .join(format!("octavo-test-{}", std::process::id()))
        });
    let Some(group) = group.filter(|group| fs::create_dir(group).is_ok()) else {
        eprintln!("skipped: no control groups of version 2 can be made");
        return;
    };
    let scratch = crate::scratch::directory();
    let (directory, log) = (scratch.path(), scratch.path().join("log"));
    let server = Server::launch(&launch(directory, &log, Signal::KILL)).unwrap();
    assert!(moves(directory));
    let all = descendants::with(server.pid());
    for pid in &all {
        fs::write(group.join("cgroup.procs"), pid.to_string()).unwrap();
    }
    let mut freezer = Freezer::new(Means::Group(group.clone()));
    freezer.freeze().unwrap();
    let wrote = what_they_wrote(directory);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(what_they_wrote(directory), wrote);
    freezer.thaw().unwrap();
    assert!(moves(directory));
    // Octavo's end: nobody tells the shell that they go on.
    freezer.freeze().unwrap();
    let mut keeper = freezer.keeper.take().unwrap();
    drop(keeper.orders.take());
    keeper.shell.wait().unwrap();
    assert!(moves(directory));
    // And one that is frozen can be killed.
    Freezer::new(Means::Group(group.clone())).freeze().unwrap();
    drop(server);
    assert!(all.into_iter().all(is_gone));
    assert!((0..LOOKS).any(|_| {
        thread::sleep(Duration::from_millis(10));
        fs::remove_dir(&group).is_ok()
    }));
}
