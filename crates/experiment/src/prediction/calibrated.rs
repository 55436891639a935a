//! What measured results say of a machine.

use std::{cmp::Reverse, path::Path, thread, time::Duration};

use octavo_database::{Counters, DatabaseError};
use octavo_device::profile::Profile;
use octavo_predict::{CpuCost, Miniature, Setup, Timing, TransactionCost};
use octavo_units::PageSize;
use octavo_workload::{Workload, WorkloadError, user::OwnScript};

use super::{
    Cpu, Slowness,
    fit::{FitError, FitTarget},
    rotates,
};
use crate::{
    lockstep::{self, Slice},
    plan::{Cell, Plan},
    record::Source,
    store::{Store, StoreError},
};

/// What measured results say of the machine.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// What the processor takes for the workload's transactions; `None` where the storage alone
    /// was asked about.
    pub cpu: Option<Cpu>,
    /// The processors that clients and database shared.
    pub processors: u32,
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
    #[error("it has no {0}: name results of octavo advise with the same database and workload")]
    Lacks(String),
    /// The database is not modeled.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The workload cannot be had.
    #[error(transparent)]
    Workload(WorkloadError),
    /// What was measured cannot be modeled.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Nobody calibrated the storage.
    #[error("it has no calibrated storage: repeat octavo advise without --no-calibrate")]
    NotCalibrated,
    /// They were predicted themselves.
    #[error("its results are not measured: name those of octavo advise")]
    NotMeasured,
}

impl Calibrated {
    /// What the results in the store at `path` say of the workload and the database of a
    /// plan. Of what was measured with the database's default page size alone: with as
    /// many clients as the plan has, or else with others, and the largest memory.
    ///
    /// What a transaction takes beyond its waits is known of one client of a database that
    /// tells all of them. Of one that tells no wait it is the time in user mode with the
    /// kernel's share; else it is what makes the model as fast as the database was.
    ///
    /// # Errors
    /// See [`CalibratedError`].
    pub fn by(path: &Path, plan: &Plan) -> Result<Self, CalibratedError> {
        Self::from_store(&Store::open(path)?, plan, &path.display().to_string())
    }

    /// Likewise of the user's own statements, which the results have measured and `replayed` has
    /// the pages of; `None` where they have measured others.
    pub(crate) fn by_own(
        path: &Path,
        plan: &Plan,
        replayed: &dyn Workload,
    ) -> Result<Option<Self>, CalibratedError> {
        let store = Store::open(path)?;
        let measured = store.plan()?.and_then(|plan| plan.own);
        let (Some(measured), Some(own)) = (measured, &plan.own) else {
            return Ok(None);
        };
        // The file may have changed since, and scripts may have other names.
        let is_same = |(a, b): (&OwnScript, &OwnScript)| {
            (a.weight, a.fingerprint) == (b.weight, b.fingerprint)
        };
        if measured.copy.name != own.copy.name
            || measured.scripts.len() != own.scripts.len()
            || !measured.scripts.iter().zip(&own.scripts).all(is_same)
        {
            return Ok(None);
        }
        let from = path.display().to_string();
        Self::of_replayed(&store, plan, &from, Some(replayed)).map(Some)
    }

    /// Likewise of a store that is open, which is called `from` in words.
    pub(crate) fn from_store(
        store: &Store,
        plan: &Plan,
        from: &str,
    ) -> Result<Self, CalibratedError> {
        Self::of_replayed(store, plan, from, None)
    }

    /// Likewise, with a workload that is modeled in place of the one that the plan names.
    fn of_replayed(
        store: &Store,
        plan: &Plan,
        from: &str,
        replayed: Option<&dyn Workload>,
    ) -> Result<Self, CalibratedError> {
        let lacks = |what: &str| CalibratedError::Lacks(what.to_owned());
        let measured = store.plan()?.ok_or_else(|| lacks("plan"))?;
        if store.source()? != Some(Source::Measured) {
            return Err(CalibratedError::NotMeasured);
        }
        let database = &plan.databases[0];
        let profile = store.calibration()?.map(|text| Profile::from_toml(&text));
        let profile = profile.and_then(Result::ok);
        let rotates = profile.as_ref().is_none_or(rotates);
        let model = database.model(rotates)?;
        let kind = model.kind();
        let cell = MeasuredCell::nearest(store, &measured, plan)?;
        let (chosen, each) = (&cell.cell, &cell.each[..]);
        let (size, processors) = (chosen.page_size, cell.processors);
        let log_bytes = median(each, |one| one.log_bytes);
        let read_bytes = median(each, |one| one.read_bytes);
        // One client has nobody to wait for.
        let is_known = chosen.clients == 1 && kind.timing == Timing::Everything;
        let cpu = |other_ns: f64| {
            let source = format!(
                "{:.0} µs a transaction beyond waits with {size} pages, {} in {from}",
                other_ns / 1e3,
                match chosen.clients {
                    1 => "of one client".to_owned(),
                    clients => format!("of {clients} clients"),
                }
            );
            let cost = TransactionCost {
                other_ns,
                log_bytes,
                read_bytes,
            };
            Cpu::measured(cost, kind, cell.workload.as_ref(), source)
        };
        let other_ns = match is_known {
            true => median(each, |one| one.other_ns),
            // In steps of 10 ms.
            false => mean(each, |one| one.cpu_ns),
        };
        let Some(profile) = profile else {
            if !is_known {
                return Err(lacks(
                    "calibrated storage, which a server's times are fitted with",
                ));
            }
            return Ok(Self {
                cpu: Some(cpu(other_ns)),
                processors,
                storage: None,
            });
        };
        let transactions = each.iter().map(|one| one.transactions).sum::<f64>() as u64;
        let reference = FitTarget {
            workload: replayed.unwrap_or(cell.workload.as_ref()),
            setup: Setup {
                model,
                miniature: Miniature::WHOLE,
                page_size: size,
                memory: database.make()?.buffer(chosen.memory)?,
                clients: chosen.clients,
                processors,
                seed: measured.seed,
                cpu: CpuCost::default(),
                weights: cpu(1.0).weights,
                slowness: Slowness::default(),
            },
            profile: &profile,
            device_seed: measured.seed,
            counters: cell.counters,
            counted: transactions,
            elapsed_ns: mean(each, |one| one.elapsed_ns),
            warm_up_misses: cell.warm_up_misses / cell.sittings.max(1),
            transactions: transactions / cell.sittings.max(1),
            slice: (transactions / each.len() as u64).max(1),
        };
        let (cpu, slowness) = match is_known {
            true => {
                let cpu = cpu(other_ns);
                let slowness = reference.slowness(&cpu)?;
                (cpu, slowness)
            }
            // It tells what the processor took in user mode alone.
            false if kind.timing == Timing::UserMode => {
                reference.fit_storage(other_ns * beyond_user(cell.used), cpu)?
            }
            false => reference.fit(other_ns, cpu)?,
        };
        Ok(Self {
            cpu: Some(cpu),
            processors,
            storage: Some((Box::new(profile), slowness)),
        })
    }

    /// The storage that was calibrated with the results in the store at `path`, as it was by
    /// itself, whatever was measured on it.
    ///
    /// # Errors
    /// See [`CalibratedError`].
    pub fn storage_by(path: &Path) -> Result<Self, CalibratedError> {
        let store = Store::open(path)?;
        let profile = store.calibration()?.map(|text| Profile::from_toml(&text));
        let profile = profile
            .and_then(Result::ok)
            .ok_or(CalibratedError::NotCalibrated)?;
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u32);
        Ok(Self {
            cpu: None,
            processors,
            storage: Some((Box::new(profile), Slowness::default())),
        })
    }
}

/// A cell that was measured, all copies of it together.
struct MeasuredCell {
    cell: Cell,
    workload: Box<dyn Workload>,
    /// Its slices of passes that count, at least one.
    each: Vec<SliceCosts>,
    /// What these waited for, and how many checkpoints they had.
    counters: Counters,
    warm_up_misses: u64,
    sittings: u64,
    /// Shares of all processors' time: in user mode and in the kernel, of all sittings.
    used: [f64; 2],
    /// Those that clients and database shared.
    processors: u32,
}

impl MeasuredCell {
    /// The one of a store that is nearest to what a plan has, with the database's default page
    /// size.
    fn nearest(store: &Store, measured: &Plan, plan: &Plan) -> Result<Self, CalibratedError> {
        let cells = measured.cells();
        let slices = store.slices()?;
        let has_slices = |slice: &&Slice| slice.spent.is_some();
        let with_slices = slices.iter().filter(has_slices);
        let with_slices = with_slices.filter_map(|slice| cells.get(slice.key.cell));
        let chosen = nearest(with_slices, measured, plan).ok_or_else(|| {
            let (workload, database) = (plan.workload, &plan.databases[0]);
            CalibratedError::Lacks(format!(
                "{workload} on {} with {} pages and the same options",
                database.name, database.default_page_size
            ))
        })?;
        let is_chosen = |number: usize| {
            let cell = cells.get(number).map(|cell| Cell {
                copy: chosen.copy,
                ..cell.clone()
            });
            cell.as_ref() == Some(chosen)
        };
        let workload = measured
            .workload(chosen.data)
            .map_err(CalibratedError::Workload)?;
        // What a storm on the storage disturbed says nothing of how fast that is, as in a
        // comparison.
        let own = |slice: &&Slice| is_chosen(slice.key.cell);
        let mut counted: Vec<&Slice> = lockstep::counted(&slices).filter(own).collect();
        if counted.is_empty() {
            counted = slices.iter().filter(own).collect();
        }
        let each = counted.iter();
        let each = each.filter_map(|slice| SliceCosts::from_slice(slice, chosen.page_size));
        let all_transactions = slices.iter().filter(own).map(|slice| slice.transactions);
        let share = counted.iter().map(|slice| slice.transactions).sum::<u64>() as f64
            / all_transactions.sum::<u64>().max(1) as f64;
        let mut all = Self {
            cell: chosen.clone(),
            each: each.collect(),
            counters: waited(&counted),
            warm_up_misses: 0,
            sittings: 0,
            used: [0.0; 2],
            processors: 0,
            workload,
        };
        let mut processors = chosen.cpus;
        let mut checkpoints = 0;
        for run in store.runs(all.workload.transactions())? {
            if let Some(figures) = run.figures().filter(|_| is_chosen(run.key.cell)) {
                checkpoints += figures.load.counters.checkpoints;
                all.warm_up_misses += figures.load.warm_up_misses;
                all.sittings += 1;
                let machine = &figures.machine;
                let shares = [machine.user, machine.system];
                all.used = std::array::from_fn(|share| all.used[share] + shares[share]);
                let cpus = machine.cpus as u32;
                processors = processors.or(Some(cpus)).filter(|count| *count > 0);
            }
        }
        // Slices do not count them.
        all.counters.checkpoints = (checkpoints as f64 * share).round() as u64;
        all.processors = processors.unwrap_or(Cpu::CATALOG_PROCESSORS);
        Ok(all)
    }
}

/// What slices waited for, as a database would have counted it of them alone.
fn waited(slices: &[&Slice]) -> Counters {
    let spent = slices.iter().filter_map(|slice| slice.spent);
    spent.fold(Counters::default(), |all, spent| Counters {
        read_time: all.read_time + spent.read.unwrap_or_default(),
        log_write_time: all.log_write_time + spent.log_write.unwrap_or_default(),
        log_sync_time: all.log_sync_time + spent.log_sync.unwrap_or_default(),
        checkpoint_time: all.checkpoint_time + spent.checkpoint,
        ..all
    })
}

/// Of cells that were measured the one with as many clients as a plan has, or else with about
/// as many, and the largest memory.
fn nearest<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    measured: &Plan,
    plan: &Plan,
) -> Option<&'a Cell> {
    let database = &plan.databases[0];
    let is_mixed = measured.mix != plan.mix || measured.distribution != plan.distribution;
    if measured.workload != plan.workload || is_mixed {
        return None;
    }
    let is_like = |cell: &&Cell| {
        let Cell { database: of, .. } = cell;
        // What was calibrated is the first storage.
        of.is_configured_like(database)
            && cell.page_size == database.default_page_size
            && cell.storage == measured.storages[0]
    };
    cells.filter(is_like).max_by_key(|cell| {
        let apart = cell.clients.abs_diff(plan.clients[0]);
        (Reverse(apart), cell.memory)
    })
}

/// How much longer than in user mode transactions took of the processors, since the kernel
/// worked for them. `used` are shares of the time in user mode and in the kernel.
fn beyond_user([user, system]: [f64; 2]) -> f64 {
    match user > 0.0 {
        true => (user + system) / user,
        false => 1.0,
    }
}

/// What a slice of transactions took.
struct SliceCosts {
    elapsed_ns: f64,
    /// Beyond the waits that the database times, if one client executed them.
    other_ns: f64,
    cpu_ns: f64,
    log_bytes: f64,
    read_bytes: f64,
    transactions: f64,
}

impl SliceCosts {
    fn from_slice(slice: &Slice, size: PageSize) -> Option<Self> {
        let spent = slice.spent?;
        let waits = [spent.read, spent.log_write, spent.log_sync];
        let waited = waits.into_iter().flatten().sum::<Duration>() + spent.checkpoint;
        let ns = |time: Duration| time.as_nanos() as f64;
        Some(Self {
            elapsed_ns: ns(slice.elapsed),
            other_ns: ns(slice.elapsed.saturating_sub(waited)),
            cpu_ns: ns(spent.cpu),
            log_bytes: slice.log_bytes.get() as f64,
            read_bytes: slice.misses as f64 * f64::from(size.get()),
            transactions: slice.transactions.max(1) as f64,
        })
    }
}

/// The median over slices of what a transaction took.
fn median(all: &[SliceCosts], of: impl Fn(&SliceCosts) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(|one| of(one) / one.transactions).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The mean over all of what a transaction took.
fn mean(all: &[SliceCosts], of: impl Fn(&SliceCosts) -> f64) -> f64 {
    let transactions: f64 = all.iter().map(|one| one.transactions).sum();
    all.iter().map(of).sum::<f64>() / transactions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::{SessionTime, slice::tests::slice};

    #[test]
    fn waits_are_those_of_the_slices_alone() {
        let millis = Duration::from_millis;
        let spent = SessionTime {
            read: Some(millis(5)),
            log_write: None,
            log_sync: Some(millis(3)),
            checkpoint: millis(2),
            cpu: millis(1),
        };
        let one = Slice {
            spent: Some(spent),
            ..slice(0, 0, 0)
        };
        let unknown = Slice {
            spent: None,
            ..slice(0, 1, 0)
        };
        let all = waited(&[&one, &unknown, &one]);
        let times = [
            all.read_time,
            all.log_write_time,
            all.log_sync_time,
            all.checkpoint_time,
        ];
        assert_eq!(times, [10, 0, 6, 4].map(millis));
    }
}
