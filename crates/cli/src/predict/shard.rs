//! `octavo predict --shard`: a part of a plan, by itself, for machines that share the work.

use std::{
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    str::FromStr,
    time::Instant,
};

use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::STORE,
    plan::Shard,
    store::Store,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{failure::Failure, outcome, print, watcher::Watcher};

/// Which part of a plan, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardFlag {
    /// That one.
    Part(Shard),
    /// The one that the environment says.
    Auto,
}

impl FromStr for ShardFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => Ok(Self::Part(text.parse()?)),
        }
    }
}

impl ShardFlag {
    /// The part.
    pub(super) fn part(self) -> anyhow::Result<Shard> {
        match self {
            Self::Part(shard) => Ok(shard),
            Self::Auto => of_environment(),
        }
    }
}

/// The part that a scheduler gives to this process.
fn of_environment() -> anyhow::Result<Shard> {
    anyhow::bail!("--shard auto finds no scheduler here: give --shard I/N")
}

/// What became of a part of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShardResult {
    /// Which part, from 1.
    shard: u32,
    /// How many parts there are.
    of: u32,
    /// Whether all of it is there.
    outcome: ShardOutcome,
    /// Its results; `null` where there are none.
    store: Option<PathBuf>,
    /// Cells that were predicted.
    cells: usize,
    /// Seconds that it took.
    spent_s: f64,
    /// Why it is not done, or is done without results.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Whether all of a part is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ShardOutcome {
    /// All of it.
    Done,
    /// What was predicted before an interruption: whole groups.
    Incomplete,
    /// Nothing, as the input is bad.
    Refused,
    /// Something went wrong.
    Failed,
}

/// A part under way.
pub(super) struct ShardRun {
    shard: Shard,
    begun: Instant,
    /// Of its own, so that several attempts at the same part are kept apart.
    directory: PathBuf,
}

impl ShardRun {
    /// Begins a part, whose results go below `into`.
    pub(super) fn begin(shard: Shard, into: &Path) -> Self {
        // Seeded by the system.
        let id = RandomState::new().hash_one(std::process::id()) as u32;
        let name = format!("shard-{}-of-{}-{id:08x}", shard.number(), shard.count());
        Self {
            shard,
            begun: Instant::now(),
            directory: into.join(name),
        }
    }

    /// Where its results go.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Predicts the part. The settings are of the whole plan, and get its directory.
    pub(super) fn carry_out(
        &self,
        mut settings: CampaignSettings,
        watcher: &Watcher,
    ) -> Result<(), Failure> {
        let groups = self.shard.groups(settings.plan.groups().len());
        if groups.is_empty() {
            let reason = format!(
                "the plan has {} groups of cells that are compared: there is nothing in part {}",
                settings.plan.groups().len(),
                self.shard
            );
            return self.end(ShardOutcome::Done, Some(reason));
        }
        settings.directory.clone_from(&self.directory);
        match campaign(&settings, watcher) {
            Ok(_) => self.end(ShardOutcome::Done, None),
            Err(CampaignError::Stopped) => {
                self.end(ShardOutcome::Incomplete, Some("interrupted".into()))?;
                Err(Failure::Incomplete(
                    "interrupted; whole groups are kept, and the same command predicts the part anew"
                        .into(),
                ))
            }
            Err(error) => self.fail(outcome::failure(error, &settings.directory)),
        }
    }

    /// Ends it where there are no results.
    pub(super) fn fail(&self, failure: Failure) -> Result<(), Failure> {
        let (outcome, reason) = match &failure {
            Failure::Input(error) => (ShardOutcome::Refused, format!("{error:#}")),
            Failure::Fault(error) => (ShardOutcome::Failed, format!("{error:#}")),
            Failure::Met(reason)
            | Failure::Undecided(reason)
            | Failure::Incomplete(reason)
            | Failure::Interrupted(reason) => (ShardOutcome::Failed, reason.clone()),
        };
        self.end(outcome, Some(reason))?;
        Err(failure)
    }

    /// Says what became of it, as a line for programs.
    fn end(&self, outcome: ShardOutcome, reason: Option<String>) -> Result<(), Failure> {
        let store = self.directory.join(STORE);
        let opened = store.exists().then(|| Store::open(&store).ok()).flatten();
        let cells = opened.and_then(|store| store.finished_cells().ok());
        let result = ShardResult {
            shard: self.shard.number(),
            of: self.shard.count(),
            outcome,
            store: store.exists().then_some(store),
            cells: cells.map_or(0, |cells| cells.len()),
            spent_s: self.begun.elapsed().as_secs_f64(),
            reason,
        };
        let line = serde_json::to_string(&result).map_err(|error| Failure::Fault(error.into()))?;
        print::text(&format!("{line}\n"))
    }
}
