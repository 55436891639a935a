//! How much a score hangs on each constant.

use octavo_device::sourced::Sourced;
use serde::Serialize;

use crate::{
    error::StudyError,
    predict::{Progress, predict},
    score::score,
    study::Study,
};

/// How far each constant is moved, as a share of it.
pub const BY: f64 = 0.2;

/// A constant of an experiment, and what the score is where it is moved.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    /// The experiment.
    pub experiment: String,
    /// The constant's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value and source.
    #[serde(flatten)]
    pub value: Sourced<f64>,
    /// Mean error of the predictions as they are.
    pub mean_error: f64,
    /// With the constant a fifth smaller, and a fifth larger.
    pub mean_error_moved: [f64; 2],
    /// Predictions that hold as they are.
    pub held: usize,
    /// With the constant a fifth smaller, and a fifth larger.
    pub held_moved: [usize; 2],
}

/// Predicts a study anew with each constant a fifth smaller and larger.
///
/// # Errors
/// As [`predict`].
pub fn sensitivity(
    study: &Study,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Vec<Moved>, StudyError> {
    let scored = |study: &Study| -> Result<(f64, usize), StudyError> {
        let predicted = predict(study, false, threads, progress)?;
        let score = score(study, &predicted, &[])?;
        Ok((score.mean_error().unwrap_or(0.0), score.held().0))
    };
    let (mean_error, held) = scored(study)?;
    let mut all = Vec::new();
    for (number, experiment) in study.experiments.iter().enumerate() {
        for (name, unit, value) in experiment.cpu.all() {
            let mut moved = [(0.0, 0); 2];
            for (moved, factor) in moved.iter_mut().zip([1.0 - BY, 1.0 + BY]) {
                let mut other = study.clone();
                if let Some(constant) = other.experiments[number].cpu.get_mut(name) {
                    *constant *= factor;
                }
                *moved = scored(&other)?;
            }
            all.push(Moved {
                experiment: experiment.name.clone(),
                name,
                unit,
                value: value.clone(),
                mean_error,
                mean_error_moved: moved.map(|(error, _)| error),
                held,
                held_moved: moved.map(|(_, held)| held),
            });
        }
    }
    Ok(all)
}
