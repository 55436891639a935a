//! Plans in files: what a dry run says, how bad plans are refused, and a small
//! one carried out.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use rusqlite::Connection;

use crate::{complaint, octavo};

/// Two journal modes by two page sizes, in passes of a number of transactions
/// so that nothing depends on a clock.
const SMALL: &str = r#"format = 1
name = "Small"

[experiment]
design = "full"
passes = 2

[run]
transactions = 40

[workload]
name = "tpcc"
warehouses = 1

[cells]
journal-mode = ["wal", "delete"]
page-size = ["4K", "16K"]
memory = "2MiB"
"#;

struct Place {
    parent: tempfile::TempDir,
}

impl Place {
    fn with(plan: &str) -> Self {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("small.toml"), plan).unwrap();
        Self { parent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        octavo()
            .current_dir(self.parent.path())
            .args(["run", "small.toml"])
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Runs what has to be refused at a line of the plan, changing nothing.
    #[track_caller]
    fn refused(&self, arguments: &[&str], line: &str, words: &[&str]) -> String {
        let output = self.run(arguments);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(
            complaint.starts_with(&format!("octavo: small.toml:{line}: ")),
            "{complaint}"
        );
        for word in words {
            assert!(complaint.contains(word), "{word} in: {complaint}");
        }
        self.assert_untouched();
        complaint
    }

    /// Only the plan is there.
    #[track_caller]
    fn assert_untouched(&self) {
        let names: Vec<_> = fs::read_dir(self.parent.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["small.toml"]);
    }
}

/// Printed text without line breaks and unbreakable blanks.
fn words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_dry_run_tells_the_plan_and_changes_nothing() {
    let place = Place::with(SMALL);
    let output = place.run(&["--dry-run"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let text = words(&output.stdout);
    assert!(
        text.starts_with("Small workload TPC-C, warehouses: 1 "),
        "{text}"
    );
    for words in [
        "compared page size design lockstep, every cell to the end margin up to 3% counts",
        "directory octavo-small",
        "1 4 KiB pages (reference) journal mode wal ",
        "2 16 KiB pages journal mode wal ",
        "3 4 KiB pages (reference) journal mode delete ",
        "4 16 KiB pages journal mode delete ",
        "sqlite journal-mode=delete 16 KiB ",
        "directory needs about free octavo-small ",
        "slice 40 transactions passes at most 2",
    ] {
        assert!(text.contains(words), "{words} in: {text}");
    }
    place.assert_untouched();
}

#[test]
fn a_dry_run_is_there_for_programs_too() {
    let place = Place::with(&SMALL.replace("name = \"Small\"\n", ""));
    let output = place.run(&[
        "elsewhere",
        "--dry-run",
        "--json",
        "--passes=5",
        "--budget=10m",
    ]);
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("dry-run", &output.stdout);
    let outlook: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outlook["format"], 3);
    assert_eq!(outlook["directory"], "elsewhere");
    assert_eq!(outlook["compared"], "page-size");
    let cells = outlook["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[2]["reference"], true);
    assert_eq!(cells[3]["reference"], false);
    assert_eq!(cells[3]["group"], "journal mode delete");
    let mut order: Vec<u64> = outlook["order_of_first_pass"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell.as_u64().unwrap())
        .collect();
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3]);
    let seconds = |name: &str| outlook[name].as_f64().unwrap();
    assert_eq!(seconds("budget_s"), 600.0);
    assert_eq!(outlook["passes"], 5);
    assert!(seconds("making_s_about") + seconds("beginning_s_about") < 600.0);
    let bytes: u64 = outlook["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["size_bytes_about"].as_u64().unwrap())
        .sum();
    let space = &outlook["space"][0];
    assert!(space["needed_bytes_about"].as_u64().unwrap() > bytes);
    assert!(space["free_bytes"].as_u64().unwrap() > 0);
    place.assert_untouched();
}

#[test]
fn bad_plans_are_refused_at_their_line() {
    let refused = |old: &str, new: &str, line: &str, words: &[&str]| {
        assert!(SMALL.contains(old));
        let place = Place::with(&SMALL.replace(old, new));
        // A dry run and a run refuse alike.
        let dry = place.refused(&["--dry-run"], line, words);
        assert_eq!(place.refused(&[], line, words), dry);
    };
    refused(
        "\"16K\"",
        "5000",
        "17",
        &["\n17 | page-size = [\"4K\", 5000]\n   |                    ^^^^"],
    );
    refused("memory", "memroy", "18", &["did you mean memory?"]);
    refused("passes = 2", "passes = ", "6", &["expected literal string"]);
    refused("\"2MiB\"", "\"64K\"", "18", &["64 KiB", "at least"]);
    refused("passes = 2", "", "1", &["when to end"]);
    refused(
        "passes = 2",
        "budget = \"5s\"",
        "6",
        &["budget of 5 s", "^^^^"],
    );
    refused(
        "\"2MiB\"",
        "\"2MiB\"\nstorage = [\"\", \"octavo-small\"]",
        "19",
        &["named already"],
    );
    for inner in [
        "\"\", \"octavo-small/data\"",
        "\"\", \"./octavo-small/data/inner\"",
        "\"\", \"octavo-small/devices/ec\"",
        "\"octavo-small/data/inner\"",
        "\"other\", \"other/data/inner\"",
    ] {
        let storage = format!("\"2MiB\"\nstorage = [{inner}]");
        let words = ["where Octavo makes and deletes files"];
        refused("\"2MiB\"", &storage, "19", &words);
    }
    refused(
        "\"2MiB\"",
        "\"2MiB\"\ncpus = 100_000",
        "19",
        &["100000 CPUs"],
    );
    let huge = "warehouses = 900_000";
    let place = Place::with(&SMALL.replace("warehouses = 1", huge));
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint(&output).contains("free"),
        "{}",
        complaint(&output)
    );
    place.assert_untouched();
}

#[test]
fn bad_flags_of_run_are_refused_in_one_line() {
    let place = Place::with(&SMALL.replace("passes = 2", ""));
    for (arguments, words) in [
        (&["--budget=5s"][..], "budget of 5 s"),
        (&["/proc/octavo", "--passes=1"], "/proc/octavo"),
        (&["--passes=0"], "--passes must be from 1 to 1000000"),
    ] {
        let output = place.run(arguments);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains(words), "{complaint}");
        place.assert_untouched();
    }
    fs::remove_file(place.path("small.toml")).unwrap();
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).starts_with("octavo: cannot read small.toml: "));
}

#[test]
fn a_plan_is_carried_out_and_gone_on_with() {
    let place = Place::with(SMALL);
    let output = place.run(&["--json", "--passes=1"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let directory = place.path("octavo-small");
    assert_eq!(runs(&directory), 4);

    let output = place.run(&["--json"]);
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("advise", &output.stdout);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["runs_done"], 8);
    assert_eq!(findings["groups"].as_array().unwrap().len(), 2);
    for group in findings["groups"].as_array().unwrap() {
        for cell in group["cells"].as_array().unwrap() {
            // 40 transactions in each of 2 passes.
            assert_eq!(cell["per_transaction"]["transactions"], 80);
        }
    }
    let mut left: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["OCTAVO", "octavo.db", "report.html"]);

    // A dry run counts what is there, and changes nothing.
    let before = fs::read(directory.join("octavo.db")).unwrap();
    let output = place.run(&["--dry-run"]);
    assert!(words(&output.stdout).contains("finished 2 passes"));
    // Another plan is not for this store, dry or not.
    let other = SMALL.replace("\"2MiB\"", "\"4MiB\"");
    fs::write(place.path("small.toml"), other).unwrap();
    for arguments in [&["--dry-run"][..], &[]] {
        let output = place.run(arguments);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains("memory 2 MiB, not 4 MiB"), "{complaint}");
    }
    assert_eq!(fs::read(directory.join("octavo.db")).unwrap(), before);
}

/// Runs in a directory's store.
fn runs(directory: &Path) -> i64 {
    Connection::open(directory.join("octavo.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM run", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn rows_of_another_plan_on_the_same_storage_are_not_taken_for_ones_own() {
    let one = SMALL
        .replace("[\"wal\", \"delete\"]", "\"wal\"")
        .replace("[\"4K\", \"16K\"]", "\"4K\"")
        .replace("[experiment]", "[experiment]\ncopies = 2")
        .replace("\"2MiB\"", "\"2MiB\"\nstorage = \"disk\"");
    let other = one.replace("[experiment]", "[experiment]\nseed = 2");
    let place = Place::with(&one);
    let loaded = || fs::read_to_string(place.path("disk/data/snapshot-4096/complete")).unwrap();
    let run = |directory: &str, passes: &str| {
        let output = place.run(&[directory, passes, "--keep-data"]);
        assert!(output.status.success(), "{}", complaint(&output));
    };
    run("first", "--passes=1");
    assert!(loaded().contains("seed 1"), "{}", loaded());
    fs::write(place.path("small.toml"), other).unwrap();
    run("second", "--passes=1");
    assert!(loaded().contains("seed 2"), "{}", loaded());
    fs::write(place.path("small.toml"), &one).unwrap();
    run("first", "--passes=2");
    assert!(loaded().contains("seed 1"), "{}", loaded());
    assert_eq!(runs(&place.path("first")), 4);
    // Where another experiment works is no storage.
    let within = one.replace("\"disk\"", "\"first\"");
    fs::write(place.path("small.toml"), within).unwrap();
    let output = place.run(&["third", "--passes=1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint(&output).contains("another experiment"),
        "{}",
        complaint(&output)
    );
    assert!(!place.path("third").exists());
}
