//! What an emulation did and whether it kept pace.

use std::time::Duration;

use hdrhistogram::Histogram;
use octavo_device::{Command, Counters};
use octavo_units::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::lead::Lead;

/// Answers that come this much after the model's moment are late. A page cache
/// that is left to itself, or a scheduler, takes as long at times.
pub const LATE: Duration = Duration::from_micros(50);

/// Latencies longer than a minute count as one.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// When a request came and when the model has it end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// What was asked.
    pub(crate) command: Command,
    /// How many bytes.
    pub(crate) bytes: u64,
    /// When it came.
    pub(crate) arrived: Moment,
    /// When the device was given it, which can be a lead later.
    pub(crate) began: Moment,
    /// The latest completion of a part.
    pub(crate) over: Moment,
    /// By how much the answer is sent before that.
    pub(crate) lead_ns: u64,
}

/// Counts and latencies of all requests that came since a moment.
#[derive(Clone)]
pub(crate) struct Tally {
    since: Moment,
    operations: [OperationTally; 3],
    first: Option<Moment>,
    last: Moment,
    late: u64,
    lateness: Histogram<u64>,
    /// Requests that the model had done before the backing storage had.
    pub(crate) backing_late: u64,
}

#[derive(Clone)]
struct OperationTally {
    bytes: u64,
    modelled: Histogram<u64>,
    answered: Histogram<u64>,
}

fn histogram() -> Histogram<u64> {
    // Of three digits, the third is right to 1 part in 1,000.
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("the bounds are constants")
}

impl Tally {
    pub(crate) fn since(since: Moment) -> Self {
        let operation = || OperationTally {
            bytes: 0,
            modelled: histogram(),
            answered: histogram(),
        };
        Self {
            since,
            operations: [operation(), operation(), operation()],
            first: None,
            last: Moment::START,
            late: 0,
            lateness: histogram(),
            backing_late: 0,
        }
    }

    /// Notes an answer that was sent at `sent` in the device's time, and how
    /// late that was in real time.
    pub(crate) fn record(&mut self, timing: &Timing, sent: Moment, late: Duration) {
        // Whoever got an answer may go on before it is noted here.
        if timing.arrived < self.since {
            return;
        }
        let operation = &mut self.operations[match timing.command {
            Command::Read => 0,
            Command::Write => 1,
            Command::Flush | Command::Trim => 2,
        }];
        operation.bytes += timing.bytes;
        operation
            .modelled
            .saturating_record(timing.over.since(timing.began));
        operation
            .answered
            .saturating_record(sent.since(timing.arrived));
        self.first.get_or_insert(timing.arrived);
        self.last = self.last.max(sent);
        self.late += u64::from(late > LATE);
        self.lateness.saturating_record(late.as_nanos() as u64);
    }

    pub(crate) fn statistics(
        &self,
        device: Counters,
        lead: &Lead,
        cores_awake: bool,
        cut: bool,
    ) -> Statistics {
        let seconds = self
            .first
            .map_or(0.0, |first| self.last.since(first) as f64 / 1e9);
        let [reads, writes, flushes] =
            [0, 1, 2].map(|index: usize| self.operations[index].statistics(seconds));
        let requests = reads.requests + writes.requests + flushes.requests;
        let share = |count: u64| {
            if requests == 0 {
                0.0
            } else {
                count as f64 / requests as f64
            }
        };
        Statistics {
            reads,
            writes,
            flushes,
            pace: Punctuality {
                kept: 1.0 - share(self.late),
                late_us_p99: self.lateness.value_at_quantile(0.99) as f64 / 1e3,
                late_us_max: self.lateness.max() as f64 / 1e3,
                backing_late: share(self.backing_late),
                lead_us: lead.for_request(Command::Read, 4096).as_nanos() as f64 / 1e3,
                cores_awake,
            },
            write_amplification: device.write_amplification(),
            device: DeviceCounters {
                reads: device.reads,
                writes: device.writes,
                flushes: device.flushes,
                read_bytes: device.read_bytes,
                written_bytes: device.written_bytes,
                media_read_bytes: device.media_read_bytes,
                media_written_bytes: device.media_written_bytes,
                erases: device.erases,
                busy_s: device.busy_ns as f64 / 1e9,
            },
            power_cut: cut,
        }
    }
}

impl OperationTally {
    fn statistics(&self, seconds: f64) -> OperationStatistics {
        let requests = self.modelled.len();
        OperationStatistics {
            requests,
            bytes: self.bytes,
            iops: if seconds > 0.0 {
                requests as f64 / seconds
            } else {
                0.0
            },
            modelled: Latency::from_histogram(&self.modelled),
            answered: Latency::from_histogram(&self.answered),
        }
    }
}

/// What an emulation did, in the device's time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Statistics {
    /// Reads that reached the device.
    pub reads: OperationStatistics,
    /// Writes that reached it.
    pub writes: OperationStatistics,
    /// Flushes: of fsync, fdatasync and synchronous writes.
    pub flushes: OperationStatistics,
    /// Whether answers came when the model says.
    pub pace: Punctuality,
    /// Bytes written to the media for each that was written to the device;
    /// `None` of devices that know no media.
    pub write_amplification: Option<f64>,
    /// What the device counted.
    pub device: DeviceCounters,
    /// Whether the power was cut.
    pub power_cut: bool,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OperationStatistics {
    /// How many were answered.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Answered per second, between the first request of any kind and the last
    /// answer.
    pub iops: f64,
    /// Latency that the model gave.
    pub modelled: Latency,
    /// Latency from the request's arrival in this process to its answer.
    pub answered: Latency,
}

/// Latencies in microseconds; 0 where there were no requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    pub us_mean: f64,
    /// Median.
    pub us_p50: f64,
    /// 99 of 100 are not longer.
    pub us_p99: f64,
    /// The longest.
    pub us_max: f64,
}

impl Latency {
    fn from_histogram(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let quantile = |q| histogram.value_at_quantile(q) as f64 / 1e3;
        Self {
            us_mean: histogram.mean() / 1e3,
            us_p50: quantile(0.5),
            us_p99: quantile(0.99),
            us_max: histogram.max() as f64 / 1e3,
        }
    }
}

/// Whether answers came when the model says, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Punctuality {
    /// Share of the requests that were answered within [`LATE`] of the model's
    /// moment.
    pub kept: f64,
    /// 99 of 100 answers were not later.
    pub late_us_p99: f64,
    /// No answer was later.
    pub late_us_max: f64,
    /// Share of the requests that were late because the storage of the backing
    /// directory was slower than the model.
    pub backing_late: f64,
    /// By how much earlier answers to reads of 4 KiB are sent, for the way that
    /// they have to go.
    pub lead_us: f64,
    /// Whether idle cores were kept from falling asleep, which needs permission
    /// to write to `/dev/cpu_dma_latency`.
    pub cores_awake: bool,
}

/// The device's own counters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeviceCounters {
    /// Read requests; one of a file can be several on the device.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes that were asked to be read.
    pub read_bytes: u64,
    /// Bytes that were asked to be written.
    pub written_bytes: u64,
    /// Bytes read from the media.
    pub media_read_bytes: u64,
    /// Bytes written to the media.
    pub media_written_bytes: u64,
    /// Blocks of flash that were erased.
    pub erases: u64,
    /// Seconds in which the device was at work.
    pub busy_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_the_count_is_not_in_it() {
        let at = |nanoseconds| Moment::START.after(nanoseconds);
        let flush = |arrived| Timing {
            command: Command::Flush,
            bytes: 0,
            arrived,
            began: arrived,
            over: at(1000),
            lead_ns: 0,
        };
        let mut tally = Tally::since(at(100));
        for arrived in [99, 100] {
            tally.record(&flush(at(arrived)), at(2000), Duration::ZERO);
        }
        let said = tally.statistics(Counters::default(), &Lead::default(), false, false);
        assert_eq!(said.flushes.requests, 1);
    }
}
