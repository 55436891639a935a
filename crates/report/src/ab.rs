//! Two versions beside each other, and one beside itself: what this machine does by chance.

use octavo_experiment::{
    campaign::RatioElsewhere,
    caveats::Severity,
    condition::{Condition, Holds},
    findings::{CellFindings, Findings},
    forecast::Forecast,
    plan::Factor,
    statistics::{Decision, Interval},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    document::{Block, Depth, Document, Section, Table},
    forecast, naming,
    number::{change, change_interval, list, number, percent, ratio_interval, share_of_change},
    outcome::{Case, Outcome},
    sentence::{caveats, confidence, decision},
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
    /// B beside A on other disks, predicted.
    pub elsewhere: &'a [RatioElsewhere],
    /// What a script does not want of B, if it said so.
    pub condition: Option<Condition>,
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

    /// What came out of the condition; `None` without one.
    pub fn outcome(&self) -> Option<Outcome> {
        let condition = self.condition?;
        let undecided = |why: String| {
            let said = format!("whether B is {condition} than A is not decided: {why}");
            Some(Outcome::Open(said))
        };
        let Some(ratio) = self.ratio() else {
            return undecided("there are too few passes with figures of both".into());
        };
        let interval = change_interval(&ratio);
        // As far as A is from itself, B may be from what it is.
        let noise = self.noise_ratio().filter(|_| self.differs_from_itself());
        if let Some(noise) = noise {
            let off = noise.high.max(1.0 / noise.low);
            let wider = Interval {
                low: ratio.low / off,
                high: ratio.high * off,
                ..ratio
            };
            if condition.holds(&wider) == Holds::Open {
                return undecided("A differs from itself here".into());
            }
        }
        match condition.holds(&ratio) {
            Holds::Yes => Some(Outcome::Yes(format!(
                "B is {condition} than A ({interval})"
            ))),
            Holds::No => Some(Outcome::No),
            Holds::Open => undecided(format!("{interval}; a larger --budget tells more")),
        }
    }

    /// The same for CI systems; empty without a condition.
    pub fn cases(&self) -> Vec<Case> {
        let [a, b] = &self.names;
        let case = self.outcome().map(|outcome| Case {
            name: format!("{b} beside {a}"),
            ratio: self.ratio(),
            outcome,
        });
        case.into_iter().collect()
    }

    fn differs_from_itself(&self) -> bool {
        matches!(
            self.noise_decision(),
            Some(Decision::Better | Decision::Worse)
        )
    }
}

/// What both comparisons would take.
#[derive(Serialize, JsonSchema)]
pub struct Forecasts {
    /// A beside itself.
    pub a_a: Forecast,
    /// B beside A, with the budget that is left if the first needs all of its own.
    pub a_b: Forecast,
}

impl Forecasts {
    /// The same for people.
    pub fn document(&self) -> Document {
        let parts = [("A beside itself", &self.a_a), ("B beside A", &self.a_b)];
        let sections = parts.map(|(heading, of)| forecast::sections(of, heading));
        Document::new("Dry run", sections.into_iter().flatten())
    }
}

/// What is compared with the reference.
fn other(findings: &Findings) -> Option<&CellFindings> {
    naming::cells(findings).find(|cell| !cell.reference)
}

/// The comparison for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Compared<'a> {
    a: &'a str,
    b: &'a str,
    /// What is found, as in text.
    answer: String,
    warnings: Vec<String>,
    /// B over A.
    ratio: Option<Interval>,
    decision: Option<Decision>,
    /// A over itself.
    a_a_ratio: Option<Interval>,
    a_a_decision: Option<Decision>,
    /// What a script asked for, and what came out: "yes", "no" or "open".
    condition: Option<String>,
    outcome: Option<&'static str>,
    margin: f64,
    /// B over A on other disks, predicted; empty where models do not know what they differ in.
    elsewhere: &'a [RatioElsewhere],
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
    let (what, why) = answer(versions);
    crate::json(Compared {
        a,
        b,
        answer: format!("{what}: {why}"),
        warnings: warnings(versions),
        ratio: versions.ratio(),
        decision: versions.decision(),
        a_a_ratio: versions.noise_ratio(),
        a_a_decision: versions.noise_decision(),
        condition: versions.condition.map(|condition| condition.to_string()),
        outcome: versions.outcome().map(|outcome| match outcome {
            Outcome::Yes(_) => "yes",
            Outcome::No => "no",
            Outcome::Open(_) => "open",
        }),
        margin: versions.findings.plan.margin,
        elsewhere: versions.elsewhere,
        findings: versions.findings,
        a_a: versions.noise,
    })
}

/// The answer, a table, and then what there is on B beside A.
pub fn document(versions: &Versions<'_>) -> Document {
    let mut section = Section::new("answer", "Answer");
    let (what, why) = answer(versions);
    section.push(Block::Decision { what, why });
    section.extend(
        confidence(versions.findings)
            .into_iter()
            .map(|of| Block::Decision {
                what: of.what,
                why: of.why,
            }),
    );
    if let (Some(outcome), Some(condition)) = (versions.outcome(), versions.condition) {
        section.paragraph(match outcome {
            Outcome::Yes(said) => format!("{}: exit code 3.", naming::capital(&said)),
            Outcome::No => format!("B is not {condition} than A: exit code 0."),
            Outcome::Open(said) => format!("{}: exit code 4.", naming::capital(&said)),
        });
    }
    section.push(Block::Warnings(warnings(versions)));
    section.push(Block::Table(table(versions)));
    section.extend(of_both(versions.findings).map(Block::Paragraph));
    if !versions.elsewhere.is_empty() {
        let [a, b] = &versions.names;
        section.paragraph(format!(
            "Predicted, not measured: {b} beside {a} on other disks, 95% CI (octavo devices)."
        ));
        let lines = versions.elsewhere.iter();
        section.values(lines.map(|one| (one.device.as_str(), there(one, versions))));
    }
    // The time of both.
    let all = Findings {
        spent_s: versions.findings.spent_s + versions.noise.spent_s,
        ..versions.findings.clone()
    };
    let whole = crate::findings(&all);
    let rest = whole.sections.into_iter();
    // What to try next is chosen already.
    let rest = rest
        .filter(|section| section.depth != Depth::First)
        .map(|section| {
            let blocks = section.blocks.into_iter();
            let blocks = blocks.filter(|block| !matches!(block.bare(), Block::List(_)));
            Section {
                blocks: blocks.collect(),
                ..section
            }
        });
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
            "there are too few passes with figures of both.".into(),
        );
    };
    let interval = change_interval(&ratio);
    let of_a = |word: &str| {
        let change = match versions.findings.plan.pace() {
            Some(_) => format!(
                "{word} by {}",
                share_of_change((ratio.estimate - 1.0).abs())
            ),
            None => format!(
                "{} {}",
                change(ratio.estimate),
                naming::rate(versions.findings)
            ),
        };
        format!("{change} than {a} ({interval}).")
    };
    match versions.decision() {
        Some(Decision::Better) => (format!("{b} IS FASTER"), of_a("faster")),
        Some(Decision::Worse) => (format!("{b} IS SLOWER"), of_a("slower")),
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

/// What B is on another disk.
fn there(one: &RatioElsewhere, versions: &Versions<'_>) -> String {
    let interval = change_interval(&one.ratio);
    let size = share_of_change((one.ratio.estimate - 1.0).abs());
    let margin = percent(versions.findings.plan.margin);
    match one.decision {
        Decision::Better => format!("{size} faster ({interval})"),
        Decision::Worse => format!("{size} slower ({interval})"),
        Decision::Equivalent => format!("no difference above {margin} ({interval})"),
        Decision::Open => format!("not decided ({interval})"),
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
    let open = versions
        .noise_ratio()
        .filter(|_| versions.noise_decision() == Some(Decision::Open))
        .map(|ratio| {
            format!(
                "{a} beside itself is not decided ({}), so this machine may scatter by that.",
                change_interval(&ratio)
            )
        });
    let worst = |findings| caveats(findings).filter(|(severity, _)| *severity >= Severity::Choice);
    let of_both: Vec<String> = worst(versions.findings).map(|(_, text)| text).collect();
    let of_noise = worst(versions.noise).map(|(_, text)| text);
    let of_noise = of_noise.filter(|text| !of_both.contains(text));
    let of_noise: Vec<String> = of_noise
        .map(|text| format!("Beside itself: {text}"))
        .collect();
    itself
        .into_iter()
        .chain(open)
        .chain(of_both)
        .chain(of_noise)
        .collect()
}

/// What both have, besides what is compared.
fn of_both(findings: &Findings) -> Option<String> {
    let plan = &findings.plan;
    let cell = &naming::cells(findings).next()?.cell;
    let factors = [Factor::PageSize, Factor::Memory, Factor::Clients];
    let same = factors.into_iter().filter(|factor| *factor != plan.compare);
    let mut parts: Vec<String> = same.map(|factor| cell.level(factor).with_noun()).collect();
    let is_compared = |name: &str| {
        let values = plan.databases.iter().map(|of| of.option(name));
        values.collect::<std::collections::BTreeSet<_>>().len() > 1
    };
    let options = cell.database.options.iter();
    let options = options.filter(|(name, _)| !is_compared(name));
    parts.extend(options.map(|(name, value)| format!("{name} {value}")));
    Some(format!("Both have {}.", list(&parts, "and")))
}

fn table(versions: &Versions<'_>) -> Table {
    let [a, b] = &versions.names;
    let of_a = naming::cells(versions.findings).find(|cell| cell.reference);
    let rows = [
        (a.clone(), of_a, true),
        // It is of another time than the two, so that its throughput does not belong beside theirs.
        (format!("{a}, beside itself"), other(versions.noise), false),
        (b.clone(), other(versions.findings), true),
    ];
    let shown = naming::shown(versions.findings);
    Table::with_rows(shown.caption(), &rows)
        .label("version", |(name, ..)| name.clone())
        .figure(shown.in_short.clone(), |(_, cell, is_beside)| {
            let value = cell.filter(|_| *is_beside).and_then(|cell| shown.of(cell));
            value.map_or_else(String::new, |of| number(of.estimate))
        })
        .words("ratio (95% CI)", |(_, cell, _)| {
            let ratio = cell.and_then(|cell| cell.ratio);
            ratio.map_or_else(String::new, |ratio| ratio_interval(&ratio))
        })
        .words("is", |(_, cell, _)| {
            match cell.and_then(|cell| cell.decision.zip(cell.ratio)) {
                Some((said, ratio)) => decision(said, ratio),
                None => "".into(),
            }
        })
        .build()
}

#[cfg(test)]
mod tests {
    use octavo_experiment::record::Source;

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
        let there = |device: &str, ratio: f64, decision| RatioElsewhere {
            source: Source::Predicted,
            device: device.into(),
            ratio: Interval {
                estimate: ratio,
                low: ratio / 1.1,
                high: ratio * 1.1,
                batches: 20,
            },
            decision,
        };
        let elsewhere = [
            there("nvme-tlc", 0.8, Decision::Worse),
            there("gp3-3000", 1.0, Decision::Open),
        ];
        let versions = Versions {
            names: ["size=1", "size=2"].map(str::to_owned),
            noise: &noise,
            findings: &findings,
            elsewhere: &elsewhere,
            condition: Some("slower > 5%".parse().unwrap()),
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
            text.contains(
                "size=2 IS SLOWER: 10% fewer new orders per minute than size=1 (95% CI -12% to -8.2%)."
            ),
            "{text}"
        );
        assert!(
            text.contains("B is slower > 5% than A (95% CI -12% to -8.2%): exit code 3."),
            "{text}"
        );
        assert!(text.contains("size=1, beside itself"), "{text}");
        assert_eq!(
            (&json["condition"], &json["outcome"]),
            (&"slower > 5%".into(), &"yes".into())
        );
        assert!(!text.contains("beside itself differs"), "{text}");
        assert_eq!(
            (&json["decision"], &json["a"]),
            (&"worse".into(), &"size=1".into())
        );
        assert_eq!(json["a_a_ratio"]["estimate"], 1.001);
        for said in [
            "Predicted, not measured: size=2 beside size=1 on other disks",
            "nvme-tlc 20% slower (95% CI -27% to -12%)",
            "gp3-3000 not decided (95% CI -9.1% to 10%)",
        ] {
            assert!(fixture::words(&text).contains(said), "{said}: {text}");
        }
        assert_eq!(json["elsewhere"][0]["source"], "predicted");
        assert!(
            json["answer"]
                .as_str()
                .unwrap()
                .starts_with("size=2 IS SLOWER: 10% fewer")
        );
        let (text, _) = told((1.2, Decision::Better), same);
        assert!(
            text.contains("size=2 IS FASTER: 20% more new orders"),
            "{text}"
        );
        assert!(
            text.contains("B is not slower > 5% than A: exit code 0."),
            "{text}"
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
        // 0.75 would be slower by more than 5% even then.
        let (far, _) = told((0.75, Decision::Worse), (0.94, Decision::Worse));
        assert!(far.contains("exit code 3."), "{far}");
        assert!(
            text.contains("! size=1 beside itself differs, too (95% CI -7.8%"),
            "{text}"
        );
    }
}
