//! A study: its question, experiments, claims and charts.

use std::fmt;

use octavo_device::sourced::Sourced;
use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    claim::{Claim, Figure},
    error::StudyError,
    experiment::{Experiment, StudyCell},
    place::{Axis, Place},
};

/// The version of the format that this reads.
const FORMAT: u32 = 1;

/// A published experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Where it was published.
    pub citation: Citation,
    /// What it could not see: settings or effects that it held fixed or did not report.
    pub not_seen: String,
    /// How near the models of its devices have to come to what it says of them, as a share.
    #[serde(default)]
    pub device_tolerance: Option<Sourced<f64>>,
    /// Devices whose models were fitted to what the study says of them, which is no test then.
    #[serde(default)]
    pub fitted_devices: Vec<String>,
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
    pub value: Option<StudyPrices>,
}

/// Where a study was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Citation {
    /// Who wrote it.
    pub authors: String,
    /// What it is called there.
    pub title: String,
    /// Journal, proceedings or web site.
    pub venue: String,
    /// When, where that is known.
    #[serde(default)]
    pub year: Option<u16>,
    /// Where to read it, where an address was looked up.
    #[serde(default)]
    pub url: Option<String>,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            authors,
            title,
            venue,
            year,
            url,
        } = self;
        let year = year.map_or(String::new(), |year| format!(", {year}"));
        let url = url.as_ref().map_or(String::new(), |url| format!(" {url}"));
        write!(f, "{authors}: {title}. {venue}{year}.{url}")
    }
}

/// A chart of predicted cells, with the published figures that claims have at the same places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// What the cells of one of a study's experiments cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyPrices {
    /// Of which experiment.
    pub experiment: String,
    /// Unit of all prices.
    pub currency: Sourced<String>,
    /// A GiB of memory.
    pub memory_gib: Sourced<f64>,
    /// The machine without memory and storage.
    pub machine: Sourced<f64>,
    /// Each device, by its name.
    pub devices: std::collections::BTreeMap<String, Sourced<f64>>,
}

impl StudyPrices {
    /// What a cell costs: machine, memory and storage; `None` of a device without a price.
    pub fn cost(&self, cell: &StudyCell) -> Option<f64> {
        let gib = cell.memory.get() as f64 / ByteCount::mib(1024).get() as f64;
        let device = self.devices.get(&cell.device)?;
        Some(*self.machine + *self.memory_gib * gib + **device)
    }
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
                "format {} is not supported: this version of octavo knows {FORMAT}",
                self.format
            );
            return Err(self.invalid(reason));
        }
        // Results are kept in a directory of this name.
        let is_plain = |of: char| of.is_ascii_alphanumeric() || "-_".contains(of);
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            let reason = format!(
                "its name '{}' may have letters, digits, - and _ alone",
                self.name
            );
            return Err(self.invalid(reason));
        }
        for (number, experiment) in self.experiments.iter().enumerate() {
            let name = &experiment.name;
            if self.experiments[..number].iter().any(|of| of.name == *name) {
                return Err(self.invalid(format!("there are two experiments '{name}'")));
            }
            experiment.check().map_err(|reason| {
                self.invalid(format!("experiment {}: {reason}", experiment.name))
            })?;
        }
        for claim in &self.claims {
            check_claim(claim, self)
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
            let prices = value
                .devices
                .values()
                .chain([&value.memory_gib, &value.machine]);
            if prices
                .into_iter()
                .any(|price| !(0.0..1e12).contains(&price.value))
            {
                return Err(self.invalid("a price must be at least 0, and under 1e12".into()));
            }
        }
        Ok(())
    }
}

/// Refuses a claim that says too little or names what is not there.
fn check_claim(claim: &Claim, study: &Study) -> Result<(), String> {
    if claim.untested.is_some() {
        return match claim.experiment {
            None => Ok(()),
            Some(_) => Err("it is untested and has an experiment".into()),
        };
    }
    let (Some(experiment), Some(_)) = (&claim.experiment, claim.figure) else {
        return Err("it needs experiment and figure, or untested".into());
    };
    if claim.published.is_none() != claim.is_asked {
        return Err("it needs a published figure, or is-asked, and not both".into());
    }
    if claim
        .published
        .is_some_and(|published| !published.is_finite() || published <= 0.0)
    {
        return Err("published must be more than 0".into());
    }
    if claim
        .published_to
        .zip(claim.published)
        .is_some_and(|(to, from)| to < from)
    {
        return Err("published-to must be at least published".into());
    }
    let is_scored = claim.fitted.is_none() && !claim.is_asked;
    if is_scored && claim.tolerance.or(claim.within).is_none() {
        return Err("it needs tolerance or within, to say how near is near".into());
    }
    if claim.shape.is_some() != claim.along.is_some() {
        return Err("shape and along go together".into());
    }
    let free = claim.axes();
    for place in std::iter::once(&claim.at).chain(&claim.over) {
        let name = place.experiment.as_ref().unwrap_or(experiment);
        let experiments = study.experiments.iter();
        let experiment = experiments.clone().find(|of| of.name == *name);
        let experiment = experiment.ok_or(format!("there is no experiment '{name}'"))?;
        experiment.cells_at(place, &free)?;
    }
    Ok(())
}
