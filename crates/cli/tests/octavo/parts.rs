//! Parts of a plan that are carried out by themselves, and merged.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{complaint, octavo, schema::conforms};

fn plan(passes: u32) -> String {
    format!(
        "format = 1\n[experiment]\npasses = {passes}\n[workload]\nname = \"ycsb-a\"\nrecords = 2000\n\
         [cells]\npage-size = [\"4K\", \"16K\"]\nmemory = \"1MiB\"\n\
         [run]\nwarm-up = 50\ntransactions = 20\n"
    )
}

fn in_directory(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = octavo();
    command.current_dir(directory).args(arguments);
    command
}

fn output(directory: &Path, arguments: &[&str]) -> Output {
    in_directory(directory, arguments).output().unwrap()
}

/// The lines of JSON that a command printed, which succeeded.
#[track_caller]
fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", complaint(output));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| {
            conforms("part", line.as_bytes());
            serde_json::from_str(line).unwrap()
        })
        .collect()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", complaint(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Stores below a directory, as a shell gives them.
fn stores(directory: &Path) -> Vec<String> {
    let mut stores: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .join("octavo.db")
                .display()
                .to_string()
        })
        .collect();
    stores.sort();
    stores
}

#[test]
fn sittings_by_themselves_are_merged_and_have_the_inputs_of_their_numbers() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("plan.toml"), plan(8)).unwrap();
    let run = |sitting: &str, host: &str, into: &str| {
        let arguments = [
            "run",
            "plan.toml",
            "--sitting",
            sitting,
            "--into",
            into,
            "--host",
            host,
        ];
        output(directory, &arguments)
    };
    let both = lines(&run("0-1/4", "a", "out"));
    assert_eq!(
        (&both[0]["sitting"], &both[1]["sitting"]),
        (&0.into(), &1.into())
    );
    assert_eq!(both[0]["store"], both[1]["store"]);
    let mut auto = in_directory(
        directory,
        &[
            "run",
            "plan.toml",
            "--sitting=auto",
            "--into=out",
            "--host=b",
        ],
    );
    auto.env("SLURM_ARRAY_TASK_ID", "3");
    let third = lines(&auto.output().unwrap());
    assert_eq!(
        (&third[0]["sitting"], &third[0]["outcome"]),
        (&3.into(), &"done".into())
    );
    // Another attempt at one, elsewhere.
    let again = lines(&run("1", "c", "out"));
    let merged = output(
        directory,
        &[
            &["merge", "all", "--json"],
            &*paths(&stores(&directory.join("out"))),
        ]
        .concat(),
    );
    conforms("merge", &merged.stdout);
    let merged = json(&merged);
    assert_eq!(merged["taken"], 4);
    let counts = |id: &Value| {
        let parts = merged["parts"].as_array().unwrap();
        parts.iter().find(|part| part["id"] == *id).unwrap()["set_aside"] == 0
    };
    assert!(counts(&both[1]["id"]) && !counts(&again[0]["id"]));
    let report = output(directory, &["report", "all", "--json"]);
    conforms("advise", &report.stdout);
    let fleet = &json(&report)["fleet"];
    assert_eq!(
        (&fleet["wanted"], &fleet["counted"]),
        (&4.into(), &3.into())
    );
    assert_eq!(fleet["missing"], serde_json::json!([2]));
    // What is counted in a sitting follows from its number and not from who does it.
    let counted = |store: &Value| -> Vec<String> {
        let path = directory.join(store.as_str().unwrap());
        let store = Connection::open(path).unwrap();
        let mut select = store
            .prepare(
                "SELECT cell, pass, slice.transactions, slice.counted, log_written_bytes
                 FROM slice JOIN run USING (run) WHERE sitting = 1 AND pass < 8 ORDER BY cell, pass",
            )
            .unwrap();
        let rows = select.query_map([], |row| {
            let values = (0..5).map(|column| row.get::<_, i64>(column));
            Ok(format!("{:?}", values.collect::<Result<Vec<_>, _>>()?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let (one, other) = (counted(&both[1]["store"]), counted(&again[0]["store"]));
    assert_eq!(one.len(), 16);
    assert_eq!(one, other);
}

fn paths(stores: &[String]) -> Vec<&str> {
    stores.iter().map(String::as_str).collect()
}

#[test]
fn a_sitting_that_is_told_to_end_keeps_its_passes_and_counts_until_there_is_a_whole_one() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("plan.toml"), plan(100_000)).unwrap();
    let mut run = in_directory(
        directory,
        &["run", "plan.toml", "--sitting=0/1", "--into=out"],
    );
    let child = run
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let passes = || {
        let store = fs::read_dir(directory.join("out"))
            .ok()?
            .next()?
            .ok()?
            .path();
        let store = Connection::open(store.join("octavo.db")).ok()?;
        let count = "SELECT count(DISTINCT pass) FROM slice";
        store.query_row(count, [], |row| row.get::<_, i64>(0)).ok()
    };
    while passes().unwrap_or(0) < 12 {
        assert!(begun.elapsed() < Duration::from_secs(240), "no passes");
        thread::sleep(Duration::from_millis(50));
    }
    let id = Pid::from_child(&child);
    kill_process(id, Signal::TERM).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    conforms("part", &ended.stdout);
    let line: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (&line["outcome"], &line["cells"]),
        (&"incomplete".into(), &2.into())
    );
    let merge = || {
        json(&output(
            directory,
            &[
                &["merge", "all", "--json"],
                &*paths(&stores(&directory.join("out"))),
            ]
            .concat(),
        ))
    };
    let merged = merge();
    assert_eq!(merged["parts"][0]["set_aside"], 0);
    assert_eq!(merged["parts"][0]["outcome"], "incomplete");
    // No data is left behind.
    let left = PathBuf::from(line["store"].as_str().unwrap());
    assert!(directory.join(&left).exists());
    let data = directory.join(left.parent().unwrap()).join("data");
    assert!(!data.exists(), "{}", data.display());
}

#[test]
fn shards_apart_and_merged_are_the_prediction_of_the_whole_to_the_digit() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let space = "format = 1\n[experiment]\npasses = 8\n[workload]\nname = \"ycsb-a\"\nrecords = 2000\n\
                 [cells]\npage-size = [\"4K\", \"16K\"]\nmemory = [\"1MiB\", \"2MiB\", \"3MiB\"]\n\
                 storage = [\"device:nvme-tlc\", \"device:gp3-3000\"]\n";
    fs::write(directory.join("space.toml"), space).unwrap();
    let whole = output(directory, &["predict", "space.toml", "whole", "--json"]);
    let mut whole = json(&whole);
    // More shards than there are groups: the last one has nothing to do.
    for shard in [3, 1, 7, 2, 5, 4, 6] {
        let shard = format!("--shard={shard}/7");
        let lines = lines(&output(
            directory,
            &["predict", "space.toml", &shard, "--into=out"],
        ));
        assert_eq!(lines[0]["outcome"], "done");
    }
    let made = stores(&directory.join("out"));
    assert_eq!(made.len(), 6);
    let merged = json(&output(
        directory,
        &[&["merge", "all", "--json"], &*paths(&made)].concat(),
    ));
    assert_eq!(merged["taken"], 6);
    let mut apart = json(&output(directory, &["report", "all", "--json"]));
    assert_eq!(apart["fleet"]["missing"], serde_json::json!([]));
    for findings in [&mut whole, &mut apart] {
        let findings = findings.as_object_mut().unwrap();
        // When, by what, and in how many pieces, of which hosts.
        for name in ["command", "created", "spent_s", "fleet", "class_confidence"] {
            findings.remove(name);
        }
    }
    assert_eq!(whole, apart);
}

#[test]
fn what_cannot_be_a_part_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("plan.toml"), plan(8)).unwrap();
    let missing = directory.join("none").display().to_string();
    for (arguments, named) in [
        (
            &["run", "plan.toml", "--sitting=3/3", "--into=out"][..],
            "counted from 0",
        ),
        (&["run", "plan.toml", "--sitting=1"], "--into"),
        (&["run", "plan.toml", "--into=out"], "--sitting"),
        (
            &["run", "plan.toml", "--sitting=auto", "--into=out"],
            "auto",
        ),
        (&["merge", "all", &missing], "does not exist"),
        (&["merge", "all", "plan.toml"], "plan.toml"),
    ] {
        let mut command = in_directory(directory, arguments);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().into_owned();
            if text.starts_with("SLURM") || text.starts_with("PARALLEL") {
                command.env_remove(name);
            }
        }
        let refused = command.output().unwrap();
        let said = complaint(&refused);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
    assert!(!directory.join("all").exists());
}
