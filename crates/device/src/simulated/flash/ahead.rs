//! Reading ahead: flash pages that come into the drive's memory before the
//! host asks for them.

use std::collections::VecDeque;

use octavo_units::Moment;

use super::translation::Extent;

/// Follows one sequence of reads. When a read begins where the last one ended,
/// what comes after it is fetched, `bytes` in all, and more as soon as half of
/// that is used up; such reads then wait for the link alone. A read from
/// elsewhere drops what was fetched, so that random reads fetch nothing.
///
/// A write to what was fetched changes it in the drive's memory too, and needs
/// nothing here.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    bytes: u64,
    capacity: u64,
    /// Where the last read ended.
    next: u64,
    /// Where what was fetched ends, at or after `next`.
    ends: u64,
    /// Where each part of it begins and ends, and when it is there.
    parts: VecDeque<(u64, u64, Moment)>,
}

impl Ahead {
    /// `bytes` ahead, on a drive of `capacity` bytes. The first sequence
    /// begins with the second read.
    pub(super) fn new(bytes: u32, capacity: u64) -> Self {
        Self {
            bytes: u64::from(bytes),
            capacity,
            next: u64::MAX,
            ends: u64::MAX,
            parts: VecDeque::new(),
        }
    }

    /// When a read's bytes are in the drive's memory. `fetch` reads them from
    /// the chips.
    pub(super) fn read(
        &mut self,
        at: Moment,
        extent: Extent,
        mut fetch: impl FnMut(Extent) -> Moment,
    ) -> Moment {
        let ends = extent.end();
        if extent.offset != self.next {
            self.parts.clear();
            (self.next, self.ends) = (ends, ends);
            return fetch(extent);
        }
        self.next = ends;
        let mut read = at;
        while let Some(&(begins, part_ends, there)) = self.parts.front()
            && begins < ends
        {
            read = read.max(there);
            if part_ends > ends {
                break;
            }
            self.parts.pop_front();
        }
        if self.ends < ends {
            read = read.max(fetch(between(self.ends, ends)));
            self.ends = ends;
        }
        let ahead = (ends + self.bytes).min(self.capacity);
        if self.ends - ends <= self.bytes / 2 && self.ends < ahead {
            let there = fetch(between(self.ends, ahead));
            self.parts.push_back((self.ends, ahead, there));
            self.ends = ahead;
        }
        read
    }
}

/// At most what one read or `bytes` of reading ahead have, which fits.
fn between(begins: u64, ends: u64) -> Extent {
    Extent {
        offset: begins,
        length: (ends - begins) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads, each 100 ns after the one before, from chips that take 1000 ns:
    /// when each is there, and all that was fetched.
    fn reads(bytes: u32, extents: &[(u64, u32)]) -> (Vec<u64>, Vec<(u64, u64)>) {
        let mut ahead = Ahead::new(bytes, 1000);
        let mut fetched = Vec::new();
        let there = (0..)
            .zip(extents)
            .map(|(index, &(offset, length))| {
                let at = Moment::nanoseconds(index * 100);
                let read = ahead.read(at, Extent { offset, length }, |extent| {
                    fetched.push((extent.offset, extent.end()));
                    at.after(1000)
                });
                read.get()
            })
            .collect();
        (there, fetched)
    }

    #[test]
    fn sequential_reads_fetch_ahead_once_and_wait_for_it() {
        let sequence: Vec<_> = (0..20).map(|index| (index * 50, 50)).collect();
        let (there, fetched) = reads(200, &sequence);
        // The second read begins the sequence; reads of what it fetched wait
        // for it until 1100 ns, and so on, half of 200 bytes at a time.
        assert_eq!(there[..6], [1000, 1100, 1100, 1100, 1100, 1100]);
        assert_eq!(there[6], 1300);
        // Every byte is fetched once, in order, and none past the end.
        let ends = fetched.iter().fold(0, |ends, &(from, to)| {
            assert_eq!(from, ends, "{fetched:?}");
            to
        });
        assert_eq!(ends, 1000);
    }

    #[test]
    fn other_reads_fetch_what_they_ask_for() {
        let (there, fetched) = reads(200, &[(500, 50), (100, 50), (500, 50), (0, 10)]);
        assert_eq!(there, [1000, 1100, 1200, 1300]);
        assert_eq!(fetched, [(500, 550), (100, 150), (500, 550), (0, 10)]);
        // A sequence that is left is forgotten.
        let (there, fetched) = reads(200, &[(0, 50), (50, 50), (700, 50), (100, 50)]);
        assert_eq!(there, [1000, 1100, 1200, 1300]);
        assert_eq!(fetched[1..3], [(50, 100), (100, 300)]);
        assert_eq!(fetched[3..], [(700, 750), (100, 150)]);
    }

    #[test]
    fn a_read_longer_than_what_was_fetched_waits_for_the_rest() {
        let (there, fetched) = reads(20, &[(0, 50), (50, 10), (60, 100)]);
        assert_eq!(there, [1000, 1100, 1200]);
        assert_eq!(fetched[1..], [(50, 60), (60, 80), (80, 160), (160, 180)]);
    }
}
