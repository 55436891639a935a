//! What memory, machine and storages cost: read from text, and checked.
//!
//! Prices are no part of what identifies an experiment: the same cells give the same figures
//! at all prices. So a plan's prices stand beside the plan, and in a store they are facts.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// What the names of storages follow in facts.
const STORAGE: &str = "storage ";
/// … and those of hosts.
const HOST: &str = "host ";

/// The least and the largest price. Chosen: what is beyond these is a slip, and sums and
/// ratios of what is within them are finite.
const PRICE_MIN: f64 = 1e-9;
const PRICE_MAX: f64 = 1e15;

/// The longest name of a currency, in characters. Chosen.
const CURRENCY_MAX: usize = 12;

/// Prices, in one currency. What is not known is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Prices {
    /// The currency's name or sign, as it is printed behind figures.
    pub currency: Option<Currency>,
    /// Memory, per GiB.
    pub memory: Option<MemoryPrice>,
    /// The machine without memory and storage.
    pub machine: Option<Price>,
    /// Machines by the name of a host, in the place of `machine`: it stands for all hosts of its class.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "std::collections::BTreeMap<String, Price>")]
    pub hosts: Vec<(String, Price)>,
    /// Storages by name: as the plan names them (`device:NAME` or `NAME`, a path, empty for
    /// the directory that the experiment works in), or a device of the catalog.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "std::collections::BTreeMap<String, StoragePrice>")]
    pub storages: Vec<(String, StoragePrice)>,
}

/// A price that is possible: from 1e-9 to 1e15.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Price(f64);

/// A price of memory, per GiB. Written as `5/GiB`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct MemoryPrice(Price);

/// A price of a whole storage. Written as `600`, or as `0.08/GB for 500GB`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoragePrice {
    amount: Price,
    written: String,
}

/// A currency's name or sign: up to 12 visible characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Currency(String);

/// A text that is not a price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// Not a number.
    #[error("price '{text}' is not a number: write one above 0, such as {example}")]
    NotANumber {
        /// What was given.
        text: String,
        /// What is possible.
        example: &'static str,
    },
    /// A number that no price can be.
    #[error(
        "price '{text}' must be above 0, from 1e-9 to 1e15: correct it, or leave it out if unknown"
    )]
    Impossible {
        /// What was given.
        text: String,
    },
    /// A price of memory without the amount that it is for.
    #[error("price of memory '{text}' does not say of how much: write it as 5/GiB")]
    MemoryUnit {
        /// What was given.
        text: String,
    },
    /// A price by the size without a size.
    #[error("price '{text}' needs the size that is paid for: write it as 0.08/GB for 500GB")]
    Size {
        /// What was given.
        text: String,
    },
    /// A unit that is not known.
    #[error("unit '{unit}' of a price is not known: choose {}", known.join(", "))]
    Unit {
        /// What was given.
        unit: String,
        /// Those that are.
        known: Vec<&'static str>,
    },
    /// A currency that cannot be printed.
    #[error("currency '{text}' must have 1 to {CURRENCY_MAX} visible characters: write EUR or $")]
    Currency {
        /// What was given.
        text: String,
    },
}

/// Units of memory, whose prices are by powers of two, with their bytes.
const MEMORY_UNITS: [(&str, f64); 3] = [
    ("MiB", (1u64 << 20) as f64),
    ("GiB", (1u64 << 30) as f64),
    ("TiB", (1u64 << 40) as f64),
];

/// Units of storage: drives and clouds sell both kinds.
const STORAGE_UNITS: [(&str, f64); 4] = [
    ("GB", 1e9),
    ("GiB", (1u64 << 30) as f64),
    ("TB", 1e12),
    ("TiB", (1u64 << 40) as f64),
];

const GIB: f64 = (1u64 << 30) as f64;

impl Price {
    /// A price.
    ///
    /// # Errors
    /// When it is not above 0 or beyond what a price can be.
    pub fn new(amount: f64) -> Result<Self, PriceError> {
        Self::written(amount, format_args!("{amount:e}"))
    }

    /// The same, where the amount was written in some way.
    fn written(amount: f64, text: impl fmt::Display) -> Result<Self, PriceError> {
        (PRICE_MIN..=PRICE_MAX)
            .contains(&amount)
            .then_some(Self(amount))
            .ok_or_else(|| PriceError::Impossible {
                text: text.to_string(),
            })
    }

    /// The amount.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        Self::written(number(text, text, "2000")?, text)
    }
}

impl MemoryPrice {
    /// A price per GiB.
    ///
    /// # Errors
    /// As [`Price::new`].
    pub fn per_gib(amount: f64) -> Result<Self, PriceError> {
        Price::new(amount).map(Self)
    }

    /// Per GiB.
    pub fn get(self) -> f64 {
        self.0.get()
    }
}

impl FromStr for MemoryPrice {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        let Some((amount, unit)) = text.split_once('/') else {
            number(text, text, "5/GiB")?;
            return Err(PriceError::MemoryUnit { text: text.into() });
        };
        let bytes = unit_bytes(unit, &MEMORY_UNITS)?;
        let amount = number(amount, text, "5/GiB")?;
        // A price of little memory may be too much for more.
        Price::written(amount, text)?;
        Price::written(amount / bytes * GIB, text).map(Self)
    }
}

impl fmt::Display for MemoryPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/GiB", self.get()))
    }
}

impl StoragePrice {
    /// The price of a storage as a whole.
    ///
    /// # Errors
    /// As [`Price::new`].
    pub fn whole(amount: f64) -> Result<Self, PriceError> {
        Ok(Self {
            amount: Price::new(amount)?,
            written: amount.to_string(),
        })
    }

    /// The price of all of it.
    pub fn get(&self) -> f64 {
        self.amount.get()
    }
}

impl FromStr for StoragePrice {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        let Some((amount, rest)) = text.split_once('/') else {
            return Ok(Self {
                amount: Price::written(number(text, text, "600")?, text)?,
                written: text.trim().to_owned(),
            });
        };
        let (unit, size) = rest
            .split_once(" for ")
            .ok_or_else(|| PriceError::Size { text: text.into() })?;
        let amount = number(amount, text, "0.08/GB for 500GB")?;
        Price::written(amount, text)?;
        let size = size.trim();
        // Not at the first letter: 1e3GB has one in its number.
        let mut units = STORAGE_UNITS.iter().map(|(name, _)| *name);
        let (count, size_unit) = units
            .find_map(|unit| Some((size.strip_suffix(unit)?, unit)))
            .unwrap_or_else(|| {
                let count = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                (count, &size[count.len()..])
            });
        let count = Price::written(number(count, text, "0.08/GB for 500GB")?, text)?.get();
        let size = count * unit_bytes(size_unit, &STORAGE_UNITS)?;
        let amount = amount * (size / unit_bytes(unit, &STORAGE_UNITS)?);
        Ok(Self {
            amount: Price::written(amount, text)?,
            written: text.trim().to_owned(),
        })
    }
}

impl fmt::Display for StoragePrice {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.written)
    }
}

fn by_name<S: Serializer, P: Serialize>(prices: &[(String, P)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(prices.iter().map(|(name, price)| (name, price)))
}

impl Serialize for StoragePrice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.amount.serialize(to)
    }
}

impl JsonSchema for StoragePrice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StoragePrice".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number" })
    }
}

impl FromStr for Currency {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        let text = text.trim();
        let is_possible = (1..=CURRENCY_MAX).contains(&text.chars().count())
            && !text.chars().any(char::is_control);
        is_possible
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| PriceError::Currency { text: text.into() })
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn number(amount: &str, text: &str, example: &'static str) -> Result<f64, PriceError> {
    amount.trim().parse().map_err(|_| PriceError::NotANumber {
        text: text.to_owned(),
        example,
    })
}

fn unit_bytes(unit: &str, units: &[(&'static str, f64)]) -> Result<f64, PriceError> {
    let unit = unit.trim();
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, bytes)| *bytes)
        .ok_or_else(|| PriceError::Unit {
            unit: unit.to_owned(),
            known: units.iter().map(|(name, _)| *name).collect(),
        })
}

impl Prices {
    /// Whether nothing has a price.
    pub fn is_empty(&self) -> bool {
        self.memory.is_none()
            && self.machine.is_none()
            && self.hosts.is_empty()
            && self.storages.is_empty()
    }

    /// These, where they say something, else the others: of each storage and host too.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        let mut storages = self.storages;
        for (name, price) in others.storages {
            if !storages
                .iter()
                .any(|(known, _)| plain(known) == plain(&name))
            {
                storages.push((name, price));
            }
        }
        let mut hosts = self.hosts;
        for (name, price) in others.hosts {
            if !hosts.iter().any(|(known, _)| *known == name) {
                hosts.push((name, price));
            }
        }
        Self {
            currency: self.currency.or(others.currency),
            memory: self.memory.or(others.memory),
            machine: self.machine.or(others.machine),
            hosts,
            storages,
        }
    }

    /// What [`Self::facts`] gave. What cannot be read is not known.
    pub(crate) fn of_facts(facts: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut prices = Self::default();
        for (name, value) in facts {
            match name.as_str() {
                "currency" => prices.currency = value.parse().ok(),
                "memory" => prices.memory = value.parse().ok(),
                "machine" => prices.machine = value.parse().ok(),
                name if name.starts_with(HOST) => {
                    let host = name.strip_prefix(HOST).map(str::to_owned);
                    prices.hosts.extend(host.zip(value.parse().ok()));
                }
                name => {
                    let storage = name.strip_prefix(STORAGE).map(str::to_owned);
                    prices.storages.extend(storage.zip(value.parse().ok()));
                }
            }
        }
        prices
    }

    /// Names and values, as a store keeps them.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let named = [
            ("currency", self.currency.as_ref().map(ToString::to_string)),
            ("memory", self.memory.map(|price| price.to_string())),
            ("machine", self.machine.map(|price| price.get().to_string())),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let storages = self
            .storages
            .iter()
            .map(|(name, price)| (format!("{STORAGE}{name}"), price.to_string()));
        let hosts = self.hosts.iter();
        let hosts = hosts.map(|(name, price)| (format!("{HOST}{name}"), price.get().to_string()));
        named.chain(hosts).chain(storages).collect()
    }
}

/// A storage's name without what tells that it is a device, and without the slash that a
/// directory may end with.
pub fn plain(name: &str) -> &str {
    let name = name.strip_prefix("device:").unwrap_or(name);
    match name.strip_suffix('/') {
        Some("") | None => name,
        Some(directory) => directory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(text: &str) -> Result<f64, PriceError> {
        text.parse().map(|price: StoragePrice| price.get())
    }

    #[test]
    fn prices_are_read_with_their_units() {
        let memory = |text: &str| text.parse().map(MemoryPrice::get);
        assert_eq!(memory("5/GiB"), Ok(5.0));
        assert_eq!(memory(" 0.5 / MiB "), Ok(512.0));
        assert_eq!(storage("600"), Ok(600.0));
        assert!((storage("0.08/GB for 500GB").unwrap() - 40.0).abs() < 1e-9);
        assert!((storage("20/TB for 2 TB").unwrap() - 40.0).abs() < 1e-9);
        assert!((storage("1/GiB for 1TiB").unwrap() - 1024.0).abs() < 1e-9);
        assert_eq!("2000".parse::<Price>().unwrap().get(), 2000.0);
        assert_eq!(" EUR ".parse::<Currency>().unwrap().to_string(), "EUR");
    }

    #[test]
    fn impossible_prices_are_refused_with_a_remedy() {
        for text in ["0", "-5", "nan", "inf", "-inf", "1e300", "1e-300"] {
            for error in [
                text.parse::<Price>().unwrap_err(),
                format!("{text}/GiB").parse::<MemoryPrice>().unwrap_err(),
                text.parse::<StoragePrice>().unwrap_err(),
                format!("{text}/GB for 5GB")
                    .parse::<StoragePrice>()
                    .unwrap_err(),
                format!("5/GB for {text}GB")
                    .parse::<StoragePrice>()
                    .unwrap_err(),
            ] {
                let said = error.to_string();
                assert!(said.contains("above 0"), "{text}: {said}");
                assert!(said.contains(text) && said.contains("1e15"), "{said}");
            }
        }
        for (error, remedy) in [
            (storage("cheap").unwrap_err(), "600"),
            (storage("").unwrap_err(), "600"),
            (storage("0.08/GB").unwrap_err(), "0.08/GB for 500GB"),
            (storage("0.08/KB for 5GB").unwrap_err(), "GB, GiB, TB, TiB"),
            (storage("0.08/GB for 5").unwrap_err(), "GB, GiB, TB, TiB"),
            ("5".parse::<MemoryPrice>().unwrap_err(), "5/GiB"),
            ("5/GB".parse::<MemoryPrice>().unwrap_err(), "GiB"),
            ("".parse::<Currency>().unwrap_err(), "EUR"),
            ("a\u{1b}b".parse::<Currency>().unwrap_err(), "EUR"),
        ] {
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }

    #[test]
    fn what_is_said_first_wins() {
        let mut flags = Prices {
            memory: Some(MemoryPrice::per_gib(4.0).unwrap()),
            ..Prices::default()
        };
        flags
            .storages
            .push(("ec".into(), StoragePrice::whole(5.0).unwrap()));
        let mut file = Prices {
            memory: Some(MemoryPrice::per_gib(9.0).unwrap()),
            machine: Some(Price::new(2000.0).unwrap()),
            ..Prices::default()
        };
        for (name, amount) in [("device:ec", 6.0), ("/mnt/hdd", 7.0)] {
            let price = StoragePrice::whole(amount).unwrap();
            file.storages.push((name.into(), price));
        }
        let both = flags.or(file);
        assert_eq!(both.memory.unwrap().get(), 4.0);
        assert_eq!(both.machine.unwrap().get(), 2000.0);
        let amounts: Vec<f64> = both.storages.iter().map(|(_, of)| of.get()).collect();
        assert_eq!(amounts, [5.0, 7.0]);
    }
}
