//! Looking again and again on the way to a horizon: how wide an interval has
//! to be at each look, so that all looks together keep the error they promise.
//!
//! The error is spent over the looks (Lan and DeMets, Biometrika 70, 1983).
//! Intervals built with the levels that follow are repeated confidence
//! intervals (Jennison and Turnbull, J. Royal Statistical Society B 51, 1989).

use super::walk::{Walk, upper_tail};

/// The error of all looks up to the horizon, and how much of it is spent.
#[derive(Clone)]
pub struct AlphaSpending {
    error: f64,
    spent: f64,
    walk: Walk,
    /// Of the last look.
    level: Option<f64>,
}

impl AlphaSpending {
    /// Before the first look, with the two-sided error of all looks together,
    /// such as 0.05.
    ///
    /// # Panics
    /// If the error is not between 0 and 1.
    pub fn new(error: f64) -> Self {
        assert!(0.0 < error && error < 1.0, "an error of {error}");
        Self {
            error,
            spent: 0.0,
            walk: Walk::new(),
            level: None,
        }
    }

    /// The two-sided level of the next look taken alone, to be applied to
    /// Student's t (the significance-level approach: Jennison and Turnbull,
    /// Group Sequential Methods, 2000, chapter 4).
    ///
    /// `information` is the number of values that the look will see, `share`
    /// how far it is on the way to the horizon, at most 1. That of the last
    /// look where there is nothing new to see or nothing left to spend.
    pub fn level(&self, information: f64, share: f64) -> f64 {
        self.next(information, share)
            .map(|(_, critical)| 2.0 * upper_tail(critical))
            .or(self.level)
            .unwrap_or(self.error)
    }

    /// Looks: see [`Self::level`].
    pub fn look(&mut self, information: f64, share: f64) -> f64 {
        if let Some((spend, critical)) = self.next(information, share) {
            self.walk.go_on(information, critical);
            self.spent += spend;
            self.level = Some(2.0 * upper_tail(critical));
        }
        self.level.unwrap_or(self.error)
    }

    /// The looks that follow see other values than those before. What was spent stays spent: together
    /// all keep the error, as its parts add up (Bonferroni).
    pub fn begin_again(&mut self) {
        self.walk = Walk::new();
    }

    /// What the next look spends, and its normal critical value; `None` where
    /// it has nothing to spend, or less than 1% more to see, for which the
    /// steps of the walk's integral are too wide.
    fn next(&self, information: f64, share: f64) -> Option<(f64, f64)> {
        let spend = self.error * spent(share) - self.spent;
        (spend > 0.0 && information > 1.01 * self.walk.information())
            .then(|| (spend, self.walk.critical_spending(information, spend)))
    }
}

/// The share of the error that is spent at this share of the way to the
/// horizon: as much as of the way (Kim and DeMets, Biometrika 74, 1987, with
/// an exponent of 1). Chosen by simulation (bench/lockstep.sh).
fn spent(share: f64) -> f64 {
    share.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The normal critical values of equal looks at a two-sided 5%.
    fn critical_values(looks: u32) -> Vec<f64> {
        let mut spending = AlphaSpending::new(0.05);
        (1..=looks)
            .map(|look| {
                let share = f64::from(look) / f64::from(looks);
                let level = spending.look(f64::from(look) * 7.0, share);
                let (mut low, mut high) = (0.0, 10.0);
                while high - low > 1e-9 {
                    let middle = 0.5 * (low + high);
                    if 2.0 * upper_tail(middle) > level {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                low
            })
            .collect()
    }

    #[test]
    fn all_error_is_spent_at_the_horizon() {
        let mut walk = Walk::new();
        let crossed: f64 = (1u32..)
            .zip(critical_values(10))
            .map(|(look, critical)| {
                let crossing = walk.crossing(f64::from(look), critical);
                walk.go_on(f64::from(look), critical);
                crossing
            })
            .sum();
        assert!((crossed - 0.05).abs() < 1e-6, "{crossed}");
    }

    #[test]
    fn one_look_has_the_usual_critical_value() {
        let critical = critical_values(1)[0];
        assert!((critical - 1.959_964).abs() < 1e-5, "{critical}");
    }

    #[test]
    fn looks_at_other_values_spend_what_is_left() {
        let mut spending = AlphaSpending::new(0.05);
        let level = spending.look(10.0, 0.4);
        assert!((level - 0.02).abs() < 1e-9, "{level}");
        spending.begin_again();
        // Fewer values than before are new ones.
        let level = spending.look(5.0, 1.0);
        assert!((level - 0.03).abs() < 1e-9, "{level}");
    }

    #[test]
    fn a_look_with_nothing_new_costs_nothing() {
        let mut spending = AlphaSpending::new(0.05);
        let first = spending.look(5.0, 0.5);
        assert_eq!(spending.look(5.0, 0.6), first);
        let mut other = AlphaSpending::new(0.05);
        other.look(5.0, 0.5);
        assert_eq!(spending.look(9.0, 1.0), other.look(9.0, 1.0));
        // Beyond the horizon the last level stands.
        assert_eq!(spending.level(20.0, 1.0), spending.level(30.0, 1.0));
    }
}
