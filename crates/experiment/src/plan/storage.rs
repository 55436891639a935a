//! Where the data of a cell lies.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the data of a cell lies. Written as plans write it: an empty text, a
/// path, or `device:` with the device.
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
}

/// What begins the text of an emulated device.
const DEVICE: &str = "device:";

/// Where the emulated devices of an experiment are, in its directory.
pub(super) const DEVICES: &str = "devices";

impl Storage {
    /// Where the data lies, of an experiment that works in `directory`: of a
    /// device where it is mounted.
    pub fn path(&self, directory: &Path) -> PathBuf {
        match self {
            Self::Own => directory.to_owned(),
            Self::Directory(path) => path.clone(),
            Self::Device(device) => directory.join(DEVICES).join(stem(device)),
        }
    }

    /// Where the contents of an emulated device are kept; `None` for
    /// directories.
    pub fn backing(&self, directory: &Path) -> Option<PathBuf> {
        match self {
            Self::Own | Self::Directory(_) => None,
            Self::Device(device) => Some(
                directory
                    .join(DEVICES)
                    .join(format!("{}.backing", stem(device))),
            ),
        }
    }
}

impl From<String> for Storage {
    fn from(text: String) -> Self {
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

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.pad(""),
            Self::Directory(path) => f.pad(&path.to_string_lossy()),
            Self::Device(device) => f.pad(&format!("{DEVICE}{device}")),
        }
    }
}

/// A device's name, or that of its file.
fn stem(device: &str) -> &str {
    let path = Path::new(device);
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(device)
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
