//! A measured [`Profile`] as a [`Device`] in virtual time.
//!
//! Requests share the device: each brings 1 of work (more or less, as the
//! profile's latencies scatter) and, while `k` requests are in flight, is
//! worked on at `IOPS(k) / k`. A closed loop that keeps `k` in flight then
//! completes `IOPS(k)` requests a second, with the latencies that were
//! measured: the profile's own points come back. Loads that it does not hold
//! follow by what is in flight at each moment.
//!
//! - **Size and depth**: interpolated in logarithms. Sizes below
//!   the smallest measured one take its IOPS; bytes beyond the largest take the
//!   time that they take at the greatest depth. The device holds as many requests as the greatest measured depth;
//!   more wait.
//! - **Order**: a request that begins where one of the last eight streams of
//!   its kind ended is sequential. Profiles without sequential points treat it
//!   as random.
//! - **Range**: the span of the last 128 to 256 random requests. Rates over
//!   part of the file relate to those over all of it as at the points that
//!   were measured so, whatever the size and depth; greater ranges than the
//!   file are taken for the file.
//! - **Mixes**: where reads and writes slow each other down more or less than
//!   sharing time explains, all rates change by what the mixed points say,
//!   for the share of reads among the last 128 to 256 requests.
//! - **Flush**: what a synced write takes longer than a write, however many
//!   are under way (assumed: those that meet share one). It does not slow
//!   others down.
//! - **Trim**: no time (assumed: it is not measured).
//!
//! Not covered: whatever depends on the past, as write caches that fill and
//! flash that is cleaned. For those fit a simulator.

pub(crate) mod logarithm;
mod recent;
mod shared;
pub(crate) mod spread;
mod surface;

use std::collections::{BTreeMap, VecDeque};

use octavo_units::{ByteCount, Moment, QueueDepth, Seed};
use rand_pcg::Pcg64Mcg;

use crate::{
    Completion, Counters, Device, DeviceError, Geometry, Request, Tag,
    point::{Durability, PointSpec},
    profile::{Point, Profile},
    request::{Command, Mix, Operation, Pattern},
    sequential::Streams,
};
use recent::Recent;
use shared::Shared;
use spread::Spread;
use surface::Surface;

/// The profile's points as a device.
pub struct Profiled {
    geometry: Geometry,
    kinds: [Direction; 2],
    flush: Flush,
    /// By the share of reads: what mixes do to all rates.
    interference: Curve,
    recent: Recent,
    shared: Shared,
    waiting: VecDeque<(u64, Tag, Request)>,
    ready: VecDeque<Completion>,
    submitted: u64,
    generator: Pcg64Mcg,
    busy_since: Moment,
    counters: Counters,
}

/// What is known of reads or of writes.
struct Direction {
    random: Order,
    sequential: Option<Order>,
    /// IOPS over a range as a share of those over the whole file.
    ranges: Curve,
    streams: Streams,
}

/// What is known of one operation in one order.
struct Order {
    surface: Surface,
    /// By index of the surface's sizes, then by requests in flight.
    spreads: Vec<Vec<Spread>>,
    /// The class of the first size; those of the others follow.
    class: usize,
}

struct Flush {
    spread: Spread,
    class: usize,
}

/// Why a profile cannot stand in for a device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfiledError {
    /// A point is missing without which nothing can be said.
    #[error("the profile has no {0}: calibrate with a preset, or list such a point")]
    Lacks(&'static str),
    /// A point has a rate that no device has.
    #[error("the profile's point '{point}' has {iops} IOPS: calibrate again or leave it out")]
    Rate {
        /// Which point.
        point: Box<PointSpec>,
        /// Its rate.
        iops: f64,
    },
    /// A point's range holds no request, or exceeds the measured file.
    #[error("the profile's point '{0}' has a range that its file of {1} does not allow")]
    Range(Box<PointSpec>, ByteCount),
}

/// Refuses points that nothing can be made of.
pub(crate) fn check(profile: &Profile) -> Result<(), ProfiledError> {
    for Point { spec, iops, .. } in profile.every_point() {
        if !(1e-3..=1e9).contains(&iops.get()) {
            return Err(ProfiledError::Rate {
                point: Box::new(*spec),
                iops: iops.get(),
            });
        }
        if spec.range < spec.least_range() || spec.range > profile.file_bytes {
            return Err(ProfiledError::Range(Box::new(*spec), profile.file_bytes));
        }
    }
    Ok(())
}

impl Profiled {
    /// The device that `profile` describes, of `capacity` (default: the
    /// measured file's). One seed gives one behaviour.
    ///
    /// # Errors
    /// [`ProfiledError::Lacks`] without random reads, random writes, each over
    /// the whole file, or a synced write, and points that no device can
    /// have: rates that are not between 10^-3 and 10^9, or impossible ranges.
    pub fn new(
        profile: &Profile,
        capacity: Option<ByteCount>,
        seed: Seed,
    ) -> Result<Self, ProfiledError> {
        check(profile)?;
        let surface = |mix, pattern, fallback: Option<&Surface>| {
            let points = whole(profile, mix, pattern).map(|point| {
                let PointSpec {
                    request_size,
                    depth,
                    ..
                } = point.spec;
                (request_size.get(), depth.get(), point.iops.get())
            });
            Surface::new(&points.collect::<Vec<_>>(), fallback)
        };
        let lacks = ProfiledError::Lacks;
        let read = surface(Mix::READ, Pattern::Random, None)
            .ok_or(lacks("random read over the whole file"))?;
        let write = surface(Mix::WRITE, Pattern::Random, None)
            .ok_or(lacks("random write over the whole file"))?;
        let commit = profile.commit().ok_or(lacks("synced write"))?;
        let queue = read.depth_max().max(write.depth_max());
        let mut shared = Shared::new(usize::from(queue));
        let mut kind = |mix, random: Surface| {
            let sequential = surface(mix, Pattern::Sequential, Some(&random));
            let mut order =
                |pattern, surface| Order::new(profile, mix, pattern, surface, &mut shared, queue);
            Direction {
                sequential: sequential.map(|surface| order(Pattern::Sequential, surface)),
                random: order(Pattern::Random, random),
                ranges: ranges(profile, mix),
                streams: Streams::default(),
            }
        };
        let kinds = [kind(Mix::READ, read), kind(Mix::WRITE, write)];
        // What a commit takes beyond its write, at least a nanosecond.
        let write_ns = 1e9
            / kinds[1]
                .order(commit.spec.pattern)
                .surface
                .iops(commit.spec.request_size.get(), 1);
        let flush_ns = (1e9 / commit.iops.get() - write_ns).max(1.0);
        let flush = Flush {
            spread: Spread::new(&commit.latency),
            class: shared.add_steady(1.0 / flush_ns),
        };
        let sector = u64::from(profile.alignment_bytes).max(512);
        let capacity = capacity.unwrap_or(profile.file_bytes);
        Ok(Self {
            geometry: Geometry {
                capacity: ByteCount::new(capacity.get() / sector * sector),
                sector: ByteCount::new(sector),
                queue: QueueDepth::new(queue).expect("a depth is not 0"),
            },
            interference: interference(profile, &kinds),
            kinds,
            flush,
            recent: Recent::new(profile.file_bytes.get()),
            shared,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            submitted: 0,
            generator: seed.derive("profiled", 0).generator(),
            busy_since: Moment::START,
            counters: Counters::default(),
        })
    }

    /// Begins a request at the present moment.
    fn begin(&mut self, order: u64, tag: Tag, request: Request) {
        let operation = match request.command {
            Command::Read => Operation::Read,
            Command::Write => Operation::Write,
            Command::Flush => {
                let work = self.flush.spread.draw(&mut self.generator);
                self.shared.add(self.flush.class, work, order, tag);
                return;
            }
            // Ready at once, after what is ready already.
            Command::Trim => {
                self.ready.push_back(Completion {
                    tag,
                    at: self.shared.now(),
                });
                return;
            }
        };
        let depth = self.shared.in_flight() + 1;
        let kind = &mut self.kinds[operation as usize];
        let pattern = kind.streams.note(request);
        if pattern == Pattern::Random {
            self.recent.note_extent(request);
        }
        self.recent.note_operation(operation);
        let ranges = &kind.ranges;
        let order_of = kind.order(pattern);
        let (size, scale) = order_of.nearest(request.length, depth as u16);
        let mut work = scale * order_of.spreads[size][depth - 1].draw(&mut self.generator);
        if pattern == Pattern::Random {
            work /= ranges.at(self.recent.span());
        }
        let class = order_of.class + size;
        self.shared
            .set_pace(self.interference.at(self.recent.read_share()));
        self.shared.add(class, work, order, tag);
    }

    /// Ends what ends first, if it does so by `until`, and begins what waited
    /// for it.
    fn step(&mut self, until: Moment) -> bool {
        if self.shared.next().is_none_or(|at| at > until) {
            return false;
        }
        let (at, ended) = self.shared.end().expect("something ends");
        self.ready.extend(ended.map(|tag| Completion { tag, at }));
        while self.shared.in_flight() < usize::from(self.geometry.queue.get()) {
            let Some((order, tag, request)) = self.waiting.pop_front() else {
                break;
            };
            self.begin(order, tag, request);
        }
        if self.shared.is_idle() {
            self.counters.busy_ns += at.since(self.busy_since);
        }
        true
    }
}

impl Device for Profiled {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(request)?;
        self.counters.take(request);
        while self.step(at) {}
        self.shared.pass(at);
        if self.shared.is_idle() {
            self.busy_since = at;
        }
        let order = self.submitted;
        self.submitted += 1;
        // Who comes later does not overtake, flushes included.
        if self.waiting.is_empty()
            && self.shared.in_flight() < usize::from(self.geometry.queue.get())
        {
            self.begin(order, tag, request);
        } else {
            self.waiting.push_back((order, tag, request));
        }
        Ok(())
    }

    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError> {
        while self.ready.is_empty() {
            if !self.step(until) {
                if until != Moment::NEVER {
                    self.shared.pass(until);
                }
                return Ok(None);
            }
        }
        Ok(self.ready.pop_front_if(|front| front.at <= until))
    }

    fn earliest(&self) -> Moment {
        let ready = self.ready.front().map(|front| front.at);
        ready.or(self.shared.next()).unwrap_or(Moment::NEVER)
    }

    fn now(&self) -> Moment {
        self.shared.now()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

impl std::fmt::Debug for Profiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profiled")
            .field("geometry", &self.geometry)
            .field("in_flight", &self.shared.in_flight())
            .field("now", &self.shared.now())
            .finish_non_exhaustive()
    }
}

impl Direction {
    fn order(&self, pattern: Pattern) -> &Order {
        match (pattern, &self.sequential) {
            (Pattern::Sequential, Some(order)) => order,
            _ => &self.random,
        }
    }
}

impl Order {
    fn new(
        profile: &Profile,
        mix: Mix,
        pattern: Pattern,
        surface: Surface,
        shared: &mut Shared,
        queue: u16,
    ) -> Self {
        let mut class = None;
        let mut spreads = Vec::new();
        for size in surface.sizes() {
            let rates = (1..=queue).map(|depth| {
                // Requests per nanosecond, shared by those in flight.
                surface.iops(*size, depth) / f64::from(depth) / 1e9
            });
            let index = shared.add_class(rates.collect());
            class.get_or_insert(index);
            let far = |depth: u16, point: &&Point| {
                let measured = point.spec.depth.get();
                // Ratios of depths as whole numbers, by cross multiplication.
                u32::from(depth.max(measured)) * 1000 / u32::from(depth.min(measured))
            };
            spreads.push(
                (1..=queue)
                    .map(|depth| {
                        let nearest = whole(profile, mix, pattern)
                            .filter(|point| point.spec.request_size.get() == *size)
                            .min_by_key(|point| far(depth, point));
                        let point = nearest.expect("sizes are those of points");
                        Spread::new(&point.latency)
                    })
                    .collect(),
            );
        }
        Self {
            surface,
            spreads,
            class: class.expect("a surface has a size"),
        }
    }

    /// The measured size nearest to `length`, and how much more work than it a
    /// request of `length` is.
    fn nearest(&self, length: u32, depth: u16) -> (usize, f64) {
        let sizes = self.surface.sizes();
        let length = length.max(1);
        // Nearest by ratio: a / b < b / c is a c < b b.
        let above = sizes.partition_point(|size| *size < length);
        let index = match (above.checked_sub(1), sizes.get(above)) {
            (Some(below), Some(size))
                if u64::from(length) * u64::from(length)
                    < u64::from(sizes[below]) * u64::from(*size) =>
            {
                below
            }
            (Some(below), None) => below,
            _ => above,
        };
        if sizes[index] == length {
            return (index, 1.0);
        }
        let measured = self.surface.iops(sizes[index], depth);
        (index, measured / self.surface.iops(length, depth))
    }
}

/// The points of an operation and order over the whole file, not synced.
fn whole(profile: &Profile, mix: Mix, pattern: Pattern) -> impl Iterator<Item = &Point> {
    profile.points.iter().filter(move |point| {
        let spec = &point.spec;
        spec.mix == mix
            && spec.pattern == pattern
            && spec.range == profile.file_bytes
            && spec.durability == Durability::Device
    })
}

/// Values between measured places, straight lines; outside, the nearest.
#[derive(Clone, Debug, Default)]
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Through the mean of the values at each key.
    fn of_means<K>(values: BTreeMap<K, Vec<f64>>, x: impl Fn(K) -> f64) -> Self {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let points = values.into_iter();
        Self(points.map(|(key, values)| (x(key), mean(values))).collect())
    }

    /// 1 where nothing is known.
    fn at(&self, x: f64) -> f64 {
        let above = self.0.partition_point(|(known, _)| *known <= x);
        match (
            above.checked_sub(1).map(|index| self.0[index]),
            self.0.get(above),
        ) {
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            (Some((_, y)), None) => y,
            (None, Some((_, y))) => *y,
            (None, None) => 1.0,
        }
    }
}

/// IOPS over a range as a share of those over the whole file, over log2 of the
/// range as a share of the file; the mean over all sizes and depths of which
/// both were measured.
fn ranges(profile: &Profile, mix: Mix) -> Curve {
    let mut shares = BTreeMap::from([(profile.file_bytes.get(), vec![1.0])]);
    for part in &profile.points {
        let spec = &part.spec;
        let whole = whole(profile, mix, Pattern::Random).find(|point| {
            point.spec
                == PointSpec {
                    range: profile.file_bytes,
                    ..*spec
                }
        });
        let Some(whole) = whole.filter(|point| point.spec.range != spec.range) else {
            continue;
        };
        let share = part.iops.get() / whole.iops.get();
        shares.entry(spec.range.get()).or_default().push(share);
    }
    shares.remove(&0);
    Curve::of_means(shares, |range| {
        logarithm::log2(range as f64 / profile.file_bytes.get() as f64)
    })
}

/// Over the share of reads: the rate of mixes as a share of the one at which
/// reads and writes would only share the time.
fn interference(profile: &Profile, kinds: &[Direction; 2]) -> Curve {
    let mut shares = BTreeMap::from([(0, vec![1.0]), (100, vec![1.0])]);
    for point in &profile.points {
        let spec = &point.spec;
        if spec.mix.only().is_some()
            || spec.range != profile.file_bytes
            || spec.durability != Durability::Device
        {
            continue;
        }
        let time = |operation: Operation| {
            let order = kinds[operation as usize].order(spec.pattern);
            1.0 / order
                .surface
                .iops(spec.request_size.get(), spec.depth.get())
        };
        let percent = spec.mix.read_percent();
        let reads = f64::from(percent) / 100.0;
        let shared = reads * time(Operation::Read) + (1.0 - reads) * time(Operation::Write);
        let share = point.iops.get() * shared;
        shares.entry(percent).or_default().push(share);
    }
    Curve::of_means(shares, |percent| f64::from(percent) / 100.0)
}

#[cfg(test)]
mod tests;
