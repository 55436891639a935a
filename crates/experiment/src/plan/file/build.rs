//! Sections to a plan: what goes together, and what the registries and the
//! databases say of it.

use std::{ops::Range, path::PathBuf, sync::Arc, time::Duration};

use octavo_database::{DatabaseError, DatabaseKind, DatabaseSpec, Settings};
use octavo_driver::Ramp;
use octavo_script::{Definitions, is_name};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    DataSpec, WorkloadError, WorkloadName, own, shape::Shape, user::Copying, ycsb::Distribution,
};

use super::{
    keys::{Places, WorkloadKeys},
    refusal::{SpanError, instead},
    registries::Registries,
    section::Sections,
    shape,
    value::{
        Count, DURATION_MAX, DeferredValue, List, Quantity, SpannedValue, given, spans, values,
    },
};
use crate::plan::{Design, Factor, Level, OwnSettings, Plan, ScriptFile, Storage, TestedDatabase};

/// A plan, with the places of what is checked later.
pub(super) struct LocatedPlan {
    pub(super) plan: Plan,
    /// Whose data and statements, which the plan gets when it is known where it is carried out.
    pub(super) own: Option<OwnSettings>,
    pub(super) storages: Vec<Range<usize>>,
    pub(super) cpus: Vec<Range<usize>>,
}

/// Builds the plan of a file.
pub(super) fn plan(
    sections: &Sections<'_>,
    places: &Places,
    known: &Registries,
) -> Result<LocatedPlan, SpanError> {
    let (experiment, cells) = (&sections.experiment, &sections.cells);
    let own = own_database(sections)?;
    let shape = shape::of_plan(&sections.workload, sections.tables.as_ref())?;
    let (workload, rows) = match &sections.workload.copy_of {
        Some(source) => {
            let unread = SpannedValue {
                value: own::unread(),
                span: source.span.clone(),
            };
            (own::name(), vec![unread])
        }
        None => workload(sections, shape.as_ref(), places, known)?,
    };
    let specs = databases(sections, known)?;
    let databases = values(&specs)
        .iter()
        .map(TestedDatabase::new)
        .map(|made| made.map(Arc::new))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| SpanError::new(&(0..0), error.to_string()))?;
    if cells.memory.is_empty() {
        return Err(missing(
            places,
            "cells",
            "memory is missing in [cells]: give the memory that may hold data, such as memory = \
             [\"8MiB\", \"32MiB\"]",
        ));
    }
    let mut clients: List<u32> = Vec::new();
    for range in &cells.clients {
        clients.extend(range.value.0.iter().map(|&value| SpannedValue {
            value,
            span: range.span.clone(),
        }));
    }
    let ramp = ramp(sections, places)?;
    clients.extend(ramp.iter().map(|ramp| SpannedValue {
        value: ramp.value.clients.last(),
        span: ramp.span.clone(),
    }));
    let storages = storages(sections)?;
    let default_page_size = databases[0].default_page_size;
    let mut plan = Plan {
        name: given(&sections.head.name),
        workload,
        mix: None,
        distribution: None,
        own: None,
        shape: given(&shape),
        isolation: given(&cells.isolation),
        seed: Seed::new(given(&experiment.seed).map_or(1, |seed| seed.0)),
        margin: given(&experiment.margin).map_or(0.03, |margin| margin.0),
        design: given(&experiment.design).unwrap_or(Design::Race),
        data: values(&rows),
        storages: values(&storages),
        page_sizes: list("page-size", &cells.page_size, default_page_size)?,
        mixed: Vec::new(),
        memories: list("memory", &cells.memory, ByteCount::ZERO)?,
        cpus: list("cpus", &cells.cpus, None)?,
        clients: list("clients", &clients, 1)?,
        ramp: given(&ramp),
        databases,
        copies: given(&experiment.copies).map_or(1, Count::get),
        compare: Factor::PageSize,
        reference: None,
    };
    if own.is_none() {
        check_workload(&mut plan, sections, &rows)?;
    }
    plan.compare = compared(&plan, sections, places, known)?;
    check_count(&plan, places)?;
    let seats = [
        ("memory", spans(&cells.memory)),
        ("clients", spans(&clients)),
    ];
    check_databases(&plan, &values(&specs), places, &seats)?;
    if let Some(given) = &experiment.reference {
        plan.reference = Some(reference(&plan, given)?);
    }
    Ok(LocatedPlan {
        plan,
        own,
        storages: spans(&storages),
        cpus: spans(&cells.cpus),
    })
}

/// The storages: each on the file systems that are to be made on it, with the places of what says so.
fn storages(sections: &Sections) -> Result<List<Storage>, SpanError> {
    let cells = &sections.cells;
    let named = list("storage", &cells.storage, Storage::Own)?;
    list("file-system", &cells.file_system, None)?;
    if cells.file_system.is_empty() {
        let spans = spans(&cells.storage)
            .into_iter()
            .chain(std::iter::once(0..0));
        let storages = named.into_iter().zip(spans);
        return Ok(storages
            .map(|(value, span)| SpannedValue { value, span })
            .collect());
    }
    let mut storages = Vec::new();
    for storage in &named {
        for system in &cells.file_system {
            if let (Some(system_of), Some(_)) = (storage.file_system(), &system.value) {
                let reason = format!(
                    "storage '{storage}' has file system {system_of} already: leave it out there or here"
                );
                return Err(SpanError::new(&system.span, reason));
            }
            storages.push(SpannedValue {
                value: storage.with_file_system(system.value.clone()),
                span: system.span.clone(),
            });
        }
    }
    Ok(storages)
}

/// How long a step of a ramp lasts when nobody says, as of `octavo bench`.
const STEP: Duration = Duration::from_secs(60);

/// Keys that say how cells are compared in lockstep, which ramps are not.
const OF_LOCKSTEP: [&str; 7] = [
    "passes",
    "design",
    "margin",
    "compare",
    "reference",
    "transactions",
    "warm-up",
];

/// The ramp that each cell is, at its clients, where the file has one.
fn ramp(sections: &Sections<'_>, places: &Places) -> Result<Option<SpannedValue<Ramp>>, SpanError> {
    let Some(keys) = &sections.clients else {
        return Ok(None);
    };
    if let Some(clients) = sections.cells.clients.first() {
        return Err(SpanError::new(
            &clients.span,
            "clients in [cells] and ramp in [clients] exclude each other: remove one of them",
        ));
    }
    let Some(steps) = &keys.ramp else {
        return Err(missing(
            places,
            "clients",
            "ramp is missing in [clients]: say how many clients begin, such as ramp = \"5..60/5\"",
        ));
    };
    let length = given(&keys.step).unwrap_or(STEP);
    let ramp = Ramp::new(steps.value, length).map_err(|error| {
        let place = keys.step.as_ref().map_or(&steps.span, |step| &step.span);
        SpanError::new(place, error.to_string())
    })?;
    if ramp.length() > DURATION_MAX {
        return Err(SpanError::new(
            &steps.span,
            format!(
                "the {} steps of ramp {} take longer than a year: choose fewer or shorter ones",
                steps.value.count(),
                steps.value
            ),
        ));
    }
    let given = OF_LOCKSTEP
        .iter()
        .filter_map(|key| Some((key, places.get(*key)?)));
    if let Some((key, place)) = given.min_by_key(|(_, place)| place.start) {
        return Err(SpanError::new(
            place,
            format!(
                "{key} is of cells that are compared in lockstep, and ramp in [clients] makes \
                 each cell a ramp by itself: remove {key} or [clients]"
            ),
        ));
    }
    Ok(Some(SpannedValue {
        value: ramp,
        span: steps.span.clone(),
    }))
}

/// The values of a list, or the one that stands for it where the file has no
/// such list.
fn list<T: Clone + PartialEq>(
    key: &str,
    entries: &[SpannedValue<T>],
    default: T,
) -> Result<Vec<T>, SpanError> {
    if entries.is_empty() {
        return Ok(vec![default]);
    }
    distinct(key, entries)?;
    Ok(values(entries))
}

/// Refuses a list that has an entry twice.
fn distinct<T: PartialEq>(key: &str, entries: &[SpannedValue<T>]) -> Result<(), SpanError> {
    for (number, entry) in entries.iter().enumerate() {
        if entries[..number]
            .iter()
            .any(|other| other.value == entry.value)
        {
            return Err(SpanError::new(
                &entry.span,
                format!("{key} has this entry twice: name each once"),
            ));
        }
    }
    Ok(())
}

/// A refusal of what is missing in a section: at the section, or where there is
/// none at the first line.
fn missing(places: &Places, section: &str, reason: &str) -> SpanError {
    let place = places.get(section).cloned().unwrap_or(0..0);
    SpanError::new(&place, reason)
}

fn refuse_at<T>(entry: &SpannedValue<T>, error: &impl ToString) -> SpanError {
    SpanError::new(&entry.span, error.to_string())
}

/// Whose data and statements are to be measured, where the file names a database to copy.
fn own_database(sections: &Sections<'_>) -> Result<Option<OwnSettings>, SpanError> {
    let WorkloadKeys {
        name,
        mix,
        distribution,
        shape,
        operations,
        copy_of,
        sample,
        copy_rate,
        script,
        recording,
        pace,
        digests,
        define,
    } = &sections.workload;
    let digests = digests.as_ref().filter(|digests| digests.value);
    let Some(source) = copy_of else {
        let needs = script.iter().chain(recording).chain(define);
        let needs = needs.map(|entry| &entry.span);
        let needs = needs.chain(sample.iter().map(|entry| &entry.span));
        let needs = needs.chain(digests.iter().map(|entry| &entry.span));
        let needs = needs.chain(copy_rate.iter().map(|entry| &entry.span));
        let needs = needs.chain(pace.iter().map(|entry| &entry.span));
        return match needs.min_by_key(|span| span.start) {
            Some(span) => Err(SpanError::new(
                span,
                "this is of your own database: name that with copy-of in [workload]",
            )),
            None => Ok(None),
        };
    };
    let rows = sections.parameters.iter();
    let rows = rows.filter_map(|(_, entries)| Some(&entries.first()?.span));
    let named = [name, mix, distribution, shape].into_iter().flatten();
    let others = named.map(|entry| &entry.span).chain(rows);
    let others = others.chain(operations.iter().map(|entry| &entry.span));
    let others = others.chain(sections.tables.iter().map(|(_, span)| span));
    if let Some(other) = others.min_by_key(|span| span.start) {
        return Err(SpanError::new(
            other,
            "this is of Octavo's own rows: leave it out with copy-of",
        ));
    }
    let (scripts, recordings) = (script.first(), recording.first());
    if let (Some(_), Some(second)) = (scripts.or(define.first()), recordings) {
        return Err(SpanError::new(
            &second.span,
            "scripts and recordings exclude each other: name one kind of them",
        ));
    }
    let others = scripts.or(recordings).or(define.first());
    if let (Some(_), Some(second)) = (others, digests) {
        return Err(SpanError::new(
            &second.span,
            "digests stand for all statements: leave scripts and recordings out",
        ));
    }
    if let (None, Some(pace)) = (recordings, pace) {
        return Err(SpanError::new(
            &pace.span,
            "a pace is a recording's: name that with recording",
        ));
    }
    let mut definitions = Definitions::default();
    for entry in define {
        match entry.value.split_once('=') {
            Some((name, value)) if is_name(name) => definitions.set(name, value),
            _ => {
                let reason = "a variable is written like \"rows=300000\"";
                return Err(SpanError::new(&entry.span, reason));
            }
        }
    }
    if let Some(rate) = copy_rate
        && rate.value == ByteCount::ZERO
    {
        return Err(SpanError::new(&rate.span, "copy-rate must be more than 0"));
    }
    let seed = given(&sections.experiment.seed).map_or(1, |seed| seed.0);
    Ok(Some(OwnSettings {
        pace: given(pace).map(|paced| paced.0),
        source: source.value.clone().into(),
        copying: Copying {
            share: given(sample).map(|sample| sample.0),
            seed: Seed::new(seed),
            rate: given(copy_rate),
        },
        scripts: script
            .iter()
            .map(|entry| ScriptFile::written(&entry.value))
            .collect(),
        recordings: values(recording).into_iter().map(PathBuf::from).collect(),
        digests: digests.is_some(),
        definitions,
        clients: None,
    }))
}

/// The workload and its rows, each with the place of its last list's entry, or
/// of the scale where there is no list.
fn workload(
    sections: &Sections<'_>,
    shape: Option<&SpannedValue<Arc<Shape>>>,
    places: &Places,
    known: &Registries,
) -> Result<(WorkloadName, List<DataSpec>), SpanError> {
    let names: Vec<&str> = known.workloads.names().map(WorkloadName::name).collect();
    let Some(given) = &sections.workload.name else {
        return Err(missing(
            places,
            "workload",
            &format!(
                "the workload is missing: write name = \"tpcc\" in [workload], or another of {}",
                names.join(", ")
            ),
        ));
    };
    let name = given.value.as_str();
    // Not the user's own, which is no name.
    let mut all = known.workloads.names();
    let workload = all.find(|known| known.name() == name).ok_or_else(|| {
        let reason = format!("workload '{name}' is not known: {}", instead(name, &names));
        SpanError::new(&given.span, reason)
    })?;
    let family = workload.family();
    if let (Some(shape), false) = (shape, family.takes_shape) {
        let title = family.data.title;
        let reason = WorkloadError::NoShape { title }.to_string();
        return Err(SpanError::new(&shape.span, reason));
    }
    let kind = &family.data;
    let scale = kind.scale().name;
    let own = shape.map(|shape| shape.value.rows());
    // Of other families' parameters, the first in the file.
    let foreign = |(name, _): &&(&'static str, _)| kind.parameter(name).is_none();
    let mut given: Vec<_> = sections.parameters.iter().collect();
    given.sort_by_key(|(_, entries)| entries[0].span.start);
    if let Some((name, entries)) = given.into_iter().find(foreign) {
        let error = kind.data_spec(&[(*name, 1)]).err();
        let reason = error.map_or_else(String::new, |error| error.to_string());
        return Err(SpanError::new(&entries[0].span, reason));
    }
    let mut variants: Vec<Variant<Quantity>> = vec![(Vec::new(), 0..0)];
    // The scale comes first of a kind's parameters.
    for parameter in kind.parameters {
        let given = sections.parameters.iter();
        let given = given.clone().find(|(name, _)| *name == parameter.name);
        let Some((name, entries)) = given else {
            let mut own = own.iter().flatten();
            if let Some((name, value)) = own.find(|(name, _)| *name == parameter.name) {
                let span = shape.map_or(0..0, |shape| shape.span.clone());
                let value = Quantity(*value);
                variants = combined(&variants, name, &[SpannedValue { value, span }]);
                continue;
            }
            if parameter.name == scale {
                return Err(missing(
                    places,
                    "workload",
                    &format!("{scale} is missing in [workload]: say how much data there is"),
                ));
            }
            continue;
        };
        distinct(name, entries)?;
        if let (true, [_, second, ..]) = (*name == scale, &entries[..]) {
            return Err(SpanError::new(
                &second.span,
                format!("{scale} is one for all cells: give a single one"),
            ));
        }
        variants = combined(&variants, name, entries);
    }
    let scale_place = places.get(scale).cloned().unwrap_or(0..0);
    let rows = variants.into_iter().map(|(values, span)| {
        let values: Vec<(&str, u64)> = values.into_iter().map(|(name, of)| (name, of.0)).collect();
        let value = kind.data_spec(&values).map_err(|error| {
            let is_scale = error.parameter() == scale;
            let place = if is_scale { &scale_place } else { &span };
            SpanError::new(place, error.to_string())
        })?;
        Ok(SpannedValue { value, span })
    });
    Ok((workload, rows.collect::<Result<_, _>>()?))
}

/// Takes mix and distribution, and refuses workloads that cannot be built.
fn check_workload(
    plan: &mut Plan,
    sections: &Sections<'_>,
    rows: &[SpannedValue<DataSpec>],
) -> Result<(), SpanError> {
    let (mix, distribution) = (&sections.workload.mix, &sections.workload.distribution);
    if let Some(entry) = distribution {
        let read: Distribution = entry
            .value
            .parse()
            .map_err(|error| refuse_at(entry, &error))?;
        // As it prints, so that two ways to write it are one plan.
        plan.distribution = Some(read.to_string());
    }
    plan.mix = given(mix);
    for row in rows {
        if let Err(error) = plan.workload(row.value) {
            let given = match &error {
                WorkloadError::Mix(_) => mix.as_ref(),
                WorkloadError::Keys(_) | WorkloadError::Distribution { .. } => {
                    distribution.as_ref()
                }
                _ => None,
            };
            return Err(
                given.map_or_else(|| refuse_at(row, &error), |given| refuse_at(given, &error))
            );
        }
    }
    Ok(())
}

/// Entries of lists by the names of these, and where the last of them is.
type Variant<T> = (Vec<(&'static str, T)>, Range<usize>);

/// Each of the variants with each entry of one more list.
fn combined<T: Clone>(
    variants: &[Variant<T>],
    name: &'static str,
    entries: &[SpannedValue<T>],
) -> Vec<Variant<T>> {
    let with = |(chosen, _): &Variant<T>| {
        let chosen = chosen.clone();
        entries.iter().map(move |entry| {
            let mut chosen = chosen.clone();
            chosen.push((name, entry.value.clone()));
            (chosen, entry.span.clone())
        })
    };
    variants.iter().flat_map(with).collect()
}

/// The databases with their options, each at its name or at the last of its
/// options.
fn databases(sections: &Sections<'_>, known: &Registries) -> Result<List<DatabaseSpec>, SpanError> {
    let names = &sections.cells.database;
    distinct("database", names)?;
    let mut kinds: List<&'static DatabaseKind> = Vec::new();
    if names.is_empty() {
        kinds.push(SpannedValue {
            value: known.databases.default_kind(),
            span: 0..0,
        });
    }
    for name in names {
        kinds.push(SpannedValue {
            value: known
                .databases
                .find(&name.value)
                .map_err(|error| refuse_at(name, &error))?,
            span: name.span.clone(),
        });
    }
    for (option, entries) in &sections.options {
        distinct(option, entries)?;
        if !kinds.iter().any(|kind| kind.value.option(option).is_some()) {
            return Err(SpanError::new(
                &entries[0].span,
                format!("{} has no option {option}", values_of(&kinds).join(" and ")),
            ));
        }
    }
    let mut list = Vec::new();
    for kind in &kinds {
        let mut variants: Vec<Variant<String>> = vec![(Vec::new(), kind.span.clone())];
        let own = sections.options.iter();
        for (option, entries) in own.filter(|(option, _)| kind.value.option(option).is_some()) {
            variants = combined(&variants, option, entries);
        }
        for (options, span) in variants {
            let options = options
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value));
            let value = DatabaseSpec::new(kind.value, options.collect())
                .map_err(|error| SpanError::new(&span, error.to_string()))?;
            list.push(SpannedValue { value, span });
        }
    }
    Ok(list)
}

fn values_of(kinds: &[SpannedValue<&'static DatabaseKind>]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.value.name).collect()
}

/// What can be compared, by the key of its list.
pub(super) fn factors(known: &Registries) -> Vec<(&'static str, Factor)> {
    let mut factors = vec![
        ("page-size", Factor::PageSize),
        ("memory", Factor::Memory),
        ("storage", Factor::Storage),
        ("file-system", Factor::Storage),
        ("clients", Factor::Clients),
        ("cpus", Factor::Cpus),
        ("copies", Factor::Copy),
        ("database", Factor::Database),
    ];
    factors.extend(
        known
            .option_names()
            .into_iter()
            .map(|name| (name, Factor::Database)),
    );
    let is_scale = |name: &&str| {
        let mut families = known.workloads.families().iter();
        families.any(|family| family.data.scale().name == *name)
    };
    let names = known.parameter_names().into_iter();
    let widths = names.filter(|name| !is_scale(name));
    factors.extend(widths.map(|name| (name, Factor::Rows)));
    factors
}

/// The key that a factor's list has in the file.
fn key_of(factor: Factor, sections: &Sections<'_>, known: &Registries) -> &'static str {
    let several = |key: &str| {
        let options = sections
            .options
            .iter()
            .map(|(name, list)| (*name, list.len()));
        let rows = sections
            .parameters
            .iter()
            .map(|(name, list)| (*name, list.len()));
        let own = [
            ("database", sections.cells.database.len()),
            ("storage", sections.cells.storage.len()),
            ("file-system", sections.cells.file_system.len()),
        ];
        let mut counts = options.chain(rows).chain(own);
        counts.any(|(name, count)| name == key && count > 1)
    };
    let factors = factors(known);
    let mut keys = factors
        .iter()
        .filter(|(_, of)| *of == factor)
        .map(|(key, _)| *key);
    let first = keys.clone().next().unwrap_or_default();
    keys.find(|key| several(key)).unwrap_or(first)
}

/// What is compared: as the file says; else the page size if several are
/// given; else the only list with several entries.
fn compared(
    plan: &Plan,
    sections: &Sections<'_>,
    places: &Places,
    known: &Registries,
) -> Result<Factor, SpanError> {
    if let Some(given) = &sections.experiment.compare {
        let factors = factors(known);
        let keys: Vec<&str> = factors.iter().map(|(key, _)| *key).collect();
        let Some((_, factor)) = factors.iter().find(|(key, _)| *key == given.value) else {
            let reason = format!(
                "compare '{}' is not known: {}",
                given.value,
                instead(&given.value, &keys)
            );
            return Err(SpanError::new(&given.span, reason));
        };
        if plan.count(*factor) < 2 {
            return Err(SpanError::new(
                &given.span,
                format!(
                    "there is nothing to compare: the plan has one {}, at least two are needed",
                    key_of(*factor, sections, known)
                ),
            ));
        }
        let places = [
            sections.cells.storage.len(),
            sections.cells.file_system.len(),
        ];
        if *factor == Factor::Storage && places.iter().all(|count| *count > 1) {
            let reason = "both storage and file-system are lists: neither is compared within each entry of the \
                          other, so make a plan for each, or compare page sizes";
            return Err(SpanError::new(&given.span, reason));
        }
        return Ok(*factor);
    }
    if plan.page_sizes.len() > 1 {
        return Ok(Factor::PageSize);
    }
    let several: Vec<Factor> = Factor::ALL
        .into_iter()
        .filter(|&factor| plan.count(factor) > 1)
        .collect();
    if plan.ramp.is_some() {
        // Only names and their order follow from it.
        return Ok(several.first().copied().unwrap_or(Factor::PageSize));
    }
    match several[..] {
        [one] => Ok(one),
        [] => Err(missing(
            places,
            "cells",
            "there is nothing to compare: give a list with several entries, or copies = 2 to see \
             what chance alone does; octavo bench measures a single cell",
        )),
        [..] => {
            let keys: Vec<&str> = several
                .iter()
                .map(|&f| key_of(f, sections, known))
                .collect();
            Err(missing(
                places,
                keys[0],
                &format!(
                    "several lists have several entries ({}): say which is compared, such as \
                     compare = \"{}\" in [experiment]",
                    keys.join(", "),
                    keys[0]
                ),
            ))
        }
    }
}

fn check_count(plan: &Plan, places: &Places) -> Result<(), SpanError> {
    let (count, most) = (plan.cell_count(), Plan::CELLS_MAX);
    if count <= most {
        return Ok(());
    }
    let reason = format!("{count} cells are more than {most}: shorten the lists");
    Err(missing(places, "cells", &reason))
}

/// Refuses cells that their database cannot be, at the entry that is the
/// cause. `seats` has the places of the entries of some lists.
fn check_databases(
    plan: &Plan,
    specs: &[DatabaseSpec],
    places: &Places,
    seats: &[(&str, Vec<Range<usize>>)],
) -> Result<(), SpanError> {
    let made = specs.iter().map(DatabaseSpec::make);
    let made = made
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| SpanError::new(&(0..0), error.to_string()))?;
    for cell in plan.cells() {
        let settings = Settings {
            page_size: cell.page_size,
            memory: cell.memory,
            clients: cell.clients,
            isolation: plan.isolation,
        };
        let database = plan.databases.iter().position(|of| *of == cell.database);
        let Some(Err(error)) = database.map(|number| made[number].accept(&settings)) else {
            continue;
        };
        let DatabaseError::Setting { setting, .. } = &error else {
            return Err(SpanError::new(&(0..0), error.to_string()));
        };
        let key = setting.replace(' ', "-");
        let entry = match key.as_str() {
            "memory" => plan.memories.iter().position(|&m| m == cell.memory),
            "clients" => plan.clients.iter().position(|&c| c == cell.clients),
            _ => None,
        };
        let seat = seats.iter().find(|(name, _)| *name == key);
        let place = seat
            .and_then(|(_, spans)| spans.get(entry?))
            .or_else(|| places.get(&key));
        return Err(SpanError::new(
            &place.cloned().unwrap_or(0..0),
            error.to_string(),
        ));
    }
    Ok(())
}

/// The reference, which has to be in the compared list.
fn reference(plan: &Plan, given: &SpannedValue<DeferredValue>) -> Result<Level, SpanError> {
    let value = &given.value;
    let level = match plan.compare {
        Factor::PageSize => value.read::<PageSize>().map(|of| of.map(Level::PageSize)),
        Factor::Memory => value.read::<ByteCount>().map(|of| of.map(Level::Memory)),
        Factor::Rows => value
            .read::<ByteCount>()
            .map(|of| of.map(Some).map(Level::Rows)),
        Factor::Storage => {
            let read = value.read::<String>();
            let text = read.and_then(Result::ok).unwrap_or_default();
            match Storage::by_file_system(&text, &plan.storages) {
                Some(storage) => Some(Ok(Level::Storage(storage.clone()))),
                None => value.read::<Storage>().map(|of| of.map(Level::Storage)),
            }
        }
        Factor::Cpus => value.read::<Option<u32>>().map(|of| of.map(Level::Cpus)),
        Factor::Clients => number(value).map(|of| of.map(Level::Clients)),
        Factor::Copy => number(value).map(|of| of.map(Level::Copy)),
        Factor::Database => value.read::<String>().map(|of| of.map(Level::Database)),
    };
    let level = level
        .transpose()
        .map_err(|reason| refuse_at(given, &reason))?;
    // The compared list varies fastest.
    let cells = plan.cells();
    let compared = &cells[..plan.count(plan.compare)];
    let named: Vec<Level> = compared
        .iter()
        .filter(|cell| match &level {
            // By its name, or by an option that it alone has.
            Some(Level::Database(wanted)) => {
                let mut options = cell.database.options.iter();
                cell.database.name == *wanted || options.any(|(_, value)| value == wanted)
            }
            level => level.as_ref() == Some(&cell.level(plan.compare)),
        })
        .map(|cell| cell.level(plan.compare))
        .collect();
    match <[Level; 1]>::try_from(named) {
        Ok([one]) => Ok(one),
        Err(named) if named.is_empty() => {
            let levels = compared.iter().map(|cell| plan.level(cell, plan.compare));
            let names: Vec<String> = levels.map(|level| level.to_string()).collect();
            Err(SpanError::new(
                &given.span,
                format!(
                    "the reference is not in the compared list: choose {}",
                    names.join(", ")
                ),
            ))
        }
        Err(_) => Err(SpanError::new(
            &given.span,
            "the reference could be several of the databases",
        )),
    }
}

fn number(value: &DeferredValue) -> Option<Result<u32, String>> {
    let number = value.read::<Count<{ u32::MAX as u64 }>>()?;
    Some(number.map(Count::get))
}
