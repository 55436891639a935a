//! Follows a run second by second: tells how it goes, keeps the series, logs
//! the latencies.

use std::time::Duration;

use super::{SecondFindings, hdr_log::HdrLog, hdr_log::HdrLogError};
use crate::{
    drive::{DriveObserver, Second},
    latency::Percentiles,
    observer::Observer,
    plan::RunLength,
};

pub(super) struct Follower<'a, 'w> {
    observer: &'a dyn Observer,
    length: RunLength,
    seconds: Vec<SecondFindings>,
    log: Option<HdrLog<'a, 'w>>,
    log_failure: Option<HdrLogError>,
    warm_up: Duration,
}

impl<'a, 'w> Follower<'a, 'w> {
    pub(super) fn new(
        observer: &'a dyn Observer,
        length: RunLength,
        log: Option<HdrLog<'a, 'w>>,
    ) -> Self {
        Self {
            observer,
            length,
            seconds: Vec::new(),
            log,
            log_failure: None,
            warm_up: Duration::ZERO,
        }
    }

    /// The series.
    pub(super) fn finish(self) -> Result<Vec<SecondFindings>, HdrLogError> {
        match self.log_failure {
            Some(error) => Err(error),
            None => Ok(self.seconds),
        }
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

impl DriveObserver for Follower<'_, '_> {
    fn second(&mut self, second: &Second<'_>) {
        let Second {
            sample,
            counts,
            backlog,
        } = *second;
        let latency = Percentiles::of(&counts.latency_us());
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
            // The first error is the one to tell; the run itself is good.
            if self.log_failure.is_none()
                && let Some(log) = &mut self.log
                && let Err(error) = log.add(sample.at, sample.length, counts)
            {
                self.log_failure = Some(error);
            }
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
    use crate::drive::Sample;

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
