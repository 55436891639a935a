//! `octavo reproduce`: a study's score card, and what is refused.

use std::fs;

use serde_json::Value;

use crate::{complaint, octavo};

#[test]
fn a_study_is_predicted_with_its_score_card() {
    let home = tempfile::tempdir().unwrap();
    let page = home.path().join("study.html");
    let output = octavo()
        .args(["reproduce", "pure-2012", "--json", "--html"])
        .arg(&page)
        .arg("--directory")
        .arg(home.path().join("studies"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("reproduce", &output.stdout);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["studies"][0]["score"]["rows"].as_array().unwrap();
    let apart = &rows[0];
    assert!(apart["predicted"].as_f64().unwrap() < 0.03, "{apart:?}");
    assert!(rows.iter().all(|row| row["outcome"] != "off"), "{rows:?}");
    // Four sizes by twelve numbers of users.
    let cells = json["studies"][0]["predicted"]["cells"].as_array().unwrap();
    let of_ramp = cells.iter().filter(|cell| cell["experiment"] == "ramp");
    assert_eq!(of_ramp.count(), 48);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("Transactions a second by users") && html.contains("<svg"));
    assert!(
        !home.path().join("studies").exists(),
        "nothing was measured"
    );
}

#[test]
fn what_cannot_be_repeated_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let refuse = |arguments: &[&str], words: &[&str]| {
        let mut command = octavo();
        command.arg("reproduce").args(arguments);
        let output = command.current_dir(home.path()).output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    };
    refuse(&["petrov"], &["petrov", "petrov-2010"]);
    refuse(
        &["cubrid-ssd", "--measure"],
        &["cubrid-ssd", "only modeled"],
    );
    refuse(&["petrov-2010", "--measured-scale=3"], &["--measure"]);
    refuse(
        &["petrov-2010", "--measure", "--measured-scale=0"],
        &["--measured-scale", "0"],
    );
}
