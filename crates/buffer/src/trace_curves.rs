//! What buffers of all sizes miss of a file's requests, for several page sizes.
//!
//! A [`Collector`] turns requests into references to pages of one size, [`Collected`] asks
//! policies what they miss of these, and [`TraceCurves`] has the answers for all page
//! sizes. A page that a request touches is one reference, so a request of 16 KiB is four
//! references to pages of 4 KiB and one to a page of 16 KiB. Page sizes are compared by
//! misses a reference: where a request misses as a whole, that is the same for all of them,
//! and misses a request would be the fewer the larger pages are.

use std::ops::ControlFlow;

use octavo_units::{ByteCount, PageSize, Seed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Curve, Estimate, Frames, Keep, Kept, NamedPolicy, Page, Room, SampledCurve, Sampler, TooMany,
    sample::PARTS, trace_file::Request,
};

/// How much larger one buffer of a curve is than the last one, where that is a page or more.
const STEP: f64 = 1.02;

/// The fewest frames of a scaled-down buffer. With 1 the misses of a trace of CloudPhysics
/// were off by 7%, with 12 by 0.7%. Chosen.
pub const FRAMES_MIN: usize = 10;

/// All that was found of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceCurves {
    /// Its files, in the order in which they were read.
    pub files: Vec<TraceFile>,
    /// Whether neighbors of what is requested are known.
    pub has_addresses: bool,
    /// Whether the files say which requests write.
    pub has_writes: bool,
    /// What was requested.
    pub requested: Requested,
    /// Buffer sizes of the tables, the smallest first.
    pub memories: Vec<ByteCount>,
    /// By page size, in the order in which these were given.
    pub page_sizes: Vec<PageSizeCurves>,
}

/// One file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceFile {
    /// As it was given.
    pub name: String,
    /// The name of its format.
    pub format: &'static str,
}

/// Counts of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Requested {
    /// Those with bytes.
    pub requests: u64,
    /// Of these, those that write.
    pub writes: u64,
    /// Those without bytes, which are left out.
    pub empty: u64,
}

/// What buffers of pages of one size miss.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageSizeCurves {
    /// The size.
    pub page_size: PageSize,
    /// References to pages.
    pub references: u64,
    /// References a request.
    pub references_per_request: f64,
    /// Distinct pages; of a sample about so many.
    pub pages: u64,
    /// What was sampled; none where every reference counts.
    pub sample: Option<SampleSize>,
    /// LRU with buffers of all sizes, the smallest first, each at most 2% or a page larger than
    /// the last. The last one holds all pages.
    pub lru: Vec<Point>,
    /// Every policy with the buffers of the tables.
    pub policies: Vec<PolicyPoints>,
}

/// How much a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SampleSize {
    /// The share of pages that was to be in it.
    pub rate: f64,
    /// Those that are.
    pub pages: u64,
}

/// What one buffer misses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Its size.
    pub memory: ByteCount,
    /// Its size in pages.
    pub frames: u32,
    /// Misses a reference.
    pub miss_ratio: f64,
    /// Half of the 95% interval; 0 where every reference counts.
    pub half_width: f64,
}

/// A policy with several buffers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PolicyPoints {
    /// Which.
    pub policy: NamedPolicy,
    /// The smallest buffer first.
    pub points: Vec<Point>,
}

impl PageSizeCurves {
    /// What a policy misses with a buffer of the tables; `None` where a sample is too small for
    /// such a buffer. One that is larger than all that were
    /// simulated holds all pages, as the largest of these does.
    pub fn at(&self, policy: NamedPolicy, memory: ByteCount) -> Option<Point> {
        let mut policies = self.policies.iter();
        let points = &policies.find(|of| of.policy == policy)?.points;
        let own = points.iter().find(|point| point.memory == memory);
        own.or(points.last().filter(|last| last.memory < memory))
            .copied()
    }

    /// What LRU misses with this much memory, rounded down to a buffer of the curve.
    pub fn lru_at(&self, memory: ByteCount) -> Option<Point> {
        let fitting = self.lru.partition_point(|point| point.memory <= memory);
        self.lru.get(fitting.checked_sub(1)?).copied()
    }

    /// The smallest buffer with which LRU misses at most so much of the references.
    pub fn lru_for(&self, miss_ratio: f64) -> Option<Point> {
        let is_enough = |point: &&Point| point.miss_ratio <= miss_ratio;
        self.lru.iter().find(is_enough).copied()
    }

    /// The miss ratio with room for all pages: first references miss in any buffer.
    pub fn least(&self) -> f64 {
        self.lru.last().map_or(0.0, |point| point.miss_ratio)
    }
}

/// Requests becoming references to pages of one size.
#[derive(Clone, Debug)]
pub struct Collector {
    page_size: PageSize,
    sampler: Sampler,
    requested: Requested,
}

impl Collector {
    /// No request so far.
    pub fn new(page_size: PageSize, keep: Keep, room: Room, seed: Seed) -> Self {
        Self {
            page_size,
            sampler: Sampler::new(keep, room, seed),
            requested: Requested::default(),
        }
    }

    /// The next request.
    ///
    /// # Errors
    /// There is no room for its references.
    pub fn add(&mut self, request: Request) -> Result<(), TooMany> {
        if request.length == 0 {
            self.requested.empty += 1;
            return Ok(());
        }
        self.requested.requests += 1;
        self.requested.writes += u64::from(request.access.is_change());
        let mut pages = request.pages(self.page_size);
        pages.try_for_each(|page| self.sampler.push(page, request.access))
    }

    /// All requests were added.
    pub fn finish(self) -> Collected {
        Collected {
            page_size: self.page_size,
            requested: self.requested,
            references: self.sampler.references(),
            kept: self.sampler.finish(),
        }
    }
}

/// References to pages of one size.
#[derive(Clone, Debug)]
pub struct Collected {
    page_size: PageSize,
    requested: Requested,
    references: u64,
    kept: Kept,
}

impl Collected {
    /// What was requested.
    pub const fn requested(&self) -> Requested {
        self.requested
    }

    /// Distinct pages, about.
    fn pages(&self) -> u64 {
        match &self.kept {
            Kept::All(trace) => trace.pages().into(),
            Kept::Sample { sample, .. } => sample.pages().round() as u64,
        }
    }

    /// Buffers from `least` on, each twice as large as the last one, up to one that holds all
    /// pages.
    pub fn doubling(&self, least: ByteCount) -> Vec<ByteCount> {
        let all = self.page_size.bytes().saturating_mul(self.pages().max(1));
        let is_short = |memory: &ByteCount| memory.get() / 2 < all.get();
        let doubled = std::iter::successors(Some(least), |memory| {
            memory.get().checked_mul(2).map(ByteCount::new)
        });
        doubled.take_while(is_short).collect()
    }

    /// What LRU misses with buffers of all sizes, and what the policies miss with some. `step`
    /// hears of the simulations that are done, and of how many there are. `None` where it
    /// breaks.
    pub fn curves(
        &self,
        memories: &[ByteCount],
        policies: &[NamedPolicy],
        step: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Option<PageSizeCurves> {
        let lru = self.lru();
        let simulated = policies.iter().filter(|of| **of != NamedPolicy::Lru);
        let total = u32::try_from(simulated.count() * memories.len()).unwrap_or(u32::MAX);
        let mut done = 0;
        let mut all = Vec::new();
        for &policy in policies {
            let mut points = Vec::new();
            for &memory in memories {
                let Some(frames) = self.frames(memory) else {
                    continue;
                };
                if policy == NamedPolicy::Lru {
                    points.push(self.point(frames, lru(frames)).with(memory));
                    continue;
                }
                if !self.is_to_scale(frames) {
                    continue;
                }
                step(done, total).is_continue().then_some(())?;
                points.push(
                    self.point(frames, self.estimate(policy, frames))
                        .with(memory),
                );
                done += 1;
            }
            all.push(PolicyPoints { policy, points });
        }
        let curve = self.grid(memories).into_iter();
        let curve = curve.map(|frames| self.point(frames, lru(frames)));
        Some(PageSizeCurves {
            page_size: self.page_size,
            references: self.references,
            references_per_request: self.references as f64 / self.requested.requests.max(1) as f64,
            pages: self.pages(),
            sample: match &self.kept {
                Kept::All(_) => None,
                Kept::Sample { sample, rate } => Some(SampleSize {
                    rate: *rate,
                    pages: sample.sampled_pages(),
                }),
            },
            lru: curve.collect(),
            policies: all,
        })
    }

    fn lru(&self) -> Box<dyn Fn(Frames) -> Estimate> {
        match &self.kept {
            Kept::All(trace) => {
                let curve = Curve::exact(trace);
                Box::new(move |frames| Estimate::exact(curve.miss_ratio(frames)))
            }
            Kept::Sample { sample, .. } => {
                let curve = SampledCurve::from_sample(sample);
                Box::new(move |frames| curve.miss_ratio(frames))
            }
        }
    }

    fn estimate(&self, policy: NamedPolicy, frames: Frames) -> Estimate {
        match &self.kept {
            Kept::All(trace) => Estimate::exact(policy.counts(trace, frames).miss_ratio()),
            Kept::Sample { sample, .. } => {
                sample.estimate(frames, |part, frames| policy.counts(part, frames))
            }
        }
    }

    /// Whether a buffer is more than a few pages in each part of the sample, if there is one.
    fn is_to_scale(&self, frames: Frames) -> bool {
        match &self.kept {
            Kept::All(_) => true,
            Kept::Sample { rate, .. } => {
                f64::from(frames.get()) * rate >= (FRAMES_MIN * PARTS) as f64
            }
        }
    }

    /// The pages that fit into this memory, as far as there can be frames; `None` for none.
    fn frames(&self, memory: ByteCount) -> Option<Frames> {
        frames(memory.get() / self.page_size.bytes().get())
    }

    /// Sizes of a curve, those of the tables among them.
    fn grid(&self, memories: &[ByteCount]) -> Vec<Frames> {
        let all = self.pages();
        let sizes = std::iter::successors(Some(1), |&size: &u64| {
            let next = ((size as f64 * STEP) as u64).max(size + 1).min(all);
            (next > size).then_some(next)
        });
        let tables = memories.iter().filter_map(|memory| self.frames(*memory));
        let tables = tables.filter(|frames| u64::from(frames.get()) < all);
        let mut grid: Vec<Frames> = sizes.map_while(frames).chain(tables).collect();
        grid.sort_unstable();
        grid.dedup();
        grid
    }

    fn point(&self, frames: Frames, estimate: Estimate) -> Point {
        let frames = frames.get();
        Point {
            memory: self.page_size.bytes().saturating_mul(frames.into()),
            frames,
            miss_ratio: estimate.miss_ratio,
            half_width: estimate.half_width,
        }
    }
}

impl Point {
    /// The same of a buffer whose memory is no whole number of pages.
    fn with(self, memory: ByteCount) -> Self {
        Self { memory, ..self }
    }
}

/// So many frames, or the most that there can be.
fn frames(count: u64) -> Option<Frames> {
    let count = count.min(Page::COUNT_MAX.into());
    Frames::new(u32::try_from(count).unwrap_or(Page::COUNT_MAX))
}

#[cfg(test)]
mod tests {
    use octavo_units::mix;

    use super::*;
    use crate::{Access, trace_file::Place};

    fn request(offset: u64, length: u64) -> Request {
        Request {
            place: Place::Address { device: 0, offset },
            length,
            access: Access::Read,
        }
    }

    fn collected(requests: impl IntoIterator<Item = Request>, size: u32, keep: Keep) -> Collected {
        let size = PageSize::new(size).unwrap();
        let mut collector = Collector::new(size, keep, Room::SMALL, Seed::new(1));
        for request in requests {
            collector.add(request).unwrap();
        }
        collector.finish()
    }

    fn curves(of: &Collected, memories: &[ByteCount], policies: &[NamedPolicy]) -> PageSizeCurves {
        of.curves(memories, policies, &mut |_, _| ControlFlow::Continue(()))
            .unwrap()
    }

    /// 5,000 requests, most of them near the beginning of 4 MiB.
    fn skewed() -> impl Iterator<Item = Request> {
        (0..5000_u64).map(|n| {
            let block = (mix(n) % 1024).min(mix(n ^ 1 << 40) % 1024);
            request(block * 4096, 1 + mix(n ^ 1 << 41) % 6000)
        })
    }

    /// The pages of requests by division alone, and a stack of them.
    fn misses_of_a_stack(size: u64, frames: usize) -> (u64, u64) {
        let mut stack: Vec<u64> = Vec::new();
        let (mut misses, mut references) = (0, 0);
        for request in skewed() {
            let Place::Address { offset, .. } = request.place else {
                unreachable!("all of them have addresses");
            };
            let mut pages: Vec<u64> = (offset..offset + request.length)
                .map(|byte| byte / size)
                .collect();
            pages.dedup();
            for page in pages {
                references += 1;
                let depth = stack.iter().position(|other| *other == page);
                misses += u64::from(depth.is_none_or(|depth| depth >= frames));
                stack.retain(|other| *other != page);
                stack.insert(0, page);
            }
        }
        (misses, references)
    }

    #[test]
    fn curves_are_what_a_naive_stack_misses() {
        for size in [4096, 16384] {
            let of = collected(skewed(), size, Keep::All);
            let curves = curves(&of, &[], &[]);
            for point in curves.lru.iter().step_by(17) {
                let (misses, references) =
                    misses_of_a_stack(size.into(), usize::try_from(point.frames).unwrap());
                assert_eq!(curves.references, references);
                assert_eq!(point.miss_ratio, misses as f64 / references as f64);
            }
            assert_eq!(u64::from(curves.lru.last().unwrap().frames), curves.pages);
        }
    }

    #[test]
    fn no_policy_misses_less_than_the_bound_nor_than_first_references() {
        let of = collected(skewed(), 4096, Keep::All);
        let memories = of.doubling(ByteCount::kib(4));
        assert_eq!(
            memories.last(),
            Some(&ByteCount::new(of.pages().next_power_of_two() * 4096))
        );
        let curves = curves(&of, &memories, &NamedPolicy::ALL);
        for &memory in &memories {
            let bound = curves.at(NamedPolicy::Opt, memory).unwrap().miss_ratio;
            let lru = curves.at(NamedPolicy::Lru, memory).unwrap().miss_ratio;
            assert_eq!(curves.lru_at(memory).unwrap().miss_ratio, lru);
            for policy in NamedPolicy::ALL {
                let own = curves.at(policy, memory).unwrap().miss_ratio;
                assert!(own >= bound, "{policy} {memory}: {own} < {bound}");
                assert!(own >= curves.least());
            }
        }
        // All pages fit, and so into anything larger.
        for policy in NamedPolicy::ALL {
            let all = curves.at(policy, ByteCount::mib(1 << 20)).unwrap();
            assert_eq!(all.miss_ratio, curves.least(), "{policy}");
        }
    }

    #[test]
    fn lru_simulated_is_lru_of_the_curve() {
        let of = collected(skewed(), 4096, Keep::All);
        for count in [1, 10, 100, 500] {
            let frames = Frames::new(count).unwrap();
            assert_eq!(of.lru()(frames), of.estimate(NamedPolicy::Lru, frames));
        }
    }

    #[test]
    fn requests_of_whole_pages_have_one_curve_whatever_the_page_size() {
        let requests = || (0..400_u64).map(|n| request(mix(n) % 64 * 16384, 16384));
        let small = curves(&collected(requests(), 4096, Keep::All), &[], &[]);
        let large = curves(&collected(requests(), 16384, Keep::All), &[], &[]);
        assert_eq!((small.references, large.references), (1600, 400));
        assert_eq!(small.references_per_request, 4.0);
        assert_eq!(small.pages, 4 * large.pages);
        for memory in [16, 64, 256, 512, 1024].map(ByteCount::kib) {
            let [small, large] = [&small, &large].map(|of| of.lru_at(memory).unwrap());
            assert_eq!(small.miss_ratio, large.miss_ratio, "{memory}");
        }
        // A quarter of each page is wanted: a large one takes four times the memory.
        let quarters = || (0..400_u64).map(|n| request(mix(n) % 64 * 16384, 4096));
        let small = curves(&collected(quarters(), 4096, Keep::All), &[], &[]);
        let large = curves(&collected(quarters(), 16384, Keep::All), &[], &[]);
        let with = small.lru_at(ByteCount::kib(64)).unwrap();
        let as_much = large.lru_for(with.miss_ratio).unwrap();
        assert_eq!(as_much.memory, ByteCount::kib(256));
        assert_eq!(large.lru_for(0.0), None);
    }

    #[test]
    fn a_sample_says_how_far_off_it_is() {
        let requests = || {
            (0..200_000_u64).map(|n| {
                let block = (mix(n) % 20_000).min(mix(n ^ 1 << 40) % 20_000);
                request(block * 4096, 4096)
            })
        };
        let memories = [4, 16, 32].map(ByteCount::mib);
        let policies = [NamedPolicy::Lru, NamedPolicy::Arc];
        let exact = curves(
            &collected(requests(), 4096, Keep::All),
            &memories,
            &policies,
        );
        let sampled = collected(requests(), 4096, Keep::Share(0.25));
        let sampled = curves(&sampled, &memories, &policies);
        assert_eq!(sampled.sample.unwrap().rate, 0.25);
        assert_eq!(sampled.references, exact.references);
        // 16 pages are half a page in each of 8 parts of a quarter.
        let small = curves(
            &collected(requests(), 4096, Keep::Share(0.25)),
            &[ByteCount::kib(64)],
            &policies,
        );
        assert!(small.at(NamedPolicy::Lru, ByteCount::kib(64)).is_some());
        assert_eq!(small.at(NamedPolicy::Arc, ByteCount::kib(64)), None);
        for policy in policies {
            for memory in memories {
                let [exact, sampled] = [&exact, &sampled].map(|of| of.at(policy, memory).unwrap());
                let off = (sampled.miss_ratio - exact.miss_ratio).abs();
                assert_eq!(exact.half_width, 0.0);
                assert!(off < 3.0 * sampled.half_width, "{policy} {memory}: {off}");
                assert!(sampled.half_width < 0.05);
            }
        }
    }

    #[test]
    fn one_request_and_none_have_curves() {
        let one = curves(
            &collected([request(u64::MAX - 4096, 4096)], 4096, Keep::All),
            &[ByteCount::kib(4)],
            &NamedPolicy::ALL,
        );
        assert_eq!((one.references, one.least()), (2, 1.0));
        for policy in NamedPolicy::ALL {
            assert_eq!(one.at(policy, ByteCount::kib(4)).unwrap().miss_ratio, 1.0);
        }
        let empty = collected([request(0, 0)], 4096, Keep::All);
        assert_eq!(empty.requested().empty, 1);
        let none = curves(&empty, &[ByteCount::kib(4)], &NamedPolicy::ALL);
        assert_eq!((none.references, none.pages, none.least()), (0, 0, 0.0));
    }

    #[test]
    fn it_stops_where_it_is_told() {
        let of = collected(skewed(), 4096, Keep::All);
        let mut heard = Vec::new();
        let stopped = of.curves(
            &[ByteCount::mib(1)],
            &NamedPolicy::ALL,
            &mut |done, total| {
                heard.push((done, total));
                match done {
                    2 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            },
        );
        assert_eq!(stopped, None);
        assert_eq!(heard, [(0, 8), (1, 8), (2, 8)]);
    }
}
