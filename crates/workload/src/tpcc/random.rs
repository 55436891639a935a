//! Random numbers and texts of clauses 2.1.6 and 4.3.2.

use octavo_units::Seed;

use crate::{audit::range_of, random::Draws};

impl Draws {
    /// The non-uniform draw of clause 2.1.6.
    pub(super) fn nurand(&mut self, of: &NuRand) -> i64 {
        let mixed = self.uniform(0, of.a) | self.uniform(of.low, of.high);
        (mixed + of.c) % (of.high - of.low + 1) + of.low
    }

    /// Appends an a-string in which, when `original`, eight characters in a
    /// row at a random place read ORIGINAL (clause 4.3.3.1).
    pub(super) fn data(&mut self, text: &mut String, low: usize, high: usize, original: bool) {
        let start = text.len();
        self.a_string(text, low, high);
        if original {
            let last = text.len() - start - ORIGINAL.len();
            let at = start + self.position(0, last);
            text.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
        }
    }

    /// Appends a zip code (clause 4.3.2.7): four random digits, then 11111.
    pub(super) fn zip(&mut self, text: &mut String) {
        self.n_string(text, 4);
        text.push_str("11111");
    }

    /// Appends two letters for a state.
    pub(super) fn state(&mut self, text: &mut String) {
        for _ in 0..2 {
            text.push(char::from(b'A' + self.uniform(0, 25) as u8));
        }
    }
}

/// The mark of original brands.
pub(super) const ORIGINAL: &str = "ORIGINAL";

/// The parameters of a non-uniform draw, NURand(A, x, y) with its constant C
/// (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NuRand {
    /// A, one less than a power of two.
    pub(super) a: i64,
    /// The constant, 0 to A, the same for all terminals.
    pub(super) c: i64,
    /// x, the smallest value.
    pub(super) low: i64,
    /// y, the largest value.
    pub(super) high: i64,
}

impl NuRand {
    /// Surnames: 0 to 999 with A = 255.
    pub(super) const fn surname(c: i64) -> Self {
        Self {
            a: 255,
            c,
            low: 0,
            high: 999,
        }
    }

    /// Customers of a district: 1 to 3000 with A = 1023.
    pub(super) const fn customer(c: i64) -> Self {
        Self {
            a: 1023,
            c,
            low: 1,
            high: super::schema::CUSTOMERS,
        }
    }

    /// Items: 1 to 100,000 with A = 8191.
    pub(super) const fn item(c: i64) -> Self {
        Self {
            a: 8191,
            c,
            low: 1,
            high: super::schema::ITEMS,
        }
    }

    /// The same range with all values equally likely.
    pub(super) const fn uniform(self) -> Self {
        Self { a: 0, c: 0, ..self }
    }

    /// Position of a value among [`Self::BINS`] equally wide ranges.
    pub(super) fn bin(&self, value: i64) -> usize {
        let values = self.low.abs_diff(self.high) + 1;
        range_of(self.low.abs_diff(value), values, Self::BINS as u64)
    }

    /// Ranges that draws are counted in.
    pub(super) const BINS: usize = 16;

    /// The exact probability of each bin.
    pub(super) fn bin_shares(&self) -> Vec<f64> {
        let mut bins = [0u64; Self::BINS];
        for (value, ways) in (self.low..).zip(self.ways()) {
            bins[self.bin(value)] += ways;
        }
        let all = (self.a + 1) * (self.high - self.low + 1);
        // Both are whole numbers below 2^53.
        bins.iter().map(|ways| *ways as f64 / all as f64).collect()
    }

    /// In how many ways each value from `low` to `high` comes about, out of
    /// (A + 1) (y - x + 1).
    ///
    /// With A = 2^k - 1, `a | r` is `v` exactly when `r` and `v` agree above
    /// bit k, `r`'s low bits are among `v`'s, and `a` holds the missing ones
    /// and any of `r`'s: 2^ones(r) choices. Summing that over the subsets of
    /// each `v` is a zeta transform, k 2^k steps for each value of the bits
    /// above k, instead of (A + 1) (y - x + 1) pairs.
    pub(super) fn ways(&self) -> Vec<u64> {
        let size = self.a + 1;
        debug_assert!(size.count_ones() == 1);
        let values = self.high - self.low + 1;
        let mut ways = vec![0; values as usize];
        for block in self.low / size..=self.high / size {
            let base = block * size;
            let mut of_low_bits: Vec<u64> = (base..base + size)
                .map(|r| match (self.low..=self.high).contains(&r) {
                    true => 1 << (r & self.a).count_ones(),
                    false => 0,
                })
                .collect();
            for bit in (0..size.trailing_zeros()).map(|bit| 1 << bit) {
                for v in (0..size as usize).filter(|v| v & bit != 0) {
                    of_low_bits[v] += of_low_bits[v ^ bit];
                }
            }
            for (v, count) in (base..).zip(of_low_bits) {
                // Where `a | r` exceeds y, the modulo brings it back.
                ways[((v + self.c) % values) as usize] += count;
            }
        }
        ways
    }
}

/// The syllables of surnames (clause 4.3.2.3).
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Appends the surname of a number from 0 to 999: a syllable a digit.
pub(super) fn push_surname(text: &mut String, number: i64) {
    for digit in [number / 100, number / 10 % 10, number % 10] {
        text.push_str(SYLLABLES[digit as usize]);
    }
}

/// Chooses exactly a tenth of the rows of a known number, each as likely as
/// another, in one pass (Knuth, The Art of Computer Programming, volume 2,
/// 3.4.2, algorithm S).
#[derive(Debug)]
pub(super) struct Tenth {
    wanted: i64,
    left: i64,
}

impl Tenth {
    pub(super) fn new(rows: i64) -> Self {
        Self {
            wanted: rows / 10,
            left: rows,
        }
    }

    /// Whether the next row is chosen.
    pub(super) fn next(&mut self, draws: &mut Draws) -> bool {
        let chosen = draws.uniform(1, self.left) <= self.wanted;
        self.left -= 1;
        self.wanted -= i64::from(chosen);
        chosen
    }
}

/// The constants C of non-uniform draws (clause 2.1.6): one set for the population and all
/// terminals of a [`super::Tpcc`].
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

    /// The same with all customers and all items equally likely.
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

    use proptest::prelude::*;

    use super::*;

    fn draws(seed: u64) -> Draws {
        Draws::new(Seed::new(seed))
    }

    #[test]
    fn surnames_follow_the_specification() {
        // The example of clause 4.3.2.3, and the ends.
        for (number, surname) in [
            (371, "PRICALLYOUGHT"),
            (40, "BARPRESBAR"),
            (0, "BARBARBAR"),
            (999, "EINGEINGEING"),
        ] {
            let mut text = String::new();
            push_surname(&mut text, number);
            assert_eq!(text, surname);
        }
    }

    #[test]
    fn ways_are_those_of_enumerating_all_pairs() {
        for (a, c, low, high) in [
            (7, 3, 1, 20),
            (15, 0, 0, 9),
            (3, 2, 5, 5),
            (31, 17, 1, 100),
            (0, 0, 1, 9),
        ] {
            let of = NuRand { a, c, low, high };
            let values = high - low + 1;
            let mut enumerated = vec![0u64; values as usize];
            for drawn in 0..=a {
                for r in low..=high {
                    enumerated[(((drawn | r) + c) % values) as usize] += 1;
                }
            }
            assert_eq!(of.ways(), enumerated, "{of:?}");
        }
    }

    #[test]
    fn drawn_values_follow_the_exact_probabilities() {
        let of = NuRand {
            a: 7,
            c: 3,
            low: 1,
            high: 20,
        };
        let mut draws = draws(1);
        let mut counts = [0u64; 20];
        const N: u64 = 200_000;
        for _ in 0..N {
            counts[(draws.nurand(&of) - 1) as usize] += 1;
        }
        let chi_square: f64 = counts
            .iter()
            .zip(of.ways())
            .map(|(count, ways)| {
                let wanted = N as f64 * ways as f64 / (8.0 * 20.0);
                (*count as f64 - wanted).powi(2) / wanted
            })
            .sum();
        // 19 degrees of freedom: above 43.8 once in 1,000 seeds.
        assert!(chi_square < 43.8, "{chi_square}");
    }

    #[test]
    fn bins_cover_all_probability() {
        for of in [
            NuRand::surname(223),
            NuRand::customer(259),
            NuRand::item(7911),
        ] {
            let sum: f64 = of.bin_shares().iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            assert_eq!(of.bin(of.low), 0);
            assert_eq!(of.bin(of.high), NuRand::BINS - 1);
        }
    }

    #[test]
    fn exactly_a_tenth_is_chosen_from_anywhere() {
        let mut first_half = 0;
        for seed in 0..100 {
            let mut draws = draws(seed);
            let mut tenth = Tenth::new(1000);
            let chosen: Vec<bool> = (0..1000).map(|_| tenth.next(&mut draws)).collect();
            assert_eq!(chosen.iter().filter(|chosen| **chosen).count(), 100);
            first_half += chosen[..500].iter().filter(|chosen| **chosen).count();
        }
        // 5,000 wanted; the standard deviation of the hypergeometric sum is 47.
        assert!(first_half.abs_diff(5000) < 200, "{first_half}");
    }

    #[test]
    fn original_may_stand_at_both_ends() {
        let mut draws = draws(3);
        let (mut starts, mut ends) = (0, 0);
        for _ in 0..2000 {
            let mut text = String::from("kept");
            draws.data(&mut text, 26, 50, true);
            let data = text.strip_prefix("kept").unwrap();
            assert!((26..=50).contains(&data.len()));
            let at = data.find(ORIGINAL).unwrap();
            starts += usize::from(at == 0);
            ends += usize::from(at + ORIGINAL.len() == data.len());
        }
        assert!(starts > 20 && ends > 20, "{starts} {ends}");
    }

    proptest! {
        #[test]
        fn draws_stay_in_their_ranges(seed: u64, low in -50i64..50, width in 0i64..100_000) {
            let mut draws = draws(seed);
            let drawn = draws.uniform(low, low + width);
            prop_assert!((low..=low + width).contains(&drawn));
            for of in [NuRand::surname(255), NuRand::customer(0), NuRand::item(8191)] {
                let drawn = draws.nurand(&of);
                prop_assert!((of.low..=of.high).contains(&drawn));
            }
        }

        #[test]
        fn texts_have_the_wanted_form(seed: u64, low in 0usize..100, width in 0usize..400) {
            let mut draws = draws(seed);
            let mut text = String::new();
            draws.a_string(&mut text, low, low + width);
            prop_assert!((low..=low + width).contains(&text.len()));
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            let mut zip = String::new();
            draws.zip(&mut zip);
            prop_assert!(zip.len() == 9 && zip.ends_with("11111"));
            prop_assert!(zip.bytes().all(|byte| byte.is_ascii_digit()));
        }
    }

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
