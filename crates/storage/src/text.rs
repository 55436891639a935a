//! Files of text that somebody names: read whole, or refused.
//!
//! A path from a command line can be anything: a device that never ends, a pipe that nobody
//! writes into, a disk image. None of these is waited for or read into memory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use octavo_units::ByteCount;

/// The longest text that people write: plans, prices, devices, machines. The longest of this
/// project has 18 KiB. Chosen.
pub const WRITTEN_MAX: ByteCount = ByteCount::mib(1);

/// The longest text that commands write: device profiles, of which a point has about 400
/// bytes. Chosen.
pub const MADE_MAX: ByteCount = ByteCount::mib(16);

/// Why a file of text is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The system refuses.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a directory, a device, a pipe or a socket.
    #[error("{} is {found}, not a file: {}", path.display(), found.remedy())]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is.
        found: NotAFile,
    },
    /// It is too long to be what was asked for.
    #[error(
        "{} has more than {max}, which is too long for such a file: name another file",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        max: ByteCount,
    },
    /// It is no text.
    #[error("{} is not UTF-8 text: name a text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
}

/// What a path leads to that is no regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAFile {
    /// A directory.
    Directory,
    /// A block device, such as a disk.
    BlockDevice,
    /// A character device, such as a terminal.
    CharacterDevice,
    /// A pipe, named or not, or a socket.
    Pipe,
}

impl From<fs::FileType> for NotAFile {
    fn from(kind: fs::FileType) -> Self {
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_block_device() {
            Self::BlockDevice
        } else if kind.is_char_device() {
            Self::CharacterDevice
        } else {
            Self::Pipe
        }
    }
}

impl NotAFile {
    fn remedy(self) -> &'static str {
        match self {
            Self::Directory => "name the file in it",
            Self::BlockDevice | Self::CharacterDevice => "name a text file",
            Self::Pipe => "write its output to a file first, and name that",
        }
    }
}

impl std::fmt::Display for NotAFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::BlockDevice => "a block device",
            Self::CharacterDevice => "a character device",
            Self::Pipe => "a pipe or socket",
        })
    }
}

/// The text of the file at `path`, which has at most `max` bytes.
///
/// # Errors
/// It is no regular file, longer, no text, or cannot be read.
pub fn read(path: &Path, max: ByteCount) -> Result<String, TextError> {
    let bytes = begin(path, max.saturating_add(ByteCount::new(1)))?;
    let path = || path.to_owned();
    if bytes.len() as u64 > max.get() {
        return Err(TextError::TooLong { path: path(), max });
    }
    String::from_utf8(bytes).map_err(|_| TextError::NotText { path: path() })
}

/// The first bytes of the file at `path`, at most `max`.
///
/// # Errors
/// It is no regular file, or cannot be read.
pub fn begin(path: &Path, max: ByteCount) -> Result<Vec<u8>, TextError> {
    let mut bytes = Vec::new();
    open(path)?
        .take(max.get())
        .read_to_end(&mut bytes)
        .map_err(|source| failed(path, source))?;
    Ok(bytes)
}

/// Opens a regular file, to read it step by step. What else is there is not even opened: a tape
/// would be rewound.
///
/// # Errors
/// It is no regular file, or cannot be opened.
pub fn open(path: &Path) -> Result<File, TextError> {
    let regular = |about: io::Result<fs::Metadata>| {
        let kind = about.map_err(|source| failed(path, source))?.file_type();
        match kind.is_file() {
            true => Ok(()),
            false => Err(TextError::NotAFile {
                path: path.to_owned(),
                found: NotAFile::from(kind),
            }),
        }
    };
    regular(fs::metadata(path))?;
    let file = OpenOptions::new()
        .read(true)
        // In case that it is replaced by a pipe at this moment.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|source| failed(path, source))?;
    regular(file.metadata())?;
    Ok(file)
}

fn failed(path: &Path, source: io::Error) -> TextError {
    TextError::Read {
        path: path.to_owned(),
        source,
    }
}

impl TextError {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == ErrorKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for (path, found) in [
            (directory.path(), NotAFile::Directory),
            (&pipe, NotAFile::Pipe),
            (Path::new("/dev/zero"), NotAFile::CharacterDevice),
            (&link, NotAFile::CharacterDevice),
        ] {
            let error = read(path, WRITTEN_MAX).unwrap_err();
            let name = path.display().to_string();
            assert!(error.to_string().starts_with(&name), "{error}");
            assert!(
                matches!(error, TextError::NotAFile { found: is, .. } if is == found),
                "{error:?}"
            );
        }
        let missing = directory.path().join("missing");
        assert!(read(&missing, WRITTEN_MAX).unwrap_err().is_missing());
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        let max = ByteCount::new(5);
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, max).unwrap(), "12345");
        fs::write(&path, "123456").unwrap();
        assert!(matches!(read(&path, max), Err(TextError::TooLong { .. })));
        assert_eq!(begin(&path, max).unwrap(), b"12345");
        // Sparse: nothing of that size is held.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read(&path, max), Err(TextError::TooLong { .. })));
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read(&path, max), Err(TextError::NotText { .. })));
    }
}
