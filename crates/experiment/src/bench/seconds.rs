//! Follows a run second by second: tells how it goes, keeps the series, logs
//! the latencies.

use std::time::Duration;

use super::{
    SecondFindings,
    hdr_log::{HdrLog, HdrLogError, HdrLogPlace},
};
use crate::{
    drive::{Counts, DriverObserver, Sample, Second},
    observer::Observer,
    plan::RunLength,
};

pub(super) struct Follower<'a, 'w> {
    observer: &'a dyn Observer,
    length: RunLength,
    seconds: Vec<SecondFindings>,
    log: Log<'a, 'w>,
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

impl<'a, 'w> Follower<'a, 'w> {
    pub(super) fn new(observer: &'a dyn Observer, length: RunLength, log: Log<'a, 'w>) -> Self {
        Self {
            observer,
            length,
            seconds: Vec::new(),
            log,
            warm_up: Duration::ZERO,
        }
    }

    /// The series, and whether all of the log was written.
    pub(super) fn finish(self) -> (Vec<SecondFindings>, Result<(), HdrLogError>) {
        let log = match self.log {
            Log::Failed(error) => Err(error),
            Log::None | Log::Due(_) | Log::Open(_) => Ok(()),
        };
        (self.seconds, log)
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

impl DriverObserver for Follower<'_, '_> {
    fn second(&mut self, second: &Second<'_>) {
        let Second {
            sample,
            counts,
            backlog,
        } = *second;
        let latency = counts.percentiles();
        let retries = counts.kinds.iter().map(|kind| kind.retries()).sum();
        let found = SecondFindings {
            sample: *sample,
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            max_us: latency.max_us,
            retries,
            failed: counts.failed(),
            backlog,
        };
        if sample.measured {
            self.log.add(sample, counts);
        } else {
            self.warm_up = sample.at;
        }
        self.observer.progress(
            &words(&found),
            sample.at,
            self.expected(sample.measured, sample.at),
        );
        self.seconds.push(found);
    }
}

/// A second in a line.
fn words(second: &SecondFindings) -> String {
    let rate = second.sample.transactions as f64 / second.sample.length.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{}: {rate:.0} transactions/s, p99 {:.2} ms, {} errors",
        if second.sample.measured {
            "measuring"
        } else {
            "warming up"
        },
        second.p99_us as f64 / 1e3,
        second.failed,
    );
    if second.retries > 0 {
        text.push_str(&format!(", {} retries", second.retries));
    }
    if let Some(backlog) = second.backlog.filter(|backlog| *backlog > 0) {
        text.push_str(&format!(", {backlog} waiting"));
    }
    text
}

#[cfg(test)]
mod tests {
    use octavo_units::ByteCount;

    use super::*;

    #[test]
    fn a_second_tells_what_matters() {
        let mut second = SecondFindings {
            sample: Sample {
                at: Duration::from_secs(7),
                measured: true,
                length: Duration::from_secs(2),
                transactions: 3000,
                counted: 0,
                buffer_misses: 0,
                read_bytes: ByteCount::ZERO,
                written_bytes: ByteCount::ZERO,
            },
            p50_us: 100,
            p99_us: 1234,
            max_us: 5000,
            retries: 0,
            failed: 0,
            backlog: None,
        };
        assert_eq!(
            words(&second),
            "measuring: 1500 transactions/s, p99 1.23 ms, 0 errors"
        );
        second.sample.measured = false;
        (second.retries, second.failed, second.backlog) = (4, 2, Some(9));
        assert_eq!(
            words(&second),
            "warming up: 1500 transactions/s, p99 1.23 ms, 2 errors, 4 retries, 9 waiting"
        );
    }
}
