//! README's example: its text is what the store in docs/example says today, and its picture
//! was taken of the same. `docs/example.sh` makes both.

use std::fs;

use super::{
    page::{page, repository},
    scene::printed,
};
use crate::{complaint, octavo};

const STORE: &str = "docs/example/octavo.db";

/// README's example without the command, and that command's directory.
fn shown() -> (String, String) {
    let blocks = page("README.md").blocks().into_iter();
    let block = blocks.map(|block| block.text);
    let mut examples = block.filter(|text| text.starts_with("$ octavo advise "));
    let text = examples.next().expect("an example");
    let (command, answer) = text.split_once('\n').unwrap();
    let directory = command.rsplit(' ').next().unwrap_or_default();
    (answer.to_owned(), directory.to_owned())
}

/// The lines of the answer that decide: those that are set in, in one line.
fn decisions(answer: &str) -> String {
    let paragraph = answer.split("\n\n").nth(1).unwrap_or_default();
    let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
    lines.join(" ")
}

#[test]
fn readme_shows_what_its_store_says() {
    let (answer, directory) = shown();
    let store = repository().join(STORE);
    let output = octavo().arg("report").arg(&store).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let end = format!(
        "Report: {directory}/report.html     All tables: octavo report {directory} --verbose\n"
    );
    assert_eq!(
        printed(&output) + &end,
        answer,
        "README.md is not what {STORE} says (left): run docs/example.sh"
    );

    let output = octavo().arg("report").arg(&store).arg("--json").output();
    let findings: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(findings["command"], format!("octavo advise {directory}"));
}

#[test]
fn readme_has_a_picture_of_the_same_answer() {
    let (answer, _) = shown();
    let picture = fs::read(repository().join("docs/report.png")).unwrap();
    assert_eq!(
        description(&picture).as_deref(),
        Some(decisions(&answer).as_str()),
        "docs/report.png is not of README's example: run docs/example.sh"
    );
}

/// What a PNG says of itself under `Description` (PNG 1.2, 4.2.3 and 11.3.4).
fn description(picture: &[u8]) -> Option<String> {
    let mut rest = picture.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap();
        let chunk = behind.get(..4 + length)?;
        if let Some(text) = chunk.strip_prefix(b"tEXtDescription\0") {
            // Latin-1.
            return Some(text.iter().copied().map(char::from).collect());
        }
        // Behind it is its checksum.
        rest = behind.get(4 + length + 4..)?;
    }
    None
}
