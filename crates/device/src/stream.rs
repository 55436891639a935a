//! The requests of one point: which operation at which offset comes next.

use octavo_units::{QueueDepth, RequestSize, Seed};
use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::{
    point::PointSpec,
    request::{Mix, Operation, Pattern, Request},
};

/// A load on storage, without its duration.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The share of reads.
    pub mix: Mix,
    /// The order of offsets.
    pub pattern: Pattern,
    /// Bytes of one request.
    pub request_size: RequestSize,
    /// Requests in flight.
    pub depth: QueueDepth,
    /// Requests lie in the file's first bytes up to here.
    pub range_bytes: u64,
    /// How far past a multiple of its size each request begins, in bytes.
    pub shift_bytes: u64,
    /// Content of writes.
    pub content: Content,
    /// Which of the range's requests comes first in a sequence, modulo their number.
    pub first: u64,
    /// The origin of offsets and content.
    pub seed: Seed,
}

impl Load {
    /// What a point asks for; writes are stamped.
    pub fn from_spec(spec: &PointSpec, seed: Seed) -> Self {
        Self {
            mix: spec.mix,
            pattern: spec.pattern,
            request_size: spec.request_size,
            depth: spec.depth,
            range_bytes: spec.range.get(),
            shift_bytes: spec.shift.get(),
            content: Content::Stamped,
            first: 0,
            seed,
        }
    }
}

/// What a write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All bytes drawn anew: the file cannot be compressed or deduplicated.
    Fresh,
    /// The buffer as it is, but for 16 bytes in each sector that no other
    /// write repeats: as good against deduplication, at a fraction of the CPU.
    Stamped,
}

/// An endless, repeatable sequence of requests.
///
/// With several lanes (one a thread), lane *i* of *n* takes the sequential
/// requests *i*, *i + n*, *i + 2n*, ..., so that together they cover the
/// range in order; random lanes draw from unrelated generators.
pub struct Stream {
    generator: Pcg64Mcg,
    pattern: Pattern,
    read_percent: u64,
    request_bytes: u32,
    shift_bytes: u64,
    /// Requests that fit into the range; at least 1.
    count: u64,
    next: u64,
    stride: u64,
    content: Content,
    /// The number of the latest stamp; each lane has numbers of its own.
    stamp: u64,
}

impl Stream {
    /// The requests of lane `lane` of `lanes`.
    ///
    /// # Panics
    /// If the range holds no request.
    pub fn new(load: &Load, lane: u16, lanes: u16) -> Self {
        let request_bytes = load.request_size.get();
        let count = load.range_bytes.saturating_sub(load.shift_bytes) / u64::from(request_bytes);
        assert!(count > 0, "the range holds at least one request");
        Self {
            generator: load.seed.derive("lane", u64::from(lane)).generator(),
            pattern: load.pattern,
            read_percent: u64::from(load.mix.read_percent()),
            request_bytes,
            shift_bytes: load.shift_bytes,
            count,
            next: (load.first % count + u64::from(lane)) % count,
            stride: u64::from(lanes) % count,
            content: load.content,
            stamp: u64::from(lane) << 48,
        }
    }

    /// The next request, and which of the two operations it is.
    #[inline]
    pub fn next_request(&mut self) -> (Operation, Request) {
        let index = match self.pattern {
            Pattern::Random => self.below(self.count),
            Pattern::Sequential => {
                let index = self.next;
                self.next += self.stride;
                if self.next >= self.count {
                    self.next -= self.count;
                }
                index
            }
        };
        let read = match self.read_percent {
            100 => true,
            0 => false,
            percent => self.below(100) < percent,
        };
        let offset = index * u64::from(self.request_bytes) + self.shift_bytes;
        if read {
            (Operation::Read, Request::read(offset, self.request_bytes))
        } else {
            (Operation::Write, Request::write(offset, self.request_bytes))
        }
    }

    /// Prepares a buffer for being written at `offset`.
    #[inline]
    pub fn prepare(&mut self, buffer: &mut [u8], offset: u64) {
        match self.content {
            Content::Fresh => self.generator.fill_bytes(buffer),
            Content::Stamped => self.mark(buffer, offset),
        }
    }

    /// Makes each sector unlike every other that is written.
    #[inline]
    fn mark(&mut self, buffer: &mut [u8], offset: u64) {
        self.stamp += 1;
        // Odd multipliers are bijections: distinct pairs stay distinct, and
        // the bytes do not look like a counter.
        let a = self.stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (sector, bytes) in buffer.chunks_exact_mut(512).enumerate() {
            let position = offset + sector as u64 * 512;
            let b = position.wrapping_mul(0xd6e8_feb8_6659_fd93);
            bytes[..8].copy_from_slice(&a.to_le_bytes());
            bytes[8..16].copy_from_slice(&b.to_le_bytes());
        }
    }

    /// Fills a buffer with incompressible bytes.
    pub fn randomise(&mut self, buffer: &mut [u8]) {
        self.generator.fill_bytes(buffer);
    }

    /// Uniform below `bound` by multiplication (Lemire 2019, without the
    /// rejection step: the bias is under 2^-30 for any file that exists).
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.generator.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(mix: Mix, pattern: Pattern, range_bytes: u64) -> Load {
        Load {
            mix,
            pattern,
            request_size: RequestSize::new(4096).unwrap(),
            depth: QueueDepth::ONE,
            range_bytes,
            shift_bytes: 0,
            content: Content::Stamped,
            first: 0,
            seed: Seed::new(9),
        }
    }

    #[test]
    fn lanes_cover_a_sequential_range_once_and_in_order() {
        let load = load(Mix::WRITE, Pattern::Sequential, 10 * 4096);
        let mut lanes: Vec<Stream> = (0..3).map(|lane| Stream::new(&load, lane, 3)).collect();
        let offsets: Vec<u64> = (0..12)
            .map(|turn| lanes[turn % 3].next_request().1.offset / 4096)
            .collect();
        assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn random_offsets_are_aligned_uniform_and_repeatable() {
        // The range's last 100 bytes hold no request.
        let load = load(Mix::READ, Pattern::Random, 16 * 4096 + 100);
        let mut stream = Stream::new(&load, 0, 1);
        let mut counts = [0u32; 16];
        for _ in 0..16_000 {
            let offset = stream.next_request().1.offset;
            assert_eq!(offset % 4096, 0);
            counts[(offset / 4096) as usize] += 1;
        }
        // Binomial(16000, 1/16): mean 1000, standard deviation 30.6.
        assert!(counts.iter().all(|count| (847..=1153).contains(count)));
        let draw = |lane| Stream::new(&load, lane, 2).next_request();
        assert_eq!(draw(0), draw(0));
    }

    #[test]
    fn shifted_requests_stay_within_the_range() {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let shifted = Load {
                shift_bytes: 512,
                ..load(Mix::WRITE, pattern, 16 * 4096)
            };
            let mut stream = Stream::new(&shifted, 0, 1);
            let mut last = 0;
            for _ in 0..1_000 {
                let request = stream.next_request().1;
                assert_eq!(request.offset % 4096, 512);
                last = last.max(request.end());
            }
            assert_eq!(last, 15 * 4096 + 512);
        }
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        let load = load(Mix::READ_75, Pattern::Random, 1 << 20);
        let mut stream = Stream::new(&load, 0, 1);
        let reads = (0..10_000)
            .filter(|_| stream.next_request().0 == Operation::Read)
            .count();
        // Mean 7500, standard deviation 43.
        assert!((7283..=7717).contains(&reads), "{reads}");
    }

    #[test]
    fn no_two_writes_write_the_same_sector() {
        let load = load(Mix::WRITE, Pattern::Random, 1 << 20);
        let mut stream = Stream::new(&load, 0, 1);
        let mut seen = std::collections::HashSet::new();
        let mut buffer = vec![0; 4096];
        for _ in 0..100 {
            stream.prepare(&mut buffer, 8192);
            for sector in buffer.chunks(512) {
                assert!(seen.insert(sector[..16].to_vec()));
            }
        }
    }
}
