//! Settings of a run.

use std::{fmt, time::Duration};

use octavo_units::{Rate, Seed};
use octavo_workload::{Workload, user::Pace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{arrivals::ArrivalProcess, ramp::Ramp};

/// How transactions reach the connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "loop")]
pub enum Load {
    /// Each terminal submits as soon as it has its answer. With as many
    /// terminals as connections each has one of its own; more of them wait
    /// for a free one, first come, first served.
    Closed {
        /// Terminals; at least as many as connections.
        terminals: u32,
    },
    /// Transactions arrive by the clock.
    Open {
        /// Arrivals a second.
        rate: Rate,
        /// How they follow each other.
        arrivals: ArrivalProcess,
    },
    /// Each connection has a terminal of its own, as in a closed loop, but begins with a
    /// step of the ramp; as many connections as the ramp has at its end. The warm-up has
    /// those of the first step.
    Ramp(Ramp),
    /// Each connection's client has times for its transactions ([`octavo_workload::Client::dues`]), as they were
    /// recorded.
    Recorded {
        /// The pace.
        pace: Pace,
    },
    /// Each terminal's operator takes the times of the specification.
    Paced {
        /// Terminals.
        terminals: u32,
    },
}

/// How long one run is. The same for every cell of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum RunLength {
    /// By the clock.
    Time {
        /// The warm-up lasts at least this long, and until as many pages were
        /// read as the buffer has frames.
        warm_up_min: Duration,
        /// … but not longer than this.
        warm_up_max: Duration,
        /// What is measured after it.
        measured: Duration,
    },
    /// By the number of transactions that each client finishes. No clock decides anything, so
    /// with one client a run's counts replay.
    Transactions {
        /// Before measuring.
        warm_up: u64,
        /// Measured.
        measured: u64,
    },
}

impl RunLength {
    /// The default length for a ramp. Its warm-up lasts until the buffer is full, at least one
    /// step and at most all of them.
    pub fn for_ramp(ramp: Ramp) -> Self {
        Self::Time {
            warm_up_min: ramp.step,
            warm_up_max: ramp.length(),
            measured: ramp.length(),
        }
    }

    /// How long is measured, where the clock ends it.
    pub(crate) fn measured_time(self) -> Option<Duration> {
        match self {
            Self::Time { measured, .. } => Some(measured),
            Self::Transactions { .. } => None,
        }
    }
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { measured, .. } => write!(f, "{:.2} s", measured.as_secs_f64()),
            Self::Transactions { measured, .. } => write!(f, "{measured} transactions"),
        }
    }
}

/// Settings of a run.
#[derive(Clone, Copy)]
pub struct DriverSettings<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Random seed of the inputs.
    pub seed: Seed,
    /// Sessions of the database.
    pub connections: u32,
    /// How transactions reach the connections.
    pub load: Load,
    /// Retries of a transaction after conflicts.
    pub retries: u32,
    /// How long. Numbers of transactions need a closed loop with as many
    /// terminals as connections.
    pub length: RunLength,
    /// Whether an interrupt in the measured part, a storage that is full in it, or a
    /// database that was lost in it and does not come back, ends that part and keeps what
    /// was measured, instead of giving up the run.
    pub keep_interrupted: bool,
    /// Pages that fill the buffer: its size, or the data's where that is smaller. Reading them
    /// is warm-up.
    pub frames: u64,
}

/// Default number of retries after conflicts.
pub const RETRIES: u32 = 20;
