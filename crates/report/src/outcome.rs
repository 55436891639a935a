//! What came out of a condition on ratios, for exit codes, people and CI systems.

use octavo_experiment::{condition::Condition, statistics::Interval};

use crate::{
    markup::{Markup, tag},
    number::change_interval,
};

/// What came out of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds, in a sentence.
    Yes(String),
    /// It does not.
    No,
    /// Nobody knows, and why, in a sentence.
    Open(String),
}

/// A ratio of throughputs that a condition is about.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is compared with what.
    pub name: String,
    /// The ratio, where there is one.
    pub ratio: Option<Interval>,
    /// What came out.
    pub outcome: Outcome,
}

/// Cases as a test suite in the XML that JUnit's Ant task wrote and CI systems read
/// (<https://github.com/testmoapp/junitxml>). What is not decided is a skipped test: systems show
/// its reason, and it fails nothing by itself.
pub fn junit(condition: &Condition, created: &str, cases: &[Case]) -> String {
    let count =
        |wanted: fn(&Outcome) -> bool| cases.iter().filter(|case| wanted(&case.outcome)).count();
    let suite = tag("testsuite")
        .attr("name", format!("{SUITE}: not {condition}"))
        .attr("tests", cases.len())
        .attr("failures", count(|of| matches!(of, Outcome::Yes(_))))
        .attr("errors", 0)
        .attr("skipped", count(|of| matches!(of, Outcome::Open(_))))
        .attr("timestamp", created)
        .around(cases.iter().map(element));
    let all = tag("testsuites").attr("name", SUITE).around([suite]);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
        all.as_str()
    )
}

/// The name of all suites.
pub const SUITE: &str = "octavo";

fn element(case: &Case) -> Markup {
    let message = |name, said: &str| {
        let text = tag(name).attr("message", said);
        text.around([Markup::text(said)])
    };
    let outcome = match &case.outcome {
        Outcome::Yes(said) => Some(message("failure", said)),
        Outcome::No => None,
        Outcome::Open(said) => Some(message("skipped", said)),
    };
    let ratio = case.ratio.map(|ratio| {
        let text = change_interval(&ratio).replace('\u{a0}', " ");
        tag("system-out").around([Markup::text(text)])
    });
    tag("testcase")
        .attr("classname", SUITE)
        .attr("name", &case.name)
        .around(outcome.into_iter().chain(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_one_of_a_test() {
        let ratio = Interval {
            estimate: 0.9,
            low: 0.88,
            high: 0.92,
            batches: 20,
        };
        let case = |name: &str, outcome| Case {
            name: name.into(),
            ratio: Some(ratio),
            outcome,
        };
        let cases = [
            case("4 KiB", Outcome::No),
            case("\"8\" <KiB> & \u{1b}", Outcome::Yes("slower".into())),
            case("16 KiB", Outcome::Open("too few".into())),
        ];
        let condition: Condition = "slower > 5%".parse().unwrap();
        let xml = junit(&condition, "2026-11-29T12:00:00Z", &cases);
        for wanted in [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"octavo\">",
            "<testsuite name=\"octavo: not slower &gt; 5%\" tests=\"3\" failures=\"1\" errors=\"0\" \
             skipped=\"1\" timestamp=\"2026-11-29T12:00:00Z\">",
            "<testcase classname=\"octavo\" name=\"4 KiB\"><system-out>95% CI -12% to -8%</system-out></testcase>",
            "name=\"&quot;8&quot; &lt;KiB&gt; &amp; \u{fffd}\"><failure message=\"slower\">slower</failure>",
            "<skipped message=\"too few\">too few</skipped>",
        ] {
            assert!(xml.contains(wanted), "{wanted}: {xml}");
        }
    }
}
