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
    let report = Report {
        sentences: sentence::all(findings),
        findings,
    };
    serde_json::to_string_pretty(&report).expect("findings have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn read(findings: &Findings) -> serde_json::Value {
        serde_json::from_str(&json(findings)).unwrap()
    }

    #[test]
    fn the_words_come_with_the_figures() {
        let value = read(&fixture::one_memory());
        assert!(value["sentences"][0].as_str().unwrap().contains("8192"));
        assert_eq!(value["plan"]["compare"], "page-size");
        let verdict = &value["groups"][0]["verdict"];
        assert_eq!(verdict["verdict"], "use");
        assert_eq!(verdict["level"]["page_size"], 8192);
        assert_eq!(verdict["fresh"], true);
    }

    #[test]
    fn all_that_is_said_is_among_the_sentences() {
        let text = json(&fixture::findings());
        for said in [
            "Racing made",
            "depends on memory",
            "much less stable",
            "instead of 32",
        ] {
            assert!(text.contains(said), "{said}");
        }
        assert!(!json(&fixture::full()).contains("Racing made"));
    }

    #[test]
    fn unknown_ends_are_null() {
        let value = read(&fixture::one_round());
        let ratio = &value["groups"][0]["cells"][0]["ratio"];
        assert!(ratio["estimate"].is_number());
        assert!(ratio["high"].is_null());
    }
}
