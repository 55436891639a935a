//! Asking the models for the cells of a study.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use octavo_device::catalog::{self, Compared, Entry};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cell_figures::{CellFigures, SEED, figures, model, workload},
    claim::{Claim, Shape},
    error::StudyError,
    experiment::StudyCell,
    place::{Axis, Place},
    study::Study,
};

/// What the models say of a study.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Predicted {
    /// Of each cell.
    pub cells: Vec<CellFigures>,
    /// Of each device of the catalog that the study measured: published figures beside the
    /// model's.
    pub devices: Vec<(String, Vec<Compared>)>,
}

impl Predicted {
    /// What was predicted of cells, in their order; those that were not asked for are left
    /// out.
    pub(crate) fn of<'a>(
        &'a self,
        study: &'a Study,
        cells: &'a [StudyCell],
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
    ) -> Result<Vec<StudyCell>, StudyError> {
        let name = place.experiment.as_deref().unwrap_or(experiment);
        let number = self.experiments.iter().position(|of| of.name == name);
        let number =
            number.ok_or_else(|| self.invalid(format!("it has no experiment '{name}'")))?;
        let cells = self.experiments[number].cells_at(place, free);
        let cells = cells.map_err(|reason| self.invalid(format!("experiment {name}: {reason}")))?;
        let with_number = |cell| StudyCell {
            experiment: number,
            ..cell
        };
        Ok(cells.into_iter().map(with_number).collect())
    }

    /// All cells that claims and charts want.
    fn wanted(&self) -> Result<Vec<StudyCell>, StudyError> {
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

    /// These, with those together that one warm system serves: by its devices in
    /// their order, and then by numbers of clients, the smallest first.
    fn groups(&self) -> Result<Vec<Vec<StudyCell>>, StudyError> {
        let mut groups: BTreeMap<_, Vec<StudyCell>> = BTreeMap::new();
        for (number, cell) in self.wanted()?.into_iter().enumerate() {
            let experiment = &self.experiments[cell.experiment];
            let shares = experiment.is_one_system.is_some();
            let alone = if shares { None } else { Some(number) };
            // Some databases work otherwise on what rotates.
            let rotates = octavo_storage::entry::named(&cell.device)?.rotates();
            let model = format!("{:?}", model(experiment, rotates)?);
            let system = (
                cell.experiment,
                cell.page_size,
                cell.memory,
                cell.cpus,
                model,
                alone,
            );
            groups.entry(system).or_default().push(cell);
        }
        for cells in groups.values_mut() {
            let devices = &self.experiments[cells[0].experiment].device;
            let place = |cell: &StudyCell| devices.iter().position(|device| *device == cell.device);
            cells.sort_by_key(|cell| (place(cell), cell.clients));
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

/// How far it is: how many of how many steps are done, and what is next. It returns false to
/// stop.
pub type Progress<'a> = dyn Fn(usize, usize, &str) -> bool + Sync + 'a;

/// Asks the models for all cells of a study, and simulates the published figures of its
/// devices. So many `threads` work at the same time; the result is the same
/// with any number.
///
/// # Errors
/// A study that names what is not modeled, [`StudyError::Predict`], [`StudyError::Stopped`].
pub fn predict(
    study: &Study,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Predicted, StudyError> {
    let entries = entries(study)?;
    carry_out(study, study.groups()?, &entries, threads, progress)
}

/// The same of the cells of some experiments alone, by their places in the study, and of no
/// devices.
pub(crate) fn predict_experiments(
    study: &Study,
    experiments: &[usize],
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Predicted, StudyError> {
    let mut groups = study.groups()?;
    groups.retain(|cells| experiments.contains(&cells[0].experiment));
    carry_out(study, groups, &[], threads, progress)
}

fn carry_out(
    study: &Study,
    groups: Vec<Vec<StudyCell>>,
    entries: &[Entry],
    threads: usize,
    progress: &Progress<'_>,
) -> Result<Predicted, StudyError> {
    let total = groups.len() + entries.len();
    let workloads: Result<Vec<_>, StudyError> = study.experiments.iter().map(workload).collect();
    let workloads = workloads?;
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stopped = AtomicBool::new(false);
    let results = Mutex::new((BTreeMap::new(), BTreeMap::new()));
    let failure = Mutex::new(None);
    let step = |number: usize, flow: &dyn Fn() -> ControlFlow<()>| -> Result<(), StudyError> {
        match groups.get(number) {
            Some(cells) => {
                let place = cells[0].experiment;
                let experiment = &study.experiments[place];
                let mut figures = figures(experiment, workloads[place].as_ref(), cells, flow)?;
                let prices = study.value.as_ref();
                if let Some(prices) = prices.filter(|of| of.experiment == experiment.name) {
                    figures.iter_mut().for_each(|of| of.set_prices(prices));
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
                    let flow = || {
                        let goes_on = progress(done.load(Ordering::Relaxed), total, &name);
                        match goes_on && !stopped.load(Ordering::Relaxed) {
                            true => ControlFlow::Continue(()),
                            false => ControlFlow::Break(()),
                        }
                    };
                    let result = match flow() {
                        ControlFlow::Continue(()) => step(number, &flow),
                        ControlFlow::Break(()) => Err(StudyError::Stopped),
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

/// What a poisoned lock guards is still whole: results are put in at once.
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
