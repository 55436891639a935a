//! Measures one point on a file that exists, and prints it as JSON: what
//! bench/calibrate-vs-fio.sh runs against fio. The file's content may be
//! overwritten.
//!
//! `point FILE MIX REQUEST_SIZE DEPTH SECONDS RAMP_SECONDS SEED`

use std::{error::Error, fs::OpenOptions, ops::ControlFlow, time::Duration};

use octavo_device::{
    point::{Durability, PointSpec},
    preset::Timing,
    request::Pattern,
    steady,
};
use octavo_storage::{calibrate::measure, engine::Engine, target::Target};
use octavo_units::{ByteCount, QueueDepth, Seed};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, mix, request_size, depth, seconds, ramp, seed] = arguments.as_slice() else {
        return Err("usage: point FILE MIX REQUEST_SIZE DEPTH SECONDS RAMP_SECONDS SEED".into());
    };
    let target = Target::over(OpenOptions::new().read(true).write(true).open(file)?)?;
    let spec = PointSpec {
        mix: mix.parse()?,
        pattern: Pattern::Random,
        request_size: request_size.parse()?,
        depth: QueueDepth::new(depth.parse()?).ok_or("depth 0 keeps nothing in flight")?,
        range: target.size(),
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    };
    let seconds = Duration::try_from_secs_f64(seconds.parse()?)?;
    let timing = Timing {
        ramp: Duration::try_from_secs_f64(ramp.parse()?)?,
        round: seconds / steady::WINDOW as u32,
        rounds_max: steady::WINDOW,
        in_turns: false,
    };
    let point = measure(
        &target,
        Engine::Ring,
        &spec,
        timing,
        Seed::new(seed.parse()?),
        &mut |_| ControlFlow::Continue(()),
    )?;
    println!(
        "{{\"iops\": {:.1}, \"cpu_us_per_request\": {:.4}, \"latency_us_mean\": {:.2}, \
         \"latency_us_p99\": {:.2}, \"requests\": {}, \"access\": \"{}\", \"steady\": {}}}",
        point.iops.get(),
        point.cpu_us_per_request,
        point.latency.us_mean,
        point.latency.us_p99,
        point.requests,
        target.access(),
        point.is_steady(),
    );
    Ok(())
}
