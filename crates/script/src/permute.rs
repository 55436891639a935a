//! `permute(i, size, seed)`: where a number goes in a pseudorandom permutation.
//!
//! The numbers are those of pgbench since PostgreSQL 15, whose generator is xoroshiro128**
//! (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded by
//! splitmix64.

struct Xoroshiro128 {
    s0: u64,
    s1: u64,
}

impl Xoroshiro128 {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut split_mix = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut value = state;
            value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            value ^ value >> 31
        };
        let (s0, s1) = (split_mix(), split_mix());
        Self { s0, s1 }
    }

    fn next(&mut self) -> u64 {
        let (s0, mixed) = (self.s0, self.s1 ^ self.s0);
        self.s0 = s0.rotate_left(24) ^ mixed ^ mixed << 16;
        self.s1 = mixed.rotate_left(37);
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number up to `last`, by drawing again what is beyond.
    fn up_to(&mut self, last: u64) -> u64 {
        if last == 0 {
            return 0;
        }
        loop {
            let value = self.next() >> last.leading_zeros();
            if value <= last {
                return value;
            }
        }
    }
}

/// Rounds of the cipher: what pgbench found to be enough.
const ROUNDS: u32 = 6;

/// Where `value`, taken modulo `size`, goes among 0 to `size` - 1. Different values below
/// `size` go to different places.
///
/// # Panics
/// When `size` is 0.
pub(crate) fn permute(value: i64, size: u64, seed: i64) -> u64 {
    let mut generator = Xoroshiro128::new(seed.cast_unsigned());
    let mut place = value.cast_unsigned() % size;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    // A bijection of the numbers up to the mask.
    let scramble = |value: u64, multiplier: u64, xor: u64| {
        let mixed = (value.wrapping_mul(multiplier) ^ xor) & mask;
        match bits {
            0 => mixed,
            bits => (mixed << 1) & mask | mixed >> (bits - 1),
        }
    };
    for _ in 0..ROUNDS {
        let mut draw = || ((generator.next() & mask) | 1, generator.next() & mask);
        let (multiplier, xor) = draw();
        if place <= mask {
            place = scramble(place, multiplier, xor);
        }
        let (multiplier, xor) = draw();
        let from_end = size - 1 - place;
        if from_end <= mask {
            place = size - 1 - scramble(from_end, multiplier, xor);
        }
        let offset = generator.up_to(size - 1);
        place = ((u128::from(place) + u128::from(offset)) % u128::from(size)) as u64;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_each_place_once() {
        for size in 1..300u64 {
            let mut seen = vec![false; size as usize];
            for value in 0..size {
                let place = permute(value as i64, size, 7) as usize;
                assert!(
                    !std::mem::replace(&mut seen[place], true),
                    "{size}: {place} twice"
                );
            }
        }
        for size in [1 << 40, i64::MAX as u64] {
            assert!(permute(i64::MIN, size, -1) < size);
        }
    }
}
