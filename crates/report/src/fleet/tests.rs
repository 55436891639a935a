use octavo_experiment::{
    caveats::Caveat,
    findings::Findings,
    part::PartKind,
    plan::Level,
    statistics::{Decision, Interval},
    verdict::Verdict,
};
use octavo_units::PageSize;

use crate::{
    findings::document,
    fixture::{self, hosts, words},
    sentence,
};

const HOSTS: [&str; 4] = ["h1", "h2", "h3", "h4"];

/// Four hosts of which two measured 64 KiB pages, and three 16 KiB pages; 8 KiB is open, and h3 is against it.
fn few_hosts() -> Findings {
    let mut findings = fixture::one_memory();
    let level = |kib| Level::PageSize(PageSize::kib(kib));
    let group = &mut findings.groups[0];
    for (cell, hosts) in group.cells.iter_mut().zip([4, 4, 4, 3, 2]) {
        (cell.left, cell.likely, cell.over_advised) = (None, None, None);
        if let Some(ratio) = &mut cell.ratio {
            ratio.batches = hosts;
        }
    }
    let open = &mut group.cells[2];
    open.decision = Some(Decision::Open);
    open.ratio = Some(Interval {
        estimate: 1.06,
        low: 0.9,
        high: 1.25,
        batches: 4,
    });
    let few = &mut group.cells[4];
    (few.ratio, few.throughput, few.decision) = (None, None, Some(Decision::Open));
    group.verdict = Verdict::Inconclusive {
        open: vec![level(8), level(64)],
        leader: None,
        more_s: None,
    };
    let mut class = hosts::class(&findings, "8 x Xeon", &HOSTS);
    class.groups[0].cells[2].against = vec!["h3".into()];
    let cells = &mut class.groups[0].cells;
    for of in &mut cells[4].by_host[..2] {
        (of.ratio, of.throughput) = (Some(0.9), Some(9000.0));
    }
    findings.caveats.clear();
    findings.fleet = Some(hosts::fleet(vec![class]));
    findings
}

/// A row of a report in a wide terminal, below this caption.
fn row(findings: &Findings, caption: &str, name: &str) -> String {
    let text = document(findings).verbose(200, false);
    let mut rows = text.lines().skip_while(|row| !row.contains(caption));
    let found = rows.find(|row| row.trim_start().starts_with(name));
    words(found.unwrap_or_else(|| panic!("no {name} below {caption}: {text}")))
}

#[test]
fn a_level_on_two_hosts_was_measured_and_is_not_decided() {
    let findings = few_hosts();
    let said = sentence::answers(&findings)[0].text();
    assert!(
        said.ends_with(" Measured on 2 hosts, not decided: 64 KiB."),
        "{said}"
    );
    let text = words(&document(&findings).verbose(200, false));
    assert!(!text.to_lowercase().contains("not measured"), "{text}");
    let of = row(&findings, "Throughput", "64 KiB");
    assert!(of.contains(" 2 "), "{of}");
    assert!(of.contains("measured on 2 hosts, not decided"), "{of}");
    let html = document(&findings).html();
    assert!(html.contains("measured on 2 hosts, not decided</text>"));
    // Without any other level there is no answer, for that reason.
    let mut alone = findings;
    for place in [0, 2, 3] {
        let cell = &mut alone.groups[0].cells[place];
        (cell.ratio, cell.throughput, cell.decision) = (None, None, None);
        let class = &mut alone.fleet.as_mut().unwrap().classes[0];
        for of in &mut class.groups[0].cells[place].by_host {
            (of.ratio, of.throughput) = (None, None);
        }
    }
    assert_eq!(
        sentence::answers(&alone)[0].text(),
        "NO ANSWER: measured on 2 hosts, not decided: 64 KiB. Not measured: 2 KiB, 8 KiB and 16 KiB."
    );
}

#[test]
fn intervals_are_over_as_many_hosts_as_levels_have() {
    let mut findings = few_hosts();
    let said = |findings: &Findings| words(&document(findings).verbose(200, false));
    let text = said(&findings);
    assert!(
        text.contains("Student's t over 3 to 4 hosts: they say"),
        "{text}"
    );
    assert!(
        text.contains("each of 3 to 4 hosts is one figure"),
        "{text}"
    );
    let class = &mut findings.fleet.as_mut().unwrap().classes[0];
    class.groups[0].cells[3].ratio.as_mut().unwrap().batches = 4;
    let text = said(&findings);
    assert!(
        text.contains("Student's t over 4 hosts: they say"),
        "{text}"
    );
}

#[test]
fn who_says_the_opposite_is_named_where_it_is_open_too() {
    let findings = few_hosts();
    let of = |name| row(&findings, "Ratios over hosts", name);
    assert!(of("8 KiB").ends_with(" h3"), "{}", of("8 KiB"));
    assert!(of("16 KiB").ends_with(" none"), "{}", of("16 KiB"));
    assert!(of("64 KiB").ends_with(" –"), "{}", of("64 KiB"));
}

#[test]
fn a_host_that_alone_keeps_a_level_open_is_on_the_first_screen() {
    let mut findings = few_hosts();
    let first = |findings: &Findings| words(&document(findings).terminal(80, false));
    assert!(!first(&findings).contains("because of one host"));
    let class = &mut findings.fleet.as_mut().unwrap().classes[0];
    let cell = &mut class.groups[0].cells[2];
    (cell.odd, cell.more_hosts) = (Some("h3".into()), Some(95));
    cell.by_host[2].ratio = Some(0.58);
    let text = first(&findings);
    assert!(
        text.contains(
            "8 KiB is open because of one host: h3 (0.580) is far from all others, and the other 3 would decide it. \
             Find out what differs there, or measure more hosts, which may be of two kinds."
        ),
        "{text}"
    );
    assert!(!text.contains("about 99 hosts"), "{text}");
}

#[test]
fn a_small_class_that_says_the_opposite_is_a_warning() {
    let mut findings = fixture::one_memory();
    let hosts = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        Caveat::SmallClassAgainst { hosts }
    };
    let one = warning(&mut findings, hosts(&["n7"]));
    assert_eq!(
        one,
        "1 host of another class has another answer: n7. Classes so small say nothing of other hosts. All \
         answers: octavo report --verbose."
    );
    let two = warning(&mut findings, hosts(&["n7", "n8"]));
    assert!(
        two.starts_with(
            "2 hosts of other classes have another answer: n7 and n8. Classes so small"
        ),
        "{two}"
    );
}

#[test]
fn throughputs_over_hosts_are_said_to_be_of_hosts() {
    let over = few_hosts();
    let mut alone = few_hosts();
    alone.fleet = None;
    for (findings, is_over) in [(over, true), (alone, false)] {
        let html = document(&findings).html();
        for (said, of_hosts) in [
            ("geometric mean of hosts", true),
            ("mean over hosts (Student&#39;s t)", true),
            ("geometric mean of batches", false),
            ("over the minutes of all", false),
        ] {
            let said = [said.to_owned(), said.replace("&#39;", "'")];
            let has = said.iter().any(|said| words(&html).contains(said));
            assert_eq!(has, is_over == of_hosts, "{said:?}");
        }
    }
}

/// What is said of a caveat in findings of a fleet.
fn warning(findings: &mut Findings, caveat: Caveat) -> String {
    findings.caveats = vec![caveat];
    sentence::caveats(findings).next().unwrap().1
}

#[test]
fn hosts_that_changed_count_once() {
    let mut findings = few_hosts();
    let mut said = |hosts, others, changed| {
        let caveat = Caveat::OtherClasses {
            hosts,
            others,
            changed,
        };
        warning(&mut findings, caveat)
    };
    assert_eq!(
        said(2, 0, 2),
        "This is the answer of 2 hosts. The same hosts also have sittings of other classes. See octavo report \
         DIR --verbose for the other answers."
    );
    assert!(said(5, 3, 0).contains(" 5 hosts. 3 hosts are of other classes. See"));
    assert!(
        said(5, 1, 2).contains(
            "2 of these also have sittings of other classes. 1 host is of other classes."
        )
    );
}

#[test]
fn classes_that_are_left_out_of_a_comparison_are_counted() {
    let mut findings = few_hosts();
    let mut said = |classes, of| warning(&mut findings, Caveat::ClassesDiffer { classes, of });
    assert!(said(2, 3).starts_with("The 2 classes with enough hosts (of 3) do not have"));
    assert!(said(2, 2).starts_with("The 2 classes of hosts do not have"));
}

#[test]
fn missing_parts_have_their_numbers_and_nothing_that_counts_is_said() {
    let mut findings = few_hosts();
    let mut said = |kind, missing: &[u32], of| {
        let fleet = findings.fleet.as_mut().unwrap();
        fleet.missing = missing.to_vec();
        let caveat = Caveat::PartsMissing {
            kind,
            missing: missing.len(),
            of,
            on: Vec::new(),
        };
        warning(&mut findings, caveat)
    };
    let one = said(PartKind::Sitting, &[3], 12);
    assert!(
        one.starts_with("Missing: sitting 3 (1 of 12). Slow hosts fail more often"),
        "{one}"
    );
    let shards = said(PartKind::Shard, &[3, 4, 5], 12);
    assert!(
        shards.starts_with(
            "Missing: shards 4 to 6 (array indices 3 to 5, which count from 0) (3 of 12)."
        ),
        "{shards}"
    );
    let all = said(PartKind::Sitting, &[0, 1], 2);
    assert!(
        all.starts_with("Nothing counts yet. Missing: sittings 0, 1 (2 of 2). One that is done"),
        "{all}"
    );
    assert!(!all.contains("faster ones"), "{all}");
    let mut none = fixture::empty();
    let mut fleet = hosts::fleet(Vec::new());
    (fleet.counted, fleet.missing) = (0, vec![0, 1]);
    none.fleet = Some(fleet);
    assert_eq!(
        sentence::answers(&none)[0].text(),
        "NO ANSWER YET: no sitting counts yet."
    );
}

#[test]
fn hosts_with_few_passes_and_copies_are_named() {
    let mut findings = few_hosts();
    let names = |hosts: &[&str]| hosts.iter().map(|&name| name.to_owned()).collect();
    let short = Caveat::HostsShort {
        hosts: names(&["h2"]),
        of: 4,
        wanted: 8,
    };
    let said = warning(&mut findings, short);
    assert!(
        said.starts_with(
            "1 of 4 hosts has fewer than 8 passes and weighs as much as the others: h2."
        ),
        "{said}"
    );
    let hosts = names(&["h2", "h3"]);
    let said = warning(&mut findings, Caveat::SameFigures { hosts });
    assert!(
        said.starts_with("h2 and h3 have exactly the same ratios"),
        "{said}"
    );
}

#[test]
fn each_class_has_its_confidence_and_warnings() {
    let mut findings = few_hosts();
    let mut own = fixture::one_memory();
    own.caveats = vec![Caveat::FewHosts { hosts: 2 }];
    (own.sittings, own.passes) = (2, 57);
    let other = hosts::class(&own, "8 x EPYC", &["e1", "e2"]);
    own.fleet = Some(hosts::fleet(vec![other.clone()]));
    findings.other_classes.push(own);
    findings.fleet.as_mut().unwrap().classes.push(other);
    let text = words(&document(&findings).verbose(200, false));
    let (first, second) = text.split_once("8 x EPYC").unwrap();
    assert!(
        first.contains("Confidence low: an interval is not known yet, after"),
        "{first}"
    );
    assert!(
        second.contains("Confidence low: the first warning may change the answer."),
        "{second}"
    );
    assert!(
        second.contains("Measured on 2 hosts of this class"),
        "{second}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&crate::json::findings_json(&findings)).unwrap();
    for class in 0..2 {
        assert_eq!(json["class_confidence"][class]["trust"], "low");
    }
    // Of one class it is at the top.
    findings.fleet.as_mut().unwrap().classes.pop();
    let text = words(&document(&findings).verbose(200, false));
    assert!(!text.contains("Confidence low"), "{text}");
}

#[test]
fn passes_and_time_are_said_to_be_of_the_first_class_where_there_are_more() {
    let mut findings = few_hosts();
    let said = |findings: &Findings| words(&document(findings).verbose(200, false));
    assert!(!said(&findings).contains("on hosts of the first class"));
    let other = hosts::class(&findings, "8 x EPYC", &["e1"]);
    findings.fleet.as_mut().unwrap().classes.push(other);
    let text = said(&findings);
    assert_eq!(
        text.matches("on hosts of the first class").count(),
        2,
        "{text}"
    );
}

#[test]
fn the_few_hosts_on_the_other_side_of_an_open_level_are_named() {
    let mut findings = few_hosts();
    let first = |findings: &Findings| words(&document(findings).terminal(80, false));
    let cell = |findings: &mut Findings, against: &[&str]| {
        let class = &mut findings.fleet.as_mut().unwrap().classes[0];
        let cell = &mut class.groups[0].cells[2];
        cell.against = against.iter().map(|&host| host.to_owned()).collect();
        cell.by_host[2].ratio = Some(0.58);
    };
    cell(&mut findings, &["h3"]);
    let text = first(&findings);
    assert!(
        text.contains("8 KiB is open: of 4 hosts h3 (0.580) says the opposite of the others."),
        "{text}"
    );
    // Half of them are not few, and of several no one is the one.
    cell(&mut findings, &["h3", "h4"]);
    assert!(!first(&findings).contains("the opposite of the others"));
}

#[test]
fn figures_of_some_hosts_say_of_how_many() {
    let mut findings = few_hosts();
    let group = &mut findings.groups[0];
    let ratio = group.cells[3].ratio;
    group.cells[3].decision = Some(Decision::Better);
    group.verdict = Verdict::Use {
        level: Level::PageSize(PageSize::kib(16)),
        ratio: ratio.unwrap(),
        ties: Vec::new(),
        open: Vec::new(),
    };
    group.cells[2].over_advised = ratio.map(|of| Interval { batches: 2, ..of });
    let said = sentence::answers(&findings)[0].text();
    assert!(said.contains(" on 3 of 4 hosts)."), "{said}");
    let of = row(&findings, "Throughput", "8 KiB");
    assert!(of.contains(" on 2 of 4 hosts"), "{of}");
}
