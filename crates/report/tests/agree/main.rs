//! No output contradicts itself: stores of many kinds are made on simulated machines, each
//! is rendered as text, page and JSON, and whatever stands twice is set against the other.

mod claims;
mod numbers;
mod stores;

use octavo_experiment::{
    compare::compare,
    confidence::{ConfidenceLevel, ConfidenceLimit, confidence},
    findings::Findings,
};

use stores::Made;

/// Panics with what contradicts what, of all stores together.
fn check(claims: impl Fn(&Made) -> Vec<String>) {
    let faults: Vec<String> = stores::all()
        .iter()
        .flat_map(|made| {
            let name = made.name;
            let faults = claims(made);
            faults
                .into_iter()
                .map(move |fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn text(findings: &Findings) -> String {
    octavo_report::findings(findings).verbose(200, false)
}

fn short(findings: &Findings) -> String {
    octavo_report::findings(findings).terminal(200, false)
}

#[test]
fn tables_and_sentences_say_the_same() {
    check(|made| claims::of_text(&made.findings, &text(&made.findings)));
}

#[test]
fn the_short_text_is_the_beginning_of_the_long_one() {
    check(|made| {
        let (short, long) = (short(&made.findings), text(&made.findings));
        match long.starts_with(short.trim_end()) {
            true => Vec::new(),
            false => vec![format!("the long text does not begin with:\n{short}")],
        }
    });
}

#[test]
fn estimates_lie_within_their_intervals() {
    check(|made| {
        let page = claims::words(&octavo_report::findings(&made.findings).html());
        let texts = [text(&made.findings), page];
        texts
            .iter()
            .flat_map(|text| claims::intervals(text))
            .collect()
    });
}

#[test]
fn pages_and_text_say_the_same_sentences() {
    check(|made| {
        let page = claims::words(&octavo_report::findings(&made.findings).html());
        claims::on_both(&text(&made.findings), &page)
    });
}

#[test]
fn json_says_what_the_text_says() {
    check(|made| {
        let json = octavo_report::findings_json(&made.findings);
        let json = serde_json::from_str(&json).expect("JSON");
        claims::of_json(&json)
    });
}

#[test]
fn two_stores_beside_each_other_have_the_ratio_of_their_columns() {
    let all = stores::all();
    let mut faults = Vec::new();
    for one in &all {
        for other in &all {
            let compared = compare(&one.findings, &other.findings);
            let stores = [("one", &one.findings), ("other", &other.findings)];
            let text = octavo_report::compare(&compared, stores).verbose(200, false);
            let found = claims::of_comparison(&text);
            faults.extend(
                found
                    .into_iter()
                    .chain(claims::intervals(&text))
                    .map(|fault| format!("{} and {}: {fault}", one.name, other.name)),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The store of this name.
fn made(name: &str) -> Made {
    let mut all = stores::all().into_iter();
    all.find(|made| made.name == name).expect("such a store")
}

#[test]
fn one_sitting_against_the_others_is_why_confidence_is_not_high() {
    let made = made("a sitting against the others");
    let said = confidence(&made.findings).expect("a level");
    assert_eq!(said.trust, ConfidenceLevel::Medium);
    let [doubt] = said.doubts.as_slice() else {
        panic!("{said:?}")
    };
    assert!(
        matches!(doubt, ConfidenceLimit::Sitting { sitting: 4, .. }),
        "{doubt:?}"
    );
    let said = claims::words(&text(&made.findings));
    assert!(
        said.contains("faster than what is advised in sitting 4 of 4"),
        "{said}"
    );
}

#[test]
fn what_is_not_timed_is_no_zero() {
    let untimed = made("a server that times nothing");
    let said = text(&untimed.findings);
    let page = claims::words(&octavo_report::findings(&untimed.findings).html());
    for said in [claims::words(&said), page] {
        let (_, table) = said
            .split_once("what is not timed, or too short to be (–), is in other")
            .expect(&said);
        let row: Vec<&str> = table.split_whitespace().take(40).collect();
        assert!(row.windows(4).any(|cells| cells == ["–"; 4]), "{row:?}");
    }
    let page = octavo_report::findings(&untimed.findings).html();
    assert!(
        page.contains("Not timed, or too short to be, in at least one bar"),
        "{page}"
    );
    let json = octavo_report::findings_json(&untimed.findings);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let time = &json["groups"][0]["cells"][0]["time"];
    for part in ["read_us", "log_write_us", "log_sync_us", "checkpoint_us"] {
        assert!(time[part].is_null(), "{time}");
    }
    assert!(time["cpu_us"].is_number(), "{time}");
}

#[test]
fn figures_of_all_passes_say_so() {
    check(|made| {
        let out = made.findings.screened.all();
        let groups = made.findings.groups.iter();
        let mut cells = groups.flat_map(|group| &group.cells);
        let has_more =
            cells.any(|cell| cell.throughput.is_some() && cell.passes > cell.passes_counted);
        let said = claims::words(&text(&made.findings));
        let page = claims::words(&octavo_report::findings(&made.findings).html());
        let is_said = |said: &str, figures: &str| {
            said.contains(&format!(
                "{figures} are of all passes that a cell took part in, with those that throughput \
                 and times leave out."
            ))
        };
        let mut faults = Vec::new();
        for (name, said) in [("text", said), ("page", page)] {
            for figures in ["Latencies", "Figures per transaction", "These figures"] {
                if is_said(&said, figures) != has_more {
                    faults.push(format!("{name}: {figures}, and {out} passes are left out"));
                }
            }
        }
        faults
    });
}
