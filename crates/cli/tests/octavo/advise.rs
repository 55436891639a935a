//! The main job on a small experiment: what it prints and leaves behind.

use std::fs;

use rusqlite::Connection;

use crate::{PASSES_MADE, complaint, octavo, small_advise};

#[test]
fn a_dry_run_tells_what_would_be_done_and_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let output = small_advise(&directory)
        .args(["--dry-run", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("dry-run", &output.stdout);
    let forecast: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(forecast["cells"].as_array().unwrap().len(), 4);
    assert!(!directory.exists());
    let output = small_advise(&directory)
        .args(["--dry-run", "--data=1PiB"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
    assert!(!directory.exists());
}

#[test]
fn advise_answers_and_leaves_what_readme_names() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let output = small_advise(&directory).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("advise", &output.stdout);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["runs_done"], 4);
    let passes = findings["passes"].as_u64().unwrap();
    assert!(PASSES_MADE.contains(&(passes as usize)), "{passes}");
    let groups = findings["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for group in groups {
        let cells = group["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            let figures = &cell["per_transaction"];
            // 40 transactions in each pass.
            assert_eq!(figures["transactions"], 40 * passes);
            let misses = figures["misses_read"].as_f64().unwrap();
            assert!((0.95..=1.0).contains(&misses), "{figures}");
            assert!(figures["write_amplification"].as_f64().unwrap() > 1.0);
        }
    }
    let mut left: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["OCTAVO", "octavo.db", "report.html"]);

    // The report can be made again from the store alone, with the same words.
    let page = parent.path().join("again.html");
    let again = octavo()
        .arg("report")
        .arg(&directory)
        .arg("--html")
        .arg(&page)
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", complaint(&again));
    assert_eq!(
        fs::read(&page).unwrap(),
        fs::read(directory.join("report.html")).unwrap()
    );
    // Repeating a finished advise measures nothing and answers at once.
    let before = fs::read(directory.join("report.html")).unwrap();
    let output = small_advise(&directory).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(
        strip_time(&before),
        strip_time(&fs::read(directory.join("report.html")).unwrap())
    );
    assert!(!directory.join("data").exists());
}

/// The page without its numbers and times, such as "59s" and "1m 2s": the time
/// spent grows with each session.
fn strip_time(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let is_time = |word: &&str| {
        let rest = word.trim_matches(|c: char| !c.is_alphanumeric());
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() > unit.len() && ["", "h", "m", "s"].contains(&unit)
    };
    page.split(' ')
        .filter(|word| !is_time(word))
        .map(|word| word.replace(|c: char| c.is_ascii_digit(), ""))
        .collect()
}

#[test]
fn what_is_predicted_to_be_slow_is_not_measured() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let mut command = octavo();
    command.arg("advise").arg(&directory).args([
        "--predict-first",
        "--warehouses=1",
        "--memory=8MiB",
        "--page-sizes=2K,4K,64K",
        "--passes=9",
        "--transactions=40",
        "--warm-up=100",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let mut statement = store
        .prepare(
            "SELECT page_size_bytes, value, (SELECT count(*) FROM run WHERE run.cell = cell.cell)
             FROM fact JOIN cell ON cell = CAST(fact.name AS INTEGER)
             WHERE topic = 'expected' ORDER BY page_size_bytes",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows: Vec<(u32, String, u32)> = rows.unwrap().map(Result::unwrap).collect();
    let sizes: Vec<u32> = rows.iter().map(|(size, ..)| *size).collect();
    assert_eq!(sizes, [2048, 4096, 65536]);
    for (size, expected, runs) in &rows {
        assert_eq!(
            expected.contains("\"is_left_out\":true"),
            *runs == 0,
            "{size}: {rows:?}"
        );
    }
    let left_out = rows.iter().filter(|(.., runs)| *runs == 0).count();
    let said = text.matches("not measured, predicted ").count();
    assert_eq!(said, left_out, "{text}");
    // Of the reference nothing is said.
    assert_eq!(text.matches(", predicted ").count(), 2, "{text}");
}
