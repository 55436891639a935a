//! Plans whose cells are ramps of clients: carried out, interrupted, gone on with.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::{complaint, octavo};

/// Two page sizes, each with one client and then two, for as short as steps may be.
const RAMPS: &str = r#"format = 1

[workload]
name = "pgbench"
scale = 1

[cells]
page-size = ["4K", "16K"]
memory = "8MiB"

[clients]
ramp = "1..2"
step = "5s"
"#;

struct Place {
    parent: tempfile::TempDir,
}

impl Place {
    fn with(plan: &str) -> Self {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("ramps.toml"), plan).unwrap();
        Self { parent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = octavo();
        command.current_dir(self.parent.path()).args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self.output(arguments);
        assert!(output.status.success(), "{}", complaint(&output));
        let is_dry = arguments.contains(&"--dry-run");
        crate::schema::conforms(if is_dry { "dry-run" } else { "advise" }, &output.stdout);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        let output = self.output(arguments);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        for word in words {
            assert!(complaint.contains(word), "{word} in: {complaint}");
        }
    }
}

/// A number that the store in `directory` answers; 0 as long as there is none.
fn number(directory: &Path, query: &str) -> i64 {
    let ask = || {
        let store = Connection::open(directory.join("octavo.db"))?;
        store.busy_timeout(Duration::from_secs(5))?;
        store.query_row(query, [], |row| row.get(0))
    };
    match directory.join("octavo.db").exists() {
        true => ask().unwrap_or(0),
        false => 0,
    }
}

/// The ends of ramps, and how many steps each has.
fn ends(findings: &serde_json::Value) -> Vec<(String, usize)> {
    let ramps = findings["ramps"].as_array().unwrap().iter();
    let end = |ramp: &serde_json::Value| {
        let steps = ramp["steps"].as_array().unwrap();
        for step in steps {
            assert!(step["counted_per_second"].as_f64().unwrap() > 0.0, "{step}");
            assert!(step["latency"]["p99_us"].as_u64().unwrap() > 0, "{step}");
            assert!(step["written_bytes_per_second"].as_f64().unwrap() > 0.0);
        }
        (ramp["end"].as_str().unwrap().to_owned(), steps.len())
    };
    ramps.map(end).collect()
}

#[test]
fn a_plan_of_ramps_keeps_its_steps_and_goes_on_with_what_is_missing() {
    let place = Place::with(RAMPS);
    let directory = place.path("octavo-ramps");
    let mut child = place
        .command(&["run", "ramps.toml", "--progress=1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One cell has two steps, the other one is in its second.
    let deadline = Instant::now() + Duration::from_secs(600);
    while number(&directory, "SELECT count(*) FROM step") < 3 {
        assert!(Instant::now() < deadline, "no third step was kept");
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("repeat the command to resume"), "{said}");
    for words in ["1 of 2 clients, warming up", "2 of 2 clients, measuring: "] {
        assert!(said.contains(words), "{words}: {said}");
    }

    let findings = place.json(&["report", "octavo-ramps", "--json"]);
    let mut found = ends(&findings);
    found.sort();
    assert_eq!(found, [("finished".into(), 2), ("interrupted".into(), 1)]);
    assert_eq!(findings["finished"], false);
    assert_eq!(findings["runs_failed"].as_array().unwrap().len(), 0);
    let of_first = "SELECT min(run) FROM run WHERE failure IS NULL";
    let (run, started) = (
        number(&directory, of_first),
        number(&directory, "SELECT count(*) FROM run"),
    );
    assert_eq!(started, 2);

    let findings = place.json(&["run", "ramps.toml", "--json"]);
    assert_eq!(
        ends(&findings),
        [("finished".into(), 2), ("finished".into(), 2)]
    );
    assert_eq!(findings["finished"], true);
    assert_eq!(findings["plan"]["ramp"]["step_s"], 5.0);
    // The finished ramp was not repeated, and what was interrupted is still there.
    assert_eq!(number(&directory, of_first), run);
    assert_eq!(number(&directory, "SELECT count(*) FROM run"), 3);
    assert_eq!(number(&directory, "SELECT count(*) FROM step"), 5);
    let checked = "SELECT count(*) FROM consistency WHERE violations = 0";
    assert!(number(&directory, checked) > 0);
    assert!(!directory.join("data").exists(), "the data was removed");

    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    let page = page.replace('\u{a0}', " ");
    for words in [
        "Throughput by clients with 4 KiB pages, in transactions per second",
        "Throughput by clients with 16 KiB pages, in transactions per second",
        "4 KiB pages: steps, without the first tenth of each",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let output = place.output(&["report", "octavo-ramps", "--verbose"]);
    let text = String::from_utf8_lossy(&output.stdout).replace('\u{a0}', " ");
    assert!(text.contains("4 KiB pages: steps, without"), "{text}");

    // Once all is done, the command says the same again.
    let again = place.json(&["run", "ramps.toml", "--json"]);
    assert_eq!(again["ramps"], findings["ramps"]);
    assert_eq!(number(&directory, "SELECT count(*) FROM run"), 3);
    let dry = place.json(&["run", "ramps.toml", "--dry-run", "--json"]);
    assert_eq!(dry["ramps_done"], 2);
    let compared = ["compare", "octavo-ramps", "octavo-ramps"];
    place.refused(&compared, &["octavo-ramps has ramps", "octavo report"]);
    // Another ramp is another plan.
    fs::write(place.path("ramps.toml"), RAMPS.replace("1..2", "1..3")).unwrap();
    place.refused(&["run", "ramps.toml"], &["ramp 1..2/1", "not 1..3/1"]);
}

#[test]
fn a_dry_run_of_ramps_tells_their_time_and_changes_nothing() {
    let place = Place::with(RAMPS);
    let output = place.output(&["run", "ramps.toml", "--dry-run"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8_lossy(&output.stdout).replace('\u{a0}', " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "clients 1..2/1, 2 steps of 5.0 s design each cell a ramp by itself, one after the other",
        "ramps 20 s, and at least 10 s of warm-up",
    ] {
        assert!(text.contains(words), "{words} in: {text}");
    }
    for never in ["margin", "slice", "(reference)", "first pass"] {
        assert!(!text.contains(never), "{never} in: {text}");
    }
    assert!(!place.path("octavo-ramps").exists());
}

#[test]
fn what_ramps_cannot_have_is_refused_at_its_line() {
    let place = Place::with(RAMPS);
    let words = &["ramps.toml:12: ", "--passes", "leave --passes out"];
    place.refused(&["run", "ramps.toml", "--passes=5"], words);
    let words = &["budget of 20 s", "use a larger budget"];
    place.refused(&["run", "ramps.toml", "--budget=20s"], words);
    let plan = RAMPS.replace("[clients]", "clients = 4\n[clients]");
    let words = [
        "ramps.toml:11: ",
        "clients in [cells] and ramp in [clients] exclude each other: remove one",
    ];
    let place = Place::with(&plan);
    place.refused(&["run", "ramps.toml"], &words);
    assert!(!place.path("octavo-ramps").exists());
}
