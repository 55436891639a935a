//! What a reader must know before believing figures: what happened, what it
//! means, and what to do.

mod own;

use octavo_experiment::{
    caveats::{BelowBlock, Caveat, MovedRatio, OverBudget, Severity, UnfilledCell, YoungPasses},
    findings::{Findings, WARM},
    lockstep::{HOSTS_MIN, HOSTS_QUOTED, Horizon},
    machine::{Cause, Disturbance},
    part::PartKind,
    plan::{Cell, Storage},
    record::Source,
};
use octavo_units::ByteCount;
use octavo_workload::Deviation;

use crate::{
    naming,
    number::{
        count, counted, factor, factors, first_of, join, list, number, percent, seconds, time, was,
    },
    parts, profile,
};

use own::NAMED_MAX;
pub(super) use own::{digested_part, recorded_part};
pub(crate) use own::{of_own, part_of_recording};

/// Cells whose warm-up did not fill the cache, those with most such runs first.
fn unfilled(cells: &[UnfilledCell], name: impl Fn(&Cell) -> String) -> String {
    let mut cells: Vec<&UnfilledCell> = cells.iter().collect();
    cells.sort_by_key(|cell| !cell.is_mostly());
    let named = |of: &&UnfilledCell| match of.runs == of.of {
        true => name(&of.cell),
        false => format!(
            "{} (in {} of {})",
            name(&of.cell),
            of.runs,
            counted(of.of, "run")
        ),
    };
    let mut names: Vec<String> = cells.iter().take(NAMED_MAX).map(named).collect();
    if let Some(more) = cells.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join("; ")
}

/// All caveats of an experiment, in their order: the worst first.
pub(crate) fn caveats(findings: &Findings) -> impl Iterator<Item = (Severity, String)> {
    let caveats = findings.caveats.iter();
    caveats.map(|caveat| (caveat.severity(), describe(findings, caveat)))
}

fn describe(findings: &Findings, caveat: &Caveat) -> String {
    let name = |cell: &Cell| findings.plan.cell_name(cell);
    let may_choose = caveat.severity() >= Severity::Choice && is_choice(findings);
    let another = match may_choose {
        true => ", and another choice may be the best",
        false => "",
    };
    match caveat {
        Caveat::DebugBuild => "A debug build measured this, so figures are too low. Use \
                               cargo run --release."
            .into(),
        Caveat::Predicted => {
            let check = match naming::is_of_policies(findings) {
                true => "",
                false => " Check a decision with octavo advise.",
            };
            format!(
                "Nothing here was measured. The intervals are of the inputs alone; how far models \
                 are from measurements is in docs/predictions.md, and devices of the catalog are \
                 modeled from data sheets and papers.{check}"
            )
        }
        Caveat::NeverCompared { database } => format!(
            "Nothing here was measured, nor was any {database} database: the model is made from \
             what is published of one (docs/predictions.md), and the processor's time is another \
             server's. Intervals assume CPU time within 50% and exact models. Try a decision on your \
             own server."
        ),
        Caveat::NotRecorded { what } => format!(
            "Octavo could not record {what}. Misses may be predicted up to a fifth too many; intervals \
             allow for it. Install what is missing and predict again."
        ),
        Caveat::TimedBeside {
            page_sizes,
            decides,
        } => format!(
            "Other programs, or the hypervisor, had more than a tenth of the processors while your statements \
             were timed with {page_sizes} pages: the processor's time there counts as known within 50%. {}",
            match decides {
                true => "Predict again when the machine is quiet.",
                false => "That hardly widens intervals.",
            }
        ),
        Caveat::ReplacedPolicy { is_bound } => {
            let bound = match is_bound {
                true => {
                    " opt is a bound for reads alone: it knows which page is next, and no \
                          database can have it. It may write more than others, so another may be \
                          faster."
                }
                false => "",
            };
            format!(
                "A replacement policy is part of a database's program: no setting has the database \
                 use another one.{bound}"
            )
        }
        Caveat::Grows { rows } => {
            let rows = number(*rows);
            let noun = if rows == "1" { "row" } else { "rows" };
            format!(
                "A transaction inserts {rows} {noun} on average, so the data grow and their pages \
                 change for long. These figures are of data not long after loading; --warm-up \
                 says how many transactions older they are to be (docs/predictions.md)."
            )
        }
        Caveat::Sampled {
            share,
            bytes,
            of,
            in_step,
        } => {
            let factor = number(of.get() as f64 / bytes.get().max(1) as f64);
            let memory = match in_step {
                true => format!(
                    "The ratio of memory to data carries over: 1 MiB of memory here stands for {factor} \
                     MiB on all of your rows."
                ),
                false => format!(
                    "1 MiB of memory here stands for less than {factor} MiB on all of your rows: of \
                     a small memory the buffer has a smaller part."
                ),
            };
            format!(
                "Only {share} of your rows were copied, {bytes} of {of}. {memory} Other rows may be \
                 used more, and indexes of all rows may be deeper. Statements with fixed values may \
                 name rows that were not copied. Copy more of them with a larger --sample."
            )
        }
        Caveat::SampledUnevenly { .. }
        | Caveat::Guessed { .. }
        | Caveat::Digested { .. }
        | Caveat::DigestsFailed { .. }
        | Caveat::CopyUnlike { .. }
        | Caveat::FoundNothing { .. }
        | Caveat::NothingSent
        | Caveat::RareScript { .. }
        | Caveat::SampleMissed { .. }
        | Caveat::RecordedInPart { .. }
        | Caveat::RecordedFailed { .. }
        | Caveat::RecordedAgain { .. }
        | Caveat::PaceNotKept { .. }
        | Caveat::RecordedBeginning { .. } => of_own(caveat).unwrap_or_default(),
        Caveat::FoundOther {
            statement,
            least,
            most,
        } => format!(
            "The same transactions found other rows in other cells: {statement}, {} to {} rows each \
             time. Page sizes are compared that did not do the same. A query whose first row is taken \
             needs an ORDER BY.",
            number(*least),
            number(*most)
        ),
        Caveat::InPart { part } => format!(
            "Rows, buffer and log were divided alike: {part} of them was predicted, which misses about \
             as often as all of it, and is some percent faster or slower (docs/predictions.md). \
             Without --part all is predicted."
        ),
        Caveat::NotPredicted { reason } => format!(
            "Not all page sizes were predicted first ({reason}), so those that were not are \
             measured."
        ),
        Caveat::MachineChanged { name, change } => format!(
            "The machine changed between sessions ({name}, {change}), so they may differ for that \
             reason. Start again in a new directory."
        ),
        Caveat::PageCache { runs, of } => page_cache(findings, *runs, *of),
        Caveat::MissesNotAtDevice { share } => format!(
            "Only {} of cache misses reached the disk in the worst cell, so figures may show the \
             OS cache. Use storage with direct I/O, or {}.",
            percent(*share),
            more(findings)
        ),
        Caveat::NoDeviceCounters => "The disk under the directory has no counters, so only the \
                                     database's own counts show that reads reached it. Name a \
                                     directory on a local disk to check."
            .into(),
        Caveat::NoReference { cell } => format!(
            "No run of {} gave a figure, so nothing can be compared with it. See the failed runs \
             (octavo report --verbose).",
            name(cell)
        ),
        Caveat::Disturbed(disturbance) => {
            let words = disturbed(disturbance);
            match may_choose {
                true => words.replacen(TOO_LOW, "so another choice may be the best", 1),
                false => words,
            }
        }
        Caveat::BufferNotFilled { cells, .. } => not_filled(findings, cells, another),
        Caveat::SharedBlocks => "Copies share blocks with the loaded data (reflink), so the first \
                                 write of each block costs more than in use. Use ext4, or XFS \
                                 without reflink, to check."
            .into(),
        Caveat::PageBelowBlock { storages } => page_below_block(findings, storages),
        Caveat::Misaligned {
            offset,
            block,
            storage,
        } => format!(
            "The file system{} begins {} bytes into its device, which is no multiple of {block}, so \
             pages lie across its blocks. Align the partition, and measure again.",
            of_storage(storage),
            count(offset.get())
        ),
        Caveat::ReadsPerMiss { cell, reads } => format!(
            "The disk read up to {} times per cache miss ({}): others read too, or read-ahead does. Stop \
             others, or lower read_ahead_kb.",
            number(*reads),
            name(cell)
        ),
        Caveat::Screened {
            slow,
            foreign_traffic,
            of,
        } => screened(findings, *slow, *foreign_traffic, *of, caveat.severity()),
        Caveat::SittingsApart { cell, factor } => sittings_apart(findings, cell, *factor),
        Caveat::StillWarming { cells, fall, .. } => still_warming(findings, cells, *fall, another),
        Caveat::MissesRose { cells, factor, .. } => misses_rose(findings, cells, *factor, another),
        Caveat::NoCheckpoint { cell, log, share } => format!(
            "No checkpoint came with {} (at most {log} of log on one copy), so writing changed pages back is \
             in none of its figures: up to {} more time a transaction{another}. {}",
            name(cell),
            percent(*share),
            until_checkpoint(findings)
        ),
        Caveat::Credit {
            cell,
            share,
            limit,
            slice_s,
            transactions,
        } => {
            let (rate, credit) = (profile::rate(limit), profile::credit(limit));
            let too_fast = format!("{} may be up to {} too fast", name(cell), percent(*share));
            match transactions {
                Some(transactions) => format!(
                    "After a rest of {} the storage serves {credit} at once, beyond its limit of {rate}. \
                     Cells rest while others have their turn, so {too_fast} with slices of {}{another}. \
                     Measure again in a new directory with --transactions {transactions} or a larger --budget.",
                    time(limit.refill_s * 1e6),
                    time(slice_s * 1e6),
                ),
                None => format!(
                    "After a long rest the storage serves {credit} beyond its limit of {rate}. Cells rest \
                     while others have their turn, so {too_fast}{another}. No slice is long enough to \
                     avoid that: measure each cell alone with octavo bench, once that credit is used up.",
                ),
            }
        }
        Caveat::HardlyMerged { cell, files } => format!(
            "{} with {}, so its figures know little of writing and merging files, and of what more files \
             cost reads{another}. {}",
            match files {
                0 => "No write buffer was written to a file".to_owned(),
                1 => "Only one write buffer was written to a file".to_owned(),
                files => format!("Only {files} write buffers were written to files"),
            },
            name(cell),
            until_checkpoint(findings)
        ),
        Caveat::RatioMoved {
            cells,
            transactions,
        } => ratio_moved(findings, cells, *transactions, another),
        Caveat::Young { groups } => young(findings, groups),
        Caveat::Uneven { cell, ratio, .. } => format!(
            "Over all its time, {} has {} times the throughput of what it is compared with, outside \
             of its interval: rare heavy work is in few batches{another}. Use more --transactions.",
            name(cell),
            number(*ratio)
        ),
        Caveat::PaceChanged { cell, factor } => format!(
            "{} ran {} as fast in one quarter of its batches as in another, so throughputs are means \
             of unlike minutes. Ratios compare the same minutes.",
            naming::capital(&name(cell)),
            self::factor(*factor)
        ),
        Caveat::SmallData { data, memory } if data <= memory => format!(
            "The data ({}) fits in the largest memory ({memory}), so with that, reads come from the \
             cache, not from your disk. Use {}.",
            size(findings, *data),
            more_data(findings, *data)
        ),
        Caveat::SmallData { data, memory } => format!(
            "The data ({}) is less than 8 times the largest memory ({memory}), so \
             {} of it fits in the cache. Use {}.",
            size(findings, *data),
            percent(memory.get() as f64 / data.get() as f64),
            more_data(findings, *data)
        ),
        Caveat::RunsLost {
            runs,
            unchecked,
            of,
            reason,
        } => runs_lost(*runs, *unchecked, *of, reason),
        Caveat::DoNotFit { page_sizes, reason } => {
            let sizes: Vec<String> = page_sizes.iter().map(ToString::to_string).collect();
            let end = if reason.ends_with(['.', '!', ')']) {
                ""
            } else {
                "."
            };
            format!(
                "Your data cannot have {} pages, so these are not measured: {reason}{end}",
                list(&sizes, "or")
            )
        }
        Caveat::OverBudget(OverBudget {
            passes,
            budget_s,
            took_s,
        }) => format!(
            "Passes took longer than the budget allows: {passes} are the fewest that compare \
             anything, and were over after {}, not {}. Use a larger --budget, or fewer cells.",
            seconds(*took_s),
            seconds(*budget_s)
        ),
        Caveat::FewHosts { hosts } => few_hosts(*hosts),
        Caveat::OneMachine { hosts } => format!(
            "{} are one machine under several names, or copies of a running one: they had the same boot. \
             Intervals take them for several hosts. Name each machine once (--host).",
            first_of(hosts)
        ),
        Caveat::PartsCutOff { kind, cut_off, of } => format!(
            "{cut_off} of {} {} cut off or {} still at work. Merge again when all are done.",
            counted(*of, kind.name()),
            if *cut_off == 1 { "was" } else { "were" },
            if *cut_off == 1 { "is" } else { "are" },
        ),
        Caveat::OtherClasses {
            hosts,
            others,
            changed,
        } => other_classes(*hosts, *others, *changed),
        Caveat::HostsShort { hosts, of, wanted } => {
            let (has, weighs) = match hosts.len() {
                1 => ("has", "weighs"),
                _ => ("have", "weigh"),
            };
            format!(
                "{} of {} {has} fewer than {wanted} passes and {weighs} as much as the others: {}{another}. Carry \
                 out another sitting there, and merge again.",
                hosts.len(),
                counted(*of, "host"),
                first_of(hosts)
            )
        }
        Caveat::SameFigures { hosts } => format!(
            "{} have exactly the same ratios, as copies of one store have. Intervals take them for several \
             hosts. Merge each store once.",
            first_of(hosts)
        ),
        Caveat::HostsAgainst {
            group,
            level,
            hosts,
            of,
        } => format!(
            "{} of {} {} the opposite of {}: {}. What is best on the mean of hosts is not best on each.",
            hosts.len(),
            counted(*of, "host"),
            match hosts.len() {
                1 => "says",
                _ => "say",
            },
            named_level(findings, group, level),
            first_of(hosts)
        ),
        Caveat::LevelOnFewHosts {
            group,
            level,
            hosts,
            of,
        } => format!(
            "{} gave figures on {hosts} of {} alone{}, which may be the faster ones. Reasons: octavo \
             report --verbose.",
            named_level(findings, group, level),
            counted(*of, "host"),
            match *hosts < HOSTS_MIN && findings.is_over_hosts() {
                true => ", too few to decide",
                false => "",
            }
        ),
        Caveat::LevelInFewSittings {
            group,
            level,
            sittings,
            of,
        } => format!(
            "{} gave figures in {sittings} of {} alone, so its ratio is of other sittings than those of other \
             levels. Reasons: octavo report --verbose.",
            named_level(findings, group, level),
            counted(*of, "sitting")
        ),
        Caveat::PartsMissing {
            kind,
            missing,
            of,
            on,
        } => {
            let lost = match on.as_slice() {
                [] => String::new(),
                on => format!(" Attempts were lost on {}.", list(on, "and")),
            };
            let numbers = findings
                .fleet
                .as_ref()
                .map(|fleet| fleet.missing.as_slice());
            let numbers = parts::named(*kind, numbers.unwrap_or_default());
            let counts = u32::try_from(*missing).is_ok_and(|missing| missing < *of);
            format!(
                "{}: {numbers} ({missing} of {of}).{lost}{}",
                match counts {
                    true => "Missing",
                    false => "Nothing counts yet. Missing",
                },
                match kind {
                    PartKind::Sitting if !counts => {
                        " One that is done counts, and one with 8 passes in each cell. Merge again then."
                    }
                    PartKind::Sitting => {
                        " Slow hosts fail more often, so those that are here may be the faster ones."
                    }
                    PartKind::Shard => " Predict what is missing, and merge again.",
                }
            )
        }
        Caveat::SmallClassAgainst { hosts } => {
            let have = if hosts.len() == 1 { "has" } else { "have" };
            format!(
                "{} of {} {have} another answer: {}. Classes so small say nothing of other hosts. All answers: \
                 octavo report --verbose.",
                counted(hosts.len(), "host"),
                match hosts.len() {
                    1 => "another class",
                    _ => "other classes",
                },
                first_of(hosts)
            )
        }
        Caveat::ClassesDiffer { classes, of } => format!(
            "The {classes} classes {} do not have the same answer. This one is of the first class that octavo \
             report DIR --verbose lists.",
            match classes == of {
                true => "of hosts".to_owned(),
                false => format!("with enough hosts (of {of})"),
            }
        ),
        Caveat::RunsFailed { runs } => format!(
            "{} failed and gave no figures. Reasons: octavo report --verbose.",
            counted(*runs, "run")
        ),
    }
}

/// A level as tables have it.
fn named_level(findings: &Findings, group: &str, level: &str) -> String {
    let mut cells = naming::cells(findings).filter(|cell| cell.level == level);
    let name = cells
        .next()
        .map_or_else(|| level.to_owned(), |cell| naming::cell(findings, cell));
    match group {
        "" => name,
        group => format!("{name} with {group}"),
    }
}

/// That other classes have answers of their own, with each host once.
fn other_classes(hosts: usize, others: usize, changed: usize) -> String {
    let others = (others > 0).then(|| match others {
        1 => "1 host is of other classes.".to_owned(),
        _ => format!("{others} hosts are of other classes."),
    });
    let changed = (changed > 0).then(|| match (hosts, changed) {
        (1, _) => "The same host also has sittings of other classes.".to_owned(),
        (all, some) if all == some => {
            "The same hosts also have sittings of other classes.".to_owned()
        }
        (_, 1) => "1 of these also has sittings of other classes.".to_owned(),
        (_, some) => format!("{some} of these also have sittings of other classes."),
    });
    let said = changed.into_iter().chain(others);
    format!(
        "This is the answer of {}. {} See octavo report DIR --verbose for the other answers.",
        counted(hosts, "host"),
        join(said, " ")
    )
}

/// What so few hosts tell.
fn few_hosts(hosts: usize) -> String {
    let measured = counted(hosts, "host");
    match hosts < HOSTS_MIN {
        true => format!(
            "Measured on {measured} of this class, so this is the answer of {}: from {HOSTS_MIN} hosts on, \
             intervals are of the mean of such hosts.",
            match hosts {
                1 => "one machine",
                _ => "these machines",
            }
        ),
        false => format!(
            "Measured on {measured} of this class: too few to say by how much. Quote figures from \
             {HOSTS_QUOTED} hosts on."
        ),
    }
}

/// That passes were left out, by their reasons.
fn screened(
    findings: &Findings,
    slow: usize,
    foreign_traffic: usize,
    of: usize,
    severity: Severity,
) -> String {
    format!(
        "{} of {} {} left out ({}), so {}. Stop other programs: find them with iotop.",
        slow + foreign_traffic,
        counted(of, "pass"),
        was(slow + foreign_traffic),
        left_out_for(slow, foreign_traffic),
        match severity >= Severity::Choice {
            _ if !is_choice(findings) => "fewer count",
            true => "those that are left may not be the usual ones",
            false => "fewer are left to compare",
        }
    )
}

/// Which pages are below which blocks, and what to compare where only one file system was measured.
fn page_below_block(findings: &Findings, storages: &[BelowBlock]) -> String {
    let one = |of: &BelowBlock| {
        let sizes = of.page_sizes.iter().map(ToString::to_string);
        let (sizes, block) = (list(sizes, "and"), of.block);
        match &of.storage {
            Storage::Own => format!("{sizes} below {block}"),
            storage => format!("{sizes} below {block} of {}", storage.name()),
        }
    };
    let which = storages.iter().map(one).collect::<Vec<_>>().join("; ");
    let advice = match findings.plan.storages.as_slice() {
        [Storage::Own] => " Compare with octavo advise --file-systems ext4:1K,ext4:4K.",
        _ => "",
    };
    format!(
        "Pages are smaller than the blocks of the file system ({which}), so a write through the OS cache \
         may take a whole block, and read it before.{advice}"
    )
}

/// Which storage, where there may be others.
fn of_storage(storage: &Storage) -> String {
    match storage {
        Storage::Own => String::new(),
        storage => format!(" of {}", storage.name()),
    }
}

/// That sittings of a cell do not agree, and how to have more of them.
fn sittings_apart(findings: &Findings, cell: &Cell, factor: f64) -> String {
    format!(
        "Sittings of {} differ up to {}, so where files lie matters more than \
     intervals show.{}",
        findings.plan.cell_name(cell),
        self::factor(factor),
        // What left is not measured any more.
        match naming::cells(findings).any(|of| of.cell == *cell && of.left.is_some()) {
            true => "",
            false => match findings.horizon {
                Some(Horizon::Passes { .. }) => " Use more --passes for more sittings.",
                _ => " Use a larger --budget for more sittings.",
            },
        }
    )
}

/// That runs lost their database after slices that count.
fn runs_lost(runs: usize, unchecked: usize, of: usize, reason: &str) -> String {
    format!(
        "{runs} of {} lost their database ({reason}), so their figures are those before.{}",
        counted(of, "run"),
        match unchecked {
            0 => String::new(),
            runs => format!(
                " The rows of {} could not be checked.",
                counted(runs, "run")
            ),
        }
    )
}

/// What SQLite says of its memory with `--os-cache whole`.
const HOLDS_ALL: &str = "the OS holds all";

/// Whether a database says this of its memory: docs/servers.md.
fn is_said_of_memory(findings: &Findings, text: &str) -> bool {
    let mut said = findings.database.iter();
    said.any(|(name, value)| name.ends_with("memory") && value.contains(text))
}

/// What the OS cache did in so many runs of all: `went beyond its limit in 4 of 12 runs`.
pub(crate) fn page_cache_did(findings: &Findings, runs: usize, of: usize) -> String {
    let is_said = |text| is_said_of_memory(findings, text);
    let what = match (is_said("held to that"), is_said("has no limit")) {
        _ if is_said(HOLDS_ALL) => "did not hold the whole file",
        (true, true) => "had no limit or went beyond it",
        (true, false) => "went beyond its limit",
        (false, _) => "had no limit",
    };
    format!("{what} in {runs} of {}", counted(of, "run"))
}

/// That the OS cache answered, and what to do about it.
fn page_cache(findings: &Findings, runs: usize, of: usize) -> String {
    let is_said = |text| is_said_of_memory(findings, text);
    let is_limited = is_said("held to that");
    let is_without = is_said("has no limit");
    let what = page_cache_did(findings, runs, of);
    let remedy = match is_without && !is_said("no direct I/O") {
        true => "Run as root, or with direct I/O.",
        // One that runs in this process has no other way.
        false if is_limited && is_said("this process") => "Use more --memory.",
        false if is_limited => "Use a version with direct I/O.",
        false if is_said(HOLDS_ALL) => "Measure fewer page sizes at once, or with --os-cache none.",
        false => "Use a file system with direct I/O.",
    };
    let shown = match is_said(HOLDS_ALL) {
        true => "your disk, not RAM",
        false => "RAM, not your disk",
    };
    format!("The OS cache {what}, so figures may show {shown}. {remedy}")
}

/// That cells missed more than when warm, by how full their caches were.
fn not_filled(findings: &Findings, cells: &[UnfilledCell], another: &str) -> String {
    let cells = unfilled(cells, |cell| findings.plan.cell_name(cell));
    if !findings.warmed {
        return format!(
            "The budget left no time to warm up {cells}, so more may have been missed than \
             when warm{another}. Use a larger --budget."
        );
    }
    format!(
        "The warm-up did not fill the cache of {cells}, so more may have been missed than when \
         warm{another}. Use {}.",
        match findings.plan.ramp {
            Some(_) => "a longer step in [clients]",
            None => longer(findings),
        }
    )
}

/// That cells missed more than when warm, by how their misses fell.
fn still_warming(findings: &Findings, cells: &[Cell], fall: f64, another: &str) -> String {
    let others = match cells.len() {
        0 | 1 => String::new(),
        all => format!(
            " (and those of {} by more than {})",
            counted(all - 1, "other cell"),
            percent(1.0 - WARM)
        ),
    };
    format!(
        "Cache misses of {} fell by {} while {}{others}, so caches were not warm yet{another}. \
         Use {}.",
        cells
            .first()
            .map_or_else(String::new, |cell| findings.plan.cell_name(cell)),
        percent(fall),
        findings.source.name(),
        longer(findings)
    )
}

/// That cells missed less than they will, by how their misses rose.
fn misses_rose(findings: &Findings, cells: &[Cell], factor: Option<f64>, another: &str) -> String {
    let others = match cells.len() {
        0 | 1 => String::new(),
        all => format!(" (and of {} too)", counted(all - 1, "other cell")),
    };
    let rose = match factor {
        Some(factor) => format!("rose to {} times as many", number(factor)),
        None => "began".into(),
    };
    format!(
        "Cache misses of {} {rose} while {}{others}: its data grows, or more of it is used. Later \
         there are other figures{another}. Use {}.",
        cells
            .first()
            .map_or_else(String::new, |cell| findings.plan.cell_name(cell)),
        findings.source.name(),
        longer(findings)
    )
}

/// Ratios with both ends: `16 KiB pages from 0.64x to 0.79x; 2 more`.
fn movements<'a>(
    findings: &Findings,
    cells: impl ExactSizeIterator<Item = &'a MovedRatio>,
) -> String {
    let more = cells.len().saturating_sub(NAMED_MAX);
    let named = |of: &MovedRatio| {
        let name = findings.plan.cell_name(&of.cell);
        let [first, last] = factors([of.movement.first, of.movement.last]);
        format!("{name} from {first} to {last}")
    };
    let mut names: Vec<String> = cells.take(NAMED_MAX).map(named).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join("; ")
}

/// That the beginning of sittings does not count.
fn young(findings: &Findings, groups: &[YoungPasses]) -> String {
    let passes = groups.iter().map(|group| group.passes).max().unwrap_or(0);
    let up_to = if groups.len() > 1 { "up to " } else { "" };
    format!(
        "Ratios moved while the copies grew older: {}. So {up_to}{} at the beginning of each sitting \
         do not count.",
        movements(findings, groups.iter().map(|group| &group.moved)),
        counted(u64::from(passes), "pass")
    )
}

/// Ratios that are others of older copies.
fn ratio_moved(
    findings: &Findings,
    cells: &[MovedRatio],
    transactions: u64,
    another: &str,
) -> String {
    let budget = match (findings.source, findings.horizon) {
        (Source::Predicted, _) | (_, Some(Horizon::Passes { .. })) => "",
        _ => ", with a larger --budget",
    };
    format!(
        "Ratios moved within {} on the copies: {}. Older data may differ more{another}. Let copies grow \
         older first: --warm-up {}{budget}.",
        counted(transactions, "transaction"),
        movements(findings, cells.iter()),
        transactions.saturating_mul(5)
    )
}

/// What makes data larger than memory: less of it too where a memory of the plan, which the
/// database takes, is an eighth of the data.
fn more_data(findings: &Findings, data: ByteCount) -> String {
    let mut memories = findings.plan.memories.iter();
    if findings.plan.own.is_some() {
        return more(findings);
    }
    let or_memory = match memories.any(|memory| memory.get().saturating_mul(8) <= data.get()) {
        true if is_of_file(findings) => " or less memory",
        true => " or less --memory",
        false => "",
    };
    more(findings) + or_memory
}

/// What gives caches time to become warm. Predictions have no budget, and passes that are
/// counted heed none.
fn longer(findings: &Findings) -> &'static str {
    let own = findings.plan.own.as_ref();
    let is_used_up = |caveat: &Caveat| matches!(caveat, Caveat::RecordedAgain { .. });
    let is_recorded = own.is_some_and(|own| own.recording.is_some());
    // A longer warm-up would only send it once more.
    if is_recorded && findings.caveats.iter().any(is_used_up) {
        return "a longer recording";
    }
    match (findings.source, findings.horizon) {
        (Source::Predicted, _) | (_, Some(Horizon::Passes { .. })) => "a longer --warm-up",
        _ => "a longer --warm-up and a larger --budget for it",
    }
}

/// What has cells measured until a checkpoint comes.
fn until_checkpoint(findings: &Findings) -> &'static str {
    let own = findings.plan.own.as_ref();
    match findings.horizon {
        _ if own.is_some_and(|own| own.recording.is_some()) => "Use a longer recording.",
        Some(Horizon::Passes { .. }) => "Use more --passes.",
        // What is added to a budget has sittings as long as those before.
        _ => "Use a larger --budget, in a new directory.",
    }
}

/// `slow`, or of several reasons how many each: `1 slow and 2 with more disk traffic ...`.
fn left_out_for(slow: usize, foreign_traffic: usize) -> String {
    let reasons = [
        (slow, "slow"),
        (
            foreign_traffic,
            "with more disk traffic of other programs than usual",
        ),
    ];
    let reasons: Vec<_> = reasons
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .collect();
    match reasons.as_slice() {
        [(_, only)] => (*only).to_owned(),
        all => {
            let all = all
                .iter()
                .map(|(count, reason)| format!("{count} {reason}"));
            list(all, "and")
        }
    }
}

/// What a disturbance means for figures.
const TOO_LOW: &str = "so figures may be too low";

/// What disturbed runs, and what to do about it.
pub(crate) fn disturbed(disturbance: &Disturbance) -> String {
    let Disturbance {
        cause,
        runs,
        of,
        worst,
    } = disturbance;
    let amount = match cause {
        Cause::Swapping => format!("{} pages", count(*worst as u64)),
        _ => percent(*worst),
    };
    let runs = match of {
        1 => String::new(),
        of => format!(" in {runs} of {of} runs"),
    };
    let (what, remedy) = match cause {
        Cause::Steal => (
            "The hypervisor took away up to {} of the CPU",
            "Measure on reserved CPUs: other virtual machines share these, or a CPU quota ran out.",
        ),
        Cause::OtherPrograms => (
            "Other programs used up to {} of the CPU",
            "Find them with top and stop them before measuring.",
        ),
        Cause::CpuLimit => (
            "The CPU limit of the container or cgroup stopped Octavo in up to {} of its periods",
            "Raise the limit, unless the database will have the same.",
        ),
        Cause::MemoryPressure => (
            "Programs waited for memory up to {} of the time",
            "Free memory, or raise the container's limit.",
        ),
        Cause::Swapping => (
            "The machine swapped up to {}",
            "The cache may have been on the swap device. Free memory before measuring.",
        ),
        Cause::StoragePressure => (
            "Other programs waited for storage up to {} of the time",
            "Find them with iotop or pidstat -d.",
        ),
    };
    format!("{}{runs}, {TOO_LOW}. {remedy}", what.replace("{}", &amount))
}

/// Whether anything is chosen by these figures.
fn is_choice(findings: &Findings) -> bool {
    findings.groups.iter().any(|group| group.cells.len() > 1)
}

/// How much data there is, as the heading has it: the least of several sizes.
fn size(findings: &Findings, least: ByteCount) -> String {
    let least = least.to_string();
    match super::place::data(findings) {
        Some(all) if all != least => format!("at least {least}"),
        _ => least,
    }
}

/// What makes the data larger beside the memory. Rows of the user's own are as many as they are.
fn more(findings: &Findings) -> String {
    match findings.plan.own {
        Some(_) => "less --memory".into(),
        None => format!("more data ({})", scale(findings)),
    }
}

/// The option, or the plan's key, that sets the amount of data.
fn scale(findings: &Findings) -> String {
    let data = findings.plan.data.first();
    data.map_or_else(String::new, |data| {
        let name = data.kind().scale().name;
        match is_of_file(findings) {
            true => format!("{name} in the plan"),
            false => format!("--{name}"),
        }
    })
}

/// Whether the plan is in a file, which says what options say elsewhere.
fn is_of_file(findings: &Findings) -> bool {
    let command = findings.command.as_deref().unwrap_or_default();
    findings.fleet.is_some() || command.starts_with("octavo run ")
}

/// How a bench deviates from its workload's specification.
pub(crate) fn deviation(deviation: &Deviation) -> String {
    match deviation {
        Deviation::MixBelowMinimum => "The mix is not TPC-C's, which has at least 43% Payment, \
                                       4% Order-Status, 4% Delivery and 4% Stock-Level."
            .into(),
        Deviation::Reports { share } => format!(
            "{} of the transactions are reports, which TPC-C does not have.",
            percent(*share)
        ),
        Deviation::Terminals {
            terminals,
            specified,
        } => format!(
            "{} instead of the {} that TPC-C specifies at this scale.",
            counted(*terminals, "terminal"),
            count(u64::from(*specified))
        ),
        Deviation::Scale {
            customers,
            trade_days,
            scale_factor,
        } => format!(
            "{} customers, {} of trades and a scale factor of {scale_factor} are not what TPC-E \
             specifies, which is at least 5,000, 300 days and 500. Tables that grow are of other \
             sizes beside those that do not.",
            count(*customers),
            counted(*trade_days, "day"),
        ),
        Deviation::OtherMix => "The mix is not TPC-E's.".into(),
        Deviation::FewBranches {
            connections,
            branches,
        } => format!(
            "{} share {}, so this measures lock waits where the database locks rows. Choose a \
             --scale of at least {connections}, or pgbench-simple-update.",
            counted(*connections, "connection"),
            if *branches == 1 {
                "1 branch".into()
            } else {
                format!("{branches} branches")
            },
        ),
        Deviation::BlankRows => "The wider rows are filled with blanks, which a database may \
                                 compress. PostgreSQL does so in rows of more than about a \
                                 quarter of a page."
            .into(),
        Deviation::NotCore {
            mix,
            distribution,
            core,
        } => format!(
            "The mix {mix} with the distribution {distribution} is not {}'s.",
            naming::workload(core)
        ),
        Deviation::HotRecordsChange { records } => format!(
            "Beyond {} records, which inserts may reach, other records become hot. Load more \
             records for a longer run.",
            count(*records)
        ),
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::limit::{Limit, Quantity};

    use super::*;

    #[test]
    fn passes_are_left_out_for_reasons_that_there_were() {
        let findings = crate::fixture::one_memory();
        let said = |slow, foreign_traffic| {
            let caveat = Caveat::Screened {
                slow,
                foreign_traffic,
                of: 8,
            };
            super::describe(&findings, &caveat)
        };
        assert!(said(1, 0).starts_with("1 of 8 passes was left out (slow), so"));
        assert!(
            said(1, 2).starts_with(
                "3 of 8 passes were left out (1 slow and 2 with more disk traffic of other \
                 programs than usual), so"
            ),
            "{}",
            said(1, 2)
        );
    }

    #[test]
    fn less_memory_is_advised_where_the_database_takes_an_eighth_of_the_data() {
        let mut findings = crate::fixture::findings();
        let least = *findings.plan.memories.iter().min().unwrap();
        let said = |data: u64| {
            let memory = ByteCount::mib(32);
            let data = ByteCount::new(data);
            super::describe(&findings, &Caveat::SmallData { data, memory })
        };
        let eighth = 8 * least.get();
        assert!(
            said(eighth).ends_with(") or less --memory."),
            "{}",
            said(eighth)
        );
        assert!(said(eighth - 1).ends_with("Use more data (--warehouses)."));
        findings.command = Some("octavo run plan.toml".into());
        let said = super::describe(
            &findings,
            &Caveat::SmallData {
                data: ByteCount::new(eighth),
                memory: ByteCount::mib(32),
            },
        );
        assert!(
            said.ends_with("Use more data (warehouses in the plan) or less memory."),
            "{said}"
        );
    }

    #[test]
    fn root_is_asked_for_where_it_helps() {
        let mut findings = crate::fixture::one_memory();
        let mut said = |memory: &str| {
            findings.database = vec![("memory".into(), memory.into())];
            super::describe(&findings, &Caveat::PageCache { runs: 4, of: 12 })
        };
        let without = said("shared_buffers, seven eighths of it; the page cache has no limit: no");
        assert!(without.contains("had no limit") && without.contains("Run as root"));
        let mixed = said("all in one buffer (cache_size); the OS holds all of the file besides");
        assert!(
            mixed.contains(
                "did not hold the whole file in 4 of 12 runs, so figures may show your disk,"
            ) && mixed.contains("--os-cache"),
            "{mixed}"
        );
        let beyond = said("shared_buffers, and an eighth of page cache, held to that together");
        assert!(
            beyond.contains("went beyond its limit in 4 of 12 runs,") && !beyond.contains("root")
        );
        let other = said("all in one buffer (cache_size)");
        assert!(other.contains("had no limit") && !other.contains("root"));
    }

    #[test]
    fn what_left_gets_no_more_sittings() {
        let mut findings = crate::fixture::one_memory();
        let cell = &mut findings.groups[0].cells[2];
        cell.left = None;
        let caveat = Caveat::SittingsApart {
            cell: cell.cell.clone(),
            factor: 1.4,
        };
        assert!(super::describe(&findings, &caveat).contains("larger --budget"));
        findings.groups[0].cells[2].left = Some(octavo_experiment::lockstep::Departure {
            sitting: 0,
            pass: 9,
            measured: std::time::Duration::from_secs(1),
            why: octavo_experiment::lockstep::DepartureReason::Slower,
        });
        assert!(!super::describe(&findings, &caveat).contains("--budget"));
    }

    #[test]
    fn memory_of_a_sample_is_in_step_or_not() {
        let findings = crate::fixture::one_memory();
        let said = |in_step| {
            let caveat = Caveat::Sampled {
                share: octavo_workload::user::Share::try_from(0.1).unwrap(),
                bytes: ByteCount::mib(100),
                of: ByteCount::mib(1000),
                in_step,
            };
            super::describe(&findings, &caveat)
        };
        assert!(said(true).contains("carries over: 1 MiB of memory here stands for 10"));
        assert!(said(false).contains("1 MiB of memory here stands for less than 10"));
        assert!(!said(false).contains("carries over"));
    }

    #[test]
    fn moved_ratios_have_both_ends_and_the_remedy() {
        let findings = crate::fixture::stores::moved();
        let said = super::describe(&findings, &findings.caveats[0]);
        assert_eq!(
            said,
            "Ratios moved within 28,800 transactions on the copies: 2 KiB pages from 0.79x to 0.92x. Older \
             data may differ more, and another choice may be the best. Let copies grow older first: \
             --warm-up 144000, with a larger --budget."
        );
        let said = super::describe(&findings, &findings.caveats[1]);
        assert_eq!(
            said,
            "No checkpoint came with 2 KiB pages (at most 11 MiB of log on one copy), so writing changed pages \
             back is in none of its figures: up to 25% more time a transaction, and another choice may be the \
             best. Use a larger --budget, in a new directory."
        );
        let said = super::describe(&findings, &findings.caveats[2]);
        assert_eq!(
            said,
            "Ratios moved while the copies grew older: 2 KiB pages from 0.63x to 0.79x. So 40 passes at the \
             beginning of each sitting do not count."
        );
    }

    #[test]
    fn a_credit_has_its_bound_and_slices_that_would_do() {
        let findings = crate::fixture::stores::moved();
        let said = |requests, credit, transactions| {
            let caveat = Caveat::Credit {
                cell: findings.groups[0].cells[0].cell.clone(),
                share: 0.09,
                limit: Limit::with_credit(Quantity::Requests, requests, credit),
                slice_s: 0.55,
                transactions,
            };
            super::describe(&findings, &caveat).replace('\u{a0}', " ")
        };
        assert_eq!(
            said(3_000, 150, Some(180)),
            "After a rest of 50.0 ms the storage serves 150 requests at once, beyond its limit of 3,000 \
             requests/s. Cells rest while others have their turn, so 2 KiB pages may be up to 9% too fast with \
             slices of 550 ms, and another choice may be the best. Measure again in a new directory with \
             --transactions 180 or a larger --budget."
        );
        let burst = said(300, 5_400_000, None);
        assert!(
            burst.contains("octavo bench") && !burst.contains("--transactions"),
            "{burst}"
        );
    }

    #[test]
    fn data_has_the_size_of_the_heading() {
        let findings = crate::fixture::findings();
        let heading = super::super::place::data(&findings).unwrap();
        let data = findings
            .snapshots
            .iter()
            .map(|of| of.size)
            .find(|size| size.to_string() == heading)
            .unwrap();
        let caveat = Caveat::SmallData {
            data,
            memory: ByteCount::mib(64),
        };
        let said = super::describe(&findings, &caveat);
        assert!(
            said.starts_with(&format!("The data ({heading}) ")),
            "{said}"
        );
    }

    #[test]
    fn disturbances_name_the_runs_and_the_remedy() {
        let of = |of| Disturbance {
            cause: Cause::OtherPrograms,
            runs: 1,
            of,
            worst: 0.34,
        };
        assert_eq!(
            disturbed(&of(4)),
            "Other programs used up to 34% of the CPU in 1 of 4 runs, so figures may be too low. \
             Find them with top and stop them before measuring."
        );
        assert!(disturbed(&of(1)).starts_with("Other programs used up to 34% of the CPU, "));
        let swapped = Disturbance {
            cause: Cause::Swapping,
            worst: 16384.0,
            ..of(1)
        };
        assert!(disturbed(&swapped).contains("up to 16,384 pages"));
    }
}
