//! What a script that judges a change gets: Markdown and an exit code.

use std::{path::Path, process::Command};

use crate::{complaint, octavo, schema::conforms};

fn predict(directory: &Path, device: &str) {
    let output = octavo()
        .arg("predict")
        .arg(directory)
        .args(["--device", device])
        .args([
            "--warehouses=1",
            "--memory=1MiB",
            "--page-sizes=4K,16K",
            "--passes=8",
            "--transactions=40",
            "--warm-up=400",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
}

#[test]
fn a_comparison_ends_as_its_condition_says() {
    let home = tempfile::tempdir().unwrap();
    let [disk, flash] = ["hdd-7200", "nvme-tlc"].map(|name| {
        let directory = home.path().join(name);
        predict(&directory, name);
        directory
    });
    let compare = |first: &Path, second: &Path, condition: &str| {
        let output = octavo()
            .arg("compare")
            .args([first, second])
            .args(["--markdown", "--fail-if", condition])
            .output()
            .unwrap();
        let said = complaint(&output);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            said,
        )
    };
    let (code, text, said) = compare(&flash, &disk, "slower > 5%");
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.starts_with("octavo: the second store is slower > 5%: 4 KiB"),
        "{said}"
    );
    // The answer is there all the same.
    assert!(text.starts_with("**Second store: slower in 2.**"), "{text}");
    assert!(
        text.contains("| cell | first | second | ratio (95% CI) |"),
        "{text}"
    );
    assert!(
        text.contains("<details><summary>Conditions that differ"),
        "{text}"
    );
    let (code, _, said) = compare(&disk, &flash, "slower > 5%");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let output = octavo()
        .arg("compare")
        .args([&disk, &flash])
        .arg("--json")
        .output()
        .unwrap();
    conforms("compare", &output.stdout);
    // CI systems have a test for each cell.
    let suite = home.path().join("octavo.xml");
    let output = octavo()
        .arg("compare")
        .args([&flash, &disk])
        .args(["--fail-if=slower > 5%", "--junit"])
        .arg(&suite)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    let xml = std::fs::read_to_string(&suite).unwrap();
    let begin = "tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\"";
    assert!(xml.contains(begin), "{xml}");
    assert!(
        xml.contains(
            "name=\"4 KiB pages\"><failure message=\"the second store is slower &gt; 5% (95% CI"
        ),
        "{xml}"
    );
    // All of the interval of a store and itself is never on one side of 1.
    let (code, _, said) = compare(&disk, &disk, "slower");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("is not decided: 4 KiB"), "{said}");
    // The same for one result, and its cells for other programs.
    let csv = home.path().join("cells.csv");
    let report = |arguments: &[&str]| {
        let output = octavo()
            .arg("report")
            .arg(&disk)
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = report(&["--markdown", "--csv", csv.to_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("| page |") && text.contains("</details>"),
        "{text}"
    );
    let table = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains(",sqlite,"), "{table}");
    std::fs::write(&csv, "mine").unwrap();
    let (code, _) = report(&["--csv", csv.to_str().unwrap()]);
    assert_eq!(code, Some(2), "somebody else's file stays");
    assert_eq!(std::fs::read(&csv).unwrap(), b"mine");
    let (code, text, said) = compare(&disk, &flash, "slower > 5");
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(said.contains("write 'slower > 5%'"), "{said}");
}

/// A small comparison on this machine's storage.
fn ab(directory: &Path, arguments: &[&str]) -> std::process::Output {
    octavo()
        .arg("ab")
        .arg(directory)
        .args(["--warehouses=1", "--transactions=40", "--warm-up=100"])
        .args(["--passes=8", "--budget=5m"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn two_versions_are_compared_beside_one_and_itself() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("work");
    // Sixteen times the bytes for the same rows.
    let pages = ["--a=page-size=4K", "--b=page-size=64K", "--memory=2MiB"];
    // Outside of the directories that measuring is held to.
    let junit = home.path().join("junit.xml");
    let written = format!("--junit={}", junit.display());
    let output = ab(
        &directory,
        &[&pages[..], &["--json", "--fail-if=slower > 5%", &written]].concat(),
    );
    let said = complaint(&output);
    assert!(
        output
            .status
            .code()
            .is_some_and(|code| [0, 3, 4].contains(&code)),
        "{said}"
    );
    let suite = std::fs::read_to_string(&junit).unwrap();
    assert!(
        suite.contains("page-size=64K beside page-size=4K"),
        "{suite}"
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Whether A differs from itself is this machine's matter.
    let is_quiet = !matches!(found["a_a_decision"].as_str(), Some("better" | "worse"));
    conforms("ab", &output.stdout);
    let ratio = found["ratio"]["estimate"].as_f64().unwrap();
    assert!(ratio < 1.0, "{ratio}");
    // On other disks it is predicted, with the same cells.
    let elsewhere = found["elsewhere"].as_array().unwrap();
    let devices: Vec<&str> = elsewhere
        .iter()
        .map(|of| of["device"].as_str().unwrap())
        .collect();
    assert_eq!(devices, ["nvme-tlc", "gp3-3000", "st373455ss"], "{said}");
    for there in elsewhere {
        assert_eq!(there["source"], "predicted");
        assert!(
            there["ratio"]["estimate"].as_f64().unwrap() < 1.0,
            "{there}"
        );
    }
    let code = output.status.code().unwrap();
    // Without an end, as of a single batch where a pass was left out, nothing is beyond.
    let high = found["ratio"]["high"].as_f64();
    let is_beyond = high.is_some_and(|high| high < 0.95);
    match is_quiet {
        true => assert_eq!(code == 3, is_beyond, "{said}"),
        // As far as A is from itself, B may be from what it is: the rest may be beyond all the same.
        false => assert!(code == 4 || (code == 3) == is_beyond, "{said}"),
    }
    assert_eq!(
        (&found["a"], &found["b"]),
        (&"page-size=4K".into(), &"page-size=64K".into())
    );
    let cells = |of: &serde_json::Value| of["groups"][0]["cells"].as_array().unwrap().len();
    assert_eq!((cells(&found["findings"]), cells(&found["a_a"])), (2, 2));
    // Done before: it answers again, and of each the store is there.
    let output = ab(&directory, &[&pages[..], &["--markdown"]].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for wanted in [
        "| page-size=4K, beside itself |",
        "| page-size=64K |",
        "<details>",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // Another B is not for this directory, which is said before A is measured again.
    let other = ["--a=page-size=4K", "--b=page-size=16K", "--memory=2MiB"];
    let output = ab(&directory, &other);
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
    assert!(complaint(&output).contains("a-b/octavo.db"));
    // As the action of this repository does.
    let summary = home.path().join("summary.md");
    let outputs = home.path().join("outputs");
    let action = |undecided: &str| {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(repository.join("packages/action"));
        command
            .env("OCTAVO", env!("CARGO_BIN_EXE_octavo"))
            .env("GITHUB_STEP_SUMMARY", &summary)
            .env("GITHUB_OUTPUT", &outputs)
            .env("FAIL_IF", "slower > 5%")
            .env("UNDECIDED", undecided)
            .env(
                "ARGUMENTS",
                format!(
                    "'{}' --warehouses=1 --transactions=40 --warm-up=100 --passes=8 --budget 5m \
                     --a=page-size=4K --b=page-size=64K --memory \"2MiB\"",
                    directory.display()
                ),
            );
        command.output().unwrap()
    };
    let output = action("pass");
    assert_eq!(
        output.status.code(),
        Some(if code == 3 { 3 } else { 0 }),
        "{}",
        complaint(&output)
    );
    let said = String::from_utf8(output.stdout).unwrap();
    if code != 0 {
        let word = if code == 3 { "error" } else { "warning" };
        let begin = format!("::{word} title=Octavo::");
        assert!(said.lines().any(|line| line.starts_with(&begin)), "{said}");
    }
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.contains("| page-size=64K |"), "{text}");
    let text = std::fs::read_to_string(&outputs).unwrap();
    assert_eq!(text, format!("code={code}\n"));
    for store in ["a-a", "a-b"] {
        let report = octavo()
            .arg("report")
            .arg(directory.join(store))
            .output()
            .unwrap();
        assert!(report.status.success(), "{store}: {}", complaint(&report));
    }
}

#[test]
fn versions_that_are_none_are_refused_and_leave_nothing() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("work");
    for (arguments, wanted) in [
        (
            &["--a=page-size=4K", "--b=memory=8MiB"][..],
            "one key with two values",
        ),
        (&["--a=page-size=4K", "--b=page-size=4K"], "are the same"),
        (
            &["--a=journal=wal", "--b=journal=delete"],
            "has no option 'journal'",
        ),
        (
            &["--a=page-size=4K", "--b=page-size=5000"],
            "page-size=5000: ",
        ),
        (
            &["--a=page-size=4K", "--b=page-size=8K", "--page-sizes=4K"],
            "leave one out",
        ),
        (
            &["--a=clients=1", "--b=clients=4", "--clients=2"],
            "leave one out",
        ),
        (
            &[
                "--a=journal-mode=wal",
                "--b=journal-mode=delete",
                "--journal-mode=wal",
            ],
            "leave one out",
        ),
        (
            &["--a=cache=1MiB", "--b=cache=2MiB"],
            "has no option 'cache'",
        ),
        (&["--a=page-size", "--b=page-size=8K"], "write KEY=VALUE"),
        (
            &["--a=memory=1MiB", "--b=memory=1KiB"],
            "is not possible with sqlite",
        ),
    ] {
        let output = ab(&directory, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            complaint(&output).contains(wanted),
            "{}",
            complaint(&output)
        );
        assert!(!directory.exists(), "{arguments:?}");
    }
}

#[test]
fn a_dry_run_of_versions_has_both_comparisons_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("work");
    let modes = [
        "--a=journal-mode=wal",
        "--b=journal-mode=delete",
        "--dry-run",
    ];
    let output = ab(&directory, &[&modes[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    conforms("ab-dry-run", &output.stdout);
    let parts = [&found["a_a"], &found["a_b"]];
    assert_eq!(
        parts.map(|of| of["cells"].as_array().unwrap().len()),
        [2, 2]
    );
    assert_eq!(parts.map(|of| of["budget_s"].clone()), [100.0, 200.0]);
    let output = ab(&directory, &modes);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for wanted in ["A beside itself", "B beside A", "journal-mode=delete"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // It refuses as the comparison itself.
    let refused = |arguments: &[&str]| {
        let all = [&modes[..2], &["--data=4TiB"], arguments].concat();
        let output = ab(&directory, &all);
        assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
        complaint(&output)
    };
    assert_eq!(refused(&["--dry-run"]), refused(&[]));
    assert!(!directory.exists());
}
