//! How fast disks are simulated: random reads of 4 KiB over the whole device
//! in a closed loop, at depth 1 and 32. Prints requests simulated per second
//! of real time, and a checksum of all completions, which is the same on every
//! machine.
//!
//! `speed_disk [DEVICE] [REQUESTS]`

use std::{error::Error, fs, time::Instant};

use octavo_device::{
    Completion, Request, Tag,
    catalog::{self, Entry},
};
use octavo_units::{Moment, Seed};
use rand::Rng;

fn main() -> Result<(), Box<dyn Error>> {
    if cfg!(debug_assertions) {
        eprintln!("a debug build: these speeds say nothing");
    }
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "st373455ss".into());
    let requests: u64 = arguments
        .next()
        .map_or(Ok(4_000_000), |text| text.parse())?;
    let entry = match catalog::as_file(&name) {
        Some(path) => Entry::from_toml(&fs::read_to_string(path)?)?,
        None => catalog::find(&name)?,
    };
    for depth in [1, 32] {
        let seed = Seed::new(1);
        let mut device = entry.open(seed);
        let mut generator = seed.generator();
        let blocks = device.geometry().capacity.get() / 4096;
        // The high half of the product is uniform enough for any disk.
        let mut read = || {
            Request::read(
                ((u128::from(generator.next_u64()) * u128::from(blocks)) >> 64) as u64 * 4096,
                4096,
            )
        };
        for lane in 0..depth {
            device.submit(Moment::START, Tag(lane), read())?;
        }
        let mut checksum = 0_u64;
        let began = Instant::now();
        let mut now = Moment::START;
        for _ in 0..requests {
            let Completion { tag, at } =
                device.next(Moment::NEVER)?.ok_or("nothing is in flight")?;
            checksum = checksum.wrapping_mul(31).wrapping_add(at.get());
            now = at;
            device.submit(at, tag, read())?;
        }
        let elapsed = began.elapsed().as_secs_f64();
        println!(
            "{name}, depth {depth}: {:.2} million requests/s, {:.0} ns each, {:.1} IOPS, checksum {checksum:016x}",
            requests as f64 / elapsed / 1e6,
            elapsed * 1e9 / requests as f64,
            requests as f64 / (now.get() as f64 / 1e9),
        );
    }
    Ok(())
}
