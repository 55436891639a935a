//! `octavo emulate`: flags to settings, the mount, and what is printed when it
//! ends.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, ensure};
use octavo_device::{
    point::{Durability, PointSpec},
    request::{Mix, Pattern},
};
use octavo_emulate::{
    EmulateError, LATE, Latency, Mounted, OperationStatistics, Settings, Statistics,
};
use octavo_units::{ByteCount, QueueDepth, Seed};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::{consts::SIGUSR1, flag};

use crate::{
    calibrate::RANGE,
    devices,
    failure::Failure,
    flags::{EmulateFlags, LeadFlags},
    host,
    interrupt::Interrupt,
    print,
};

/// How often signals and the mount are looked at.
const WATCH: Duration = Duration::from_millis(20);

/// What `octavo emulate` starts, to time its requests.
pub(crate) fn lead(flags: &LeadFlags) -> Result<(), Failure> {
    let emulator = Pid::from_raw(flags.emulator);
    let measured = octavo_emulate::lead(&flags.mount, || getppid() == emulator)
        .with_context(|| format!("time requests to {}", flags.mount.display()));
    print::text(&measured?)
}

pub(crate) fn emulate(flags: EmulateFlags) -> Result<(), Failure> {
    let parent = getppid();
    let settings = settings(&flags, host::program()?).map_err(Failure::Input)?;
    let interrupt = Interrupt::listen()?;
    let cut = Arc::new(AtomicBool::new(false));
    flag::register(SIGUSR1, Arc::clone(&cut)).context("listen for SIGUSR1")?;
    if flags.end_with_parent {
        set_parent_process_death_signal(Some(Signal::TERM))
            .context("ask for a signal when the parent ends")?;
        // It may have ended before that.
        if getppid() != parent {
            return Err(Failure::Interrupted("the parent process has ended".into()));
        }
    }
    let mounted = Mounted::mount(&settings, &|| interrupt.is_set()).map_err(failure)?;
    print::aside(&format!(
        "{} is mounted at {}; Ctrl-C unmounts it",
        settings.entry.name,
        mounted.path().display()
    ));
    while mounted.is_mounted() && !interrupt.is_set() {
        if cut.swap(false, Ordering::Relaxed) {
            let cut = mounted.cut_power();
            cut.context("put back what the power cut loses")?;
        }
        thread::sleep(WATCH);
    }
    let statistics = mounted.unmount().map_err(failure)?;
    if flags.format.json {
        print::text(&format!("{}\n", octavo_report::json(&statistics)))
    } else {
        print::text(&told(&statistics, &settings.entry.name))
    }
}

fn settings(flags: &EmulateFlags, emulator: PathBuf) -> anyhow::Result<Settings> {
    let entry = devices::named(&flags.entry.device)?;
    let precondition = match flags.precondition {
        None => None,
        Some(request_size) => {
            let capacity = entry.open(Seed::new(0)).geometry().capacity;
            let size = u64::from(request_size.get());
            let range = flags.precondition_range.unwrap_or(RANGE.min(capacity));
            ensure!(
                range <= capacity && range.get() >= size,
                "--precondition-range must be {request_size} to the device's {capacity}, not {range}"
            );
            Some(PointSpec {
                mix: Mix::WRITE,
                pattern: Pattern::Random,
                request_size,
                depth: QueueDepth::ONE,
                range: ByteCount::new(range.get() / size * size),
                durability: Durability::Device,
                shift: ByteCount::ZERO,
            })
        }
    };
    Ok(Settings {
        time_scale: flags.time_scale,
        sync_backing: !flags.volatile_backing,
        faults: flags.faults.clone().unwrap_or_default(),
        precondition,
        seed: flags.random.seed,
        ..Settings::new(entry, &flags.backing, &flags.mount, emulator)
    })
}

fn failure(error: EmulateError) -> Failure {
    if matches!(error, EmulateError::Interrupted) {
        Failure::Interrupted("nothing was mounted yet".into())
    } else {
        let is_bad_input = error.is_bad_input();
        Failure::classified(error, is_bad_input)
    }
}

/// What is said in the end.
fn told(statistics: &Statistics, device: &str) -> String {
    let mut text = String::new();
    for (name, operation) in [
        ("reads", &statistics.reads),
        ("writes", &statistics.writes),
        ("flushes", &statistics.flushes),
    ] {
        if operation.requests > 0 {
            text.push_str(&line(name, operation));
        }
    }
    let pace = &statistics.pace;
    if text.is_empty() {
        text.push_str("no requests reached the device\n");
    } else {
        text.push_str(&format!(
            "kept pace in {:.2}% of requests (within {} µs of the model), at most {:.2} ms late; \
             answers sent {:.0} µs early to allow for the kernel\n",
            pace.kept * 100.0,
            LATE.as_micros(),
            pace.late_us_max / 1e3,
            pace.lead_us
        ));
    }
    if pace.backing_late >= 0.001 {
        text.push_str(&format!(
            "! The storage of --backing was slower than {device} in {:.1}% of requests. \
             Use faster storage, or a --time-scale above 1.\n",
            pace.backing_late * 100.0
        ));
    } else if pace.kept < 0.99 {
        text.push_str(
            "! This machine is too slow for the device at this load. Use a --time-scale above 1.\n",
        );
    }
    if pace.kept < 0.99 && !pace.cores_awake {
        text.push_str(
            "! Idle cores slept and woke late. Run octavo as root, or let it write to \
             /dev/cpu_dma_latency.\n",
        );
    }
    if let Some(amplification) = statistics.write_amplification {
        text.push_str(&format!(
            "device: {} written to the media (write amplification {:.2}), {} erases, busy {:.1} s\n",
            ByteCount::new(statistics.device.media_written_bytes),
            amplification,
            statistics.device.erases,
            statistics.device.busy_s
        ));
    }
    if statistics.power_cut {
        text.push_str("power was cut; --backing holds the data that survived\n");
    }
    text
}

fn line(name: &str, operation: &OperationStatistics) -> String {
    let latency = |latency: &Latency| {
        format!(
            "mean {:.0}, p50 {:.0}, p99 {:.0}, max {:.0} µs",
            latency.us_mean, latency.us_p50, latency.us_p99, latency.us_max
        )
    };
    format!(
        "{} {name}, {}, {:.0} per second\n  modeled  {}\n  answered {}\n",
        operation.requests,
        ByteCount::new(operation.bytes),
        operation.iops,
        latency(&operation.modelled),
        latency(&operation.answered)
    )
}
