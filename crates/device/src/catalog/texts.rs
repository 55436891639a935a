//! The entries that are part of the program, as they are written.

use std::path::Path;

/// Names of entries, each with the text of its file.
macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../catalog/", $name, ".toml")))),*]
    };
}

/// The entries that are part of the program, by name.
const TEXTS: &[(&str, &str)] = &texts![
    "coelho-ssd",
    "cubrid-hdd",
    "cubrid-ssd",
    "ec",
    "flasharray-2012",
    "gp2-100",
    "gp3-16000",
    "gp3-3000",
    "hdd-7200",
    "instant",
    "io2",
    "nvme-tlc",
    "petrov-array",
    "raid0-8x15k",
    "pc-a",
    "pc-b",
    "petrov-hdd",
    "petrov-ssd",
    "sata-tlc",
    "st373455ss",
];

/// Names of all devices that are part of the program, in the order in which
/// they are listed.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// The entry of this name.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let (_, text) = TEXTS.iter().find(|(known, _)| *known == name)?;
    Some(text)
}

/// Names less alike than this (Jaro-Winkler) are not suggested.
const LIKENESS_MIN: f64 = 0.7;

/// The name that is most like `name`, if any is like it at all.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    names()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// The file that a user means by `text`, if not a device of the catalog: it has a
/// `/` or ends in `.toml`. What is in it is for [`Entry::from_toml`](super::Entry::from_toml).
pub fn as_file(text: &str) -> Option<&Path> {
    (text.contains('/') || text.ends_with(".toml")).then(|| Path::new(text))
}
