//! What the program says of itself.

use std::{fs, os::unix::fs::chown};

use crate::{complaint, octavo};

#[test]
fn the_build_and_the_machine_are_told() {
    let said = |arguments: &[&str]| {
        let output = octavo().args(arguments).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let short = said(&["--version"]);
    let text = said(&["--version", "--verbose"]);
    assert!(text.starts_with(&short), "{text}");
    for name in ["commit", "built in", "formats", "kernel", "cpu"] {
        let has = |line: &str| line.trim_start().starts_with(name);
        assert!(text.lines().any(has), "{name}: {text}");
    }
    let sqlite: String = rusqlite::version().into();
    assert!(text.contains(&format!("SQLite {sqlite}")), "{text}");
}

#[test]
fn a_directory_has_defaults() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("octavo.toml");
    let run = |arguments: &[&str]| {
        let mut command = octavo();
        let output = command.current_dir(home.path()).args(arguments).output();
        output.unwrap()
    };
    let text = "[advise]\nbudget = '11m'\npage-sizes = ['4K', '16K']\nmemory = '8M'\n";
    fs::write(&file, text).unwrap();
    let budget = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{}", complaint(&output));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["cells"].as_array().unwrap().len(), 2, "{said}");
        (said["budget_s"].clone(), complaint(&output))
    };
    let (budget_s, said) = budget(&["advise", "d", "--dry-run", "--json"]);
    assert_eq!(budget_s, 660.0);
    assert_eq!(
        said,
        "octavo: octavo.toml adds --budget=11m --memory=8M --page-sizes=4K --page-sizes=16K"
    );
    assert_eq!(
        budget(&["advise", "d", "--budget=20m", "--dry-run", "--json"]).0,
        1200.0
    );
    fs::write(&file, "[advise]\nscript = 'theirs.sql'\n").unwrap();
    let output = run(&["advise", "d", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        complaint(&output),
        "octavo: octavo.toml: [advise] has 'script', which has to be typed, so that no file chooses it: take it out"
    );
    if rustix::process::geteuid().is_root() {
        chown(&file, Some(65534), None).unwrap();
        let output = run(&["advise", "d", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(complaint(&output).contains("belongs to another user"));
        chown(&file, Some(0), None).unwrap();
    }
    // Whoever only looks, asks for help or wants no defaults is not held up.
    for arguments in [
        &["devices"][..],
        &["advise", "--help"],
        &["--no-defaults", "advise", "d", "--dry-run"],
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{}", complaint(&output));
    }
}
