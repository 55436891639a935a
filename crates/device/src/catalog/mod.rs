//! Devices that Octavo knows, with a source for every number.
//!
//! An [`Entry`] is a TOML file: those in `crates/device/catalog/` are part of
//! the program, others can be read with [`Entry::from_toml`]. It has a name, a
//! title, one table of parameters named after its model (`[disk]`, `[flash]`,
//! ...), perhaps `[power]`, and `[[published]]` figures, with which the model
//! is compared. See docs/devices.md.

mod published;

use std::path::Path;

use octavo_units::Seed;
use serde::{Deserialize, Serialize};

pub use published::{Compared, Figure, Published, Relation};

use crate::{
    Device,
    power::{Draw, Power},
    simulated::{array, constant, disk, flash, raid, station, volume},
    sourced::Impossible,
};

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is called by: lower case, digits and `-`.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The published study that it was measured in, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub study: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    constant: Option<constant::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    disk: Option<disk::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    flash: Option<flash::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    raid: Option<raid::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    array: Option<array::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    volume: Option<volume::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    station: Option<station::Parameters>,
    /// What it draws; of an array, besides its members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power: Option<Power>,
    /// What was published of it, to compare the model with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub published: Vec<Published>,
}

/// How an entry behaves, of [`Entry::model`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model<'a> {
    /// Every request takes the same time.
    Constant(&'a constant::Parameters),
    /// A disk drive.
    Disk(&'a disk::Parameters),
    /// A solid-state drive.
    Flash(&'a flash::Parameters),
    /// Several devices behind a controller.
    Raid(&'a raid::Parameters),
    /// A flash array with deduplication and compression.
    Array(&'a array::Parameters),
    /// A volume of a cloud.
    Volume(&'a volume::Parameters),
    /// Queues before a host, a link and servers.
    Station(&'a station::Parameters),
}

/// Why a text is not a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Not TOML, or an entry is missing, unknown or of the wrong type; the
    /// text names it.
    #[error("line {line}: {}", message.trim_end().replace('\n', ", "))]
    Toml {
        /// Where, from 1; 0 when it is not known.
        line: usize,
        /// What the reader of TOML said.
        message: String,
    },
    /// A value that no device can have.
    #[error("device '{device}': {key} = {value} is not possible: {reason}")]
    Impossible {
        /// Of which device.
        device: String,
        /// Which entry, like `flash.read_us`.
        key: &'static str,
        /// What it says.
        value: String,
        /// Why not, and what would do.
        reason: String,
    },
    /// None or several tables of parameters.
    #[error("device '{device}' has {found}: give exactly one of {}", MODELS.join(", "))]
    Models {
        /// Which device.
        device: String,
        /// What was found.
        found: String,
    },
    /// A name that is not in the catalog.
    #[error(
        "device '{name}' is unknown{}: `octavo devices` lists those that are, and the path of a \
         file (./mine.toml) is read",
        nearest.map(|name| format!(", did you mean {name}?")).unwrap_or_default()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
}

/// The tables of parameters that an entry may have.
const MODELS: &[&str] = &[
    "[constant]",
    "[disk]",
    "[flash]",
    "[raid]",
    "[array]",
    "[volume]",
    "[station]",
];

/// The entries that are part of the program, by name.
const TEXTS: &[(&str, &str)] = &[
    ("coelho-ssd", include_str!("../../catalog/coelho-ssd.toml")),
    ("cubrid-hdd", include_str!("../../catalog/cubrid-hdd.toml")),
    ("cubrid-ssd", include_str!("../../catalog/cubrid-ssd.toml")),
    ("ec", include_str!("../../catalog/ec.toml")),
    (
        "flasharray-2012",
        include_str!("../../catalog/flasharray-2012.toml"),
    ),
    ("gp2-100", include_str!("../../catalog/gp2-100.toml")),
    ("gp3-16000", include_str!("../../catalog/gp3-16000.toml")),
    ("gp3-3000", include_str!("../../catalog/gp3-3000.toml")),
    ("hdd-7200", include_str!("../../catalog/hdd-7200.toml")),
    ("instant", include_str!("../../catalog/instant.toml")),
    ("io2", include_str!("../../catalog/io2.toml")),
    ("nvme-tlc", include_str!("../../catalog/nvme-tlc.toml")),
    (
        "petrov-array",
        include_str!("../../catalog/petrov-array.toml"),
    ),
    (
        "raid0-8x15k",
        include_str!("../../catalog/raid0-8x15k.toml"),
    ),
    ("pc-a", include_str!("../../catalog/pc-a.toml")),
    ("pc-b", include_str!("../../catalog/pc-b.toml")),
    ("petrov-hdd", include_str!("../../catalog/petrov-hdd.toml")),
    ("petrov-ssd", include_str!("../../catalog/petrov-ssd.toml")),
    ("sata-tlc", include_str!("../../catalog/sata-tlc.toml")),
    ("st373455ss", include_str!("../../catalog/st373455ss.toml")),
];

/// Names of all devices that are part of the program, in the order in which
/// they are listed.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// The device of this name.
///
/// # Errors
/// [`EntryError::Unknown`], with the nearest name that there is.
pub fn find(name: &str) -> Result<Entry, EntryError> {
    match TEXTS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Entry::from_toml(text),
        None => Err(EntryError::Unknown {
            name: name.to_owned(),
            nearest: names()
                .map(|known| (strsim::jaro_winkler(known, name), known))
                .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, known)| known),
        }),
    }
}

/// The file that a user means by `text`, if not a device of the catalog: it has a
/// `/` or ends in `.toml`. What is in it is for [`Entry::from_toml`].
pub fn as_file(text: &str) -> Option<&Path> {
    (text.contains('/') || text.ends_with(".toml")).then(|| Path::new(text))
}

/// Names less alike than this (Jaro-Winkler) are not suggested.
const LIKENESS_MIN: f64 = 0.7;

impl Entry {
    /// Reads and checks an entry.
    ///
    /// # Errors
    /// Which entry is missing, unknown or impossible, and why.
    pub fn from_toml(text: &str) -> Result<Self, EntryError> {
        let entry: Self = toml::from_str(text).map_err(|error| EntryError::Toml {
            line: error
                .span()
                .and_then(|span| text.get(..span.start))
                .map_or(0, |before| before.matches('\n').count() + 1),
            message: error.message().to_owned(),
        })?;
        entry.check()?;
        Ok(entry)
    }

    /// Refuses what no device can have, of this entry and those nested in it.
    pub(crate) fn check(&self) -> Result<(), EntryError> {
        match self.models()? {
            Model::Constant(parameters) => parameters.check(),
            Model::Disk(parameters) => parameters.check(),
            Model::Flash(parameters) => parameters.check(),
            Model::Raid(parameters) => parameters.check(),
            Model::Array(parameters) => parameters.check(),
            Model::Volume(parameters) => parameters.check(),
            Model::Station(parameters) => parameters.check(),
        }
        .and_then(|()| self.power.as_ref().map_or(Ok(()), Power::check))
        .map_err(|Impossible { key, value, reason }| EntryError::Impossible {
            device: self.name.clone(),
            key,
            value,
            reason,
        })
    }

    /// Simulated devices that opening it makes, which are not made of others.
    pub(crate) fn devices(&self) -> u64 {
        match self.models() {
            Ok(Model::Raid(parameters)) => parameters.devices(),
            _ => 1,
        }
    }

    /// A station, as [`fit`](crate::fit) makes them.
    pub(crate) fn station(name: &str, title: String, parameters: station::Parameters) -> Self {
        Self {
            name: name.to_owned(),
            title,
            study: None,
            constant: None,
            disk: None,
            flash: None,
            raid: None,
            array: None,
            volume: None,
            station: Some(parameters),
            power: None,
            published: Vec::new(),
        }
    }

    /// The entry as TOML.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field of an entry has a TOML form")
    }

    /// All parameters, in the order of the file.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut found = Vec::new();
        let table = toml::Table::try_from(self).expect("every field of an entry has a TOML form");
        collect("", &toml::Value::Table(table), &mut found);
        found
    }

    /// How it behaves.
    pub fn model(&self) -> Model<'_> {
        self.models()
            .expect("entries are checked when they are made")
    }

    fn models(&self) -> Result<Model<'_>, EntryError> {
        let mut models = [
            self.constant.as_ref().map(Model::Constant),
            self.disk.as_ref().map(Model::Disk),
            self.flash.as_ref().map(Model::Flash),
            self.raid.as_ref().map(Model::Raid),
            self.array.as_ref().map(Model::Array),
            self.volume.as_ref().map(Model::Volume),
            self.station.as_ref().map(Model::Station),
        ]
        .into_iter()
        .flatten();
        match (models.next(), models.count()) {
            (Some(model), 0) => Ok(model),
            (first, more) => Err(EntryError::Models {
                device: self.name.clone(),
                found: match first {
                    None => "no table of parameters".into(),
                    Some(_) => format!("{} tables of parameters", more + 1),
                },
            }),
        }
    }

    /// What it draws, its members included; `None` where that is not known. Of
    /// a RAID without a `[power]` of its own, the members alone.
    pub fn draw(&self) -> Option<Draw> {
        let own = self.power.as_ref().map(Power::draw);
        match self.model() {
            Model::Raid(parameters) => {
                let members = parameters.member.draw()?.times(*parameters.members);
                Some(members.plus(own.unwrap_or_default()))
            }
            _ => own,
        }
    }

    /// The simulated device, at rest. One seed gives one behaviour.
    pub fn open(&self, seed: Seed) -> Box<dyn Device + Send> {
        match self.model() {
            Model::Constant(parameters) => Box::new(parameters.open()),
            Model::Disk(parameters) => Box::new(parameters.open()),
            Model::Flash(parameters) => parameters.open(),
            Model::Raid(parameters) => Box::new(parameters.open(seed)),
            Model::Array(parameters) => Box::new(parameters.open(seed)),
            Model::Volume(parameters) => Box::new(parameters.open(seed)),
            Model::Station(parameters) => Box::new(parameters.open(seed)),
        }
    }
}

impl Model<'_> {
    /// The name of its table.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant(_) => "constant",
            Self::Disk(_) => "disk",
            Self::Flash(_) => "flash",
            Self::Raid(_) => "raid",
            Self::Array(_) => "array",
            Self::Volume(_) => "volume",
            Self::Station(_) => "station",
        }
    }
}

/// One parameter of an entry, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Tables and name, like `flash.read_us`.
    pub key: String,
    /// The value as it is written.
    pub value: String,
    /// Where it comes from.
    pub source: String,
}

/// Finds pairs of a value and a text, which is what [`Sourced`] is written as.
fn collect(key: &str, value: &toml::Value, found: &mut Vec<Parameter>) {
    let within = |name: &str| match key {
        "" => name.to_owned(),
        _ => format!("{key}.{name}"),
    };
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                collect(&within(name), value, found);
            }
        }
        toml::Value::Array(pair) => {
            if let [value, toml::Value::String(source)] = pair.as_slice() {
                found.push(Parameter {
                    key: key.to_owned(),
                    value: value.to_string(),
                    source: source.clone(),
                });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_valid_and_survives_being_written() {
        for name in names() {
            let entry = find(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(entry.name, name);
            let written = entry.to_toml();
            assert_eq!(Entry::from_toml(&written).unwrap(), entry, "{written}");
        }
    }

    #[test]
    fn power_is_checked() {
        let text = include_str!("../../catalog/instant.toml");
        let disk =
            format!("{text}[power]\nidle_w = [10.5, \"test\"]\nactive_w = [14.5, \"test\"]\n");
        let entry = Entry::from_toml(&disk).unwrap();
        assert_eq!(entry.draw().unwrap().active_w, 14.5);
        assert_eq!(Entry::from_toml(text).unwrap().draw(), None);
        let bad = disk.replace("[14.5", "[9.5");
        let error = Entry::from_toml(&bad).unwrap_err().to_string();
        assert!(error.contains("power.active_w"), "{error}");
    }

    #[test]
    fn bad_entries_are_named() {
        let text = include_str!("../../catalog/instant.toml");
        for (from, to, named) in [
            ("[0,", "[-1,", "latency_us"),
            ("latency_us", "latency", "latency"),
            ("[constant]", "[variable]", "variable"),
            ("[0, \"no device: the definition\"]", "0", "line 6"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Entry::from_toml(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(named), "{from} {to}: {error}");
        }
    }

    #[test]
    fn unknown_names_come_with_the_nearest() {
        let error = find("instnat").unwrap_err();
        assert!(
            error.to_string().contains("did you mean instant?"),
            "{error}"
        );
        assert!(!find("qqq").unwrap_err().to_string().contains("mean"));
    }
}
