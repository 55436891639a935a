//! Sittings of databases on storage.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use octavo_database::{Counters, DatabaseError, TreeCounters};
use octavo_driver::{
    Counts, DriverError, LoadSlice, Measurement, SliceSettings, SlicedLoad, WarmUpTotals,
};
use octavo_workload::{Audit, ConnectionError, Workload};

use super::Sitting;
use crate::{
    apart::{Apart, ApartLoad},
    error::CampaignError,
    limits::Asked,
    lockstep::{SessionTime, Slice, SliceKey},
    machine::{EnergyMeter, EnergyTotal, EnergyUse, MachineUse, MachineWatch, own_io_bytes},
    monitor::Monitor,
    record::{DeviceUse, Figures},
    run::{FreshCopy, FullStorage, LoadEnd, RunError, Started, Subject},
    watch::DeviceReading,
};

/// Open cells by their number.
pub(super) struct MeasuredSitting<'a> {
    pub(super) seats: BTreeMap<usize, Result<Seat<'a>, Option<CampaignError>>>,
    pub(super) monitor: &'a Monitor<'a>,
}

/// An open cell.
pub(super) struct Seat<'a> {
    subject: FreshCopy<'a>,
    workload: &'a dyn Workload,
    /// `None` once it was stopped.
    open: Option<(Started, Sessions)>,
    machine: MachineWatch,
    energy: EnergyMeter,
    /// What it had counted when the warm-up ended.
    energy_before: Option<EnergyTotal>,
    total: Total,
    asked: Option<Asked>,
    warm_up: Option<Total>,
    warm_up_failed: u64,
    counts: Option<Counts>,
    /// What was counted by table and index, and when the warm-up ended.
    trees: Vec<TreeCounters>,
    trees_before: Vec<TreeCounters>,
}

/// The sessions that drive a cell.
enum Sessions {
    /// In this process.
    Here(SlicedLoad),
    /// In that of their database.
    Apart(ApartLoad),
}

impl Sessions {
    fn slice(
        &mut self,
        transactions: u64,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<LoadSlice, DriverError> {
        match self {
            Self::Here(load) => load.slice(transactions, interrupted),
            Self::Apart(load) => load.slice(transactions, interrupted),
        }
    }

    fn take_counts(&mut self) -> Counts {
        match self {
            Self::Here(load) => load.take_counts(),
            Self::Apart(load) => load.take_counts(),
        }
    }

    fn close(self) -> Audit {
        match self {
            Self::Here(load) => load.close(),
            Self::Apart(load) => load.close(),
        }
    }
}

/// What a seat's slices gave together.
#[derive(Clone, Copy, Default)]
struct Total {
    elapsed: Duration,
    counters: Counters,
    device: Option<DeviceUse>,
}

impl<'a> Seat<'a> {
    /// Makes a copy, starts it and opens its sessions, which stand still.
    ///
    /// # Errors
    /// When the database cannot be started.
    pub(super) fn open(
        subject: FreshCopy<'a>,
        workload: &'a dyn Workload,
        settings: SliceSettings<'_>,
        isolation: Option<octavo_database::Isolation>,
    ) -> Result<Self, RunError> {
        let started = Started::start(&subject, workload, isolation)?;
        let load = SlicedLoad::open(started.running.as_ref(), settings)?;
        Self::of(subject, workload, started, Sessions::Here(load))
    }

    /// The same in a process of its own, which `start` starts on the copy.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn open_apart(
        mut subject: FreshCopy<'a>,
        workload: &'a dyn Workload,
        start: impl FnOnce() -> Result<Apart, DatabaseError>,
    ) -> Result<Self, RunError> {
        let begin = Instant::now();
        let restored_by = subject.restore()?;
        let Apart {
            running,
            load,
            conditions,
        } = start().map_err(|error| match error {
            DatabaseError::Connection(ConnectionError::Lost(why)) => {
                RunError::Died(why.to_string())
            }
            error => error.into(),
        })?;
        subject.told = conditions;
        let started = Started::of(Box::new(running), restored_by, begin);
        Self::of(subject, workload, started, Sessions::Apart(load))
    }

    fn of(
        subject: FreshCopy<'a>,
        workload: &'a dyn Workload,
        started: Started,
        load: Sessions,
    ) -> Result<Self, RunError> {
        started.running.freeze()?;
        Ok(Self {
            subject,
            workload,
            open: Some((started, load)),
            machine: MachineWatch::default(),
            energy: EnergyMeter::here(),
            energy_before: None,
            total: Total::default(),
            asked: None,
            warm_up: None,
            warm_up_failed: 0,
            counts: None,
            trees: Vec::new(),
            trees_before: Vec::new(),
        })
    }

    fn slice(
        &mut self,
        key: SliceKey,
        transactions: u64,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Slice, RunError> {
        let slice = self.try_slice(key, transactions, interrupted);
        slice.map_err(|error| {
            let death = self.open.as_ref();
            let death = death.and_then(|(started, _)| started.death_behind(&error));
            death.map_or(error, RunError::Died)
        })
    }

    fn try_slice(
        &mut self,
        key: SliceKey,
        transactions: u64,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Slice, RunError> {
        let Some((started, load)) = &mut self.open else {
            return Err(RunError::Measurement(DriverError::Stopped));
        };
        let running = started.running.as_ref();
        let location = self.subject.location;
        running.thaw()?;
        let before = (running.counters(), DeviceReading::now(location));
        let own_before = own_io_bytes();
        self.energy.start();
        let interrupted = || {
            let ends = interrupted();
            if ends {
                running.interrupt();
            }
            ends
        };
        let done = load.slice(transactions, &interrupted)?;
        let flushing = Instant::now();
        running.flush()?;
        let elapsed = done.elapsed + flushing.elapsed();
        self.energy.add();
        let counters = running.counters() - before.0;
        self.trees = running.tree_counters();
        let device = DeviceReading::now(location)
            .zip(before.1)
            .map(|(after, before)| after.since(&before));
        let own = own_io_bytes()
            .zip(own_before)
            .map(|(after, before)| after.saturating_sub(before));
        running.freeze()?;
        self.asked = Some(Asked {
            transactions: done.transactions,
            elapsed,
            device,
        });
        self.total.elapsed += elapsed;
        self.total.counters = self.total.counters + counters;
        self.total.device = match (self.total.device, device) {
            (Some(total), Some(device)) => Some(total.plus(&device)),
            (None, device) => device,
            (total, None) => total,
        };
        Ok(Slice {
            key,
            transactions: done.transactions,
            counted: done.counted,
            elapsed,
            response: done.response,
            spent: Some(SessionTime::from_counters(&counters, done.cpu)),
            misses: counters.buffer_misses,
            log_bytes: counters.log_written_bytes,
            foreign_bytes: device.map(|device| device.foreign(&counters, own)),
        })
    }

    fn end_warm_up(&mut self) -> u64 {
        self.machine.begin();
        self.energy_before = self.energy.so_far();
        self.warm_up = Some(std::mem::take(&mut self.total));
        self.trees_before.clone_from(&self.trees);
        let load = self.open.as_mut().map(|(_, load)| load);
        self.warm_up_failed = load.map_or(0, |load| load.take_counts().failed());
        self.warm_up_failed
    }

    /// What the load gave so far.
    fn measurement(&mut self) -> (Measurement, Option<DeviceUse>, MachineUse) {
        if let Some((_, load)) = &mut self.open {
            let counts = load.take_counts();
            match &mut self.counts {
                Some(all) => all.add(&counts),
                none => *none = Some(counts),
            }
        }
        self.machine.end();
        let warm_up = self.warm_up.unwrap_or_default();
        let counts = self.counts.clone();
        let load = Measurement::without_series(
            WarmUpTotals {
                elapsed: warm_up.elapsed,
                misses: warm_up.counters.buffer_misses,
                failed: self.warm_up_failed,
                is_full: warm_up.counters.buffer_misses >= self.subject.frames(),
            },
            self.total.elapsed,
            counts.unwrap_or_else(|| Counts::new(self.workload.transactions())),
            self.total.counters,
        );
        let machine = MachineUse {
            energy: self.energy(),
            ..self.machine.result()
        };
        (load, self.total.device, machine)
    }

    /// What the machine took within the slices since the warm-up, where it counts that.
    fn energy(&self) -> Option<EnergyUse> {
        let before = self.energy_before.unwrap_or_default();
        self.energy.so_far()?.since(&before)
    }

    /// What was done with each table and index since the warm-up.
    fn trees(&self) -> Vec<TreeCounters> {
        let trees = self.trees.iter();
        trees.map(|tree| tree.since(&self.trees_before)).collect()
    }

    fn figures(&mut self) -> Option<Figures> {
        let (load, device, machine) = self.measurement();
        let (started, _) = self.open.as_ref()?;
        Some(Figures {
            trees: self.trees(),
            ..started.so_far(&self.subject).figures(load, device, machine)
        })
    }

    /// Stops and checks it.
    fn leave(&mut self) -> Result<Figures, RunError> {
        let (mut load, device, machine) = self.measurement();
        let Some((started, sessions)) = self.open.take() else {
            return Err(RunError::Measurement(DriverError::Stopped));
        };
        // What is dead stays frozen, and has its end told below.
        let thawed = started.running.thaw();
        if started.running.death().is_none() {
            thawed?;
        }
        load.audit = sessions.close();
        let failed = load.counts.failed();
        let (load, around) = started.stop(
            &self.subject,
            self.workload,
            Ok(load),
            |_| LoadEnd::Whole,
            FullStorage::Fails,
            &|| false,
        )?;
        match failed {
            0 => Ok(Figures {
                trees: self.trees(),
                ..around.figures(load, device, machine)
            }),
            failed => Err(RunError::Failed(failed)),
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some((started, sessions)) = self.open.take() {
            // Nobody asks any more what became of it; a server that is left
            // frozen would not hear that it has to end.
            let _unheard = started.running.thaw();
            drop(sessions);
            let _unheard = started.running.stop();
        }
    }
}

impl MeasuredSitting<'_> {
    fn seat(&self, cell: usize) -> Option<&Seat<'_>> {
        self.seats.get(&cell)?.as_ref().ok()
    }
}

impl Sitting for MeasuredSitting<'_> {
    fn failure(&mut self, cell: usize) -> Option<CampaignError> {
        self.seats.get_mut(&cell)?.as_mut().err()?.take()
    }

    fn frames(&self, cell: usize) -> u64 {
        self.seat(cell).map_or(0, |seat| seat.subject.frames())
    }

    fn slice(&mut self, key: SliceKey, transactions: u64) -> Result<Slice, CampaignError> {
        let Some(Ok(seat)) = self.seats.get_mut(&key.cell) else {
            return Err(CampaignError::Stopped);
        };
        let path = seat.subject.copy.clone();
        let monitor = self.monitor;
        let begun = Instant::now();
        let too_long = || monitor.slice_max().filter(|max| begun.elapsed() >= *max);
        let wants_end = || monitor.interrupted() || too_long().is_some();
        let slice = seat.slice(key, transactions, &wants_end);
        let slice = slice.map_err(|error| match (sorted(error, path), too_long()) {
            (CampaignError::Stopped, Some(budget)) if !monitor.interrupted() => {
                CampaignError::UsedUp {
                    budget_s: budget.as_secs(),
                }
            }
            (error, _) => error,
        });
        if matches!(&slice, Err(CampaignError::Run(error)) if !error.is_lost()) {
            // It stops, so that the others have the machine to themselves.
            self.seats.remove(&key.cell);
        }
        slice
    }

    fn asked(&self, cell: usize) -> Option<Asked> {
        self.seat(cell)?.asked
    }

    fn end_warm_up(&mut self, cell: usize) -> u64 {
        match self.seats.get_mut(&cell) {
            Some(Ok(seat)) => seat.end_warm_up(),
            _ => 0,
        }
    }

    fn figures(&mut self, cell: usize) -> Option<Figures> {
        self.seats.get_mut(&cell)?.as_mut().ok()?.figures()
    }

    fn leave(&mut self, cell: usize) -> Result<Figures, RunError> {
        match self.seats.get_mut(&cell) {
            Some(Ok(seat)) => seat.leave(),
            _ => Err(RunError::Measurement(DriverError::Stopped)),
        }
    }
}

/// An error of one run, unless it would be one of all.
pub(super) fn sorted(error: RunError, path: std::path::PathBuf) -> CampaignError {
    if error.is_stop() {
        CampaignError::Stopped
    } else if error.is_full() {
        CampaignError::Full { path }
    } else {
        CampaignError::Run(error)
    }
}
