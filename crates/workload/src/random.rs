//! A stream of random numbers and texts, from one seed.

use octavo_units::Seed;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

/// The characters of a random text (TPC-C's a-strings, clause 4.3.2.2).
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

/// Characters that are drawn at once; longer texts are put together.
const TEXT_BUFFER: usize = 504;

/// A stream of draws.
#[derive(Debug)]
pub(crate) struct Draws {
    generator: Pcg64Mcg,
    /// Buffer of texts, kept so that it is not cleared for each.
    text: [u8; TEXT_BUFFER],
}

impl Draws {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            generator: seed.generator(),
            text: [b'0'; TEXT_BUFFER],
        }
    }

    /// Begins anew, as with [`Self::new`].
    pub(crate) fn restart(&mut self, seed: Seed) {
        self.generator = seed.generator();
    }

    /// A whole number from `low` to `high`, both included.
    ///
    /// The high half of a 64-bit draw times the number of values (Lemire,
    /// "Fast random integer generation in an interval", 2019, without the
    /// rejection): of n values no one's probability is off by more than
    /// n / 2^64 of itself, 2^-30 for the largest ranges here, 10^10.
    #[inline]
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high);
        let values = low.abs_diff(high) + 1;
        let high_half = (u128::from(self.generator.next_u64()) * u128::from(values)) >> 64;
        low + high_half as i64
    }

    /// True with a probability of `percent` in 100.
    pub(crate) fn percent(&mut self, percent: i64) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// A fraction from 0 to below 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * (-53f64).exp2()
    }

    /// Appends an a-string of `low` to `high` characters (TPC-C, clause 4.3.2.2).
    pub(crate) fn a_string(&mut self, text: &mut String, low: usize, high: usize) {
        let length = self.position(low, high);
        self.text(text, length);
    }

    /// Appends exactly `length` letters and digits.
    pub(crate) fn text(&mut self, text: &mut String, length: usize) {
        let mut left = length;
        while left > 0 {
            let part = left.min(TEXT_BUFFER);
            text.push_str(self.alphanumeric(part));
            left -= part;
        }
    }

    /// Appends an n-string of `length` digits.
    pub(crate) fn n_string(&mut self, text: &mut String, length: usize) {
        for _ in 0..length {
            text.push(char::from(b'0' + self.uniform(0, 9) as u8));
        }
    }

    /// Shuffles with every order equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.position(0, last));
        }
    }

    /// As [`Self::uniform`] for sizes and positions.
    pub(crate) fn position(&mut self, low: usize, high: usize) -> usize {
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

/// Fills `values` with distinct draws: a value that is there already is drawn again.
pub(crate) fn fill_distinct<T: Copy + PartialEq>(values: &mut [T], mut draw: impl FnMut() -> T) {
    for found in 0..values.len() {
        values[found] = draw();
        while values[..found].contains(&values[found]) {
            values[found] = draw();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_equally_likely_at_every_place() {
        let mut draws = Draws::new(Seed::new(2));
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
    fn texts_of_any_length_are_random_to_their_end() {
        let mut draws = Draws::new(Seed::new(3));
        for length in [0, 1, 503, 504, 505, 3000] {
            let (mut one, mut other) = (String::from("kept"), String::new());
            draws.text(&mut one, length);
            draws.text(&mut other, length);
            let one = one.strip_prefix("kept").unwrap();
            assert_eq!((one.len(), other.len()), (length, length));
            // Two characters agree once in 62.
            let same = one.bytes().zip(other.bytes()).filter(|(a, b)| a == b);
            assert!(same.count() <= 2 + length / 20);
        }
    }

    #[test]
    fn fractions_cover_their_range() {
        let mut draws = Draws::new(Seed::new(4));
        let drawn: Vec<f64> = (0..10_000).map(|_| draws.fraction()).collect();
        assert!(drawn.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = drawn.iter().sum::<f64>() / 1e4;
        // Standard deviation 0.0029.
        assert!((mean - 0.5).abs() < 0.012, "{mean}");
    }
}
