//! Sessions that are ended and servers that are started again under `octavo bench
//! --url`: its outputs agree on what was lost. bench/outages.py does it at many moments.

use std::{
    collections::HashMap,
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{complaint, external::UsersServer, octavo};

const LIMIT: Duration = Duration::from_secs(60);
const CLIENTS: usize = 2;

/// How a server tells the sessions of benches, who holds a lock of Octavo's, and ends a
/// session.
struct Sessions {
    all: &'static str,
    locks: &'static str,
    end: fn(&str) -> String,
}

const POSTGRES: Sessions = Sessions {
    all: "SELECT pid FROM pg_stat_activity WHERE application_name = 'octavo'",
    locks: "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted",
    end: |session| format!("SELECT pg_terminate_backend({session})"),
};

const MARIADB: Sessions = Sessions {
    all: "SELECT id FROM information_schema.processlist \
          WHERE user = 'anna' AND id <> CONNECTION_ID()",
    locks: "SELECT IS_USED_LOCK('octavo')",
    end: |session| format!("KILL CONNECTION {session}"),
};

impl Sessions {
    /// Ends all of them, and returns them.
    fn end(&self, server: &UsersServer) -> Vec<String> {
        let ended = server.rows(self.all);
        for session in &ended {
            server.rows(&(self.end)(session));
        }
        ended
    }

    /// Whether all clients have a session, and the lock is held, by others than `before`:
    /// a server shows what was ended for a while.
    fn are_there(&self, server: &UsersServer, before: &[String]) -> bool {
        let is_new = |session: &String| !before.contains(session);
        let all = server.rows(self.all).into_iter().filter(is_new).count();
        let is_locked = server.rows(self.locks).iter().any(is_new_lock(before));
        // Those of the clients and of the lock.
        all > CLIENTS && is_locked
    }
}

/// Waits until clients commit: who loses a session before that has not begun, and fails.
#[track_caller]
fn await_commits(server: &UsersServer) {
    let mut last = u64::MAX;
    await_that("clients commit", || {
        let rows = server.rows("SELECT count(*) FROM octavo.pgbench_history");
        let Some(now) = rows.first().and_then(|row| row.parse().ok()) else {
            return false;
        };
        // Loading empties the table.
        std::mem::replace(&mut last, now) < now
    });
}

/// Whether a row names a session that is not one of `before`.
fn is_new_lock(before: &[String]) -> impl Fn(&String) -> bool {
    |session| session != "NULL" && !before.contains(session)
}

/// A bench of some seconds.
fn begin(server: &UsersServer, arguments: &[&str]) -> Child {
    octavo()
        .current_dir(server.directory.path())
        .args(["bench", "--url", &server.url, "--json", "--warm-up-time=0s"])
        .args(["--csv=bench.csv", "--html=bench.html"])
        .arg(format!("--clients={CLIENTS}"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until it holds.
#[track_caller]
fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The result of a bench that ends with this code, whose outputs agree.
#[track_caller]
fn agreeing(server: &UsersServer, bench: Child, code: i32) -> Value {
    let output = bench.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = |name: &str| fs::read_to_string(server.directory.path().join(name)).unwrap();
    let csv = read("bench.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let lines: Vec<HashMap<&str, f64>> = lines
        .map(|line| {
            let pairs = names.iter().zip(line);
            let number = |text: &str| text.parse().unwrap_or(0.0);
            pairs.map(|(name, text)| (*name, number(text))).collect()
        })
        .collect();
    let is_since = |line: &&HashMap<&str, f64>| line["measured"] + line["cut"] > 0.0;
    let since = |name: &str| {
        lines
            .iter()
            .filter(is_since)
            .map(|line| line[name])
            .sum::<f64>()
    };
    assert_eq!(value["failed"], since("failed") as u64, "{csv}");
    assert_eq!(value["retries"], since("retries") as u64, "{csv}");
    let before = lines.iter().filter(|line| !is_since(line));
    let before = before.map(|line| line["failed"]).sum::<f64>();
    assert_eq!(value["warm_up_failed"], before as u64, "{csv}");
    let outages = value["outages"].as_array().unwrap();
    let lengths = outages
        .iter()
        .map(|outage| outage["length_s"].as_f64().unwrap());
    let lengths: f64 = lengths.sum();
    let listed: f64 = lines.iter().map(|line| line["outage_s"]).sum();
    assert!(
        (lengths - listed).abs() < 0.001 * (lines.len() + 1) as f64,
        "{csv}"
    );
    let page = read("bench.html");
    let failed = value["failed"].as_u64().unwrap();
    let errors = format!("<dt>errors</dt><dd>{failed}");
    assert!(page.contains(&errors), "{errors}");
    // Each chart by second has them, and its legend one more.
    let expected = outages.len() + usize::from(!outages.is_empty());
    let by_second = page
        .split("<figure")
        .filter(|figure| figure.contains("<rect class=\"left-out\""));
    let drawn = by_second.map(|figure| figure.matches("<rect class=\"outage\"").count());
    let drawn: Vec<usize> = drawn.collect();
    let titles = page.matches("by second").count();
    assert!(!drawn.is_empty() && drawn.len() <= titles, "{drawn:?}");
    assert!(drawn.iter().all(|drawn| *drawn == expected), "{drawn:?}");
    assert_eq!(
        page.contains("Nothing was committed for"),
        !outages.is_empty()
    );
    assert!(value["unchecked"].is_null(), "{value}");
    assert!(!value["checks"].as_array().unwrap().is_empty(), "{value}");
    value
}

/// The result of a bench that is interrupted, and has measured commits: however busy the
/// machine is.
#[track_caller]
fn interrupted(server: &UsersServer, bench: Child) -> Value {
    kill_process(Pid::from_child(&bench), Signal::INT).unwrap();
    agreeing(server, bench, 130)
}

/// Transactions that were lost, of which the first may be of the warm-up, which lasts a
/// moment.
fn lost(value: &Value) -> u64 {
    ["failed", "warm_up_failed"]
        .map(|name| value[name].as_u64().unwrap())
        .iter()
        .sum()
}

fn losses_are_told_alike(server: &mut UsersServer, sessions: &Sessions) {
    let loaded = begin(
        server,
        &["--workload=pgbench", "--scale=1", "--duration=3s"],
    );
    assert_eq!(agreeing(server, loaded, 0)["failed"], 0);
    // From the first moment on, again and again.
    let bench = begin(server, &["--duration=60s"]);
    await_that("sessions begin", || sessions.are_there(server, &[]));
    await_commits(server);
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        sessions.end(server);
    }
    await_commits(server);
    let value = interrupted(server, bench);
    assert!(lost(&value) > 0, "{value}");

    // Once; the lock is taken again, and keeps another bench out.
    let mut bench = begin(server, &["--duration=60s"]);
    await_that("sessions begin", || sessions.are_there(server, &[]));
    await_commits(server);
    let ended = sessions.end(server);
    await_that("sessions begin again", || {
        sessions.are_there(server, &ended)
    });
    let other = begin(server, &["--duration=100ms"])
        .wait_with_output()
        .unwrap();
    let told = complaint(&other);
    assert_eq!(other.status.code(), Some(1), "{told}");
    assert!(told.contains("another octavo works in octavo"), "{told}");
    assert!(bench.try_wait().unwrap().is_none(), "it still runs");
    await_commits(server);
    let value = interrupted(server, bench);
    assert!(lost(&value) > 0, "{value}");

    let bench = begin(server, &["--duration=60s"]);
    await_that("sessions begin", || sessions.are_there(server, &[]));
    await_commits(server);
    // Its counters are read every second.
    thread::sleep(Duration::from_secs(3));
    // Long enough for an outage, unless the disk commits less than 25 times a second.
    server.restart_after(Duration::from_secs(2));
    await_commits(server);
    let value = interrupted(server, bench);
    assert!(lost(&value) > 0, "{value}");
    assert!(
        value["counters"]["buffer_hits"].as_u64().unwrap() > 0,
        "{value}"
    );
}

#[test]
fn a_postgres_that_is_lost_is_told_alike() {
    losses_are_told_alike(&mut UsersServer::postgres(), &POSTGRES);
}

#[test]
fn a_mariadb_that_is_lost_is_told_alike() {
    losses_are_told_alike(&mut UsersServer::mariadb(), &MARIADB);
}
