//! Page sizes of tables and indexes of their own.

use std::{path::Path, process::Command};

use serde_json::Value;

/// `--per-table` for TPC-C with reports, with what RocksDB is emulated on.
fn per_table(work: &Path, device: &str) -> Command {
    let mut octavo = crate::octavo();
    octavo
        .arg("advise")
        .arg(work)
        .args([
            "--database=rocksdb",
            "--workload=tpcc-reports",
            "--per-table",
        ])
        .args([
            "--warehouses=1",
            "--memory=12MiB",
            "--page-sizes=4K,16K,64K",
        ])
        .args(["--no-calibrate", "--json", "--device", device]);
    octavo
}

fn json(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", crate::complaint(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(args: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let output = crate::octavo()
        .arg("advise")
        .arg(&work)
        .arg("--per-table")
        .args(args)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!work.exists());
    crate::complaint(&output)
}

#[test]
fn what_has_one_page_size_is_refused() {
    assert!(refusal(&["--database=sqlite"]).contains("--per-table is for --database rocksdb"));
    let rocksdb = |args: &[&str]| refusal(&[&["--database=rocksdb"], args].concat());
    assert!(rocksdb(&["--memory=8M,32M"]).contains("give one --memory"));
    assert!(rocksdb(&["--block-sizes=item=16K"]).contains("leave one out"));
    let one = ["--page-sizes=4K", "--device=instant"];
    assert!(rocksdb(&one).contains("name more"), "{}", rocksdb(&one));
}

#[test]
fn a_dry_run_says_what_is_chosen_for_a_device() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let chosen = |device| json(per_table(&work, device).arg("--dry-run"))["chosen_sizes"].clone();
    let disk = chosen("st373455ss");
    assert_eq!(disk, chosen("st373455ss"), "one seed, one choice");
    assert!(!work.exists());
    let reads = |of: &Value| of["reads_us"].as_f64().unwrap();
    let single = disk["single"].as_array().unwrap();
    assert_eq!(single.len(), 3);
    let best = single.iter().map(reads).fold(f64::INFINITY, f64::min);
    assert!(reads(&disk) <= best * 1.005, "{disk}");
    // A disk takes about as long for any page, flash longer for large ones.
    let ratio = |of: &Value| {
        let single = of["single"].as_array().unwrap();
        reads(&single[2]) / reads(&single[0])
    };
    assert!(ratio(&chosen("ec")) > ratio(&disk));
    let trees = disk["trees"].as_array().unwrap();
    assert!(
        trees
            .iter()
            .any(|tree| tree["name"] == "customer.customer_by_name")
    );
}

/// What is predicted of tables beside what RocksDB counts by family.
#[test]
fn mixed_sizes_are_measured_beside_single_ones() {
    if !crate::emulate::can_mount() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let mut octavo = per_table(&work, "ec");
    octavo.args(["--passes=8", "--transactions=60", "--warm-up=1000"]);
    let found = json(&mut octavo);
    let (chosen, group) = (&found["chosen_sizes"], &found["groups"][0]);
    let cells = group["cells"].as_array().unwrap();
    let levels: Vec<&str> = cells
        .iter()
        .map(|cell| cell["level"].as_str().unwrap())
        .collect();
    assert_eq!(levels[..3], ["4096", "16384", "65536"]);
    if chosen["mixed"].is_null() {
        assert_eq!(levels.len(), 3);
    } else {
        assert_eq!(levels[3..], ["mixed"]);
        let ratio = group["mixed"]["ratio"]["estimate"].as_f64().unwrap();
        assert!((0.3..3.0).contains(&ratio), "{ratio}");
    }
    for (place, cell) in cells[..3].iter().enumerate() {
        let of = |name: &str| {
            let mut trees = cell["trees"].as_array().unwrap().iter();
            trees.find(|tree| tree["name"] == name).unwrap()
        };
        let predicted = |name: &str| {
            let mut trees = chosen["trees"].as_array().unwrap().iter();
            let tree = trees.find(|tree| tree["name"] == name).unwrap();
            tree["reads_single"][place].as_f64().unwrap()
        };
        for name in ["customer", "stock"] {
            let measured = of(name)["reads"].as_f64().unwrap();
            let ratio = predicted(name) / measured;
            assert!(
                (0.4..2.5).contains(&ratio),
                "{name}: {ratio} of {measured}, {place}"
            );
            // Blocks are as large as they were to be.
            let bytes = of(name)["read_bytes"].as_f64().unwrap() / measured;
            let size = f64::from(4096 << (2 * place));
            assert!(
                (0.8..1.05).contains(&(bytes / size)),
                "{name}: {bytes} of {size}"
            );
        }
        assert!(of("customer")["calls"].as_f64().unwrap() > 1.0);
    }
    // The same command resumes with the sizes that it chose.
    let again =
        json(per_table(&work, "ec").args(["--passes=8", "--transactions=60", "--warm-up=1000"]));
    assert_eq!(again["chosen_sizes"], *chosen);
}
