//! Plans as files: TOML to a [`Plan`], with every refusal at its line.
//!
//! `docs/plans.md` has all keys. A file is a format of its own, versioned by
//! its `format`, and says nothing of where the results go or how far this
//! session is to get, which are the command's business.

mod refusal;
#[cfg(test)]
mod tests;
mod value;

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_database::{Database, DatabaseError, Isolation, JournalMode, Settings, Sqlite};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    DataSet, WorkloadName, Ycsb,
    choice::{ChoiceError, Family, pgbench_row},
    pgbench::PgbenchError,
    ycsb::{Distribution, YcsbError},
};
use toml::de::DeTable;

pub use refusal::{PlanFileError, Refused};

use super::{Design, Factor, Place, Plan, RunLength, System};
use crate::{bench::automatic_warm_up, cpus};
use refusal::{Refusal, Source, instead};
use value::{
    Entry, Section, bytes, clients, count, cpus as cpu_count, duration, duration_or_zero, each,
    page_size, share, storage, text, values, whole, word,
};

/// The version of the format that this reads.
pub const FORMAT: u64 = 1;

const SECTIONS: &[&str] = &["format", "name", "experiment", "run", "workload", "cells"];
const EXPERIMENT: &[&str] = &[
    "seed",
    "margin",
    "design",
    "budget",
    "rounds",
    "compare",
    "reference",
    "copies",
];
const RUN: &[&str] = &["warm-up", "measured", "transactions"];
const WORKLOAD: &[&str] = &[
    "name",
    "warehouses",
    "records",
    "scale",
    "row-bytes",
    "mix",
    "distribution",
];
const CELLS: &[&str] = &[
    "database",
    "journal-mode",
    "bin",
    "source",
    "version",
    "wal-block-size",
    "full-page-writes",
    "checkpoint-timeout",
    "direct-io",
    "doublewrite",
    "redo",
    "page-size",
    "memory",
    "clients",
    "cpus",
    "storage",
    "isolation",
];

/// What can be compared, by the key of its list.
const FACTORS: &[(&str, Factor)] = &[
    ("page-size", Factor::PageSize),
    ("memory", Factor::Memory),
    ("storage", Factor::Storage),
    ("clients", Factor::Clients),
    ("cpus", Factor::Cpus),
    ("row-bytes", Factor::Rows),
    ("journal-mode", Factor::System),
    ("bin", Factor::System),
    ("source", Factor::System),
    ("version", Factor::System),
    ("wal-block-size", Factor::System),
    ("full-page-writes", Factor::System),
    ("checkpoint-timeout", Factor::System),
    ("direct-io", Factor::System),
    ("doublewrite", Factor::System),
    ("redo", Factor::System),
    ("database", Factor::System),
    ("copies", Factor::Copy),
];

/// A plan that was read from a file, with what the file says of how far to
/// carry it out.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// What to measure.
    pub plan: Plan,
    /// Time for everything; `None` where the file does not say.
    pub budget: Option<Duration>,
    /// Rounds at most; `None` where the file does not say.
    pub rounds: Option<u32>,
    /// Length of a run; `None` where the file leaves it to the budget.
    pub run_length: Option<RunLength>,
    source: Source,
    /// Where the value of each key is.
    places: BTreeMap<&'static str, Range<usize>>,
    storages: Vec<Range<usize>>,
    cpus: Vec<Range<usize>>,
}

impl PlanFile {
    /// Reads the plan in `path`.
    pub fn read(path: &Path) -> Result<Self, PlanFileError> {
        let text = fs::read_to_string(path).map_err(|source| PlanFileError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the plan `text` of the file `name`. What depends on the machine
    /// is left to [`Self::check`].
    pub fn parse(name: &str, text: &str) -> Result<Self, PlanFileError> {
        let source = Source {
            name: name.to_owned(),
            // Editors of old put this before UTF-8; TOML has no place for it.
            text: text.trim_start_matches('\u{feff}').to_owned(),
        };
        let text = source.text.clone();
        let document = DeTable::parse(&text).map_err(|error| {
            source.locate(Refusal::new(
                &error.span().unwrap_or(0..0),
                error.message().replace('\n', ", "),
            ))
        })?;
        match settle(document.get_ref()) {
            Ok(settled) => Ok(Self {
                plan: settled.plan,
                budget: settled.budget,
                rounds: settled.rounds,
                run_length: settled.run_length,
                source,
                places: settled.places,
                storages: settled.storages,
                cpus: settled.cpus,
            }),
            Err(refusal) => Err(source.locate(refusal)),
        }
    }

    /// Refuses what cannot be carried out here in `directory`: too few limits
    /// to know when to end, storages that are the same, CPUs that are not
    /// there. To be called once [`Self::budget`] and [`Self::rounds`] are
    /// final.
    pub fn check(&self, directory: &Path) -> Result<(), PlanFileError> {
        if self.budget.is_none() {
            if self.rounds.is_none() {
                let length = ["measured", "transactions"];
                return Err(self.refuse(
                    length
                        .into_iter()
                        .find(|key| self.has(key))
                        .unwrap_or("budget"),
                    "nothing says when to end: give a budget, or rounds with the length of a run",
                ));
            }
            if self.run_length.is_none() {
                return Err(self.refuse(
                    "rounds",
                    "nothing says how long a run is: give a budget, or measured or transactions \
                     in [run]",
                ));
            }
        }
        let mut seen: Vec<PathBuf> = Vec::new();
        for (storage, place) in self.plan.storages.iter().zip(&self.storages) {
            let path = settled(&Place::of(storage).path(directory));
            if seen.contains(&path) {
                return Err(self.source.locate(Refusal::new(
                    place,
                    format!("storage '{storage}' is named already: name each once"),
                )));
            }
            seen.push(path);
        }
        for (&wanted, place) in self.plan.cpus.iter().zip(&self.cpus) {
            if let Some(wanted) = wanted
                && let Err(error) = cpus::check(wanted)
            {
                return Err(self.source.locate(Refusal::new(place, error.to_string())));
            }
        }
        Ok(())
    }

    /// Sets the storage of a plan that names none.
    pub fn set_storage(&mut self, storage: String) {
        self.storages = std::iter::once(0..0).collect();
        self.plan.storages = vec![storage];
    }

    /// A refusal at the value of a key, or where the file has no such key at
    /// its first line.
    pub fn refuse(&self, key: &str, reason: impl Into<String>) -> PlanFileError {
        let place = self.places.get(key).cloned().unwrap_or(0..0);
        self.source.locate(Refusal::new(&place, reason))
    }

    /// Whether the file has a key.
    pub fn has(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }
}

struct Settled {
    plan: Plan,
    budget: Option<Duration>,
    rounds: Option<u32>,
    run_length: Option<RunLength>,
    places: BTreeMap<&'static str, Range<usize>>,
    storages: Vec<Range<usize>>,
    cpus: Vec<Range<usize>>,
}

fn settle(document: &DeTable<'_>) -> Result<Settled, Refusal> {
    check_format(document)?;
    let root = Section::new(document, "a plan", SECTIONS)?;
    let nothing = DeTable::new();
    let section = |name: &str, known: &[&str]| -> Result<Section<'_>, Refusal> {
        match root.section(name, known)? {
            Some(section) => Ok(section),
            None => Section::new(&nothing, name, known),
        }
    };
    let experiment = section("experiment", EXPERIMENT)?;
    let run = section("run", RUN)?;
    let workload = section("workload", WORKLOAD)?;
    let cells = section("cells", CELLS)?;

    let (name, rows) = workload_of(root, workload)?;
    let systems = systems(cells)?;
    let memories = cells.list("memory", each(bytes))?.ok_or_else(|| {
        missing(
            root,
            "cells",
            "memory is missing in [cells]: give the memory that may hold data, such as memory = \
             [\"8MiB\", \"32MiB\"]",
        )
    })?;
    let page_sizes = match cells.list("page-size", each(page_size))? {
        Some(sizes) => values(&sizes),
        None => vec![systems[0].default_page_size],
    };
    let clients_given = cells.list("clients", clients)?;
    let cpus = cells.list("cpus", each(cpu_count))?;
    let storages = cells.list("storage", each(storage))?;
    let isolation = cells.read("isolation", word(ISOLATIONS))?;
    let copies = experiment.read("copies", count(100))?;

    let mut plan = Plan {
        name: root.read("name", text)?.map(|entry| entry.value),
        workload: name,
        mix: None,
        distribution: None,
        isolation: isolation.map(|entry| entry.value),
        seed: Seed::new(
            experiment
                .read("seed", whole(0..=u64::MAX))?
                .map_or(1, |entry| entry.value),
        ),
        margin: experiment
            .read("margin", share)?
            .map_or(0.03, |entry| entry.value),
        design: experiment
            .read("design", word(DESIGNS))?
            .map_or(Design::Race, |entry| entry.value),
        systems,
        data: values(&rows),
        storages: storages
            .as_deref()
            .map_or_else(|| vec![String::new()], values),
        page_sizes,
        memories: values(&memories),
        cpus: cpus.as_deref().map_or_else(|| vec![None], values),
        clients: clients_given.as_deref().map_or_else(|| vec![1], values),
        copies: copies.map_or(1, |entry| entry.value),
        compare: Factor::PageSize,
        reference: None,
    };
    check_workload(&mut plan, workload, &rows)?;
    plan.compare = compared(&plan, root, experiment, cells, workload)?;
    check_count(&plan, root)?;
    let seats = [
        ("memory", spans(Some(&memories))),
        ("clients", spans(clients_given.as_ref())),
    ];
    check_database(&plan, cells, &seats)?;
    set_reference(&mut plan, experiment)?;

    let run_length = run_length(run, &plan)?;
    let mut places = BTreeMap::new();
    for (section, keys) in [
        (experiment, EXPERIMENT),
        (run, RUN),
        (workload, WORKLOAD),
        (cells, CELLS),
    ] {
        for &key in keys {
            if let Some(value) = section.get(key) {
                places.insert(key, value.span());
            }
        }
    }
    Ok(Settled {
        plan,
        budget: experiment
            .read("budget", duration)?
            .map(|entry| entry.value),
        rounds: experiment
            .read("rounds", count(1_000_000))?
            .map(|entry| entry.value),
        run_length,
        places,
        storages: spans(storages.as_ref()),
        cpus: spans(cpus.as_ref()),
    })
}

const DESIGNS: &[(&str, Design)] = &[("race", Design::Race), ("full", Design::Full)];

const ISOLATIONS: &[(&str, Isolation)] = &[
    ("read-committed", Isolation::ReadCommitted),
    ("repeatable-read", Isolation::RepeatableRead),
    ("serializable", Isolation::Serializable),
];

fn spans<T>(entries: Option<&Vec<Entry<T>>>) -> Vec<Range<usize>> {
    entries
        .into_iter()
        .flatten()
        .map(|entry| entry.span.clone())
        .collect()
}

/// That something is missing in a section: told at the section, or where there
/// is none at the first line.
fn missing(root: Section<'_>, section: &str, reason: &str) -> Refusal {
    let place = root.get(section).map_or(0..0, |value| value.span());
    Refusal::new(&place, reason)
}

/// Refuses other versions before anything else: their keys may be others.
fn check_format(document: &DeTable<'_>) -> Result<(), Refusal> {
    let format = document
        .iter()
        .find(|(key, _)| key.get_ref() == "format")
        .map(|(_, value)| value);
    let Some(format) = format else {
        return Err(Refusal::new(
            &(0..0),
            format!("format is missing: write format = {FORMAT} before all sections"),
        ));
    };
    let found = whole(0..=u64::MAX)("format", format)?;
    if found == FORMAT {
        Ok(())
    } else {
        Err(Refusal::new(
            &format.span(),
            format!("format {found} is not known: this octavo reads format {FORMAT}"),
        ))
    }
}

/// The workload and its rows, each with the place of its width, or of the
/// scale where the width is not given.
fn workload_of(
    root: Section<'_>,
    section: Section<'_>,
) -> Result<(WorkloadName, Vec<Entry<DataSet>>), Refusal> {
    let Some(name) = section.read("name", text)? else {
        return Err(missing(
            root,
            "workload",
            &format!(
                "the workload is missing: write name = \"tpcc\" in [workload], or another of {}",
                workload_names().join(", ")
            ),
        ));
    };
    let workload: WorkloadName = name.value.parse().map_err(|_| {
        Refusal::new(
            &name.span,
            format!(
                "workload '{}' is not known: {}",
                name.value,
                instead(&name.value, &workload_names())
            ),
        )
    })?;
    let family = workload.family();
    let scale_key = scale_key(family);
    for other in ["warehouses", "records", "scale"] {
        if other != scale_key
            && let Some(value) = section.get(other)
        {
            return Err(Refusal::new(
                &value.span(),
                format!("{other} is not possible with {family}: its scale is {scale_key}"),
            ));
        }
    }
    let Some(scale) = section.read(scale_key, whole(1..=u64::MAX))? else {
        return Err(missing(
            root,
            "workload",
            &format!("{scale_key} is missing in [workload]: say how much data there is"),
        ));
    };
    let small = || {
        u32::try_from(scale.value).map_err(|_| {
            Refusal::new(
                &scale.span,
                format!(
                    "{scale_key} {} is not possible: choose a smaller one",
                    scale.value
                ),
            )
        })
    };
    let alone = |value| {
        vec![Entry {
            value,
            span: scale.span.clone(),
        }]
    };
    let widths = section.list("row-bytes", each(bytes))?;
    let rows = match (family, widths) {
        (Family::Tpcc, None) => alone(DataSet::Tpcc {
            warehouses: small()?,
        }),
        (Family::Tpcc, Some(widths)) => {
            return Err(Refusal::new(
                &widths[0].span,
                "row-bytes is not possible with TPC-C: its specification says how wide rows are",
            ));
        }
        (Family::Ycsb, None) => alone(DataSet::Ycsb {
            records: scale.value,
            row: Ycsb::ROW_DEFAULT,
        }),
        (Family::Ycsb, Some(widths)) => widths
            .into_iter()
            .map(|width| Entry {
                value: DataSet::Ycsb {
                    records: scale.value,
                    row: width.value,
                },
                span: width.span,
            })
            .collect(),
        (Family::Pgbench, None) => {
            let scale_number = small()?;
            alone(DataSet::Pgbench {
                scale: scale_number,
                row: pgbench_row(scale_number)
                    .map_err(|error| Refusal::new(&scale.span, error.to_string()))?,
            })
        }
        (Family::Pgbench, Some(widths)) => {
            let scale = small()?;
            widths
                .into_iter()
                .map(|width| Entry {
                    value: DataSet::Pgbench {
                        scale,
                        row: width.value,
                    },
                    span: width.span,
                })
                .collect()
        }
    };
    Ok((workload, rows))
}

fn workload_names() -> Vec<&'static str> {
    WorkloadName::ALL.map(WorkloadName::name).to_vec()
}

/// The key of a family's scale.
fn scale_key(family: Family) -> &'static str {
    match family {
        Family::Tpcc => "warehouses",
        Family::Ycsb => "records",
        Family::Pgbench => "scale",
    }
}

/// Takes mix and distribution, and refuses workloads that cannot be built.
fn check_workload(
    plan: &mut Plan,
    section: Section<'_>,
    rows: &[Entry<DataSet>],
) -> Result<(), Refusal> {
    let mix = section.read("mix", text)?;
    let distribution = section.read("distribution", text)?;
    if let Some(given) = &distribution {
        let read: Distribution = given
            .value
            .parse()
            .map_err(|error| refuse_at(given, &error))?;
        // As it prints, so that two ways to write it are one plan.
        plan.distribution = Some(read.to_string());
    }
    plan.mix = mix.as_ref().map(|mix| mix.value.clone());
    let scale = section.get(scale_key(plan.workload.family()));
    for (number, row) in rows.iter().enumerate() {
        if let Err(error) = plan.workload(number) {
            let place = match &error {
                ChoiceError::Mix(_) => mix.as_ref().map(|mix| mix.span.clone()),
                ChoiceError::Keys(_) | ChoiceError::Distribution { .. } => {
                    distribution.as_ref().map(|given| given.span.clone())
                }
                ChoiceError::Ycsb(YcsbError::Row(_))
                | ChoiceError::Pgbench(PgbenchError::Row { .. }) => Some(row.span.clone()),
                _ => scale.map(|value| value.span()),
            };
            let place = place.unwrap_or_else(|| row.span.clone());
            return Err(Refusal::new(&place, error.to_string()));
        }
    }
    Ok(())
}

fn refuse_at<T>(entry: &Entry<T>, error: &impl ToString) -> Refusal {
    Refusal::new(&entry.span, error.to_string())
}

/// Options with their values, and where the last of these is.
type Variant<'r> = (Vec<(String, String)>, &'r Range<usize>);

/// An option with the values that the file gives.
type GivenOption = (&'static str, Vec<Entry<String>>);

/// The databases with their options.
fn systems(cells: Section<'_>) -> Result<Vec<System>, Refusal> {
    let databases = cells.list("database", each(text))?;
    let databases = databases.unwrap_or_else(|| {
        vec![Entry {
            value: Sqlite::default().name().to_owned(),
            span: 0..0,
        }]
    });
    for database in &databases {
        let name = database.value.as_str();
        if !octavo_database::NAMES.contains(&name) {
            return Err(Refusal::new(
                &database.span,
                format!(
                    "database '{name}' is not known: {}",
                    instead(name, &octavo_database::NAMES)
                ),
            ));
        }
    }
    let options = options(cells, &databases)?;
    let mut list = Vec::new();
    for database in &databases {
        let name = database.value.as_str();
        let own = octavo_database::options(name);
        let mut variants: Vec<Variant<'_>> = vec![(Vec::new(), &database.span)];
        for (option, values) in options.iter().filter(|(option, _)| own.contains(option)) {
            let with = |(chosen, _): &Variant<'_>| {
                let chosen = chosen.clone();
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.push(((*option).to_owned(), value.value.clone()));
                    (chosen, &value.span)
                })
            };
            variants = variants.iter().flat_map(with).collect();
        }
        for (mut options, span) in variants {
            // Said even when it is the default, for the report to say.
            if name == Sqlite::default().name() && options.is_empty() {
                let mode = JournalMode::default().name().to_owned();
                options.push(("journal-mode".to_owned(), mode));
            }
            let system = System::new(name, options)
                .map_err(|error| Refusal::new(span, error.to_string()))?;
            list.push(system);
        }
    }
    Ok(list)
}

/// The options of databases that the file gives, with their values. Each has
/// to be one of a database that is there.
fn options(cells: Section<'_>, databases: &[Entry<String>]) -> Result<Vec<GivenOption>, Refusal> {
    let mut given = Vec::new();
    for name in octavo_database::NAMES {
        for option in octavo_database::options(name) {
            if given.iter().any(|(other, _)| *other == option) {
                continue;
            }
            let Some(values) = cells.list(option, each(text))? else {
                continue;
            };
            let has = |database: &Entry<String>| {
                octavo_database::options(&database.value).contains(&option)
            };
            if !databases.iter().any(has) {
                let names: Vec<&str> = databases.iter().map(|d| d.value.as_str()).collect();
                return Err(Refusal::new(
                    &values[0].span,
                    format!("{} has no option {option}", names.join(" and ")),
                ));
            }
            given.push((option, values));
        }
    }
    Ok(given)
}

/// What is compared: as the file says; else the page size if several are
/// given; else the only list with several entries.
fn compared(
    plan: &Plan,
    root: Section<'_>,
    experiment: Section<'_>,
    cells: Section<'_>,
    workload: Section<'_>,
) -> Result<Factor, Refusal> {
    if let Some(compare) = experiment.read("compare", word(FACTORS))? {
        let entries = plan.count(compare.value);
        if entries < 2 {
            return Err(Refusal::new(
                &compare.span,
                format!(
                    "there is nothing to compare: the plan has one {}, at least two are needed",
                    key_of(compare.value, cells)
                ),
            ));
        }
        return Ok(compare.value);
    }
    if plan.page_sizes.len() > 1 {
        return Ok(Factor::PageSize);
    }
    let several: Vec<Factor> = Factor::ALL
        .into_iter()
        .filter(|&factor| plan.count(factor) > 1)
        .collect();
    match several[..] {
        [one] => Ok(one),
        [] => Err(missing(
            root,
            "cells",
            "there is nothing to compare: give a list with several entries, or copies = 2 to see \
             what chance alone does; octavo bench measures a single cell",
        )),
        [first, ..] => {
            let keys: Vec<&str> = several.iter().map(|&f| key_of(f, cells)).collect();
            let place = [cells, workload, experiment]
                .into_iter()
                .find_map(|section| section.get(keys[0]))
                .map_or(0..0, |value| value.span());
            Err(Refusal::new(
                &place,
                format!(
                    "several lists have several entries ({}): say which is compared, such as \
                     compare = \"{}\" in [experiment]",
                    keys.join(", "),
                    key_of(first, cells)
                ),
            ))
        }
    }
}

/// The key that a factor's list has in the file.
fn key_of(factor: Factor, cells: Section<'_>) -> &'static str {
    let several = |key: &str| {
        cells
            .get(key)
            .and_then(|value| value.get_ref().as_array())
            .is_some_and(|entries| entries.len() > 1)
    };
    if factor == Factor::System && several("database") {
        return "database";
    }
    FACTORS
        .iter()
        .find(|(_, of)| *of == factor)
        .map_or("", |(key, _)| key)
}

fn check_count(plan: &Plan, root: Section<'_>) -> Result<(), Refusal> {
    let count = Factor::ALL
        .into_iter()
        .try_fold(1_usize, |count, factor| {
            count.checked_mul(plan.count(factor))
        })
        .unwrap_or(usize::MAX);
    if count > Plan::CELLS_MAX {
        return Err(missing(
            root,
            "cells",
            &format!(
                "{count} cells are more than {}: shorten the lists",
                Plan::CELLS_MAX
            ),
        ));
    }
    Ok(())
}

/// Refuses cells that their database cannot be, at the entry that is the
/// cause. `seats` has the places of the entries of some lists.
fn check_database(
    plan: &Plan,
    cells: Section<'_>,
    seats: &[(&str, Vec<Range<usize>>)],
) -> Result<(), Refusal> {
    let databases: Vec<Box<dyn Database>> = plan
        .systems
        .iter()
        .map(System::make)
        .collect::<Result<_, _>>()
        .map_err(|error| Refusal::new(&(0..0), error.to_string()))?;
    for cell in plan.cells() {
        let settings = Settings {
            page_size: cell.page_size,
            memory: cell.memory,
            clients: cell.clients,
            isolation: plan.isolation,
        };
        let Err(error) = databases[cell.system].accept(&settings) else {
            continue;
        };
        let place = match &error {
            DatabaseError::Setting { setting, .. } => {
                let key = setting.replace(' ', "-");
                let entry = match key.as_str() {
                    "memory" => plan.memories.iter().position(|&m| m == cell.memory),
                    "clients" => plan.clients.iter().position(|&c| c == cell.clients),
                    _ => None,
                };
                seats
                    .iter()
                    .find(|(name, _)| *name == key)
                    .and_then(|(_, spans)| spans.get(entry?).cloned())
                    .or_else(|| cells.get(&key).map(|value| value.span()))
            }
            _ => None,
        };
        return Err(Refusal::new(&place.unwrap_or(0..0), error.to_string()));
    }
    Ok(())
}

/// The one name of a directory that may not exist yet: what exists of it
/// without links, and the rest.
fn settled(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors()
        .find_map(|existing| {
            let real = existing.canonicalize().ok()?;
            Some(real.join(path.strip_prefix(existing).ok()?))
        })
        .unwrap_or(path)
}

/// Takes the reference, which has to be in the compared list.
fn set_reference(plan: &mut Plan, experiment: Section<'_>) -> Result<(), Refusal> {
    const KEY: &str = "reference";
    let Some(given) = experiment.get(KEY) else {
        return Ok(());
    };
    let place = match plan.compare {
        Factor::PageSize => position(&plan.page_sizes, page_size(KEY, given)?),
        Factor::Memory => position(&plan.memories, bytes(KEY, given)?),
        Factor::Storage => position(&plan.storages, storage(KEY, given)?),
        Factor::Cpus => position(&plan.cpus, cpu_count(KEY, given)?),
        Factor::Clients => position(&plan.clients, count(u32::MAX)(KEY, given)?),
        Factor::Copy => {
            let copies: Vec<u32> = (1..=plan.copies).collect();
            position(&copies, count(u32::MAX)(KEY, given)?)
        }
        Factor::Rows => {
            let wanted: ByteCount = bytes(KEY, given)?;
            plan.data.iter().position(|data| match data {
                DataSet::Tpcc { .. } => false,
                DataSet::Ycsb { row, .. } | DataSet::Pgbench { row, .. } => *row == wanted,
            })
        }
        Factor::System => {
            let wanted = text(KEY, given)?;
            let named: Vec<usize> = (0..plan.systems.len())
                .filter(|&number| {
                    let system = &plan.systems[number];
                    system.database == wanted
                        || system.options.iter().any(|(_, value)| *value == wanted)
                })
                .collect();
            match named[..] {
                [one] => Some(one),
                [] => None,
                _ => {
                    return Err(Refusal::new(
                        &given.span(),
                        format!("reference '{wanted}' could be several of the databases"),
                    ));
                }
            }
        }
    };
    // The compared list varies fastest.
    let cells = plan.cells();
    let levels: Vec<_> = cells[..plan.count(plan.compare)]
        .iter()
        .map(|&cell| plan.level(cell, plan.compare))
        .collect();
    let Some(place) = place else {
        let names: Vec<String> = levels.iter().map(ToString::to_string).collect();
        return Err(Refusal::new(
            &given.span(),
            format!(
                "the reference is not in the compared list: choose {}",
                names.join(", ")
            ),
        ));
    };
    plan.reference = levels.into_iter().nth(place);
    Ok(())
}

fn position<T: PartialEq>(list: &[T], wanted: T) -> Option<usize> {
    list.iter().position(|entry| *entry == wanted)
}

/// How long runs are, where the file says.
fn run_length(run: Section<'_>, plan: &Plan) -> Result<Option<RunLength>, Refusal> {
    let measured = run.read("measured", duration)?;
    let warm_up = run.read("warm-up", duration_or_zero)?;
    let transactions = run.read("transactions", whole(1..=u64::MAX))?;
    match (measured, warm_up, transactions) {
        (Some(_), _, Some(transactions)) => Err(Refusal::new(
            &transactions.span,
            "transactions and measured both say how long a run is: give one of them",
        )),
        (None, Some(warm_up), Some(_)) => Err(Refusal::new(
            &warm_up.span,
            "warm-up goes with measured: with transactions, a tenth as many warm up",
        )),
        (None, Some(warm_up), None) => Err(Refusal::new(
            &warm_up.span,
            "warm-up goes with measured: give both, or leave both to the budget",
        )),
        (None, None, Some(transactions)) => {
            if plan.clients.iter().any(|&clients| clients > 1) {
                return Err(Refusal::new(
                    &transactions.span,
                    "transactions go with one client: several would wait for the slowest; give \
                     measured instead",
                ));
            }
            Ok(Some(RunLength::Transactions {
                warm_up: transactions.value / 10,
                measured: transactions.value,
            }))
        }
        (Some(measured), None, None) => Ok(Some(automatic_warm_up(measured.value))),
        (Some(measured), Some(warm_up), None) => Ok(Some(RunLength::Time {
            // At least as long as where nobody says, within the limit.
            warm_up_min: (measured.value / 10).min(warm_up.value),
            warm_up_max: warm_up.value,
            measured: measured.value,
        })),
        (None, None, None) => Ok(None),
    }
}
