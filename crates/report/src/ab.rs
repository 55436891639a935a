//! Two versions beside each other, and one beside itself: what this machine does by chance.

use octavo_experiment::{
    caveats::Severity,
    findings::{CellFindings, Findings},
    statistics::{Decision, Interval},
};
use serde::Serialize;

use crate::{
    document::{Block, Depth, Document, Section, Table},
    naming,
    number::{change_interval, number, percent, ratio_interval, share_of_change},
    sentence::{caveats, decision},
};

/// What was found of two versions.
#[derive(Clone, Debug)]
pub struct Versions<'a> {
    /// What A and B are, such as `journal-mode=wal`.
    pub names: [String; 2],
    /// A beside itself.
    pub noise: &'a Findings,
    /// B beside A.
    pub findings: &'a Findings,
}

impl Versions<'_> {
    /// Throughput of B over that of A, at a recording's pace its speed; `None` where one has no
    /// figures.
    pub fn ratio(&self) -> Option<Interval> {
        other(self.findings)?.ratio
    }

    /// The same of A over itself.
    pub fn noise_ratio(&self) -> Option<Interval> {
        other(self.noise)?.ratio
    }

    /// What is decided of B.
    pub fn decision(&self) -> Option<Decision> {
        other(self.findings)?.decision
    }

    /// What is decided of A beside itself: a difference is none of A's.
    pub fn noise_decision(&self) -> Option<Decision> {
        other(self.noise)?.decision
    }

    fn differs_from_itself(&self) -> bool {
        matches!(
            self.noise_decision(),
            Some(Decision::Better | Decision::Worse)
        )
    }
}

/// What is compared with the reference.
fn other(findings: &Findings) -> Option<&CellFindings> {
    naming::cells(findings).find(|cell| !cell.reference)
}

/// The comparison for programs.
#[derive(Serialize)]
struct Compared<'a> {
    a: &'a str,
    b: &'a str,
    /// B over A.
    ratio: Option<Interval>,
    decision: Option<Decision>,
    /// A over itself.
    a_a_ratio: Option<Interval>,
    a_a_decision: Option<Decision>,
    margin: f64,
    /// All that was found of both.
    findings: &'a Findings,
    /// … and of A beside itself.
    a_a: &'a Findings,
}

/// As JSON.
///
/// # Panics
/// As [`json`](crate::json).
pub fn json(versions: &Versions<'_>) -> String {
    let [a, b] = &versions.names;
    crate::json(Compared {
        a,
        b,
        ratio: versions.ratio(),
        decision: versions.decision(),
        a_a_ratio: versions.noise_ratio(),
        a_a_decision: versions.noise_decision(),
        margin: versions.findings.plan.margin,
        findings: versions.findings,
        a_a: versions.noise,
    })
}

/// The answer, a table, and then what there is on B beside A.
pub fn document(versions: &Versions<'_>) -> Document {
    let mut section = Section::new("answer", "Answer");
    let (what, why) = answer(versions);
    section.push(Block::Decision { what, why });
    section.push(Block::Warnings(warnings(versions)));
    section.push(Block::Table(table(versions)));
    let whole = crate::findings(versions.findings);
    let rest = whole.sections.into_iter();
    let rest = rest.filter(|section| section.depth != Depth::First);
    let [a, b] = &versions.names;
    Document {
        origin: whole.origin,
        ..Document::new(format!("{a} and {b}"), std::iter::once(section).chain(rest))
    }
}

fn answer(versions: &Versions<'_>) -> (String, String) {
    let [a, b] = &versions.names;
    let margin = percent(versions.findings.plan.margin);
    let Some(ratio) = versions.ratio() else {
        return (
            "NOTHING CAN BE COMPARED".into(),
            "one of the two has no figures.".into(),
        );
    };
    let by = share_of_change((ratio.estimate - 1.0).abs());
    let interval = change_interval(&ratio);
    match versions.decision() {
        Some(Decision::Better) => (
            format!("{b} IS FASTER"),
            format!("by {by} than {a} ({interval})."),
        ),
        Some(Decision::Worse) => (
            format!("{b} IS SLOWER"),
            format!("by {by} than {a} ({interval})."),
        ),
        Some(Decision::Equivalent) => (
            "NO DIFFERENCE".into(),
            format!("{b} is within {margin} of {a} ({interval})."),
        ),
        Some(Decision::Open) | None => (
            "NOT DECIDED".into(),
            format!("{b} beside {a}: {interval}. A larger --budget tells more."),
        ),
    }
}

fn warnings(versions: &Versions<'_>) -> Vec<String> {
    let [a, _] = &versions.names;
    let itself = versions
        .noise_ratio()
        .filter(|_| versions.differs_from_itself())
        .map(|ratio| {
            format!(
                "{a} beside itself differs, too ({}): what is said of the other may be this machine's.",
                change_interval(&ratio)
            )
        });
    let worst = caveats(versions.findings).filter(|(severity, _)| *severity >= Severity::Choice);
    itself
        .into_iter()
        .chain(worst.map(|(_, text)| text))
        .collect()
}

fn table(versions: &Versions<'_>) -> Table {
    let [a, b] = &versions.names;
    let of_a = naming::cells(versions.findings).find(|cell| cell.reference);
    let rows = [
        (a.clone(), of_a),
        (format!("{a}, again"), other(versions.noise)),
        (b.clone(), other(versions.findings)),
    ];
    let shown = naming::shown(versions.findings);
    Table::with_rows(shown.caption(), &rows)
        .label("version", |(name, _)| name.clone())
        .figure(shown.in_short.clone(), |(_, cell)| {
            let value = cell.and_then(|cell| shown.of(cell));
            value.map_or_else(String::new, |of| number(of.estimate))
        })
        .words("ratio (95% CI)", |(_, cell)| {
            let ratio = cell.and_then(|cell| cell.ratio);
            ratio.map_or_else(String::new, |ratio| ratio_interval(&ratio))
        })
        .words("is", |(_, cell)| {
            match cell.and_then(|cell| cell.decision.zip(cell.ratio)) {
                Some((said, ratio)) => decision(said, ratio),
                None => "".into(),
            }
        })
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Two versions of which B has this ratio and decision, and A beside itself that.
    fn told(b: (f64, Decision), a: (f64, Decision)) -> (String, serde_json::Value) {
        let of = |(ratio, decision): (f64, Decision)| {
            let mut findings = fixture::one_memory();
            let cells = findings.groups[0].cells.iter_mut();
            let mut others = cells.filter(|cell| !cell.reference);
            let cell = others.next().unwrap();
            cell.ratio = Some(Interval {
                estimate: ratio,
                low: ratio / 1.02,
                high: ratio * 1.02,
                batches: 20,
            });
            cell.decision = Some(decision);
            findings
        };
        let (findings, noise) = (of(b), of(a));
        let versions = Versions {
            names: ["size=1", "size=2"].map(str::to_owned),
            noise: &noise,
            findings: &findings,
        };
        let text = document(&versions).terminal(100, false);
        (
            text.replace('\u{a0}', " "),
            serde_json::from_str(&json(&versions)).unwrap(),
        )
    }

    #[test]
    fn what_is_decided_is_said_with_its_interval() {
        let same = (1.001, Decision::Equivalent);
        let (text, json) = told((0.9, Decision::Worse), same);
        assert!(
            text.contains("size=2 IS SLOWER: by 10% than size=1 (95% CI -12% to -8.2%)."),
            "{text}"
        );
        assert!(text.contains("size=1, again"), "{text}");
        assert!(!text.contains("beside itself differs"), "{text}");
        assert_eq!(
            (&json["decision"], &json["a"]),
            (&"worse".into(), &"size=1".into())
        );
        assert_eq!(json["a_a_ratio"]["estimate"], 1.001);
        assert!(
            told((1.2, Decision::Better), same)
                .0
                .contains("size=2 IS FASTER: by 20%")
        );
        assert!(
            told(same, same)
                .0
                .contains("NO DIFFERENCE: size=2 is within 3% of size=1")
        );
        let (text, _) = told((1.02, Decision::Open), same);
        assert!(
            text.contains("NOT DECIDED") && text.contains("larger --budget"),
            "{text}"
        );
    }

    #[test]
    fn a_version_that_differs_from_itself_is_a_warning() {
        let (text, _) = told((0.9, Decision::Worse), (0.94, Decision::Worse));
        assert!(
            text.contains("! size=1 beside itself differs, too (95% CI -7.8%"),
            "{text}"
        );
    }
}
