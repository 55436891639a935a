//! Prints how fast YCSB's keys are drawn on one thread, and how exact its Zipf
//! distribution is.
//!
//! `cargo run --release -p octavo-workload --example draw -- [KEYS]` (default
//! 1000000) draws keys of every distribution.
//!
//! `... --example draw -- --exactness [DRAWS]` (default 100000000) counts the
//! first 1,000 ranks of the Zipf distribution, and of Gray et al.'s formula as
//! YCSB has it, against k^-theta / zeta(n).

use std::{error::Error, time::Instant};

use octavo_units::Seed;
use octavo_workload::ycsb::{Distribution, KeyDraws, Theta, Zipf};
use rand::Rng;
use rand_pcg::Pcg64Mcg;

fn main() -> Result<(), Box<dyn Error>> {
    if cfg!(debug_assertions) {
        eprintln!("warning: not a release build, the rates mean nothing");
    }
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("--exactness").is_some() {
        let draws = arguments
            .next()
            .map_or(Ok(100_000_000), |text| text.parse())?;
        for items in [1000, 1_000_000, 10_000_000_000] {
            exactness(items, draws);
        }
        return Ok(());
    }
    let keys = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    for text in [
        "uniform",
        "sequential",
        "zipfian",
        "true-zipfian",
        "latest",
        "hotspot",
    ] {
        draw_keys(text.parse()?, keys);
    }
    Ok(())
}

const SEED: Seed = Seed::new(1);

fn draw_keys(distribution: Distribution, keys: u64) {
    const DRAWS: u64 = 50_000_000;
    let mut key_draws = KeyDraws::new(distribution, keys, SEED);
    let start = Instant::now();
    let mut checksum = 0u64;
    for _ in 0..DRAWS {
        checksum = checksum.wrapping_mul(31).wrapping_add(key_draws.draw());
    }
    let rate = DRAWS as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!(
        "{:<14} {rate:>7.1} million draws/s of {keys} keys, checksum {checksum:016x}",
        distribution.to_string()
    );
}

/// Ranks whose counts are compared one by one.
const TOP: usize = 1000;

fn exactness(items: u64, draws: u64) {
    let zipf = Zipf::new(items, Theta::YCSB);
    let gray = Gray::new(items, &zipf);
    println!("{items} ranks, theta {}, {draws} draws", Theta::YCSB);
    let wanted: Vec<f64> = (1..=TOP)
        .map(|rank| (rank as f64).powf(-Theta::YCSB.get()) / zipf.zeta())
        .collect();
    compare("here", draws, &wanted, |fraction| zipf.rank(fraction));
    compare("Gray et al.", draws, &wanted, |fraction| {
        gray.rank(fraction)
    });
}

/// Prints how far the counts of the first ranks are from the wanted shares.
fn compare(name: &str, draws: u64, wanted: &[f64], rank: impl Fn(f64) -> u64) {
    let mut generator: Pcg64Mcg = SEED.generator();
    let mut counts = vec![0u64; wanted.len()];
    for _ in 0..draws {
        let fraction = (generator.next_u64() >> 11) as f64 * (-53f64).exp2();
        if let Some(count) = counts.get_mut(rank(fraction) as usize) {
            *count += 1;
        }
    }
    println!("  {name}");
    let draws = draws as f64;
    let relative = |ranks: std::ops::RangeInclusive<usize>| {
        let range = ranks.start() - 1..*ranks.end();
        let count: u64 = counts[range.clone()].iter().sum();
        let share: f64 = wanted[range].iter().sum();
        let noise = ((1.0 - share) / (share * draws)).sqrt();
        (count as f64 / (share * draws) - 1.0, noise)
    };
    let single = || (1..=counts.len()).map(|rank| (rank, relative(rank..=rank)));
    let (rank, (largest, noise)) = single()
        .max_by(|one, other| one.1.0.abs().total_cmp(&other.1.0.abs()))
        .expect("there are ranks");
    println!(
        "    largest deviation: rank {rank} by {:+.3} % (standard deviation by chance {:.3} %)",
        largest * 100.0,
        noise * 100.0
    );
    let (rank, (largest, noise)) = single()
        .max_by(|one, other| {
            (one.1.0 / one.1.1)
                .abs()
                .total_cmp(&(other.1.0 / other.1.1).abs())
        })
        .expect("there are ranks");
    println!(
        "    largest in standard deviations: rank {rank} by {:+.1} (chance: about 3.3 of 1,000)",
        largest / noise
    );
    let (off, by_chance) = single().fold((0, 0.0), |(off, by_chance), (_, (deviation, noise))| {
        let is_off = deviation.abs() > 0.01;
        (off + u32::from(is_off), by_chance + beyond(0.01 / noise))
    });
    println!("    ranks off by more than 1 %: {off} (chance: about {by_chance:.0})");
    let chi_square: f64 = single()
        .map(|(rank, (deviation, _))| deviation.powi(2) * wanted[rank - 1] * draws)
        .sum();
    let degrees = counts.len() as f64;
    println!(
        "    chi-square {chi_square:.0} (chance: {degrees:.0} +- {:.0})",
        (2.0 * degrees).sqrt()
    );
    for ranks in [1..=10, 11..=100, 101..=counts.len()] {
        let (deviation, noise) = relative(ranks.clone());
        println!(
            "    ranks {}-{}: {:+.4} % (chance: +- {:.4} %)",
            ranks.start(),
            ranks.end(),
            deviation * 100.0,
            noise * 100.0
        );
    }
    let few: Vec<String> = [1, 2, 3, 4, 5, 10, 100]
        .into_iter()
        .map(|rank| format!("{rank}: {:+.2} %", relative(rank..=rank).0 * 100.0))
        .collect();
    println!("    ranks {}", few.join(", "));
}

/// The chance of a normal draw beyond so many standard deviations on either
/// side (Abramowitz and Stegun, 7.1.26; right to 10^-7).
fn beyond(deviations: f64) -> f64 {
    let x = deviations / 2f64.sqrt();
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ]
    .into_iter()
    .fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    polynomial * (-x * x).exp()
}

/// The formula of Gray et al., "Quickly Generating Billion-Record Synthetic
/// Databases" (SIGMOD 1994), as YCSB's `ZipfianGenerator` has it.
struct Gray {
    items: f64,
    zeta: f64,
    eta: f64,
    alpha: f64,
    second: f64,
}

impl Gray {
    fn new(items: u64, zipf: &Zipf) -> Self {
        let theta = Theta::YCSB.get();
        let power = (2.0 / items as f64).powf(1.0 - theta);
        Self {
            items: items as f64,
            zeta: zipf.zeta(),
            eta: (1.0 - power) / (1.0 - zipf.zeta_of(2) / zipf.zeta()),
            alpha: 1.0 / (1.0 - theta),
            second: 1.0 + 0.5f64.powf(theta),
        }
    }

    fn rank(&self, fraction: f64) -> u64 {
        let point = fraction * self.zeta;
        if point < 1.0 {
            return 0;
        }
        if point < self.second {
            return 1;
        }
        (self.items * (self.eta * fraction - self.eta + 1.0).powf(self.alpha)) as u64
    }
}
