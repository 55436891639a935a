//! The flags that say which database is measured and how it is set up.

use clap::Args;
use octavo_database::Database;
use octavo_experiment::plan::System;

use crate::Failure;

/// Options of databases. Which database has which is told by
/// [`octavo_database::options`], and what values they take by
/// [`octavo_database::choose`].
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of databases")]
pub(crate) struct SystemFlags {
    /// SQLite: wal, delete, truncate or persist [default: wal]
    #[arg(long, value_name = "MODE")]
    journal_mode: Option<String>,

    /// PostgreSQL: directories with the programs of page sizes, or the
    /// installed server, such as 4K=/opt/pg4k/bin,8K=installed. MySQL,
    /// MariaDB: the directory of the programs, or the server
    #[arg(long, value_name = "PATHS")]
    bin: Option<String>,

    /// PostgreSQL: its source, a tarball or a directory, which is built for
    /// each page size [default: the source package of the distribution]
    #[arg(long, value_name = "PATH", conflicts_with = "version")]
    source: Option<String>,

    /// PostgreSQL: the major version whose source package is built, 14 to 18
    /// [default: the distribution's]
    #[arg(long, value_name = "N")]
    version: Option<String>,

    /// PostgreSQL: block size of the write-ahead log, 1K to 64K [default: 8K]
    #[arg(long, value_name = "SIZE")]
    wal_block_size: Option<String>,

    /// PostgreSQL: on or off; off leaves pages unprotected from being torn
    /// [default: on]
    #[arg(long, value_name = "ON|OFF")]
    full_page_writes: Option<String>,

    /// PostgreSQL: time between checkpoints, at least 30s [default: 30s]
    #[arg(long, value_name = "TIME")]
    checkpoint_timeout: Option<String>,

    /// PostgreSQL from version 16 on: on or off; off holds buffer and page
    /// cache under one memory limit, as it is always done before [default: on]
    #[arg(long, value_name = "ON|OFF")]
    direct_io: Option<String>,

    /// MySQL, MariaDB: on, off or detect; off leaves pages unprotected from
    /// being torn [default: on]
    #[arg(long, value_name = "ON|OFF|DETECT")]
    doublewrite: Option<String>,

    /// MySQL, MariaDB: size of the redo log [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    redo: Option<String>,
}

impl SystemFlags {
    fn given(&self) -> Vec<(&'static str, &String)> {
        [
            ("journal-mode", &self.journal_mode),
            ("bin", &self.bin),
            ("source", &self.source),
            ("version", &self.version),
            ("wal-block-size", &self.wal_block_size),
            ("full-page-writes", &self.full_page_writes),
            ("checkpoint-timeout", &self.checkpoint_timeout),
            ("direct-io", &self.direct_io),
            ("doublewrite", &self.doublewrite),
            ("redo", &self.redo),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)))
        .collect()
    }

    /// The names of the flags that were given.
    pub(crate) fn names(&self) -> Vec<String> {
        let given = self.given().into_iter();
        given.map(|(name, _)| format!("--{name}")).collect()
    }

    /// The options as given; where a flag was not, those of `before`.
    pub(crate) fn options(&self, before: &[(String, String)]) -> Vec<(String, String)> {
        let mut options: Vec<(String, String)> = before.to_vec();
        for (name, value) in self.given() {
            options.retain(|(other, _)| other != name);
            options.push((name.to_owned(), value.clone()));
        }
        options
    }

    /// The system for a plan: SQLite's journal mode is said even when it is
    /// the default, for the report to say.
    pub(crate) fn system(&self, database: &str) -> Result<System, Failure> {
        let mut options = self.options(&[]);
        if database == "sqlite" && self.journal_mode.is_none() {
            let mode = octavo_database::JournalMode::default().name();
            options.push(("journal-mode".into(), mode.into()));
        }
        System::new(database, options).map_err(|error| Failure::Input(error.into()))
    }
}

/// Makes a database.
pub(crate) fn choose(
    name: &str,
    options: &[(String, String)],
) -> Result<Box<dyn Database>, Failure> {
    octavo_database::choose(name, options).map_err(|error| Failure::Input(error.into()))
}
