//! The entries that are part of the program, as they are written.

use std::path::Path;

use octavo_units::ByteCount;

/// Texts of files, each with its name, in the order in which they are listed.
pub(super) struct Texts(&'static [(&'static str, &'static str)]);

/// Names of entries in a directory, each with the text of its file.
macro_rules! texts {
    ($directory:literal: $($name:literal),* $(,)?) => {
        Texts(&[$(($name, include_str!(concat!("../../", $directory, "/", $name, ".toml")))),*])
    };
}

/// The devices that are part of the program.
pub(super) const DEVICES: Texts = texts!["catalog":
    "850-pro",
    "coelho-ssd",
    "cubrid-hdd",
    "cubrid-ssd",
    "ec",
    "flasharray-2012",
    "flasharray-4k",
    "gp2-100",
    "gp3-16000",
    "gp3-3000",
    "gp3-80000",
    "hdd-7200",
    "instant",
    "io2",
    "io2-256000",
    "nvme-gen5",
    "nvme-qlc",
    "nvme-tlc",
    "petrov-array",
    "raid0-8x15k",
    "pc-a",
    "pc-b",
    "pm1725",
    "petrov-hdd",
    "petrov-ssd",
    "sata-tlc",
    "sm863",
    "st373455ss",
    "vondra-i5",
    "vondra-xeon",
];

/// The machines that are part of the program.
pub(super) const MACHINES: Texts = texts!["catalog/machines":
    "coelho-2014",
    "lee-2009",
    "petrov-2010",
    "server-2021",
];

/// Names of all devices that are part of the program, in the order in which
/// they are listed.
pub fn names() -> impl Iterator<Item = &'static str> {
    DEVICES.names()
}

/// Names less alike than this (Jaro-Winkler) are not suggested.
const LIKENESS_MIN: f64 = 0.7;

impl Texts {
    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().map(|(name, _)| *name)
    }

    /// The entry of this name.
    pub(super) fn text(&self, name: &str) -> Option<&'static str> {
        let (_, text) = self.0.iter().find(|(known, _)| *known == name)?;
        Some(text)
    }

    /// The name that is most like `name`, if any is like it at all.
    pub(super) fn nearest(&self, name: &str) -> Option<&'static str> {
        self.names()
            .map(|known| (strsim::jaro_winkler(known, name), known))
            .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known)
    }
}

/// The device that a text like `nvme-tlc@512` or `./mine.toml@1MiB` names, and the byte from which on
/// it is meant: behind the last `@`, if a size is there.
pub fn split_offset(text: &str) -> (&str, Option<ByteCount>) {
    let parts = text
        .rsplit_once('@')
        .and_then(|(device, offset)| Some((device, offset.parse().ok()?)));
    match parts {
        Some((device, offset)) => (device, Some(offset)),
        None => (text, None),
    }
}

/// The file that a user means by `text`, if not a device or machine of the catalog: it has a
/// `/` or ends in `.toml`. What is in it is for [`Entry::from_toml`](super::Entry::from_toml)
/// or [`MachineEntry::from_toml`](super::machine::MachineEntry::from_toml).
pub fn as_file(text: &str) -> Option<&Path> {
    (text.contains('/') || text.ends_with(".toml")).then(|| Path::new(text))
}
