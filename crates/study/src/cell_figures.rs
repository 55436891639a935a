//! What the model of a database does in the cells of an experiment.

use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

use octavo_device::{Device, catalog::Entry, machine::MachinePower, power::Draw, sourced::Sourced};
use octavo_experiment::value::per_thousand;
use octavo_predict::{Done, Miniature, PredictError, Purpose, Setup, Slowness, System, Windows};
use octavo_storage::entry;
use octavo_units::{ByteCount, Seed, spread::Spread};
use octavo_workload::{Mix, Tpcc, Workload, WorkloadName, WorkloadSpec};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    claim::Figure,
    error::StudyError,
    experiment::{Experiment, StudyCell},
    study::StudyPrices,
};

/// What everything random of a study's predictions follows.
pub(crate) const SEED: Seed = Seed::new(1);

/// What a cell was predicted to do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellFigures {
    /// The experiment's name.
    pub experiment: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: StudyCell,
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
    /// Requests that read pages, a transaction.
    pub reads_per_transaction: f64,
    /// Requests that write pages for each that reads one; `None` where none reads.
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
    /// Sets what the cell's throughput is worth.
    pub(crate) fn set_prices(&mut self, prices: &StudyPrices) {
        let cost = prices.cost(&self.cell);
        self.tps_per_thousand = cost.and_then(|cost| per_thousand(self.tps, cost));
    }

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

/// The workload of an experiment.
pub(crate) fn workload(experiment: &Experiment) -> Result<Box<dyn Workload>, StudyError> {
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
pub(crate) fn model(
    experiment: &Experiment,
    rotates: bool,
) -> Result<octavo_predict::Model, StudyError> {
    let options = experiment.options.iter();
    let options: Vec<(String, String)> = options
        .map(|(name, value)| (name.clone(), value.value.clone()))
        .collect();
    Ok(octavo_predict::model_of(
        &experiment.database,
        &options,
        rotates,
    )?)
}

/// Transactions of a step of the warm-up. Chosen.
const STEP: u64 = 500;
/// Steps in a row without a miss from which on nothing is missed: in one alone there is none
/// by chance while one transaction of a hundred still reads. Chosen.
const QUIET_STEPS: u32 = 20;

/// Transactions between two looks at whether somebody wants to stop. Chosen.
const LOOK: u64 = 256;

/// What cells give that one system serves one after the other, as long as `flow` does not say
/// to stop.
pub(crate) fn figures(
    experiment: &Experiment,
    workload: &dyn Workload,
    cells: &[StudyCell],
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<Vec<CellFigures>, StudyError> {
    let first = &cells[0];
    let failed = |cell: &StudyCell| {
        let cell = format!("{}: {cell}", experiment.name);
        |source| match source {
            PredictError::Stopped => StudyError::Stopped,
            source => StudyError::Predict { cell, source },
        }
    };
    let clients_max = cells.iter().map(|cell| cell.clients).max();
    let open = |cell: &StudyCell| -> Result<(Setup, Box<dyn Device + Send>), StudyError> {
        let entry = entry::named(&cell.device)?;
        let setup = Setup {
            model: model(experiment, entry.rotates())?,
            miniature: Miniature::WHOLE,
            page_size: cell.page_size,
            memory: cell.memory,
            clients: clients_max.unwrap_or(cell.clients),
            processors: cell.cpus,
            seed: SEED,
            cpu: experiment.cpu.cost(),
            weights: Vec::new(),
            slowness: Slowness::default(),
        };
        let pages = setup.model.sizes(workload, cell.page_size);
        let pages: u64 = pages.iter().map(|object| object.pages).sum();
        let data = ByteCount::new(pages * u64::from(cell.page_size.get()) / 10 * 12);
        let entry = entry.holding(data);
        Ok((setup, entry.open(SEED.derive("device", 0))))
    };
    let (setup, device) = open(first)?;
    let system = System::new_while(workload, &setup, device, flow);
    let mut system = system.map_err(failed(first))?;
    warm_up(experiment, &mut system, flow).map_err(failed(first))?;
    let mut all = Vec::new();
    let mut device = &first.device;
    for cell in cells {
        if cell.device != *device {
            let (_, other) = open(cell)?;
            system.exchange_device(other).map_err(failed(cell))?;
            device = &cell.device;
        }
        system.set_clients(cell.clients);
        let draws = draws(experiment, &entry::named(&cell.device)?)?;
        let figures = count(experiment, workload, cell, draws, &mut system, flow);
        all.push(figures.map_err(failed(cell))?);
    }
    Ok(all)
}

/// Has as many transactions executed as fill the buffer so many times, or as many as there
/// may be, or until nothing is missed.
fn warm_up(
    experiment: &Experiment,
    system: &mut System,
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<(), PredictError> {
    let fills = experiment.warm_up_fills.as_ref().map(|of| of.value);
    let enough = fills.map_or(f64::INFINITY, |fills| fills * system.frames() as f64);
    let (mut misses, mut quiet, mut done) = (0u64, 0, 0);
    while done < *experiment.warm_up && (misses as f64) < enough && quiet < QUIET_STEPS {
        if flow().is_break() {
            return Err(PredictError::Stopped);
        }
        let step = STEP.min(*experiment.warm_up - done);
        let before = misses;
        system.run(step, &mut |one| misses += one.referred.misses)?;
        quiet = if misses == before { quiet + 1 } else { 0 };
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
    let power = entry::named_machine(machine)?.power();
    Ok(device.draw().map(|draw| (power, draw)))
}

/// Counts what the next transactions give.
fn count(
    experiment: &Experiment,
    workload: &dyn Workload,
    cell: &StudyCell,
    draws: Option<(MachinePower, Draw)>,
    system: &mut System,
    flow: &dyn Fn() -> ControlFlow<()>,
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
        counted += u64::from(done.is_counted(kinds));
        cpu_ns += done.cpu_ns;
        hits += done.referred.hits;
        misses += done.referred.misses;
        read += done.asked(Purpose::Read).requests;
        written += done.asked(Purpose::Checkpoint).requests;
        written += done.asked(Purpose::Background).requests;
    };
    let (mut executed, mut goes_on) = (0u64, ControlFlow::Continue(()));
    let elapsed_ns = system.run_flowing(transactions, &mut |done| {
        each(done);
        executed += 1;
        if executed.is_multiple_of(LOOK) && goes_on.is_continue() {
            goes_on = flow();
        }
        goes_on
    })?;
    if goes_on.is_break() {
        return Err(PredictError::Stopped);
    }
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
            + by_kind.values().map(|(_, ns)| *ns as f64).sum::<f64>() / 1e9 / transactions as f64,
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
