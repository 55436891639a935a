//! No output contradicts itself: stores of many kinds are made on simulated machines, each
//! is rendered as text, page and JSON, and whatever stands twice is set against the other.

mod claims;
mod numbers;
mod stores;

use octavo_experiment::{compare::compare, findings::Findings};

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
            let text = octavo_report::compare(&compared, "one", "other").verbose(200, false);
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
