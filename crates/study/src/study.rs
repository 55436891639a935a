//! A study: its question, experiments, claims and charts.

use octavo_device::sourced::Sourced;
use serde::{Deserialize, Serialize};

use crate::{
    claim::{Claim, Figure, Place},
    error::StudyError,
    experiment::{Axis, Experiment},
    text::Text,
};
use octavo_units::PageSize;

/// The version of the format that this reads.
const FORMAT: u32 = 1;

/// A published experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The version of the file's format, 1.
    pub format: u32,
    /// What it is called by.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// What it asked.
    pub question: String,
    /// What it answered.
    pub answer: String,
    /// What it could not see: settings or effects that it held fixed or did not report.
    pub not_seen: String,
    /// How near the models of its devices have to come to what it says of them, as a share.
    #[serde(default)]
    pub device_tolerance: Option<Sourced<f64>>,
    /// The plan of what is measured of it here, of the directory `studies/`.
    #[serde(default)]
    pub plan: Option<Sourced<String>>,
    /// What was run.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Experiment>,
    /// What it claims, row by row.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Its figures, drawn again.
    #[serde(default, rename = "chart")]
    pub charts: Vec<Chart>,
    /// What its devices and memory are worth.
    #[serde(default)]
    pub value: Option<ValueQuestion>,
}

/// A chart of predicted cells, with the published figures that claims have at the same places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Of which experiment.
    pub experiment: String,
    /// Which figure, upwards.
    pub figure: Figure,
    /// The kind of transaction that it is of, where it is of one.
    #[serde(default)]
    pub kind: Option<String>,
    /// What changes to the right.
    pub along: Axis,
    /// What has a curve each.
    pub lines: Axis,
    /// What neither changes.
    #[serde(default)]
    pub at: Place,
}

/// Prices of a study, and which of its cells they are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ValueQuestion {
    /// Of which experiment.
    pub experiment: String,
    /// At which page size; its default where it has one alone.
    #[serde(default)]
    pub page_size: Option<Text<PageSize>>,
    /// Unit of all prices.
    pub currency: Sourced<String>,
    /// A GiB of memory.
    pub memory_gib: Sourced<f64>,
    /// The machine without memory and storage.
    pub machine: Sourced<f64>,
    /// Each device, by its name.
    pub devices: std::collections::BTreeMap<String, Sourced<f64>>,
}

impl Study {
    /// Reads and checks a study.
    ///
    /// # Errors
    /// Where the file is not one, or names what it does not have.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, StudyError> {
        let study: Self = toml::from_str(text).map_err(|source| StudyError::Toml {
            study: name.to_owned(),
            source: Box::new(source),
        })?;
        study.check()?;
        Ok(study)
    }

    /// The experiment of this name.
    ///
    /// # Errors
    /// [`StudyError::Invalid`] where there is none.
    pub fn experiment(&self, name: &str) -> Result<&Experiment, StudyError> {
        let found = self.experiments.iter().find(|of| of.name == name);
        found.ok_or_else(|| self.invalid(format!("it has no experiment '{name}'")))
    }

    pub(crate) fn invalid(&self, reason: String) -> StudyError {
        StudyError::Invalid {
            study: self.name.clone(),
            reason,
        }
    }

    fn check(&self) -> Result<(), StudyError> {
        if self.format != FORMAT {
            let reason = format!(
                "format {} is not supported (expected {FORMAT})",
                self.format
            );
            return Err(self.invalid(reason));
        }
        for experiment in &self.experiments {
            experiment.check().map_err(|reason| {
                self.invalid(format!("experiment {}: {reason}", experiment.name))
            })?;
        }
        for claim in &self.claims {
            claim
                .check(self)
                .map_err(|reason| self.invalid(format!("claim '{}': {reason}", claim.text)))?;
        }
        for chart in &self.charts {
            let experiment = self.experiment(&chart.experiment)?;
            experiment
                .cells_at(&chart.at, &[chart.along, chart.lines])
                .map_err(|reason| self.invalid(format!("chart '{}': {reason}", chart.title)))?;
        }
        if let Some(value) = &self.value {
            self.experiment(&value.experiment)?;
        }
        Ok(())
    }
}
