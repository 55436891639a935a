//! Carries out a plan within a budget: calibrates the storage, loads bases,
//! decides how long runs are, and makes round after round of what is not
//! decided yet. Each step is kept in the store as it ends, and the same plan
//! goes on with what is missing.

use std::{
    fs,
    io::ErrorKind,
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use octavo_database::{Database, DatabaseError, Settings};
use octavo_device::{
    calibrate::{self, CalibrateError},
    location::Location,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Workload, choice::ChoiceError};

use crate::{
    causes::with_causes,
    course::{Course, Round, rules},
    cpus::{self, CpusError, HeldCpus},
    directory::{DirectoryError, STORE, WorkDirectory, directory_size, free_space},
    drive::{Extension, Load, RETRIES, Unobserved},
    emulation::{Emulation, EmulationError, Wanted},
    findings::Findings,
    loaded::DESCRIPTION,
    machine,
    observer::Observer,
    plan::{BaseKey, Cell, Factor, Place, Plan, RunLength},
    race::Phase,
    run::{Run, RunError, RunSettings, run},
    schedule::{self, Pace},
    store::{RunKey, Store, StoreError, StoredBase},
};

/// What to carry out, and how far.
#[derive(Clone, Debug)]
pub struct ConductSettings {
    /// Where to work: new, empty or Octavo's own.
    pub directory: PathBuf,
    /// What to measure.
    pub plan: Plan,
    /// Time for everything, results of earlier sessions included; `None` for
    /// as long as it takes.
    pub budget: Option<Duration>,
    /// Rounds at most; `None` for as many as fit into the budget.
    pub rounds: Option<u32>,
    /// Length of a run, or `None` to derive it from the budget.
    pub run_length: Option<RunLength>,
    /// Whether to calibrate the storage first.
    pub calibrate: bool,
    /// The program that emulates devices when it is told `emulate`: octavo.
    pub emulator: PathBuf,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}

/// Why an experiment ended without findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConductError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A device cannot be emulated.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database refused a setting or failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The workload cannot be had.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The CPUs cannot be had.
    #[error(transparent)]
    Cpus(#[from] CpusError),
    /// A run failed in a way that would repeat.
    #[error(transparent)]
    Run(RunError),
    /// Calibrating failed.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The file system has too little room.
    #[error(
        "{} has {available} free, {needed} are needed: name a directory on a larger file system, \
         or choose less --memory or fewer --page-sizes",
        path.display()
    )]
    Space {
        /// The directory.
        path: PathBuf,
        /// Bytes needed.
        needed: ByteCount,
        /// Bytes free.
        available: ByteCount,
    },
    /// The experiment does not fit into the budget.
    #[error(
        "{cells} cells over {data} of data need about {needed_s} s, more than the budget of \
         {budget_s} s: give a larger --budget, or fewer --page-sizes or less --memory"
    )]
    Budget {
        /// Cells of the plan.
        cells: usize,
        /// Size of the data.
        data: ByteCount,
        /// Seconds needed at least.
        needed_s: u64,
        /// Seconds allowed.
        budget_s: u64,
    },
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A run is so long here that the fewest rounds do not fit.
    #[error(
        "a round takes about {round_s} s on this storage, too long for the budget of {budget_s} s: \
         repeat the command with a larger --budget"
    )]
    TooSlow {
        /// Seconds of a round.
        round_s: u64,
        /// Seconds allowed.
        budget_s: u64,
    },
    /// A file could not be made or deleted while at work.
    #[error(transparent)]
    File(DirectoryError),
    /// A base does not satisfy the workload's specification.
    #[error("consistency condition {clause} does not hold after loading: {what}")]
    Inconsistent {
        /// The clause.
        clause: String,
        /// The first place.
        what: String,
    },
    /// No run of a whole round gave a result.
    #[error("every run of a round failed, the last one with: {0}")]
    AllFailed(String),
    /// The disk ran full; what was finished is kept.
    #[error(
        "no space left in {}: free some space and run the same command again to resume",
        path.display()
    )]
    Full {
        /// The directory.
        path: PathBuf,
    },
    /// The caller asked to stop; what was finished is kept.
    #[error("stopped")]
    Stopped,
}

impl ConductError {
    /// Whether the user's input is at fault, rather than the machine.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Directory(_)
            | Self::Space { .. }
            | Self::Budget { .. }
            | Self::Setting(_)
            | Self::Choice(_)
            | Self::Cpus(CpusError::TooMany { .. })
            | Self::Emulation(EmulationError::Refused { input: true, .. })
            | Self::Database(DatabaseError::Setting { .. } | DatabaseError::Unknown { .. }) => true,
            Self::Store(error) => {
                !matches!(error, StoreError::Full { .. } | StoreError::Sqlite { .. })
            }
            _ => false,
        }
    }
}

/// Carries out a plan. Everything is checked before anything is changed.
pub fn conduct(
    settings: &ConductSettings,
    observer: &dyn Observer,
) -> Result<Findings, ConductError> {
    let plan = &settings.plan;
    let parts = Parts::of(plan)?;
    check(settings, &parts)?;
    let storages = storages(settings);
    examine(&storages, &settings.directory)?;
    let needs = Needs::of(settings, &parts);
    needs.check(settings)?;
    let mut emulations = Vec::new();
    let mut directories = Vec::new();
    let opened = open(
        settings,
        &storages,
        observer,
        &mut directories,
        &mut emulations,
    );
    let mut store = match opened {
        Ok(store) => store,
        Err(error) => {
            abandon(directories, emulations)?;
            return Err(match error {
                ConductError::Emulation(EmulationError::Stopped) => ConductError::Stopped,
                error => error,
            });
        }
    };
    store.adopt(plan, settings.run_length, settings.octavo_version)?;
    let session = store.begin_session()?;
    let job = Job {
        settings,
        observer,
        locations: storages.iter().map(|path| Location::of(path)).collect(),
        earlier: store.time_spent()?,
        begin: Instant::now(),
        cells: plan.cells(),
        directories,
        storages,
        parts,
        store,
        session,
        unavailable: Vec::new(),
        emulations,
    };
    job.work()
}

/// Opens the directory to work in and the store, mounts the devices that are
/// emulated, and opens the directories of other storages.
fn open(
    settings: &ConductSettings,
    storages: &[PathBuf],
    observer: &dyn Observer,
    directories: &mut Vec<WorkDirectory>,
    emulations: &mut Vec<Emulation>,
) -> Result<Store, ConductError> {
    directories.push(WorkDirectory::open(&settings.directory)?);
    for (wanted, number) in devices(settings).iter().zip(0..) {
        let seed = settings.plan.seed.derive("device", number);
        let interrupted = || observer.interrupted();
        let started = Emulation::start(&settings.emulator, wanted, seed, &interrupted);
        emulations.push(started?);
    }
    for path in storages.iter().filter(|path| **path != settings.directory) {
        directories.push(WorkDirectory::open(path)?);
    }
    Ok(Store::open_or_create(&directories[0].store())?)
}

/// Takes back the directories and devices that were made for input that is
/// refused after all, or before there was an interrupt.
fn abandon(
    directories: Vec<WorkDirectory>,
    emulations: Vec<Emulation>,
) -> Result<(), ConductError> {
    let mut directories = directories.into_iter();
    let own = directories.next();
    directories.try_for_each(WorkDirectory::abandon)?;
    emulations.into_iter().try_for_each(Emulation::abandon)?;
    own.map_or(Ok(()), WorkDirectory::abandon)?;
    Ok(())
}

/// The devices that the plan's storages are, in its order.
fn devices(settings: &ConductSettings) -> Vec<Wanted> {
    settings
        .plan
        .storages
        .iter()
        .map(|name| Place::of(name))
        .filter_map(|place| match place {
            Place::Device(device) => Some(Wanted {
                device: device.to_owned(),
                backing: place.backing(&settings.directory)?,
                mount: place.path(&settings.directory),
            }),
            Place::Own | Place::Directory(_) => None,
        })
        .collect()
}

/// Where the data of each storage lies, in the plan's order.
fn storages(settings: &ConductSettings) -> Vec<PathBuf> {
    settings
        .plan
        .storages
        .iter()
        .map(|name| Place::of(name).path(&settings.directory))
        .collect()
}

/// Refuses directories that are somebody else's, without changing anything.
fn examine(storages: &[PathBuf], directory: &Path) -> Result<(), ConductError> {
    for path in storages {
        WorkDirectory::examine(path)?;
        if path != directory && path.join(STORE).exists() {
            return Err(ConductError::Setting(format!(
                "{} is where another experiment works: name another storage",
                path.display()
            )));
        }
        if path.join(DESCRIPTION).exists() {
            return Err(ConductError::Setting(format!(
                "{} holds rows that octavo load or octavo bench keeps: name another directory",
                path.display()
            )));
        }
    }
    Ok(())
}

/// The databases and workloads that a plan names, in its order.
struct Parts {
    databases: Vec<Box<dyn Database>>,
    workloads: Vec<Box<dyn Workload>>,
}

impl Parts {
    fn of(plan: &Plan) -> Result<Self, ConductError> {
        Ok(Self {
            databases: plan
                .systems
                .iter()
                .map(|system| system.make())
                .collect::<Result<_, _>>()?,
            workloads: (0..plan.data.len())
                .map(|data| plan.workload(data))
                .collect::<Result<_, _>>()?,
        })
    }

    fn database(&self, base: BaseKey) -> &dyn Database {
        self.databases[base.system].as_ref()
    }

    fn workload(&self, base: BaseKey) -> &dyn Workload {
        self.workloads[base.data].as_ref()
    }
}

/// Refuses what cannot be, before anything is changed.
fn check(settings: &ConductSettings, parts: &Parts) -> Result<(), ConductError> {
    let plan = &settings.plan;
    let refuse = |text: String| Err(ConductError::Setting(text));
    if settings.rounds == Some(0) {
        return refuse("rounds 0 is not possible: at least 1 is needed".into());
    }
    if settings.rounds.is_none() && settings.budget.is_none() {
        return refuse("neither a budget nor a number of rounds is given: one is needed".into());
    }
    if settings.run_length.is_none() && settings.budget.is_none() {
        return refuse("neither a budget nor the length of a run is given: one is needed".into());
    }
    for path in storages(settings) {
        if path.to_str().is_none() {
            return refuse(format!(
                "{} is not UTF-8, which SQL needs: name another directory",
                path.display()
            ));
        }
    }
    if plan.clients.iter().any(|&clients| clients > 1)
        && matches!(settings.run_length, Some(RunLength::Transactions { .. }))
    {
        return refuse(
            "a fixed number of transactions goes with one client: several would wait for the \
             slowest"
                .into(),
        );
    }
    for &cpus in plan.cpus.iter().flatten() {
        cpus::check(cpus)?;
    }
    for cell in plan.cells() {
        parts.databases[cell.system].accept(&Settings {
            page_size: cell.page_size,
            memory: cell.memory,
            clients: cell.clients,
            isolation: plan.isolation,
        })?;
    }
    Ok(())
}

/// What an experiment takes at least, before anything is known of the
/// machine.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Space in each directory, beside what is there already.
    pub space: Vec<(PathBuf, ByteCount)>,
    /// The largest base.
    pub largest: ByteCount,
    /// Bases to be made, in that order, with about the bytes of each.
    pub bases: Vec<(BaseKey, ByteCount)>,
    /// Cells to be measured.
    pub cells: usize,
    /// The least time in which the plan makes sense.
    pub time_min: Duration,
    /// About the time of calibrating and of making the bases.
    pub making: Duration,
    /// About the time of a run with its copy: as long as the plan wants it at
    /// least, or as the budget is foreseen to leave.
    pub run: Duration,
}

impl Needs {
    /// Estimates without changing anything.
    pub fn estimate(settings: &ConductSettings) -> Result<Self, ConductError> {
        let parts = Parts::of(&settings.plan)?;
        check(settings, &parts)?;
        examine(&storages(settings), &settings.directory)?;
        Ok(Self::of(settings, &parts))
    }

    fn of(settings: &ConductSettings, parts: &Parts) -> Self {
        let bases: Vec<(BaseKey, ByteCount)> = bases(&settings.plan)
            .into_iter()
            .map(|base| {
                let size = parts
                    .database(base)
                    .estimate(parts.workload(base), base.page_size);
                (base, size)
            })
            .collect();
        let space = storages(settings)
            .into_iter()
            .enumerate()
            .map(|(number, path)| {
                let sizes = || {
                    bases
                        .iter()
                        .filter(|(base, _)| base.storage == number)
                        .map(|&(_, size)| size)
                };
                // All bases and the largest copy.
                let all =
                    sizes().fold(sizes().max().unwrap_or_default(), ByteCount::saturating_add);
                // What is there already needs no room again. A tenth more for
                // the store and estimates that are off.
                let used = directory_size(&path.join("data"));
                let logs = parts.databases.iter().map(|database| database.logs());
                let needed = (all.get() / 10 * 11)
                    .saturating_add(logs.max().unwrap_or_default().get())
                    .saturating_sub(used.get());
                (path, ByteCount::new(needed))
            })
            .collect();
        let largest = bases
            .iter()
            .map(|&(_, size)| size)
            .max()
            .unwrap_or_default();
        let cells = settings.plan.cells().len();
        let making = schedule::making(largest, bases.len(), settings.calibrate);
        Self {
            space,
            largest,
            cells,
            time_min: schedule::shortest(
                largest,
                bases.len(),
                cells,
                settings.calibrate,
                settings.run_length,
            ),
            making,
            run: schedule::foreseen(
                largest,
                cells,
                settings.run_length,
                settings.budget.map(|budget| budget.saturating_sub(making)),
            ),
            bases,
        }
    }

    /// Refuses what cannot fit.
    pub fn check(&self, settings: &ConductSettings) -> Result<(), ConductError> {
        if let (None, Some(budget)) = (settings.rounds, settings.budget)
            && self.time_min > budget
        {
            return Err(ConductError::Budget {
                cells: self.cells,
                data: self.largest,
                needed_s: self.time_min.as_secs() + 1,
                budget_s: budget.as_secs(),
            });
        }
        // Directories on one file system share its room.
        let mut together: Vec<(u64, &Path, ByteCount)> = Vec::new();
        for (path, needed) in &self.space {
            let device = device_of(path);
            match together.iter_mut().find(|(other, ..)| *other == device) {
                Some((.., sum)) => *sum = sum.saturating_add(*needed),
                None => together.push((device, path, *needed)),
            }
        }
        for (_, path, needed) in together {
            let available = free_space(path)?;
            if available < needed {
                return Err(ConductError::Space {
                    path: path.to_owned(),
                    needed,
                    available,
                });
            }
        }
        Ok(())
    }
}

/// The file system's number under a path that may not exist yet; 0 where it
/// cannot be told.
fn device_of(path: &Path) -> u64 {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .ancestors()
        .find_map(|existing| fs::metadata(existing).ok())
        .map_or(0, |data| data.dev())
}

/// The bases that a plan's cells begin with, in the order in which they are
/// made: of those that can be derived from each other first the default page
/// size, or the smallest.
fn bases(plan: &Plan) -> Vec<BaseKey> {
    let mut bases: Vec<BaseKey> = plan.cells().iter().map(Cell::base).collect();
    bases.sort_by_key(|base| {
        let default = plan.systems[base.system].default_page_size;
        (
            (base.system, base.data, base.storage),
            base.page_size != default,
            base.page_size,
        )
    });
    bases.dedup();
    bases
}

struct Job<'a> {
    settings: &'a ConductSettings,
    observer: &'a dyn Observer,
    /// The directory that it works in, and those of other storages, held as
    /// long as this works.
    directories: Vec<WorkDirectory>,
    /// Where each storage's data lies.
    storages: Vec<PathBuf>,
    locations: Vec<Location>,
    parts: Parts,
    cells: Vec<Cell>,
    store: Store,
    session: i64,
    earlier: Duration,
    begin: Instant,
    unavailable: Vec<Unavailable>,
    /// Last, so that they are unmounted when nothing uses them any more.
    emulations: Vec<Emulation>,
}

/// A database at a page size that cannot be had.
struct Unavailable {
    /// The place of the database in [`Plan::systems`].
    system: usize,
    page_size: PageSize,
    reason: String,
}

impl Job<'_> {
    fn work(mut self) -> Result<Findings, ConductError> {
        self.set_begun_round_aside()?;
        let result = self.measure();
        let noted = self.note_time();
        result.map_err(|error| self.explain(error))?;
        noted?;
        let findings = Findings::of(&self.store)?.expect("the plan was adopted");
        self.clear_up();
        Ok(findings)
    }

    /// A round is compared within itself because its runs are close together
    /// in time. One that an earlier session began is made again when longer
    /// has passed since than a round takes, or ten minutes.
    fn set_begun_round_aside(&self) -> Result<(), StoreError> {
        const PAUSE_MIN: Duration = Duration::from_mins(10);
        let (Some(round), Some(pace), Some(pause)) =
            (self.upcoming()?, self.pace()?, self.store.since_last_run()?)
        else {
            return Ok(());
        };
        let begun = round.missing.len() < round.cells.len();
        let runs = u32::try_from(round.cells.len()).unwrap_or(u32::MAX);
        if begun && pause > pace.run.saturating_mul(runs).max(PAUSE_MIN) {
            self.observer.note(&format!(
                "round {} was begun {} min ago: its runs are set aside and it is made again",
                round.number + 1,
                pause.as_secs() / 60
            ));
            self.store.set_aside(round.number)?;
        }
        Ok(())
    }

    /// Deletes what is not to be kept, and unmounts. The answer is worth more
    /// than the room: that data stays is only noted.
    fn clear_up(self) {
        let keep = self.settings.keep_data;
        let stay = |error: &dyn std::error::Error| {
            self.observer.note(&format!(
                "the loaded databases stay: {}",
                with_causes(error)
            ));
        };
        for directory in self.directories {
            if !keep && let Err(error) = directory.remove_data() {
                stay(&error);
            }
        }
        for mut emulation in self.emulations {
            if let Some(slow) = emulation.end() {
                self.observer.note(&slow);
            }
            if !keep && let Err(error) = emulation.remove() {
                stay(&error);
            }
        }
    }

    fn plan(&self) -> &Plan {
        &self.settings.plan
    }

    /// A full disk shows in many places; the user is told one thing.
    fn explain(&self, error: ConductError) -> ConductError {
        let full = match &error {
            ConductError::Database(error) => error.is_full(),
            ConductError::Store(StoreError::Full { .. }) => true,
            ConductError::Directory(error) => error.is_full(),
            _ => false,
        };
        match error {
            _ if full => self.full(self.directories[0].path()),
            ConductError::Database(DatabaseError::Stopped) => ConductError::Stopped,
            ConductError::Directory(error) => ConductError::File(error),
            other => other,
        }
    }

    fn full(&self, path: &Path) -> ConductError {
        ConductError::Full {
            path: path.to_owned(),
        }
    }

    fn measure(&mut self) -> Result<(), ConductError> {
        self.store.put_facts("machine", &machine::describe())?;
        for (number, location) in self.locations.iter().enumerate() {
            let topic = match self.plan().storages[number].as_str() {
                "" => "storage".to_owned(),
                name => format!("storage {name}"),
            };
            self.store.put_facts(&topic, &location.facts())?;
        }
        self.prepare()?;
        self.note_time()?;
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            self.calibrate()?;
        }
        while let Some(round) = self.next_round()? {
            self.make_bases(&round)?;
            let length = match self.store.run_length()? {
                Some(length) => length,
                None => self.decide_length()?,
            };
            self.round(&round, length)?;
        }
        Ok(())
    }

    /// Gets what the databases need, one page size after the other: one that
    /// cannot be had costs its own cells alone.
    fn prepare(&mut self) -> Result<(), ConductError> {
        let mut had = 0;
        for system in 0..self.parts.databases.len() {
            for page_size in self.plan().page_sizes.clone() {
                let prepared = self.parts.databases[system].prepare(&[page_size], &mut |step| {
                    self.progress(step);
                    self.flow()
                });
                match prepared {
                    Ok(()) => had += 1,
                    Err(error) => self.do_without(system, page_size, error)?,
                }
            }
        }
        match self.unavailable.first() {
            Some(missing) if had == 0 => Err(ConductError::AllFailed(missing.reason.clone())),
            _ => Ok(()),
        }
    }

    /// Goes on without a database at a page size, unless the error is one of
    /// everything.
    fn do_without(
        &mut self,
        system: usize,
        page_size: PageSize,
        error: DatabaseError,
    ) -> Result<(), ConductError> {
        if matches!(
            error,
            DatabaseError::Stopped | DatabaseError::Setting { .. }
        ) || error.is_full()
        {
            return Err(error.into());
        }
        let reason = with_causes(&error);
        let name = &self.plan().systems[system].database;
        self.observer.note(&format!(
            "{name} with {page_size} pages is left out: {reason}"
        ));
        self.unavailable.push(Unavailable {
            system,
            page_size,
            reason,
        });
        Ok(())
    }

    /// Why a base cannot be had; `None` when it can.
    fn unavailable(&self, base: BaseKey) -> Option<&str> {
        self.unavailable
            .iter()
            .find(|other| (other.system, other.page_size) == (base.system, base.page_size))
            .map(|other| other.reason.as_str())
    }

    fn spent(&self) -> Duration {
        self.earlier.saturating_add(self.begin.elapsed())
    }

    fn note_time(&self) -> Result<(), StoreError> {
        self.store
            .extend_session(self.session, self.begin.elapsed())
    }

    fn progress(&self, now: &str) {
        // With a number of rounds the time follows from what runs have cost;
        // that cells may leave early is not foreseen.
        let expected = match (self.settings.rounds, self.pace()) {
            (Some(rounds), Ok(Some(pace))) => {
                let missing =
                    (rounds as usize * self.cells.len()).saturating_sub(pace.runs_done) as u32;
                self.spent() + pace.run.saturating_mul(missing)
            }
            _ => self.settings.budget.unwrap_or_else(|| self.spent()),
        };
        self.observer.progress(now, self.spent(), expected);
    }

    fn stop_if_interrupted(&self) -> Result<(), ConductError> {
        if self.observer.interrupted() {
            Err(ConductError::Stopped)
        } else {
            Ok(())
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.observer.interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Calibrates the first storage.
    fn calibrate(&self) -> Result<(), ConductError> {
        let profile = calibrate::calibrate(
            &self.storages[0],
            &calibrate::Settings::brief(self.plan().seed.derive("calibrate", 0)),
            &mut |step| {
                self.progress(&format!("calibrate: {}", step.name));
                self.flow()
            },
        )
        .map_err(|error| {
            if matches!(error, CalibrateError::Stopped) {
                ConductError::Stopped
            } else {
                error.into()
            }
        })?;
        self.store.put_calibration(&profile.to_toml())?;
        self.note_time()?;
        Ok(())
    }

    /// Where a base lies.
    fn base(&self, base: BaseKey) -> PathBuf {
        let plan = self.plan();
        let mut name = String::from("base");
        for (count, number) in [
            (plan.systems.len(), base.system),
            (plan.data.len(), base.data),
        ] {
            if count > 1 {
                name += &format!("-{number}");
            }
        }
        self.data(base.storage)
            .join(format!("{name}-{}", base.page_size.get()))
    }

    /// Where a storage's databases lie.
    fn data(&self, storage: usize) -> PathBuf {
        self.storages[storage].join("data")
    }

    /// Makes the bases that a round needs and that are missing: the first of
    /// those that can be derived from each other by loading, the others from
    /// it.
    fn make_bases(&mut self, round: &Round) -> Result<(), ConductError> {
        let known = self.store.bases()?;
        let mut loaded: Option<BaseKey> = None;
        let all = bases(self.plan());
        let missing: Vec<BaseKey> = round
            .missing
            .iter()
            .map(|(cell, _)| self.cells[*cell].base())
            .filter(|key| !self.is_made(*key, &known))
            .collect();
        let related = |a: &BaseKey, b: &BaseKey| {
            (a.system, a.data, a.storage) == (b.system, b.data, b.storage)
        };
        for key in all {
            self.stop_if_interrupted()?;
            let derives = self.parts.database(key).derivation().is_some();
            let from = loaded.filter(|from| derives && related(from, &key));
            if from.is_none() {
                loaded = Some(key);
            }
            // The first is what others are derived from.
            let needed = missing.contains(&key)
                || (derives && from.is_none() && missing.iter().any(|other| related(other, &key)));
            if !needed || self.is_made(key, &known) || self.unavailable(key).is_some() {
                continue;
            }
            let base = self.base(key);
            let complete = base.join(COMPLETE);
            remove(&base)?;
            create(&base)?;
            let made = match self.make_base(key, from, &base) {
                // What is derived from it would be missing too.
                Err(ConductError::Database(error)) if !derives => {
                    remove(&base)?;
                    self.do_without(key.system, key.page_size, error)?;
                    continue;
                }
                made => made?,
            };
            self.store.put_base(&made)?;
            fs::write(&complete, self.identity(key))
                .map_err(DirectoryError::io("write", &complete))?;
            self.note_time()?;
        }
        Ok(())
    }

    /// Whether a base is there, whole, and of this plan: another plan may have
    /// used the same storage.
    fn is_made(&self, key: BaseKey, known: &[StoredBase]) -> bool {
        known.iter().any(|base| base.key == key)
            && fs::read_to_string(self.base(key).join(COMPLETE))
                .is_ok_and(|found| found == self.identity(key))
    }

    /// All that a base's content depends on.
    fn identity(&self, key: BaseKey) -> String {
        let plan = self.plan();
        let system = &plan.systems[key.system];
        format!(
            "{system} {}\n{}\nseed {}\npage size {}\n",
            system.version,
            plan.data[key.data],
            plan.seed,
            key.page_size.get()
        )
    }

    fn make_base(
        &self,
        key: BaseKey,
        from: Option<BaseKey>,
        base: &Path,
    ) -> Result<StoredBase, ConductError> {
        let (database, workload) = (self.parts.database(key), self.parts.workload(key));
        let page_size = key.page_size;
        let (made_by, loaded) = match from.zip(database.derivation()) {
            None => {
                let rows: u64 = workload
                    .population()
                    .partitions()
                    .iter()
                    .map(|partition| partition.rows_about)
                    .sum();
                let loaded = database.load(base, page_size, workload, &mut |done| {
                    let percent = done * 100 / rows.max(1);
                    self.progress(&format!("load {page_size} pages: {percent} %"));
                    self.flow()
                })?;
                ("load", loaded)
            }
            Some((from, derivation)) => {
                let loaded =
                    derivation.derive(&self.base(from), base, page_size, &mut |written| {
                        let written = ByteCount::new(written);
                        self.progress(&format!("derive {page_size} pages: {written}"));
                        self.flow()
                    })?;
                ("derive", loaded)
            }
        };
        self.progress(&format!("check {page_size} pages"));
        let mut connection = database.inspect(base, workload)?;
        let conditions = workload
            .check(connection.as_mut())
            .map_err(DatabaseError::from)?;
        if let Some(broken) = conditions.iter().find(|check| check.violations > 0) {
            return Err(ConductError::Inconsistent {
                clause: broken.clause.clone(),
                what: broken.first_violation.clone().unwrap_or_default(),
            });
        }
        Ok(StoredBase {
            key,
            made_by: made_by.into(),
            rows: loaded.rows,
            size: loaded.size,
            elapsed_s: loaded.elapsed.as_secs_f64(),
        })
    }

    /// Decides how long runs are: as given, or after one unrecorded run of a
    /// reference with the largest memory has shown what a run costs here.
    fn decide_length(&mut self) -> Result<RunLength, ConductError> {
        let length = match (self.settings.run_length, self.settings.budget) {
            (Some(length), _) => length,
            (None, None) => unreachable!("a budget or a length was checked for"),
            (None, Some(budget)) => {
                self.progress("try one run");
                let cell = self
                    .plan()
                    .groups()
                    .into_iter()
                    .map(|group| self.cells[group.cells[group.reference]])
                    .chain(self.cells.iter().copied())
                    .filter(|cell| self.unavailable(cell.base()).is_none())
                    .reduce(|most, cell| {
                        if cell.memory > most.memory {
                            cell
                        } else {
                            most
                        }
                    });
                let Some(cell) = cell else {
                    let reason = self.unavailable.first().map(|base| base.reason.clone());
                    return Err(ConductError::AllFailed(reason.unwrap_or_default()));
                };
                let seed = self.plan().seed.derive("trial", 0);
                let trial = self.run_cell(cell, seed, schedule::TRIAL)?;
                let remaining = budget.saturating_sub(self.spent());
                let (length, round) = schedule::length(
                    &self.cells,
                    cell,
                    &trial,
                    remaining,
                    self.settings.rounds,
                    |cell| cell.memory.min(directory_size(&self.base(cell.base()))),
                );
                if self.settings.rounds.is_none()
                    && !schedule::fits(2, self.spent() + round * 2, round, budget)
                {
                    return Err(ConductError::TooSlow {
                        round_s: round.as_secs() + 1,
                        budget_s: budget.as_secs(),
                    });
                }
                length
            }
        };
        self.store.set_run_length(length)?;
        Ok(length)
    }

    /// What a run costs, from those in the store; `None` without any.
    fn pace(&self) -> Result<Option<Pace>, StoreError> {
        self.store.pace()
    }

    /// The round that comes next, or is under way, whether or not there is time
    /// for it; `None` when everything is decided.
    fn upcoming(&self) -> Result<Option<Round>, StoreError> {
        // How often the whole was judged says nothing of what comes next.
        let rules = rules(self.plan(), self.settings.rounds, 1);
        Ok(Course::of(self.plan(), &rules, &self.store.outcomes()?).next)
    }

    /// The round that comes next, or `None` when there is enough: when
    /// everything is decided, or no further round fits. Begun rounds are
    /// always finished.
    fn next_round(&self) -> Result<Option<Round>, ConductError> {
        let Some(round) = self.upcoming()? else {
            return Ok(None);
        };
        let begun = round.missing.len() < round.cells.len();
        let fits = match (self.settings.rounds, self.settings.budget, self.pace()?) {
            (Some(rounds), _, _) => round.number < rounds,
            (None, Some(budget), Some(pace)) => schedule::fits(
                round.number,
                self.spent(),
                pace.run
                    .saturating_mul(u32::try_from(round.cells.len()).unwrap_or(u32::MAX)),
                budget,
            ),
            _ => true,
        };
        Ok((begun || fits).then_some(round))
    }

    fn round(&mut self, round: &Round, length: RunLength) -> Result<(), ConductError> {
        let mut failure = None;
        let mut succeeded = round.missing.len() < round.cells.len();
        for (position, &(number, phase)) in round.cells.iter().enumerate() {
            if !round.missing.contains(&(number, phase)) {
                continue;
            }
            self.stop_if_interrupted()?;
            let cell = self.cells[number];
            let name = self.plan().cell_name(cell);
            self.progress(&format!(
                "round {}{}, run {} of {}: {name}",
                round.number + 1,
                match phase {
                    Phase::Race => "",
                    Phase::Final => " (fresh)",
                },
                position + 1,
                round.cells.len(),
            ));
            let key = RunKey {
                round: round.number,
                position: position as u32,
                cell: number,
                phase,
            };
            if let Some(reason) = self.unavailable(cell.base()).map(str::to_owned) {
                self.fail(key, &name, &reason)?;
                failure = Some(reason);
                continue;
            }
            match self.run_cell(cell, self.plan().inputs_seed(round.number), length) {
                Err(ConductError::Run(error)) => {
                    let reason = with_causes(&error);
                    self.fail(key, &name, &reason)?;
                    failure = Some(reason);
                }
                Err(error) => return Err(error),
                Ok(done) => {
                    let counted = done.drive.counted(self.parts.workload(cell.base()));
                    if counted == 0 {
                        let reason = "no counted transaction committed while measuring: the run \
                                      is too short for this storage";
                        self.fail(key, &name, reason)?;
                        failure = Some(reason.to_owned());
                    } else {
                        let topic = self.conditions_topic(cell);
                        self.store.put_facts(&topic, &done.conditions)?;
                        self.store.put_run(self.session, key, &done, counted)?;
                        succeeded = true;
                    }
                }
            }
            self.note_time()?;
        }
        match failure {
            Some(reason) if !succeeded => Err(ConductError::AllFailed(reason)),
            _ => Ok(()),
        }
    }

    /// Under which topic the conditions of a cell's database are kept: what
    /// they may depend on is part of it.
    fn conditions_topic(&self, cell: Cell) -> String {
        let plan = self.plan();
        let mut topic = String::from("database");
        for factor in [Factor::System, Factor::Clients, Factor::Cpus] {
            if plan.count(factor) > 1 {
                topic += &format!(" {}", plan.level(cell, factor).with_noun());
            }
        }
        topic
    }

    /// Keeps that a run gave no result, and says so.
    fn fail(&self, key: RunKey, name: &str, reason: &str) -> Result<(), StoreError> {
        self.observer.note(&format!(
            "round {}: {name} gave no result: {reason}",
            key.round + 1,
        ));
        self.store.put_failure(self.session, key, reason)
    }

    fn run_cell(&self, cell: Cell, seed: Seed, length: RunLength) -> Result<Run, ConductError> {
        let base = cell.base();
        let copy = self.data(cell.storage).join("run");
        create(&copy)?;
        let _held = HeldCpus::hold(cell.cpus)?;
        run(
            RunSettings {
                database: self.parts.database(base),
                workload: self.parts.workload(base),
                base: &self.base(base),
                copy: &copy,
                location: &self.locations[cell.storage],
                page_size: cell.page_size,
                memory: cell.memory,
                clients: cell.clients,
                load: Load::Closed {
                    terminals: cell.clients,
                },
                retries: RETRIES,
                isolation: self.plan().isolation,
                seed,
                length,
                extension: Extension::WhileWarming,
                keep_interrupted: false,
            },
            &mut Unobserved,
            &|| self.observer.interrupted(),
        )
        .and_then(|run| match run.drive.counts.failed() {
            0 => Ok(run),
            failed => Err(RunError::Failed(failed)),
        })
        .map_err(|error| {
            if error.is_stop() {
                ConductError::Stopped
            } else if error.is_full() {
                self.full(&self.storages[cell.storage])
            } else {
                ConductError::Run(error)
            }
        })
    }
}

/// Marks a base directory whose files are whole and durable, and says what
/// they are.
const COMPLETE: &str = "complete";

fn remove(path: &Path) -> Result<(), DirectoryError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(DirectoryError::io("delete", path)(error))
        }
        _ => Ok(()),
    }
}

fn create(path: &Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(DirectoryError::io("create directory", path))
}
