//! Mutations of valid input, as a fuzzer makes them.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Tokens that break readers: ends of ranges, text that is no number, control characters,
/// markup, and marks of the formats.
const TOKENS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"-1e999",
    b"nan",
    b"inf",
    b"1e-320",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"null",
    b"true",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[[[[[[[[[[[[[[[[[",
    b"1..4294967295 step 1",
    b"16EiB",
    b"65536",
    b"999999999999h",
    b"\x1b[2J\x1b]0;gone\x07",
    b"\xc2\x9b31m",
    b"\xe2\x80\xae",
    b"\0",
    b"\xff\xfe",
    b"\n\n",
    b"\r",
    b"</script><script>alert(1)</script>",
    b"' OR 1 = 1 --",
    b"../../../etc/passwd",
    b"\xf0\x9f\x92\xa9",
];

/// Changes of one case, each by chance.
#[derive(Debug)]
pub struct Damage(Pcg64Mcg);

impl Damage {
    /// The changes of a case: one number, one result.
    pub fn new(case: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(case))
    }

    /// A number below `end`.
    ///
    /// # Panics
    /// When `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// Other bytes in place of these.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    /// One of them.
    ///
    /// # Panics
    /// When there is none.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A token that breaks readers: an end of a range, text that is no number, a mark of a format.
    pub fn token(&mut self) -> &'static [u8] {
        TOKENS[self.below(TOKENS.len())]
    }

    /// A whole number, often one at the end of a range.
    pub fn integer(&mut self) -> i64 {
        match self.below(3) {
            0 => *self.one_of(&[0, -1, 1, i64::MIN, i64::MAX, 1 << 32, u32::MAX.into()]),
            1 => self.0.random(),
            _ => self.0.random_range(-100..100),
        }
    }

    /// A number, often one that is none.
    pub fn real(&mut self) -> f64 {
        match self.below(2) {
            0 => *self.one_of(&[
                0.0,
                -0.0,
                -1.0,
                f64::MAX,
                f64::MIN_POSITIVE,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ]),
            _ => f64::from_bits(self.0.random()),
        }
    }

    /// Up to eight changes of `original`; some take a part of one of `others`.
    pub fn bytes(&mut self, original: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = original.to_vec();
        for _ in 0..=self.below(8) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(16)).min(bytes.len());
            match self.below(7) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.0.random(),
                2 => drop(bytes.splice(at..end, [])),
                3 => {
                    let token = self.token();
                    drop(bytes.splice(at..at, token.iter().copied()));
                }
                4 => {
                    let number = self.number_at(&bytes, at);
                    let token = self.token();
                    drop(bytes.splice(number, token.iter().copied()));
                }
                5 => {
                    let other = self.one_of(others);
                    let from = self.below(other.len() + 1);
                    let to = (from + self.below(200)).min(other.len());
                    let part = other[from..to].to_vec();
                    drop(bytes.splice(at..end, part));
                }
                _ if self.below(20) == 0 => bytes.truncate(at),
                _ => {}
            }
        }
        bytes
    }

    /// The next number or word behind a place.
    fn number_at(&mut self, bytes: &[u8], at: usize) -> std::ops::Range<usize> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
        let begin = bytes[at..]
            .iter()
            .position(|byte| byte.is_ascii_digit())
            .map_or(at, |found| at + found);
        let length = bytes[begin..]
            .iter()
            .take_while(|byte| is_word(byte))
            .count();
        begin..begin + length
    }
}
