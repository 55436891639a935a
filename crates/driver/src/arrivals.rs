//! The schedule of an open loop: when transactions must begin, whatever the database does.

use std::time::Duration;

use octavo_units::{Rate, Seed};
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How arrivals follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalProcess {
    /// At equal intervals.
    Constant,
    /// Independently of each other, at exponential intervals, as from many independent users.
    Poisson,
}

/// An endless sequence of arrivals. A clone continues with the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    process: ArrivalProcess,
    rate: Rate,
    generator: Pcg64Mcg,
    /// Arrivals so far.
    count: u64,
    /// The time of the next one in seconds since the start.
    next: f64,
}

impl Arrivals {
    pub(crate) fn new(process: ArrivalProcess, rate: Rate, seed: Seed) -> Self {
        let mut arrivals = Self {
            process,
            rate,
            generator: seed.derive("arrivals", 0).generator(),
            count: 0,
            next: 0.0,
        };
        arrivals.advance();
        arrivals
    }

    /// Takes the next arrival: its time since the start.
    pub(crate) fn take(&mut self) -> Duration {
        let at = Duration::from_secs_f64(self.next);
        self.count += 1;
        self.advance();
        at
    }

    /// Takes all arrivals until `now`; how many there were since the start.
    pub(crate) fn due_by(&mut self, now: Duration) -> u64 {
        let now = now.as_secs_f64();
        if self.process == ArrivalProcess::Constant {
            // No need to go through them, of which there may be millions.
            self.count = self.count.max((now * self.rate.get()) as u64);
            self.advance();
        }
        while self.next <= now {
            self.count += 1;
            self.advance();
        }
        self.count
    }

    fn advance(&mut self) {
        match self.process {
            // From the count, so that rounding does not add up.
            ArrivalProcess::Constant => self.next = (self.count + 1) as f64 / self.rate.get(),
            ArrivalProcess::Poisson => {
                self.next += exponential(&mut self.generator) / self.rate.get();
            }
        }
    }
}

/// A draw from the exponential distribution of mean 1, by inversion; at most
/// 37, as 53 random bits have no smaller fraction than 2^-53.
pub(crate) fn exponential(generator: &mut Pcg64Mcg) -> f64 {
    // 1 to 2^53 of 2^53: the logarithm of 0 is never taken.
    let fraction = ((generator.next_u64() >> 11) + 1) as f64 * (-53f64).exp2();
    -fraction.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(process: ArrivalProcess, rate: f64) -> Arrivals {
        Arrivals::new(process, Rate::per_second(rate).unwrap(), Seed::new(1))
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let mut arrivals = arrivals(ArrivalProcess::Constant, 3.0);
        let times: Vec<Duration> = (0..3_000_000).map(|_| arrivals.take()).collect();
        assert_eq!(times[2], Duration::from_secs(1));
        assert_eq!(times[2_999_999], Duration::from_secs(1_000_000));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_its_variance() {
        let mut arrivals = arrivals(ArrivalProcess::Poisson, 1000.0);
        let mut counts = vec![0u32; 1000];
        loop {
            let second = arrivals.take().as_secs() as usize;
            match counts.get_mut(second) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let mean = f64::from(counts.iter().sum::<u32>()) / 1000.0;
        let variance = counts
            .iter()
            .map(|count| (f64::from(*count) - mean).powi(2))
            .sum::<f64>()
            / 999.0;
        // Of a Poisson count of 1,000 both are 1,000; standard errors 1 and 45.
        assert!((mean - 1000.0).abs() < 4.0, "{mean}");
        assert!((variance - 1000.0).abs() < 180.0, "{variance}");
    }

    #[test]
    fn counting_and_taking_agree() {
        for process in [ArrivalProcess::Constant, ArrivalProcess::Poisson] {
            let mut taken = arrivals(process, 777.0);
            let mut counted = taken.clone();
            let mut due = 0;
            for millisecond in 1..5000 {
                let now = Duration::from_millis(millisecond);
                while Duration::from_secs_f64(taken.next) <= now {
                    taken.take();
                    due += 1;
                }
                assert_eq!(counted.due_by(now), due, "{process:?} {now:?}");
            }
            assert!(due > 3500);
        }
    }
}
