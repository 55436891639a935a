//! The answer in words. Worded once, said by the terminal, the page and the
//! JSON.
//!
//! Page sizes are bytes, as `PRAGMA page_size` wants them; memory is in MiB.

use octavo_database::StoragePath;
use octavo_experiment::{
    findings::{Findings, MISSES_AT_DEVICE_WANTED, MemoryFindings},
    plan::RunLength,
    statistics::Standing,
    verdict::{BufferFinding, EqualThroughput, MemoryVerdict},
};
use octavo_units::{ByteCount, PageSize};

use crate::number::{
    change, change_interval, is_bounded, list, number, percent, percent_fine, rounds, seconds, time,
};

/// One sentence a memory: what to do.
pub(crate) fn answers(findings: &Findings) -> Vec<String> {
    findings
        .memories
        .iter()
        .map(|memory| answer(findings, memory))
        .collect()
}

/// What to do at one memory.
pub(crate) fn answer(findings: &Findings, memory: &MemoryFindings) -> String {
    let plan = &findings.plan;
    let with = format!("With {} of memory", memory.memory);
    let default = plan.reference.get();
    match &memory.verdict {
        MemoryVerdict::Use {
            page_size,
            ratio,
            ties,
        } => {
            let tied = if ties.is_empty() {
                String::new()
            } else {
                format!(" Not told apart from it: {}.", list(&sizes(ties), "and"))
            };
            format!(
                "{with}: use page_size {}: {} new orders a minute than the default {default} \
                 ({}, {}).{tied}",
                page_size.get(),
                than(ratio.estimate),
                change_interval(ratio),
                rounds(ratio.rounds),
            )
        }
        MemoryVerdict::KeepDefault { worse, .. } => {
            let margin = percent(plan.margin);
            let count = memory.cells.len();
            if count < 2 {
                return format!(
                    "{with}: only page_size {default} was measured, so there is nothing to \
                     compare."
                );
            }
            let worse = match worse.len() {
                0 => String::new(),
                1 => format!(" ({} is slower)", worse[0].get()),
                _ => format!(" ({} are slower)", list(&sizes(worse), "and")),
            };
            format!(
                "{with}: keep the default {default}: no page size gains more than {margin}{worse}."
            )
        }
        MemoryVerdict::Inconclusive { open, more_rounds } => {
            let open_sizes = list(&sizes(open), "and");
            let known = memory
                .cells
                .iter()
                .filter_map(|cell| cell.ratio)
                .map(|ratio| ratio.rounds)
                .max()
                .unwrap_or(0);
            let rest = match (*more_rounds, known) {
                (Some(more), _) => format!(
                    "about {more} more {} would settle it between {default} and {open_sizes} \
                     (repeat the command with a larger --budget)",
                    if more == 1 { "round" } else { "rounds" }
                ),
                (None, 0) => "nothing can be compared yet, for want of finished runs (repeat the \
                              command: it goes on where it stopped)"
                    .into(),
                (None, 1) => format!(
                    "{default} and {open_sizes} were compared in one round alone, which gives no \
                     interval (repeat the command with a larger --budget)"
                ),
                (None, _) => format!(
                    "{default} and {open_sizes} vary too much from round to round, or too few \
                     rounds succeeded; a quieter machine helps more than more rounds"
                ),
            };
            format!("{with}: inconclusive: {rest}.")
        }
    }
}

fn than(ratio: f64) -> String {
    // "times as many ... than" is no English.
    if ratio >= 2.0 {
        format!("{} more", percent(ratio - 1.0))
    } else {
        change(ratio)
    }
}

fn sizes(pages: &[PageSize]) -> Vec<String> {
    pages.iter().map(|page| page.get().to_string()).collect()
}

/// What to type to follow an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// What it is for.
    pub(crate) purpose: String,
    /// The statements; empty when nothing has to be typed.
    pub(crate) statements: Vec<String>,
}

/// What to type at one memory.
///
/// Sources: <https://www.sqlite.org/pragma.html#pragma_page_size> (the page
/// size of a database that exists changes with the next `VACUUM`, and not in
/// WAL mode) and <https://www.sqlite.org/pragma.html#pragma_cache_size>
/// (negative: KiB; for the connection alone).
pub(crate) fn commands(findings: &Findings, memory: &MemoryFindings) -> Vec<Command> {
    if findings.plan.database != "sqlite" {
        return Vec::new();
    }
    let mut commands = Vec::new();
    if let MemoryVerdict::Use { page_size, .. } = memory.verdict {
        let change = format!("PRAGMA page_size = {}; VACUUM;", page_size.get());
        let statements = if findings.plan.journal_mode.eq_ignore_ascii_case("wal") {
            vec![
                "PRAGMA journal_mode = DELETE;".into(),
                change,
                "PRAGMA journal_mode = WAL;".into(),
            ]
        } else {
            vec![change]
        };
        commands.push(Command {
            purpose: "once, with no other connection open and room for a second copy of the \
                      database (in WAL mode the page size cannot change, so leave it first)"
                .into(),
            statements,
        });
    }
    let shared = if findings.plan.clients > 1 {
        " (the memory was shared by all sessions: divide it among your connections)"
    } else {
        ""
    };
    commands.push(Command {
        purpose: format!(
            "in every connection, for {} of cache{shared}",
            memory.memory
        ),
        statements: vec![format!(
            "PRAGMA cache_size = -{};",
            memory.memory.get() / 1024
        )],
    });
    commands
}

/// Which page size makes up for a smaller buffer (petrov-2010's question),
/// then what a smaller buffer costs.
pub(crate) fn buffers(findings: &Findings) -> Vec<String> {
    let default = findings.plan.reference;
    let others = || {
        findings
            .buffers
            .iter()
            .filter(move |buffer| buffer.page_size != default)
    };
    let mut sentences: Vec<String> = others()
        .filter_map(|buffer| equal_memory(buffer, default))
        .collect();
    let never: Vec<PageSize> = others()
        .filter(|buffer| {
            matches!(
                buffer.equal_to_reference,
                EqualThroughput::AboveLargest { .. }
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
            "{subject} {} {verb} less with {} than the default {}, on average: no smaller buffer \
             makes up for that.",
            list(&sizes(&never), "and"),
            buffer.large,
            default.get()
        ));
    }
    sentences.extend(findings.buffers.iter().filter_map(small_memory));
    sentences
}

fn small_memory(buffer: &BufferFinding) -> Option<String> {
    let cost = buffer.small_over_large?;
    let interval = if is_bounded(&cost) {
        format!(
            "{} to {}, {}",
            percent(cost.low),
            percent(cost.high),
            rounds(cost.rounds)
        )
    } else {
        "interval not known from one round".into()
    };
    Some(format!(
        "Page size {} with {} instead of {} keeps {} of its throughput ({interval}).",
        buffer.page_size.get(),
        buffer.small,
        buffer.large,
        percent(cost.estimate),
    ))
}

fn equal_memory(buffer: &BufferFinding, default: PageSize) -> Option<String> {
    let (page, default, large) = (buffer.page_size.get(), default.get(), buffer.large);
    match buffer.equal_to_reference {
        EqualThroughput::About { memory } => Some(format!(
            "Page size {page} reaches with about {} what the default {default} does with {large} \
             (a line between the measured sizes, no interval).",
            whole_mib(memory)
        )),
        EqualThroughput::BelowSmallest { ratio } => Some(format!(
            "Page size {page} does with {} already {} of what the default {default} does with \
             {large} ({} to {}, {}).",
            buffer.small,
            percent(ratio.estimate),
            percent(ratio.low),
            percent(ratio.high),
            rounds(ratio.rounds),
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
        .memories
        .iter()
        .flat_map(|memory| &memory.cells)
        .filter_map(|cell| cell.per_transaction)
        .collect();
    let device: Vec<f64> = figures
        .iter()
        .filter_map(|figures| figures.device_reads_ratio)
        .collect();
    let how = if device.len() == figures.len() {
        "counted by the database's file layer and, independently, by the block device"
    } else if device.is_empty() {
        "counted by the database's file layer alone: no block device's counters were found"
    } else {
        "counted by the database's file layer, and by the block device in some cells"
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
    sentences.push(format!(
        "One read of a file took up to {} on average, one flush up to {} (means of the slowest \
         cell).",
        time(slowest),
        time(flush)
    ));
    sentences
}

/// Whether runs went past the page cache.
fn file_access(findings: &Findings) -> &'static str {
    match findings.storage_path {
        None => "not known: no run has a result",
        Some(StoragePath::PageCache) => {
            "buffered: through the kernel's page cache, without a limit"
        }
        Some(StoragePath::Direct) => "direct I/O, past the kernel's page cache",
        Some(StoragePath::None) => "none: nothing is stored",
    }
}

/// All conditions of the figures, as name and value.
pub(crate) fn conditions(findings: &Findings) -> Vec<(String, String)> {
    let plan = &findings.plan;
    let (warm_up, measured) = run_length(findings.run_length);
    let joined = |sizes: Vec<String>| sizes.join(", ");
    let mut conditions: Vec<(String, String)> = vec![
        (
            "workload".into(),
            format!(
                "{}, {} {}, {} {}, closed loop, no keying or think times",
                plan.workload,
                plan.warehouses,
                if plan.warehouses == 1 {
                    "warehouse"
                } else {
                    "warehouses"
                },
                plan.clients,
                if plan.clients == 1 {
                    "client"
                } else {
                    "clients"
                },
            ),
        ),
        (
            "page sizes".into(),
            format!(
                "{} bytes (default {})",
                joined(sizes(&plan.page_sizes)),
                plan.reference.get()
            ),
        ),
        (
            "memory".into(),
            joined(plan.memories.iter().map(ByteCount::to_string).collect()),
        ),
        ("data".into(), data(findings)),
        ("warm-up".into(), warm_up),
        ("measured".into(), measured),
        (
            "rounds".into(),
            format!(
                "n = {} complete, {} runs done, {} failed",
                findings.rounds,
                findings.runs_done,
                findings.runs_failed.len()
            ),
        ),
        ("file access".into(), file_access(findings).into()),
        ("database".into(), plan.database.clone()),
    ];
    conditions.extend(
        findings
            .database
            .iter()
            .map(|(name, value)| match name.as_str() {
                "version" => (format!("{} version", plan.database), value.clone()),
                "memory" => ("memory is".into(), value.clone()),
                _ => (name.replace('_', " "), value.clone()),
            }),
    );
    conditions.extend(findings.storage.iter().cloned());
    conditions.extend(
        findings
            .machine
            .iter()
            .map(|(name, value)| match name.as_str() {
                // Not the memory that the database was given.
                "memory" => ("machine's memory".into(), value.clone()),
                _ => (name.clone(), value.clone()),
            }),
    );
    conditions.extend([
        ("seed".into(), plan.seed.to_string()),
        (
            "margin".into(),
            format!("{} makes no difference", percent(plan.margin)),
        ),
        ("octavo".into(), findings.octavo.clone()),
        ("begun".into(), findings.created.clone()),
        ("time spent".into(), seconds(findings.spent_s)),
    ]);
    conditions
}

fn data(findings: &Findings) -> String {
    let all = findings.bases.iter().map(|base| base.size);
    let (Some(least), Some(most)) = (all.clone().min(), all.max()) else {
        return "not loaded yet".into();
    };
    let size = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most} by page size")
    };
    let times: Vec<String> = findings
        .plan
        .memories
        .iter()
        .filter(|memory| memory.get() > 0)
        .map(|memory| {
            format!(
                "{} times {memory}",
                number(least.get() as f64 / memory.get() as f64)
            )
        })
        .collect();
    format!("{size}, at least {}", list(&times, "and"))
}

fn run_length(length: Option<RunLength>) -> (String, String) {
    match length {
        None => ("no run yet".into(), "no run yet".into()),
        Some(RunLength::Time {
            warm_up_min,
            warm_up_max,
            measured,
        }) => (
            format!(
                "until the buffer was filled once, {} to {}",
                seconds(warm_up_min.as_secs_f64()),
                seconds(warm_up_max.as_secs_f64())
            ),
            format!("{} a run", seconds(measured.as_secs_f64())),
        ),
        Some(RunLength::Transactions { warm_up, measured }) => (
            format!("{warm_up} transactions a client"),
            format!("{measured} transactions a client and run"),
        ),
    }
}

/// The conditions that every chart's caption repeats.
pub(crate) fn caption(findings: &Findings) -> String {
    let (warm_up, measured) = run_length(findings.run_length);
    let clients = findings.plan.clients;
    format!(
        "{}, {} {}; {clients} {}; n = {}; warm-up {warm_up}; measured {measured}; {}",
        findings.plan.workload,
        findings.plan.warehouses,
        if findings.plan.warehouses == 1 {
            "warehouse"
        } else {
            "warehouses"
        },
        if clients == 1 { "client" } else { "clients" },
        rounds(findings.rounds),
        file_access(findings)
    )
}

/// What the reader may want to do next.
pub(crate) fn next_steps(findings: &Findings) -> Vec<String> {
    let mut steps = Vec::new();
    let open = findings
        .memories
        .iter()
        .any(|memory| matches!(memory.verdict, MemoryVerdict::Inconclusive { .. }));
    if open {
        steps.push(
            "Repeat the same command with a larger --budget: it keeps the rounds that are done \
             and adds new ones."
                .into(),
        );
    }
    let edge = findings
        .memories
        .iter()
        .find_map(|memory| match memory.verdict {
            MemoryVerdict::Use { page_size, .. }
                if findings.plan.page_sizes.last() == Some(&page_size)
                    && page_size < PageSize::MAX =>
            {
                Some(format!("--page-sizes with {} too", page_size.get() * 2))
            }
            MemoryVerdict::Use { page_size, .. }
                if findings.plan.page_sizes.first() == Some(&page_size)
                    && page_size > PageSize::MIN =>
            {
                Some(format!("--page-sizes with {} too", page_size.get() / 2))
            }
            _ => None,
        });
    if let Some(edge) = edge {
        steps.push(format!(
            "The best page size lies at the end of those measured: try {edge}, in a new directory."
        ));
    }
    if findings.plan.memories.len() == 1 {
        steps.push(
            "Give several --memory sizes to learn what a smaller or larger buffer is worth.".into(),
        );
    }
    steps.push(
        "Your own data and queries decide in the end: set the page size on a copy of your \
         database and compare there before you change the original."
            .into(),
    );
    steps
}

/// The word for a standing.
pub(crate) fn standing(standing: Option<Standing>, reference: bool) -> &'static str {
    match (standing, reference) {
        (_, true) => "default",
        (Some(Standing::Better), _) => "better",
        (Some(Standing::Worse), _) => "worse",
        (Some(Standing::Equivalent), _) => "no difference",
        (Some(Standing::Open), _) => "open",
        (None, _) => "not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn answers_say_what_to_do() {
        let findings = fixture::findings();
        assert_eq!(
            answers(&findings),
            [
                "With 32 MiB of memory: use page_size 8192: 12 % more new orders a minute than \
                 the default 4096 (9 % to 15 %, 5 rounds).",
                "With 8 MiB of memory: inconclusive: about 4 more rounds would settle it between \
                 4096 and 2048 (repeat the command with a larger --budget).",
            ]
        );
    }

    #[test]
    fn keeping_the_default_is_an_answer() {
        let mut findings = fixture::findings();
        let page = |bytes| PageSize::new(bytes).unwrap();
        findings.memories[0].verdict = MemoryVerdict::KeepDefault {
            page_size: page(4096),
            equivalent: vec![page(2048)],
            worse: vec![page(16384), page(65536)],
        };
        assert_eq!(
            answer(&findings, &findings.memories[0]),
            "With 32 MiB of memory: keep the default 4096: no page size gains more than 3 % \
             (16384 and 65536 are slower)."
        );
        findings.memories[0].cells.truncate(1);
        assert!(answer(&findings, &findings.memories[0]).contains("nothing to compare"));
    }

    #[test]
    fn one_round_and_no_round_are_told_apart() {
        let findings = fixture::one_round();
        let text = answers(&findings).join(" ");
        assert!(text.contains("one round alone"), "{text}");
        let text = answers(&fixture::empty()).join(" ");
        assert!(text.contains("for want of finished runs"), "{text}");
    }

    #[test]
    fn the_page_size_is_changed_outside_wal_mode() {
        let mut findings = fixture::findings();
        let typed = |findings: &Findings| -> Vec<String> {
            commands(findings, &findings.memories[0])
                .into_iter()
                .flat_map(|command| command.statements)
                .collect()
        };
        assert_eq!(
            typed(&findings),
            [
                "PRAGMA journal_mode = DELETE;",
                "PRAGMA page_size = 8192; VACUUM;",
                "PRAGMA journal_mode = WAL;",
                "PRAGMA cache_size = -32768;",
            ]
        );
        findings.plan.journal_mode = "delete".into();
        assert_eq!(
            typed(&findings),
            [
                "PRAGMA page_size = 8192; VACUUM;",
                "PRAGMA cache_size = -32768;"
            ]
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
                "Page sizes 2048 and 65536 do less with 32 MiB than the default 4096, on average: \
                 no smaller buffer makes up for that.",
                "Page size 2048 with 8 MiB instead of 32 MiB keeps 71 % of its throughput (66 % \
                 to 76 %, 5 rounds).",
            ]
        );
        assert!(buffers(&fixture::one_memory()).is_empty());
    }

    #[test]
    fn facts_of_one_cell_are_no_conditions() {
        let conditions = conditions(&fixture::findings());
        let of = |name: &str| -> Vec<&str> {
            conditions
                .iter()
                .filter(|(other, _)| other == name)
                .map(|(_, value)| value.as_str())
                .collect()
        };
        assert_eq!(of("page_size"), [""; 0]);
        assert_eq!(of("synchronous"), ["full"]);
        assert_eq!(of("memory"), ["8 MiB, 32 MiB"]);
        assert_eq!(
            of("data"),
            ["270 MiB to 310 MiB by page size, at least 33.8 times 8 MiB and 8.44 times 32 MiB"]
        );
        assert_eq!(of("rounds"), ["n = 5 complete, 50 runs done, 1 failed"]);
    }
}
