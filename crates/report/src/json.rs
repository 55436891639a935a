//! The findings for programs.

use octavo_experiment::findings::Findings;
use serde::Serialize;

use crate::sentence;

#[derive(Serialize)]
struct Report<'a> {
    sentences: Vec<String>,
    #[serde(flatten)]
    findings: &'a Findings,
}

/// The findings as indented JSON, with the answer in words under
/// `sentences`. Ends of intervals that are not known (one round) are `null`,
/// since JSON has no infinity.
///
/// # Panics
/// Never: every part of findings has a JSON form.
pub fn json(findings: &Findings) -> String {
    let mut sentences = sentence::answers(findings);
    sentences.extend(sentence::buffers(findings));
    let report = Report {
        sentences,
        findings,
    };
    serde_json::to_string_pretty(&report).expect("findings have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_words_come_with_the_figures() {
        let value: serde_json::Value = serde_json::from_str(&json(&fixture::findings())).unwrap();
        assert!(value["sentences"][0].as_str().unwrap().contains("8192"));
        assert_eq!(value["plan"]["reference"], 4096);
        assert_eq!(value["memories"][0]["verdict"]["verdict"], "use");
    }

    #[test]
    fn unknown_ends_are_null() {
        let value: serde_json::Value = serde_json::from_str(&json(&fixture::one_round())).unwrap();
        let ratio = &value["memories"][0]["cells"][0]["ratio"];
        assert!(ratio["estimate"].is_number());
        assert!(ratio["high"].is_null());
    }
}
