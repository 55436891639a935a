//! The makers' programs for databases of others.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::super::{Flavour, programs::Programs};
use crate::{DatabaseError, Result, server::version};

/// A client and a program that dumps.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) client: PathBuf,
    pub(super) dump: PathBuf,
    pub(super) flavour: Flavour,
    /// Whether the program dumps the history of tables that keep theirs.
    pub(super) dumps_history: bool,
}

impl Tools {
    /// Those beside the servers that are measured, or else on `PATH`.
    pub(super) fn find(programs: &Programs) -> Result<Self> {
        let flavour = programs.version.flavour;
        // MariaDB has had names of its own since 10.4.6, and keeps the old ones.
        let names: &[[&str; 2]] = match flavour {
            Flavour::Mariadb => &[["mariadb", "mariadb-dump"], ["mysql", "mysqldump"]],
            Flavour::Mysql => &[["mysql", "mysqldump"]],
        };
        let beside = programs.server.parent().map(Path::to_owned);
        let within = programs.base.iter().map(|base| base.join("bin"));
        let path = env::var_os("PATH").unwrap_or_default();
        let directories: Vec<PathBuf> = beside
            .into_iter()
            .chain(within)
            .chain(env::split_paths(&path))
            .collect();
        let find = |directory: &PathBuf| {
            let pair = |pair: &[&str; 2]| pair.map(|name| directory.join(name));
            let mut pairs = names.iter().map(pair);
            pairs.find(|pair| pair.iter().all(|path| path.is_file()))
        };
        let [client, dump] =
            directories
                .iter()
                .find_map(find)
                .ok_or_else(|| DatabaseError::Missing {
                    what: format!("{} and {} are not there", names[0][0], names[0][1]),
                    remedy: format!(
                        "install {}, or name their directory in PATH",
                        match flavour {
                            Flavour::Mariadb => "the package mariadb-client",
                            Flavour::Mysql => "the package mysql-client",
                        }
                    ),
                })?;
        let help = version::answer(&dump, &["--no-defaults", "--help"]).unwrap_or_default();
        Ok(Self {
            dumps_history: help.contains("--dump-history"),
            client,
            dump,
            flavour,
        })
    }
}
