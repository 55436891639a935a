//! Tables of keys and values that a file describes.

use std::fs;

use serde_json::Value;

use crate::{complaint, octavo, refused};

const SHAPE: &str = "operations = 10\n\n[tables.accounts]\nkeys = 3_000\nkey-bytes = 20\n\
                     value-bytes = 32\nget = 3\nput = 1\n\n[tables.history]\nkeys = 2_000\n\
                     key-bytes = 12\nvalue-bytes = \"5..60\"\norder = \"sequential\"\nrange = 1\n\
                     insert = 2\ndelete = 2\n";

#[test]
fn tables_of_a_file_are_measured_and_hold() {
    let parent = tempfile::tempdir().unwrap();
    let shape = parent.path().join("shape.toml");
    fs::write(&shape, SHAPE).unwrap();
    let work = parent.path().join("work");
    let measured = |databases: &str, passes: u32| {
        let mut octavo = octavo();
        let output = octavo
            .arg("advise")
            .arg(&work)
            .arg(format!("--database={databases}"))
            .arg(format!("--shape={}", shape.display()))
            .args(["--page-sizes=4K,16K", "--memory=1MiB", "--no-calibrate"])
            .args(["--transactions=20", "--warm-up=40", "--json"])
            .arg(format!("--passes={passes}"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), output.stdout, text)
    };
    let (code, printed, complaint) = measured("sqlite", 8);
    assert_eq!(code, Some(0), "{complaint}");
    let findings: Value = serde_json::from_slice(&printed).unwrap();
    let plan = &findings["plan"];
    assert_eq!(plan["shape"]["operations"], 10);
    assert_eq!(plan["shape"]["tables"][1]["value-bytes"], "5..60");
    assert_eq!(plan["data"][0]["keys"], 5000);

    // The file is another one now: what was measured is of the one before.
    fs::write(&shape, SHAPE.replace("get = 3", "get = 4")).unwrap();
    let (code, _, complaint) = measured("sqlite", 9);
    assert_eq!(code, Some(2), "{complaint}");
    assert!(complaint.contains("shape"), "{complaint}");
}

#[test]
fn what_a_shape_takes_of_processors_is_measured_and_predicted_with() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let shape = at("shape.toml");
    fs::write(&shape, SHAPE).unwrap();
    let costs = at("cpu.toml");
    let predicted = |costs: Option<&std::path::Path>| {
        let mut octavo = octavo();
        octavo.args(["predict", "--database=sqlite", "--memory=1MiB", "--json"]);
        octavo.args(["--page-sizes=4K,16K", "--device=gp3-3000", "--passes=8"]);
        // A directory for each, so that none is of the one before.
        let directory = tempfile::tempdir_in(parent.path()).unwrap();
        octavo.arg(directory.path().join("prediction"));
        octavo.arg("--shape").arg(&shape);
        octavo.args(
            costs
                .iter()
                .flat_map(|costs| ["--cpu".as_ref(), costs.as_os_str()]),
        );
        octavo.output().unwrap()
    };
    // The program has costs of single operations, and a transaction here has ten.
    let output = predicted(None);
    assert!(output.status.success(), "{}", complaint(&output));

    let mut bench = octavo();
    bench
        .args(["bench", "--quiet"])
        .arg("--cpu-catalog")
        .arg(&costs);
    let output = bench.arg("--shape").arg(&shape).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.starts_with("1 kind of transactions of SQLite 3."),
        "{said}"
    );
    assert!(
        said.contains("octavo predict --database sqlite --shape "),
        "{said}"
    );
    let kept: toml::Value = toml::from_str(&fs::read_to_string(&costs).unwrap()).unwrap();
    assert_eq!(kept["shape"]["operations"].as_integer(), Some(10));
    let kinds = kept["cost"].as_array().unwrap();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert_eq!(kinds[0]["kind"].as_str(), Some("Transaction"));
    let us = kinds[0]["us"].as_float().unwrap();
    let output = predicted(Some(&costs));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    // In words, as a prediction tells what it comes from.
    let text = findings.to_string();
    let source = match us {
        us if us < 100.0 => format!("{us:.1} µs a transaction beyond storage"),
        us => format!("{us:.0} µs a transaction beyond storage"),
    };
    assert!(text.contains(&source), "{source}: {text}");

    fs::write(&shape, SHAPE.replace("operations = 10", "operations = 11")).unwrap();
    let output = predicted(Some(&costs));
    let complaint_of = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{complaint_of}");
    assert!(complaint_of.contains("of another shape"), "{complaint_of}");
    let sized = [
        "bench",
        "--cpu-catalog=x.toml",
        "--workload=key-value",
        "--keys=10",
    ];
    let output = octavo().args(sized).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("leave --keys out"));
}

#[test]
fn a_bench_keeps_the_shape_beside_its_rows() {
    let parent = tempfile::tempdir().unwrap();
    let shape = parent.path().join("shape.toml");
    fs::write(&shape, SHAPE).unwrap();
    let work = parent.path().join("work");
    let run = |arguments: &[&str]| {
        let output = octavo().args(arguments).arg(&work).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    };
    let given = format!("--shape={}", shape.display());
    run(&["load", &given, "--quiet"]);
    run(&["bench", "--duration=1s", "--warm-up-time=0s", "--quiet"]);
    fs::remove_file(&shape).unwrap();
    let checked = run(&["check"]);
    assert!(checked.contains("no keys are missing"), "{checked}");
}

#[test]
fn a_file_that_cannot_be_is_refused_at_its_line() {
    let parent = tempfile::tempdir().unwrap();
    let (shape, new) = (parent.path().join("shape.toml"), parent.path().join("new"));
    fs::write(&shape, SHAPE.replace("put = 1", "puts = 1")).unwrap();
    let given = format!("--shape={}", shape.display());
    let output = octavo()
        .args(["advise", &given])
        .arg(&new)
        .output()
        .unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    let words = "shape.toml:8: [tables.accounts] has no 'puts': did you mean put?";
    assert!(complaint.contains(words), "{complaint}");
    assert!(!new.exists());
    fs::write(&shape, SHAPE).unwrap();
    let named = ["shape is not possible with TPC-C"];
    refused(
        &["advise", &given, "--workload=tpcc", "--warehouses=1"],
        &new,
        &named,
    );
    let missing = ["advise", "--shape=missing.toml"];
    refused(&missing, &new, &["missing.toml"]);
}
