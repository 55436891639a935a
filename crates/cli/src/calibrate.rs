//! `octavo calibrate`: flags to settings, the call, and what is printed.

use std::{path::Path, time::Instant};

use anyhow::anyhow;
use octavo_device::{
    point::PointSpec,
    preset::Preset,
    probe::{self, Effort, ProfileError as ProbeError, ProfileSettings},
    profile::Profile,
};
use octavo_storage::{
    calibrate::{CalibrateError, Settings, calibrate as run},
    engine::Engine,
};
use octavo_units::ByteCount;

use crate::{
    devices::named,
    failure::Failure,
    file_system::MadeFileSystem,
    flags::{CalibrateFlags, EngineName},
    interrupt::Interrupt,
    output, print,
    progress::Progress,
};

pub(crate) fn calibrate(flags: CalibrateFlags) -> Result<(), Failure> {
    if let Some(output) = &flags.output {
        output::keep_foreign(output, "a device profile", |text| {
            Profile::from_toml(text).is_ok()
        })?;
        output::probe(output)?;
    }
    let interrupt = Interrupt::listen()?;
    let profile = match (&flags.device.name, &flags.directory) {
        (Some(device), _) => simulate(device, &flags, &interrupt)?,
        (None, Some(directory)) => measure(directory, &flags, &interrupt)?,
        (None, None) => {
            return Err(Failure::Input(anyhow!(
                "nothing to measure; name a directory, or a device with --device"
            )));
        }
    };

    if let Some(output) = &flags.output {
        output::write(output, &profile.to_toml())?;
    }
    if flags.simulation.format.json {
        return print::value(&profile);
    }
    print::document(&octavo_report::profile(&profile), false)?;
    print::text(&match &flags.output {
        Some(output) => format!("\nDevice profile: {}\n", output.display()),
        None => "\nTo keep the device profile: --output FILE\n".into(),
    })
}

/// Measures the storage under a directory.
fn measure(
    directory: &Path,
    flags: &CalibrateFlags,
    interrupt: &Interrupt,
) -> Result<Profile, Failure> {
    if flags.passes.get() > PASSES_MAX {
        return Err(Failure::Input(anyhow!(
            "--passes must be at most {PASSES_MAX}"
        )));
    }
    if !directory.is_dir() {
        return Err(Failure::Input(anyhow!(
            "{} is not a directory; name one on the storage to measure",
            directory.display()
        )));
    }
    let settings = settings(flags);
    let made = match &flags.file_system {
        Some(system) => {
            let file = settings.file_size.unwrap_or(settings.preset.file_size());
            // Calibrating wants twice its file.
            let content = ByteCount::new(file.get().saturating_mul(2));
            Some(MadeFileSystem::make(system, directory, content, interrupt)?)
        }
        None => None,
    };
    let place = made.as_ref().map(MadeFileSystem::path);
    let directory = place.as_deref().unwrap_or(directory);
    let progress = Progress::new(flags.simulation.progress);
    let result = run(directory, &settings, &mut |step| {
        progress.show(step.name, step.done, step.total);
        interrupt.flow()
    });
    progress.finish();
    result.map_err(failure)
}

/// Passes over all points at most: more would take days.
const PASSES_MAX: u32 = 1000;

/// A device's range when none is asked for: what lee-2009 measured most on.
pub(crate) const RANGE: ByteCount = ByteCount::mib(16 << 10);

/// Measures a device of the catalog in its own time.
fn simulate(
    device: &str,
    flags: &CalibrateFlags,
    interrupt: &Interrupt,
) -> Result<Profile, Failure> {
    let entry = named(device).map_err(Failure::Input)?;
    let mut device = entry.open(flags.simulation.random.seed);
    let geometry = device.geometry();
    let listed = flags.point.iter().map(|point| point.range).max();
    let range = listed
        .or(flags.size)
        .unwrap_or(RANGE.min(geometry.capacity));
    let sector = u32::try_from(geometry.sector.get()).unwrap_or(u32::MAX);
    let preset = preset(flags);
    // Of a model without blocks shifted requests would say that a shift costs nothing.
    let is_known = |point: &PointSpec| point.shift == ByteCount::ZERO || entry.has_blocks();
    if let Some(point) = flags.point.iter().find(|point| !is_known(point)) {
        return Err(Failure::Input(anyhow!(
            "point '{point}' cannot be measured: the model of {} has no blocks, so that it does not \
             know what a shift costs; leave the shift out",
            entry.name
        )));
    }
    let mut preset_points = preset.points(range, sector);
    preset_points.retain(is_known);
    let offset = entry.offset();
    let settings = ProfileSettings {
        limits: entry.limits(),
        name: entry.name,
        title: entry.title,
        points: if flags.point.is_empty() {
            (preset_points, Some(preset))
        } else {
            (flags.point.clone(), None)
        },
        range,
        effort: Effort::default(),
        seed: flags.simulation.random.seed,
    };
    let count = settings.points.0.len() as u32;
    let progress = Progress::new(flags.simulation.progress);
    let began = Instant::now();
    let result = probe::profile(&mut *device, &settings, &mut |point, done| {
        let spent = began.elapsed();
        let each = spent.checked_div(done as u32).unwrap_or_default();
        progress.show(&point.to_string(), spent, each * count);
        interrupt.flow()
    });
    progress.finish();
    let mut profile = result.map_err(|error| match error {
        ProbeError::Stopped => Failure::Interrupted("nothing was changed".into()),
        error => Failure::Input(error.into()),
    })?;
    profile.storage.offset_bytes = offset.map(ByteCount::get);
    Ok(profile)
}

fn preset(flags: &CalibrateFlags) -> Preset {
    if flags.full {
        Preset::Full
    } else {
        Preset::Quick
    }
}

fn settings(flags: &CalibrateFlags) -> Settings {
    let points = (!flags.point.is_empty()).then(|| flags.point.clone());
    let listed = flags.point.iter().map(|point| point.range).max();
    Settings {
        file_size: flags.size.or(listed),
        points,
        passes: flags.passes,
        engine: match flags.engine {
            EngineName::Auto => None,
            EngineName::IoUring => Some(Engine::Ring),
            EngineName::Threads => Some(Engine::Threads),
        },
        ..Settings::preset(preset(flags), flags.simulation.random.seed)
    }
}

fn failure(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Stopped => Failure::Interrupted("nothing was left behind".into()),
        CalibrateError::NoSpace { .. } | CalibrateError::Point { .. } => {
            Failure::Input(error.into())
        }
        CalibrateError::File { ref source, .. }
            if matches!(
                source.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Failure::Input(error.into())
        }
        error => Failure::Fault(error.into()),
    }
}
