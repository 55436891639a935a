//! Misses of buffers of all sizes.

use octavo_units::Seed;

use crate::{
    distance::histogram,
    policy::{Counts, Frames, Policy},
    sample::{PARTS, Sample},
    trace::Trace,
};

/// What LRU misses with every number of frames, to the count (Mattson et al., Evaluation
/// techniques for storage hierarchies, 1970).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// At position `frames - 1`.
    misses: Vec<u64>,
    references: u64,
}

impl Curve {
    /// One pass over a trace. Memory is 29 bytes a page.
    pub fn exact(trace: &Trace) -> Self {
        let references = trace.references().len() as u64;
        let mut left = references;
        let misses = histogram(trace).into_iter().map(|hits| {
            left -= hits;
            left
        });
        Self {
            misses: misses.collect(),
            references,
        }
    }

    /// References of the trace.
    pub const fn references(&self) -> u64 {
        self.references
    }

    /// Those whose page had to be read, with so many frames.
    pub fn misses(&self, frames: Frames) -> u64 {
        let place = (frames.get() as usize).min(self.misses.len());
        match place {
            0 => 0,
            place => self.misses[place - 1],
        }
    }

    /// Their share; 0 without references.
    pub fn miss_ratio(&self, frames: Frames) -> f64 {
        let counts = Counts {
            references: self.references,
            misses: self.misses(frames),
            writes: 0,
        };
        counts.miss_ratio()
    }
}

/// A miss ratio that a sample gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of the sample's parts, each as much as it has pages.
    pub miss_ratio: f64,
    /// How far that is off by their scatter: as if they were normal, with a confidence
    /// of 95%. What the parts have in common does not show in it, such as a size that is
    /// few frames at their scale. 1 where fewer than two parts have pages.
    pub half_width: f64,
}

/// Student's t with 7 degrees of freedom at 97.5%.
const T: f64 = 2.364_624;

impl Estimate {
    /// What is known to the count.
    pub const fn exact(miss_ratio: f64) -> Self {
        Self {
            miss_ratio,
            half_width: 0.0,
        }
    }

    /// From the miss ratio of each part and its share of the pages.
    fn from_parts(parts: [(f64, f64); PARTS]) -> Self {
        let with_pages = || parts.iter().filter(|(_, share)| *share > 0.0);
        let shares: f64 = with_pages().map(|(_, share)| share).sum();
        let count = with_pages().count() as f64;
        if count < 2.0 {
            let miss_ratio = with_pages()
                .map(|(ratio, _)| *ratio)
                .sum::<f64>()
                .clamp(0.0, 1.0);
            return Self {
                miss_ratio,
                half_width: 1.0,
            };
        }
        let mean = with_pages()
            .map(|(ratio, share)| ratio * share)
            .sum::<f64>()
            / shares;
        let squares = with_pages()
            .map(|(ratio, _)| (ratio - mean).powi(2))
            .sum::<f64>();
        Self {
            miss_ratio: mean.clamp(0.0, 1.0),
            half_width: T * (squares / (count - 1.0) / count).sqrt(),
        }
    }
}

/// What LRU misses with every number of frames, from a sample of the pages.
#[derive(Clone, Debug)]
pub struct SampledCurve {
    parts: [PartCurve; PARTS],
}

/// One part's curve.
#[derive(Clone, Debug)]
struct PartCurve {
    /// Hits of buffers that are smaller than the position.
    hits_below: Vec<f64>,
    references: f64,
    share: f64,
}

impl SampledCurve {
    /// From a sample of about `pages` pages, which the seed picks.
    ///
    /// A buffer is a scaled-down one for a part of the pages (Waldspurger et al.,
    /// Efficient MRC Construction with SHARDS, FAST 2015). Where a part has more or
    /// fewer references than its share of the pages, because a hot page is in it or not,
    /// the difference counts as hits of the smallest buffer (SHARDS-adj, section 3.3
    /// there). Unlike there the share is counted, not that of the hashes: the pages of a
    /// trace are known.
    pub fn lru(trace: &Trace, pages: u32, seed: Seed) -> Self {
        Self::from_sample(&Sample::draw(trace, pages, seed))
    }

    /// From a sample that was drawn.
    pub fn from_sample(sample: &Sample) -> Self {
        Self {
            parts: sample.parts.each_ref().map(|part| {
                let mut hits = part.references - part.trace.references().len() as f64;
                let mut hits_below = vec![0.0];
                for count in histogram(&part.trace) {
                    hits += count as f64;
                    hits_below.push(hits);
                }
                PartCurve {
                    hits_below,
                    references: part.references,
                    share: part.share,
                }
            }),
        }
    }

    /// The miss ratio with so many frames.
    pub fn miss_ratio(&self, frames: Frames) -> Estimate {
        Estimate::from_parts(
            self.parts
                .each_ref()
                .map(|part| (part.miss_ratio(frames), part.share)),
        )
    }
}

impl PartCurve {
    /// Between two distances hits are as if evenly spread.
    fn miss_ratio(&self, frames: Frames) -> f64 {
        if self.references == 0.0 {
            return 0.0;
        }
        let frames = f64::from(frames.get()) * self.share;
        let last = self.hits_below.len() - 1;
        let below = (frames as usize).min(last);
        let above = (below + 1).min(last);
        let share = (frames - below as f64).min(1.0);
        let hits =
            self.hits_below[below] + share * (self.hits_below[above] - self.hits_below[below]);
        1.0 - hits / self.references
    }
}

/// What any policy misses with some numbers of frames, from a sample of about `pages`
/// pages: each buffer is simulated at the sample's scale (Waldspurger et al., Cache
/// Modeling and Optimization using Miniature Simulations, USENIX ATC 2017). `make` makes
/// an empty buffer for so many pages.
///
/// A buffer that has less than one frame at this scale has one. Rules with lengths of
/// their own, and those that depend on time, are not to scale: [`crate::MidpointLru`]
/// and [`crate::TouchCount`] have to be simulated whole.
pub fn sampled<P: Policy>(
    trace: &Trace,
    pages: u32,
    seed: Seed,
    sizes: &[Frames],
    make: impl Fn(u32, Frames) -> P,
) -> Vec<Estimate> {
    let sample = Sample::draw(trace, pages, seed);
    let estimate = |&frames: &Frames| {
        sample.estimate(frames, |part, frames| {
            make(part.pages(), frames).replay(part)
        })
    };
    sizes.iter().map(estimate).collect()
}

impl Sample {
    /// What a buffer with so many frames misses of all references, by what `count` says that
    /// those of this scale miss of the sample's parts.
    pub fn estimate(&self, frames: Frames, count: impl Fn(&Trace, Frames) -> Counts) -> Estimate {
        Estimate::from_parts(self.parts.each_ref().map(|part| {
            let scaled = (f64::from(frames.get()) * part.share).round().max(1.0);
            let scaled = Frames::new(scaled as u32).expect("at least one, and no more");
            let ratio = match part.references > 0.0 {
                true => count(&part.trace, scaled).misses as f64 / part.references,
                false => 0.0,
            };
            (ratio, part.share)
        }))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn frames(count: u32) -> Frames {
        Frames::new(count).unwrap()
    }

    #[test]
    fn by_hand() {
        // Distances: none, none, 2, 1, none, 3, 2.
        let curve = Curve::exact(&Trace::from([0, 1, 0, 0, 2, 1, 2]));
        let misses = [1, 2, 3, 9].map(|count| curve.misses(frames(count)));
        assert_eq!(misses, [6, 4, 3, 3]);
        assert_eq!(curve.miss_ratio(frames(2)), 4.0 / 7.0);
        let nothing = Curve::exact(&Trace::default());
        assert_eq!(
            (nothing.misses(frames(1)), nothing.miss_ratio(frames(1))),
            (0, 0.0)
        );
        let nothing = SampledCurve::lru(&Trace::default(), 10, Seed::new(1));
        assert_eq!(nothing.miss_ratio(frames(1)).miss_ratio, 0.0);
    }

    #[test]
    fn estimates_by_hand() {
        // Mean 0.45, variance 0.06, so sqrt(0.06 / 8) = 0.0866 as standard error.
        let parts = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
        let estimate = Estimate::from_parts(parts.map(|ratio| (ratio, 0.01)));
        assert!((estimate.miss_ratio - 0.45).abs() < 1e-12);
        assert!((estimate.half_width - 2.364_624 * 0.086_603).abs() < 1e-5);
        // A part counts by its pages, and one without any not at all.
        let mut parts = [(0.9, 0.0); PARTS];
        parts[..2].copy_from_slice(&[(0.2, 0.3), (0.6, 0.1)]);
        assert!((Estimate::from_parts(parts).miss_ratio - 0.3).abs() < 1e-12);
        parts[0].1 = 0.0;
        assert_eq!(Estimate::from_parts(parts).half_width, 1.0);
    }

    /// Half of the references go to a twentieth of the pages, and one page gets a tenth
    /// of all.
    fn skewed(pages: u64, references: usize) -> Trace {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let page = |_| match random.random_range(0..10) {
            0 => 0,
            1..5 => random.random_range(0..pages / 20),
            _ => random.random_range(0..pages),
        };
        (0..references).map(page).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_sample_is_close_to_all_and_says_how_close() {
        let trace = skewed(20_000, 400_000);
        let curve = Curve::exact(&trace);
        let sizes: Vec<Frames> = (1..=40).map(|part| frames(part * 500)).collect();
        let clock = |pages, frames| crate::Clock::new(pages, frames, crate::Usage::POSTGRES);
        let (mut within, mut all, mut error) = (0, 0, 0.0);
        let mut look = |estimate: Estimate, wanted: f64| {
            let difference = (estimate.miss_ratio - wanted).abs();
            error += difference;
            within += u32::from(difference <= estimate.half_width);
            all += 1;
        };
        for seed in 0..20 {
            let sampled = SampledCurve::lru(&trace, 4000, Seed::new(seed));
            for &size in &sizes {
                look(sampled.miss_ratio(size), curve.miss_ratio(size));
            }
        }
        for seed in 0..5 {
            let few = &sizes[4..8];
            for (estimate, &size) in sampled(&trace, 4000, Seed::new(seed), few, clock)
                .iter()
                .zip(few)
            {
                let wanted = clock(trace.pages(), size).replay(&trace).miss_ratio();
                look(*estimate, wanted);
            }
        }
        let error = error / f64::from(all);
        assert!(error < 0.01, "{error}");
        let within = f64::from(within) / f64::from(all);
        assert!(within > 0.9, "{within}");
    }

    #[test]
    fn a_sample_of_all_pages_differs_by_its_parts_only() {
        // Each part sees an eighth of the pages, with every eighth frame.
        let trace = skewed(2000, 50_000);
        let sampled = SampledCurve::lru(&trace, u32::MAX, Seed::new(1));
        let all: usize = Sample::draw(&trace, u32::MAX, Seed::new(1))
            .parts
            .iter()
            .map(|part| part.trace.references().len())
            .sum();
        assert_eq!(all, trace.references().len());
        let curve = Curve::exact(&trace);
        for count in [100, 500, 1000, 2000] {
            let estimate = sampled.miss_ratio(frames(count));
            let difference = (estimate.miss_ratio - curve.miss_ratio(frames(count))).abs();
            assert!(difference < 0.03, "{count}: {estimate:?}");
        }
    }
}
