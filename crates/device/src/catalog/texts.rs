//! The entries that are part of the program, as they are written.

use std::path::Path;

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
