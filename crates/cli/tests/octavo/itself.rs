//! What the program says of itself.

use crate::octavo;

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
