//! The main job on a small experiment: what it prints and leaves behind.

use std::fs;

use crate::{PASSES, complaint, octavo, small_advise};

#[test]
fn advise_answers_and_leaves_what_readme_names() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let output = small_advise(&directory).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["runs_done"], 4);
    assert_eq!(findings["passes"], PASSES);
    let groups = findings["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for group in groups {
        let cells = group["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            let figures = &cell["per_transaction"];
            // 40 transactions in each pass.
            assert_eq!(figures["transactions"], 40 * PASSES);
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
