//! The answer in words. Worded once, said by the terminal, the page and the
//! JSON.
//!
//! Page sizes are bytes, as `PRAGMA page_size` wants them; memory is in MiB.

mod answer;
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
    statistics::{Interval, Standing},
    verdict::{BufferFinding, EqualThroughput, Verdict},
};
use octavo_units::{ByteCount, PageSize};

pub(crate) use answer::answer;
pub(crate) use commands::commands;
pub(crate) use conditions::{caption, conditions};
pub(crate) use energy::energy;
pub(crate) use interaction::{contrast, interactions, word};
pub(crate) use method::method;
pub(crate) use race::{all_left, place, saved};
pub(crate) use stability::{not_steady, stability, stall, why};

use crate::{
    naming,
    number::{is_bounded, list, number, percent, percent_fine, rounds, time},
};

/// One sentence a group: what to do. In the order of [`naming::groups`].
pub(crate) fn answers(findings: &Findings) -> Vec<String> {
    naming::groups(findings)
        .into_iter()
        .map(|group| answer(findings, group))
        .collect()
}

/// All that the figures say, in the order of the reports.
pub(crate) fn all(findings: &Findings) -> Vec<String> {
    let mut sentences = answers(findings);
    sentences.extend(saved(findings));
    sentences.extend(interactions(findings));
    sentences.extend(stability(findings));
    sentences.extend(buffers(findings));
    sentences.extend(energy(findings));
    sentences
}

fn sizes(pages: &[PageSize]) -> Vec<String> {
    pages.iter().map(|page| page.get().to_string()).collect()
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
    let default = match naming::default_page_size(findings, group) {
        Some(size) => format!("the default {}", size.get()),
        None => format!("page size {}", reference.get()),
    };
    let others = || {
        findings
            .buffers
            .iter()
            .filter(move |buffer| buffer.page_size != reference)
    };
    let mut sentences: Vec<String> = others()
        .filter_map(|buffer| equal_memory(buffer, &default))
        .collect();
    let never: Vec<PageSize> = others()
        .filter(|buffer| {
            matches!(
                buffer.equal_to_reference,
                EqualThroughput::AboveLargest { ratio } if ratio.high < 1.0
            )
        })
        .map(|buffer| buffer.page_size)
        .collect();
    if let (Some(buffer), false) = (findings.buffers.first(), never.is_empty()) {
        let (subject, verb) = if never.len() == 1 {
            ("Page size", "does")
        } else {
            ("Page sizes", "do")
        };
        sentences.push(format!(
            "{subject} {} {verb} less with {} than {default}: no smaller buffer makes up \
             for that.",
            list(&sizes(&never), "and"),
            buffer.large,
        ));
    }
    sentences.extend(findings.buffers.iter().filter_map(small_memory));
    sentences
}

fn small_memory(buffer: &BufferFinding) -> Option<String> {
    let cost = buffer.small_over_large?;
    Some(format!(
        "Page size {} with {} instead of {} keeps {} of its throughput ({}).",
        buffer.page_size.get(),
        buffer.small,
        buffer.large,
        percent(cost.estimate),
        share_interval(&cost),
    ))
}

fn share_interval(share: &Interval) -> String {
    if is_bounded(share) {
        format!(
            "{} to {}, {}",
            percent(share.low),
            percent(share.high),
            rounds(share.rounds)
        )
    } else {
        format!("interval not known from {}", rounds(share.rounds))
    }
}

fn equal_memory(buffer: &BufferFinding, default: &str) -> Option<String> {
    let (page, large) = (buffer.page_size.get(), buffer.large);
    match buffer.equal_to_reference {
        EqualThroughput::About { memory } => Some(format!(
            "Page size {page} reaches with about {} what {default} does with {large} \
             (a line between the measured sizes, no interval).",
            whole_mib(memory)
        )),
        EqualThroughput::BelowSmallest { ratio } => Some(format!(
            "Page size {page} does with {} already {} of what {default} does with \
             {large} ({}).",
            buffer.small,
            percent(ratio.estimate),
            share_interval(&ratio),
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
        return vec!["No run has a result, so nothing is known of the storage.".into()];
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
    let how = if device.len() == figures.len() {
        "counted by the database and, independently, by the block device"
    } else if device.is_empty() {
        "counted by the database alone: no block device's counters were found"
    } else {
        "counted by the database, and by the block device in some cells"
    };
    let judged = if share >= MISSES_AT_DEVICE_WANTED {
        "the storage was measured, not memory"
    } else {
        "less than 95 %: figures may show memory"
    };
    let mut sentences = vec![format!(
        "At least {} of the buffer's misses were read from storage in every cell ({how}): {judged}.",
        percent_fine(share)
    )];
    let most = device.iter().copied().fold(f64::NAN, f64::max);
    if most > 1.5 {
        sentences.push(format!(
            "The device counted up to {} reads for each of the database's: others used it too, or \
             the kernel split requests.",
            number(most)
        ));
    }
    let slowest = figures
        .iter()
        .map(|figures| figures.read_us_mean)
        .fold(f64::NAN, f64::max);
    let flush = figures
        .iter()
        .map(|figures| figures.sync_us_mean)
        .fold(f64::NAN, f64::max);
    if slowest.is_finite() && flush.is_finite() {
        sentences.push(format!(
            "One read of a file took up to {} on average, one flush up to {} (means of the \
             slowest cell).",
            time(slowest),
            time(flush)
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
            "Repeat the same command with more time or rounds: it keeps the rounds that are done \
             and adds new ones."
                .into(),
        );
    }
    let (smallest, largest) = (plan.page_sizes.iter().min(), plan.page_sizes.iter().max());
    let edge = findings
        .groups
        .iter()
        .find_map(|group| match &group.verdict {
            Verdict::Use {
                level: Level::PageSize(size),
                ..
            } if largest == Some(size) && *size < PageSize::MAX => Some(size.get() * 2),
            Verdict::Use {
                level: Level::PageSize(size),
                ..
            } if smallest == Some(size) && *size > PageSize::MIN => Some(size.get() / 2),
            _ => None,
        });
    if let Some(edge) = edge {
        steps.push(format!(
            "The best page size lies at the end of those measured: try {edge} \
             too, in a new directory."
        ));
    }
    if page_sizes && plan.memories.len() == 1 {
        steps.push(
            "Give several memory sizes to learn what a smaller or larger buffer is worth.".into(),
        );
    }
    steps.push(match plan.compare {
        Factor::PageSize => "Your own data and queries decide in the end: set the page size on a \
                             copy of your database and compare there before you change the \
                             original."
            .into(),
        Factor::Copy => "What equal cells differ by is the least that any comparison on this \
                         machine can show: read other experiments with that in mind."
            .into(),
        _ => "Your own data and queries decide in the end: try the change on a copy of your \
              database before you make it."
            .into(),
    });
    steps
}

/// The word for a standing. `reference` is what the reference is called.
pub(crate) fn standing(
    standing: Option<Standing>,
    reference: Option<&'static str>,
) -> &'static str {
    match (standing, reference) {
        (_, Some(name)) => name,
        (Some(Standing::Better), _) => "better",
        (Some(Standing::Worse), _) => "worse",
        (Some(Standing::Equivalent), _) => "no difference",
        (Some(Standing::Open), _) => "open",
        (None, _) => "not known",
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::{
        findings::CellFindings,
        race::Why,
        steady::{Label, Why as Unsteady},
    };

    use super::*;
    use crate::fixture;

    fn pages(bytes: &[u32]) -> Vec<Level> {
        bytes
            .iter()
            .map(|&bytes| Level::PageSize(PageSize::new(bytes).unwrap()))
            .collect()
    }

    /// The first answer of findings whose first group has this verdict.
    fn answer_to(mut findings: Findings, verdict: Verdict) -> String {
        findings.groups[0].verdict = verdict;
        answer(&findings, &findings.groups[0])
    }

    #[test]
    fn answers_say_what_to_do() {
        assert_eq!(
            answers(&fixture::findings()),
            [
                "With 32 MiB of memory: use page_size 8192: 12 % more new orders a minute than \
                 the default 4096 (9 % to 15 %, 5 fresh rounds after choosing).",
                "With 8 MiB of memory: inconclusive: about 4 more rounds would settle it between \
                 4096 and 2048 (repeat the command with more time or rounds).",
            ]
        );
        assert_eq!(
            answers(&fixture::full())[0],
            "With 32 MiB of memory: use page_size 8192: 12 % more new orders a minute than the \
             default 4096 (9 % to 15 %, 5 rounds)."
        );
    }

    #[test]
    fn one_group_needs_no_name() {
        assert_eq!(
            answers(&fixture::one_memory()),
            [
                "Use page_size 8192: 12 % more new orders a minute than the default 4096 (9 % to \
                 15 %, 5 fresh rounds after choosing)."
            ]
        );
    }

    #[test]
    fn whatever_is_compared_is_named() {
        assert_eq!(
            answers(&fixture::clients())[0],
            "With page size 4096: use 8 clients: 83 % more operations a minute than with 1 client \
             (82 % to 85 %, 5 fresh rounds after choosing)."
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
                "With page size 4096: use journal mode delete: 40 % more new orders a minute than \
                 with journal mode wal (30 % to 50 %, 6 fresh rounds after choosing).",
                "With page size 8192: keep journal mode wal: nothing else gains more than 3 % \
                 (journal mode delete is slower).",
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
        assert!(text.contains("than with page size 4096"), "{text}");
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
            "Keep the default 4096: no page size gains more than 3 % (2048 makes no difference; \
             16384 and 65536 are slower)."
        );
        assert_eq!(
            keep(&[2048, 8192, 16384, 65536], &[], &[]),
            "Keep the default 4096: 2048, 8192, 16384 and 65536 are equivalent to it, within 3 %."
        );
        // The upper end of 8192 is far above the margin: its not having been
        // confirmed does not bound what it gains.
        assert_eq!(
            keep(&[16384], &[2048, 65536], &[8192]),
            "Keep the default 4096: no page size was shown to be better (16384 makes no \
             difference; 2048 and 65536 are slower; 8192 led, and fresh rounds did not confirm it)."
        );
        let mut findings = fixture::one_memory();
        findings.groups[0].cells.drain(2..);
        findings.groups[0].cells.remove(0);
        assert_eq!(
            answers(&findings),
            ["Only page_size 4096 was measured, so there is nothing to compare."]
        );
    }

    #[test]
    fn a_leader_is_not_called_a_winner_before_its_final() {
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
            "Inconclusive: 8192 leads, and is not confirmed yet: about 4 more rounds would show \
             whether it is better than the default 4096 (repeat the command with more time or \
             rounds)."
        );
        assert!(leader(None).contains("cannot be told"));
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
                "Inconclusive: no run of 65536 gave a result, so nothing is known of it; nothing \
                 else was shown to be better than the default 4096."
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
    fn equal_cells_that_differ_are_a_fault() {
        let mut findings = fixture::copies();
        assert_eq!(
            answers(&findings),
            ["Copies 1 to 3 are equivalent: what chance alone does here is within 3 %."]
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
            "Copy 2 does 6 % more new orders a minute than copy 1 (4 % to 8 %, 6 fresh rounds \
             after choosing), although both are the same: the machine or the method is at fault \
             or, seldom, chance."
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
            text.starts_with("Copy 3 is slower than copy 1, although"),
            "{text}"
        );
    }

    #[test]
    fn few_rounds_and_no_round_are_told_apart() {
        let text = answers(&fixture::one_round()).join(" ");
        assert!(text.contains("in one round alone"), "{text}");
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
        assert!(text.contains("in 2 rounds alone"), "{text}");
        let text = answers(&fixture::empty()).join(" ");
        assert!(text.contains("for want of finished runs"), "{text}");
    }

    #[test]
    fn the_page_size_is_changed_outside_wal_mode() {
        let mut findings = fixture::findings();
        let typed = |findings: &Findings| -> Vec<String> {
            commands(findings, naming::groups(findings)[0])
                .into_iter()
                .flat_map(|command| command.statements)
                .collect()
        };
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
    fn servers_are_told_in_their_own_words() {
        let mut findings = fixture::findings();
        let typed = |findings: &Findings| -> Vec<String> {
            commands(findings, naming::groups(findings)[0])
                .into_iter()
                .flat_map(|command| command.statements)
                .collect()
        };
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
    fn what_a_race_saved_is_said() {
        let mut findings = fixture::findings();
        findings.rounds = 12;
        findings.saved = Some(octavo_experiment::findings::Saved {
            runs: 62,
            full_runs: 120,
            seconds: 540.0,
        });
        assert_eq!(
            saved(&findings).unwrap(),
            "Racing made 62 runs where each cell in each of the 12 rounds would have taken 120: \
             48 % fewer, about 9 min saved."
        );
        findings.saved.as_mut().unwrap().runs = 120;
        assert!(saved(&findings).unwrap().contains("nothing is saved yet"));
        assert_eq!(saved(&fixture::full()), None);
        assert_eq!(saved(&fixture::empty()), None);
    }

    #[test]
    fn who_left_is_said_with_the_reason() {
        let findings = fixture::findings();
        let group = naming::groups(&findings)[0];
        assert_eq!(
            all_left(group).unwrap(),
            "Out of the race: 2048 after 5 rounds (worse), 16384 after 5 rounds (no difference) \
             and 65536 after 3 rounds (worse)."
        );
        let places: Vec<String> = group
            .cells
            .iter()
            .map(|cell| place(&findings, group, cell))
            .collect();
        assert_eq!(
            places,
            [
                "out after 5 rounds: worse",
                "compared with",
                "winner",
                "out after 5 rounds: no difference",
                "out after 3 rounds: worse",
            ]
        );
        let behind = |leader| {
            let cell = CellFindings {
                left: Some(Why::Behind { leader }),
                ..group.cells[0].clone()
            };
            place(&findings, group, &cell)
        };
        assert_eq!(behind(2), "out after 5 rounds: behind 8192");
        assert_eq!(behind(99), "out after 5 rounds: behind the leader");
        assert_eq!(all_left(&fixture::full().groups[0]), None);
    }

    #[test]
    fn interactions_are_named_where_they_matter() {
        let mut findings = fixture::findings();
        let said = interactions(&findings);
        assert_eq!(
            said.last().unwrap(),
            "What page size 65536 is worth depends on memory: its ratio to the default is 2.05 \
             times with 32 MiB of memory of what it is with 8 MiB of memory (1.95 to 2.16, 3 \
             rounds)."
        );
        for interaction in &mut findings.interactions {
            interaction.standing = Standing::Equivalent;
        }
        assert_eq!(
            interactions(&findings),
            [
                "No interaction between page size and memory: what a level is worth changes by \
                 less than the margin of 3 %."
            ]
        );
        findings.interactions[1].standing = Standing::Open;
        assert_eq!(
            interactions(&findings),
            [
                "No interaction larger than the margin of 3 % was shown between page size and \
                 memory; of 4 that were looked at, 1 is undecided."
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
                "Page size 65536 is much less stable than the default 4096: throughput over \
                 windows of 1.00 s varies by 21 % instead of 6.4 % and there were up to 2.60 s \
                 without any of the transactions that are counted, instead of 31.0 ms."
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
        assert!(stability::why(Label::NotJudged).starts_with("not judged"));
        assert_eq!(
            because(Unsteady::Drift { change: -0.18 }),
            "drifts down by 18 %"
        );
        assert_eq!(
            because(Unsteady::Shift {
                change: 0.25,
                at_s: 14.2
            }),
            "jumps up by 25 % after 14 s"
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
                "Page size 8192 reaches with about 22 MiB what the default 4096 does with 32 MiB \
                 (a line between the measured sizes, no interval).",
                "Page size 16384 reaches with about 31 MiB what the default 4096 does with 32 MiB \
                 (a line between the measured sizes, no interval).",
                "Page sizes 2048 and 65536 do less with 32 MiB than the default 4096: no smaller \
                 buffer makes up for that.",
                "Page size 2048 with 8 MiB instead of 32 MiB keeps 71 % of its throughput (66 % \
                 to 76 %, 5 rounds).",
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
            ["n = 5 complete, 46 runs done, 1 failed"]
        );
    }

    #[test]
    fn conditions_list_what_the_plan_lists() {
        let findings = fixture::clients();
        assert_eq!(
            of(&findings, "workload"),
            ["ycsb-b, closed loop, no keying or think times"]
        );
        assert_eq!(of(&findings, "scale"), ["500\u{202f}000 records"]);
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
    fn facts_are_told_apart_by_what_they_depend_on() {
        let mut findings = fixture::clients();
        findings.database = vec![("4 clients: memory".into(), "shared".into())];
        assert_eq!(of(&findings, "4 clients: memory is"), ["shared"]);
    }

    #[test]
    fn each_design_has_its_method() {
        let race = method(&fixture::findings()).join(" ");
        for said in [
            "A B B A",
            "fresh rounds",
            "repeated confidence intervals",
            "at most 2 x 2.5 %",
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
