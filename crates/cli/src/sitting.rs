//! `octavo run --sitting`: sittings of a plan by themselves, each in a directory of its own, with a
//! line of JSON for whoever started it.

use std::{env, path::Path};

use anyhow::{Context, ensure};
use octavo_experiment::{
    abandoned::clear_abandoned,
    campaign::CampaignSettings,
    directory::{REPORT, WorkDirectory},
    part::{Alone, EndedOutcome, Host, PARTS_MAX, Part, PartKind},
    plan::Design,
};

use crate::{
    failure::Failure, flags::Sittings, fleet::environment, output, part::PartRun, print,
    watcher::Watcher,
};

/// First and last number, and how many there are in all.
///
/// # Errors
/// When they are to be found in the environment, which does not say them.
fn resolve(wanted: Sittings) -> anyhow::Result<(u32, u32, Option<u32>)> {
    match wanted {
        Sittings::These { first, last, of } => Ok((first, last, of)),
        Sittings::Auto => {
            let part = environment::part(|name| env::var_os(name)).context("--sitting auto")?;
            ensure!(
                part.index < PARTS_MAX && part.count.is_none_or(|count| count < PARTS_MAX),
                "--sitting auto: {} says {}: there are fewer than {PARTS_MAX} sittings of a plan",
                part.scheduler,
                part.count.unwrap_or(part.index)
            );
            Ok((part.index, part.index, part.count))
        }
    }
}

/// Carries out sittings of a plan, one after the other, below `into`.
pub(crate) fn sittings(
    wanted: Sittings,
    into: &Path,
    host: Option<&str>,
    settings: &CampaignSettings,
    watcher: &Watcher,
) -> Result<(), Failure> {
    let (first, last, of) = resolve(wanted).map_err(Failure::Input)?;
    if !host.is_none_or(Host::is_name) {
        return Err(Failure::Input(anyhow::anyhow!(
            "--host is empty, too long, or has control characters: leave it out, or give the name by \
             which the scheduler knows this host"
        )));
    }
    let host = host.map_or_else(Host::here, Host::named);
    // Two at the same time would measure each other.
    let waits =
        || print::aside("octavo: another sitting is at work on this host; this one waits for it");
    let alone = Alone::wait(&|| watcher.is_interrupted(), &waits)
        .context("see whether this host measures already")
        .map_err(Failure::Fault)?;
    let Some(_alone) = alone else {
        let part = Part::new(PartKind::Sitting, first, of, host);
        let reason = "interrupted while another sitting was at work on this host";
        PartRun::begin(part, into).end(EndedOutcome::Incomplete, Some(reason.into()))?;
        return Err(Failure::Incomplete(format!(
            "{reason}; nothing was measured"
        )));
    };
    clear_abandoned(into, &host);
    // All hosts measure the same cells to the end: who leaves early on one of them would be missing
    // in its mean.
    let mut settings = settings.clone();
    settings.plan.design = Design::Full;
    let is_kept = settings.keep_data;
    let mut directory = None;
    // Whatever becomes of it, what was wanted stays.
    let keep = |run: &PartRun| -> Result<(), Failure> {
        if is_kept && run.directory().exists() {
            let opened = WorkDirectory::open(run.directory(), &[]);
            let kept = opened.and_then(|mut of| of.note_kept());
            kept.map_err(Failure::input)?;
        }
        Ok(())
    };
    for number in first..=last {
        let part = Part::new(PartKind::Sitting, number, of, host.clone());
        // What is loaded serves the sittings after it.
        settings.keep_data = is_kept || number < last;
        let run = match directory {
            None => PartRun::begin(part, into),
            Some(directory) => PartRun::begin_in(part, directory),
        };
        let carried = run.carry_out(&settings, watcher);
        keep(&run)?;
        if carried.is_err() {
            // The next attempt has a directory of its own, and loads anew.
            clear_abandoned(into, &host);
        }
        let findings = carried?;
        let page = run.directory().join(REPORT);
        output::write(&page, &octavo_report::findings(&findings).html())?;
        directory = Some(run.directory().to_owned());
    }
    Ok(())
}
