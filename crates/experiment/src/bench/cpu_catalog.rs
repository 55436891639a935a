//! What each kind of transaction takes of processors: short runs of one kind after the other,
//! with all data in memory and on a file system in memory, so that nothing waits for storage.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use jiff::Timestamp;
use octavo_database::Database;
use octavo_driver::{Load, RETRIES, RunLength};
use octavo_predict::KindCost;
use octavo_units::{ByteCount, Seed, spread};
use octavo_workload::{Family, Registry, Workload, shape::Shape};

use super::{BenchError, BenchResult, BenchSettings, Target, bench};
use crate::{
    dataset::{Dataset, LoadSettings},
    observer::Observer,
    prediction::CpuCatalog,
};

/// Runs of each kind, in turn with the others, whose differences are the deviation. Chosen.
const RUNS: usize = 3;

/// Of rows and inputs.
const SEED: Seed = Seed::new(1);

/// What to measure, and where.
pub struct CpuCatalogSettings<'a> {
    /// The database.
    pub database: &'a dyn Database,
    /// What it was made with.
    pub options: &'a [(String, String)],
    /// A directory that does not exist yet, on a file system in memory.
    pub directory: &'a Path,
    /// Memory that may hold data: more than there are.
    pub memory: ByteCount,
    /// The only family to measure; `None` for all.
    pub family: Option<&'static Family>,
    /// Tables in place of those of the family.
    pub shape: Option<Arc<Shape>>,
    /// Sessions, that keep all processors busy.
    pub clients: u32,
    /// How long each run lasts.
    pub length: RunLength,
    /// The version of Octavo.
    pub octavo_version: &'a str,
}

/// Measures what every kind of transaction takes.
///
/// # Errors
/// When a run fails.
pub fn cpu_catalog(
    settings: &CpuCatalogSettings<'_>,
    observer: &dyn Observer,
) -> Result<CpuCatalog, BenchError> {
    let mut catalog = CpuCatalog::new(settings.octavo_version, settings.clients);
    catalog.shape = settings.shape.clone();
    let registry = Registry::standard();
    let is_wanted = |family: &&&'static Family| {
        let wanted = settings.family;
        wanted.is_none_or(|wanted| std::ptr::eq(wanted, **family))
    };
    for family in registry.families().iter().filter(is_wanted) {
        let measured = family_costs(settings, family, observer)?;
        catalog.cost.extend(measured.costs);
        catalog.database = measured.result.subject.database;
        catalog.version = measured.result.subject.version;
    }
    catalog.measured = Timestamp::now().to_string();
    Ok(catalog)
}

struct FamilyCosts {
    costs: Vec<KindCost>,
    result: BenchResult,
}

/// What the kinds of a family take: each alone where that is possible. Others are measured in
/// their mix, where each has the share of the time that its latencies have. A kind of a family's own tables
/// that is an [operation](Workload::operations_of) is called as that, with the mean of the tables that have it:
/// other tables take it from there. Those of a shape keep their names, as they differ.
fn family_costs(
    settings: &CpuCatalogSettings<'_>,
    family: &'static Family,
    observer: &dyn Observer,
) -> Result<FamilyCosts, BenchError> {
    let build = |mix: Option<String>| {
        let takes_shape = family.takes_shape;
        let shape = settings.shape.clone().filter(|_| takes_shape);
        family.kind_trial(mix, shape, SEED)
    };
    let mixed = build(None).map_err(|error| refused(&error))?;
    let kinds = mixed.transactions();
    let alone = || {
        kinds
            .iter()
            .map(|kind| build(Some(format!("{}=1", kind.name))))
    };
    let workloads: Vec<Box<dyn Workload>> = match family.kind_trial.are_alone {
        false => vec![mixed],
        true => alone()
            .collect::<Result<_, _>>()
            .map_err(|error| refused(&error))?,
    };
    let directory = settings.directory.join(family.data.name);
    let loaded = Dataset::open_or_load(
        &LoadSettings {
            directory: &directory,
            database: settings.database,
            options: settings.options,
            page_size: settings.database.default_page_size(),
            workload: workloads[0].as_ref(),
            seed: SEED,
            octavo_version: settings.octavo_version,
        },
        observer,
    )?;
    let names = kinds.iter().enumerate();
    let names = names.map(|(place, kind)| match settings.shape {
        None => single_operation(workloads[0].as_ref(), place).unwrap_or(kind.name),
        Some(_) => kind.name,
    });
    let names: Vec<&str> = names.collect();
    let mut seen: BTreeMap<&str, Vec<Sample>> = BTreeMap::new();
    let mut last = None;
    for workload in std::iter::repeat_n(&workloads, RUNS).flatten() {
        let benched = bench(
            BenchSettings {
                target: Target::Dataset {
                    loaded: &loaded,
                    database: settings.database,
                    memory: settings.memory,
                },
                workload: workload.as_ref(),
                seed: SEED,
                clients: settings.clients,
                load: Load::Closed {
                    terminals: settings.clients,
                },
                retries: RETRIES,
                isolation: None,
                length: settings.length,
                hdr_log: None,
                octavo_version: settings.octavo_version,
                caches: None,
            },
            observer,
        )?;
        for (kind, sample) in samples(&benched.result) {
            seen.entry(names[kind]).or_default().push(sample);
        }
        last = Some(benched.result);
    }
    drop(loaded);
    // The next family's rows take its place in memory.
    fs::remove_dir_all(&directory).map_err(|error| refused(&error))?;
    let result = last.ok_or_else(|| refused(&"the family has no kinds of transactions"))?;
    let costs = seen.into_iter().map(|(name, seen)| {
        let logs: Vec<f64> = seen.iter().map(|sample| sample.us.ln()).collect();
        let bytes: Vec<f64> = seen.iter().map(|sample| sample.log_bytes).collect();
        KindCost {
            family: family.data.name.into(),
            kind: name.into(),
            us: spread::mean(&logs).exp(),
            deviation: spread::standard_deviation(&logs),
            log_bytes: spread::mean(&bytes),
        }
    });
    Ok(FamilyCosts {
        costs: costs.collect(),
        result,
    })
}

/// The operation that a kind is, where it is a single one.
fn single_operation(workload: &dyn Workload, kind: usize) -> Option<&'static str> {
    match workload.operations_of(kind)[..] {
        [(operation, 1.0)] => Some(operation),
        _ => None,
    }
}

/// What a run says of one kind.
#[derive(Clone, Copy)]
struct Sample {
    us: f64,
    log_bytes: f64,
}

/// What a run says of the kinds that it executed.
fn samples(result: &BenchResult) -> Vec<(usize, Sample)> {
    let load = &result.figures.load;
    let machine = &result.figures.machine;
    let transactions = load.transactions() as f64;
    // Somebody else's part of the processors is nobody's cost.
    let own = machine.user + machine.system - machine.others;
    let us = own * machine.cpus * load.measured.as_secs_f64() * 1e6 / transactions;
    let log_bytes = load.counters.log_written_bytes.get() as f64 / transactions;
    let kinds = load.counts.kinds.iter().enumerate();
    let each = kinds.filter_map(|(place, kind)| {
        let count = kind.latencies.count() as f64;
        (count > 0.0).then(|| (place, count, kind.latencies.histogram().mean()))
    });
    let each: Vec<(usize, f64, f64)> = each.collect();
    let all: f64 = each.iter().map(|(_, count, mean)| count * mean).sum();
    let mean = all / each.iter().map(|(_, count, _)| count).sum::<f64>();
    let each = each.into_iter().map(|(place, _, latency)| {
        let us = us * latency / mean;
        (place, Sample { us, log_bytes })
    });
    each.filter(|(_, sample)| sample.us > 0.0 && sample.us.is_finite())
        .collect()
}

fn refused(error: &dyn std::fmt::Display) -> BenchError {
    BenchError::CpuCatalog(error.to_string())
}
