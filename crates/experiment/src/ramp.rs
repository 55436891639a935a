//! What each step of a ramp gave, and what the steps say together.

use std::time::Duration;

use octavo_driver::{
    Counts, Latencies, P99Between, Percentiles, Ramp, Sample, Second, mean, seconds,
};
use octavo_units::ByteCount;
use octavo_workload::TransactionKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::scalability::{Fitted, Scalability, Step};

/// Batches of a step by which errors are known, at most.
const BATCHES: usize = 10;

/// The share of what counts of a step that has to be there.
const WHOLE: f64 = 0.7;

/// What a step of a ramp gave, without its first tenth: all that is kept of it.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// Clients at work.
    pub clients: u32,
    /// How long it was measured.
    pub measured: Duration,
    /// Transactions of all kinds.
    pub transactions: u64,
    /// Commits of the counted kinds.
    pub counted: u64,
    /// Transactions that failed in all of the step, its first tenth included.
    pub failed: u64,
    /// Pages that were read.
    pub buffer_misses: u64,
    /// Bytes that the database read.
    pub read_bytes: ByteCount,
    /// Bytes that it wrote.
    pub written_bytes: ByteCount,
    /// Commits of the counted kinds a second in each of some equal parts, by which errors
    /// are known.
    pub batches: Vec<f64>,
    /// Latencies of all kinds.
    pub latencies: Latencies,
}

/// What a ramp gave.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RampFinding {
    /// How long each step lasted, the time in which its clients began included.
    #[serde(rename = "step_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub step: Duration,
    /// The steps that have ended and of which there are figures, in their order.
    pub steps: Vec<StepFinding>,
    /// Of each step the counted commits a second in equal parts of its time, the first tenth left
    /// out: for a chart over time.
    #[serde(skip)]
    pub batches: Vec<Vec<f64>>,
    /// The universal scalability law that fits counted transactions a second; `None` of
    /// fewer steps than it needs.
    pub law: Option<Fitted>,
}

/// What a step gave, without its first tenth.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StepFinding {
    /// Clients at work.
    pub clients: u32,
    /// How long it was measured.
    pub measured_s: f64,
    /// Transactions of all kinds a second.
    pub transactions_per_second: f64,
    /// Commits of the counted kinds a second.
    pub counted_per_second: f64,
    /// The standard error of that: how batches of all steps scatter, as a share of each.
    pub counted_error: f64,
    /// The degrees of freedom of that error: batches of all steps, less one for each step.
    pub counted_freedom: f64,
    /// Latencies of all kinds.
    pub latency: Percentiles,
    /// Between what their 99th percentile lies at 95%.
    pub p99_between: P99Between,
    /// Pages that were read, a transaction.
    pub misses_per_transaction: f64,
    /// Bytes that the database read, a second.
    pub read_bytes_per_second: f64,
    /// Bytes that it wrote, a second.
    pub written_bytes_per_second: f64,
    /// Transactions that failed in all of the step, its first tenth included.
    pub failed: u64,
}

impl StepRecord {
    /// The squares of how far batches are from their mean, as shares of it, and how many of
    /// them are free.
    fn scattered(&self) -> (f64, f64) {
        let center = mean(&self.batches);
        if self.batches.len() < 2 || center <= 0.0 {
            return (0.0, 0.0);
        }
        let squares = self
            .batches
            .iter()
            .map(|rate| (rate / center - 1.0).powi(2));
        (squares.sum(), (self.batches.len() - 1) as f64)
    }

    /// `deviation` is that of a batch, as a share, with so many degrees of freedom.
    fn finding(&self, deviation: f64, freedom: f64) -> StepFinding {
        let measured_s = self.measured.as_secs_f64();
        let counted_per_second = self.counted as f64 / measured_s;
        StepFinding {
            clients: self.clients,
            measured_s,
            transactions_per_second: self.transactions as f64 / measured_s,
            counted_per_second,
            counted_error: counted_per_second * deviation / (self.batches.len() as f64).sqrt(),
            counted_freedom: freedom,
            latency: self.latencies.percentiles(),
            p99_between: self.latencies.p99_between(),
            misses_per_transaction: self.buffer_misses as f64 / self.transactions.max(1) as f64,
            read_bytes_per_second: self.read_bytes.get() as f64 / measured_s,
            written_bytes_per_second: self.written_bytes.get() as f64 / measured_s,
            failed: self.failed,
        }
    }
}

impl RampFinding {
    /// What the steps of a ramp say, each of which lasted `step`.
    pub fn from_steps(step: Duration, records: &[StepRecord]) -> Self {
        // A few batches of one step say little: all of them together.
        let scattered = records.iter().map(StepRecord::scattered);
        let (squares, freedom) = scattered.fold((0.0, 0.0), |(squares, freedom), (own, count)| {
            (squares + own, freedom + count)
        });
        let deviation = match freedom > 0.0 {
            true => (squares / freedom).sqrt(),
            false => 0.0,
        };
        let steps: Vec<StepFinding> = records
            .iter()
            .map(|record| record.finding(deviation, freedom))
            .collect();
        let points: Vec<Step> = steps.iter().map(StepFinding::step).collect();
        Self {
            step,
            law: Scalability::fit(&points),
            steps,
            batches: records.iter().map(|of| of.batches.clone()).collect(),
        }
    }
}

impl StepFinding {
    fn step(&self) -> Step {
        Step {
            clients: f64::from(self.clients),
            throughput: self.counted_per_second,
            error: self.counted_error,
        }
    }
}

/// Sums up the seconds of each step.
pub(crate) struct RampRecorder {
    ramp: Ramp,
    /// When measuring began, since the clients did.
    begin: Duration,
    steps: Vec<Seconds>,
}

struct Seconds {
    counts: Counts,
    /// Of all the step.
    failed: u64,
    samples: Vec<Sample>,
}

impl RampRecorder {
    pub(crate) fn new(ramp: Ramp, kinds: &[TransactionKind]) -> Self {
        let steps = (0..ramp.clients.count()).map(|_| Seconds {
            counts: Counts::new(kinds),
            failed: 0,
            samples: Vec::new(),
        });
        Self {
            ramp,
            begin: Duration::ZERO,
            steps: steps.collect(),
        }
    }

    /// The step in which a second lies, `at` being its end, and whether it is in
    /// what counts of that. What comes after the last step is in the last one.
    fn step_of(&self, at: Duration, length: Duration) -> (usize, bool) {
        let step_s = self.ramp.step.as_secs_f64();
        let end = at.saturating_sub(self.begin).as_secs_f64();
        let begin = end - length.as_secs_f64();
        let number = (0.5 * (begin + end) / step_s) as usize;
        let from = (number as f64 + Ramp::SETTLING) * step_s;
        // Seconds end with these, some milliseconds late.
        let to = (number as f64 + 1.0) * step_s + 0.1;
        let is_counted = number < self.steps.len() && begin >= from - 0.1 && end <= to;
        (number.min(self.steps.len() - 1), is_counted)
    }

    /// Takes a second; how many steps have ended with it.
    pub(crate) fn second(&mut self, second: &Second<'_>) -> usize {
        let Second { sample, counts } = *second;
        if !sample.measured {
            self.begin = sample.at;
            return 0;
        }
        let (number, is_counted) = self.step_of(sample.at, sample.length);
        let step = &mut self.steps[number];
        step.failed += sample.failed;
        if is_counted {
            step.counts.add(counts);
            step.samples.push(*sample);
        }
        // A second ends with its step, or some milliseconds later.
        let measured = sample.at.saturating_sub(self.begin);
        (measured.as_secs_f64() / self.ramp.step.as_secs_f64()) as usize
    }

    /// What the step `number`, from 0, has given; `None` where too little of it is there to
    /// count.
    pub(crate) fn record(&self, number: usize) -> Option<StepRecord> {
        let whole_s = self.ramp.step.as_secs_f64() * (1.0 - Ramp::SETTLING) * WHOLE;
        let seconds = self.steps.get(number)?;
        let clients = self.ramp.clients.clients().nth(number)?;
        (length(&seconds.samples).as_secs_f64() >= whole_s).then(|| seconds.record(clients))
    }

    pub(crate) fn finish(self) -> RampFinding {
        let numbers = 0..self.steps.len();
        let records: Vec<StepRecord> = numbers.filter_map(|number| self.record(number)).collect();
        RampFinding::from_steps(self.ramp.step, &records)
    }
}

impl Seconds {
    /// Counted transactions a second of each batch.
    fn rates(&self) -> Vec<f64> {
        let batches = self
            .samples
            .chunks(self.samples.len().div_ceil(BATCHES).max(1));
        let rate = |batch: &[Sample]| {
            let counted = batch.iter().map(|sample| sample.counted).sum::<u64>();
            counted as f64 / length(batch).as_secs_f64()
        };
        batches.map(rate).collect()
    }

    fn record(&self, clients: u32) -> StepRecord {
        let sum = |of: fn(&Sample) -> u64| self.samples.iter().map(of).sum::<u64>();
        StepRecord {
            clients,
            measured: length(&self.samples),
            transactions: sum(|sample| sample.transactions),
            counted: sum(|sample| sample.counted),
            failed: self.failed,
            buffer_misses: sum(|sample| sample.buffer_misses),
            read_bytes: ByteCount::new(sum(|sample| sample.read_bytes.get())),
            written_bytes: ByteCount::new(sum(|sample| sample.written_bytes.get())),
            batches: self.rates(),
            latencies: self.counts.latencies(),
        }
    }
}

fn length(samples: &[Sample]) -> Duration {
    samples.iter().map(|sample| sample.length).sum()
}

#[cfg(test)]
mod tests {
    use octavo_driver::ClientSteps;

    use super::*;

    static KINDS: [TransactionKind; 1] = [TransactionKind::plain("one")];

    fn recorder() -> RampRecorder {
        let ramp = Ramp {
            clients: ClientSteps::new(1, 4, 1).unwrap(),
            step: Duration::from_secs(10),
        };
        RampRecorder::new(ramp, &KINDS)
    }

    /// Has a second pass; how many steps have ended.
    fn pass(recorder: &mut RampRecorder, at: u64, is_measured: bool, counted: u64) -> usize {
        let sample = Sample {
            at: Duration::from_secs(at),
            measured: is_measured,
            length: Duration::from_secs(1),
            transactions: 2 * counted,
            counted,
            buffer_misses: counted,
            read_bytes: ByteCount::kib(counted),
            // In the first tenth of each step.
            failed: u64::from(counted == 1),
            ..Sample::default()
        };
        let counts = Counts::new(&KINDS);
        recorder.second(&Second {
            sample: &sample,
            counts: &counts,
        })
    }

    #[test]
    fn seconds_go_to_their_steps_but_for_the_first_tenth() {
        let mut recorder = recorder();
        for second in 1..=7 {
            pass(&mut recorder, second, false, 5);
        }
        for second in 0..40 {
            // The first second of each step is slow.
            let counted = match second % 10 {
                0 => 1,
                _ => 100 * (second / 10 + 1) + second % 2,
            };
            let ended = pass(&mut recorder, 8 + second, true, counted);
            assert_eq!(ended as u64, (second + 1) / 10);
        }
        let found = recorder.finish();
        let clients: Vec<u32> = found.steps.iter().map(|step| step.clients).collect();
        assert_eq!(clients, [1, 2, 3, 4]);
        for (step, hundreds) in found.steps.iter().zip([1.0, 2.0, 3.0, 4.0]) {
            assert!((step.measured_s - 9.0).abs() < 1e-9);
            assert!((step.counted_per_second - 100.0 * hundreds - 5.0 / 9.0).abs() < 1e-9);
            assert!((step.transactions_per_second / step.counted_per_second - 2.0).abs() < 1e-9);
            assert!((step.read_bytes_per_second / 1024.0 - step.counted_per_second).abs() < 1e-9);
            assert!((step.misses_per_transaction - 0.5).abs() < 1e-9);
            assert_eq!(step.failed, 1, "what is left out hides no failure");
        }
        // Nine batches a step that alternate between two values one apart: a deviation of
        // 0.527 of 100, 200, 300 and 400.
        let share = found.steps[0].counted_error / found.steps[0].counted_per_second;
        let each = [100.0f64, 200.0, 300.0, 400.0].map(|rate| (0.527 / rate).powi(2));
        let wanted = (each.iter().sum::<f64>() / 4.0 / 9.0).sqrt();
        assert!((share / wanted - 1.0).abs() < 0.02, "{share} {wanted}");
        let law = found.law.unwrap().law;
        assert!(law.contention < 0.02 && law.coherence < 0.002, "{law:?}");
    }

    #[test]
    fn steps_that_did_not_come_are_not_there() {
        let mut recorder = recorder();
        for second in 1..=15 {
            pass(&mut recorder, second, true, 7);
        }
        let found = recorder.finish();
        // The second has half of its time.
        assert_eq!(found.steps.len(), 1);
        assert!(found.law.is_none());
    }
}
