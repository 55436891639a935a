//! Plans as files: TOML to a [`Plan`], with every refusal at its line.
//!
//! `docs/plans.md` has all keys. A file is a format of its own, versioned by
//! its `format`, and says nothing of where the results go or how far this
//! session is to get, which are the command's business.
//!
//! The keys that are the same for all databases and workloads are the fields
//! of the structs in `keys`. The options of databases and the parameters of
//! workloads, which [`Registries`] has, are taken out of their sections before these
//! are read.

mod build;
mod keys;
mod price_keys;
mod prices;
mod refusal;
mod registries;
mod section;
mod shape;
#[cfg(test)]
mod tests;
mod value;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_storage::text;
use toml::de::DeTable;

pub use keys::FORMAT;
pub use prices::read_prices;
pub use refusal::{PlanFileError, Refused};
pub use registries::Registries;
pub use shape::read_shape;

use super::{
    OwnSettings, Plan, SliceLength, Storage,
    storage::{DEVICES, FILE_SYSTEMS},
};
use crate::{cpus, directory::DATA, prices::Prices};
use keys::Places;
use price_keys::PriceKeys;
use refusal::{Source, SpanError};
use section::Sections;

/// A plan that was read from a file, with what the file says of how far to
/// carry it out.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// What to measure. Of the user's own data and statements it has nothing before they are
    /// looked at.
    pub plan: Plan,
    /// Whose data and statements, where the file names them.
    pub own: Option<OwnSettings>,
    /// Time for everything; `None` where the file does not say.
    pub budget: Option<Duration>,
    /// Passes at most; `None` where the file does not say.
    pub passes: Option<u32>,
    /// How long slices and warm-ups are, where the file says.
    pub slices: SliceLength,
    /// What the file says that things cost, which is no part of the plan: prices change, and
    /// what was measured stays. `None` where it says nothing.
    pub prices: Option<Prices>,
    source: Source,
    places: Places,
    storages: Vec<Range<usize>>,
    cpus: Vec<Range<usize>>,
}

impl PlanFile {
    /// Reads the plan in `path`, of databases and workloads that `known` has.
    ///
    /// # Errors
    /// When the file cannot be read, or as [`Self::parse`].
    pub fn read(path: &Path, known: &Registries) -> Result<Self, PlanFileError> {
        let text = text::read(path, text::WRITTEN_MAX)?;
        Self::parse(&path.display().to_string(), &text, known)
    }

    /// Reads the plan `text` of the file `name`. What depends on the machine
    /// is left to [`Self::check`].
    ///
    /// # Errors
    /// At the first place whose key, value or combination with others is not
    /// possible.
    pub fn parse(name: &str, text: &str, known: &Registries) -> Result<Self, PlanFileError> {
        let source = Source {
            name: name.to_owned(),
            // Editors of old put this before UTF-8; TOML has no place for it.
            text: text.trim_start_matches('\u{feff}').to_owned(),
        };
        match Self::from_source(&source, known) {
            Ok(file) => Ok(file),
            Err(refusal) => Err(source.locate(refusal)),
        }
    }

    fn from_source(source: &Source, known: &Registries) -> Result<Self, SpanError> {
        let document = DeTable::parse(&source.text)
            .map_err(|error| SpanError::from_toml(&error, "a plan", &[]))?
            .into_inner();
        let places = section::places(&document);
        section::check_format(&document)?;
        let sections = Sections::read(document, known)?;
        let built = build::plan(&sections, &places, known)?;
        let experiment = &sections.experiment;
        Ok(Self {
            slices: SliceLength {
                transactions: sections
                    .run
                    .transactions
                    .as_ref()
                    .map(|entry| entry.value.0),
                warm_up: sections.run.warm_up.as_ref().map(|entry| entry.value.0),
            },
            plan: built.plan,
            own: built.own,
            budget: experiment.budget.as_ref().map(|entry| entry.value),
            passes: experiment.passes.as_ref().map(|entry| entry.value.get()),
            prices: sections.prices.as_ref().map(PriceKeys::prices),
            source: source.clone(),
            places,
            storages: built.storages,
            cpus: built.cpus,
        })
    }

    /// Refuses what cannot be carried out here in `directory`. To be called
    /// once [`Self::budget`] and [`Self::passes`] are final.
    ///
    /// # Errors
    /// When nothing says when to end, storages are the same or in each other's data, or
    /// CPUs are not there.
    pub fn check(&self, directory: &Path) -> Result<(), PlanFileError> {
        if self.budget.is_none() && self.passes.is_none() && self.plan.ramp.is_none() {
            let reason = "nothing says when to end: give a budget or a number of passes";
            return Err(self.refuse("budget", reason));
        }
        let mut seen: Vec<PathBuf> = Vec::new();
        for (storage, place) in self.plan.storages.iter().zip(&self.storages) {
            let path = without_links(&storage.path(directory));
            if seen.contains(&path) {
                return Err(self.source.locate(SpanError::new(
                    place,
                    format!("storage '{storage}' is named already: name each once"),
                )));
            }
            seen.push(path);
        }
        self.check_nesting(directory, &seen)?;
        for (&wanted, place) in self.plan.cpus.iter().zip(&self.cpus) {
            if let Some(wanted) = wanted
                && let Err(error) = cpus::check(wanted)
            {
                return Err(self.source.locate(SpanError::new(place, error.to_string())));
            }
        }
        Ok(())
    }

    /// Refuses a storage in what Octavo makes and deletes in another one, or in the
    /// experiment's directory. `paths` are those of all storages, without links.
    fn check_nesting(&self, directory: &Path, paths: &[PathBuf]) -> Result<(), PlanFileError> {
        let own = without_links(directory);
        let made: Vec<PathBuf> = paths
            .iter()
            .chain([&own])
            .map(|path| path.join(DATA))
            .chain([own.join(DEVICES), own.join(FILE_SYSTEMS)])
            .collect();
        let all = self.plan.storages.iter().zip(paths).zip(&self.storages);
        for ((storage, path), place) in all {
            if let Storage::Directory(_) = storage
                && let Some(made) = made.iter().find(|made| path.starts_with(made))
            {
                return Err(self.source.locate(SpanError::new(
                    place,
                    format!(
                        "storage '{storage}' is in {}, where Octavo makes and deletes files: \
                         name another directory",
                        made.display()
                    ),
                )));
            }
        }
        Ok(())
    }

    /// Sets the storage of a plan that names none. File systems are made on it.
    pub fn set_storage(&mut self, storage: Storage) {
        for of in &mut self.plan.storages {
            *of = storage.with_file_system(of.file_system().cloned());
        }
    }

    /// A refusal at the value of a key, or where the file has no such key at
    /// its first line.
    pub fn refuse(&self, key: &str, reason: impl Into<String>) -> PlanFileError {
        let place = self.places.get(key).cloned().unwrap_or(0..0);
        self.source.locate(SpanError::new(&place, reason))
    }

    /// Whether the file has a key.
    pub fn has(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }
}

/// The one name of a directory that may not exist yet: what exists of it
/// without links, and the rest.
fn without_links(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors()
        .find_map(|existing| {
            let real = existing.canonicalize().ok()?;
            Some(real.join(path.strip_prefix(existing).ok()?))
        })
        .unwrap_or(path)
}
