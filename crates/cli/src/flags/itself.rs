//! Flags of the commands about Octavo itself: docs, man and completions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::shared::directory;
use crate::documents::{Document, documents};

#[derive(Debug, Args)]
pub(crate) struct DocsFlags {
    /// The page, also as a report names it: docs/verdicts.md [default: a list of all]
    #[arg(value_name = "NAME", value_parser = documents())]
    pub(crate) document: Option<Document>,
}

#[derive(Debug, Args)]
pub(crate) struct ManFlags {
    /// Where to write octavo.1, octavo-advise.1 and so on
    #[arg(default_value = "octavo-man", value_parser = directory())]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: CompletedShell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

impl From<CompletedShell> for Shell {
    fn from(shell: CompletedShell) -> Self {
        match shell {
            CompletedShell::Bash => Self::Bash,
            CompletedShell::Zsh => Self::Zsh,
            CompletedShell::Fish => Self::Fish,
        }
    }
}
