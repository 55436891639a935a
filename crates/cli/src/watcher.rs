//! Shows a job's progress and tells it to stop on Ctrl-C.

use std::time::Duration;

use octavo_experiment::observer::Observer;

use crate::{failure::Failure, interrupt::Interrupt, progress::Progress};

pub(crate) struct Watcher {
    progress: Progress,
    interrupt: Interrupt,
}

impl Watcher {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            progress: Progress::new(),
            interrupt: Interrupt::listen()?,
        })
    }

    /// Takes the progress bar away.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }
}

impl Observer for Watcher {
    fn progress(&self, now: &str, spent: Duration, expected: Duration) {
        self.progress.show(now, spent, expected);
    }

    fn note(&self, line: &str) {
        self.progress.note(line);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}
