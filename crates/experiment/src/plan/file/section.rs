//! The sections of a plan file, read by serde.

use std::ops::Range;

use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue, ValueDeserializer},
};

use super::{
    keys::{
        Cells, ClientKeys, Experiment, FORMAT, LISTS, Places, RunKeys, TopLevelKeys,
        WORKLOAD_LISTS, WorkloadKeys,
    },
    price_keys::PriceKeys,
    refusal::SpanError,
    registries::Registries,
    value::{List, Quantity, SpannedValue, Whole},
};

/// The names of the sections.
pub(super) const SECTIONS: [&str; 6] =
    ["experiment", "run", "workload", "cells", "clients", PRICES];

/// The tables of keys and values in `[workload]` or a file of their own.
pub(super) const TABLES: &str = "tables";

/// The section of prices, which say nothing of what is measured.
pub(super) const PRICES: &str = "prices";

/// A plan file's sections, each key read by itself.
pub(super) struct Sections<'i> {
    pub(super) head: TopLevelKeys,
    pub(super) experiment: Experiment,
    pub(super) run: RunKeys,
    pub(super) workload: WorkloadKeys,
    /// The tables of keys and values that it has itself, and their place.
    pub(super) tables: Option<(DeTable<'i>, Range<usize>)>,
    /// The parameters of rows that the file gives.
    pub(super) parameters: Vec<(&'static str, List<Quantity>)>,
    pub(super) cells: Cells,
    /// The options of databases that the file gives.
    pub(super) options: Vec<(&'static str, List<String>)>,
    /// `None` of a file without this section.
    pub(super) clients: Option<ClientKeys>,
    /// `None` of a file without this section.
    pub(super) prices: Option<PriceKeys>,
}

impl<'i> Sections<'i> {
    /// Takes the document apart. Each section is read by its struct, once the
    /// keys that a registry describes are out of it.
    pub(super) fn read(mut document: DeTable<'i>, known: &Registries) -> Result<Self, SpanError> {
        let experiment = table(&mut document, "experiment")?;
        let run = table(&mut document, "run")?;
        let mut workload = table(&mut document, "workload")?;
        let tables = match workload.get(TABLES).map(Spanned::span) {
            Some(span) => Some((table(&mut workload, TABLES)?, span)),
            None => None,
        };
        let mut cells = table(&mut document, "cells")?;
        let has_clients = document.contains_key("clients");
        let clients = table(&mut document, "clients")?;
        let has_prices = document.contains_key(PRICES);
        let prices = table(&mut document, PRICES)?;
        let head = read(document, "a plan", &SECTIONS)?;
        let (parameter_names, option_names) = (known.parameter_names(), known.option_names());
        let parameters = take_lists(&mut workload, "[workload]", &parameter_names)?;
        let options = take_lists(&mut cells, "[cells]", &option_names)?;
        for (section, names) in [(&mut cells, &LISTS[..]), (&mut workload, &WORKLOAD_LISTS)] {
            for name in names {
                if let Some(value) = section.get_mut(*name) {
                    make_list(name, value)?;
                }
            }
        }
        let others = [&parameter_names[..], &[TABLES]].concat();
        let workload: WorkloadKeys = read(workload, "[workload]", &others)?;
        Ok(Self {
            head,
            experiment: read(experiment, "[experiment]", &[])?,
            run: read(run, "[run]", &[])?,
            workload,
            tables,
            parameters,
            cells: read(cells, "[cells]", &option_names)?,
            options,
            clients: match has_clients {
                true => Some(read(clients, "[clients]", &[])?),
                false => None,
            },
            prices: match has_prices {
                true => Some(read(prices, "[prices]", &[])?),
                false => None,
            },
        })
    }
}

/// Takes a section out of the document; an empty one where there is none.
pub(super) fn table<'i>(document: &mut DeTable<'i>, name: &str) -> Result<DeTable<'i>, SpanError> {
    let Some(value) = document.remove(name) else {
        return Ok(DeTable::new());
    };
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok(table),
        _ => Err(SpanError::new(
            &span,
            format!("{name} is not a section: write [{name}]"),
        )),
    }
}

/// Takes the values of the keys `names` out of a section, each as a list.
fn take_lists<'i, T: Deserialize<'i>>(
    table: &mut DeTable<'i>,
    section: &str,
    names: &[&'static str],
) -> Result<Vec<(&'static str, T)>, SpanError> {
    let mut lists = Vec::new();
    for &name in names {
        if let Some(mut value) = table.remove(name) {
            make_list(name, &mut value)?;
            let list = T::deserialize(ValueDeserializer::from(value))
                .map_err(|error| SpanError::from_toml(&error, section, &[]))?;
            lists.push((name, list));
        }
    }
    Ok(lists)
}

/// Makes a list of a single value, and refuses an empty list.
fn make_list(name: &str, value: &mut Spanned<DeValue<'_>>) -> Result<(), SpanError> {
    match value.get_ref() {
        DeValue::Array(entries) if entries.is_empty() => Err(SpanError::new(
            &value.span(),
            format!("{name} is an empty list: at least one entry is needed"),
        )),
        DeValue::Array(_) => Ok(()),
        _ => {
            let span = value.span();
            let only = std::mem::replace(value.get_mut(), DeValue::Boolean(false));
            let list: DeArray<'_> = std::iter::once(Spanned::new(span, only)).collect();
            *value.get_mut() = DeValue::Array(list);
            Ok(())
        }
    }
}

/// Reads a section, of which `others` are keys that it does not have itself.
pub(super) fn read<'i, T: Deserialize<'i>>(
    table: DeTable<'i>,
    section: &str,
    others: &[&str],
) -> Result<T, SpanError> {
    let value = Spanned::new(0..0, DeValue::Table(table));
    T::deserialize(ValueDeserializer::from(value))
        .map_err(|error| SpanError::from_toml(&error, section, others))
}

/// Refuses other versions before anything else: their keys may be others.
pub(super) fn check_format(document: &DeTable<'_>) -> Result<(), SpanError> {
    let Some(given) = document.get("format") else {
        return Err(SpanError::new(
            &(0..0),
            format!("format is missing: write format = {FORMAT} before all sections"),
        ));
    };
    let found: SpannedValue<Whole<0, { u64::MAX }>> =
        Deserialize::deserialize(ValueDeserializer::from(given.clone()))
            .map_err(|error| SpanError::from_toml(&error, "a plan", &[]))?;
    match found.value.0 {
        FORMAT => Ok(()),
        found => Err(SpanError::new(
            &given.span(),
            format!("format {found} is not known: this octavo reads format {FORMAT}"),
        )),
    }
}

/// Where the sections and the values of their keys are.
pub(super) fn places(document: &DeTable<'_>) -> Places {
    let mut places = Places::new();
    for (name, value) in document {
        places.insert(name.get_ref().to_string(), value.span());
        // Prices have keys of the same names, which nothing asks for.
        if let DeValue::Table(table) = value.get_ref()
            && name.get_ref() != PRICES
        {
            for (key, value) in table {
                // The name of a plan is no key of a section.
                let key = match (name.get_ref().as_ref(), key.get_ref().as_ref()) {
                    ("workload", "name") => "workload name",
                    (_, key) => key,
                };
                places.insert(key.to_owned(), value.span());
            }
        }
    }
    places
}
