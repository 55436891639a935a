//! Shows a job's progress, answers monitoring, and tells the job to stop on Ctrl-C.

use std::time::Duration;

use octavo_driver::Sample;
use octavo_experiment::{lockstep::Judgement, observer::Observer, plan::Plan};

use crate::{
    failure::Failure,
    interrupt::Interrupt,
    metrics::{MetricsFlag, Served},
    progress::{Progress, ProgressFlags},
};

pub(crate) struct Watcher {
    progress: Progress,
    interrupt: Interrupt,
    served: Option<Served>,
}

impl Watcher {
    pub(crate) fn new(progress: ProgressFlags) -> Result<Self, Failure> {
        Ok(Self {
            progress: Progress::new(progress),
            interrupt: Interrupt::listen()?,
            served: None,
        })
    }

    /// The same, which answers monitoring if it is asked for.
    pub(crate) fn answering(progress: ProgressFlags, flag: MetricsFlag) -> Result<Self, Failure> {
        // Before anything is done.
        let served = flag
            .metrics
            .map(Served::begin)
            .transpose()
            .map_err(Failure::Input)?;
        let watcher = Self {
            served,
            ..Self::new(progress)?
        };
        if let Some(served) = &watcher.served {
            watcher.note(&format!("figures are at {}", served.url()));
        }
        Ok(watcher)
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Takes the live line away.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }
}

impl Observer for Watcher {
    fn progress(&self, now: &str, spent: Duration, expected: Duration) {
        self.progress.show(now, spent, expected);
        if let Some(served) = &self.served {
            served.change(|metrics| metrics.time(spent, expected));
        }
    }

    fn standings(&self, plan: &Plan, judgement: &Judgement) {
        self.progress.say(octavo_report::standings(plan, judgement));
        if let Some(served) = &self.served {
            served.change(|metrics| metrics.standings(plan, judgement));
        }
    }

    fn second(&self, sample: &Sample) {
        if let Some(served) = &self.served {
            served.change(|metrics| metrics.second(sample));
        }
    }

    fn note(&self, line: &str) {
        self.progress.note(line);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}
