//! References a second of every policy and curve, and how close sampled curves are.
//!
//!     speed [PAGES [REFERENCES [SEED]]]            one line a policy
//!     speed misses FILE PAGES REFERENCES SEED FRAMES...
//!
//! The second form writes the trace as libCacheSim reads it (`oracleGeneral`), and prints
//! what each policy misses with each number of frames, so that both can be compared.

use std::{
    env, fs,
    io::{self, BufWriter, Write},
    time::Instant,
};

use octavo_buffer::{
    Access, Arc, Cflru, Clock, Counts, Curve, Frames, Lru, MidpointLru, MidpointRule, Opt, Outcome,
    Pcache, Policy, S3Fifo, SampledCurve, TouchCount, TouchRule, Trace, TraceBuilder, TwoQ, Usage,
    Zones, sampled,
};
use octavo_units::Seed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How references are spread over pages.
#[derive(Clone, Copy)]
enum Spread {
    Even,
    /// Zipf's law with this exponent.
    Zipf(f64),
}

/// One reference in five changes its page.
fn trace(pages: u32, references: usize, spread: Spread, seed: u64) -> Trace {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let zipf = match spread {
        Spread::Even => None,
        Spread::Zipf(exponent) => Some(Zipf::new(pages, exponent)),
    };
    let mut builder = TraceBuilder::default();
    for _ in 0..references {
        let rank = match &zipf {
            None => random.random_range(0..pages),
            Some(zipf) => zipf.rank(random.random()),
        };
        let access = match random.random_range(0..5) {
            0 => Access::Change,
            _ => Access::Read,
        };
        // Ranks are spread, so that neighbors in memory are of different heat.
        let page = u64::from(rank) * 2_654_435_761 % u64::from(pages.next_power_of_two() * 4 - 1);
        builder.push(page, access);
    }
    builder.build()
}

/// Gray et al., Quickly Generating Billion-Record Synthetic Databases, SIGMOD 1994.
struct Zipf {
    pages: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
    second: f64,
}

impl Zipf {
    fn new(pages: u32, exponent: f64) -> Self {
        let zeta = |count: u32| -> f64 {
            (1..=count)
                .map(|rank| f64::from(rank).powf(-exponent))
                .sum()
        };
        let (all, two) = (zeta(pages), zeta(2));
        let pages = f64::from(pages);
        Self {
            pages,
            alpha: 1.0 / (1.0 - exponent),
            zeta: all,
            eta: (1.0 - (2.0 / pages).powf(1.0 - exponent)) / (1.0 - two / all),
            second: two,
        }
    }

    fn rank(&self, uniform: f64) -> u32 {
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            0
        } else if scaled < self.second {
            1
        } else {
            let share = (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
            ((self.pages * share) as u32).min(self.pages as u32 - 1)
        }
    }
}

type Job = fn(&Trace, Frames) -> Counts;

fn one<P: Policy>(make: fn(u32, Frames) -> P, trace: &Trace, frames: Frames) -> Counts {
    make(trace.pages(), frames).replay(trace)
}

/// SQLite's cache, with a commit after every 32 references.
fn transactions(trace: &Trace, frames: Frames) -> Counts {
    let mut cache = Pcache::new(trace.pages(), frames);
    let mut counts = Counts::default();
    for transaction in trace.references().chunks(32) {
        for &reference in transaction {
            counts.misses += u64::from(cache.access(reference) != Outcome::Hit);
        }
        counts.writes += u64::from(cache.commit());
    }
    counts.references = trace.references().len() as u64;
    counts.writes += cache.spilled();
    counts
}

const JOBS: [(&str, Job); 12] = [
    ("lru", |trace, frames| one(Lru::new, trace, frames)),
    ("clock", |trace, frames| {
        one(
            |pages, frames| Clock::new(pages, frames, Usage::POSTGRES),
            trace,
            frames,
        )
    }),
    ("second-chance", |trace, frames| {
        one(
            |pages, frames| Clock::new(pages, frames, Usage::SECOND_CHANCE),
            trace,
            frames,
        )
    }),
    ("midpoint-lru", |trace, frames| {
        let rule = MidpointRule {
            old_time: 0,
            ..MidpointRule::INNODB
        };
        MidpointLru::new(trace.pages(), frames, rule).replay(trace)
    }),
    ("pcache", transactions),
    ("zones", |trace, frames| one(Zones::new, trace, frames)),
    ("touch-count", |trace, frames| {
        let rule = TouchRule {
            touch_time: 0,
            ..TouchRule::ORACLE
        };
        TouchCount::new(trace.pages(), frames, rule).replay(trace)
    }),
    ("2q", |trace, frames| one(TwoQ::new, trace, frames)),
    ("arc", |trace, frames| one(Arc::new, trace, frames)),
    ("cflru", |trace, frames| {
        one(
            |pages, frames| Cflru::new(pages, frames, frames.get() / 4),
            trace,
            frames,
        )
    }),
    ("s3-fifo", |trace, frames| one(S3Fifo::new, trace, frames)),
    ("opt", |trace, frames| Opt::new(trace, frames).replay(trace)),
];

fn frames(count: u32) -> Frames {
    Frames::new(count.max(1)).expect("fewer frames than pages can have")
}

fn main() -> io::Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("a debug build: speeds mean nothing");
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |place: usize, default: u64| {
        arguments.get(place).map_or(default, |text| {
            text.parse()
                .unwrap_or_else(|_| panic!("{text} is no number"))
        })
    };
    if arguments.first().is_some_and(|word| word == "misses") {
        let trace = trace(
            number(2, 1000) as u32,
            number(3, 10_000) as usize,
            Spread::Zipf(0.99),
            number(4, 1),
        );
        write_oracle(&trace, &arguments[1])?;
        for place in 5..arguments.len() {
            for (name, job) in JOBS {
                let count = number(place, 1) as u32;
                println!("{name} {count} {}", job(&trace, frames(count)).misses);
            }
        }
        return Ok(());
    }
    let pages = number(0, 100_000) as u32;
    let references = number(1, 20_000_000) as usize;
    let seed = number(2, 1);
    println!("spread frames policy million_references_per_second miss_ratio writes");
    for (name, spread) in [("even", Spread::Even), ("zipf-0.99", Spread::Zipf(0.99))] {
        let trace = trace(pages, references, spread, seed);
        // Memory that nobody has touched of late comes slowly: from the host, where this
        // is a virtual machine.
        Cflru::new(trace.pages(), frames(pages), 0).replay(&trace);
        for share in [10, 2] {
            let frames = frames(pages / share);
            for (policy, job) in JOBS {
                let start = Instant::now();
                let counts = job(&trace, frames);
                let speed = references as f64 / start.elapsed().as_secs_f64() / 1e6;
                let ratio = counts.miss_ratio();
                println!(
                    "{name} {} {policy} {speed:.1} {ratio:.6} {}",
                    frames.get(),
                    counts.writes
                );
            }
        }
        curves(name, &trace, seed);
    }
    Ok(())
}

/// Exact and sampled curves, and how far these are from those at 100 sizes.
fn curves(name: &str, trace: &Trace, seed: u64) {
    let references = trace.references().len() as f64;
    let start = Instant::now();
    let curve = Curve::exact(trace);
    let exact = start.elapsed();
    let speed = references / exact.as_secs_f64() / 1e6;
    println!("{name} - exact-curve {speed:.1} - -");
    let sizes: Vec<Frames> = (1..=100)
        .map(|part| frames((u64::from(trace.pages()) * part / 100) as u32))
        .collect();
    let true_ratios = |frames: &Frames| curve.miss_ratio(*frames);
    for seed in seed..seed + 3 {
        let start = Instant::now();
        let sampled_curve = SampledCurve::lru(trace, trace.pages() / 100, Seed::new(seed));
        let time = start.elapsed();
        let estimates: Vec<_> = sizes
            .iter()
            .map(|&frames| sampled_curve.miss_ratio(frames))
            .collect();
        report(
            name,
            "sampled-lru",
            exact.div_duration_f64(time),
            &estimates,
            sizes.iter().map(true_ratios),
        );
    }
    let few: Vec<Frames> = sizes.iter().copied().step_by(10).collect();
    let clock = |pages, frames| Clock::new(pages, frames, Usage::POSTGRES);
    let true_ratios = |&frames: &Frames| clock(trace.pages(), frames).replay(trace).miss_ratio();
    let start = Instant::now();
    let wanted: Vec<f64> = few.iter().map(true_ratios).collect();
    let exact = start.elapsed();
    let start = Instant::now();
    let estimates = sampled(trace, trace.pages() / 100, Seed::new(seed), &few, clock);
    let time = start.elapsed();
    report(
        name,
        "sampled-clock",
        exact.div_duration_f64(time),
        &estimates,
        wanted.into_iter(),
    );
}

fn report(
    name: &str,
    what: &str,
    faster: f64,
    estimates: &[octavo_buffer::Estimate],
    wanted: impl Iterator<Item = f64>,
) {
    let (mut error, mut within) = (0.0, 0);
    for (estimate, wanted) in estimates.iter().zip(wanted) {
        let difference = (estimate.miss_ratio - wanted).abs();
        error += difference;
        within += usize::from(difference <= estimate.half_width + 1e-9);
    }
    let count = estimates.len();
    let mean = error / count as f64;
    println!(
        "{name} {what}: {faster:.0} times as fast, mean absolute error {mean:.5}, {within} of {count} within the interval"
    );
}

/// A record is a time, a page, a size of 1, and the place of the page's next reference.
fn write_oracle(trace: &Trace, path: &str) -> io::Result<()> {
    let references = trace.references();
    let mut next_of = vec![-1_i64; trace.pages() as usize];
    let mut next = vec![-1_i64; references.len()];
    for (place, reference) in references.iter().enumerate().rev() {
        let of = &mut next_of[reference.page().number() as usize];
        next[place] = std::mem::replace(of, place as i64);
    }
    let mut file = BufWriter::new(fs::File::create(path)?);
    for (place, (reference, next)) in references.iter().zip(next).enumerate() {
        file.write_all(&(place as u32).to_le_bytes())?;
        file.write_all(&(u64::from(reference.page().number()) + 1).to_le_bytes())?;
        file.write_all(&1_u32.to_le_bytes())?;
        file.write_all(&next.to_le_bytes())?;
    }
    file.flush()
}
