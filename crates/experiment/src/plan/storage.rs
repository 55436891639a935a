//! Where the data of a cell lies.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use octavo_storage::{
    entry,
    file_system::{FileSystem, HERE},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the data of a cell lies. Written as plans write it: an empty text, a
/// path, or `device:` with the device. A file system that is made on one of these is
/// `file-system:ext4:1K`, and ` on ` with where it lies, unless that is the empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum Storage {
    /// The directory that the experiment works in.
    #[default]
    Own,
    /// Another directory.
    Directory(PathBuf),
    /// An emulated device: a name of the catalog or the path of a file.
    Device(String),
    /// A file system that the experiment makes in a file on another of these.
    FileSystem {
        /// Which.
        system: FileSystem,
        /// Where; not on another file system that is made.
        on: Box<Storage>,
    },
}

/// What begins the text of an emulated device.
const DEVICE: &str = "device:";

/// Where the emulated devices of an experiment are, in its directory.
pub(super) const DEVICES: &str = "devices";

/// What begins the text of a file system that is made, and what comes before where it lies.
const FILE_SYSTEM: &str = "file-system:";
const ON: &str = " on ";

/// Where file systems that are made are, in the directory on which they lie.
pub(crate) const FILE_SYSTEMS: &str = "file-systems";

/// How the name of what holds the contents of a device or file system goes on.
pub(crate) const BACKING: &str = "backing";

impl Storage {
    /// Where the data lies, of an experiment that works in `directory`: of a
    /// device or file system where it is mounted.
    pub fn path(&self, directory: &Path) -> PathBuf {
        match self {
            Self::Own => directory.to_owned(),
            Self::Directory(path) => path.clone(),
            Self::Device(device) => directory.join(DEVICES).join(stem(device)),
            Self::FileSystem { system, on } => {
                let systems = on.path(directory).join(FILE_SYSTEMS);
                systems.join(system.file_name())
            }
        }
    }

    /// Where the contents of an emulated device, or of a file system that is made, are kept; `None` for
    /// directories.
    pub fn backing(&self, directory: &Path) -> Option<PathBuf> {
        match self {
            Self::Own | Self::Directory(_) => None,
            Self::Device(_) | Self::FileSystem { .. } => {
                let mut path = self.path(directory).into_os_string();
                path.push(".");
                path.push(BACKING);
                Some(path.into())
            }
        }
    }

    /// This with a file system that is made on it, or as it is.
    pub fn with_file_system(&self, system: Option<FileSystem>) -> Self {
        match system {
            None => self.clone(),
            Some(system) => Self::FileSystem {
                system,
                on: Box::new(self.ground().clone()),
            },
        }
    }

    /// Why a text that was read as a directory may be meant as a file system.
    pub(super) fn mistaken(&self) -> Option<String> {
        let Self::Directory(path) = self else {
            return None;
        };
        let text = path.to_str()?.strip_prefix(FILE_SYSTEM)?;
        let (system, _) = text.split_once(ON).unwrap_or((text, ""));
        Some(match system.parse::<FileSystem>() {
            Err(error) => error.to_string(),
            Ok(_) => "a file system is not made on another one: name a directory or device".into(),
        })
    }

    /// The storage among `all` that a text names as `file-system` of a plan does: by its file system
    /// alone, or as `here`.
    pub(super) fn by_file_system<'s>(text: &str, all: &'s [Self]) -> Option<&'s Self> {
        let is_made = all.iter().any(|of| of.file_system().is_some());
        let mut found = all.iter().filter(|of| match of.file_system() {
            Some(system) => text.parse().as_ref() == Ok(system),
            None => is_made && text == HERE,
        });
        found.next()
    }

    /// What it lies on: itself, or where a file system is made.
    pub fn ground(&self) -> &Self {
        match self {
            Self::FileSystem { on, .. } => on,
            Self::Own | Self::Directory(_) | Self::Device(_) => self,
        }
    }

    /// The emulated device below it, if there is one.
    pub fn device(&self) -> Option<&str> {
        match self.ground() {
            Self::Device(device) => Some(device),
            _ => None,
        }
    }

    /// The file system that is made for it, if one is.
    pub fn file_system(&self) -> Option<&FileSystem> {
        match self {
            Self::FileSystem { system, .. } => Some(system),
            Self::Own | Self::Directory(_) | Self::Device(_) => None,
        }
    }
}

impl From<String> for Storage {
    /// A text that begins as one of a file system and is none is a directory.
    fn from(text: String) -> Self {
        let made = text.strip_prefix(FILE_SYSTEM).and_then(|made| {
            let (system, on) = made.split_once(ON).unwrap_or((made, ""));
            let on = Self::from(on.to_owned());
            // One on another would need three layers.
            let is_ground = on.file_system().is_none();
            let system = system.parse().ok().filter(|_| is_ground)?;
            let on = Box::new(on);
            Some(Self::FileSystem { system, on })
        });
        if let Some(made) = made {
            return made;
        }
        match text.strip_prefix(DEVICE) {
            Some(device) => Self::Device(device.to_owned()),
            None if text.is_empty() => Self::Own,
            None => Self::Directory(text.into()),
        }
    }
}

impl FromStr for Storage {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.to_owned().into())
    }
}

impl From<Storage> for String {
    fn from(storage: Storage) -> Self {
        storage.to_string()
    }
}

impl Storage {
    /// As sentences and tables have it: a file system without what marks it as one in plans.
    pub fn name(&self) -> String {
        let name = self.to_string();
        match (self, name.strip_prefix(FILE_SYSTEM)) {
            (Self::FileSystem { .. }, Some(name)) => name.to_owned(),
            _ => name,
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.pad(""),
            Self::Directory(path) => f.pad(&path.to_string_lossy()),
            Self::Device(device) => f.pad(&format!("{DEVICE}{device}")),
            Self::FileSystem { system, on } if **on == Self::Own => {
                f.pad(&format!("{FILE_SYSTEM}{system}"))
            }
            Self::FileSystem { system, on } => f.pad(&format!("{FILE_SYSTEM}{system}{ON}{on}")),
        }
    }
}

/// A device's name, or that of its file, and the byte from which on it is meant.
fn stem(device: &str) -> String {
    let (device, offset) = entry::split(device);
    let path = Path::new(device);
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(device);
    match offset {
        Some(offset) => format!("{stem}@{}", offset.get()),
        None => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_is_read_and_written_as_text() {
        let directory = Path::new("/x");
        for (text, path, backing) in [
            ("", "/x", None),
            ("/mnt/hdd", "/mnt/hdd", None),
            ("device:ec", "/x/devices/ec", Some("/x/devices/ec.backing")),
            (
                "device:./my/twin.toml",
                "/x/devices/twin",
                Some("/x/devices/twin.backing"),
            ),
            (
                "device:./my/twin.toml@1KiB",
                "/x/devices/twin@1024",
                Some("/x/devices/twin@1024.backing"),
            ),
            (
                "device:ec@1.5K",
                "/x/devices/ec@1536",
                Some("/x/devices/ec@1536.backing"),
            ),
            (
                "device:./my/twin.toml@1MiB@512",
                "/x/devices/twin@1049088",
                Some("/x/devices/twin@1049088.backing"),
            ),
            (
                "file-system:ext4:1K",
                "/x/file-systems/ext4-1K",
                Some("/x/file-systems/ext4-1K.backing"),
            ),
            (
                "file-system:xfs:16K,noatime on device:ec",
                "/x/devices/ec/file-systems/xfs-16K-noatime",
                Some("/x/devices/ec/file-systems/xfs-16K-noatime.backing"),
            ),
            (
                "file-system:btrfs on /mnt/on hdd",
                "/mnt/on hdd/file-systems/btrfs",
                Some("/mnt/on hdd/file-systems/btrfs.backing"),
            ),
            // Directories, whatever they look like.
            ("file-system:zfs", "file-system:zfs", None),
            (
                "file-system:xfs on file-system:ext4",
                "file-system:xfs on file-system:ext4",
                None,
            ),
        ] {
            let storage: Storage = text.parse().unwrap();
            assert_eq!(storage.path(directory), Path::new(path));
            assert_eq!(storage.backing(directory), backing.map(PathBuf::from));
            let json = serde_json::to_string(&storage).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Storage>(&json).unwrap(), storage);
        }
    }
}
