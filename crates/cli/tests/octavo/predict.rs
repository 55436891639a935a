//! `octavo predict`: answers without a database or a disk.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{complaint, octavo, refused, schema::conforms, small_advise};

fn predict(directory: &Path) -> Command {
    let mut command = octavo();
    command.arg("predict").arg(directory).args([
        "--warehouses=1",
        "--memory=1MiB,4MiB",
        "--page-sizes=4K,16K",
        "--passes=8",
        "--transactions=40",
        "--warm-up=400",
    ]);
    command
}

#[test]
fn policies_are_compared_with_the_databases_own() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("policies");
    let output = octavo()
        .arg("predict")
        .arg(&directory)
        .args([
            "--device=ec",
            "--database=oracle-like",
            "--clients=1",
            "--warehouses=1",
            "--memory=8MiB",
            "--replacement=cflru,opt,lru,cflru",
            "--passes=8",
            "--transactions=40",
            "--warm-up=400",
            "--json",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = findings["groups"][0]["cells"].as_array().unwrap();
    let option = |cell: &serde_json::Value| {
        let options = cell["cell"]["database"]["options"]
            .as_array()
            .unwrap()
            .clone();
        let replacement = options.iter().find(|of| of[0] == "replacement");
        replacement.map_or("own".to_owned(), |of| of[1].as_str().unwrap().to_owned())
    };
    let policies: Vec<String> = cells.iter().map(option).collect();
    assert_eq!(policies, ["own", "cflru", "opt", "lru"]);
    let misses =
        |cell: &serde_json::Value| cell["per_transaction"]["buffer_misses"].as_f64().unwrap();
    let least = cells.iter().map(misses).fold(f64::INFINITY, f64::min);
    assert_eq!(misses(&cells[2]), least, "{policies:?}");
    assert_ne!(
        findings["groups"][0]["verdict"]["level"]["database"],
        "replacement opt"
    );
    // The same numbers in words.
    let text = octavo()
        .arg("report")
        .arg(&directory)
        .arg("--verbose")
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for cell in cells {
        let name = match option(cell).as_str() {
            "own" => "oracle-like".to_owned(),
            policy => format!("replacement {policy}"),
        };
        // Three digits.
        let decimals = if misses(cell) < 10.0 { 2 } else { 1 };
        let rate = format!("{:.*}", decimals, misses(cell));
        let has_both = |line: &str| line.starts_with(&name) && line.contains(&rate);
        assert!(text.lines().any(has_both), "{name} {rate}\n{text}");
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("opt is a bound for reads alone"), "{text}");
    assert!(!words.contains("USE REPLACEMENT"), "{text}");
    let refusal =
        "choose 'lru', 'clock', 'postgres', '2q', 'arc', 's3-fifo', 'cflru', 'cubrid' or 'opt'";
    let new = parent.path().join("new");
    for (arguments, named) in [
        (
            &["predict", "--device=ec", "--replacement=best"][..],
            refusal,
        ),
        (
            &["predict", "--device=ec", "--replacement=opt", "--clients=2"],
            "use --clients 1, or leave opt out",
        ),
        (
            &[
                "predict",
                "--device=ec",
                "--replacement=arc",
                "--page-sizes=4K,8K",
            ],
            "give --page-sizes one",
        ),
    ] {
        refused(arguments, &new, &[named]);
    }
}

#[test]
fn rows_that_overflow_their_page_are_found_in_the_cache() {
    let parent = tempfile::tempdir().unwrap();
    let output = octavo()
        .arg("predict")
        .arg(parent.path().join("overflow"))
        .args([
            "--workload=ycsb-c",
            "--records=500",
            "--row-bytes=9000",
            "--memory=64MiB",
            "--page-sizes=1K,4K,16K",
            "--passes=8",
            "--transactions=40",
            "--warm-up=10000",
            "--device=ec",
            "--json",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for cell in findings["groups"][0]["cells"].as_array().unwrap() {
        let figures = &cell["per_transaction"];
        assert_eq!(figures["buffer_misses"], 0.0, "{figures}");
        assert_eq!(figures["read_bytes"], 0.0, "{figures}");
        assert!(figures["misses_read"].is_null(), "{figures}");
    }
    let caveats = findings["caveats"].to_string();
    assert!(!caveats.contains("misses_not_at_device"), "{caveats}");
}

#[test]
fn what_is_not_warm_has_no_answer() {
    let parent = tempfile::tempdir().unwrap();
    let caveat_of = |name: &str, options: &[&str]| {
        let output = octavo()
            .arg("predict")
            .arg(parent.path().join(name))
            .args([
                "--workload=ycsb-c",
                "--records=5000",
                "--device=ec",
                "--json",
            ])
            .args(["--page-sizes=4K,64K", "--passes=8", "--transactions=40"])
            .args(options)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let caveats = findings["caveats"].as_array().unwrap().clone();
        let warnings = findings["warnings"].to_string();
        let mut caveats = caveats.into_iter();
        let found = caveats.find(|caveat| caveat["caveat"] == "buffer_not_filled");
        let is_cold = findings["groups"][0]["verdict"]["verdict"] == "cold";
        assert_eq!(is_cold, found.is_some(), "{found:?}");
        let said = findings["sentences"].to_string();
        assert_eq!(said.contains("NO ANSWER YET"), is_cold, "{said}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            told.contains("the cache is not warm after 300 "),
            is_cold,
            "{told}"
        );
        (found, warnings)
    };
    let (found, warnings) = caveat_of("small", &["--warm-up=300", "--memory=4MiB"]);
    let found = found.unwrap();
    assert_eq!(found["severity"], "choice", "{found}");
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1, "{found}");
    assert_eq!(cells[0]["cell"]["page_size"], 4096);
    assert!(
        warnings.contains("did not fill the cache of 4 KiB pages"),
        "{warnings}"
    );
    // All data fit, and much of them was not read yet.
    let (found, _) = caveat_of("large", &["--warm-up=300", "--memory=64MiB"]);
    assert_eq!(found.unwrap()["cells"].as_array().unwrap().len(), 2);
    // As long as it takes.
    for memory in ["--memory=4MiB", "--memory=64MiB"] {
        let (found, warnings) = caveat_of(memory, &[memory]);
        assert_eq!(found, None);
        assert!(!warnings.contains("--warm-up"), "{warnings}");
    }
}

fn slices(directory: &Path) -> Vec<String> {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let mut statement = store
        .prepare(
            "SELECT format('%s %d %d %d %.9f %d %d', source, pass, cell, slice.counted, elapsed_s,
                           buffer_misses, log_written_bytes)
             FROM slice JOIN run USING (run) ORDER BY pass, cell",
        )
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn the_same_command_predicts_the_same_and_says_that_it_is_a_prediction() {
    let parent = tempfile::tempdir().unwrap();
    let (one, other) = (parent.path().join("one"), parent.path().join("other"));
    let output = predict(&one).arg("--device=ec").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "predicted, not measured",
        "CONFIDENCE: PREDICTED ONLY",
        "4 MiB of memory (predicted)",
        "1 MiB of memory (predicted)",
        "Nothing here was measured.",
    ] {
        assert!(words.contains(said), "{said} in {text}");
    }
    assert!(!words.contains("reached the disk"), "{text}");
    let page = fs::read_to_string(one.join("report.html")).unwrap();
    assert!(page.contains("predicted, not measured"));
    assert!(!one.join("data").exists() || fs::read_dir(one.join("data")).unwrap().count() == 0);

    let mut again = predict(&other);
    let output = again.args(["--device=ec", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["source"], "predicted");
    for cell in findings["groups"][0]["cells"].as_array().unwrap() {
        // What transactions take longer for a while to tell what they follow, counts nowhere.
        let ratio = &cell["per_transaction"]["device_reads_ratio"];
        assert!((ratio.as_f64().unwrap() - 1.0).abs() < 0.01, "{cell}");
        let follows = |input: &serde_json::Value| input["follows"].as_f64().unwrap();
        let all: f64 = cell["inputs"].as_array().unwrap().iter().map(follows).sum();
        assert!((0.8..1.2).contains(&all), "{cell}");
        assert!(cell["energy"]["joules_per_transaction"].as_f64().unwrap() > 0.0);
    }
    let facts = |directory: &Path| -> Vec<String> {
        let store = Connection::open(directory.join("octavo.db")).unwrap();
        let sql = "SELECT topic || name || value FROM fact WHERE topic LIKE 'inputs%' ORDER BY 1";
        let mut statement = store.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(facts(&one).len(), 4 * 3);
    assert_eq!(facts(&one), facts(&other));
    assert_eq!(slices(&one), slices(&other));
    assert_eq!(slices(&one).len(), 4 * 8);
    assert!(
        slices(&one)
            .iter()
            .all(|slice| slice.starts_with("predicted"))
    );
    // A slower device takes longer for the same.
    let slow = parent.path().join("slow");
    let output = predict(&slow).arg("--device=st373455ss").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let time = |directory: &Path| -> f64 {
        let store = Connection::open(directory.join("octavo.db")).unwrap();
        let sum = "SELECT sum(elapsed_s) FROM slice";
        store.query_row(sum, [], |row| row.get(0)).unwrap()
    };
    assert!(time(&slow) > 2.0 * time(&one), "{} s", time(&slow));
}

#[test]
fn measured_results_calibrate_a_prediction_and_are_not_mixed_with_it() {
    let parent = tempfile::tempdir().unwrap();
    let measured = parent.path().join("earlier");
    let output = small_advise(&measured).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let store = Connection::open(measured.join("octavo.db")).unwrap();
    let sent = "SELECT min(sent), max(sent) FROM
                (SELECT sum(sent) AS sent FROM warm_up GROUP BY run)";
    let sent: (i64, i64) = store
        .query_row(sent, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(sent, (100, 100), "blocks of each warm-up");
    let page = fs::read_to_string(measured.join("report.html")).unwrap();
    assert!(page.contains("Throughput over time") && page.contains("warm-up"));
    // What is not typed is as there.
    let same = parent.path().join("same");
    let calibrated = format!("--calibrated-by={}", measured.display());
    let output = octavo()
        .arg("predict")
        .arg(&same)
        .args([&calibrated, "--device=ec", "--passes=8", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let output = octavo().arg("report").arg(&measured).arg("--json").output();
    let there: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    for part in ["page_sizes", "memories", "data", "clients"] {
        assert_eq!(found["plan"][part], there["plan"][part], "{part}");
    }
    let predicted = parent.path().join("predicted");
    let mut command = predict(&predicted);
    let output = command.args([&calibrated, "--device=ec"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    // There is no calibrated storage in it.
    refused(
        &["predict", &calibrated, "--warehouses=1"],
        &parent.path().join("none"),
        &["--calibrated-by", "--device", "--no-calibrate"],
    );
    // The directory of measured results is refused, and they stay.
    let before = slices(&measured);
    let output = predict(&measured).arg("--device=ec").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
    assert_eq!(slices(&measured), before);
}

/// Joules a transaction of the whole machine follow from its watts, the time that processors
/// worked, and the device's own.
#[test]
fn a_named_machine_gives_the_energy_of_all_of_it() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("predicted");
    let mut command = predict(&directory);
    command.args(["--device=ec", "--machine=lee-2009", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = |of: &serde_json::Value| of.as_f64().unwrap();
    for group in findings["groups"].as_array().unwrap() {
        for cell in group["cells"].as_array().unwrap() {
            let (machine, device) = (&cell["machine_energy"], &cell["energy"]);
            assert_eq!(machine["covers"], "machine");
            let joules = figure(&machine["joules_per_transaction"]);
            let cpu = figure(&machine["cpu_joules_per_transaction"]);
            // One client: what the processor takes for each transaction, at 10.95 W.
            let cpu_s = figure(&cell["time"]["cpu_us"]) / 1e6;
            assert!((cpu / (10.95 * cpu_s) - 1.0).abs() < 0.01, "{cell}");
            let elapsed_s = figure(&cell["time"]["total_us"]) / 1e6;
            let all = 113.1 * elapsed_s + cpu + figure(&device["joules_per_transaction"]);
            assert!((joules / all - 1.0).abs() < 0.01, "{joules} and {all}");
            let watts = figure(&machine["watts"]);
            assert!((115.0..142.0).contains(&watts), "{watts} W");
        }
    }
    let sentences = findings["sentences"].to_string();
    assert!(sentences.contains("whole machine"), "{sentences}");
    let named = findings["storage"].to_string();
    assert!(named.contains("lee-2009"), "{named}");

    let mut list = octavo();
    let output = list.args(["devices", "--machines"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("lee-2009") && text.contains("assumed"),
        "{text}"
    );
    refused(
        &["predict", "--device=ec", "--machine=lee-2008"],
        &parent.path().join("none"),
        &["lee-2008", "did you mean lee-2009?"],
    );
}

/// Enough virtual time for windows of 10 s: TPC-C on disks.
#[test]
fn long_predictions_tell_how_even_throughput_is() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("predicted");
    let mut command = octavo();
    command.arg("predict").arg(&directory).args([
        "--warehouses=1",
        "--memory=1MiB",
        "--page-sizes=4K",
        "--passes=200",
        "--transactions=10",
        "--warm-up=400",
        "--device=hdd-7200",
        "--json",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cell = &findings["groups"][0]["cells"][0];
    let windows = &cell["stability"]["windows"];
    let per_minute = cell["throughput"]["estimate"].as_f64().unwrap();
    let mean = windows["mean"].as_f64().unwrap();
    assert!((60.0 * mean / per_minute - 1.0).abs() < 0.05, "{windows}");
    assert!(windows["windows"].as_u64().unwrap() >= 5, "{windows}");
    assert_eq!(windows["window_s"], 10.0);
}

#[test]
fn a_repeated_command_reads_what_it_has_and_another_predicts_anew() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("predicted");
    let output = predict(&directory).arg("--device=ec").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let first = slices(&directory);
    let on_store = |sql: &str| {
        let store = Connection::open(directory.join("octavo.db")).unwrap();
        store.execute(sql, []).unwrap()
    };
    on_store("INSERT INTO fact VALUES ('octavo', 'mark', 'of the first')");
    for device in ["--device=ec", "--device=instant"] {
        let output = predict(&directory).arg(device).output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let again = slices(&directory);
        assert_eq!(again.len(), first.len());
        assert_eq!(again == first, device == "--device=ec", "{device}");
        // The store is the same one, or a new one.
        let marks = on_store("UPDATE fact SET value = 'seen' WHERE name = 'mark'");
        assert_eq!(marks == 1, device == "--device=ec", "{device}");
        // Only another prediction is named, with the command that makes it again.
        let said = complaint(&output);
        let is_other = device == "--device=instant";
        assert_eq!(
            said.contains("replaced another prediction"),
            is_other,
            "{said}"
        );
        assert_eq!(said.contains("--device=ec"), is_other, "{said}");
    }
}

/// Both widths are 1.1 KiB in words.
#[test]
fn rows_that_differ_by_bytes_are_other_rows() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("predicted");
    let predicted = |width: &str| {
        let mut command = octavo();
        command.arg("predict").arg(&directory).args([
            "--device=nvme-tlc",
            "--memory=2MiB",
            "--passes=8",
            "--transactions=20",
            "--workload=ycsb-c",
            "--records=3000",
            "--row-bytes",
            width,
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        slices(&directory)
    };
    let narrow = predicted("1080");
    assert_ne!(predicted("1170"), narrow);
    // What a full disk or a kill leaves is no prediction, and in nobody's way.
    fs::write(directory.join("octavo.db"), "").unwrap();
    assert_eq!(predicted("1080"), narrow);
}

#[test]
fn what_is_not_modeled_is_refused_in_one_line() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("none");
    for (arguments, named) in [
        (
            &["--journal-mode=delete", "--device=ec"][..],
            &["journal-mode", "delete"][..],
        ),
        (
            &["--clients=4", "--device=ec"],
            &["clients", "4 clients", "need at least"],
        ),
        (
            &[
                "--database=postgres",
                "--checkpoint-timeout=5m",
                "--device=ec",
            ],
            &["checkpoint-timeout", "24h"],
        ),
        (
            &["--database=mariadb", "--doublewrite=off", "--device=ec"],
            &["doublewrite", "predict knows on"],
        ),
        (&["--device=none-such"], &["none-such"]),
        (&[], &["--device", "octavo predict"]),
        (
            &["--calibrated-by=/nowhere/octavo.db"],
            &["/nowhere/octavo.db"],
        ),
        (
            &["--device=ec", "--warehouses=5000"],
            &["ec", "larger device"],
        ),
        (
            &["--device=gp2-100", "--warehouses=1000000"],
            &["larger device"],
        ),
        (&["--device=ec", "--memory=1KiB"], &["memory"]),
        (
            &["--database=oracle-like", "--page-sizes=64K", "--device=ec"],
            &["page size", "2 KiB, 4 KiB"],
        ),
        (
            &[
                "--database=cubrid-like",
                "--isolation=serializable",
                "--device=ec",
            ],
            &["isolation", "leave it out"],
        ),
        (
            &["--database=cubrid-like", "--memory=64KiB", "--device=ec"],
            &["memory 64 KiB", "need 256 KiB"],
        ),
    ] {
        let arguments: Vec<&str> = ["predict"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        refused(&arguments, &directory, named);
        assert!(!directory.exists(), "{arguments:?}");
    }
}

#[test]
fn servers_are_predicted_with_their_usual_clients() {
    let parent = tempfile::tempdir().unwrap();
    for database in ["postgres", "mariadb"] {
        let directory = parent.path().join(database);
        let mut command = octavo();
        command.arg("predict").arg(&directory).args([
            "--database",
            database,
            "--workload=pgbench-simple-update",
            "--memory=24MiB",
            "--page-sizes=8K,16K",
            "--passes=8",
            "--transactions=40",
            "--warm-up=400",
            "--device=sata-tlc",
            "--json",
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(findings["source"], "predicted");
        assert_eq!(findings["plan"]["clients"], serde_json::json!([8]));
        let store = Connection::open(directory.join("octavo.db")).unwrap();
        let all = "SELECT count(*), sum(slice.transactions) FROM slice JOIN run USING (run)
                   JOIN cell USING (cell) WHERE clients = 8 AND elapsed_s > 0";
        let counts = store.query_row(all, [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(counts.unwrap(), (16, 640));
    }
}

/// Every output says that nothing was measured, and commands that measure refuse them.
#[test]
fn databases_of_which_there_are_only_models_are_predicted() {
    let parent = tempfile::tempdir().unwrap();
    for (database, title) in [
        ("oracle-like", "Oracle-like"),
        ("cubrid-like", "CUBRID-like"),
    ] {
        let directory = parent.path().join(database);
        let mut command = predict(&directory);
        command.args(["--database", database, "--device=sata-tlc"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            format!("Octavo · {title}"),
            "predicted, not measured".to_owned(),
            format!("nor was any {title} database"),
        ] {
            assert!(words.contains(&said), "{said} in {text}");
        }
        assert!(!words.contains("octavo advise"), "{text}");
        let mut report = octavo();
        let report = report.arg("report").arg(&directory).output().unwrap();
        assert!(report.status.success(), "{}", complaint(&report));

        for name in ["advise", "bench", "load"] {
            let nowhere = parent.path().join("measured");
            let mut command = octavo();
            command
                .arg(name)
                .arg(&nowhere)
                .args(["--database", database]);
            let output = command.output().unwrap();
            let complaint = complaint(&output);
            assert_eq!(output.status.code(), Some(2), "{name}: {complaint}");
            assert!(complaint.contains(database), "{name}: {complaint}");
            assert!(!nowhere.exists());
        }
    }
}

#[test]
fn a_large_prediction_hears_an_interrupt_while_it_places_rows_and_stays_predicted() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("large");
    let mut command = octavo();
    command
        .arg("predict")
        .arg(&directory)
        .args(["--device=nvme-tlc", "--memory=4GiB", "--page-sizes=8K,16K"])
        .args(["--workload=ycsb-c", "--progress=1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = said.map(Result::unwrap);
    assert!(said.any(|line| line.contains("place rows")), "it ended");
    thread::sleep(Duration::from_millis(500));
    let octavo_pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let since = Instant::now();
    kill_process(octavo_pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let took = since.elapsed();
    // Without the interrupt it takes many minutes. On a loaded machine it ended after 33 s.
    assert!(took < Duration::from_secs(120), "{took:?}");
    let report = octavo().arg("report").arg(&directory).output().unwrap();
    let text = String::from_utf8(report.stdout).unwrap();
    assert!(text.contains("predicted, not measured"), "{text}");
    assert!(!text.contains("nothing was measured yet"), "{text}");
}

#[test]
fn impossible_memory_is_refused_before_rows_are_chosen() {
    let parent = tempfile::tempdir().unwrap();
    let new = parent.path().join("new");
    let since = Instant::now();
    let arguments = ["predict", "--device=nvme-tlc", "--memory=8TiB"];
    refused(&arguments, &new, &["8192 GiB", "give no more"]);
    assert!(since.elapsed() < Duration::from_secs(5));
    // Memory of this process.
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 6000000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_octavo"))
        .args(["predict", "--device=nvme-tlc", "--memory=16GiB"])
        .arg("--page-sizes=16K")
        .arg(&new)
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("ulimit -v") && said.contains("smaller --memory"),
        "{said}"
    );
    assert!(!new.exists());
}

/// Two devices with two memories each: four groups of two page sizes.
const PLAN: &str = r#"format = 1

[workload]
name = "ycsb-a"
records = 2000

[experiment]
compare = "page-size"

[run]
transactions = 40
warm-up = 300

[cells]
page-size = ["4K", "16K"]
memory = ["1MiB", "4MiB"]
storage = ["device:ec", "device:nvme-tlc"]
"#;

/// A plan in a file of its own.
fn plan_in(directory: &Path, text: &str) -> PathBuf {
    let plan = directory.join("space.toml");
    fs::write(&plan, text).unwrap();
    plan
}

#[test]
fn a_plan_is_predicted_on_its_devices() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan_in(parent.path(), PLAN);
    let directory = parent.path().join("all");
    let mut command = octavo();
    command.arg("predict").arg(&plan).arg(&directory);
    let output = command.args(["--passes=8", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["source"], "predicted");
    let groups = findings["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 4);
    // The same as with flags, and the disk is slower than flash.
    let throughput = |findings: &Value, group: usize, cell: usize| {
        let cell = &findings["groups"][group]["cells"][cell];
        cell["throughput"]["estimate"].as_f64().unwrap()
    };
    for (device, group) in [("ec", 0), ("nvme-tlc", 2)] {
        let mut command = octavo();
        command
            .arg("predict")
            .arg(parent.path().join(device))
            .args([
                "--workload=ycsb-a",
                "--records=2000",
                "--page-sizes=4K,16K",
                "--memory=1MiB,4MiB",
                "--transactions=40",
                "--warm-up=300",
                "--passes=8",
                "--json",
            ]);
        let output = command.arg(format!("--device={device}")).output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let alone: Value = serde_json::from_slice(&output.stdout).unwrap();
        for (more, cell) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            // Intervals are of all cells of a plan together, so the last digits are others.
            let found = throughput(&findings, group + more, cell);
            let over = found / throughput(&alone, more, cell);
            assert!((over - 1.0).abs() < 1e-9, "{device}: {over}");
        }
    }
    let named = findings["storage"].to_string();
    assert!(
        named.contains("ec (") && named.contains("nvme-tlc ("),
        "{named}"
    );
}

#[test]
fn parts_of_a_plan_are_predicted_by_themselves() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan_in(parent.path(), PLAN);
    let whole = parent.path().join("whole");
    let mut command = octavo();
    command.arg("predict").arg(&plan).arg(&whole);
    let output = command.arg("--passes=8").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let mut all = Vec::new();
    for part in 1..=5 {
        let into = parent.path().join("parts");
        let mut command = octavo();
        command.arg("predict").arg(&plan).arg("--passes=8");
        command
            .arg(format!("--shard={part}/5"))
            .arg("--into")
            .arg(&into);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        conforms("part", &output.stdout);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["outcome"], "done", "{said}");
        assert_eq!((&said["shard"], &said["of"]), (&part.into(), &5.into()));
        if part == 5 {
            assert_eq!((&said["cells"], &said["store"]), (&0.into(), &Value::Null));
            assert!(
                said["reason"].as_str().unwrap().contains("4 groups"),
                "{said}"
            );
            continue;
        }
        assert_eq!(said["cells"], 2, "{said}");
        let store = Path::new(said["store"].as_str().unwrap());
        let directory = store.parent().unwrap();
        let name = directory.file_name().unwrap().to_string_lossy();
        let (name, id) = name.rsplit_once('-').unwrap();
        assert_eq!(name, format!("shard-{part}-of-5"));
        assert!(
            id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit()),
            "{id}"
        );
        all.extend(slices(directory));
        // A report of a part has what there is.
        let report = octavo().arg("report").arg(directory).output().unwrap();
        assert!(report.status.success(), "{}", complaint(&report));
    }
    let mut expected = slices(&whole);
    assert_eq!(expected.len(), 8 * 8);
    expected.sort_unstable();
    all.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn a_part_that_is_interrupted_keeps_whole_groups() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan_in(parent.path(), PLAN);
    let into = parent.path().join("parts");
    let mut child = octavo()
        .arg("predict")
        .arg(&plan)
        .args(["--shard=1/1", "--passes=1000000", "--into"])
        .arg(&into)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It has begun when its store is there.
    while !fs::read_dir(&into)
        .is_ok_and(|mut of| of.any(|of| of.unwrap().path().join("octavo.db").exists()))
    {
        thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(status.code(), Some(3), "{said}");
    conforms("part", said.as_bytes());
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["outcome"], "incomplete", "{said}");
    assert_eq!(said["cells"].as_u64().unwrap() % 2, 0, "{said}");
}

#[test]
fn what_a_plan_says_is_no_flag_and_no_directory_is_predicted() {
    let parent = tempfile::tempdir().unwrap();
    let cases = [
        (
            PLAN.to_owned(),
            "--page-sizes=4K",
            "page-size = ",
            "--page-sizes",
        ),
        (PLAN.to_owned(), "--device=ec", "storage = ", "device:NAME"),
        (PLAN.to_owned(), "--seed=7", "format = 1", "--seed"),
        (
            PLAN.replace("device:nvme-tlc", "/mnt/hdd"),
            "--passes=8",
            "storage = ",
            "directory",
        ),
        (
            PLAN.replace("device:nvme-tlc", "device:none-such"),
            "--passes=8",
            "storage = ",
            "none-such",
        ),
        (
            PLAN.replace("storage = [\"device:ec\", \"device:nvme-tlc\"]", ""),
            "--passes=8",
            "format = 1",
            "--device",
        ),
        (
            PLAN.replace("[cells]", "[cells]\njournal-mode = \"delete\""),
            "--passes=8",
            "journal-mode = ",
            "delete",
        ),
    ];
    for (text, flag, line, named) in cases {
        let plan = plan_in(parent.path(), &text);
        let new = parent.path().join("new");
        let mut command = octavo();
        command.arg("predict").arg(&plan).arg(&new).arg(flag);
        let output = command.output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("space.toml:"), "{said}");
        assert!(
            said.contains(line) && said.contains(named),
            "{line} {named} in {said}"
        );
        assert!(!new.exists());
    }
    // A part that is refused says so in its line, too.
    let plan = plan_in(parent.path(), &PLAN.replace("4MiB", "4KiB"));
    let mut command = octavo();
    command
        .arg("predict")
        .arg(&plan)
        .args(["--shard=1/2", "--into"]);
    let output = command.arg(parent.path().join("parts")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
    conforms("part", &output.stdout);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["outcome"], "refused", "{said}");
    for (arguments, named) in [
        (
            &["--shard=4/3", "--into=parts", "--device=ec"][..],
            "parts are 1 to 3",
        ),
        (&["--shard=1/3", "--device=ec"], "--into"),
        (
            &["elsewhere", "--device=ec"],
            "'elsewhere' is for the predictions of a plan",
        ),
    ] {
        let mut command = octavo();
        command.arg("predict").arg(parent.path().join("new"));
        let output = command.args(arguments).output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(named), "{named} in {said}");
    }
}
