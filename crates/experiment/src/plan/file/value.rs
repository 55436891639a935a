//! Values of a plan file, each refused at its place.

use std::{ops::Range, ops::RangeInclusive, path::Path, str::FromStr, time::Duration};

use octavo_storage::entry;
use octavo_units::{ByteCount, PageSize, parse_duration};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::refusal::{Refusal, instead};
use crate::{causes::with_causes, plan::Storage};

/// A value with its place in the file.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// One entry of a list, read.
#[derive(Clone, Debug)]
pub(super) struct Entry<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// The values of a list.
pub(super) fn values<T: Clone>(entries: &[Entry<T>]) -> Vec<T> {
    entries.iter().map(|entry| entry.value.clone()).collect()
}

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// Refuses all keys but the `known` ones.
    pub(super) fn new(
        table: &'a DeTable<'a>,
        place: &str,
        known: &[&str],
    ) -> Result<Self, Refusal> {
        // The table is in the order of the keys; the first line is to be told.
        let unknown = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        match unknown {
            None => Ok(Self { table }),
            Some(key) => Err(Refusal::new(
                &key.span(),
                format!(
                    "{place} has no '{}': {}",
                    key.get_ref(),
                    instead(key.get_ref(), known)
                ),
            )),
        }
    }

    /// The section `[name]`; an empty one where the file has none.
    pub(super) fn section(self, name: &str, known: &[&str]) -> Result<Option<Self>, Refusal> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Table(table) => Self::new(table, &format!("[{name}]"), known).map(Some),
            _ => Err(wrong(name, value, &format!("a section: write [{name}]"))),
        }
    }

    /// The value of a key.
    pub(super) fn get(self, key: &str) -> Option<&'a Value<'a>> {
        self.table
            .iter()
            .find(|(name, _)| name.get_ref() == key)
            .map(|(_, value)| value)
    }

    /// The value of a key, read.
    pub(super) fn read<T>(
        self,
        key: &str,
        read: impl Fn(&str, &Value<'_>) -> Result<T, Refusal>,
    ) -> Result<Option<Entry<T>>, Refusal> {
        self.get(key)
            .map(|value| {
                Ok(Entry {
                    value: read(key, value)?,
                    span: value.span(),
                })
            })
            .transpose()
    }

    /// The values of a key, which is one value or a list without repetitions.
    /// `read` may make several of one.
    pub(super) fn list<T: PartialEq>(
        self,
        key: &str,
        read: impl Fn(&str, &Value<'_>) -> Result<Vec<T>, Refusal>,
    ) -> Result<Option<Vec<Entry<T>>>, Refusal> {
        let Some(given) = self.get(key) else {
            return Ok(None);
        };
        let items: Vec<&Value<'_>> = match given.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![given],
        };
        if items.is_empty() {
            return Err(Refusal::new(
                &given.span(),
                format!("{key} is an empty list: at least one entry is needed"),
            ));
        }
        let mut entries: Vec<Entry<T>> = Vec::new();
        for item in items {
            for value in read(key, item)? {
                if entries.iter().any(|entry| entry.value == value) {
                    return Err(Refusal::new(
                        &item.span(),
                        format!("{key} has this entry twice: name each once"),
                    ));
                }
                entries.push(Entry {
                    value,
                    span: item.span(),
                });
            }
        }
        Ok(Some(entries))
    }
}

/// Makes a reader of one value into that of a list's entry.
pub(super) fn each<T>(
    read: impl Fn(&str, &Value<'_>) -> Result<T, Refusal>,
) -> impl Fn(&str, &Value<'_>) -> Result<Vec<T>, Refusal> {
    move |key, value| read(key, value).map(|value| vec![value])
}

fn wrong(key: &str, value: &Value<'_>, wanted: &str) -> Refusal {
    let found = match value.get_ref().type_str() {
        "string" => "a text",
        "integer" => "a whole number",
        "float" => "a number with a fraction",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" => "a list",
        _ => "a table",
    };
    Refusal::new(&value.span(), format!("{key} is {found}, not {wanted}"))
}

/// Reads a text.
pub(super) fn text(key: &str, value: &Value<'_>) -> Result<String, Refusal> {
    match value.get_ref().as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(wrong(key, value, "a text in quotes")),
    }
}

/// Reads where data lies: a device that there is, or a directory; an empty text
/// stays empty. Relative paths begin where octavo was started and are kept
/// absolute, so that going on from elsewhere finds them.
pub(super) fn storage(key: &str, value: &Value<'_>) -> Result<Storage, Refusal> {
    let given = text(key, value)?;
    let storage = Storage::from(given);
    if let Storage::Device(device) = &storage {
        let entry = entry::named(device).map_err(|error| {
            Refusal::new(&value.span(), format!("{key}: {}", with_causes(&error)))
        })?;
        let path = (entry.name != *device)
            .then(|| std::path::absolute(device).ok())
            .flatten();
        return Ok(match path.as_deref().and_then(Path::to_str) {
            Some(path) => Storage::Device(path.to_owned()),
            None => storage,
        });
    }
    Ok(match &storage {
        Storage::Directory(path) => {
            std::path::absolute(path).map_or(storage.clone(), Storage::Directory)
        }
        _ => storage,
    })
}

/// Reads one of several words.
pub(super) fn word<T: Copy>(
    words: &'static [(&'static str, T)],
) -> impl Fn(&str, &Value<'_>) -> Result<T, Refusal> {
    move |key, value| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Some(found) = value.get_ref().as_str() else {
            let wanted = format!("one of \"{}\"", known.join("\", \""));
            return Err(wrong(key, value, &wanted));
        };
        words
            .iter()
            .find(|(word, _)| *word == found)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                Refusal::new(
                    &value.span(),
                    format!("{key} '{found}' is not known: {}", instead(found, &known)),
                )
            })
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    let number = value.get_ref().as_integer()?;
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Reads a whole number within limits.
pub(super) fn whole(
    possible: RangeInclusive<u64>,
) -> impl Fn(&str, &Value<'_>) -> Result<u64, Refusal> {
    move |key, value| {
        let limits = match *possible.end() {
            u64::MAX => format!("a whole number from {}", possible.start()),
            end => format!("a whole number from {} to {end}", possible.start()),
        };
        if !value.get_ref().is_integer() {
            return Err(wrong(key, value, &limits));
        }
        integer(value)
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| possible.contains(number))
            .ok_or_else(|| {
                let number = value.get_ref().as_integer().map(ToString::to_string);
                Refusal::new(
                    &value.span(),
                    format!(
                        "{key} {} is not possible: choose {limits}",
                        number.unwrap_or_default()
                    ),
                )
            })
    }
}

/// Reads a whole number that 32 bits hold, from 1.
pub(super) fn count(max: u32) -> impl Fn(&str, &Value<'_>) -> Result<u32, Refusal> {
    let read = whole(1..=u64::from(max));
    move |key, value| {
        read(key, value).map(|number| u32::try_from(number).expect("it is at most `max`"))
    }
}

/// Reads what a text says, or a whole number as that text.
fn written<T: FromStr<Err: ToString>>(
    key: &str,
    value: &Value<'_>,
    wanted: &str,
) -> Result<T, Refusal> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(_) => integer(value).map_or_else(String::new, |n| n.to_string()),
        _ => return Err(wrong(key, value, wanted)),
    };
    text.parse()
        .map_err(|error: T::Err| Refusal::new(&value.span(), error.to_string()))
}

/// Reads an amount of bytes: a number, or a text with a unit.
pub(super) fn bytes(key: &str, value: &Value<'_>) -> Result<ByteCount, Refusal> {
    written(key, value, "a size such as \"32MiB\"")
}

/// Reads a page size: a number of bytes, or a text with a unit.
pub(super) fn page_size(key: &str, value: &Value<'_>) -> Result<PageSize, Refusal> {
    written(key, value, "a page size such as \"8K\"")
}

/// The longest time: what is planned for longer is a slip.
const DURATION_MAX: Duration = Duration::from_hours(366 * 24);

/// Reads a time above zero and up to a year.
pub(super) fn duration(key: &str, value: &Value<'_>) -> Result<Duration, Refusal> {
    const WANTED: &str = "a time in quotes such as \"90s\", \"5m\" or \"1h30m\"";
    let Some(text) = value.get_ref().as_str() else {
        return Err(wrong(key, value, WANTED));
    };
    let time =
        parse_duration(text).map_err(|error| Refusal::new(&value.span(), error.to_string()))?;
    if time > DURATION_MAX {
        return Err(Refusal::new(
            &value.span(),
            format!("{key} '{text}' is longer than a year: choose less"),
        ));
    }
    Ok(time)
}

/// Reads a time that may be none at all.
pub(super) fn duration_or_zero(key: &str, value: &Value<'_>) -> Result<Duration, Refusal> {
    match value.get_ref().as_str() {
        Some("0" | "0s") => Ok(Duration::ZERO),
        _ => duration(key, value),
    }
}

/// Reads a share of 1 above 0 and below 1: a number, or a text in percent.
pub(super) fn share(key: &str, value: &Value<'_>) -> Result<f64, Refusal> {
    let (shown, number) = match value.get_ref() {
        DeValue::Float(number) => (number.as_str().to_owned(), number.as_str().parse().ok()),
        DeValue::Integer(number) => (number.to_string(), integer(value).map(|n| n as f64)),
        DeValue::String(text) => (
            text.clone().into_owned(),
            text.strip_suffix('%')
                .and_then(|percent| percent.trim().parse::<f64>().ok())
                .map(|percent| percent / 100.0),
        ),
        _ => return Err(wrong(key, value, "a share such as 0.03 or \"3 %\"")),
    };
    number
        .filter(|&share: &f64| share > 0.0 && share < 1.0)
        .ok_or_else(|| {
            Refusal::new(
                &value.span(),
                format!(
                    "{key} {shown} is not possible: choose a share above 0 and below 1, such as \
                     0.03 or \"3 %\""
                ),
            )
        })
}

/// The most clients, as many as `octavo bench` takes.
const CLIENTS_MAX: u32 = 100_000;

/// The most entries that a ramp may have: a guard against slips.
const RAMP_MAX: u32 = 1000;

/// Reads clients: a number, or a ramp such as `5..60 step 5`, which has its
/// first number, and its last where the step falls on it.
pub(super) fn clients(key: &str, value: &Value<'_>) -> Result<Vec<u32>, Refusal> {
    let Some(text) = value.get_ref().as_str() else {
        if value.get_ref().is_integer() {
            return count(CLIENTS_MAX)(key, value).map(|clients| vec![clients]);
        }
        return Err(wrong(
            key,
            value,
            "a number, a list or a ramp such as \"5..60 step 5\"",
        ));
    };
    let refuse = |reason: &str| Refusal::new(&value.span(), format!("{key} '{text}' {reason}"));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (bounds, step) = match text.split_once("step") {
        Some((bounds, step)) => (bounds, number(step)),
        None => (text, Some(1)),
    };
    let bounds = bounds
        .split_once("..")
        .and_then(|(first, last)| Some((number(first)?, number(last)?)));
    let (Some((first, last)), Some(step)) = (bounds, step) else {
        return Err(refuse("is not a ramp: write it like 5..60 step 5"));
    };
    if step == 0 {
        return Err(refuse("never ends: the step has to be at least 1"));
    }
    if first > last {
        return Err(refuse(&format!(
            "runs backwards: write {last}..{first}, the order of runs is drawn anyway"
        )));
    }
    if first == 0 || last > CLIENTS_MAX {
        return Err(refuse(&format!(
            "is not possible: choose from 1 to {CLIENTS_MAX}"
        )));
    }
    if (last - first) / step >= RAMP_MAX {
        return Err(refuse(&format!(
            "has more than {RAMP_MAX} entries: choose a larger step"
        )));
    }
    Ok((first..=last).step_by(step as usize).collect())
}

/// Reads CPUs: a number, or `all`.
pub(super) fn cpus(key: &str, value: &Value<'_>) -> Result<Option<u32>, Refusal> {
    match value.get_ref().as_str() {
        Some("all") => Ok(None),
        _ if value.get_ref().is_integer() => count(u32::MAX)(key, value).map(Some),
        Some(text) => Err(Refusal::new(
            &value.span(),
            format!("{key} '{text}' is not possible: choose a number of CPUs or \"all\""),
        )),
        None => Err(wrong(key, value, "a number of CPUs or \"all\"")),
    }
}
