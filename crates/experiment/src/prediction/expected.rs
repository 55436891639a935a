//! What is worth measuring: cells predicted before anything is loaded.

use std::collections::BTreeSet;

use octavo_device::profile::Profile;
use octavo_predict::{Miniature, Setup, Slowness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cpu, PredictedDevice, rotates, throughput::throughput};
use crate::{
    error::CampaignError,
    lockstep::Unseated,
    monitor::Monitor,
    plan::{Cell, Storage},
    resolved::ResolvedPlan,
    store::{Store, StoreError},
};

/// Where these are in a store, and why there are none of some cells.
const TOPIC: &str = "expected";
const UNKNOWN: &str = "not expected";

/// What a cell was predicted to be, before it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// Its throughput over the reference's.
    pub ratio: f64,
    /// Whether it is not measured for that.
    pub is_left_out: bool,
}

impl Expected {
    /// What a store has of them, by the cell's number.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn all(store: &Store) -> Result<Vec<(usize, Self)>, StoreError> {
        let facts = store.facts(TOPIC)?;
        Ok(facts.into_iter().filter_map(Self::from_fact).collect())
    }

    /// The cells below `cells` that took no part in a sitting, by sitting: they have no run in
    /// it, and were not left out because a prediction says that they are slow.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn unseated(store: &Store, cells: usize) -> Result<Unseated, StoreError> {
        let seated = store.seated()?;
        let expected = Self::all(store)?;
        let is_slow = |cell: usize| {
            let mut expected = expected.iter();
            expected.any(|(of, expected)| *of == cell && expected.is_left_out)
        };
        let sittings: BTreeSet<u32> = seated.iter().map(|&(sitting, _)| sitting).collect();
        let all = sittings
            .into_iter()
            .flat_map(|sitting| (0..cells).map(move |cell| (sitting, cell)));
        Ok(all
            .filter(|of| !seated.contains(of) && !is_slow(of.1))
            .collect())
    }

    /// Why some cells that were to be predicted are not, where that is so.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn missing(store: &Store) -> Result<Option<String>, StoreError> {
        Ok(store.facts(UNKNOWN)?.pop().map(|(_, reason)| reason))
    }

    /// Keeps why some are not predicted, or that all are.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep_missing(store: &mut Store, reason: Option<&str>) -> Result<(), StoreError> {
        let reason = reason.map(|reason| ("reason".to_owned(), reason.to_owned()));
        store.replace_facts(UNKNOWN, reason.as_slice())
    }

    /// `None` of what is damaged.
    fn from_fact((cell, value): (String, String)) -> Option<(usize, Self)> {
        let kept = serde_json::from_str(&value).ok();
        let expected = kept.or_else(|| Self::from_words(&value))?;
        Some((cell.parse().ok()?, expected)).filter(|(_, of)| of.ratio.is_finite())
    }

    /// As earlier versions kept it: the ratio, and `left-out` or `measured`.
    fn from_words(words: &str) -> Option<Self> {
        let (ratio, what) = words.split_once(' ')?;
        Some(Self {
            ratio: ratio.parse().ok()?,
            is_left_out: what == "left-out",
        })
    }

    fn fact(&self, cell: usize) -> Option<(String, String)> {
        let value = serde_json::to_string(self).ok()?;
        Some((cell.to_string(), value))
    }
}

/// Predicts the cells of each group whose data lies on the calibrated storage, and keeps
/// that in the store. The processor's time is that of the catalog. Nothing is said of
/// groups whose reference is not modeled, but why.
///
/// # Errors
/// When the store cannot be written, and when the user interrupts.
pub(crate) fn expect(
    resolved: &ResolvedPlan<'_>,
    profile: &Profile,
    store: &mut Store,
    monitor: &Monitor<'_>,
) -> Result<(), CampaignError> {
    let plan = resolved.plan();
    let cells = plan.cells();
    let mut facts = Vec::new();
    let mut missing = None;
    for group in plan.groups() {
        let mut found = Vec::new();
        for &number in &group.cells {
            monitor.stop_if_interrupted()?;
            monitor.progress(&format!("predict {}", cells[number].page_size));
            let predicted = of_cell(&cells[number], resolved, profile);
            found.push(predicted.map_err(|reason| missing = Some(reason)).ok());
        }
        // Beside a reference that is not modeled nothing is expected.
        let reference = &cells[group.reference_cell()];
        if let Ok(kind) = reference.database.modeled() {
            let expected = judged(&found, group.reference, kind.worth_measuring);
            for (number, expected) in group.cells.iter().zip(expected) {
                facts.extend(expected.and_then(|expected| expected.fact(*number)));
            }
        }
    }
    store.replace_facts(TOPIC, &facts)?;
    Expected::keep_missing(store, missing.as_deref())?;
    Ok(())
}

/// What is expected of the cells of a group with these throughputs. The best rival of the
/// reference is measured in any case.
fn judged(found: &[Option<f64>], reference: usize, worth: f64) -> Vec<Option<Expected>> {
    let best = found.iter().flatten().copied().fold(0.0, f64::max);
    let rivals = found.iter().enumerate();
    let rivals = rivals.filter_map(|(place, one)| one.filter(|_| place != reference));
    let best_rival = rivals.fold(0.0, f64::max);
    let judged = |(place, throughput): (usize, &Option<f64>)| {
        let throughput = (*throughput)?;
        Some(Expected {
            ratio: throughput / found[reference]?,
            is_left_out: place != reference && throughput < worth * best && throughput < best_rival,
        })
    };
    found.iter().enumerate().map(judged).collect()
}

/// Its throughput, or why that is not known.
fn of_cell(cell: &Cell, resolved: &ResolvedPlan<'_>, profile: &Profile) -> Result<f64, String> {
    if cell.storage != Storage::Own {
        return Err("only data on the storage that was calibrated can be".to_owned());
    }
    let workload = resolved.workload(cell.data);
    let plan = resolved.plan();
    let model = cell.database.model(rotates(profile));
    let model = model.map_err(|error| error.to_string())?;
    let mut cpu = Cpu::of_catalog(model.kind(), workload).map_err(|error| error.to_string())?;
    // One client waits for the kernel within the times that were calibrated.
    if cell.clients == 1 {
        cpu.cost.request_ns = 0.0;
    }
    let memory = resolved.database(&cell.database).buffer(cell.memory);
    let setup = Setup {
        model,
        miniature: Miniature::WHOLE,
        page_size: cell.page_size,
        memory: memory.map_err(|error| error.to_string())?,
        clients: cell.clients,
        processors: cell.cpus.unwrap_or(Cpu::CATALOG_PROCESSORS),
        seed: plan.seed,
        cpu: cpu.cost,
        weights: cpu.weights,
        slowness: Slowness::default(),
    };
    let device = PredictedDevice::Profile(Box::new(profile.clone()));
    let device = device.open(plan.seed.derive("device", 0));
    let device = device.map_err(|error| error.to_string())?;
    let throughput = throughput(workload, &setup, device).map_err(|error| error.to_string())?;
    throughput.ok_or_else(|| format!("{} of memory take too long to fill", cell.memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cells_are_left_out_but_for_the_best_rival() {
        let left_out = |found: &[f64], reference| -> Vec<bool> {
            let found: Vec<Option<f64>> = found.iter().copied().map(Some).collect();
            let judged = judged(&found, reference, 0.6).into_iter().flatten();
            judged.map(|one| one.is_left_out).collect()
        };
        assert_eq!(
            left_out(&[110.0, 100.0, 70.0, 65.0], 1),
            [false, false, false, true]
        );
        // The reference stays however slow it is, and somebody to compare it with.
        assert_eq!(left_out(&[110.0, 30.0, 50.0], 1), [false, false, true]);
        assert_eq!(left_out(&[100.0, 40.0, 30.0], 0), [false, false, true]);
        let unknown = judged(&[Some(100.0), None, Some(10.0), Some(90.0)], 0, 0.6);
        assert_eq!(unknown[1], None);
        assert!((unknown[3].unwrap().ratio - 0.9).abs() < 1e-12);
        assert!(unknown[2].unwrap().is_left_out);
        // Nothing is left out beside a reference that is not known.
        assert_eq!(
            judged(&[None, Some(1.0), Some(100.0)], 0, 0.6),
            [None, None, None]
        );
    }

    #[test]
    fn what_is_kept_comes_back() {
        for is_left_out in [false, true] {
            let one = Expected {
                ratio: 0.4625,
                is_left_out,
            };
            let fact = one.fact(3).unwrap();
            let json = format!(r#"{{"ratio":0.4625,"is_left_out":{is_left_out}}}"#);
            assert_eq!(fact, ("3".to_owned(), json));
            assert_eq!(Expected::from_fact(fact), Some((3, one)));
            // As earlier versions kept it.
            let words = match is_left_out {
                true => "0.4625 left-out",
                false => "0.4625 measured",
            };
            let fact = ("3".to_owned(), words.to_owned());
            assert_eq!(Expected::from_fact(fact), Some((3, one)));
        }
        for (cell, words) in [
            ("", "1 left-out"),
            ("x", "1 left-out"),
            ("1", ""),
            ("1", "x y"),
            ("1", "NaN left-out"),
            ("1", r#"{"ratio":null,"is_left_out":true}"#),
            ("x", r#"{"ratio":0.5,"is_left_out":true}"#),
        ] {
            let fact = (cell.to_owned(), words.to_owned());
            assert_eq!(Expected::from_fact(fact), None, "{cell} {words}");
        }
    }
}
