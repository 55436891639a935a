//! Predicting: databases and devices are modeled, in virtual time.

use std::{collections::HashMap, thread, time::Duration};

use octavo_database::{Counters, Settings};
use octavo_device::{Counters as DeviceCounters, machine::MachinePower, power::Draw};
use octavo_driver::{Counts, Measurement, WarmUpTotals};
use octavo_predict::{
    Comparison, Done, Miniature, PredictError, Purpose, Referred, Setup, System, Timing,
    WarmUpState, Warmth,
};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{Audit, Workload};

use memory::{DeviceSize, Room};
use own::OwnPagesBySize;
use part::Parts;

use super::{Executor, Facts};
use crate::{
    causes::with_causes,
    directory::WorkDirectory,
    error::CampaignError,
    inputs::Input,
    lockstep::{SessionTime, Slice, SliceKey},
    machine::MachineUse,
    monitor::Monitor,
    plan::{Cell, Storage},
    prediction::{Calibrated, CalibratedError, Cpu, FitError, InputAccuracy, Prediction, Slowness},
    record::{DeviceUse, Figures, Source},
    resolved::ResolvedPlan,
    store::{DATA_SIZE, NOT_RECORDED, PART, PREDICTED, SOURCE, StoredSnapshot, TIMED_BESIDE},
    waits::{ResourceTimes, WaitTally, Waits},
};

mod memory;
mod own;
mod part;

pub(crate) use memory::Needs;
pub(crate) use own::Wanted;

/// Predicts cells.
pub(crate) struct PredictedExecutor<'a> {
    resolved: ResolvedPlan<'a>,
    prediction: &'a Prediction,
    horizon: u64,
    parts: Parts,
    own: OwnPagesBySize,
    own_fit: Option<OwnFit>,
    /// The memory for cells.
    room: Room,
    /// Of the plan's devices.
    sizes: HashMap<Storage, DeviceSize>,
    threads: usize,
}

/// What measured results say of the storage under the user's statements.
enum OwnFit {
    /// How much slower it was.
    Slowness(Slowness),
    /// Nothing, for this reason.
    Unknown(&'static str),
}

impl<'a> PredictedExecutor<'a> {
    /// Predicts the cells of a plan. A cell executes at most `horizon` transactions.
    ///
    /// # Errors
    /// When the plan has something that is not modeled, or more data than the device holds.
    pub(crate) fn new(
        resolved: ResolvedPlan<'a>,
        prediction: &'a Prediction,
        horizon: u64,
    ) -> Result<Self, CampaignError> {
        let plan = resolved.plan();
        let cells = plan.cells();
        // What costs nothing to refuse first: a large device takes seconds to open.
        for cell in &cells {
            let device = prediction.devices.of(&cell.storage);
            cell.database.model(device.rotates())?;
            let database = resolved.database(&cell.database);
            database.accept(&Settings {
                page_size: cell.page_size,
                memory: cell.memory,
                clients: cell.clients,
                isolation: plan.isolation,
            })?;
        }
        let mut sizes = HashMap::new();
        for storage in &plan.storages {
            let before = memory::used();
            let device = prediction.devices.of(storage).open(plan.seed);
            let device = device.map_err(|error| CampaignError::Setting(error.to_string()))?;
            let size = DeviceSize {
                reserved: memory::used().saturating_sub(before),
                capacity: device.geometry().capacity,
            };
            sizes.insert(storage.clone(), size);
        }
        let parts = match prediction.in_part {
            true => Parts::of(&resolved, &prediction.devices)?,
            false => Parts::default(),
        };
        for cell in &cells {
            let database = resolved.database(&cell.database);
            let needed = database.estimate(resolved.workload(cell.data), cell.page_size);
            let capacity = sizes[&cell.storage].capacity;
            if needed > capacity {
                return Err(CampaignError::Setting(format!(
                    "{needed} of data do not fit {} of {}: name a larger device, or less \
                     data (--enlarge doubles the flash drives of an array)",
                    prediction.devices.of(&cell.storage).name(),
                    capacity
                )));
            }
        }
        let groups = plan.groups();
        let executor = Self {
            resolved,
            prediction,
            horizon,
            parts,
            own: OwnPagesBySize::new(),
            own_fit: None,
            room: Room::here(),
            sizes,
            threads: thread::available_parallelism().map_or(1, usize::from),
        };
        for group in prediction.groups(groups.len()) {
            let group = &groups[group];
            let needs = executor.needs(group.cells.iter().map(|&cell| &cells[cell]));
            let checked = executor.room.check(needs);
            checked.map_err(CampaignError::Setting)?;
        }
        Ok(executor)
    }

    /// The same with so many threads.
    #[cfg(test)]
    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with so much memory for cells.
    #[cfg(test)]
    pub(crate) fn with_memory(self, available: ByteCount) -> Self {
        Self {
            room: Room::of(available),
            ..self
        }
    }

    /// Threads that work on cells: the processors that this process may use.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// What cells take of memory while they are open.
    pub(crate) fn needs<'c>(&self, cells: impl Iterator<Item = &'c Cell>) -> Needs {
        let needs = cells.map(|cell| {
            let database = self.resolved.database(&cell.database);
            let data = database.estimate(self.resolved.workload(cell.data), cell.page_size);
            let small = self.parts.of_cell(cell);
            let of_part = |bytes| small.map_or(bytes, |small| small.share(bytes));
            let memory = of_part(cell.memory);
            let device = &self.sizes[&cell.storage];
            Needs::of_cell(of_part(data), memory, cell.page_size, device)
        });
        needs.fold(Needs::default(), Needs::and)
    }

    /// Whether some cells have room beside others that are open.
    pub(crate) fn fits(&self, open: Needs, more: Needs) -> bool {
        self.room.fits(open, more)
    }

    /// Records the pages of the user's own statements, where the plan has any, on copies in
    /// `directory`. Answers how many transactions there are to be replayed.
    ///
    /// # Errors
    /// When they cannot be recorded; [`CampaignError::Stopped`] when the monitor wants to stop.
    pub(crate) fn record(
        &mut self,
        directory: &WorkDirectory,
        wanted: &Wanted,
        monitor: &Monitor<'_>,
    ) -> Result<u64, CampaignError> {
        let Some(own) = &self.resolved.plan().own else {
            return Ok(u64::MAX);
        };
        // Statements of the user's own have one storage.
        let device = self
            .prediction
            .devices
            .of(&self.resolved.plan().storages[0]);
        let (pages, transactions) =
            own::record(&self.resolved, own, device, directory, wanted, monitor)?;
        self.own = pages;
        self.fit_own(monitor)?;
        Ok(transactions)
    }

    /// Makes times those that were measured of the same statements on this storage, where results
    /// have them.
    fn fit_own(&mut self, monitor: &Monitor<'_>) -> Result<(), CampaignError> {
        let plan = self.resolved.plan();
        let present = plan.databases[0].default_page_size;
        let (Some(store), Some(reference)) =
            (&self.prediction.measured_own, self.own.get(&present))
        else {
            return Ok(());
        };
        monitor.progress("compare with what was measured");
        let calibrated = match Calibrated::by_own(store, plan, reference.workload.as_ref()) {
            Ok(Some(calibrated)) => calibrated,
            Ok(None) => {
                self.leave_unfitted(
                    "the results of --calibrated-by are not of these statements: their storage is \
                     taken as it was by itself",
                    monitor,
                );
                return Ok(());
            }
            Err(CalibratedError::Fit(FitError::Predict(PredictError::TraceEnds { .. }))) => {
                self.leave_unfitted(
                    "the results of --calibrated-by have more transactions than were recorded: \
                     their storage is taken as it was by itself",
                    monitor,
                );
                return Ok(());
            }
            Err(error) => return Err(CampaignError::Setting(with_causes(&error))),
        };
        let Calibrated { cpu, storage, .. } = calibrated;
        self.own_fit = storage.map(|(_, slowness)| OwnFit::Slowness(slowness));
        if let Some(measured) = cpu {
            let timed = reference.cpu.clone();
            for pages in self.own.values_mut() {
                pages.cpu = pages.cpu.clone().scaled_to(&measured, &timed);
            }
        }
        Ok(())
    }

    fn leave_unfitted(&mut self, reason: &'static str, monitor: &Monitor<'_>) {
        monitor.note(reason);
        self.own_fit = Some(OwnFit::Unknown(reason));
    }

    /// How much slower the storage is under the database.
    fn slowness(&self) -> Slowness {
        match self.own_fit {
            Some(OwnFit::Slowness(slowness)) => slowness,
            Some(OwnFit::Unknown(_)) | None => self.prediction.slowness,
        }
    }

    /// What processors take for a cell's transactions.
    fn cpu(&self, cell: &Cell) -> Option<&Cpu> {
        let own = self.own.get(&cell.page_size).map(|pages| &pages.cpu);
        own.or(self.prediction.cpu.as_ref().map(|cpu| cpu.of(cell)))
    }
}

impl PredictedExecutor<'_> {
    /// How many processors clients and database share.
    fn processors(&self) -> String {
        let cpus = self.resolved.plan().cpus.iter();
        let cpus = cpus.map(|cpus| cpus.unwrap_or(self.prediction.processors).to_string());
        cpus.collect::<Vec<_>>().join(", ")
    }

    /// What processors take, and where that is known from: of each database by its name, where
    /// they differ.
    fn processor(&self) -> String {
        let plan = self.resolved.plan();
        let reference = plan.databases[0].default_page_size;
        if let Some(own) = self.own.get(&reference) {
            return own.cpu.source.clone();
        }
        let cells = plan.cells();
        let sources = cells.iter().filter_map(|cell| {
            let source = &self.prediction.cpu.as_ref()?.of(cell).source;
            Some((cell, source))
        });
        let all = distinct(sources.clone().map(|(_, source)| source.clone()));
        if sources.clone().all(|(_, source)| *source == all) {
            return all;
        }
        distinct(sources.map(|(cell, source)| format!("{}: {source}", cell.database.name)))
    }

    /// How large the largest data is.
    fn data(&self) -> String {
        let cells = self.resolved.plan().cells();
        let sizes = cells.iter().map(|cell| {
            let database = self.resolved.database(&cell.database);
            database.estimate_rows(self.resolved.workload(cell.data), cell.page_size)
        });
        format!("about {}", sizes.max().unwrap_or_default())
    }
}

/// Texts in their order, each once.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.join("; ")
}

impl Executor for PredictedExecutor<'_> {
    fn source(&self) -> Source {
        Source::Predicted
    }

    fn facts(&self) -> Facts {
        let plan = self.resolved.plan();
        let devices = plan.storages.iter();
        let devices = devices.map(|storage| self.prediction.devices.of(storage).name());
        let mut facts = vec![
            (SOURCE, PREDICTED.to_owned()),
            ("device", distinct(devices)),
            ("processor", self.processor()),
            ("processors", self.processors()),
        ];
        // Copies of the user's own data have their sizes.
        if self.own.is_empty() {
            facts.push((DATA_SIZE, self.data()));
        }
        let models = plan.databases.iter().filter_map(|database| {
            let comparison = database.modeled().ok()?.comparison;
            match comparison {
                Comparison::AsOf(other) => Some(match plan.databases.len() {
                    1 => format!("as of {}, in its place", other.database.title),
                    _ => format!("{}: as of {}", database.name, other.database.title),
                }),
                _ => None,
            }
        });
        let models = distinct(models);
        if !models.is_empty() {
            facts.push(("model", models));
        }
        if let Some(OwnFit::Unknown(reason)) = self.own_fit {
            facts.push(("calibration", reason.to_owned()));
        }
        facts.extend(self.parts.words().map(|part| (PART, part)));
        // Programs lack the same with all page sizes.
        let missing = self.own.values().find_map(|pages| pages.missing);
        facts.extend(missing.map(|missing| (NOT_RECORDED, missing.what.to_owned())));
        let beside = self.own.iter().filter(|(_, pages)| !pages.is_timed_alone);
        let beside: Vec<String> = beside.map(|(size, _)| size.to_string()).collect();
        if !beside.is_empty() {
            facts.push((TIMED_BESIDE, beside.join(", ")));
        }
        if let Some(machine) = &self.prediction.machine {
            facts.push(("machine", format!("{} ({})", machine.name, machine.title)));
        }
        vec![("storage".to_owned(), facts)]
    }

    fn prepare(
        &mut self,
        cell: &Cell,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<StoredSnapshot>, CampaignError> {
        // Of what was recorded the copy is gone.
        let own = self.own.get(&cell.page_size);
        Ok(own.map(|pages| StoredSnapshot {
            key: cell.snapshot(),
            ..pages.snapshot.clone()
        }))
    }
}

impl PredictedExecutor<'_> {
    /// Opens a cell: a database in which nothing was done yet. Its inputs follow from `seed`.
    ///
    /// # Errors
    /// When it cannot be modeled; [`CampaignError::Stopped`] when the monitor wants to stop.
    pub(crate) fn open(
        &self,
        cell: &Cell,
        seed: Seed,
        monitor: &Monitor<'_>,
    ) -> Result<PredictedSeat<'_>, CampaignError> {
        monitor.stop_if_interrupted()?;
        let small = self.parts.of_cell(cell);
        let own = self.own.get(&cell.page_size);
        let workload = match (own, small) {
            (Some(own), _) => own.workload.as_ref(),
            (None, Some(small)) => small.workload.as_ref(),
            (None, None) => self.resolved.workload(cell.data),
        };
        let cpu = self.cpu(cell);
        let device = self.prediction.devices.of(&cell.storage);
        let miniature = small.map_or(Miniature::WHOLE, |small| small.miniature);
        let memory = self.resolved.database(&cell.database).buffer(cell.memory)?;
        let mut setup = Setup {
            model: cell.database.model(device.rotates())?,
            page_size: cell.page_size,
            memory: small.map_or(memory, |small| small.share(memory)),
            miniature,
            clients: cell.clients,
            processors: cell.cpus.unwrap_or(self.prediction.processors),
            seed,
            cpu: cpu.map(|cpu| cpu.cost).unwrap_or_default(),
            weights: cpu.map(|cpu| cpu.weights.clone()).unwrap_or_default(),
            slowness: self.slowness(),
        };
        let open = || {
            let seed = seed.derive("device", 0);
            let device = device.open_for(miniature, seed);
            monitor.stop_if_interrupted()?;
            device.map_err(|error| CampaignError::Setting(error.to_string()))
        };
        let refused = |error| match error {
            PredictError::Stopped => CampaignError::Stopped,
            error => CampaignError::Setting(error.to_string()),
        };
        let flow = || monitor.flow();
        if setup.model.is_optimal() {
            // The references of all transactions, for a buffer that knows the future.
            let future = System::record(workload, &setup, open()?, self.horizon, &flow);
            setup.model = setup.model.foresee(future.map_err(refused)?);
        }
        let system = System::new_while(workload, &setup, open()?, &flow).map_err(refused)?;
        let known = self
            .prediction
            .known(cell, own.map(|own| own.is_timed_alone));
        Ok(PredictedSeat {
            known: match own.and_then(|own| own.missing) {
                Some(missing) => known.without(&missing),
                None => known,
            },
            ends_slices: self.prediction.ends_slices,
            clients: setup.clients,
            processors: setup.processors,
            draw: device.draw(),
            machine: self.prediction.machine.as_ref().map(|of| of.power()),
            audit: own.map(|own| own.audit.clone()).unwrap_or_default(),
            counts_all_syncs: setup.model.kind().timing != Timing::ReadsAndLog,
            ..PredictedSeat::new(system, workload)
        })
    }
}

/// What a model tells of a cell that no figure says.
pub(crate) struct Modeled {
    /// What it is made from that is not known exactly.
    pub(crate) inputs: Vec<Input>,
    /// What its transactions wait for.
    pub(crate) waits: Waits,
}

/// A modeled cell.
pub(crate) struct PredictedSeat<'a> {
    system: System,
    workload: &'a dyn Workload,
    total: Total,
    warm_up: Total,
    /// How warm its buffer is, and whether that still changes.
    warmth: Warmth,
    is_warming: bool,
    /// Transactions of the latest slice.
    slice: u64,
    known: InputAccuracy,
    ends_slices: bool,
    clients: u32,
    processors: u32,
    /// What its transactions have waited for since the warm-up, and how long the device had
    /// been at work before.
    tally: WaitTally,
    under_way_before_ns: [f64; 2],
    /// What the device draws, and what it had done when the warm-up ended.
    draw: Option<Draw>,
    /// What the machine around it draws.
    machine: Option<MachinePower>,
    before: DeviceCounters,
    /// What it had done before transactions followed that do not count.
    after: Option<DeviceCounters>,
    /// What the user's own statements found when they were recorded.
    audit: Audit,
    /// Whether the database counts flushes of all files, not of the log alone.
    counts_all_syncs: bool,
}

/// What transactions gave together.
#[derive(Clone)]
struct Total {
    elapsed: Duration,
    cpu: Duration,
    counters: Counters,
    counts: Counts,
}

impl Total {
    fn new(workload: &dyn Workload) -> Self {
        Self {
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            counters: Counters::default(),
            counts: Counts::new(workload.transactions()),
        }
    }
}

impl<'a> PredictedSeat<'a> {
    fn new(system: System, workload: &'a dyn Workload) -> Self {
        Self {
            warmth: Warmth::new(system.frames()),
            is_warming: true,
            system,
            workload,
            total: Total::new(workload),
            warm_up: Total::new(workload),
            slice: 0,
            known: InputAccuracy::default(),
            ends_slices: false,
            clients: 1,
            processors: 1,
            tally: WaitTally::default(),
            under_way_before_ns: [0.0; 2],
            draw: None,
            machine: None,
            before: DeviceCounters::default(),
            after: None,
            audit: Audit::default(),
            counts_all_syncs: false,
        }
    }

    /// Pages of its buffer, or of its data where these are fewer.
    pub(crate) fn frames(&self) -> u64 {
        self.system.frames()
    }

    /// How warm it is.
    pub(crate) fn warmth(&self) -> &Warmth {
        &self.warmth
    }

    /// Counts what it did so far as its warm-up; how many transactions failed in that, which
    /// count nowhere else.
    pub(crate) fn end_warm_up(&mut self) -> u64 {
        let fresh = Total::new(self.workload);
        self.warm_up = std::mem::replace(&mut self.total, fresh);
        self.is_warming = false;
        self.tally = WaitTally::default();
        self.under_way_before_ns = self.system.under_way_ns();
        self.before = self.system.device_counters();
        self.warm_up.counts.failed()
    }

    /// Has it execute its next transactions.
    ///
    /// # Errors
    /// When the model cannot.
    pub(crate) fn slice(
        &mut self,
        key: SliceKey,
        transactions: u64,
    ) -> Result<Slice, CampaignError> {
        let slice = self.executed(key, transactions);
        slice.map_err(|error| CampaignError::Setting(with_causes(&error)))
    }

    fn executed(&mut self, key: SliceKey, transactions: u64) -> Result<Slice, PredictError> {
        let kinds = self.workload.transactions();
        let mut slice = Total::new(self.workload);
        let mut counted = 0;
        let mut referred = Referred::default();
        let counts_all_syncs = self.counts_all_syncs;
        let tally = &mut self.tally;
        let mut see = |done: &Done| {
            tally.see(done);
            slice.cpu += Duration::from_nanos(done.cpu_ns);
            slice.counts.changed_bytes += done.changed_bytes;
            slice.counters = slice.counters + counters(done, counts_all_syncs);
            referred = referred + done.referred;
            let elapsed = Duration::from_nanos(done.elapsed_ns);
            slice.counts.count(done.kind, done.outcome, elapsed);
            counted += u64::from(done.is_counted(kinds));
        };
        let elapsed_ns = match self.ends_slices {
            true => self.system.run(transactions, &mut see),
            false => self.system.go_on_for(transactions, &mut see),
        }?;
        slice.elapsed = Duration::from_nanos(elapsed_ns);
        if self.is_warming {
            let all = slice.elapsed.as_secs_f64() * f64::from(self.clients);
            let reading = slice.counters.read_time.as_secs_f64() / all;
            self.warmth.see(transactions, &referred, reading);
        }
        self.slice = transactions;
        self.total.elapsed += slice.elapsed;
        self.total.cpu += slice.cpu;
        self.total.counters = self.total.counters + slice.counters;
        self.total.counts.add(&slice.counts);
        let counters = slice.counters;
        Ok(Slice {
            key,
            transactions,
            counted,
            elapsed: slice.elapsed,
            spent: Some(SessionTime {
                read: Some(counters.read_time),
                log_write: Some(counters.log_write_time),
                log_sync: Some(counters.log_sync_time),
                checkpoint: counters.checkpoint_time,
                cpu: slice.cpu,
            }),
            misses: counters.buffer_misses,
            log_bytes: counters.log_written_bytes,
            response: None,
            foreign_bytes: None,
        })
    }

    /// What its time follows, and what it waits for. It executes more transactions for that,
    /// which do not count.
    ///
    /// # Errors
    /// As [`Self::slice`].
    pub(crate) fn modeled(&mut self) -> Result<Modeled, CampaignError> {
        let modeled = self.asked();
        modeled.map_err(|error| CampaignError::Setting(with_causes(&error)))
    }

    fn asked(&mut self) -> Result<Modeled, PredictError> {
        self.after = Some(self.system.device_counters());
        let under_way_ns = self.system.under_way_ns();
        let times = ResourceTimes {
            elapsed_ns: self.total.elapsed.as_nanos() as f64,
            clients: self.clients,
            processors: self.processors,
            under_way_ns: [0, 1].map(|of| under_way_ns[of] - self.under_way_before_ns[of]),
        };
        let waits = self.tally.waits(&times, self.workload);
        self.system.settle()?;
        let follows = self.system.sensitivity(self.slice)?;
        Ok(Modeled {
            inputs: self.known.inputs(&follows),
            waits,
        })
    }

    /// Its figures since the warm-up.
    pub(crate) fn figures(&self) -> Figures {
        let Total {
            elapsed,
            cpu,
            counters,
            counts,
        } = self.total.clone();
        let warm_up = WarmUpTotals {
            elapsed: self.warm_up.elapsed,
            misses: self.warm_up.counters.buffer_misses,
            failed: self.warm_up.counts.failed(),
            is_full: self.warmth.state() == WarmUpState::Steady,
        };
        let device = self.device(elapsed);
        let energy = self
            .machine
            .map(|machine| machine.energy(elapsed, cpu, device.energy).into());
        Figures {
            load: Measurement {
                audit: self.audit.clone(),
                ..Measurement::without_series(warm_up, elapsed, counts, counters)
            },
            overhead: Duration::ZERO,
            restored_by: None,
            trees: Vec::new(),
            storage_path: None,
            device: Some(device),
            machine: MachineUse {
                energy,
                ..MachineUse::default()
            },
            conditions: Vec::new(),
            checks: Vec::new(),
            unchecked: None,
        }
    }

    /// What the device did after the warm-up, which took so long.
    fn device(&self, elapsed: Duration) -> DeviceUse {
        let after = self.after.unwrap_or_else(|| self.system.device_counters());
        let did = after.since(&self.before);
        DeviceUse {
            reads: did.reads,
            read_bytes: ByteCount::new(did.read_bytes),
            writes: did.writes,
            written_bytes: ByteCount::new(did.written_bytes),
            energy: self.draw.map(|draw| draw.energy(elapsed, did.busy_ns)),
        }
    }
}

/// A transaction's part of what the database counts: flushes in the background too, or not.
fn counters(done: &Done, counts_all_syncs: bool) -> Counters {
    let [read, log, sync, checkpoint, background] = Purpose::ALL.map(|purpose| done.asked(purpose));
    let time = Duration::from_nanos;
    let (flushes, flush_ns) = match counts_all_syncs {
        true => (background.flushes, background.flush_ns),
        false => (0, 0),
    };
    Counters {
        buffer_hits: done.referred.hits,
        buffer_misses: done.referred.misses,
        reads: read.requests + done.referred.made,
        read_bytes: ByteCount::new(read.bytes),
        read_time: time(read.waited_ns),
        data_writes: checkpoint.requests + background.requests,
        data_written_bytes: ByteCount::new(checkpoint.bytes + background.bytes),
        log_writes: log.requests,
        log_written_bytes: ByteCount::new(done.referred.logged),
        write_time: time(
            log.waited_ns + checkpoint.waited_ns - checkpoint.flush_ns + background.waited_ns,
        ),
        log_write_time: time(log.waited_ns),
        syncs: sync.flushes + checkpoint.flushes + flushes,
        sync_time: time(sync.waited_ns + checkpoint.flush_ns + flush_ns),
        log_sync_time: time(sync.waited_ns),
        checkpoints: u64::from(checkpoint.flushes > 0) + done.referred.checkpoints,
        checkpoint_time: time(checkpoint.waited_ns),
        ..Counters::default()
    }
}
