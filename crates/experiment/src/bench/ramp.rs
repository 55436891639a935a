//! What each step of a ramp gave, and what the steps say together.

use std::time::Duration;

use octavo_driver::{Counts, Percentiles, Ramp, Sample, Second, mean, seconds};
use octavo_workload::TransactionKind;
use serde::Serialize;

use crate::statistics::scalability::{Fitted, Scalability, Step};

/// Batches of a step by which errors are known, at most.
const BATCHES: usize = 10;

/// The share of what counts of a step that has to be there.
const WHOLE: f64 = 0.7;

/// What a ramp gave.
#[derive(Clone, Debug, Serialize)]
pub struct RampFinding {
    /// How long each step lasted, the time in which its clients began included.
    #[serde(rename = "step_s", serialize_with = "seconds")]
    pub step: Duration,
    /// The steps that have ended and of which there are figures, in their order.
    pub steps: Vec<StepFinding>,
    /// The universal scalability law that fits counted transactions a second; `None` of
    /// fewer steps than it needs.
    pub law: Option<Fitted>,
}

/// What a step gave, without its first tenth.
#[derive(Clone, Copy, Debug, Serialize)]
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
    /// Latencies of all kinds.
    pub latency: Percentiles,
    /// Pages that were read, a transaction.
    pub misses_per_transaction: f64,
    /// Bytes that the database read, a second.
    pub read_bytes_per_second: f64,
    /// Bytes that it wrote, a second.
    pub written_bytes_per_second: f64,
    /// Transactions that failed.
    pub failed: u64,
}

/// Sums up the seconds of each step.
pub(super) struct RampRecorder {
    ramp: Ramp,
    /// When measuring began, since the clients did.
    begin: Duration,
    steps: Vec<Seconds>,
}

struct Seconds {
    counts: Counts,
    samples: Vec<Sample>,
}

impl RampRecorder {
    pub(super) fn new(ramp: Ramp, kinds: &[TransactionKind]) -> Self {
        let steps = (0..ramp.clients.count()).map(|_| Seconds {
            counts: Counts::new(kinds),
            samples: Vec::new(),
        });
        Self {
            ramp,
            begin: Duration::ZERO,
            steps: steps.collect(),
        }
    }

    /// The step in whose measured part a second lies, `at` being its end.
    fn step_of(&self, at: Duration, length: Duration) -> Option<usize> {
        let step_s = self.ramp.step.as_secs_f64();
        let end = at.saturating_sub(self.begin).as_secs_f64();
        let begin = end - length.as_secs_f64();
        let number = (0.5 * (begin + end) / step_s) as usize;
        let from = (number as f64 + Ramp::SETTLING) * step_s;
        // Seconds end with these, some milliseconds late.
        let to = (number as f64 + 1.0) * step_s + 0.1;
        (number < self.steps.len() && begin >= from - 0.1 && end <= to).then_some(number)
    }

    pub(super) fn second(&mut self, second: &Second<'_>) {
        let Second { sample, counts } = *second;
        if !sample.measured {
            self.begin = sample.at;
        } else if let Some(number) = self.step_of(sample.at, sample.length) {
            let step = &mut self.steps[number];
            step.counts.add(counts);
            step.samples.push(*sample);
        }
    }

    pub(super) fn finish(self) -> RampFinding {
        let whole_s = self.ramp.step.as_secs_f64() * (1.0 - Ramp::SETTLING) * WHOLE;
        let clients = self.ramp.clients.clients();
        let steps: Vec<_> = clients
            .zip(&self.steps)
            .filter(|(_, seconds)| seconds.length_s() >= whole_s)
            .collect();
        // A few batches of one step say little: all of them together.
        let scattered = steps.iter().map(|(_, seconds)| seconds.scattered());
        let (squares, freedom) = scattered.fold((0.0, 0.0), |(squares, freedom), (own, count)| {
            (squares + own, freedom + count)
        });
        let deviation = match freedom > 0.0 {
            true => (squares / freedom).sqrt(),
            false => 0.0,
        };
        let steps: Vec<StepFinding> = steps
            .into_iter()
            .map(|(clients, seconds)| seconds.finding(clients, deviation))
            .collect();
        let points: Vec<Step> = steps.iter().map(StepFinding::step).collect();
        RampFinding {
            step: self.ramp.step,
            law: Scalability::fit(&points),
            steps,
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

impl Seconds {
    fn length_s(&self) -> f64 {
        length_s(&self.samples)
    }

    /// Counted transactions a second of each batch.
    fn rates(&self) -> Vec<f64> {
        let batches = self
            .samples
            .chunks(self.samples.len().div_ceil(BATCHES).max(1));
        let rate = |batch: &[Sample]| {
            let counted = batch.iter().map(|sample| sample.counted).sum::<u64>();
            counted as f64 / length_s(batch)
        };
        batches.map(rate).collect()
    }

    /// The squares of how far batches are from their mean, as shares of it, and how many of
    /// them are free.
    fn scattered(&self) -> (f64, f64) {
        let rates = self.rates();
        let center = mean(&rates);
        if rates.len() < 2 || center <= 0.0 {
            return (0.0, 0.0);
        }
        let squares = rates.iter().map(|rate| (rate / center - 1.0).powi(2));
        (squares.sum(), (rates.len() - 1) as f64)
    }

    /// `deviation` is that of a batch, as a share.
    fn finding(&self, clients: u32, deviation: f64) -> StepFinding {
        let measured_s = self.length_s();
        let sum = |of: fn(&Sample) -> u64| self.samples.iter().map(of).sum::<u64>() as f64;
        let transactions = sum(|sample| sample.transactions);
        let counted_per_second = sum(|sample| sample.counted) / measured_s;
        StepFinding {
            clients,
            measured_s,
            transactions_per_second: transactions / measured_s,
            counted_per_second,
            counted_error: counted_per_second * deviation / (self.rates().len() as f64).sqrt(),
            latency: self.counts.percentiles(),
            misses_per_transaction: sum(|sample| sample.buffer_misses) / transactions.max(1.0),
            read_bytes_per_second: sum(|sample| sample.read_bytes.get()) / measured_s,
            written_bytes_per_second: sum(|sample| sample.written_bytes.get()) / measured_s,
            failed: self.counts.failed(),
        }
    }
}

fn length_s(samples: &[Sample]) -> f64 {
    let each = samples.iter().map(|sample| sample.length.as_secs_f64());
    each.sum()
}

#[cfg(test)]
mod tests {
    use octavo_driver::ClientSteps;
    use octavo_units::ByteCount;

    use super::*;

    static KINDS: [TransactionKind; 1] = [TransactionKind::plain("one")];

    fn recorder() -> RampRecorder {
        let ramp = Ramp {
            clients: ClientSteps::new(1, 4, 1).unwrap(),
            step: Duration::from_secs(10),
        };
        RampRecorder::new(ramp, &KINDS)
    }

    fn pass(recorder: &mut RampRecorder, at: u64, is_measured: bool, counted: u64) {
        let sample = Sample {
            at: Duration::from_secs(at),
            measured: is_measured,
            length: Duration::from_secs(1),
            transactions: 2 * counted,
            counted,
            buffer_misses: counted,
            read_bytes: ByteCount::kib(counted),
            ..Sample::default()
        };
        let counts = Counts::new(&KINDS);
        recorder.second(&Second {
            sample: &sample,
            counts: &counts,
        });
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
            pass(&mut recorder, 8 + second, true, counted);
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
