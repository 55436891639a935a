//! Under which conditions the figures were measured.

use octavo_database::StoragePath;
use octavo_experiment::{
    caveats::Caveat,
    findings::Findings,
    plan::{Design, Factor, Level, Storage},
    record::Source,
    store::DATA_SIZE,
};
use octavo_workload::{
    DataSpec,
    user::{Own, OwnDigests, OwnRecording},
};

use super::{
    caveat::{digested_part, page_cache_did, recorded_part},
    place::young_passes,
};
use crate::{
    naming,
    number::{counted, distinct, join, list, number, percent, seconds},
};

/// All conditions of the figures, as name and value.
pub(crate) fn conditions(findings: &Findings) -> Vec<(String, String)> {
    let plan = &findings.plan;
    let mut conditions: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| conditions.push((name.into(), value));
    if let Some(name) = &plan.name {
        add("experiment", name.clone());
    }
    add(
        "workload",
        match plan.pace() {
            Some(pace) => format!("{}, at {pace}", workload(findings)),
            None => format!(
                "{}, closed loop, no keying or think time",
                workload(findings)
            ),
        },
    );
    match &plan.own {
        Some(own) => {
            for (name, value) in of_own_workload(own) {
                add(name, value);
            }
        }
        None => add("scale", scale(findings)),
    }
    if let Some(rows) = rows(findings) {
        add("rows", rows);
    }
    add(
        "clients",
        match plan.ramp {
            None => join(&plan.clients, ", "),
            Some(ramp) => format!(
                "{}, {} a step",
                ramp.clients,
                seconds(ramp.step.as_secs_f64())
            ),
        },
    );
    // What is predicted has as many as its storage says.
    if findings.source == Source::Measured || plan.cpus != [None] {
        let cpus = plan.cpus.iter().map(|cpus| Level::Cpus(*cpus));
        add("CPUs", join(cpus, ", "));
    }
    add("page sizes", page_sizes(findings));
    add("memory", join(&plan.memories, ", "));
    if plan.storages.iter().any(|storage| *storage != Storage::Own) {
        add("storage", storages(findings));
    }
    if plan.copies > 1 {
        add("copies", format!("{} of each cell", plan.copies));
    }
    let is_ramps = plan.ramp.is_some();
    if !is_ramps {
        add("compared", compared(findings));
    }
    add(
        "design",
        match plan.design {
            _ if is_ramps => "each cell a ramp by itself, one after the other".into(),
            Design::Race => "cells in lockstep, decided ones are dropped".into(),
            Design::Full => "cells in lockstep, each to the end".into(),
        },
    );
    let is_predicted = findings.source == Source::Predicted;
    add(
        "data",
        // Of the user's own there are copies, whose pages are predicted.
        match is_predicted && findings.snapshots.is_empty() {
            true => "modeled, not loaded".into(),
            false => data(findings),
        },
    );
    add(findings.source.name(), measured(findings));
    if let Some(warm_up) = &findings.warm_up {
        add("warm-up", warm_up.clone());
    }
    if !is_predicted {
        add("file access", file_access(findings));
    }
    add("database", systems(findings));
    conditions.extend(findings.database.iter().map(|(name, value)| {
        // What it may depend on stands before the name.
        let (topic, own) = name.rsplit_once(": ").unwrap_or(("", name));
        let own = match own {
            "version" => "database version".into(),
            "memory" => "memory of the database".into(),
            _ => own.replace('_', " "),
        };
        let named = if topic.is_empty() {
            own
        } else {
            format!("{topic}: {own}")
        };
        (named, value.clone())
    }));
    // Of data whose size is known, earlier versions kept an estimate as well.
    let is_known = |name: &str| name == DATA_SIZE && !findings.snapshots.is_empty();
    let storage = findings.storage.iter().filter(|(name, _)| !is_known(name));
    conditions.extend(storage.map(|(name, value)| (name.replace('_', " "), value.clone())));
    conditions.extend(
        findings
            .machine
            .iter()
            .map(|(name, value)| match name.as_str() {
                // Not the memory that the database was given.
                "memory" => ("RAM".into(), value.clone()),
                _ => (name.clone(), value.clone()),
            }),
    );
    conditions.push(("random seed".into(), plan.seed.to_string()));
    if !is_ramps {
        conditions.push((
            "margin".into(),
            format!("up to {} counts as no difference", percent(plan.margin)),
        ));
    }
    conditions.extend([(
        "time".into(),
        format!(
            "{}{}, {} {}",
            seconds(findings.spent_s),
            of_first_class(findings),
            match findings.source {
                Source::Measured => "of which measured",
                Source::Predicted => "for virtual",
            },
            seconds(findings.measured_s)
        ),
    )]);
    conditions
}

fn workload(findings: &Findings) -> String {
    let plan = &findings.plan;
    let mut text = plan.workload_title();
    for (name, value) in [("mix", &plan.mix), ("keys", &plan.distribution)] {
        if let Some(value) = value {
            text += &format!(", {name} {value}");
        }
    }
    if let Some(isolation) = plan.isolation {
        text += &format!(", isolation {isolation}");
    }
    text
}

/// The user's own rows and statements.
pub(crate) fn of_own_workload(own: &Own) -> [(&'static str, String); 2] {
    let statements = match (&own.recording, &own.digests) {
        (Some(recording), _) => ("recording", recorded(recording)),
        (None, Some(digests)) => ("digests", digested(digests)),
        (None, None) => ("scripts", scripts(own)),
    };
    [("data", copied(own)), statements]
}

/// What was copied.
fn copied(own: &Own) -> String {
    let copy = &own.copy;
    match copy.sample {
        None => format!("{}, which has {}", copy.title(), copy.size),
        Some(sample) => format!("{}, about {} of {}", copy.title(), copy.size, sample.of),
    }
}

/// The statements of a recording that are sent, and their pace.
fn recorded(recording: &OwnRecording) -> String {
    let OwnRecording {
        files,
        sessions,
        transactions,
        ..
    } = recording;
    let part = recorded_part(recording.statements, recording.recorded, recording.time);
    format!(
        "{}: {part} in {} of {}, {}",
        files.join(", "),
        counted(*transactions, "transaction"),
        counted(u64::from(*sessions), "session"),
        match recording.pace {
            Some(pace) => format!("at {pace}"),
            None => "as fast as they were answered".into(),
        }
    )
}

/// The digests that are sent.
fn digested(digests: &OwnDigests) -> String {
    let part = digested_part(digests.calls, digests.of_calls, digests.time);
    format!(
        "{} of {}: {part} each alone, as fast as they were answered",
        digests.digests, digests.of
    )
}

/// Scripts with the shares in which they are drawn.
fn scripts(own: &Own) -> String {
    let sum: f64 = own
        .scripts
        .iter()
        .map(|script| f64::from(script.weight))
        .sum();
    let share = |weight: u32| percent(f64::from(weight) / sum);
    let shares = own.scripts.iter().map(|script| match own.scripts.len() {
        1 => script.name.clone(),
        _ => format!("{} {}", script.name, share(script.weight)),
    });
    join(shares, ", ")
}

fn scale(findings: &Findings) -> String {
    let scales = findings.plan.data.iter().map(|data| {
        let parameter = data.kind().scale();
        match parameter.noun {
            Some(noun) => counted(data.scale(), noun),
            None => format!("{} {}", parameter.name, data.scale()),
        }
    });
    distinct(scales).join(", ")
}

/// The widths of rows; `None` where the specification sets them.
fn rows(findings: &Findings) -> Option<String> {
    let widths = findings.plan.data.iter().filter_map(DataSpec::row_bytes);
    let widths = join(widths, ", ");
    (!widths.is_empty()).then(|| format!("of {widths}"))
}

fn page_sizes(findings: &Findings) -> String {
    let plan = &findings.plan;
    let defaults = plan.databases.iter();
    let defaults = distinct(defaults.map(|database| database.default_page_size.to_string()));
    let word = if plan.own.is_some() {
        "present"
    } else {
        "default"
    };
    let mixed = plan.mixed.iter().map(|sizes| format!("; mixed: {sizes}"));
    format!(
        "{} ({word} {}){}",
        join(&plan.page_sizes, ", "),
        list(&defaults, "or"),
        join(mixed, ""),
    )
}

fn storages(findings: &Findings) -> String {
    let names = findings.plan.storages.iter().map(|storage| match storage {
        Storage::Own => "the working directory".into(),
        other => other.name(),
    });
    join(names, ", ")
}

fn systems(findings: &Findings) -> String {
    let databases = findings.plan.databases.iter();
    let names = databases.map(|database| match database.version.as_str() {
        "" => database.to_string(),
        version => format!("{database} ({version})"),
    });
    join(names, "; ")
}

/// What is compared with what.
fn compared(findings: &Findings) -> String {
    let compared = findings.plan.compare.noun();
    let groups = naming::groups(findings);
    let references = groups.iter().filter(|group| !group.cells.is_empty());
    let references = references.map(|group| naming::reference_in_full(findings, group));
    let references = distinct(references);
    let within = if groups.len() > 1 {
        format!(", in each of {} groups", groups.len())
    } else {
        String::new()
    };
    if references.is_empty() {
        return format!("{compared}{within}");
    }
    format!("{compared}, with {}{within}", list(&references, "or"))
}

fn data(findings: &Findings) -> String {
    let all = findings.snapshots.iter().map(|snapshot| snapshot.size);
    let (Some(least), Some(most)) = (all.clone().min(), all.max()) else {
        return "not loaded yet".into();
    };
    let others = [Factor::Database, Factor::Rows].into_iter();
    let others = others.filter(|&factor| findings.plan.count(factor) > 1);
    let varied = [Factor::PageSize].into_iter().chain(others);
    let mut size = least.up_to(most);
    if size != most.to_string() {
        size = format!("{size} by {}", join(varied.map(Factor::noun), ", "));
    }
    let memories = findings.plan.memories.iter();
    let times = memories.filter(|memory| memory.get() > 0).map(|memory| {
        let times = least.get() as f64 / memory.get() as f64;
        format!("{} times {memory}", number(times))
    });
    format!("{size}, at least {}", list(times, "and"))
}

fn measured(findings: &Findings) -> String {
    if !findings.ramps.is_empty() {
        return format!(
            "{} of {}; {} failed",
            findings.runs_done,
            counted(findings.ramps.len(), "ramp"),
            counted(findings.runs_failed.len(), "run")
        );
    }
    let slice = match findings.slice_transactions {
        Some(count) => format!(", slices of {}", counted(count, "transaction")),
        None => String::new(),
    };
    let late = match findings.screened.decided {
        0 => String::new(),
        late => format!(", {} after all was decided", counted(late, "pass")),
    };
    let young = match young_passes(findings) {
        0 => String::new(),
        young => format!("; {} of young copies do not count", counted(young, "pass")),
    };
    format!(
        "{} in {}{}{slice}{young}; {} left out{late}, {} failed",
        counted(findings.passes, "pass"),
        counted(findings.sittings, "sitting"),
        of_first_class(findings),
        counted(findings.screened.disturbed(), "pass"),
        counted(findings.runs_failed.len(), "run")
    )
}

/// What counts of several classes of hosts have: the figures are of the first one alone.
fn of_first_class(findings: &Findings) -> &'static str {
    match &findings.fleet {
        Some(fleet) if fleet.classes.len() > 1 => " on hosts of the first class",
        _ => "",
    }
}

/// How reads get to the storage.
pub(crate) fn storage_path(path: StoragePath) -> &'static str {
    match path {
        StoragePath::Direct => "direct I/O",
        StoragePath::Limited => "buffered, page cache and buffer under one memory limit",
        StoragePath::Resident => "buffered, all of the file in the page cache",
        StoragePath::PageCache => "buffered, page cache without a limit or beyond it",
        StoragePath::None => "none, nothing is stored",
    }
}

fn file_access(findings: &Findings) -> String {
    let cached = findings.caveats.iter().find_map(|caveat| match caveat {
        Caveat::PageCache { runs, of } => Some((*runs, *of)),
        _ => None,
    });
    match cached {
        Some((runs, of)) => format!(
            "buffered; page cache {}",
            page_cache_did(findings, runs, of)
        ),
        None => {
            let paths = naming::cells(findings).filter_map(|cell| cell.storage_path);
            let paths = distinct(paths.map(|path| storage_path(path).to_owned()));
            match paths.is_empty() {
                true => "no run yet".into(),
                false => list(&paths, "or"),
            }
        }
    }
}
