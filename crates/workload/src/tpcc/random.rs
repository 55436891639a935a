//! Random numbers and texts of clauses 2.1.6 and 4.3.2.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use octavo_units::Seed;

/// The characters of an a-string (clause 4.3.2.2).
const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Pairs of characters, so that one extraction gives two.
const PAIRS: usize = ALPHANUMERIC.len() * ALPHANUMERIC.len();

static ALPHANUMERIC_PAIRS: [[u8; 2]; PAIRS] = {
    let mut pairs = [[0; 2]; PAIRS];
    let mut i = 0;
    while i < PAIRS {
        pairs[i] = [ALPHANUMERIC[i / 62], ALPHANUMERIC[i % 62]];
        i += 1;
    }
    pairs
};

/// The longest text that is drawn, C_DATA.
const TEXT_MAX: usize = 500;

/// A stream of draws.
#[derive(Debug)]
pub(super) struct Draws {
    generator: Pcg64Mcg,
    /// Where texts are put together: kept, so that it is not cleared for each.
    text: [u8; TEXT_MAX.next_multiple_of(8)],
}

impl Draws {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            generator: seed.generator(),
            text: [b'0'; TEXT_MAX.next_multiple_of(8)],
        }
    }

    /// A whole number from `low` to `high`, both included.
    ///
    /// The high half of a 64-bit draw times the number of values (Lemire,
    /// "Fast random integer generation in an interval", 2019, without the
    /// rejection): the ranges here have at most 10^6 values, so no value's
    /// probability is off by more than 2^-44 of itself.
    #[inline]
    pub(super) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high);
        let values = low.abs_diff(high) + 1;
        let high_half = (u128::from(self.generator.next_u64()) * u128::from(values)) >> 64;
        low + high_half as i64
    }

    /// True with a probability of `percent` in 100.
    pub(super) fn percent(&mut self, percent: i64) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// The non-uniform draw of clause 2.1.6.
    pub(super) fn nurand(&mut self, of: &NuRand) -> i64 {
        let mixed = self.uniform(0, of.a) | self.uniform(of.low, of.high);
        (mixed + of.c) % (of.high - of.low + 1) + of.low
    }

    /// Appends an a-string of `low` to `high` characters (clause 4.3.2.2).
    pub(super) fn a_string(&mut self, text: &mut String, low: usize, high: usize) {
        let length = self.length(low, high);
        text.push_str(self.alphanumeric(length));
    }

    /// Appends an a-string in which, when `original`, eight characters in a
    /// row at a random place read ORIGINAL (clause 4.3.3.1).
    pub(super) fn data(&mut self, text: &mut String, low: usize, high: usize, original: bool) {
        let start = text.len();
        self.a_string(text, low, high);
        if original {
            let last = text.len() - start - ORIGINAL.len();
            let at = start + self.length(0, last);
            text.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
        }
    }

    /// Appends an n-string of `length` digits.
    pub(super) fn n_string(&mut self, text: &mut String, length: usize) {
        for _ in 0..length {
            text.push(char::from(b'0' + self.uniform(0, 9) as u8));
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

    /// Shuffles with every order equally likely (Fisher and Yates).
    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.length(0, last));
        }
    }

    fn length(&mut self, low: usize, high: usize) -> usize {
        self.uniform(low as i64, high as i64) as usize
    }

    /// `length` random characters.
    ///
    /// Each 64-bit draw is read as a fraction and multiplied by 3,844 four
    /// times; the whole parts are four pairs. 3,844^4 is 2^47.6, so no eight
    /// characters are likelier or unlikelier than others by more than 2^-16.
    fn alphanumeric(&mut self, length: usize) -> &str {
        for eight in self.text[..length.next_multiple_of(8)].chunks_exact_mut(8) {
            let mut fraction = self.generator.next_u64();
            for pair in eight.chunks_exact_mut(2) {
                let product = u128::from(fraction) * PAIRS as u128;
                fraction = product as u64;
                pair.copy_from_slice(&ALPHANUMERIC_PAIRS[(product >> 64) as usize]);
            }
        }
        // The check runs over whole words and is cheap beside the drawing.
        str::from_utf8(&self.text[..length]).expect("the characters are ASCII")
    }
}

/// What marks a brand as original.
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

    /// Position of a value among [`Self::BINS`] equally wide ranges.
    pub(super) fn bin(&self, value: i64) -> usize {
        ((value - self.low) as usize * Self::BINS) / (self.high - self.low + 1) as usize
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
    fn ways(&self) -> Vec<u64> {
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
    pub(super) fn of(rows: i64) -> Self {
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

#[cfg(test)]
mod tests {
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
        for (a, c, low, high) in [(7, 3, 1, 20), (15, 0, 0, 9), (3, 2, 5, 5), (31, 17, 1, 100)] {
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
    fn characters_are_equally_likely_at_every_place() {
        let mut draws = draws(2);
        let mut counts = [[0u32; 128]; 8];
        const N: u32 = 62_000;
        for _ in 0..N {
            for (place, byte) in draws.alphanumeric(8).bytes().enumerate() {
                counts[place][usize::from(byte)] += 1;
            }
        }
        for place in counts {
            let mut others = place.to_vec();
            let chi_square: f64 = ALPHANUMERIC
                .iter()
                .map(|byte| {
                    let count = std::mem::take(&mut others[usize::from(*byte)]);
                    (f64::from(count) - 1000.0).powi(2) / 1000.0
                })
                .sum();
            // 61 degrees of freedom: above 110 once in 10,000 seeds.
            assert!(chi_square < 110.0, "{chi_square}");
            assert!(others.iter().all(|count| *count == 0));
        }
    }

    #[test]
    fn exactly_a_tenth_is_chosen_from_anywhere() {
        let mut first_half = 0;
        for seed in 0..100 {
            let mut draws = draws(seed);
            let mut tenth = Tenth::of(1000);
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
}
