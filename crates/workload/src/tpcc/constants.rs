//! The constants C of the non-uniform draws (clause 2.1.6).

use octavo_units::Seed;

use super::random::NuRand;
use crate::random::Draws;

/// One set for the population and all terminals of a [`super::Tpcc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    /// Surnames of the population (C-Load).
    pub(super) surname_load: NuRand,
    /// Surnames that transactions ask for (C-Run).
    pub(super) surname: NuRand,
    /// Customer numbers.
    pub(super) customer: NuRand,
    /// Item numbers.
    pub(super) item: NuRand,
}

impl Constants {
    /// Draws all constants; C-Run among the values that clause 2.1.6.1 admits
    /// for C-Load, each as likely as another.
    pub(super) fn new(seed: Seed) -> Self {
        let mut draws = Draws::new(seed.derive("nurand constants", 0));
        let c_load = draws.uniform(0, 255);
        let admitted = || (0..=255).filter(|c_run| is_admitted(c_load, *c_run));
        // Never empty: C-Load lies 128 or more from 0 or from 255, or one less.
        let count = admitted().count() as i64;
        let chosen = draws.uniform(0, count - 1) as usize;
        let c_run = admitted().nth(chosen).unwrap_or_default();
        Self {
            surname_load: NuRand::surname(c_load),
            surname: NuRand::surname(c_run),
            customer: NuRand::customer(draws.uniform(0, 1023)),
            item: NuRand::item(draws.uniform(0, 8191)),
        }
    }

    /// The same, with customers and items as likely as each other.
    pub(super) fn with_uniform_numbers(self) -> Self {
        Self {
            customer: self.customer.uniform(),
            item: self.item.uniform(),
            ..self
        }
    }
}

/// The difference of C-Run and C-Load is 65 to 119, but neither 96 nor 112
/// (clause 2.1.6.1).
fn is_admitted(c_load: i64, c_run: i64) -> bool {
    let difference = c_load.abs_diff(c_run);
    (65..=119).contains(&difference) && difference != 96 && difference != 112
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn c_run_keeps_its_distance_from_c_load() {
        let mut differences = HashSet::new();
        for seed in 0..5000 {
            let constants = Constants::new(Seed::new(seed));
            let (load, run) = (constants.surname_load.c, constants.surname.c);
            assert!((0..=255).contains(&load) && (0..=255).contains(&run));
            assert!((0..=1023).contains(&constants.customer.c));
            assert!((0..=8191).contains(&constants.item.c));
            differences.insert(load.abs_diff(run));
        }
        let wanted = (65..=119).filter(|difference| ![96, 112].contains(difference));
        assert_eq!(differences, wanted.collect());
    }

    #[test]
    fn uniform_numbers_are_as_likely_as_each_other_and_surnames_are_not() {
        let usual = Constants::new(Seed::new(9));
        let uniform = usual.with_uniform_numbers();
        assert_eq!(uniform.surname, usual.surname);
        for (of, values) in [(uniform.customer, 3000), (uniform.item, 100_000)] {
            assert_eq!(of.ways(), vec![1; values]);
        }
        let mut draws = Draws::new(Seed::new(1));
        let mut tenths = [0; 10];
        for _ in 0..100_000 {
            let item = draws.nurand(&uniform.item);
            tenths[(item - 1) as usize / 10_000] += 1;
        }
        // 10,000 each; the standard deviation is 95.
        assert!(tenths.iter().all(|count| (9500..10_500).contains(count)));
    }

    #[test]
    fn one_seed_gives_one_set() {
        let seed = Seed::new(9);
        assert_eq!(Constants::new(seed), Constants::new(seed));
    }
}
