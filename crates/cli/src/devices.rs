//! `octavo devices`: the catalog, and what its models say.

use std::time::Instant;

use anyhow::{Context, anyhow};
use octavo_device::{
    catalog::{self, Compared, Entry, machine},
    fit::{self, FitError},
    profile::Profile,
};
use octavo_storage::{entry, text};

use crate::{
    failure::Failure,
    flags::{DevicesCommand, DevicesFlags, FitFlags, ShowFlags},
    interrupt::Interrupt,
    output,
    print::{self, FormatFlag},
    progress::Progress,
    shell,
};

pub(crate) fn devices(flags: DevicesFlags) -> Result<(), Failure> {
    match flags.command {
        None if flags.machines => machines(flags.format),
        None => list(flags.format),
        Some(DevicesCommand::Show(flags)) => show(&flags),
        Some(DevicesCommand::Fit(flags)) => fit(&flags),
    }
}

/// The device that a flag names.
pub(crate) fn named(name: &str) -> anyhow::Result<Entry> {
    Ok(entry::named(name)?)
}

/// A device to emulate, checked and kept so that it is found from anywhere.
pub(crate) fn storage(device: &str) -> anyhow::Result<String> {
    named(device)?;
    entry::kept(device)
        .with_context(|| format!("the path of device {device} is not UTF-8: name another file"))
}

fn list(format: FormatFlag) -> Result<(), Failure> {
    let entries: anyhow::Result<Vec<Entry>> = catalog::names().map(named).collect();
    let entries = entries.map_err(Failure::Input)?;
    print::result(
        format,
        || octavo_report::devices_json(&entries),
        || octavo_report::devices(&entries),
    )
}

fn machines(format: FormatFlag) -> Result<(), Failure> {
    let entries: Result<Vec<_>, _> = machine::names().map(entry::named_machine).collect();
    let entries = entries.map_err(|error| Failure::Input(error.into()))?;
    print::result(
        format,
        || octavo_report::machines_json(&entries),
        || octavo_report::machines(&entries),
    )
}

fn show(flags: &ShowFlags) -> Result<(), Failure> {
    let entry = named(&flags.entry.device).map_err(Failure::Input)?;
    if flags.toml {
        return print::text(&entry.to_toml());
    }
    let compared = compare(&entry, flags)?;
    print::result(
        flags.simulation.format,
        || octavo_report::device_json(&entry, &compared),
        || octavo_report::described(&entry, &compared),
    )?;
    if flags.simulation.format.json {
        return Ok(());
    }
    print::text(&format!(
        "\nTo measure it: octavo calibrate --device {}\n",
        shell::word(&flags.entry.device)
    ))
}

/// Makes a twin of calibrated storage.
fn fit(flags: &FitFlags) -> Result<(), Failure> {
    let path = &flags.profile;
    let profile = text::read(path, text::MADE_MAX)
        .map_err(anyhow::Error::from)
        .and_then(|text| {
            // Its message has its cause in it.
            Profile::from_toml(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
        })
        .map_err(Failure::Input)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name = flags.name.as_deref().or(stem).unwrap_or("twin");
    if let Some(output) = &flags.output {
        output::keep_foreign(output, "a device", |text| Entry::from_toml(text).is_ok())?;
        output::probe(output)?;
    }
    let interrupt = Interrupt::listen()?;
    let progress = Progress::new(flags.simulation.progress);
    let began = Instant::now();
    let result = fit::fit(&profile, name, flags.simulation.random.seed, &mut |step| {
        let spent = began.elapsed();
        let whole = step.total as f64 / step.done.max(1) as f64;
        progress.show("fit", spent, spent.mul_f64(whole.max(1.0)));
        interrupt.flow()
    });
    progress.finish();
    let twin = result.map_err(|error| match error {
        FitError::Stopped => Failure::Interrupted("nothing was changed".into()),
        error => Failure::Input(anyhow::Error::from(error).context(path.display().to_string())),
    })?;
    if let Some(output) = &flags.output {
        output::write(output, &twin.entry.to_toml())?;
    }
    print::result(
        flags.simulation.format,
        || octavo_report::json(&twin),
        || octavo_report::twin(&twin),
    )?;
    if flags.simulation.format.json {
        return Ok(());
    }
    print::text(&match &flags.output {
        Some(output) => format!("\nTwin: {}\n", output.display()),
        None => "\nTo keep the twin and name it as a device: --output FILE\n".into(),
    })
}

/// Simulates all published figures of an entry.
fn compare(entry: &Entry, flags: &ShowFlags) -> Result<Vec<Compared>, Failure> {
    let interrupt = Interrupt::listen()?;
    let progress = Progress::new(flags.simulation.progress);
    let began = Instant::now();
    let count = u32::try_from(entry.published.len())
        .map_err(|_| Failure::Input(anyhow!("device {} has too many figures", entry.name)))?;
    let mut all = Vec::new();
    for (done, published) in (0..count).zip(&entry.published) {
        if interrupt.is_set() {
            progress.finish();
            return Err(Failure::Interrupted("nothing was changed".into()));
        }
        let spent = began.elapsed();
        let each = spent.checked_div(done).unwrap_or_default();
        progress.show(&published.at.to_string(), spent, each * count);
        let compared = published
            .compare(entry, flags.simulation.random.seed)
            .with_context(|| format!("simulate {} on {}", published.at, entry.name))
            .map_err(Failure::Input)?;
        all.push(compared);
    }
    progress.finish();
    Ok(all)
}
