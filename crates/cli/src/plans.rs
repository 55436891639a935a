//! `octavo plan`: plans to begin with, and reading one's own.

use octavo_experiment::plan::file::{PlanFile, Registries};
use octavo_report::number::counted;

use crate::{
    failure::Failure,
    flags::{PlanCheckFlags, PlanCommand, PlanFlags},
    output, print, run,
    samples::SAMPLES,
};

pub(crate) fn plan(flags: PlanFlags) -> Result<(), Failure> {
    match (flags.command, flags.sample) {
        (Some(PlanCommand::Check(flags)), _) => check(&flags),
        (None, Some(sample)) => print::text(sample.text),
        (None, None) => list(),
    }
}

fn list() -> Result<(), Failure> {
    let lines = SAMPLES
        .iter()
        .map(|sample| format!("{:<21} {}\n", sample.name, sample.question()));
    let list: String = lines.collect();
    print::text(&format!(
        "{list}\nTo begin with one: octavo plan NAME > plan.toml, then octavo run plan.toml\n"
    ))
}

/// Reads a plan with all that it names.
fn check(flags: &PlanCheckFlags) -> Result<(), Failure> {
    let mut file = PlanFile::read(&flags.plan, &Registries::standard()).map_err(Failure::input)?;
    file.check(&output::directory_of(&flags.plan))
        .map_err(Failure::input)?;
    run::complete(&mut file, &|| false)?;
    let (plan, path) = (&file.plan, flags.plan.display());
    print::text(&format!(
        "{path} is a plan of {} that compares {} in {}.\nWhat it takes: octavo run {path} --dry-run\n",
        counted(plan.cells().len(), "cell"),
        plan.compare,
        counted(plan.groups().len(), "group"),
    ))
}
