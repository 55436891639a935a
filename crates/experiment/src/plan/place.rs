//! What a plan calls a storage.

use std::path::{Path, PathBuf};

/// A storage of [`Plan::storages`](super::Plan::storages).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// The directory that the experiment works in: an empty name.
    Own,
    /// Another directory.
    Directory(&'a Path),
    /// An emulated device, `device:` with a name of the catalogue or the path
    /// of a file.
    Device(&'a str),
}

/// What begins the name of an emulated device.
const DEVICE: &str = "device:";

/// Where the emulated devices of an experiment are, in its directory.
pub(crate) const DEVICES: &str = "devices";

impl<'a> Place<'a> {
    /// The storage that a plan calls so.
    pub fn of(name: &'a str) -> Self {
        match name.strip_prefix(DEVICE) {
            Some(device) => Self::Device(device),
            None if name.is_empty() => Self::Own,
            None => Self::Directory(Path::new(name)),
        }
    }

    /// What a plan calls an emulated device.
    pub fn name_of_device(device: &str) -> String {
        format!("{DEVICE}{device}")
    }

    /// Where the data lies, of an experiment that works in `directory`: of a
    /// device where it is mounted.
    pub fn path(self, directory: &Path) -> PathBuf {
        match self {
            Self::Own => directory.to_owned(),
            Self::Directory(path) => path.to_owned(),
            Self::Device(device) => directory.join(DEVICES).join(stem(device)),
        }
    }

    /// Where what an emulated device holds is kept; `None` of directories.
    pub fn backing(self, directory: &Path) -> Option<PathBuf> {
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
    fn names_say_where_data_lies() {
        let directory = Path::new("/x");
        for (name, path, backing) in [
            ("", "/x", None),
            ("/mnt/hdd", "/mnt/hdd", None),
            ("device:ec", "/x/devices/ec", Some("/x/devices/ec.backing")),
            (
                "device:./my/twin.toml",
                "/x/devices/twin",
                Some("/x/devices/twin.backing"),
            ),
        ] {
            let place = Place::of(name);
            assert_eq!(place.path(directory), Path::new(path));
            assert_eq!(place.backing(directory), backing.map(PathBuf::from));
        }
        assert_eq!(Place::of(&Place::name_of_device("ec")), Place::Device("ec"));
    }
}
