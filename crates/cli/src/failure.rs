//! How a command ends when it has no result.

/// How a command ended without a result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input was bad: exit code 2.
    Input(anyhow::Error),
    /// Something went wrong: exit code 1.
    Fault(anyhow::Error),
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

    /// The input was bad, or something went wrong.
    pub(crate) fn classified(error: impl Into<anyhow::Error>, is_bad_input: bool) -> Self {
        match is_bad_input {
            true => Self::Input(error.into()),
            false => Self::Fault(error.into()),
        }
    }
}
