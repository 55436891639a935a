//! Watts of devices and machines, and joules a transaction.
//!
//! A device draws its idle power always, and the difference to its active
//! power while it is busy, which its [`Counters::busy_ns`](crate::Counters)
//! tell. A machine draws its idle power, and the difference to that at full
//! load in proportion to its CPUs' use: a line through two points, which
//! servers of 2009 follow within about 10 % (Barroso and Hölzle, "The case for
//! energy-proportional computing", IEEE Computer 40(12), 2007, show the range
//! and the shape).

use std::{io, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::catalogue::{Impossible, Sourced};

/// The `[power]` table of an entry. Of an array it is what the array draws
/// besides its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Watts when it has nothing to do.
    pub idle_w: Sourced<f64>,
    /// Watts while it is busy.
    pub active_w: Sourced<f64>,
}

/// Watts that nothing here exceeds: a megawatt.
const WATTS_MAX: f64 = 1e6;

impl Power {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        check_watts("power.idle_w", *self.idle_w, 0.0)?;
        check_watts("power.active_w", *self.active_w, *self.idle_w)
    }

    /// The two numbers.
    pub fn draw(&self) -> Draw {
        Draw {
            idle_w: *self.idle_w,
            active_w: *self.active_w,
        }
    }
}

fn check_watts(key: &'static str, watts: f64, least: f64) -> Result<(), Impossible> {
    if (least..=WATTS_MAX).contains(&watts) {
        return Ok(());
    }
    let reason = format!("from {least} W, which it draws with less to do, to {WATTS_MAX} W");
    Err(Impossible::new(key, watts, reason))
}

/// What a device draws, its members included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draw {
    /// Watts when it has nothing to do.
    pub idle_w: f64,
    /// Watts while it is busy.
    pub active_w: f64,
}

impl Draw {
    /// So many of it.
    pub fn times(self, count: u32) -> Self {
        Self {
            idle_w: self.idle_w * f64::from(count),
            active_w: self.active_w * f64::from(count),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            idle_w: self.idle_w + other.idle_w,
            active_w: self.active_w + other.active_w,
        }
    }

    /// Joules in `elapsed`, of which it was busy for `busy_ns`: a difference
    /// of [`Counters::busy_ns`](crate::Counters).
    pub fn joules(self, elapsed: Duration, busy_ns: u64) -> f64 {
        let busy_s = (busy_ns as f64 / 1e9).min(elapsed.as_secs_f64());
        self.idle_w * elapsed.as_secs_f64() + (self.active_w - self.idle_w) * busy_s
    }

    /// Watts when it is busy for this share of the time, 0 to 1; other values
    /// are brought there.
    pub fn watts(self, busy: f64) -> f64 {
        self.idle_w + (self.active_w - self.idle_w) * busy.clamp(0.0, 1.0)
    }
}

/// A machine without the storage under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called by.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Watts when it has nothing to do.
    pub idle_w: Sourced<f64>,
    /// Watts when all its CPUs are busy.
    pub cpu_busy_w: Sourced<f64>,
}

/// Why a text is not a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// Not TOML, or an entry is missing, unknown or of the wrong type.
    #[error("machine is not valid: {0}")]
    Toml(#[from] toml::de::Error),
    /// A value that no machine can have.
    #[error("machine '{machine}': {key} = {value} is not possible: {reason}")]
    Impossible {
        /// Of which machine.
        machine: String,
        /// Which entry.
        key: &'static str,
        /// What it says.
        value: String,
        /// Why not.
        reason: String,
    },
    /// A name that is not in the catalogue.
    #[error("machine '{0}' is unknown; there are: {list}", list = machine_names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// A file that cannot be read.
    #[error("cannot read machine {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The machines that are part of the program, by name.
const MACHINES: &[(&str, &str)] = &[(
    "lee-2009",
    include_str!("../catalogue/machines/lee-2009.toml"),
)];

/// Names of all machines that are part of the program.
pub fn machine_names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

impl Machine {
    /// The machine of this name.
    ///
    /// # Errors
    /// [`MachineError::Unknown`].
    pub fn find(name: &str) -> Result<Self, MachineError> {
        match MACHINES.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_toml(text),
            None => Err(MachineError::Unknown(name.to_owned())),
        }
    }

    /// Reads and checks a machine.
    ///
    /// # Errors
    /// Which entry is missing, unknown or impossible, and why.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        let machine: Self = toml::from_str(text)?;
        check_watts("idle_w", *machine.idle_w, 0.0)
            .and_then(|()| check_watts("cpu_busy_w", *machine.cpu_busy_w, *machine.idle_w))
            .map_err(
                |Impossible { key, value, reason }| MachineError::Impossible {
                    machine: machine.name.clone(),
                    key,
                    value,
                    reason,
                },
            )?;
        Ok(machine)
    }

    /// Watts when its CPUs are busy for this share of the time, 0 to 1.
    pub fn watts(&self, cpu: f64) -> f64 {
        let machine = Draw {
            idle_w: *self.idle_w,
            active_w: *self.cpu_busy_w,
        };
        machine.watts(cpu)
    }
}

/// Watts of a machine and its devices, each with the share of time for which
/// it is busy.
pub fn total_watts(machine: &Machine, cpu: f64, devices: &[(Draw, f64)]) -> f64 {
    machine.watts(cpu)
        + devices
            .iter()
            .map(|(draw, busy)| draw.watts(*busy))
            .sum::<f64>()
}

/// Joules that a transaction costs at so many a second; `None` where none is
/// done.
pub fn joules_per_transaction(watts: f64, transactions_per_s: f64) -> Option<f64> {
    (transactions_per_s > 0.0).then(|| watts / transactions_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Draw = Draw {
        idle_w: 10.5,
        active_w: 14.5,
    };

    #[test]
    fn energy_is_idle_power_and_what_work_adds() {
        let ten = Duration::from_secs(10);
        assert!((DISK.joules(ten, 0) - 105.0).abs() < 1e-9);
        assert!((DISK.joules(ten, 5_000_000_000) - 125.0).abs() < 1e-9);
        // Never busy for longer than there was.
        assert!((DISK.joules(ten, u64::MAX) - 145.0).abs() < 1e-9);
        assert!((DISK.watts(0.5) * 10.0 - 125.0).abs() < 1e-9);
        assert_eq!(DISK.times(8).idle_w, 84.0);
        let both = DISK.plus(Draw {
            idle_w: 1.0,
            active_w: 1.0,
        });
        assert_eq!((both.idle_w, both.active_w), (11.5, 15.5));
        assert_eq!(joules_per_transaction(100.0, 0.0), None);
    }

    /// The share by which `found` is off.
    fn off(found: f64, published: f64) -> f64 {
        (found / published - 1.0).abs()
    }

    #[test]
    fn lee_2009_draws_what_was_measured() {
        let machine = Machine::find("lee-2009").unwrap();
        let ec = Draw {
            idle_w: 2.1,
            active_w: 6.0,
        };
        let raid = DISK.times(8);
        // At rest: bare, with EC, with the eight disks.
        assert!(off(total_watts(&machine, 0.0, &[]), 113.1) < 1e-9);
        assert!(off(total_watts(&machine, 0.0, &[(ec, 0.0)]), 115.2) < 1e-3);
        assert!(off(total_watts(&machine, 0.0, &[(raid, 0.0)]), 197.2) < 1e-3);
        assert!(off(total_watts(&machine, 1.0, &[]), 135.0) < 1e-9);
        // Order-status at equal peak, 4269 and 4274 TPS. How busy the disks
        // were with a 70 % buffer is not published: whatever it was.
        let on_ec = total_watts(&machine, 1.0, &[(ec, 1.0)]);
        assert!(off(on_ec, 141.0) < 0.03, "{on_ec}");
        for busy in [0.0, 0.5, 1.0] {
            let on_raid = total_watts(&machine, 1.0, &[(raid, busy)]);
            assert!(off(on_raid, 231.4) < 0.09, "{on_raid}");
        }
        let on_raid = total_watts(&machine, 1.0, &[(raid, 0.5)]);
        assert!(off(on_raid, 231.4) < 0.03, "{on_raid}");
        // A 10 % buffer: 4026 TPS at 54 % CPU, 845 TPS at 14 %.
        let on_ec = total_watts(&machine, 0.54, &[(ec, 1.0)]);
        assert!(off(on_ec, 142.0) < 0.10, "{on_ec}");
        let on_raid = total_watts(&machine, 0.14, &[(raid, 1.0)]);
        assert!(off(on_raid, 232.0) < 0.03, "{on_raid}");
        let joules = |watts, rate| joules_per_transaction(watts, rate).unwrap();
        let ratio = joules(on_raid, 845.0) / joules(on_ec, 4026.0);
        assert!(
            off(ratio, (232.0 / 845.0) / (142.0 / 4026.0)) < 0.10,
            "{ratio}"
        );
    }

    #[test]
    fn bad_machines_are_named() {
        let text = include_str!("../catalogue/machines/lee-2009.toml");
        for (from, to, named) in [
            ("[113.1", "[-1", "idle_w"),
            ("[135", "[100", "cpu_busy_w"),
            ("cpu_busy_w", "cpu_w", "cpu_w"),
        ] {
            assert!(text.contains(from));
            let error = Machine::from_toml(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
        let error = Machine::find("pc").unwrap_err().to_string();
        assert!(
            error.contains("'pc'") && error.contains("lee-2009"),
            "{error}"
        );
    }
}
