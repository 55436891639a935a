//! Under which conditions the figures were measured.

use octavo_database::StoragePath;
use octavo_experiment::{
    findings::Findings,
    plan::{Factor, Level, RunLength, Storage},
};
use octavo_workload::DataSet;

use crate::{
    naming,
    number::{counted, distinct, list, number, percent, seconds},
};

/// All conditions of the figures, as name and value.
pub(crate) fn conditions(findings: &Findings) -> Vec<(String, String)> {
    let plan = &findings.plan;
    let (warm_up, measured) = run_length(findings.run_length);
    let mut conditions: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| conditions.push((name.into(), value));
    if let Some(name) = &plan.name {
        add("experiment", name.clone());
    }
    add(
        "workload",
        format!(
            "{}, closed loop, no keying or think time",
            workload(findings)
        ),
    );
    add("scale", scale(findings));
    if let Some(rows) = rows(findings) {
        add("rows", rows);
    }
    add("clients", joined(&plan.clients));
    let cpus = plan.cpus.iter().map(|cpus| Level::Cpus(*cpus));
    add("CPUs", joined(cpus));
    add("page sizes", page_sizes(findings));
    add("memory", joined(&plan.memories));
    if plan.storages.iter().any(|storage| *storage != Storage::Own) {
        add("storage", storages(findings));
    }
    if plan.copies > 1 {
        add("copies", format!("{} of each cell", plan.copies));
    }
    add("compared", compared(findings));
    add(
        "design",
        if naming::is_race(findings) {
            "race: decided cells stop, and a winner is measured again in fresh rounds".into()
        } else {
            "full factorial: every cell in every round".into()
        },
    );
    add("data", data(findings));
    add("warm-up", warm_up);
    add("measured", measured);
    add(
        "rounds",
        format!(
            "{} complete, {} runs done, {} failed",
            findings.rounds,
            findings.runs_done,
            findings.runs_failed.len()
        ),
    );
    add("file access", file_access(findings).into());
    add("database", systems(findings));
    conditions.extend(findings.database.iter().map(|(name, value)| {
        // What it may depend on stands before the name.
        let (topic, own) = name.rsplit_once(": ").unwrap_or(("", name));
        let own = match own {
            "version" => "database version".into(),
            "memory" => "memory limit".into(),
            _ => own.replace('_', " "),
        };
        let named = if topic.is_empty() {
            own
        } else {
            format!("{topic}: {own}")
        };
        (named, value.clone())
    }));
    let storage = findings.storage.iter();
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
    conditions.extend([
        ("random seed".into(), plan.seed.to_string()),
        (
            "margin".into(),
            format!("up to {} counts as no difference", percent(plan.margin)),
        ),
        ("octavo".into(), findings.octavo.clone()),
        ("started".into(), findings.created.clone()),
        ("time spent".into(), seconds(findings.spent_s)),
    ]);
    conditions
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(", ")
}

fn workload(findings: &Findings) -> String {
    let plan = &findings.plan;
    let mut text = plan.workload.to_string();
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
    let widths = findings.plan.data.iter().filter_map(DataSet::row_bytes);
    let widths = joined(widths);
    (!widths.is_empty()).then(|| format!("of {widths}"))
}

fn page_sizes(findings: &Findings) -> String {
    let plan = &findings.plan;
    let defaults = plan.databases.iter();
    let defaults = distinct(defaults.map(|database| database.default_page_size.to_string()));
    format!(
        "{} (default {})",
        joined(&plan.page_sizes),
        list(&defaults, "or")
    )
}

fn storages(findings: &Findings) -> String {
    joined(findings.plan.storages.iter().map(|storage| match storage {
        Storage::Own => "the working directory".into(),
        other => other.to_string(),
    }))
}

fn systems(findings: &Findings) -> String {
    let names: Vec<String> = findings
        .plan
        .databases
        .iter()
        .map(|database| format!("{database} ({})", database.version))
        .collect();
    names.join("; ")
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
    let size = if least == most {
        least.to_string()
    } else {
        let varied = joined(varied.map(Factor::noun));
        format!("{least} to {most} by {varied}")
    };
    let times: Vec<String> = findings
        .plan
        .memories
        .iter()
        .filter(|memory| memory.get() > 0)
        .map(|memory| {
            let times = least.get() as f64 / memory.get() as f64;
            format!("{} times {memory}", number(times))
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
                "until the cache was filled once, {} to {}",
                seconds(warm_up_min.as_secs_f64()),
                seconds(warm_up_max.as_secs_f64())
            ),
            format!("{} per run", seconds(measured.as_secs_f64())),
        ),
        Some(RunLength::Transactions { warm_up, measured }) => (
            format!("{} per client", counted(warm_up, "transaction")),
            format!("{} per client and run", counted(measured, "transaction")),
        ),
    }
}

/// How reads get to the storage.
pub(crate) fn storage_path(path: StoragePath) -> &'static str {
    match path {
        StoragePath::Direct => "direct I/O",
        StoragePath::Limited => "buffered, page cache and buffer under one memory limit",
        StoragePath::PageCache => "buffered, page cache without a limit",
        StoragePath::None => "none, nothing is stored",
    }
}

fn file_access(findings: &Findings) -> &'static str {
    findings.storage_path.map_or("no run yet", storage_path)
}

/// The conditions of all charts, in a sentence.
pub(crate) fn caption(findings: &Findings) -> String {
    let (warm_up, measured) = run_length(findings.run_length);
    let clients = &findings.plan.clients;
    let up_to = if naming::is_race(findings) {
        "up to "
    } else {
        ""
    };
    format!(
        "Conditions of all charts: {}, {}; {} {}; {up_to}{}; warm-up {warm_up}; measured \
         {measured}; {}.",
        workload(findings),
        scale(findings),
        joined(clients),
        if clients.as_slice() == [1] {
            "client"
        } else {
            "clients"
        },
        counted(findings.rounds, "round"),
        file_access(findings)
    )
}
