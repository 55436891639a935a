//! Division by a number that is known only when a device is opened.

/// A divisor, with the multiplication that stands for dividing by it.
///
/// Processors divide in ten times the time of a multiplication, and a flash
/// translation layer divides several times a request, by numbers that are not
/// always powers of two (576 pages in a block, 10 channels). With
/// m = ceil(2^63 / d), the quotient of n is floor(m n / 2^63), exactly, for all
/// n below 2^32 and d up to 2^31: theorem 4.2 of Granlund and Montgomery,
/// "Division by Invariant Integers using Multiplication", PLDI 1994, with
/// N = 32 and l = 31, whose condition 0 <= m d - 2^63 <= 2^31 holds, as the
/// ceiling adds less than d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    divisor: u32,
    reciprocal: u64,
}

/// log2 of what the reciprocal is scaled by.
const SCALE_BITS: u32 = 63;

impl Divisor {
    /// # Panics
    /// For 0, and above 2^31.
    pub(crate) fn new(divisor: u32) -> Self {
        assert!(
            (1..=1 << 31).contains(&divisor),
            "{divisor} is no divisor from 1 to 2^31"
        );
        Self {
            divisor,
            reciprocal: (1_u64 << SCALE_BITS).div_ceil(u64::from(divisor)),
        }
    }

    #[inline]
    pub(crate) const fn get(self) -> u32 {
        self.divisor
    }

    /// `number / divisor`.
    #[inline]
    pub(crate) const fn quotient(self, number: u32) -> u32 {
        // Below 2^32, as the divisor is at least 1.
        ((self.reciprocal as u128 * number as u128) >> SCALE_BITS) as u32
    }

    /// `(number / divisor, number % divisor)`.
    #[inline]
    pub(crate) const fn split(self, number: u32) -> (u32, u32) {
        let quotient = self.quotient(number);
        (quotient, number - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn it_divides() {
        let mut generator = Seed::new(1).generator();
        for _ in 0..100_000 {
            let word = generator.next_u64();
            // Numbers and divisors of all lengths.
            let number = (word >> 32) as u32 >> (word & 31);
            let divisor = ((word as u32 >> 1) >> ((word >> 40) % 31)).max(1);
            assert_eq!(
                Divisor::new(divisor).split(number),
                (number / divisor, number % divisor),
                "{number} / {divisor}"
            );
        }
    }

    /// Quotients go wrong first next to multiples of large divisors.
    #[test]
    fn it_divides_at_the_edges() {
        let mut divisors: Vec<u32> = (1..=1000).collect();
        for bits in 10..31 {
            divisors.extend([(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        }
        divisors.extend([(1 << 31) - 1, 1 << 31]);
        for divisor in divisors {
            let fast = Divisor::new(divisor);
            let last = u32::MAX / divisor * divisor;
            for multiple in [0, divisor, last / 2 / divisor * divisor, last] {
                for number in [
                    multiple.wrapping_sub(1),
                    multiple,
                    multiple.wrapping_add((divisor - 1).min(1)),
                ] {
                    assert_eq!(
                        fast.split(number),
                        (number / divisor, number % divisor),
                        "{number} / {divisor}"
                    );
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "0 is no divisor")]
    fn nothing_divides_by_0() {
        Divisor::new(0);
    }
}
