//! Why a device is not emulated.

use std::{
    io,
    path::{Path, PathBuf},
};

use octavo_device::DeviceError;
use octavo_storage::directory::DirectoryError;

/// Why a device is not emulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// A directory that cannot be worked in.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The mount point holds something, which mounting would hide.
    #[error("{} is not empty, it holds '{found}': name an empty directory to mount at", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// A file system is mounted there whose process is gone.
    #[error(
        "{} is the mount of a process that has ended: 'fusermount3 -u {}' takes it away",
        path.display(), path.display()
    )]
    Dead {
        /// The directory.
        path: PathBuf,
    },
    /// A file system of ours is mounted there that does not answer.
    #[error(
        "{} is an emulated device that does not answer: end its octavo emulate, or \
         'umount -f {}' takes it away",
        path.display(), path.display()
    )]
    Silent {
        /// The directory.
        path: PathBuf,
    },
    /// One directory is within the other.
    #[error(
        "the mount point {} and the backing directory {} are one in the other: name two apart",
        mount.display(), backing.display()
    )]
    Nested {
        /// The mount point.
        mount: PathBuf,
        /// The backing directory.
        backing: PathBuf,
    },
    /// A time scale that is not possible.
    #[error("time scale {0} is not possible: give a number from 0.001 to 1000")]
    TimeScale(f64),
    /// What the backing directory holds does not fit the device.
    #[error("what {} holds does not fit the device '{device}'", path.display())]
    TooSmall {
        /// The backing directory.
        path: PathBuf,
        /// The device.
        device: String,
    },
    /// The device cannot be preconditioned so.
    #[error("precondition the device")]
    Precondition(#[source] DeviceError),
    /// The caller asked to stop before it was mounted; nothing was made.
    #[error("stopped")]
    Interrupted,
    /// Mounting failed.
    #[error("mount a FUSE file system at {}{}", path.display(), remedy(source))]
    Mount {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl EmulateError {
    /// Whether what was asked for is at fault.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Mount { .. } | Self::Interrupted => false,
            Self::Directory(DirectoryError::Io { source, .. }) => {
                matches!(
                    source.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::ReadOnlyFilesystem
                        | io::ErrorKind::NotADirectory
                )
            }
            _ => true,
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            " (it needs /dev/fuse, and unless you are root fusermount3 of the package fuse3)"
        }
        io::ErrorKind::PermissionDenied => {
            " (it needs permission to open /dev/fuse, and unless you are root 'user_allow_other' in /etc/fuse.conf)"
        }
        _ => "",
    }
}

impl EmulateError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let failed = DirectoryError::io(action, path);
        move |source| Self::Directory(failed(source))
    }
}
