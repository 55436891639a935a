//! Flags that several commands have, each declared once. A command changes the help or
//! what a flag needs with `mut_arg`.

use std::{path::PathBuf, time::Duration};

use clap::{
    Arg, Args, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
};
use octavo_database::{Isolation, Registry};
use octavo_experiment::{condition::Condition, plan::SliceLength};
use octavo_report::outcome::{Case, SUITE, junit};
use octavo_units::{Seed, parse_duration};

use crate::{failure::Failure, output, system::database_name};

/// The seed of all random numbers.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SeedFlag {
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = Seed::new(1), hide_short_help = true)]
    pub(crate) seed: Seed,
}

/// A device of the catalog or of a file. Commands say what they do with it.
#[derive(Debug, Args)]
pub(crate) struct DeviceFlag {
    #[arg(id = "device", long = "device", value_name = "DEVICE")]
    pub(crate) name: Option<String>,
}

/// Help that ends with the names that a device can have.
pub(crate) fn device_help(flag: Arg, what: &str) -> Arg {
    let named = format!("{what}: a name that octavo devices lists, or the path of a file");
    let partition = "NAME@512 is a partition of it that begins at byte 512.";
    let long = format!("{named}\n\n{partition}");
    flag.help(named).long_help(long)
}

/// The database of cells.
#[derive(Debug, Args)]
pub(crate) struct DatabaseFlag {
    /// Database; servers are Octavo's own, in its directory [default: sqlite]
    #[arg(id = "database", long = "database", value_name = "NAME",
        value_parser = database_name(Registry::standard(), &[]))]
    pub(crate) given: Option<String>,
}

impl DatabaseFlag {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        let default = Registry::standard().default_kind();
        self.given.as_deref().unwrap_or(default.name)
    }
}

/// How transactions of a client are kept apart from others.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct IsolationFlag {
    /// Isolation level [default: the database's own]
    #[arg(
        id = "isolation",
        long = "isolation",
        value_name = "LEVEL",
        value_enum,
        hide_short_help = true
    )]
    name: Option<IsolationName>,
}

impl IsolationFlag {
    /// The level, or none for the database's own.
    pub(crate) fn level(self) -> Option<Isolation> {
        self.name.map(|name| match name {
            IsolationName::ReadCommitted => Isolation::ReadCommitted,
            IsolationName::RepeatableRead => Isolation::RepeatableRead,
            IsolationName::Serializable => Isolation::Serializable,
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IsolationName {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// How many transactions cells execute.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SliceFlags {
    /// Transactions that each page size executes in a pass [default: as many
    /// as take about 75 ms, with a server 1.5 s; more on limited storage]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), hide_short_help = true)]
    pub(crate) transactions: Option<u64>,

    /// Transactions of the warm-up [default: until misses are level or the cache filled twice]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u64).range(0..=WARM_UP_MAX), hide_short_help = true)]
    pub(crate) warm_up: Option<u64>,
}

/// Most transactions of a warm-up. Chosen: they take hours, and every cell is warm long before.
const WARM_UP_MAX: u64 = 1_000_000_000;

impl From<SliceFlags> for SliceLength {
    fn from(flags: SliceFlags) -> Self {
        Self {
            transactions: flags.transactions,
            warm_up: flags.warm_up,
        }
    }
}

/// What a campaign that measures may use up.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CampaignFlags {
    /// Total time, including building programs
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,

    /// Keep the loaded databases
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_data: bool,
}

/// Whether anything is done.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DryRunFlag {
    /// Print a forecast of steps, time and space, and change nothing
    #[arg(id = "dry_run", long = "dry-run")]
    pub(crate) is_dry: bool,
}

/// What a script ends by. Commands say of what it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct FailIfFlag {
    #[arg(id = "fail_if", long = "fail-if", value_name = "CONDITION")]
    pub(crate) condition: Option<Condition>,

    /// Write what came out of --fail-if to this file as well, in the XML of JUnit
    #[arg(
        long,
        value_name = "FILE",
        requires = "fail_if",
        hide_short_help = true
    )]
    pub(crate) junit: Option<PathBuf>,
}

impl FailIfFlag {
    /// Refuses a file that could not be written, or that Octavo did not make.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.junit else {
            return Ok(());
        };
        let begin = format!("<testsuites name=\"{SUITE}\">");
        output::keep_foreign(path, "a test suite of Octavo", |found| {
            found.is_empty()
                || found
                    .lines()
                    .nth(1)
                    .is_some_and(|line| line.starts_with(&begin))
        })?;
        output::probe(path)
    }

    /// Writes what came out where that was asked for.
    pub(crate) fn write(&self, created: &str, cases: &[Case]) -> Result<(), Failure> {
        match (&self.junit, &self.condition) {
            (Some(path), Some(condition)) => output::write(path, &junit(condition, created, cases)),
            _ => Ok(()),
        }
    }
}

/// A directory to work in. A server's address would become the name of one,
/// with the password in it; SQLite would take `file:` for the beginning of an
/// address.
pub(crate) fn directory() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|given| {
        let text = given.to_string_lossy();
        if text.contains("://") {
            return Err("a server that you run is named with octavo bench --url");
        }
        Ok(match text.starts_with("file:") {
            true => PathBuf::from(".").join(&given),
            false => given.into(),
        })
    })
}
