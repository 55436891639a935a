//! How much a score hangs on each constant.

use octavo_device::sourced::Sourced;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    error::StudyError,
    experiment::Experiment,
    predict::{Predicted, Progress, predict_experiments},
    score::score,
    study::Study,
};

/// How far each constant is moved, as a share of it.
pub const BY: f64 = 0.2;

/// A constant of an experiment, and what the score is where it is moved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Moved {
    /// The experiments that have it with this value and source.
    pub experiments: Vec<String>,
    /// The constant's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value and source.
    pub value: Sourced<f64>,
    /// What it is moved to: a fifth smaller and larger, clients to the next whole numbers.
    pub moved: [f64; 2],
    /// Mean error of the predictions as they are, as a share.
    pub mean_error: f64,
    /// With the constant a fifth smaller, and a fifth larger.
    pub mean_error_moved: [f64; 2],
    /// Predictions that hold as they are.
    pub held: usize,
    /// With the constant a fifth smaller, and a fifth larger.
    pub held_moved: [usize; 2],
}

/// Predicts with each constant a fifth smaller and larger what hangs on it; `predicted` is
/// what was predicted with all of them as they are. The figures of devices stay.
///
/// # Errors
/// As [`predict`](crate::predict()).
pub fn sensitivity(
    study: &Study,
    predicted: &Predicted,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Vec<Moved>, StudyError> {
    let usual = score(study, predicted, &[])?;
    let mut all: Vec<Moved> = Vec::new();
    for experiment in &study.experiments {
        for (name, unit, value) in constants(experiment) {
            if all.iter().any(|of| of.name == name && of.value == value) {
                continue;
            }
            let has_it = |of: &Experiment| {
                let mut constants = constants(of).into_iter();
                constants.any(|(other, _, of)| other == name && of == value)
            };
            let places: Vec<usize> = (0..study.experiments.len())
                .filter(|&place| has_it(&study.experiments[place]))
                .collect();
            let names = places
                .iter()
                .map(|&place| study.experiments[place].name.clone());
            let names: Vec<String> = names.collect();
            let mut found = [(0.0, 0.0, 0); 2];
            for (found, factor) in found.iter_mut().zip([1.0 - BY, 1.0 + BY]) {
                let mut other = study.clone();
                let mut to = value.value;
                for &place in &places {
                    to = set(&mut other.experiments[place], name, value.value * factor);
                }
                let mut cells = predict_experiments(&other, &places, threads, progress)?;
                let kept = predicted.cells.iter();
                let kept = kept.filter(|of| !names.contains(&of.experiment));
                cells.cells.extend(kept.cloned());
                cells.devices.clone_from(&predicted.devices);
                let score = score(&other, &cells, &[])?;
                *found = (to, score.mean_error().unwrap_or(0.0), score.held().0);
            }
            all.push(Moved {
                experiments: names,
                name,
                unit,
                value,
                moved: found.map(|(to, ..)| to),
                mean_error: usual.mean_error().unwrap_or(0.0),
                mean_error_moved: found.map(|(_, error, _)| error),
                held: usual.held().0,
                held_moved: found.map(|(.., held)| held),
            });
        }
    }
    Ok(all)
}

/// What is moved: the processor's constants, and where they were fitted or chosen as one
/// number, the transactions that are under way and the clients.
fn constants(experiment: &Experiment) -> Vec<(&'static str, &'static str, Sourced<f64>)> {
    let mut all: Vec<_> = experiment
        .cpu
        .all()
        .into_iter()
        .map(|(name, unit, value)| (name, unit, value.clone()))
        .collect();
    all.extend(experiment.under_way.clone().map(|of| ("under-way", "", of)));
    if let [clients] = experiment.clients[..] {
        let source = experiment.clients.source.clone();
        all.push(("clients", "", Sourced::new(f64::from(clients), source)));
    }
    all
}

/// Sets a constant, and returns what it is then.
fn set(experiment: &mut Experiment, name: &str, value: f64) -> f64 {
    match (name, &mut experiment.under_way) {
        ("under-way", Some(under_way)) => under_way.value = value,
        // Whole ones, away from what they were.
        ("clients", _) => {
            let before = experiment.clients.first().map_or(1.0, |&of| f64::from(of));
            let clients = if value < before {
                value.floor()
            } else {
                value.ceil()
            };
            experiment.clients.value = vec![(clients as u32).max(1)];
            return clients.max(1.0);
        }
        _ => {
            if let Some(constant) = experiment.cpu.get_mut(name) {
                *constant = value;
            }
        }
    }
    value
}
