//! The user's own statements on SQLite, predicted from the pages that they refer to.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::{
    complaint, octavo,
    own::{Home, PRIVATE, application, contains},
};

/// What a command leaves in its directory, but its store and report.
fn left_in(work: &Path) -> Vec<String> {
    let entries = fs::read_dir(work).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.retain(|name| !["OCTAVO", "octavo.db", "report.html"].contains(&name.as_str()));
    let is_empty =
        |name: &str| fs::read_dir(work.join(name)).is_ok_and(|mut of| of.next().is_none());
    names.retain(|name| !is_empty(name));
    names
}

#[test]
fn own_statements_are_predicted_from_the_pages_that_they_refer_to() {
    let home = Home::new();
    let program = application(&home.path("app/my.db"), "wal");
    let before = home.files();
    let work = home.path("predicted");
    let predict = |arguments: &[&str]| {
        let mut command = octavo();
        command
            .current_dir(home.directory.path())
            .args(["predict", "predicted", "--copy-of=app/my.db", "--clients=1"])
            .args(["--page-sizes=4K", "--memory=512KiB,1MiB", "--passes=8"])
            .args(["--transactions=40", "--warm-up=1000"])
            .args(arguments);
        command
    };
    let output = predict(&["--device=ec", "--script=mix.sql", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(home.files(), before, "a log that is in use stays as it is");
    assert_eq!(left_in(&work), Vec::<String>::new());
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["source"], "predicted");
    assert_eq!(found["plan"]["reference"]["page_size"], 8192);
    assert_eq!(found["plan"]["own"]["scripts"][0]["name"], "mix.sql");
    let rows: Vec<u64> = found["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["rows"].as_u64().unwrap())
        .collect();
    assert_eq!(rows, [20_000, 20_000]);
    let mut reads = Vec::new();
    for group in found["groups"].as_array().unwrap() {
        for cell in group["cells"].as_array().unwrap() {
            let of = |name: &str| cell["per_transaction"][name].as_f64().unwrap();
            assert!(of("transactions") >= 320.0, "{cell}");
            // A row is changed and one added: two pages or more.
            let page = cell["cell"]["page_size"].as_f64().unwrap();
            assert!(of("log_written_bytes") > 2.0 * page, "{cell}");
            assert!(
                cell["throughput"]["estimate"].as_f64().unwrap() > 0.0,
                "{cell}"
            );
            reads.push(of("buffer_misses"));
        }
    }
    assert_eq!(reads.len(), 4);
    assert!(reads.iter().all(|reads| *reads > 0.0), "{reads:?}");
    assert!(!found.to_string().contains(PRIVATE), "{found}");
    for name in ["octavo.db", "report.html"] {
        assert!(
            !contains(&fs::read(work.join(name)).unwrap(), PRIVATE),
            "{name}"
        );
    }
    // The same is read, not made again.
    let begin = std::time::Instant::now();
    let output = predict(&["--device=ec", "--script=mix.sql"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(begin.elapsed().as_secs() < 5);
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "mix.sql on a copy of my.db",
        "predicted, not measured",
        "PREDICTED ONLY",
    ] {
        assert!(words.contains(said), "{said} in {text}");
    }
    drop(program);
}

#[test]
fn an_interrupted_recording_of_pages_leaves_nothing() {
    use std::io::{BufRead as _, BufReader};

    let home = Home::new();
    drop(application(&home.path("app/my.db"), "wal"));
    let before = home.files();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut child = octavo()
            .current_dir(home.directory.path())
            .args([
                "predict",
                "stopped",
                "--copy-of=app/my.db",
                "--script=mix.sql",
            ])
            .args(["--device=ec", "--warm-up=1000000", "--progress=1"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = said.map(Result::unwrap);
        assert!(
            said.any(|line| line.contains("record your statements")),
            "it ended"
        );
        let copy = fs::metadata(home.path("stopped/data")).unwrap();
        assert_eq!(
            copy.permissions().mode() & 0o777,
            0o700,
            "nobody else may look"
        );
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(130 | 143)), "{code:?}");
        assert_eq!(left_in(&home.path("stopped")), Vec::<String>::new());
        assert_eq!(home.files(), before);
    }
}

#[test]
fn own_statements_that_cannot_be_predicted_are_refused_in_a_line() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    fs::write(home.path("slow.sql"), "\\sleep 1 ms\nSELECT 1;").unwrap();
    for (arguments, words) in [
        (
            &["--copy-of=mysql://anna@db.example/shop"][..],
            &[
                "predicted on SQLite, PostgreSQL and MariaDB alone, not on MySQL",
                "another format",
                "octavo advise --copy-of",
            ][..],
        ),
        (
            &["--copy-of=app/my.db"],
            &["journal-mode delete", "--journal-mode wal", "octavo advise"],
        ),
        (
            &[
                "--copy-of=app/my.db",
                "--journal-mode=wal",
                "--script=slow.sql",
            ],
            &["slow.sql waits with \\sleep", "octavo advise"],
        ),
        (&["--copy-of=app/my.db", "--script=none.sql"], &["none.sql"]),
        (
            &["--copy-of=app/my.db", "--replacement=lru"],
            &["--replacement", "--copy-of"],
        ),
    ] {
        let output = octavo()
            .current_dir(home.directory.path())
            .args(["predict", "refused", "--device=ec"])
            .args(arguments)
            .output()
            .unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{word} in: {said}");
        }
        assert!(!home.path("refused/data").exists());
    }
}
