//! Some of a trace's pages, with all of their references.

use octavo_units::{Seed, mix};

use crate::trace::{Access, Page, Reference, Trace, TraceBuilder};

/// Parts of a sample, which give estimates of their own: their scatter is the error.
pub(crate) const PARTS: usize = 8;

/// How many hashes there are.
const HASHES: u64 = 1 << 32;

/// Disjoint parts of a trace, each with about the same share of its pages.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(crate) parts: [Part; PARTS],
    /// Pages of the whole trace.
    pages: f64,
}

/// All references to some pages.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The references, with pages numbered anew.
    pub(crate) trace: Trace,
    /// The share of the whole trace's pages that are in this one.
    pub(crate) share: f64,
    /// References that there would be if all pages had the same number of them.
    pub(crate) references: f64,
}

impl Sample {
    /// Pages whose hash is small, about `pages` of them; all of them where there are
    /// fewer.
    pub(crate) fn draw(trace: &Trace, pages: u32, seed: Seed) -> Self {
        let rate = (f64::from(pages) / f64::from(trace.pages().max(1))).min(1.0);
        let drawn = Drawn {
            limit: (rate * HASHES as f64) as u64,
            key: key(seed),
        };
        let references = trace.references().len() as f64;
        Self::split(trace, references, f64::from(trace.pages()), |page| {
            drawn.part(u64::from(page.number()))
        })
    }

    /// The parts of a trace by the part that each page is in, if any. The sample stands for
    /// so many references to so many pages.
    fn split(
        trace: &Trace,
        references: f64,
        pages: f64,
        part_of: impl Fn(Page) -> Option<usize>,
    ) -> Self {
        let mut numbers = vec![UNKNOWN; trace.pages() as usize];
        let mut counts = [0_u32; PARTS];
        let mut parts: [Vec<Reference>; PARTS] = Default::default();
        for &reference in trace.references() {
            let Some(part) = part_of(reference.page()) else {
                continue;
            };
            let number = &mut numbers[reference.page().index()];
            if *number == UNKNOWN {
                *number = counts[part];
                counts[part] += 1;
            }
            parts[part].push(Reference::new(Page::new(*number), reference.access()));
        }
        let mut counts = counts.into_iter();
        Self {
            parts: parts.map(|own| {
                let count = counts.next().expect("a count for each part");
                let share = f64::from(count) / pages.max(1.0);
                Part {
                    trace: Trace::new(own, count),
                    share,
                    references: references * share,
                }
            }),
            pages,
        }
    }

    /// Pages of the whole trace; of one that was read as a stream about so many.
    pub const fn pages(&self) -> f64 {
        self.pages
    }

    /// Pages of the sample.
    pub fn sampled_pages(&self) -> u64 {
        let pages = self.parts.iter().map(|part| u64::from(part.trace.pages()));
        pages.sum()
    }
}

/// The number of a page that is not known yet.
const UNKNOWN: u32 = u32::MAX;

fn key(seed: Seed) -> u64 {
    seed.derive("sample", 0).get()
}

/// Which pages are in a sample: of 2^32 hashes those below the limit; the lowest go to the
/// first part, and so on.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    limit: u64,
    key: u64,
}

impl Drawn {
    fn hash(self, page: u64) -> u64 {
        mix(page ^ self.key) >> 32
    }

    fn is_in(self, page: u64) -> bool {
        self.hash(page) < self.limit
    }

    fn part(self, page: u64) -> Option<usize> {
        let width = self.limit.div_ceil(PARTS as u64).max(1);
        self.is_in(page).then(|| (self.hash(page) / width) as usize)
    }
}

/// How much of a stream of references is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// All of it.
    All,
    /// This share of the pages, above 0 and at most 1.
    Share(f64),
    /// All of it, or the largest half, quarter and so on of the pages that fits (Waldspurger et
    /// al., Efficient MRC Construction with SHARDS, FAST 2015, section 3.2).
    Fitting,
}

/// The most that is kept of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// References, of 4 bytes each.
    pub references: usize,
    /// Pages, of about 60 bytes each.
    pub pages: u32,
}

impl Room {
    /// Up to about 4 GiB with policies: for what has to be exact. Chosen.
    pub const LARGE: Self = Self {
        references: 1 << 28,
        pages: 1 << 25,
    };
    /// Up to about 300 MiB: [`Keep::Fitting`] then keeps millions of pages, where SHARDS has
    /// errors below 1% with thousands. Chosen.
    pub const SMALL: Self = Self {
        references: 1 << 24,
        pages: 1 << 22,
    };
}

/// A stream has more than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "more than {} references or {} pages would have to be kept in memory",
    room.references, room.pages
)]
pub struct TooMany {
    /// The room.
    pub room: Room,
}

/// Keeps a stream of references, or a sample of it.
#[derive(Clone, Debug)]
pub struct Sampler {
    drawn: Drawn,
    is_fitting: bool,
    room: Room,
    builder: TraceBuilder,
    references: u64,
}

/// What was kept of a stream.
#[derive(Clone, Debug)]
pub enum Kept {
    /// All references.
    All(Trace),
    /// Those to a share of the pages.
    Sample {
        /// Their parts.
        sample: Box<Sample>,
        /// The share.
        rate: f64,
    },
}

impl Sampler {
    /// Of nothing yet; the seed picks the pages.
    pub fn new(keep: Keep, room: Room, seed: Seed) -> Self {
        let limit = match keep {
            Keep::All | Keep::Fitting => HASHES,
            Keep::Share(rate) => ((rate * HASHES as f64) as u64).clamp(1, HASHES),
        };
        Self {
            drawn: Drawn {
                limit,
                key: key(seed),
            },
            is_fitting: keep == Keep::Fitting,
            room,
            builder: TraceBuilder::default(),
            references: 0,
        }
    }

    /// The next reference is to the page that is known by this number.
    ///
    /// # Errors
    /// There is no more room.
    pub fn push(&mut self, known_as: u64, access: Access) -> Result<(), TooMany> {
        self.references += 1;
        if !self.drawn.is_in(known_as) {
            return Ok(());
        }
        self.builder.push(known_as, access);
        while self.builder.references() > self.room.references
            || self.builder.pages() > self.room.pages
        {
            // One page may have more references than there is room for.
            if !self.is_fitting || self.drawn.limit == 1 {
                return Err(TooMany { room: self.room });
            }
            self.drawn.limit /= 2;
            let drawn = self.drawn;
            self.builder.retain(|known| drawn.is_in(known));
        }
        Ok(())
    }

    /// References so far.
    pub const fn references(&self) -> u64 {
        self.references
    }

    /// What was kept.
    pub fn finish(self) -> Kept {
        let drawn = self.drawn;
        if drawn.limit == HASHES {
            return Kept::All(self.builder.build());
        }
        let mut part_of = vec![None; self.builder.pages() as usize];
        for (known, page) in self.builder.known() {
            part_of[page.index()] = drawn.part(known);
        }
        let rate = drawn.limit as f64 / HASHES as f64;
        let pages = f64::from(self.builder.pages()) / rate;
        let references = self.references as f64;
        let trace = self.builder.build();
        Kept::Sample {
            sample: Box::new(Sample::split(&trace, references, pages, |page| {
                part_of[page.index()]
            })),
            rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Frames, SampledCurve};

    const ROOM: Room = Room {
        references: 4000,
        pages: 4000,
    };

    /// 100,000 references, most of them to few of 20,000 pages.
    fn stream() -> impl Iterator<Item = u64> {
        (0..100_000_u64).map(|n| {
            let one = mix(n) % 20_000;
            one.min(mix(n ^ 1 << 40) % 20_000)
        })
    }

    fn kept(keep: Keep, room: Room) -> Result<Kept, TooMany> {
        let mut sampler = Sampler::new(keep, room, Seed::new(1));
        for page in stream() {
            sampler.push(page, Access::Read)?;
        }
        assert_eq!(sampler.references(), 100_000);
        Ok(sampler.finish())
    }

    #[test]
    fn a_stream_that_fits_is_kept_whole() {
        let wanted = Trace::from(stream());
        for keep in [Keep::All, Keep::Fitting, Keep::Share(1.0)] {
            let Ok(Kept::All(trace)) = kept(keep, Room::SMALL) else {
                panic!("{keep:?}");
            };
            assert_eq!(trace, wanted);
        }
        assert_eq!(kept(Keep::All, ROOM).unwrap_err(), TooMany { room: ROOM });
    }

    #[test]
    fn a_share_that_was_halved_is_what_that_share_keeps() {
        let Ok(Kept::Sample { sample, rate }) = kept(Keep::Fitting, ROOM) else {
            panic!("it does not fit");
        };
        assert!(rate < 0.5 && rate.log2().fract() == 0.0, "{rate}");
        let Ok(Kept::Sample { sample: other, .. }) = kept(Keep::Share(rate), ROOM) else {
            panic!("it is a share");
        };
        for (one, other) in sample.parts.iter().zip(&other.parts) {
            assert_eq!(one.trace, other.trace);
        }
        let references = sample
            .parts
            .iter()
            .map(|part| part.trace.references().len());
        assert!((1000..=4000).contains(&references.sum::<usize>()));
        let distinct = f64::from(Trace::from(stream()).pages());
        assert!((sample.pages() / distinct - 1.0).abs() < 0.1);
    }

    #[test]
    fn a_sample_of_a_stream_is_close_to_all_of_it() {
        let exact = Curve::exact(&Trace::from(stream()));
        let Ok(Kept::Sample { sample, .. }) = kept(Keep::Share(0.2), Room::SMALL) else {
            panic!("it is a share");
        };
        let sampled = SampledCurve::from_sample(&sample);
        for count in [100, 1000, 4000, 10_000] {
            let frames = Frames::new(count).unwrap();
            let (estimate, wanted) = (sampled.miss_ratio(frames), exact.miss_ratio(frames));
            let off = (estimate.miss_ratio - wanted).abs();
            assert!(off < 0.03, "{count}: {estimate:?}, {wanted}");
        }
    }

    #[test]
    fn one_page_alone_may_not_fit() {
        let mut sampler = Sampler::new(Keep::Fitting, ROOM, Seed::new(1));
        let pushed: Result<(), TooMany> =
            (0..10_000).try_for_each(|_| sampler.push(7, Access::Read));
        // Either it is left out or there is no room: never more than that is kept.
        assert!(pushed.is_err() || sampler.builder.references() <= ROOM.references);
    }
}
