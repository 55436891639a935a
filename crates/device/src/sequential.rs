//! Telling requests in sequence from random ones.

use crate::request::{Pattern, Request};

/// Streams that are followed at once.
const STREAMS: usize = 8;

/// Where the last requests of one operation ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// Ends, the latest first; 0 is the start of the device, where a stream
    /// would begin.
    ends: [u64; STREAMS],
}

impl Streams {
    /// Whether a request continues one of the last streams.
    #[inline]
    pub(crate) fn note(&mut self, request: Request) -> Pattern {
        let known = self.ends.iter().position(|end| *end == request.offset);
        let last = known.unwrap_or(STREAMS - 1);
        self.ends.copy_within(0..last, 1);
        self.ends[0] = request.end();
        match known {
            Some(_) => Pattern::Sequential,
            None => Pattern::Random,
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn streams_are_told_from_random_requests() {
        let mut streams = Streams::default();
        let mut sequential = 0;
        for turn in 0..100 {
            for stream in 1..=4 {
                let request = Request::read((stream << 30) + turn * 8192, 8192);
                sequential += u32::from(streams.note(request) == Pattern::Sequential);
            }
        }
        assert_eq!(sequential, 4 * 99);
        let mut generator = Seed::new(1).generator();
        let random = (0..1000)
            .filter(|_| {
                let offset = (generator.next_u64() >> 30) / 4096 * 4096;
                streams.note(Request::read(offset, 4096)) == Pattern::Random
            })
            .count();
        assert!(random > 995);
    }
}
