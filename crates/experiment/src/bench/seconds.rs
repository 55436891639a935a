//! Follows a run second by second: shows how it goes, and logs the latencies.

use std::time::Duration;

use octavo_driver::{Counts, DriverObserver, Load, RunLength, Sample, Second};
use octavo_workload::Workload;

use super::hdr_log::{HdrLog, HdrLogError, HdrLogPlace};
use crate::{
    observer::Observer,
    ramp::{RampFinding, RampRecorder},
};

pub(super) struct PerSecondRecorder<'a, 'w> {
    observer: &'a dyn Observer,
    length: RunLength,
    log: Log<'a, 'w>,
    ramp: Option<RampRecorder>,
    warm_up: Duration,
}

/// The log of latencies, on its way.
pub(super) enum Log<'a, 'w> {
    /// Nobody wants one.
    None,
    /// It begins with the first second that is measured.
    Due(HdrLogPlace<'a, 'w>),
    Open(HdrLog<'a, 'w>),
    /// The first error is the one to tell; the run itself is good.
    Failed(HdrLogError),
}

impl Log<'_, '_> {
    fn add(&mut self, sample: &Sample, counts: &Counts) {
        *self = match std::mem::replace(self, Self::None) {
            Self::Due(place) => match place.begin(sample.at) {
                Ok(log) => Self::Open(log),
                Err(error) => Self::Failed(error),
            },
            other => other,
        };
        if let Self::Open(log) = self
            && let Err(error) = log.add(sample.at, sample.length, counts)
        {
            *self = Self::Failed(error);
        }
    }
}

impl<'a, 'w> PerSecondRecorder<'a, 'w> {
    pub(super) fn new(observer: &'a dyn Observer, length: RunLength, log: Log<'a, 'w>) -> Self {
        Self {
            observer,
            length,
            log,
            ramp: None,
            warm_up: Duration::ZERO,
        }
    }

    /// Likewise with the steps of a ramp, if the load is one.
    pub(super) fn with_ramp(self, load: Load, workload: &dyn Workload) -> Self {
        let ramp = match load {
            Load::Ramp(ramp) => Some(RampRecorder::new(ramp, workload.transactions())),
            _ => None,
        };
        Self { ramp, ..self }
    }

    /// The steps of a ramp, and whether all of the log was written, if one was wanted: else
    /// the first error in writing it.
    pub(super) fn finish(self) -> (Option<RampFinding>, Result<(), HdrLogError>) {
        let logged = match self.log {
            Log::Failed(error) => Err(error),
            Log::None | Log::Due(_) | Log::Open(_) => Ok(()),
        };
        (self.ramp.map(RampRecorder::finish), logged)
    }

    /// About how long warm-up and measuring take together; nothing is known
    /// of a length in transactions.
    fn expected(&self, measured: bool, spent: Duration) -> Duration {
        match self.length {
            RunLength::Time { measured: m, .. } if measured => self.warm_up + m,
            RunLength::Time {
                warm_up_min,
                warm_up_max,
                measured: m,
            } => spent.clamp(warm_up_min, warm_up_max) + m,
            RunLength::Transactions { .. } => spent,
        }
    }
}

impl DriverObserver for PerSecondRecorder<'_, '_> {
    fn second(&mut self, second: &Second<'_>) {
        let Second { sample, counts } = *second;
        if let Some(ramp) = &mut self.ramp {
            ramp.second(second);
        }
        if sample.measured {
            self.log.add(sample, counts);
        } else {
            self.warm_up = sample.at;
        }
        self.observer.second(sample);
        self.observer.progress(
            &words_of_second(sample),
            sample.at,
            self.expected(sample.measured, sample.at),
        );
    }
}

/// A second in a line.
pub(crate) fn words_of_second(sample: &Sample) -> String {
    let rate = sample.transactions as f64 / sample.length.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {rate:.0} transactions/s, p99 {:.2} ms, {} errors",
        if sample.measured {
            "measuring"
        } else {
            "warming up"
        },
        sample.p99_us as f64 / 1e3,
        sample.failed,
    );
    if sample.retries > 0 {
        text.push_str(&format!(", {} retries", sample.retries));
    }
    if let Some(backlog) = sample.backlog.filter(|backlog| *backlog > 0) {
        text.push_str(&format!(", {backlog} waiting"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_tells_what_matters() {
        let mut sample = Sample {
            at: Duration::from_secs(7),
            measured: true,
            length: Duration::from_secs(2),
            transactions: 3000,
            p50_us: 100,
            p99_us: 1234,
            max_us: 5000,
            ..Sample::default()
        };
        assert_eq!(
            words_of_second(&sample),
            "measuring: 1500 transactions/s, p99 1.23 ms, 0 errors"
        );
        sample.measured = false;
        (sample.retries, sample.failed, sample.backlog) = (4, 2, Some(9));
        assert_eq!(
            words_of_second(&sample),
            "warming up: 1500 transactions/s, p99 1.23 ms, 2 errors, 4 retries, 9 waiting"
        );
    }
}
