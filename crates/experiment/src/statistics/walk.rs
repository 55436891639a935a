//! A normal random walk between boundaries: how likely it crosses at each
//! look, having crossed at none before.
//!
//! Its density is followed from look to look by numerical integration
//! (Armitage, McPherson and Rowe, J. Royal Statistical Society A 132, 1969).

use std::f64::consts::{PI, SQRT_2};

use statrs::function::erf::erfc;

/// The probability that a standard normal number is above this.
pub(super) fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// The distance from 0 of a normal random walk that has stayed within the
/// boundaries of all looks so far. Its variance grows with the information
/// (the number of values).
#[derive(Clone)]
pub(super) struct Walk {
    information: f64,
    /// Distances, and the probability of being around each.
    mass: Vec<(f64, f64)>,
}

impl Walk {
    /// Simpson's rule over this many intervals: twice as many change no
    /// critical value of any look by more than 5e-6.
    const INTERVALS: usize = 64;

    pub(super) fn new() -> Self {
        Self {
            information: 0.0,
            mass: vec![(0.0, 1.0)],
        }
    }

    pub(super) fn information(&self) -> f64 {
        self.information
    }

    /// The probability of being outside `critical` standard deviations at
    /// this information, and of not having been outside before.
    pub(super) fn crossing(&self, information: f64, critical: f64) -> f64 {
        let edge = critical * information.sqrt();
        let step = (information - self.information).sqrt();
        self.mass
            .iter()
            .map(|(at, mass)| {
                mass * (upper_tail((edge - at) / step) + upper_tail((edge + at) / step))
            })
            .sum()
    }

    /// The critical value at which just `probability` crosses.
    pub(super) fn critical_spending(&self, information: f64, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, 20.0);
        while high - low > 1e-10 {
            let middle = 0.5 * (low + high);
            if self.crossing(information, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Goes on to this information; what crosses there is gone.
    pub(super) fn go_on(&mut self, information: f64, critical: f64) {
        let width = critical * information.sqrt() / Self::INTERVALS as f64;
        let step = (information - self.information).sqrt();
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt() / step;
        self.mass = (0..=Self::INTERVALS)
            .map(|point| {
                let to = point as f64 * width;
                let simpson = match point {
                    0 | Self::INTERVALS => 1.0,
                    _ if point % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let arriving: f64 = self
                    .mass
                    .iter()
                    .map(|(at, mass)| {
                        mass * (density((to - at) / step) + density((to + at) / step))
                    })
                    .sum();
                (to, arriving * simpson * width / 3.0)
            })
            .collect();
        self.information = information;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of five equal looks with these critical values.
    fn error_of_five(critical: impl Fn(f64) -> f64) -> f64 {
        let mut walk = Walk::new();
        (1..=5)
            .map(|look| {
                let information = f64::from(look);
                let crossing = walk.crossing(information, critical(information));
                walk.go_on(information, critical(information));
                crossing
            })
            .sum()
    }

    #[test]
    fn published_designs_have_their_error() {
        // Jennison and Turnbull 2000, tables 2.1 and 2.3: five looks, 5 %.
        let pocock = error_of_five(|_| 2.413);
        assert!((pocock - 0.05).abs() < 5e-5, "{pocock}");
        let obrien_fleming = error_of_five(|look| 2.040 * (5.0 / look).sqrt());
        assert!((obrien_fleming - 0.05).abs() < 5e-5, "{obrien_fleming}");
    }
}
