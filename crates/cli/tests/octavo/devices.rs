//! The catalog: what is listed can be shown, copied, changed and measured,
//! and what is wrong with a device is said in one line.

use std::{fs, process::Output};

use serde_json::Value;

use crate::{complaint, octavo, schema::conforms};

fn run(arguments: &[&str]) -> Output {
    octavo().args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[track_caller]
fn refused(arguments: &[&str], named: &[&str]) {
    let output = run(arguments);
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    for word in named {
        assert!(complaint.contains(word), "{word} in: {complaint}");
    }
}

#[test]
fn every_device_is_listed_and_can_be_written() {
    let list = text(&["devices"]);
    let entries = json(&["devices", "--json"]);
    let entries = entries["devices"].as_array().unwrap();
    for entry in entries {
        let name = entry["name"].as_str().unwrap();
        assert!(list.contains(name), "{name} in {list}");
        let written = text(&["devices", "show", name, "--toml"]);
        assert!(written.contains(&format!("name = \"{name}\"")), "{written}");
    }
    assert!(entries.len() > 1);
}

#[test]
fn a_copied_device_can_be_changed_and_measured() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let written = text(&["devices", "show", "instant", "--toml"]);
    let mine = written
        .replace("name = \"instant\"", "name = \"mine\"")
        .replace("[0.0,", "[100.0,");
    assert_ne!(mine, written);
    fs::write(&file, mine).unwrap();
    let file = file.to_str().unwrap();

    let shown = text(&["devices", "show", file]);
    assert!(shown.starts_with("mine: "), "{shown}");
    let profile = json(&[
        "calibrate",
        "--device",
        file,
        "--point=random read 8K, depth 4, range 1GiB",
        "--json",
    ]);
    conforms("calibrate", profile.to_string().as_bytes());
    // 4 in flight, 100 us each.
    assert_eq!(profile["points"][0]["iops"].as_f64().unwrap(), 40_000.0);
    assert_eq!(profile["engine"], "simulation");
}

#[test]
fn a_simulation_is_the_same_every_time() {
    let measure = |seed: &str| {
        text(&[
            "calibrate",
            "--device=ec",
            "--point=random 75/25 8K, depth 8, range 1GiB",
            "--json",
            seed,
        ])
    };
    assert_eq!(measure("--seed=1"), measure("--seed=1"));
    assert_ne!(measure("--seed=1"), measure("--seed=2"));
}

#[test]
fn a_partition_is_slower_where_its_device_has_blocks() {
    let shifted = "--point=random write 8K, depth 1, range 1GiB, shifted 512";
    let usual = "--point=random write 8K, depth 1, range 1GiB";
    let iops = |device: &str, point: &str, list: &str| {
        let profile = text(&["calibrate", device, point, "--json"]);
        let profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
        profile[list][0]["iops"].as_f64().unwrap()
    };
    let aligned = iops("--device=flasharray-4k", usual, "points");
    let within = iops("--device=flasharray-4k", shifted, "shifted");
    let partition = iops("--device=flasharray-4k@512", usual, "points");
    assert!(within < 0.8 * aligned, "{within} and {aligned}");
    assert!(
        (partition / within - 1.0).abs() < 0.01,
        "{partition} and {within}"
    );
    let page = text(&["calibrate", "--device=flasharray-4k@512", usual]);
    assert!(page.contains("begins 512 bytes into its device"), "{page}");
    // Models without blocks would say that it costs nothing.
    refused(
        &["calibrate", "--device=gp3-3000", shifted],
        &["gp3-3000 has no blocks"],
    );
    refused(
        &["calibrate", "--device=gp3-3000@512"],
        &["volume has no blocks"],
    );
    refused(
        &["devices", "show", "nvme-tlc@100"],
        &["offset_bytes = 100", "512"],
    );
}

#[test]
fn errors_of_a_device_file_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.toml");
    let path = file.to_str().unwrap();
    let good = text(&["devices", "show", "instant", "--toml"]);
    refused(&["devices", "show", "instnat"], &["did you mean instant?"]);
    refused(&["calibrate", "--device=instnat"], &["instant"]);
    refused(&["devices", "show", path], &[path, "No such file"]);
    for (from, to, named) in [
        ("[0.0,", "[-1.0,", &["constant.latency_us = -1", "0 to"][..]),
        ("latency_us", "latency_ms", &["latency_ms"]),
        ("[constant]", "[constnat]", &["constnat"]),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        fs::write(&file, bad).unwrap();
        refused(&["devices", "show", path], named);
        refused(&["calibrate", "--device", path], named);
    }
    let point = |point: &str, named: &[&str]| {
        refused(&["calibrate", "--device=instant", "--point", point], named);
    };
    point("random read 8K, depth 4, range 9TiB", &["1024 GiB"]);
    point("random reads 8K, depth 4, range 1GiB", &["reads"]);
    point("random read 8K, depth 4", &["range"]);
    refused(&["calibrate", "--device=instant", "."], &["--device"]);
}
