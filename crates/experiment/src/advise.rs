//! The main job: from an empty directory to findings, within a budget.
//!
//! Calibrate the storage, load one base at the reference page size, derive
//! the others from it, decide how long runs are, and then run round after
//! round until the budget is used. Each step is kept in the store as it
//! ends, and the same settings go on with what is missing.

use std::{
    fs,
    io::ErrorKind,
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant},
};

use octavo_database::{Database, DatabaseError, Settings};
use octavo_device::{
    calibrate::{self, CalibrateError},
    location::Location,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Tpcc, Workload};

use crate::{
    causes::with_causes,
    directory::{DirectoryError, WorkDirectory, directory_size, free_space},
    drive::{Extension, Load, RETRIES, Unobserved},
    findings::Findings,
    loaded::DESCRIPTION,
    machine,
    observer::Observer,
    plan::{Cell, Plan, RunLength},
    run::{RunError, RunSettings, run},
    schedule::{self, Pace},
    store::{Store, StoreError, StoredBase},
};

/// How many times larger than the largest buffer the data has to be.
pub const DATA_OVER_MEMORY: u64 = 8;

/// What to advise on.
pub struct AdviseSettings<'a> {
    /// Where to work: new, empty or Octavo's own.
    pub directory: PathBuf,
    /// The database.
    pub database: &'a dyn Database,
    /// Its journal mode's name, for the plan.
    pub journal_mode: String,
    /// Time for everything, results of earlier sessions included.
    pub budget: Duration,
    /// Page sizes; the database's default is added when it is missing.
    pub page_sizes: Vec<PageSize>,
    /// Buffer sizes.
    pub memories: Vec<ByteCount>,
    /// What the data's size follows from, when the buffers are smaller.
    pub memory_for_scale: Option<ByteCount>,
    /// The scale, or `None` for the smallest that is large enough.
    pub warehouses: Option<u32>,
    /// Sessions.
    pub clients: u32,
    /// Origin of everything random.
    pub seed: Seed,
    /// Ratios within this share of 1 make no difference.
    pub margin: f64,
    /// Exactly this many rounds, whatever the budget.
    pub rounds: Option<u32>,
    /// Length of a run, or `None` to derive it from the budget.
    pub run_length: Option<RunLength>,
    /// Whether to calibrate the storage first.
    pub calibrate: bool,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}

/// Why advising ended without findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database refused a setting or failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
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

impl AdviseError {
    /// Whether the user's input is at fault, rather than the machine.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Directory(_)
            | Self::Space { .. }
            | Self::Budget { .. }
            | Self::Setting(_)
            | Self::Database(DatabaseError::Setting { .. }) => true,
            Self::Store(error) => {
                !matches!(error, StoreError::Full { .. } | StoreError::Sqlite { .. })
            }
            _ => false,
        }
    }
}

/// Does the main job. The settings are checked before anything is changed.
pub fn advise(
    settings: &AdviseSettings<'_>,
    observer: &dyn Observer,
) -> Result<Findings, AdviseError> {
    let plan = settle(settings)?;
    let workload = workload(&plan)?;
    WorkDirectory::examine(&settings.directory)?;
    if settings.directory.join(DESCRIPTION).exists() {
        return Err(AdviseError::Setting(format!(
            "{} holds rows that octavo load or octavo bench keeps: name another directory",
            settings.directory.display()
        )));
    }
    check_room(settings, &plan, workload.as_ref())?;
    let directory = WorkDirectory::open(&settings.directory)?;
    let mut store = match Store::open_or_create(&directory.store()) {
        Ok(store) => store,
        Err(error) => {
            directory.abandon()?;
            return Err(error.into());
        }
    };
    store.adopt(&plan, settings.run_length, settings.octavo_version)?;
    let session = store.begin_session()?;
    let job = Job {
        settings,
        observer,
        location: Location::of(directory.path()),
        earlier: store.time_spent()?,
        begin: Instant::now(),
        directory,
        plan,
        workload,
        store,
        session,
    };
    job.work()
}

/// Builds the workload of a plan.
fn workload(plan: &Plan) -> Result<Box<dyn Workload>, AdviseError> {
    match plan.workload.as_str() {
        "tpcc" => Tpcc::new(plan.warehouses, plan.seed.derive("population", 0))
            .map(|workload| Box::new(workload) as Box<dyn Workload>)
            .map_err(|error| AdviseError::Setting(error.to_string())),
        other => Err(AdviseError::Setting(format!(
            "workload '{other}' is not known: choose tpcc"
        ))),
    }
}

/// Turns settings into a plan, refusing what cannot be.
fn settle(settings: &AdviseSettings<'_>) -> Result<Plan, AdviseError> {
    let refuse = |text: &str| Err(AdviseError::Setting(text.into()));
    if settings.memories.is_empty() || settings.page_sizes.is_empty() {
        return refuse("at least one memory and one page size are needed");
    }
    if settings.clients == 0 {
        return refuse("clients 0 is not possible: at least 1 is needed");
    }
    if settings.warehouses == Some(0) {
        return refuse("warehouses 0 is not possible: at least 1 is needed");
    }
    if settings.rounds == Some(0) {
        return refuse("rounds 0 is not possible: at least 1 is needed");
    }
    if settings.directory.to_str().is_none() {
        return Err(AdviseError::Setting(format!(
            "{} is not UTF-8, which SQL needs: name another directory",
            settings.directory.display()
        )));
    }
    if settings.clients > 1 && matches!(settings.run_length, Some(RunLength::Transactions { .. })) {
        return refuse(
            "a fixed number of transactions goes with one client: several would wait for the \
             slowest",
        );
    }
    let reference = settings.database.default_page_size();
    let mut page_sizes = settings.page_sizes.clone();
    page_sizes.push(reference);
    page_sizes.sort_unstable();
    page_sizes.dedup();
    let mut memories = settings.memories.clone();
    memories.sort_unstable();
    memories.dedup();
    for &memory in &memories {
        for &page_size in &page_sizes {
            settings.database.accept(&Settings {
                page_size,
                memory,
                clients: settings.clients,
                isolation: None,
            })?;
        }
    }
    let mut plan = Plan {
        database: settings.database.name().into(),
        database_version: settings.database.version(),
        journal_mode: settings.journal_mode.clone(),
        workload: "tpcc".into(),
        warehouses: settings.warehouses.unwrap_or(1),
        seed: settings.seed,
        page_sizes,
        reference,
        memories,
        clients: settings.clients,
        margin: settings.margin,
    };
    if settings.warehouses.is_none() {
        let largest = plan.memories.last().copied().unwrap_or_default();
        let wanted = settings
            .memory_for_scale
            .map_or(largest, |memory| memory.max(largest))
            .saturating_mul(DATA_OVER_MEMORY);
        plan.warehouses = warehouses_for(settings.database, &plan, wanted)?;
    }
    Ok(plan)
}

/// The fewest warehouses whose data has the wanted size at every page size.
fn warehouses_for(
    database: &dyn Database,
    plan: &Plan,
    wanted: ByteCount,
) -> Result<u32, AdviseError> {
    // Data grows in proportion, except for what does not depend on the scale:
    // two points give the line.
    let size = |warehouses: u32| -> Result<u64, AdviseError> {
        let workload = workload(&Plan {
            warehouses,
            ..plan.clone()
        })?;
        Ok(plan
            .page_sizes
            .iter()
            .map(|&page_size| database.estimate(workload.as_ref(), page_size).get())
            .min()
            .unwrap_or_default())
    };
    let (one, two) = (size(1)?, size(2)?);
    let each = two.saturating_sub(one).max(1);
    let more = wanted.get().saturating_sub(one).div_ceil(each);
    u32::try_from(more + 1).map_err(|_| {
        AdviseError::Setting(format!(
            "memory is too large: data of {wanted} cannot be made"
        ))
    })
}

/// Refuses what cannot fit into space or budget, before anything is changed.
fn check_room(
    settings: &AdviseSettings<'_>,
    plan: &Plan,
    workload: &dyn Workload,
) -> Result<(), AdviseError> {
    let size = |page_size| settings.database.estimate(workload, page_size);
    let sizes: Vec<ByteCount> = plan.page_sizes.iter().map(|&p| size(p)).collect();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    let cells = plan.cells().len();
    if settings.rounds.is_none() {
        let needed = schedule::shortest(largest, plan.page_sizes.len(), cells, settings.calibrate);
        if needed > settings.budget {
            return Err(AdviseError::Budget {
                cells,
                data: largest,
                needed_s: needed.as_secs() + 1,
                budget_s: settings.budget.as_secs(),
            });
        }
    }
    // What is there already needs no room again.
    let used = directory_size(&settings.directory.join("data"));
    let needed = sizes
        .iter()
        .fold(largest, |sum, &size| sum.saturating_add(size));
    // A tenth more for logs, the store and estimates that are off.
    let needed = ByteCount::new((needed.get() / 10 * 11).saturating_sub(used.get()));
    let available = free_space(&settings.directory)?;
    if available < needed {
        return Err(AdviseError::Space {
            path: settings.directory.clone(),
            needed,
            available,
        });
    }
    Ok(())
}

struct Job<'a> {
    settings: &'a AdviseSettings<'a>,
    observer: &'a dyn Observer,
    directory: WorkDirectory,
    location: Location,
    plan: Plan,
    workload: Box<dyn Workload>,
    store: Store,
    session: i64,
    earlier: Duration,
    begin: Instant,
}

impl Job<'_> {
    fn work(mut self) -> Result<Findings, AdviseError> {
        let known = self.store.finished()?.len();
        let result = self.measure();
        let noted = self.note_time();
        result.map_err(|error| self.explain(error))?;
        noted?;
        if self.store.finished()?.len() > known {
            self.store.judge(self.session)?;
        }
        let findings = Findings::of(&self.store)?.expect("the plan was adopted");
        if !self.settings.keep_data
            && let Err(error) = self.directory.remove_data()
        {
            // The answer is worth more than the room.
            self.observer.note(&format!(
                "the loaded databases stay: {}",
                with_causes(&error)
            ));
        }
        Ok(findings)
    }

    /// A full disk shows in many places; the user is told one thing.
    fn explain(&self, error: AdviseError) -> AdviseError {
        let full = match &error {
            AdviseError::Database(error) => error.is_full(),
            AdviseError::Store(StoreError::Full { .. }) => true,
            AdviseError::Directory(error) => error.is_full(),
            _ => false,
        };
        match error {
            _ if full => self.full(),
            AdviseError::Database(DatabaseError::Stopped) => AdviseError::Stopped,
            AdviseError::Directory(error) => AdviseError::File(error),
            other => other,
        }
    }

    fn full(&self) -> AdviseError {
        AdviseError::Full {
            path: self.directory.path().to_owned(),
        }
    }

    fn measure(&mut self) -> Result<(), AdviseError> {
        self.store.put_facts("machine", &machine::describe())?;
        self.store.put_facts("storage", &self.location.facts())?;
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            self.calibrate()?;
        }
        while let Some(round) = self.next_round()? {
            self.make_bases()?;
            let length = match self.store.run_length()? {
                Some(length) => length,
                None => self.decide_length()?,
            };
            self.round(round, length)?;
        }
        Ok(())
    }

    fn spent(&self) -> Duration {
        self.earlier + self.begin.elapsed()
    }

    fn note_time(&self) -> Result<(), StoreError> {
        self.store
            .extend_session(self.session, self.begin.elapsed())
    }

    fn progress(&self, now: &str) {
        let expected = match (self.settings.rounds, self.pace()) {
            (Some(rounds), Ok(Some(pace))) => {
                let missing = (rounds as usize * self.plan.cells().len())
                    .saturating_sub(pace.runs_done) as u32;
                self.spent() + pace.run * missing
            }
            _ => self.settings.budget,
        };
        self.observer.progress(now, self.spent(), expected);
    }

    fn stop_if_interrupted(&self) -> Result<(), AdviseError> {
        if self.observer.interrupted() {
            Err(AdviseError::Stopped)
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

    fn calibrate(&self) -> Result<(), AdviseError> {
        let profile = calibrate::calibrate(
            self.directory.path(),
            &calibrate::Settings::brief(self.plan.seed.derive("calibrate", 0)),
            &mut |step| {
                self.progress(&format!("calibrate: {}", step.name));
                self.flow()
            },
        )
        .map_err(|error| {
            if matches!(error, CalibrateError::Stopped) {
                AdviseError::Stopped
            } else {
                error.into()
            }
        })?;
        self.store.put_calibration(&profile.to_toml())?;
        self.note_time()?;
        Ok(())
    }

    fn base(&self, page_size: PageSize) -> PathBuf {
        self.directory.data(&format!("base-{}", page_size.get()))
    }

    /// Makes the bases that are missing: the reference by loading, the others
    /// from it.
    fn make_bases(&mut self) -> Result<(), AdviseError> {
        let reference = self.plan.reference;
        let mut order = self.plan.page_sizes.clone();
        order.sort_by_key(|&size| (size != reference, size));
        let known = self.store.bases()?;
        for page_size in order {
            self.stop_if_interrupted()?;
            let base = self.base(page_size);
            let complete = base.join(COMPLETE);
            if complete.exists() && known.iter().any(|base| base.page_size == page_size) {
                continue;
            }
            remove(&base)?;
            create(&base)?;
            let database = self.settings.database;
            let (made_by, loaded) = if page_size == reference {
                let rows: u64 = self
                    .workload
                    .population()
                    .partitions()
                    .iter()
                    .map(|partition| partition.rows_about)
                    .sum();
                let loaded =
                    database.load(&base, page_size, self.workload.as_ref(), &mut |done| {
                        let percent = done * 100 / rows.max(1);
                        self.progress(&format!("load {page_size} pages: {percent} %"));
                        self.flow()
                    })?;
                ("load", loaded)
            } else {
                let loaded =
                    database.derive(&self.base(reference), &base, page_size, &mut |written| {
                        let written = ByteCount::new(written);
                        self.progress(&format!("derive {page_size} pages: {written}"));
                        self.flow()
                    })?;
                ("derive", loaded)
            };
            self.progress(&format!("check {page_size} pages"));
            self.check_base(page_size)?;
            self.store.put_base(&StoredBase {
                page_size,
                made_by: made_by.into(),
                rows: loaded.rows,
                size: loaded.size,
                elapsed_s: loaded.elapsed.as_secs_f64(),
            })?;
            fs::write(&complete, "").map_err(|source| DirectoryError::Io {
                action: "write",
                path: complete.clone(),
                source,
            })?;
            self.note_time()?;
        }
        Ok(())
    }

    fn check_base(&self, page_size: PageSize) -> Result<(), AdviseError> {
        let mut connection = self
            .settings
            .database
            .inspect(&self.base(page_size), self.workload.as_ref())?;
        let conditions = self
            .workload
            .check(connection.as_mut())
            .map_err(DatabaseError::from)?;
        match conditions.iter().find(|check| check.violations > 0) {
            None => Ok(()),
            Some(broken) => Err(AdviseError::Inconsistent {
                clause: broken.clause.clone(),
                what: broken.first_violation.clone().unwrap_or_default(),
            }),
        }
    }

    /// Decides how long runs are: as given, or after one unrecorded run of the
    /// reference with the largest memory has shown what a run costs here.
    fn decide_length(&mut self) -> Result<RunLength, AdviseError> {
        let length = match self.settings.run_length {
            Some(length) => length,
            None => {
                self.progress("try one run");
                let cell = Cell {
                    page_size: self.plan.reference,
                    memory: self.plan.memories.last().copied().unwrap_or_default(),
                };
                let trial =
                    self.run_cell(cell, self.plan.seed.derive("trial", 0), schedule::TRIAL)?;
                let remaining = self.settings.budget.saturating_sub(self.spent());
                let (length, round) = schedule::length(&self.plan, &trial, remaining);
                if self.settings.rounds.is_none()
                    && !schedule::fits(1, self.spent() + round, round, self.settings.budget)
                {
                    return Err(AdviseError::TooSlow {
                        round_s: round.as_secs() + 1,
                        budget_s: self.settings.budget.as_secs(),
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

    /// The round that comes next, or `None` when there is enough: begun rounds
    /// are always finished; without a fixed number, a further one begins while
    /// it fits into the budget.
    fn next_round(&self) -> Result<Option<u32>, AdviseError> {
        let finished = self.store.finished()?;
        let cells = self.plan.cells().len();
        let round = (0u32..)
            .find(|round| finished.iter().filter(|(r, _)| r == round).count() < cells)
            .unwrap_or(u32::MAX);
        if let Some(rounds) = self.settings.rounds {
            return Ok((round < rounds).then_some(round));
        }
        let begun = finished.iter().any(|(r, _)| *r == round);
        let fits = match self.pace()? {
            None => true,
            Some(pace) => schedule::fits(
                round,
                self.spent(),
                pace.run * cells as u32,
                self.settings.budget,
            ),
        };
        Ok((begun || fits).then_some(round))
    }

    fn round(&mut self, round: u32, length: RunLength) -> Result<(), AdviseError> {
        let cells = self.plan.cells();
        let finished = self.store.finished()?;
        let mut failure = None;
        let mut succeeded = finished.iter().any(|(r, _)| *r == round);
        for (position, number) in self.plan.order(round).into_iter().enumerate() {
            if finished.contains(&(round, number)) {
                continue;
            }
            self.stop_if_interrupted()?;
            let cell = cells[number];
            self.progress(&format!(
                "round {}, run {} of {}: {} pages, {} of memory",
                round + 1,
                position + 1,
                cells.len(),
                cell.page_size,
                cell.memory
            ));
            match self.run_cell(cell, self.plan.inputs_seed(round), length) {
                Err(AdviseError::Run(error)) => {
                    let reason = with_causes(&error);
                    self.fail(round, position, number, &reason)?;
                    failure = Some(reason);
                }
                Err(error) => return Err(error),
                Ok(done) if done.drive.counted(self.workload.as_ref()) == 0 => {
                    let reason = "no counted transaction committed while measuring: the run is \
                                  too short for this storage"
                        .to_owned();
                    self.fail(round, position, number, &reason)?;
                    failure = Some(reason);
                }
                Ok(done) => {
                    let counted = done.drive.counted(self.workload.as_ref());
                    self.store.put_facts("database", &done.conditions)?;
                    self.store
                        .put_run(round, position, number, &done, counted)?;
                    succeeded = true;
                }
            }
            self.note_time()?;
        }
        match failure {
            Some(reason) if !succeeded => Err(AdviseError::AllFailed(reason)),
            _ => Ok(()),
        }
    }

    /// Keeps that a run gave no result, and says so.
    fn fail(
        &self,
        round: u32,
        position: usize,
        number: usize,
        reason: &str,
    ) -> Result<(), StoreError> {
        let cell = self.plan.cells()[number];
        self.observer.note(&format!(
            "round {}: {} pages with {} of memory gave no result: {reason}",
            round + 1,
            cell.page_size,
            cell.memory
        ));
        self.store.put_failure(round, position, number, reason)
    }

    fn run_cell(
        &self,
        cell: Cell,
        seed: Seed,
        length: RunLength,
    ) -> Result<crate::run::Run, AdviseError> {
        let copy = self.directory.data("run");
        create(&copy)?;
        run(
            RunSettings {
                database: self.settings.database,
                workload: self.workload.as_ref(),
                base: &self.base(cell.page_size),
                copy: &copy,
                location: &self.location,
                cell,
                clients: self.plan.clients,
                load: Load::Closed {
                    terminals: self.plan.clients,
                },
                retries: RETRIES,
                isolation: None,
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
                AdviseError::Stopped
            } else if error.is_full() {
                self.full()
            } else {
                AdviseError::Run(error)
            }
        })
    }
}

/// Marks a base directory whose files are whole and durable.
const COMPLETE: &str = "complete";

fn remove(path: &std::path::Path) -> Result<(), DirectoryError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(DirectoryError::Io {
            action: "delete",
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}

fn create(path: &std::path::Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(|source| DirectoryError::Io {
        action: "create directory",
        path: path.to_owned(),
        source,
    })
}
