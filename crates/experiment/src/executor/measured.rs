//! Measuring: databases run on storage, on fresh copies in each sitting.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use octavo_database::DatabaseError;
use octavo_device::limit::Limit;
use octavo_driver::{
    DriverObserver, DriverSettings, Load, RETRIES, Ramp, RunLength, SliceSettings,
};
use octavo_storage::{
    calibrate::{self, CalibrateError},
    confine::confine,
    entry::named,
    location::Location,
    namespace::mount_apart,
};
use octavo_units::{ByteCount, PageSize, Seed};

use super::{
    Executor, Facts, SPARE, Sitting, SittingExecutor,
    seat::{MeasuredSitting, Seat, sorted},
    snapshots::{Snapshots, remove},
};
use crate::{
    apart,
    causes::with_causes,
    cpus::HeldCpus,
    directory::{
        DirectoryError, WorkDirectory, by_file_system, device_of, directory_size, free_space,
    },
    error::CampaignError,
    machine,
    monitor::Monitor,
    mounted::{MountError, Mounted},
    observer::Observer,
    part::Host,
    plan::{Cell, Storage, TestedDatabase},
    record::{Figures, Source},
    resolved::ResolvedPlan,
    run::{FreshCopy, Subject, run},
    store::StoredSnapshot,
};

/// Measures cells in directories and on devices of its own.
pub(crate) struct MeasuredExecutor<'a> {
    /// The directory that it works in, and those of other storages, held as
    /// long as this works.
    directories: Vec<WorkDirectory>,
    resolved: ResolvedPlan<'a>,
    locations: HashMap<Storage, Location>,
    snapshots: Snapshots,
    unavailable: Vec<Unavailable>,
    /// Whether the system keeps this process from changing anything else.
    is_confined: bool,
    /// Octavo itself.
    program: PathBuf,
    /// Devices and file systems: last, so that they are unmounted when nothing uses them any more, and
    /// file systems before the devices on which they lie.
    mounted: Vec<Mounted>,
}

/// Facts that say which loop device a file system got, and where its file is.
const OF_LOOP_DEVICES: [&str; 3] = ["device", "whole_device", "stack"];

/// A database at a page size that cannot be had.
struct Unavailable {
    database: Arc<TestedDatabase>,
    page_size: PageSize,
    reason: String,
}

impl<'a> MeasuredExecutor<'a> {
    /// Opens the directory to work in, mounts the devices that are emulated and
    /// the file systems that are made, and opens the directories of other storages. `program` is Octavo itself.
    ///
    /// # Errors
    /// When a directory or device cannot be had; what was made is taken back.
    pub(crate) fn open(
        resolved: ResolvedPlan<'a>,
        program: &Path,
        observer: &dyn Observer,
    ) -> Result<Self, CampaignError> {
        let mut executor = Self {
            directories: Vec::new(),
            resolved,
            locations: HashMap::new(),
            snapshots: Snapshots::default(),
            unavailable: Vec::new(),
            is_confined: false,
            program: program.to_owned(),
            mounted: Vec::new(),
        };
        if let Err(error) = executor.make(observer) {
            executor.abandon()?;
            return Err(match error {
                CampaignError::Mount(MountError::Stopped) => CampaignError::Stopped,
                error => error,
            });
        }
        Ok(executor)
    }

    fn make(&mut self, observer: &dyn Observer) -> Result<(), CampaignError> {
        let own = self.resolved.own_directory();
        let plan = self.resolved.plan();
        let (devices, systems) = (self.resolved.devices(), self.resolved.file_systems());
        if !(devices.is_empty() && systems.is_empty()) {
            // Emulators that are killed together with this process and with
            // their watchers leave no mount then, and file systems none in any case.
            mount_apart();
        }
        self.open_directory(own)?;
        let interrupted = || observer.interrupted();
        for wanted in &devices {
            let started = Mounted::start(&self.program, wanted, &interrupted);
            self.mounted.push(started?);
        }
        let grounds = plan.storages.iter().map(Storage::ground);
        for ground in grounds {
            self.open_directory(&self.resolved.directory(ground))?;
        }
        for wanted in &systems {
            let now = format!("make {}", wanted.what);
            observer.progress(&now, Duration::ZERO, Duration::ZERO);
            let started = Mounted::start(&self.program, wanted, &interrupted);
            self.mounted.insert(0, started?);
        }
        for storage in &plan.storages {
            let path = self.resolved.directory(storage);
            self.open_directory(&path)?;
            let location = Location::find(&path);
            self.locations.insert(storage.clone(), location);
        }
        Ok(())
    }

    /// Opens a directory, if it is not open yet.
    fn open_directory(&mut self, path: &Path) -> Result<(), DirectoryError> {
        let mut open = self.directories.iter();
        if !open.any(|other| other.path() == path) {
            let names = self.resolved.names();
            self.directories.push(WorkDirectory::open(path, &names)?);
        }
        Ok(())
    }

    /// Notes on which host a part of the plan is carried out.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn note_host(&mut self, host: &Host) -> Result<(), DirectoryError> {
        self.directories[0].note_host(host)
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.directories[0].store()
    }

    /// Takes over what earlier sessions loaded.
    pub(crate) fn adopt(&mut self, snapshots: Vec<StoredSnapshot>) {
        self.snapshots.known = snapshots;
    }

    /// Holds this thread, and all that it starts from now on, to the directories
    /// of the plan, to that of programs which are built, and to those that are written to `later`,
    /// where the kernel can.
    /// Devices, which are mounted, come before.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn confine(&mut self, later: &[PathBuf]) -> Result<(), CampaignError> {
        let plan = self.resolved.plan();
        let mut allowed = self.resolved.directories();
        allowed.push(self.resolved.own_directory().to_owned());
        // What is unmounted there is deleted.
        let grounds = plan.storages.iter().map(Storage::ground);
        allowed.extend(grounds.map(|ground| self.resolved.directory(ground)));
        allowed.extend(later.iter().cloned());
        for cell in plan.cells() {
            let database = self.resolved.database(&cell.database);
            if let Some(programs) = database.programs_directory(&[cell.page_size])? {
                // What cannot be made is refused with its reason by who builds.
                let _made_later = fs::create_dir_all(&programs);
                allowed.push(programs);
            }
        }
        self.is_confined = confine(&allowed)?;
        Ok(())
    }

    /// Takes back the directories and devices that were made for input that is
    /// refused after all, or before there was an interrupt.
    ///
    /// # Errors
    /// When that is not possible.
    pub(crate) fn abandon(self) -> Result<(), CampaignError> {
        let mut directories = self.directories.into_iter();
        let own = directories.next();
        directories.try_for_each(WorkDirectory::abandon)?;
        let mut mounted = self.mounted.into_iter();
        mounted.try_for_each(Mounted::abandon)?;
        own.map_or(Ok(()), WorkDirectory::abandon)?;
        Ok(())
    }

    /// Takes away the copies that were run on.
    fn remove_copies(&self) -> Result<(), DirectoryError> {
        let storages = &self.resolved.plan().storages;
        storages
            .iter()
            .try_for_each(|storage| remove(&self.resolved.copies(storage)))
    }

    /// The database of a cell, to be started on a fresh copy of its rows.
    fn fresh_copy<'s>(
        &'s self,
        number: usize,
        cell: &Cell,
    ) -> Result<FreshCopy<'s>, DirectoryError> {
        let resolved = &self.resolved;
        let copy = resolved.copy(number, cell);
        fs::create_dir_all(&copy).map_err(DirectoryError::io("create directory", &copy))?;
        Ok(FreshCopy {
            database: resolved.database(&cell.database),
            snapshot: resolved.snapshot(&cell.snapshot()),
            location: &self.locations[&cell.storage],
            page_size: cell.page_size,
            memory: cell.memory,
            clients: cell.clients,
            copy,
            told: Vec::new(),
        })
    }

    /// Runs a cell, `number` of the plan, as a ramp: on a fresh copy, which is started,
    /// driven until the last step has ended, stopped and checked. The inputs follow from
    /// `seed`. `interrupted` is looked at several times a second.
    ///
    /// # Errors
    /// [`CampaignError::Run`] when this cell gave nothing; all else would fail for every
    /// cell.
    pub(crate) fn ramp(
        &mut self,
        (number, cell): (usize, &Cell),
        ramp: Ramp,
        seed: Seed,
        observer: &mut dyn DriverObserver,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Figures, CampaignError> {
        self.remove_copies()?;
        let _held = HeldCpus::hold(cell.cpus)?;
        let subject = self.fresh_copy(number, cell)?;
        let settings = DriverSettings {
            workload: self.resolved.workload(cell.data),
            seed,
            connections: cell.clients,
            load: Load::Ramp(ramp),
            retries: RETRIES,
            length: RunLength::for_ramp(ramp),
            keep_interrupted: false,
            frames: subject.frames(),
        };
        let isolation = self.resolved.plan().isolation;
        let result = run(&subject, settings, isolation, observer, interrupted);
        result.map_err(|error| sorted(error, subject.copy))
    }

    /// Goes on without a database at a page size, unless the error is one of
    /// everything.
    fn do_without(
        &mut self,
        cell: &Cell,
        error: DatabaseError,
        monitor: &Monitor<'_>,
    ) -> Result<(), CampaignError> {
        if matches!(
            error,
            DatabaseError::Stopped | DatabaseError::Setting { .. }
        ) || error.is_full()
        {
            return Err(error.into());
        }
        let reason = with_causes(&error);
        let mut others = self.unavailable.iter();
        let is_known =
            others.any(|other| other.database == cell.database && other.reason == reason);
        let why = match is_known {
            true => "for the same reason",
            false => &reason,
        };
        monitor.note(&format!(
            "{} with {} pages is left out: {why}",
            cell.database.name, cell.page_size
        ));
        self.unavailable.push(Unavailable {
            database: cell.database.clone(),
            page_size: cell.page_size,
            reason,
        });
        Ok(())
    }
}

impl Executor for MeasuredExecutor<'_> {
    fn source(&self) -> Source {
        Source::Measured
    }

    fn facts(&self) -> Facts {
        let confinement = match self.is_confined {
            true => "this process can change nothing outside of its directories (Landlock)",
            false => "none: this kernel has no Landlock",
        };
        let mut machine = machine::describe();
        machine.push(("confinement", confinement.to_owned()));
        let mut facts = vec![("machine".to_owned(), machine)];
        let plan = self.resolved.plan();
        let mut storages: Vec<&Storage> = plan.storages.iter().collect();
        // What file systems are made on lies below them.
        for ground in plan.storages.iter().map(Storage::ground) {
            if !storages.contains(&ground) {
                storages.push(ground);
            }
        }
        for storage in storages {
            let topic = match storage {
                Storage::Own => "storage".to_owned(),
                other => format!("storage {other}"),
            };
            let mut known = match self.locations.get(storage) {
                Some(location) => location.facts.known(),
                None => Location::find(&self.resolved.directory(storage))
                    .facts
                    .known(),
            };
            if storage.file_system().is_some() {
                // Each mount gets another loop device, whatever is measured.
                known.retain(|(name, _)| !OF_LOOP_DEVICES.contains(name));
            }
            facts.push((topic, known));
        }
        facts
    }

    /// Calibrates the first storage.
    fn calibrate(
        &mut self,
        seed: Seed,
        limit: Option<Duration>,
        monitor: &Monitor<'_>,
    ) -> Result<Option<String>, CampaignError> {
        let directory = self.resolved.directory(&self.resolved.plan().storages[0]);
        let end = limit.map(|limit| monitor.session().saturating_add(limit));
        let mut is_over = false;
        let calibrated =
            calibrate::calibrate(&directory, &calibrate::Settings::brief(seed), &mut |step| {
                monitor.progress(&format!("calibrate: {}", step.name));
                is_over = end.is_some_and(|end| monitor.session() >= end);
                match is_over {
                    true => ControlFlow::Break(()),
                    false => monitor.flow(),
                }
            });
        match calibrated {
            Ok(profile) => Ok(Some(profile.to_toml())),
            Err(CalibrateError::Stopped) if is_over && !monitor.interrupted() => {
                monitor.note("the storage is not calibrated: that takes too long for this budget");
                Ok(None)
            }
            Err(CalibrateError::Stopped) => Err(CampaignError::Stopped),
            Err(error) => Err(error.into()),
        }
    }

    fn limits(
        &mut self,
        storage: &Storage,
        seed: Option<Seed>,
        monitor: &Monitor<'_>,
    ) -> Result<Option<Vec<Limit>>, CampaignError> {
        if let Some(device) = storage.device() {
            // It was mounted, so that it is known.
            return Ok(named(device).ok().map(|entry| entry.limits()));
        }
        let Some(seed) = seed else {
            return Ok(None);
        };
        let directory = self.resolved.directory(storage);
        let found = calibrate::limits(&directory, seed, &mut || {
            monitor.progress("limits of the storage");
            monitor.flow()
        });
        match found {
            Ok(limits) => Ok(Some(limits)),
            Err(CalibrateError::Stopped) => Err(CampaignError::Stopped),
            // Figures are worth more than this, and a disk that fails will say so again.
            Err(_) => Ok(None),
        }
    }

    /// Builds programs where that is needed, and loads the cell's rows, or
    /// derives them from those at another page size.
    fn prepare(
        &mut self,
        cell: &Cell,
        monitor: &Monitor<'_>,
    ) -> Result<Option<StoredSnapshot>, CampaignError> {
        if self.unavailable(cell).is_some() {
            return Ok(None);
        }
        let own = self.resolved.plan().own.as_ref();
        if let Some(reason) = own.and_then(|own| own.forbidden(cell.page_size)) {
            let reason = reason.to_owned();
            self.do_without(cell, DatabaseError::Rows { reason }, monitor)?;
            return Ok(None);
        }
        let database = self.resolved.database(&cell.database);
        let derives = database
            .derivation(self.resolved.workload(cell.data))
            .is_some();
        let programs = database.prepare(&[cell.page_size], &mut |step| {
            monitor.progress(step);
            monitor.flow()
        });
        if let Err(error) = programs {
            self.do_without(cell, error, monitor)?;
            return Ok(None);
        }
        match self
            .snapshots
            .make(&cell.snapshot(), &self.resolved, monitor)
        {
            // What is derived from the same rows would be missing too.
            Err(CampaignError::Database(error))
                if !derives || matches!(error, DatabaseError::Rows { .. }) =>
            {
                self.do_without(cell, error, monitor)?;
                Ok(None)
            }
            made => made,
        }
    }

    fn unavailable(&self, cell: &Cell) -> Option<&str> {
        self.unavailable
            .iter()
            .find(|other| (&other.database, other.page_size) == (&cell.database, cell.page_size))
            .map(|other| other.reason.as_str())
    }

    fn closing(&self, cell: &Cell) -> Duration {
        self.snapshots.checking(&cell.snapshot())
    }

    /// The answer is worth more than the room: that data stays is only noted.
    fn clear_up(&mut self, keep_data: bool, monitor: &Monitor<'_>) {
        let stay = |error: &dyn std::error::Error| {
            monitor.note(&format!(
                "the loaded databases stay: {}",
                with_causes(error)
            ));
        };
        for directory in self.directories.drain(..) {
            if !keep_data && let Err(error) = directory.remove_data() {
                stay(&error);
            }
        }
        for mut mounted in self.mounted.drain(..) {
            if let Some(slow) = mounted.end() {
                monitor.note(&slow);
            }
            if !keep_data && let Err(error) = mounted.remove() {
                stay(&error);
            }
        }
    }
}

impl SittingExecutor for MeasuredExecutor<'_> {
    /// Buffers within half of the memory that is free, and copies within the
    /// space that is.
    fn fits(&self, cells: &[&Cell]) -> Result<bool, CampaignError> {
        let buffers = cells
            .iter()
            .fold(ByteCount::ZERO, |all, cell| all.saturating_add(cell.memory));
        if machine::free_memory().is_some_and(|free| buffers.saturating_mul(2) > free) {
            return Ok(false);
        }
        let mut needed: HashMap<&Storage, ByteCount> = HashMap::new();
        for cell in cells {
            let database = self.resolved.database(&cell.database);
            let size = directory_size(&self.resolved.snapshot(&cell.snapshot()));
            let bytes = needed.entry(&cell.storage).or_default();
            *bytes = bytes.saturating_add(size).saturating_add(database.logs());
        }
        // What earlier copies hold comes free before others are made.
        let held = |of: &dyn Fn(&Storage) -> bool| {
            let storages = self.resolved.plan().storages.iter();
            let held = storages.filter(|storage| of(storage));
            let held = held.map(|storage| directory_size(&self.resolved.copies(storage)));
            held.fold(ByteCount::ZERO, ByteCount::saturating_add)
        };
        let room = |storage: &Storage| self.resolved.room(storage).0;
        // A device may be smaller than the file system below it.
        for (storage, bytes) in &needed {
            let free = free_space(&self.resolved.directory(storage))?;
            let held = held(&|of| of == *storage);
            if bytes.saturating_add(SPARE) > free.saturating_add(held) {
                return Ok(false);
            }
        }
        // The file of a file system is written already.
        let grounds = needed.iter();
        let grounds = grounds.filter(|(storage, _)| storage.file_system().is_none());
        let needed = grounds.map(|(storage, bytes)| (room(storage), *bytes));
        for (path, bytes) in by_file_system(needed) {
            let device = device_of(&path);
            let held = held(&|of| device_of(&room(of)) == device);
            if bytes.saturating_add(SPARE) > free_space(&path)?.saturating_add(held) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn sit<'s>(
        &'s mut self,
        cells: &[(usize, &'s Cell)],
        seed: Seed,
        monitor: &'s Monitor<'_>,
    ) -> Result<Box<dyn Sitting + 's>, CampaignError> {
        let resolved = &self.resolved;
        self.remove_copies()?;
        let mut seats = BTreeMap::new();
        for (place, &(number, cell)) in cells.iter().enumerate() {
            monitor.stop_if_interrupted()?;
            monitor.progress(&format!("copy and start {} of {}", place + 1, cells.len()));
            let subject = self.fresh_copy(number, cell)?;
            let copy = subject.copy.clone();
            let _held = HeldCpus::hold(cell.cpus)?;
            let workload = resolved.workload(cell.data);
            let settings = SliceSettings {
                workload,
                seed,
                connections: cell.clients,
                retries: RETRIES,
            };
            let isolation = resolved.plan().isolation;
            let seat = match subject.database.kind().has_threads {
                false => Seat::open(subject, workload, settings, isolation),
                true => Seat::open_apart(subject, workload, || {
                    apart::start(&self.program, resolved, (number, cell), seed, &|| {
                        monitor.interrupted()
                    })
                }),
            };
            let seat = match seat.map_err(|error| sorted(error, copy)) {
                Ok(seat) => Ok(seat),
                Err(error @ CampaignError::Run(_)) => Err(Some(error)),
                Err(error) => return Err(error),
            };
            seats.insert(number, seat);
        }
        Ok(Box::new(MeasuredSitting { seats, monitor }))
    }
}
