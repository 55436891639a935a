//! Flags that name the user's own database and statements.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use anyhow::bail;
use clap::Args;
use octavo_database::Registry;
use octavo_experiment::plan::{OwnSettings, ScriptFile};
use octavo_script::{Definitions, is_name};
use octavo_units::{ByteCount, Seed};
use octavo_workload::user::{Copying, Share};

/// Whose rows and statements. Nothing is given for the built-in workloads.
#[derive(Debug, Args)]
pub(crate) struct OwnFlags {
    /// Your own file, or database on a server, to copy
    ///
    /// A file of SQLite, postgres://USER@HOST/DATABASE, or mariadb:// or mysql:// alike. It is only
    /// read, and nothing of it changes. Your present page size is what others are compared with
    #[arg(long, value_name = "SOURCE", conflicts_with = "workload")]
    copy_of: Option<OsString>,

    /// Copy a part of the rows, such as 10% or 0.1
    ///
    /// Small tables are copied whole. Of the others this share, so that rows keep their parents and
    /// children. For databases on servers
    #[arg(
        long,
        value_name = "SHARE",
        requires = "copy_of",
        hide_short_help = true
    )]
    sample: Option<Share>,

    /// Bytes a second at which rows are read, such as 50MiB [default: no limit]
    #[arg(long, value_name = "SIZE", requires = "copy_of", value_parser = rate,
        hide_short_help = true)]
    copy_rate: Option<ByteCount>,

    /// Your own statements [default: a guess]
    ///
    /// A file in pgbench's language, and behind an @ its weight if there are several. The guess is from the schema
    #[arg(long, value_name = "FILE", requires = "copy_of", value_parser = |text: &str| Ok::<_, String>(ScriptFile::written(text)))]
    script: Vec<ScriptFile>,

    /// Recorded statements, from a log or trace
    ///
    /// They are sent again as fast as they are answered, or at a --pace: each session in its order, its transactions
    /// whole. A csvlog or jsonlog of PostgreSQL's, a general or slow query log of MariaDB's or MySQL's,
    /// a trace of SQLite's. Several files are read in their order
    #[arg(
        long,
        value_name = "FILE",
        requires = "copy_of",
        conflicts_with = "script"
    )]
    recording: Vec<PathBuf>,

    /// The server's digests (default where it has enough of them, and no statements are given)
    ///
    /// Statements that it has counted, with pg_stat_statements or performance_schema: each as often as it
    /// ran, with values from the columns that its values are compared with. Refused where there are none
    #[arg(
        long,
        requires = "copy_of",
        conflicts_with_all = ["script", "recording", "define"],
        hide_short_help = true
    )]
    digests: bool,

    /// Print the script that is guessed from the schema, or with --digests these, and do nothing else
    #[arg(
        long,
        requires = "copy_of",
        conflicts_with_all = ["script", "recording"],
        hide_short_help = true
    )]
    pub(crate) show_script: bool,

    /// A variable of the scripts
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", requires = "copy_of",
        conflicts_with = "recording",
        value_parser = definition, hide_short_help = true)]
    define: Vec<(String, String)>,
}

impl OwnFlags {
    /// The database that the source is of; `given` is what --database says.
    pub(crate) fn database(&self, given: Option<&str>) -> anyhow::Result<&'static str> {
        database_of(self.source(), given)
    }

    /// What is to be copied; nothing where no source is given.
    pub(crate) fn source(&self) -> &OsStr {
        self.copy_of.as_deref().unwrap_or_default()
    }

    /// Whether the user's own data are asked about.
    pub(crate) fn is_given(&self) -> bool {
        self.copy_of.is_some()
    }

    /// Whether the server's digests are asked for.
    pub(crate) fn are_digests(&self) -> bool {
        self.digests
    }

    /// What they name.
    pub(crate) fn settings(&self, seed: Seed, clients: Option<u32>) -> Option<OwnSettings> {
        let mut definitions = Definitions::default();
        for (name, value) in &self.define {
            definitions.set(name.as_str(), value.as_str());
        }
        Some(OwnSettings {
            source: self.copy_of.clone()?,
            copying: Copying {
                share: self.sample,
                seed,
                rate: self.copy_rate,
            },
            scripts: self.script.clone(),
            recordings: self.recording.clone(),
            digests: self.digests,
            pace: None,
            definitions,
            clients,
        })
    }
}

/// The database that a source is of; `given` is what --database says.
pub(crate) fn database_of(source: &OsStr, given: Option<&str>) -> anyhow::Result<&'static str> {
    let kind = Registry::standard().of_source(source)?;
    if let Some(given) = given
        && given != kind.name
    {
        bail!(
            "--copy-of names a database of {}, and --database {given} another: leave it out",
            kind.title
        );
    }
    Ok(kind.name)
}

fn rate(text: &str) -> Result<ByteCount, String> {
    match text.parse::<ByteCount>() {
        Ok(ByteCount::ZERO) => Err("it must be more than 0".into()),
        read => read.map_err(|error| error.to_string()),
    }
}

fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it like name=value")?;
    match is_name(name) {
        true => Ok((name.to_owned(), value.to_owned())),
        false => Err(format!(
            "'{name}' is no variable's name: it has letters, digits and underscores"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_behind_the_last_at() {
        for (text, path, weight) in [
            ("mix.sql", "mix.sql", 1),
            ("mix.sql@3", "mix.sql", 3),
            ("a@b.sql@0", "a@b.sql", 0),
            ("a@b.sql", "a@b.sql", 1),
            ("@3", "@3", 1),
        ] {
            let wanted = ScriptFile {
                path: path.into(),
                weight,
            };
            assert_eq!(ScriptFile::written(text), wanted);
        }
    }

    #[test]
    fn definitions_have_a_name() {
        assert_eq!(definition("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(definition("a").is_err());
        assert!(definition("=b").is_err());
        assert!(definition("a b=c").is_err());
    }
}
