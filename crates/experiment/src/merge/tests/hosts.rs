//! What findings say of hosts and of their classes.

use super::*;
use crate::{
    caveats::{Caveat, Severity},
    confidence::{ConfidenceLevel, confidence},
    findings::Fleet,
};

/// What is found in these attempts, merged.
fn found_in(parts: &[MadeUp]) -> Findings {
    found_in_stores(parts, |_, store| store)
}

/// The same with stores that are changed before.
fn found_in_stores(parts: &[MadeUp], change: impl Fn(&MadeUp, PathBuf) -> PathBuf) -> Findings {
    let scratch = tempfile::tempdir().unwrap();
    let stores: Vec<PathBuf> = parts
        .iter()
        .map(|of| change(of, of.alone(scratch.path())))
        .collect();
    let merged = merge(&scratch.path().join("all"), &stores).unwrap();
    assert_eq!(reasons(&merged), [] as [&str; 0]);
    found(&merged.store)
}

fn on_hosts(hosts: u32) -> Vec<MadeUp> {
    let part = |number| MadeUp::new(number, &format!("h{number}"));
    (0..hosts).map(part).collect()
}

#[test]
fn time_is_that_of_attempts_that_count_of_one_class_and_of_several() {
    let mut parts = on_hosts(3);
    parts.push(MadeUp {
        passes: 3,
        outcome: Some(PartOutcome::Incomplete),
        ..parts[1].again(90)
    });
    // A pass took a second.
    assert_eq!(found_in(&parts).spent_s, 36.0);
    parts.push(MadeUp {
        cpu: "8 x EPYC",
        ..MadeUp::new(3, "e")
    });
    assert_eq!(found_in(&parts).spent_s, 36.0);
}

#[test]
fn a_host_that_changed_counts_once_and_a_lost_attempt_in_the_class_of_its_facts() {
    let mut parts: Vec<MadeUp> = (0..4)
        .map(|number| MadeUp {
            cpu: ["8 x Xeon", "8 x EPYC"][number as usize / 2],
            ..MadeUp::new(number, ["a", "b"][number as usize % 2])
        })
        .collect();
    parts.push(MadeUp {
        passes: 3,
        outcome: None,
        ..parts[0].again(90)
    });
    let findings = found_in(&parts);
    let fleet = findings.fleet.unwrap();
    assert_eq!((fleet.other_hosts, fleet.changed_hosts), (0, 2));
    let caveat = Caveat::OtherClasses {
        hosts: 2,
        others: 0,
        changed: 2,
    };
    assert!(findings.caveats.contains(&caveat), "{:?}", findings.caveats);
    let lost = |name: &str| -> Vec<usize> {
        let mut classes = fleet.classes.iter();
        let class = classes.find(|of| of.class.contains(name)).unwrap();
        class.hosts.iter().map(|of| of.lost).collect()
    };
    assert_eq!((lost("Xeon"), lost("EPYC")), (vec![1, 0], vec![0, 0]));
}

/// Of four hosts, three others that favor larger pages, and one alone.
fn three_classes() -> Findings {
    let mut parts = on_hosts(8);
    for part in &mut parts[4..] {
        (part.cpu, part.effect) = ("8 x EPYC", 0.8);
    }
    parts[7].cpu = "8 x Ryzen";
    found_in(&parts)
}

#[test]
fn classes_that_differ_are_those_with_enough_hosts() {
    let caveats = three_classes().caveats;
    let differ = Caveat::ClassesDiffer { classes: 2, of: 3 };
    assert!(caveats.contains(&differ), "{caveats:?}");
}

#[test]
fn a_host_that_is_a_class_of_its_own_and_says_the_opposite_is_named() {
    let mut parts = on_hosts(7);
    parts[6].cpu = "8 x EPYC";
    let with = |effect| {
        let mut parts = parts.clone();
        parts[6].effect = effect;
        found_in(&parts)
    };
    let named = |findings: &Findings| {
        let caveat = Caveat::SmallClassAgainst {
            hosts: vec!["h6".into()],
        };
        assert_eq!(caveat.severity(), Severity::Choice);
        findings.caveats.contains(&caveat)
    };
    assert!(!named(&with(parts[0].effect)));
    let findings = with(0.8);
    assert!(named(&findings), "{:?}", findings.caveats);
    assert_eq!(findings.fleet.as_ref().unwrap().agree, None);
}

#[test]
fn passes_that_are_left_out_are_no_passes_of_a_host() {
    // Two of nine passes took three times as long in all cells.
    let slow = "UPDATE slice SET elapsed_s = 3 * elapsed_s WHERE pass IN (2, 5);
                UPDATE run SET measured_s = (SELECT sum(elapsed_s) FROM slice WHERE slice.run = run.run)";
    let mut parts = on_hosts(4);
    for part in &mut parts {
        part.passes = 9;
    }
    let findings = found_in_stores(&parts, |part, store| match part.part.number {
        3 => changed(store, slow),
        _ => store,
    });
    let class = &findings.fleet.as_ref().unwrap().classes[0];
    let passes: Vec<usize> = class.hosts.iter().map(|of| of.passes).collect();
    assert_eq!(passes, [9, 9, 9, 7]);
    let short = Caveat::HostsShort {
        hosts: vec!["h3".into()],
        of: 4,
        wanted: 8,
    };
    assert!(findings.caveats.contains(&short), "{:?}", findings.caveats);
}

#[test]
fn one_host_that_alone_keeps_a_level_open_is_found() {
    let mut parts = on_hosts(7);
    parts[5].effect = 0.8;
    let findings = found_in(&parts);
    let class = &findings.fleet.as_ref().unwrap().classes[0];
    let cell = &class.groups[0].cells[1];
    assert_eq!(cell.decision, Some(Decision::Open));
    assert_eq!(cell.odd.as_deref(), Some("h5"));
}

#[test]
fn each_class_has_its_confidence_and_caveats() {
    let findings = three_classes();
    let Fleet { classes, .. } = findings.fleet.as_ref().unwrap();
    assert!(classes[0].caveats.is_empty());
    for (place, hosts) in [(1, 3), (2, 1)] {
        let class = &classes[place];
        let few = Caveat::FewHosts { hosts };
        assert!(class.caveats.contains(&few), "{:?}", class.caveats);
        let own = findings.of_class(place).unwrap();
        assert_eq!((own.sittings, &own.caveats), (hosts, &class.caveats));
    }
    let of_one = findings.of_class(2).and_then(confidence);
    assert_eq!(of_one.map(|of| of.trust), Some(ConfidenceLevel::Low));
}

#[test]
fn hosts_with_few_passes_and_copies_of_stores_are_told() {
    let mut parts = on_hosts(4);
    assert!(
        !found_in(&parts)
            .caveats
            .iter()
            .any(|of| matches!(of, Caveat::HostsShort { .. } | Caveat::SameFigures { .. }))
    );
    parts[3].passes = 7;
    // What it gives follows from the first bits of its id.
    parts[1].part.id = parts[2].part.id + 1;
    let caveats = found_in(&parts).caveats;
    let short = Caveat::HostsShort {
        hosts: vec!["h3".into()],
        of: 4,
        wanted: 8,
    };
    let hosts = vec!["h1".into(), "h2".into()];
    for wanted in [short, Caveat::SameFigures { hosts }] {
        assert!(caveats.contains(&wanted), "{wanted:?} in {caveats:?}");
    }
}

#[test]
fn where_no_attempt_counts_nothing_is_said_of_hosts() {
    let cut_off = MadeUp {
        passes: 2,
        outcome: None,
        ..MadeUp::new(0, "h")
    };
    let caveats = found_in(&[cut_off]).caveats;
    let is_few = |of: &Caveat| matches!(of, Caveat::FewHosts { .. });
    assert!(!caveats.iter().any(is_few), "{caveats:?}");
    assert_eq!(caveats[0].severity(), Severity::Void);
    assert!(matches!(
        caveats[0],
        Caveat::PartsMissing { missing: 12, .. }
    ));
}

#[test]
fn hosts_on_the_other_side_are_named_where_a_level_is_open() {
    let mut parts = on_hosts(3);
    for (part, effect) in parts.iter_mut().zip([0.3, 0.25, 0.1]) {
        part.effect = effect;
    }
    let findings = found_in(&parts);
    let class = &findings.fleet.as_ref().unwrap().classes[0];
    let cell = &class.groups[0].cells[1];
    assert_eq!(cell.decision, Some(Decision::Open));
    assert_eq!(cell.against, ["h2"]);
    // It is no reason to doubt what is not decided.
    let mut caveats = findings.caveats.iter();
    assert!(!caveats.any(|of| matches!(of, Caveat::HostsAgainst { .. })));
}

#[test]
fn a_level_on_two_of_four_hosts_is_open_and_its_sittings_are_those_of_their_own_stores() {
    let fails = "PRAGMA foreign_keys = OFF; UPDATE run SET failure = 'no room' WHERE cell = 2;
                 DELETE FROM slice WHERE run = 3";
    let parts = on_hosts(4);
    let findings = found_in_stores(&parts, |part, store| match part.part.number {
        0 | 1 => store,
        _ => changed(store, fails),
    });
    let cells = &findings.groups[0].cells;
    let [open, decided] = [2, 1].map(|place| &cells[place]);
    assert_eq!((open.ratio, open.decision), (None, Some(Decision::Open)));
    assert_eq!(decided.decision, Some(Decision::Worse));
    let class = &findings.fleet.as_ref().unwrap().classes[0];
    for (place, of) in cells.iter().enumerate().skip(1) {
        let by_host = &class.groups[0].cells[place].by_host;
        for (sitting, ratio) in &of.by_sitting {
            let of_host = by_host[*sitting as usize].ratio.unwrap();
            assert!((ratio.estimate / of_host - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn hosts_without_any_figure_are_no_hosts_that_speak() {
    let fails = "PRAGMA foreign_keys = OFF; UPDATE run SET failure = 'no room'; DELETE FROM slice";
    let parts = on_hosts(8);
    for speaking in [1, 2, 4] {
        let caveats = found_in_stores(&parts, |part, store| match part.part.number < speaking {
            true => store,
            false => changed(store, fails),
        })
        .caveats;
        let hosts = speaking as usize;
        assert!(caveats.contains(&Caveat::FewHosts { hosts }), "{caveats:?}");
        let is_few = |of: &Caveat| matches!(of, Caveat::LevelOnFewHosts { hosts: on, of: 8, .. } if *on == hosts);
        assert!(caveats.iter().any(is_few), "{caveats:?}");
        assert!(
            !caveats
                .iter()
                .any(|of| matches!(of, Caveat::HostsShort { .. }))
        );
    }
}

#[test]
fn levels_that_few_hosts_or_sittings_lack_change_the_amount() {
    let (group, level) = (String::new(), String::from("8192"));
    let on_hosts = |hosts, of| {
        let (group, level) = (group.clone(), level.clone());
        Caveat::LevelOnFewHosts {
            group,
            level,
            hosts,
            of,
        }
        .severity()
    };
    let in_sittings = |sittings, of| {
        let (group, level) = (group.clone(), level.clone());
        Caveat::LevelInFewSittings {
            group,
            level,
            sittings,
            of,
        }
        .severity()
    };
    assert_eq!(
        (on_hosts(29, 30), in_sittings(11, 12)),
        (Severity::Amount, Severity::Amount)
    );
    assert_eq!(
        (on_hosts(4, 8), in_sittings(6, 12)),
        (Severity::Choice, Severity::Choice)
    );
}

#[test]
fn a_level_that_failed_in_second_sittings_is_told() {
    let fails = "PRAGMA foreign_keys = OFF; UPDATE run SET failure = 'no room' WHERE cell = 2;
                 DELETE FROM slice WHERE run = 3";
    let parts: Vec<MadeUp> = (0..8)
        .map(|number| MadeUp::new(number, &format!("h{}", number / 2)))
        .collect();
    let caveats = found_in_stores(&parts, |part, store| match part.part.number % 2 {
        0 => store,
        _ => changed(store, fails),
    })
    .caveats;
    let is_told = |of: &Caveat| {
        matches!(
            of,
            Caveat::LevelInFewSittings {
                sittings: 4,
                of: 8,
                ..
            }
        )
    };
    assert_eq!(
        caveats.iter().filter(|of| is_told(of)).count(),
        1,
        "{caveats:?}"
    );
}

#[test]
fn one_host_in_many_that_says_the_opposite_changes_the_amount() {
    let against = |hosts: usize, of| Caveat::HostsAgainst {
        group: String::new(),
        level: "8192".into(),
        hosts: vec!["h".into(); hosts],
        of,
    };
    for (hosts, of, severity) in [
        (1, 3, Severity::Choice),
        (1, 4, Severity::Amount),
        (2, 6, Severity::Choice),
        (7, 30, Severity::Amount),
        (8, 30, Severity::Choice),
    ] {
        assert_eq!(against(hosts, of).severity(), severity, "{hosts} of {of}");
    }
}

#[test]
fn hosts_with_one_name_are_told_apart() {
    let mut parts = on_hosts(2);
    for (part, id) in parts
        .iter_mut()
        .zip(["0123456789abcdef", "fedcba9876543210"])
    {
        (part.part.host.name, part.part.host.id) = ("n".into(), id.into());
    }
    let fleet = found_in(&parts).fleet.unwrap();
    let hosts = fleet.classes[0].hosts.iter();
    let names: Vec<&str> = hosts.map(|of| of.host.name.as_str()).collect();
    assert_eq!(names, ["n (0123)", "n (fedc)"]);
}
