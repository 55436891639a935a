//! Who follows a campaign, and its clock.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{error::CampaignError, lockstep::Judgement, observer::Observer, plan::Plan};

/// Shows an observer what is done and how much time is left, and tells whether
/// to stop.
pub struct Monitor<'a> {
    observer: &'a dyn Observer,
    /// Time of earlier sessions.
    earlier: Duration,
    begin: Instant,
    /// Time of everything, as far as it is known.
    expected: Option<Duration>,
    /// The time after which nothing can be measured.
    limit: Option<Duration>,
    is_limit_lifted: AtomicBool,
}

impl<'a> Monitor<'a> {
    /// Begins a session of an experiment that has taken `earlier` so far;
    /// `expected` is the time of everything, where it is known.
    pub fn new(observer: &'a dyn Observer, earlier: Duration, expected: Option<Duration>) -> Self {
        Self {
            observer,
            earlier,
            begin: Instant::now(),
            expected,
            limit: None,
            is_limit_lifted: AtomicBool::new(false),
        }
    }

    /// With a time after which nothing can be measured, so that it is no use
    /// to make ready for it.
    pub(crate) fn with_limit(self, limit: Option<Duration>) -> Self {
        Self { limit, ..self }
    }

    /// Has making ready take as long as it does.
    pub(crate) fn lift_limit(&self) {
        self.is_limit_lifted.store(true, Ordering::Relaxed);
    }

    /// That time, once it is over.
    pub(crate) fn passed_limit(&self) -> Option<Duration> {
        let limit = self.limit.filter(|&limit| self.spent() >= limit);
        limit.filter(|_| !self.is_limit_lifted.load(Ordering::Relaxed))
    }

    /// How long a slice is waited for: as long as everything may take. An answer that is late is
    /// better than none, but a statement may never end.
    pub(crate) fn slice_max(&self) -> Option<Duration> {
        self.limit
    }

    /// As [`Self::flow`], for making ready.
    pub(crate) fn flow_within_limit(&self) -> ControlFlow<()> {
        match self.passed_limit() {
            Some(_) => ControlFlow::Break(()),
            None => self.flow(),
        }
    }

    /// Shows what is done now.
    pub fn progress(&self, now: &str) {
        let spent = self.spent();
        let expected = self.expected.unwrap_or(spent);
        self.observer.progress(now, spent, expected);
    }

    /// Shows what is done now, where it is known how long everything will still take.
    pub(crate) fn progress_with(&self, now: &str, left: Duration) {
        let spent = self.spent();
        self.observer
            .progress(now, spent, spent.saturating_add(left));
    }

    /// Shows how the cells of a plan stand.
    pub(crate) fn standings(&self, plan: &Plan, judgement: &Judgement) {
        self.observer.standings(plan, judgement);
    }

    /// Shows a line that stays.
    pub fn note(&self, line: &str) {
        self.observer.note(line);
    }

    /// Who follows it.
    pub(crate) fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Whether to stop.
    pub fn interrupted(&self) -> bool {
        self.observer.interrupted()
    }

    /// Whether to stop, as steps that can be stopped want to know it.
    pub fn flow(&self) -> ControlFlow<()> {
        self.observer.flow()
    }

    /// Refuses to go on once the observer wants to stop.
    ///
    /// # Errors
    /// [`CampaignError::Stopped`], then.
    pub fn stop_if_interrupted(&self) -> Result<(), CampaignError> {
        if self.interrupted() {
            Err(CampaignError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Time of this session.
    pub fn session(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Time of all sessions.
    pub fn spent(&self) -> Duration {
        self.earlier.saturating_add(self.session())
    }
}
