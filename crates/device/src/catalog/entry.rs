//! One device of the catalog, and what composed ones say their members are.

use std::fmt;

use octavo_units::{ByteCount, Seed};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, SeqAccess, Visitor, value},
};

use super::{published::Published, texts};
use crate::{
    Device,
    limit::Limit,
    power::{Draw, Power},
    simulated::{
        Disk, Partition, Raid, array, constant, disk, flash, members::Members, partition, raid,
        station, volume,
    },
    sourced::{Impossible, Sourced, require},
};

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub(super) flash: Option<flash::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    raid: Option<raid::Parameters<Member>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    array: Option<array::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    volume: Option<volume::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    station: Option<station::Parameters>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    partition: Option<partition::Parameters<Member>>,
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
    Raid(&'a raid::Parameters<Member>),
    /// A flash array with deduplication and compression.
    Array(&'a array::Parameters),
    /// A volume of a cloud.
    Volume(&'a volume::Parameters),
    /// Queues before a host, a link and servers.
    Station(&'a station::Parameters),
    /// A part of another device.
    Partition(&'a partition::Parameters<Member>),
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
    #[error("device '{device}': {impossible}")]
    Impossible {
        /// Of which device.
        device: String,
        /// Which entry, and why not.
        impossible: Impossible,
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
    "[partition]",
];

/// What is left free beside data: logs, and what transactions add. Chosen.
const ROOM: ByteCount = ByteCount::mib(2048);

/// The device of this name.
///
/// # Errors
/// [`EntryError::Unknown`], with the nearest name that there is.
pub fn find(name: &str) -> Result<Entry, EntryError> {
    match texts::DEVICES.text(name) {
        Some(text) => Entry::from_toml(text),
        None => Err(EntryError::Unknown {
            name: name.to_owned(),
            nearest: texts::DEVICES.nearest(name),
        }),
    }
}

impl Entry {
    /// Reads and checks an entry.
    ///
    /// # Errors
    /// Which entry is missing, unknown or impossible, and why.
    pub fn from_toml(text: &str) -> Result<Self, EntryError> {
        let entry: Self = toml::from_str(text).map_err(|error| EntryError::Toml {
            line: line_of(&error, text),
            message: error.message().to_owned(),
        })?;
        entry.check()?;
        // Its reader takes larger numbers than TOML has, which are of 63 bits.
        toml::Table::try_from(&entry).map_err(|error| EntryError::Toml {
            line: 0,
            message: error.to_string(),
        })?;
        Ok(entry)
    }

    /// Refuses what no device can have, of this entry and those nested in it.
    fn check(&self) -> Result<(), EntryError> {
        let model = self.models()?;
        match model {
            Model::Constant(parameters) => parameters.check(),
            Model::Disk(parameters) => parameters.check(),
            Model::Flash(parameters) => parameters.check(),
            Model::Raid(parameters) => parameters
                .member
                .check(*parameters.members)
                .and_then(|()| parameters.check())
                .and_then(|()| check_sectors(parameters)),
            Model::Array(parameters) => parameters.check(),
            Model::Volume(parameters) => parameters.check(),
            Model::Station(parameters) => parameters.check(),
            Model::Partition(parameters) => check_partition(parameters),
        }
        .map_err(|impossible| impossible.within(model.name()))
        .and_then(|()| self.power.as_ref().map_or(Ok(()), Power::check))
        .map_err(|impossible| EntryError::Impossible {
            device: self.name.clone(),
            impossible,
        })
    }

    /// The capacity and the sector in bytes of an entry that is checked, without the tables
    /// that opening flash makes.
    fn extent(&self) -> Result<(u64, u64), Impossible> {
        let geometry = match self.model() {
            Model::Flash(parameters) => parameters.geometry(),
            Model::Raid(raid) => {
                let (capacity, sector) = raid.member.entry()?.extent()?;
                let columns = u64::from(*raid.members / raid.level.mirrors());
                let unit = *raid.stripe_unit_bytes;
                return Ok(((capacity / unit * unit).saturating_mul(columns), sector));
            }
            Model::Partition(partition) => {
                let (capacity, sector) = partition.member.entry()?.extent()?;
                return Ok((capacity.saturating_sub(*partition.offset_bytes), sector));
            }
            _ => self.open(Seed::new(0)).geometry(),
        };
        Ok((geometry.capacity.get(), geometry.sector.get()))
    }

    /// Simulated devices that opening it makes, which are not made of others.
    pub(crate) fn devices(&self) -> u64 {
        match self.models() {
            Ok(Model::Raid(raid)) => raid.member.devices(*raid.members),
            Ok(Model::Partition(partition)) => partition.member.devices(1),
            _ => 1,
        }
    }

    /// A device without a model yet.
    fn empty(name: String, title: String) -> Self {
        Self {
            name,
            title,
            study: None,
            constant: None,
            disk: None,
            flash: None,
            raid: None,
            array: None,
            volume: None,
            station: None,
            partition: None,
            power: None,
            published: Vec::new(),
        }
    }

    /// A station, as [`fit`](crate::fit) makes them.
    pub(crate) fn station(name: &str, title: String, parameters: station::Parameters) -> Self {
        Self {
            station: Some(parameters),
            ..Self::empty(name.to_owned(), title)
        }
    }

    /// A partition of the device that begins at this byte; its name ends with `@` and the byte.
    ///
    /// # Errors
    /// An offset that is no whole sectors or beyond the device, or a model that
    /// [has no blocks](Self::has_blocks).
    pub fn from_byte(self, offset: ByteCount) -> Result<Self, EntryError> {
        let bytes = offset.get();
        let title = format!("{}, from byte {bytes} on", self.title);
        let partition = Self {
            study: self.study.clone(),
            partition: Some(partition::Parameters {
                offset_bytes: Sourced::new(bytes, "asked for"),
                member: Member::Nested(Box::new(self.clone())),
            }),
            ..Self::empty(format!("{}@{bytes}", self.name), title)
        };
        partition.check()?;
        Ok(partition)
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
        parameters_of(self)
    }

    /// How it behaves.
    pub fn model(&self) -> Model<'_> {
        self.models()
            .expect("entries are checked when they are made")
    }

    /// Whether it rotates, or some of its members do.
    pub fn rotates(&self) -> bool {
        match self.model() {
            Model::Disk(_) => true,
            Model::Raid(raid::Parameters { member, .. })
            | Model::Partition(partition::Parameters { member, .. }) => {
                member.entry().is_ok_and(|member| member.rotates())
            }
            _ => false,
        }
    }

    /// What it may do in a second, and what it serves at once after a rest; nothing of what has no such
    /// limits. Of a RAID those of its members together.
    pub fn limits(&self) -> Vec<Limit> {
        match self.model() {
            Model::Volume(volume) => volume.limits(),
            Model::Raid(raid) => {
                let members = raid.member.entry().map(|member| member.limits());
                let together = |limit: Limit| Limit {
                    per_second: limit.per_second * f64::from(*raid.members),
                    ..limit
                };
                members
                    .unwrap_or_default()
                    .into_iter()
                    .map(together)
                    .collect()
            }
            Model::Partition(partition) => {
                let member = partition.member.entry().map(|member| member.limits());
                member.unwrap_or_default()
            }
            _ => Vec::new(),
        }
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
            self.partition.as_ref().map(Model::Partition),
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
            Model::Partition(partition) => own.or_else(|| partition.member.draw()),
            _ => own,
        }
    }

    /// Flash that it has beyond its capacity; nothing of what maps superblocks, and of several
    /// drives, where it is not known how much serves one place. `None` where there is no flash.
    pub fn spare(&self) -> Option<ByteCount> {
        match self.model() {
            Model::Flash(flash) => {
                let share = flash
                    .page
                    .as_ref()
                    .map_or(0.0, |of| of.over_provisioning.value);
                Some(ByteCount::new(
                    (flash.capacity_bytes.value as f64 * share) as u64,
                ))
            }
            Model::Partition(partition) => partition.member.entry().ok()?.spare(),
            Model::Raid(_) if self.rotates() => None,
            Model::Raid(_) | Model::Array(_) => Some(ByteCount::ZERO),
            _ => None,
        }
    }

    /// The same for bursts of writes that are as many times shorter: what a volume saves up for
    /// them is divided. Other devices stay as they are.
    #[must_use]
    pub fn divided(mut self, divisor: u32) -> Self {
        if let Some(volume) = &mut self.volume {
            let divisor = divisor.max(1);
            volume.bucket_ms.value = (volume.bucket_ms.value / divisor).max(1);
            volume.credits.value /= u64::from(divisor);
        }
        self
    }

    /// The same with room for so much data and a log, if it is made of flash drives that
    /// are nested in it: these are doubled in capacity as often as that takes. Of some arrays
    /// the entry has a fraction of what drives hold; rates depend on the share of spare flash,
    /// which stays.
    #[must_use]
    pub fn holding(mut self, data: ByteCount) -> Self {
        if let Some(partition) = &mut self.partition {
            if let Member::Nested(member) = &mut partition.member {
                let before = ByteCount::new(*partition.offset_bytes);
                **member = member.clone().holding(data.saturating_add(before));
            }
            return self;
        }
        let needed = data.saturating_add(ROOM);
        let capacity = self.open(Seed::new(0)).geometry().capacity.get().max(1);
        let times = needed.get().div_ceil(capacity).next_power_of_two();
        if let Some(raid) = &mut self.raid
            && let Member::Nested(member) = &mut raid.member
            && let Some(flash) = &mut member.flash
        {
            flash.capacity_bytes.value = flash.capacity_bytes.value.saturating_mul(times);
        }
        self
    }

    /// The simulated device, at rest. One seed gives one behaviour.
    pub fn open(&self, seed: Seed) -> Box<dyn Device + Send> {
        match self.model() {
            Model::Constant(parameters) => Box::new(parameters.open()),
            Model::Disk(parameters) => Box::new(Disk::new(parameters)),
            Model::Flash(parameters) => parameters.open(),
            Model::Raid(raid) => Box::new(Raid::new(raid, raid.member.open(*raid.members, seed))),
            Model::Array(parameters) => Box::new(parameters.open(seed)),
            Model::Volume(parameters) => Box::new(parameters.open(seed)),
            Model::Station(parameters) => Box::new(parameters.open(seed)),
            Model::Partition(partition) => Box::new(Partition::new(
                ByteCount::new(*partition.offset_bytes),
                partition.member.checked().open(seed),
            )),
        }
    }

    /// Where it begins on its device, if it is a partition.
    pub fn offset(&self) -> Option<ByteCount> {
        let partition = self.partition.as_ref()?;
        Some(ByteCount::new(*partition.offset_bytes))
    }

    /// Whether its model has blocks, and so knows the cost of misaligned requests: those of
    /// volumes, stations and constant times do not, nor does what is made of them.
    pub fn has_blocks(&self) -> bool {
        match self.model() {
            Model::Constant(_) | Model::Volume(_) | Model::Station(_) => false,
            Model::Disk(_) | Model::Flash(_) | Model::Array(_) => true,
            Model::Raid(raid::Parameters { member, .. })
            | Model::Partition(partition::Parameters { member, .. }) => {
                member.entry().is_ok_and(|member| member.has_blocks())
            }
        }
    }
}

/// Refuses partitions of what has no blocks, and that do not begin with a sector.
fn check_partition(partition: &partition::Parameters<Member>) -> Result<(), Impossible> {
    partition.member.check(1)?;
    let member = partition.member.entry()?;
    let (capacity, sector) = member.extent()?;
    partition.check(capacity, sector)?;
    require(
        member.has_blocks(),
        "member",
        &member.name,
        format!(
            "the model of a {} has no blocks, so it does not know the cost of misalignment: \
             leave the offset out, or name flash, a disk or an array",
            member.model().name()
        ),
    )
}

/// Refuses stripes and writes that are no whole sectors of the members, and members that
/// hold no stripe unit.
fn check_sectors(raid: &raid::Parameters<Member>) -> Result<(), Impossible> {
    let (capacity, sector) = raid.member.entry()?.extent()?;
    let unit = *raid.stripe_unit_bytes;
    require(
        unit.is_multiple_of(sector) && unit <= capacity,
        "stripe_unit_bytes",
        unit,
        format!("members of {capacity} bytes have sectors of {sector}, and units are whole ones"),
    )?;
    let destage = *raid.controller.destage_bytes_max;
    require(
        u64::from(destage).is_multiple_of(sector),
        "controller.destage_bytes_max",
        destage,
        format!("members have sectors of {sector} bytes, and writes to them are whole ones"),
    )
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
            Self::Partition(_) => "partition",
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

/// All parameters of an entry, in the order of the file.
///
/// # Panics
/// For a value that has no TOML form.
pub(super) fn parameters_of(entry: &impl Serialize) -> Vec<Parameter> {
    let mut found = Vec::new();
    let table = toml::Table::try_from(entry).expect("every field of an entry has a TOML form");
    collect("", &toml::Value::Table(table), &mut found);
    found
}

/// The line of a text at which its reader found an error, from 1; 0 when it is not known.
pub(super) fn line_of(error: &toml::de::Error, text: &str) -> usize {
    error
        .span()
        .and_then(|span| text.get(..span.start))
        .map_or(0, |before| before.matches('\n').count() + 1)
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

/// Devices of all nested arrays together. Some simulators keep tables of
/// hundreds of MiB.
const DEVICES_MAX: u64 = 256;

/// What an array consists of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Member {
    /// A device of the catalog, by its name.
    Named(Sourced<String>),
    /// A device described in place, as in a file of its own.
    Nested(Box<Entry>),
}

impl Member {
    /// The member's entry.
    ///
    /// # Errors
    /// A name that is not in the catalog.
    fn entry(&self) -> Result<Entry, Impossible> {
        match self {
            Self::Named(name) => {
                find(name).map_err(|error| Impossible::new("member", &**name, error.to_string()))
            }
            Self::Nested(entry) => Ok((**entry).clone()),
        }
    }

    /// What one of them draws; `None` where that is not known.
    fn draw(&self) -> Option<Draw> {
        self.entry().ok()?.draw()
    }

    /// Simulated devices, those in nested arrays counted.
    fn devices(&self, count: u32) -> u64 {
        self.entry()
            .map_or(1, |entry| entry.devices())
            .saturating_mul(u64::from(count))
    }

    /// Checks that so many of them can be made.
    fn check(&self, count: u32) -> Result<(), Impossible> {
        // An entry that is found is checked; one that is nested is not yet.
        let entry = self.entry()?;
        if let Self::Nested(nested) = self {
            let checked = nested.check();
            checked.map_err(|error| Impossible::new("member", &nested.name, error.to_string()))?;
        }
        require(
            count > 0 && entry.devices().saturating_mul(u64::from(count)) <= DEVICES_MAX,
            "members",
            count,
            format!("an array has from 1 to {DEVICES_MAX} devices, nested ones included"),
        )
    }

    /// The entry of a member that was checked.
    ///
    /// # Panics
    /// For a name that is not in the catalog, which
    /// [`Self::check`] refuses.
    fn checked(&self) -> Entry {
        self.entry()
            .expect("members are checked when an entry is made")
    }

    /// So many of them, at rest, each with a seed of its own.
    ///
    /// # Panics
    /// For a name that is not in the catalog, which
    /// [`Self::check`] refuses.
    fn open(&self, count: u32, seed: Seed) -> Members {
        let entry = self.checked();
        Members::new(
            (0..u64::from(count))
                .map(|index| entry.open(seed.derive("member", index)))
                .collect(),
        )
    }
}

/// By the shape of the value, so that an error within it is told, which an
/// untagged enum does not do.
impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a device and its source, or a device's table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Member, A::Error> {
                Deserialize::deserialize(value::SeqAccessDeserializer::new(sequence))
                    .map(Member::Named)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member, A::Error> {
                Deserialize::deserialize(value::MapAccessDeserializer::new(map)).map(Member::Nested)
            }
        }

        deserializer.deserialize_any(Shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::names;

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
    fn a_partition_is_the_device_from_a_sector_on() {
        let sata = find("sata-tlc").unwrap();
        let partition = sata.clone().from_byte(ByteCount::kib(4)).unwrap();
        assert_eq!(partition.name, "sata-tlc@4096");
        assert_eq!(Entry::from_toml(&partition.to_toml()).unwrap(), partition);
        assert_eq!(partition.draw(), sata.draw());
        assert_eq!(partition.spare(), sata.spare());
        let geometry = partition.open(Seed::new(1)).geometry();
        let whole = sata.open(Seed::new(1)).geometry();
        assert_eq!(
            geometry.capacity,
            whole.capacity.saturating_sub(ByteCount::kib(4))
        );
        assert_eq!(partition.extent().unwrap().0, geometry.capacity.get());
        let again = partition.from_byte(ByteCount::kib(1)).unwrap();
        assert_eq!(again.name, "sata-tlc@4096@1024");
        assert!(
            find("raid0-8x15k")
                .unwrap()
                .from_byte(ByteCount::new(512))
                .unwrap()
                .rotates()
        );
        for (name, offset, named) in [
            ("sata-tlc", 0, "at least 1"),
            ("sata-tlc", 100, "multiple of 512"),
            ("sata-tlc", 1 << 60, "less than 960"),
            ("gp3-3000", 512, "a volume has no blocks"),
            ("instant", 512, "a constant has no blocks"),
            ("vondra-xeon", 512, "has no blocks"),
        ] {
            let error = find(name).unwrap().from_byte(ByteCount::new(offset));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(named), "{name}@{offset}: {error}");
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
