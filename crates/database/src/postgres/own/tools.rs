//! PostgreSQL's programs for databases of others.

use std::{
    cmp::Reverse,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::super::programs::{DISTRIBUTION, Programs, major_of};
use crate::{DatabaseError, Result, server::version};

/// The names of all of them.
const NAMES: [&str; 3] = ["psql", "pg_dump", "pg_restore"];

/// The oldest servers that are copied. `pg_dump` 17 and 18 read older ones too
/// (<https://www.postgresql.org/docs/current/app-pgdump.html>).
pub(super) const MAJOR_MIN: u32 = 10;

/// A directory with `psql`, `pg_dump` and `pg_restore` of one version.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    directory: PathBuf,
    /// Their major version.
    pub(super) major: u32,
}

impl Tools {
    /// Those of a version, which is that of the servers to be measured, or the next older ones
    /// down to `least`: what newer ones write, older servers may not read, and older ones do not
    /// read newer servers.
    pub(super) fn find(programs: &Programs, least: u32, most: u32) -> Result<Self> {
        let all = directories(programs).into_iter().filter_map(Self::at);
        all.filter(|tools| (least..=most).contains(&tools.major))
            .min_by_key(|tools| Reverse(tools.major))
            .ok_or_else(|| DatabaseError::Missing {
                what: format!("psql, pg_dump and pg_restore of version {most} are not there"),
                remedy: format!(
                    "install them (Debian: postgresql-client-{most}), or name their directory in \
                     PATH"
                ),
            })
    }

    /// Those that wrote the dumps of these programs, and read them.
    pub(super) fn of_dumps(programs: &Programs) -> Result<Self> {
        let ours = major_of(&programs.version()?).unwrap_or_default();
        Self::find(programs, MAJOR_MIN, ours)
    }

    fn at(directory: PathBuf) -> Option<Self> {
        if !NAMES.iter().all(|name| directory.join(name).is_file()) {
            return None;
        }
        // Debian has programs in /usr/bin that look for the others.
        let text = version::answer(&directory.join("pg_dump"), &["--version"]).ok()?;
        let version = text.split("(PostgreSQL) ").nth(1)?;
        Some(Self {
            directory,
            major: major_of(version)?,
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Where such programs may be.
fn directories(programs: &Programs) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = programs.given.iter().map(|(_, bin)| bin.clone()).collect();
    let of_versions = Path::new(DISTRIBUTION).read_dir().into_iter().flatten();
    found.extend(of_versions.flatten().map(|entry| entry.path().join("bin")));
    let path = env::var_os("PATH").unwrap_or_default();
    found.extend(env::split_paths(&path));
    found
}

/// What the environment says of how to log in, for libpq
/// (<https://www.postgresql.org/docs/current/libpq-envars.html>), and that it answers soon and in
/// one language.
pub(super) fn environment(
    password: Option<&str>,
    encoding: Option<&str>,
) -> Vec<(OsString, OsString)> {
    let is_of_libpq = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("PG"));
    let mut all: Vec<(OsString, OsString)> = vec![
        ("PGCONNECT_TIMEOUT".into(), "10".into()),
        ("PGAPPNAME".into(), "octavo".into()),
    ];
    // A file of passwords and the user's certificates lie below it.
    all.extend(env::var_os("HOME").map(|home| ("HOME".into(), home)));
    all.extend(env::vars_os().filter(|(name, _)| is_of_libpq(name)));
    // A dump keeps the server's own without one.
    all.retain(|(name, _)| name != "PGCLIENTENCODING");
    all.extend(encoding.map(|encoding| ("PGCLIENTENCODING".into(), encoding.into())));
    all.extend(password.map(|password| ("PGPASSWORD".into(), password.into())));
    all
}
