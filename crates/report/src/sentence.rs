//! Findings in words. Worded once, said by the terminal, the page and the
//! JSON.

mod answer;
mod caveat;
mod commands;
mod conditions;
mod energy;
mod interaction;
mod method;
mod race;
mod stability;

use octavo_experiment::{
    findings::{Findings, MISSES_AT_DEVICE_WANTED},
    plan::{Factor, Level},
    verdict::{BufferFinding, EqualThroughput, Verdict},
};
use octavo_units::{ByteCount, PageSize};

pub(crate) use answer::{Answer, answer};
pub(crate) use caveat::{caveats, deviation, disturbed};
pub(crate) use commands::commands;
pub(crate) use conditions::{caption, conditions, storage_path};
pub(crate) use energy::energy;
pub(crate) use interaction::{contrast, interactions, word};
pub(crate) use method::method;
pub(crate) use race::{decision, place, saved};
pub(crate) use stability::{not_steady, stability, stall, why};

use crate::{
    naming,
    number::{ends, list, number, percent, percent_fine, time},
};

/// One answer a group, in the order of [`naming::groups`].
pub(crate) fn answers(findings: &Findings) -> Vec<Answer> {
    naming::groups(findings)
        .into_iter()
        .map(|group| answer(findings, group))
        .collect()
}

/// All that the figures say, in the order of the reports.
pub(crate) fn all(findings: &Findings) -> Vec<String> {
    let answers = answers(findings);
    let mut sentences: Vec<String> = answers.iter().map(Answer::text).collect();
    sentences.extend(saved(findings));
    sentences.extend(interactions(findings));
    sentences.extend(stability(findings));
    sentences.extend(buffers(findings));
    sentences.extend(energy(findings));
    sentences
}

/// Which page size makes up for a smaller buffer (petrov-2010's question),
/// then what a smaller buffer costs.
pub(crate) fn buffers(findings: &Findings) -> Vec<String> {
    let Some((group, Some(Level::PageSize(reference)))) = findings
        .groups
        .first()
        .map(|group| (group, naming::reference(findings, group)))
    else {
        return Vec::new();
    };
    let default = naming::reference_in_full(findings, group);
    let others = || {
        let buffers = findings.buffers.iter();
        buffers.filter(move |buffer| buffer.page_size != reference)
    };
    let mut sentences: Vec<String> = others()
        .filter_map(|buffer| equal_memory(buffer, &default))
        .collect();
    let never: Vec<String> = others()
        .filter(|buffer| {
            matches!(
                buffer.equal_to_reference,
                EqualThroughput::AboveLargest { ratio } if ratio.high < 1.0
            )
        })
        .map(|buffer| buffer.page_size.to_string())
        .collect();
    if let (Some(buffer), false) = (findings.buffers.first(), never.is_empty()) {
        sentences.push(format!(
            "Slower than {default} with {}, so no smaller cache matches it: {}.",
            buffer.large,
            list(&never, "and"),
        ));
    }
    sentences.extend(findings.buffers.iter().filter_map(small_memory));
    sentences
}

fn small_memory(buffer: &BufferFinding) -> Option<String> {
    let cost = buffer.small_over_large?;
    Some(format!(
        "{} pages with {} instead of {} keep {} of the throughput ({}).",
        buffer.page_size,
        buffer.small,
        buffer.large,
        percent(cost.estimate),
        ends(&cost, percent),
    ))
}

fn equal_memory(buffer: &BufferFinding, default: &str) -> Option<String> {
    let (page, small, large) = (buffer.page_size, buffer.small, buffer.large);
    match buffer.equal_to_reference {
        EqualThroughput::About { memory } => Some(format!(
            "{page} pages need about {} to match {default} with {large} (interpolated).",
            whole_mib(memory)
        )),
        EqualThroughput::BelowSmallest { ratio } => Some(format!(
            "{page} pages with {small} reach {} of {default} with {large} ({}).",
            percent(ratio.estimate),
            ends(&ratio, percent),
        )),
        EqualThroughput::AboveLargest { .. } | EqualThroughput::Unknown => None,
    }
}

fn whole_mib(memory: ByteCount) -> String {
    let mib = memory.get() as f64 / f64::from(1 << 20);
    if mib >= 10.0 {
        format!("{mib:.0} MiB")
    } else {
        format!("{mib:.1} MiB")
    }
}

/// Whether the storage was seen, and how that is known.
pub(crate) fn evidence(findings: &Findings) -> Vec<String> {
    let Some(share) = findings.misses_at_device_min() else {
        return vec!["No run has a result, so nothing is known of the disk.".into()];
    };
    let figures: Vec<_> = findings
        .groups
        .iter()
        .flat_map(|group| &group.cells)
        .filter_map(|cell| cell.per_transaction)
        .collect();
    let device: Vec<f64> = figures
        .iter()
        .filter_map(|figures| figures.device_reads_ratio)
        .collect();
    let counted = if device.len() == figures.len() {
        "by the database and the block device"
    } else if device.is_empty() {
        "by the database alone"
    } else {
        "by the database, in some cells also by the block device"
    };
    let judged = if share >= MISSES_AT_DEVICE_WANTED {
        "This measured your disk, not the OS cache"
    } else {
        "This may have measured the OS cache"
    };
    let mut sentences = vec![format!(
        "{judged}: at least {} of cache misses reached the disk in every cell (counted {counted}).",
        percent_fine(share)
    )];
    let most = device.iter().copied().fold(f64::NAN, f64::max);
    if most > 1.5 {
        sentences.push(format!(
            "The device counted up to {} reads per read of the database. Others used it too, or \
             the kernel split requests.",
            number(most)
        ));
    }
    let slowest = |of: fn(&octavo_experiment::findings::PerTransaction) -> f64| {
        figures.iter().map(of).fold(f64::NAN, f64::max)
    };
    let (read, sync) = (slowest(|f| f.read_us_mean), slowest(|f| f.sync_us_mean));
    if read.is_finite() && sync.is_finite() {
        sentences.push(format!(
            "Slowest cell: mean read {}, mean fsync {}.",
            time(read),
            time(sync)
        ));
    }
    sentences
}

/// What the reader may want to do next.
pub(crate) fn next_steps(findings: &Findings) -> Vec<String> {
    let plan = &findings.plan;
    let page_sizes = plan.compare == Factor::PageSize;
    let mut steps = Vec::new();
    let open = findings.groups.iter().any(|group| {
        matches!(group.verdict, Verdict::Inconclusive { .. }) && !answer::is_stuck(group)
    });
    if open {
        steps.push(
            "Repeat the same command with more time or rounds. It keeps the finished rounds."
                .into(),
        );
    }
    let (smallest, largest) = (plan.page_sizes.iter().min(), plan.page_sizes.iter().max());
    let edge = findings.groups.iter().find_map(|group| {
        let Verdict::Use {
            level: Level::PageSize(size),
            ..
        } = &group.verdict
        else {
            return None;
        };
        let beyond = if largest == Some(size) {
            size.get().checked_mul(2)
        } else {
            (smallest == Some(size)).then_some(size.get() / 2)
        };
        PageSize::new(beyond?).ok()
    });
    if let Some(edge) = edge {
        steps.push(format!(
            "The best page size is the last one measured. Try {edge} too, in a new directory."
        ));
    }
    if page_sizes && plan.memories.len() == 1 {
        steps.push("Give several --memory sizes to learn what more or less cache is worth.".into());
    }
    steps.push(
        match (plan.compare, naming::rate_in_short(findings).as_str()) {
            (Factor::Copy, _) => "Read other experiments on this machine with this in mind: no \
                              comparison here can show less than equal cells differ by."
                .into(),
            (_, "NOPM") => "TPC-C is a stand-in. Test on a copy of your data.".into(),
            _ => format!(
                "{} is a stand-in. Test on a copy of your data.",
                plan.workload
            ),
        },
    );
    steps
}

#[cfg(test)]
mod tests {
    use octavo_driver::steady::{Label, Why as Unsteady};
    use octavo_experiment::{
        findings::CellFindings,
        race::Why,
        statistics::{Decision, Interval},
    };

    use super::*;
    use crate::{document::Block, fixture};

    fn pages(bytes: &[u32]) -> Vec<Level> {
        bytes
            .iter()
            .map(|&bytes| Level::PageSize(PageSize::new(bytes).unwrap()))
            .collect()
    }

    fn answers(findings: &Findings) -> Vec<String> {
        super::answers(findings).iter().map(Answer::text).collect()
    }

    /// The first answer of findings whose first group has this verdict.
    fn answer_to(mut findings: Findings, verdict: Verdict) -> String {
        findings.groups[0].verdict = verdict;
        answer(&findings, &findings.groups[0]).text()
    }

    /// What commands type.
    fn typed(findings: &Findings) -> Vec<String> {
        let typed = |command| match command {
            Block::Commands { statements, .. } => statements,
            other => panic!("no command: {other:?}"),
        };
        let commands = commands(findings, naming::groups(findings)[0]);
        commands.into_iter().flat_map(typed).collect()
    }

    #[test]
    fn answers_say_what_to_do() {
        assert_eq!(
            answers(&fixture::findings()),
            [
                "With 32 MiB of memory: use 8 KiB pages. 12% more new orders per minute than the \
                 default 4 KiB (95% CI 9% to 15%, 5 fresh rounds).",
                "With 8 MiB of memory: no clear winner yet. About 4 more rounds (about 3 min) \
                 would settle it between the default 4 KiB and 2 KiB. Repeat the command with \
                 more time or rounds.",
            ]
        );
        assert_eq!(
            answers(&fixture::full())[0],
            "With 32 MiB of memory: use 8 KiB pages. 12% more new orders per minute than the \
             default 4 KiB (95% CI 9% to 15%, 5 rounds)."
        );
    }

    #[test]
    fn one_group_needs_no_name() {
        assert_eq!(
            answers(&fixture::one_memory()),
            [
                "Use 8 KiB pages. 12% more new orders per minute than the default 4 KiB (95% CI 9% \
                 to 15%, 5 fresh rounds)."
            ]
        );
    }

    #[test]
    fn whatever_is_compared_is_named() {
        assert_eq!(
            answers(&fixture::clients())[0],
            "With 4 KiB pages: use 8 clients. 83% more operations per minute than with 1 client \
             (95% CI 82% to 85%, 5 fresh rounds)."
        );
        // As the reference, the slower of two journal modes leaves an answer.
        let mut systems = fixture::systems();
        let ratio = Interval {
            estimate: 1.4,
            low: 1.3,
            high: 1.5,
            rounds: 6,
        };
        systems.groups[0].verdict = Verdict::Use {
            level: Level::Database("journal mode delete".into()),
            ratio,
            fresh: true,
            runner_up: None,
            ties: Vec::new(),
        };
        assert_eq!(
            answers(&systems),
            [
                "With 4 KiB pages: use journal mode delete. 40% more new orders per minute than \
                 with journal mode wal (95% CI 30% to 50%, 6 fresh rounds).",
                "With 8 KiB pages: keep journal mode wal. Nothing else gains more than 3%. \
                 Slower: journal mode delete.",
            ]
        );
    }

    #[test]
    fn a_reference_that_is_no_default_is_not_called_one() {
        let mut findings = fixture::one_memory();
        fixture::change_database(&mut findings, |database| {
            database.default_page_size = PageSize::MIN;
        });
        let text = answers(&findings).join(" ");
        assert!(text.contains("than with 4 KiB pages"), "{text}");
        assert!(!text.contains("default"), "{text}");
    }

    #[test]
    fn keeping_the_default_is_an_answer() {
        let keep = |equivalent: &[u32], worse: &[u32], not_confirmed: &[u32]| {
            answer_to(
                fixture::one_memory(),
                Verdict::Keep {
                    level: pages(&[4096]).remove(0),
                    equivalent: pages(equivalent),
                    worse: pages(worse),
                    not_confirmed: pages(not_confirmed),
                },
            )
        };
        assert_eq!(
            keep(&[2048], &[16384, 65536], &[]),
            "Keep the default 4 KiB. No page size gains more than 3%. Slower: 16 KiB and 64 KiB. \
             No difference: 2 KiB."
        );
        assert_eq!(
            keep(&[2048, 8192, 16384, 65536], &[], &[]),
            "Keep the default 4 KiB. No difference above 3%: 2 KiB, 8 KiB, 16 KiB and 64 KiB."
        );
        // The upper end of 8192 is far above the margin: its not having been
        // confirmed does not bound what it gains.
        assert_eq!(
            keep(&[16384], &[2048, 65536], &[8192]),
            "Keep the default 4 KiB. No page size was shown to be faster. Slower: 2 KiB and 64 KiB. \
             No difference: 16 KiB. Led, not confirmed by fresh rounds: 8 KiB."
        );
        let mut findings = fixture::one_memory();
        findings.groups[0].cells.drain(2..);
        findings.groups[0].cells.remove(0);
        assert_eq!(
            answers(&findings),
            ["Only 4 KiB pages was measured. There is nothing to compare."]
        );
    }

    #[test]
    fn leader_is_no_winner_before_its_final() {
        let leader = |more_rounds| {
            answer_to(
                fixture::one_memory(),
                Verdict::Inconclusive {
                    open: pages(&[2048, 8192]),
                    leader: Some(pages(&[8192]).remove(0)),
                    more_rounds,
                },
            )
        };
        assert_eq!(
            leader(Some(4)),
            "No clear winner yet. 8 KiB leads, not confirmed yet. About 4 more rounds (about 7 min) \
             would show whether it is faster than the default 4 KiB. Repeat the command with more \
             time or rounds."
        );
        assert_eq!(
            leader(None),
            "No clear winner yet. 8 KiB leads, not confirmed yet. Repeat the command with more \
             time or rounds."
        );
    }

    #[test]
    fn more_rounds_are_not_asked_for_when_all_have_left() {
        let mut findings = fixture::one_memory();
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: Vec::new(),
            leader: None,
            more_rounds: None,
        };
        for (place, why) in [(2, Why::NotConfirmed), (4, Why::NoResult)] {
            findings.groups[0].cells[place].left = Some(why);
        }
        assert_eq!(
            answers(&findings),
            [
                "No clear winner yet. No run of 64 KiB gave a result. Nothing else was shown to be \
                 faster than the default 4 KiB."
            ]
        );
        assert!(!next_steps(&findings).join(" ").contains("Repeat"));
        assert!(
            next_steps(&fixture::findings())
                .join(" ")
                .contains("Repeat")
        );
    }

    #[test]
    fn differing_copies_are_a_fault() {
        let mut findings = fixture::copies();
        assert_eq!(
            answers(&findings),
            ["Copies 1 to 3 are equivalent. Chance causes less than 3% here."]
        );
        let ratio = Interval {
            estimate: 1.06,
            low: 1.04,
            high: 1.08,
            rounds: 6,
        };
        findings.groups[0].verdict = Verdict::Use {
            level: Level::Copy(2),
            ratio,
            fresh: true,
            runner_up: None,
            ties: Vec::new(),
        };
        let text = answers(&findings).join(" ");
        assert_eq!(
            text,
            "Copy 2 is faster than copy 1. 6% more new orders per minute than with copy 1 (95% CI \
             4% to 8%, 6 fresh rounds). All copies are the same, so the machine or the method is \
             at fault, or rarely chance."
        );
        assert!(!text.contains("se copy"), "{text}");
        let worse = Verdict::Keep {
            level: Level::Copy(1),
            equivalent: vec![Level::Copy(2)],
            worse: vec![Level::Copy(3)],
            not_confirmed: Vec::new(),
        };
        let text = answer_to(findings, worse);
        assert!(
            text.starts_with("Slower than copy 1: copy 3. All copies are the same"),
            "{text}"
        );
    }

    #[test]
    fn few_rounds_and_no_rounds_read_differently() {
        let text = answers(&fixture::one_round()).join(" ");
        assert!(text.contains("from 1 round."), "{text}");
        let mut findings = fixture::one_round();
        for cell in findings
            .groups
            .iter_mut()
            .flat_map(|group| &mut group.cells)
        {
            if let Some(ratio) = &mut cell.ratio {
                ratio.rounds = 2;
            }
        }
        let text = answers(&findings).join(" ");
        assert!(text.contains("from 2 rounds."), "{text}");
        let text = answers(&fixture::empty()).join(" ");
        assert!(text.contains("No finished runs to compare"), "{text}");
    }

    #[test]
    fn the_page_size_is_changed_outside_wal_mode() {
        let mut findings = fixture::findings();
        let outside_wal = [
            "PRAGMA journal_mode = DELETE;",
            "PRAGMA page_size = 8192; VACUUM;",
            "PRAGMA journal_mode = WAL;",
            "PRAGMA cache_size = -32768;",
        ];
        assert_eq!(typed(&findings), outside_wal);
        // Without the option the database's default holds, which is WAL.
        fixture::change_database(&mut findings, |database| database.options.clear());
        assert_eq!(typed(&findings), outside_wal);
        fixture::change_database(&mut findings, |database| {
            database.options = vec![("journal-mode".into(), "delete".into())];
        });
        assert_eq!(
            typed(&findings),
            [
                "PRAGMA page_size = 8192; VACUUM;",
                "PRAGMA cache_size = -32768;"
            ]
        );
        assert!(typed(&fixture::clients()).is_empty());
        assert!(typed(&fixture::copies()).is_empty());
        fixture::change_database(&mut findings, |database| database.name = "other".into());
        assert!(typed(&findings).is_empty());
    }

    #[test]
    fn servers_get_their_own_commands() {
        let mut findings = fixture::findings();
        fixture::change_database(&mut findings, |database| database.name = "postgres".into());
        assert_eq!(
            typed(&findings),
            [
                "./configure --with-blocksize=8",
                "pg_dumpall > everything.sql",
                "shared_buffers = 32768kB"
            ]
        );
        fixture::change_database(&mut findings, |database| database.name = "mariadb".into());
        assert_eq!(
            typed(&findings),
            [
                "[mysqld]",
                "innodb_page_size = 8192",
                "innodb_buffer_pool_size = 33554432"
            ]
        );
    }

    #[test]
    fn time_saved_by_a_race_is_printed() {
        let mut findings = fixture::findings();
        findings.rounds = 12;
        findings.saved = Some(octavo_experiment::findings::Saved {
            runs: 62,
            full_runs: 120,
            seconds: 540.0,
        });
        assert_eq!(
            saved(&findings).unwrap(),
            "Dropping decided cells early saved 9 min (62 runs instead of 120)."
        );
        findings.saved.as_mut().unwrap().runs = 120;
        assert_eq!(saved(&findings), None);
        assert_eq!(saved(&fixture::full()), None);
        assert_eq!(saved(&fixture::empty()), None);
    }

    #[test]
    fn dropped_cells_have_a_reason() {
        let findings = fixture::findings();
        let group = naming::groups(&findings)[0];
        let places: Vec<String> = group
            .cells
            .iter()
            .map(|cell| place(&findings, group, cell).text)
            .collect();
        assert_eq!(
            places,
            [
                "slower, out after 5 rounds",
                "default",
                "faster, winner",
                "no difference, out after 5 rounds",
                "slower, out after 3 rounds",
            ]
        );
        let behind = |leader| {
            let cell = CellFindings {
                left: Some(Why::Behind { leader }),
                ..group.cells[0].clone()
            };
            place(&findings, group, &cell).text
        };
        assert_eq!(behind(2), "slower, well behind 8 KiB, out after 5 rounds");
        assert_eq!(
            behind(99),
            "slower, well behind the leader, out after 5 rounds"
        );
    }

    #[test]
    fn interactions_are_named_where_they_matter() {
        let mut findings = fixture::findings();
        let said = interactions(&findings);
        assert_eq!(
            said.last().unwrap(),
            "64 KiB pages depend on memory: the ratio to the default with 32 MiB of memory is 2.05 \
             times that with 8 MiB of memory (1.95 to 2.16)."
        );
        for interaction in &mut findings.interactions {
            interaction.decision = Decision::Equivalent;
        }
        assert_eq!(
            interactions(&findings),
            ["The best page size does not depend on memory: ratios change by less than 3%."]
        );
        findings.interactions[1].decision = Decision::Open;
        assert_eq!(
            interactions(&findings),
            [
                "No ratio of page size is known to change by more than 3% with memory; 1 of 4 are \
                 undecided."
            ]
        );
        findings.interactions.clear();
        assert!(interactions(&findings).is_empty());
    }

    #[test]
    fn an_unstable_page_size_is_named() {
        let mut findings = fixture::one_memory();
        assert_eq!(
            stability(&findings),
            [
                "Much less stable with 64 KiB pages than with the default 4 KiB: throughput varies \
                 by 21% instead of 6.4% (windows of 1.00 s), longest gap between commits 2.60 s \
                 instead of 31.0 ms."
            ]
        );
        // Over other windows the variation cannot be compared.
        let unstable = findings.groups[0].cells[4].stability.as_mut().unwrap();
        unstable.window_s = 0.1;
        unstable.stall_s = 0.05;
        assert!(stability(&findings).is_empty());
        assert!(stability(&fixture::empty()).is_empty());
    }

    #[test]
    fn runs_that_were_not_steady_have_a_reason() {
        let because = |why| stability::why(Label::NotSteady { why });
        assert_eq!(because(Unsteady::StillWarming), "still warming up");
        assert!(stability::why(Label::NotJudged).starts_with("not tested"));
        assert_eq!(
            because(Unsteady::Drift { change: -0.18 }),
            "drifts down by 18%"
        );
        assert_eq!(
            because(Unsteady::Shift {
                change: 0.25,
                at_s: 14.2
            }),
            "jumps up by 25% after 14 s"
        );
        assert_eq!(
            stability::why(Label::Periodic { period_s: 12.34 }),
            "periodic, every 12.3 s"
        );
    }

    #[test]
    fn buffers_are_compared_with_the_default() {
        assert_eq!(
            buffers(&fixture::findings())[..4],
            [
                "8 KiB pages need about 22 MiB to match the default 4 KiB with 32 MiB (interpolated).",
                "16 KiB pages need about 31 MiB to match the default 4 KiB with 32 MiB \
                 (interpolated).",
                "Slower than the default 4 KiB with 32 MiB, so no smaller cache matches it: 2 KiB \
                 and 64 KiB.",
                "2 KiB pages with 8 MiB instead of 32 MiB keep 71% of the throughput (66% to 76%).",
            ]
        );
        assert!(buffers(&fixture::one_memory()).is_empty());
    }

    /// The values of the conditions with this name.
    fn of(findings: &Findings, name: &str) -> Vec<String> {
        conditions(findings)
            .into_iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| value)
            .collect()
    }

    #[test]
    fn facts_of_one_cell_are_no_conditions() {
        let findings = fixture::findings();
        assert_eq!(of(&findings, "page_size"), [""; 0]);
        assert_eq!(of(&findings, "synchronous"), ["full"]);
        assert_eq!(of(&findings, "memory"), ["8 MiB, 32 MiB"]);
        assert_eq!(
            of(&findings, "data"),
            ["270 MiB to 310 MiB by page size, at least 33.8 times 8 MiB and 8.44 times 32 MiB"]
        );
        assert_eq!(
            of(&findings, "rounds"),
            ["5 complete, 46 runs done, 1 failed"]
        );
    }

    #[test]
    fn conditions_list_what_the_plan_lists() {
        let findings = fixture::clients();
        assert_eq!(
            of(&findings, "workload"),
            ["ycsb-b, closed loop, no keying or think time"]
        );
        assert_eq!(of(&findings, "scale"), ["500,000 records"]);
        assert_eq!(of(&findings, "rows"), ["of 1000 B"]);
        assert_eq!(of(&findings, "clients"), ["1, 2, 4, 8"]);
        assert_eq!(of(&findings, "CPUs"), ["all"]);
        assert_eq!(
            of(&findings, "compared"),
            ["clients, with 1 client, in each of 2 groups"]
        );
        assert!(of(&findings, "design")[0].starts_with("race"));
        assert!(of(&fixture::full(), "design")[0].starts_with("full factorial"));
        assert_eq!(
            of(&fixture::many_groups(), "storage"),
            ["the working directory, /mnt/a \"fast\" <disk>"]
        );
        assert_eq!(
            of(&fixture::systems(), "database"),
            ["sqlite journal-mode=wal (3.50.0); sqlite journal-mode=delete (3.50.0)"]
        );
    }

    #[test]
    fn facts_keep_the_topic_they_depend_on() {
        let mut findings = fixture::clients();
        findings.database = vec![("4 clients: memory".into(), "shared".into())];
        assert_eq!(of(&findings, "4 clients: memory limit"), ["shared"]);
    }

    #[test]
    fn each_design_has_its_method() {
        let race = method(&fixture::findings()).join(" ");
        for said in [
            "A B B A",
            "fresh rounds",
            "repeated confidence intervals",
            "at most 2 x 2.5%",
            "docs/verdicts.md",
            "docs/steady-state.md",
        ] {
            assert!(race.contains(said), "{said}: {race}");
        }
        let full = method(&fixture::full()).join(" ");
        assert!(
            full.contains("Bonferroni") && !full.contains("A B B A"),
            "{full}"
        );
        assert!(full.contains("all 4 comparisons"), "{full}");
        assert!(!method(&fixture::clients()).join(" ").contains("tpmC"));
    }
}
