//! The device or machine that a user names: of the catalog, or in a file.

use std::path::{Path, PathBuf};

use octavo_device::catalog::{
    self, Entry, EntryError,
    machine::{self, MachineEntry, MachineError},
};

use octavo_units::ByteCount;

use crate::text::{self, NotAFile, TextError};

/// Why there is no such device or machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamedError {
    /// A name that is not in the catalog.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A name that is not in the catalog of machines.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] TextError),
    /// A partition that begins nowhere.
    #[error(
        "'{text}': behind '@' comes the byte at which a partition of {device} begins, such as 512, 4K \
         or 1MiB"
    )]
    Offset {
        /// What was asked for.
        text: String,
        /// The device before the `@`.
        device: String,
    },
    /// A disk, where a model of one was wanted.
    #[error(
        "{} is a block device, not the model of one: measure a directory on it with 'octavo \
         calibrate DIR --output PROFILE', and name the model that 'octavo devices fit PROFILE \
         --output FILE' makes",
        path.display()
    )]
    Disk {
        /// Which.
        path: PathBuf,
    },
    /// An entry in a file is not valid.
    #[error("{}", path.display())]
    In {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: EntryError,
    },
    /// A machine in a file is not valid.
    #[error("{}", path.display())]
    InMachine {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: MachineError,
    },
}

/// The device that a user names: one of the catalog, or the file at a path,
/// which has a `/` or ends in `.toml`. `NAME@512` is a partition of it that begins at byte 512, and
/// `NAME@4096@512` one at byte 512 of that at 4096: at 4608 of the whole. A file that is there is meant by
/// its name, however that ends.
///
/// # Errors
/// An unknown name, a file that cannot be read, an entry that is not valid, or a byte from which
/// on it cannot be meant.
pub fn named(text: &str) -> Result<Entry, NamedError> {
    let (device, offset) = split(text);
    match offset {
        Some(offset) => Ok(whole(device)?.from_byte(offset)?),
        None => whole(device).map_err(|unknown| match device.rsplit_once('@') {
            Some((before, _)) if whole(split(before).0).is_ok() => NamedError::Offset {
                text: text.to_owned(),
                device: before.to_owned(),
            },
            _ => unknown,
        }),
    }
}

/// The text by which [`named`] finds the same device from anywhere, one for all that say the same:
/// paths are absolute, and behind an `@` is a number of bytes. `None` for a path that is not UTF-8.
pub fn kept(text: &str) -> Option<String> {
    let (device, offset) = split(text);
    let device = match catalog::as_file(device) {
        Some(path) => std::path::absolute(path).ok()?.to_str()?.to_owned(),
        None => device.to_owned(),
    };
    Some(match offset {
        Some(offset) => format!("{device}@{}", offset.get()),
        None => device,
    })
}

/// The device of a text that [`named`] reads, and its byte at which the partition begins, if one is meant: offsets of
/// partitions of partitions are added, up to the largest number, which no device has.
pub fn split(text: &str) -> (&str, Option<ByteCount>) {
    let (mut device, mut begin) = (text, None);
    while !catalog::as_file(device).is_some_and(Path::is_file)
        && let (of, Some(offset)) = catalog::split_offset(device)
    {
        let before = begin.map_or(0, ByteCount::get);
        begin = Some(ByteCount::new(offset.get().saturating_add(before)));
        device = of;
    }
    (device, begin)
}

fn whole(text: &str) -> Result<Entry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => {
            let text = read(path).map_err(|error| match error {
                TextError::NotAFile {
                    path,
                    found: NotAFile::BlockDevice,
                } => NamedError::Disk { path },
                error => error.into(),
            })?;
            Entry::from_toml(&text).map_err(|source| NamedError::In {
                path: path.to_owned(),
                source,
            })
        }
        None => Ok(catalog::find(text)?),
    }
}

/// The machine that a user names, as [`named`] finds a device.
///
/// # Errors
/// An unknown name, a file that cannot be read, or an entry that is not valid.
pub fn named_machine(text: &str) -> Result<MachineEntry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => {
            MachineEntry::from_toml(&read(path)?).map_err(|source| NamedError::InMachine {
                path: path.to_owned(),
                source,
            })
        }
        None => Ok(machine::find(text)?),
    }
}

fn read(path: &Path) -> Result<String, TextError> {
    text::read(path, text::WRITTEN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_found_by_one_text_however_it_is_written() {
        for text in ["nvme-tlc@4096", "nvme-tlc@4K", "nvme-tlc@4KiB"] {
            assert_eq!(kept(text).as_deref(), Some("nvme-tlc@4096"));
            assert_eq!(named(text).unwrap().name, "nvme-tlc@4096");
        }
        assert_eq!(kept("nvme-tlc").as_deref(), Some("nvme-tlc"));
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("mine@home.toml");
        let entry = catalog::find("sata-tlc").unwrap();
        std::fs::write(&path, entry.to_toml()).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(kept(path).as_deref(), Some(path));
        assert_eq!(named(path).unwrap(), entry);
        let partition = format!("{path}@1MiB");
        assert_eq!(kept(&partition), Some(format!("{path}@1048576")));
        assert_eq!(named(&partition).unwrap().name, "sata-tlc@1048576");
        let relative = kept("./mine.toml@512").unwrap();
        assert!(
            relative.starts_with('/') && relative.ends_with("/mine.toml@512"),
            "{relative}"
        );
        for text in ["@512", "nvm@x", "@"] {
            assert!(matches!(
                named(text),
                Err(NamedError::Entry(EntryError::Unknown { .. }))
            ));
        }
    }

    #[test]
    fn a_partition_that_begins_nowhere_is_refused_by_what_stands_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("mine.toml");
        std::fs::write(&path, catalog::find("sata-tlc").unwrap().to_toml()).unwrap();
        let file = format!("{}@x", path.display());
        for text in [
            "nvme-tlc@",
            "nvme-tlc@x",
            "nvme-tlc@-1",
            "nvme-tlc@100@x",
            &file,
        ] {
            let error = named(text).unwrap_err().to_string();
            let device = text.rsplit_once('@').unwrap().0;
            let expected = format!(
                "'{text}': behind '@' comes the byte at which a partition of {device} begins, such as \
                 512, 4K or 1MiB"
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_partition_may_be_of_a_partition() {
        let entry = named("sata-tlc@1MiB@512").unwrap();
        assert_eq!(entry.name, "sata-tlc@1049088");
        assert_eq!(
            kept("sata-tlc@1MiB@512").as_deref(),
            Some("sata-tlc@1049088")
        );
        assert_eq!(named(&entry.name).unwrap(), entry);
        let many = format!("sata-tlc{}", "@512".repeat(100_000));
        assert_eq!(named(&many).unwrap().name, "sata-tlc@51200000");
        assert!(named(&"@x".repeat(5_000)).is_err());
        let far = format!("sata-tlc@{0}@{0}", u64::MAX);
        assert!(matches!(
            named(&far),
            Err(NamedError::Entry(EntryError::Impossible { .. }))
        ));
    }

    #[test]
    fn a_file_whose_name_ends_like_a_partition_is_itself() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("mine@512");
        let entry = catalog::find("sata-tlc").unwrap();
        std::fs::write(&path, entry.to_toml()).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(named(path).unwrap(), entry);
        assert_eq!(kept(path).as_deref(), Some(path));
        let partition = format!("{path}@4K");
        assert_eq!(named(&partition).unwrap().name, "sata-tlc@4096");
        assert_eq!(kept(&partition), Some(format!("{path}@4096")));
    }
}
