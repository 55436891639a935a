//! `octavo plan`: plans to begin with are plans.

use std::fs;

use crate::{complaint, octavo, own::application};

#[test]
fn every_plan_to_begin_with_is_one() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = octavo();
        command.current_dir(home.path()).arg("plan").args(arguments);
        command.output().unwrap()
    };
    // What the plan of one's own data names.
    let _application = application(&home.path().join("my.db"), "delete");
    let list = String::from_utf8(run(&[]).stdout).unwrap();
    let listed = list.split("\n\n").next().unwrap_or_default();
    assert!(listed.lines().count() >= 9, "{list}");
    for line in listed.lines() {
        let name = line.split(' ').next().unwrap();
        let plan = run(&[name]).stdout;
        fs::write(home.path().join("plan.toml"), plan).unwrap();
        let checked = run(&["check", "plan.toml"]);
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success(), "{name}: {}", complaint(&checked));
        assert!(
            said.starts_with("plan.toml is a plan of "),
            "{name}: {said}"
        );
    }
    fs::write(
        home.path().join("plan.toml"),
        "format = 1\nbudgte = \"1h\"\n",
    )
    .unwrap();
    let refused = run(&["check", "plan.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        complaint(&refused).contains("plan.toml:2: "),
        "{}",
        complaint(&refused)
    );
    let mut left: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["my.db", "plan.toml"], "nothing is changed");
}
