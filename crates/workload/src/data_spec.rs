//! The initial rows of a workload, apart from the seed. Two workloads with the same ones can
//! run on the same loaded database.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use octavo_units::ByteCount;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// A kind of data, such as TPC-C's tables, at any scale.
#[derive(Debug)]
pub struct DataKind {
    /// Its name in stores and manifests, such as `tpcc`.
    pub name: &'static str,
    /// Its title, such as "TPC-C".
    pub title: &'static str,
    /// The parameters of its rows; the first is the scale. At most
    /// [`DataKind::PARAMETERS_MAX`].
    pub parameters: &'static [Parameter],
}

/// A number that a kind of data depends on.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in flags, plans and stores, such as `row-bytes`. Kinds of data
    /// may share a name, with the same unit.
    pub name: &'static str,
    /// What the number counts.
    pub unit: Unit,
    /// One line of help without an end, such as "YCSB records".
    pub help: &'static str,
    /// The noun for one of them, such as "warehouse", with a plural in "s"; `None` where the
    /// number counts no things.
    pub noun: Option<&'static str>,
    /// The text before the value in descriptions of the data, such as ", records: ".
    pub label: &'static str,
    /// The default at a scale. The scale's own default ignores its argument.
    pub default: fn(scale: u64) -> u64,
    /// The smallest value at a scale.
    pub min: fn(scale: u64) -> u64,
    /// The largest value.
    pub max: u64,
    /// Values are multiples of this.
    pub multiple_of: u64,
}

/// What a parameter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nothing: it tells rows apart, and follows from what a user names otherwise.
    Fingerprint,
}

/// Why parameters of data were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The kind of data does not depend on it.
    #[error("{name} is not possible with {title}: its rows depend on {}", .possible.join(", "))]
    Parameter {
        /// The parameter's name.
        name: String,
        /// The kind's title.
        title: &'static str,
        /// The parameters that it has.
        possible: Vec<&'static str>,
    },
    /// The value is out of range.
    #[error(
        "{name} must be {}{min} to {max}, not {value}",
        multiple_words(*.multiple_of)
    )]
    Range {
        /// The parameter's name.
        name: &'static str,
        /// The value.
        value: u64,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
        /// Values are multiples of this.
        multiple_of: u64,
    },
}

fn multiple_words(multiple_of: u64) -> String {
    match multiple_of {
        1 => String::new(),
        other => format!("a multiple of {other} from "),
    }
}

impl DataError {
    /// The parameter that is not possible.
    pub fn parameter(&self) -> &str {
        match self {
            Self::Parameter { name, .. } => name,
            Self::Range { name, .. } => name,
        }
    }
}

impl Parameter {
    /// Refuses a value that is not possible at this scale.
    ///
    /// # Errors
    /// [`DataError::Range`].
    pub fn check(&self, value: u64, scale: u64) -> Result<(), DataError> {
        let min = (self.min)(scale);
        if (min..=self.max).contains(&value) && value.is_multiple_of(self.multiple_of) {
            return Ok(());
        }
        Err(DataError::Range {
            name: self.name,
            value,
            min,
            max: self.max,
            multiple_of: self.multiple_of,
        })
    }

    /// A value with its unit, such as `1.5 KiB`.
    pub fn text(&self, value: u64) -> String {
        match self.unit {
            Unit::Count | Unit::Fingerprint => value.to_string(),
            Unit::Bytes => ByteCount::new(value).to_string(),
        }
    }
}

impl DataKind {
    /// The most parameters that a kind of data has.
    pub const PARAMETERS_MAX: usize = 4;

    /// The parameter that says how much data there is.
    pub fn scale(&self) -> &'static Parameter {
        &self.parameters[0]
    }

    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|own| own.name == name)
    }

    /// The names of all parameters, the scale's first.
    pub fn parameter_names(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|own| own.name).collect()
    }

    /// The names of those that a user can give.
    pub fn given_names(&self) -> Vec<&'static str> {
        let given = self.parameters.iter();
        let given = given.filter(|own| own.unit != Unit::Fingerprint);
        given.map(|own| own.name).collect()
    }

    /// Data of this kind with these parameters by name, and the default of
    /// each that is not given.
    ///
    /// # Errors
    /// When this kind of data has no such parameter, or a value is out of
    /// range.
    pub fn data_spec(&'static self, given: &[(&str, u64)]) -> Result<DataSpec, DataError> {
        if let Some((name, _)) = given
            .iter()
            .find(|(name, _)| self.parameter(name).is_none())
        {
            return Err(DataError::Parameter {
                name: (*name).to_owned(),
                title: self.title,
                possible: self.given_names(),
            });
        }
        let mut data = self.of_values(&[]);
        for (position, parameter) in self.parameters.iter().enumerate() {
            let given = given.iter().find(|(name, _)| *name == parameter.name);
            let value =
                given.map_or_else(|| (parameter.default)(data.scale()), |(_, value)| *value);
            parameter.check(value, data.scale())?;
            data.values[position] = value;
        }
        Ok(data)
    }

    /// Data with the parameters' values in their order, which its workload has
    /// checked.
    pub(crate) fn of_values(&'static self, values: &[u64]) -> DataSpec {
        let mut data = DataSpec {
            kind: self,
            values: [0; Self::PARAMETERS_MAX],
        };
        data.values[..values.len()].copy_from_slice(values);
        data
    }
}

/// Data of one kind at one scale.
///
/// Its JSON form is one object: `kind` with the kind's name, and each
/// parameter by its name, such as
/// `{"kind":"ycsb","records":100000,"row-bytes":1000}`.
#[derive(Clone, Copy)]
pub struct DataSpec {
    kind: &'static DataKind,
    /// In the order of the kind's parameters; zeros behind them.
    values: [u64; DataKind::PARAMETERS_MAX],
}

impl DataSpec {
    /// Its kind.
    pub fn kind(&self) -> &'static DataKind {
        self.kind
    }

    /// How much data there is, in the unit of [`DataKind::scale`].
    pub fn scale(&self) -> u64 {
        self.values[0]
    }

    /// The value of a parameter; `None` when its kind has no such one.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.parameters()
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| value)
    }

    /// The bytes of a row, where these can be chosen: the parameter
    /// `row-bytes`.
    pub fn row_bytes(&self) -> Option<ByteCount> {
        self.get(ROW_BYTES).map(ByteCount::new)
    }

    /// All parameters with their values, the scale first.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, u64)> {
        self.kind.parameters.iter().zip(self.values)
    }

    /// What `title` runs on these rows, in words: `YCSB A, records: 100000 of 1000 B`.
    pub fn of_workload(&self, title: &str) -> String {
        let shown = self.parameters().filter(|(own, _)| !own.label.is_empty());
        let values = shown.map(|(own, value)| format!("{}{}", own.label, own.text(value)));
        values.fold(title.to_owned(), |words, value| words + &value)
    }

    /// The same with other values of some parameters.
    ///
    /// # Errors
    /// As [`DataKind::data_spec`].
    pub fn with(&self, given: &[(&str, u64)]) -> Result<Self, DataError> {
        let own = self
            .parameters()
            .map(|(parameter, value)| (parameter.name, value));
        let all: Vec<(&str, u64)> = given.iter().copied().chain(own).collect();
        self.kind.data_spec(&all)
    }
}

/// The name of the parameter that is the width of a row.
pub const ROW_BYTES: &str = "row-bytes";

impl PartialEq for DataSpec {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.name, self.values) == (other.kind.name, other.values)
    }
}

impl Eq for DataSpec {}

impl Hash for DataSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind.name, self.values).hash(state);
    }
}

impl fmt::Debug for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of_workload(self.kind.title))
    }
}

impl Serialize for DataSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.kind.name)?;
        for (parameter, value) in self.parameters() {
            map.serialize_entry(parameter.name, &value)?;
        }
        map.end()
    }
}

impl schemars::JsonSchema for DataSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DataSpec".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "properties": { "kind": { "type": "string" } },
            "required": ["kind"],
            "additionalProperties": { "type": "integer", "minimum": 0 }
        })
    }
}
