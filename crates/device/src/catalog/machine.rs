//! Machines that Octavo knows the power of, with a source for every number.
//!
//! A [`MachineEntry`] is a TOML file: those in `crates/device/catalog/machines/` are part of
//! the program, others can be read with [`MachineEntry::from_toml`]. See docs/energy.md.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    entry::{Parameter, line_of, parameters_of},
    texts,
};
use crate::{
    machine::MachinePower,
    sourced::{Bounded, Impossible, Sourced},
};

/// One machine, without the storage under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineEntry {
    /// What it is called by: lower case, digits and `-`.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The published study that it was measured in, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub study: Option<String>,
    /// Processors that do work at once: cores, not hardware threads.
    pub processors: Sourced<u32>,
    /// Watts when none of them works.
    pub idle_w: Sourced<f64>,
    /// Watts more for each that works.
    pub cpu_w: Sourced<f64>,
}

/// Processors that no machine here exceeds.
const PROCESSORS_MAX: u32 = 65_536;
/// Watts that nothing here exceeds: a megawatt.
const WATTS_MAX: f64 = 1e6;

/// Why a text is not a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// Not TOML, or an entry is missing, unknown or of the wrong type; the text names it.
    #[error("line {line}: {}", message.trim_end().replace('\n', ", "))]
    Toml {
        /// Where, from 1; 0 when it is not known.
        line: usize,
        /// What the reader of TOML said.
        message: String,
    },
    /// A value that no machine can have.
    #[error("machine '{machine}': {impossible}")]
    Impossible {
        /// Of which machine.
        machine: String,
        /// Which entry, and why not.
        impossible: Impossible,
    },
    /// A name that is not in the catalog.
    #[error(
        "machine '{name}' is unknown{}: `octavo devices --machines` lists those that are, and \
         the path of a file (./mine.toml) is read",
        nearest.map(|name| format!(", did you mean {name}?")).unwrap_or_default()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
}

/// Names of all machines that are part of the program, in the order in which they are listed.
pub fn names() -> impl Iterator<Item = &'static str> {
    texts::MACHINES.names()
}

/// The machine of this name.
///
/// # Errors
/// [`MachineError::Unknown`], with the nearest name that there is.
pub fn find(name: &str) -> Result<MachineEntry, MachineError> {
    match texts::MACHINES.text(name) {
        Some(text) => MachineEntry::from_toml(text),
        None => Err(MachineError::Unknown {
            name: name.to_owned(),
            nearest: texts::MACHINES.nearest(name),
        }),
    }
}

impl MachineEntry {
    /// Reads and checks an entry.
    ///
    /// # Errors
    /// Which entry is missing, unknown or impossible, and why.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        let entry: Self = toml::from_str(text).map_err(|error| MachineError::Toml {
            line: line_of(&error, text),
            message: error.message().to_owned(),
        })?;
        entry
            .check()
            .map_err(|impossible| MachineError::Impossible {
                machine: entry.name.clone(),
                impossible,
            })?;
        Ok(entry)
    }

    fn check(&self) -> Result<(), Impossible> {
        self.processors.check("processors", 1..=PROCESSORS_MAX)?;
        self.idle_w.check("idle_w", 0.0..=WATTS_MAX)?;
        self.cpu_w.check("cpu_w", 0.0..=WATTS_MAX)
    }

    /// All numbers with their sources, in the order of the file.
    pub fn parameters(&self) -> Vec<Parameter> {
        parameters_of(self)
    }

    /// The numbers.
    pub fn power(&self) -> MachinePower {
        MachinePower {
            processors: *self.processors,
            idle_w: *self.idle_w,
            cpu_w: *self.cpu_w,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_of_the_catalog_is_sound() {
        for name in names() {
            let entry = find(name).unwrap();
            assert_eq!(entry.name, name);
            let parameters = entry.parameters();
            assert_eq!(parameters.len(), 3, "{name}");
            for parameter in parameters {
                assert!(parameter.source.len() > 10, "{name} {}", parameter.key);
            }
            let power = entry.power();
            let all_busy = power.watts(f64::from(power.processors));
            assert!(power.idle_w < all_busy && all_busy < 1000.0, "{name}");
        }
        assert!(names().count() >= 4);
    }

    #[test]
    fn what_no_machine_can_have_is_refused_by_name() {
        let text = texts::MACHINES.text("lee-2009").unwrap();
        for (from, to, named) in [
            ("processors = [2,", "processors = [0,", "processors"),
            ("idle_w = [113.1,", "idle_w = [-1,", "idle_w"),
            ("idle_w = [113.1,", "idle_w = [nan,", "idle_w"),
            ("cpu_w = [10.95,", "cpu_w = [1e9,", "cpu_w"),
            ("cpu_w = [10.95,", "gpu_w = [10.95,", "gpu_w"),
            ("study =", "studies =", "line 3"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = MachineEntry::from_toml(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(named), "{to}: {error}");
        }
    }

    #[test]
    fn unknown_names_come_with_the_nearest() {
        let error = find("lee-2008").unwrap_err().to_string();
        assert!(error.contains("did you mean lee-2009?"), "{error}");
    }
}
