//! What the last requests were like: over which range, and how many of them
//! read.

use super::logarithm::log2;
use crate::request::{Operation, Request};

/// Requests a block; the present and the block before it are looked at.
const BLOCK: u32 = 128;

/// The span and the share of reads of the last one to two blocks of requests.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    file_bytes: f64,
    extents: [Extents; 2],
    operations: [Operations; 2],
    /// log2 of the span as a share of the file.
    span: f64,
    read_share: f64,
}

#[derive(Clone, Copy, Debug)]
struct Extents {
    count: u32,
    start: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Operations {
    count: u32,
    reads: u32,
}

impl Extents {
    const NONE: Self = Self {
        count: 0,
        start: u64::MAX,
        end: 0,
    };
}

impl Recent {
    pub(super) fn new(file_bytes: u64) -> Self {
        Self {
            file_bytes: file_bytes.max(1) as f64,
            extents: [Extents::NONE; 2],
            operations: [Operations::default(); 2],
            span: 0.0,
            read_share: 1.0,
        }
    }

    /// Notes a random request. The span is renewed once a block: of 256
    /// uniform ones it is expected to be 1 - 2/257 of the range.
    #[inline]
    pub(super) fn note_extent(&mut self, request: Request) {
        let [_, block] = &mut self.extents;
        block.count += 1;
        block.start = block.start.min(request.offset);
        block.end = block.end.max(request.end());
        if block.count == BLOCK {
            let [old, new] = self.extents;
            let span = old.end.max(new.end) - old.start.min(new.start);
            self.span = log2((span.max(1) as f64 / self.file_bytes).min(1.0));
            self.extents = [new, Extents::NONE];
        }
    }

    /// log2 of the range that random requests lie in, as a share of the
    /// measured file; at most 0, and 0 until a block was seen.
    #[inline]
    pub(super) fn span(&self) -> f64 {
        self.span
    }

    #[inline]
    pub(super) fn note_operation(&mut self, operation: Operation) {
        let [old, block] = &mut self.operations;
        block.count += 1;
        block.reads += u32::from(operation == Operation::Read);
        self.read_share = f64::from(old.reads + block.reads) / f64::from(old.count + block.count);
        if block.count == BLOCK {
            self.operations = [*block, Operations::default()];
        }
    }

    /// The share of reads; 1 before the first request.
    #[inline]
    pub(super) fn read_share(&self) -> f64 {
        self.read_share
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn the_range_is_that_of_the_last_requests() {
        let mut recent = Recent::new(1 << 30);
        let mut generator = Seed::new(2).generator();
        assert_eq!(recent.span(), 0.0);
        for bits in [30, 26, 28, 31] {
            for _ in 0..3 * BLOCK {
                let offset = (generator.next_u64() >> (64 - bits)) / 4096 * 4096;
                recent.note_extent(Request::read(offset, 4096));
            }
            let expected = f64::from(bits.min(30) as u32) - 30.0;
            assert!((recent.span() - expected).abs() < 0.06, "{bits} {recent:?}");
        }
    }
}
