//! pgbench's distributions of whole numbers.
//!
//! Formulas are those of its manual, "pgbench Built-in Functions"
//! (<https://www.postgresql.org/docs/17/pgbench.html#PGBENCH-FUNCTIONS>).

use crate::value::Result;

/// A source of random numbers.
pub trait Random {
    /// A whole number from `low` to `high`, both included and equally likely.
    fn uniform(&mut self, low: i64, high: i64) -> i64;
    /// A fraction from 0 to below 1.
    fn fraction(&mut self) -> f64;
}

/// The least parameter of `random_gaussian`: below, most draws are thrown away.
const GAUSSIAN_MIN: f64 = 2.0;

/// The parameters of `random_zipfian`.
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// How many values a range has, at least one.
fn values(low: i64, high: i64) -> Result<i64> {
    if low > high {
        return Err("empty range given to random".into());
    }
    match high.checked_sub(low).and_then(|last| last.checked_add(1)) {
        Some(values) => Ok(values),
        None => Err("random range is too large".into()),
    }
}

pub(crate) fn uniform(random: &mut dyn Random, low: i64, high: i64) -> Result<i64> {
    values(low, high)?;
    Ok(random.uniform(low, high))
}

/// The lowest value is the most likely.
pub(crate) fn exponential(
    random: &mut dyn Random,
    low: i64,
    high: i64,
    parameter: f64,
) -> Result<i64> {
    let values = values(low, high)?;
    if parameter.is_nan() || parameter <= 0.0 {
        return Err("exponential parameter must be greater than zero".into());
    }
    let cut = (-parameter).exp();
    // From above 0 to 1, so that the logarithm is below 0 at most.
    let fraction = 1.0 - random.fraction();
    let part = -(cut + (1.0 - cut) * fraction).ln() / parameter;
    Ok(low + place(part, values))
}

/// The values in the middle are the most likely.
pub(crate) fn gaussian(
    random: &mut dyn Random,
    low: i64,
    high: i64,
    parameter: f64,
) -> Result<i64> {
    let values = values(low, high)?;
    if parameter.is_nan() || parameter < GAUSSIAN_MIN {
        return Err(format!(
            "gaussian parameter must be at least {GAUSSIAN_MIN}"
        ));
    }
    let deviation = loop {
        // Box and Muller, 1958.
        let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
        let deviation = radius * (std::f64::consts::TAU * random.fraction()).sin();
        if (-parameter..parameter).contains(&deviation) {
            break deviation;
        }
    };
    let part = (deviation + parameter) / (parameter * 2.0);
    Ok(low + place(part, values))
}

/// The lowest value is the most likely; value k has a share that falls with k to the power of
/// `parameter`. By rejection (Devroye, "Non-Uniform Random Variate Generation", 1986, page 551).
pub(crate) fn zipfian(random: &mut dyn Random, low: i64, high: i64, parameter: f64) -> Result<i64> {
    let values = values(low, high)?;
    if !ZIPFIAN.contains(&parameter) {
        return Err(format!(
            "zipfian parameter must be {} to {}",
            ZIPFIAN.start(),
            ZIPFIAN.end()
        ));
    }
    if values == 1 {
        return Ok(low);
    }
    let exponent = parameter - 1.0;
    let bound = exponent.exp2();
    loop {
        // Not 0, whose power is infinite; the rejection takes that away too.
        let u = random.fraction();
        let v = random.fraction();
        let value = u.powf(-1.0 / exponent).floor();
        let t = (1.0 + 1.0 / value).powf(exponent);
        if v * value * (t - 1.0) / (bound - 1.0) <= t / bound && value <= values as f64 {
            return Ok(low + (value as i64 - 1).min(values - 1));
        }
    }
}

/// The place of a part, 0 to below 1, among so many values.
fn place(part: f64, values: i64) -> i64 {
    ((values as f64 * part) as i64).clamp(0, values - 1)
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use rand_pcg::Pcg64Mcg;
    use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

    use super::*;

    struct Pcg(Pcg64Mcg);

    impl Random for Pcg {
        fn uniform(&mut self, low: i64, high: i64) -> i64 {
            let values = low.abs_diff(high) + 1;
            low + ((u128::from(self.0.next_u64()) * u128::from(values)) >> 64) as i64
        }

        fn fraction(&mut self) -> f64 {
            (self.0.next_u64() >> 11) as f64 * (-53f64).exp2()
        }
    }

    /// Draws of 1 to 20 have these shares, by a chi-square test that fails once in 100,000
    /// right implementations; one whose largest share is off by a tenth does not pass.
    fn follows(shares: &[f64], mut draw: impl FnMut(&mut Pcg) -> Result<i64>) {
        const DRAWS: usize = 400_000;
        let mut random = Pcg(Pcg64Mcg::new(0xcafe_f00d_d15e_a5e5));
        let mut counts = vec![0.0; shares.len()];
        for _ in 0..DRAWS {
            counts[draw(&mut random).unwrap() as usize - 1] += 1.0;
        }
        let total: f64 = shares.iter().sum();
        let distance = |shares: &[f64], total: f64| -> f64 {
            let expected = shares.iter().map(|share| share / total * DRAWS as f64);
            counts
                .iter()
                .zip(expected)
                .map(|(count, wanted): (&f64, f64)| (count - wanted).powi(2) / wanted)
                .sum()
        };
        let limit = ChiSquared::new(shares.len() as f64 - 1.0)
            .unwrap()
            .inverse_cdf(1.0 - 1e-5);
        assert!(distance(shares, total) < limit, "{counts:?}");
        let mut off = shares.to_vec();
        let largest = (0..off.len())
            .max_by(|a, b| off[*a].total_cmp(&off[*b]))
            .unwrap();
        off[largest] *= 0.9;
        assert!(
            distance(&off, off.iter().sum()) > limit,
            "the test would find a tenth"
        );
    }

    /// The shares as the manual has them, for 20 values.
    #[test]
    fn distributions_are_those_of_the_manual() {
        let each = |share: &dyn Fn(f64) -> f64| {
            (0..20)
                .map(|place| share(f64::from(place)))
                .collect::<Vec<f64>>()
        };
        follows(&each(&|_| 1.0), |random| uniform(random, 1, 20));
        let exponent = |parameter: f64| {
            each(&move |place| {
                (-parameter * place / 20.0).exp() * (1.0 - (-parameter / 20.0).exp())
                    / (1.0 - (-parameter).exp())
            })
        };
        follows(&exponent(1.0), |random| exponential(random, 1, 20, 1.0));
        follows(&exponent(5.0), |random| exponential(random, 1, 20, 5.0));
        let normal = Normal::new(0.0, 1.0).unwrap();
        let bell = |parameter: f64| {
            each(&move |place| {
                let cdf = |part: f64| normal.cdf(parameter * (2.0 * part - 1.0));
                cdf((place + 1.0) / 20.0) - cdf(place / 20.0)
            })
        };
        follows(&bell(2.0), |random| gaussian(random, 1, 20, 2.0));
        follows(&bell(3.5), |random| gaussian(random, 1, 20, 3.5));
        for parameter in [1.2, 2.5] {
            let shares = each(&|place| (place + 1.0).powf(-parameter));
            follows(&shares, |random| zipfian(random, 1, 20, parameter));
        }
    }

    #[test]
    fn bounds_are_kept_and_checked() {
        let random = &mut Pcg(Pcg64Mcg::new(1));
        for (low, high) in [(5, 5), (-3, 3), (i64::MAX - 1, i64::MAX), (i64::MIN + 2, 0)] {
            for _ in 0..200 {
                for drawn in [
                    uniform(random, low, high),
                    exponential(random, low, high, 0.1),
                    gaussian(random, low, high, 2.0),
                    zipfian(random, low, high, 1.001),
                ] {
                    assert!((low..=high).contains(&drawn.unwrap()));
                }
            }
        }
        assert!(uniform(random, 2, 1).is_err());
        assert!(uniform(random, i64::MIN, i64::MAX).is_err());
        assert!(exponential(random, 1, 2, 0.0).is_err());
        assert!(gaussian(random, 1, 2, 1.99).is_err());
        assert!(gaussian(random, 1, 2, f64::NAN).is_err());
        assert!(zipfian(random, 1, 2, 1.0).is_err());
    }
}
