//! Energy of an emulated device: from its watts to joules a transaction in
//! what is stored and told, and nothing of it where no watts are known.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    complaint,
    emulate::{Emulator, can_mount},
    octavo,
};

const IDLE_W: f64 = 2.0;
const ACTIVE_W: f64 = 5.0;

/// A device whose requests take 100 us, with and without watts.
fn device(home: &Path, watts: bool) -> PathBuf {
    let path = home.join(if watts { "watts.toml" } else { "silent.toml" });
    let mut text = "name = \"constant\"\ntitle = \"for a test\"\n[constant]\n\
                    capacity_bytes = [1073741824, \"assumed: room for a test\"]\n\
                    latency_us = [100, \"assumed: as of an SSD\"]\n"
        .to_owned();
    if watts {
        text += &format!(
            "[power]\nidle_w = [{IDLE_W}, \"assumed: for a test\"]\n\
             active_w = [{ACTIVE_W}, \"assumed: for a test\"]\n"
        );
    }
    fs::write(&path, text).unwrap();
    path
}

/// Two page sizes on the device.
fn advise(home: &Path, name: &str, device: &Path) -> PathBuf {
    let directory = home.join(name);
    let output = octavo()
        .arg("advise")
        .arg(&directory)
        .arg("--device")
        .arg(device)
        .args([
            "--warehouses=1",
            "--memory=1MiB",
            "--page-sizes=4K,16K",
            "--passes=1",
            "--transactions=40",
            "--no-calibrate",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    directory
}

fn report(directory: &Path, more: &[&str]) -> String {
    let output = octavo()
        .arg("report")
        .arg(directory)
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn json(directory: &Path) -> Value {
    serde_json::from_str(&report(directory, &["--json"])).unwrap()
}

/// What each run's device did, and its transactions.
fn stored(directory: &Path) -> Vec<(Value, f64)> {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let mut runs = store
        .prepare("SELECT device, transactions FROM run ORDER BY cell")
        .unwrap();
    let runs = runs
        .query_map([], |row| {
            let device: String = row.get(0)?;
            Ok((serde_json::from_str(&device).unwrap(), row.get(1)?))
        })
        .unwrap();
    runs.map(Result::unwrap).collect()
}

#[test]
fn watts_become_joules_a_transaction() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let directory = advise(home.path(), "work", &device(home.path(), true));

    let cells = json(&directory)["groups"][0]["cells"].clone();
    let runs = stored(&directory);
    assert_eq!(runs.len(), 2);
    for (index, (device, transactions)) in runs.iter().enumerate() {
        let of = |name: &str| device["energy"][name].as_f64().unwrap();
        let (elapsed, busy) = (of("elapsed_s"), of("busy_s"));
        assert!(0.0 < busy && busy <= elapsed, "{device}");
        // Each request takes the device 100 us, and several can go at once.
        let requests = device["reads"].as_f64().unwrap() + device["writes"].as_f64().unwrap();
        assert!(requests > 0.0 && busy >= 100e-6, "{device}");
        let joules = IDLE_W * elapsed + (ACTIVE_W - IDLE_W) * busy;
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        };
        near(of("joules"), joules);
        near(of("idle_joules"), IDLE_W * elapsed);

        let told = &cells[index]["energy"];
        let of = |name: &str| told[name].as_f64().unwrap();
        near(of("joules_per_transaction"), joules / transactions);
        near(
            of("idle_joules_per_transaction"),
            IDLE_W * elapsed / transactions,
        );
        near(of("busy"), busy / elapsed);
    }
    // The default page size is what the other is compared with.
    let each = |index: usize| {
        cells[index]["energy"]["joules_per_transaction"]
            .as_f64()
            .unwrap()
    };
    let ratio = &cells[1]["energy"]["ratio"];
    assert!((ratio["estimate"].as_f64().unwrap() / (each(1) / each(0)) - 1.0).abs() < 1e-9);
    assert!(cells[0]["energy"]["ratio"].is_null());

    let text = report(&directory, &["--verbose"]);
    assert!(
        text.contains("The device alone took the least energy"),
        "{text}"
    );
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("<h3>Energy</h3>"));

    // Runs that were kept before there was energy.
    Connection::open(directory.join("octavo.db"))
        .unwrap()
        .execute(
            "UPDATE run SET device = json_remove(device, '$.energy')",
            [],
        )
        .unwrap();
    assert!(
        stored(&directory)
            .iter()
            .all(|(device, _)| device["energy"].is_null())
    );
    assert!(!report(&directory, &["--json"]).contains("\"energy\""));
}

#[test]
fn a_device_without_watts_says_nothing() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let directory = advise(home.path(), "work", &device(home.path(), false));
    let text = report(&directory, &["--json"]) + &report(&directory, &["--verbose"]);
    let text = text.to_lowercase();
    assert!(
        !text.contains("\"energy\"") && !text.contains("joule"),
        "{text}"
    );
    assert!(stored(&directory)[0].0["reads"].is_u64());
}

/// The number of this name in what the device tells of itself.
fn told(mount: &Path, name: &str) -> u64 {
    let mut text = vec![0; 4096];
    let length = rustix::fs::getxattr(mount, "user.octavo.counters", &mut text).unwrap();
    let text = String::from_utf8_lossy(&text[..length]).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix(&format!("{name} = ")))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{name} in {text}"))
}

#[test]
fn energy_is_of_the_devices_time() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let file = device(home.path(), true);
    let emulator = Emulator::start(
        home.path(),
        file.to_str().unwrap(),
        &["--time-scale", "100"],
    );
    let began = Instant::now();
    let before = told(&emulator.mount, "elapsed_ns");
    thread::sleep(Duration::from_millis(50));
    let elapsed = told(&emulator.mount, "elapsed_ns") - before;
    let real = began.elapsed().as_nanos() as u64;
    // What lies between the two readings is at least the sleep and at most the
    // time around them.
    assert!(
        (500_000..=real / 100).contains(&elapsed),
        "{elapsed} of {real}"
    );
    assert!(emulator.end()["device"]["busy_s"].is_number());
}
