//! Shows a job's progress and tells it to stop on Ctrl-C.

use std::time::Duration;

use octavo_experiment::{lockstep::Judgement, observer::Observer, plan::Plan};

use crate::{
    failure::Failure,
    interrupt::Interrupt,
    progress::{Progress, ProgressFlags},
};

pub(crate) struct Watcher {
    progress: Progress,
    interrupt: Interrupt,
}

impl Watcher {
    pub(crate) fn new(progress: ProgressFlags) -> Result<Self, Failure> {
        Ok(Self {
            progress: Progress::new(progress),
            interrupt: Interrupt::listen()?,
        })
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
    }

    fn standings(&self, plan: &Plan, judgement: &Judgement) {
        self.progress.say(octavo_report::standings(plan, judgement));
    }

    fn note(&self, line: &str) {
        self.progress.note(line);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}
