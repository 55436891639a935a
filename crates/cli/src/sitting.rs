//! `octavo run --sitting`: sittings of a plan by themselves, each in a directory of its own, with a
//! line of JSON for whoever started it.

use std::{env, path::Path, str::FromStr, thread};

use anyhow::{Context, bail, ensure};
use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::{REPORT, STORE},
    fleet::{Alone, EndedPart, Host, Part, PartKind, PartOutcome},
    plan::Design,
    store::Store,
};

use crate::{failure::Failure, fleet::environment, host::program, output, print, watcher::Watcher};

/// The most sittings of a plan.
const SITTINGS_MAX: u32 = 1_000_000;

/// Which sittings to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sittings {
    /// These, from 0, and how many there are in all where that is known.
    These {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
        /// In all.
        of: Option<u32>,
    },
    /// The one that the environment says.
    Auto,
}

impl FromStr for Sittings {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = |text: &str| {
            let number: u32 = text.parse().ok().filter(|&number| number < SITTINGS_MAX)?;
            Some(number)
        };
        let (range, of) = match text.split_once('/') {
            Some((range, of)) => (range, Some(of)),
            None => (text, None),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            bail!("give a number from 0, such as 7, 7/12 or 0-3/12, or auto");
        };
        let of = of.map(|of| number(of).context("give how many sittings there are after /"));
        let of = of.transpose()?;
        ensure!(first <= last, "{first} comes after {last}");
        if let Some(of) = of {
            ensure!(
                last < of,
                "sittings are counted from 0, so the last of {of} is {}",
                of.saturating_sub(1)
            );
        }
        Ok(Self::These { first, last, of })
    }
}

impl Sittings {
    /// First and last number, and how many there are in all.
    ///
    /// # Errors
    /// When they are to be found in the environment, which does not say them.
    fn resolve(self) -> anyhow::Result<(u32, u32, Option<u32>)> {
        match self {
            Self::These { first, last, of } => Ok((first, last, of)),
            Self::Auto => {
                let part = environment::part(|name| env::var_os(name)).context("--sitting auto")?;
                Ok((part.index, part.index, part.count))
            }
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
    if settings.plan.ramp.is_some() {
        return Err(Failure::Input(anyhow::anyhow!(
            "--sitting compares cells in lockstep, and each cell of this plan is a ramp by itself: \
             leave --sitting out"
        )));
    }
    let (first, last, of) = wanted.resolve().map_err(Failure::Input)?;
    let host = host.map_or_else(Host::here, Host::named);
    // Two at the same time would measure each other.
    let waits =
        || print::aside("octavo: another sitting is at work on this host; this one waits for it");
    let alone = Alone::wait(&|| watcher.is_interrupted(), &waits)
        .context("see whether this host measures already")
        .map_err(Failure::Fault)?;
    let Some(_alone) = alone else {
        return Err(Failure::Interrupted("nothing was measured yet".into()));
    };
    let parts: Vec<Part> = (first..=last)
        .map(|number| Part::new(PartKind::Sitting, number, of, host.clone()))
        .collect();
    let directory = into.join(parts[0].directory());
    for (place, part) in parts.iter().enumerate() {
        let mut settings = settings.clone();
        settings.directory.clone_from(&directory);
        settings.program = program()?;
        // All hosts measure the same cells to the end: who leaves early on one of them would be missing
        // in its mean.
        settings.plan.design = Design::Full;
        // What is loaded serves the sittings after it.
        settings.keep_data |= place + 1 < parts.len();
        settings.part = Some(part.clone());
        // A thread is held to its directories once for all, and each sitting mounts its devices.
        let result = thread::scope(|scope| {
            let sitting = scope.spawn(|| campaign(&settings, watcher));
            sitting
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        watcher.finish();
        tell(part, &directory, result)?;
    }
    Ok(())
}

/// Prints what became of a sitting, and ends with that.
fn tell(
    part: &Part,
    directory: &Path,
    result: Result<octavo_experiment::findings::Findings, CampaignError>,
) -> Result<(), Failure> {
    let path = directory.join(STORE);
    let (outcome, reason) = match &result {
        Ok(_) => (PartOutcome::Done, None),
        Err(error) if error.is_bad_input() || !path.exists() => {
            return result
                .map(|_| ())
                .map_err(|error| crate::outcome::failure(error, directory));
        }
        Err(error) => (PartOutcome::Incomplete, Some(reason(error))),
    };
    let store = Store::open(&path).map_err(|error| Failure::Fault(error.into()))?;
    let own = store
        .parts()
        .map_err(|error| Failure::Fault(error.into()))?;
    let own = own.into_iter().find(|of| of.id == part.id_text());
    let slices = store
        .slices()
        .map_err(|error| Failure::Fault(error.into()))?;
    let passes: std::collections::BTreeSet<u32> = slices
        .iter()
        .filter(|slice| slice.key.sitting == part.number)
        .map(|slice| slice.key.pass)
        .collect();
    let spent_s = own.map_or(0.0, |own| own.spent_s);
    let line = EndedPart::new(part, outcome, &path, passes.len(), spent_s);
    let line = EndedPart {
        reason: reason.clone(),
        ..line
    };
    print::line(&line)?;
    match (result, reason) {
        (Ok(findings), _) => output::write(
            &directory.join(REPORT),
            &octavo_report::findings(&findings).html(),
        ),
        (Err(_), reason) => Err(Failure::Met(format!(
            "sitting {} is incomplete: {}; what was measured is kept",
            part.number,
            reason.unwrap_or_default()
        ))),
    }
}

fn reason(error: &CampaignError) -> String {
    match error {
        CampaignError::Stopped => "it was told to stop".into(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sittings_are_numbers_ranges_or_what_the_environment_says() {
        let these = |first, last, of| Sittings::These { first, last, of };
        for (text, wanted) in [
            ("0", these(0, 0, None)),
            ("7/12", these(7, 7, Some(12))),
            ("0-11", these(0, 11, None)),
            ("3-5/12", these(3, 5, Some(12))),
            ("auto", Sittings::Auto),
        ] {
            assert_eq!(text.parse::<Sittings>().unwrap(), wanted, "{text}");
        }
        for text in [
            "", "-1", "12/12", "5-3", "1.5", "7/", "/7", "1000000", "AUTO",
        ] {
            assert!(text.parse::<Sittings>().is_err(), "{text}");
        }
    }
}
