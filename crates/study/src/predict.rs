//! Asking the models for the cells of a study.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use octavo_database::{DatabaseSpec, Registry};
use octavo_device::{
    Device,
    catalog::{self, Compared, Entry},
    machine::MachinePower,
    power::Draw,
    sourced::Sourced,
};
use octavo_experiment::{plan::TestedDatabase, prediction::model_of, value::per_thousand};
use octavo_predict::{Done, PredictError, Purpose, Setup, Slowness, System, Windows};
use octavo_units::{ByteCount, Seed, spread::Spread};
use octavo_workload::{Mix, Outcome, Tpcc, Workload, WorkloadName, WorkloadSpec};
use serde::Serialize;

use crate::{
    claim::{Claim, Figure, Place, Shape},
    error::StudyError,
    experiment::{Axis, Cell, Experiment},
    study::Study,
};

/// What everything random of a study's predictions follows.
const SEED: Seed = Seed::new(1);

/// What the models say of a study.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Predicted {
    /// Of each cell.
    pub cells: Vec<CellFigures>,
    /// Of each device of the catalog that the study measured: published figures beside the
    /// model's.
    pub devices: Vec<(String, Vec<Compared>)>,
}

/// What a cell was predicted to do.
#[derive(Clone, Debug, Serialize)]
pub struct CellFigures {
    /// The experiment's name.
    pub experiment: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Transactions of all kinds a second.
    pub tps: f64,
    /// Counted transactions a minute.
    pub counted_per_minute: f64,
    /// Mean response of all transactions, in seconds, as of each kind.
    pub response_s: f64,
    /// Mean response by kind of transaction, in seconds, with what a transaction waits to be
    /// let into the database.
    pub responses_s: BTreeMap<&'static str, f64>,
    /// Hits of all page references, 0 to 1.
    pub hit_ratio: f64,
    /// Requests of the device a second.
    pub requests_per_second: f64,
    /// Pages read a transaction.
    pub reads_per_transaction: f64,
    /// Pages written for each page that is read; `None` where none is read.
    pub writes_per_read: Option<f64>,
    /// Share of the processors' time in use, 0 to 1.
    pub cpu_busy: f64,
    /// Share of the time in which the device was busy.
    pub device_busy: f64,
    /// Mean watts of the machine with its storage; `None` where those of either are not
    /// known.
    pub watts: Option<f64>,
    /// Transactions of all kinds a second in windows of 10 s; `None` where that was not
    /// asked for.
    pub windows: Option<Spread>,
    /// Transactions of all kinds a second for each 1000 of the study's currency; `None`
    /// where it has no prices.
    pub tps_per_thousand: Option<f64>,
}

impl CellFigures {
    /// One of its figures; `None` of what is not known of it.
    pub fn figure(&self, figure: Figure, kind: Option<&str>) -> Option<f64> {
        match figure {
            Figure::Tps => Some(self.tps),
            Figure::Nopm => Some(self.counted_per_minute),
            Figure::ResponseS => match kind {
                Some(kind) => self.responses_s.get(kind).copied(),
                None => Some(self.response_s),
            },
            Figure::TpsPerThousand => self.tps_per_thousand,
            Figure::HitRatio => Some(self.hit_ratio),
            Figure::RequestsPerSecond => Some(self.requests_per_second),
            Figure::WritesPerRead => self.writes_per_read,
            Figure::CpuBusy => Some(self.cpu_busy),
            Figure::Watts => self.watts,
            Figure::JoulesPerTransaction => Some(self.watts? / self.tps),
            Figure::DeviationTps => Some(self.windows?.standard_deviation),
        }
    }
}

impl Predicted {
    /// What was predicted of cells, in their order; those that were not asked for are left
    /// out.
    pub(crate) fn of<'a>(
        &'a self,
        study: &'a Study,
        cells: &'a [Cell],
    ) -> impl Iterator<Item = &'a CellFigures> {
        cells.iter().filter_map(|cell| {
            let experiment = &study.experiments.get(cell.experiment)?.name;
            let is_this = |of: &&CellFigures| of.experiment == *experiment && of.cell == *cell;
            self.cells.iter().find(is_this)
        })
    }
}

impl Study {
    /// The cells that a place of a claim or chart names.
    pub(crate) fn cells(
        &self,
        experiment: &str,
        place: &Place,
        free: &[Axis],
    ) -> Result<Vec<Cell>, StudyError> {
        let name = place.experiment.as_deref().unwrap_or(experiment);
        let number = self.experiments.iter().position(|of| of.name == name);
        let number =
            number.ok_or_else(|| self.invalid(format!("it has no experiment '{name}'")))?;
        let cells = self.experiments[number].cells_at(place, free);
        let cells = cells.map_err(|reason| self.invalid(format!("experiment {name}: {reason}")))?;
        let with_number = |cell| Cell {
            experiment: number,
            ..cell
        };
        Ok(cells.into_iter().map(with_number).collect())
    }

    /// All cells that claims and charts want.
    fn wanted(&self) -> Result<Vec<Cell>, StudyError> {
        let mut wanted = BTreeSet::new();
        for claim in &self.claims {
            let Some(experiment) = &claim.experiment else {
                continue;
            };
            for place in std::iter::once(&claim.at).chain(&claim.over) {
                wanted.extend(self.cells(experiment, place, &claim.axes())?);
            }
        }
        for chart in &self.charts {
            let axes = [chart.along, chart.lines];
            wanted.extend(self.cells(&chart.experiment, &chart.at, &axes)?);
        }
        Ok(wanted.into_iter().collect())
    }

    /// These, with those together that one warm system serves: by its devices, and then by
    /// numbers of clients, the smallest first.
    fn groups(&self) -> Result<Vec<Vec<Cell>>, StudyError> {
        let mut groups: BTreeMap<_, Vec<Cell>> = BTreeMap::new();
        for (number, cell) in self.wanted()?.into_iter().enumerate() {
            let shares = self.experiments[cell.experiment].is_one_system.is_some();
            let alone = if shares { None } else { Some(number) };
            let system = (
                cell.experiment,
                cell.page_size,
                cell.memory,
                cell.cpus,
                alone,
            );
            groups.entry(system).or_default().push(cell);
        }
        Ok(groups.into_values().collect())
    }
}

impl Claim {
    /// What varies among the cells of one of its figures.
    pub(crate) fn axes(&self) -> Vec<Axis> {
        let has_lines = matches!(self.shape, Some(Shape::Apart | Shape::ApartBy));
        let lines = has_lines.then_some(Axis::PageSize);
        self.along.into_iter().chain(lines).collect()
    }
}

/// How far it is: how many of how many steps are done, and what is next. It answers whether
/// to go on.
pub type Progress<'a> = dyn Fn(usize, usize, &str) -> bool + Sync + 'a;

/// Asks the models for all cells of a study, and simulates the published figures of its
/// devices where `devices`. So many `threads` work at the same time; the result is the same
/// with any number.
///
/// # Errors
/// A study that names what is not modeled, [`StudyError::Predict`], [`StudyError::Stopped`].
pub fn predict(
    study: &Study,
    devices: bool,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Predicted, StudyError> {
    let groups = study.groups()?;
    let entries: Vec<Entry> = match devices {
        true => entries(study)?,
        false => Vec::new(),
    };
    let total = groups.len() + entries.len();
    let workloads: Result<Vec<_>, StudyError> = study.experiments.iter().map(workload).collect();
    let workloads = workloads?;
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stopped = AtomicBool::new(false);
    let results = Mutex::new((BTreeMap::new(), BTreeMap::new()));
    let failure = Mutex::new(None);
    let step = |number: usize| -> Result<(), StudyError> {
        match groups.get(number) {
            Some(cells) => {
                let place = cells[0].experiment;
                let experiment = &study.experiments[place];
                let mut figures = figures(experiment, workloads[place].as_ref(), cells)?;
                if let Some(prices) = study.value.as_ref().filter(|of| of.experiment == experiment.name) {
                    for of in &mut figures {
                        let cost = prices.cost(&of.cell);
                        of.tps_per_thousand = cost.and_then(|cost| per_thousand(of.tps, cost));
                    }
                }
                lock(&results).0.insert(number, figures);
            }
            None => {
                let entry = &entries[number - groups.len()];
                let compared: Result<Vec<_>, _> = entry
                    .published
                    .iter()
                    .map(|published| published.compare(entry, SEED))
                    .collect();
                lock(&results).1.insert(entry.name.clone(), compared?);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        break;
                    }
                    let name = match groups.get(number) {
                        Some(cells) => cells[0].to_string(),
                        None => format!("device {}", entries[number - groups.len()].name),
                    };
                    let goes_on = progress(done.load(Ordering::Relaxed), total, &name);
                    let result = match goes_on {
                        true => step(number),
                        false => Err(StudyError::Stopped),
                    };
                    if let Err(error) = result {
                        stopped.store(true, Ordering::Relaxed);
                        lock(&failure).get_or_insert(error);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    if let Some(error) = lock(&failure).take() {
        return Err(error);
    }
    let (cells, devices) = std::mem::take(&mut *lock(&results));
    Ok(Predicted {
        cells: cells.into_values().flatten().collect(),
        devices: devices.into_iter().collect(),
    })
}

/// Nobody panics while holding one.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The devices of the catalog that a study measured.
fn entries(study: &Study) -> Result<Vec<Entry>, StudyError> {
    let all: Result<Vec<Entry>, _> = catalog::names().map(catalog::find).collect();
    let of_study =
        |entry: &Entry| entry.study.as_deref() == Some(&study.name) && !entry.published.is_empty();
    Ok(all?.into_iter().filter(of_study).collect())
}

fn workload(experiment: &Experiment) -> Result<Box<dyn Workload>, StudyError> {
    let name: WorkloadName = experiment.workload.parse()?;
    let rows: Vec<(&str, u64)> = experiment
        .rows
        .iter()
        .map(|(name, value)| (name.as_str(), value.value))
        .collect();
    let invalid = |reason| StudyError::Invalid {
        study: experiment.name.clone(),
        reason,
    };
    let data = name.data_spec(&rows)?;
    let text = |of: &Option<Sourced<String>>| of.as_ref().map(|of| of.value.clone());
    let mix = text(&experiment.mix);
    if experiment.is_uniform.as_ref().is_some_and(|of| of.value) {
        let warehouses = u32::try_from(data.scale());
        let warehouses = warehouses.map_err(|_| invalid("too many warehouses".into()))?;
        let tpcc = Tpcc::new(warehouses, SEED)?.with_uniform_numbers();
        let mix = mix.map(|mix| Mix::parse(&mix, tpcc.transactions()));
        let mix = mix
            .transpose()
            .map_err(|error| invalid(error.to_string()))?;
        return Ok(match mix {
            Some(mix) => Box::new(tpcc.with_mix(mix)),
            None => Box::new(tpcc),
        });
    }
    let distribution = text(&experiment.distribution);
    let distribution = distribution.map(|text| {
        text.parse()
            .map_err(|error| invalid(format!("{text}: {error}")))
    });
    let spec = WorkloadSpec {
        mix,
        distribution: distribution.transpose()?,
        ..WorkloadSpec::new(name, data, SEED)
    };
    Ok(spec.build()?)
}

/// What is predicted of an experiment's database on a device that rotates or not.
fn model(experiment: &Experiment, rotates: bool) -> Result<octavo_predict::Model, StudyError> {
    let kind = Registry::with_models().find(&experiment.database)?;
    let options = experiment.options.iter();
    let options = options.map(|(name, value)| (name.clone(), value.value.clone()));
    let spec = DatabaseSpec::new(kind, options.collect())?;
    let database = TestedDatabase {
        name: kind.name.to_owned(),
        version: String::new(),
        options: spec.options().to_vec(),
        default_page_size: kind.page_sizes.default,
    };
    Ok(model_of(&database, rotates)?)
}

/// Transactions of a step of the warm-up. Chosen.
const STEP: u64 = 500;

/// What is left free beside the data: logs, and what transactions add.
const ROOM: ByteCount = ByteCount::mib(2048);

/// What cells give that one system serves one after the other.
fn figures(
    experiment: &Experiment,
    workload: &dyn Workload,
    cells: &[Cell],
) -> Result<Vec<CellFigures>, StudyError> {
    let first = &cells[0];
    let failed = |cell: &Cell| {
        let cell = format!("{}: {cell}", experiment.name);
        |source| StudyError::Predict { cell, source }
    };
    let clients_max = cells.iter().map(|cell| cell.clients).max();
    let open = |cell: &Cell| -> Result<(Setup, Box<dyn Device + Send>), StudyError> {
        let entry = catalog::find(&cell.device)?;
        let setup = Setup {
            model: model(experiment, entry.rotates())?,
            page_size: cell.page_size,
            memory: cell.memory,
            clients: clients_max.unwrap_or(cell.clients),
            processors: cell.cpus,
            seed: SEED,
            cpu: experiment.cpu.cost(),
            slowness: Slowness::default(),
        };
        let pages = setup.model.sizes(workload, cell.page_size);
        let pages: u64 = pages.iter().map(|object| object.pages).sum();
        let data = ByteCount::new(pages * u64::from(cell.page_size.get()) / 10 * 12);
        let entry = entry.holding(data.saturating_add(ROOM));
        Ok((setup, entry.open(SEED.derive("device", 0))))
    };
    let (setup, device) = open(first)?;
    let mut system = System::new(workload, &setup, device).map_err(failed(first))?;
    warm_up(experiment, &mut system).map_err(failed(first))?;
    let mut all = Vec::new();
    let mut device = &first.device;
    for cell in cells {
        if cell.device != *device {
            let (_, other) = open(cell)?;
            system.exchange_device(other).map_err(failed(cell))?;
            device = &cell.device;
        }
        system.set_clients(cell.clients);
        let draws = draws(experiment, &catalog::find(&cell.device)?)?;
        let figures = count(experiment, workload, cell, draws, &mut system);
        all.push(figures.map_err(failed(cell))?);
    }
    Ok(all)
}

/// Has as many transactions executed as fill the buffer so many times, or as many as there
/// may be, or until nothing is missed.
fn warm_up(experiment: &Experiment, system: &mut System) -> Result<(), PredictError> {
    let fills = experiment.warm_up_fills.as_ref().map(|of| of.value);
    let enough = fills.map_or(f64::INFINITY, |fills| fills * system.frames() as f64);
    let (mut misses, mut latest, mut done) = (0u64, 1, 0);
    while done < *experiment.warm_up && (misses as f64) < enough && latest > 0 {
        let step = STEP.min(*experiment.warm_up - done);
        latest = 0;
        system.run(step, &mut |one| latest += one.referred.misses)?;
        misses += latest;
        done += step;
    }
    Ok(())
}

/// What machine and device draw, where both are known.
fn draws(
    experiment: &Experiment,
    device: &Entry,
) -> Result<Option<(MachinePower, Draw)>, StudyError> {
    let Some(machine) = &experiment.machine else {
        return Ok(None);
    };
    let power = catalog::machine::find(machine)?.power();
    Ok(device.draw().map(|draw| (power, draw)))
}

/// Counts what the next transactions give.
fn count(
    experiment: &Experiment,
    workload: &dyn Workload,
    cell: &Cell,
    draws: Option<(MachinePower, Draw)>,
    system: &mut System,
) -> Result<CellFigures, PredictError> {
    let kinds = workload.transactions();
    let mut by_kind: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let (mut counted, mut cpu_ns, mut hits, mut misses) = (0u64, 0u64, 0u64, 0u64);
    let (mut read, mut written) = (0u64, 0u64);
    let before = system.device_counters();
    let transactions = *experiment.transactions;
    let mut each = |done: &Done| {
        let (count, ns) = by_kind.entry(done.kind).or_default();
        *count += 1;
        *ns += done.elapsed_ns;
        let is_counted = done.outcome == Outcome::Committed && kinds[done.kind].counted;
        counted += u64::from(is_counted);
        cpu_ns += done.cpu_ns;
        hits += done.referred.hits;
        misses += done.referred.misses;
        read += done.asked(Purpose::Read).requests;
        written += done.asked(Purpose::Checkpoint).requests;
        written += done.asked(Purpose::Background).requests;
    };
    let elapsed_ns = system.run(transactions, &mut each)?;
    let did = system.device_counters().since(&before);
    let elapsed_s = elapsed_ns as f64 / 1e9;
    let tps = transactions as f64 / elapsed_s;
    // Little's law, of those who wait to be let in.
    let waits_s = experiment.under_way.as_ref().map_or(0.0, |under_way| {
        (under_way.value - f64::from(cell.clients)).max(0.0) / tps
    });
    let response = |(kind, (count, ns)): (usize, (u64, u64))| {
        (kinds[kind].name, ns as f64 / count as f64 / 1e9 + waits_s)
    };
    let windows = match &experiment.windows {
        Some(windows) => {
            let windows = Windows::of_ten_seconds(windows.value);
            system.spread(windows, &mut |_| true)?
        }
        None => None,
    };
    let elapsed = Duration::from_nanos(elapsed_ns);
    let watts = draws.map(|(machine, device)| {
        let energy = machine.energy(
            elapsed,
            Duration::from_nanos(cpu_ns),
            Some(device.energy(elapsed, did.busy_ns)),
        );
        energy.joules / elapsed_s
    });
    Ok(CellFigures {
        experiment: experiment.name.clone(),
        cell: cell.clone(),
        tps,
        counted_per_minute: counted as f64 * 60.0 / elapsed_s,
        response_s: waits_s
            + by_kind.values().map(|(_, ns)| *ns as f64).sum::<f64>()
                / 1e9
                / transactions as f64,
        responses_s: by_kind.into_iter().map(response).collect(),
        hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
        requests_per_second: (did.reads + did.writes) as f64 / elapsed_s,
        reads_per_transaction: read as f64 / transactions as f64,
        writes_per_read: (read > 0).then(|| written as f64 / read as f64),
        cpu_busy: cpu_ns as f64 / 1e9 / elapsed_s / f64::from(cell.cpus),
        device_busy: (did.busy_ns as f64 / 1e9 / elapsed_s).min(1.0),
        watts,
        windows,
        tps_per_thousand: None,
    })
}
