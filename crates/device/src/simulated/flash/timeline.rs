//! A bus: one thing at a time passes over it, the oldest first.

use std::collections::VecDeque;

use octavo_units::Moment;

/// When a bus (a flash channel, the host link) is taken.
///
/// Transfers are asked for in the order in which the controller decides on
/// them, often long before they can begin, as a die has to read first. The
/// decision that came first has the bus first; later ones take what it leaves,
/// in several parts if need be. Buses do the same between code words, or
/// between the frames of a link: it is preemptive-resume service with the
/// older request first. No transfer is ever delayed by a later decision, so
/// that the end of each is known when it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// Disjoint, ascending, and not adjacent: from, until.
    taken: VecDeque<(u64, u64)>,
    #[cfg(test)]
    busy_ns: u64,
}

impl Timeline {
    /// Takes `duration_ns` from `from` on and says when they are over. No
    /// later call is about a time before `past`.
    #[inline]
    pub(crate) fn take(&mut self, past: Moment, from: Moment, duration_ns: u64) -> Moment {
        if duration_ns == 0 {
            return from;
        }
        #[cfg(test)]
        {
            self.busy_ns += duration_ns;
        }
        while self
            .taken
            .front()
            .is_some_and(|&(_, until)| until < past.get())
        {
            self.taken.pop_front();
        }
        let from = from.get();
        match self.taken.back_mut() {
            // By far most transfers come last.
            Some(last) if last.0 <= from && from <= last.1 => {
                last.1 += duration_ns;
                Moment::nanoseconds(last.1)
            }
            Some(last) if from < last.1 => Moment::nanoseconds(self.squeeze(from, duration_ns)),
            _ => {
                let until = from + duration_ns;
                self.taken.push_back((from, until));
                Moment::nanoseconds(until)
            }
        }
    }

    /// Takes what is left between others.
    fn squeeze(&mut self, from: u64, duration_ns: u64) -> u64 {
        let first = self.taken.partition_point(|&(_, until)| until < from);
        let mut next = first;
        let (mut now, mut rest) = (from, duration_ns);
        // All room from `from` on is filled, so that what is passed becomes
        // one stretch.
        let mut begin = from;
        while let Some(&(start, until)) = self.taken.get(next)
            && start < now + rest
        {
            begin = begin.min(start);
            rest -= start.saturating_sub(now);
            now = now.max(until);
            next += 1;
        }
        let end = now + rest;
        let mut until = end;
        if let Some(&(start, after)) = self.taken.get(next)
            && start == end
        {
            until = after;
            next += 1;
        }
        if next == first {
            self.taken.insert(first, (begin, until));
        } else {
            self.taken[first] = (begin, until);
            self.taken.drain(first + 1..next);
        }
        end
    }

    /// Nanoseconds that were ever taken.
    #[cfg(test)]
    pub(crate) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt as _;

    use super::*;

    /// Each nanosecond is free or taken.
    struct Slots(Vec<bool>);

    impl Slots {
        fn take(&mut self, from: u64, duration_ns: u64) -> u64 {
            let mut rest = duration_ns;
            let mut at = from as usize;
            loop {
                if rest == 0 {
                    return at as u64;
                }
                if !self.0[at] {
                    self.0[at] = true;
                    rest -= 1;
                }
                at += 1;
            }
        }
    }

    #[test]
    fn room_is_given_as_nanosecond_by_nanosecond() {
        for seed in 0..200 {
            let mut generator = Seed::new(seed).generator();
            let mut bus = Timeline::default();
            let mut slots = Slots(vec![false; 20_000]);
            let mut past = 0;
            for _ in 0..100 {
                past += generator.random_range(0..30);
                let from = past + generator.random_range(0..300);
                let duration_ns = generator.random_range(1..40);
                assert_eq!(
                    bus.take(
                        Moment::nanoseconds(past),
                        Moment::nanoseconds(from),
                        duration_ns
                    )
                    .get(),
                    slots.take(from, duration_ns),
                    "seed {seed}"
                );
            }
            let taken = slots.0.iter().filter(|taken| **taken).count() as u64;
            assert_eq!(bus.busy_ns(), taken);
        }
    }
}
