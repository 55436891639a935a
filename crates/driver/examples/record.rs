//! What recording costs, and how much memory a day of it takes.
//!
//! `cargo run --release -p octavo-driver --example record -- [SECONDS] [RATE]`
//! records as many seconds (default 60) of so many events (default 100,000)
//! as the driver does, one event after the other and a summing up a second,
//! and prints the time an event and the most memory that was used. 86400 is a
//! day.

#[path = "../src/counts.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the driver uses what this example does not"
)]
mod counts;
#[path = "../src/latency.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the driver uses what this example does not"
)]
mod latency;
#[path = "../src/recorder.rs"]
mod recorder;

use std::{error::Error, fs, hint::black_box, sync::Mutex, time::Duration, time::Instant};

use counts::{Counts, Event};
use octavo_driver::Sample;
use octavo_units::Seed;
use octavo_workload::{Outcome, Tpcc, Workload};
use recorder::{Recorder, lock};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let rate: u64 = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let workload = Tpcc::new(1, Seed::new(1))?;
    let kinds = workload.transactions();
    let counts = Mutex::new(Counts::new(kinds));
    let (mut second, mut total) = (Counts::new(kinds), Counts::new(kinds));
    let recorder = Recorder::new();
    let mut spare = Recorder::spare();
    let mut samples = Vec::new();
    let mut series = Vec::new();
    let (mut recording, mut clock) = (Duration::ZERO, Duration::ZERO);
    let mut latency = 88_172_645_463_325_252u64;
    for at in 0..seconds {
        let begin = Instant::now();
        for number in 0..rate {
            // Xorshift: latencies over the whole range of a histogram.
            latency ^= latency << 13;
            latency ^= latency >> 7;
            latency ^= latency << 17;
            let event = Event::new(
                number as usize % kinds.len(),
                Outcome::Committed.into(),
                100,
                Duration::from_nanos(latency >> (24 + number % 24)),
                Duration::ZERO,
            );
            recorder.record(event, &counts);
        }
        recorder.drain(&counts, &mut spare);
        recording += begin.elapsed();
        let begin = Instant::now();
        for _ in 0..1000 {
            black_box(Instant::now());
        }
        clock += begin.elapsed();
        // As the sampler sums up.
        std::mem::swap(&mut *lock(&counts), &mut second);
        let sample = Sample {
            at: Duration::from_secs(at),
            measured: true,
            length: Duration::from_secs(1),
            transactions: second.transactions(),
            ..Sample::default()
        };
        let percentiles = second.percentiles();
        samples.push(sample);
        series.push((sample, percentiles, second.failed()));
        total.add(&second);
        second.clear();
    }
    assert_eq!(total.transactions(), seconds * rate, "an event was lost");
    let memory = fs::read_to_string("/proc/self/status")?
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")
                .map(|rest| rest.trim().to_owned())
        })
        .unwrap_or_default();
    println!(
        "{{\"seconds\":{seconds},\"events_a_second\":{rate},\"record_ns\":{:.1},\
         \"clock_read_ns\":{:.1},\"peak_memory\":\"{memory}\"}}",
        recording.as_secs_f64() * 1e9 / (seconds * rate) as f64,
        clock.as_secs_f64() * 1e9 / (seconds * 1000) as f64,
    );
    Ok(())
}
