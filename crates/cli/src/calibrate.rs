//! `octavo calibrate`: flags to settings, the call, and what is printed.

use std::ops::ControlFlow;

use anyhow::{Context, anyhow};
use octavo_device::calibrate::{
    CalibrateError, Engine, Preset, Profile, Settings, calibrate as run,
};

use crate::{
    Failure,
    flags::{CalibrateFlags, EngineName},
    interrupt::Interrupt,
    progress::Progress,
    report,
};

pub(crate) fn calibrate(flags: CalibrateFlags) -> Result<(), Failure> {
    let settings = settings(&flags);
    if !flags.directory.is_dir() {
        return Err(Failure::Input(anyhow!(
            "{} is not a directory: name one on the storage in question",
            flags.directory.display()
        )));
    }
    if let Some(output) = &flags.output {
        report::keep_foreign(output, "a device profile", |text| {
            Profile::from_toml(text).is_ok()
        })?;
    }
    let interrupt = Interrupt::listen()
        .context("listen for Ctrl-C")
        .map_err(Failure::Fault)?;
    let progress = Progress::new();
    let result = run(&flags.directory, &settings, &mut |step| {
        progress.show(step.name, step.done, step.total);
        if interrupt.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    progress.finish();
    let profile = result.map_err(failure)?;

    if let Some(output) = &flags.output {
        report::write(output, &profile.to_toml())?;
    }
    report::print(&if flags.json {
        let text = serde_json::to_string_pretty(&profile)
            .context("write the profile as JSON")
            .map_err(Failure::Fault)?;
        format!("{text}\n")
    } else {
        let (width, _) = report::screen();
        let next = match &flags.output {
            Some(output) => format!("Device profile: {}", output.display()),
            None => "--output FILE writes the device profile".into(),
        };
        format!("{}\n{next}\n", octavo_report::device(&profile, width))
    })
}

fn settings(flags: &CalibrateFlags) -> Settings {
    let preset = if flags.full {
        Preset::Full
    } else {
        Preset::Quick
    };
    Settings {
        file_size: flags.size,
        engine: match flags.engine {
            EngineName::Auto => None,
            EngineName::IoUring => Some(Engine::Ring),
            EngineName::Threads => Some(Engine::Threads),
        },
        ..Settings::preset(preset, flags.seed)
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
