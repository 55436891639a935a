//! Options of databases: their description, and values that were read by it.

use std::{fmt, ops::RangeInclusive, str::FromStr, time::Duration};

use octavo_units::{ByteCount, PageSize, parse_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DatabaseError;

/// One option of a database.
#[derive(Debug)]
pub struct OptionKind {
    /// The name in plans and stores, and of its command-line flag without
    /// dashes.
    pub name: &'static str,
    /// What values it takes.
    pub values: ValueKind,
    /// What stands for a value in help, such as `SIZE`.
    pub value_name: &'static str,
    /// The value when none is given; `None` where that depends on the machine.
    pub default: Option<&'static str>,
    /// Help in a few words, after the database's title.
    pub help: &'static str,
    /// Whether it is part of the conditions of figures even at its default.
    pub is_condition: bool,
    /// Whether it matters to runs alone: rows are loaded alike with all of its values.
    pub is_of_runs: bool,
    /// An option that cannot be given beside it.
    pub excludes: Option<&'static str>,
    /// Values and what they are called where they tell groups of figures apart, as after "with".
    /// Of others the option's name and the value tell.
    pub phrases: &'static [(&'static str, &'static str)],
}

impl OptionKind {
    /// An option that has a default and nothing else beyond the usual; others
    /// are made of it by `..`.
    pub const fn new(
        name: &'static str,
        values: ValueKind,
        default: Option<&'static str>,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            value_name: values.placeholder(),
            values,
            default,
            help,
            is_condition: false,
            is_of_runs: false,
            excludes: None,
            phrases: &[],
        }
    }
}

impl OptionKind {
    /// What a value is called, as after "with": see [`Self::phrases`].
    pub fn phrase(&self, value: &str) -> String {
        let mut phrases = self.phrases.iter();
        match phrases.find(|(of, _)| *of == value) {
            Some((_, phrase)) => (*phrase).to_owned(),
            None => phrase(self.name, value),
        }
    }
}

/// What a value is called by its option's name: `journal mode wal`.
pub fn phrase(option: &str, value: &str) -> String {
    format!("{} {value}", option.replace('-', " "))
}

/// Options are the same when their names are: a database has each name once.
impl PartialEq for OptionKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OptionKind {}

/// What values an option takes. Ranges are inclusive.
#[derive(Debug)]
pub enum ValueKind {
    /// One of these words.
    Word(&'static [&'static str]),
    /// `on` or `off`.
    Switch,
    /// A number of bytes, such as `512M`.
    Bytes(RangeInclusive<ByteCount>),
    /// A time, such as `30s`.
    Duration(RangeInclusive<Duration>),
    /// A whole number.
    Number(RangeInclusive<u64>),
    /// A page or block size, such as `8K`.
    PageSize(RangeInclusive<PageSize>),
    /// Page or block sizes of parts of a database by their names, such as `stock=16K,item=4K`.
    PageSizesByName(RangeInclusive<PageSize>),
    /// A path or anything else that the database itself reads.
    Text,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Word(&'static str),
    Switch(bool),
    Bytes(ByteCount),
    Duration(Duration),
    Number(u64),
    PageSize(PageSize),
    PageSizesByName(PageSizesByName),
    Text(String),
}

/// Page or block sizes of parts of a database by their names, each name once. Its text is as people type
/// it: `stock=16K,item=4K`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct PageSizesByName(Vec<(String, PageSize)>);

impl PageSizesByName {
    /// These names, each with its size. Of a name that comes again the first size counts.
    pub fn new(sizes: impl IntoIterator<Item = (String, PageSize)>) -> Self {
        let mut known = Self::default();
        for (name, size) in sizes {
            if known.of(&name).is_none() {
                known.0.push((name, size));
            }
        }
        known
    }

    /// Names and sizes, as they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, PageSize)> {
        self.0.iter().map(|(name, size)| (name.as_str(), *size))
    }

    /// The size of a name that has one.
    pub fn of(&self, name: &str) -> Option<PageSize> {
        let mut known = self.iter();
        known.find(|(own, _)| *own == name).map(|(_, size)| size)
    }
}

/// Why a text is no list of names and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write names and page sizes as in stock=16K,item=4K, each name once")]
pub struct SizesByNameError;

impl FromStr for PageSizesByName {
    type Err = SizesByNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut sizes = Self::default();
        for part in text.split(',') {
            let (name, size) = part.split_once('=').ok_or(SizesByNameError)?;
            let (name, size) = (name.trim(), size.trim().parse());
            let size = size.map_err(|_| SizesByNameError)?;
            let is_odd = name.is_empty() || name.chars().any(char::is_control);
            if is_odd || sizes.of(name).is_some() {
                return Err(SizesByNameError);
            }
            sizes.0.push((name.to_owned(), size));
        }
        Ok(sizes)
    }
}

impl fmt::Display for PageSizesByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, size)) in self.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match size.get() {
                bytes if bytes.is_multiple_of(1024) => {
                    write!(f, "{comma}{name}={}K", bytes / 1024)?;
                }
                bytes => write!(f, "{comma}{name}={bytes}")?,
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for PageSizesByName {
    type Error = SizesByNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PageSizesByName> for String {
    fn from(sizes: PageSizesByName) -> Self {
        sizes.to_string()
    }
}

impl ValueKind {
    const fn placeholder(&self) -> &'static str {
        match self {
            Self::Word(_) => "WORD",
            Self::Switch => "ON|OFF",
            Self::Bytes(_) | Self::PageSize(_) => "SIZE",
            Self::Duration(_) => "TIME",
            Self::Number(_) => "N",
            Self::PageSizesByName(_) => "NAME=SIZE,..",
            Self::Text => "PATH",
        }
    }

    fn read(&self, text: &str) -> Option<Value> {
        match self {
            Self::Word(words) => {
                let word = words.iter().find(|word| **word == text)?;
                Some(Value::Word(word))
            }
            Self::Switch => match text {
                "on" => Some(Value::Switch(true)),
                "off" => Some(Value::Switch(false)),
                _ => None,
            },
            Self::Bytes(range) => within(range, text.parse().ok()?).map(Value::Bytes),
            Self::Duration(range) => within(range, parse_duration(text).ok()?).map(Value::Duration),
            Self::Number(range) => within(range, text.parse().ok()?).map(Value::Number),
            Self::PageSize(range) => within(range, text.parse().ok()?).map(Value::PageSize),
            Self::PageSizesByName(range) => {
                let sizes: PageSizesByName = text.parse().ok()?;
                let are_within = sizes.iter().all(|(_, size)| range.contains(&size));
                are_within.then_some(Value::PageSizesByName(sizes))
            }
            Self::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        }
    }
}

fn within<T: PartialOrd>(range: &RangeInclusive<T>, value: T) -> Option<T> {
    range.contains(&value).then_some(value)
}

/// The possible values, in words that follow "choose".
impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(words) => match words {
                [] => f.write_str("nothing"),
                [one] => f.write_str(one),
                [some @ .., last] => write!(f, "{} or {last}", some.join(", ")),
            },
            Self::Switch => f.write_str("on or off"),
            Self::Bytes(range) if range.end().get() == u64::MAX => {
                write!(f, "a size such as 512M, at least {}", range.start())
            }
            Self::Bytes(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::Duration(range) => {
                write!(f, "{} to {}", short(*range.start()), short(*range.end()))
            }
            Self::Number(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::PageSize(range) => {
                write!(f, "a power of two, {} to {}", range.start(), range.end())
            }
            Self::PageSizesByName(range) => {
                let (start, end) = (range.start(), range.end());
                write!(
                    f,
                    "a list of NAME=SIZE, each name once, with sizes of {start} to {end}"
                )
            }
            Self::Text => f.write_str("a path"),
        }
    }
}

/// A duration as options are written: `30s`, `24h`.
fn short(time: Duration) -> String {
    match time.as_secs() {
        hours if hours > 0 && hours % 3600 == 0 => format!("{}h", hours / 3600),
        seconds => format!("{seconds}s"),
    }
}

/// The options of one database, read by their descriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    known: &'static [OptionKind],
    given: Vec<Given>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    option: &'static OptionKind,
    text: String,
    value: Value,
}

impl Options {
    /// Reads the options, names and values, of a database that knows these.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for an option that the database does not
    /// have, a value that it cannot have, and options that exclude each other or are
    /// given twice.
    pub(crate) fn read(
        database: &'static str,
        known: &'static [OptionKind],
        options: &[(String, String)],
    ) -> Result<Self, DatabaseError> {
        let refuse = |setting, value: &str, reason| DatabaseError::Setting {
            database,
            setting,
            value: value.to_owned(),
            reason,
        };
        let mut given: Vec<Given> = Vec::new();
        for (name, text) in options {
            let option =
                find(known, name).ok_or_else(|| refuse("option", name, instead_of(name, known)))?;
            let value = option
                .values
                .read(text)
                .ok_or_else(|| refuse(option.name, text, format!("choose {}", option.values)))?;
            for Given { option: other, .. } in &given {
                if other == &option {
                    return Err(refuse("option", name, "it is given twice".into()));
                }
                if other.excludes == Some(option.name) || option.excludes == Some(other.name) {
                    let reason = format!("give {} or {}, not both", other.name, option.name);
                    return Err(refuse("option", name, reason));
                }
            }
            given.push(Given {
                option,
                text: text.clone(),
                value,
            });
        }
        Ok(Self { known, given })
    }

    /// Names and values as they were given.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given
            .iter()
            .map(|given| (given.option.name, given.text.as_str()))
    }

    /// Names and values as they were given, to write down.
    pub fn to_vec(&self) -> Vec<(String, String)> {
        self.given()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// An option's value as text, or its default.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.given().find(|(option, _)| *option == name) {
            Some((_, text)) => Some(text),
            None => find(self.known, name)?.default,
        }
    }

    /// The value of an option that was given.
    ///
    /// # Panics
    /// When the description says that it has another type.
    pub(crate) fn given_value<T: FromValue>(&self, name: &str) -> Option<T> {
        let given = self.given.iter().find(|given| given.option.name == name)?;
        Some(T::from_value(given.value.clone()).expect("the description has the type"))
    }

    /// The value of an option, or its default.
    ///
    /// # Panics
    /// When the description has no such option, or no default of this type.
    pub fn get<T: FromValue>(&self, name: &str) -> T {
        self.given_value(name).unwrap_or_else(|| {
            let option = find(self.known, name).expect("the description has it");
            let default = option.default.expect("the description has a default");
            let value = option.values.read(default);
            value
                .and_then(T::from_value)
                .expect("the default can be read")
        })
    }
}

/// The description of an option by its name.
pub(crate) fn find(known: &'static [OptionKind], name: &str) -> Option<&'static OptionKind> {
    known.iter().find(|option| option.name == name)
}

/// What to give instead of an option that is not known.
fn instead_of(name: &str, known: &[OptionKind]) -> String {
    let names: Vec<&str> = known.iter().map(|option| option.name).collect();
    match nearest(name, names.iter().copied()) {
        _ if names.is_empty() => "it has none".into(),
        Some(near) => format!("did you mean {near}?"),
        None => format!("it has only {}", names.join(", ")),
    }
}

/// A type that an option's value can have.
pub trait FromValue: Sized {
    /// The value, if it has this type.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($variant:ident($type:ty)),+) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+};
}

from_value!(
    Word(&'static str),
    Switch(bool),
    Bytes(ByteCount),
    Duration(Duration),
    Number(u64),
    PageSize(PageSize),
    PageSizesByName(PageSizesByName),
    Text(String)
);

/// The nearest of the words that are known, if it is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|known| (strsim::levenshtein(word, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn every_default_is_a_value_of_its_option() {
        for kind in Registry::standard().iter() {
            for option in kind.options {
                let read = option.default.map(|default| option.values.read(default));
                assert_ne!(read, Some(None), "{} {}", kind.name, option.name);
                assert!(
                    option
                        .excludes
                        .is_none_or(|other| kind.option(other).is_some())
                );
            }
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_what_is_possible() {
        let sizes = ValueKind::PageSize(PageSize::kib(1)..=PageSize::kib(64));
        assert_eq!(sizes.read("8K"), Some(Value::PageSize(PageSize::kib(8))));
        assert_eq!(sizes.read("512"), None);
        assert_eq!(sizes.to_string(), "a power of two, 1 KiB to 64 KiB");
        let by_name = ValueKind::PageSizesByName(PageSize::kib(1)..=PageSize::kib(64));
        let of = |name: &str, kib| (name.to_owned(), PageSize::kib(kib));
        assert_eq!(
            by_name.read("stock=16K,item=4KiB"),
            Some(Value::PageSizesByName(PageSizesByName::new([
                of("stock", 16),
                of("item", 4)
            ])))
        );
        let typed = "stock=16K,item=512";
        assert_eq!(typed.parse::<PageSizesByName>().unwrap().to_string(), typed);
        for bad in [
            "",
            "stock",
            "stock=3K",
            "stock=512",
            "=4K",
            "a=4K,a=8K",
            "a=4K,",
            "a\u{1b}b=4K",
        ] {
            assert_eq!(by_name.read(bad), None, "{bad}");
        }
        let times = ValueKind::Duration(Duration::from_secs(30)..=Duration::from_hours(24));
        assert_eq!(times.read("29s"), None);
        assert_eq!(times.to_string(), "30s to 24h");
        let numbers = ValueKind::Number(14..=18);
        assert_eq!(numbers.read("15"), Some(Value::Number(15)));
        assert_eq!(numbers.read("fifteen"), None);
    }

    #[test]
    fn options_are_read_once_and_fall_back_to_their_defaults() {
        let kind = Registry::standard().find("mariadb").unwrap();
        let read = |options: &[(&str, &str)]| {
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            kind.read(&options.iter().map(own).collect::<Vec<_>>())
        };
        let options = read(&[("redo", "64M")]).unwrap();
        assert_eq!(options.get::<ByteCount>("redo"), ByteCount::mib(64));
        assert_eq!(options.get::<&str>("doublewrite"), "on");
        assert_eq!(options.given_value::<String>("bin"), None);
        assert_eq!(options.text("doublewrite"), Some("on"));
        assert_eq!(options.given().collect::<Vec<_>>(), [("redo", "64M")]);
        for (given, part) in [
            (&[("redo", "1K")][..], "at least 8 MiB"),
            (&[("doublewrite", "perhaps")], "on, off or detect"),
            (&[("doublewrit", "on")], "did you mean doublewrite?"),
            (&[("redo", "64M"), ("redo", "64M")], "given twice"),
        ] {
            let error = read(given).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
