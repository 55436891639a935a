//! `octavo predict --shard`: a part of a plan, by itself, for machines that share the work.

use std::{env, path::Path};

use anyhow::{Context, anyhow};
use octavo_experiment::{
    campaign::CampaignSettings,
    part::{EndedOutcome, Host, Part, PartKind},
    plan::Shard,
};

use crate::{
    failure::Failure, flags::ShardFlag, fleet::environment, part::PartRun, watcher::Watcher,
};

/// Which part that is.
pub(super) fn resolve(wanted: ShardFlag) -> anyhow::Result<Shard> {
    match wanted {
        ShardFlag::Part(shard) => Ok(shard),
        ShardFlag::Auto => of_environment(),
    }
}

/// The part that a scheduler gives to this process.
fn of_environment() -> anyhow::Result<Shard> {
    let part = environment::part(|name| env::var_os(name)).context("--shard auto")?;
    let count = part.count.ok_or_else(|| {
        anyhow!(
            "--shard auto: {} does not say how many parts there are: give --shard I/N",
            part.scheduler
        )
    })?;
    Shard::new(part.index, count).map_err(|reason| anyhow!("--shard auto: {reason}"))
}

/// Begins a part, whose results go below `into`.
pub(super) fn begin(shard: Shard, into: &Path) -> PartRun {
    let number = shard.number().saturating_sub(1);
    let part = Part::new(PartKind::Shard, number, Some(shard.count()), Host::here());
    PartRun::begin(part, into)
}

/// Predicts the part. The settings are of the whole plan.
pub(super) fn carry_out(
    run: &PartRun,
    shard: Shard,
    settings: &CampaignSettings,
    watcher: &Watcher,
) -> Result<(), Failure> {
    let groups = settings.plan.groups().len();
    if shard.groups(groups).is_empty() {
        let reason = format!(
            "the plan has {groups} groups of cells that are compared: there is nothing in part {shard}"
        );
        return run.end(EndedOutcome::Done, Some(reason));
    }
    run.carry_out(settings, watcher).map(|_| ())
}
