//! A mounted device.

use std::{
    io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use octavo_storage::{direct::DirectIo, location::EMULATED};

use crate::{
    awake::Awake,
    backing::{Backing, MountPoint},
    conditioned,
    error::EmulateError,
    extents::Space,
    files::Files,
    filesystem::EmulatedFiles,
    lead::{self, Lead},
    names::Names,
    pacer::{Clock, Pacer},
    reaper::Reaper,
    settings::Settings,
    stale,
    statistics::Statistics,
    unmount::detach,
};

/// An emulated device, mounted. Dropping it unmounts.
pub struct Mounted {
    // In the order in which they end: first the session, then the watch over
    // the mount, then the directories.
    session: Option<BackgroundSession>,
    files: Arc<Files>,
    _reaper: Reaper,
    point: MountPoint,
    backing: Backing,
    /// `None` where it is not allowed.
    awake: Option<Awake>,
}

/// The most threads that take requests.
const THREADS_MAX: usize = 4;

/// How many threads take requests of files below `backing`.
///
/// One that waits for the backing storage takes no others, so there are more than cores. In
/// memory nothing waits, and a thread more is a loss: the kernel hands requests to idle
/// threads in turn, always to the one that slept longest. Half of the cores are left to
/// the database.
fn count_threads(backing: &Path) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    match DirectIo::of_path(backing) {
        DirectIo::Memory => (cores / 2).clamp(1, THREADS_MAX),
        _ => THREADS_MAX,
    }
}

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
        stale::clear(&settings.mount)?;
        let point = MountPoint::open(&settings.mount, &settings.backing)?;
        let backing = Backing::open(&settings.backing)?;

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
        config.n_threads = Some(count_threads(backing.files()));
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
            backing,
            awake,
        };
        let lead = Lead::measure_with(&settings.program, mounted.path()).map_err(mount_error)?;
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
    /// is kept, lost or torn as the [`Faults`](crate::Faults) say. Without `cut` among them
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
            let open = self.files.open_paths(self.backing.files());
            let open: Vec<PathBuf> = open
                .iter()
                .map(|path| self.point.path().join(path))
                .collect();
            detach(self.point.path(), &open)
                .map_err(EmulateError::io("unmount", self.point.path()))?;
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
            result => result.map_err(EmulateError::io("end the emulation at", self.point.path())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_takes_half_of_the_cores_and_storage_all_threads() {
        assert_eq!(count_threads(Path::new("/proc/self/task")), THREADS_MAX);
        let memory = Path::new("/dev/shm");
        if DirectIo::of_path(memory) == DirectIo::Memory {
            let cores = thread::available_parallelism().unwrap().get();
            assert_eq!(count_threads(memory), (cores / 2).clamp(1, THREADS_MAX));
        }
    }
}
