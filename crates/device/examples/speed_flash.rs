//! How fast a flash drive is simulated: 4 KiB random reads and, with cleaning
//! in its steady state, writes, 32 in flight, over all of a device (`all`) or
//! the first bytes of it. Prints requests per second of real time, and a
//! checksum of the completions, which is the same on every machine.
//!
//! `speed_flash [DEVICE [RANGE|all [MILLIONS [MIX...]]]]`
//!
//! Writes over a range that is small against what is spare leave cleaning
//! nothing to move: give `all` for a write amplification above 1.

use std::{error::Error, fs, time::Instant};

use octavo_device::{
    Completion, Device, Request, Tag,
    catalog::{self, Entry},
    point::{Durability, PointSpec},
    request::{Mix, Pattern},
};
use octavo_units::{ByteCount, Moment, QueueDepth, RequestSize, Seed};
use rand::Rng;
use rand_pcg::Pcg64Mcg;

const DEPTH: u32 = 32;
const BYTES: u32 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    if cfg!(debug_assertions) {
        eprintln!("a debug build: these speeds say nothing");
    }
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "sata-tlc".into());
    let range = arguments.next().unwrap_or_else(|| "16GiB".into());
    let millions: f64 = arguments.next().as_deref().unwrap_or("5").parse()?;
    let requests = (millions * 1e6) as u64;
    let mut mixes: Vec<Mix> = arguments.map(|mix| mix.parse()).collect::<Result<_, _>>()?;
    if mixes.is_empty() {
        mixes = vec![Mix::READ, Mix::WRITE, "70/30".parse()?];
    }
    let seed = Seed::new(1);
    let entry = match catalog::as_file(&name) {
        Some(path) => Entry::from_toml(&fs::read_to_string(path)?)?,
        None => catalog::find(&name)?,
    };

    for mix in mixes {
        let mut device = entry.open(seed);
        let range = match range.as_str() {
            "all" => device.geometry().capacity,
            range => range.parse()?,
        };
        let spec = PointSpec {
            mix: Mix::WRITE,
            pattern: Pattern::Random,
            request_size: RequestSize::new(BYTES)?,
            depth: QueueDepth::new(DEPTH as u16).ok_or("depth")?,
            range,
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let began = Instant::now();
        device.precondition(&spec, seed)?;
        let preconditioned = began.elapsed();
        let mut generator = seed.generator();
        let before = device.counters();
        let began = Instant::now();
        let (virtual_s, checksum) = run(&mut *device, mix, range, requests, &mut generator)?;
        let elapsed = began.elapsed().as_secs_f64();
        let counters = device.counters().since(&before);
        println!(
            "{name}, {range}, {mix}: {:.2} million/s ({:.0} IOPS of the device, write amplification {}, \
             preconditioned in {:.1} s), checksum {checksum:016x}",
            requests as f64 / elapsed / 1e6,
            requests as f64 / virtual_s,
            counters
                .write_amplification()
                .map_or("-".into(), |amplification| format!("{amplification:.2}")),
            preconditioned.as_secs_f64(),
        );
    }
    Ok(())
}

/// A closed loop; the seconds of the device that it took, and a checksum.
fn run(
    device: &mut dyn Device,
    mix: Mix,
    range: ByteCount,
    requests: u64,
    generator: &mut Pcg64Mcg,
) -> Result<(f64, u64), Box<dyn Error>> {
    let units = range.get() / u64::from(BYTES);
    let reads = u64::from(mix.read_percent());
    let mut next = || {
        let word = generator.next_u64();
        let offset = ((u128::from(word) * u128::from(units)) >> 64) as u64 * u64::from(BYTES);
        if ((word & 0xffff) * 100) >> 16 < reads {
            Request::read(offset, BYTES)
        } else {
            Request::write(offset, BYTES)
        }
    };
    let began = device.now();
    for lane in 0..DEPTH {
        device.submit(began, Tag(lane), next())?;
    }
    let mut checksum = 0xcbf2_9ce4_8422_2325_u64;
    let mut now = began;
    for _ in 0..requests {
        let Completion { tag, at } = device.next(Moment::NEVER)?.ok_or("all are in flight")?;
        now = at;
        checksum = (checksum ^ at.get() ^ u64::from(tag.0)).wrapping_mul(0x0000_0100_0000_01b3);
        device.submit(at, tag, next())?;
    }
    Ok(((now - began).as_secs_f64(), checksum))
}
