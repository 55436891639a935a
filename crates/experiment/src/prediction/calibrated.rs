//! What measured results say of a machine.

use std::{path::Path, time::Duration};

use octavo_database::{Counters, DatabaseError};
use octavo_device::{DeviceError, profile::Profile, profiled::ProfiledError};
use octavo_predict::Model;
use octavo_workload::WorkloadError;

use super::{Cpu, PredictedDevice, Slowness, model_of, slowness::slowness};
use crate::{
    plan::{Cell, Plan},
    record::Source,
    store::{Store, StoreError},
};

/// What measured results say of the machine.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// What the processor takes for the workload's transactions.
    pub cpu: Cpu,
    /// The storage that was calibrated with them, and how much slower it was under the
    /// database.
    pub storage: Option<(Box<Profile>, Slowness)>,
}

/// Why results say nothing for a prediction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibratedError {
    /// They cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are none of this kind.
    #[error(
        "it has no {0}: name results of octavo advise --clients 1 with the same database and workload"
    )]
    Lacks(String),
    /// The database is not modeled.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The workload cannot be had.
    #[error(transparent)]
    Workload(WorkloadError),
    /// The calibrated storage cannot be asked.
    #[error(transparent)]
    Profiled(#[from] ProfiledError),
    /// Likewise.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// They were predicted themselves.
    #[error("its results are not measured: name those of octavo advise")]
    NotMeasured,
}

impl Calibrated {
    /// What the results in the store at `path` say of the workload and the database of a
    /// plan: the median of what transactions took beyond their waits, with the
    /// database's default page size alone.
    ///
    /// # Errors
    /// See [`CalibratedError`].
    pub fn by(path: &Path, plan: &Plan) -> Result<Self, CalibratedError> {
        Self::of(&Store::open(path)?, plan, &path.display().to_string())
    }

    /// Likewise of a store that is open, which is called `from` in words.
    pub(crate) fn of(store: &Store, plan: &Plan, from: &str) -> Result<Self, CalibratedError> {
        let lacks = |what: &str| CalibratedError::Lacks(what.to_owned());
        let measured = store.plan()?.ok_or_else(|| lacks("plan"))?;
        if store.source()? != Some(Source::Measured) {
            return Err(CalibratedError::NotMeasured);
        }
        let database = &plan.databases[0];
        let model = model_of(database)?;
        let (name, size) = (&database.name, database.default_page_size);
        let cells = measured.cells();
        let is_like = |cell: &Cell| {
            let is_same = cell.database.name == *name && cell.database.options == database.options;
            is_same && cell.page_size == size && cell.clients == 1
        };
        let workload = plan.workload.to_string();
        let is_mixed = measured.mix != plan.mix || measured.distribution != plan.distribution;
        if measured.workload != plan.workload || is_mixed || !cells.iter().any(is_like) {
            return Err(lacks(&format!(
                "{workload} by one client on {name} with {size} pages and the same options"
            )));
        }
        let mut each = Vec::new();
        let mut unseen = Duration::ZERO;
        for slice in store.slices()? {
            let Some(spent) = slice.spent.filter(|_| is_like(&cells[slice.key.cell])) else {
                continue;
            };
            let waited = match model {
                // It does not time what it waits for.
                Model::Innodb { .. } => slice.elapsed.saturating_sub(spent.cpu),
                _ => spent.read + spent.log_write + spent.log_sync + spent.checkpoint,
            };
            unseen += waited;
            each.push(Each {
                other_ns: slice.elapsed.saturating_sub(waited).as_nanos() as f64,
                log_bytes: slice.log_bytes.get() as f64,
                read_bytes: slice.misses as f64 * f64::from(size.get()),
                transactions: slice.transactions.max(1) as f64,
            });
        }
        if each.is_empty() {
            return Err(lacks("slices"));
        }
        let other_ns = match model {
            // A server's processor time comes in steps of 10 ms.
            Model::Innodb { .. } => mean(&each, |one| one.other_ns),
            _ => median(&each, |one| one.other_ns),
        };
        let log_bytes = median(&each, |one| one.log_bytes);
        let read_bytes = median(&each, |one| one.read_bytes);
        let source = format!(
            "{:.0} µs a transaction beyond waits with {size} pages, measured in {from}",
            other_ns / 1e3
        );
        let kinds = plan
            .workload(plan.data[0])
            .map_err(CalibratedError::Workload)?;
        let counters = store
            .runs(kinds.transactions())?
            .iter()
            .filter(|run| is_like(&cells[run.key.cell]))
            .filter_map(|run| Some(run.figures()?.load.counters))
            .fold(Counters::default(), |all, one| all + one);
        let profile = store.calibration()?.map(|text| Profile::from_toml(&text));
        let storage = match profile.and_then(Result::ok) {
            Some(profile) => {
                let device = PredictedDevice::Profile(Box::new(profile.clone()));
                let mut device = device.open(plan.seed)?;
                let slowness = slowness(&model, device.as_mut(), &counters, unseen)?;
                Some((Box::new(profile), slowness))
            }
            None => None,
        };
        Ok(Self {
            cpu: Cpu::measured(other_ns, log_bytes, read_bytes, source),
            storage,
        })
    }
}

/// What a slice of transactions took.
struct Each {
    other_ns: f64,
    log_bytes: f64,
    read_bytes: f64,
    transactions: f64,
}

/// The median over slices of what a transaction took.
fn median(all: &[Each], of: impl Fn(&Each) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(|one| of(one) / one.transactions).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The mean over all of what a transaction took.
fn mean(all: &[Each], of: impl Fn(&Each) -> f64) -> f64 {
    let transactions: f64 = all.iter().map(|one| one.transactions).sum();
    all.iter().map(of).sum::<f64>() / transactions
}
