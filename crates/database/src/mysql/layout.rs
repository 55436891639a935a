//! Where the files of a data directory of Octavo's own are.
//!
//! A snapshot or run directory holds the data directory, a directory for
//! temporary files and the server's log, side by side: other files in InnoDB's
//! directory would be taken for a database.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use octavo_storage::direct::DirectIo;
use octavo_units::PageSize;

use crate::{Result, files::named, server::account::Account};

/// The socket in the data directory.
pub(crate) const SOCKET: &str = "octavo.sock";

/// The file with the server's number in the data directory.
pub(crate) const PID_FILE: &str = "octavo.pid";

/// The account that servers are made with. It has no password: the data directory and the socket in
/// it are shut to other users.
pub(super) const ROOT: &str = "root";

/// The parts of a snapshot or run directory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The whole.
    pub(crate) directory: PathBuf,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// For temporary files.
    pub(crate) temporary: PathBuf,
    /// The server's log.
    pub(crate) log: PathBuf,
    /// The page size of the data directory, in bytes.
    pub(super) page_size: PathBuf,
    /// How sessions are set where this is a copy of the user's own data.
    own_setup: PathBuf,
    /// The superuser of such a copy.
    superuser: PathBuf,
    /// Is there where such a copy has names of tables in small letters.
    small_letters: PathBuf,
}

impl Layout {
    /// That of a directory, by its full path.
    pub(crate) fn resolve(directory: &Path) -> Result<Self> {
        // Servers work in their data directory, not in ours.
        let directory = std::path::absolute(directory).map_err(named("find", directory))?;
        Ok(Self {
            data: directory.join("data"),
            temporary: directory.join("tmp"),
            log: directory.join("server.log"),
            page_size: directory.join("page-size"),
            own_setup: directory.join("own-setup"),
            superuser: directory.join("superuser"),
            small_letters: directory.join("small-letters"),
            directory,
        })
    }

    /// Refuses a directory that has no data directory in it.
    pub(crate) fn check(&self) -> Result<()> {
        let system = self.data.join("ibdata1");
        fs::metadata(&system)
            .map(drop)
            .map_err(named("open", &system))
    }

    /// The page size that the data directory was made with.
    pub(crate) fn page_size(&self) -> Result<PageSize> {
        let read = fs::read_to_string(&self.page_size);
        let text = read.map_err(named("read", &self.page_size))?;
        let parsed = text.trim().parse().ok();
        parsed
            .and_then(|bytes| PageSize::new(bytes).ok())
            .ok_or_else(|| {
                let error = io::Error::new(io::ErrorKind::InvalidData, "it holds no page size");
                named("read", &self.page_size)(error)
            })
    }

    /// Notes statements that set sessions on a copy of the user's own data, a line each.
    pub(crate) fn note_own_setup(&self, setup: &[String]) -> Result<()> {
        fs::write(&self.own_setup, setup.join("\n")).map_err(named("write", &self.own_setup))
    }

    /// What sessions on a copy of the user's own data are set to besides.
    pub(crate) fn own_setup(&self) -> Result<Vec<String>> {
        match fs::read_to_string(&self.own_setup) {
            Ok(setup) => Ok(setup.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(named("read", &self.own_setup)(error)),
        }
    }

    /// Notes the account that may do everything on a copy of the user's own data.
    pub(super) fn note_superuser(&self, name: &str) -> Result<()> {
        fs::write(&self.superuser, name).map_err(named("write", &self.superuser))
    }

    /// The account that may do everything. Elsewhere it is the one that servers are made with.
    pub(super) fn superuser(&self) -> Result<String> {
        match fs::read_to_string(&self.superuser) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ROOT.into()),
            read => read.map_err(named("read", &self.superuser)),
        }
    }

    /// Notes that names of tables are kept in small letters, and are the same in any: a server has to
    /// be made so.
    pub(super) fn note_small_letters(&self) -> Result<()> {
        fs::write(&self.small_letters, "").map_err(named("write", &self.small_letters))
    }

    /// Whether names of tables are kept in small letters.
    pub(super) fn has_small_letters(&self) -> bool {
        self.small_letters.is_file()
    }

    /// Whether files that are opened with O_DIRECT are read and written past the page cache.
    pub(crate) fn has_direct_io(&self) -> bool {
        fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(self.data.join("ibdata1"))
            .is_ok_and(|file| DirectIo::of_file(&file).is_possible())
    }

    /// Makes a directory for the server's user alone, unless it is there.
    pub(super) fn make(path: &Path, account: Option<&Account>) -> Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(named("create", path)(error));
            }
            _ => {}
        }
        account.map_or(Ok(()), |account| account.own(path))
    }
}
