//! One run: a fresh copy, started, driven, stopped and checked.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use octavo_database::{Database, DatabaseError, Isolation, RestoreMethod, Settings, StoragePath};
use octavo_device::power::Energy;
use octavo_storage::location::{DiskStats, EmulatedReading, Location};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Condition, ConnectionError, Workload};
use serde::{Deserialize, Serialize};

use crate::{
    directory::directory_size,
    drive::{Drive, DriveError, DriveObserver, DriveSettings, Extension, Load, Second, drive},
    machine::{MachineUse, MachineWatch, Reading},
    plan::RunLength,
};

/// What the device under the database counted while measured: the second way
/// to know what a run read and wrote. Other programs on the machine are
/// counted as well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Completed read requests.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: ByteCount,
    /// Completed write requests.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: ByteCount,
    /// What the device alone took, without the machine: calculated from what an
    /// emulated device draws at rest and at work. `None` where that is not
    /// known, as of real devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// When it began.
    pub started_at: Timestamp,
    /// How its copy was made.
    pub restored_by: RestoreMethod,
    /// What driving it gave.
    pub drive: Drive,
    /// What the device counted, where it can be asked.
    pub device: Option<DeviceUse>,
    /// How the machine was used.
    pub machine: MachineUse,
    /// How the storage was reached.
    pub storage_path: StoragePath,
    /// How the database was run.
    pub conditions: Vec<(&'static str, String)>,
    /// The workload's consistency conditions afterwards.
    pub checks: Vec<Condition>,
    /// Time that the run took beside warm-up and the time of its figures, what
    /// was cut off these included.
    pub overhead: Duration,
}

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The database refused or died.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The database died.
    #[error("the database died: {0}")]
    Died(String),
    /// A transaction failed or the caller stopped it.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Transactions failed, and not by the workload's wish.
    #[error(
        "{0} transactions failed for conflicts, timeouts or lost connections: 'octavo bench' \
         shows which"
    )]
    Failed(u64),
    /// The data does not satisfy the workload's specification afterwards.
    #[error("consistency condition {clause} does not hold after the run: {what}")]
    Inconsistent {
        /// The specification's clause.
        clause: String,
        /// The first place that does not hold.
        what: String,
    },
}

impl RunError {
    /// Whether the caller asked for the end.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Database(DatabaseError::Stopped)
                | Self::Drive(DriveError::Stopped | DriveError::Database(DatabaseError::Stopped))
        )
    }

    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database(error) | Self::Drive(DriveError::Database(error)) => error.is_full(),
            Self::Drive(DriveError::Transaction { source, .. }) => {
                matches!(source, ConnectionError::Full(_))
            }
            _ => false,
        }
    }
}

/// What a run is made with.
#[derive(Clone, Copy)]
pub struct RunSettings<'a> {
    /// The database.
    pub database: &'a dyn Database,
    /// The workload.
    pub workload: &'a dyn Workload,
    /// The loaded base of the cell's page size.
    pub base: &'a Path,
    /// Where the copy goes.
    pub copy: &'a Path,
    /// Where the copy's bytes go, when that is a block device.
    pub location: &'a Location,
    /// The page size.
    pub page_size: PageSize,
    /// All memory that may hold data.
    pub memory: ByteCount,
    /// Sessions.
    pub clients: u32,
    /// How transactions come to them.
    pub load: Load,
    /// How often a transaction is run again after conflicts.
    pub retries: u32,
    /// How transactions are kept apart; `None` for the database's default.
    pub isolation: Option<Isolation>,
    /// Origin of the inputs.
    pub seed: octavo_units::Seed,
    /// How long.
    pub length: RunLength,
    /// Whether a run that is still warming up at its end is extended.
    pub extension: Extension,
    /// Whether an interrupt while measuring keeps what was measured.
    pub keep_interrupted: bool,
}

/// Makes one run. `interrupted` is looked at several times a second.
pub fn run(
    settings: RunSettings<'_>,
    observer: &mut dyn DriveObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Run, RunError> {
    let begin = Instant::now();
    let started_at = Timestamp::now();
    let restored_by = settings.database.restore(settings.base, settings.copy)?;
    let running = settings.database.start(
        settings.copy,
        &Settings {
            page_size: settings.page_size,
            memory: settings.memory,
            clients: settings.clients,
            isolation: settings.isolation,
        },
        settings.workload,
    )?;
    let mut watch = Watch::new(Some(settings.location), observer);
    let driven = drive(
        running.as_ref(),
        DriveSettings {
            workload: settings.workload,
            seed: settings.seed,
            connections: settings.clients,
            load: settings.load,
            retries: settings.retries,
            length: settings.length,
            extension: settings.extension,
            keep_interrupted: settings.keep_interrupted,
            page_size: settings.page_size,
            // What does not fit is what can be missed.
            memory: settings.memory.min(directory_size(settings.base)),
        },
        &mut watch,
        interrupted,
    );
    let storage_path = running.storage_path();
    let conditions = running.conditions();
    let death = running.death();
    let stopped = running.stop();
    // Whatever else went wrong followed from it; but who was asked to stop, or
    // has no room left, is told that.
    let driven = driven.map_err(RunError::from);
    if let Some(words) = death
        && !driven
            .as_ref()
            .is_err_and(|error| error.is_stop() || error.is_full())
    {
        return Err(RunError::Died(words));
    }
    let drive = driven?;
    stopped?;
    let mut connection = settings
        .database
        .inspect(settings.copy, settings.workload)?;
    let checks = settings
        .workload
        .check(connection.as_mut())
        .map_err(DatabaseError::from)?;
    drop(connection);
    expect_consistent(&checks)?;
    Ok(Run {
        started_at,
        restored_by,
        device: watch.device(),
        machine: watch.machine(),
        storage_path,
        conditions,
        checks,
        overhead: begin
            .elapsed()
            .saturating_sub(drive.warm_up + drive.measured),
        drive,
    })
}

/// Refuses data of which a condition does not hold.
pub(crate) fn expect_consistent(checks: &[Condition]) -> Result<(), RunError> {
    match checks.iter().find(|check| check.violations > 0) {
        None => Ok(()),
        Some(broken) => Err(RunError::Inconsistent {
            clause: broken.clause.clone(),
            what: broken.first_violation.clone().unwrap_or_default(),
        }),
    }
}

/// What the device under a database tells of itself.
#[derive(Clone, Copy)]
enum DeviceReading {
    Real(DiskStats),
    Emulated(EmulatedReading),
}

impl DeviceReading {
    /// Of now; `None` where there is none, or it does not tell.
    fn of(location: &Location) -> Option<Self> {
        if location.is_emulated() {
            location.emulated_reading().map(Self::Emulated)
        } else {
            location.disk_stats().map(Self::Real)
        }
    }

    /// What it did between `earlier` and now.
    fn since(&self, earlier: &Self) -> DeviceUse {
        let used = self.counters() - earlier.counters();
        DeviceUse {
            reads: used.reads,
            read_bytes: ByteCount::new(used.read_bytes),
            writes: used.writes,
            written_bytes: ByteCount::new(used.written_bytes),
            energy: match (self, earlier) {
                (Self::Emulated(now), Self::Emulated(earlier)) => now.energy_since(earlier),
                _ => None,
            },
        }
    }

    fn counters(&self) -> DiskStats {
        match self {
            Self::Real(counters) => *counters,
            Self::Emulated(reading) => reading.counters.into(),
        }
    }
}

/// Reads the machine's counters at each place where the figures may begin or
/// end.
pub(crate) struct Watch<'a> {
    location: Option<&'a Location>,
    observer: &'a mut dyn DriveObserver,
    machine: MachineWatch,
    /// At the beginning of the measured part, then at each edge.
    readings: Vec<(Option<DeviceReading>, Option<Reading>)>,
    /// The one with which the figures begin.
    first: usize,
}

impl<'a> Watch<'a> {
    /// Watches the machine and, where there is one, the device.
    pub(crate) fn new(location: Option<&'a Location>, observer: &'a mut dyn DriveObserver) -> Self {
        Self {
            location,
            observer,
            machine: MachineWatch::default(),
            readings: Vec::new(),
            first: 0,
        }
    }

    fn read(&mut self) {
        let device = self.location.and_then(DeviceReading::of);
        self.readings.push((device, self.machine.reading()));
    }

    fn ends(&self) -> Option<[&(Option<DeviceReading>, Option<Reading>); 2]> {
        Some([self.readings.get(self.first)?, self.readings.last()?])
    }

    fn device(&self) -> Option<DeviceUse> {
        let [(before, _), (after, _)] = self.ends()?;
        Some((*after)?.since(&(*before)?))
    }

    /// How the machine was used in the time of the figures.
    pub(crate) fn machine(&self) -> MachineUse {
        match self.ends() {
            Some([(_, Some(before)), (_, Some(after))]) => MachineUse::between(before, after),
            _ => MachineUse::default(),
        }
    }
}

impl DriveObserver for Watch<'_> {
    fn begin(&mut self) {
        self.observer.begin();
        self.read();
    }

    fn edge(&mut self) {
        self.read();
        self.observer.edge();
    }

    fn end(&mut self) {
        self.observer.end();
    }

    fn figures_from(&mut self, edge: usize) {
        self.first = edge;
        self.observer.figures_from(edge);
    }

    fn second(&mut self, second: &Second<'_>) {
        self.observer.second(second);
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::{Counters, power::Draw};

    use super::*;

    /// EC, 2.1 W at rest and 6 W at work, for 10 s of which it works for 4:
    /// 21 J at rest and 3.9 W x 4 s more.
    #[test]
    fn energy_is_of_the_time_between_two_readings() {
        let at = |elapsed_s: u64, busy_s: u64, reads| {
            DeviceReading::Emulated(EmulatedReading {
                elapsed_ns: elapsed_s * 1_000_000_000,
                counters: Counters {
                    reads,
                    busy_ns: busy_s * 1_000_000_000,
                    ..Counters::default()
                },
                draw: Some(Draw {
                    idle_w: 2.1,
                    active_w: 6.0,
                }),
            })
        };
        let used = at(17, 9, 1200).since(&at(7, 5, 200));
        assert_eq!(used.reads, 1000);
        let energy = used.energy.unwrap();
        assert!((energy.joules - 36.6).abs() < 1e-9, "{energy:?}");
        assert!((energy.idle_joules - 21.0).abs() < 1e-9, "{energy:?}");
        assert_eq!((energy.elapsed_s, energy.busy_s), (10.0, 4.0));
        // Mounted again meanwhile.
        assert_eq!(at(7, 5, 200).since(&at(17, 9, 1200)).energy, None);
    }

    #[test]
    fn devices_without_known_power_tell_no_energy() {
        let reading = |elapsed_ns| EmulatedReading {
            elapsed_ns,
            counters: Counters::default(),
            draw: None,
        };
        let emulated = DeviceReading::Emulated;
        let real = DeviceReading::Real(DiskStats::default());
        for (before, after) in [
            (emulated(reading(1)), emulated(reading(2))),
            (real, real),
            (real, emulated(reading(2))),
        ] {
            let used = after.since(&before);
            assert_eq!(used.energy, None);
            // As runs were kept before there was energy.
            let kept = serde_json::to_string(&used).unwrap();
            assert_eq!(
                kept,
                r#"{"reads":0,"read_bytes":0,"writes":0,"written_bytes":0}"#
            );
            assert_eq!(serde_json::from_str::<DeviceUse>(&kept).unwrap(), used);
        }
    }
}
