//! Watts and joules of devices.
//!
//! A device draws its idle power always, and the difference to its active
//! power while it is busy, which its [`Counters::busy_ns`](crate::Counters)
//! tell. [`machine`](crate::machine) has the machines around them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sourced::{Bounded, Impossible, Sourced, require};

/// The `[power]` table of an entry. Of an array it is what the array draws
/// besides its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        self.idle_w.check("power.idle_w", 0.0..=WATTS_MAX)?;
        let (idle_w, active_w) = (*self.idle_w, *self.active_w);
        require(
            (idle_w..=WATTS_MAX).contains(&active_w),
            "power.active_w",
            active_w,
            format!("it is from {idle_w} W, which it draws with less to do, to {WATTS_MAX} W"),
        )
    }

    /// The two numbers.
    pub fn draw(&self) -> Draw {
        Draw {
            idle_w: *self.idle_w,
            active_w: *self.active_w,
        }
    }
}

/// What a device draws, its members included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

    /// What it takes in `elapsed`, of which it was busy for `busy_ns`: a
    /// difference of [`Counters::busy_ns`](crate::Counters). Busy for longer
    /// than there was is busy all the time.
    pub fn energy(self, elapsed: Duration, busy_ns: u64) -> Energy {
        let elapsed_s = elapsed.as_secs_f64();
        let busy_s = (busy_ns as f64 / 1e9).min(elapsed_s);
        let idle_joules = self.idle_w * elapsed_s;
        Energy {
            joules: idle_joules + (self.active_w - self.idle_w) * busy_s,
            idle_joules,
            elapsed_s,
            busy_s,
        }
    }
}

/// What a device took in a time. Times are the device's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Joules in all: idle power for all of the time, and the difference to
    /// active power for the time that it was busy.
    pub joules: f64,
    /// Of these, what it would have taken with nothing to do.
    pub idle_joules: f64,
    /// Seconds.
    pub elapsed_s: f64,
    /// Of these, the seconds in which it was busy.
    pub busy_s: f64,
}

impl Energy {
    /// Both together, one after the other.
    pub fn plus(self, other: Self) -> Self {
        Self {
            joules: self.joules + other.joules,
            idle_joules: self.idle_joules + other.idle_joules,
            elapsed_s: self.elapsed_s + other.elapsed_s,
            busy_s: self.busy_s + other.busy_s,
        }
    }

    /// The share of the time in which it was busy, 0 to 1; 0 of no time.
    pub fn busy(self) -> f64 {
        if self.elapsed_s > 0.0 {
            self.busy_s / self.elapsed_s
        } else {
            0.0
        }
    }
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
        assert!((DISK.energy(ten, 0).joules - 105.0).abs() < 1e-9);
        let half = DISK.energy(ten, 5_000_000_000);
        assert!((half.joules - 125.0).abs() < 1e-9);
        assert!((half.idle_joules - 105.0).abs() < 1e-9);
        assert_eq!((half.elapsed_s, half.busy_s), (10.0, 5.0));
        // Never busy for longer than there was.
        assert!((DISK.energy(ten, u64::MAX).joules - 145.0).abs() < 1e-9);
        assert_eq!(DISK.times(8).idle_w, 84.0);
        let both = DISK.plus(Draw {
            idle_w: 1.0,
            active_w: 1.0,
        });
        assert_eq!((both.idle_w, both.active_w), (11.5, 15.5));
    }
}
