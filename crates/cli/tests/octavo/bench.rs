//! Load, bench and check, as a user would run them.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{complaint, octavo, refused, schema::conforms};

/// A bench bounded by transactions on few rows, with further arguments.
fn bench(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = octavo();
    command
        .arg("bench")
        .arg(directory)
        .arg("--json")
        .args(arguments);
    if !arguments.contains(&"--database=noop") {
        command.arg("--memory=4MiB");
    }
    command
}

#[track_caller]
fn json(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_bench = found.get("transactions_per_second").is_some();
    conforms(if is_bench { "bench" } else { "load" }, &output.stdout);
    found
}

fn check(directory: &Path) -> Output {
    let mut command = octavo();
    command.arg("check").arg(directory).arg("--json");
    command.output().unwrap()
}

#[track_caller]
fn sound(directory: &Path) -> Value {
    let output = check(directory);
    assert!(output.status.success(), "{}", complaint(&output));
    conforms("check", &output.stdout);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn count(value: &Value, name: &str) -> u64 {
    let kinds = value["kinds"].as_array().unwrap();
    kinds.iter().map(|kind| kind[name].as_u64().unwrap()).sum()
}

#[test]
fn every_workload_runs_audits_itself_and_replays() {
    let parent = tempfile::tempdir().unwrap();
    for (data, workloads) in [
        (
            &["--workload=tpcc", "--warehouses=1"][..],
            &[&["--workload=tpcc"][..], &["--mix=payment=1,delivery=1"]][..],
        ),
        (
            &[
                "--workload=ycsb-c",
                "--records=3001",
                "--row-bytes=250",
                "--page-size=1K",
            ],
            &[
                &["--workload=ycsb-a"],
                &["--workload=ycsb-b", "--distribution=hotspot:10/90"],
                &["--workload=ycsb-c", "--distribution=true-zipfian:0.5"],
                &["--workload=ycsb-d"],
                &["--workload=ycsb-e"],
                &["--workload=ycsb-f", "--distribution=uniform"],
                &["--mix=insert=9,scan=1", "--distribution=sequential"],
            ],
        ),
        (
            &["--workload=pgbench", "--scale=1", "--row-bytes=150"],
            &[
                &["--workload=pgbench"],
                &["--workload=pgbench-simple-update"],
                &["--workload=pgbench-select-only"],
                &["--mix=tpcb-like=1,select-only=9"],
            ],
        ),
    ] {
        let directory = parent.path().join(data[0]);
        let mut load = octavo();
        load.arg("load")
            .arg(&directory)
            .arg("--seed=7")
            .arg("--json");
        let loaded = json({
            load.args(data);
            load
        });
        assert!(loaded["rows"].as_u64().unwrap() >= 3001, "{loaded}");
        for workload in workloads {
            let run = || {
                let mut arguments = vec!["--transactions=400"];
                arguments.extend(*workload);
                let result = json(bench(&directory, &arguments));
                let tables = sound(&directory)["last_run"]["tables"].clone();
                (result, tables)
            };
            let (result, tables) = run();
            assert_eq!(result["transactions"], 400, "{workload:?}");
            assert_eq!(
                count(&result, "committed") + count(&result, "rolled_back"),
                400
            );
            assert_eq!(result["failed"], 0);
            assert_eq!(result["data"], loaded["data"]);
            assert_eq!(result["seed"], 7, "that of the loaded rows");
            assert!(result["driver"]["cpu_us_per_transaction"].as_f64().unwrap() > 0.0);
            let audit = result["audit"].as_array().unwrap();
            assert!(!audit.is_empty(), "{workload:?}");
            for finding in audit {
                assert_ne!(finding["agreement"], "fail", "{workload:?}: {finding}");
            }
            assert!(!result["checks"].as_array().unwrap().is_empty());
            // The same rows, the same transactions, the same end.
            let (again, tables_again) = run();
            assert_eq!(
                again["counters"]["log_writes"],
                result["counters"]["log_writes"]
            );
            assert_eq!(tables, tables_again, "{workload:?}");
        }
    }
}

#[test]
fn several_clients_share_a_database_in_every_loop() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("bench");
    // Longer than a disk stalls, where a time ends the run.
    let [time, warm_up] = ["--duration=3s", "--warm-up-time=100ms"];
    for way in [
        &["--workload=ycsb-a", "--records=2000", "--transactions=60"][..],
        &["--workload=ycsb-d", "--terminals=9", time, warm_up],
        &[
            "--workload=ycsb-e",
            "--rate=200",
            "--arrivals=constant",
            time,
            warm_up,
        ],
        &["--workload=ycsb-f", "--rate=100", time, warm_up],
    ] {
        let mut arguments = vec!["--clients=3"];
        arguments.extend(way);
        let result = json(bench(&directory, &arguments));
        assert!(result["transactions"].as_u64().unwrap() > 0, "{way:?}");
        assert_eq!(result["clients"], 3);
        let open = way.iter().any(|flag| flag.starts_with("--rate"));
        assert_eq!(result["backlog"].is_object(), open, "{way:?}");
        sound(&directory);
    }
}

#[test]
fn operators_key_in_and_think() {
    let parent = tempfile::tempdir().unwrap();
    let arguments = [
        "--workload=tpcc",
        "--warehouses=300",
        "--database=noop",
        "--pace=spec",
        "--duration=3s",
        "--warm-up-time=2s",
    ];
    let result = json(bench(&parent.path().join("none"), &arguments));
    assert_eq!(result["load"]["loop"], "paced");
    assert_eq!(result["load"]["terminals"], 3000);
    // Operators are at work since long: of 145 transactions a second in the
    // mean some came through, and many were New-Orders.
    let transactions = result["transactions"].as_u64().unwrap();
    assert!((200..800).contains(&transactions), "{transactions}");
    let counted = result["counted"].as_u64().unwrap();
    assert!((60..400).contains(&counted), "{counted}");
    assert!(!parent.path().join("none").exists(), "nothing is stored");
}

#[test]
fn a_ramp_tells_what_each_number_of_clients_reached() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("ramp.html");
    let html = format!("--html={}", page.display());
    let arguments = [
        "--database=noop",
        "--workload=tpcc",
        "--warehouses=2",
        "--ramp=1..7/2",
        "--step=5s",
        "--warm-up-time=1s",
        &html,
    ];
    let value = json(bench(directory.path(), &arguments));
    assert_eq!(value["load"]["clients"], "1..7/2");
    let steps = value["ramp"]["steps"].as_array().unwrap();
    let clients: Vec<u64> = steps
        .iter()
        .map(|step| step["clients"].as_u64().unwrap())
        .collect();
    // One whose seconds a busy machine ends too late is left out, which the tests of crates/experiment/src/ramp.rs show.
    let all = [1, 3, 5, 7];
    let place = |clients: &u64| all.iter().position(|of| of == clients).unwrap();
    assert!(
        !clients.is_empty() && clients.is_sorted_by_key(place),
        "{clients:?}"
    );
    for step in steps {
        assert!(step["counted_per_second"].as_f64().unwrap() > 0.0, "{step}");
        assert!(step["latency"]["p99_us"].as_u64().unwrap() > 0, "{step}");
    }
    if clients == all {
        assert!(value["ramp"]["law"]["law"]["rate"].as_f64().unwrap() > 0.0);
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Throughput by clients, in new orders per minute"));
    for (arguments, reason) in [
        (&["--ramp=5..1"][..], "more clients"),
        (&["--ramp=1..4", "--step=4s"], "--step must be at least 5s"),
        (&["--ramp=1..4", "--clients=2"], "exclude each other"),
        (&["--step=5s"], "--ramp"),
    ] {
        let arguments = [&["bench", "--database=noop"], arguments].concat();
        refused(&arguments, directory.path(), &[reason]);
    }
}

#[test]
fn a_rate_beyond_reach_is_marked() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("bench");
    // No disk, which may stall for longer than this lasts.
    let arguments = [
        "--database=noop",
        "--workload=tpcc",
        "--rate=2000000",
        "--duration=500ms",
        "--warm-up-time=0s",
    ];
    let result = json(bench(&directory, &arguments));
    assert_eq!(result["saturated"], true);
    assert!(result["backlog"]["end"].as_u64().unwrap() > 100_000);
    let mut words = octavo();
    words.arg("bench").arg(&directory).args(arguments);
    let words = words.output().unwrap();
    let text = String::from_utf8_lossy(&words.stdout);
    assert!(text.contains("SATURATED"), "{text} {}", complaint(&words));
}

#[test]
fn series_and_logs_are_written_and_nothing_foreign_is_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let file = |name: &str| parent.path().join(name);
    let arguments = |csv: &Path, log: &Path| {
        vec![
            "--database=noop".to_owned(),
            "--workload=ycsb-a".into(),
            "--duration=1100ms".into(),
            "--warm-up-time=0s".into(),
            format!("--csv={}", csv.display()),
            format!("--hdr-log={}", log.display()),
        ]
    };
    let (csv, log) = (file("series.csv"), file("latencies.hlog"));
    // Twice: our own files may be written anew.
    for _ in 0..2 {
        let mut command = octavo();
        command.arg("bench").args(arguments(&csv, &log));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
    }
    let series = fs::read_to_string(&csv).unwrap();
    let columns = series.lines().next().unwrap().split(',').count();
    assert!(series.lines().count() >= 3, "{series}");
    assert!(
        series
            .lines()
            .all(|line| line.split(',').count() == columns)
    );
    let log_text = fs::read_to_string(&log).unwrap();
    assert!(log_text.contains("Tag=Read,") && log_text.contains("Tag=Update,"));
    // A bench that is refused leaves the log of an earlier one alone.
    let taken = parent.path().join("taken");
    json(bench(
        &taken,
        &["--workload=ycsb-a", "--records=1000", "--transactions=1"],
    ));
    let option = format!("--hdr-log={}", log.display());
    refused(&["bench", "--workload=tpcc", &option], &taken, &["YCSB"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), log_text);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 3);
    let foreign = file("thesis.txt");
    fs::write(&foreign, "precious").unwrap();
    for (csv, log) in [(&foreign, &log), (&csv, &foreign)] {
        let mut command = octavo();
        command.arg("bench").args(arguments(csv, log));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(complaint(&output).contains("thesis.txt"));
        assert_eq!(fs::read(&foreign).unwrap(), b"precious");
    }
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let new = parent.path().join("new");
    let loaded = parent.path().join("loaded");
    let load = ["--workload=ycsb-a", "--records=1000", "--transactions=1"];
    json(bench(&loaded, &load));
    let foreign = parent.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("app.db"), "precious").unwrap();
    for (directory, arguments, named) in [
        (&new, &["bench", "--workload=nosuch"][..], &["nosuch"][..]),
        (&new, &["bench", "--rate=0"], &["rate '0'"]),
        (
            &new,
            &["bench", "--rate=9", "--pace=spec"],
            &["--rate", "--pace"],
        ),
        (&new, &["bench", "--arrivals=constant"], &["--rate"]),
        (
            &new,
            &["bench", "--workload=ycsb-a", "--pace=spec"],
            &["ycsb-a", "--rate"],
        ),
        (
            &new,
            &["bench", "--clients=4", "--terminals=2"],
            &["--terminals", "not 2"],
        ),
        (
            &new,
            &["bench", "--clients=31", "--warehouses=3", "--pace=spec"],
            &["--terminals", "not 30"],
        ),
        (
            &new,
            &["bench", "--database=noop", "--isolation=serializable"],
            &["--isolation", "noop"],
        ),
        (
            &new,
            &["bench", "--csv=/no/such/x.csv"],
            &["/no/such/x.csv"],
        ),
        (
            &new,
            &["bench", "--csv=/tmp/x", "--hdr-log=/tmp/x"],
            &["--csv and --hdr-log", "same file"],
        ),
        (
            &new,
            &["bench", "--html=/tmp/x", "--csv=/tmp/../tmp/./x"],
            &["--html and --csv", "same file"],
        ),
        (
            &new,
            &["bench", "--csv=/dev/null"],
            &["/dev/null is not a file"],
        ),
        (&new, &["bench", "--rate=1e-300"], &["1e-300"]),
        (&new, &["bench", "--clients=0"], &["0"]),
        (
            &new,
            &["bench", "--transactions=5", "--terminals=2"],
            &["--transactions"],
        ),
        (
            &new,
            &["bench", "--mix=new-order=1,lunch=2"],
            &["lunch", "stock-level"],
        ),
        (&new, &["bench", "--mix=new-order"], &["new-order=50"]),
        (&new, &["bench", "--distribution=zipfian"], &["TPC-C"]),
        (
            &new,
            &["bench", "--workload=ycsb-a", "--distribution=zipfian:2"],
            &["theta '2'"],
        ),
        (
            &new,
            &["bench", "--warehouses=0"],
            &["warehouses must be 1"],
        ),
        (&new, &["bench", "--workload=pgbench", "--scale=0"], &["0"]),
        (&new, &["bench", "--workload=ycsb-a", "--records=0"], &["0"]),
        (
            &new,
            &["bench", "--workload=ycsb-a", "--warehouses=2"],
            &["--records"],
        ),
        (&new, &["bench", "--row-bytes=500"], &["TPC-C"]),
        (
            &new,
            &["bench", "--workload=pgbench", "--row-bytes=10"],
            &["row-bytes must be 96", "not 10"],
        ),
        (
            &new,
            &["bench", "--isolation=read-committed"],
            &["serializable"],
        ),
        (&new, &["bench", "--memory=1K"], &["memory"]),
        (&new, &["bench", "--warm-up-time=long"], &["long"]),
        (&new, &["bench", "--warehouses=1000000"], &["free", "need"]),
        (&new, &["check"], &["octavo load"]),
        (&foreign, &["bench"], &["app.db"]),
        (&foreign, &["load"], &["app.db"]),
        (&foreign, &["check"], &["app.db"]),
        (&loaded, &["bench", "--records=2000"], &["1000", "2000"]),
        (&loaded, &["bench", "--workload=tpcc"], &["YCSB", "TPC-C"]),
        (&loaded, &["load", "--page-size=8K"], &["4 KiB", "8 KiB"]),
        (&loaded, &["load", "--seed=2"], &["seed 1", "seed 2"]),
        (&loaded, &["advise", "--passes=1"], &["octavo bench"]),
    ] {
        refused(arguments, directory, named);
        assert!(!new.exists(), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
    sound(&loaded);
    // A damaged description is named.
    fs::write(loaded.join("loaded.json"), "{}").unwrap();
    let output = check(&loaded);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("loaded.json"));
}

#[test]
fn a_check_finds_changed_rows_and_broken_conditions() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("bench");
    let arguments = ["--workload=pgbench", "--scale=1", "--transactions=50"];
    json(bench(&directory, &arguments));
    let last = directory.join("data/run/database.sqlite");
    let change = |file: &Path, sql: &str| {
        let connection = rusqlite::Connection::open(file).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1);
    };
    change(
        &last,
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 77",
    );
    let output = check(&directory);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = found["last_run"]["conditions"].as_array().unwrap();
    assert!(broken.iter().any(|condition| condition["violations"] == 1));
    assert_eq!(found["unexpected"].as_array().unwrap().len(), 0);
    change(
        &directory.join("data/base/database.sqlite"),
        "UPDATE pgbench_tellers SET bid = 2 WHERE tid = 3",
    );
    let found: Value = serde_json::from_slice(&check(&directory).stdout).unwrap();
    assert_eq!(found["unexpected"][0], "pgbench_tellers");
    // What cannot be read at all does not hide the rest.
    let length = fs::metadata(&last).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(&last).unwrap();
    file.set_len(length / 2).unwrap();
    let output = check(&directory);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["last_run"]["unreadable"].is_string());
    assert_eq!(found["unexpected"][0], "pgbench_tellers");
}

/// Waits until `there` or half a minute has passed.
fn wait_for(mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() && begin.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_kill_loses_nothing_that_was_loaded_and_nothing_committed() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("bench");
    let start = |arguments: &[&str]| {
        bench(&directory, arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let arguments = [
        "--workload=pgbench",
        "--scale=2",
        "--duration=60s",
        "--warm-up-time=0s",
    ];
    // While it loads.
    let mut child = start(&arguments);
    wait_for(|| directory.join("data/base/database.sqlite").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!directory.join("loaded.json").exists());
    assert_eq!(
        check(&directory).status.code(),
        Some(2),
        "nothing is loaded"
    );
    // While it runs: the log has grown, so transactions were committed.
    let mut child = start(&arguments);
    let log = directory.join("data/run/database.sqlite-wal");
    wait_for(|| fs::metadata(&log).is_ok_and(|log| log.len() > 100_000));
    child.kill().unwrap();
    child.wait().unwrap();
    let found = sound(&directory);
    let rows = |table: usize| found["last_run"]["tables"][table]["rows"].as_u64().unwrap();
    assert_eq!(rows(2), 200_000);
    assert!(rows(3) > 0, "what was committed survived");
    // And the next one begins with fresh rows.
    json(bench(&directory, &["--transactions=10"]));
    let found = sound(&directory);
    assert_eq!(found["last_run"]["tables"][3]["rows"], 11);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("bench");
    let arguments = [
        "--workload=ycsb-a",
        "--records=1000",
        "--duration=60s",
        "--warm-up-time=0s",
    ];
    let child = bench(&directory, &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = directory.join("data/run/database.sqlite-wal");
    wait_for(|| fs::metadata(&log).is_ok_and(|log| log.len() > 1_000_000));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["interrupted"], true);
    assert!(result["transactions"].as_u64().unwrap() > 0);
    assert!(!result["checks"].as_array().unwrap().is_empty());
    sound(&directory);
}

#[test]
fn a_run_is_set_beside_an_earlier_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("main.json");
    let run = |arguments: &[&str]| {
        // Of each fifth there have to be commits, however busy the machine is.
        let flags = ["--database=noop", "--duration=10s", "--warm-up-time=0s"];
        let mut command = bench(home.path(), &flags);
        command.args(arguments).output().unwrap()
    };
    let earlier = run(&[]);
    assert!(earlier.status.success(), "{}", complaint(&earlier));
    let mut earlier: Value = serde_json::from_slice(&earlier.stdout).unwrap();
    // So much faster that it is on a busy machine, too, and of another version.
    for second in earlier["seconds"].as_array_mut().unwrap() {
        let counted = second["counted"].as_u64().unwrap();
        second["counted"] = (1000 * counted).into();
    }
    earlier["octavo"] = "0.0.1".into();
    fs::write(&path, earlier.to_string()).unwrap();
    let baseline = format!("--baseline={}", path.display());
    let junit = home.path().join("junit.xml");
    let output = run(&[
        &baseline,
        "--fail-if=slower > 50%",
        &format!("--junit={}", junit.display()),
    ]);
    assert!(!output.stdout.is_empty(), "{}", complaint(&output));
    conforms("bench", &output.stdout);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let beside = &found["beside"];
    assert!(beside["ratio"]["high"].as_f64().unwrap() < 0.5, "{beside}");
    let differences = beside["differences"].as_array().unwrap();
    assert!(
        differences
            .iter()
            .any(|of| of["name"] == "octavo" && of["first"] == "0.0.1"),
        "{differences:?}"
    );
    // A disturbed or unsteady run decides nothing.
    let (decision, code) = match beside["doubt"].is_null() {
        true => ("worse", 3),
        false => ("open", 4),
    };
    assert_eq!(beside["decision"], decision);
    assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
    let text = fs::read_to_string(&junit).unwrap();
    assert!(text.contains("TPC-C beside the baseline"), "{text}");
    for (arguments, said) in [
        (vec!["--fail-if=slower"], "--baseline"),
        (
            vec![&*baseline, "--workload=ycsb-a"],
            "measured tpcc, and this run measures ycsb-a",
        ),
        (vec!["--baseline=/nowhere.json"], "/nowhere.json"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
        assert!(complaint(&output).contains(said), "{}", complaint(&output));
    }
}
