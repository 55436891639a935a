//! A part of a plan under way, whose results go to a directory of its own, and the line of JSON that
//! says what became of it.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use crate::{failure::Failure, outcome, print, watcher::Watcher};
use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::STORE,
    findings::Findings,
    part::{EndedOutcome, EndedPart, Part, PartKind},
    store::Store,
};

/// A part under way.
pub(crate) struct PartRun {
    part: Part,
    begun: Instant,
    directory: PathBuf,
}

impl PartRun {
    /// Begins an attempt, whose results go to a directory of its own below `into`.
    pub(crate) fn begin(part: Part, into: &Path) -> Self {
        let directory = into.join(part.directory());
        Self::begin_in(part, directory)
    }

    /// Begins an attempt in the directory of one before it.
    pub(crate) fn begin_in(part: Part, directory: PathBuf) -> Self {
        Self {
            part,
            begun: Instant::now(),
            directory,
        }
    }

    /// Where its results go.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Carries the part out. The settings are of the whole plan.
    pub(crate) fn carry_out(
        &self,
        settings: &CampaignSettings,
        watcher: &Watcher,
    ) -> Result<Findings, Failure> {
        let settings = CampaignSettings {
            directory: self.directory.clone(),
            part: Some(self.part.clone()),
            ..settings.clone()
        };
        // A thread is held to its directories for good, and parts that follow mount their devices.
        let result = thread::scope(|scope| {
            let carried = scope.spawn(|| campaign(&settings, watcher));
            let joined = carried.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        watcher.finish();
        match result {
            // A store that somebody deleted meanwhile is there again, without the part.
            Ok(findings) if self.is_kept() => {
                self.end(EndedOutcome::Done, None)?;
                Ok(findings)
            }
            Ok(_) => Err(self.fail(Failure::Fault(anyhow::anyhow!(
                "{} was deleted while this was at work, and what was measured is lost: carry it out again",
                self.directory.join(STORE).display()
            )))?),
            Err(CampaignError::Stopped) => {
                self.end(EndedOutcome::Incomplete, Some("interrupted".into()))?;
                let kept = match self.part.kind {
                    PartKind::Sitting => {
                        "whole passes are kept, and the same command is a new attempt"
                    }
                    PartKind::Shard => {
                        "whole groups are kept, and the same command is a new attempt"
                    }
                };
                Err(Failure::Incomplete(format!("interrupted; {kept}")))
            }
            Err(error) => Err(self.fail(outcome::failure_of_plan(error, &settings.directory))?),
        }
    }

    /// Whether the store has the part.
    fn is_kept(&self) -> bool {
        let parts = Store::open(&self.directory.join(STORE)).and_then(|store| store.parts());
        parts.is_ok_and(|parts| parts.iter().any(|of| of.id == self.part.id_text()))
    }

    /// Prints the line of a part that failed, and hands its failure on.
    ///
    /// # Errors
    /// When the line cannot be printed.
    pub(crate) fn fail(&self, failure: Failure) -> Result<Failure, Failure> {
        let (outcome, reason) = match &failure {
            Failure::Input(error) => (EndedOutcome::Refused, format!("{error:#}")),
            Failure::Fault(error) => (EndedOutcome::Failed, format!("{error:#}")),
            Failure::Met(reason)
            | Failure::Undecided(reason)
            | Failure::Incomplete(reason)
            | Failure::Interrupted(reason) => (EndedOutcome::Failed, reason.clone()),
        };
        self.end(outcome, Some(reason))?;
        Ok(failure)
    }

    /// Says what became of it.
    pub(crate) fn end(&self, outcome: EndedOutcome, reason: Option<String>) -> Result<(), Failure> {
        let store = self.directory.join(STORE);
        let opened = store.exists().then(|| Store::open(&store).ok()).flatten();
        let cells = opened.and_then(|store| store.cells_of_part(&self.part).ok());
        print::line(&EndedPart {
            outcome,
            store: store.exists().then_some(store),
            cells: cells.unwrap_or(0),
            spent_s: self.begun.elapsed().as_secs_f64(),
            reason,
            ..EndedPart::of(&self.part)
        })
    }
}
