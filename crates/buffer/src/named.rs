//! Policies by their names.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Arc, Cflru, Clock, Counts, Frames, Lru, Opt, Policy, S3Fifo, Trace, TwoQ, Usage, Zones,
};

/// A replacement policy that a stream of references alone drives: no rule of it depends on
/// time or on transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamedPolicy {
    /// Least recently used.
    Lru,
    /// A clock with one bit.
    Clock,
    /// PostgreSQL's clock, with counts up to 5.
    Postgres,
    /// 2Q with the shares that its paper recommends.
    #[serde(rename = "2q")]
    TwoQ,
    /// ARC.
    Arc,
    /// S3-FIFO with a tenth for new pages.
    S3Fifo,
    /// CFLRU with a window of a third of the buffer.
    Cflru,
    /// CUBRID's zones.
    Cubrid,
    /// Belady's bound.
    Opt,
}

impl NamedPolicy {
    /// All of them, the bound last.
    pub const ALL: [Self; 9] = [
        Self::Lru,
        Self::Clock,
        Self::Postgres,
        Self::TwoQ,
        Self::Arc,
        Self::S3Fifo,
        Self::Cflru,
        Self::Cubrid,
        Self::Opt,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Clock => "clock",
            Self::Postgres => "postgres",
            Self::TwoQ => "2q",
            Self::Arc => "arc",
            Self::S3Fifo => "s3-fifo",
            Self::Cflru => "cflru",
            Self::Cubrid => "cubrid",
            Self::Opt => "opt",
        }
    }

    /// Its name as its authors write it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Lru => "LRU",
            Self::Clock => "CLOCK",
            Self::Postgres => "PostgreSQL",
            Self::TwoQ => "2Q",
            Self::Arc => "ARC",
            Self::S3Fifo => "S3-FIFO",
            Self::Cflru => "CFLRU",
            Self::Cubrid => "CUBRID",
            Self::Opt => "OPT",
        }
    }

    /// An empty buffer for the pages below `pages`; `None` of [`Self::Opt`], which
    /// [`Opt::new`] makes of a future.
    pub fn open(self, pages: u32, frames: Frames) -> Option<Box<dyn Policy + Send>> {
        Some(match self {
            Self::Lru => Box::new(Lru::new(pages, frames)),
            Self::Clock => Box::new(Clock::new(pages, frames, Usage::SECOND_CHANCE)),
            Self::Postgres => Box::new(Clock::new(pages, frames, Usage::POSTGRES)),
            Self::TwoQ => Box::new(TwoQ::new(pages, frames)),
            Self::Arc => Box::new(Arc::new(pages, frames)),
            Self::S3Fifo => Box::new(S3Fifo::new(pages, frames)),
            Self::Cflru => Box::new(Cflru::new(pages, frames, frames.get() / 3)),
            Self::Cubrid => Box::new(Zones::new(pages, frames)),
            Self::Opt => return None,
        })
    }

    /// What it misses of a trace with so many frames.
    pub fn counts(self, trace: &Trace, frames: Frames) -> Counts {
        match self.open(trace.pages(), frames) {
            Some(mut policy) => policy.replay(trace),
            None => Opt::new(trace, frames).replay(trace),
        }
    }
}

impl fmt::Display for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for NamedPolicy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|policy| policy.name() == text)
            .ok_or("no such policy")
    }
}
