//! Measures one point of a device's model, and prints it as JSON: what
//! bench/emulate.sh compares the emulation with.
//!
//! `simulate DEVICE MIX REQUEST_SIZE DEPTH RANGE SEED`

use std::error::Error;

use octavo_device::{
    calibrate::{Durability, PointSpec},
    catalogue,
    probe::{self, Effort},
    request::Pattern,
};
use octavo_units::{QueueDepth, Seed};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, mix, request_size, depth, range, seed] = arguments.as_slice() else {
        return Err("usage: simulate DEVICE MIX REQUEST_SIZE DEPTH RANGE SEED".into());
    };
    let seed = Seed::new(seed.parse()?);
    let spec = PointSpec {
        mix: mix.parse()?,
        pattern: Pattern::Random,
        request_size: request_size.parse()?,
        depth: QueueDepth::new(depth.parse()?).ok_or("depth 0 keeps nothing in flight")?,
        range: range.parse()?,
        durability: Durability::Device,
    };
    let mut device = catalogue::named(device)?.open(seed);
    let point = probe::measure(&mut *device, &spec, Effort::default(), seed)?;
    println!(
        "{{\"iops\": {:.3}, \"latency_us_mean\": {:.3}, \"steady\": {}}}",
        point.iops.get(),
        point.latency.us_mean,
        point.is_steady(),
    );
    Ok(())
}
