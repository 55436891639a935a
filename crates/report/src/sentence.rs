//! Findings in words, for the terminal, the page and the JSON alike.

mod answer;
mod caveat;
mod commands;
mod conditions;
mod confidence;
mod cost;
mod elsewhere;
mod energy;
mod inputs;
mod interaction;
mod limits;
mod memory;
mod method;
mod own_sizes;
mod place;
mod range;
mod settle;
mod stability;
mod standing;
mod time;
mod value;

use octavo_database::StoragePath;
use octavo_experiment::{
    findings::{CellFindings, Findings, MISSES_AT_DEVICE_WANTED, SITTINGS_TOLERATED},
    plan::{Factor, Level},
    record::Source,
    statistics::{Decision, Interval, decision as decision_of},
    verdict::{BufferFinding, EqualThroughput},
};
use octavo_units::ByteCount;

pub(crate) use answer::{Answer, answers};
pub(crate) use caveat::{caveats, deviation, disturbed, of_own, part_of_recording};
pub(crate) use commands::commands;
pub(crate) use conditions::{conditions, of_own_workload, storage_path};
pub(crate) use confidence::confidence;
pub(crate) use cost::cost;
pub(crate) use elsewhere::{elsewhere, elsewhere_heading};
pub(crate) use energy::{covered, energy};
pub(crate) use inputs::inputs;
pub(crate) use interaction::{contrast, interactions, word};
pub(crate) use limits::{before_change, page_sizes};
pub(crate) use memory::{memory, to_follow};
pub(crate) use method::{all_passes, all_passes_but_time, method};
pub(crate) use own_sizes::{about_own_sizes, own_sizes};
pub(crate) use place::{data, decision, place, saved, screened, share_of_data};
pub(crate) use range::beyond_range;
pub(crate) use settle::{more_hosts, odd_hosts, to_settle};
pub(crate) use stability::{stability, stall, why};
pub use standing::standings;
pub(crate) use standing::{hosts_with, on_few_hosts, on_hosts, standing_of};
pub(crate) use time::{bound_word, cpu_in_requests, tails, why as why_so};
pub(crate) use value::{
    answers as value_answers, before, demand, does, is_predicted, money, per_money,
    rate as worth_rate, sentences as value_sentences, share, warnings as value_warnings,
};

use crate::{
    naming,
    number::{ends, is_bounded, list, number, percent, percent_fine, time},
};

/// All that the figures say, in the order of the reports.
pub(crate) fn all(findings: &Findings) -> Vec<String> {
    let answers = answers(findings).into_iter();
    let answers = answers.chain(memory(findings)).chain(own_sizes(findings));
    let answers = answers.chain(confidence(findings));
    let mut sentences: Vec<String> = answers.map(|answer| answer.text()).collect();
    sentences.extend(why_so(findings));
    sentences.extend(saved(findings));
    sentences.extend(screened(findings));
    sentences.extend(tails(findings));
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
    let margin = findings.plan.margin;
    let others = || {
        let buffers = findings.buffers.iter();
        buffers.filter(move |buffer| buffer.page_size != reference)
    };
    let mut sentences: Vec<String> = others()
        .filter_map(|buffer| equal_memory(buffer, &default, margin))
        .collect();
    let never: Vec<String> = others()
        .filter(|buffer| {
            // As the tables decide it.
            let is_meant = |cell: &CellFindings| {
                cell.cell.page_size == buffer.page_size && cell.cell.memory == buffer.large
            };
            let mut cells = findings.groups.iter().flat_map(|group| &group.cells);
            let decision = cells
                .find(|cell| is_meant(cell))
                .and_then(|cell| cell.decision);
            let is_above = matches!(
                buffer.equal_to_reference,
                EqualThroughput::AboveLargest { .. }
            );
            // Whose smaller cache does as well is not known to need the larger one.
            let is_less = buffer
                .small_over_large
                .is_none_or(|small| small.estimate <= 1.0);
            is_above && is_less && decision == Some(Decision::Worse)
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
    let small = findings.buffers.iter();
    sentences.extend(small.filter_map(|buffer| small_memory(buffer, margin)));
    sentences
}

fn small_memory(buffer: &BufferFinding, margin: f64) -> Option<String> {
    let cost = buffer.small_over_large.filter(is_bounded)?;
    let (may, undecided) = undecided(&cost, margin);
    Some(format!(
        "{} pages with {} instead of {} {may}keep {} of the throughput ({}){undecided}.",
        buffer.page_size,
        buffer.small,
        buffer.large,
        percent(cost.estimate),
        ends(&cost, percent),
    ))
}

/// What a sentence has before its verb and at its end where the ratio is not known to be above
/// or below 1, or as good as 1.
fn undecided(ratio: &Interval, margin: f64) -> (&'static str, &'static str) {
    match decision_of(ratio, margin) {
        Decision::Open => ("may ", ", which is not decided"),
        _ => ("", ""),
    }
}

fn equal_memory(buffer: &BufferFinding, default: &str, margin: f64) -> Option<String> {
    let (page, small, large) = (buffer.page_size, buffer.small, buffer.large);
    match buffer.equal_to_reference {
        // What it needs at least is no answer.
        EqualThroughput::About { high: None, .. } => None,
        EqualThroughput::About {
            memory,
            low,
            high: Some(high),
        } => Some(format!(
            "{page} pages need about {} (95% CI {} to {}, interpolated) to match {default} with \
             {large}.",
            whole_mib(memory),
            low.map_or_else(|| format!("under {small}"), whole_mib),
            whole_mib(high)
        )),
        EqualThroughput::BelowSmallest { ratio } if !is_bounded(&ratio) => None,
        EqualThroughput::BelowSmallest { ratio } => {
            let (may, undecided) = undecided(&ratio, margin);
            Some(format!(
                "{page} pages with {small} {may}reach {} of {default} with {large} \
                 ({}){undecided}.",
                percent(ratio.estimate),
                ends(&ratio, percent),
            ))
        }
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

/// Checks that passed.
pub(crate) fn passed(findings: &Findings) -> Vec<String> {
    let mut passed = Vec::new();
    let share = findings.misses_at_device_min();
    // What others read hides whether this one's reads came from the OS cache.
    let is_told = findings.source == Source::Measured && findings.others_read().is_none();
    let share = share.filter(|_| is_told);
    if let Some(share) = share.filter(|share| *share >= MISSES_AT_DEVICE_WANTED) {
        // Of the OS cache the disk alone tells, which others read too.
        let is_own = findings
            .per_transaction()
            .all(|of| of.misses_read.is_some());
        passed.push(match is_own {
            true if percent_fine(share) == "100.0%" => "All cache misses reached the disk.".into(),
            true => format!(
                "At least {} of each cell's cache misses reached the disk.",
                percent_fine(share)
            ),
            false => "The disk read about as much as the cache missed.".into(),
        });
    }
    // A sitting of one batch is not set beside others, and who left has none of the later ones.
    let rivals = naming::cells(findings).filter(|cell| !cell.reference);
    let (compared, others): (Vec<&CellFindings>, Vec<&CellFindings>) =
        rivals.partition(|cell| cell.sittings_compared() == findings.sittings);
    let is_near = |cell: &CellFindings| {
        let spread = cell.sittings_spread();
        spread.is_none_or(|spread| spread <= 1.0 + SITTINGS_TOLERATED)
    };
    let all = compared.len() + others.len();
    if findings.sittings > 1
        && !compared.is_empty()
        && compared.iter().chain(&others).all(|cell| is_near(cell))
    {
        let of = match others.is_empty() {
            true => String::new(),
            false => format!(
                " in {} of {all} cells; others have fewer to compare",
                compared.len()
            ),
        };
        passed.push(format!(
            "Ratios of {} sittings of fresh copies are within {} of each other{of}.",
            findings.sittings,
            percent(SITTINGS_TOLERATED)
        ));
    }
    passed
}

/// Evidence that reads reached the storage, and how fast it was.
pub(crate) fn evidence(findings: &Findings) -> Vec<String> {
    if findings.source == Source::Predicted {
        return vec!["No disk was seen: requests were timed by a model of it.".into()];
    }
    let all: Vec<&CellFindings> = naming::cells(findings).collect();
    let is_in_memory = |cell: &&CellFindings| cell.storage_path == Some(StoragePath::Resident);
    let figures = all.iter().filter(|cell| !is_in_memory(cell));
    let figures: Vec<_> = figures.filter_map(|cell| cell.per_transaction).collect();
    if figures.is_empty() {
        return match all.iter().any(is_in_memory) {
            true => vec!["No read needed the disk: the OS held all of the file.".into()],
            false => vec!["No run has a result, so nothing is known of the disk.".into()],
        };
    }
    // What missed nothing has nothing to count.
    let missing: Vec<_> = figures.iter().filter(|of| of.buffer_misses > 0.0).collect();
    let known = missing.iter().filter_map(|of| of.device_reads_ratio);
    let device: Vec<f64> = known.collect();
    // A database does not know whose reads the OS cache answers.
    let is_own = missing.iter().all(|of| of.misses_read.is_some());
    let counted = match (device.len(), is_own) {
        _ if missing.is_empty() => "by nobody, as there were none",
        (0, true) => "by the database alone",
        (0, false) => "by nobody",
        (_, true) if findings.others_read().is_some() => "by the database",
        (all, true) if all == missing.len() => "by the database and the block device",
        (all, false) if all == missing.len() => "by the block device alone",
        (_, true) => "by the database, in some cells also by the block device",
        (_, false) => "by the block device, in some cells by nobody",
    };
    let mut sentences = vec![format!(
        "Cache misses that reached the disk are counted {counted}."
    )];
    if let Some(reads) = findings.others_read() {
        sentences.push(format!(
            "The disk read up to {} times as often as the database over all runs of a cell: {}other programs read too, \
             so its counters do not tell whose reads reached it.",
            number(reads),
            // With direct I/O nothing is read ahead.
            match findings.storage_path == Some(StoragePath::Direct) {
                true => "",
                false => "read-ahead or ",
            }
        ));
    }
    // The OS's memory answers reads alone.
    let syncs = all.iter().filter_map(|cell| cell.per_transaction);
    let sync = syncs.map(|of| of.sync_us_mean).fold(f64::NAN, f64::max);
    let reads = figures.iter().map(|of| of.read_us_mean);
    let read = reads.fold(f64::NAN, f64::max);
    if read.is_finite() && sync.is_finite() {
        sentences.push(format!(
            "Slowest cells: mean read {} in one, mean fsync {} in one.",
            time(read),
            time(sync)
        ));
    }
    sentences
}

/// What the reader may want to do next.
pub(crate) fn next_steps(findings: &Findings) -> Vec<String> {
    let plan = &findings.plan;
    let mut steps = Vec::new();
    if plan.compare == Factor::PageSize && plan.memories.len() == 1 {
        steps.push("Give several --memory sizes to learn what more or less cache is worth.".into());
    }
    steps.push(match plan.compare {
        Factor::Copy => {
            "No comparison on this machine can show less than equal cells differ by.".into()
        }
        _ if naming::is_of_policies(findings) => format!(
            "{} is a stand-in, and policies are of models alone.",
            plan.workload.title()
        ),
        _ if plan.own.as_ref().is_some_and(|own| own.is_guess) => {
            format!(
                "Your program's own statements were not {}.",
                findings.source.name()
            )
        }
        _ if plan.own.as_ref().is_some_and(|own| own.recording.is_some()) => {
            format!(
                "Statements that are not in the recording were not {}.",
                findings.source.name()
            )
        }
        _ if plan.own.as_ref().is_some_and(|own| own.digests.is_some()) => {
            "Digests were measured with even values and without transactions.".into()
        }
        _ if plan.own.is_some() => {
            format!(
                "Statements that are not in the scripts were not {}.",
                findings.source.name()
            )
        }
        _ => format!(
            "{} is a stand-in. Test on a copy of your data.",
            plan.workload.title()
        ),
    });
    steps
}

#[cfg(test)]
mod tests {
    use octavo_experiment::{caveats::Caveat, verdict::Verdict};
    use octavo_units::PageSize;

    use super::*;
    use crate::{document::Block, fixture};

    fn pages(bytes: &[u32]) -> Vec<Level> {
        bytes
            .iter()
            .map(|&bytes| Level::PageSize(PageSize::new(bytes).unwrap()))
            .collect()
    }

    fn said(findings: &Findings) -> Vec<String> {
        answers(findings).iter().map(Answer::text).collect()
    }

    /// The first answer of findings whose first group has this verdict.
    fn answer_to(mut findings: Findings, verdict: Verdict) -> String {
        findings.groups[0].verdict = verdict;
        said(&findings).remove(0)
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
            said(&fixture::findings()),
            [
                "With 32 MiB of memory, USE 8 KiB PAGES: 12% more new orders per minute than the \
                 default 4 KiB (95% CI 9% to 15%).",
                "With 8 MiB of memory, KEEP 4 KiB PAGES FOR NOW: 2 KiB could still be slower.",
            ]
        );
        assert_eq!(
            said(&fixture::one_memory()),
            [
                "USE 8 KiB PAGES: 12% more new orders per minute than the default 4 KiB (95% CI 9% \
                 to 15%)."
            ]
        );
    }

    #[test]
    fn equal_answers_of_all_groups_are_one() {
        let mut findings = fixture::findings();
        for group in &mut findings.groups {
            group.verdict = Verdict::Keep {
                level: pages(&[4096]).remove(0),
                equivalent: Vec::new(),
                worse: pages(&[2048, 8192, 16384, 65536]),
            };
        }
        assert_eq!(
            said(&findings),
            ["KEEP 4 KiB PAGES (the default): nothing else that was measured is faster."]
        );
    }

    #[test]
    fn whatever_is_compared_is_named() {
        assert_eq!(
            said(&fixture::clients())[0],
            "With 4 KiB pages, USE 8 CLIENTS: 83% more operations per minute than with 1 client \
             (95% CI 82% to 85%). Also faster, but by less: 2 clients and 4 clients."
        );
    }

    #[test]
    fn groups_without_a_winner_say_why() {
        let one = fixture::one_memory;
        let keep = Verdict::Keep {
            level: pages(&[4096]).remove(0),
            equivalent: pages(&[2048, 8192, 16384, 65536]),
            worse: Vec::new(),
        };
        assert_eq!(
            answer_to(one(), keep),
            "KEEP 4 KiB PAGES (the default): nothing differs by more than 3%."
        );
        let cold = || Verdict::Cold {
            level: pages(&[4096]).remove(0),
            cold: pages(&[2048, 4096, 8192]),
        };
        assert_eq!(
            answer_to(one(), cold()),
            "NO ANSWER YET: with 2 KiB, 4 KiB and 8 KiB the cache was not warm, and the long run may \
             differ. Use a longer --warm-up."
        );
        let mut findings = one();
        findings.groups[0].verdict = cold();
        let group = &findings.groups[0];
        let results = group.cells.iter().map(|cell| place(&findings, group, cell));
        let results: Vec<String> = results.map(|result| result.text).collect();
        assert_eq!(
            results,
            [
                "not warm",
                "default, not warm",
                "not warm",
                "no answer",
                "no answer"
            ]
        );
        assert_eq!(time::why(&findings), None);
        assert!(commands(&findings, group).is_empty());
        let leads = Verdict::Inconclusive {
            open: pages(&[2048, 8192]),
            leader: Some(pages(&[8192]).remove(0)),
            more_s: Some(60.0),
        };
        assert_eq!(
            answer_to(one(), leads),
            "KEEP 4 KiB PAGES FOR NOW: no clear winner yet, 8 KiB leads by 12%. Not decided: 2 KiB."
        );
        assert!(said(&fixture::empty())[0].ends_with("nothing was measured yet."));
        let mut silent = one();
        silent.groups[0].cells[1].throughput = None;
        assert_eq!(
            said(&silent),
            ["NO ANSWER: no run of the default 4 KiB gave a figure to compare with."]
        );
    }

    #[test]
    fn differing_copies_are_a_fault() {
        let mut findings = fixture::copies();
        assert_eq!(
            said(&findings),
            ["ALL COPIES ARE EQUIVALENT: chance causes less than 3% here."]
        );
        findings.groups[0].verdict = Verdict::Use {
            level: Level::Copy(2),
            ratio: Interval {
                estimate: 1.06,
                low: 1.04,
                high: 1.08,
                batches: 6,
            },
            ties: Vec::new(),
            open: Vec::new(),
        };
        let text = said(&findings).join(" ");
        assert!(
            text.starts_with("COPY 2 IS FASTER THAN COPY 1: 6% more"),
            "{text}"
        );
        assert!(
            text.contains("the machine or the method is at fault"),
            "{text}"
        );
    }

    #[test]
    fn more_cache_has_its_own_answer() {
        let mut findings = fixture::findings();
        let text = |findings: &Findings| memory(findings).unwrap().text();
        let cache = text(&findings);
        assert!(
            cache.starts_with(
                "GIVE IT CACHE: 32 MiB runs 2.0x as fast as 8 MiB with 8 KiB pages (95% CI 1.9x to"
            ),
            "{cache}"
        );
        for buffer in &mut findings.buffers {
            buffer.small_over_large = Some(Interval {
                estimate: 1.0,
                low: 0.99,
                high: 1.01,
                batches: 9,
            });
        }
        assert_eq!(
            text(&findings),
            "8 MiB OF CACHE IS ENOUGH: 32 MiB changes less than 3%."
        );
        let mut with = |low, high| {
            for buffer in &mut findings.buffers {
                buffer.small_over_large = Some(Interval {
                    estimate: 1.0 / 1.01,
                    low: 1.0 / high,
                    high: 1.0 / low,
                    batches: 9,
                });
            }
            memory(&findings).unwrap().what
        };
        assert_eq!(with(0.82, 2.6), "NOT DECIDED WHETHER MORE CACHE HELPS");
        assert_eq!(with(0.82, 1.02), "MORE CACHE MAY NOT HELP");
        assert_eq!(memory(&fixture::one_memory()), None);
    }

    #[test]
    fn what_less_cache_costs_is_not_said_as_known_where_it_is_open() {
        let mut findings = fixture::findings();
        for buffer in &mut findings.buffers {
            buffer.small_over_large = Some(Interval {
                estimate: 1.21,
                low: 0.33,
                high: 4.48,
                batches: 3,
            });
        }
        let said = buffers(&findings).join(" ");
        assert!(
            said.contains(
                "2 KiB pages with 8 MiB instead of 32 MiB may keep 121% of the throughput (33% to \
                 448%), which is not decided."
            ),
            "{said}"
        );
        assert!(!said.contains("32 MiB keep"), "{said}");
    }

    #[test]
    fn a_disk_that_others_read_proves_nothing() {
        let mut findings = fixture::one_memory();
        let reach = |findings: &Findings| passed(findings).join(" ").contains("reached the disk");
        let with = |findings: &mut Findings, reads| {
            for cell in &mut findings.groups[0].cells {
                let of = cell.per_transaction.as_mut().unwrap();
                of.misses_read = Some(1.0);
                of.device_reads_ratio = Some(reads);
            }
        };
        with(&mut findings, 1.2);
        assert!(reach(&findings));
        let said = evidence(&findings).join(" ");
        assert!(!said.contains("read too"));
        assert!(said.contains("are counted by the database and the block device"));
        // What missed nothing has nothing to count.
        let none = findings.groups[0].cells[1]
            .per_transaction
            .as_mut()
            .unwrap();
        (
            none.buffer_misses,
            none.misses_read,
            none.device_reads_ratio,
        ) = (0.0, None, None);
        assert_eq!(evidence(&findings).join(" "), said);
        with(&mut findings, 2.0);
        assert!(!reach(&findings));
        assert!(
            evidence(&findings)
                .join(" ")
                .contains("The disk read up to 2.00 times as often as the database")
        );
    }

    #[test]
    fn sittings_that_differ_by_chance_do_not_agree() {
        let mut findings = fixture::one_memory();
        findings.caveats.clear();
        let agree = |findings: &Findings| {
            passed(findings)
                .join(" ")
                .contains("within 10% of each other")
        };
        let with = |findings: &mut Findings, estimate| {
            let of = |estimate| Interval {
                estimate,
                low: 0.5,
                high: 2.0,
                batches: 4,
            };
            for cell in &mut findings.groups[0].cells {
                cell.by_sitting = match cell.reference {
                    true => Vec::new(),
                    false => vec![(0, of(1.0)), (1, of(estimate))],
                };
            }
        };
        with(&mut findings, 1.05);
        assert!(agree(&findings));
        with(&mut findings, 1.3);
        assert!(!agree(&findings));
    }

    #[test]
    fn what_is_open_has_a_budget_that_settles_it() {
        let mut findings = fixture::findings();
        let (purpose, command) = to_settle(&findings).unwrap();
        assert_eq!(
            purpose,
            "To settle 2 KiB with 8 MiB of memory (about 3 min more)"
        );
        // 300 s so far, of which 200 were measured, and 120 of measuring more.
        assert_eq!(command, "octavo advise 'my advice' --budget 8m");
        findings.command = None;
        assert_eq!(to_settle(&findings), None);
        assert_eq!(to_settle(&fixture::one_memory()), None);
    }

    #[test]
    fn confidence_follows_from_warnings_and_sittings() {
        let mut findings = fixture::one_memory();
        let label = |findings: &Findings| confidence(findings).unwrap().what;
        findings.caveats.clear();
        assert_eq!(label(&findings), "CONFIDENCE HIGH");
        findings.caveats = vec![Caveat::RunsFailed { runs: 1 }];
        assert_eq!(label(&findings), "CONFIDENCE MEDIUM");
        findings.caveats = vec![Caveat::PageCache { runs: 4, of: 12 }];
        assert_eq!(label(&findings), "CONFIDENCE LOW");
        findings.caveats.clear();
        for cell in &mut findings.groups[0].cells {
            cell.by_sitting.truncate(1);
        }
        assert_eq!(label(&findings), "CONFIDENCE MEDIUM");
        assert_eq!(confidence(&fixture::empty()), None);
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
                "slower, out after 40 s",
                "default",
                "faster, winner",
                "no difference, out after 40 s",
                "slower, out after 20 s",
            ]
        );
    }

    #[test]
    fn passes_that_were_left_out_are_counted_by_reason() {
        let mut findings = fixture::findings();
        assert_eq!(
            screened(&findings).unwrap(),
            "7 of 88 passes were left out: 5 took more than 1.5 times as long as their work, checkpoints \
                 aside, 2 had more \
             disk traffic of other programs than usual."
        );
        findings.screened = Default::default();
        assert_eq!(screened(&findings), None);
    }

    #[test]
    fn page_size_beyond_the_last_is_suggested_where_the_database_has_it() {
        let size = |bytes| PageSize::new(bytes).unwrap();
        let all = [size(2048), size(4096), size(65536)];
        assert_eq!(range::beyond(&all, size(2048)), Some(size(1024)));
        assert_eq!(range::beyond(&all, size(4096)), None);
        assert_eq!(range::beyond(&all, size(65536)), None);
        let mut findings = fixture::one_memory();
        findings.plan.page_sizes = vec![size(4096), size(8192)];
        assert!(beyond_range(&findings)[0].contains("Try 16 KiB too"));
        assert!(
            answers(&findings)[0]
                .text()
                .ends_with("Nothing larger was measured.")
        );
        // Nor is what lies beyond a size that is kept known.
        let mut kept = findings.clone();
        kept.groups[0].verdict = Verdict::Keep {
            level: pages(&[4096]).remove(0),
            equivalent: Vec::new(),
            worse: pages(&[8192]),
        };
        let hint = "The page size to keep is the smallest that was measured. Try 2 KiB too";
        let document = crate::experiment::findings(&kept);
        let verbose = document.verbose(200, false).replace('\u{a0}', " ");
        let page = document.html().replace('\u{a0}', " ");
        assert!(verbose.contains(hint), "{verbose}");
        assert!(page.contains(hint));
        // MariaDB has no pages of 2 KiB.
        fixture::change_database(&mut findings, |of| of.name = "mariadb".into());
        findings.plan.page_sizes = vec![size(4096), size(8192)];
        findings.groups[0].verdict = Verdict::Use {
            level: pages(&[4096]).remove(0),
            ratio: findings.groups[0].cells[0].ratio.unwrap(),
            ties: Vec::new(),
            open: Vec::new(),
        };
        assert_eq!(beyond_range(&findings), [] as [&str; 0]);
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
    fn commands_are_for_the_version_of_their_cell() {
        let mut findings = fixture::one_memory();
        fixture::change_database(&mut findings, |database| database.name = "postgres".into());
        findings.plan.clients = vec![1, 2];
        let last = |findings: &Findings| {
            let blocks = commands(findings, &findings.groups[0]);
            format!("{:?}", blocks.last())
        };
        let of = |clients: &str, version: &str| {
            (format!("{clients}: server_version"), version.to_owned())
        };
        findings.database = vec![of("2 clients", "18.1"), of("1 client", "15.18")];
        let typed = last(&findings);
        assert!(typed.contains("shared_buffers = 28672kB"), "{typed}");
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
        // Before version 16 the page cache has an eighth.
        findings.database = vec![("server_version".into(), "15.18".into())];
        assert_eq!(typed(&findings).last().unwrap(), "shared_buffers = 28672kB");
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
    fn interactions_are_named_where_they_matter() {
        let mut findings = fixture::findings();
        let said = interactions(&findings);
        assert_eq!(
            said.last().unwrap(),
            "64 KiB pages depend on memory: the ratio to the default with 32 MiB of memory is 2.05 \
             times that with 8 MiB of memory (2.00 to 2.10)."
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
                "No ratio of page size is known to change by more than 3% with memory; 1 of 4 is \
                 undecided."
            ]
        );
        findings.interactions.clear();
        assert!(interactions(&findings).is_empty());
    }

    #[test]
    fn buffers_are_compared_with_the_default() {
        assert_eq!(
            buffers(&fixture::findings())[..3],
            [
                "8 KiB pages need about 22 MiB (95% CI 20 MiB to 26 MiB, interpolated) to match the \
                 default 4 KiB with 32 MiB.",
                "Slower than the default 4 KiB with 32 MiB, so no smaller cache matches it: 2 KiB \
                 and 64 KiB.",
                "2 KiB pages with 8 MiB instead of 32 MiB keep 71% of the throughput (66% to 76%).",
            ]
        );
        assert!(buffers(&fixture::one_memory()).is_empty());
    }

    /// The values of the conditions with this name.
    fn values_named(findings: &Findings, name: &str) -> Vec<String> {
        conditions(findings)
            .into_iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| value)
            .collect()
    }

    #[test]
    fn predicted_copies_have_the_sizes_of_their_table() {
        let mut findings = fixture::one_memory();
        findings.source = Source::Predicted;
        let estimate = ("size of the data".to_owned(), "about 45.8 MiB".to_owned());
        findings.storage.push(estimate);
        let sizes = findings.snapshots.iter().map(|of| of.size);
        let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
        let of = |findings: &Findings, wanted: &str| {
            let mut all = conditions(findings).into_iter();
            all.find(|(name, _)| name == wanted).map(|(_, value)| value)
        };
        let said = of(&findings, "data").unwrap();
        assert!(
            said.starts_with(&format!("{least} to {most} by page size")),
            "{said}"
        );
        assert_eq!(of(&findings, "size of the data"), None);
        // Copies on two file systems differ by a few bytes.
        for (place, snapshot) in findings.snapshots.iter_mut().enumerate() {
            snapshot.size = ByteCount::new(196_478_109 + place as u64);
        }
        let said = of(&findings, "data").unwrap();
        assert!(!said.contains(" by page size"), "{said}");
        // Of generated rows there is no copy.
        findings.snapshots.clear();
        assert_eq!(of(&findings, "data").unwrap(), "modeled, not loaded");
        let estimate = of(&findings, "size of the data");
        assert_eq!(estimate.as_deref(), Some("about 45.8 MiB"));
    }

    #[test]
    fn facts_of_one_cell_are_no_conditions() {
        let findings = fixture::findings();
        assert_eq!(values_named(&findings, "page_size"), [""; 0]);
        assert_eq!(values_named(&findings, "synchronous"), ["full"]);
        assert_eq!(values_named(&findings, "memory"), ["8 MiB, 32 MiB"]);
        assert_eq!(
            values_named(&findings, "data"),
            ["270 MiB to 310 MiB by page size, at least 33.8 times 8 MiB and 8.44 times 32 MiB"]
        );
        assert_eq!(
            values_named(&findings, "measured"),
            ["88 passes in 2 sittings, slices of 50 transactions; 7 passes left out, 1 run failed"]
        );
    }

    #[test]
    fn conditions_list_what_the_plan_lists() {
        let findings = fixture::clients();
        assert_eq!(
            values_named(&findings, "workload"),
            ["YCSB B, closed loop, no keying or think time"]
        );
        assert_eq!(values_named(&findings, "scale"), ["500,000 records"]);
        assert_eq!(values_named(&findings, "rows"), ["of 1000 B"]);
        assert_eq!(values_named(&findings, "clients"), ["1, 2, 4, 8"]);
        assert_eq!(values_named(&findings, "CPUs"), ["all"]);
        assert_eq!(
            values_named(&findings, "compared"),
            ["clients, with 1 client, in each of 2 groups"]
        );
        assert!(values_named(&findings, "design")[0].ends_with("dropped"));
        assert_eq!(
            values_named(&fixture::many_groups(), "storage"),
            ["the working directory, /mnt/a \"fast\" <disk>"]
        );
        assert_eq!(
            values_named(&fixture::systems(), "database"),
            ["sqlite journal-mode=wal (3.50.0); sqlite journal-mode=delete (3.50.0)"]
        );
    }

    #[test]
    fn facts_keep_the_topic_they_depend_on() {
        let mut findings = fixture::clients();
        findings.database = vec![("4 clients: memory".into(), "shared".into())];
        assert_eq!(
            values_named(&findings, "4 clients: memory of the database"),
            ["shared"]
        );
    }

    #[test]
    fn method_says_how_cells_are_compared() {
        let text = method(&fixture::findings()).join(" ");
        for said in [
            "Groups are open together as far as memory and disk have room",
            "the next 50 transactions",
            "batch, the unit of statistics",
            "1.5 times as long",
            "within 3% of 1",
            "docs/verdicts.md",
            "tpmC",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!method(&fixture::clients()).join(" ").contains("tpmC"));
    }
}
