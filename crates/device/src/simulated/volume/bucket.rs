//! Token buckets, in whole numbers.

use octavo_units::Moment;

/// A bucket that gains `rate` tokens a second, up to a capacity.
///
/// Those who take tokens are served in the order in which they come; one who
/// finds too few waits until there are enough, and everyone after it waits
/// too. So a bucket may be kept as one level that falls below zero: the debt
/// is what those who wait have been promised. (Turner, "New directions in
/// communications", IEEE Communications 24(10), 1986; the debt is the virtual
/// scheduling of ITU-T I.371.)
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    rate: u64,
    capacity: i128,
    /// In billionths of a token, so that a nanosecond adds `rate` of them.
    level: i128,
    at: Moment,
}

const TOKEN: i128 = 1_000_000_000;

impl TokenBucket {
    /// A full bucket; `rate` is not 0.
    pub(super) fn new(rate: u64, capacity: u64) -> Self {
        let capacity = i128::from(capacity) * TOKEN;
        Self {
            rate,
            capacity,
            level: capacity,
            at: Moment::START,
        }
    }

    /// Takes so many tokens, and tells when they are there. Time does not go
    /// back. More tokens than the capacity are waited for as well.
    pub(super) fn take(&mut self, at: Moment, tokens: u64) -> Moment {
        let gained = i128::from(at.since(self.at)) * i128::from(self.rate);
        self.level = (self.level + gained).min(self.capacity.max(self.level));
        self.at = self.at.max(at);
        self.level -= i128::from(tokens) * TOKEN;
        if self.level >= 0 {
            return at;
        }
        let rate = i128::from(self.rate);
        let wait = (-self.level + rate - 1) / rate;
        at.after(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Takes all tokens that there are.
    pub(super) fn drain(&mut self) {
        self.level = self.level.min(0);
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    /// One operation at a time, one nanosecond at a time.
    struct Naive {
        rate: u64,
        capacity: i128,
        level: i128,
        now: u64,
    }

    impl Naive {
        fn tick(&mut self) {
            self.now += 1;
            self.level += i128::from(self.rate);
        }

        fn take(&mut self, at: u64, tokens: u64) -> u64 {
            while self.now < at {
                self.tick();
                // What overflows is lost; but not the fraction of a token that
                // the nanosecond brings in which a wait for all ends.
                self.level = self.level.min(self.capacity);
            }
            while self.level < i128::from(tokens) * TOKEN {
                self.tick();
            }
            self.level -= i128::from(tokens) * TOKEN;
            self.now
        }
    }

    #[test]
    fn a_bucket_grants_when_a_naive_one_does() {
        let seed = Seed::new(0xb0c4e7);
        let mut random = seed.generator();
        for case in 0..200 {
            let mut below = |bound: u64| random.next_u64() % bound;
            // From a token in 1,000 ns to one a ns.
            let rate = 1_000_000 + below(1_000_000_000);
            let capacity = 1 + below(20);
            let mut bucket = TokenBucket::new(rate, capacity);
            let mut naive = Naive {
                rate,
                capacity: i128::from(capacity) * TOKEN,
                level: i128::from(capacity) * TOKEN,
                now: 0,
            };
            let mut at = 0;
            for step in 0..100 {
                at += below(30);
                let tokens = below(capacity + 1);
                assert_eq!(
                    bucket.take(Moment::nanoseconds(at), tokens).get(),
                    naive.take(at, tokens),
                    "step {step} of case {case} of seed {seed}"
                );
            }
        }
    }

    #[test]
    fn more_than_fits_is_waited_for() {
        let mut bucket = TokenBucket::new(1_000_000_000, 10);
        assert_eq!(bucket.take(Moment::START, 25).get(), 15);
        assert_eq!(bucket.take(Moment::nanoseconds(5), 0).get(), 15);
        bucket.drain();
        assert_eq!(bucket.take(Moment::nanoseconds(15), 1).get(), 16);
    }
}
