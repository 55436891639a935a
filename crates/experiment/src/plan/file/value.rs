//! The forms in which values are written in a plan file.

use std::{fmt, marker::PhantomData, ops::Range, time::Duration};

use octavo_database::Isolation;
use octavo_driver::ClientSteps;
use octavo_storage::{
    entry,
    file_system::{FileSystem, HERE},
};
use octavo_units::{ByteCount, PageSize, parse_duration};
use octavo_workload::{
    shape::{Distribution, KeyOrder, Spread},
    user::{PaceError, ShareError},
};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};
use toml::Spanned;

use super::refusal::instead;
use crate::{
    causes::with_causes,
    plan::{Design, Storage},
};

/// A value with its place in the file, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpannedValue<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// The entries of a list. A plan may write the only entry without brackets.
pub(super) type List<T> = Vec<SpannedValue<T>>;

/// The value of a key, where the file has the key.
pub(super) fn given<T: Clone>(entry: &Option<SpannedValue<T>>) -> Option<T> {
    entry.as_ref().map(|entry| entry.value.clone())
}

/// The values of a list.
pub(super) fn values<T: Clone>(entries: &[SpannedValue<T>]) -> Vec<T> {
    entries.iter().map(|entry| entry.value.clone()).collect()
}

/// The places of a list's entries.
pub(super) fn spans<T>(entries: &[SpannedValue<T>]) -> Vec<Range<usize>> {
    entries.iter().map(|entry| entry.span.clone()).collect()
}

/// A value as TOML has it.
#[derive(Clone, Copy)]
pub(super) enum Scalar<'a> {
    Text(&'a str),
    Whole(i128),
    Fraction(f64),
    Truth(bool),
}

impl Scalar<'_> {
    /// A text as it is, and a whole number as that text.
    fn written(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.to_owned()),
            Self::Whole(number) => Some(number.to_string()),
            Self::Fraction(_) | Self::Truth(_) => None,
        }
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Text(text) => Unexpected::Str(text),
            Self::Whole(number) => Unexpected::Signed(i64::try_from(*number).unwrap_or(i64::MAX)),
            Self::Fraction(number) => Unexpected::Float(*number),
            Self::Truth(value) => Unexpected::Bool(*value),
        }
    }
}

/// A type that has forms of its own in a plan file.
pub(super) trait Written: Sized {
    /// The forms, as after "expected".
    const FORMS: &'static str;

    /// Reads a value; `None` where its type is none of the forms', and the
    /// reason where the value is not possible.
    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>>;
}

impl<'de, T: Written> Deserialize<'de> for SpannedValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Form<T>>::deserialize(deserializer)?;
        Ok(Self {
            span: spanned.span(),
            value: spanned.into_inner().0,
        })
    }
}

struct Form<T>(T);

impl<'de, T: Written> Deserialize<'de> for Form<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData)).map(Self)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Written> Reader<T> {
    fn read<E: de::Error>(&self, scalar: Scalar<'_>) -> Result<T, E> {
        T::read(scalar)
            .ok_or_else(|| E::invalid_type(scalar.unexpected(), self))?
            .map_err(E::custom)
    }
}

impl<T: Written> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::FORMS)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.read(Scalar::Text(text))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.read(Scalar::Whole(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.read(Scalar::Whole(number.into()))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<T, E> {
        self.read(Scalar::Whole(number))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        self.read(Scalar::Truth(value))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.read(Scalar::Fraction(number))
    }
}

impl Written for String {
    const FORMS: &'static str = "a text in quotes";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(text) => Some(Ok(text.to_owned())),
            _ => None,
        }
    }
}

impl Written for bool {
    const FORMS: &'static str = "true or false";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Truth(value) => Some(Ok(value)),
            _ => None,
        }
    }
}

impl Written for ByteCount {
    const FORMS: &'static str = "a size such as \"32MiB\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        Some(scalar.written()?.parse().map_err(text_of))
    }
}

impl Written for PageSize {
    const FORMS: &'static str = "a page size such as \"8K\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        Some(scalar.written()?.parse().map_err(text_of))
    }
}

pub(super) fn text_of(error: impl ToString) -> String {
    error.to_string()
}

/// A whole number in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Whole<const MIN: u64, const MAX: u64>(pub(super) u64);

/// A number of things, or of bytes with or without a unit: which of them, the
/// workload says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity(pub(super) u64);

impl Written for Quantity {
    const FORMS: &'static str = "a whole number, or a size such as \"1KiB\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Whole(number) => Some(
                u64::try_from(number)
                    .map(Self)
                    .map_err(|_| format!("{number} is not possible: choose a whole number from 1")),
            ),
            _ => Some(ByteCount::read(scalar)?.map(|bytes| Self(bytes.get()))),
        }
    }
}

/// A value whose form is known when the rest of the plan is.
#[derive(Clone, Debug)]
pub(super) enum DeferredValue {
    Text(String),
    Whole(i128),
    Fraction(f64),
}

impl DeferredValue {
    /// Reads it; `None` where its type is none of the forms'.
    pub(super) fn read<T: Written>(&self) -> Option<Result<T, String>> {
        T::read(match self {
            Self::Text(text) => Scalar::Text(text),
            Self::Whole(number) => Scalar::Whole(*number),
            Self::Fraction(number) => Scalar::Fraction(*number),
        })
    }
}

impl Written for DeferredValue {
    const FORMS: &'static str = "an entry of the compared list";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        Some(Ok(match scalar {
            Scalar::Text(text) => Self::Text(text.to_owned()),
            Scalar::Whole(number) => Self::Whole(number),
            Scalar::Fraction(number) => Self::Fraction(number),
            Scalar::Truth(_) => return None,
        }))
    }
}

/// A number of things, of which there is at least one.
pub(super) type Count<const MAX: u64> = Whole<1, MAX>;

impl<const MIN: u64, const MAX: u64> Written for Whole<MIN, MAX> {
    const FORMS: &'static str = "a whole number";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let Scalar::Whole(number) = scalar else {
            return None;
        };
        let possible = u64::try_from(number)
            .ok()
            .filter(|number| (MIN..=MAX).contains(number));
        Some(possible.map(Self).ok_or_else(|| match MAX {
            u64::MAX => format!("{number} is not possible: choose a whole number from {MIN}"),
            _ => format!("{number} is not possible: choose a whole number from {MIN} to {MAX}"),
        }))
    }
}

impl<const MAX: u64> Count<MAX> {
    /// As 32 bits, which hold every `MAX` of a plan that is asked for so.
    pub(super) fn get(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl Written for Spread {
    const FORMS: &'static str = "a whole number, or a range such as \"100..4000\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        Some(scalar.written()?.parse().map_err(text_of))
    }
}

impl Written for Distribution {
    const FORMS: &'static str = "a distribution such as \"uniform\" or \"zipfian:0.9\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(text) => Some(text.parse().map_err(text_of)),
            _ => None,
        }
    }
}

impl Written for KeyOrder {
    const FORMS: &'static str = "\"hashed\" or \"sequential\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        word(scalar, &Self::NAMES)
    }
}

impl Written for Design {
    const FORMS: &'static str = "\"race\" or \"full\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        word(scalar, &[("race", Self::Race), ("full", Self::Full)])
    }
}

impl Written for Isolation {
    const FORMS: &'static str = "\"read-committed\", \"repeatable-read\" or \"serializable\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        word(
            scalar,
            &[
                ("read-committed", Self::ReadCommitted),
                ("repeatable-read", Self::RepeatableRead),
                ("serializable", Self::Serializable),
            ],
        )
    }
}

fn word<T: Copy>(scalar: Scalar<'_>, words: &[(&str, T)]) -> Option<Result<T, String>> {
    let Scalar::Text(text) = scalar else {
        return None;
    };
    let found = words.iter().find(|(word, _)| *word == text);
    Some(found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("'{text}' is not known: {}", instead(text, &known))
    }))
}

/// The longest time: what is planned for longer is a slip.
pub(super) const DURATION_MAX: Duration = Duration::from_hours(366 * 24);

impl Written for Duration {
    const FORMS: &'static str = "a time in quotes such as \"90s\", \"5m\" or \"1h30m\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let Scalar::Text(text) = scalar else {
            return None;
        };
        Some(match parse_duration(text) {
            Ok(time) if time > DURATION_MAX => {
                Err(format!("'{text}' is longer than a year: choose less"))
            }
            read => read.map_err(text_of),
        })
    }
}

/// A share of 1, above 0 and below 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) f64);

/// A share of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled(pub(super) octavo_workload::user::Share);

impl Written for Sampled {
    const FORMS: &'static str = "a share such as \"10%\" or 0.1";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let text = match scalar {
            Scalar::Fraction(number) => number.to_string(),
            other => other.written()?,
        };
        Some(
            text.parse()
                .map(Self)
                .map_err(|error: ShareError| error.to_string()),
        )
    }
}

/// A pace of recorded transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced(pub(super) octavo_workload::user::Pace);

impl Written for Paced {
    const FORMS: &'static str = "a pace such as \"recorded\" or \"2x\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let paced = scalar.written()?.parse().map(Self);
        Some(paced.map_err(|error: PaceError| error.to_string()))
    }
}

impl Written for Share {
    const FORMS: &'static str = "a share such as 0.03 or \"3 %\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let (shown, share) = match scalar {
            Scalar::Fraction(number) => (number.to_string(), Some(number)),
            Scalar::Whole(number) => (number.to_string(), Some(number as f64)),
            Scalar::Text(text) => (
                text.to_owned(),
                text.strip_suffix('%')
                    .and_then(|percent| percent.trim().parse::<f64>().ok())
                    .map(|percent| percent / 100.0),
            ),
            Scalar::Truth(_) => return None,
        };
        Some(
            share
                .filter(|share| *share > 0.0 && *share < 1.0)
                .map(Self)
                .ok_or_else(|| {
                    format!(
                        "{shown} is not possible: choose a share above 0 and below 1, such as \
                         0.03 or \"3 %\""
                    )
                }),
        )
    }
}

/// The most clients, as many as `octavo bench` takes.
const CLIENTS_MAX: u64 = 100_000;

/// The most entries that a range may have: a guard against slips.
const RANGE_MAX: u32 = 1000;

/// Clients: a number, or a range such as `5..60 step 5`, which has its first
/// number, and its last where the step falls on it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clients(pub(super) Vec<u32>);

impl Written for Clients {
    const FORMS: &'static str = "a number, a list or a range such as \"5..60 step 5\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(text) => {
                Some(range(text).map_err(|reason| format!("clients '{text}' {reason}")))
            }
            _ => {
                let read = Count::<CLIENTS_MAX>::read(scalar)?;
                Some(read.map(|clients| Self(vec![clients.get()])))
            }
        }
    }
}

fn range(text: &str) -> Result<Clients, String> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (bounds, step) = match text.split_once("step") {
        Some((bounds, step)) => (bounds, number(step)),
        None => (text, Some(1)),
    };
    let bounds = bounds
        .split_once("..")
        .and_then(|(first, last)| Some((number(first)?, number(last)?)));
    let (Some((first, last)), Some(step)) = (bounds, step) else {
        return Err("is not a range: write it like 5..60 step 5".into());
    };
    if step == 0 {
        return Err("never ends: the step has to be at least 1".into());
    }
    if first > last {
        return Err(format!(
            "runs backwards: write {last}..{first}, the order of runs is drawn anyway"
        ));
    }
    if first == 0 || u64::from(last) > CLIENTS_MAX {
        return Err(format!("is not possible: choose from 1 to {CLIENTS_MAX}"));
    }
    if (last - first) / step >= RANGE_MAX {
        return Err(format!(
            "has more than {RANGE_MAX} entries: choose a larger step"
        ));
    }
    Ok(Clients((first..=last).step_by(step as usize).collect()))
}

impl Written for ClientSteps {
    const FORMS: &'static str = "a ramp in quotes such as \"5..60/5\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(text) => Some(text.parse().map_err(text_of)),
            _ => None,
        }
    }
}

/// CPUs: a number, or `all`, which is `None`.
impl Written for Option<u32> {
    const FORMS: &'static str = "a number of CPUs or \"all\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text("all") => Some(Ok(None)),
            Scalar::Text(text) => Some(Err(format!(
                "'{text}' is not possible: choose a number of CPUs or \"all\""
            ))),
            _ => {
                let read = Count::<{ u32::MAX as u64 }>::read(scalar)?;
                Some(read.map(|cpus| Some(cpus.get())))
            }
        }
    }
}

/// As `file-system` names what is made, and `here` for none.
impl Written for Option<FileSystem> {
    const FORMS: &'static str = "a file system such as \"ext4:4K\", or \"here\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(HERE) => Some(Ok(None)),
            Scalar::Text(text) => Some(text.parse().map(Some).map_err(text_of)),
            _ => None,
        }
    }
}

/// A storage as it is kept: a device that there is, or an absolute path.
fn placed(given: Storage) -> Result<Storage, String> {
    if let Some(reason) = given.mistaken() {
        return Err(reason);
    }
    match &given {
        Storage::Own => Ok(given),
        Storage::Directory(path) => {
            Ok(std::path::absolute(path).map_or(given.clone(), Storage::Directory))
        }
        Storage::Device(device) => entry::named(device)
            .map_err(|error| with_causes(&error))
            .map(|_| entry::kept(device).map_or(given.clone(), Storage::Device)),
        Storage::FileSystem { system, on } => {
            placed((**on).clone()).map(|on| on.with_file_system(Some(system.clone())))
        }
    }
}

/// A device that there is, or a directory. Relative paths begin where octavo was
/// started and are kept absolute, so that resuming from elsewhere finds them.
impl Written for Storage {
    const FORMS: &'static str = "a text in quotes";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let given = match String::read(scalar)? {
            Ok(text) => Self::from(text),
            Err(reason) => return Some(Err(reason)),
        };
        Some(placed(given))
    }
}
