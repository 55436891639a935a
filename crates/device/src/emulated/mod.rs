//! Devices under unmodified programs: a directory whose files are read,
//! written and synced at the pace of a simulated device.
//!
//! [`Mounted::mount`] mounts a FUSE file system that stores its files in a
//! backing directory and has each request wait for the device's model. Files
//! lie on the device in extents, so that what is sequential in a file is
//! sequential on the device. The kernel's page cache works as on any file
//! system; files that are opened with O_DIRECT pass it by. fsync and its like
//! reach the backing storage and the model's flush, both of which are waited
//! for. [`Faults`] lose power, fail requests and fill the device. See
//! docs/emulation.md.
//!
//! Not covered: the time of operations on names, which file systems keep in
//! memory and journals, and reads of holes, which no device sees.

mod answer;
mod awake;
mod backing;
mod buffers;
mod conditioned;
mod extents;
mod faults;
mod files;
mod filesystem;
mod lead;
mod names;
mod pacer;
mod reaper;
mod statistics;
mod undo;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use octavo_units::Seed;
use rustix::mount::{UnmountFlags, unmount};

pub use faults::{Faults, ParseFaultsError};
pub use statistics::{DeviceCounters, LATE, Latency, OperationStatistics, Pace, Statistics};

use crate::{
    DeviceError, calibrate::PointSpec, catalogue::Entry, directory::DirectoryError,
    location::EMULATED,
};
use awake::Awake;
use backing::{Backing, MountPoint};
use extents::Space;
use files::Files;
use filesystem::EmulatedFiles;
use lead::Lead;
use names::Names;
use pacer::{Clock, Pacer};
use reaper::Reaper;

/// What is emulated, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The device.
    pub entry: Entry,
    /// Where files are stored: a new or empty directory, or one that an
    /// emulation made. It stays.
    pub backing: PathBuf,
    /// Where the files are seen: an empty directory, or none yet, which is then
    /// made and removed again.
    pub mount: PathBuf,
    /// Seconds that a second of the device takes, 1 by default: with 10, a
    /// device that this machine could not keep pace with has ten times as long.
    pub time_scale: f64,
    /// Whether syncs reach the backing storage, as they do by default. Without,
    /// they wait for the model alone, and a crash of this machine can lose what
    /// was synced.
    pub sync_backing: bool,
    /// What goes wrong; by default nothing.
    pub faults: Faults,
    /// What the device was loaded with before, see
    /// [`Device::precondition`](crate::Device::precondition); by default it is
    /// as it was delivered.
    pub precondition: Option<PointSpec>,
    /// Origin of everything random.
    pub seed: Seed,
}

impl Settings {
    /// `entry` in real time and without faults.
    pub fn new(entry: Entry, backing: impl Into<PathBuf>, mount: impl Into<PathBuf>) -> Self {
        Self {
            entry,
            backing: backing.into(),
            mount: mount.into(),
            time_scale: 1.0,
            sync_backing: true,
            faults: Faults::default(),
            precondition: None,
            seed: Seed::new(1),
        }
    }
}

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
    /// A file or directory could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        /// The file or directory.
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
            Self::Io { source, .. } | Self::Directory(DirectoryError::Io { source, .. }) => {
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

/// An emulated device, mounted. Dropping it unmounts.
pub struct Mounted {
    // In the order in which they end: first the session, then the watch over
    // the mount, then the directories.
    session: Option<BackgroundSession>,
    files: Arc<Files>,
    _reaper: Reaper,
    point: MountPoint,
    _backing: Backing,
    /// `None` where it is not allowed.
    awake: Option<Awake>,
}

/// Threads that take requests. One that waits for the backing storage's sync
/// takes no others, so there are more than cores.
const THREADS: usize = 4;

impl Mounted {
    /// Mounts the device's files. `interrupted` is looked at while the device is
    /// brought to its state, which can take minutes. After an interrupt, the
    /// thread that does that goes on until the process ends or it is done; it
    /// has nothing that stays.
    ///
    /// # Errors
    /// A directory that is not fit, a device that cannot be what the settings
    /// say, a system that does not let us mount, or an interrupt.
    pub fn mount(
        settings: &Settings,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, EmulateError> {
        if !(0.001..=1000.0).contains(&settings.time_scale) {
            return Err(EmulateError::TimeScale(settings.time_scale));
        }
        // Before anything is made that would stay.
        let device = conditioned::open(settings, interrupted)?;
        let point = MountPoint::open(&settings.mount, &settings.backing)?;
        let backing = Backing::open(&settings.backing)?;
        // Each open file takes two descriptors.
        let _as_many_as_allowed = raise_descriptors();

        let awake = Awake::keep().ok();
        let space = Space::new(device.geometry(), settings.faults.full);
        let mount_error = |source| EmulateError::Mount {
            path: settings.mount.clone(),
            source,
        };
        let scale = settings.time_scale;
        let pacer = Pacer::start(Box::new(lead::device(scale)), Clock::start(scale))
            .map_err(mount_error)?;
        let files = Arc::new(Files::new(
            pacer,
            space,
            settings.sync_backing,
            settings.faults.clone(),
            settings.seed,
        ));
        files.adopt(backing.files()).map_err(|error| {
            if error.kind() == io::ErrorKind::StorageFull {
                EmulateError::TooSmall {
                    path: settings.backing.clone(),
                    device: settings.entry.name.clone(),
                }
            } else {
                EmulateError::io("read", backing.files())(error)
            }
        })?;
        let names =
            Names::open(backing.files()).map_err(EmulateError::io("open", backing.files()))?;

        let mut reaper = Reaper::start(point.path()).map_err(mount_error)?;
        let mut config = Config::default();
        let kind = EMULATED.trim_start_matches("fuse.");
        config.mount_options = vec![
            MountOption::FSName(settings.entry.name.clone()),
            // As an option of the kernel: fuser gives its own only to fusermount.
            MountOption::CUSTOM(format!("subtype={kind}")),
            MountOption::DefaultPermissions,
        ];
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        config.clone_fd = true;
        let session = Session::new(
            EmulatedFiles::new(Arc::clone(&files), names, settings.entry.draw()),
            point.path(),
            &config,
        )
        .and_then(Session::spawn)
        .map_err(mount_error)?;
        reaper.mounted(point.path()).map_err(mount_error)?;
        let mounted = Self {
            session: Some(session),
            files,
            _reaper: reaper,
            point,
            _backing: backing,
            awake,
        };
        let lead = Lead::measure(mounted.path()).map_err(mount_error)?;
        mounted.files.pacer.go_on(device, lead);
        mounted.files.make_ready();
        Ok(mounted)
    }

    /// Where the files are seen.
    pub fn path(&self) -> &Path {
        self.point.path()
    }

    /// Whether it is still mounted: somebody else may have unmounted it.
    pub fn is_mounted(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| !session.guard.is_finished())
    }

    /// What was done since it was mounted.
    pub fn statistics(&self) -> Statistics {
        self.files.pacer.tally().statistics(
            self.files.pacer.counters(),
            &self.files.pacer.lead(),
            self.awake.is_some(),
            self.files.is_off(),
        )
    }

    /// Cuts the power: every request fails from now on, and what was not synced
    /// is kept, lost or torn as the [`Faults`] say. Without `cut` among them
    /// all of it is kept.
    ///
    /// # Errors
    /// The backing storage failed.
    pub fn cut_power(&self) -> io::Result<()> {
        self.files.cut_power().map(|_writes| ())
    }

    /// Unmounts and tells what was done. What programs still have open there
    /// fails from then on.
    ///
    /// # Errors
    /// The system does not let us unmount.
    pub fn unmount(mut self) -> Result<Statistics, EmulateError> {
        self.end()?;
        Ok(self.statistics())
    }

    fn end(&mut self) -> Result<(), EmulateError> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        if !session.guard.is_finished() {
            detach(self.point.path()).map_err(|source| EmulateError::Io {
                action: "unmount",
                path: self.point.path().to_owned(),
                source,
            })?;
        }
        // A session ends when the last file is closed. Where it was not ours
        // to end them all, its threads go with the process.
        let patience = Instant::now();
        while !session.guard.is_finished() {
            if patience.elapsed() > Duration::from_secs(5) {
                std::mem::forget(session);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        // Not `umount_and_join`: it is unmounted, and fuser 0.18 takes a session
        // that has ended for one that is mounted.
        match session.join() {
            // A thread was taking a request when `detach` ended the connection:
            // the kernel says so (fuse_dev_do_read), and fuser 0.18 knows only
            // ENODEV.
            Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => Ok(()),
            result => result.map_err(|source| EmulateError::Io {
                action: "end the emulation at",
                path: self.point.path().to_owned(),
                source,
            }),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The reaper's shell tries again when this process ends.
        let _told_by_unmount = self.end();
    }
}

impl std::fmt::Debug for Mounted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mounted")
            .field("path", &self.point.path())
            .finish_non_exhaustive()
    }
}

/// Unmounts, taking it from programs that still use it.
fn detach(path: &Path) -> io::Result<()> {
    match unmount(path, UnmountFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::PERM) => return with_fusermount(path),
        Err(rustix::io::Errno::BUSY) => {}
        // Somebody else was faster.
        Err(rustix::io::Errno::INVAL) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    // Keep what was written to the cache, then end the connection, which lets
    // waiting programs go, then take the mount away.
    if let Ok(root) = std::fs::File::open(path) {
        let _as_far_as_possible = rustix::fs::syncfs(&root);
    }
    let _busy = unmount(path, UnmountFlags::FORCE);
    match unmount(path, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Who is not root may unmount only with this program.
fn with_fusermount(path: &Path) -> io::Result<()> {
    for arguments in ["-uq", "-uqz"] {
        let status = std::process::Command::new("fusermount3")
            .arg(arguments)
            .arg(path)
            .status()?;
        if status.success() {
            return Ok(());
        }
    }
    Err(io::Error::other("fusermount3 -uz failed"))
}

/// Lets this process open as many files as its hard limit says.
fn raise_descriptors() -> io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
