//! What another disk would change, predicted from what was measured here.

use octavo_device::catalog;
use octavo_predict::{Setup, Slowness};
use octavo_units::{ByteCount, PageSize};
use serde::Serialize;

use super::{Calibrated, model_of, throughput::throughput};
use crate::{
    error::CampaignError,
    plan::{Cell, Plan},
    record::Source,
    resolved::ResolvedPlan,
    store::{Store, StoreError},
};

/// The disks that are asked: a fast drive, a volume in the cloud, and a disk that rotates.
const DEVICES: [&str; 3] = ["nvme-tlc", "gp3-3000", "st373455ss"];

/// Where these are in a store.
const TOPIC: &str = "elsewhere";

/// What another disk would change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elsewhere {
    /// That it is predicted, whatever else was measured.
    pub source: Source,
    /// The disk's name in the catalog.
    pub device: String,
    /// The memory that is predicted with: the largest of the plan.
    pub memory: ByteCount,
    /// The page size with the highest throughput there.
    pub page_size: PageSize,
    /// That throughput over the one with the default page size there.
    pub over_default: f64,
    /// The throughput with the default page size there over the one that was measured
    /// here.
    pub over_here: f64,
}

impl Elsewhere {
    /// What a store has of it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        let facts = store.facts(TOPIC)?;
        let mut all: Vec<Self> = facts.into_iter().filter_map(Self::from_fact).collect();
        all.sort_by_key(|one| DEVICES.iter().position(|device| **device == *one.device));
        Ok(all)
    }

    fn from_fact((device, words): (String, String)) -> Option<Self> {
        let mut words = words.split(' ');
        Some(Self {
            source: Source::Predicted,
            device,
            memory: ByteCount::new(words.next()?.parse().ok()?),
            page_size: PageSize::new(words.next()?.parse().ok()?).ok()?,
            over_default: words.next()?.parse().ok()?,
            over_here: words.next()?.parse().ok()?,
        })
    }

    fn fact(&self) -> (String, String) {
        let (memory, page_size) = (self.memory.get(), self.page_size.get());
        let words = format!(
            "{memory} {page_size} {:.4} {:.4}",
            self.over_default, self.over_here
        );
        (self.device.clone(), words)
    }
}

/// Predicts what other disks would change, and keeps it in the store with the results.
/// Nothing is predicted where no single comparison is meant: with several databases,
/// storages, numbers of clients or CPUs, or data of several kinds; nor of what has no model.
///
/// # Errors
/// When the store cannot be read or written, and when the user interrupts: then nothing is
/// kept.
pub(crate) fn predict_elsewhere(
    resolved: &ResolvedPlan<'_>,
    store: &mut Store,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Elsewhere>, CampaignError> {
    let plan = resolved.plan();
    let mut found = Vec::new();
    if let Some(known) = known(plan, store)? {
        for device in DEVICES {
            found.extend(on(device, &known, resolved, is_interrupted)?);
        }
    }
    let facts: Vec<(String, String)> = found.iter().map(Elsewhere::fact).collect();
    store.replace_facts(TOPIC, &facts)?;
    Ok(found)
}

/// What is predicted from.
struct Known {
    calibrated: Calibrated,
    memory: ByteCount,
    default: PageSize,
    /// Counted transactions a second, measured with the default page size.
    here: f64,
}

fn known(plan: &Plan, store: &Store) -> Result<Option<Known>, StoreError> {
    let ([database], [_], [_], [_], [_], Some(&memory)) = (
        plan.databases.as_slice(),
        plan.storages.as_slice(),
        plan.clients.as_slice(),
        plan.cpus.as_slice(),
        plan.data.as_slice(),
        plan.memories.iter().max(),
    ) else {
        return Ok(None);
    };
    let Ok(calibrated) = Calibrated::of(store, plan, "these results") else {
        return Ok(None);
    };
    let default = database.default_page_size;
    let cells = plan.cells();
    let is_default = |cell: &Cell| cell.page_size == default && cell.memory == memory;
    let mut counted = 0;
    let mut elapsed = 0.0;
    for slice in store.slices()? {
        if cells.get(slice.key.cell).is_some_and(is_default) {
            counted += slice.counted;
            elapsed += slice.elapsed.as_secs_f64();
        }
    }
    Ok((counted > 0).then(|| Known {
        calibrated,
        memory,
        default,
        here: counted as f64 / elapsed,
    }))
}

/// The best page size on a disk; `None` where it cannot have the data or nothing is
/// known of the default page size.
fn on(
    device: &str,
    known: &Known,
    resolved: &ResolvedPlan<'_>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Option<Elsewhere>, CampaignError> {
    let mut best: Option<(PageSize, f64)> = None;
    let mut with_default = None;
    let cells = resolved.plan().cells();
    for cell in cells.iter().filter(|cell| cell.memory == known.memory) {
        if is_interrupted() {
            return Err(CampaignError::Stopped);
        }
        let Some(throughput) = on_device(device, cell, known, resolved) else {
            continue;
        };
        if cell.page_size == known.default {
            with_default = Some(throughput);
        }
        if best.is_none_or(|(_, most)| throughput > most) {
            best = Some((cell.page_size, throughput));
        }
    }
    let (Some((page_size, most)), Some(with_default)) = (best, with_default) else {
        return Ok(None);
    };
    Ok(Some(Elsewhere {
        source: Source::Predicted,
        device: device.to_owned(),
        memory: known.memory,
        page_size,
        over_default: most / with_default,
        over_here: with_default / known.here,
    }))
}

/// Counted transactions a second, where they are known.
fn on_device(device: &str, cell: &Cell, known: &Known, resolved: &ResolvedPlan<'_>) -> Option<f64> {
    let workload = resolved.workload(cell.data);
    let seed = resolved.plan().seed;
    let database = resolved.database(&cell.database);
    let entry = catalog::find(device).ok()?;
    let rotates = entry.rotates();
    let setup = Setup {
        model: model_of(&cell.database, rotates).ok()?,
        page_size: cell.page_size,
        memory: database.buffer(cell.memory).ok()?,
        clients: cell.clients,
        processors: known.calibrated.processors,
        seed,
        cpu: known.calibrated.cpu.cost,
        slowness: Slowness::default(),
    };
    let device = entry.open(seed.derive("device", 0));
    throughput(workload, &setup, device).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let one = Elsewhere {
            source: Source::Predicted,
            device: "gp3-3000".into(),
            memory: ByteCount::mib(32),
            page_size: PageSize::kib(2),
            over_default: 1.125,
            over_here: 0.5,
        };
        assert_eq!(Elsewhere::from_fact(one.fact()), Some(one));
        for damaged in ["", "1 2 3", "x 2048 1 1", "1 3 1 1"] {
            let fact = ("a".to_owned(), damaged.to_owned());
            assert_eq!(Elsewhere::from_fact(fact), None, "{damaged}");
        }
    }
}
