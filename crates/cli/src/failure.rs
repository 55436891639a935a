//! How a command ends when it has no result.

use octavo_experiment::{campaign::CampaignError, own::OwnPlanError};

/// How a command ended without a result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input was bad: exit code 2.
    Input(anyhow::Error),
    /// Something went wrong: exit code 1.
    Fault(anyhow::Error),
    /// The result is there, and is what the caller does not want: exit code 3.
    Met(String),
    /// The result is there, and does not tell whether it is that: exit code 4.
    Undecided(String),
    /// A part of what was asked for is there, and kept: exit code 3.
    Incomplete(String),
    /// Ctrl-C: exit code 130, with what to do next.
    Interrupted(String),
}

/// What is not said to be bad input went wrong.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Fault(error)
    }
}

impl Failure {
    /// The input was bad.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self::Input(error.into())
    }

    /// There is no plan: its input was bad, or Ctrl-C came while it was made.
    pub(crate) fn of_plan(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let plan = error.downcast_ref::<OwnPlanError>();
        let campaign = error.downcast_ref::<CampaignError>();
        let is_stopped = plan.is_some_and(OwnPlanError::is_stopped)
            || matches!(campaign, Some(CampaignError::Stopped));
        match is_stopped {
            true => Self::Interrupted("nothing was changed".into()),
            false => Self::Input(error),
        }
    }

    /// The input was bad, or something went wrong.
    pub(crate) fn classified(error: impl Into<anyhow::Error>, is_bad_input: bool) -> Self {
        match is_bad_input {
            true => Self::Input(error.into()),
            false => Self::Fault(error.into()),
        }
    }
}
